"""Means of numeric columns, and their shrinkage towards the mean of all groups."""

from __future__ import annotations

import copy
from typing import Any, final

import numpy as np

from discreet.coding import VALUE_BITS, Extent, Linear, Term
from discreet.columns import column_name, numeric_column
from discreet.queries.additive import Additive, Floats
from discreet.queries.sums import By, Where
from discreet.schema import Schema
from discreet.unit import Unit

__all__ = ["Mean", "shrink_towards_mean"]


@final
class Mean(Additive):
    """The mean of a column: one noised pair of sums, then a quotient.

    Reported as mid + half-width · S/max(n, 1), clamped to the column's bounds; so a group with few rows
    is drawn towards the midpoint and never outside.

    Parameters
    ----------
    column : str
    by, where
        As in every query.
    shrink : bool
        Draw the noised means of groups towards the mean of all groups, the more the noisier they are.
        That is post-processing and costs nothing. It lowers the error of most groups, and biases those
        that differ most: leave it out where single groups are to be compared. `stderr` is then the
        root mean squared error that shrinkage expects; intervals stay those of the means as noised.

    Privacy
    -------
    With k the code from 0 to s between the bounds, the pair (sum of k, sum of s - k) has L1 sensitivity
    s, where count and sum would have 2s, and squared L2 sensitivity s². Under replace-one without groups
    the pair is (count, sum of 2k - s), and the sum alone where the count is public. One vector, one noise.
    Proof page: ``docs/proofs/moments.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> people = {"age": [34, 51, 29, 62] * 100, "ward": ["A", "B", "A", "A"] * 100}
    >>> schema = dp.Schema(age=dp.Integer(0, 100), ward=dp.Categorical("A", "B"))
    >>> data = dp.PrivateDataset(people, schema, ledger=dp.Ledger(limit=dp.PureDP(9)))
    >>> answer = data.release(dp.Mean("age"), dp.PureDP(1))
    >>> 40 < answer.value < 48
    True
    """

    def __init__(
        self, column: str, *, by: By = None, where: Where = None, shrink: bool = False
    ) -> None:
        super().__init__(by, where)
        self.column = column_name(column, type(self).__name__)
        if not isinstance(shrink, bool):
            raise TypeError(f"shrink must be True or False, not {type(shrink).__name__}.")
        if shrink and not self.by:
            raise ValueError("shrink needs by: the means of groups are drawn towards that of all.")
        self.shrink = shrink
        self._is_split = False

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def _options(self) -> list[str]:
        return [*super()._options(), *(["shrink=True"] if self.shrink else [])]

    def in_basis(self, schema: Schema, unit: Unit) -> Mean:
        query = copy.copy(self)
        query._is_split = self.norms_decide(schema, unit)
        return query

    def _steps(self, schema: Schema) -> int:
        return max(1, numeric_column(schema, self.column, "Mean").steps(VALUE_BITS))

    def terms(self, schema: Schema) -> tuple[Term, ...]:
        column = numeric_column(schema, self.column, "Mean")
        if not self._is_split:
            return Term(self._steps(schema)), Term(1, (column.centred(self.column, VALUE_BITS),))
        code = column.grid(self.column, VALUE_BITS)
        return Term(1, (code,)), Term(1, (Linear(code, -1, self._steps(schema)),))

    def extent(self, schema: Schema, counted: bool) -> Extent:
        steps = numeric_column(schema, self.column, "Mean").steps(VALUE_BITS)
        if self._is_split:
            size = self._steps(schema)
            return Extent(size, size**2, 2 * steps, 2 * steps**2)
        count = self._steps(schema) if counted else 0
        return Extent(count + steps, count**2 + steps**2, 2 * steps, 4 * steps**2)

    def expected_totals(self, rows: float, schema: Schema) -> Floats:
        if not self._is_split:
            return super().expected_totals(rows, schema)
        return np.full(2, rows * self._steps(schema) / 2)

    def _centred(self, totals: Floats) -> tuple[Floats, Floats]:
        """Count and sum of 2k - steps, the count in steps."""
        first, second = totals[:, 0], totals[:, 1]
        return (first + second, first - second) if self._is_split else (first, second)

    def _at(self, counts: Floats, sums: Floats, schema: Schema) -> Any:
        column, steps = numeric_column(schema, self.column, "Mean"), self._steps(schema)
        share = np.clip(sums / np.maximum(counts, steps), -1.0, 1.0)
        half = 0.0 if column.is_exact(VALUE_BITS) else 0.5
        position = (share * steps + steps) / 2 + half
        value = float(column.lower) + column.width * (position / steps)
        return np.clip(value, float(column.lower), float(column.upper))

    def estimate(self, totals: Floats, schema: Schema) -> Any:
        return self._at(*self._centred(totals), schema)

    def error(self, totals: Floats, deviations: Floats, schema: Schema) -> Any:
        column, steps = numeric_column(schema, self.column, "Mean"), self._steps(schema)
        rows, sums = self._centred(totals)
        counts = np.maximum(rows, steps)
        share = np.clip(sums / counts, -1.0, 1.0)
        # delta method; the weights of both coordinates are the derivatives of the quotient
        weights = (1 - share, 1 + share) if self._is_split else (share, np.ones_like(share))
        spread = np.hypot(weights[0] * deviations[0], weights[1] * deviations[1]) / counts
        return np.minimum(spread, 1.0) * column.width / 2

    def bounds(self, totals: Floats, widths: Floats, schema: Schema) -> tuple[Any, Any]:
        ends = [totals + widths * signs for signs in ((-1, -1), (-1, 1), (1, -1), (1, 1))]
        corners = [self._at(*self._centred(end), schema) for end in ends]
        return np.minimum.reduce(corners), np.maximum.reduce(corners)

    def finish(self, totals: Floats, deviations: Floats, schema: Schema) -> tuple[Any, Any]:
        value, error = super().finish(totals, deviations, schema)
        if not self.shrink:
            return value, error
        rows = np.maximum(self._centred(totals)[0], self._steps(schema))
        return shrink_towards_mean(value, error, rows)


def shrink_towards_mean(values: Floats, errors: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Means of groups drawn towards their weighted mean, and the errors to expect then.

    A group's share of its own mean is τ²/(τ² + error²), where τ² is what the spread of the means exceeds
    their noise by (the moment estimate of DerSimonian & Laird 1986). Fewer than four groups are left as
    they are: their spread says too little.
    """
    noise = np.asarray(errors, np.float64) ** 2
    if len(values) < 4 or not (noise > 0).all():
        return values, errors
    precision = 1 / noise
    total = precision.sum()
    centre = (precision * values).sum() / total
    excess = (precision * (values - centre) ** 2).sum() - (len(values) - 1)
    between = max(0.0, excess / (total - (precision**2).sum() / total))
    share = between / (between + noise)
    overall = (weights * values).sum() / weights.sum()
    return overall + share * (values - overall), np.sqrt(share * noise)
