"""Random public trees: how they are drawn, and where they cut."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.coding import VALUE_BITS
from discreet.models.tree.random_trees import cuts_at, random_trees


@pytest.mark.parametrize(
    "column",
    [
        dp.Real(0, 1),
        dp.Real(-5.5, 1e6),
        dp.Real(17, 90),
        dp.Integer(-3, 4),
        dp.Integer(0, 10**7),
    ],
    ids=repr,
)
def test_a_cut_parts_its_code_from_the_one_below(column: Any) -> None:
    last = column.steps(VALUE_BITS)
    codes = np.unique(np.linspace(1, last - 1, 1000).astype(np.int64))
    cuts = cuts_at(column, codes)
    grid = column.grid("x", VALUE_BITS)
    if column.is_exact(VALUE_BITS):
        assert cuts.tolist() == (float(column.lower) + codes - 0.5).tolist()
    else:
        assert cuts.tolist() == [column.decode(code, VALUE_BITS) for code in codes.tolist()]
        assert [grid.of(cut) for cut in cuts.tolist()] == codes.tolist()


def test_columns_are_chosen_alike_among_those_that_can_be_cut() -> None:
    columns: dict[str, Any] = {
        "a": dp.Real(0, 1),
        "k": dp.Real(2, 2),
        "c": dp.Categorical("x", "y", "z"),
    }
    trees = random_trees(columns, 1, 4000, np.random.default_rng(0))
    seen = Counter(tree[0][0] for tree in trees if tree[0] is not None)
    assert set(seen) == {"a", "c"}
    assert abs(seen["a"] - 2000) < 4 * (4000 / 4) ** 0.5


def test_a_random_half_of_the_values_goes_right() -> None:
    values = ("u", "v", "w", "x", "y")
    trees = random_trees({"c": dp.Categorical(*values)}, 1, 5000, np.random.default_rng(1))
    sides = Counter(tree[0][1] for tree in trees if tree[0] is not None)
    assert len(sides) == 10  # every pair of five values, each with its values in order
    assert all(abs(times - 500) < 4 * 500**0.5 for times in sides.values())


def test_even_cuts_are_spread_over_the_bounds_and_others_crowd_near_zero() -> None:
    def cuts(column: Any) -> Any:
        trees = random_trees({"x": column}, 1, 4000, np.random.default_rng(2))
        return np.array([tree[0][1] for tree in trees if tree[0] is not None])

    even = cuts(dp.Real(-1, 1))  # neither end is nearer to zero
    assert abs(even.mean()) < 0.04
    assert abs((even < 0.5).mean() - 0.75) < 0.03
    crowded = cuts(dp.Real(0, 1000))
    # half of the cuts halve the way to zero up to eight times, evenly on that scale
    assert abs((crowded < 1000 / 16).mean() - (0.5 / 16 + 0.5 / 2)) < 0.03


def test_trees_of_a_forest_differ_and_their_nodes_stand_in_heap_order() -> None:
    column = dp.Integer(0, 7)
    first: Any
    second: Any
    first, second = random_trees({"x": column}, 3, 2, np.random.default_rng(3))
    assert first != second
    for tree in (first, second):
        root, left, right = tree[:3]
        assert root is not None
        assert left is None or left[1] < root[1]
        assert right is None or right[1] > root[1]
