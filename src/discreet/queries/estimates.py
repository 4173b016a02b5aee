"""Means, sums and shares of a population: what an interval for them needs is part of the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np

from discreet.coding import PRODUCT_BITS, Extent, Linear, Term
from discreet.columns import column_name, numeric_column
from discreet.queries.additive import Additive, Floats, NoiseShape
from discreet.queries.answer import Interval
from discreet.queries.population import (
    find_shares,
    mean_interval,
    share_interval,
    sum_interval,
)
from discreet.queries.sums import By, Where
from discreet.schema import Schema
from discreet.unit import Unit

__all__ = ["MeanEstimate", "ShareEstimate", "SumEstimate"]


class _Spread(Additive):
    """Shared by means and sums: Σ(1-u)², Σ2u(1-u), Σu² of a column scaled by its bounds to [0, 1].

    The three add up to the count; one row moves them by 1 in all, and they hold mean and variance.
    """

    def __init__(self, column: str, *, by: By = None, where: Where = None) -> None:
        super().__init__(by, where)
        self.column = column_name(column, type(self).__name__)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def _steps(self, schema: Schema) -> int:
        return numeric_column(schema, self.column, type(self).__name__).steps(PRODUCT_BITS)

    def terms(self, schema: Schema) -> tuple[Term, ...]:
        column = numeric_column(schema, self.column, type(self).__name__)
        steps = self._steps(schema)
        grid = column.grid(self.column, PRODUCT_BITS)
        rest = Linear(grid, -1, steps) if steps else Linear(grid, 0, 1)
        return Term(1, (rest, rest)), Term(2, (grid, rest)), Term(1, (grid, grid))

    def extent(self, schema: Schema, counted: bool) -> Extent:
        # the coordinates aren't negative and add up to steps², so the ends of the grid are farthest
        size = max(1, self._steps(schema)) ** 2
        return Extent(size, size**2, 2 * size, 2 * size**2)

    def expected_totals(self, rows: float, schema: Schema) -> Floats:
        return np.full(3, rows * max(1, self._steps(schema)) ** 2 / 3)  # rows spread evenly

    def _unit_sums(self, totals: Floats, schema: Schema, rows: int | None) -> Floats:
        """Count, Σu and Σu² by group; a public count takes its part of the noise out of all three."""
        parts = totals / max(1, self._steps(schema)) ** 2
        if rows is not None:
            parts = parts + (rows - parts.sum(axis=1, keepdims=True)) / 3
        low, mixed, high = parts.T
        return np.stack([low + mixed + high, mixed / 2 + high, high])

    def _scale(self, share: Floats, schema: Schema) -> Floats:
        """A share of the range as a value; a floor's half step is put back."""
        column = numeric_column(schema, self.column, type(self).__name__)
        half = 0.0 if column.is_exact(PRODUCT_BITS) else 0.5 / max(1, self._steps(schema))
        lower, upper = float(column.lower), float(column.upper)
        value = np.clip(lower + column.width * (share + half), lower, upper)
        return np.asarray(np.where(share <= 0, lower, value))

    def _noise(self, noise: NoiseShape, schema: Schema) -> float:
        """The variance of the noise on one coordinate, in rows squared."""
        return float(noise.deviations[0] / max(1, self._steps(schema)) ** 2) ** 2


