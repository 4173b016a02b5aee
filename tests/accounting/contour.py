"""δ(ε) of sums of privacy losses by a contour integral with many digits: an oracle without grid or transform.

For θ > 0 and M(s) = E[e^(sL)], L the loss of the first distribution against the second,

    δ(ε) = 1/2π · ∫ M(θ + it)·e^(-(θ + it)ε)/((θ + it)(θ + it + 1)) dt,

since 1/(s(s + 1)) is the Laplace transform of 1 - e^-u. Moments are in closed form, or sums that converge
geometrically. The trapezoidal rule does too, as long as one of the losses has a smooth density (sums of
losses on a lattice have moments that come back, and are tested by adding up instead).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np

Moment = Callable[[mpmath.mpc], mpmath.mpc]


def number(value: Fraction | float | str) -> mpmath.mpf:
    value = Fraction(value)
    return mpmath.mpf(value.numerator) / value.denominator


def normal(mu_squared: Fraction) -> Moment:
    m = number(mu_squared)
    return lambda s: s * (s + 1) * m / 2


def response(epsilon: Fraction) -> Moment:
    e = number(epsilon)
    p = 1 / (1 + mpmath.exp(-e))
    return lambda s: mpmath.log(p * mpmath.exp(s * e) + (1 - p) * mpmath.exp(-s * e))


def _log_moment(weights: np.ndarray, losses: np.ndarray, power: complex) -> mpmath.mpc:
    """log Σ w·e^(power·loss), right to about 1e-15 of itself also where it is next to 0."""
    exponents = power * losses
    top = float(np.max(exponents.real))
    if top < 300:
        return mpmath.log1p(mpmath.mpc(complex(np.sum(weights * np.expm1(exponents)))))
    return top + mpmath.log(mpmath.mpc(complex(np.sum(weights * np.exp(exponents - top)))))


def discrete_normal(sigma: Fraction, shift: int) -> Moment:
    k = np.arange(-int(30 * sigma) - 5, int(30 * sigma) + 6)
    weights = np.exp(-((k / float(sigma)) ** 2) / 2)
    weights /= weights.sum()
    losses = shift * (shift - 2 * k) / (2 * float(sigma) ** 2)
    return lambda s: _log_moment(weights, losses, complex(s))


def sampled(mu_squared: Fraction, chance: Fraction, *, person_comes: bool = False) -> Moment:
    """(1-q)N(0,1) + qN(μ,1) against N(0,1), or the other way round, by the trapezoidal rule in x."""
    q, mu = float(chance), math.sqrt(mu_squared)
    step = min(1.0, 1 / mu) / 16
    x = step * np.arange(int(-14 / step), int((14 + 20 * mu) / step))
    weights = step * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    losses = np.log1p(q * np.expm1(mu * x - mu * mu / 2))

    sign, start = (-1, 0) if person_comes else (1, 1)
    return lambda s: _log_moment(weights, losses, sign * complex(s) + start)


def exact_delta(
    moments: list[tuple[Moment, int]], epsilon: Fraction, digits: int = 30
) -> mpmath.mpf:
    """δ(ε) of the sum of all losses, each as often as it is counted."""
    with mpmath.workdps(digits):
        at = number(epsilon)

        @cache
        def exponent(s: mpmath.mpc) -> mpmath.mpc:
            return mpmath.fsum(count * moment(s) for moment, count in moments) - s * at

        theta = _saddle(exponent)
        curvature = (exponent(theta * mpmath.mpf("1.01")) + exponent(theta * mpmath.mpf("0.99"))
                     - 2 * exponent(theta)) / (theta / 100) ** 2  # fmt: skip
        step = min(1 / mpmath.sqrt(abs(curvature)), theta) / 4
        total, k, top = mpmath.mpf(0), 0, mpmath.mpf(0)
        while True:
            s = mpmath.mpc(theta, k * step)
            term = mpmath.re(mpmath.exp(exponent(s)) / (s * (s + 1)))
            size = mpmath.exp(mpmath.re(exponent(s))) / abs(s * (s + 1))
            top = max(top, size)
            total += term if k else term / 2
            k += 1
            if size < top * mpmath.mpf("1e-11"):
                return total * step / mpmath.pi
            assert k < 4000, "the integral doesn't converge: is there a smooth density?"


def _saddle(exponent: Callable[[mpmath.mpc], mpmath.mpc]) -> mpmath.mpf:
    low, high = mpmath.mpf("-12"), mpmath.mpf("12")  # of log θ
    for _ in range(24):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        values = [mpmath.re(exponent(mpmath.exp(x))) - x for x in (left, right)]
        if values[0] < values[1]:
            high = right
        else:
            low = left
    return mpmath.exp((low + high) / 2)
