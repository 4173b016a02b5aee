"""The samplers follow their exact distributions, and the tests that say so would notice if they didn't.

Every check is a function of a sample, so that it can also be shown a sample that is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats

from discreet import noise
from discreet.noise import gaussian, inversion, laplace
from discreet.noise.lazy import LazyUniform

# Every sample has a fixed seed, so that nothing here fails by chance on one day and not on another.
# With some 150 checks, right samples stay above ACCEPT in all of them in 998 of 1000 choices of
# seeds; wrong ones fall below REJECT with room to spare.
ACCEPT = 1e-5
REJECT = 1e-9

Cdf = Callable[[np.ndarray, float], np.ndarray]


def laplace_cdf(k: np.ndarray, scale: float) -> np.ndarray:
    q = math.exp(-1 / scale)
    low = np.exp(np.minimum(k, -1) / scale) / (1 + q)  # P(K <= k) for k < 0
    high = 1 - np.exp(-(np.maximum(k, 0) + 1) / scale) / (1 + q)
    return np.where(k < 0, low, high)


def geometric_cdf(k: np.ndarray, scale: float) -> np.ndarray:
    return np.where(k < 0, 0.0, -np.expm1(-(np.maximum(k, 0) + 1) / scale))


def rounded_gaussian_cdf(k: np.ndarray, sigma: float) -> np.ndarray:
    return stats.norm.cdf((k + 0.5) / sigma)


def discrete_gaussian_cdf(k: np.ndarray, sigma: float) -> np.ndarray:
    if sigma > 1e4:  # the midpoint rule: wrong by about 1 / (24 sigma**2), below 1e-9
        return stats.norm.cdf((k + 0.5) / sigma)
    reach = math.ceil(12 * sigma) + 2
    support = np.arange(-reach, reach + 1)
    cumulative = np.cumsum(np.exp(-0.5 * (support / sigma) ** 2))
    return cumulative[np.clip(k.astype(np.int64), -reach, reach) + reach] / cumulative[-1]


@dataclass(frozen=True)
class Family:
    name: str
    draw: Callable[..., np.ndarray]
    cdf: Cdf
    lowest: float  # in scales; below it nothing, or next to nothing, is drawn
    highest: float

    def __str__(self) -> str:
        return self.name


LAPLACE = Family("laplace", noise.discrete_laplace, laplace_cdf, -14, 14)
GEOMETRIC = Family("geometric", noise.geometric, geometric_cdf, 0, 14)
ROUNDED = Family("rounded", noise.rounded_gaussian, rounded_gaussian_cdf, -6, 6)
DISCRETE = Family("discrete", noise.discrete_gaussian, discrete_gaussian_cdf, -6, 6)
FAMILIES = [LAPLACE, GEOMETRIC, ROUNDED, DISCRETE]


def goodness(sample: np.ndarray, family: Family, scale: float, bins: int = 40) -> float:
    """p-value of a chi-squared test of `sample` against the exact distribution at `scale`."""
    grid = np.linspace(family.lowest * scale, family.highest * scale, 200_001)
    grid = np.unique(np.round(grid)).astype(np.int64)
    cumulative = family.cdf(grid.astype(np.float64), scale)
    tails = np.array([1e-5, 1e-4, 1e-3])
    levels = np.concatenate([tails, np.arange(1, bins) / bins, 1 - tails])
    edges = grid[np.clip(np.searchsorted(cumulative, np.sort(levels)), 0, len(grid) - 1)]
    edges = np.unique(edges).astype(np.int64)
    bounds = np.concatenate([[0.0], family.cdf(edges.astype(np.float64), scale), [1.0]])
    expected = np.diff(bounds) * sample.size
    observed = np.bincount(np.searchsorted(edges, sample.ravel()), minlength=len(edges) + 1)
    return chi_squared(observed, expected)


def chi_squared(observed: np.ndarray, expected: np.ndarray) -> float:
    """p-value, after cells with few expected draws were put together."""
    few = expected < 20
    impossible = expected <= 1e-9 * expected.sum() / max(1, expected.size)
    if observed[impossible].sum() > expected[impossible].sum() + 10:
        return 0.0
    observed = np.append(observed[~few], observed[few].sum())
    expected = np.append(expected[~few], expected[few].sum())
    if expected[-1] < 20:
        observed = np.append(observed[:-2], observed[-2:].sum())
        expected = np.append(expected[:-2], expected[-2:].sum())
    assert expected.size >= 2, "nothing to compare"
    statistic = ((observed - expected) ** 2 / expected).sum()
    return float(special.chdtrc(expected.size - 1, statistic))


@pytest.mark.parametrize("scale", [0.3, 0.5, 1.0, 10.0, 1e3, 1e6, 2.0**20, 1.5e6, 2.0**40, 2.0**50])
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_distribution(family: Family, scale: float) -> None:
    with noise.entropy.fixed(f"distribution {family} {scale}"):
        sample = family.draw(scale, 1_000_000)
    assert goodness(sample, family, scale) > ACCEPT
    if scale >= 0.5:
        assert goodness(sample, family, scale * 1.03) < REJECT
        assert goodness(sample, family, scale / 1.03) < REJECT


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.5, 1.0, 10.0, 1e3, 1e6])
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_distribution_to_half_a_percent(family: Family, scale: float) -> None:
    with noise.entropy.fixed(f"half a percent {family} {scale}"):
        sample = family.draw(scale, 10_000_000)
    assert goodness(sample, family, scale) > ACCEPT
    assert goodness(sample, family, scale * 1.005) < REJECT
    assert goodness(sample, family, scale / 1.005) < REJECT


@pytest.mark.parametrize("scale", [0.5, 1.0, 1e3, 1e6, 2.0**40])
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_weaker_noise_is_noticed(family: Family, scale: float) -> None:
    with noise.entropy.fixed("weaker"):
        sample = family.draw(0.9 * scale, 300_000)
    assert goodness(sample, family, scale) < REJECT


@pytest.mark.parametrize("scale", [0.5, 1.0, 10.0])
def test_a_forgotten_half_is_noticed(scale: float) -> None:
    rng = np.random.default_rng(1)
    normal = rng.normal(0, scale, 1_000_000)
    assert goodness(np.rint(normal).astype(np.int64), ROUNDED, scale) > ACCEPT
    truncated = np.trunc(normal).astype(np.int64)  # floor(|x|) instead of floor(|x| + 1/2)
    assert goodness(truncated, ROUNDED, scale) < REJECT
    exponential = rng.exponential(scale, 1_000_000)  # floor(s * -ln U): without the constant C
    sign = 1 - 2 * rng.integers(0, 2, 1_000_000)
    assert goodness(sign * np.floor(exponential).astype(np.int64), LAPLACE, scale) < REJECT


def test_the_two_gaussians_differ_and_are_told_apart() -> None:
    with noise.entropy.fixed(3):
        rounded = noise.rounded_gaussian(1, 1_000_000)
        discrete = noise.discrete_gaussian(1, 1_000_000)
    assert goodness(rounded, DISCRETE, 1.0) < REJECT
    assert goodness(discrete, ROUNDED, 1.0) < REJECT


def test_tiny_scales_are_almost_always_zero() -> None:
    for family in FAMILIES:
        for scale in (Fraction(1, 2**40), 1e-3, Fraction(1, 100)):
            assert not family.draw(scale, 100_000).any()
    with noise.entropy.fixed("tiny"):
        sample = noise.discrete_laplace(0.1, 1_000_000)  # P(K != 0) = 2 q / (1 + q), q = exp(-10)
    assert stats.binomtest(int((sample != 0).sum()), 1_000_000, 9.0796e-5).pvalue > ACCEPT


def low_bits(sample: np.ndarray) -> float:
    """p-value of a chi-squared test that the six lowest bits are uniform."""
    return chi_squared(np.bincount(sample & 63, minlength=64), np.full(64, sample.size / 64))


@pytest.mark.parametrize("scale", [2.0**21, 2.0**40, 2.0**50 - 1])
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_low_bits_of_large_noise(family: Family, scale: float) -> None:
    with noise.entropy.fixed(f"bits {family} {scale}"):
        sample = family.draw(scale, 300_000)
    assert low_bits(sample) > ACCEPT
    assert low_bits(sample >> 1 << 1) < REJECT


@pytest.mark.parametrize("scale", [Fraction(37), Fraction(13, 2)])
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_large_scale_path_at_a_small_scale(
    family: Family, scale: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the border moved down, the split is coarse, and each of its steps shows in the pmf."""
    monkeypatch.setattr(inversion, "NARROW", 4)
    assert inversion.shift_of(scale) > 0
    with noise.entropy.fixed(f"path {family} {scale}"):
        sample = family.draw(scale, 20_000)
    assert goodness(sample, family, float(scale)) > ACCEPT


