"""Random public trees, drawn level by level for all trees of a forest at once.

Jagannathan, Pillaipakkamnatt & Wright 2009, with cuts of numbers in their declared bounds: even, or, with a
probability that `crowding` gives, geometric towards the crowded end; of categories, a random half goes right.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.coding import VALUE_BITS
from discreet.columns import Base, Categorical, Numeric, Split
from discreet.models.tree.structure import HALVINGS, Splits, candidates, crowding

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def random_tree(columns: Mapping[str, Base], depth: int, draw: np.random.Generator) -> Splits:
    """A random public tree: at each node a random column, cut at random within the node's box."""
    return random_trees(columns, depth, 1, draw)[0]


def random_trees(
    columns: Mapping[str, Base], depth: int, trees: int, draw: np.random.Generator
) -> list[Splits]:
    """Independent random public trees, each a tuple of splits in heap order."""
    boxes = [_box(name, column, trees) for name, column in columns.items()]
    found: list[list[Split | None]] = [[] for _ in range(trees)]
    for level in range(depth):
        chosen = _choose(np.stack([box.can_cut() for box in boxes], axis=1), draw)
        splits: list[Split | None] = [None] * len(chosen)
        drawn: list[Split] = []
        order = [np.flatnonzero(chosen == place) for place in range(len(boxes))]
        for box, nodes in zip(boxes, order, strict=True):
            drawn += box.cut(nodes, draw)
        for node, split in zip(np.concatenate(order).tolist(), drawn, strict=True):
            splits[node] = split
        for tree, nodes_above in enumerate(found):  # on each level, trees stand one after the other
            nodes_above += splits[tree << level : (tree + 1) << level]
    return list(map(tuple, found))


def any_split(columns: Mapping[str, Base]) -> Split:
    """A split of the first column that can be split: whatever is asked costs the same for all trees."""
    for name, column in columns.items():
        for points in candidates({name: column}).values():
            return name, column.values[:1] if isinstance(column, Categorical) else points[0]
    raise AssertionError("no column can be split")


def _choose(open_: Mask, draw: np.random.Generator) -> Integers:
    """A random open column for each node, all alike; -1 where none is open."""
    count = open_.sum(axis=1)
    rank = (draw.random(len(open_)) * count).astype(np.int64)  # below count: random() is below 1
    chosen = (open_.cumsum(axis=1) > rank[:, None]).argmax(axis=1)
    return np.where(count > 0, chosen, -1)


class _Numbers:
    """What is left of a numeric column at each node of a level: codes from one to another."""

    def __init__(self, name: str, column: Numeric, trees: int) -> None:
        self._name, self._column = name, column
        self._crowded = crowding(column) / 2
        self._rising = abs(float(column.lower)) <= abs(float(column.upper))
        self._low = np.zeros(trees, np.int64)
        self._high = np.full(trees, column.steps(VALUE_BITS), np.int64)

    def can_cut(self) -> Mask:
        return np.asarray(self._high > self._low)

    def cut(self, nodes: Integers, draw: np.random.Generator) -> list[Split]:
        """Cut these nodes, and go on to the next level; the others are as above there."""
        low, high = self._low[nodes], self._high[nodes]
        codes = draw.integers(low + 1, high + 1)
        shares = 2.0 ** -(HALVINGS * draw.random(len(nodes)))
        lengths = np.maximum(1, np.ceil((high - low) * shares).astype(np.int64))
        from_crowd = low + lengths if self._rising else high - lengths + 1
        codes = np.where(draw.random(len(nodes)) < self._crowded, from_crowd, codes)
        self._low, self._high = np.repeat(self._low, 2), np.repeat(self._high, 2)
        self._high[2 * nodes] = codes - 1
        self._low[2 * nodes + 1] = codes
        return [(self._name, cut) for cut in cuts_at(self._column, codes).tolist()]


class _Values:
    """What is left of a category at each node of a level: which of its values."""

    def __init__(self, name: str, column: Categorical, trees: int) -> None:
        self._name, self._values = name, column.values
        self._left = np.ones((trees, len(column.values)), np.bool_)

    def can_cut(self) -> Mask:
        return np.asarray(self._left.sum(axis=1) > 1)

    def cut(self, nodes: Integers, draw: np.random.Generator) -> list[Split]:
        """Send a random half of the values right; the other nodes are as above on the next level."""
        left = self._left[nodes]
        keys = np.where(left, draw.random(left.shape), 2.0)
        order = keys.argsort(axis=1).argsort(axis=1)
        right = order < np.maximum(1, left.sum(axis=1) // 2)[:, None]
        self._left = np.repeat(self._left, 2, axis=0)
        self._left[2 * nodes] = left & ~right
        self._left[2 * nodes + 1] = right
        rows, places = np.nonzero(right)
        ends = np.searchsorted(rows, np.arange(1, len(nodes) + 1)).tolist()
        values: list[Any] = [self._values[place] for place in places.tolist()]
        return [(self._name, tuple(values[a:b])) for a, b in pairwise([0, *ends])]


def _box(name: str, column: Base, trees: int) -> _Numbers | _Values:
    if isinstance(column, Numeric):
        return _Numbers(name, column, trees)
    assert isinstance(column, Categorical)
    return _Values(name, column, trees)


def cuts_at(column: Numeric, codes: Integers) -> Floats:
    """Cut points: values at or above one have its code or a larger one."""
    lower, upper = float(column.lower), float(column.upper)
    if column.is_exact(VALUE_BITS):
        return np.asarray(lower + codes - 0.5, np.float64)
    steps = column.steps(VALUE_BITS)
    cuts = lower + column.width * ((codes + 0.5) / steps)
    return np.asarray(np.clip(cuts, lower, upper), np.float64)
