"""The codes of columns: grids, fills, bins, nearest centres, scores."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

import discreet as dp
from discreet.coding import PRODUCT_BITS, VALUE_BITS
from discreet.coding.chunks import Chunk
from discreet.coding.codes import Branches
from discreet.engines.arrays import Arrays
from payment import check_own_words
from profiles import max_examples


def codes(schema: dp.Schema, name: str, **columns: list[Any]) -> list[int]:
    return Chunk(Arrays(columns)._columns).code(schema.code(name)).tolist()


@max_examples(500)
@given(
    st.floats(-1e200, 1e200), st.floats(1e-200, 1e200), st.sampled_from([VALUE_BITS, PRODUCT_BITS])
)
def test_grids_reach_from_zero_to_the_top(lower: float, width: float, bits: int) -> None:
    upper = lower + width
    assume(upper > lower)
    column = dp.Real(lower, upper)
    grid = column.grid("x", bits)
    assert grid.low == 0
    assert grid.high == column.steps(bits) == 2**bits
    assert 0 <= grid.of(math.nan) <= 2**bits
    for value in (lower, upper, -math.inf, math.inf, math.nextafter(upper, -math.inf)):
        assert 0 <= grid.of(value) <= 2**bits


@max_examples(300)
@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.floats(0, 1))
def test_grids_are_nested_and_near(lower: float, width: float, share: float) -> None:
    column = dp.Real(lower, lower + width)
    x = min(max(lower + share * width, column.lower), column.upper)
    fine, coarse = column.grid("x", VALUE_BITS).of(x), column.grid("x", PRODUCT_BITS).of(x)
    assert coarse == fine >> (VALUE_BITS - PRODUCT_BITS)
    step = Fraction(column.width) / 2**VALUE_BITS
    middle = Fraction(column.lower) + (fine + Fraction(1, 2)) * step
    assert abs(middle - Fraction(x)) <= step * (Fraction(1, 2) + Fraction(1, 2**10))


@max_examples(300)
@given(st.floats(-1e200, 1e200), st.floats(0, 1e200))
def test_summands_keep_zero_and_their_range(lower: float, width: float) -> None:
    try:
        column = dp.Real(lower, lower + width)
    except ValueError as error:
        check_own_words(error)
        reject()
    code = column.summand("x")
    assert max(abs(code.low), abs(code.high)) in (0, 2**VALUE_BITS)
    if column.lower <= 0 <= column.upper:
        assert code.of(0.0) == code.of(-0.0) == 0


def test_integers_are_exact_up_to_their_width() -> None:
    narrow, wide = dp.Integer(-3, 2**20 - 3), dp.Integer(-3, 2**20 - 2)
    assert narrow.grid("n", VALUE_BITS).multiplier == 1
    assert wide.grid("n", VALUE_BITS).multiplier < 1
    assert narrow.grid("n", VALUE_BITS).of(7) == 10
    assert [narrow.grid("n", VALUE_BITS).of(v) for v in (-2.5, 0.999, 4.0)] == [0, 3, 7]
    assert dp.Integer(0, 9).summand("n").of(2.75) == 2  # rounded down, as everywhere
    assert dp.Integer(0, 2**15).grid("n", PRODUCT_BITS).of(5) == 5
    huge = dp.Integer(-(2**53), 2**53)
    assert huge.grid("n", VALUE_BITS).of(2**53) == 2**20
    assert huge.grid("n", VALUE_BITS).of(-(2**53)) == 0
    assert huge.filling == 0
    with pytest.raises(ValueError, match="too many values to list"):
        dp.Schema(n=wide).labels("n")
    assert len(dp.Schema(n=narrow).labels("n")) == 2**20 + 1


def test_fill_is_the_midpoint_or_what_was_declared() -> None:
    schema = dp.Schema(
        a=dp.Real(0, 10), b=dp.Real(0, 10, fill=10), c=dp.Integer(-3, 2), d=dp.Integer(0, 9, 4)
    )
    for name, wanted in {"a": 2**19, "b": 2**20, "c": 2, "d": 4}.items():
        for null in (None, math.nan, "text"):
            assert codes(schema, name, **{name: [null]}) == [wanted]


def test_columns_of_zero_width() -> None:
    schema = dp.Schema(a=dp.Real(7, 7), b=dp.Integer(7, 7), c=dp.Real(0, 0)).derive(
        near=dp.Nearest(["a", "b"], [(7, 7), (0, 0)])
    )
    cells = [None, 7, 8, -math.inf, math.nan]
    for name in "abc":
        assert codes(schema, name, **{name: cells}) == [0] * 5
    assert codes(schema, "near", a=cells, b=cells) == [0] * 5  # both centres are clamped to 7
    assert schema["a"].decode(0, VALUE_BITS) == 7


@pytest.mark.parametrize(
    "bounds", [(1e-279, 2e-279), (-4e279, 4e279), (1e15, 1e15 + 1), (0, 1e-279)]
)
def test_extreme_bounds(bounds: tuple[float, float]) -> None:
    schema = dp.Schema(x=dp.Real(*bounds))
    cells = [*bounds, 0.0, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan]
    found = codes(schema, "x", x=cells)
    assert found[:2] == [0, 2**20]
    assert all(0 <= code <= 2**20 for code in found)


def test_bins_take_cuts_into_the_bin_above() -> None:
    schema = dp.Schema(x=dp.Real(0, 8), n=dp.Integer(0, 8)).derive(
        real=dp.Bins("x", [1, 2.5, 4]), whole=dp.Bins("n", [1, 2.5, 4])
    )
    cells = [-1.0, 0.0, 0.99, 1.0, 2.49, 2.5, 3.99, 4.0, 8.0, 9.0]
    assert codes(schema, "real", x=cells) == [0, 0, 0, 1, 1, 2, 2, 3, 3, 3]
    assert codes(schema, "whole", n=[0, 1, 2, 3, 4, 8]) == [0, 1, 1, 2, 3, 3]
    assert schema.labels("real") == ("[0, 1)", "[1, 2.5)", "[2.5, 4)", "[4, 8]")
    named = schema.derive(size=dp.Bins("x", [4], labels=["small", "large"]))
    assert named.labels("size") == ("small", "large")


def test_nearest_gives_ties_to_the_first_centre() -> None:
    schema = dp.Schema(x=dp.Integer(0, 4), y=dp.Integer(0, 4)).derive(
        near=dp.Nearest(["x", "y"], [(1, 0), (3, 0), (1, 0), (2, 4)])
    )
    assert codes(schema, "near", x=[0, 2, 3, 4, 2], y=[0, 0, 0, 0, 4]) == [0, 0, 1, 1, 3]
    outside = dp.Schema(x=dp.Integer(0, 4)).derive(near=dp.Nearest("x", [(-50,), (99,)]))
    assert codes(outside, "near", x=[0, 1, 2, 3, 4]) == [0, 0, 0, 1, 1]
    assert outside.labels("near") == (0, 1)


@max_examples(100)
@given(
    st.lists(st.tuples(st.floats(0, 10), st.floats(-5, 5)), min_size=1, max_size=6),
    st.integers(0, 10**6),
)
def test_nearest_is_nearest(centres: list[tuple[float, float]], seed: int) -> None:
    schema = dp.Schema(x=dp.Real(0, 10), y=dp.Real(-5, 5)).derive(
        near=dp.Nearest(["x", "y"], centres)
    )
    draw = np.random.default_rng(seed)
    x, y = draw.uniform(0, 10, 20), draw.uniform(-5, 5, 20)
    for i, code in enumerate(codes(schema, "near", x=x, y=y)):
        distances = [math.hypot(x[i] - a, y[i] - b) for a, b in centres]
        assert distances[code] <= min(distances) + 1e-4  # up to the grid


def test_scores_are_clamped() -> None:
    schema = dp.Schema(s=dp.Categorical("a", "b", "c")).derive(
        points=dp.Score({"s": [-9, 1, 99]}, link=[10, 20, 30], offset=0)
    )
    assert codes(schema, "points", s=["a", "b", "c"]) == [10, 20, 30]
    shifted = dp.Schema(s=dp.Categorical("a", "b")).derive(
        points=dp.Score({"s": [0, 1]}, link=[5, -5, 7], offset=1)
    )
    assert codes(shifted, "points", s=["a", "b"]) == [-5, 7]
    with pytest.raises(ValueError, match="derive bins of it first"):
        shifted.labels("points")


def test_unknown_categories() -> None:
    schema = dp.Schema(s=dp.Categorical("F", "M"), t=dp.Categorical("F", "M", unknown="M"))
    cells = ["F", "M", "f", None, "F ", b"F", 1]
    assert codes(schema, "s", s=cells) == [0, 1, -1, -1, -1, -1, -1]
    assert codes(schema, "t", t=cells) == [0, 1, 1, 1, 1, 1, 1]
    numbers = dp.Schema(k=dp.Categorical(0, 1, 2.5), b=dp.Categorical(True, False))
    assert codes(numbers, "k", k=[0.0, True, 2.5, "1", None, math.nan, 2]) == [
        0,
        1,
        2,
        -1,
        -1,
        -1,
        -1,
    ]
    assert codes(numbers, "b", b=[True, False, 1, 0.0, "True"]) == [0, 1, 0, 1, -1]


def test_long_categories_are_shown_short() -> None:
    shown = repr(dp.Categorical(*(f"v{i}" for i in range(100)), unknown="v3"))
    assert "93 more" in shown
    assert "unknown='v3'" in shown


def test_a_tree_that_travels_to_another_process_is_hashed_anew():
    tree = Branches((None,))
    hash(tree)
    again = pickle.loads(pickle.dumps(tree))
    assert again == tree
    assert vars(again) == {"tests": (None,)}
