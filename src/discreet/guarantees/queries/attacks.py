"""Attacks on queries: how far apart the exact integers of neighbours are, and what the noise leaves of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit.exact import exact, statement
from discreet.audit.pairs import through_the_door
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.columns import Nearest
from discreet.engines import open_engine
from discreet.guarantees.fits import answer_losses, exact_losses
from discreet.guarantees.selection.attacks import worst
from discreet.measures import ZCDP, GaussianDP, PureDP
from discreet.mechanisms import Distribution, Exponential, Gaussian, GaussianDistribution, Laplace
from discreet.queries import (
    Additive,
    Axis,
    CellCounts,
    CentredSums,
    ClassResiduals,
    Count,
    CountPeople,
    Gram,
    Histogram,
    Marginals,
    Mean,
    MeanEstimate,
    Moments,
    NormalEquations,
    NumberResiduals,
    Quantile,
    ShareEstimate,
    Sum,
    SumEstimate,
    Variance,
    WithColumns,
)
from discreet.schema import Categorical, Integer, Real, Schema
from discreet.unit import ADD_REMOVE, REPLACE_ONE, Unit

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Row = tuple[Any, ...]

SCHEMA = Schema(x=Real(-1, 3), y=Integer(0, 4), c=Categorical("a", "b"))
UNITS = (
    Unit(ADD_REMOVE),
    Unit(REPLACE_ONE),
    Unit(ADD_REMOVE, id_column="who", max_rows=2),
    Unit(REPLACE_ONE, id_column="who", max_rows=2),
)


def sums() -> tuple[Additive, ...]:
    """One query of every kind of sum."""
    return (
        Count(),
        Count(by="c"),
        Histogram("c", where="x > 0"),
        CountPeople(),
        CountPeople(by="c", where="x > 0"),
        Sum("x"),
        Sum("y", by="c"),
        Mean("x"),
        Mean("x", by="c", where="y >= 1"),
        Variance("x"),
        Moments("x", "y", by="c"),
        Moments("x", "y", by="c").for_budget(PureDP(1)),
        Gram("x", "y"),
        NormalEquations(["x"], "y"),
        NormalEquations(["x", "y"], square=False, bits=6, by="c"),
        Marginals("x", "y", by="c"),
        CentredSums("x", "y", by="c"),
        CentredSums("x", products="squares", count_weight="3/4"),
        CentredSums("x", "y", products="all", bits=8),
        WithColumns(CentredSums("x", by="near"), {"near": Nearest("x", [(0,), (2,)])}),
        ClassResiduals("c", "c", [{"c": [3, -2]}], [1], classes=[0]),
        NumberResiduals("x", "c", {"c": [3, -2]}, 40, steps=3),
        CellCounts(Axis("x", (1,)), Axis("c")),
        MeanEstimate("x", by="c"),
        SumEstimate("y", where="x > 0"),
        ShareEstimate(by="c"),
    )


#: Rows that all tables share, and rows that stand for any: ends, middles, far outside, not a number.
COMMON: tuple[Row, ...] = ((0.5, 1, "a"), (1.0, 2, "b"), (-0.25, 3, "a"))
ANY: tuple[Row, ...] = tuple(
    product((-1.0, 1.0, 3.0, math.nan, -1e300), (0.0, 4.0, 2.5, math.inf), ("a", "b", "?"))
)
CORNERS: tuple[Row, ...] = tuple(product((-1.0, 3.0), (0.0, 4.0), ("a", "b", "?")))


def table(person: Sequence[Row], common: Sequence[Row] = COMMON) -> dict[str, Any]:
    """The common rows, each of a different person, and those of the one person."""
    rows = [*common, *person]
    who = [f"{i}" for i in range(len(common))] + ["the one"] * len(person)
    return {
        "x": np.array([row[0] for row in rows], np.float64),
        "y": np.array([row[1] for row in rows], np.float64),
        "c": np.array([row[2] for row in rows], object),
        "who": np.array(who, object),
    }


def persons(unit: Unit) -> list[Sequence[Row]]:
    """All that the one person may have: a row of any kind, or with ids up to three rows of the corners."""
    if unit.id_column is None:
        return [(row,) for row in ANY]
    some = list(combinations_with_replacement(CORNERS, 2))
    return [*((row,) for row in CORNERS), *some, *((a, b, a) for a, b in some[::5]), ()]


@dataclass(frozen=True)
class Farthest:
    """The neighbours whose exact integers are farthest apart in L1, and the largest distances found."""

    here: Integers
    there: Integers
    l1: int
    l2_squared: int


def farthest(query: Additive, unit: Unit) -> Farthest:
    """The worst that any change of the one person does to a query's integers, by brute force."""
    coded = query.coded(SCHEMA, unit)

    def totals(person: Sequence[Row]) -> Integers:
        return open_engine(table(person), SCHEMA, unit).totals(coded).ravel()

    found = np.stack([totals(person) for person in persons(unit)])
    start = totals(())[None] if unit.relation is ADD_REMOVE else found
    gaps = found[None] - start[:, None]
    l1 = np.abs(gaps).sum(axis=2)
    first, second = np.unravel_index(np.argmax(l1), l1.shape)
    # squares of large integers don't fit into int64: floats find the pair, and integers measure it
    farther = np.unravel_index(np.argmax((gaps.astype(float) ** 2).sum(axis=2)), l1.shape)
    squared = sum(int(gap) ** 2 for gap in gaps[farther])
    return Farthest(start[first], found[second], int(l1.max()), squared)


