"""Estimates, their errors, and the projection onto the simplex."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import testing
from discreet.mechanisms import local
from discreet.mechanisms.local import project_onto_simplex
from profiles import max_examples

FREQUENCIES = [m for m in testing.LOCALS if isinstance(m, local.FrequencyMechanism)]
MEANS = [m for m in testing.LOCALS if isinstance(m, local.MeanMechanism)]


@max_examples(200)
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=30))
def test_the_projection_is_the_nearest_point_of_the_simplex(values):
    v = np.array(values)
    p = project_onto_simplex(v)
    assert np.all(p >= 0)
    assert p.sum() == pytest.approx(1, abs=1e-12)
    # the optimality conditions: v - p is constant where p > 0, and no larger elsewhere
    gap = v - p
    level = gap[p > 0].max()
    assert np.all(gap[p > 0] >= level - 1e-9)
    assert np.all(gap[p == 0] <= level + 1e-9)


def test_the_projection_refuses_what_is_no_vector():
    for bad in ([], [[1.0]], [math.nan]):
        with pytest.raises(ValueError, match="values"):
            project_onto_simplex(bad)


def test_the_projection_never_moves_away_from_the_truth():
    shares = np.array([0.7, 0.3] + [0.0] * 18)
    mechanism = local.GeneralizedRandomizedResponse(1, 20)
    ratios = []
    with testing.fixed_noise(3):
        for _ in range(50):
            estimate = mechanism.estimate(mechanism.randomize(np.repeat([0, 1], [700, 300])))
            near = np.linalg.norm(estimate.project() - shares)
            ratios.append(near / np.linalg.norm(estimate.values - shares))
    assert max(ratios) <= 1.0
    assert np.mean(ratios) < 0.85


@pytest.mark.parametrize("mechanism", testing.LOCALS, ids=repr)
def test_without_reports_nothing_is_known(mechanism):
    estimate = mechanism.estimate(mechanism.randomize([]))
    assert estimate.n == 0
    assert np.all(np.isfinite(estimate.values))
    assert np.all(np.isinf(estimate.stderr))


@pytest.mark.parametrize("mechanism", FREQUENCIES, ids=repr)
def test_errors_are_those_of_repeated_estimates(mechanism):
    values = np.arange(400) % 2
    with testing.fixed_noise(8):
        found = [mechanism.estimate(mechanism.randomize(values)) for _ in range(400)]
    spread = np.std([e.values for e in found], axis=0)
    expected = [mechanism.expected_error(400, 0.5)] * 2
    expected += [mechanism.expected_error(400, 0.0)] * (mechanism.k - 2)
    assert spread == pytest.approx(expected, rel=0.2)
    stated = np.mean([e.stderr for e in found], axis=0)
    assert stated == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("mechanism", MEANS, ids=repr)
def test_errors_of_means_are_those_of_their_readings(mechanism):
    lower, upper = float(mechanism.domain.lower), float(mechanism.domain.upper)
    for share in (0.0, 0.3, 0.5, 1.0):
        value = lower + share * (upper - lower)
        with testing.fixed_noise(9):
            estimate = mechanism.estimate(mechanism.randomize(np.full(200_000, value)))
        assert estimate.stderr[0] == pytest.approx(
            mechanism.expected_error(200_000, value), rel=0.02
        )
        assert estimate.values[0] == pytest.approx(value, abs=4.5 * estimate.stderr[0])
        assert mechanism.expected_error(10, value) <= mechanism.expected_error(10) * (1 + 1e-12)


def test_the_better_mean_depends_on_epsilon():
    def worst(kind, epsilon):
        return kind(epsilon, -1, 1).expected_error(1)

    # Wang et al. 2019: variances (e^ε+1)²/(e^ε-1)², and 4e^(ε/2)/(3(e^(ε/2)-1)²) at the ends
    e = math.exp(1)
    assert worst(local.DuchiMean, 1) == pytest.approx((e + 1) / (e - 1), rel=1e-9)
    h = math.exp(0.5)
    assert worst(local.PiecewiseMean, 1) == pytest.approx(
        math.sqrt(4 * h / (3 * (h - 1) ** 2)), rel=1e-5
    )
    for epsilon in (0.3, 1, 3, 5):
        best = min(worst(local.DuchiMean, epsilon), worst(local.PiecewiseMean, epsilon))
        assert worst(local.HybridMean, epsilon) <= best * (1 + 1e-6)
    assert worst(local.PiecewiseMean, 4) < 0.6 * worst(local.DuchiMean, 4)
    assert worst(local.PiecewiseMean, 0.3) > worst(local.DuchiMean, 0.3)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("k", [2, 6])
def test_equation_2_4_is_the_simulated_mean_squared_error(epsilon, k):
    shares = np.arange(1, k + 1) / (k * (k + 1) / 2)
    mechanism = local.GeneralizedRandomizedResponse(epsilon, k)
    n, rounds, errors = 200, 2000, []
    generator = np.random.default_rng(1)  # the population, not the privacy
    with testing.fixed_noise(12):
        values = generator.choice(k, (rounds, n), p=shares)
        reports = mechanism.randomize(values)
    for row in reports:
        errors.append(np.sum((mechanism.estimate(row).values - shares) ** 2))
    formula = mechanism.mean_squared_error(n, shares)
    e = math.exp(epsilon)
    told = shares * (e - 1) / (e + k - 1) + 1 / (e + k - 1)
    printed = ((e + k - 1) / (e - 1)) ** 2 * np.sum(told * (1 - told)) / n
    assert formula == pytest.approx(printed, rel=1e-12)
    error = np.std(errors) / math.sqrt(rounds)
    assert abs(np.mean(errors) - formula) < 4 * error
    assert abs(np.mean(errors) - 1.2 * formula) > 4 * error  # another formula would be noticed


def test_which_encoding_is_best_depends_on_k():
    """Wang, Blocki, Li & Jha 2017: direct for few values, optimised unary or hashing for many."""

    def errors(k):
        kinds = (
            local.GeneralizedRandomizedResponse(1, k),
            local.UnaryEncoding(1, k),
            local.UnaryEncoding(1, k, optimised=True),
            local.LocalHashing(1, k),
        )
        return [m.expected_error(1000) for m in kinds]

    direct, symmetric, optimised, hashed = errors(100)
    assert optimised < symmetric < direct
    assert hashed == pytest.approx(optimised, rel=0.02)
    assert errors(3)[0] < errors(3)[2]


def test_memoised_rows_are_kept_and_reported_afresh():
    mechanism = local.Memoised(4, 1, 8)
    with testing.fixed_noise(2):
        rows = mechanism.permanent(np.arange(5000) % 8)
        reports = [mechanism.report(rows) for _ in range(3)]
    assert all(r.shape == (5000, 8) for r in reports)
    assert not np.array_equal(reports[0], reports[1])
    for report in reports:
        assert np.mean(report != rows) == pytest.approx(float(mechanism.again), abs=0.01)
        assert mechanism.estimate(report).values == pytest.approx([1 / 8] * 8, abs=0.15)
    with pytest.raises(ValueError, match="permanent"):
        mechanism.report(rows[:, :3])
    with pytest.raises(ValueError, match="epsilon_first"):
        local.Memoised(1, 1, 4)


def test_bad_reports_raise():
    with pytest.raises(ValueError, match="between 0 and 4"):
        local.GeneralizedRandomizedResponse(1, 5).estimate([5])
    with pytest.raises(TypeError, match="whole"):
        local.GeneralizedRandomizedResponse(1, 5).estimate([0.5])
    with pytest.raises(ValueError, match="rows of 5"):
        local.UnaryEncoding(1, 5).estimate(np.zeros((3, 4), bool))
    with pytest.raises(TypeError, match="bits"):
        local.UnaryEncoding(1, 5).estimate(np.full((3, 5), 2))
    with pytest.raises(ValueError, match="three"):
        local.LocalHashing(1, 5).estimate(np.zeros((3, 2), int))
    with pytest.raises(ValueError, match="prime"):
        local.LocalHashing(1, 5).estimate(np.full((3, 3), 2**31))
    with pytest.raises(ValueError, match="share"):
        local.RandomizedResponse(1).expected_error(5, 2.0)
    with pytest.raises(ValueError, match="n must"):
        local.DuchiMean(1, 0, 1).expected_error(0)
    with pytest.raises(ValueError, match="shares"):
        local.RandomizedResponse(1).mean_squared_error(5, [1.0])
    with pytest.raises(ValueError, match="cells"):
        local.LocalHashing(1, 5, cells=2**17)