@final
class MeanEstimate(_Spread):
    """The mean of a column with what its interval for the population needs; ``dp.Estimate(dp.Mean(...))``.

    Privacy
    -------
    One vector of three coordinates with one noise: L1 1 and squared L2 1 in units of a row under
    add/remove, 2 and 2 under replace-one. At most 2^32 rows. Proof page: ``docs/proofs/answers.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> schema, ledger = dp.Schema(age=dp.Integer(0, 100)), dp.Ledger(limit=dp.PureDP(1))
    >>> data = dp.PrivateDataset({"age": [34, 51] * 500}, schema, ledger=ledger)
    >>> answer = data.release(dp.Estimate(dp.Mean("age")), dp.PureDP(1))
    >>> interval = answer.interval(0.95)
    >>> interval.lower < 42.5 < interval.upper
    True
    """

    def estimate(self, totals: Floats, schema: Schema) -> Any:
        return self._scale(find_shares(self._unit_sums(totals, schema, None)), schema)

    def error(self, totals: Floats, deviations: Floats, schema: Schema) -> Any:
        sums = self._unit_sums(totals, schema, None)
        share, noise = find_shares(sums), NoiseShape(deviations, False, None)
        spread = np.sqrt(self._noise(noise, schema) * (1.25 - 3 * share * (1 - share)))
        width = numeric_column(schema, self.column, "MeanEstimate").width
        return np.minimum(spread / np.maximum(sums[0], 1.0), 1.0) * width

    def bounds(self, totals: Floats, widths: Floats, schema: Schema) -> tuple[Any, Any]:
        # S - μN is the noise times -μ, 1/2 - μ and 1 - μ, so within 3/2 of the half-width
        sums = self._unit_sums(totals, schema, None)
        reach = 1.5 * widths[0] / max(1, self._steps(schema)) ** 2
        share = find_shares(sums)
        away = np.where(sums[0] >= 1, reach / np.maximum(sums[0], 1.0), 1.0)
        low, high = np.clip(share - away, 0.0, 1.0), np.clip(share + away, 0.0, 1.0)
        return self._scale(low, schema), self._scale(high, schema)

    def confidence(
        self, totals: Floats, noise: NoiseShape, schema: Schema, unit: Unit
    ) -> Callable[[float], Interval]:
        sums = self._unit_sums(totals, schema, noise.rows)
        each = self._noise(noise, schema)

        def interval(level: float) -> Interval:
            low, high = mean_interval(
                sums,
                each,
                level,
                noise.is_laplace,
                unit.rows_per_person,
                noise.rows is not None,
                self._steps(schema) <= 1,
            )
            about = (
                f"the mean of {self.column!r} in the population that the {_persons(unit)} came from"
            )
            return Interval(self._scale(low, schema), self._scale(high, schema), level, about)

        return interval

    def grain(self, totals: Floats, schema: Schema) -> Any:
        if self._steps(schema) != 1:
            return 0.0
        width = numeric_column(schema, self.column, "MeanEstimate").width
        return width / np.maximum(self._unit_sums(totals, schema, None)[0], 1.0)


@final
class SumEstimate(_Spread):
    """The sum of a column with what its interval for a population needs; ``dp.Estimate(dp.Sum(...))``.

    The interval is about the expected total of data sets that come about like this one: persons come
    independently, and how many come is chance too, unless their number is public.

    Privacy
    -------
    The vector of `MeanEstimate`. Proof page: ``docs/proofs/answers.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> schema, ledger = dp.Schema(cost=dp.Real(0, 100)), dp.Ledger(limit=dp.PureDP(1))
    >>> data = dp.PrivateDataset({"cost": [20.0, 40.0] * 500}, schema, ledger=ledger)
    >>> interval = data.release(dp.Estimate(dp.Sum("cost")), dp.PureDP(1)).interval(0.95)
    >>> interval.lower < 30_000 < interval.upper
    True
    """

    error_needs_rows = False

    def _ends(self, schema: Schema) -> tuple[float, float, float]:
        """Both ends of the values, and the largest in size, in units of the width; 0 where that is 0."""
        column = numeric_column(schema, self.column, "SumEstimate")
        if not column.width:
            return 0.0, 0.0, 0.0
        half = 0.0 if column.is_exact(PRODUCT_BITS) else 0.5 / max(1, self._steps(schema))
        low = float(column.lower) / column.width + half
        return low, low + 1.0, max(abs(low), abs(low + 1.0))

    def _value(self, sums: Floats, schema: Schema) -> Floats:
        column = numeric_column(schema, self.column, "SumEstimate")
        if not column.width:
            return np.asarray(sums[0] * float(column.lower))
        return np.asarray((self._ends(schema)[0] * sums[0] + sums[1]) * column.width)

    def _weights(self, schema: Schema) -> Floats:
        """What one row at each of the three coordinates adds to the sum."""
        column = numeric_column(schema, self.column, "SumEstimate")
        if not column.width:
            return np.full(3, float(column.lower))
        low = self._ends(schema)[0]
        return np.array([low, low + 0.5, low + 1.0]) * column.width

    def estimate(self, totals: Floats, schema: Schema) -> Any:
        return self._value(self._unit_sums(totals, schema, None), schema)

    def error(self, totals: Floats, deviations: Floats, schema: Schema) -> Any:
        row = deviations / max(1, self._steps(schema)) ** 2
        return np.full(len(totals), float(np.sqrt(np.sum((row * self._weights(schema)) ** 2))))

    def bounds(self, totals: Floats, widths: Floats, schema: Schema) -> tuple[Any, Any]:
        value = self.estimate(totals, schema)
        row = widths / max(1, self._steps(schema)) ** 2
        reach = float(np.sum(row * np.abs(self._weights(schema))))
        return value - reach, value + reach

    def confidence(
        self, totals: Floats, noise: NoiseShape, schema: Schema, unit: Unit
    ) -> Callable[[float], Interval]:
        sums = self._unit_sums(totals, schema, noise.rows)
        weights = self._weights(schema)
        largest = float(np.max(np.abs(weights))) or 1.0
        ends = (float(weights[0]) / largest, float(weights[2]) / largest)
        each = self._noise(noise, schema)
        value = self._value(sums, schema)

        def interval(level: float) -> Interval:
            low, high = sum_interval(
                sums, ends, each, level, noise.is_laplace, unit.rows_per_person, noise.rows
            )
            people = _persons(unit)
            number = "their number included" if noise.rows is None else f"{noise.rows} of them"
            about = (
                f"the expected sum of {self.column!r} over data sets that come about like this one: other "
                f"{people} of the same population, {number}; not the sum over a whole population"
            )
            return Interval(value + low * largest, value + high * largest, level, about)

        return interval


