"""Counts, sums, squares and histograms of many columns for each group, as one vector: naive Bayes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from discreet.coding import Code, CodedQuery, Cuts, Extent, Linear, Lookup, Term, partial_codes
from discreet.columns import Numeric, column_name
from discreet.expressions import Expression
from discreet.queries.additive import Additive, Floats
from discreet.schema import Schema
from discreet.unit import Unit


@dataclass(frozen=True)
class MarginalsValue:
    """What one noised vector tells about each group.

    Attributes
    ----------
    count : array over groups, or None
        The number of rows; None without numeric columns.
    sums, squares : arrays of shape (groups, numeric columns)
        Of u and u², with u the column scaled by its bounds to [-1, 1].
    cells : tuple of arrays of shape (groups, cells), one for each countable column
        The number of rows with each declared value.
    unknown : tuple of arrays over groups, or None, one for each countable column
        The number of rows without a declared value; None where every row has one. With the `cells` of
        the column they add up to the rows of the group.

    Examples
    --------
    >>> import discreet as dp
    >>> table = {"ward": ["A", "A", "B"], "ill": ["no", "yes", "yes"]}
    >>> schema = dp.Schema(ward=dp.Categorical("A", "B"), ill=dp.Categorical("no", "yes"))
    >>> data = dp.PrivateDataset(table, schema, unit=dp.PUBLIC)
    >>> found = data.release(dp.queries.Marginals("ill", by="ward"), dp.PureDP(float("inf"))).value
    >>> found.cells[0].tolist()  # no and yes, by ward
    [[1.0, 1.0], [0.0, 1.0]]
    """

    count: Any
    sums: Any
    squares: Any
    cells: tuple[Any, ...]
    unknown: tuple[Any, ...]

    def map(self, act: Callable[[Any], Any]) -> MarginalsValue:
        """Each array put through a function."""
        return MarginalsValue(
            None if self.count is None else act(self.count),
            act(self.sums),
            act(self.squares),
            tuple(act(cells) for cells in self.cells),
            tuple(None if rows is None else act(rows) for rows in self.unknown),
        )


@final
class Marginals(Additive):
    """Moments of numeric columns and histograms of countable ones, for each group, in one vector.

    Columns that are `Real` or `Integer` give sums and sums of squares, all others (`Categorical`,
    `Bins`) the count of each cell. A column some of whose rows may have no declared value has one more
    cell for these: a row adds one to every histogram, so each of them adds up to the rows of the group.

    Parameters
    ----------
    *columns : str
    by : str or sequence of str
        The countable columns whose values are the groups.
    where : condition, optional
    tallied : sequence of str
        `Integer` columns whose values are to be counted one by one.

    Privacy
    -------
    With u in [-1, 1], a row adds (1/2; u, (1 - u²)/2 for each numeric column; an indicator for each
    countable one). As |u| + (1 - u²)/2 <= 1 and u² + (1 - u²)²/4 <= 1, the squares cost nothing beside
    the sums: L1 sensitivity 1/2 + number of columns, squared L2 sensitivity 1/4 + number of columns
    (add/remove). At most 2^33 rows. Proof page: ``docs/proofs/naive_bayes.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(age=dp.Integer(0, 100), ward=dp.Categorical("A", "B"))
    >>> table = {"age": [50, 100, 75], "ward": ["A", "A", "B"]}
    >>> data = dp.PrivateDataset(table, schema, unit=dp.PUBLIC)
    >>> found = data.release(dp.queries.Marginals("age", by="ward"), dp.PureDP(float("inf"))).value
    >>> found.count, found.sums.ravel().round(3)
    (array([2., 1.]), array([1. , 0.5]))
    """

    def __init__(
        self,
        *columns: str,
        by: str | Sequence[str],
        where: Expression | str | None = None,
        tallied: Sequence[str] = (),
    ) -> None:
        super().__init__(by, where)
        if not self.by:
            raise ValueError("Marginals needs by: the column whose values are the groups.")
        if not columns or len(set(columns)) != len(columns):
            raise ValueError("Marginals needs the names of one or more different columns.")
        self.names = tuple(column_name(column, "Marginals") for column in columns)
        self.tallied = tuple(column_name(column, "Marginals") for column in tallied)
        if not set(self.tallied) <= set(self.names):
            raise ValueError("tallied must be among the columns of Marginals.")

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names

    def _options(self) -> list[str]:
        shown = [f"tallied={list(self.tallied)}"] if self.tallied else []
        return [*super()._options(), *shown]

    def numeric(self, schema: Schema) -> list[tuple[str, Numeric]]:
        """The columns whose moments are asked for."""
        pairs = [(name, schema[name]) for name in self.names if name not in self.tallied]
        return [(name, column) for name, column in pairs if isinstance(column, Numeric)]

    def counted(self, schema: Schema) -> list[str]:
        """The columns whose cells are counted."""
        numeric = {name for name, _ in self.numeric(schema)}
        return [name for name in self.names if name not in numeric]

    def bits(self, schema: Schema) -> int:
        """Bits of the grid of numeric columns: fewer for many, so that the noise stays below 2^50."""
        bits, most = 14, 128
        while len(self.names) > most and bits > 8:
            bits, most = bits - 1, 4 * most
        return bits

    def terms(self, schema: Schema) -> tuple[Term, ...]:
        terms: list[Term] = []
        bits, numeric = self.bits(schema), self.numeric(schema)
        if numeric:
            terms.append(Term(4**bits))
        for name, column in numeric:
            steps, grid = column.steps(bits), column.grid(name, bits)
            weight = self._weight(steps, bits)
            # z = 2k - s; s² - z² = 4k(s - k)
            terms.append(Term(2 * steps * weight, (Linear(grid, 2, -steps),)))
            terms.append(Term(4 * weight, (grid, Linear(grid, -1, steps))))
        for name in self.counted(schema):
            terms += [Term(2 * 4**bits, (code,)) for code in _indicators(schema.code(name))]
        return tuple(terms)

    @staticmethod
    def _weight(steps: int, bits: int) -> int:
        """What brings a square, at most steps², to the common size 4^bits."""
        return int(4**bits // max(1, steps * steps))

    def coded(self, schema: Schema, unit: Unit) -> CodedQuery:
        coded = self._coded(schema, unit, self.terms(schema))
        needed: list[Any] = [*coded.by, *([] if coded.where is None else [coded.where])]
        return replace(coded, known=partial_codes(*needed))

    def can_leave_out(self, schema: Schema, unit: Unit) -> bool:
        if self.where is not None or unit.id_column is not None:
            return True
        return bool(partial_codes(*(schema.code(name) for name in self.by)))

    def extent(self, schema: Schema, counted: bool) -> Extent:
        bits, numeric = self.bits(schema), self.numeric(schema)
        count = 4**bits if numeric else 0
        l1, l2_squared, diameter, diameter_squared = count, count**2, 0, 0
        for _, column in numeric:
            steps = column.steps(bits)
            size = (
                2 * steps * steps * self._weight(steps, bits)
            )  # attained at both ends of the grid
            l1, l2_squared = l1 + size, l2_squared + size**2
            diameter, diameter_squared = diameter + 2 * size, diameter_squared + 4 * size**2
        for name in self.counted(schema):
            size, code = 2 * 4**bits, schema.code(name)
            l1, l2_squared = l1 + size, l2_squared + size**2
            moved = 2 if _cells(code) > 1 else 0  # from one cell to another
            diameter, diameter_squared = diameter + moved * size, diameter_squared + moved * size**2
        return Extent(l1, l2_squared, diameter, diameter_squared)

    def _split(self, values: Floats, schema: Schema) -> MarginalsValue:
        """Columns of (groups, terms) as count, first, second, cells, each in units of rows."""
        bits, numeric = self.bits(schema), self.numeric(schema)
        unit = float(4**bits)
        first = 1 if numeric else 0
        last = first + 2 * len(numeric)
        steps = [column.steps(bits) for _, column in numeric]
        # a column of width zero says nothing: its noise is not shown as sums
        scale = np.array([1 / (s * s * self._weight(s, bits)) if s else 0.0 for s in steps])
        cells, unknown, at = [], [], last
        for name in self.counted(schema):
            code = schema.code(name)
            here = values[:, at : at + _cells(code)] / (2 * unit)
            cells.append(here[:, : code.high + 1])
            unknown.append(here[:, -1] if _may_be_unknown(code) else None)
            at += _cells(code)
        return MarginalsValue(
            values[:, 0] / unit if numeric else None,
            values[:, first:last:2] * (scale / 2),
            values[:, first + 1 : last : 2] * scale,
            tuple(cells),
            tuple(unknown),
        )

    def _zeros(self, schema: Schema) -> Floats:
        """1 for columns with some width: those of width zero have u = 0 and so u² = 0."""
        bits = self.bits(schema)
        return np.array([float(column.steps(bits) > 0) for _, column in self.numeric(schema)])

    def estimate(self, totals: Floats, schema: Schema) -> Any:
        value = self._split(totals, schema)
        if value.count is None:
            return value
        squares = value.count[:, None] * self._zeros(schema) - value.squares
        return replace(value, squares=squares)

    def error(self, totals: Floats, deviations: Floats, schema: Schema) -> Any:
        rows = np.tile(np.asarray(deviations, np.float64), (len(totals), 1))
        value = self._split(rows, schema)
        if value.count is None:
            return value
        squares = np.hypot(value.count[:, None] * self._zeros(schema), value.squares)
        return replace(value, squares=squares)

    def bounds(self, totals: Floats, widths: Floats, schema: Schema) -> tuple[Any, Any]:
        value = self.estimate(totals, schema)
        half = self._split(np.tile(np.asarray(widths, np.float64), (len(totals), 1)), schema)
        if half.count is not None:
            half = replace(half, squares=half.count[:, None] * self._zeros(schema) + half.squares)
        return _distance(value, half, -1.0), _distance(value, half, 1.0)


def _may_be_unknown(code: Code) -> bool:
    """Whether some rows have no value of a countable column."""
    return code.low < 0


def _cells(code: Code) -> int:
    """The cells of a countable column: its values, and one for rows that have none of them."""
    return code.high + 1 + _may_be_unknown(code)


def _indicators(code: Code) -> list[Code]:
    """For each cell of a countable column a code that is 1 there and 0 elsewhere."""
    found: list[Code] = [
        Lookup((Cuts(code, (cell, cell + 1)),), ((0, 1, 0),), (0, 1))
        for cell in range(code.high + 1)
    ]
    if _may_be_unknown(code):
        found.append(Lookup((Cuts(code, (0,)),), ((1, 0),), (0, 1)))
    return found


def _distance(value: MarginalsValue, half: MarginalsValue, sign: float) -> MarginalsValue:
    return MarginalsValue(
        None if value.count is None else value.count + sign * half.count,
        value.sums + sign * half.sums,
        value.squares + sign * half.squares,
        tuple(v + sign * h for v, h in zip(value.cells, half.cells, strict=True)),
        tuple(
            None if v is None else v + sign * h
            for v, h in zip(value.unknown, half.unknown, strict=True)
        ),
    )