def told_apart(
    distribution: Distribution, here: Integers, there: Integers
) -> Callable[..., Floats]:
    """The mechanism that adds noise to a vector, and reports the likelihood ratio of these two.

    The ratio is all that an attacker can use, and auditing one number needs far fewer runs. Coordinates
    that are equal have equal noise.
    """
    differ = np.flatnonzero(here != there)
    a, b = here[differ], there[differ]

    def noised(centre: Integers, trials: int) -> Floats:
        drawn = distribution.run(np.tile(centre[differ], (trials, 1)))
        if isinstance(distribution, GaussianDistribution):
            return np.asarray(drawn @ (a - b).astype(np.float64))
        return np.asarray((abs(drawn - b) - abs(drawn - a)).sum(axis=1), np.float64)

    return noised


@attack("coded-sums")
def coded_sums() -> Iterator[Part]:
    for query in sums():
        ratios = {}
        for unit in UNITS:
            bound, found = query.sensitivity(SCHEMA, unit), farthest(query, unit)
            ratios[f"L1, {unit}"] = _ratio(found.l1, bound.l1)
            ratios[f"L2 squared, {unit}"] = _ratio(found.l2_squared, bound.l2_squared)
            if bound.l1 and unit.id_column is None:
                noise = Laplace(1).distribution(bound)
                run = told_apart(noise, found.here, found.there)
                title = f"{query!r}, {unit}, Laplace noise"
                losses = exact_losses(noise, found.here, found.there)
                yield Case(title, run, (found.here, found.there), 1.0, 60_000, losses=losses)
        where = max(ratios, key=lambda name: ratios[name])
        yield statement(
            repr(query),
            "its integers move by at most its sensitivity",
            ratios[where] <= 1,
            f"the farthest of {len(ratios)} searches is {float(ratios[where]):.4g} times the bound: {where}",
            probe="sensitivity",
        )
    query, unit = Moments("x", "y", by="c"), UNITS[1]
    found = farthest(query, unit)
    run = told_apart(
        Gaussian(rho="1/2").distribution(query.sensitivity(SCHEMA, unit)), found.here, found.there
    )
    yield Case(f"{query!r}, Gaussian noise", run, (found.here, found.there), GaussianDP(1), 40_000)
    asked = ((Count(by="c"), UNITS[1]), (Sum("x"), UNITS[0]), (Mean("y"), UNITS[2]))
    for asked_query, unit in asked:
        pair = (table(((-1.0, 0.0, "a"),)), table(((3.0, 4.0, "b"),)))
        if unit.relation is ADD_REMOVE:
            pair = (table(()), table(((3.0, 4.0, "b"),) * unit.rows_per_person))
        budget = PureDP(4)
        door = through_the_door(asked_query, budget, SCHEMA, unit)
        losses = answer_losses(asked_query, budget, SCHEMA, *pair, unit)
        title = f"{asked_query!r}, {unit}, through the door"
        yield Case(title, door, pair, budget, 2_500, losses=losses)


