"""Neighbouring tables from a schema: extreme rows that come, go or change."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product
from typing import Any, TypeVar, overload

import numpy as np

from discreet.columns import Categorical, Date, Numeric
from discreet.dataset import PrivateDataset
from discreet.events import Repeat
from discreet.ledger import Ledger
from discreet.measures import Measure
from discreet.queries import Query
from discreet.schema import Schema
from discreet.step import Step
from discreet.unit import ADD_REMOVE, Relation, Unit, as_unit

__all__ = ["Neighbours", "Pairs", "neighbouring", "through_the_door"]

Table = dict[str, Any]
Row = tuple[Any, ...]

#: The most rows that stand for "any row".
_MAX_ROWS = 24


Data = TypeVar("Data")


class Pairs(Sequence[tuple[Data, Data]]):
    """Pairs of neighbours, and pairs near a given one.

    An audit that gets these looks for a bad pair by itself: early runs quarter the list, then pairs near
    the worst are tried, step by step.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import audit
    >>> pairs = audit.Answers(3)
    >>> isinstance(pairs, audit.Pairs)
    True
    >>> len(pairs.near(pairs[0], np.random.default_rng(0), count=4)) <= 4
    True
    """

    @abstractmethod
    def near(
        self, pair: tuple[Data, Data], random: np.random.Generator, count: int
    ) -> list[tuple[Data, Data]]:
        """Pairs like this one: at most `count`, neighbours too."""


class Neighbours(Pairs[Table]):
    """Pairs of small tables that differ in one person.

    Examples
    --------
    >>> import discreet as dp
    >>> pairs = dp.audit.Neighbours(dp.Schema(age=dp.Integer(0, 100)), dp.ADD_REMOVE, rows=2)
    >>> less, more = pairs[0]
    >>> len(more["age"]) - len(less["age"])
    1
    """

    def __init__(self, schema: Schema, unit: Unit | Relation, rows: int = 3) -> None:
        self._schema, self._unit = schema, as_unit(unit)
        self._extremes = [_extremes(schema, name) for name in schema.base]
        every = list(islice(product(*self._extremes), 100_000))
        step = max(1, len(every) // _MAX_ROWS)
        self._any = _corners(self._extremes) + every[::step]
        self._any = list(dict.fromkeys(map(_Comparable, self._any)))  # type: ignore[arg-type]
        self._any = [row.row for row in self._any[: 2 * _MAX_ROWS]]  # type: ignore[attr-defined]
        middle = [values[len(values) // 2] for values in self._extremes]
        starts = [[tuple(middle)] * rows, [self._any[0]] * rows, [self._any[-1]] * rows, []]
        self._pairs = [pair for common in starts for pair in self._of(common)]

    def _of(self, common: list[Row]) -> Iterator[tuple[Table, Table]]:
        """All pairs with these rows in common."""
        extra = self._unit.rows_per_person
        for index, row in enumerate(self._any):
            if self._unit.relation is ADD_REMOVE:
                yield self._table(common, []), self._table(common, [row] * extra)
            else:
                other = self._any[-1 - index]
                if _Comparable(row) != _Comparable(other):
                    yield self._table(common, [row] * extra), self._table(common, [other] * extra)

    def _table(self, common: list[Row], person: list[Row]) -> Table:
        rows = [*common, *person]
        table: Table = {}
        for index, (name, column) in enumerate(self._schema.base.items()):
            cells = [row[index] for row in rows]
            kind: Any = np.float64 if isinstance(column, Numeric) else object
            table[name] = np.array(cells, "datetime64[D]" if isinstance(column, Date) else kind)
        if self._unit.id_column is not None:
            ids = [f"common {i}" for i in range(len(common))] + ["the person"] * len(person)
            table[self._unit.id_column] = np.array(ids, object)
        return table

    def near(
        self, pair: tuple[Table, Table], random: np.random.Generator, count: int
    ) -> list[tuple[Table, Table]]:
        """Pairs like this one, with the cells of one row changed to other extremes."""
        found = []
        for _ in range(count):
            first, second = ({k: v.copy() for k, v in table.items()} for table in pair)
            length = max(len(next(iter(table.values()))) for table in pair)
            at = int(random.integers(max(1, length)))
            for name, values in zip(self._schema.base, self._extremes, strict=True):
                if random.random() < 0.5:
                    continue
                value = values[int(random.integers(len(values)))]
                same = _same_row(first, second, at)
                for table in (first, second) if same else (second,):
                    if at < len(table[name]):
                        table[name][at] = value
            found.append((first, second))
        return found

    @overload
    def __getitem__(self, index: int) -> tuple[Table, Table]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[Table, Table]]: ...
    def __getitem__(self, index: Any) -> Any:
        return self._pairs[index]

    def __len__(self) -> int:
        return len(self._pairs)


class _Comparable:
    """A row whose NaNs are equal."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self._key = tuple("nan" if _is_missing(v) else v for v in row)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Comparable) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _is_missing(cell: Any) -> bool:
    if isinstance(cell, np.datetime64):
        return bool(np.isnat(cell))
    return isinstance(cell, float) and math.isnan(cell)


