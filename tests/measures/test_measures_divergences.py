"""Divergences that a measure allows, against sums and quadrature."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import laplace, norm

from discreet.measures import ZCDP, ApproxDP, GaussianDP, PureDP, Renyi
from discreet.measures.meaning import advantage, chi_squared, hellinger, kullback_leibler

MEANINGS = (advantage, kullback_leibler, hellinger, chi_squared)


def exact(p, q) -> list[float]:
    """Total variation, Kullback–Leibler, squared Hellinger and χ² of two lists of probabilities."""
    p, q = np.asarray(p, float), np.asarray(q, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(p > 0, np.log(p / q), 0.0)
        return [
            float(np.abs(p - q).sum() / 2),
            float((p * ratio).sum()),
            float(1 - np.sqrt(p * q).sum()),
            float(np.where((p > 0) | (q > 0), (p - q) ** 2 / q, 0.0).sum()),
        ]


def integrated(first, second, low: float, high: float, corners) -> list[float]:
    """The same, of two densities, by quadrature."""

    def add(term) -> float:
        return quad(term, low, high, points=corners, limit=500, epsabs=1e-12)[0]

    p, q = first.pdf, second.pdf
    return [
        add(lambda x: abs(p(x) - q(x)) / 2),
        add(lambda x: p(x) * (first.logpdf(x) - second.logpdf(x))),
        add(lambda x: (math.sqrt(p(x)) - math.sqrt(q(x))) ** 2 / 2),
        add(lambda x: (p(x) - q(x)) ** 2 / q(x)),
    ]


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0])
def test_randomised_response_reaches_what_epsilon_allows(epsilon: float) -> None:
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    found = [meaning(PureDP(epsilon)) for meaning in MEANINGS]
    assert found == pytest.approx(exact([p, 1 - p], [1 - p, p]), rel=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.01), (2.0, 0.1), (0.0, 0.3)])
def test_a_delta_of_certainty_reaches_what_it_allows(epsilon: float, delta: float) -> None:
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    rest = 1 - delta
    pair = [delta, rest * p, rest * (1 - p), 0], [0, rest * (1 - p), rest * p, delta]
    found = [meaning(ApproxDP(epsilon, delta)) for meaning in MEANINGS]
    assert found == pytest.approx(exact(*pair), rel=1e-9)
    assert found[1] == found[3] == math.inf


@pytest.mark.parametrize("mu", [0.1, 1.0, 2.0])
def test_normal_distributions_reach_what_mu_allows(mu: float) -> None:
    by_quadrature = integrated(norm(mu), norm(0), -15, 15 + mu, [0, mu / 2, mu])
    found = [meaning(GaussianDP(mu * mu)) for meaning in MEANINGS]
    assert found == pytest.approx(by_quadrature, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_laplace_noise_stays_below(epsilon: float) -> None:
    scale = 1 / epsilon
    reach = 40 * scale
    by_quadrature = integrated(laplace(1, scale), laplace(0, scale), -reach, reach + 1, [0, 0.5, 1])
    for meaning, value in zip(MEANINGS, by_quadrature, strict=True):
        assert value <= meaning(PureDP(epsilon)) * (1 + 1e-9)
        assert value > 0.3 * meaning(PureDP(epsilon))  # and not by much


def renyi(p, q, orders) -> Renyi:
    p, q = np.asarray(p), np.asarray(q)
    curve = {}
    for a in orders:
        both = [math.log((x**a * y ** (1 - a)).sum()) / (a - 1) for x, y in ((p, q), (q, p))]
        curve[a] = max(*both, 0.0)
    return Renyi(curve)


weights = st.lists(st.floats(0.01, 1.0), min_size=2, max_size=6)


@given(weights, st.randoms(use_true_random=False), st.sampled_from([(1.1, 2.0, 8.0), (1.5, 3.0)]))
def test_no_pair_under_a_curve_is_further_apart(first, random, orders) -> None:
    p = np.array(first) / sum(first)
    second = list(first)
    random.shuffle(second)
    q = np.array(second) / sum(second)
    measure = renyi(p, q, orders)
    for pair in ((p, q), (q, p)):
        for meaning, value in zip(MEANINGS, exact(*pair), strict=True):
            assert value <= meaning(measure) + 1e-9


@pytest.mark.parametrize("rho", [0.02, 0.5, 2.0])
def test_normal_distributions_stay_below_what_rho_allows(rho: float) -> None:
    mu = math.sqrt(2 * rho)
    for meaning in MEANINGS:
        assert meaning(GaussianDP(mu * mu)) <= meaning(ZCDP(rho)) * (1 + 1e-9)
    assert kullback_leibler(ZCDP(rho)) == pytest.approx(kullback_leibler(GaussianDP(mu * mu)))
    assert chi_squared(ZCDP(rho)) == pytest.approx(chi_squared(GaussianDP(mu * mu)))


def test_extremes_are_decided() -> None:
    for measure in (PureDP(0), ApproxDP(0, 0), GaussianDP(0), ZCDP(0)):
        assert [meaning(measure) for meaning in MEANINGS[1:]] == [0, 0, 0]
    assert kullback_leibler(PureDP(math.inf)) == chi_squared(PureDP(math.inf)) == math.inf
    assert hellinger(PureDP(math.inf)) == hellinger(ApproxDP(1, 1)) == 1
    assert chi_squared(Renyi({1.5: 1.0})) == math.inf  # nothing is known at order 2
    assert chi_squared(PureDP(2000)) == math.inf
