"""Nothing is charged that can't be answered: every query and mechanism, with extreme public parameters."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet import mechanisms, queries
from discreet.coding import Sensitivity
from discreet.measures import ZCDP, ApproxDP, PureDP
from discreet.mechanisms import LocalMechanism, Mechanism
from discreet.queries import Query
from discreet.testing import DISCOVERIES, MECHANISMS, QUERIES, SEVERAL, missing
from payment import BOUNDS, EPSILONS, answer_or_refusal, check_own_words, is_finite, open_ledger

UNITS = (
    dp.Unit(dp.ADD_REMOVE),
    dp.Unit(dp.REPLACE_ONE),
    dp.Unit(dp.REPLACE_ONE, "id", 100),
)
#: Ways to ask for a budget, each from a number that stands for ε or ρ.
BUDGETS: dict[str, Callable[[float], Any]] = {
    "pure": PureDP,
    "approximate": lambda size: ApproxDP(size, 1e-6),
    "approximate, tiny": lambda size: ApproxDP(size, 1e-300),
    "concentrated": ZCDP,
    "laplace": mechanisms.Laplace,
    "gaussian": lambda size: mechanisms.Gaussian(size, 1e-6),
    "gaussian, rho": lambda size: mechanisms.Gaussian(rho=size),
    "discrete gaussian": lambda size: mechanisms.DiscreteGaussian(size, 1e-6),
    "discrete gaussian, rho": lambda size: mechanisms.DiscreteGaussian(rho=size),
    "exponential": lambda size: mechanisms.Exponential(PureDP(size)),
    "permute and flip": mechanisms.PermuteAndFlip,
}
ASKED = (*QUERIES, *SEVERAL, *DISCOVERIES)
LEDGERS: dict[Any, dp.Ledger] = {}


def datasets(bounds: tuple[float, float], unit: dp.Unit) -> tuple[dp.PrivateDataset, ...] | None:
    """The same four rows behind a ledger of pairs and one of zCDP; None where bounds are refused."""
    low, high = bounds
    try:
        column = dp.Real(low, high)
    except ValueError as error:
        check_own_words(error)
        return None
    schema = dp.Schema(x=column, y=column, c=dp.Categorical("a", "b"), t=dp.Text(), u=dp.Real())
    table = {"x": [low, high, low, low], "y": [high, low, low, high], "c": ["a", "b", "b", "a"],
             "t": ["q"] * 4, "u": [1.0, 2.0, 3.0, 4.0], "id": [1, 2, 3, 4]}  # fmt: skip
    for kind in (False, True):
        if (unit, kind) not in LEDGERS:
            LEDGERS[unit, kind] = open_ledger(unit, concentrated=kind)
    return tuple(
        dp.PrivateDataset(table, schema, ledger=LEDGERS[unit, kind]) for kind in (False, True)
    )


def ask(query: Query, budget: str, size: float, doors: tuple[dp.PrivateDataset, ...]) -> None:
    """Plan and release: both refuse, or there is a finite answer with a finite error."""
    try:
        chosen = BUDGETS[budget](size)
    except ValueError as error:
        check_own_words(error)
        return
    measure = chosen.measure if isinstance(chosen, Mechanism) else chosen
    data = doors[isinstance(measure, ZCDP)]
    plan = answer_or_refusal(lambda: [data.plan(query, chosen, rows=4).stderr], data.ledger)

    def release() -> Any:
        found = data.release(query, chosen)
        return [found.value, found.stderr, _interval(found)]

    found = answer_or_refusal(release, data.ledger)
    assert (plan is None) == (found is None)


def _interval(release: Any) -> Any:
    if isinstance(release.query, queries.Bounds):
        return None  # a choice, not an estimate
    found = release.noise_interval(0.95)
    return [found.lower, found.upper]


def grid(share: float, seed: int) -> Iterator[tuple[Any, ...]]:
    draw = random.Random(seed)
    for case in itertools.product(BOUNDS, UNITS, ASKED, BUDGETS, EPSILONS):
        if draw.random() < share:
            yield case


def run_grid(share: float, seed: int) -> int:
    count = 0
    for (bounds, unit), cases in itertools.groupby(grid(share, seed), key=lambda case: case[:2]):
        doors = datasets(bounds, unit)
        for _, _, query, budget, size in cases:
            count += 1
            if doors is not None:
                ask(query, budget, size, doors)
    return count


def test_a_release_is_finite_or_refused_before_the_charge() -> None:
    assert run_grid(0.002, 0) > 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 9))
def test_releases_are_finite_or_refused_before_the_charge(seed: int) -> None:
    assert run_grid(0.1, seed) > 5000


@pytest.mark.parametrize("query", ASKED, ids=repr)
def test_the_whole_range_of_budgets_is_not_simply_refused(query: Query) -> None:
    """The negative control: with ordinary bounds and budgets there is an answer."""
    doors = datasets((0.0, 3.0), UNITS[0])
    assert doors is not None
    for size in (1e-3, 1.0, 1e3):
        data = doors[0]
        assert is_finite(data.release(query, PureDP(size)).value)


def wide(width: int) -> list[Query]:
    names = [f"x{j}" for j in range(width)]
    found: list[Query] = [
        queries.Moments(*names),
        queries.CentredSums(*names),
        queries.CentredSums(*names, products="squares", by="c"),
        queries.Marginals(*names, by="c"),
    ]
    if width <= 200:
        found += [queries.Gram(*names), queries.CentredSums(*names, products="all")]
    return found


@pytest.mark.parametrize(
    "width",
    [1, 60, pytest.param(500, marks=pytest.mark.slow), pytest.param(2000, marks=pytest.mark.slow)],
)
def test_many_columns_are_answered_or_refused_before_the_charge(width: int) -> None:
    columns: dict[str, Any] = {f"x{j}": dp.Real(-1, 1) for j in range(width)}
    schema = dp.Schema(columns | {"c": dp.Categorical("a", "b")})
    table: dict[str, Any] = {name: [0.5, -0.5] for name in columns} | {"c": ["a", "b"]}
    for kind in (False, True):
        ledger = open_ledger(dp.ADD_REMOVE, concentrated=kind)
        data = dp.PrivateDataset(table, schema, ledger=ledger)
        for query, size in itertools.product(wide(width), (1e-30, 1e-7, 1.0, 1e30)):
            ask(query, "concentrated" if kind else "pure", size, (data, data))


#: For each mechanism that is used by itself: what is charged, and then done, for an ε and a sensitivity.
Act = tuple[Callable[[], Any], Callable[[], Any]]
ALONE: dict[str, tuple[Callable[[float], Any], Callable[[Any, int], Act]]] = {
    "Exponential": (
        lambda size: mechanisms.Exponential(PureDP(size)),
        lambda m, s: (m.event, lambda: m.run(np.array([0, 5]), np.array([1, 1]), s)),
    ),
    "PermuteAndFlip": (
        mechanisms.PermuteAndFlip,
        lambda m, s: (lambda: m.event(s), lambda: m.run([0, 5, 2**62], s)),
    ),
    "ReportNoisyMax": (
        mechanisms.ReportNoisyMax,
        lambda m, s: (lambda: m.event(s), lambda: m.run([0, 5, 2**62], s)),
    ),
    "SparseVector": (
        lambda size: mechanisms.SparseVector(size, 2, numeric_epsilon=size),
        lambda m, s: (lambda: m.event(s), lambda: m.run([0, 5, 2**62], 3, s)),
    ),
    "AboveThreshold": (
        mechanisms.AboveThreshold,
        lambda m, s: (lambda: m.event(s), lambda: m.run([0, 5], 3, s) or 0),
    ),
    "Staircase": (
        mechanisms.Staircase,
        lambda m, s: (lambda: m.event(s), lambda: [m.run(7, s), m.expected_error(s)]),
    ),
}
#: Reports that people make themselves, from an ε.
LOCALS: tuple[Callable[[float], LocalMechanism], ...] = (
    mechanisms.RandomizedResponse,
    lambda size: mechanisms.GeneralizedRandomizedResponse(size, 6),
    lambda size: mechanisms.UnaryEncoding(size, 6),
    lambda size: mechanisms.UnaryEncoding(size, 6, optimised=True),
    lambda size: mechanisms.LocalHashing(size, 6),
    lambda size: mechanisms.Memoised(2 * size, size, 6),
    lambda size: mechanisms.DuchiMean(size, -1e100, 1e100),
    lambda size: mechanisms.PiecewiseMean(size, 0, 1e-100),
    lambda size: mechanisms.HybridMean(size, -3, 5),
)


@pytest.mark.parametrize("name", ALONE)
def test_a_mechanism_whose_event_is_told_can_be_run(name: str) -> None:
    build, acts = ALONE[name]
    answered = 0
    for size, sensitivity in itertools.product(EPSILONS, (1, 10**9, 2**70)):
        event, run = acts(build(size), sensitivity)
        if answer_or_refusal(lambda: event().to_dict(), None) is not None:  # noqa: B023
            assert is_finite(run())
            answered += 1
    assert answered >= len(EPSILONS) // 2


def test_noise_that_can_not_be_drawn_has_no_distribution() -> None:
    drawn = refused = 0
    for mechanism, size in itertools.product(MECHANISMS, EPSILONS):
        if isinstance(mechanism, mechanisms.Laplace):
            made: Any = mechanisms.Laplace(size)
        else:
            made = type(mechanism)(rho=size)
        for moved in (1, 2**40, 2**70):
            sums = Sensitivity(moved, moved**2)
            distribution = answer_or_refusal(lambda: [made.distribution(sums)], None)  # noqa: B023
            if distribution is None:
                refused += 1
                continue
            drawn += 1
            assert is_finite(distribution[0].run(np.zeros(3, np.int64)))
            assert is_finite([distribution[0].expected_error(), distribution[0].half_width(0.95)])
    assert drawn > refused > 0


@pytest.mark.parametrize("place", range(len(LOCALS)))
def test_a_local_mechanism_reports_or_is_refused_when_it_is_made(place: int) -> None:
    answered = 0
    for size in EPSILONS:
        made = answer_or_refusal(lambda: [LOCALS[place](size)], None)  # noqa: B023
        if made is None:
            continue
        answered += 1
        mechanism = made[0]
        assert is_finite(mechanism.event().to_dict())
        values = [mechanism.lower] * 3 if hasattr(mechanism, "lower") else np.zeros(3, np.int64)
        estimate = mechanism.estimate(mechanism.randomize(values))
        assert is_finite([estimate.values, estimate.stderr])
    assert answered


def test_every_mechanism_is_asked_here() -> None:
    made = [build(1.0) for build, _ in ALONE.values()]
    assert missing(Mechanism, (*made, *MECHANISMS)) == []
    assert missing(LocalMechanism, tuple(build(1.0) for build in LOCALS)) == []
