"""Bingham's distribution against others computed in other ways, each with a wrong one that is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import hyp1f1, i0e

from discreet.noise import entropy
from discreet.noise.bingham import BinghamDistribution, _uniforms, bingham
from discreet.testing import fixed_noise

DRAWS = 20_000


def turned(values: Any, seed: int = 0) -> Any:
    """A matrix with these eigenvalues along directions that are no axes, and the directions."""
    q = len(values)
    axes = np.linalg.qr(np.random.default_rng(seed).normal(size=(q, q)))[0]
    return axes @ np.diag(values) @ axes.T, axes


def pvalue(found: Any, grid: Any, density: Any) -> float:
    """Kolmogorov and Smirnov against a density given on a grid."""
    cdf = integrate.cumulative_trapezoid(density, grid, initial=0.0)
    return float(stats.kstest(found, lambda t: np.interp(t, grid, cdf / cdf[-1])).pvalue)


@pytest.mark.parametrize("gap", [0.3, 4.0, 60.0])
def test_in_the_plane_twice_the_angle_is_von_mises(gap: float) -> None:
    matrix, axes = turned([gap + 7.0, 7.0])
    with fixed_noise(1):
        x = bingham(matrix, DRAWS) @ axes
    angle = 2 * np.arctan2(x[:, 1], x[:, 0])
    angle = (angle + math.pi) % (2 * math.pi) - math.pi
    assert stats.kstest(angle, stats.vonmises(gap / 2).cdf).pvalue > 0.01
    assert stats.kstest(angle, stats.vonmises(gap / 2 * 1.3 + 0.05).cdf).pvalue < 1e-3


def test_in_space_each_coordinate_has_its_integral() -> None:
    """z along the last axis has density ∝ exp(-cz²)·∫ exp(-b·y²) over the circle of what is left."""
    gaps = np.array([0.0, 3.0, 8.0])
    matrix, axes = turned(-gaps)
    with fixed_noise(2):
        x = bingham(matrix, DRAWS) @ axes
    z = np.linspace(-1, 1, 4001)

    def density(second: float, third: float) -> Any:
        left = second * (1 - z**2) / 2
        return np.exp(-third * z**2) * i0e(left)

    assert pvalue(x[:, 2], z, density(3, 8)) > 0.01
    assert pvalue(x[:, 2], z, density(3, 10)) < 1e-3


@pytest.mark.parametrize(("q", "best", "gap"), [(6, 2, 5.0), (6, 5, 40.0), (50, 1, 300.0)])
def test_with_two_eigenvalues_the_shares_are_tilted_beta(q: int, best: int, gap: float) -> None:
    """The squared length in the worse eigenspace has density ∝ e^(-gap·t) times a beta density."""
    matrix, axes = turned([0.0] * best + [-gap] * (q - best))
    with fixed_noise(3):
        x = bingham(matrix, DRAWS // 2) @ axes
    t = (x[:, best:] ** 2).sum(axis=1)
    # as an angle, t = sin² s: the density then has no poles at its ends
    s = np.linspace(0, math.pi / 2, 20_001)

    def density(rate: float) -> Any:
        sine, cosine = np.sin(s), np.cos(s)
        return sine ** (q - best - 1) * cosine ** (best - 1) * np.exp(-rate * sine**2)

    angles = np.arcsin(np.sqrt(t))
    assert pvalue(angles, s, density(gap)) > 0.01
    assert pvalue(angles, s, density(gap * 1.15)) < 1e-3


def test_cells_of_the_sphere_against_a_fine_grid() -> None:
    """Acceptance and rejection of points of a fine grid gives the same distribution, whatever the axes."""
    matrix, _ = turned([4.0, 1.0, -2.0], seed=5)

    def cells(x: Any, weights: Any = None) -> Any:
        # bands of equal area, cut into sectors
        band = np.minimum((x[:, 2] + 1) / 2 * 6, 5).astype(int)
        sector = np.minimum((np.arctan2(x[:, 1], x[:, 0]) / math.pi + 1) * 4, 7).astype(int)
        return np.bincount(band * 8 + sector, weights, 48)

    z, phi = np.meshgrid(
        (np.arange(600) + 0.5) / 300 - 1, (np.arange(800) + 0.5) / 400 * math.pi - math.pi
    )
    r = np.sqrt(1 - z**2)
    points = np.stack([r * np.cos(phi), r * np.sin(phi), z], axis=-1).reshape(-1, 3)

    def expected(m: Any) -> Any:
        weights = np.exp(np.einsum("ni,ij,nj->n", points, m, points))
        return cells(points, weights / weights.sum()) * DRAWS

    with fixed_noise(4):
        counts = cells(bingham(matrix, DRAWS))
    assert stats.chisquare(counts, expected(matrix)).pvalue > 0.01
    assert stats.chisquare(counts, expected(matrix * 1.1)).pvalue < 1e-3


def test_without_a_preference_it_is_uniform() -> None:
    with fixed_noise(5):
        x = bingham(np.zeros((3, 3)), DRAWS)
    assert stats.kstest(x[:, 0], stats.uniform(-1, 2).cdf).pvalue > 0.01
    assert (x**2).sum(axis=1) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("q", [2, 3, 10, 200])
def test_the_envelope_is_above_and_touches(q: int) -> None:
    draw = np.random.default_rng(q)
    for size in (0.01, 1.0, 100.0, 1e8):
        gaps = np.sort(draw.exponential(size, q))
        distribution = BinghamDistribution(gaps - gaps[0])
        b = distribution.b
        assert 1 <= b <= q
        assert (1 / (b + 2 * distribution.gaps)).sum() == pytest.approx(1, abs=1e-9) or b == 1
        x = draw.normal(size=(2000, q)) / np.sqrt(1 + 2 * distribution.gaps / b)
        squares = x**2 / (x**2).sum(axis=1, keepdims=True)
        assert distribution.log_acceptance(squares, b).max() <= 1e-9 * max(1.0, q)
        # where x'Λx = (q - b)/2, if that is on the sphere, nothing is refused
        worst, wanted = distribution.gaps[-1], (q - b) / 2
        if worst > 0 and wanted <= worst:
            at = np.zeros((1, q))
            at[0, 0], at[0, -1] = 1 - wanted / worst, wanted / worst
            assert distribution.log_acceptance(at, b)[0] == pytest.approx(0, abs=1e-9)


def test_how_often_proposals_are_taken() -> None:
    """Γ(q/2)·(2e/q)^(q/2) times the density at 1 of Σ pᵢχ²; least where one direction stands out."""
    for q in (2, 5, 20):
        distribution = BinghamDistribution(np.array([0.0] + [1e7] * (q - 1)))
        b = distribution.b
        draw = np.random.default_rng(q)
        y = draw.normal(size=(40_000, q)) / np.sqrt(1 + 2 * distribution.gaps / b)
        squares = y**2 / (y**2).sum(axis=1, keepdims=True)
        taken = np.exp(distribution.log_acceptance(squares, b)).mean()
        log_least = math.lgamma(q / 2) + q / 2 * math.log(2 * math.e / q)
        least = math.exp(log_least) * math.exp(-0.5) / math.sqrt(2 * math.pi)
        assert taken == pytest.approx(least, rel=0.02)
        assert least > 0.85 / math.sqrt(q)


def test_no_spectrum_found_takes_longer() -> None:
    """With two eigenvalues Z is a confluent hypergeometric function: the chance is never below its bound."""
    for q in (2, 3, 10, 60):
        least = math.exp(math.lgamma(q / 2) + q / 2 * math.log(2 * math.e / q) - 0.5)
        least /= math.sqrt(2 * math.pi)
        nearest = 1.0
        for best in {1, 2, q // 2, q - 1} - {0, q}:
            for gap in (0.01, 1.0, 5.0, 30.0, 300.0):
                distribution = BinghamDistribution(np.array([0.0] * best + [gap] * (q - best)))
                b = distribution.b
                z = hyp1f1((q - best) / 2, q / 2, -gap)
                log_rest = (q - b - q * math.log(q) + np.log(b + 2 * distribution.gaps).sum()) / 2
                chance = float(z * math.exp(log_rest))
                assert least <= chance * (1 + 1e-9)
                assert chance <= 1 + 1e-9
                nearest = min(nearest, chance)
        assert nearest < 1.5 * least  # and some come near


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e6, 1e12, 1e100])
def test_any_size_of_eigenvalues(size: float) -> None:
    matrix, axes = turned(np.array([3.0, 1.0, 0.5, 0.0]) * size)
    with fixed_noise(6):
        x = bingham(matrix, 100)
    assert np.isfinite(x).all()
    assert (x**2).sum(axis=1) == pytest.approx(1, abs=1e-12)
    if size >= 1e12:
        assert abs(x @ axes[:, 0]).min() > 1 - 1e-6


def test_what_all_directions_share_does_not_count() -> None:
    matrix, _ = turned([3.0, 1.0, 0.0])
    with fixed_noise(7):
        here = bingham(matrix, 50)
    with fixed_noise(7):
        there = bingham(matrix + 64 * np.eye(3), 50)
    assert abs((here * there).sum(axis=1)) == pytest.approx(1, abs=1e-9)


def test_noise_is_the_streams() -> None:
    matrix, _ = turned([3.0, 1.0, 0.0])
    with fixed_noise(8):
        first, second = bingham(matrix), bingham(matrix)
    with fixed_noise(8):
        again = bingham(matrix)
    assert (first == again).all()
    assert (first != second).any()
    assert not entropy.is_fixed()
    assert (bingham(matrix) != bingham(matrix)).any()
    assert bingham(matrix).shape == (3,)
    assert bingham(np.array([[5.0]]), 4).shape == (4, 1)


def test_uniform_numbers_stay_between_zero_and_one() -> None:
    words = np.array([0, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)
    found = _uniforms(words)
    assert found.min() > 0.0
    assert found.max() < 1.0
    assert np.array_equal(found, 1.0 - found[::-1])  # the cells' middles, without rounding
