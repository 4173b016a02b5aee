"""Weakened selections, staircases and released functions are caught."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet import accounting, events, noise, testing
from discreet.audit import audit
from discreet.guarantees.additive.attacks import draw_with
from discreet.guarantees.bernstein.attacks import fitted
from discreet.guarantees.selection.attacks import compared, sparse_vector_distribution
from discreet.measures import PureDP
from discreet.mechanisms import (
    Bernstein,
    BestOf,
    Laplace,
    PermuteAndFlip,
    ReportNoisyMax,
    SparseVector,
    Staircase,
    best_of,
)
from discreet.mechanisms.sparse_vector import SparseVectorStream

EVEN, APART = np.array([0, 0]), np.array([1, -1])  # neighbours of sensitivity 1, not monotone


def test_permute_and_flip_with_the_scale_of_monotone_scores():
    weak = PermuteAndFlip(1, monotone=True)
    with testing.fixed_noise(1):
        assert audit(weak.run, (EVEN, APART), 1.0, trials=4000).floor > 1.5


def test_noisy_max_with_the_scale_of_monotone_scores():
    weak = ReportNoisyMax(1, monotone=True)
    pair = (np.array([1, 0]), np.array([2, -1]))

    def run(scores, trials):
        return weak.draws(scores, trials)

    with testing.fixed_noise(2):
        assert audit(run, pair, 1.0, trials=40_000).floor > 1.7


def test_a_sparse_vector_without_noise_on_answers():
    """As one published variant; by draws of the real stream, and by its distribution."""
    mechanism = SparseVector(2)
    claim = accounting.cost(mechanism.event(), PureDP)
    scale, _ = mechanism.scales()

    def run(answers):
        stream = SparseVectorStream(1, scale, Fraction(1, 2**30), 1, None)
        return [stream.exhausted or stream.feed(answer) is not None for answer in answers]

    with testing.fixed_noise(3):
        assert audit(run, ((0, 1), (1, 0)), claim, trials=2000).floor > 2 * float(claim.epsilon)
    distributions = [
        sparse_vector_distribution(answers, 1, float(scale), 0.0, 1) for answers in ((0, 1), (1, 0))
    ]
    assert compared(distributions, claim).floor == math.inf


def test_the_distribution_of_a_sparse_vector_is_that_of_its_draws():
    """The exact distribution that attacks use, against the real stream."""
    mechanism, answers, trials = SparseVector(1, 2), (0, 2, 1), 6000
    s1, s2 = (float(scale) for scale in mechanism.scales())
    distribution = sparse_vector_distribution(answers, 1, s1, s2, 2)
    assert sum(distribution.values()) == pytest.approx(1)
    with testing.fixed_noise(8):
        seen = [tuple(map(int, mechanism.run(answers, 1))) for _ in range(trials)]
    for told, chance in distribution.items():
        error = math.sqrt(chance * (1 - chance) / trials)
        assert abs(seen.count(told) / trials - chance) < 4.5 * error + 1e-9, told
    other = sparse_vector_distribution(
        answers, 1, s1 * 2, s2, 2
    )  # and a wrong distribution is noticed
    assert (
        max(abs(seen.count(t) / trials - c) / math.sqrt(c / trials) for t, c in other.items()) > 6
    )


@pytest.mark.long
def test_the_best_of_a_fixed_number_of_runs(monkeypatch):
    """The mean of the random number, instead of the random number."""
    runner = BestOf(events.RandomizedResponse("1/2"), 1, "1/5")
    claim = accounting.cost(runner.event, PureDP)
    lie = 1 / (1 + Fraction(math.exp(0.5)))
    monkeypatch.setattr(best_of, "truncated_negative_binomial", lambda *_: 5)

    def run(chance):
        return runner.run(lambda: (float(noise.bernoulli(chance)), None))[0]

    with testing.fixed_noise(4):
        assert audit(run, (lie, 1 - lie), claim, trials=4000).is_violated


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(1, 6), (3, 10)])
def test_stairs_narrower_than_the_sensitivity(epsilon, sensitivity):
    mechanism = Staircase(epsilon)
    distribution = mechanism.noise(sensitivity)
    narrow = replace(
        distribution, width=sensitivity // 2, step=min(distribution.step, sensitivity // 2)
    )
    claim = accounting.cost(mechanism.event(sensitivity), PureDP)
    with testing.fixed_noise(5):
        floors = [
            audit(draw_with(one), (0, sensitivity), claim, trials=200_000).floor
            for one in (distribution, narrow)
        ]
    assert 0.9 * float(claim.epsilon) < floors[0] <= claim.epsilon < floors[1] / 1.1


def test_a_function_with_noise_for_one_of_its_nodes():
    weak = Bernstein(Laplace(2 * 26))
    with testing.fixed_noise(6):
        assert audit(fitted(weak), (-1.0, 1.0), 2.0, trials=3000).is_violated