def _ratio(found: int, bound: int) -> Fraction:
    """The share of a bound that was reached; more than 1 where nothing may move and something does."""
    return Fraction(found, bound) if bound else Fraction(2 * bool(found))


def quantile_distribution(query: Quantile, mechanism: Exponential, rows: Any, unit: Unit) -> Floats:
    """The probabilities of all answers over groups and quantiles together, from the query's own scores."""
    tally = open_engine(rows, SCHEMA, unit).tally(query.coded(SCHEMA, unit))
    distributions = []
    for group in range(query.coded(SCHEMA, unit).groups):
        here = tally.groups == group
        for q in query.q:
            first, length, score = query.runs(tally.codes[here], tally.counts[here], q, SCHEMA)
            sensitivity = query.rank_sensitivity(q, SCHEMA, unit)
            factor = float(mechanism.epsilon(len(query.q))) / (2 * sensitivity)
            at = np.repeat(score, length)[np.argsort(np.repeat(first, length), kind="stable")]
            mass = np.exp(factor * (at - at.max()))
            distributions.append(mass / mass.sum())
    return np.asarray(reduce(np.multiply.outer, distributions), np.float64).ravel()


def _quantiles_compared(
    query: Quantile, mechanism: Exponential, unit: Unit, pair: tuple[Any, Any]
) -> AuditResult:
    p, q = (quantile_distribution(query, mechanism, rows, unit) for rows in pair)
    return exact(p, q, mechanism.measure)


@attack("exponential-quantile")
def exponential_quantile() -> Iterator[Part]:
    singles = (
        Quantile("y", "1/2"),
        Quantile("y", "1/4", by="c"),
        Quantile("y", "9/10", where="x > 0"),
        Quantile("y", "1/3", candidates=[4, 0, 1]),
    )
    several = Quantile("y", ["1/4", "3/4"], by="c")
    claims: tuple[PureDP | ZCDP, ...] = (PureDP(4), ZCDP("1/8"))
    for query in (*singles, several):
        for unit in UNITS[:3] if query is not several else UNITS[:1]:
            for claim in claims:
                found = (
                    _quantiles_compared(query, Exponential(claim), unit, pair)
                    for pair in quantile_pairs(unit)
                )
                yield worst(found, f"{query!r}, {unit}: its distribution")
    for unit, pair in SHARP.items():
        query = Quantile("n", "1/2")
        door = through_the_door(query, PureDP(4), LONG, unit)
        yield Case(f"{query!r}, {unit}, through the door", door, pair, 4.0, 2_500)


#: A column so long that few points are medians: one person makes the rest of them the better ones. That
#: moves both the score of a point and the sum of all, and the loss comes near the claim.
LONG = Schema(n=Integer(0, 999))
SHARP: dict[Unit, tuple[Any, Any]] = {
    UNITS[0]: ({"n": np.array([400])}, {"n": np.array([400, 999])}),
    UNITS[1]: ({"n": np.array([50, 0])}, {"n": np.array([50, 999])}),
}

#: Rows around which a quantile is sharp: none, a few, and many at both ends.
_AROUND: tuple[tuple[Row, ...], ...] = (
    (),
    COMMON,
    ((3.0, 0.0, "a"),) * 4 + ((3.0, 4.0, "a"),) * 4,
    ((3.0, 0.0, "b"),) * 9 + ((3.0, 4.0, "b"),) * 3,
)


def quantile_pairs(unit: Unit) -> Iterator[tuple[Any, Any]]:
    """Tables that differ in one person, whose rows are at the ends of y."""
    ends: list[Sequence[Row]] = [((3.0, y, c),) for y in (0.0, 4.0) for c in ("a", "b")]
    if unit.id_column is not None:
        ends += [((3.0, y, c), (1.0, y, c)) for y in (0.0, 4.0) for c in ("a", "b")]
    for common in _AROUND:
        if unit.relation is ADD_REMOVE:
            yield from ((table((), common), table(end, common)) for end in ends)
        else:
            yield from ((table(a, common), table(b, common)) for a, b in combinations(ends, 2))
