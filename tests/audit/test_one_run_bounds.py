"""Bounds of one-run audits against oracles: no mechanism beats them, some attain them."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

from discreet.audit.one_run import (
    Guesses,
    _gaussian,
    _tabulate,
    published_p_value,
)
from discreet.audit.registry import run_attack
from discreet.guarantees import all_attacks
from discreet.guarantees.one_run.attacks import excess, steep
from discreet.measures import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.measures.gaussian import gaussian_delta
from discreet.measures.meaning import trade_off


def best_mechanism(m: int, r: int, v: int, pairs: list[tuple[float, float]]) -> float:
    """The largest P(right >= v) of any mechanism that is (ε, δ)-DP for all pairs, by linear programming."""
    inputs = list(itertools.product((-1, 1), repeat=m))
    outputs = [t for t in itertools.product((-1, 0, 1), repeat=m) if sum(map(abs, t)) == r]
    cells, k = len(inputs) * len(outputs), len(pairs)
    at = {(s, t): i for i, (s, t) in enumerate(itertools.product(inputs, outputs))}
    excess = {
        key: cells + i
        for i, key in enumerate(itertools.product(inputs, range(m), range(k), outputs))
    }
    size = cells + len(excess)
    cost, rows, limits = np.zeros(size), [], []
    for (s, t), i in at.items():
        cost[i] = -(sum(a == b for a, b in zip(s, t, strict=True)) >= v) / len(inputs)
    for s, i, p in itertools.product(inputs, range(m), range(k)):
        flipped = tuple(-b if j == i else b for j, b in enumerate(s))
        total = np.zeros(size)
        for t in outputs:
            row = np.zeros(size)
            row[at[s, t]], row[at[flipped, t]] = 1, -math.exp(pairs[p][0])
            row[excess[s, i, p, t]] = -1
            total[excess[s, i, p, t]] = 1
            rows.append(row)
            limits.append(0.0)
        rows.append(total)
        limits.append(pairs[p][1])
    sums = np.zeros((len(inputs), size))
    for (s, _), i in at.items():
        sums[inputs.index(s), i] = 1
    found = linprog(cost, np.array(rows), limits, sums, np.ones(len(inputs)), method="highs")
    return -found.fun


@pytest.mark.parametrize(("m", "r"), [(1, 1), (2, 1), (2, 2), (3, 2), (3, 3)])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (1.0, 0.02), (0.3, 0.1)])
def test_no_mechanism_beats_the_bound_and_some_attain_it(m, r, epsilon, delta):
    for v in range(1, r + 1):
        best = best_mechanism(m, r, v, [(epsilon, delta)])
        bound = Guesses(m, r, v).p_value(ApproxDP(epsilon, delta))
        published = published_p_value(Guesses(m, r, v), ApproxDP(epsilon, delta))
        assert best <= bound * (1 + 1e-7)
        assert best <= published * (1 + 1e-7) or published > 0.8
        if r == m or delta == 0:
            assert bound == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("mu", [0.5, 1.5])
def test_no_mechanism_beats_the_bound_for_a_curve(mu):
    """Gaussian DP is (ε, δ(ε))-DP for all ε; finitely many of them allow a little more."""
    pairs = [(e, gaussian_delta(GaussianDP(mu**2).mu_squared, e)) for e in (0, 0.5, 1, 2, 3)]
    for m, r, v in [(1, 1, 1), (2, 1, 1), (2, 2, 1), (2, 2, 2)]:
        bound = Guesses(m, r, v).p_value(GaussianDP(mu**2))
        best = best_mechanism(m, r, v, pairs)
        # the same five pairs as a curve: this is the one that the linear program is about

        def curve(a, pairs=pairs):
            return max(float(trade_off(ApproxDP(e, d), a)) for e, d in pairs)

        assert best <= Guesses(m, r, v).p_value(curve) * (1 + 1e-6)
        assert bound <= Guesses(m, r, v).p_value(curve) * (1 + 1e-6)
        if m == r == v == 1:
            assert bound == pytest.approx(trade_off_accuracy(mu), rel=1e-6)


def trade_off_accuracy(mu: float) -> float:
    """The best guess of one coin: (1 + advantage)/2 = Φ(μ/2)."""
    return 0.5 * (1 + math.erf(mu / math.sqrt(8)))


def test_pure_p_values_are_binomial_tails():
    for r, v, epsilon in [(10, 7, 0.0), (500, 400, 1.0), (40, 40, 3.0)]:
        q = 1 / (1 + math.exp(-epsilon))
        found = Guesses(1000, r, v).p_value(PureDP(epsilon))
        assert found == pytest.approx(binom.sf(v - 1, r, q), rel=1e-8)
        assert found >= binom.sf(v - 1, r, q) * (1 - 1e-12)


def test_the_published_bound_is_the_published_program():
    """The loop of appendix D, written out: a running sum of the mass below v."""
    m, r, v, epsilon, delta = 300, 100, 80, 0.7, 1e-3
    q = 1 / (1 + math.exp(-epsilon))
    steepest, mass = 0.0, 0.0
    for i in range(1, v + 1):
        mass += binom.pmf(v - i, r, q)
        steepest = max(steepest, mass / i)
    expected = binom.sf(v - 1, r, q) + 2 * m * delta * steepest
    found = published_p_value(Guesses(m, r, v), ApproxDP(epsilon, delta))
    assert found == pytest.approx(expected, rel=1e-8)


def test_the_published_bound_is_exceeded_where_it_is_large():
    """Two canaries, ε = 1, δ = 0.02, v = 1: an explicit mechanism. Nothing is ever refuted at such p."""
    epsilon, delta = 1.0, 0.02
    weights = binom.pmf([0, 1, 2], 2, 1 / (1 + math.exp(-epsilon)))
    jump = delta / (weights[1] / 2)
    heights = np.array([0.0, jump, jump]) + 1 - jump * (1 - weights[0])
    each = heights * weights / [1, 2, 1]  # the probability of one output with k right guesses
    bits = list(itertools.product((0, 1), repeat=2))
    distribution = np.array(
        [[each[sum(a == b for a, b in zip(s, t, strict=True))] for t in bits] for s in bits]
    )
    assert distribution.sum(axis=1) == pytest.approx(1)
    for i, j in [(0, 1), (0, 2), (1, 3), (2, 3)]:
        for p, q in ((distribution[i], distribution[j]), (distribution[j], distribution[i])):
            assert np.maximum(p - math.exp(epsilon) * q, 0).sum() <= delta + 1e-12
    chance = 1 - each[0]
    assert published_p_value(Guesses(2, 2, 1), ApproxDP(epsilon, delta)) < chance - 1e-3
    assert Guesses(2, 2, 1).p_value(ApproxDP(epsilon, delta)) == pytest.approx(chance, rel=1e-8)


def test_our_bound_is_never_above_the_published_one_where_it_matters():
    for m, r in [(100, 100), (1000, 100), (5000, 5000)]:
        for epsilon, delta in itertools.product((0.1, 1.0, 4.0), (1e-6, 1e-4, 1e-2)):
            claim = ApproxDP(epsilon, delta)
            for v in range(r // 2, r + 1, max(1, r // 40)):
                counts = Guesses(m, r, v)
                published = published_p_value(counts, claim)
                assert counts.p_value(claim) <= published * (1 + 1e-9) or published > 0.8


def test_p_values_fall_with_right_guesses_and_rise_with_the_claim():
    for claims in (
        [ApproxDP(e, 1e-3) for e in (0, 0.5, 1, 2, 4)],
        [GaussianDP(mu**2) for mu in (0.0, 0.3, 1.0, 2.0)],
    ):
        table = [[Guesses(400, 80, v).p_value(c) for v in range(0, 81, 8)] for c in claims]
        assert np.all(np.diff(table, axis=1) <= 1e-9)
        assert np.all(np.diff(table, axis=0) >= -1e-9)
        assert all(row[0] == 1.0 for row in table)


def test_a_curve_of_approximate_dp_gives_a_valid_if_weaker_bound():
    counts = Guesses(300, 300, 235)
    claim = ApproxDP(1, 1e-3)
    found = counts.p_value(lambda a: float(trade_off(claim, a)))
    assert counts.p_value(claim) * (1 - 1e-6) <= found <= 3 * counts.p_value(claim)


def test_zcdp_is_weaker_than_the_gaussian_that_has_it():
    counts = Guesses(20_000, 200, 195)
    weak, strong = counts.p_value(ZCDP("1/8")), counts.p_value(GaussianDP("1/4"))
    assert strong < weak < 1


def test_tabulated_curves_lie_just_below_the_true_one():
    table, true = _tabulate(GaussianDP(1)), _gaussian(1.0)
    for x in np.random.default_rng(0).random(3000) ** 3:
        assert table(x) <= true(x) * (1 + 1e-9)
        assert table(x) >= true(x) * (1 - 5e-3) - 1e-9


def test_the_recursion_keeps_its_digits():
    """Against 40 digits: the decision changes at the same tail probability, to the promised slack."""
    mpmath.mp.dps = 40
    m, r, v, mu = 2000, 100, 96, mpmath.mpf(1)

    def total(tail):
        right, wrong = tail * v / m, tail * (r - v) / m
        for j in range(v - 1, -1, -1):
            x = mpmath.sqrt(2) * mpmath.erfinv(2 * right - 1)
            least = mpmath.ncdf(x - mu)
            if least <= wrong:
                break
            right, wrong = right + mpmath.mpf(j) / (r - j) * (least - wrong), least
        return right + wrong

    found = Guesses(m, r, v).p_value(GaussianDP(1))
    assert 1e-6 < found < 0.9
    limit = mpmath.mpf(r) / m
    assert total(mpmath.mpf(found * (1 + 2e-8))) > limit > total(mpmath.mpf(found * (1 - 2e-8)))


@pytest.mark.parametrize(("m", "v"), [(12, 10), (60, 52)])
def test_the_attack_attains_the_bound_and_catches_one_without_its_term(m, v):
    epsilon, delta = 0.8, 0.01
    assert excess(m, v, epsilon, delta) == pytest.approx(delta)
    chance = steep(m, v, epsilon, delta)[v:].sum()
    counts = Guesses(m, m, v)
    assert chance == pytest.approx(counts.p_value(ApproxDP(epsilon, delta)), rel=1e-7)
    assert chance > counts.p_value(PureDP(epsilon)) * 1.05
    half = (counts.p_value(ApproxDP(epsilon, delta)) + counts.p_value(PureDP(epsilon))) / 2
    assert chance > half  # half of the term would be caught as well


def test_the_claims_stand_and_fall_as_stated():
    for name, violated in (("one-run-bound", False), ("one-run-delta-as-published", True)):
        results = list(run_attack(all_attacks()[name]))
        assert results
        assert all(result.is_violated == violated for result in results)
