"""Accuracy statements, and the classic Gaussian formula against the exact curve."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet import mechanisms, testing
from discreet.coding import Sensitivity
from discreet.mechanisms import (
    DiscreteGaussianDistribution,
    GaussianDistribution,
    LaplaceDistribution,
    NoNoise,
    StaircaseDistribution,
)

ONE = Sensitivity(1, 1)
NOISES = [
    LaplaceDistribution(Fraction(3)),
    GaussianDistribution(Fraction(5, 2)),
    DiscreteGaussianDistribution(Fraction(5, 2)),
    StaircaseDistribution(Fraction(2), 6, 2),
]


@pytest.mark.parametrize(("epsilon", "sigma"), [(1, 3.185703), (3, 1.223157), (8, 0.543075)])
def test_golden_analytic_sigma(epsilon, sigma):
    """Balle & Wang 2018, Theorem 8, solved in mpmath with 30 digits."""
    distribution = mechanisms.Gaussian(epsilon, "1e-4").distribution(ONE)
    assert float(distribution.sigma) == pytest.approx(sigma, abs=5e-7)
    with mpmath.workdps(30):

        def excess(s):
            half = 1 / (2 * s)
            below = mpmath.exp(epsilon) * mpmath.ncdf(-half - epsilon * s)
            return mpmath.ncdf(half - epsilon * s) - below - mpmath.mpf("1e-4")

        root = mpmath.findroot(excess, (sigma * 0.99, sigma * 1.01), solver="anderson")
    assert float(root) == pytest.approx(sigma, abs=5e-7)
    assert float(distribution.sigma) == pytest.approx(float(root), rel=1e-9)


def test_the_classic_formula_is_right_until_it_is_not():
    delta = mechanisms.published_gaussian_delta
    assert mechanisms.published_gaussian_sigma(8, "1e-4") == pytest.approx(0.542952, abs=5e-7)
    assert mechanisms.published_gaussian_sigma(2, "1e-4", 3) == pytest.approx(
        3 / 2 * mechanisms.published_gaussian_sigma(1, "1e-4")
    )
    assert delta(1, "1e-4") == pytest.approx(5.567e-7, rel=1e-3)
    assert delta(3, "1e-4") == pytest.approx(4.3236e-6, rel=1e-4)
    assert delta(8, "1e-4") == pytest.approx(1.0048e-4, rel=1e-4)
    for epsilon in ("0.1", "0.5", "0.99"):  # where it is proved
        for target in ("1e-2", "1e-4", "1e-8"):
            assert delta(epsilon, target) <= float(target)
    for target, first in (
        ("1e-2", 6.8),
        ("1e-3", 7.5),
        ("1e-4", 8.0),
        ("1e-5", 8.4),
        ("1e-6", 8.8),
    ):
        low, high = 1.0, 20.0
        while high - low > 1e-4:
            middle = (low + high) / 2
            low, high = (low, middle) if delta(middle, target) > float(target) else (middle, high)
        assert high == pytest.approx(first, abs=0.05)
    # ours holds where it fails
    assert float(mechanisms.Gaussian(8, "1e-4").distribution(ONE).sigma) > 0.542952


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: type(noise).__name__)
def test_tails_and_widths_are_those_of_draws(noise):
    trials, bins = 20_000, 12
    size = trials * bins
    with testing.fixed_noise(5):
        draws = noise.run(np.zeros(size, int))
    sizes = np.abs(draws).reshape(trials, bins)
    for t in (0, 2, 7):
        assert np.mean(sizes > t) == pytest.approx(mechanisms.tail_probability(noise, t), abs=0.004)
    for beta in (0.5, 0.1):
        width = mechanisms.simultaneous_width(noise, beta, bins)
        assert np.mean(sizes.max(axis=1) > width) <= beta + 0.012
        assert np.mean(sizes.max(axis=1) > width - 1) >= beta - 0.012  # the least such width
        assert mechanisms.simultaneous_width(noise, beta) <= width


@pytest.mark.parametrize("noise", NOISES[:3], ids=lambda noise: type(noise).__name__)
def test_one_bin_agrees_with_the_distribution_itself(noise):
    for level in (0.5, 0.9, 0.99):
        width = mechanisms.simultaneous_width(noise, Fraction(str(round(1 - level, 6))))
        assert width == noise.half_width(level)


def test_the_inverse_gives_the_width():
    for width, bins, moved in ((5, 1, 1), (18, 100, 2), (300, 10, 7)):
        epsilon = mechanisms.epsilon_for_width(width, "0.05", sensitivity=moved, bins=bins)
        assert (
            mechanisms.simultaneous_width(LaplaceDistribution(moved / epsilon), "0.05", bins)
            <= width
        )
        less = LaplaceDistribution(moved / (epsilon * Fraction(999, 1000)))
        assert mechanisms.simultaneous_width(less, "0.05", bins) > width
        sigma = mechanisms.sigma_for_width(width, "0.05", bins=bins)
        assert mechanisms.simultaneous_width(GaussianDistribution(sigma), "0.05", bins) <= width
        more = GaussianDistribution(sigma * Fraction(1001, 1000))
        assert mechanisms.simultaneous_width(more, "0.05", bins) > width


def test_tiny_risks_keep_their_digits():
    distribution = LaplaceDistribution(Fraction(1))
    width = mechanisms.simultaneous_width(distribution, "1e-30", 1000)
    assert mechanisms.tail_probability(distribution, width) <= 1e-33
    assert mechanisms.tail_probability(distribution, width - 1) > 0.99e-33


def test_bad_arguments():
    for beta in (0, 1):
        with pytest.raises(ValueError, match="beta"):
            mechanisms.simultaneous_width(NOISES[0], beta)
    with pytest.raises(ValueError, match="bins"):
        mechanisms.simultaneous_width(NOISES[0], "0.1", 0)
    with pytest.raises(ValueError, match="t must"):
        mechanisms.tail_probability(NOISES[0], -1)
    with pytest.raises(TypeError, match="NoNoise"):
        mechanisms.tail_probability(NoNoise(), 1)
    with pytest.raises(ValueError, match="sigma"):
        mechanisms.tail_probability(DiscreteGaussianDistribution(Fraction(10**6)), 1)
    for delta in (0, 1):
        with pytest.raises(ValueError, match="delta"):
            mechanisms.published_gaussian_sigma(1, delta)
    with pytest.raises(ValueError, match="epsilon"):
        mechanisms.published_gaussian_sigma(0, "1e-4")
