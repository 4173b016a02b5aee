"""Attacks on written and growing tables: who is in them twice, and what is seen twice."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.accounting import satisfies
from discreet.audit.exact import statement
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.coding import Batch
from discreet.columns import Real
from discreet.dataset import PrivateDataset
from discreet.ledger import Ledger, Progress
from discreet.measures import PureDP
from discreet.publish import GrowingTable, RowPerturbation
from discreet.publish.masks import WaveletLaplace
from discreet.publish.perturb import PerturbedRows
from discreet.publish.row_release import RowRelease
from discreet.publish.tables import growing, writing
from discreet.publish.tables.folders import Staging
from discreet.publish.tables.persons import Persons
from discreet.publish.tables.sinks import ParquetFolder
from discreet.publish.tables.writing import BatchedRows
from discreet.schema import Schema
from discreet.unit import REPLACE_ONE, Unit

Floats = npt.NDArray[np.float64]
#: Ids and numbers of one batch's rows.
Rows = tuple[tuple[str, ...], tuple[float, ...]]

_SCHEMA = Schema(x=Real(-1, 1))
_PERSONS = Unit(REPLACE_ONE, id_column="who", max_rows=1)
_NOWHERE = Staging(Path("/nowhere"))
_TOP = 2**20


def release(epsilon: float, rows: int) -> RowRelease:
    """Rows of one number, blurred one by one."""
    return PerturbedRows(RowPerturbation(_SCHEMA, epsilon=epsilon, norm=1), rows)


def as_batch(rows: Rows) -> Batch:
    """Rows as an engine hands them to a step."""
    ids, numbers = rows
    codes = np.array([[round((x + 1) / 2 * _TOP)] for x in numbers], np.int64)
    return Batch(0, len(codes), np.arange(len(codes)), codes, np.array(ids, np.object_))


def grown(step: type[growing.GrowingRows], epsilon: float) -> Callable[..., Floats]:
    """All numbers of a table that grew by some batches, many times."""

    def run(batches: tuple[Rows, ...], trials: int) -> Floats:
        found = []
        with tempfile.TemporaryDirectory(prefix="discreet-audit-") as folder:
            state = Persons(Path(folder) / "persons.db")
            for number, rows in enumerate(batches):
                batch = as_batch(rows)
                made = step(release(epsilon, batch.slots), _NOWHERE, "stay", state, number)
                told = made.blur(np.tile(made.arrange(batch), (trials, 1)))["x"]
                found.append(told.reshape(trials, -1))
        return np.concatenate(found, axis=1)

    return run


def nearer(epsilon: float, places: tuple[int, ...]) -> Callable[[Floats], Floats]:
    """The log-ratio of 1 against -1 in some slots."""

    def score(told: Floats) -> Floats:
        seen = told[:, list(places)]
        return np.asarray((np.abs(seen + 1) - np.abs(seen - 1)).sum(axis=1) * epsilon / 2)

    return score


def came_back() -> tuple[Any, Any]:
    """One person in both batches, with other rows; somebody else is in the first one."""
    return tuple(  # type: ignore[return-value]
        ((("ann", "bob"), (x, 0.5)), (("ann", "cid"), (x, -0.5))) for x in (1.0, -1.0)
    )


def is_back() -> tuple[Any, Any]:
    """A person who comes back, or somebody new, in one slot of the second batch."""
    return tuple(  # type: ignore[return-value]
        ((("ann",), (0.5,)), ((who,), (-1.0,))) for who in ("ann", "eve")
    )


def persons(step: type[growing.GrowingRows]) -> Iterator[Case]:
    """Cases about who is in several batches."""
    yield Case(
        "a person in two batches, ε = 2",
        grown(step, 2),
        came_back(),
        2.0,
        20_000,
        {"score": nearer(2, (0, 2))},
    )
    words = "padding is the middle of the range, half as far from a row as another row can be"
    yield Case(
        "padding or a new person, ε = 2", grown(step, 2), is_back(), 2.0, 20_000, reason=words
    )


def costs() -> Iterator[AuditResult]:
    """Check what ledgers book for three batches, and that units which don't fit are refused."""
    for name, unit, wanted in (
        ("stay", _PERSONS, 1),
        ("move", _PERSONS, 2),
        ("return", Unit(REPLACE_ONE), 3),
    ):
        with tempfile.TemporaryDirectory(prefix="discreet-audit-") as folder:
            ledger = Ledger(limit=PureDP(10), unit=unit)
            mask = WaveletLaplace(1, order="position")
            kind: Any = name
            table = GrowingTable(
                mask, _SCHEMA, ledger=ledger, to=Path(folder) / "out", persons=kind
            )
            for batch in range(3):
                rows = {"who": ["ann", "bob"], "x": [0.0, 1.0]}
                table.add(str(batch), rows, slots=2)
            spent = ledger.spent()
        title = f"three batches whose persons {name}"
        yield statement(title, f"cost {wanted} times a row", spent == PureDP(wanted), repr(spent))
    kinds: tuple[tuple[growing.Moves, int], ...] = (("stay", 1), ("move", 2))
    for persons_, wanted in kinds:
        made = growing.GrowingRows(release(1, 2), _NOWHERE, persons_, None, 0)
        event = made.event(_SCHEMA, _PERSONS)
        good = not satisfies(event, PureDP(Fraction(wanted * 99, 100)))
        title = f"the event of a table whose persons {persons_}"
        yield statement(title, f"costs {wanted} times a row", good, repr(event))
        try:
            growing.check_unit(Unit(REPLACE_ONE), persons_)
            told = "it was not"
        except ValueError:
            told = "it was"
        yield statement(f"persons {persons_} without ids", "refused", told == "it was", told)


