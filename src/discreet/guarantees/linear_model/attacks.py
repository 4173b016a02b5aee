"""Attacks on linear models: on the noised normal equations, on what is made from them, on paired lines."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.accounting import cost, satisfies
from discreet.audit.exact import exact, statement
from discreet.audit.pairs import through_the_door
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.engines import open_engine
from discreet.events import Exponential
from discreet.guarantees.fits import exact_losses, fit_case
from discreet.guarantees.linear_model.attacks_minimised import (
    FITTED,
    centred_density,
    minimised_plan,
)
from discreet.guarantees.queries.attacks import told_apart
from discreet.guarantees.selection.attacks import worst
from discreet.measures import ZCDP, ApproxDP, Measure, PureDP
from discreet.mechanisms import Distribution, mechanism_for
from discreet.models.facts import Facts
from discreet.models.linear_model import (
    LinearRegression,
    LogisticRegression,
    SimpleLinearRegression,
)
from discreet.models.linear_model.asking import MIN_TARGET_SHARE
from discreet.models.linear_model.shrinking import shrunk
from discreet.models.linear_model.solving import centre, functional
from discreet.models.linear_model.theil_sen import (
    STEPS,
    MedianLevel,
    PairedSlopes,
    level_codes,
    score_sensitivity,
    slope_codes,
    with_lines,
)
from discreet.queries import NormalEquations, Quantile
from discreet.schema import Categorical, Real, Schema
from discreet.unit import ADD_REMOVE, REPLACE_ONE, Unit

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mechanism = Callable[..., Any]
Pairs = tuple[Integers, Integers]

SCHEMA = Schema(x=Real(-1, 1), z=Real(0, 4), y=Real(-2, 2), c=Categorical("a", "b"))
PLANE = Schema(x=Real(0, 1), z=Real(0, 1))
SPACE = Schema(x=Real(0, 1), z=Real(0, 1), y=Real(0, 1))
UNITS = (Unit(ADD_REMOVE), Unit(REPLACE_ONE))
#: Why attacks on coefficients stay below the claim.
MADE = "made from the noised equations, whose distribution is attacked beside it: what is made says less"


def table(*rows: tuple[float, float, float, str]) -> dict[str, Any]:
    """The common rows, and these."""
    every = [(0.2, 1.0, 0.5, "a"), (-0.6, 2.0, -1.0, "b"), *rows]
    return {
        name: np.array([row[at] for row in every], object if name == "c" else np.float64)
        for at, name in enumerate(SCHEMA.base)
    }


def neighbours(unit: Unit) -> tuple[dict[str, Any], dict[str, Any]]:
    """A row at a corner comes or goes, or is replaced by the one that moves the products most."""
    low = table((0.0, 0.0, -2.0, "a")) if unit.relation is REPLACE_ONE else table()
    return low, table((1.0, 4.0, 2.0, "b"))


def totals(query: NormalEquations, rows: Any, unit: Unit) -> Integers:
    """The exact integers of some rows."""
    return open_engine(rows, SCHEMA, unit).totals(query.coded(SCHEMA, unit)).ravel()


def noise_of(query: NormalEquations, measure: Measure, unit: Unit, share: Fraction) -> Distribution:
    """The noise of a release, its sensitivity taken as this share of the right one."""
    right = query.sensitivity(SCHEMA, unit)
    taken = type(right)(int(right.l1 * share), int(right.l2_squared * share**2))
    return mechanism_for(measure, taken).distribution(taken)


def on_equations(
    query: NormalEquations, measure: Measure, unit: Unit, share: Fraction = Fraction(1)
) -> Case:
    """The likelihood ratio of the noised vector: all that any attacker can use of it."""
    pair = tuple(totals(query, rows, unit) for rows in neighbours(unit))
    run = told_apart(noise_of(query, measure, unit, share), *pair)
    losses = exact_losses(noise_of(query, measure, unit, Fraction(1)), *pair)
    return Case(f"{query!r}, {unit}", run, pair, measure, 100_000, losses=losses)


def made_of(
    query: NormalEquations, measure: Measure, make: Callable[[Floats, float], Any]
) -> Mechanism:
    """What is made from each noised matrix."""
    unit = UNITS[0]
    distribution = noise_of(query, measure, unit, Fraction(1))

    def mechanism(rows: Any, trials: int) -> Floats:
        noised = distribution.run(np.tile(totals(query, rows, unit), (trials, 1)))
        error = distribution.expected_error() / 2.0 ** (2 * query.bits)
        matrices = query.estimate(noised.astype(np.float64), SCHEMA)
        return np.array([make(matrix, error) for matrix in matrices])

    return mechanism


def _slopes(matrix: Floats, noise: float) -> Floats:
    found = shrunk(matrix, noise, np.zeros(len(matrix) - 2))
    return np.append(found.slopes, found.intercept)


def _functional(matrix: Floats, noise: float) -> Floats:
    return functional(matrix[:-1, :-1], matrix[:-1, -1], noise)


def _quotient(matrix: Floats, _: float) -> float:
    about = centre(matrix)[2]
    return float(about[0, 1] / about[0, 0]) if about[0, 0] > 1e-9 else 0.0


@attack("linear-regression")
def linear_regression() -> Iterator[Part]:
    for unit in UNITS:
        for measure in (PureDP(1), ApproxDP(2, "1/100")):
            yield on_equations(NormalEquations(["x", "z"], "y"), measure, unit)
        yield on_equations(NormalEquations(["x", "z"], "y", square=False), PureDP(3), unit)
    options = {"rounding": 1e-6}
    asked = NormalEquations(["x"], "y"), PureDP(4)
    run = made_of(*asked, _slopes)
    yield Case(
        "the shrunk coefficients", run, neighbours(UNITS[0]), 4.0, 8_000, options, reason=MADE
    )
    run = made_of(*asked, _functional)
    pair = neighbours(UNITS[0])
    yield Case("the coefficients, functional", run, pair, 4.0, 8_000, options, reason=MADE)
    row = {"x": 1.0, "z": 1.0}
    yield fit_case(LinearRegression(epsilon=5), PureDP(5), PLANE, row, "z")
    yield from target_apart()


def target_apart() -> Iterator[Part]:
    """Fits with two features: the target's moments, then the equations, each against its share."""
    row = {"x": 1.0, "z": 1.0, "y": 1.0}
    for at, share in enumerate((MIN_TARGET_SHARE, 1 - MIN_TARGET_SHARE)):
        model = LinearRegression(epsilon=5 / share)
        yield fit_case(model, PureDP(5), SPACE, row, "y", told=slice(at, at + 1))
    sums: dict[str, Any] = {"method": "sufficient_statistics"}
    for unit in UNITS:
        for delta in (0, "1/1000000"):
            yield whole_plan(LinearRegression(epsilon=1, delta=delta, **sums), unit)
        yield whole_plan(LinearRegression(epsilon=1, delta="1/1000000", **sums), unit, features=20)


