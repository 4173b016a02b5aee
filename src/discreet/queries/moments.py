"""Means and variances of numeric columns from one noised vector."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from itertools import product
from typing import Any, Self, final

import numpy as np

from discreet.coding import PRODUCT_BITS, Code, Extent, Linear, Term
from discreet.columns import Numeric, column_name, numeric_column
from discreet.measures import PureDP
from discreet.mechanisms import Laplace
from discreet.queries.additive import Additive, Floats
from discreet.queries.answer import Budget
from discreet.queries.sums import MOMENT_SIZE, By, Where
from discreet.schema import Schema
from discreet.unit import Unit

__all__ = ["Moments", "MomentsValue", "Variance"]

#: Up to this many columns are split in three sums each where the noise is Laplace; else one column is.
MAX_SPLIT_COLUMNS = 4


@dataclass(frozen=True)
class MomentsValue:
    """Count, mean and variance, of each column in order; arrays over groups first, if grouped.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(age=dp.Integer(0, 100))
    >>> data = dp.PrivateDataset({"age": [40, 50, 60]}, schema, unit=dp.PUBLIC)
    >>> found = data.release(dp.Moments("age"), dp.PureDP(float("inf"))).value
    >>> found.count, found.mean
    (3.0, array([50.]))
    """

    count: Any
    mean: Any
    variance: Any


class _SecondMoments(Additive):
    """Shared by `Moments` and `Variance`.

    With z the value scaled to [-1, 1] and u = (1 + z)/2, the coordinates of a column are the sums of
    u², 2u(1 - u) and (1 - u)² (*split*), or those of z and 1 - z² beside one count for all (*centred*).
    """

    names: tuple[str, ...]
    _is_split = False
    _most_split = 1

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names

    def for_budget(self, budget: Budget) -> Self:
        query = copy.copy(self)
        query._most_split = MAX_SPLIT_COLUMNS if isinstance(budget, PureDP | Laplace) else 1
        return query

    def in_basis(self, schema: Schema, unit: Unit) -> Self:
        query = copy.copy(self)
        few = len(self.names) <= self._most_split and 0 not in self._steps(schema)
        query._is_split = few and self.norms_decide(schema, unit)
        return query

    def _kinds(self, schema: Schema) -> list[Numeric]:
        return [numeric_column(schema, name, type(self).__name__) for name in self.names]

    def _steps(self, schema: Schema) -> list[int]:
        return [kind.steps(PRODUCT_BITS) for kind in self._kinds(schema)]

    def _weights(self, schema: Schema) -> list[tuple[int, int]]:
        """What z and 1 - z², in steps and squared steps, are multiplied by."""
        return [
            (MOMENT_SIZE // max(1, k), MOMENT_SIZE // max(1, k * k)) for k in self._steps(schema)
        ]

    def terms(self, schema: Schema) -> tuple[Term, ...]:
        terms = [] if self._is_split else [Term(MOMENT_SIZE)]
        parts = zip(self.names, self._kinds(schema), self._weights(schema), strict=True)
        for name, kind, (first, second) in parts:
            up = kind.grid(name, PRODUCT_BITS)
            down = Linear(up, -1, kind.steps(PRODUCT_BITS))
            if self._is_split:
                pairs: list[tuple[int, Code, Code]] = [(1, up, up), (2, up, down), (1, down, down)]
                terms += [Term(times * second, (one, other)) for times, one, other in pairs]
            else:
                terms.append(Term(first, (kind.centred(name, PRODUCT_BITS),)))
                terms.append(Term(4 * second, (up, down)))  # s² - z² = 4k(s - k)
        return tuple(terms)

    def extent(self, schema: Schema, counted: bool) -> Extent:
        steps, weights = self._steps(schema), self._weights(schema)
        if self._is_split:
            sizes = [second * k * k for k, (_, second) in zip(steps, weights, strict=True)]
            squares = sum(size**2 for size in sizes)
            return Extent(sum(sizes), squares, 2 * sum(sizes), 2 * squares)
        count = MOMENT_SIZE if counted else 0
        pairs = [(k, first, second) for k, (first, second) in zip(steps, weights, strict=True)]
        squares = sum((first * k) ** 2 for k, first, _ in pairs)  # 1 - z² adds nothing at the ends
        return Extent(
            count + sum(_largest(*pair) for pair in pairs),
            count**2 + squares,
            sum(_widest(*pair) for pair in pairs),
            4 * squares,
        )

    def expected_totals(self, rows: float, schema: Schema) -> Floats:
        """As if each column were spread evenly between its bounds: u² has the mean 1/3, so has 2u(1 - u)."""
        if not self._is_split:
            return super().expected_totals(rows, schema)
        return np.repeat(self._sizes(schema)[1], 3) * rows / 3

    def _sizes(self, schema: Schema) -> tuple[Floats, Floats]:
        """The sizes of z = 1 and of 1 - z² = 1 in the coordinates, by column."""
        pairs = zip(self._steps(schema), self._weights(schema), strict=True)
        sizes = [(first * max(1, k), second * max(1, k * k)) for k, (first, second) in pairs]
        return np.array([one for one, _ in sizes], float), np.array(
            [two for _, two in sizes], float
        )

    def _sums(self, totals: Floats, schema: Schema) -> tuple[Floats, Floats, Floats]:
        """Count, and sums of z and of 1 - z², in rows; each of shape (groups, columns)."""
        single, square = self._sizes(schema)
        if not self._is_split:
            count = np.repeat(totals[:, :1] / MOMENT_SIZE, len(self.names), axis=1)
            return count, totals[:, 1::2] / single, totals[:, 2::2] / square
        high, mixed, low = (totals[:, part::3] / square for part in range(3))
        return high + mixed + low, high - low, 2 * mixed

    def _shares(self, totals: Floats, schema: Schema) -> tuple[Floats, Floats]:
        """Means of z and z², in [-1, 1] and [0, 1]; shape (groups, columns)."""
        count, sums, rest = self._sums(totals, schema)
        rows = np.maximum(count, 1.0)
        first = np.clip(sums / rows, -1.0, 1.0)
        return np.asarray(first), np.asarray(np.clip((count - rest) / rows, 0.0, 1.0))

    def _count(self, totals: Floats, schema: Schema) -> Floats:
        """The number of rows: every split column tells it once more."""
        return np.asarray(self._sums(totals, schema)[0].mean(axis=1))

    def _count_coefficients(self, schema: Schema) -> Floats:
        """What each coordinate is multiplied by in `_count`."""
        if not self._is_split:
            return np.array([1 / MOMENT_SIZE, *np.zeros(2 * len(self.names))])
        return np.repeat(1 / self._sizes(schema)[1], 3) / len(self.names)

    def _halves(self, schema: Schema) -> tuple[Floats, Floats, Floats]:
        """Lower bound, half of the width, and half a grid step as a share of it, by column."""
        kinds = self._kinds(schema)
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

    def _errors(self, totals: Floats, deviations: Floats, schema: Schema) -> tuple[Floats, Floats]:
        """Standard errors of mean and variance by the delta method."""
        single, square = self._sizes(schema)
        if self._is_split:
            parts = [deviations[part::3] / square for part in range(3)]
            moves = [(1.0, 1.0, 0.0), (1.0, 0.0, 2.0), (1.0, -1.0, 0.0)]
        else:
            parts = [
                deviations[0] / MOMENT_SIZE,
                deviations[1::2] / single,
                deviations[2::2] / square,
            ]
            moves = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
        rows = np.maximum(self._sums(totals, schema)[0], 1.0)
        first, second = self._shares(totals, schema)
        mean, variance = np.zeros_like(first), np.zeros_like(first)
        for deviation, (count, sums, rest) in zip(parts, moves, strict=True):
            moved = sums - first * count  # how the means of z and z² follow one coordinate
            mean += (moved * deviation) ** 2
            variance += ((count - rest - second * count - 2 * first * moved) * deviation) ** 2
        _, half, _ = self._halves(schema)
        error = np.minimum(np.sqrt(mean) / rows, 1.0), np.minimum(np.sqrt(variance) / rows, 1.0)
        return error[0] * half, error[1] * half**2

    def _ranges(
        self, totals: Floats, widths: Floats, schema: Schema
    ) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Ranges of mean and variance while each sum stays within its half-width.

        The means of z and z² are monotone in each coordinate, so their extremes are at corners.
        """
        corners = []
        for signs in product((-1.0, 1.0), repeat=3):
            columns = len(self.names)
            signed = (
                np.tile(signs, columns)
                if self._is_split
                else np.array([signs[0], *np.tile(signs[1:], columns)])
            )
            corners.append(self._shares(totals + widths * signed, schema))
        firsts, seconds = zip(*corners, strict=True)
        low1, high1 = np.minimum.reduce(firsts), np.maximum.reduce(firsts)
        low2, high2 = np.minimum.reduce(seconds), np.maximum.reduce(seconds)
        nearest = np.where((low1 <= 0) & (high1 >= 0), 0.0, np.minimum(abs(low1), abs(high1)))
        farthest = np.maximum(abs(low1), abs(high1))
        _, half, _ = self._halves(schema)
        low = half**2 * np.clip(low2 - farthest**2, 0.0, 1.0)
        high = half**2 * np.clip(high2 - nearest**2, 0.0, 1.0)
        return (self._means(low1, schema), self._means(high1, schema)), (low, high)


