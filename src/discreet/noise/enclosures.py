"""Integers that enclose exp, pi and erfc, which decide every draw that is in doubt.

Each function returns ``(low, high)`` with ``low <= 2**bits * value <= high``, by integer arithmetic
alone and rounded outwards at every step, so the inequalities hold without any assumption on
floating point. How far apart `low` and `high` are matters only for speed; it is at most 3.

Fixed point: an integer ``v`` at precision ``p`` stands for ``v / 2**p``. ``a // b`` and ``a >> b``
round down, ``-(-a // b)`` rounds up. The proof is in ``docs/proofs/noise.md``.
"""

from __future__ import annotations

from functools import lru_cache
from math import isqrt
from typing import TypeAlias

__all__ = ["Bounds", "erfc_of_root", "exp_minus", "pi"]

Bounds: TypeAlias = tuple[int, int]


def exp_minus(numerator: int, denominator: int, bits: int) -> Bounds:
    """Enclose ``2**bits * exp(-x)`` for the rational ``x = numerator / denominator >= 0``."""
    if numerator == 0:
        return 1 << bits, 1 << bits
    whole = numerator // denominator
    if whole >= bits:  # exp(-x) < 2**-x <= 2**-bits
        return 0, 1
    halvings = whole.bit_length() + 8
    guard = halvings + 12
    precision = bits + guard
    y = (numerator << precision) // (denominator << halvings)
    low, high = _exp_minus_small(y, y + 1, precision)
    for _ in range(halvings):  # exp(-x) = exp(-x / 2**halvings) ** (2**halvings)
        low = low * low >> precision
        high = -(-high * high >> precision)
    return low >> guard, -(-high >> guard)


def _exp_minus_small(y_low: int, y_high: int, precision: int) -> Bounds:
    low = high = term_low = term_high = 1 << precision
    order = 0
    while term_high > 1:  # exp(-y) = 1 - y + y**2 / 2! - y**3 / 3! + ...: exponential series
        order += 1
        term_low = (term_low * y_low >> precision) // order
        term_high = (term_high * y_high >> precision) // order + 1
        if order % 2:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
    # y < 2**-8: the terms fall and alternate, so what is left out is below the last one
    return max(0, low - term_high), high + term_high


def erfc_of_root(numerator: int, denominator: int, bits: int) -> Bounds:
    """Enclose ``2**bits * erfc(sqrt(z))`` for the rational ``z = numerator / denominator >= 0``."""
    if numerator == 0:
        return 1 << bits, 1 << bits
    whole = numerator // denominator
    if whole >= bits:  # erfc(x) <= exp(-x**2) < 2**-bits
        return 0, 1
    precision = bits + 32
    # erf(x) = 2 x / sqrt(pi) * exp(-x**2) * sum_n (2 x**2)**n / (1 * 3 ... (2 n + 1)): DLMF 7.6.2
    sum_low, sum_high = _erf_sum(numerator, denominator, precision)
    shift = precision + 2 * whole + 2  # the sum is below exp(z) < 2**(2 * whole + 2)
    exp_low, exp_high = exp_minus(numerator, denominator, shift)
    pi_low, pi_high = pi(precision)
    quotient = 4 * numerator << 3 * precision  # 4 z / pi, at twice the precision
    root_low = isqrt(quotient // (denominator * pi_high))
    root_high = isqrt(-(-quotient // (denominator * pi_low))) + 1
    drop = 2 * precision + shift - bits
    erf_low = root_low * exp_low * sum_low >> drop
    erf_high = -(-root_high * exp_high * sum_high >> drop)
    return max(0, (1 << bits) - erf_high), (1 << bits) - erf_low


def _erf_sum(numerator: int, denominator: int, precision: int) -> Bounds:
    low = high = term_low = term_high = 1 << precision
    odd = 1
    # From 8 z <= odd on each term is less than half the one before, so that what is left out is
    # below the last one.
    while term_high > 1 or 8 * numerator > odd * denominator:
        odd += 2
        term_low = 2 * numerator * term_low // (denominator * odd)
        term_high = -(-2 * numerator * term_high // (denominator * odd))
        low += term_low
        high += term_high
    return low, high + term_high


@lru_cache(maxsize=64)
def pi(bits: int) -> Bounds:
    """Enclose ``2**bits * pi``: 16 arctan(1/5) - 4 arctan(1/239), Machin (1706)."""
    precision = bits + 16
    fifth_low, fifth_high = _arctan_of_inverse(5, precision)
    other_low, other_high = _arctan_of_inverse(239, precision)
    low = 16 * fifth_low - 4 * other_high
    high = 16 * fifth_high - 4 * other_low
    return low >> 16, -(-high >> 16)


def _arctan_of_inverse(base: int, precision: int) -> Bounds:
    power_low = (1 << precision) // base
    power_high = power_low + 1
    low, high = power_low, power_high
    odd = 1
    while power_high > 1:  # arctan(y) = y - y**3 / 3 + y**5 / 5 - ...: Gregory's series
        odd += 2
        power_low = power_low // (base * base)
        power_high = -(-power_high // (base * base))
        if odd % 4 == 3:
            low, high = low - -(-power_high // odd), high - power_low // odd
        else:
            low, high = low + power_low // odd, high + -(-power_high // odd)
    return low - power_high, high + power_high
