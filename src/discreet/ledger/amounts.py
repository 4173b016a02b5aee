"""Exact amounts of privacy loss, and their form as text.

An amount is a fraction, or ``math.inf``. Denominators stay bounded, so that totals of a million
charges are still short: an amount is booked exactly when its denominator divides a fixed grid (all
multiples of 2^-64, all decimals of up to 40 places, and these divided by numbers up to 1000), else
it is rounded *up* at the 40th decimal place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction

from discreet.measures import Measure
from discreet.rational import float_above, float_below

__all__ = [
    "Amount",
    "Amounts",
    "add_amounts",
    "amount_from_text",
    "amounts_from_text",
    "float_above",
    "float_below",
    "grid_for",
    "in_steps",
    "on_grid",
    "to_text",
]

#: A fraction, or ``math.inf``.
Amount = Fraction | float
#: By name: ``{"epsilon": ..., "delta": ...}``.
Amounts = dict[str, Amount]

_TEXT = re.compile(r"-?[0-9]+(/[0-9]+)?")
_PLACES = 10**40
_STEP = 1 << 64
_GRID = math.lcm(_PLACES, _STEP) * math.lcm(*range(1, 1001))


def grid_for(*limits: Measure) -> int:
    """The common denominator on which charges are booked exactly, given the limits."""
    numbers = [value for limit in limits for value in vars(limit).values()]
    denominators = [number.denominator for number in numbers if isinstance(number, Fraction)]
    return math.lcm(_GRID, *(d for d in denominators if d.bit_length() <= 1024))


def on_grid(amount: Amount, grid: int) -> Amount:
    """`amount` itself where it lies on the grid, else rounded up to a multiple of 10^-40."""
    if isinstance(amount, float) or grid % amount.denominator == 0:
        return amount
    return Fraction(-(-amount.numerator * _PLACES // amount.denominator), _PLACES)


def in_steps(value: float) -> Amount:
    """A float bound rounded up to a multiple of 2^-64; infinity stays."""
    if math.isinf(value):
        return math.inf
    numerator, denominator = value.as_integer_ratio()
    return Fraction(-(-numerator * _STEP // denominator), _STEP)


def add_amounts(first: Amounts, second: Amounts) -> Amounts:
    """The exact sums, name by name."""
    return {name: amount + second[name] for name, amount in first.items()}


def to_text(amounts: Amounts) -> dict[str, str]:
    """Amounts as they are stored."""
    return {name: str(amount) for name, amount in amounts.items()}


def amount_from_text(text: str) -> Amount:
    """The inverse of ``str``."""
    if text == "inf":
        return math.inf
    if not _TEXT.fullmatch(text):
        raise ValueError("an amount is a fraction of two whole numbers")
    numerator, _, denominator = text.partition("/")
    return Fraction(int(numerator), int(denominator or 1))


def amounts_from_text(texts: Mapping[str, str]) -> Amounts:
    """The inverse of `to_text`."""
    return {name: amount_from_text(text) for name, text in texts.items()}