def whole_plan(model: LinearRegression, unit: Unit, features: int = 2) -> Part:
    """Check that moments and equations cost no more together than what is charged for them."""
    rows = 1 if unit.relation is REPLACE_ONE else None
    names = tuple(f"x{place}" for place in range(features))
    schema = Schema({name: Real(0, 1) for name in (*names, "y")})
    plan = model._plan(Facts(schema, unit, names, "y", rows), None)
    title = f"the plan of LinearRegression with {features} features, {unit.relation.value}"
    holds = len(plan.queries) == 2 and satisfies(plan.event, plan.measure)
    holds = holds and satisfies(plan.event, model._measure())
    return statement(title, f"together at most {plan.measure!r}", holds, f"{plan.event!r}")


@attack("minimised-regression")
def minimised_regression() -> Iterator[Part]:
    persons = Unit(ADD_REMOVE, "person", 2)
    for unit in (*UNITS, persons):
        for delta in (0, "1/1000000"):
            for rows, share in (
                (30, Fraction(1, 2)),
                (500, Fraction(1, 5)),
                (None, Fraction(1, 10)),
            ):
                if rows is None and unit.length_is_public:
                    continue
                options: dict[str, Any] = {"delta": delta, "expected_rows": rows}
                model = LinearRegression(method="objective", **options)
                yield minimised_plan(model, unit, share)
    for unit in UNITS:
        for zero, width in ((0.0, 1.0), (-0.6, 0.2), (0.9, 2.0)):
            yield centred_density(unit, zero, width)
    row = {"x": 1.0, "z": 1.0, "y": 1.0}
    model = LinearRegression(method="objective", epsilon=50, expected_rows=100)
    yield fit_case(model, PureDP(5), SPACE, row, "y", told=slice(0, 1))
    whole = LinearRegression(method="objective", epsilon=5, expected_rows=100)
    yield replace(fit_case(whole, PureDP(5), SPACE, row, "y"), reason=FITTED)


