"""Means of a column whose declared bounds are far too wide: closer bounds are bought first."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final, NamedTuple, final

from discreet import events
from discreet.coding import (
    VALUE_BITS,
    CodedQuery,
    Cuts,
    Engine,
    Extent,
    Integers,
    Sensitivity,
    Term,
)
from discreet.columns import Clamped, Integer, Real, numeric_column
from discreet.measures import ZCDP, ApproxDP, Measure, PureDP
from discreet.mechanisms import Distribution, mechanism_for
from discreet.queries.additive import Additive
from discreet.queries.answer import Answer, Budget, Interval, Prepared, Sampling
from discreet.queries.base import Query, refuse_own_limits
from discreet.queries.estimates import MeanEstimate
from discreet.queries.means import Mean
from discreet.queries.moments import Moments, Variance
from discreet.rational import Number, rational
from discreet.schema import Schema
from discreet.unit import Unit

__all__ = ["BoughtBounds", "Tighten", "Tightened", "choose_bounds", "find_edges"]

#: The share of the budget that buys the bounds, if none is given.
DEFAULT_SHARE: Final = Fraction(1, 4)
#: From the widest bound to the closest there are this many halvings.
OCTAVES: Final = 16
#: Rows outside of a bound are taken for noise up to this many of their noise's deviations.
CAUTION: Final = 2.0


class BoughtBounds(NamedTuple):
    """Bounds that were bought, how many rows seem to lie outside, and how many may at most (0.95)."""

    lower: float
    upper: float
    outside: float
    at_most: float


@final
class Tightened(Query):
    """A mean or variance between bounds that are bought first, closer than the declared ones.

    A share of the budget buys noised counts of rows at powers of two of the declared bounds; values are then
    clamped where hardly any row lies beyond, and the question is asked with the rest.

    Parameters
    ----------
    query : Mean, Variance, Moments of one column, or dp.Estimate of a mean
    share : number
        The part of the budget that buys the bounds.

    Privacy
    -------
    A histogram with public bins, then the question itself on a column clamped by bounds that follow from the
    noised histogram: adaptive composition of two events fixed in advance, one charge. Proof page:
    ``docs/proofs/moments.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> dp.Tighten(dp.Mean("cost", by="ward"), "1/10")
    Tighten(Mean('cost', by='ward'), share=1/10)
    """

    def __init__(self, query: Query, share: Number = DEFAULT_SHARE) -> None:
        names = getattr(query, "names", None) or (getattr(query, "column", None),)
        if not isinstance(query, Mean | Variance | Moments | MeanEstimate) or len(names) != 1:
            raise TypeError(
                "Tighten: query must be dp.Mean, dp.Variance, dp.Moments of one column, or dp.Estimate of a "
                f"mean, not {query!r}."
            )
        refuse_own_limits([query], "Tighten")
        super().__init__(query.by or None, query.where)
        self.query: Additive = query
        self.column = str(names[0])
        self.share = rational(share, "share")
        if not 0 < self.share < 1:
            raise ValueError("Tighten: share must be greater than 0 and less than 1.")

    @property
    def columns(self) -> tuple[str, ...]:
        return self.query.columns

    def coded(self, schema: Schema, unit: Unit) -> CodedQuery:
        """The counts that buy the bounds."""
        edges = find_edges(schema, self.column)
        grid = numeric_column(schema, self.column, "Tighten").grid(self.column, VALUE_BITS)
        cuts = tuple(sorted({grid.of(edge) for edge in edges[1:-1]} - {0}))
        coded = self.query._coded(schema, unit, (Term(1),))
        return CodedQuery(coded.terms, (Cuts(grid, cuts),), coded.where, coded.known, coded.keep)

    def sensitivity(self, schema: Schema, unit: Unit) -> Sensitivity:
        return self._sensitivity_from_extent(Extent(1, 1, 2, 2), schema, unit)

    def within(self, schema: Schema, lower: float, upper: float) -> tuple[Additive, Schema]:
        """The question about the column clamped to some bounds, and the schema that has that column."""
        name = f"{self.column} within bought bounds"
        while name in schema:
            name += " "
        column = numeric_column(schema, self.column, "Tighten")
        clamped = Clamped.from_column(self.column, column, lower, upper)
        found: Any = copy.copy(self.query)
        if isinstance(found, Variance | Moments):
            found.names = (name,)
        else:
            found.column = name
        return found, schema.derive(**{name: clamped})

    def prepare(self, budget: Budget, schema: Schema, unit: Unit, rows: int | None) -> Prepared:
        return PreparedTightened(self, budget, schema, unit, rows)

    def __repr__(self) -> str:
        limit = "" if self.person_rows is None else f", max_rows={self.person_rows}"
        return f"Tighten({self.query!r}, share={self.share}{limit})"


def Tighten(query: Query, share: Number = DEFAULT_SHARE) -> Tightened:  # noqa: N802
    """The same question between bounds that are bought first: for columns declared far too wide.

    Parameters
    ----------
    query : Mean, Variance, Moments of one column, or dp.Estimate of a mean
    share : number
        The part of the budget that buys the bounds, a quarter by default.

    Examples
    --------
    >>> import discreet as dp
    >>> people = {"cost": [120.0, 80.0, 300.0, 40.0] * 500}
    >>> schema = dp.Schema(cost=dp.Real(0, 1_000_000))
    >>> data = dp.PrivateDataset(people, schema, ledger=dp.Ledger(limit=dp.PureDP(2)))
    >>> answer = data.release(dp.Tighten(dp.Mean("cost")), dp.PureDP(1))
    >>> 125 < answer.value < 145
    True
    """
    if query.person_rows is None:
        return Tightened(query, share)
    plain: Query = copy.copy(query)
    plain.person_rows = None
    return Tightened(plain, share).per_person(query.person_rows)


def find_edges(schema: Schema, name: str) -> list[float]:
    """Public edges from one declared bound to the other: powers of two around the point nearest to zero."""
    column = numeric_column(schema, name, "Tighten")
    if not isinstance(column, Real | Integer) or not column.width:
        raise ValueError(
            f"Tighten: column {name!r} must be dp.Real(lower, upper) or dp.Integer(lower, upper) with lower "
            "less than upper."
        )
    lower, upper = float(column.lower), float(column.upper)
    middle = min(max(0.0, lower), upper)
    powers = [2.0**-j for j in range(OCTAVES, -1, -1)]
    found = {lower, upper, middle}
    found |= {middle + (upper - middle) * power for power in powers}
    found |= {middle + (lower - middle) * power for power in powers}
    return sorted(found)


def choose_bounds(
    counts: Integers, edges: list[float], middle: float, deviation: float
) -> BoughtBounds:
    """The closest edges beyond which noised counts show no more rows than noise would.

    Parameters
    ----------
    counts : array
        Noised, of the bins between the edges.
    edges : list of float
    middle : float
        Bounds stay on either side of it.
    deviation : float
        Of the noise on each count.
    """
    first, last, outside, bins = 0, len(counts) - 1, 0.0, 0
    for step in (1, -1):  # from below, then from above
        tail, many = 0.0, 0
        while first < last:
            at = first if step == 1 else last
            edge = edges[at + 1] if step == 1 else edges[at]
            passes = edge <= middle if step == 1 else edge > middle
            more = tail + float(counts[at])
            if not passes or more > CAUTION * deviation * math.sqrt(many + 1):
                break
            tail, many = more, many + 1
            first, last = (first + 1, last) if step == 1 else (first, last - 1)
        outside, bins = outside + tail, bins + many
    most = outside + 1.645 * deviation * math.sqrt(bins)
    return BoughtBounds(edges[first], edges[last + 1], max(outside, 0.0), max(most, 0.0))


class PreparedTightened(Prepared):
    """A noised histogram, and the question between the bounds that it gives."""

    error_needs_rows = True

    def __init__(
        self, query: Tightened, budget: Budget, schema: Schema, unit: Unit, rows: int | None
    ) -> None:
        self._query, self._schema, self._unit, self._rows = query, schema, unit, rows
        self.measure, first, self._rest = _split(budget, query.share)
        self._coded = query.coded(schema, unit)
        column = numeric_column(schema, query.column, "Tighten")
        grid = column.grid(query.column, VALUE_BITS)
        cuts = self._coded.by[0].cuts  # type: ignore[union-attr]
        chosen = {grid.of(edge): edge for edge in reversed(find_edges(schema, query.column))}
        ends = (float(column.lower), float(column.upper))
        self._edges = [ends[0], *(chosen[cut] for cut in cuts), ends[1]]
        self._middle = min(max(0.0, ends[0]), ends[1])
        sensitivity = query.sensitivity(schema, unit)
        mechanism = mechanism_for(first, sensitivity)
        self._counts: Distribution = mechanism.for_sums(sensitivity, self._coded.groups)
        self._inner = self._prepare(*ends)  # refuses an infinite budget on private rows
        self.event: events.Event = events.Compose()
        if not _is_infinite(self.measure):
            parts = (self._counts.event(sensitivity), self._inner.event)
            self.event = events.Compose(*(part for part in parts if part != events.Compose()))
        self.note = (
            f"a share of {query.share} of the budget buys bounds; the error is that of the declared ones, "
            "at most"
        )

    def _prepare(self, lower: float, upper: float) -> Prepared:
        found, schema = self._query.within(self._schema, lower, upper)
        return found.prepare(self._rest, schema, self._unit, self._rows)

    def expected_error(self, rows: int) -> Any:
        return self._inner.expected_error(rows)

    def answer(self, engine: Engine) -> Answer:
        noised = self._counts.run(engine.totals(self._coded)[:, 0])
        bought = choose_bounds(noised, self._edges, self._middle, self._counts.expected_error())
        inner = self._prepare(bought.lower, bought.upper)
        if inner.event != self._inner.event:
            raise ValueError("the question between bought bounds isn't the one that was planned.")
        found = inner.answer(engine)
        told = f"of values clamped to {bought.lower:g} to {bought.upper:g}"
        return replace(
            found,
            note=self._tell(bought, max(float(noised.sum()), 1.0)),
            sampling=None if found.sampling is None else _clamp_sampling(found.sampling, told),
        )

    def _tell(self, bought: BoughtBounds, rows: float) -> str:
        """What clamping may have done, in words."""
        ends = (self._edges[0], self._edges[-1])
        reach = max(bought.lower - ends[0], ends[1] - bought.upper) * bought.at_most / rows
        lost = (
            f"; about {bought.outside:.0f} rows (with probability 0.95 at most {bought.at_most:.0f}) lay "
            f"outside, which moves a mean by {reach:.3g} at the very most"
            if (bought.lower, bought.upper) != ends
            else ""
        )
        return (
            f"values were clamped to {bought.lower:g} to {bought.upper:g}, bought with a share of "
            f"{self._query.share} of the budget{lost}; intervals are for the clamped values"
        )


def _clamp_sampling(sampling: Sampling, told: str) -> Sampling:
    def interval(level: float) -> Interval:
        found = sampling.interval(level)
        return found._replace(about=f"{found.about}, {told}")

    return replace(sampling, interval=interval)


def _is_infinite(measure: Measure) -> bool:
    return math.isinf(float(getattr(measure, "epsilon", getattr(measure, "rho", 0))))


def _split(budget: Budget, share: Fraction) -> tuple[Measure, Measure, Measure]:
    """All of a budget, what the bounds may cost, and what is left for the question."""
    match budget:
        case PureDP(epsilon=epsilon) | ZCDP(rho=epsilon) if isinstance(epsilon, float):
            return budget, budget, budget
        case PureDP(epsilon=epsilon):
            return budget, PureDP(epsilon * share), PureDP(epsilon * (1 - share))
        case ApproxDP(epsilon=epsilon, delta=delta) if not isinstance(epsilon, float):
            return (
                budget,
                ApproxDP(epsilon * share, delta * share),
                ApproxDP(epsilon * (1 - share), delta * (1 - share)),
            )
        case ZCDP(rho=rho):
            return budget, ZCDP(rho * share), ZCDP(rho * (1 - share))
    raise TypeError(
        "budget: bounds and a mean share it, so it must be dp.PureDP(epsilon), dp.ApproxDP(epsilon, delta) "
        f"or dp.ZCDP(rho), not {budget!r}."
    )