@final
class Moments(_SecondMoments):
    """Count, mean and variance of one or more columns, from one noised vector.

    Values are on a grid of 2^15 steps between the bounds (`Integer` columns up to that width: exact).
    The variance is that of the rows (divisor n).

    Privacy
    -------
    One vector with one noise, its coordinates weighted to one size. With u the value scaled to [0, 1],
    the sums of u², 2u(1 - u) and (1 - u)² for each column (for one column, and up to four if the budget
    is pure ε): L1 sensitivity and squared L2 sensitivity 1 for each. Else count, and sums of z = 2u - 1
    and 1 - z² for each column: L1 sensitivity 1 + 5/4, squared L2 sensitivity 1 + 1 for each. At most 2^32
    rows. Proof page: ``docs/proofs/moments.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> people = {"age": [34, 51, 29, 62] * 100, "ward": ["A", "B", "A", "A"] * 100}
    >>> schema = dp.Schema(age=dp.Integer(0, 100), ward=dp.Categorical("A", "B"))
    >>> data = dp.PrivateDataset(people, schema, ledger=dp.Ledger(limit=dp.PureDP(9)))
    >>> answer = data.release(dp.Moments("age"), dp.PureDP(1))
    >>> bool(40 < answer.value.mean[0] < 48)
    True
    """

    def __init__(self, *columns: str, by: By = None, where: Where = None) -> None:
        super().__init__(by, where)
        if not columns or len(set(columns)) != len(columns):
            raise ValueError("Moments needs the names of one or more different columns.")
        self.names = tuple(column_name(column, "Moments") for column in columns)

    def estimate(self, totals: Floats, schema: Schema) -> Any:
        first, second = self._shares(totals, schema)
        return MomentsValue(
            self._count(totals, schema),
            self._means(first, schema),
            self._variances(first, second, schema),
        )

    def error(self, totals: Floats, deviations: Floats, schema: Schema) -> Any:
        mean, variance = self._errors(totals, deviations, schema)
        count = np.linalg.norm(self._count_coefficients(schema) * deviations)
        return MomentsValue(np.full(len(totals), count), mean, variance)

    def bounds(self, totals: Floats, widths: Floats, schema: Schema) -> tuple[Any, Any]:
        (low_mean, high_mean), (low, high) = self._ranges(totals, widths, schema)
        half = self._count_coefficients(schema) @ widths
        count = self._count(totals, schema)
        return MomentsValue(count - half, low_mean, low), MomentsValue(
            count + half, high_mean, high
        )


