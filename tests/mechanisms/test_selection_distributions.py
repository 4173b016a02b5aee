"""Permute-and-flip and noisy max: distributions by exact sums, for all small neighbours, and by draws."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet import accounting, events, mechanisms, testing
from discreet.measures import ZCDP, PureDP
from discreet.mechanisms import PermuteAndFlip, ReportNoisyMax
from discreet.mechanisms.permute_and_flip import check_scores


def flip_by_orders(scores, scale):
    """The distribution of permute-and-flip by its definition: a sum over all orders."""
    kept = [math.exp(-(max(scores) - score) / scale) for score in scores]
    found = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for index in order:
            found[index] += left * kept[index] / len(orders)
            left *= 1 - kept[index]
    return found


def noisy_max_distribution(scores, scale, reach=400):
    """The distribution of noisy max by summation: the winner's value, who ties with it, an even choice."""
    q = math.exp(-1 / scale)
    low = min(scores)
    values = np.arange(low, max(scores) + reach)
    at = [np.where(values >= s, (1 - q) * q ** (values - s).clip(0), 0) for s in scores]
    below = [np.cumsum(p) - p for p in at]
    found = np.zeros(len(scores))
    for i in range(len(scores)):
        others = [j for j in range(len(scores)) if j != i]
        for tied in itertools.product([False, True], repeat=len(others)):
            term = at[i].copy()
            for j, equal in zip(others, tied, strict=True):
                term = term * (at[j] if equal else below[j])
            found[i] += term.sum() / (1 + sum(tied))
    return found


DISTRIBUTIONS = {
    PermuteAndFlip: flip_by_orders,
    ReportNoisyMax: noisy_max_distribution,
}


def neighbours(scores, sensitivity, monotone):
    moves = range(sensitivity + 1) if monotone else range(-sensitivity, sensitivity + 1)
    for move in itertools.product(moves, repeat=len(scores)):
        yield tuple(np.add(scores, move))


def largest_loss(distribution, scale, sensitivity, monotone):
    worst = 0.0
    for scores in itertools.product(range(4), repeat=3):
        here = distribution(scores, scale)
        for other in neighbours(scores, sensitivity, monotone):
            there = distribution(other, scale)
            worst = max(worst, float(np.abs(np.log(here / there)).max()))
    return worst


