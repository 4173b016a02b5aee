"""How many rows fall into each combination of cells of several columns: every row counts, in one cell."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, final

import numpy as np

from discreet.coding import Code, CodedQuery, Cuts, Extent, Lookup, PersonLimit, Sensitivity, Term
from discreet.columns import MAX_CELLS, Bins, Categorical, Date, Integer, Numeric, column_name
from discreet.queries.additive import Additive, Floats
from discreet.schema import Schema, order_codes
from discreet.unit import REPLACE_ONE, Unit

__all__ = ["Axis", "CellCounts"]


@final
@dataclass(frozen=True)
class Axis:
    """A column cut into public cells, numbered 0, 1, ...; every row is in one of them.

    Parameters
    ----------
    column : str
        A `Categorical`, `Real` or `Integer` column of the table.
    cuts : increasing numbers, optional
        For a column of numbers, as in `Bins`. Without them it has one cell, or, if it is an `Integer`,
        one for each value. A column of categories has one cell for each value, after one for rows without a
        declared value, where there can be some.
    groups : sequence of int, optional
        For each cell the group in which it is counted: 0, 1, ..., each used.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(age=dp.Integer(0, 100), ward=dp.Categorical("A", "B"))
    >>> dp.queries.Axis("age", cuts=(18, 65)).size(schema)
    3
    >>> dp.queries.Axis("age", cuts=(18, 65), groups=(0, 1, 0)).size(schema)
    2
    """

    column: str
    cuts: tuple[float, ...] = ()
    groups: tuple[int, ...] | None = None
    _made: list[tuple[Schema, Code]] = field(
        init=False, repr=False, compare=False, default_factory=list
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", column_name(self.column, "Axis"))
        object.__setattr__(self, "cuts", tuple(float(cut) for cut in self.cuts))
        if self.groups is None:
            return
        groups = tuple(int(group) for group in self.groups)
        if set(groups) != set(range(max(groups, default=-1) + 1)) or not groups:
            raise ValueError("groups must be 0, 1, ..., each used by one or more cells.")
        object.__setattr__(self, "groups", groups)

    def cells(self, schema: Schema) -> Code:
        """The code of the cell that a row is in, before cells are put into groups."""
        column = schema[self.column]
        if isinstance(column, Categorical):
            value = column.code(self.column, schema)
            return Cuts(value, tuple(range(value.high + 1))) if value.low < 0 else value
        if isinstance(column, Numeric):
            if self.cuts:
                return Bins(self.column, self.cuts).code(self.column, schema)
            code = column.code(self.column, schema)
            if isinstance(column, Integer | Date):
                column.cells(self.column, schema)  # complains if there are too many
                return code
            return Lookup((Cuts(code, (1,)),), ((0, 0),), (0,))
        return column.code(self.column, schema)  # free text and numbers without bounds complain

    def code(self, schema: Schema) -> Code:
        """The code of the group of cells that a row is in; one object for each schema, which caches know."""
        made = self._made[0] if self._made else None
        if made is None or made[0] is not schema:
            made = (schema, self._new_code(schema))
            self._made[:] = [made]
        return made[1]  # this thread's own, whatever another one has put there since

    def _new_code(self, schema: Schema) -> Code:
        cells = self.cells(schema)
        if self.groups is None:
            return cells
        if len(self.groups) != cells.high + 1:
            raise ValueError(
                f"groups: column {self.column!r} has {cells.high + 1} cells, not {len(self.groups)}."
            )
        steps = [b - a for a, b in pairwise(self.groups)]
        if all(step in (0, 1) for step in steps):  # neighbours: a comparison for each group
            starts = tuple(place + 1 for place, step in enumerate(steps) if step)
            return Cuts(cells, starts) if starts else Lookup((cells,), (self.groups,), (0,))
        return Lookup((cells,), (self.groups,), tuple(range(max(self.groups) + 1)))

    def size(self, schema: Schema) -> int:
        """How many cells there are, or groups of them."""
        return self.code(schema).high + 1


@final
class CellCounts(Additive):
    """How many rows fall into each combination of the axes' cells.

    Unlike `Count`, which leaves out rows without a declared value, every row counts, so the cells of any
    axes add up to the same number of rows.

    Parameters
    ----------
    *axes : Axis
        Of different columns.

    Privacy
    -------
    A row adds one to one cell: one person moves the counts by `max_rows` in L1 and L2 (add/remove), by twice
    that in L1 and √2 times that in L2 (replace-one), for whatever cells. Proof page:
    ``docs/proofs/synthetic.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> from discreet.queries import Axis, CellCounts
    >>> table = {"age": [20, 30, 70], "ward": ["A", "A", "B"]}
    >>> schema = dp.Schema(age=dp.Integer(0, 100), ward=dp.Categorical("A", "B"))
    >>> data = dp.PrivateDataset(table, schema, unit=dp.PUBLIC)
    >>> counts = data.release(CellCounts(Axis("age", (65,))), dp.PureDP(float("inf")))
    >>> counts.value
    array([2, 1])
    """

    error_needs_rows = False

    def __init__(self, *axes: Axis) -> None:
        if not axes or not all(isinstance(axis, Axis) for axis in axes):
            raise TypeError("CellCounts needs one or more axes, as in Axis('age', (30, 60)).")
        super().__init__([axis.column for axis in axes], None)
        self.axes = axes

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    def sizes(self, schema: Schema) -> tuple[int, ...]:
        """How many cells each axis has."""
        return tuple(axis.size(schema) for axis in self.axes)

    def labels(self, schema: Schema) -> list[Any]:
        cells = math.prod(self.sizes(schema))
        if cells > MAX_CELLS:
            raise ValueError(
                f"columns {' and '.join(map(repr, self.by))} have {cells} cells together, more than the "
                f"{MAX_CELLS} that are counted: use fewer columns, or coarser ones (bins, cuts or groups)."
            )
        return list(range(cells))

    def terms(self, schema: Schema) -> tuple[Term, ...]:
        return (Term(1),)

    def can_leave_out(self, schema: Schema, unit: Unit) -> bool:
        return unit.id_column is not None

    def coded(self, schema: Schema, unit: Unit) -> CodedQuery:
        self.labels(schema)
        keep = None
        if unit.id_column is not None:
            keep = PersonLimit(unit.id_column, unit.rows_per_person, order_codes(schema), ())
        by = tuple(axis.code(schema) for axis in self.axes)
        return CodedQuery(self.terms(schema), by, None, (), keep)

    def extent(self, schema: Schema, counted: bool) -> Extent:
        return Extent(1, 1, 2, 2)

    def sensitivity(self, schema: Schema, unit: Unit) -> Sensitivity:
        # the same for all axes, even for a single cell: a plan is priced before its axes are known
        rows, sides = unit.rows_per_person, 2 if unit.relation is REPLACE_ONE else 1
        return Sensitivity(sides * rows, sides * rows**2)

    def estimate(self, totals: Floats, schema: Schema) -> Any:
        return totals[:, 0].astype(np.int64)

    def error(self, totals: Floats, deviations: Floats, schema: Schema) -> Any:
        return np.full(len(totals), deviations[0])

    def bounds(self, totals: Floats, widths: Floats, schema: Schema) -> tuple[Any, Any]:
        return totals[:, 0] - widths[0], totals[:, 0] + widths[0]

    def __repr__(self) -> str:
        return f"CellCounts({', '.join(axis.column for axis in self.axes)})"