def test_large_scale_path_without_a_step_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inversion, "NARROW", 4)
    monkeypatch.setattr(gaussian, "_accept", lambda *_: True)
    monkeypatch.setattr(laplace, "_accept", lambda *_: True)
    with noise.entropy.fixed("steps"):
        assert goodness(noise.rounded_gaussian(37, 100_000), ROUNDED, 37.0) < REJECT
        assert goodness(noise.geometric(37, 100_000), GEOMETRIC, 37.0) < REJECT


@pytest.mark.parametrize(
    ("distribution", "family", "scale"),
    [
        (laplace._laplace_magnitude(Fraction(3)), LAPLACE, 3.0),
        (laplace._geometric(Fraction(3)), GEOMETRIC, 3.0),
        (gaussian._magnitude(Fraction(5, 2)), ROUNDED, 2.5),
    ],
    ids=["laplace", "geometric", "rounded"],
)
def test_distribution_without_floating_point(
    distribution: inversion.Inversion, family: Family, scale: float
) -> None:
    """From no bits at all: every bit of U is revealed lazily and every decision is in integers."""
    with noise.entropy.fixed(f"integers {family}"):
        sample = np.array([distribution.exact(LazyUniform(0, 0)) for _ in range(4000)])
        if family is not GEOMETRIC:
            sample *= np.where(noise.bernoulli(Fraction(1, 2), sample.size), 1, -1)
    assert goodness(sample, family, scale, bins=20) > ACCEPT
    assert goodness(sample, family, scale * 1.3, bins=20) < REJECT


