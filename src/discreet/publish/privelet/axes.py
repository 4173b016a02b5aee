"""One column of a histogram as a tree of intervals: sizes of nodes, and what a workload asks of each level.

Level 0 is the whole column, padded by empty cells to the product of the branchings; level l has nodes of
`sizes[l]` cells. P_l is the projection of cell vectors onto those that are constant on the nodes of level l,
and Q_l = P_l - P_(l-1) what level l adds: every strategy here has a covariance that is a sum of multiples of
products of such Q_l, which is why errors of any range are known in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

__all__ = ["ALL_OR_ONE", "WORKLOADS", "Axis", "balanced_branching"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: What may be asked of an ordered column, each kind with all its members equally likely.
WORKLOADS = ("ranges", "prefixes", "cells")
#: What is asked of a column without order: one value, or all of them.
ALL_OR_ONE = "all or one"


@dataclass(frozen=True)
class Axis:
    """A column of so many cells as a tree with these branchings, from the root down.

    Of the leaves, `before` are empty ones before the first cell: so the first and the last node can be short.
    """

    cells: int
    branching: tuple[int, ...]
    before: int = 0

    def __post_init__(self) -> None:
        if self.padded < self.cells + self.before:
            raise ValueError(
                f"branching {self.branching} has {self.padded} leaves, fewer than the "
                f"{self.cells + self.before} cells."
            )

    @property
    def padded(self) -> int:
        """The leaves of the tree: the cells, and empty ones around them."""
        return math.prod(self.branching)

    @property
    def place(self) -> slice:
        """Where the cells stand among the leaves."""
        return slice(self.before, self.before + self.cells)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The cells below a node of each level."""
        found = [self.padded]
        for children in self.branching:
            found.append(found[-1] // children)
        return tuple(found)

    def keep_levels(self, kept: Sequence[int]) -> Axis:
        """The tree with these levels alone, the first and the last among them."""
        sizes = [self.sizes[level] for level in kept]
        return Axis(self.cells, tuple(a // b for a, b in pairwise(sizes)), self.before)

    def __str__(self) -> str:
        shift = f" after {self.before}" if self.before else ""
        if len(set(self.branching)) == 1 and len(self.branching) > 1:
            return f"{self.branching[0]}^{len(self.branching)}{shift}"
        return ("×".join(map(str, self.branching)) or "1") + shift

    def energies_of_ranges(self, starts: npt.ArrayLike, ends: npt.ArrayLike) -> Floats:
        """The squared norms of Q_l q for the ranges q from `starts` to before `ends`, a column a level."""
        return self.products((starts, ends), (starts, ends))

    def products(
        self, one: tuple[npt.ArrayLike, npt.ArrayLike], two: tuple[npt.ArrayLike, npt.ArrayLike]
    ) -> Floats:
        """The inner products of Q_l p and Q_l q for ranges p and q, a column a level."""
        first, second = (
            tuple(np.asarray(end, np.int64)[..., None] + self.before for end in range_)
            for range_ in (one, two)
        )
        sizes = np.array(self.sizes, np.int64)
        total = _shared(first, second, sizes)
        return np.diff(total, axis=-1, prepend=0.0)

    def energies_of_set(self, chosen: npt.NDArray[np.bool_]) -> Floats:
        """The squared norms of Q_l q for a set q of cells."""
        padded = np.zeros(self.padded)
        padded[self.place] = chosen
        norms = [float((padded.reshape(-1, s).sum(axis=1) ** 2).sum() / s) for s in self.sizes]
        return np.diff(np.array(norms), prepend=0.0)

    def expected_energies(self, workload: str) -> Floats:
        """The mean squared norm of Q_l q over a workload, one number a level."""
        if workload == ALL_OR_ONE:
            one, every = self.expected_energies("cells"), np.ones(self.cells, bool)
            return (one + self.energies_of_set(every)) / 2
        return np.diff([self._expected_norm(size, workload) for size in self.sizes], prepend=0.0)

    def _expected_norm(self, size: int, workload: str) -> float:
        """The mean squared norm of P_l q where nodes have `size` cells.

        For cells i, j of a node that starts at u, i = u + x and j = u + y, all ranges hold both with
        probability (u + 1 + min(x, y))·(cells - u - max(x, y)) / (cells·(cells + 1)/2).
        """
        start = np.arange(-(self.before % size), self.cells, size, dtype=np.float64)
        first = np.maximum(start, 0.0)
        width = np.minimum(start + size, self.cells) - first
        before, behind = first + 1, self.cells - first
        smaller = width * (width - 1) * (2 * width - 1) / 6  # Σ min(x, y)
        larger = width**2 * (width - 1) - smaller  # Σ max(x, y)
        if workload == "ranges":
            products = (width * (width - 1) / 2) ** 2  # Σ x·y
            held = width**2 * before * behind + behind * smaller - before * larger - products
            held /= self.cells * (self.cells + 1) / 2
        elif workload == "prefixes":
            held = (width**2 * behind - larger) / self.cells
        else:
            held = width / self.cells
        return float(held.sum() / size)


def _shared(one: tuple[Integers, ...], two: tuple[Integers, ...], sizes: Integers) -> Floats:
    """Σ over nodes of |p in node|·|q in node|/size: by inclusion and exclusion over prefixes."""

    def prefixes(a: Integers, b: Integers) -> Floats:
        low, high = np.minimum(a, b), np.maximum(a, b)
        node, inside = low // sizes, low % sizes
        other = np.minimum(high - node * sizes, sizes)
        return np.asarray((low - inside) + inside * other / sizes, np.float64)

    return (
        prefixes(one[1], two[1])
        - prefixes(one[0], two[1])
        - prefixes(one[1], two[0])
        + prefixes(one[0], two[0])
    )


def balanced_branching(cells: int, height: int) -> tuple[int, ...]:
    """Branchings of a tree of this height with at least so many leaves, as equal and as few as can be."""
    if cells <= 1:
        return ()
    base = max(2, math.ceil(round(cells ** (1 / height), 9)))
    while base**height < cells:
        base += 1
    found = [base] * height
    for place in (
        *range(1, height),
        0,
    ):  # an upper middle level with fewer children costs the least
        fewer = found[place] - 1
        if fewer >= 2 and math.prod(found) // found[place] * fewer >= cells:
            found[place] = fewer
    return tuple(found)
