"""Sums, means, variances and second moments of numeric columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from discreet.coding import PRODUCT_BITS, VALUE_BITS, Extent, Term
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


@final
class Mean(Additive):
    """The mean of a column: one noised pair of count and centred sum, then a quotient.

    Reported as mid + half-width · S/max(n, 1), clamped to the column's bounds; so a group with few rows
    is drawn towards the midpoint and never outside.

    Privacy
    -------
    The pair (count, sum of 2k - steps) is one vector with one noise. Under replace-one without `by`
    and `where` the count is public and only the sum is noised. Proof page: ``docs/proofs/coding.md``.
    """

    def __init__(self, column: str, *, by: By = None, where: Where = None) -> None:
        super().__init__(by, where)
        self.column = column_name(column, type(self).__name__)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def _steps(self, schema: Schema) -> int:
        return max(1, numeric_column(schema, self.column, "Mean").steps(VALUE_BITS))

    def terms(self, schema: Schema) -> tuple[Term, ...]:
        column = numeric_column(schema, self.column, "Mean")
        return Term(self._steps(schema)), Term(1, (column.centred(self.column, VALUE_BITS),))

    def extent(self, schema: Schema, counted: bool) -> Extent:
        steps = numeric_column(schema, self.column, "Mean").steps(VALUE_BITS)
        count = self._steps(schema) if counted else 0
        return Extent(count + steps, count**2 + steps**2, 2 * steps, 4 * steps**2)

    def _at(self, sums: Floats, counts: Floats, schema: Schema) -> Any:
        column, steps = numeric_column(schema, self.column, "Mean"), self._steps(schema)
        share = np.clip(sums / np.maximum(counts, steps), -1.0, 1.0)
        half = 0.0 if column.is_exact(VALUE_BITS) else 0.5
        position = (share * steps + steps) / 2 + half
        value = float(column.lower) + column.width * (position / steps)
        return np.clip(value, float(column.lower), float(column.upper))

    def estimate(self, totals: Floats, schema: Schema) -> Any:
        return self._at(totals[:, 1], totals[:, 0], schema)

    def error(self, totals: Floats, deviations: Floats, schema: Schema) -> Any:
        column, steps = numeric_column(schema, self.column, "Mean"), self._steps(schema)
        counts = np.maximum(totals[:, 0], steps)
        share = np.clip(totals[:, 1] / counts, -1.0, 1.0)
        spread = np.hypot(deviations[1], share * deviations[0]) / counts  # delta method
        return np.minimum(spread, 1.0) * column.width / 2

    def bounds(self, totals: Floats, widths: Floats, schema: Schema) -> tuple[Any, Any]:
        counts = totals[:, 0] - widths[0], totals[:, 0] + widths[0]
        sums = totals[:, 1] - widths[1], totals[:, 1] + widths[1]
        corners = [self._at(s, n, schema) for s in sums for n in counts]
        return np.minimum.reduce(corners), np.maximum.reduce(corners)


@dataclass(frozen=True)
class MomentsValue:
    """Count, mean and variance, of each column in order; arrays over groups first, if grouped."""

    count: Any
    mean: Any
    variance: Any


class _SecondMoments(Additive):
    """Shared by `Moments` and `Variance`: count, sums and sums of squares of some columns."""

    names: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names

    def _steps(self, schema: Schema) -> list[int]:
        return [
            numeric_column(schema, n, type(self).__name__).steps(PRODUCT_BITS) for n in self.names
        ]

    def _weights(self, schema: Schema) -> list[tuple[int, int]]:
        return [
            (MOMENT_SIZE // max(1, k), MOMENT_SIZE // max(1, k * k)) for k in self._steps(schema)
        ]

    def terms(self, schema: Schema) -> tuple[Term, ...]:
        terms = [Term(MOMENT_SIZE)]
        for name, (first, second) in zip(self.names, self._weights(schema), strict=True):
            code = numeric_column(schema, name, type(self).__name__).centred(name, PRODUCT_BITS)
            terms += [Term(first, (code,)), Term(second, (code, code))]
        return tuple(terms)

    def extent(self, schema: Schema, counted: bool) -> Extent:
        count = MOMENT_SIZE if counted else 0
        l1, l2_squared, diameter, diameter_squared = count, count**2, 0, 0
        for steps, (first, second) in zip(self._steps(schema), self._weights(schema), strict=True):
            a, b = first * steps, second * steps * steps
            l1, l2_squared = l1 + a + b, l2_squared + a * a + b * b
            diameter += _widest(steps, first, second)
            diameter_squared += 4 * a * a  # b <= a: the ends of the grid are farthest apart
        return Extent(l1, l2_squared, diameter, diameter_squared)

    def _shares(self, totals: Floats, schema: Schema) -> tuple[Floats, Floats]:
        """Mean and mean square of u = code/steps, in [-1, 1] and [0, 1]; shape (groups, columns)."""
        counts = np.maximum(totals[:, :1], MOMENT_SIZE)
        return self._first(totals, counts, schema), self._second(totals, counts, schema)

    def _first(self, totals: Floats, counts: Floats, schema: Schema) -> Floats:
        scale = [MOMENT_SIZE / max(1, f * k) for (f, _), k in self._scaled(schema)]
        return np.asarray(np.clip(totals[:, 1::2] / counts * scale, -1.0, 1.0))

    def _second(self, totals: Floats, counts: Floats, schema: Schema) -> Floats:
        scale = [MOMENT_SIZE / max(1, s * k * k) for (_, s), k in self._scaled(schema)]
        return np.asarray(np.clip(totals[:, 2::2] / counts * scale, 0.0, 1.0))

    def _scaled(self, schema: Schema) -> list[tuple[tuple[int, int], int]]:
        return list(zip(self._weights(schema), self._steps(schema), strict=True))

    def _halves(self, schema: Schema) -> tuple[Floats, Floats, Floats]:
        """Lower bound, half of the width, and half a grid step as a share of it, by column."""
        kinds = [numeric_column(schema, name, type(self).__name__) for name in self.names]
        lower = np.array([float(c.lower) for c in kinds])
        half = np.array([c.width / 2 for c in kinds])
        bias = [
            0.0 if c.is_exact(PRODUCT_BITS) else 1 / max(1, c.steps(PRODUCT_BITS)) for c in kinds
        ]
        return lower, half, np.array(bias)

    def _means(self, first: Floats, schema: Schema) -> Floats:
        lower, half, bias = self._halves(schema)
        return np.clip(lower + half * (first + bias + 1.0), lower, lower + 2 * half)

    def _variances(self, first: Floats, second: Floats, schema: Schema) -> Floats:
        _, half, _ = self._halves(schema)
        return half**2 * np.clip(second - first**2, 0.0, 1.0)


@final
class Moments(_SecondMoments):
    """Count, mean and variance of one or more columns, from one noised vector.

    Values are on a grid of 2^15 steps between the bounds (`Integer` columns up to that width: exact).
    The variance is that of the rows (divisor n).

    Privacy
    -------
    One vector (count, sums, sums of squares), its coordinates weighted to one size, with one noise.
    At most 2^32 rows. Proof page: ``docs/proofs/coding.md``.
    """

    def __init__(self, *columns: str, by: By = None, where: Where = None) -> None:
        super().__init__(by, where)
        if not columns or len(set(columns)) != len(columns):
            raise ValueError("Moments needs the names of one or more different columns.")
        self.names = tuple(column_name(column, "Moments") for column in columns)

    def estimate(self, totals: Floats, schema: Schema) -> Any:
        first, second = self._shares(totals, schema)
        return MomentsValue(
            totals[:, 0] / MOMENT_SIZE,
            self._means(first, schema),
            self._variances(first, second, schema),
        )

    def error(self, totals: Floats, deviations: Floats, schema: Schema) -> Any:
        mean, variance = _moment_errors(self, totals, deviations, schema)
        count = np.full(len(totals), deviations[0] / MOMENT_SIZE)
        return MomentsValue(count, mean, variance)

    def bounds(self, totals: Floats, widths: Floats, schema: Schema) -> tuple[Any, Any]:
        (low_mean, high_mean), (low, high) = _moment_bounds(self, totals, widths, schema)
        half = widths[0] / MOMENT_SIZE
        count = totals[:, 0] / MOMENT_SIZE
        return MomentsValue(count - half, low_mean, low), MomentsValue(
            count + half, high_mean, high
        )


@final
class Variance(_SecondMoments):
    """The variance of a column's rows (divisor n); see `Moments`."""

    def __init__(self, column: str, *, by: By = None, where: Where = None) -> None:
        super().__init__(by, where)
        self.names = (column_name(column, "Variance"),)

    def estimate(self, totals: Floats, schema: Schema) -> Any:
        return self._variances(*self._shares(totals, schema), schema)[:, 0]

    def error(self, totals: Floats, deviations: Floats, schema: Schema) -> Any:
        return _moment_errors(self, totals, deviations, schema)[1][:, 0]

    def bounds(self, totals: Floats, widths: Floats, schema: Schema) -> tuple[Any, Any]:
        _, (low, high) = _moment_bounds(self, totals, widths, schema)
        return low[:, 0], high[:, 0]


