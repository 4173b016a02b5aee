"""Sums of numeric columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from discreet.coding import PRODUCT_BITS, Extent, Term
from discreet.columns import Numeric, Score, column_name, numeric_column
from discreet.expressions import Expression
from discreet.queries.additive import Additive, Floats
from discreet.schema import Schema

#: Coordinates of second moments are weighted to this common size, so that one noise fits all.
MOMENT_SIZE = 2 ** (2 * PRODUCT_BITS)

By = str | Sequence[str] | None
Where = Expression | str | None


@final
class Sum(Additive):
    """The sum of a column.

    The column's values are put on a grid that keeps zero, of step max(abs(bounds))/2^20 (exact for
    `Integer` columns up to 2^20), rounded to nearest. May also sum a `Score`.

    Privacy
    -------
    Under add/remove one person moves the sum by the largest value in size; under replace-one by the
    distance of the bounds, or from a bound to zero where a row can be left out, if that is more.
    Null and NaN count as the column's fill. Proof page: ``docs/proofs/coding.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> people = {"age": [34, 51, 29, 62] * 100, "ward": ["A", "B", "A", "A"] * 100}
    >>> schema = dp.Schema(age=dp.Integer(0, 100), ward=dp.Categorical("A", "B"))
    >>> data = dp.PrivateDataset(people, schema, ledger=dp.Ledger(limit=dp.PureDP(9)))
    >>> answer = data.release(dp.Sum("age"), dp.PureDP(1))
    >>> 16_000 < answer.value < 19_000
    True
    """

    error_needs_rows = False

    def __init__(self, column: str, *, by: By = None, where: Where = None) -> None:
        super().__init__(by, where)
        self.column = column_name(column, type(self).__name__)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def terms(self, schema: Schema) -> tuple[Term, ...]:
        column = schema[self.column]
        if isinstance(column, Score):
            return (Term(1, (column.code(self.column, schema),)),)
        return (Term(1, (numeric_column(schema, self.column, "Sum").summand(self.column),)),)

    def extent(self, schema: Schema, counted: bool) -> Extent:
        (code,) = self.terms(schema)[0].codes
        largest, width = max(abs(code.low), abs(code.high)), code.high - code.low
        return Extent(largest, largest**2, width, width**2)

    def _step(self, schema: Schema) -> float:
        column = schema[self.column]
        if isinstance(column, Score):
            return 1.0
        assert isinstance(column, Numeric)
        multiplier = column.summand(self.column).multiplier
        return 1.0 / multiplier if multiplier else 0.0

    def estimate(self, totals: Floats, schema: Schema) -> Any:
        return totals[:, 0] * self._step(schema)

    def error(self, totals: Floats, deviations: Floats, schema: Schema) -> Any:
        return np.full(len(totals), deviations[0] * self._step(schema))

    def bounds(self, totals: Floats, widths: Floats, schema: Schema) -> tuple[Any, Any]:
        step = self._step(schema)
        return (totals[:, 0] - widths[0]) * step, (totals[:, 0] + widths[0]) * step
