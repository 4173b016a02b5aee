"""Conversions against mechanisms in closed form: no edge says less than what the mechanism loses."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from discreet import events
from discreet.accounting import cost
from discreet.measures import ZCDP, ApproxDP, GaussianDP, PrivacyLoss, PureDP, Renyi, convert
from discreet.measures.gaussian import gaussian_delta, gaussian_epsilon

DELTAS = ["1e-9", "1e-3", "1/10"]
MU = Fraction(3, 2)


def normal_delta(mu: float, epsilon: float) -> float:
    """δ(ε) of N(0, 1) against N(μ, 1) (Balle & Wang 2018, Theorem 8)."""

    def phi(t: float) -> float:
        return math.erfc(-t / math.sqrt(2)) / 2

    return phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)


def response_divergence(epsilon: float, order: float) -> float:
    p = 1 / (1 + math.exp(-epsilon))
    moment = p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)
    return math.log(moment) / (order - 1)


MEASURES: list[Any] = [
    PureDP(2),
    PureDP(0),
    ZCDP(MU**2 / 2),
    ZCDP(0),
    ZCDP(math.inf),
    GaussianDP(MU**2),
    Renyi({order: float(MU**2) / 2 * order for order in (1.5, 2, 4, 8, 16, 32)}),
    cost(events.Gaussian(2, 9), PrivacyLoss),
]


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: repr(measure)[:30])
def test_the_pair_has_the_delta_that_was_asked_for(measure: Any, delta: str) -> None:
    assert convert(measure, ApproxDP, delta=delta).delta == Fraction(delta)


def test_without_delta_concentrated_losses_have_no_finite_epsilon() -> None:
    assert convert(ZCDP(1), ApproxDP, delta=0) == ApproxDP(math.inf, 0)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("measure", [MEASURES[2], *MEASURES[5:]], ids=lambda m: repr(m)[:30])
def test_no_way_from_a_gaussian_is_below_its_curve(measure: Any, delta: str) -> None:
    """All of them are measures of N(0, 1) against N(3/2, 1)."""
    epsilon = float(convert(measure, ApproxDP, delta=delta).epsilon)
    assert normal_delta(float(MU), epsilon) <= float(Fraction(delta)) * (1 + 1e-6)
    assert normal_delta(float(MU), epsilon / 2) > float(Fraction(delta))  # half would be seen


@pytest.mark.parametrize("delta", DELTAS)
def test_a_pure_loss_stays_what_it_is(delta: str) -> None:
    p, q = 1 / (1 + math.exp(-2)), 1 / (1 + math.exp(2))
    for measure in (PureDP(2), ApproxDP(2, 0)):
        epsilon = float(convert(measure, ApproxDP, delta=delta).epsilon)
        assert p - math.exp(epsilon) * q <= float(Fraction(delta))
    assert convert(ApproxDP(2, 0), PureDP) == PureDP(2)
    assert convert(Renyi({2: 1.0, math.inf: 2.0}), PureDP).epsilon >= 2


@pytest.mark.parametrize("epsilon", ["1/10", "2"])
@pytest.mark.parametrize("order", [1.01, 2.0, 20.0])
def test_concentrated_and_curved_losses_cover_the_divergence(epsilon: str, order: float) -> None:
    exact = response_divergence(float(Fraction(epsilon)), order)
    assert float(convert(PureDP(epsilon), ZCDP).rho) * order >= exact * (1 - 1e-9)
    curve = convert(PureDP(epsilon), Renyi, orders=[order]).curve
    assert curve[order] >= exact * (1 - 1e-9)
    normal = float(MU) ** 2 / 2 * order
    assert float(convert(GaussianDP(MU**2), ZCDP).rho) * order >= normal * (1 - 1e-12)
    assert convert(GaussianDP(MU**2), Renyi, orders=[order]).curve[order] >= normal * (1 - 1e-12)
    if epsilon == "1/10":  # where half of ε²/2 would be less
        assert float(convert(PureDP(epsilon), ZCDP).rho) * order / 2 < exact


@pytest.mark.parametrize("mu", ["1/3", "3/2", "4"])
def test_the_curve_of_a_gaussian_is_the_analytic_one(mu: str) -> None:
    size = float(Fraction(mu))
    for epsilon in ("0", "1", "5"):
        exact = normal_delta(size, float(Fraction(epsilon)))
        found = gaussian_delta(Fraction(mu) ** 2, Fraction(epsilon))
        assert found >= exact * (1 - 1e-6)
        assert found <= exact * (1 + 1e-3) + 1e-15
    for delta in DELTAS:
        epsilon_ = float(gaussian_epsilon(Fraction(mu) ** 2, Fraction(delta)))
        assert normal_delta(size, epsilon_) <= float(Fraction(delta)) * (1 + 1e-6)


def test_no_gaussian_ever_loses_nothing() -> None:
    for epsilon in (10**4, 10**8):
        assert gaussian_delta(Fraction(1, 10**6), Fraction(epsilon)) > 0
