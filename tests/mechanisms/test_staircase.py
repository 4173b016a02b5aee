"""Staircase noise against its definition."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

import discreet as dp
from discreet import accounting, events, mechanisms, queries, testing
from discreet.measures import PureDP
from discreet.mechanisms import LaplaceDistribution, Staircase, StaircaseDistribution


def distribution(epsilon, width, step, reach):
    """P(k) for \\|k\\| <= reach, normalised by summation over a longer range."""
    k = np.arange(-(reach + 60 * width), reach + 60 * width + 1)
    stair, offset = np.divmod(np.abs(k), width)
    mass = np.exp(-epsilon * (stair + (offset >= step)))
    return mass[60 * width : -60 * width] / mass.sum()


@pytest.mark.parametrize(
    ("epsilon", "width", "step"), [(1, 4, 1), (2, 7, 3), ("1/2", 5, 5), (1, 1, 1)]
)
def test_no_shift_costs_more_than_its_stairs(epsilon, width, step):
    e = float(Fraction(epsilon))
    mass = distribution(e, width, step, 12 * width)
    for shift in range(2 * width + 2):
        loss = np.abs(np.log(mass[shift:] / mass[: len(mass) - shift])).max()
        event = events.Staircase(epsilon, width, step, shift)
        assert loss <= float(accounting.cost(event, PureDP).epsilon) + 1e-9
        if shift in (width, 2 * width):
            assert loss == pytest.approx(e * shift / width)


def test_two_coordinates_cost_twice():
    """Why it isn't for vectors: each coordinate moves by 1, the L1 sensitivity is 2, the loss 2ε."""
    mass = distribution(1.0, 2, 1, 24)
    loss = np.abs(np.log(mass[1:] / mass[:-1])).max()
    assert 2 * loss > 1.9


@pytest.mark.parametrize(
    ("epsilon", "width", "step"), [(1, 4, 1), (2, 7, 3), ("1/2", 3, 3), (1, 1, 1)]
)
def test_draws_follow_the_distribution_and_not_a_near_one(epsilon, width, step):
    noise, trials, reach = StaircaseDistribution(Fraction(epsilon), width, step), 40_000, 6 * width
    with testing.fixed_noise(9):
        draws = noise.draw(trials)
    inside = draws[np.abs(draws) <= reach]
    counts = np.bincount(inside + reach, minlength=2 * reach + 1)

    def pvalue(e):
        expected = distribution(e, width, step, reach) * trials
        keep = expected > 5
        seen = [*counts[keep], trials - counts[keep].sum()]
        masses = [*expected[keep], trials - expected[keep].sum()]
        return chisquare(seen, masses, sum_check=False).pvalue

    e = float(Fraction(epsilon))
    assert pvalue(e) > 1e-3
    assert pvalue(e * 0.85) < 1e-6
    assert draws.std() == pytest.approx(noise.expected_error(), rel=0.03)
    exact = distribution(e, width, step, 40 * width)
    k = np.arange(-40 * width, 40 * width + 1)
    assert noise.expected_error() == pytest.approx(math.sqrt(exact @ k**2), rel=1e-6)
    for t in (0, 1, width - 1, width, 2 * width + 1):
        assert noise.tail(t) == pytest.approx(exact[np.abs(k) > t].sum(), rel=1e-6, abs=1e-9)


def test_it_is_discrete_laplace_noise_at_sensitivity_one():
    for epsilon in ("1/3", "2"):
        noise = Staircase(epsilon).noise(1)
        laplace = LaplaceDistribution(1 / Fraction(epsilon))
        assert noise.expected_error() == pytest.approx(laplace.expected_error())
        assert noise.tail(3) == pytest.approx(mechanisms.tail_probability(laplace, 3))


@pytest.mark.parametrize("epsilon", ["1/10", 1, 3, 8, 20])
@pytest.mark.parametrize("sensitivity", [2, 10, 1000])
def test_it_is_better_than_laplace_noise(epsilon, sensitivity):
    ours = Staircase(epsilon).expected_error(sensitivity)
    laplace = LaplaceDistribution(sensitivity / Fraction(epsilon)).expected_error()
    assert ours <= laplace * (1 + 1e-9)
    if Fraction(epsilon) >= 8 and sensitivity >= 10:
        assert ours < 0.4 * laplace


