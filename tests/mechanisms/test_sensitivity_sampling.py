"""Sampled sensitivities give random DP, which is no DP."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

import discreet as dp
from discreet import events
from discreet.measures import ZCDP, ApproxDP, GaussianDP, PureDP, RandomDP, Renyi, convert
from discreet.mechanisms import SampledSensitivity, sensitivity_sampler
from discreet.mechanisms.sensitivity_sampling import order_statistic


def normal_sampler(seed):
    rng = np.random.default_rng(seed)
    return lambda size: rng.normal(size=size)


def test_golden_order_statistic():
    """The index that the R package `diffpriv` uses for these two numbers."""
    assert order_statistic(500, "0.2") == 439
    assert order_statistic(500, "0.1") == 489
    assert order_statistic(10_000, "0.2") < 0.83 * 10_000


def test_too_few_draws_are_refused():
    with pytest.raises(ValueError, match="gamma"):
        order_statistic(500, "0.05")
    with pytest.raises(ValueError, match="gamma"):
        order_statistic(500, 0)
    found = sensitivity_sampler(np.mean, normal_sampler(0), 5, "0.3")
    assert order_statistic(found.draws, "0.3") == found.order == found.draws
    with pytest.raises(ValueError, match="gamma"):
        order_statistic(found.draws - 1, "0.3")


def test_the_confidence_holds():
    """Over many samplers: a fresh pair of neighbours is farther apart with probability γ at most."""
    rng = np.random.default_rng(4)
    misses = 0
    for seed in range(60):
        found = sensitivity_sampler(np.mean, normal_sampler(seed), 10, "0.25", m=300)
        pairs = rng.normal(size=(2000, 2))
        misses += int((np.abs(pairs[:, 0] - pairs[:, 1]) / 10 > found.value).sum())
    assert misses / (60 * 2000) <= 0.25
    assert misses / (60 * 2000) > 0.1  # and it isn't far off


def test_a_sampled_sensitivity_is_no_sensitivity():
    """The mean of 100 normals, claimed 1: a neighbour 8 away has an exact ε of about 3.6."""
    found = sensitivity_sampler(np.mean, normal_sampler(1), 100, "0.2", m=500)
    assert found.value == pytest.approx(0.0223, rel=0.15)
    exact = (8 / 100) / found.value  # Laplace noise of scale value/1
    assert exact > 3
    assert found.guarantee(1) == RandomDP(1, 0, "0.2")


def test_the_sup_norm_is_taken_over_vectors():
    def target(rows):
        return [rows.mean(), 3 * rows.mean()]

    one = sensitivity_sampler(np.mean, normal_sampler(2), 10, "0.2", m=500)
    both = sensitivity_sampler(target, normal_sampler(2), 10, "0.2", m=500)
    assert both.value == pytest.approx(3 * one.value)


RANDOM = RandomDP(1, "1e-6", "0.2")


def test_random_dp_converts_to_nothing():
    for kind in (PureDP, ApproxDP, ZCDP, Renyi, GaussianDP, RandomDP):
        with pytest.raises(ValueError, match="promises nothing"):
            convert(RANDOM, kind)
    with pytest.raises(ValueError, match="promises nothing"):
        convert(PureDP(1), RandomDP)
    assert not isinstance(RANDOM, dp.measures.Measure)


def test_random_dp_has_no_order_and_no_sum():
    for act in (operator.le, operator.lt, operator.ge, operator.gt, operator.add, operator.mul):
        with pytest.raises(TypeError):
            act(RANDOM, RANDOM)
    assert RandomDP(1, "1e-6", "0.2") == RANDOM
    assert "gamma=0.2" in repr(RANDOM)


def test_no_ledger_takes_it():
    ledger = dp.Ledger(limit=dp.ApproxDP(100, 0.1))
    sampled = SampledSensitivity(0.1, 500, 439, RANDOM.gamma)
    for thing in (RANDOM, sampled, sampled.guarantee(1)):
        with pytest.raises(TypeError):
            ledger.charge(thing)
    with pytest.raises((TypeError, ValueError)):
        ledger.charge(events.DiscreteLaplace(1), measure=RANDOM)
    with pytest.raises(TypeError, match="cost"):
        events.External(RANDOM, "elsewhere")
    with pytest.raises((TypeError, ValueError)):
        dp.Ledger(limit=RANDOM)


def test_bad_arguments():
    for gamma in (0, 1):
        with pytest.raises(ValueError, match="gamma"):
            sensitivity_sampler(np.mean, normal_sampler(0), 5, gamma)
    with pytest.raises(ValueError, match="too small"):
        sensitivity_sampler(np.mean, normal_sampler(0), 5, "1e-6")
    with pytest.raises(ValueError, match="rows"):
        sensitivity_sampler(np.mean, lambda size: np.zeros(3), 5, "0.2", m=500)
    with pytest.raises(ValueError, match="epsilon"):
        RandomDP(-1, 0, 0)
    with pytest.raises(ValueError, match="gamma"):
        RandomDP(1, 0, 2)
    assert math.isclose(float(RANDOM.delta), 1e-6)
