"""Weakened noise is caught; the analytic formula is false for the discrete Gaussian; errors and widths.

That honest noise is not caught: `discreet audit`, and tests/guarantees/test_attacks.py.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet import accounting, mechanisms, testing
from discreet.audit import audit, exact, hockey_stick
from discreet.coding import Sensitivity
from discreet.guarantees.additive.attacks import discrete_gaussian_distribution, plus
from discreet.measures import ZCDP, GaussianDP, PureDP
from discreet.measures.convert import gaussian_delta
from discreet.mechanisms import (
    DiscreteGaussianDistribution,
    GaussianDistribution,
    LaplaceDistribution,
)


def weakened(distribution):
    """The same distribution with a fifth less noise."""
    field = "scale" if isinstance(distribution, LaplaceDistribution) else "sigma"
    return replace(distribution, **{field: getattr(distribution, field) * Fraction(4, 5)})


CASES = [
    (LaplaceDistribution(Fraction(2)), 1, PureDP),
    (LaplaceDistribution(Fraction(1)), 1, PureDP),
    (LaplaceDistribution(Fraction(7)), 5, PureDP),
    (GaussianDistribution(Fraction(1)), 1, GaussianDP),
    (GaussianDistribution(Fraction(9)), 5, GaussianDP),
]


@pytest.mark.parametrize(("distribution", "shift", "measure"), CASES, ids=str)
def test_a_fifth_less_noise_is_caught(distribution, shift, measure):
    claim = accounting.cost(distribution.event(Sensitivity(shift, shift**2)), measure)
    with testing.fixed_noise(7):
        assert audit(plus(weakened(distribution)), (0, shift), claim, trials=200_000).is_violated
        assert not audit(plus(distribution), (0, shift), claim, trials=200_000).is_violated


def test_a_weakened_discrete_gaussian_is_caught_by_its_exact_curve():
    """Its zCDP claim has slack for one threshold, so the weakened copy is judged by its distribution."""
    distribution = DiscreteGaussianDistribution(Fraction(2))
    claim = accounting.cost(distribution.event(Sensitivity(1, 1)), ZCDP)

    def result(sigma):
        return exact(*(discrete_gaussian_distribution(float(sigma), at) for at in (0, 1)), claim)

    assert not result(distribution.sigma).is_violated
    assert result(weakened(distribution).sigma).floor > 1.5 * float(claim.rho)


@pytest.mark.parametrize(
    ("epsilon", "target", "shift", "ratio"),
    [(1.0, 1e-5, 1, 1.035), (8.0, 1e-5, 2, 1.69), (4.0, 0.05, 1, 1.77)],
)
def test_the_analytic_formula_is_false_for_the_discrete_gaussian(epsilon, target, shift, ratio):
    analytic = mechanisms.Gaussian(epsilon, target).distribution(Sensitivity(shift, shift**2))
    assert gaussian_delta(Fraction(shift**2) / analytic.sigma**2, epsilon) <= target

    def delta(sigma):
        p, q = (discrete_gaussian_distribution(float(sigma), at) for at in (shift, 0))
        return hockey_stick(p, q, epsilon)

    assert delta(analytic.sigma) / target == pytest.approx(ratio, rel=0.01)
    ours = mechanisms.DiscreteGaussian(epsilon, target).distribution(Sensitivity(shift, shift**2))
    assert delta(ours.sigma) <= target
    assert math.isfinite(float(ours.sigma))


NOISY = [
    distribution
    for distribution in testing.DISTRIBUTIONS
    if not isinstance(distribution, mechanisms.NoNoise)
]


@pytest.mark.parametrize("distribution", NOISY, ids=str)
def test_error_and_width_of_a_distribution_are_those_of_its_draws(distribution):
    with testing.fixed_noise(11):
        draws = distribution.run(np.zeros(400_000, np.int64))
    deviation = float(np.std(draws))
    assert deviation == pytest.approx(distribution.expected_error(), rel=0.01)
    for level in (0.5, 0.9, 0.99):
        width = distribution.half_width(level)
        covered = float(np.mean(abs(draws) <= width))
        narrower = float(np.mean(abs(draws) <= width - 1))
        assert covered >= level - 0.003
        assert narrower < level + 0.003  # it is the least such width
