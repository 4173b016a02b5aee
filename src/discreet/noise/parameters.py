"""Parameters enter as exact rationals, or not at all."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np

__all__ = ["LARGEST_SCALE", "SMALLEST_SCALE", "Rational", "non_negative", "rational", "scale_of"]

Rational: TypeAlias = int | float | Fraction | Decimal | str | np.integer | np.floating

SMALLEST_SCALE: Final = Fraction(1, 1 << 40)
LARGEST_SCALE: Final = Fraction(1 << 50)


def rational(name: str, value: Rational) -> Fraction:
    """Return `value` as a fraction. A float stands for exactly the binary fraction it holds.

    Strings and decimals are read as written: ``"0.1"`` is one tenth, the float ``0.1`` isn't.
    """
    if isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be a number, not a bool; write 1 or 0 if that is meant")
    if isinstance(value, int | Fraction):
        return Fraction(value)
    if isinstance(value, np.integer):
        return Fraction(int(value))
    if isinstance(value, float | np.floating | Decimal):
        if not math.isfinite(value):
            raise ValueError(f"{name} must be finite; got {value}")
        return Fraction(*value.as_integer_ratio())
    if isinstance(value, str):
        try:
            return Fraction(value)
        except (ValueError, ZeroDivisionError):
            raise ValueError(
                f"{name} must be a number such as '0.1' or '1/3'; got {value!r}"
            ) from None
    raise TypeError(
        f"{name} must be an int, a float, a Fraction, a Decimal or a numeric str, "
        f"not {type(value).__name__}"
    )


def scale_of(name: str, value: Rational) -> Fraction:
    """Return the scale of a distribution, checked to lie in [2**-40, 2**50]."""
    scale = rational(name, value)
    if scale <= 0:
        raise ValueError(f"{name} must be positive; got {value}")
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        raise ValueError(
            f"{name} must lie between 2**-40 and 2**50 so that draws fit into int64; got {value}: "
            "measure the data in other units"
        )
    return scale


def non_negative(name: str, value: Rational) -> Fraction:
    """Return `value` as a fraction, checked to be zero or positive."""
    number = rational(name, value)
    if number < 0:
        raise ValueError(f"{name} must not be negative; got {value}")
    return number
