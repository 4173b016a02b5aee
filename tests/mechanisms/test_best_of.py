"""The best of a random number of runs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet import accounting, events, testing
from discreet.measures import PureDP
from discreet.mechanisms import BestOf
from discreet.mechanisms.best_of import truncated_negative_binomial


def distribution(shape, gamma, most):
    """P(K = k) for k = 1..most by the definition (Papernot & Steinke 2022, Definition 1)."""
    if shape == 0:
        k = np.arange(1, most + 1)
        return (1 - gamma) ** k / k / math.log(1 / gamma)
    mass, product = [], 1.0
    for k in range(1, most + 1):
        product *= (k - 1 + shape) / k
        mass.append((1 - gamma) ** k * product / (gamma**-shape - 1))
    return np.array(mass)


@pytest.mark.parametrize("shape", ["0", "1/3", "1", "2", "5/2"])
def test_the_number_of_runs_follows_its_distribution_and_not_a_near_one(shape):
    trials, gamma, most = 6000, 0.25, 60
    with testing.fixed_noise(6):
        draws = [truncated_negative_binomial(shape, "1/4") for _ in range(trials)]
    assert min(draws) >= 1
    counts = np.bincount(np.minimum(draws, most), minlength=most + 1)[1:]

    def pvalue(eta):
        expected = distribution(eta, gamma, most) * trials
        keep = expected > 5
        masses = [*expected[keep], trials - expected[keep].sum()]
        seen = [*counts[keep], counts[~keep].sum()]
        return chisquare(seen, masses, sum_check=False).pvalue

    right = float(Fraction(shape))
    assert pvalue(right) > 1e-3
    assert pvalue(right + 0.4) < 1e-6
    runner = BestOf(events.DiscreteLaplace(1), shape, "1/4")
    mean = float(distribution(right, gamma, 2000) @ np.arange(1, 2001))
    assert runner.expected_runs() == pytest.approx(mean, rel=1e-6)
    assert np.mean(draws) == pytest.approx(mean, rel=0.06)
    assert runner.expected_error() == pytest.approx(
        float(distribution(right, gamma, 2000) @ (1 / np.arange(2.0, 2002))), rel=1e-6
    )


def test_the_best_outcome_is_returned():
    scores = iter([1.0, math.nan, 5.0, 5.0, 2.0] * 100)
    seen = []

    def step():
        seen.append(next(scores))
        return seen[-1], len(seen)

    with testing.fixed_noise(3):
        score, which = BestOf(events.DiscreteLaplace(1), 1, "1/50").run(step)
    assert len(seen) > 3
    assert (score, which) == (5.0, 3)


def test_nan_is_beaten_by_anything():
    outcomes = iter([(math.nan, "a"), (-math.inf, "b"), *[(math.nan, "c")] * 500])
    with testing.fixed_noise(3):
        assert BestOf(events.DiscreteLaplace(1), 1, "1/50").run(lambda: next(outcomes))[1] == "b"


def test_the_event_is_what_ran():
    runner = BestOf(events.DiscreteLaplace(4), "1/2", "1/5")
    assert runner.event == events.RepeatAndSelect(events.DiscreteLaplace(4), "1/2", "1/5")
    assert accounting.cost(runner.event, PureDP) == PureDP(Fraction(5, 8))
    with pytest.raises(ValueError, match="gamma"):
        BestOf(events.DiscreteLaplace(4), 1, 1)
    with pytest.raises(ValueError, match="shape"):
        truncated_negative_binomial(-1, "1/2")
    assert "BestOf" in repr(runner)
