"""Rational probabilities whose ratio never exceeds e^ε, decided in integers.

Proof page: ``docs/proofs/local.md``.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.noise.enclosures import exp_minus
from discreet.rational import Number, positive

#: The probabilities are multiples of 2^-BITS, or exact fractions.
BITS = 64

#: Below this the rounding of probabilities would take a visible part of ε.
SMALLEST_EPSILON = Fraction(1, 10**9)


def check_epsilon(epsilon: Number) -> Fraction:
    """ε as a fraction; refused if it is so small that reports would say nothing."""
    number = positive(epsilon, "epsilon")
    if number < SMALLEST_EPSILON:
        raise ValueError(f"epsilon must be at least {float(SMALLEST_EPSILON):g}, got {epsilon!r}.")
    return number


def exp_minus_above(epsilon: Fraction) -> Fraction:
    """A fraction that is at least e^-ε, to 2^-96."""
    _, high = exp_minus(epsilon.numerator, epsilon.denominator, BITS + 32)
    return min(Fraction(1), Fraction(high, 1 << (BITS + 32)))


def round_up(value: Fraction) -> Fraction:
    """The least multiple of 2^-64 that is at least `value`."""
    return Fraction(math.ceil(value * (1 << BITS)), 1 << BITS)


def outside_mass(epsilon: Fraction, inside: int, outside: int) -> Fraction:
    """The mass of `outside` cells of weight 1 beside `inside` cells of weight e^ε, rounded up.

    b = outside/(inside·e^ε + outside). Rounding b up takes mass from the heavy cells, so that
    ((1 - b)/inside)/(b/outside) <= e^ε; it is capped where all cells are equal.
    """
    e = exp_minus_above(epsilon)
    mass = outside * e / (inside + outside * e)
    return min(round_up(mass), Fraction(outside, inside + outside))


def epsilon_above(ratio: Fraction) -> Fraction:
    """A decimal of 12 digits that is at least log(ratio), for ratio >= 1, checked in integers."""
    unit = Fraction(1, 10**12)
    found = math.ceil(Fraction(math.log(ratio)) / unit) * unit
    while found < 0 or exp_minus_above(found) * ratio > 1:  # e^-found <= 1/ratio must be certain
        found += unit
    return found