@attack("noisy-stats")
def noisy_stats() -> Iterator[Part]:
    query = NormalEquations(["x"], "y", square=False)
    for unit in UNITS:
        for measure in (PureDP(1), ApproxDP(2, "1/100")):
            yield on_equations(query, measure, unit)
    run = made_of(query, PureDP(3), _quotient)
    pair = neighbours(UNITS[0])
    yield Case("the slope alone", run, pair, 3.0, 10_000, {"rounding": 1e-6}, reason=MADE)
    row = {"x": 1.0, "z": 1.0}
    yield fit_case(SimpleLinearRegression(epsilon=5), PureDP(5), PLANE, row, "z")


@attack("functional-logistic-regression")
def logistic_regression() -> Iterator[Part]:
    for unit in UNITS:
        yield on_equations(NormalEquations(["x", "z"], "c", square=False), PureDP(1), unit)
        yield on_equations(NormalEquations(["x", "z"], by="c"), ApproxDP(2, "1/100"), unit)
    schema, row = Schema(x=Real(0, 1), c=Categorical("a", "b")), {"x": 1.0, "c": "b"}
    model = LogisticRegression(method="functional", epsilon=5)
    yield fit_case(model, PureDP(5), schema, row, "c")


def median_distribution(values: Integers, factor: float, edges: Integers) -> Floats:
    """The distribution of a median of these codes: probabilities of cells of the grid cut at `edges`."""
    codes, counts = np.unique(values, return_counts=True)
    first, length, score = Quantile.scores(codes, counts, Fraction(1, 2), STEPS)
    order = np.argsort(first)
    # every run of equal scores is made of whole cells, since all values are edges
    at = np.searchsorted(first[order], edges, side="right") - 1
    mass = np.diff([*edges, STEPS + 1]) * np.exp(factor * score[order][at])
    return np.asarray(mass / (length * np.exp(factor * score)).sum())


def medians_compared(
    here: Integers, there: Integers, epsilon: float, sensitivity: int, claim: Measure | None = None
) -> AuditResult:
    """The exact distributions of a median of the codes of two tables."""
    found = np.unique(np.concatenate([[0], here, there]))
    edges = np.unique(np.concatenate([found, np.minimum(found + 1, STEPS)]))
    factor = epsilon / (2 * sensitivity)
    p, q = (median_distribution(side, factor, edges) for side in (here, there))
    return exact(p, q, PureDP(epsilon) if claim is None else claim)


def lines_compared(
    here: tuple[Floats, Pairs],
    there: tuple[Floats, Pairs],
    epsilon: float,
    sensitivity: int,
    claim: Measure | None = None,
) -> AuditResult:
    """The exact distributions of the slope for two tables, for an attacker who even knows the pairing."""
    codes = []
    for rows, pairs in (here, there):
        x, y = rows.T
        codes.append(slope_codes(x, y, *with_lines(x, *pairs)))
    return medians_compared(codes[0], codes[1], epsilon, sensitivity, claim)


#: Why runs show less of a slope than its exact distribution for a known pairing, which stands beside them.
RARE_PAIRS = (
    "what tells most, a fall among rising lines, is rarely drawn; its exact distribution is beside"
)
#: Rows on a line near the steepest, and rows that turn a line through them down, further up, or hardly.
STEEP = ((0.0, 0.0), (0.01, 0.038), (0.02, 0.076))
CELLS = ((0.25, 0.0), (0.25, 1.0), (1.0, 0.0), (0.5, 0.5), (0.0, 1.0))


def replaced_rows(epsilon: float, rounds: int, sensitivity: int) -> AuditResult:
    """Four rows, the last replaced, for all matchings in each round."""
    matchings = [((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2))]

    def audit_each() -> Iterator[AuditResult]:
        for chosen in itertools.product(matchings, repeat=rounds):
            first, second = np.concatenate([np.array(pairs) for pairs in chosen]).T
            for one, other in itertools.combinations(CELLS, 2):
                here, there = (np.array([*STEEP, row]) for row in (one, other))
                pairs = first, second
                yield lines_compared((here, pairs), (there, pairs), epsilon, sensitivity)

    words = "matching" if rounds == 1 else "matchings"
    return worst(audit_each(), f"one of four rows replaced, {rounds} {words}, ε = {epsilon:g}")


