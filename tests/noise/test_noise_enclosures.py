"""The integer enclosures against ball arithmetic: the true value is inside, and they are tight."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from fractions import Fraction

import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from discreet.noise import gaussian, laplace
from discreet.noise.enclosures import erfc_of_root, exp_minus, pi
from profiles import max_examples


@pytest.fixture(autouse=True)
def _precision() -> Iterator[None]:
    before = ctx.prec
    ctx.prec = 4000
    yield
    ctx.prec = before


def inside(bounds: tuple[int, int], value: arb, bits: int) -> bool:
    low, high = bounds
    scaled = value * arb(2) ** bits  # all values are positive, though far out their balls hold 0
    return bool(low == 0 or low <= scaled) and bool(scaled <= high) and high - low <= 3


def arguments(count: int) -> Iterator[tuple[int, int, int]]:
    rng = random.Random(7)
    for _ in range(count):
        bits = rng.choice([1, 32, 63, 64, 96, 127, 191, 255])
        denominator = rng.getrandbits(rng.randint(1, 120)) + 1
        size = rng.choice([1e-30, 1e-9, 1e-3, 1.0, 1.0]) * rng.random() * 1.1 * bits
        yield int(size * denominator), denominator, bits


def test_exp_minus() -> None:
    for numerator, denominator, bits in arguments(1500):
        value = (-arb(numerator) / denominator).exp()
        assert inside(exp_minus(numerator, denominator, bits), value, bits)


def test_erfc_of_root() -> None:
    for numerator, denominator, bits in arguments(800):
        value = (arb(numerator) / denominator).sqrt().erfc()
        assert inside(erfc_of_root(numerator, denominator, bits), value, bits)


@given(st.integers(0, 2**400), st.integers(1, 2**400), st.integers(1, 200), st.sampled_from([0, 1]))
@max_examples(200)
def test_any_rational(numerator: int, denominator: int, bits: int, which: int) -> None:
    z = arb(numerator) / denominator
    if which:
        assert inside(erfc_of_root(numerator, denominator, bits), z.sqrt().erfc(), bits)
    else:
        assert inside(exp_minus(numerator, denominator, bits), (-z).exp(), bits)


@pytest.mark.parametrize("bits", [1, 8, 63, 64, 100, 511, 1000])
def test_pi(bits: int) -> None:
    assert inside(pi(bits), arb.pi(), bits)


@pytest.mark.parametrize("bits", [1, 63, 64, 200])
def test_zero_and_the_far_tail(bits: int) -> None:
    assert exp_minus(0, 1, bits) == erfc_of_root(0, 1, bits) == (1 << bits, 1 << bits)
    for far in (bits, 10**6, 10**60):
        assert exp_minus(far, 1, bits) == erfc_of_root(far, 1, bits) == (0, 1)


def test_tighter_with_more_bits() -> None:
    """An enclosure at more bits lies inside the one at fewer, but for the last units."""
    for function in (exp_minus, erfc_of_root):
        coarse, fine = function(7, 5, 64), function(7, 5, 256)
        assert coarse[0] - 3 <= fine[0] >> 192 <= fine[1] >> 192 <= coarse[1] + 3


@pytest.mark.parametrize("scale", [Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(10**6)])
def test_thresholds(scale: Fraction) -> None:
    """The tail probabilities that the samplers compare with, from their definitions."""
    s = arb(scale.numerator) / scale.denominator
    q = (-1 / s).exp()
    root = s * arb(2).sqrt()
    for k in (1, 2, math.ceil(scale), math.ceil(5 * scale), math.ceil(30 * scale)):
        for bits in (63, 127):
            half = (arb(2 * k - 1) / 2 / root).erfc()
            geometric = laplace._geometric(scale).threshold(k, bits)
            two_sided = laplace._laplace_magnitude(scale).threshold(k, bits)
            assert inside(geometric, q**k, bits)
            assert inside(two_sided, 2 * q**k / (1 + q), bits)
            assert inside(gaussian._magnitude(scale).threshold(k, bits), half, bits)
            assert inside(gaussian._cell(scale).threshold(k, bits), (arb(k) / root).erfc(), bits)


def test_a_rounding_in_the_wrong_direction_is_noticed() -> None:
    """Negative control: an enclosure that is one unit too narrow on one side fails this test."""
    caught = 0
    for numerator, denominator, bits in arguments(200):
        low, high = exp_minus(numerator, denominator, bits)
        value = (-arb(numerator) / denominator).exp()
        caught += not inside((low + 1, high), value, bits)
        caught += not inside((low, high - 1), value, bits)
    assert caught > 200