def _same_row(first: Table, second: Table, at: int) -> bool:
    """Whether row `at` is a common row of both tables."""
    rows = []
    for table in (first, second):
        if at >= len(next(iter(table.values()))):
            return False
        rows.append(_Comparable(tuple(column[at] for column in table.values())))
    return rows[0] == rows[1]


def _extremes(schema: Schema, name: str) -> list[Any]:
    """Cells that stand for anything: ends, middle, far outside, not a number, unknown."""
    column = schema.base[name]
    if isinstance(column, Date):
        days = [
            column.lower,
            (column.lower + column.upper) // 2,
            column.upper,
            column.upper + 10**6,
        ]
        return [*(np.datetime64(day, "D") for day in days), np.datetime64("NaT", "D")]
    if isinstance(column, Numeric):
        lower, upper = float(column.lower), float(column.upper)
        return [lower, (lower + upper) / 2, upper, upper + 1e6 * (1 + upper - lower), math.nan]
    if isinstance(column, Categorical):
        known = [column.values[0], column.values[-1]]
        unknown: Any = "no such value" if isinstance(known[0], str) else 10**9 + 7
        return [*dict.fromkeys(known), unknown]
    return ["", "a", "a long text that is nobody's"]


def _corners(extremes: list[list[Any]]) -> list[Row]:
    """All low, all high, and one column against the others."""
    low = tuple(values[0] for values in extremes)
    high = tuple(values[2] if len(values) > 3 else values[1 % len(values)] for values in extremes)
    mixed = []
    for index in range(min(len(extremes), _MAX_ROWS // 2)):
        mixed.append((*low[:index], high[index], *low[index + 1 :]))
        mixed.append((*high[:index], low[index], *high[index + 1 :]))
    return [low, *mixed, high]


def neighbouring(schema: Schema, unit: Unit | Relation = ADD_REMOVE, rows: int = 3) -> Neighbours:
    """Worst-case neighbours: small tables with extreme rows that come, go or change.

    Parameters
    ----------
    schema : Schema
    unit : Unit or relation
        With `max_rows` the person has that many rows.
    rows : int
        How many rows the tables have in common.

    Examples
    --------
    >>> import discreet as dp
    >>> pairs = dp.audit.neighbouring(dp.Schema(age=dp.Integer(0, 100)), rows=2)
    >>> less, more = pairs[0]
    >>> len(less["age"]), len(more["age"])
    (2, 3)
    """
    return Neighbours(schema, unit, rows)


def through_the_door(
    asked: Query | Step, budget: Measure | None, schema: Schema, unit: Unit | Relation = ADD_REMOVE
) -> Callable[..., list[Any]]:
    """A mechanism for `audit` that really opens, plans, charges, reads and releases.

    Parameters
    ----------
    asked : Query or Step
    budget : Measure
        That of a query, for every run; None for a step.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(age=dp.Integer(0, 100))
    >>> count = dp.audit.through_the_door(dp.Count(), dp.PureDP(1), schema)
    >>> pairs = dp.audit.neighbouring(schema, rows=1)
    >>> dp.audit.audit(count, pairs[0], 1.0, trials=200).verdict
    'consistent'
    """

    def mechanism(table: Any, trials: int) -> list[Any]:
        ledger = Ledger(limit=_enough(asked, budget, schema, unit, trials), unit=as_unit(unit))
        data = PrivateDataset(table, schema, ledger=ledger)
        event = data.plan(asked, budget).event
        outputs: list[Any] = []
        with data.prepaid(Repeat(event, trials)) as door:
            if isinstance(asked, Query):
                prepared = data._prepare(asked, budget)
                # planned once, as it is charged: for all runs
                door._prepare = lambda *_: prepared  # type: ignore[method-assign]
            for _ in range(trials):
                if isinstance(asked, Step):
                    outputs.append(door.run(asked))
                else:
                    assert budget is not None
                    outputs.append(door.release(asked, budget).value)
        return outputs

    return mechanism


def _enough(
    asked: Query | Step, budget: Measure | None, schema: Schema, unit: Unit | Relation, trials: int
) -> Measure:
    """A limit that covers all runs."""
    from discreet.accounting import cost
    from discreet.measures import PureDP

    if budget is not None:
        return budget.times(trials + 1)
    assert isinstance(asked, Step)
    return cost(asked.event(schema, as_unit(unit)), PureDP).times(trials + 1)
