"""A graphical model as tables over the cliques of a junction tree: its size, its marginals, rows of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Clique = tuple[int, ...]

#: How many numbers a step of a sum over a table may hold.
BLOCK = 2**21


def find_cliques(sizes: Sequence[int], cliques: Sequence[Clique]) -> tuple[Clique, ...]:
    """The cliques of a junction tree that holds the given ones, eliminating the cheapest column first."""
    neighbours: list[set[int]] = [{place} for place in range(len(sizes))]
    for clique in cliques:
        for place in clique:
            neighbours[place].update(clique)
    left, found = set(range(len(sizes))), list[frozenset[int]]()
    costs = {p: math.prod(sizes[q] for q in neighbours[p]) for p in left}
    while left:
        place = min(left, key=lambda p: (costs[p], p))
        here = frozenset(neighbours[place])
        if not any(here <= other for other in found):
            found.append(here)
        left.remove(place)
        others = here - {place}
        for other in others:
            neighbours[other] |= others
            neighbours[other].discard(place)
            costs[other] = math.prod(sizes[q] for q in neighbours[other])
    return tuple(sorted(tuple(sorted(clique)) for clique in found))


def model_size(sizes: Sequence[int], cliques: Sequence[Clique]) -> int:
    """How many cells the junction tree of these cliques has."""
    return sum(math.prod(sizes[c] for c in clique) for clique in find_cliques(sizes, cliques))


def hang_cliques(cliques: Sequence[Clique]) -> tuple[tuple[Clique, ...], tuple[int, ...]]:
    """Cliques in an order in which each follows its parent, with these: a maximal spanning tree.

    The parent is one of those before it with which it shares most columns; -1 where it shares none.
    """
    left, order, parents = sorted(cliques), list[Clique](), list[int]()
    while left:
        shared = [
            (len(set(clique) & set(taken)), -place, -at)
            for place, clique in enumerate(left)
            for at, taken in enumerate(order)
        ]
        most, place, at = max(shared, default=(0, 0, 0))
        order.append(left.pop(-place))
        parents.append(-at if most else -1)
    return tuple(order), tuple(parents)


@final
@dataclass(frozen=True, eq=False)
class JunctionModel:
    """Probabilities of the cells of each clique, consistent with one another.

    Attributes
    ----------
    sizes : tuple of int
        How many cells each column has.
    cliques : tuple of tuples of int
        Columns of each clique, increasing; together all columns.
    tables : tuple of arrays
        The probabilities, one axis for each column of the clique.
    parents : tuple of int
        The neighbour of each clique on the way to the first one of its tree, which comes before it; -1 there.
    """

    sizes: tuple[int, ...]
    cliques: tuple[Clique, ...]
    tables: tuple[Floats, ...]
    parents: tuple[int, ...]

    @classmethod
    def independent(cls, shares: Sequence[Floats]) -> JunctionModel:
        """The model in which columns have these distributions and nothing to do with one another."""
        count = len(shares)
        cliques = tuple((place,) for place in range(count))
        return cls(tuple(map(len, shares)), cliques, tuple(shares), (-1,) * count)

    @cached_property
    def _first(self) -> dict[int, int]:
        """For each column the first clique that has it."""
        found: dict[int, int] = {}
        for at, clique in enumerate(self.cliques):
            for column in clique:
                found.setdefault(column, at)
        return found

    def _separator(self, at: int) -> Clique:
        """The columns that a clique shares with its parent."""
        if self.parents[at] < 0:
            return ()
        return tuple(sorted(set(self.cliques[at]) & set(self.cliques[self.parents[at]])))

    def given_parent(self, at: int) -> Floats:
        """The distribution of a clique's cells given the columns that it shares with its parent."""
        shared = self._separator(at)
        below = _spread(self._project(at, shared), shared, self.cliques[at])
        table = self.tables[at]
        return np.divide(table, below, out=np.zeros_like(table), where=below > 0)

    def column(self, place: int) -> Floats:
        """The distribution of one column."""
        at = self._first[place]
        return self._project(at, (place,))

    def _project(self, at: int, columns: Clique) -> Floats:
        """The distribution of some columns of one clique, in increasing order."""
        clique = self.cliques[at]
        away = tuple(axis for axis, column in enumerate(clique) if column not in columns)
        return np.asarray(self.tables[at].sum(axis=away))

    def marginal(self, columns: Clique) -> Floats:
        """The distribution of one, two or three columns, increasing, as an array of as many axes."""
        for at, clique in enumerate(self.cliques):
            if set(columns) <= set(clique):
                return self._project(at, columns)
        if len(columns) == 2:
            return self.pairs(columns[0])[columns[1]]
        return self._by_elimination(columns)

    def _by_elimination(self, columns: Clique) -> Floats:
        """The distribution of columns of several cliques, given the first column value by value."""
        first, rest = columns[0], columns[1:]
        found = np.zeros(tuple(self.sizes[c] for c in columns))
        shares = self.column(first)
        for value in range(self.sizes[first]):
            if shares[value] > 0:
                found[value] = shares[value] * self.condition_on(first, value).marginal(rest)
        return found

    def condition_on(self, column: int, value: int) -> JunctionModel:
        """The model of the rows with this value of a column."""
        start = self._first[column]
        tables: list[Floats] = list(self.tables)
        axis = self.cliques[start].index(column)
        keep = np.zeros(self.sizes[column])
        keep[value] = 1.0
        shape = [-1 if a == axis else 1 for a in range(len(self.cliques[start]))]
        tables[start] = _normalize(self.tables[start] * keep.reshape(shape))
        for at, toward in self._walk(start):
            shared = tuple(sorted(set(self.cliques[at]) & set(self.cliques[toward])))
            old = self._project(at, shared)
            new = _sum_to(tables[toward], self.cliques[toward], shared)
            ratio = np.divide(new, old, out=np.zeros_like(old), where=old > 0)
            tables[at] = self.tables[at] * _spread(ratio, shared, self.cliques[at])
        return JunctionModel(self.sizes, self.cliques, tuple(tables), self.parents)

    def _walk(self, start: int) -> list[tuple[int, int]]:
        """All other cliques of a clique's tree, each with its neighbour towards that clique."""
        near: dict[int, list[int]] = {at: [] for at in range(len(self.cliques))}
        for at, parent in enumerate(self.parents):
            if parent >= 0:
                near[at].append(parent)
                near[parent].append(at)
        found, pending = [], [(n, start) for n in near[start]]
        while pending:
            at, toward = pending.pop()
            found.append((at, toward))
            pending += [(n, at) for n in near[at] if n != toward]
        return found

    def pairs(self, column: int) -> dict[int, Floats]:
        """The distribution of a column with each other one: arrays (its cells, the other's cells)."""
        largest = max(table.size for table in self.tables)
        step = max(1, BLOCK // largest)
        parts = [
            self._pairs(column, np.arange(first, min(first + step, self.sizes[column])))
            for first in range(0, self.sizes[column], step)
        ]
        return {other: np.concatenate([part[other] for part in parts]) for other in parts[0]}

    def _pairs(self, column: int, values: Integers) -> dict[int, Floats]:
        """The same for some values of the column.

        The joint distribution of the column and a clique is handed on from clique to clique.
        """
        start, count = self._first[column], len(values)
        own = self.column(column)[values]
        found = {
            other: np.outer(own, self.column(other))
            for other in range(len(self.sizes))
            if other != column
        }
        axis = self.cliques[start].index(column)
        joint = np.zeros((count, *self.tables[start].shape))
        joint_first = np.moveaxis(joint, axis + 1, 1)  # a view: (count, column, rest)
        joint_first[np.arange(count), values] = np.moveaxis(self.tables[start], axis, 0)[values]
        joints = {start: joint}
        self._collect(found, column, start, joint)
        for at, toward in self._walk(start):
            shared = tuple(sorted(set(self.cliques[at]) & set(self.cliques[toward])))
            message = _sum_to(joints[toward], (-1, *self.cliques[toward]), (-1, *shared))
            old = self._project(at, shared)[None]
            share = np.divide(message, old, out=np.zeros_like(message), where=old > 0)
            joints[at] = self.tables[at][None] * _spread(
                share, (-1, *shared), (-1, *self.cliques[at])
            )
            self._collect(found, column, at, joints[at])
        return found

    def _collect(self, found: dict[int, Floats], column: int, at: int, joint: Floats) -> None:
        clique = self.cliques[at]
        for axis, other in enumerate(clique):
            if other != column:
                away = tuple(a + 1 for a in range(len(clique)) if a != axis)
                found[other] = joint.sum(axis=away)

    def draw(self, rows: int, random: np.random.Generator) -> Integers:
        """Rows of the model, in a random order, evenly spread: each cell gets its share, to about one row."""
        result = np.zeros((rows, len(self.sizes)), np.int64)
        for at, clique in enumerate(self.cliques):
            shared = self._separator(at)
            new = tuple(c for c in clique if c not in shared)
            if not new:
                continue
            order = [clique.index(c) for c in (*shared, *new)]
            shape = [self.sizes[c] for c in new]
            table = self.tables[at].transpose(order).reshape(-1, math.prod(shape))
            group = np.zeros(rows, np.int64)
            for column in shared:
                group = group * self.sizes[column] + result[:, column]
            drawn = draw_evenly(table, group, random)
            for column, cells in zip(new, np.unravel_index(drawn, shape), strict=True):
                result[:, column] = cells
        return random.permutation(result)


def draw_evenly(table: Floats, group: Integers, random: np.random.Generator) -> Integers:
    """Draw a column of the table for each row, given its line: systematically among rows of one line."""
    rows = len(group)
    order = np.lexsort((random.random(rows), group))
    lines = group[order]
    counts = np.bincount(lines, minlength=len(table))
    starts = np.cumsum(counts) - counts
    place = np.arange(rows) - starts[lines]
    at = (place + random.random(len(table))[lines]) / np.maximum(counts, 1)[lines]
    sums = np.cumsum(np.maximum(table, 0.0), axis=1)
    last = sums[:, -1:]
    even = np.linspace(0, 1, table.shape[1] + 1)[1:]  # for lines that the model never has
    share = np.where(last > 0, sums / np.where(last > 0, last, 1.0), even)
    share[:, -1] = 1.0
    flat = (share + np.arange(len(table))[:, None]).ravel()
    found = np.searchsorted(flat, at + lines, side="right") - lines * table.shape[1]
    result = np.empty(rows, np.int64)
    result[order] = np.clip(found, 0, table.shape[1] - 1)
    return result


def _normalize(table: Floats) -> Floats:
    total = table.sum()
    return np.asarray(table / total) if total > 0 else table


def _sum_to(table: Floats, columns: Clique, kept: Clique) -> Floats:
    away = tuple(axis for axis, column in enumerate(columns) if column not in kept)
    return np.asarray(table.sum(axis=away))


def _spread(table: Floats, columns: Clique, over: Clique) -> Floats:
    """A table of some columns, shaped to be multiplied with one of more; both orders increase."""
    sizes = dict(zip(columns, table.shape, strict=True))
    return table.reshape([sizes.get(column, 1) for column in over])