@final
class Variance(_SecondMoments):
    """The variance of a column's rows (divisor n); see `Moments`.

    Examples
    --------
    >>> import discreet as dp
    >>> people = {"age": [34, 51, 29, 62] * 100, "ward": ["A", "B", "A", "A"] * 100}
    >>> schema = dp.Schema(age=dp.Integer(0, 100), ward=dp.Categorical("A", "B"))
    >>> data = dp.PrivateDataset(people, schema, ledger=dp.Ledger(limit=dp.PureDP(9)))
    >>> answer = data.release(dp.Variance("age", by="ward"), dp.PureDP(2))
    >>> bool(100 < answer.value[0] < 500)  # of ages 29, 34 and 62
    True
    """

    def __init__(self, column: str, *, by: By = None, where: Where = None) -> None:
        super().__init__(by, where)
        self.names = (column_name(column, "Variance"),)

    def estimate(self, totals: Floats, schema: Schema) -> Any:
        return self._variances(*self._shares(totals, schema), schema)[:, 0]

    def error(self, totals: Floats, deviations: Floats, schema: Schema) -> Any:
        return self._errors(totals, deviations, schema)[1][:, 0]

    def bounds(self, totals: Floats, widths: Floats, schema: Schema) -> tuple[Any, Any]:
        _, (low, high) = self._ranges(totals, widths, schema)
        return low[:, 0], high[:, 0]


def _largest(steps: int, first: int, second: int) -> int:
    """The largest first·|z| + second·(steps² - z²) over codes z = 2k - steps: beside its vertex."""
    vertex = (2 * second * steps + first) // (4 * second)  # of a parabola in k, for z >= 0
    places = (min(max(k, (steps + 1) // 2), steps) for k in (vertex, vertex + 1))
    return max(first * (2 * k - steps) + 4 * second * k * (steps - k) for k in places)


def _widest(steps: int, first: int, second: int) -> int:
    """The largest first·|u - v| + second·|u² - v²| over codes u, v = 2k - steps: u is the end."""
    vertex = (2 * second * steps - first) // (4 * second)  # of a parabola in k
    places = [max(vertex, 0), min(max(vertex, 0) + 1, steps)]
    ends = [2 * place - steps for place in places]
    return max(first * (steps - v) + second * (steps * steps - v * v) for v in ends)