def test_the_step_is_the_best_one():
    for epsilon, width in ((1, 9), (4, 12)):
        chosen = Staircase(epsilon).noise(width)
        tried = [
            StaircaseDistribution(Fraction(epsilon), width, r).expected_error()
            for r in range(1, width + 1)
        ]
        assert chosen.expected_error() == min(tried)
    # for large ε the variance is about (γ² + e^-ε/γ)·Δ²/3 with γ = step/width: least at γ³ = e^-ε/2
    distribution = Staircase(9).noise(100_000)
    assert distribution.step / distribution.width == pytest.approx(
        (math.exp(-9) / 2) ** (1 / 3), rel=0.02
    )


def test_event_and_arguments():
    mechanism = Staircase(2)
    assert accounting.cost(mechanism.event(5), PureDP) == PureDP(2)
    with testing.fixed_noise(1):
        assert isinstance(mechanism.run(7, 3), int)
    with pytest.raises(TypeError, match="one integer"):
        mechanism.run(np.array([1, 2]), 3)
    with pytest.raises(ValueError, match="epsilon"):
        Staircase(0)
    with pytest.raises(ValueError, match="sensitivity"):
        mechanism.event(0)
    with pytest.raises(ValueError, match="2\\^50"):
        Staircase("1e-9").noise(2**40)
    assert "epsilon=2" in repr(mechanism)


SCHEMA = dp.Schema(x=dp.Integer(0, 9), c=dp.Categorical("a", "b"))


def data(unit=None, **options):
    rows = {"x": np.array([1, 5, 9]), "c": np.array(["a", "b", "a"])}
    ledger = dp.Ledger(limit=PureDP(100), unit=unit or dp.Unit())
    return dp.PrivateDataset(rows, SCHEMA, ledger=ledger, **options)


@pytest.mark.parametrize(
    "query", [dp.Sum("x"), dp.Count(where="x > 2"), dp.Sum("x", where="c == 'a'")]
)
def test_one_sum_is_released_with_staircase_noise(query):
    door, mechanism = data(), Staircase(3)
    with testing.fixed_noise(2):
        release = door.release(query, mechanism)
    assert isinstance(release.event, events.Staircase)
    assert accounting.cost(release.event, PureDP).epsilon <= 3
    assert door.ledger.spent() == PureDP(3)
    moved = query.sensitivity(SCHEMA, door.unit).l1
    assert release.event.sensitivity == moved
    assert door.plan(query, mechanism).expected_error(3) == release.stderr
    low, high, _, _ = release.noise_interval(0.99)
    assert low < release.value < high


def test_a_sum_needs_less_noise_with_stairs_than_with_laplace_noise():
    door = data()
    stairs, laplace = (
        door.plan(dp.Sum("x"), budget).expected_error(3) for budget in (Staircase(9), PureDP(9))
    )
    assert stairs < laplace / 2


@pytest.mark.parametrize(
    "query",
    [dp.Histogram("c"), dp.Mean("x"), dp.Moments("x"), queries.Joint(dp.Sum("x"), dp.Count())],
    ids=repr,
)
def test_several_sums_are_refused_before_the_charge(query):
    door = data()
    with pytest.raises(ValueError, match="one sum"):
        door.release(query, Staircase(1))
    assert door.ledger.spent() == PureDP(0)


@pytest.mark.parametrize(
    "mechanism",
    [
        mechanisms.PermuteAndFlip(1),
        mechanisms.ReportNoisyMax(1),
        mechanisms.Exponential(PureDP(1)),
        mechanisms.SparseVector(1, cutoff=2),
        mechanisms.AboveThreshold(1),
    ],
    ids=repr,
)
def test_what_adds_no_noise_to_sums_says_what_it_is_for(mechanism):
    with pytest.raises(TypeError, match=r"adds no noise to sums: it (chooses|draws|compares)"):
        data().release(dp.Sum("x"), mechanism)


def test_every_mechanism_serves_sums_or_says_why_not():
    names = testing.missing(mechanisms.Mechanism, ())
    assert {"Laplace", "Staircase", "Exponential"} <= set(names)
    for kind in (getattr(mechanisms, name) for name in names):
        serves = kind.for_sums is not mechanisms.Mechanism.for_sums
        assert serves != hasattr(kind, "_use"), kind
