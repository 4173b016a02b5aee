"""A private table that grows, and the public one beside it: each new batch is published once."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, final

from discreet.coding import Batch, Integers, Places
from discreet.dataset import PrivateDataset
from discreet.events import Compose, Event
from discreet.ledger import Book, Progress
from discreet.measures import ApproxDP, Measure, PureDP
from discreet.publish.masks.plan import MaskedRows, RowMask
from discreet.publish.perturb import PerturbedRows
from discreet.publish.row_release import RowRelease
from discreet.publish.rows import RowPerturbation
from discreet.publish.tables.folders import Staging
from discreet.publish.tables.persons import Persons
from discreet.publish.tables.sinks import Sink, open_sink
from discreet.publish.tables.writing import BatchedRows, Written, open_folder, size_for
from discreet.rational import as_integer
from discreet.schema import Schema
from discreet.unit import REPLACE_ONE, Unit

__all__ = ["GrowingRows", "GrowingTable", "History", "Moves", "check_unit"]

Moves = Literal["stay", "move", "return"]
_WORDS = "a batch of a growing table: "


@final
class GrowingTable:
    """Publish a table that grows, batch by batch, each of them once.

    Parameters
    ----------
    publisher : RowMask or RowPerturbation
        How rows are blurred: the same in all batches.
    schema : Schema
    ledger : Ledger or account
        Its unit is ``dp.Unit(dp.REPLACE_ONE, id_column=…, max_rows=1)`` for ``persons="stay"`` and
        ``"move"``, and ``dp.REPLACE_ONE`` for ``"return"``.
    to : path or URL
        As for `write_rows`.
    private : path, optional
        As for `write_rows`; the ids seen so far are kept there too.
    persons : {"stay", "move", "return"}
        What is public about a person's place. ``"stay"``: in which slots of which batches a person's rows
        stand; only what they say is secret. All batches together then cost what one row costs, once, however
        many there will be. ``"move"``: nothing; that costs twice as much. In both cases a person's first row
        wins: later ones are replaced by public padding before they are blurred. ``"return"``: persons are
        not known, and may be in every batch; each batch costs what a row costs.

    Privacy
    -------
    Neighbours differ in the rows of one person; the number of slots of each batch is public. The state in
    `private` is as secret as the table. If it is lost or older than the ledger, nothing more is published.
    Proof page: ``docs/proofs/tables.md``.

    Examples
    --------
    >>> import tempfile
    >>> import discreet as dp
    >>> schema = dp.Schema(x=dp.Real(0, 1))
    >>> unit = dp.Unit(dp.REPLACE_ONE, id_column="who", max_rows=1)
    >>> ledger = dp.Ledger(limit=dp.PureDP(4), unit=unit)
    >>> blurred = dp.publish.RowPerturbation(schema, epsilon=4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = dp.publish.GrowingTable(blurred, schema, ledger=ledger, to=f"{folder}/rows")
    ...     for month in ("2026-01", "2026-02"):
    ...         written = table.add(month, {"who": [1, 2], "x": [0.3, 0.6]}, slots=2)
    >>> ledger.spent()  # once for both months
    PureDP(epsilon=4)
    """

    def __init__(
        self,
        publisher: RowMask | RowPerturbation,
        schema: Schema,
        *,
        ledger: Book,
        to: Any,
        private: str | Path | None = None,
        persons: Moves = "stay",
    ) -> None:
        to = open_sink(to)
        self._sink: Sink = to
        if not isinstance(publisher, RowMask | RowPerturbation):
            raise TypeError(
                "publisher must be a mask of rows, such as WaveletLaplace(1), or a RowPerturbation, not "
                f"{type(publisher).__name__}."
            )
        if persons not in ("stay", "move", "return"):
            raise ValueError(f"persons must be 'stay', 'move' or 'return', got {persons!r}.")
        if not isinstance(ledger, Book):
            raise TypeError(
                f"ledger must be a dp.Ledger or one of its accounts, not {type(ledger).__name__}."
            )
        self._publisher, self._schema = publisher, schema
        self._ledger, self._persons = ledger, persons
        self._folder = open_folder(self._sink, private)
        check_unit(ledger.unit, persons)
        self._release(0)

    def _release(self, rows: int) -> tuple[RowRelease, Measure]:
        if isinstance(self._publisher, RowPerturbation):
            if self._publisher.schema != self._schema:
                raise ValueError("publisher: the RowPerturbation was made for another schema.")
            return PerturbedRows(self._publisher, rows), self._publisher.measure
        plan = self._publisher.plan(self._schema)
        if plan.order != "position":
            raise ValueError(
                "publisher: rows of a growing table stand in public slots; give it order='position'."
            )
        return MaskedRows(plan, rows), plan.measure

    def add(self, name: str, rows: Any, *, slots: int) -> Written:
        """Publish a new batch.

        Parameters
        ----------
        name : str
            Public, such as a date: a batch of a name is published once. After a crash, give the same name
            and the same rows to go on where it was.
        rows : frame, array, mapping or path
            As for `PrivateDataset`: rows in memory, CSV or Parquet files.
        slots : int
            The public number of rows of this batch: this many are published, however many there are.
        """
        if not isinstance(name, str) or not name.strip() or len(name) > 100:
            raise ValueError("name must be a text of 1 to 100 characters.")
        count = as_integer(slots, "slots", minimum=1)
        data = PrivateDataset(rows, self._schema, ledger=self._ledger, rows=count)
        with self._folder.lock():
            return self._add(name, data, count)

    def _add(self, name: str, data: PrivateDataset, slots: int) -> Written:
        release, measure = self._release(slots)
        id_column = None if self._persons == "return" else data.unit.id_column
        places = Places(slots, size_for(release), None, id_column)
        facts: dict[str, Any] = {"schema": repr(self._schema), "persons": self._persons}
        facts |= {"release": repr(release), "event": release.event_of_row().to_dict()}
        token = self._folder.begin(facts, self._sink, self._ledger, self._cost_token)
        history = History(self._ledger, token)
        state = None if self._persons == "return" else Persons(self._folder.path / "persons.db")
        history.check(state)
        written = Written(self._sink.place, slots, places.batches)
        if self._recover(history) == name:  # the last part was entered, and nothing more is to do
            return written
        batch = history.plan(name, places)
        step = GrowingRows(release, self._folder.staging, self._persons, state, batch.number)
        cost = measure if self._persons != "move" else _double(measure)
        paid = self._cost_token(history.token, batch.number)
        # the step leaves out persons of other batches, or each batch is charged: a progress for each is safe
        found = data._run_part(step, places, cost, paid, history.progress(batch))
        Progress(self._ledger, paid).bind("batches of a growing table")
        history.enter(batch)
        for number, made in found:
            self._sink.publish(batch.label(number), self._folder.staging.path(number, made))
        return written

    def _cost_token(self, token: str, batch: int = 0) -> str:
        """The name of the charge: one for the table, or one for each batch where persons return."""
        return f"cost of {token}" + (f", batch {batch}" if self._persons == "return" else "")

    def _recover(self, history: History) -> str | None:
        """Publish what was entered before a crash; the name of the batch that is complete by that."""
        if not history.batches:
            self._folder.recover(Progress(None, ""), self._sink, str)
            return None
        last = history.batches[-1]
        progress = history.progress(last)
        recovered = self._folder.recover(progress, self._sink, last.label)
        return last.name if recovered and last.is_complete(progress) else None


@final
@dataclass(frozen=True)
class _Entered:
    """A batch that the ledger knows."""

    number: int
    name: str
    slots: int
    parts: int

    def label(self, part: int) -> str:
        """The public name of one of its parts."""
        return f"batch-{self.number:06d}-part-{part:06d}"

    def is_complete(self, progress: Progress) -> bool:
        return all(progress.find(part) is not None for part in range(self.parts))


@final
class History:
    """The batches of a table that the ledger knows, in order; entered at no cost before they begin."""

    def __init__(self, book: Book, token: str) -> None:
        self._book, self.token = book, token
        self.batches: list[_Entered] = []
        while (entry := book.find(self._name(len(self.batches)))) is not None:
            self.batches.append(_Entered(**json.loads(entry.note.removeprefix(_WORDS))))

    def _name(self, number: int) -> str:
        return f"batch {number} of {self.token}"

    def progress(self, batch: _Entered) -> Progress:
        """How far the parts of a batch are."""
        return Progress(self._book, f"{self.token} {self._name(batch.number)}")

    def plan(self, name: str, places: Places) -> _Entered:
        """The batch of a name: the last one, if it is not complete, or a new one."""
        last = self.batches[-1] if self.batches else None
        is_open = last is not None and not last.is_complete(self.progress(last))
        if any(known.name == name for known in self.batches[: -1 if is_open else None]):
            raise ValueError(
                f"name: batch {name!r} is published already; a batch is published once."
            )
        new = _Entered(len(self.batches), name, places.slots, places.batches)
        if last is None or not is_open:
            return new
        if last != replace(new, number=last.number):
            raise ValueError(
                f"name: batch {last.name!r} of {last.slots} slots was begun and is not complete: give it "
                "again, with the same rows, before the next one."
            )
        return last

    def enter(self, batch: _Entered) -> None:
        """Make it durable that a batch was begun."""
        if batch.number == len(self.batches):
            note = _WORDS + json.dumps(asdict(batch))
            self._book.charge(Compose(), note=note, token=self._name(batch.number))
            self.batches.append(batch)

    def check(self, state: Persons | None) -> None:
        """Raise if the persons of the part that was entered last are not known."""
        if state is None:
            return
        for batch in reversed(self.batches):
            progress = self.progress(batch)
            entered = [part for part in range(batch.parts) if progress.find(part) is not None]
            if not entered:
                continue
            if not all(state.knows(batch.number, part) for part in entered):
                raise RuntimeError(
                    "private: who was published before is not known here: the state is lost, or older than "
                    "the ledger. Whoever comes back would be published twice, so nothing more is published "
                    "into this table; restore the newest state, or begin another table, for a new charge."
                )
            return


class GrowingRows(BatchedRows):
    """The rows of one batch of a growing table; of each person the first row, and padding for all others.

    Parameters
    ----------
    release : RowRelease
    staging : Staging
    persons : {"stay", "move", "return"}
    state : Persons or None
        Who was seen before; None for ``"return"``.
    batch : int

    Privacy
    -------
    A person has one slot at most in all batches together that holds anything but public padding, and padding
    is blurred like any row. Proof page: ``docs/proofs/tables.md``.
    """

    def __init__(
        self,
        release: RowRelease,
        staging: Staging,
        persons: Moves,
        state: Persons | None,
        batch: int,
    ) -> None:
        super().__init__(release, staging)
        self._persons, self._state, self._batch = persons, state, batch

    def event(self, schema: Schema, unit: Unit) -> Event:
        check_unit(unit, self._persons)
        self._release.check_columns(schema)
        if self._persons == "move":
            return self._release.event_of_two_rows()
        return self._release.event_of_row()

    def arrange(self, batch: Batch) -> Integers:
        """The codes that are blurred: each person's first row in its slot, padding in all others."""
        if self._state is not None:
            assert batch.ids is not None
            first = self._state.take(self._batch, batch.number, batch.ids, batch.places)
            batch = batch._replace(places=batch.places[first], codes=batch.codes[first])
        return super().arrange(batch)

    def __repr__(self) -> str:
        return f"{self._release!r}, a growing table whose persons {self._persons}"


def check_unit(unit: Unit, persons: Moves) -> None:
    """Raise unless a unit says who may be published, and how often."""
    if persons == "return":
        if not unit.length_is_public:
            raise ValueError(
                "ledger: with persons='return' its unit must be dp.REPLACE_ONE with one row per person and "
                "batch."
            )
        return
    if unit.relation is not REPLACE_ONE or unit.id_column is None or unit.max_rows != 1:
        raise ValueError(
            f"ledger: with persons={persons!r} its unit must be dp.Unit(dp.REPLACE_ONE, id_column=..., "
            "max_rows=1): ids say who was published before. Where nobody can say, use persons='return' and "
            "pay for every batch."
        )


def _double(measure: Measure) -> Measure:
    if isinstance(measure, ApproxDP):
        return ApproxDP(2 * measure.epsilon, 2 * measure.delta)
    assert isinstance(measure, PureDP)
    return PureDP(2 * measure.epsilon)
