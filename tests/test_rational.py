"""Numbers as typed, and roundings that end on the stated side."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.rational import (
    above,
    as_integer,
    float_above,
    float_below,
    logarithm,
    non_negative,
    non_negative_or_infinite,
    positive,
    probability,
    rational,
    square_root_above,
)

FRACTIONS = st.builds(
    lambda a, b, e: Fraction(a, b) * Fraction(10) ** e,
    st.integers(1, 10**12), st.integers(1, 10**12), st.integers(-400, 400),
)  # fmt: skip


@pytest.mark.parametrize(
    ("given_value", "meant"),
    [
        (0.1, Fraction(1, 10)), ("1/3", Fraction(1, 3)), (Decimal("0.25"), Fraction(1, 4)),
        (np.float64(0.3), Fraction(3, 10)), (np.int64(7), Fraction(7)), (1e-300, Fraction(1, 10**300)),
        (" 2 ", Fraction(2)),
    ],
)  # fmt: skip
def test_numbers_are_what_a_person_meant(given_value: object, meant: Fraction) -> None:
    assert rational(given_value, "x") == meant


@pytest.mark.parametrize("bad", [math.nan, math.inf, "", "ten", "1/0", Decimal("NaN")])
def test_no_number(bad: object) -> None:
    with pytest.raises(ValueError, match="scale"):
        rational(bad, "scale")


@pytest.mark.parametrize("bad", [None, True, 1j, [1], b"1"])
def test_no_type(bad: object) -> None:
    with pytest.raises(TypeError, match="scale"):
        rational(bad, "scale")


def test_ranges_are_named() -> None:
    for check, bad in [
        (positive, 0), (non_negative, -1), (probability, 1.1), (non_negative_or_infinite, -math.inf),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match="thing"):
            check(bad, "thing")
    with pytest.raises(ValueError, match="thing"):
        as_integer(0, "thing", minimum=1)
    with pytest.raises(TypeError, match="thing"):
        as_integer(1.0, "thing")


@given(FRACTIONS)
def test_floats_on_either_side(value: Fraction) -> None:
    low, high = float_below(value), float_above(value)
    assert low <= value <= high
    assert high == low or high == math.nextafter(low, math.inf)
    assert float_above(-value) == -low


@given(st.floats(0, 1e300))
def test_above_is_above(value: float) -> None:
    assert Fraction(value) <= above(value) <= Fraction(value) * (1 + Fraction(1, 10**11))


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_only_costs_are_rounded_up(bad: float) -> None:
    with pytest.raises(ValueError, match="costs"):
        above(bad)


@given(FRACTIONS)
def test_root_from_above(value: Fraction) -> None:
    root = square_root_above(value)
    assert value <= root**2 <= value * (1 + Fraction(1, 2**58))


@given(st.integers(-2000, -1), st.integers(1, 10**9))
def test_logarithms_of_tiny_fractions(exponent: int, factor: int) -> None:
    exact = exponent * math.log(10) + math.log(factor)
    value = Fraction(factor) * Fraction(10) ** exponent
    assert logarithm(value) == pytest.approx(exact, rel=1e-14, abs=1e-13)