def thrown(buckets: Sequence[int]) -> Pairs:
    """The rows that are two in a bucket: what `pair_randomly` makes from such buckets."""
    inside = [[row for row, own in enumerate(buckets) if own == b] for b in sorted(set(buckets))]
    pairs = [rows for rows in inside if len(rows) == 2]
    first, second = np.array(pairs, np.int64).reshape(-1, 2).T
    return first, second


def added_rows(
    epsilon: float, sensitivity: int, pairing: Callable[[Sequence[int]], Pairs] = thrown
) -> AuditResult:
    """Four rows and a fifth, thrown into three buckets in all ways."""

    def audit_each() -> Iterator[AuditResult]:
        for one, other in itertools.permutations(CELLS[:2], 2):
            rows = np.array([*STEEP, one, other])
            for buckets in itertools.product((0, 1, 2), repeat=5):
                here = rows[:-1], pairing(buckets[:-1])
                yield lines_compared(here, (rows, pairing(buckets)), epsilon, sensitivity)

    return worst(audit_each(), f"a row more, thrown into a bucket, ε = {epsilon:g}")


#: Rows whose line goes up, down, or neither, all the way.
UP, DOWN, LEVEL = (((0.0, 0.5), (0.01, height)) for height in (1.0, 0.0, 0.5))


def exchanged_persons(epsilon: Fraction, sensitivity: int, beside: int = 2) -> AuditResult:
    """A person's row gives way to another person's, whose bucket is its own: two pairs are broken up.

    Some median has a good score whatever happens, so ε alone would forgive half the sensitivity; what a
    draw of bounded range costs in concentrated DP would not.
    """
    rows = np.array([*UP, *DOWN, *LEVEL * beside, (0.02, 0.5)])
    buckets = [at // 2 for at in range(len(rows) - 1)]
    here, there = ((rows, thrown([*buckets, bucket])) for bucket in (0, 1))
    claim = cost(Exponential(epsilon), ZCDP)
    found = (
        lines_compared(a, b, float(epsilon), sensitivity, claim)
        for a, b in ((here, there), (there, here))
    )
    return worst(found, f"one person's row replaced by another's, ε = {float(epsilon):g}")


def moved_levels(epsilon: float, unit: Unit, sensitivity: int) -> AuditResult:
    """A row near an end of the grid and one more, at an end; at the other one instead, or there or not."""
    rows, low, high = level_codes(np.array([[1.4], [-0.5], [1.5]]))
    sides = (np.append(rows, low), np.append(rows, high) if unit.length_is_public else rows)
    found = (medians_compared(a, b, epsilon, sensitivity) for a, b in (sides, sides[::-1]))
    how = "replaced" if unit.length_is_public else "more"
    return worst(found, f"a row's level {how}, ε = {epsilon:g}")


@attack("theil-sen")
def theil_sen() -> Iterator[Part]:
    persons = Unit(REPLACE_ONE, "who", 1)
    yield exchanged_persons(Fraction(2), score_sensitivity(persons, 1))
    for rounds in (1, 2, 3):
        yield replaced_rows(2.0, rounds, score_sensitivity(UNITS[1], rounds))
    yield added_rows(2.0, score_sensitivity(UNITS[0], 1))
    for unit in UNITS[:2]:
        yield moved_levels(2.0, unit, score_sensitivity(unit, 1))
    # three rows on a flat line; a fourth, just beside them, turns the lines through it all the way down or up
    flat = (0.0, 0.001, 0.002)
    pair = tuple(
        {"x": np.array([*flat, 0.02]), "z": np.array([0.05, 0.05, 0.05, end])} for end in (0.0, 1.0)
    )
    options = {"score": lambda found: found < -0.001, "reuse": False}  # lines that fall
    door = through_the_door(PairedSlopes("x", "z", PureDP(4), UNITS[1], 1), None, PLANE, UNITS[1])
    yield Case(
        "one of four rows replaced, through the door",
        door,
        pair,
        4.0,
        12_000,
        options,
        reason=RARE_PAIRS,
    )
    level = MedianLevel("x", "z", PureDP(4), UNITS[1], 1)
    options = {"score": lambda found: found < 0.049, "reuse": False}  # low levels
    door = through_the_door(level, None, PLANE, UNITS[1])
    yield Case("one of four rows replaced, their level", door, pair, 4.0, 12_000, options)
