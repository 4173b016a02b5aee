"""Attacks on selections, staircase noise and released functions; each catches a weakened copy too."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet import accounting, events, noise, testing
from discreet.audit import TwoOutcomes, epsilon_floor
from discreet.measures import ZCDP, PureDP
from discreet.mechanisms import (
    Bernstein,
    BestOf,
    Laplace,
    PermuteAndFlip,
    PriestleyChao,
    ReportNoisyMax,
    SparseVector,
    Staircase,
    best_of,
)
from discreet.mechanisms.sparse_vector import SparseVectorStream


def claimed(event) -> float:
    return float(accounting.cost(event, PureDP).epsilon)


def floor_of(hits, others, trials) -> float:
    """The larger of the two directions."""
    outcomes = TwoOutcomes(int(hits), trials, int(others), trials)
    return max(epsilon_floor(outcomes), epsilon_floor(outcomes.swapped))


def floor_of_scores(here, there) -> float:
    """The best threshold on a score, chosen on one half of the trials, judged on the other half."""
    half = len(here) // 2

    def floor(at, draws):
        return floor_of((here[draws] >= at).sum(), (there[draws] >= at).sum(), half)

    tried = np.unique(np.quantile(np.concatenate([here, there]), np.linspace(0.01, 0.99, 60)))
    best = max(tried, key=lambda at: floor(at, slice(half)))
    return floor(best, slice(half, 2 * half))


EVEN, APART = np.array([0, 0]), np.array([1, -1])  # neighbours of sensitivity 1, not monotone


def floor_of_flip(mechanism, trials=8000):
    chosen = [sum(mechanism.run(s) for _ in range(trials)) for s in (EVEN, APART)]
    return floor_of(chosen[0], chosen[1], trials)


def test_an_attack_on_permute_and_flip():
    """The weakened copy takes the scale of monotone scores for scores that move both ways."""
    claim = claimed(PermuteAndFlip(1).event())
    with testing.fixed_noise(1):
        floor = floor_of_flip(PermuteAndFlip(1))
        weak = floor_of_flip(PermuteAndFlip(1, monotone=True))
    assert 0.85 * claim < floor <= claim
    assert weak > 1.5 * claim


def test_permute_and_flip_is_not_an_exponential_mechanism():
    """Charged as a draw of bounded range it would be understated by a factor of more than 3."""
    mechanism = PermuteAndFlip("0.2")
    p, q = mechanism.probabilities(EVEN), mechanism.probabilities(APART)
    losses = np.log(p / q)
    assert losses.max() - losses.min() > 1.8 * 0.2  # an exponential mechanism has 0.2
    divergence = math.log((p**2 / q).sum())
    understated = float(accounting.cost(events.Exponential("0.2"), ZCDP).rho) * 2
    charged = float(accounting.cost(mechanism.event(), ZCDP).rho) * 2
    assert divergence > 3.3 * understated
    assert divergence <= charged


def floor_of_noisy_max(mechanism, trials=200_000):
    chosen = [int(mechanism.draws(s, trials).sum()) for s in (np.array([1, 0]), np.array([2, -1]))]
    return floor_of(chosen[0], chosen[1], trials)


def test_an_attack_on_noisy_max():
    claim = claimed(ReportNoisyMax(1).event())
    with testing.fixed_noise(2):
        floor = floor_of_noisy_max(ReportNoisyMax(1))
        weak = floor_of_noisy_max(ReportNoisyMax(1, monotone=True))
    assert 0.95 * claim < floor <= claim
    assert weak > 1.8 * claim


def floor_of_stream(start, trials=5000):
    """How often "below, above" is said of the answers 0, 1 and of 1, 0, threshold 1."""

    def hits(answers):
        found = 0
        for _ in range(trials):
            stream = start()
            found += stream.feed(answers[0]) is None and stream.feed(answers[1]) is not None
        return found

    return floor_of(hits((0, 1)), hits((1, 0)), trials)


def test_an_attack_on_the_sparse_vector():
    """The weakened copy leaves the answers without noise, as one published variant does."""
    mechanism = SparseVector(2)
    claim = claimed(mechanism.event())
    threshold_scale, _ = mechanism.scales()
    with testing.fixed_noise(3):
        floor = floor_of_stream(lambda: mechanism.start(1))
        weak = floor_of_stream(
            lambda: SparseVectorStream(1, threshold_scale, Fraction(1, 2**30), 1, None)
        )
    assert 0.2 * claim < floor <= claim
    assert weak > 2 * claim


def floor_of_best(trials=4000):
    """Each run answers truthfully with probability e^ε/(1 + e^ε), and a 1 is better than a 0."""
    runner = BestOf(events.RandomizedResponse("1/2"), 1, "1/5")
    lie = 1 / (1 + Fraction(math.exp(0.5)))

    def zeros(chance):
        return sum(
            runner.run(lambda: (float(noise.bernoulli(chance)), None))[0] == 0
            for _ in range(trials)
        )

    return floor_of(zeros(lie), zeros(1 - lie), trials), claimed(runner.event)


def test_an_attack_on_the_best_of_several_runs(monkeypatch):
    """The weakened copy makes a fixed number of runs, the mean of the random one."""
    with testing.fixed_noise(4):
        floor, claim = floor_of_best()
        monkeypatch.setattr(best_of, "truncated_negative_binomial", lambda *_: 5)
        weak, _ = floor_of_best()
    assert 0.4 * claim < floor <= claim
    assert weak > claim


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(1, 6), (3, 10)])
def test_an_attack_on_the_staircase(epsilon, sensitivity):
    """The weakened copy has stairs narrower than the sensitivity."""
    mechanism, trials = Staircase(epsilon), 300_000
    law = mechanism.noise(sensitivity)
    narrow = replace(law, width=sensitivity // 2, step=min(law.step, sensitivity // 2))
    with testing.fixed_noise(5):
        floor, weak = (
            floor_of_scores(one.draw(trials) + sensitivity, one.draw(trials))
            for one in (law, narrow)
        )
    claim = claimed(mechanism.event(sensitivity))
    assert 0.9 * claim < floor <= claim
    assert weak > 1.1 * claim


REGRESSION = PriestleyChao(-1, 1, resolution=2**10)


def floor_of_function(mechanism, trials=6000):
    """Two data sets of one row; the score is the likelihood ratio of the noisy node values."""
    nodes = mechanism.nodes[:, 0]
    unit = float(REGRESSION._unit(1))
    low, high = (REGRESSION.totals([0.5], [y], nodes) * unit for y in (-1.0, 1.0))

    def scores(y):
        values = [REGRESSION.fit([0.5], [y], mechanism).coefficients for _ in range(trials)]
        return np.array([(np.abs(v - low) - np.abs(v - high)).sum() for v in values])

    return floor_of_scores(scores(1.0), scores(-1.0))


def test_an_attack_on_the_bernstein_mechanism():
    """The weakened copy forgets that each of the 26 nodes moves: noise for one of them only."""
    mechanism = Bernstein(Laplace(2))
    claim = claimed(mechanism.event(REGRESSION.sensitivity(mechanism.nodes[:, 0])))
    assert claim == 2
    with testing.fixed_noise(6):
        floor = floor_of_function(mechanism)
        weak = floor_of_function(Bernstein(Laplace(2 * 26)))
    assert 0.15 * claim < floor <= claim  # 26 noises blur more than one
    assert weak > claim