@final
class ShareEstimate(Additive):
    """The shares of groups among all rows, for a population; ``dp.Estimate(dp.Count(by=...))``.

    Privacy
    -------
    That of `Count` by the same columns. Proof page: ``docs/proofs/answers.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> schema, ledger = dp.Schema(ward=dp.Categorical("A", "B")), dp.Ledger(limit=dp.PureDP(1))
    >>> data = dp.PrivateDataset({"ward": ["A"] * 700 + ["B"] * 300}, schema, ledger=ledger)
    >>> answer = data.release(dp.Estimate(dp.Count(by="ward")), dp.PureDP(1))
    >>> answer.value.round(1)
    array([0.7, 0.3])
    """

    groups_are_independent = False

    def __init__(self, *, by: By, where: Where = None) -> None:
        super().__init__(by, where)
        if not self.by:
            raise ValueError(
                "by must name the columns whose shares are asked for: Estimate(dp.Count(by=...))."
            )

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    def terms(self, schema: Schema) -> tuple[Term, ...]:
        return (Term(1),)

    def extent(self, schema: Schema, counted: bool) -> Extent:
        return Extent(1, 1, 0, 0)

    def estimate(self, totals: Floats, schema: Schema) -> Any:
        return np.clip(totals[:, 0] / max(1.0, float(totals[:, 0].sum())), 0.0, 1.0)

    def error(self, totals: Floats, deviations: Floats, schema: Schema) -> Any:
        share, groups = self.estimate(totals, schema), len(totals)
        spread = np.sqrt((1 - share) ** 2 + (groups - 1) * share**2) * deviations[0]
        return np.minimum(spread / max(1.0, float(totals[:, 0].sum())), 1.0)

    def bounds(self, totals: Floats, widths: Floats, schema: Schema) -> tuple[Any, Any]:
        share, whole = self.estimate(totals, schema), float(totals[:, 0].sum())
        reach = max(1, len(totals) - 1) * widths[0] / max(whole, 1.0) if whole >= 1 else 1.0
        return np.clip(share - reach, 0.0, 1.0), np.clip(share + reach, 0.0, 1.0)

    def confidence(
        self, totals: Floats, noise: NoiseShape, schema: Schema, unit: Unit
    ) -> Callable[[float], Interval]:
        counts = totals[:, 0]

        def interval(level: float) -> Interval:
            variance = float(noise.deviations[0]) ** 2
            low, high = share_interval(
                counts, variance, level, noise.is_laplace, unit.rows_per_person
            )
            about = f"the shares of groups in the population that the {_persons(unit)} came from"
            return Interval(low, high, level, about)

        return interval


def _persons(unit: Unit) -> str:
    return "rows" if unit.id_column is None else "persons"
