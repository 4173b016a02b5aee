"""What given votes cost: exact, below the published bound, and told for public rows alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.naive_bayes import GaussianNB

import discreet as dp
from discreet.deep.pate import (
    PATE,
    ConfidentGNMax,
    GNMax,
    LNMax,
    Plurality,
    dependent,
    dependent_cost,
)
from discreet.deep.pate.dependent import neighbouring_counts
from discreet.measures import convert

ORDERS = (1.5, 2.0, 4.0, 8.0, 16.0, 32.0)
ROWS = [[230, 10, 5, 5], [180, 60, 10, 0], [130, 120, 0, 0], [250, 0, 0, 0], [63, 63, 62, 62]]


def missed(aggregation, row) -> float:
    """The probability of all but the most likely outcome."""
    found = aggregation.probabilities(np.array([row]))[0]
    return float(np.delete(found, found.argmax()).sum())


def theorem_6(q: float, order: float, rho: float) -> float:
    """Papernot et al. 2018, Theorem 6, with the orders of Proposition 10 for ρ-zCDP."""
    second = max(1.001, math.sqrt(math.log(1 / q) / rho))
    first = max(order, second + 1)
    spread = (q * math.exp(rho * second)) ** ((second - 1) / second)
    if spread >= 1:
        return math.inf
    a, b = (1 - q) / (1 - spread), math.exp(rho * first) / q ** (1 / (first - 1))
    return math.log((1 - q) * a ** (order - 1) + q * b ** (order - 1)) / (order - 1)


def theorem_3(q: float, order: float, epsilon: float) -> float:
    """Papernot et al. 2017, Theorem 3, for an ε-DP mechanism, as a Rényi bound."""
    if q * math.exp(epsilon) >= 1:
        return math.inf
    kept = (1 - q) * ((1 - q) / (1 - math.exp(epsilon) * q)) ** (order - 1)
    return math.log(kept + q * math.exp(epsilon * (order - 1))) / (order - 1)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_the_exact_cost_is_below_the_published_bounds_and_the_general_price(row):
    gaussian, laplace = GNMax(40), LNMax(20)
    for aggregation in (gaussian, laplace):
        curve = dependent_cost(aggregation, [row], orders=ORDERS).curve
        general = dp.accounting.cost(aggregation.event(1), dp.Renyi, orders=ORDERS).curve
        q = missed(aggregation, row)
        for order in ORDERS:
            if aggregation is gaussian:
                published = theorem_6(q, order, 1 / 1600)
            else:
                published = theorem_3(q, order, 2 / 20)
            assert 0 < curve[order] <= general[order]
            # the published bound is about one direction, and for teachers that agree
            assert curve[order] <= published * 1.5 or q > 0.3


def test_votes_that_agree_cost_less_and_teachers_that_are_divided_nearly_all():
    agreed, divided = (
        dependent_cost(GNMax(40), [row], orders=(8,)).curve[8] for row in (ROWS[0], ROWS[2])
    )
    assert agreed < 0.01 * 8 / 1600
    assert divided > 0.3 * 8 / 1600


def test_the_cost_is_the_largest_divergence_over_neighbours_in_both_directions():
    """Compared with plain sums over probabilities that are large enough for them."""
    for aggregation in (GNMax(3), LNMax(2), ConfidentGNMax(6, 3, 2, 9)):
        for row in ([5, 3, 2], [9, 1, 0], [4, 4, 0]):
            counts = np.array(row)
            here = aggregation.probabilities(counts[None])[0]
            worst = 0.0
            for other in neighbouring_counts(counts):
                there = aggregation.probabilities(other[None])[0]
                for p, q in ((here, there), (there, here)):
                    p, q = p[p > 0], q[p > 0]
                    worst = max(worst, math.log((p**4 * q**-3.0).sum()) / 3)
            found = dependent_cost(aggregation, [row], orders=(4,)).curve[4]
            general = dp.accounting.cost(aggregation.event(1), dp.Renyi, orders=(4,)).curve[4]
            assert found == pytest.approx(min(worst, general), rel=1e-6)


@pytest.mark.parametrize("order", [1.5, 4.0, 16.0])
@pytest.mark.parametrize("swapped", [False, True])
def test_an_error_of_probabilities_is_covered_and_one_of_twice_the_size_is_not(
    order, swapped, monkeypatch
):
    """With errors of a thousandth, relative, in all but the most likely outcome."""
    monkeypatch.setattr(dependent, "_ERROR", 1e-3)
    sides = [np.array([[0.7, 0.2, 0.1]]), np.array([[0.985, 0.01, 0.005]])]
    first, second = sides[::-1] if swapped else sides
    told = dependent._Pair(first, second).divergence(order, 0.0)
    worst = {
        size: max(
            float(np.log((p**order * q ** (1 - order)).sum()) / (order - 1))
            for up in (-size, size)
            for down in (-size, size)
            for p, q in [(with_error(first, up), with_error(second, down))]
        )
        for size in (0.0, 0.9e-3, 2e-3)
    }
    assert worst[0.0] < worst[0.9e-3] <= told < worst[2e-3]


def with_error(side, error):
    """Probabilities of which all but the first are wrong by a factor."""
    rest = side[:, 1:] * (1 + error)
    return np.concatenate([1 - rest.sum(axis=1, keepdims=True), rest], axis=1)


def test_one_teacher_moves_one_vote():
    assert neighbouring_counts(np.array([2, 0, 1])).tolist() == [
        [1, 1, 1], [1, 0, 2], [3, 0, 0], [2, 1, 0],
    ]  # fmt: skip


def test_questions_add_up_and_order_infinity_is_the_general_price():
    one = dependent_cost(GNMax(5), [[9, 1]], orders=(2, 8))
    three = dependent_cost(GNMax(5), [[9, 1]] * 3, orders=(2, 8))
    assert three.curve[2] == pytest.approx(3 * one.curve[2])
    curve = dependent_cost(LNMax(4), [[9, 1]], orders=(2, math.inf)).curve
    assert curve[math.inf] == pytest.approx(0.5)
    assert dependent_cost(GNMax(5), np.zeros((0, 3), int), orders=(2,)).curve == {2: 0.0}


@pytest.mark.filterwarnings("error")
def test_votes_so_clear_that_probabilities_vanish_cost_nearly_nothing():
    curve = dependent_cost(GNMax(10), [[10_000, 0, 0]], orders=(2, 16)).curve
    assert 0 <= curve[2] < 1e-12
    assert 0 <= curve[16] < 1e-12


@pytest.mark.parametrize(
    "aggregation", [GNMax(2), LNMax("3/2"), ConfidentGNMax(5, 2, "3/2", 10**6)], ids=str
)
def test_labels_follow_their_probabilities_and_not_those_of_less_noise(aggregation):
    counts = np.tile([4, 3, 3, 0], (40_000, 1))
    drawn = np.bincount(aggregation.run(counts) % 5, minlength=5)  # -1 is the last outcome
    expected = aggregation.probabilities(counts[:1])[0]
    assert expected.sum() == pytest.approx(1)
    seen = expected > 0
    assert drawn[~seen].sum() == 0
    assert chisquare(drawn[seen], drawn.sum() * expected[seen]).pvalue > 1e-4
    less = {GNMax: GNMax("9/5"), LNMax: LNMax("27/20")}.get(
        type(aggregation), ConfidentGNMax(5, "8/5", "3/2", 10**6)
    )
    wrong = less.probabilities(counts[:1])[0]
    assert chisquare(drawn[seen], drawn.sum() * wrong[seen]).pvalue < 1e-6


@pytest.mark.parametrize("aggregation", [GNMax(9), LNMax(9), ConfidentGNMax(2, 9, 9, 400)], ids=str)
def test_every_answer_has_noise_of_its_own(aggregation):
    counts = np.tile([2, 1, 0], (400, 1))
    first, second = aggregation.run(counts), aggregation.run(counts)
    assert (first != second).any()
    # neighbours in a list are as often alike as any two
    chance = (aggregation.probabilities(counts[:1])[0] ** 2).sum()
    for pairs in (first[1:] == first[:-1], first == second):
        assert abs(pairs.mean() - chance) < 5 * math.sqrt(chance / 400)


def test_both_prices_are_told_for_public_rows_and_one_for_private_ones():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1200)
    rows = np.clip(0.3 + 0.4 * y[:, None] + rng.normal(0, 0.05, (1200, 2)), 0, 1)
    options = {"bounds": (0, 1), "classes": [0, 1], "n_queries": 40, "epsilon": 2, "delta": 1e-5}
    found = PATE(GaussianNB(), None, 100, aggregation="gnmax", **options)
    found.fit(rows[:1000], y[:1000], public=rows[1000:])
    assert found.independent_epsilon() == pytest.approx(2, rel=1e-3)
    with pytest.raises(ValueError, match="itself a fact about private rows"):
        found.dependent_epsilon()
    found.set_params(unit=dp.PUBLIC).fit(rows[:1000], y[:1000], public=rows[1000:])
    assert not found.privacy_.is_private
    curve = dependent_cost(found.aggregation_, found.votes_)
    expected = float(convert(curve, dp.ApproxDP, delta=1e-5).epsilon)
    assert found.dependent_epsilon() == pytest.approx(expected)
    assert found.dependent_epsilon() < 0.6 * found.independent_epsilon()
    found.set_params(unit=None).fit(rows[:1000], y[:1000], public=rows[1000:])
    assert not hasattr(found, "votes_")
    found.set_params(unit=dp.PUBLIC, epsilon=math.inf)
    found.fit(rows[:1000], y[:1000], public=rows[1000:])
    assert found.aggregation_ == Plurality()
    assert found.dependent_epsilon() == math.inf


def test_counts_that_are_none_are_refused_in_words():
    for counts in ([1, 2], [[1.5, 2]], [[1]], [[-1, 2]]):
        with pytest.raises(ValueError, match="counts must be"):
            dependent_cost(GNMax(1), counts)
