"""Quantiles on the coded grid, by an exact exponential-mechanism draw."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import final

import numpy as np

from discreet.coding import VALUE_BITS, CodedQuery, Extent, Integers, Sensitivity
from discreet.columns import Numeric, column_name, numeric_column
from discreet.expressions import Expression
from discreet.queries.base import Query
from discreet.rational import Number, rational
from discreet.schema import Schema
from discreet.unit import Unit


@final
class Quantile(Query):
    """A quantile of a column: a grid point drawn with preference for the right rank.

    Parameters
    ----------
    column : str
        A `Real` or `Integer` column.
    q : number or sequence of numbers
        Between 0 and 1. Several share the budget evenly: quantiles beside the one you want are the
        way to buy an interval for the value.
    by, where
        As in every query.

    Privacy
    -------
    With q = a/b, the score of a grid point is minus the distance of (b-a)·(rows below) and
    a·(rows above), rows at the point counting for either side; one row moves it by max(a, b-a), a
    replaced row by b. Exponential mechanism of McSherry & Talwar 2007 (as in Smith 2011), drawn exactly.
    Proof page: ``docs/proofs/quantiles.md``.
    """

    def __init__(
        self,
        column: str,
        q: Number | Sequence[Number] = "1/2",
        *,
        by: str | Sequence[str] | None = None,
        where: Expression | str | None = None,
    ) -> None:
        super().__init__(by, where)
        self.column = column_name(column, "Quantile")
        self.is_single = isinstance(q, str) or not isinstance(q, Sequence | np.ndarray)
        given = [q] if self.is_single else list(q)  # type: ignore[arg-type]
        self.q: tuple[Fraction, ...] = tuple(
            rational(value, "q").limit_denominator(10**6) for value in given
        )
        if not self.q or not all(0 <= value <= 1 for value in self.q):
            raise ValueError(f"q must be between 0 and 1, got {q!r}.")

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def kind(self, schema: Schema) -> Numeric:
        """The column that is asked about."""
        return numeric_column(schema, self.column, "Quantile")

    def coded(self, schema: Schema, unit: Unit) -> CodedQuery:
        return self._coded(schema, unit, (), self.kind(schema).grid(self.column, VALUE_BITS))

    def sensitivity(self, schema: Schema, unit: Unit) -> Sensitivity:
        """How much one person moves the scores of all groups together, for the worst of `q`."""
        worst = max(self.rank_sensitivity(q, schema, unit) for q in self.q)
        return Sensitivity(worst, worst**2)

    def rank_sensitivity(self, q: Fraction, schema: Schema, unit: Unit) -> int:
        """How much one person moves the scores for one q, summed over the groups."""
        above, below = q.numerator, q.denominator - q.numerator
        one = max(above, below)
        return self._moved(Extent(one, one**2, q.denominator, q.denominator**2), schema, unit).l1

    @staticmethod
    def scores(
        codes: Integers, counts: Integers, q: Fraction, last: int
    ) -> tuple[Integers, Integers, Integers]:
        """Scores of all grid points 0..last, as runs of equal scores.

        Parameters
        ----------
        codes, counts : arrays
            The occupied grid points in increasing order, and how many rows are at each.

        Returns
        -------
        first, length, score : arrays
            Runs of grid points that cover 0..last.
        """
        a, b = q.numerator, q.denominator
        total = int(counts.sum())
        upto = np.concatenate([[0], np.cumsum(counts)])
        # runs: each occupied point, and each gap between occupied points
        starts = np.concatenate([[0], codes + 1])  # gap g starts after point g-1
        ends = np.concatenate([codes, [last + 1]])
        gap_score = -abs((b - a) * upto - a * (total - upto))
        below, with_equal = upto[:-1], upto[1:]
        low = (b - a) * below - a * (total - below)
        high = (b - a) * with_equal - a * (total - with_equal)
        point_score = -np.maximum(np.maximum(low, -high), 0)
        first = np.concatenate([starts, codes]).astype(np.int64)
        length = np.concatenate([ends - starts, np.ones(len(codes), np.int64)]).astype(np.int64)
        score = np.concatenate([gap_score, point_score]).astype(np.int64)
        used = length > 0
        return first[used], length[used], score[used]

    def _options(self) -> list[str]:
        shown = [str(q) for q in self.q]
        return [
            f"q={shown[0] if self.is_single else '[' + ', '.join(shown) + ']'}",
            *super()._options(),
        ]


def Median(  # noqa: N802
    column: str,
    *,
    by: str | Sequence[str] | None = None,
    where: Expression | str | None = None,
) -> Quantile:
    """The median of a column: `Quantile` at one half."""
    return Quantile(column, "1/2", by=by, where=where)
