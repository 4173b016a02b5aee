"""A trusted step on rows: for what is not a sum of contributions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.coding import Batch, Code, CodedQuery, Engine, PersonLimit, Places
from discreet.events import Event
from discreet.ledger import Progress
from discreet.schema import Schema, order_codes
from discreet.unit import Unit


@dataclass(frozen=True, repr=False)
class CodedRows:
    """The rows of a data set as integer codes, for a `Step` alone.

    Attributes
    ----------
    codes : int64 array of shape (rows, columns)
        In the order of `names`; -1 where a cell is no declared category.
    names : tuple of str
    schema : Schema
    persons : int64 array, optional
        For a step `by_person`, under a unit with ``max_rows``: the number of the person whose row it is.
    """

    codes: npt.NDArray[np.int64]
    names: tuple[str, ...]
    schema: Schema
    persons: npt.NDArray[np.int64] | None = None

    def __repr__(self) -> str:
        return f"CodedRows({', '.join(self.names)})"


class Step(ABC):
    """Something that reads rows and returns what may be published.

    Privacy
    -------
    The author of a step vouches that `run` is as private as `event` says. The door charges the event
    before `run` sees a row.

    Examples
    --------
    >>> import discreet as dp
    >>> class ManyRows(dp.Step):
    ...     def event(self, schema, unit):
    ...         return dp.events.DiscreteLaplace(2, unit.rows_per_person)
    ...
    ...     def run(self, rows):
    ...         return len(rows.codes) + dp.noise.discrete_laplace(2) > 100
    >>> table, schema = {"x": [1.0] * 400}, dp.Schema(x=dp.Real(0, 9))
    >>> data = dp.PrivateDataset(table, schema, ledger=dp.Ledger(limit=dp.PureDP(1)))
    >>> bool(data.run(ManyRows()))
    True
    """

    #: The columns it reads; all of the schema's by default.
    columns: tuple[str, ...] | None = None
    #: Whether it rests on the places of rows; the door refuses it where a cell might decide them.
    ordered: bool = False
    #: Whether it asks whose row each is, where the unit has persons with several rows.
    by_person: bool = False

    @abstractmethod
    def event(self, schema: Schema, unit: Unit) -> Event:
        """What it will be, for the accountant; from public facts alone."""

    @abstractmethod
    def run(self, rows: CodedRows) -> Any:
        """The result. It must neither raise nor change its shape because of a row."""


class BatchStep(ABC):
    """Something that makes, of one batch of rows after the other, what may be published of them.

    Privacy
    -------
    The author of a step vouches that all batches together, each published once, are as private as `event`
    says, and that nobody sees what `run_batch` makes before the door has entered its name: it may be run
    again for a batch, here or in another process, and then only one draw may ever be seen.
    """

    #: The columns it reads.
    columns: tuple[str, ...]

    @abstractmethod
    def event(self, schema: Schema, unit: Unit) -> Event:
        """What all of it will be, for the accountant; from public facts alone."""

    @abstractmethod
    def run_batch(self, batch: Batch) -> str:
        """Make the result of a batch where nobody sees it, and return the name it has there.

        It must neither raise nor change its shape because of a row.
        """


def read_rows(engine: Engine, step: Step, schema: Schema, unit: Unit) -> CodedRows:
    """The rows of a step whose event was charged: at most ``max_rows`` of each person."""
    names = tuple(schema.base) if step.columns is None else tuple(step.columns)
    codes = tuple(schema.code(name) for name in names)
    if unit.id_column is None:
        return CodedRows(engine.rows(CodedQuery((), (), None, (), None), codes), names, schema)
    keep = PersonLimit(unit.id_column, unit.rows_per_person, order_codes(schema))
    query = CodedQuery((), (), None, (), keep)
    if not step.by_person:
        return CodedRows(engine.rows(query, codes), names, schema)
    found = engine.person_rows(query, codes)
    return CodedRows(found[:, :-1], names, schema, found[:, -1])


def make_batches(
    engine: Engine,
    step: BatchStep,
    codes: tuple[Code, ...],
    places: Places,
    progress: Progress,
) -> Iterator[tuple[int, str]]:
    """Make each batch that is not entered yet, enter it, and only then give its number and name."""
    progress.bind(f"{tuple(step.columns)!r} in {places!r}")
    done = {part for part in range(places.batches) if progress.find(part) is not None}
    left = set(range(places.batches)) - done
    for number, name in engine.map_batches(codes, places, step.run_batch, done):
        left.discard(number)
        if progress.enter(number, name):
            yield number, name
    for number in sorted(left):  # no row stands there
        name = step.run_batch(Batch.empty(number, places, len(codes)))
        if progress.enter(number, name):
            yield number, name


def not_a_step(given: object) -> TypeError:
    """The error for what was given in place of a step."""
    return TypeError(
        f"step must be a dp.Step, not {type(given).__name__}: questions are asked with data.release."
    )