class _Crash(BaseException):
    """What a process dies of."""


def crashes() -> Iterator[AuditResult]:
    """Check that a release which dies at any act, again and again, is seen in one draw and charged once."""
    for owner, name in ((Staging, "write"), (Progress, "enter"), (ParquetFolder, "publish")):
        for after in (False, True):
            seen, spent = _publish_with_crashes(owner, name, after)
            most = max(len(draws) for draws in seen.values())
            good = most == 1 and len(seen) == 3 and spent == PureDP(1)
            when = "after" if after else "before"
            told = f"{len(seen)} parts, at most {most} draws of one, {spent!r}"
            title = f"a release that dies {when} each {owner.__name__}.{name}"
            yield statement(title, "each part is seen in one draw, for one charge", good, told)


def _publish_with_crashes(owner: type, name: str, after: bool) -> tuple[dict[str, Any], Any]:
    honest = getattr(owner, name)
    died: list[int] = []

    def act(*arguments: Any) -> Any:
        dies = len(died) < 4 and not died.append(0)  # type: ignore[func-returns-value]
        if dies and not after:
            raise _Crash
        found = honest(*arguments)
        if dies:
            raise _Crash
        return found

    ledger = Ledger(limit=PureDP(10), unit=REPLACE_ONE)
    seen: dict[str, Any] = {}
    cells = writing.DEFAULT_CELLS
    with tempfile.TemporaryDirectory(prefix="discreet-audit-") as folder:
        data = PrivateDataset({"x": np.zeros(25)}, _SCHEMA, ledger=ledger)
        setattr(owner, name, act)
        writing.DEFAULT_CELLS = 9
        try:
            while not _try_once(data, Path(folder) / "out", seen):
                pass
        finally:
            writing.DEFAULT_CELLS = cells
            setattr(owner, name, honest)
    return seen, ledger.spent()


def _try_once(data: PrivateDataset, folder: Path, seen: dict[str, set[bytes]]) -> bool:
    """Publish until it dies or is done; what can be seen then is added to `seen`, and taken away."""
    try:
        WaveletLaplace(1, order="position").publish(data, to=folder)
        done = True
    except _Crash:
        done = False
    except ValueError:  # complete
        done = True
    for file in folder.glob("*.parquet"):
        seen.setdefault(file.name, set()).add(file.read_bytes())
        file.unlink()
    return done


def draws(epsilon: float) -> Callable[..., Floats]:
    """All rows of a table that is written in batches, many times."""

    def run(numbers: tuple[float, ...], trials: int) -> Floats:
        batch = as_batch((("",) * len(numbers), numbers))
        step = BatchedRows(release(epsilon, batch.slots), _NOWHERE)
        told = step.blur(np.tile(step.arrange(batch), (trials, 1)))["x"]
        return np.asarray(told.reshape(trials, -1))

    return run


@attack("written-table")
def written_table() -> Iterator[Part]:
    yield from crashes()
    pair = (0.5, 1.0, -0.5), (0.5, -1.0, -0.5)
    yield Case("one slot of three, ε = 2", draws(2), pair, 2.0, 20_000, {"score": nearer(2, (1,))})


@attack("growing-table")
def growing_table() -> Iterator[Part]:
    yield from costs()
    yield from persons(growing.GrowingRows)
