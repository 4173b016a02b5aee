"""The door for tensors: rows for a network, read only by a plan that was paid for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt
import torch

from discreet.coding.persons import number_persons
from discreet.dataset import agree_on_unit
from discreet.deep.contributions import Tensor
from discreet.deep.plans import TrainingPlan, check_unit, rows_each
from discreet.deep.probe import Rows, random_rows
from discreet.deep.processes import Together
from discreet.deep.sources import Source, open_source
from discreet.ledger import Book, Entry, Nobody, PaidPlan, Payer
from discreet.ledger.chain import new_token
from discreet.measures import Measure
from discreet.noise import entropy
from discreet.rational import as_integer
from discreet.unit import Relation, Unit

__all__ = ["Block", "PrivateTensors", "TensorDoor", "open_paid"]


@dataclass(frozen=True, repr=False)
class Block:
    """Persons in places of a fixed number, each with rows of a fixed number, for a charged step alone."""

    inputs: tuple[Tensor, ...]
    targets: Tensor
    #: 1 for each row that is there, 0 for one that fills a place.
    weights: npt.NDArray[np.float64]
    present: npt.NDArray[np.bool_]

    def keep(self, place: int) -> Block:
        """The same block with one person alone; all other places hold zeros."""
        each = len(self.weights) // len(self.present)
        kept = np.zeros(len(self.weights), bool)
        kept[place * each : (place + 1) * each] = True
        rows = torch.from_numpy(kept)

        def cleared(values: Tensor) -> Tensor:
            shape = (len(rows), *[1] * (values.dim() - 1))
            return torch.where(rows.reshape(shape), values, torch.zeros_like(values))

        alone = np.zeros(len(self.present), bool)
        alone[place] = self.present[place]
        inputs = tuple(map(cleared, self.inputs))
        return Block(inputs, cleared(self.targets), self.weights * kept, alone)


@final
class PrivateTensors:
    """Rows for a network behind a door: nothing reads them but a training that was charged.

    Parameters
    ----------
    inputs : tensor, array or tuple of them
        The arguments of the network, rows in the first dimension; or a map-style data set of pairs
        (input, target), with `example`.
    targets : tensor or array, optional
    ledger : Ledger or account
        Where training is charged; none for public rows.
    unit : Unit or relation, optional
        Who is protected; the ledger's unit by default. Sampling is counted for ``dp.ADD_REMOVE`` only.
    persons : array, optional
        The person each row belongs to, for a unit with ``max_rows``: a person's first rows count, up to that
        many, and are drawn together.
    public_size : int, optional
        The number of persons as far as it is public: for batches and epochs, never compared with the data.
    example : pair, optional
        A made-up row of a map-style data set: its shapes and types are public. A row that can't be read, or
        that has other shapes, counts as zeros, and no error tells of it: try the data set on made-up rows.

    Privacy
    -------
    Shapes of a row, types and `public_size` are public; the rows and their number are not. No value makes
    anything raise. The door stops mistakes, not a hostile analyst in the same process.
    """

    def __init__(
        self,
        inputs: Any,
        targets: Any = None,
        *,
        ledger: Payer | None = None,
        unit: Unit | Relation | None = None,
        persons: Any = None,
        public_size: int | None = None,
        example: tuple[Any, Any] | None = None,
    ) -> None:
        if ledger is not None and not isinstance(ledger, Payer):
            raise TypeError(
                f"ledger must be a dp.Ledger or one of its accounts, not {type(ledger).__name__}."
            )
        self._unit = agree_on_unit(unit, None if ledger is None else ledger.book)
        check_unit(self._unit, persons is not None)
        self._payer: Payer = Nobody() if ledger is None else ledger
        self._source = open_source(inputs, targets, example)
        self.public_size = (
            None if public_size is None else as_integer(public_size, "public_size", minimum=1)
        )
        self._places = _places(persons, len(self._source), rows_each(self._unit))

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        return self._unit

    @property
    def ledger(self) -> Book | None:
        """Where training is charged; None for public rows."""
        return self._payer.book

    def random_rows(self, model: Any) -> Rows:
        """Random public rows of the same shapes and types."""
        return random_rows(self._source.inputs, self._source.targets, model)

    @contextmanager
    def prepaid(
        self, plan: TrainingPlan, measure: Measure | None, *, token: str | None = None
    ) -> Iterator[TensorDoor]:
        """These rows for a training fixed in advance, with one charge for all of it.

        Parameters
        ----------
        plan : TrainingPlan
        measure : Measure, optional
            What it may cost, as in `Ledger.charge`.
        token : str, optional
            A name for the training, to take it up again after a crash: it is charged once, and steps are
            entered in the ledger before their rows are read.
        """
        note = "private training"
        if entropy.is_fixed():
            note += " [noise from a fixed seed: NOT PRIVATE]"
        entry = self._payer.charge(plan.event, measure, note=note, token=token)
        paid = PaidPlan(plan.event, entry, self._payer.book, token)
        try:
            yield TensorDoor(self._source, self._places, plan, paid)
        finally:
            paid.close()

    @contextmanager
    def prepaid_together(
        self, plan: TrainingPlan, measure: Measure | None, together: Together
    ) -> Iterator[TensorDoor]:
        """As `prepaid`, in one of several processes with rows of their own: one charge for all of them.

        Privacy
        -------
        The first process charges. The others find that charge in the ledger by its name, or, in another
        ledger, charge it there; if the first one is refused, all are.
        """
        token, door, failed = together.tell(new_token()), None, None
        with ExitStack() as stack:
            if together.is_first:
                try:
                    door = stack.enter_context(self.prepaid(plan, measure, token=token))
                except Exception as error:
                    failed = error
            refused = together.tell(None if failed is None else type(failed).__name__)
            if failed is not None:
                raise failed
            if refused is not None:
                raise RuntimeError(
                    f"distributed: the first process was refused ({refused}): see there."
                )
            if door is None:
                entry = self._payer.charge(
                    plan.event, measure, note="private training", token=token
                )
                paid = PaidPlan(plan.event, entry, self._payer.book)
                stack.callback(paid.close)
                door = TensorDoor(self._source, self._places, plan, paid)
            yield door

    def __repr__(self) -> str:
        shapes = ", ".join(str(shape) for shape, _ in self._source.inputs)
        return f"PrivateTensors(rows of shape {shapes},\n  unit: {self.unit})"

    def __reduce__(self) -> Any:
        raise TypeError("private tensors can't be pickled or copied: that would copy their rows.")


@final
class TensorDoor:
    """The rows of a charged training: steps are claimed first, then their batches are drawn."""

    def __init__(
        self, source: Source, places: npt.NDArray[np.int64], plan: TrainingPlan, paid: PaidPlan
    ) -> None:
        self._source, self._places, self._plan, self._paid = source, places, plan, paid
        self._claimed = 0

    @property
    def entry(self) -> Entry | None:
        """The ledger's entry for the training; None on public rows."""
        return self._paid.entry

    @property
    def book(self) -> Book | None:
        """The ledger or account that paid."""
        return self._paid.book

    @property
    def reader(self) -> Any:
        """What is called to read rows, and may draw at random: a map-style data set."""
        return self._source.reader

    @property
    def begun(self) -> int:
        """How many steps were claimed so far, here or before a crash."""
        return self._paid.begun

    def claim(self, steps: int) -> None:
        """Take the next steps of the plan, for good; in the ledger, if the training has a token.

        Privacy
        -------
        A step that was claimed and not made is lost. None is made twice.
        """
        self._paid.charge(self._plan.several(steps))
        self._claimed += steps

    def carry_out(self, steps: int, act: Callable[[TensorDoor], None]) -> None:
        """Take the next steps of the plan, and carry them out on what this door then gives."""
        self.claim(steps)
        act(self)

    def draw(self, size: int, repeats: int = 1) -> Iterator[Block]:
        """The blocks of one claimed step: drawn persons in blocks of `size` places.

        Parameters
        ----------
        size : int
            Persons to a block.
        repeats : int
            How often each row stands in it, one after the other, to be augmented.
        """
        self._paid.check()
        if self._claimed <= 0:
            raise ValueError("no step is claimed: a batch is drawn for a step that was paid for.")
        self._claimed -= 1
        drawn = self._plan.sampler.draw(len(self._places))
        for start in range(0, len(drawn), size):
            yield self._block(drawn[start : start + size], size, repeats)

    def _block(self, persons: npt.NDArray[np.intp], size: int, repeats: int) -> Block:
        each, present = self._places.shape[1], np.arange(size) < len(persons)
        places = np.full((size, each), -1, np.int64)
        places[: len(persons)] = self._places[persons]
        if each == repeats == 1:
            inputs, targets = self._source.take(places[:, 0])
            return Block(inputs, targets, present.astype(np.float64), present)
        # a row that is missing is filled by the person's first one, at weight 0
        filled = np.where(places < 0, places[:, :1], places)
        inputs, targets = self._source.take(np.repeat(filled.ravel(), repeats))
        weights = np.repeat(places.ravel() >= 0, repeats) / repeats
        return Block(inputs, targets, weights, present)


