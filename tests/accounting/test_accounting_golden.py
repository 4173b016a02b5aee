"""Numbers from independent sources, each named beside it."""

from __future__ import annotations

from fractions import Fraction

import dp_accounting
import mpmath
import pytest
from dp_accounting import gaussian_mechanism
from dp_accounting.pld import pld_privacy_accountant
from dp_accounting.rdp import rdp_privacy_accountant

from discreet import accounting, events
from discreet.measures import ZCDP, ApproxDP, PrivacyLoss, PureDP, Renyi, convert

# Root of Balle & Wang 2018, Theorem 8, by 150 bisections in mpmath with 40 digits. The first is the
# σ = 3.7306 that is often quoted for (1, 1e-5).
ANALYTIC_SIGMA = [
    ("1", "1e-5", 3.73063163481594183),
    ("0.1", "1e-6", 36.3046904261957849),
    ("1", "1e-6", 4.22467888932683528),
    ("8", "1e-5", 0.600229072198951559),
    ("3", "1e-12", 2.28305298486880117),
    ("0.01", "1e-9", 458.50849749725296),
]


pytestmark = pytest.mark.usefixtures("many_digits")


@pytest.mark.parametrize(("epsilon", "delta", "sigma"), ANALYTIC_SIGMA)
def test_analytic_gaussian(epsilon: str, delta: str, sigma: float) -> None:
    event = accounting.calibrate(events.Gaussian, ApproxDP(epsilon, delta), tolerance="1e-13")
    assert float(event.sigma) == pytest.approx(sigma, rel=1e-11)
    assert event.sigma >= Fraction(sigma) * (1 - Fraction(1, 10**15))
    theirs = gaussian_mechanism.get_sigma_gaussian(float(epsilon), float(delta))
    assert float(event.sigma) == pytest.approx(theirs, rel=1e-3)
    found = accounting.cost(events.Gaussian(sigma), ApproxDP, delta=delta)
    assert float(found.epsilon) == pytest.approx(float(epsilon), rel=1e-9)


# Σ P(k)^α Q(k)^(1-α) over k, term by term in mpmath with 40 digits.
LAPLACE_CURVE = [
    ("2", 3, 2.5, 1.22463840302905612),
    ("10", 1, 2.0, 0.00995858439495622398),
    ("0.7", 2, 1.1, 2.27346297998979071),
    ("5", 20, 32.0, 3.98070521747944983),
]


@pytest.mark.parametrize(("scale", "sensitivity", "order", "value"), LAPLACE_CURVE)
def test_discrete_laplace_curve(scale: str, sensitivity: int, order: float, value: float) -> None:
    event = events.DiscreteLaplace(scale, sensitivity)
    found = accounting.cost(event, Renyi, orders=[order]).curve[order]
    assert found == pytest.approx(value, rel=1e-12)
    assert found >= value * (1 - 1e-15)


# Canonne, Kamath & Steinke 2020, Proposition 12, minimised over α in mpmath with 40 digits.
CONCENTRATED = [
    ("0.1", "1e-6", 2.14193892838547366),
    ("0.5", "1e-10", 6.8393294131208485),
    ("2", "1e-5", 10.7248241129391721),
    ("0.0001", "1e-8", 0.0681270260236153746),
]


@pytest.mark.parametrize(("rho", "delta", "epsilon"), CONCENTRATED)
def test_concentrated_to_approximate(rho: str, delta: str, epsilon: float) -> None:
    found = float(convert(ZCDP(rho), ApproxDP, delta=delta).epsilon)
    assert found == pytest.approx(epsilon, rel=1e-9)
    assert found >= epsilon


def test_concentrated_to_approximate_in_opendp() -> None:
    """OpenDP's make_zCDP_to_approxDP uses the same proposition."""
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib", "honest-but-curious")
    space = opendp.atom_domain(T=int), opendp.absolute_distance(T=int)
    for scale, sensitivity in [(2.0, 1), (5.0, 3), (40.0, 1)]:
        mechanism = opendp.m.make_gaussian(*space, scale=scale)
        event = events.DiscreteGaussian(scale, sensitivity=sensitivity)
        rho = accounting.cost(event, ZCDP).rho
        assert mechanism.map(sensitivity) == pytest.approx(float(rho), rel=1e-12)
        profile = opendp.c.make_zCDP_to_approxDP(mechanism).map(sensitivity)
        for delta in (1e-8, 1e-5):
            ours = float(convert(ZCDP(rho), ApproxDP, delta=delta).epsilon)
            assert ours == pytest.approx(profile.epsilon(delta), rel=1e-6)


def test_pure_laplace_in_opendp() -> None:
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib")
    space = opendp.atom_domain(T=int), opendp.absolute_distance(T=int)
    for scale, sensitivity in [(2.0, 3), (0.7, 1), (31.0, 4)]:
        theirs = opendp.m.make_laplace(*space, scale=scale).map(sensitivity)
        ours = accounting.cost(events.DiscreteLaplace(scale, sensitivity), PureDP).epsilon
        assert theirs == pytest.approx(float(ours), rel=1e-12)


# dp-accounting 0.6: RdpAccountant() and PLDAccountant() with their default settings.
STEPS = dp_accounting.SelfComposedDpEvent(
    dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0)), 1000
)
RENYI_STEPS, LOSS_STEPS = 2.101366525420273, 1.8282436455855091


def test_sampled_gaussian_steps_in_dp_accounting() -> None:
    event = events.Repeat(events.Poisson("0.01", events.Gaussian(1)), 1000)
    renyi = rdp_privacy_accountant.RdpAccountant().compose(STEPS).get_epsilon(1e-5)
    loss = pld_privacy_accountant.PLDAccountant().compose(STEPS).get_epsilon(1e-5)
    assert renyi == pytest.approx(RENYI_STEPS, rel=1e-9)
    assert loss == pytest.approx(LOSS_STEPS, rel=1e-6)
    curve = accounting.cost(event, Renyi)
    ours = float(convert(curve, ApproxDP, delta="1e-5").epsilon)
    assert RENYI_STEPS * (1 - 1e-9) <= ours <= RENYI_STEPS * 1.01  # they have more orders
    through_losses = accounting.cost(event, PrivacyLoss).epsilon("1e-5")
    # theirs is from above, on a coarser grid; that ours is too: tests/accounting/test_accounting_losses.py
    assert LOSS_STEPS * 0.9999 <= through_losses <= LOSS_STEPS
    assert accounting.cost(event, ApproxDP, delta="1e-5").epsilon == through_losses


# Kairouz, Oh & Viswanath 2015, Theorem 3, by hand: for two answers with ε = 1 the second step needs
# δ₁ = (e² - 1)/(1 + e)² = (e - 1)/(e + 1) = tanh(1/2) = 0.46212.
@pytest.mark.parametrize(("slack", "epsilon"), [("0.4621171573", 0), ("0.4621171572", 2)])
def test_optimal_composition_by_hand(slack: str, epsilon: int) -> None:
    assert (mpmath.mpf(slack) >= mpmath.tanh(mpmath.mpf(1) / 2)) == (epsilon == 0)
    assert accounting.optimal(PureDP(1), 2, slack).epsilon == epsilon


def test_group_privacy_by_hand() -> None:
    """Vadhan 2017, Lemma 2.2 at ε = log 2, three persons: δ·(1 + 2 + 4)."""
    log_two = Fraction("0.693147180559945309417232")
    found = accounting.group(ApproxDP(log_two, "1e-9"), 3)
    assert float(found.delta) == pytest.approx(7e-9, rel=1e-11)
    assert found.epsilon == 3 * log_two
