"""Norm clipping holds in integers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.coding.clipping import LARGEST_CODE, clip_rows
from profiles import max_examples


@max_examples(300)
@given(
    st.integers(1, 1000),
    st.integers(0, 2**31 - 1) | st.integers(0, 50) | st.sampled_from([2**20, 2**20 - 1]),
    st.integers(0, 2**32),
    st.sampled_from([1, 2, 1000, 2**20]),
)
def test_norms_hold_in_integers(columns: int, radius: int, seed: int, largest: int) -> None:
    draw = np.random.default_rng(seed)
    rows = draw.integers(-largest, largest, (5, columns), endpoint=True)
    rows[1] = largest
    rows[2], rows[2, 0] = 0, -largest
    rows[3] = 0
    clipped = clip_rows(rows, radius)
    for before, after in zip(rows.tolist(), clipped.tolist(), strict=True):
        squares = sum(v * v for v in before)
        assert sum(v * v for v in after) <= radius * radius
        assert all(abs(a) <= abs(b) and a * b >= 0 for a, b in zip(after, before, strict=True))
        if squares <= radius * radius:
            assert after == before
        else:  # truncation takes less than one off each coordinate, the margin little more
            wanted = radius / math.sqrt(squares)
            assert all(
                abs(b) * wanted - abs(a) < 1 + 2.0**-8 for a, b in zip(after, before, strict=True)
            )


def test_rows_alone_and_total() -> None:
    rows = np.array([[3, 4], [30, 40], [0, 0], [2**62, -(2**63)]])
    together = clip_rows(rows, 5)
    assert together[:3].tolist() == [[3, 4], [2, 3], [0, 0]]
    for row, clipped in zip(rows, together, strict=True):
        assert clip_rows(row[None], 5).tolist() == [clipped.tolist()]
    assert clip_rows(np.zeros((0, 3), np.int64), 5).shape == (0, 3)
    assert clip_rows(rows, 0).tolist() == [[0, 0]] * 4
    assert (clip_rows(np.full((1, 1), 2**40), 2**30) == LARGEST_CODE).all()


@pytest.mark.parametrize(
    ("rows", "radius", "message"),
    [
        ([[1]], -1, "radius must be at least 0"),
        ([[1]], 1.5, "radius must be a whole number"),
        ([[1]], 2**31, "radius must be below"),
        ([1], 1, "rows must be a two-dimensional"),
    ],
)
def test_bad_arguments(rows: list[int], radius: int, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        clip_rows(np.array(rows), radius)
