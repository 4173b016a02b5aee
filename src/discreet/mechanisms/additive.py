"""Additive mechanisms: which noise, and how much of it, a sensitivity and a target need."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, final

from discreet import events
from discreet.accounting import NoBound, calibrate, satisfies
from discreet.coding import Sensitivity
from discreet.deprecation import former_method
from discreet.measures import ZCDP, ApproxDP, Measure, PureDP
from discreet.measures.convert import gaussian_delta
from discreet.mechanisms.distributions import (
    DiscreteGaussianDistribution,
    Distribution,
    GaussianDistribution,
    Integers,
    LaplaceDistribution,
    drawable_scale,
)
from discreet.rational import Number, square_root_above


class Mechanism(ABC):
    """A family of noise together with the privacy that it must give.

    Examples
    --------
    >>> import discreet as dp
    >>> schema, ledger = dp.Schema(age=dp.Integer(0, 100)), dp.Ledger(limit=dp.ZCDP(1))
    >>> data = dp.PrivateDataset({"age": [34, 51] * 500}, schema, ledger=ledger)
    >>> noise = dp.mechanisms.DiscreteGaussian(rho="1/2")  # a mechanism in place of a measure
    >>> isinstance(noise, dp.mechanisms.Mechanism)
    True
    >>> 980 < data.release(dp.Count(), noise).value < 1_020
    True
    """

    measure: Measure
    #: What it is for, said where it is given for sums.
    _use: ClassVar[str]

    def for_sums(self, sensitivity: Sensitivity, size: int) -> Distribution:
        """The noise for a vector of `size` sums; raises, saying why, if there is none."""
        raise TypeError(
            f"budget: {self!r} adds no noise to sums: {self._use}. Use a measure such as dp.PureDP(1), or "
            "Laplace or Gaussian noise."
        )


class AdditiveMechanism(Mechanism):
    """Integer noise on each coordinate of a vector of sums.

    Examples
    --------
    >>> from discreet import mechanisms, queries
    >>> isinstance(mechanisms.Laplace(1), mechanisms.AdditiveMechanism)
    True
    >>> mechanisms.Laplace("1/2").distribution(queries.Sensitivity(l1=1, l2_squared=1))
    LaplaceDistribution(scale=Fraction(2, 1))
    """

    def for_sums(self, sensitivity: Sensitivity, size: int) -> Distribution:
        return self.distribution(sensitivity)

    law = former_method("law", "distribution")

    @abstractmethod
    def distribution(self, sensitivity: Sensitivity) -> Distribution:
        """The noise that gives `measure` to integers with this sensitivity."""


def _no_noise_needed(sensitivity: Sensitivity) -> bool:
    return sensitivity.l1 == 0


@final
@dataclass(frozen=True)
class NoNoise(Distribution):
    """No noise at all, for an answer that no person can move, or one on public rows.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import mechanisms
    >>> mechanisms.NoNoise().run(np.array([3, 4]))
    array([3, 4])
    """

    def event(self, sensitivity: Sensitivity) -> events.Event:
        if sensitivity.l1:
            raise NoBound("an answer without noise has no privacy guarantee.")
        return events.Compose()

    def run(self, totals: Integers) -> Integers:
        return totals.copy()

    def expected_error(self) -> float:
        return 0.0

    def half_width(self, level: float) -> float:
        return 0.0


@final
class Laplace(AdditiveMechanism):
    """Discrete Laplace noise of scale sensitivity/ε: pure ε-DP, exactly.

    Privacy
    -------
    Dwork, McSherry, Nissim & Smith 2006; on integers Ghosh, Roughgarden & Sundararajan 2012.
    Proof page: ``docs/proofs/additive.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> schema, ledger = dp.Schema(age=dp.Integer(0, 100)), dp.Ledger(limit=dp.PureDP(1))
    >>> data = dp.PrivateDataset({"age": [34, 51] * 500}, schema, ledger=ledger)
    >>> data.plan(dp.Count(), dp.mechanisms.Laplace("1/2")).event
    DiscreteLaplace(scale=Fraction(2, 1), sensitivity=1)
    """

    def __init__(self, epsilon: Number) -> None:
        self.measure: PureDP = PureDP(epsilon)
        if self.measure.epsilon == 0:
            raise ValueError("epsilon must be greater than 0.")

    def distribution(self, sensitivity: Sensitivity) -> Distribution:
        epsilon = self.measure.epsilon
        if isinstance(epsilon, float) or _no_noise_needed(sensitivity):
            return NoNoise()
        return LaplaceDistribution(drawable_scale(sensitivity.l1 / epsilon))

    def __repr__(self) -> str:
        return f"Laplace({self.measure!r})"


def _target(
    epsilon: Number | None,
    delta: Number | None,
    rho: Number | None,
) -> ApproxDP | ZCDP:
    if rho is not None and epsilon is None and delta is None:
        concentrated = ZCDP(rho)
        if concentrated.rho == 0:
            raise ValueError("rho must be greater than 0.")
        return concentrated
    if rho is None and epsilon is not None and delta is not None:
        pair = ApproxDP(epsilon, delta)
        if not pair.delta:
            raise ValueError("delta must be greater than 0 for Gaussian noise.")
        return pair
    raise ValueError("give epsilon and delta, or rho.")


class _Normal(AdditiveMechanism):
    """Bell-shaped noise, for (ε, δ) with δ > 0 or for ρ of zCDP."""

    def __init__(
        self,
        epsilon: Number | None = None,
        delta: Number | None = None,
        *,
        rho: Number | None = None,
    ) -> None:
        self.measure: ApproxDP | ZCDP = _target(epsilon, delta, rho)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.measure!r})"


@final
class Gaussian(_Normal):
    """Rounded Gaussian noise, calibrated exactly: the analytic Gaussian mechanism, or ρ-zCDP.

    Privacy
    -------
    Balle & Wang 2018 for (ε, δ); Bun & Steinke 2016 for ρ. Proof page: ``docs/proofs/additive.md``.

    Examples
    --------
    >>> from discreet import mechanisms, queries
    >>> mechanism = mechanisms.Gaussian(1, 1e-5)
    >>> noise = mechanism.distribution(queries.Sensitivity(1, 1))
    >>> round(float(noise.sigma), 2)  # the formula in textbooks gives 4.84
    3.73
    """

    def distribution(self, sensitivity: Sensitivity) -> Distribution:
        if _no_noise_needed(sensitivity):
            return NoNoise()
        if isinstance(self.measure, ZCDP):
            if isinstance(self.measure.rho, float):
                return NoNoise()
            mu_squared = 2 * self.measure.rho
        else:
            if isinstance(self.measure.epsilon, float):
                return NoNoise()
            mu_squared = _analytic(self.measure)
        sigma = _round_up(square_root_above(sensitivity.l2_squared / mu_squared))
        while not satisfies(events.Gaussian(sigma, sensitivity.l2_squared), self.measure):
            sigma *= 1 + Fraction(1, 2**40)
        return GaussianDistribution(drawable_scale(sigma))


@lru_cache(maxsize=1024)
def _analytic(target: ApproxDP) -> Fraction:
    """The largest μ² (from below, to 1e-12) whose δ(ε) is at most δ."""
    low, high = 0.0, 1.0
    while high < 1e6 and gaussian_delta(Fraction(high), target.epsilon) <= target.delta:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if gaussian_delta(Fraction(middle), target.epsilon) <= target.delta:
            low = middle
        else:
            high = middle
        if high < 1e-60:
            raise ValueError("delta is too small for Gaussian noise: use a larger one, or Laplace.")
    return Fraction(low)


def _round_up(sigma: Fraction) -> Fraction:
    """`sigma` to 44 significant bits, from above: short in a ledger, and no less noise."""
    exponent = math.frexp(float(sigma))[1] - 44
    grid = Fraction(2) ** exponent
    return math.ceil(sigma / grid) * grid


@final
class DiscreteGaussian(_Normal):
    """Discrete Gaussian noise, calibrated by its privacy loss at sensitivity 1, else by its Rényi curve.

    Privacy
    -------
    Canonne, Kamath & Steinke 2020. For (ε, δ) it needs a little more noise than `Gaussian`, whose
    analytic formula does not hold for it. Proof page: ``docs/proofs/additive.md``.

    Examples
    --------
    >>> from discreet import mechanisms, queries
    >>> mechanism = mechanisms.DiscreteGaussian(1, 1e-5)
    >>> noise = mechanism.distribution(queries.Sensitivity(1, 1))
    >>> round(noise.expected_error(), 2)
    3.74
    """

    def distribution(self, sensitivity: Sensitivity) -> Distribution:
        if _no_noise_needed(sensitivity) or math.inf in vars(self.measure).values():
            return NoNoise()
        if isinstance(self.measure, ZCDP):
            sigma = square_root_above(sensitivity.l2_squared / (2 * Fraction(self.measure.rho)))
            return DiscreteGaussianDistribution(drawable_scale(_round_up(sigma)))
        squared = sensitivity.l2_squared
        unit = _discrete_unit(self.measure, 1 if squared == 1 else 2)
        sigma = _round_up(square_root_above(squared * unit**2))
        while not satisfies(events.DiscreteGaussian(sigma, squared), self.measure):
            sigma *= 1 + Fraction(1, 2**40)
        return DiscreteGaussianDistribution(drawable_scale(sigma))


@lru_cache(maxsize=1024)
def _discrete_unit(target: ApproxDP, sensitivity: int) -> Fraction:
    """σ/Δ for a sensitivity Δ: of 1 by its privacy loss, above 1 by the Rényi curve."""
    event = calibrate(lambda s: events.DiscreteGaussian(s, sensitivity=sensitivity), target)
    return event.sigma / sensitivity


def mechanism_for(measure: Measure, sensitivity: Sensitivity) -> AdditiveMechanism:
    """The additive mechanism with the least noise that gives `measure`.

    For (ε, δ) the smaller of Laplace noise, which then costs no δ, and Gaussian noise.

    Examples
    --------
    >>> from discreet import measures, mechanisms, queries
    >>> one_count = queries.Sensitivity(l1=1, l2_squared=1)
    >>> mechanisms.mechanism_for(measures.PureDP(1), one_count)
    Laplace(PureDP(epsilon=1))
    >>> many_counts = queries.Sensitivity(l1=100, l2_squared=100)
    >>> mechanisms.mechanism_for(measures.ApproxDP(1, 1e-6), many_counts)
    Gaussian(ApproxDP(epsilon=1, delta=1e-06))
    """
    match measure:
        case PureDP(epsilon=epsilon):
            return Laplace(epsilon)
        case ZCDP(rho=rho):
            return Gaussian(rho=rho)
        case ApproxDP(epsilon=epsilon, delta=delta):
            laplace = Laplace(epsilon)
            if delta == 0 or isinstance(epsilon, float) or _no_noise_needed(sensitivity):
                return laplace
            gaussian = Gaussian(epsilon, delta)
            try:
                errors = [m.distribution(sensitivity).expected_error() for m in (laplace, gaussian)]
            except ValueError:
                return gaussian
            return laplace if errors[0] <= errors[1] else gaussian
        case _:
            raise ValueError(
                f"no noise can be calibrated to {type(measure).__name__}: give dp.PureDP(epsilon), "
                "dp.ApproxDP(epsilon, delta), dp.ZCDP(rho), or a mechanism."
            )
