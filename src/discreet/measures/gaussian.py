"""The exact (ε, δ) curve of Gaussian DP. Proof page: ``docs/proofs/conversions.md``."""

from __future__ import annotations

import math
from fractions import Fraction

from scipy.special import erfcx, ndtr

from discreet.rational import float_above

__all__ = ["gaussian_delta", "gaussian_epsilon"]

#: A few times the relative error of one evaluation of `erfcx`, `ndtr` or `exp` at its float argument.
_ROUNDING = 2e-15

#: δ of a Gaussian is never 0, however large ε: what is below the floats is rounded up to this.
_TINY = 1e-300

#: The ε of `gaussian_epsilon` are decimals of 12 digits: multiples of a power of ten over this.
_GRID = 10**12


def gaussian_delta(mu_squared: Fraction, epsilon: Fraction | float) -> float:
    """δ(ε) of μ-Gaussian DP, rounded up.

    Φ(a) - e^ε Φ(b) with a = μ/2 - ε/μ, b = -μ/2 - ε/μ (Balle & Wang 2018, Theorem 8). Because of
    b²/2 - ε = a²/2 the second term is exp(-a²/2)·erfcx(-b/√2)/2, and a², b² are rational: nothing
    large is ever subtracted from something large.
    """
    if mu_squared == 0 or epsilon == math.inf:
        return 0.0
    m, e = Fraction(mu_squared), Fraction(epsilon)
    inside = m / 2 - e  # μ·a
    a_squared, b_squared = inside**2 / m, (m / 2 + e) ** 2 / m
    if inside < 0 and a_squared > 1400:
        return _TINY  # δ <= exp(-a²/2)/2
    if inside > 0 and a_squared > 1400:
        return 1.0
    a, b = math.sqrt(a_squared), math.sqrt(float_above(b_squared))
    error = _ROUNDING * (4 + float(a_squared))
    tail = math.exp(-float(a_squared) / 2) / 2
    if inside < 0:
        first = tail * float(erfcx(a / math.sqrt(2)))
    else:
        first = float(ndtr(a))
    second = tail * float(erfcx(b / math.sqrt(2)))
    return min(1.0, max(_TINY, first * (1 + error) - second * (1 - error)))


def gaussian_epsilon(mu_squared: Fraction, delta: Fraction) -> Fraction | float:
    """The ε of μ-Gaussian DP at δ, from above: the least decimal of 12 digits that is enough."""
    if mu_squared == 0 or delta >= 1:
        return Fraction(0)
    if delta <= 0:
        return math.inf
    if gaussian_delta(mu_squared, Fraction(0)) <= delta:
        return Fraction(0)
    high = Fraction(1)
    while gaussian_delta(mu_squared, high) > delta:
        high *= 10
        if high > 10**9:
            return math.inf
    while high > Fraction(1, 10**30) and gaussian_delta(mu_squared, high / 10) <= delta:
        high /= 10
    unit = high / _GRID
    low, top = 0, _GRID
    while top - low > 1:
        middle = (low + top) // 2
        if gaussian_delta(mu_squared, middle * unit) <= delta:
            top = middle
        else:
            low = middle
    return Fraction(top) * unit