def _widest(steps: int, first: int, second: int) -> int:
    """The largest first·|u - v| + second·|u² - v²| over codes u, v = 2k - steps: u is the end."""
    vertex = (2 * second * steps - first) // (4 * second)  # of a parabola in k
    places = [max(vertex, 0), min(max(vertex, 0) + 1, steps)]
    ends = [2 * place - steps for place in places]
    return max(first * (steps - v) + second * (steps * steps - v * v) for v in ends)


def _moment_errors(
    query: _SecondMoments, totals: Floats, deviations: Floats, schema: Schema
) -> tuple[Floats, Floats]:
    """Standard errors of mean and variance by the delta method."""
    counts = np.maximum(totals[:, :1], MOMENT_SIZE)
    first, second = query._shares(totals, schema)
    scale = query._scaled(schema)
    d1 = deviations[1::2] * [MOMENT_SIZE / max(1, f * k) for (f, _), k in scale]
    d2 = deviations[2::2] * [MOMENT_SIZE / max(1, s * k * k) for (_, s), k in scale]
    d0 = deviations[0]
    _, half, _ = query._halves(schema)
    mean = np.hypot(d1, first * d0) / counts
    # v = b - a²: derivatives in the count, first and second sum
    variance = np.sqrt(d2**2 + (2 * first * d1) ** 2 + ((2 * first**2 - second) * d0) ** 2) / counts
    return np.minimum(mean, 1.0) * half, np.minimum(variance, 1.0) * half**2


def _moment_bounds(
    query: _SecondMoments, totals: Floats, widths: Floats, schema: Schema
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Ranges of mean and variance while each sum stays within its half-width."""
    firsts, seconds = [], []
    for sign in (-1.0, 1.0):
        for count_sign in (-1.0, 1.0):
            moved = totals + sign * widths
            moved[:, 0] = totals[:, 0] + count_sign * widths[0]
            first, second = query._shares(moved, schema)
            firsts.append(first)
            seconds.append(second)
    low1, high1 = np.minimum.reduce(firsts), np.maximum.reduce(firsts)
    low2, high2 = np.minimum.reduce(seconds), np.maximum.reduce(seconds)
    _, half, _ = query._halves(schema)
    nearest = np.where((low1 <= 0) & (high1 >= 0), 0.0, np.minimum(abs(low1), abs(high1)))
    farthest = np.maximum(abs(low1), abs(high1))
    low = half**2 * np.clip(low2 - farthest**2, 0.0, 1.0)
    high = half**2 * np.clip(high2 - nearest**2, 0.0, 1.0)
    return (query._means(low1, schema), query._means(high1, schema)), (low, high)
