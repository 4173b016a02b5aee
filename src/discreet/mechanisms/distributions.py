"""Distributions of integer noise: what is drawn, what it costs, how far it goes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from discreet import events, noise
from discreet.coding import Sensitivity

Integers = npt.NDArray[np.int64]

#: The largest and the smallest scale that is drawn; noise of the latter is non-zero once in e^(2^30) times.
LARGEST_SCALE = 2**50
SMALLEST_SCALE = Fraction(1, 2**30)


def drawable_scale(scale: Fraction) -> Fraction:
    """A scale that the samplers can draw: at least the smallest one; above the largest, an error.

    Every plan for noise goes through here, so what can't be drawn is refused before it is paid for.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet import mechanisms
    >>> mechanisms.drawable_scale(Fraction(3, 2))
    Fraction(3, 2)
    >>> mechanisms.drawable_scale(Fraction(1, 2) ** 80) > Fraction(1, 2) ** 80
    True
    """
    if scale > LARGEST_SCALE:
        power = (scale.numerator // scale.denominator).bit_length() - 1
        raise ValueError(
            f"this answer would need noise of a scale above 2^{power}, more than can be drawn (2^50): "
            "ask with a larger budget, or for fewer coordinates at once."
        )
    return max(scale, SMALLEST_SCALE)


def _check_scale(scale: Fraction) -> None:
    if drawable_scale(scale) > scale:
        raise ValueError("noise of a scale below 2^-30 can't be drawn: use a larger scale.")


class Distribution(ABC):
    """A distribution of integer noise, added to each coordinate separately.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from discreet import mechanisms, queries
    >>> noise = mechanisms.LaplaceDistribution(Fraction(2))
    >>> isinstance(noise, mechanisms.Distribution)
    True
    >>> noise.run(np.array([100, 200])).shape
    (2,)
    >>> noise.event(queries.Sensitivity(1, 1))
    DiscreteLaplace(scale=Fraction(2, 1), sensitivity=1)
    """

    @abstractmethod
    def event(self, sensitivity: Sensitivity) -> events.Event:
        """The event of adding this noise to integers with that sensitivity, for the accountant."""

    @abstractmethod
    def run(self, totals: Integers) -> Integers:
        """The integers with fresh noise on each."""

    @abstractmethod
    def expected_error(self) -> float:
        """The standard deviation of the noise on one coordinate."""

    @abstractmethod
    def half_width(self, level: float) -> float:
        """The least t with P(\\|noise\\| <= t) >= level."""


@final
@dataclass(frozen=True)
class LaplaceDistribution(Distribution):
    """Discrete Laplace noise, P(k) ∝ exp(-\\|k\\|/scale).

    Privacy
    -------
    sensitivity.l1/scale of pure DP. Exact: ``docs/proofs/noise.md``, ``docs/proofs/additive.md``.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet import mechanisms
    >>> noise = mechanisms.LaplaceDistribution(Fraction(2))
    >>> round(noise.expected_error(), 3), noise.half_width(0.95)
    (2.799, 6)
    """

    scale: Fraction

    def __post_init__(self) -> None:
        _check_scale(self.scale)

    def event(self, sensitivity: Sensitivity) -> events.DiscreteLaplace:
        return events.DiscreteLaplace(self.scale, sensitivity.l1)

    def run(self, totals: Integers) -> Integers:
        return totals + noise.discrete_laplace(self.scale, totals.shape)

    def expected_error(self) -> float:
        step = float(1 / self.scale)
        return math.sqrt(2 * math.exp(-step)) / -math.expm1(-step)  # 2q/(1-q)²

    def half_width(self, level: float) -> float:
        step = float(1 / self.scale)
        # P(|K| > t) = 2 q^(t+1)/(1+q)
        tail = math.log(2 / (1 + math.exp(-step))) - math.log1p(-level)
        return max(0.0, math.ceil(tail / step * (1 + 1e-12)) - 1)


@final
@dataclass(frozen=True)
class GaussianDistribution(Distribution):
    """Rounded Gaussian noise: the integer nearest N(0, sigma²).

    Privacy
    -------
    On integer sums it is post-processing of the Gaussian mechanism, so all its theorems hold.
    Exact: ``docs/proofs/noise.md``, ``docs/proofs/additive.md``.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet import mechanisms
    >>> noise = mechanisms.GaussianDistribution(Fraction(5, 2))
    >>> round(noise.expected_error(), 3), round(noise.half_width(0.95), 2)
    (2.517, 5.0)
    """

    sigma: Fraction

    def __post_init__(self) -> None:
        _check_scale(self.sigma)

    def event(self, sensitivity: Sensitivity) -> events.Gaussian:
        return events.Gaussian(self.sigma, sensitivity.l2_squared)

    def run(self, totals: Integers) -> Integers:
        return totals + noise.rounded_gaussian(self.sigma, totals.shape)

    def expected_error(self) -> float:
        sigma = float(self.sigma)
        if sigma > 3:  # by then rounding adds 1/12 to within 1e-30
            return math.sqrt(sigma**2 + 1 / 12)
        k = np.arange(1, 40)
        mass = ndtr(-(k - 0.5) / sigma) - ndtr(-(k + 0.5) / sigma)
        return math.sqrt(2 * float(mass @ k**2))

    def half_width(self, level: float) -> float:
        quantile = -float(ndtri((1 - level) / 2))
        return max(0.0, float(math.ceil(float(self.sigma) * quantile * (1 + 1e-12) - 0.5)))


@final
@dataclass(frozen=True)
class DiscreteGaussianDistribution(Distribution):
    """Discrete Gaussian noise, P(k) ∝ exp(-k²/2sigma²).

    Privacy
    -------
    sensitivity.l2_squared/(2·sigma²) of zCDP, and its Rényi curve; the analytic formula of the Gaussian
    is false for it (Canonne, Kamath & Steinke 2020). Proof page: ``docs/proofs/additive.md``.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet import mechanisms
    >>> noise = mechanisms.DiscreteGaussianDistribution(Fraction(5, 2))
    >>> round(noise.expected_error(), 3), noise.half_width(0.95)
    (2.5, 5.0)
    """

    sigma: Fraction

    def __post_init__(self) -> None:
        _check_scale(self.sigma)

    def event(self, sensitivity: Sensitivity) -> events.DiscreteGaussian:
        return events.DiscreteGaussian(self.sigma, sensitivity.l2_squared)

    def run(self, totals: Integers) -> Integers:
        return totals + noise.discrete_gaussian(self.sigma, totals.shape)

    def _masses(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        sigma = float(self.sigma)
        k = np.arange(0.0, math.ceil(12 * sigma) + 2)
        mass = np.exp(-(k**2) / (2 * sigma**2)) * np.where(k == 0, 1.0, 2.0)
        return k, mass / mass.sum()

    def expected_error(self) -> float:
        if self.sigma > 20:  # by then equal to sigma in every digit
            return float(self.sigma)
        k, mass = self._masses()
        return math.sqrt(float(mass @ k**2))

    def half_width(self, level: float) -> float:
        if self.sigma > 10**4:
            return GaussianDistribution(self.sigma).half_width(level) + 1
        k, mass = self._masses()
        return float(k[np.searchsorted(np.cumsum(mass), level)])
