"""Sampled noise against exact divergences, and sampled curves against quadrature."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from test_accounting_routes import Distribution, divergence, hockey_stick, number

from discreet import accounting, events
from discreet.accounting import NoBound, google
from discreet.accounting.counts import curve_of
from discreet.accounting.losses import loss_of
from discreet.measures import (
    ORDERS,
    ApproxDP,
    PureDP,
    Renyi,
    convert,
)

pytestmark = pytest.mark.usefixtures("many_digits")
CHANCES = ["1e-6", "0.01", "0.3", "0.9"]


def both(p: Distribution, q: Distribution, epsilon: Fraction | float) -> mpmath.mpf:
    return max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))


def laplace(scale: str, shift: int) -> Distribution:
    weights = {k: mpmath.exp(-abs(k - shift) / number(scale)) for k in range(-400, 400)}
    total = mpmath.fsum(weights.values())
    return {k: w / total for k, w in weights.items()}


def sampled(chance: str, p: Distribution, q: Distribution) -> Distribution:
    """The distribution of the answer with a person who is in the sample with this probability."""
    c = number(chance)
    return {k: c * p[k] + (1 - c) * q[k] for k in p}


@pytest.mark.parametrize("chance", CHANCES)
@pytest.mark.parametrize(("scale", "shift"), [("1", 1), ("3", 2), ("0.4", 2)])
def test_sampled_laplace_noise(chance: str, scale: str, shift: int) -> None:
    event = events.Poisson(chance, events.DiscreteLaplace(scale, shift))
    without = laplace(scale, 0)
    mixed = sampled(chance, laplace(scale, shift), without)
    pure = accounting.cost(event, PureDP).epsilon
    largest = max(abs(mpmath.log(mixed[k] / without[k])) for k in mixed)
    assert largest <= number(pure) <= largest * (1 + mpmath.mpf("1e-11"))
    for order, bound in accounting.cost(event, Renyi, orders=[1.1, 2, 16]).curve.items():
        assert divergence(mixed, without, order) <= bound
    for delta in ("1e-9", "1e-4", "0.01"):
        epsilon = accounting.cost(event, ApproxDP, delta=delta).epsilon
        assert both(mixed, without, epsilon) <= mpmath.mpf(delta)


def test_sampled_pairs_keep_their_own_delta() -> None:
    inner = events.External(ApproxDP(1, Fraction(1, 10**6)), "elsewhere")
    pair = accounting.cost(events.Poisson("0.1", inner), ApproxDP, delta="1e-7")
    assert number(pair.epsilon) >= mpmath.log(1 + mpmath.expm1(1) / 10)
    with pytest.raises(NoBound):
        accounting.cost(events.Poisson("0.1", inner), ApproxDP, delta="1e-8")
    with pytest.raises(NoBound):
        accounting.cost(events.Poisson("0.1", inner), PureDP)
    endless = events.External(ApproxDP(math.inf, Fraction(1, 10**6)), "elsewhere")
    assert accounting.cost(events.Poisson(0.5, endless), ApproxDP, delta="1e-6").epsilon == math.inf


@pytest.mark.parametrize("chance", ["1e-400", "1e-30", "1e-9", "0.5"])
@pytest.mark.parametrize("epsilon", ["1e-400", "1e-12", "1", "500", "1e5"])
def test_amplification_rounds_up_at_all_sizes(chance: str, epsilon: str) -> None:
    found = accounting.cost(events.Poisson(chance, events.Exponential(epsilon)), PureDP).epsilon
    with mpmath.workdps(1000):
        exact = mpmath.log1p(number(chance) * mpmath.expm1(min(number(epsilon), 10**5)))
        assert number(found) >= exact
        assert found <= Fraction(epsilon)


def sampled_gaussian_delta(chance: str, mu: str, epsilon: Fraction) -> mpmath.mpf:
    """The larger hockey-stick divergence of (1-q)N(0,1) + qN(μ,1) and N(0,1), in closed form."""
    c, m, e = number(chance), number(mu), mpmath.exp(number(epsilon))

    def mixture(x: mpmath.mpf) -> mpmath.mpf:  # of what lies above x
        return (1 - c) * mpmath.ncdf(-x) + c * mpmath.ncdf(m - x)

    # the ratio of densities is 1 - q + q·exp(μx - μ²/2)
    threshold = (mpmath.log((e - 1 + c) / c) + m * m / 2) / m
    removed = mixture(threshold) - e * mpmath.ncdf(-threshold)
    added = mpmath.mpf(0)
    if 1 / e > 1 - c:
        threshold = (mpmath.log((1 / e - 1 + c) / c) + m * m / 2) / m
        added = mpmath.ncdf(threshold) - e * (1 - mixture(threshold))
    return max(removed, added)


@pytest.mark.parametrize("chance", ["1e-4", "0.02", "0.4"])
@pytest.mark.parametrize("mu", ["0.5", "1.5"])
def test_sampled_gaussian_noise(chance: str, mu: str) -> None:
    event = events.Poisson(chance, events.Gaussian(1, sensitivity=mu))
    for delta in (Fraction(1, 10**5), Fraction(1, 10**9)):
        renyi = convert(curve_of(event, ORDERS), ApproxDP, delta=delta).epsilon
        loss = convert(loss_of(event), ApproxDP, delta=delta).epsilon
        for epsilon in (renyi, loss, accounting.cost(event, ApproxDP, delta=delta).epsilon):
            assert sampled_gaussian_delta(chance, mu, Fraction(epsilon)) <= number(delta)
        if loss > Fraction(1, 100):
            below = Fraction(loss) * Fraction(99, 100)
            assert sampled_gaussian_delta(chance, mu, below) > number(delta)
    at = accounting.delta_at(event, "0.7")
    assert sampled_gaussian_delta(chance, mu, Fraction("0.7")) <= number(at)


@pytest.mark.parametrize("order", [1.1, 1.5, 2, 2.9, 8])
@pytest.mark.parametrize(
    ("chance", "mu"), [("0.01", "1"), ("0.5", "0.2"), ("0.2", "3"), ("1e-5", "1")]
)
def test_sampled_gaussian_curve_against_quadrature(order: float, chance: str, mu: str) -> None:
    c, m, a = number(chance), number(mu), number(order)
    centre = a * m

    def integrand(x: mpmath.mpf) -> mpmath.mpf:
        return mpmath.npdf(x) * (1 - c + c * mpmath.exp(m * x - m * m / 2)) ** a

    cuts = [-15, -8, -4, 0, 2, 4, 8, float(centre), float(centre) + 8, float(centre) + 20]
    exact = mpmath.log(mpmath.quad(integrand, sorted(set(cuts)))) / (a - 1)
    event = events.Poisson(chance, events.Gaussian(1, sensitivity=mu))
    bound = accounting.cost(event, Renyi, orders=[order, 64, math.inf]).curve
    assert exact <= bound[float(order)]
    assert bound[math.inf] == math.inf
    assert bound[64.0] <= float(m * m / 2 * 64 * (1 + mpmath.mpf("1e-14")))


def test_fractional_orders_that_do_not_converge_take_the_next(
    caplog: pytest.LogCaptureFixture,
) -> None:
    google.sampled_gaussian_curve.cache_clear()
    event = events.Poisson("0.5", events.Gaussian(40))
    curve = accounting.cost(event, Renyi).curve
    assert all(math.isfinite(value) for order, value in curve.items() if math.isfinite(order))
    values = list(curve.values())
    assert values == sorted(values)
    assert not caplog.records


@pytest.mark.parametrize("chance", ["1e-5", "0.3"])
@pytest.mark.parametrize("sigma", ["1/4", 4])
@pytest.mark.parametrize("count", [10**7, 10**9])
def test_sums_of_losses_that_reach_far_have_an_answer(chance: str, sigma: Any, count: int) -> None:
    event = events.Repeat(events.Poisson(chance, events.Gaussian(sigma)), count)
    assert 0 <= accounting.delta_at(event, 100) <= 1
