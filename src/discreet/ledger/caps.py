"""From an (ε, δ) limit to the largest totals that keep it, found once and from the private side."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.measures import ZCDP, ApproxDP, Renyi, convert

__all__ = ["order_cap", "orders_for", "rho_cap"]

_STEP = 1 << 64
_PLACES = 10**30


def rho_cap(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A ρ, close to the largest, for which ρ-zCDP implies (ε, δ)-DP; 30 decimal places.

    The conversion is Canonne, Kamath & Steinke 2020, Proposition 12. Bisection ends on the private
    side.
    """
    if epsilon == 0 or delta == 0:
        return Fraction(0)

    def holds(rho: Fraction) -> bool:
        return convert(ZCDP(rho), ApproxDP, delta=delta).epsilon <= epsilon

    # (√(ε + L) - √L)², L = log(1/δ), is always enough: Bun & Steinke 2016, Proposition 1.3
    log = -math.log(delta)
    start = (float(epsilon) / (math.sqrt(float(epsilon) + log) + math.sqrt(log))) ** 2
    low, high = Fraction(0), Fraction(start)
    while holds(high):
        low, high = high, 2 * high
    while high - low > low * Fraction(1, 10**10) and high > Fraction(start) / 2**20:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    rounded = Fraction(math.floor(low * _PLACES), _PLACES)
    return rounded if rounded and holds(rounded) else Fraction(0)


def order_cap(order: float, epsilon: Fraction, delta: Fraction) -> Fraction:
    """A D_α, close to the largest, that implies (ε, δ)-DP; a multiple of 2^-64, and ε itself at ∞.

    Inverts Canonne, Kamath & Steinke 2020, Proposition 12, and checks the result with `convert`.
    Zero is always right: D_α = 0 means equal distributions.
    """
    if math.isinf(order):
        return epsilon
    if delta == 0:
        return Fraction(0)
    terms = math.log1p(-1 / order), -(math.log(delta) + math.log(order)) / (order - 1)
    value = float(epsilon) - terms[0] - terms[1]
    slack = 1e-13 * (float(epsilon) + abs(terms[0]) + abs(terms[1]))
    while value > 0:
        value -= slack
        cap = Fraction(max(0, math.floor(Fraction(value) * _STEP)), _STEP)
        # `convert` takes a float: the cap is compared through one that isn't smaller
        above = math.nextafter(float(cap), math.inf)
        if convert(Renyi({order: above}), ApproxDP, delta=delta).epsilon <= epsilon:
            return cap
        slack *= 2
    return Fraction(0)


def orders_for(epsilon: Fraction, delta: Fraction) -> dict[float, Fraction]:
    """Three orders around the best one for Gaussian noise at this limit, and ∞, with shares of δ.

    For ρα with ρ as large as the limit allows the best order is about 1 + 2·log(1/δ)/ε. Half of δ
    goes to it, a quarter to half and to twice that order; ∞ needs none.
    """
    best = 1 + 2 * math.log(1 / delta) / float(epsilon) if epsilon else 1024.0
    middle = float(min(max(round(best), 3), 1024))
    quarter = Fraction(1, 4)
    return {
        float(max(2, round(middle / 2))): quarter,
        middle: Fraction(1, 2),
        2 * middle: quarter,
        math.inf: Fraction(0),
    }
