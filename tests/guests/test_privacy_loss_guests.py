"""Our accounting beside prv_accountant, mpmath and exact sums; each must notice half the noise."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from loss_oracles import mixed_delta, sampled_gaussian_delta

from discreet import accounting, events
from discreet.events import Compose, DiscreteLaplace, Event, Gaussian, Poisson, Repeat

DELTAS = (1e-2, 1e-4, 1e-6, 1e-9)
#: How far above the truth an ε may be: this share of it, and a little where it is tiny. Laplace draws are the
#: loosest, since their losses are rounded up to a grid: 0.499 for 0.486 after ten of them at δ = 0.01.
TIGHT, GRID = 0.03, 5e-4


def composed(sigma: Fraction, gaussians: int, scale: Fraction, laplaces: int) -> Event:
    """Gaussian noise for a sensitivity of 1 and Laplace noise for one of 2, several times each."""
    parts: list[Event] = []
    if gaussians:
        parts.append(Repeat(Gaussian(sigma), gaussians))
    if laplaces:
        parts.append(Repeat(DiscreteLaplace(scale, 2), laplaces))
    return Compose(*parts)


COUNTS = [(1, 0), (10, 0), (500, 0), (0, 1), (0, 10), (0, 60), (1, 1), (10, 5), (40, 30)]


@pytest.mark.parametrize(("gaussians", "laplaces"), COUNTS)
def test_epsilon_is_above_the_exact_one_and_near_it(gaussians, laplaces):
    sigma, scale = Fraction(8), Fraction(20)
    event = composed(sigma, gaussians, scale, laplaces)
    mu_squared = gaussians / sigma**2
    laplace = (scale, 2, laplaces) if laplaces else None
    for delta in DELTAS:
        ours = float(accounting.epsilon_at(event, delta).epsilon)
        assert mixed_delta(mu_squared, laplace, ours) <= delta
        if ours > 1e-6:
            least = ours * (1 - TIGHT) - GRID
            assert mixed_delta(mu_squared, laplace, least) > delta
        # the control: whoever believes in twice the noise is caught
        believed = composed(2 * sigma, gaussians, 2 * scale, laplaces)
        half = float(accounting.epsilon_at(believed, delta).epsilon)
        if ours > 1e-6:
            assert mixed_delta(mu_squared, laplace, half) > delta


@pytest.mark.parametrize("chance", ["1/100", "1/10", "1/2"])
@pytest.mark.parametrize("sigma", ["1/2", 1, 3])
def test_one_sampled_gaussian_is_above_the_exact_one_and_near_it(chance, sigma):
    q, s = Fraction(chance), Fraction(sigma)
    for delta in (1e-3, 1e-5, 1e-7):
        ours = float(accounting.epsilon_at(Poisson(q, Gaussian(s)), delta).epsilon)
        assert sampled_gaussian_delta(float(q), float(s), ours) <= delta
        if ours < 1e-3:
            continue
        assert sampled_gaussian_delta(float(q), float(s), ours * (1 - TIGHT) - GRID) > delta
        half = float(accounting.epsilon_at(Poisson(q, Gaussian(2 * s)), delta).epsilon)
        assert sampled_gaussian_delta(float(q), float(s), half) > delta


def prv_bounds(parts: list[tuple[object, int]], delta: float) -> tuple[float, float]:
    """The interval of prv_accountant (Gopi, Lee & Wutschitz 2021) for ε at δ."""
    from prv_accountant import PRVAccountant

    counts = [count for _, count in parts]
    accountant = PRVAccountant(
        prvs=[part for part, _ in parts],
        max_self_compositions=counts,
        eps_error=0.02,
        delta_error=delta / 1000,
    )
    low, _, high = accountant.compute_epsilon(delta=delta, num_self_compositions=counts)
    return float(low), float(high)


def prv_parts(
    sigma: float, gaussians: int, loss: float, laplaces: int, chance: float, sampled: int
):
    from prv_accountant import (
        GaussianMechanism,
        LaplaceMechanism,
        PoissonSubsampledGaussianMechanism,
    )

    every = [
        (GaussianMechanism(sigma), gaussians),
        (LaplaceMechanism(loss), laplaces),
        (PoissonSubsampledGaussianMechanism(chance, sigma), sampled),
    ]
    return [(part, count) for part, count in every if count]


#: Laplace noise on so fine a grid that it is nearly continuous.
FINE = 400


def our_parts(
    sigma: Fraction, gaussians: int, loss: Fraction, laplaces: int, chance: Fraction, sampled: int
):
    every: list[tuple[events.Event, int]] = [
        (Gaussian(sigma), gaussians),
        (DiscreteLaplace(FINE / loss, FINE), laplaces),
        (Poisson(chance, Gaussian(sigma)), sampled),
    ]
    return Compose(*(Repeat(event, count) for event, count in every if count))


#: σ, Gaussians; ε of a Laplace draw, how many; chance of being sampled, sampled Gaussians.
SMALL = [
    ("4", 10, "1/10", 0, "1/10", 0),
    ("4", 0, "1/10", 10, "1/10", 0),
    ("1", 0, "1/10", 0, "1/100", 100),
    ("4", 10, "1/10", 10, "1/20", 50),
]
LARGE = [
    ("20", 1000, "1/10", 0, "1/10", 0),
    ("4", 0, "1/50", 300, "1/10", 0),
    ("1", 0, "1/10", 0, "1/100", 3000),
    ("2", 0, "1/10", 0, "1/10", 300),
    ("3/4", 0, "1/10", 0, "1/1000", 10_000),
    ("8", 100, "1/50", 100, "1/20", 500),
]
CASES = [
    *(
        pytest.param(case, delta, marks=pytest.mark.long)
        for case, delta in itertools.product(SMALL, [1e-5])
    ),
    *(
        pytest.param(case, delta, marks=pytest.mark.slow)
        for case, delta in itertools.product(SMALL, [1e-2, 1e-7])
    ),
    *(
        pytest.param(case, delta, marks=pytest.mark.slow)
        for case, delta in itertools.product(LARGE, [1e-3, 1e-5, 1e-7])
    ),
]


@pytest.mark.parametrize(("case", "delta"), CASES)
def test_epsilon_is_within_what_prv_accountant_proves(case, delta):
    numbers = [Fraction(x) if isinstance(x, str) else x for x in case]
    low, high = prv_bounds(
        prv_parts(*(float(x) if isinstance(x, Fraction) else x for x in numbers)), delta
    )
    ours = float(accounting.epsilon_at(our_parts(*numbers), delta).epsilon)
    # the grid of our Laplace noise makes it a little more private than continuous noise
    grid = numbers[3] * float(numbers[2]) / FINE
    assert low - grid - 1e-9 <= ours <= high * 1.02 + 0.02
    # the control: whoever believes in twice the noise is caught
    numbers[0], numbers[2] = 2 * numbers[0], numbers[2] / 2
    assert float(accounting.epsilon_at(our_parts(*numbers), delta).epsilon) < low - grid
