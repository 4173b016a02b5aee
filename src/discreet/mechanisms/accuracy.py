"""Accuracy in words: how far noise goes, for one number or for all bins of a histogram at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from scipy.special import ndtr

from discreet.measures.convert import gaussian_delta
from discreet.mechanisms.distributions import (
    LARGEST_SCALE,
    DiscreteGaussianDistribution,
    Distribution,
    GaussianDistribution,
    LaplaceDistribution,
    drawable_scale,
)
from discreet.mechanisms.staircase import StaircaseDistribution
from discreet.rational import Number, as_integer, positive, probability, rational

__all__ = [
    "epsilon_for_width",
    "published_gaussian_delta",
    "published_gaussian_sigma",
    "sigma_for_width",
    "simultaneous_width",
    "tail_probability",
]


def tail_probability(noise: Distribution, t: int) -> float:
    """P(\\|noise\\| > t) for an integer t >= 0.

    Discrete Laplace: 2q^(t+1)/(1 + q) with q = e^(-1/scale); rounded Gaussian: 2Φ(-(t + 1/2)/σ).

    Privacy
    -------
    A statement about noise, made of public numbers; it touches no data.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet import mechanisms
    >>> round(mechanisms.tail_probability(mechanisms.LaplaceDistribution(Fraction(2)), 5), 4)
    0.062
    """
    least = as_integer(t, "t")
    match noise:
        case LaplaceDistribution(scale=scale):
            step = float(1 / scale)
            return 2 * math.exp(-(least + 1) * step) / (1 + math.exp(-step))
        case GaussianDistribution(sigma=sigma):
            return float(2 * ndtr(-(least + 0.5) / float(sigma)))
        case DiscreteGaussianDistribution(sigma=sigma):
            s = float(sigma)
            if s > 1e5:
                raise ValueError("discrete Gaussian tails are summed up to sigma = 100000 only.")
            k = np.arange(0.0, math.ceil(40 * s) + 2)
            mass = np.exp(-(k**2) / (2 * s**2)) * np.where(k == 0, 1.0, 2.0)
            return float(mass[least + 1 :].sum() / mass.sum())
        case StaircaseDistribution():
            return noise.tail(least)
        case _:
            raise TypeError(f"no tail is known for {type(noise).__name__}.")


def simultaneous_width(noise: Distribution, beta: Number, bins: int = 1) -> int:
    """The least t such that all of `bins` independent noises stay within ±t with probability 1 - β.

    Each may exceed t with probability 1 - (1 - β)^(1/bins): exact, where a union bound has β/bins.

    Privacy
    -------
    A statement about noise, made of public numbers; it touches no data.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet import mechanisms
    >>> noise = mechanisms.LaplaceDistribution(Fraction(2))
    >>> mechanisms.simultaneous_width(noise, "1/20")
    6
    >>> mechanisms.simultaneous_width(noise, "1/20", bins=50)  # all fifty bars of a histogram
    14
    """
    risk = float(probability(beta, "beta"))
    count = as_integer(bins, "bins", minimum=1)
    if not 0 < risk < 1:
        raise ValueError("beta must be greater than 0 and less than 1.")
    each = -math.expm1(math.log1p(-risk) / count) * (1 - 1e-12)
    high = 1
    while tail_probability(noise, high) > each:
        high *= 2
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tail_probability(noise, middle) <= each else (middle, high)
    return high


def epsilon_for_width(width: int, beta: Number, *, sensitivity: int = 1, bins: int = 1) -> Fraction:
    """The least ε (to 2^-20 relative, from above) for which Laplace noise stays within ±width.

    `sensitivity` is the L1 sensitivity of the vector of `bins` integers; all stay within the width
    together with probability 1 - β. The inverse of `simultaneous_width`.

    Examples
    --------
    >>> from discreet import mechanisms
    >>> round(float(mechanisms.epsilon_for_width(10, "1/20")), 3)  # within ±10 with 95 %
    0.284
    """
    moved = as_integer(sensitivity, "sensitivity", minimum=1)
    wanted = as_integer(width, "width")

    def enough(epsilon: Fraction) -> bool:
        scale = moved / epsilon
        if scale > LARGEST_SCALE:  # the samplers can't draw it
            return False
        return simultaneous_width(LaplaceDistribution(drawable_scale(scale)), beta, bins) <= wanted

    return _minimum(enough)


def sigma_for_width(width: int, beta: Number, *, bins: int = 1) -> Fraction:
    """The largest σ (to 2^-20 relative, from below) for which rounded Gaussian noise stays within ±width.

    Give it to `events.Gaussian` to learn what that costs.

    Examples
    --------
    >>> from discreet import mechanisms
    >>> round(float(mechanisms.sigma_for_width(10, "1/20")), 3)
    5.357
    """
    wanted = as_integer(width, "width")

    def enough(inverse: Fraction) -> bool:
        sigma = 1 / inverse
        if sigma > LARGEST_SCALE:  # the samplers can't draw it
            return False
        return simultaneous_width(GaussianDistribution(drawable_scale(sigma)), beta, bins) <= wanted

    return 1 / _minimum(enough)


def _minimum(enough: Callable[[Fraction], bool]) -> Fraction:
    high = Fraction(1)
    while not enough(high):
        high *= 2
    while high > Fraction(1, 2**40) and enough(high / 2):
        high /= 2
    low = high / 2
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def published_gaussian_sigma(epsilon: Number, delta: Number, sensitivity: Number = 1) -> float:
    """The classic formula sensitivity·√(2·log(1.25/δ))/ε, as published; not used for calibration here.

    Proved for ε < 1 (Dwork & Roth 2014, Theorem 3.22). Its noise also suffices up to some larger ε, but
    not beyond: at δ = 1e-4 it first fails near ε = 8. `mechanisms.Gaussian` is right for every ε, with
    less noise.

    Privacy
    -------
    None is claimed for ε >= 1. `published_gaussian_delta` gives the δ that it really has.

    Examples
    --------
    >>> from discreet import mechanisms
    >>> round(mechanisms.published_gaussian_sigma(1, 1e-5), 2)
    4.84
    """
    e, d = positive(epsilon, "epsilon"), probability(delta, "delta")
    if not 0 < d < 1:
        raise ValueError("delta must be greater than 0 and less than 1.")
    moved = float(rational(sensitivity, "sensitivity"))
    return moved * math.sqrt(2 * math.log(1.25 / float(d))) / float(e)


def published_gaussian_delta(epsilon: Number, delta: Number) -> float:
    """The δ at `epsilon` of the noise of `published_gaussian_sigma` (Balle & Wang 2018, Theorem 8).

    Examples
    --------
    >>> from discreet import mechanisms
    >>> mechanisms.published_gaussian_delta(1, 1e-4) < 1e-4
    True
    >>> mechanisms.published_gaussian_delta(10, 1e-4) < 1e-4
    False
    """
    sigma = Fraction(published_gaussian_sigma(epsilon, delta))
    return gaussian_delta(1 / sigma**2, positive(epsilon, "epsilon"))
