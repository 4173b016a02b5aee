"""Attacks on noise added to integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import norm

from discreet import accounting
from discreet.audit.exact import cells, exact
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.coding import Sensitivity
from discreet.measures import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.mechanisms import (
    DiscreteGaussianDistribution,
    Distribution,
    Gaussian,
    GaussianDistribution,
    LaplaceDistribution,
    Staircase,
    accuracy,
)
from discreet.mechanisms.staircase import StaircaseDistribution


def plus(distribution: Distribution) -> Callable[..., Any]:
    """The mechanism that adds this noise to an integer or to a vector."""

    def noised(value: Any, trials: int) -> Any:
        return distribution.run(np.repeat(np.asarray(value, np.int64)[None], trials, axis=0))

    return noised


@attack("discrete-laplace")
def discrete_laplace() -> Iterator[Part]:
    for scale, shift in ((Fraction(2), 1), (Fraction(1), 1), (Fraction(7), 5), (Fraction(1, 4), 1)):
        distribution = LaplaceDistribution(scale)
        claim = accounting.cost(distribution.event(Sensitivity(shift, shift**2)), PureDP)
        yield Case(f"scale {scale}, shift {shift}", plus(distribution), (0, shift), claim, 200_000)
    distribution = LaplaceDistribution(Fraction(3))
    claim = accounting.cost(distribution.event(Sensitivity(3, 9)), PureDP)
    yield Case(
        "a vector", plus(distribution), (np.zeros(3, int), np.array([1, -1, 1])), claim, 100_000
    )


@attack("rounded-gaussian")
def rounded_gaussian() -> Iterator[Part]:
    for sigma, shift in ((2, 1), (1, 1), (9, 5), (1000, 1000)):
        distribution = GaussianDistribution(Fraction(sigma))
        sensitivity = Sensitivity(shift, shift**2)
        claim = accounting.cost(distribution.event(sensitivity), GaussianDP)
        yield Case(f"σ = {sigma}, shift {shift}", plus(distribution), (0, shift), claim, 200_000)
    calibrated = plus(Gaussian(1, "1/100").distribution(Sensitivity(1, 1)))
    yield Case("calibrated to (1, 0.01)", calibrated, (0, 1), ApproxDP(1, "1/100"), 200_000)


@attack("discrete-gaussian")
def discrete_gaussian() -> Iterator[Part]:
    for sigma, shift in ((2, 1), (9, 5)):
        distribution = DiscreteGaussianDistribution(Fraction(sigma))
        claim = accounting.cost(distribution.event(Sensitivity(shift, shift**2)), ZCDP)
        yield Case(f"σ = {sigma}, shift {shift}", plus(distribution), (0, shift), claim, 100_000)
        p, q = (discrete_gaussian_distribution(float(sigma), at) for at in (0, shift))
        yield exact(p, q, claim, title=f"σ = {sigma}, shift {shift}: its distribution")


def discrete_gaussian_distribution(sigma: float, centre: int, reach: int = 4000) -> Any:
    """Probabilities of the integers from -reach to reach."""
    logs = -((np.arange(-reach, reach + 1) - centre) ** 2) / (2 * sigma**2)
    whole = -(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2)
    return np.exp(logs - np.logaddexp.reduce(whole))


@attack("analytic-formula-for-discrete-gaussian")
def analytic_for_discrete() -> Iterator[AuditResult]:
    for epsilon, delta, shift in ((1.0, 1e-5, 1), (8.0, 1e-5, 2), (4.0, 0.05, 1)):
        distribution = Gaussian(epsilon, delta).distribution(Sensitivity(shift, shift**2))
        assert isinstance(distribution, GaussianDistribution)
        p, q = (discrete_gaussian_distribution(float(distribution.sigma), at) for at in (shift, 0))
        title = f"σ by the analytic formula at ({epsilon:g}, {delta:g}), Δ = {shift}"
        yield exact(p, q, ApproxDP(epsilon, delta), title=title)


@attack("classic-gaussian-formula")
def classic_formula() -> Iterator[Part]:
    for epsilon, delta in ((10.0, 0.01), (9.0, 1e-5)):
        sigma = accuracy.published_gaussian_sigma(epsilon, delta)
        edges = np.linspace(-4, 5, 20_001)
        p, q = (cells(norm(at, sigma).cdf, edges) for at in (0.0, 1.0))
        title = f"σ = √(2 log(1.25/δ))/ε at ({epsilon:g}, {delta:g})"
        yield exact(p, q, ApproxDP(epsilon, delta), title=title, error=1e-15)


@attack("staircase")
def staircase() -> Iterator[Part]:
    for epsilon, width in ((1, 1), (2, 5)):
        mechanism = Staircase(epsilon)
        claim = accounting.cost(mechanism.event(width), PureDP)
        noise = mechanism.noise(width)
        yield Case(f"ε = {epsilon}, Δ = {width}", draw_with(noise), (0, width), claim, 200_000)


def draw_with(noise: StaircaseDistribution) -> Callable[..., Any]:
    """The mechanism that adds such noise to an integer."""
    return lambda value, trials: value + noise.draw(trials)
