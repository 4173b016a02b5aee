"""What ε means, against brute force over small mechanisms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from discreet.measures import ZCDP, ApproxDP, GaussianDP, PureDP, Renyi, convert
from discreet.measures.loss import identity
from discreet.measures.meaning import (
    advantage,
    bayes_risk,
    posterior_bounds,
    posterior_odds_bounds,
    trade_off,
)
from profiles import max_examples

GRID = np.linspace(0, 1, 201)


def response(epsilon: float, k: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Two rows of k-ary randomised response."""
    rows = [np.where(np.arange(k) == x, math.exp(epsilon), 1.0) for x in (0, 1)]
    return rows[0] / rows[0].sum(), rows[1] / rows[1].sum()


def laplace(epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    k = np.arange(-60, 61)
    rows = [np.exp(-epsilon * abs(k - shift)) for shift in (0, 1)]
    return rows[0] / rows[0].sum(), rows[1] / rows[1].sum()


def best_tests(p: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """False positives and misses of the likelihood-ratio tests: the corners of the exact curve."""
    order = np.argsort(-p / q)
    return np.concatenate([[0], np.cumsum(q[order])]), 1 - np.concatenate(
        [[0], np.cumsum(p[order])]
    )


def exact_curve(p: np.ndarray, q: np.ndarray, at: np.ndarray) -> np.ndarray:
    a, b = best_tests(p, q)
    return np.interp(at, a, b)


def renyi_of(p: np.ndarray, q: np.ndarray, orders=(1.5, 2.0, 4.0, 16.0)) -> Renyi:
    return Renyi({
        a: max(math.log(np.sum(x**a * y ** (1 - a))) / (a - 1) for x, y in ((p, q), (q, p)))
        for a in orders
    })  # fmt: skip


PAIRS = {
    "response": (response(1.0), PureDP(1)),
    "five": (response(0.5, 5), PureDP("1/2")),
    "laplace": (laplace(0.7), PureDP("7/10")),
}


@pytest.mark.parametrize("name", PAIRS)
def test_no_test_beats_the_trade_off_curve(name):
    (p, q), pure = PAIRS[name]
    exact = exact_curve(p, q, GRID)
    curve = renyi_of(p, q)
    for measure in (
        pure,
        curve,
        convert(pure, ZCDP),
        convert(pure, ApproxDP),
        convert(pure, Renyi),
    ):
        assert np.all(trade_off(measure, GRID) <= exact + 1e-9), measure
    if name == "response":  # of which ε-DP is the worst case
        assert trade_off(pure, GRID) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("name", PAIRS)
def test_no_guess_beats_advantage_and_risk(name):
    (p, q), pure = PAIRS[name]
    distance = float(np.sum(abs(p - q))) / 2
    measures = (pure, renyi_of(p, q), convert(pure, ZCDP), convert(pure, Renyi))
    for measure in measures:
        assert advantage(measure) >= distance - 1e-9
        for prior in (0.0, 0.01, 0.3, 0.9):
            exact = float(np.sum(np.minimum((1 - prior) * q, prior * p)))
            risk = bayes_risk(measure, prior)
            assert risk <= exact + 1e-9
            assert risk <= min(prior, 1 - prior)
    if name == "response":
        assert advantage(pure) == pytest.approx(distance)
        assert bayes_risk(pure, 0.4) == pytest.approx(float(np.sum(np.minimum(0.6 * q, 0.4 * p))))


def test_approximate_dp_is_attained():
    """ε-response with probability 1 - δ, the truth with probability δ (Kairouz, Oh & Viswanath 2015)."""
    epsilon, delta = 0.8, 0.1
    p, q = response(epsilon)
    p = np.array([delta, *((1 - delta) * p), 1e-300])
    q = np.array([1e-300, *((1 - delta) * q), delta])
    measure = ApproxDP(epsilon, delta)
    at = GRID[1:]  # without false positives the curve starts at 1 - δ
    assert trade_off(measure, at) == pytest.approx(exact_curve(p, q, at), abs=1e-12)
    assert trade_off(measure, 0.0) == pytest.approx(0.9)
    assert advantage(measure) == pytest.approx(float(np.sum(abs(p - q))) / 2)
    for prior in (0.2, 0.5, 0.7):
        exact = float(np.sum(np.minimum((1 - prior) * q, prior * p)))
        assert bayes_risk(measure, prior) == pytest.approx(exact)


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
def test_gaussian_dp_is_the_test_between_two_normals(mu):
    x = np.linspace(-12, 12 + mu, 400_001)
    q, p = (np.exp(-((x - m) ** 2) / 2) for m in (0, mu))
    p, q = p / p.sum(), q / q.sum()
    measure = GaussianDP(mu**2)
    at = GRID[1:-1]
    assert trade_off(measure, at) == pytest.approx(ndtr(_quantile(at) - mu), abs=1e-12)
    assert advantage(measure) == pytest.approx(float(np.sum(abs(p - q))) / 2, abs=1e-6)
    for prior in (0.1, 0.5, 0.8):
        exact = float(np.sum(np.minimum((1 - prior) * q, prior * p)))
        assert bayes_risk(measure, prior) == pytest.approx(exact, abs=1e-6)
    renyi = convert(measure, Renyi)
    assert np.all(trade_off(renyi, at) <= trade_off(measure, at) + 1e-9)
    assert advantage(renyi) >= advantage(measure)
    assert bayes_risk(renyi, 0.3) <= bayes_risk(measure, 0.3)
    assert advantage(ZCDP(mu**2 / 2)) == pytest.approx(advantage(renyi), abs=1e-9)


def _quantile(at):
    from scipy.special import ndtri

    return ndtri(1 - at)


def test_a_curve_that_claims_too_little_is_noticed():
    """The brute force can fail: half the ε is beaten by the exact test."""
    p, q = response(1.0)
    exact = exact_curve(p, q, GRID)
    assert np.any(trade_off(PureDP("1/2"), GRID) > exact + 1e-3)
    half = Renyi({order: value / 4 for order, value in renyi_of(p, q).curve.items()})
    assert np.any(trade_off(half, GRID) > exact + 1e-3)
    assert advantage(half) < float(np.sum(abs(p - q))) / 2


@max_examples(100)
@given(st.floats(0.01, 5), st.floats(0.001, 0.999))
def test_posteriors_stay_within_their_bounds(epsilon, prior):
    """Every answer of every channel between 3 values with ratios at the ends of what ε allows."""
    pure = PureDP(epsilon)
    low, high = posterior_bounds(pure, prior)
    assert math.exp(-epsilon) * prior <= low * (1 + 1e-12)  # equation (2.9) is wider
    assert high <= math.exp(epsilon) * prior * (1 + 1e-12)
    odds_low, odds_high = posterior_odds_bounds(pure, prior / (1 - prior))
    for likelihoods in itertools.product((1.0, math.exp(epsilon)), repeat=3):
        rest = (1 - prior) / 2
        weights = np.array([prior, rest, rest]) * likelihoods
        posterior = weights[0] / weights.sum()
        assert low * (1 - 1e-12) <= posterior <= high * (1 + 1e-12)
        odds = posterior / (1 - posterior)
        assert odds_low * (1 - 1e-9) <= odds <= odds_high * (1 + 1e-9)


def test_the_prior_odds_count():
    """T8: posterior odds of at most e^ε for any prior are false at ε = 0.1 and prior odds of 99 to 1."""
    p, q = response(0.1)
    posterior = 99 * q[0] / p[0]  # the answer that speaks most against the likelier one
    low, high = posterior_odds_bounds(PureDP("1/10"), 99)
    assert posterior == pytest.approx(99 * math.exp(-0.1))
    assert min(99 * p[0] / q[0], posterior) > math.exp(0.1)  # every answer breaks (2.10) as printed
    assert low == pytest.approx(posterior)
    assert high == pytest.approx(99 * p[0] / q[0])


def test_rare_answers_move_the_odds_by_more_than_a_renyi_bound():
    """T12: under Rényi DP the log of the odds moves by at most ε on average, not always."""
    mu, order = 1.0, 2.0
    bound = order * mu**2 / 2
    x = np.linspace(-9, 10, 40_001)
    p = np.exp(-((x - mu) ** 2) / 2)
    p /= p.sum()
    moves = mu * x - mu**2 / 2
    assert float(p @ moves) <= bound
    assert np.any(moves > bound)
    assert float(p[moves > bound].sum()) > 0.3
    with pytest.raises(TypeError, match="without bound"):
        posterior_odds_bounds(ZCDP(0.5), 1.0)


def test_the_lower_tail_needs_its_exponent():
    """T15: e^-ε·P(S) <= Q(S) is false under Rényi DP; with the exponents of Mironov 2017 it holds."""
    order = 2.0
    bound = order / 2  # N(1, 1) against N(0, 1)
    p, q = float(ndtr(-2.0)), float(ndtr(-3.0))  # of x > 3
    assert math.exp(-bound) * p > q
    assert math.exp(-bound) * p ** (order / (order - 1)) <= q
    assert p <= (math.exp(bound) * q) ** ((order - 1) / order)


def test_probability_is_not_bounded_by_the_smaller_of_two():
    """T17: P(B) <= min{e^(...)Q(B), δ} would make every sure event rare; the larger of the two is meant."""
    order, delta = 2.0, 1e-3
    factor = math.exp(order / 2 + math.log(1 / delta) / (order - 1))
    for edge in (-5.0, 0.0, 2.0, 4.0):
        p, q = float(ndtr(1 - edge)), float(ndtr(-edge))
        assert p <= max(factor * q, delta)
    assert ndtr(6.0) > min(factor * ndtr(5.0), delta)


def test_certainties_stay():
    assert posterior_odds_bounds(PureDP(1), 0) == (0, 0)
    assert posterior_odds_bounds(PureDP(1), math.inf) == (math.inf, math.inf)
    assert posterior_odds_bounds(PureDP(math.inf), 2.0) == (0, math.inf)
    assert posterior_bounds(PureDP(1), 0) == (0, 0)
    assert posterior_bounds(PureDP(1), 1) == (1, 1)
    assert advantage(PureDP(0)) == 0
    assert advantage(PureDP(math.inf)) == 1
    assert advantage(GaussianDP(0)) == 0
    assert bayes_risk(GaussianDP(0), 0.3) == 0.3
    assert bayes_risk(PureDP(math.inf), 0.3) == 0
    assert trade_off(PureDP(math.inf), [0.0, 0.5]).tolist() == [1, 0]
    assert trade_off(PureDP(0), 0.25) == 0.75


def test_bad_arguments_raise():
    with pytest.raises(ValueError, match="false_positives"):
        trade_off(PureDP(1), 1.5)
    with pytest.raises(ValueError, match="prior"):
        bayes_risk(PureDP(1), -0.1)
    with pytest.raises(ValueError, match="prior_odds"):
        posterior_odds_bounds(PureDP(1), -1)
    with pytest.raises(TypeError, match="trade-off"):
        trade_off(identity(), 0.5)
