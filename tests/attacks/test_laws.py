"""Attacks on the noise itself: the floor stays below the claim, and a weakened copy is caught."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet import accounting, mechanisms, testing
from discreet.audit import TwoOutcomes, epsilon_floor
from discreet.measures import ZCDP
from discreet.measures.convert import gaussian_delta
from discreet.mechanisms import DiscreteGaussianLaw, GaussianLaw, LaplaceLaw
from discreet.queries import Sensitivity

TRIALS = 400_000
ONE = Sensitivity(1, 1)


def floor_of(law, shift: int, delta: float) -> float:
    """The best threshold, chosen on one half of the draws, judged on the other half."""
    inputs = np.zeros(TRIALS, np.int64)
    here, there = law.run(inputs + shift), law.run(inputs)
    half = TRIALS // 2

    def floor(at, draws):
        counts = [int((side[draws] >= at).sum()) for side in (here, there)]
        return epsilon_floor(TwoOutcomes(counts[0], half, counts[1], half), delta)

    best = max(range(-40, 41), key=lambda at: floor(at, slice(half)))
    return floor(best, slice(half, None))


def weakened(law):
    """The same law with a fifth less noise."""
    field = "scale" if isinstance(law, LaplaceLaw) else "sigma"
    return replace(law, **{field: getattr(law, field) * Fraction(4, 5)})


CASES = [
    (LaplaceLaw(Fraction(2)), 1, 0.0),
    (LaplaceLaw(Fraction(1)), 1, 0.0),
    (LaplaceLaw(Fraction(7)), 5, 0.0),
    (GaussianLaw(Fraction(2)), 1, 0.02),
    (GaussianLaw(Fraction(1)), 1, 0.1),
    (GaussianLaw(Fraction(9)), 5, 0.02),
    (DiscreteGaussianLaw(Fraction(2)), 1, 0.02),
    (DiscreteGaussianLaw(Fraction(9)), 5, 0.02),
]


@pytest.mark.parametrize(("law", "shift", "delta"), CASES, ids=str)
def test_an_attack_finds_no_more_than_the_claim(law, shift, delta):
    sensitivity = Sensitivity(shift, shift**2)
    claimed = float(accounting.epsilon_at(law.event(sensitivity), delta).epsilon)
    with testing.fixed_noise(7):
        floor = floor_of(law, shift, delta)
        weak = floor_of(weakened(law), shift, delta)
    assert floor <= claimed
    # the Rényi route is not tight for the discrete Gaussian: the audit sees at least half of it
    assert floor > (0.5 if isinstance(law, DiscreteGaussianLaw) else 0.9) * claimed
    if not isinstance(law, DiscreteGaussianLaw):
        assert weak > claimed


def test_a_weakened_discrete_gaussian_is_caught_by_its_exact_curve():
    """Its (ε, δ) claim has slack, so the weakened copy is judged by Rényi divergences summed exactly."""
    claimed = float(accounting.cost(DiscreteGaussianLaw(Fraction(2)).event(ONE), ZCDP).rho)

    def rho(law):
        k, sigma = np.arange(-200, 201), float(law.sigma)
        p, q = -(k**2) / (2 * sigma**2), -((k - 1) ** 2) / (2 * sigma**2)
        p, q = p - np.logaddexp.reduce(p), q - np.logaddexp.reduce(q)
        orders = (1.5, 2, 8, 32)
        return max(float(np.logaddexp.reduce(a * p + (1 - a) * q)) / (a - 1) / a for a in orders)

    assert rho(DiscreteGaussianLaw(Fraction(2))) <= claimed * (1 + 1e-9)
    assert rho(weakened(DiscreteGaussianLaw(Fraction(2)))) > 1.5 * claimed


def exact_delta(sigma: float, shift: int, epsilon: float) -> float:
    """δ(ε) of discrete Gaussian noise by summation."""
    k = np.arange(-4000, 4001)
    logs = -(k**2) / (2 * sigma**2)
    log_norm = np.logaddexp.reduce(logs)
    p = np.exp(-((k - shift) ** 2) / (2 * sigma**2) - log_norm)
    q = np.exp(logs - log_norm)
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize(("epsilon", "shift", "ratio"), [(1.0, 1, 1.035), (8.0, 2, 1.69)])
def test_the_analytic_formula_is_false_for_the_discrete_gaussian(epsilon, shift, ratio):
    target = 1e-5
    analytic = mechanisms.Gaussian(epsilon, target).law(Sensitivity(shift, shift**2))
    sigma = float(analytic.sigma)
    assert gaussian_delta(Fraction(shift**2) / analytic.sigma**2, epsilon) <= target
    assert exact_delta(sigma, shift, epsilon) / target == pytest.approx(ratio, rel=0.01)
    ours = mechanisms.DiscreteGaussian(epsilon, target).law(Sensitivity(shift, shift**2))
    assert exact_delta(float(ours.sigma), shift, epsilon) <= target


NOISY = [law for law in testing.LAWS if not isinstance(law, mechanisms.NoNoise)]


@pytest.mark.parametrize("law", NOISY, ids=str)
def test_error_and_width_of_a_law_are_those_of_its_draws(law):
    with testing.fixed_noise(11):
        draws = law.run(np.zeros(400_000, np.int64))
    deviation = float(np.std(draws))
    assert deviation == pytest.approx(law.expected_error(), rel=0.01)
    for level in (0.5, 0.9, 0.99):
        width = law.half_width(level)
        covered = float(np.mean(abs(draws) <= width))
        narrower = float(np.mean(abs(draws) <= width - 1))
        assert covered >= level - 0.003
        assert narrower < level + 0.003  # it is the least such width