def open_paid(
    inputs: Tensor, targets: Tensor, plan: TrainingPlan, persons: Any = None, each: int = 1
) -> TensorDoor:
    """Rows of a step whose event was charged for the whole plan.

    Parameters
    ----------
    inputs, targets : tensor
    plan : TrainingPlan
    persons : array, optional
        The person each row belongs to, with at most `each` rows; without it each row is a person.
    each : int

    Privacy
    -------
    For the inside of a `Step` alone, which the door of a `PrivateDataset` runs after the charge.
    """
    source = Source((inputs,), targets)
    places = _places(persons, len(source), each)
    return TensorDoor(source, places, plan, PaidPlan(plan.event, None))


def _places(persons: Any, rows: int, each: int) -> npt.NDArray[np.int64]:
    """The rows of each person, of shape (persons, max_rows), with -1 where there is none."""
    if persons is None:
        return np.arange(rows, dtype=np.int64)[:, None]
    ids = np.asarray(persons)
    if ids.shape != (rows,):
        raise ValueError("persons must hold one id for each row.")
    owners = number_persons(ids)
    order = np.argsort(owners, kind="stable")
    order = order[owners[order] >= 0]
    count = int(owners.max()) + 1 if rows else 0
    starts = np.searchsorted(owners[order], np.arange(count))
    rank = np.arange(len(order)) - starts[owners[order]]
    found = np.full((count, each), -1, np.int64)
    kept = rank < each
    found[owners[order][kept], rank[kept]] = order[kept]
    return found[found[:, 0] >= 0]