@pytest.mark.parametrize("kind", DISTRIBUTIONS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("monotone", [False, True])
def test_no_neighbour_costs_more_than_epsilon(kind, monotone):
    """All score vectors of three candidates below 4 and all their neighbours, summed exactly."""
    distribution = (
        DISTRIBUTIONS[kind]
        if kind is PermuteAndFlip
        else lambda s, scale: noisy_max_distribution(s, scale, 60)
    )
    event = kind("0.9", monotone=monotone).event(1)
    assert accounting.cost(event, PureDP) == PureDP("0.9")
    found = largest_loss(distribution, float(event.scale), 1, monotone)
    assert found <= 0.9 + 1e-9
    assert found > 0.7 * 0.9  # it isn't wasted either
    # the scale of monotone scores isn't enough for others
    if monotone:
        assert largest_loss(distribution, float(event.scale), 1, False) > 0.9 * 1.3


@pytest.mark.parametrize("scores", [(0, 0), (0, 3, 1), (5, 5, 4, 0), (-3, 2, 2, 2, 1)])
@pytest.mark.parametrize("monotone", [False, True])
def test_probabilities_are_those_of_the_definition(scores, monotone):
    mechanism = PermuteAndFlip("1.3", monotone=monotone)
    scale = float(mechanism.event(2).scale)
    expected = flip_by_orders(scores, scale)
    assert mechanism.probabilities(scores, 2) == pytest.approx(expected, abs=1e-12)
    assert expected.sum() == pytest.approx(1)


def counts(kind, scores, epsilon, trials):
    mechanism = kind(epsilon)
    if kind is ReportNoisyMax:
        draws = mechanism.draws(scores, trials)
    else:
        draws = [mechanism.run(scores) for _ in range(trials)]
    return np.bincount(draws, minlength=len(scores))


@pytest.mark.parametrize("kind", DISTRIBUTIONS, ids=lambda kind: kind.__name__)
def test_draws_follow_the_distribution_and_not_a_near_one(kind):
    scores, trials = (0, 2, 2, 1), 20_000
    with testing.fixed_noise(3):
        found = counts(kind, scores, 1, trials)
    right = DISTRIBUTIONS[kind](scores, 2.0) * trials
    wrong = DISTRIBUTIONS[kind](scores, 1.6) * trials
    assert chisquare(found, right, sum_check=False).pvalue > 1e-3
    assert chisquare(found, wrong, sum_check=False).pvalue < 1e-6


@pytest.mark.parametrize("unit", [2**52, 2**20])
def test_draws_follow_the_distribution_at_any_scale(unit):
    """Coins are tossed one by one where no sampler has the scale; then too they are fresh and fair."""
    chooser = PermuteAndFlip(1, monotone=True)
    scores = [0, unit, 2 * unit]
    with testing.fixed_noise(5):
        drawn = [chooser.run(scores, unit) for _ in range(3000)]
    expected = flip_by_orders([0, 1, 2], 1.0)
    counts = np.bincount(drawn, minlength=3)
    assert chisquare(counts, 3000 * expected).pvalue > 1e-3
    assert chisquare(counts, 3000 * flip_by_orders([0, 1, 2], 0.5)).pvalue < 1e-6


@pytest.mark.parametrize("unit", [1, 10**16])
def test_rows_of_scores_are_drawn_independently(unit):
    """Two rows are drawn like two choices: their pairs follow the product of their distributions."""
    flip, scores = PermuteAndFlip(1), np.array([[3, 5, 4], [5, 5, 2]]) * unit
    expected = np.outer(*(flip.probabilities(row // unit) for row in scores))
    draws = np.array([flip.run_each(scores, unit) for _ in range(4000)])
    found = np.zeros((3, 3))
    np.add.at(found, tuple(draws.T), 1)
    assert chisquare(found.ravel(), 4000 * expected.ravel()).pvalue > 1e-4


def test_rows_of_scores_have_orders_of_their_own():
    """With equal scores the order alone decides; three rows agree as often as independent ones, 1 in 16."""
    draws = np.array([PermuteAndFlip(1).run_each(np.zeros((3, 4), int)) for _ in range(2000)])
    agree = (draws == draws[:, :1]).all(axis=1)
    assert 85 < agree.sum() < 168  # 125 expected, standard deviation 10.8
    assert chisquare(np.bincount(draws.ravel(), minlength=4)).pvalue > 1e-4


def test_equal_scores_are_chosen_evenly():
    """Ties of the noisy scores, too: an order by index would favour the first."""
    with testing.fixed_noise(4):
        found = np.bincount(ReportNoisyMax(8).draws([1, 1, 1, 1], 40_000), minlength=4)
    assert chisquare(found).pvalue > 1e-3


@pytest.mark.parametrize("kind", DISTRIBUTIONS, ids=lambda kind: kind.__name__)
def test_the_promised_error_holds(kind):
    rng = np.random.default_rng(0)  # public scores, not noise
    for size, level in ((2, 0.9), (4, 0.95), (6, 0.6)):
        mechanism = kind("0.8")
        promised = mechanism.expected_error(size, 1, level)
        scale = float(mechanism.event(1).scale)
        for _ in range(10):
            scores = rng.integers(0, 30, size)
            distribution = (
                mechanism.probabilities(scores)
                if kind is PermuteAndFlip
                else noisy_max_distribution(list(map(int, scores)), scale)
            )
            assert distribution[scores < scores.max() - promised].sum() <= 1 - level + 1e-9
    assert kind(1).expected_error(1) == 0


def test_permute_and_flip_beats_the_exponential_mechanism():
    flip, old = PermuteAndFlip(1), mechanisms.Exponential(PureDP(1))
    scores = np.array([0, 1, 4, 5])
    weights = np.exp(scores / 2)
    assert flip.probabilities(scores) @ scores > weights @ scores / weights.sum()
    assert flip.expected_error(50, 1, 0.95) < old.expected_error(50, 1, 0.95)


def test_events_and_their_costs():
    event = PermuteAndFlip("1/2").event(3)
    assert event == events.PermuteAndFlip(12, 3)
    assert accounting.cost(event, PureDP) == PureDP("1/2")
    # nothing better than pure DP is claimed: ε²/2, not the ε²/8 of the exponential mechanism
    assert accounting.cost(event, ZCDP) == ZCDP(Fraction(1, 8))
    assert ReportNoisyMax(1, monotone=True).event(2) == events.NoisyMax(2, 2, True)


@pytest.mark.parametrize("kind", DISTRIBUTIONS, ids=lambda kind: kind.__name__)
def test_bad_arguments(kind):
    for epsilon in (0, -1, math.inf):
        with pytest.raises(ValueError, match="epsilon"):
            kind(epsilon)
    for scores in ([], [[1]], [0.5], ["a"]):
        with pytest.raises(TypeError, match="scores"):
            kind(1).run(scores)
    with pytest.raises(ValueError, match="sensitivity"):
        kind(1).run([1], 0)
    assert "epsilon=1" in repr(kind(1))


@pytest.mark.parametrize("kind", DISTRIBUTIONS, ids=lambda kind: kind.__name__)
def test_extreme_scores_do_not_overflow(kind):
    large = np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max])
    assert kind(1).run(large) == 1
    assert kind(1).run(np.array([0, 2**64 - 1], np.uint64)) == 1
    assert kind(1).run(np.array([3], np.int8)) == 0


SIZES = [0, 1, 2**31, 2**53 + 1, 2**61, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**400]


def test_scores_of_any_size_are_taken():
    """Numpy would choose a type by their values: unsigned, doubles or objects."""
    for one, other in itertools.product([s * size for size in SIZES for s in (1, -1)], repeat=2):
        wanted = 0 if one > other else 1
        for scores in ([one, other], (one, other), np.array([one, other], object)):
            assert check_scores(scores).dtype == np.int64
            first, second = check_scores(scores).tolist()
            if abs(first - second) > 2000:
                assert PermuteAndFlip(1).run(scores) == wanted
                assert ReportNoisyMax(1).run(scores) == wanted
                weights = np.ones(2, np.int64)
                assert mechanisms.Exponential(PureDP(1)).run(scores, weights, 1) == wanted
            else:
                assert PermuteAndFlip(1).run(scores) in (0, 1)
                assert ReportNoisyMax(1).run(scores) in (0, 1)


def test_clamped_scores_of_neighbours_stay_neighbours():
    sizes = [s * size + d for size in SIZES for s in (1, -1) for d in (-1, 0, 1)]
    found = check_scores(sizes).tolist()
    for (one, at), (other, there) in itertools.combinations(zip(sizes, found, strict=True), 2):
        assert abs(at - there) <= abs(one - other)
        assert (at - there) * (one - other) >= 0


@pytest.mark.parametrize(
    "scores", [[1.0, 2.0], ["a"], [None, 1], [[1], [2]], [], 5, "12", [True, "a"]]
)
def test_scores_that_are_no_integers_are_refused_by_type(scores):
    with pytest.raises(TypeError, match="scores must be"):
        PermuteAndFlip(1).run(scores)
