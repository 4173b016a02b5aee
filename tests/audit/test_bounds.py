"""The bounds behind every attack: valid, and not vacuous."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from discreet.audit import TwoOutcomes, clopper_pearson, epsilon_floor, rho_floor
from discreet.audit.bounds import renyi_of_coins


@pytest.mark.parametrize("trials", [1, 7, 50])
@pytest.mark.parametrize("p", [0.0, 0.01, 0.3, 0.5, 0.97, 1.0])
def test_clopper_pearson_covers_by_exact_summation(trials, p):
    hits = np.arange(trials + 1)
    mass = binom.pmf(hits, trials, p)
    ends = [clopper_pearson(int(k), trials, 0.9) for k in hits]
    low = np.array([end[0] for end in ends])
    high = np.array([end[1] for end in ends])
    assert mass[low > p].sum() <= 0.05 + 1e-12
    assert mass[high < p].sum() <= 0.05 + 1e-12


def test_clopper_pearson_known_values():
    # 0 of n: the upper end is 1 - risk^(1/n) (the rule of three's exact form)
    low, high = clopper_pearson(0, 100, 0.95)
    assert low == 0.0
    assert high == pytest.approx(1 - 0.025 ** (1 / 100), rel=1e-12)


def test_epsilon_floor_is_valid_and_sharp_on_randomised_response():
    rng = np.random.default_rng(1)
    epsilon, wrong = 1.0, 0
    p, q = math.e / (1 + math.e), 1 / (1 + math.e)
    floors = []
    for _ in range(400):
        outcomes = TwoOutcomes(int(rng.binomial(2000, p)), 2000, int(rng.binomial(2000, q)), 2000)
        floors.append(epsilon_floor(outcomes, confidence=0.9))
        wrong += floors[-1] > epsilon
    assert wrong <= 60  # 10 % of 400, and three deviations more
    assert np.mean(floors) > 0.8


def test_delta_is_taken_off():
    outcomes = TwoOutcomes(500, 1000, 0, 1000)
    assert epsilon_floor(outcomes) > 3
    assert epsilon_floor(outcomes, delta=0.6) == 0.0


def test_rho_floor_of_a_gaussian_pair_is_below_the_truth_and_not_far():
    rng = np.random.default_rng(2)
    n, rho = 200_000, 0.5
    hits, other = int((rng.normal(1, 1, n) > 0.5).sum()), int((rng.normal(0, 1, n) > 0.5).sum())
    floor = rho_floor(TwoOutcomes(hits, n, other, n))
    assert 0.25 < floor <= rho
    assert rho_floor(TwoOutcomes(other, n, hits, n)) == 0.0


def test_renyi_of_coins_has_the_limit_of_kullback_and_leibler():
    p, q = 0.6, 0.2
    kl = p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))
    assert renyi_of_coins(p, q, 1 + 1e-7) == pytest.approx(kl, rel=1e-5)
    assert renyi_of_coins(p, q, 500.0) == pytest.approx(math.log(p / q), rel=2e-2)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: clopper_pearson(3, 2), "hits"),
        (lambda: clopper_pearson(-1, 2), "hits"),
        (lambda: clopper_pearson(1, 2, 1.0), "confidence"),
        (lambda: TwoOutcomes(3, 2, 0, 1), "hits"),
        (lambda: epsilon_floor(TwoOutcomes(1, 2, 0, 1), delta=2), "delta"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(ValueError, match=name):
        call()
