"""Numbers as people type them, kept exact."""

from __future__ import annotations

import decimal
import math
import numbers
import re
import sys
from decimal import Decimal
from fractions import Fraction

#: What a parameter may be given as.
Number = int | float | str | Fraction | Decimal


#: Powers of ten, and digits above and below a fraction's line, up to which numbers are taken: room for any
#: cost and for what a ledger wrote, and none for mischief. Python itself writes out no more than 4300.
LARGEST_POWER, MAX_DIGITS = 1000, 4000
_EXPONENT = re.compile(r"[eE]([+-]?\d+)$")


def rational(value: object, name: str) -> Fraction:
    """The number a person meant: 0.1 is one tenth, not the double nearest to it.

    Parameters enter as ``Fraction(str(value))``, so that ten charges of 0.1 fit a limit of 1.
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, Decimal, str)):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}.")
    if isinstance(value, numbers.Integral):
        number = int(value)
        if number.bit_length() > 3 * MAX_DIGITS:
            raise ValueError(_too_long(name))
        return Fraction(number)
    text = str(value).strip()
    exponent = _EXPONENT.search(text)
    if max(map(len, text.split("/"))) > MAX_DIGITS or (
        exponent and (len(exponent[1]) > 5 or abs(int(exponent[1])) > LARGEST_POWER)
    ):
        raise ValueError(_too_long(name))
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{name} must be a finite number, got {value!r}.") from None


def _too_long(name: str) -> str:
    return (
        f"{name} must have at most {MAX_DIGITS} digits, and an exponent of at most {LARGEST_POWER}: "
        "give a shorter number."
    )


def positive(value: object, name: str) -> Fraction:
    """`rational`, above zero."""
    number = rational(value, name)
    if number.numerator <= 0:  # the sign: comparing fractions takes ten times as long
        raise ValueError(f"{name} must be greater than 0, got {value!r}.")
    return number


def non_negative(value: object, name: str) -> Fraction:
    """`rational`, at least zero."""
    number = rational(value, name)
    if number.numerator < 0:
        raise ValueError(f"{name} must be at least 0, got {value!r}.")
    return number


def non_negative_or_infinite(value: object, name: str) -> Fraction | float:
    """`non_negative`, or ``math.inf``."""
    if isinstance(value, Fraction):  # the usual one, a hundred times in a fit of a tree
        return non_negative(value, name)
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and value == math.inf:
        return math.inf
    return non_negative(value, name)


def probability(value: object, name: str) -> Fraction:
    """`rational`, between zero and one."""
    number = rational(value, name)
    if not 0 <= number <= 1:
        raise ValueError(f"{name} must be between 0 and 1, got {value!r}.")
    return number


def as_integer(value: object, name: str, *, minimum: int = 0) -> int:
    """Read an integer that is at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, not {type(value).__name__}.")
    number = int(value)
    if number < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {number}.")
    return number


def above(value: float) -> Fraction:
    """A fraction that is at least the number that `value` was computed for, to 1e-12 relative.

    The slack covers the rounding of the few float64 operations behind `value`.
    """
    if not 0 <= value < math.inf:
        raise ValueError(f"only finite costs of at least 0 are rounded up, not {value!r}.")
    return Fraction(value) * (1 + Fraction(1, 10**12))


def float_above(value: Fraction | float) -> float:
    """The float64 nearest to `value` from above; infinity where it has none."""
    try:
        near = float(value)
    except OverflowError:
        return math.inf if value > 0 else -sys.float_info.max
    return near if near >= value else math.nextafter(near, math.inf)


def float_below(value: Fraction | float) -> float:
    """The float64 nearest to `value` from below."""
    return -float_above(-value)


def logarithm(value: Fraction) -> float:
    """log(value), also where `value` has no float, to 4e-16·(1 + |log value|)."""
    if Fraction(1, 10**300) < value < 10**300:
        return math.log(value)
    return math.log(value.numerator) - math.log(value.denominator)


def readable(value: Fraction | float) -> str:
    """A short decimal: exact where it has few digits, else six significant ones.

    What is too large or too small for a float is written all the same: nothing that is spent reads as 0.
    """
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    exact = Fraction(value)
    if not exact or Fraction(1, 10**300) < abs(exact) < 10**300:
        return f"{float(value):.6g}"
    with decimal.localcontext(prec=6, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN):
        short = Decimal(exact.numerator) / Decimal(exact.denominator)
        return f"{short.normalize():e}"


def square_root_above(value: Fraction) -> Fraction:
    """A fraction r with r·r >= value and r within 2^-60 relative of the root."""
    if value < 0:
        raise ValueError("no root of a negative number")
    if value == 0:
        return Fraction(0)
    numerator, denominator = value.numerator, value.denominator
    shift = max(0, 64 - (numerator.bit_length() - denominator.bit_length()) // 2)
    scaled = -((-numerator << (2 * shift)) // denominator)  # ceiling of value·4^shift
    return Fraction(math.isqrt(scaled - 1) + 1, 1 << shift)