def uniformity(sample: np.ndarray, bound: int) -> float:
    """p-value of a chi-squared test that `sample` is uniform on 0..bound-1."""
    cells = min(bound, 48)
    edges = np.array([bound * cell // cells for cell in range(1, cells)], dtype=object)
    sizes = np.diff(np.concatenate([[0], edges, [bound]])).astype(np.float64)
    counts = np.bincount(np.searchsorted(edges.astype(np.int64), sample, "right"), minlength=cells)
    return chi_squared(counts, sizes / bound * sample.size)


@pytest.mark.parametrize("bound", [2, 3, 10, 1000, 3 << 20, 3 << 61, (1 << 63) - 25, 1 << 63])
def test_uniform_below(bound: int) -> None:
    with noise.entropy.fixed(bound):
        sample = noise.uniform_below(bound, 200_000)
        words = noise.random_words(200_000)
    assert sample.min() >= 0
    assert int(sample.max()) < bound
    assert uniformity(sample, bound) > ACCEPT
    biased = (words % np.uint64(bound)).astype(np.int64)
    if bound in (3 << 61, (1 << 63) - 25):  # 2**64 / bound: 8/3, where the bias is large, and 2
        assert (uniformity(biased, bound) < REJECT) == (bound == 3 << 61)


@pytest.mark.parametrize(
    "p", [0, "1e-4", 0.1, Fraction(1, 3), 0.5, "0.99", Fraction(257, 65536), 1]
)
def test_bernoulli(p: object) -> None:
    exact = float(Fraction(p))  # type: ignore[arg-type]
    with noise.entropy.fixed(f"bernoulli {p}"):
        count = int(noise.bernoulli(p, 400_000).sum())  # type: ignore[call-overload]
    assert stats.binomtest(count, 400_000, exact).pvalue > ACCEPT
    if 0.05 < exact < 1:
        assert stats.binomtest(count, 400_000, exact * 0.95).pvalue < REJECT


@pytest.mark.parametrize("gamma", [0, "1e-4", 0.1, Fraction(1, 3), 1, 5, 1000, 10**40])
def test_bernoulli_exp(gamma: object) -> None:
    exact = math.exp(-Fraction(gamma))  # type: ignore[arg-type]
    with noise.entropy.fixed(f"exp {gamma}"):
        count = int(noise.bernoulli_exp(gamma, 400_000).sum())  # type: ignore[call-overload]
    assert stats.binomtest(count, 400_000, exact).pvalue > ACCEPT
    if 0.05 < exact < 1:
        assert stats.binomtest(count, 400_000, exact * 0.95).pvalue < REJECT


def orders(sample: list[np.ndarray]) -> float:
    """p-value of a chi-squared test that all orders of 0..3 are equally frequent."""
    codes = np.array(sample) @ [64, 16, 4, 1]
    counts = np.unique(codes, return_counts=True)[1]
    assert len(counts) == 24
    return chi_squared(counts, np.full(24, len(sample) / 24))


def test_permutation() -> None:
    rng = np.random.default_rng(5)
    with noise.entropy.fixed("orders"):
        assert orders([noise.permutation(4) for _ in range(20_000)]) > ACCEPT
    wrong = []
    for _ in range(20_000):  # every place swaps with *any* other: the classical mistake
        order = np.arange(4)
        for i in range(4):
            j = rng.integers(4)
            order[[i, j]] = order[[j, i]]
        wrong.append(order)
    assert orders(wrong) < REJECT


def selection(sample: np.ndarray, scores: np.ndarray, factor: float, weights: np.ndarray) -> float:
    """p-value of a chi-squared test of drawn indices against the exact probabilities."""
    best = int(scores[weights > 0].max())
    gaps = np.array([float(best - int(score)) for score in scores])
    weight = weights * np.exp(-factor * np.where(weights > 0, gaps, 0))
    counts = np.bincount(sample, minlength=len(scores))
    return chi_squared(counts, weight / weight.sum() * sample.size)


SELECTIONS = {
    "few": ([3, 1, 4, 1, 5, -9, 2, 6], 0.25, None),
    "weighted": ([3, 1, 4, 1, 5, -9, 2, 6], 0.25, [1, 7, 0, 3, 2, 1000, 0, 1]),
    "uniform": ([5, -5, 17, 0], 0, None),
    "wild": ([-(2**63), 2**63 - 1, 2**63 - 2, 0, -1], 0.5, None),
    "heavy weights": ([0, 1, 2], 1e-3, [2**61, 2**60, 2**60]),
    "rare but heavy": ([0, 40], 1, [2**60, 3]),
    "best is worthless": ([100, 1, 2, 3], 0.5, [0, 5, 1, 1]),
}


@pytest.mark.parametrize("name", SELECTIONS)
def test_select(name: str) -> None:
    given, factor, masses = SELECTIONS[name]
    scores = np.array(given)
    weights = np.ones(len(scores)) if masses is None else np.array(masses, np.float64)
    with noise.entropy.fixed(name):
        sample = noise.select(scores, factor, masses, size=200_000)
    assert selection(sample, scores, factor, weights) > ACCEPT
    if factor and name != "heavy weights":  # where the factor is small against the weights
        assert selection(sample, scores, factor * 1.2, weights) < REJECT


def test_select_among_many() -> None:
    """A million candidates whose weights are far below the envelope's unit add up all the same."""
    scores = np.zeros(1_000_000, np.int64)
    scores[17] = 14  # exp(14) = 1.2e6: about as likely as all others together
    with noise.entropy.fixed("many"):
        share = int((noise.select(scores, 1, size=20_000) == 17).sum())
    exact = math.exp(14) / (math.exp(14) + 999_999)
    assert stats.binomtest(share, 20_000, exact).pvalue > ACCEPT
    assert stats.binomtest(share, 20_000, exact * 0.9).pvalue < REJECT
