"""From noised counts of marginals to a graphical model: post-processing alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from discreet.publish.synthetic.junction import (
    Clique,
    Floats,
    JunctionModel,
    find_cliques,
    hang_cliques,
)
from discreet.queries.sizes import MAX_ROWS

#: A step that succeeds is followed by one this much longer.
GROWTH = 1.05
#: After so many steps the loss must have fallen by this share, or the search ends.
CHECK_EVERY, TOLERANCE = 50, 1e-6
#: Probabilities below this are taken up as this.
SMALLEST = 1e-30

__all__ = ["Measured", "estimate", "estimate_total", "project_to_shares"]


@final
@dataclass(frozen=True, eq=False)
class Measured:
    """The noised counts of the cells of some columns.

    Attributes
    ----------
    columns : tuple of int, increasing
    counts : array
        One axis for each column.
    deviation : array
        The standard deviation of the noise, of a shape that is spread over the counts.
    """

    columns: Clique
    counts: Floats
    deviation: Floats

    def sum_to(self, column: int) -> Measured:
        """The noised counts of one of the columns."""
        away = tuple(axis for axis, own in enumerate(self.columns) if own != column)
        noise = np.broadcast_to(self.deviation, self.counts.shape) ** 2
        return Measured((column,), self.counts.sum(axis=away), np.sqrt(noise.sum(axis=away)))

    @property
    def variance(self) -> float:
        """The variance of the noise on the sum of all counts."""
        return float((np.broadcast_to(self.deviation, self.counts.shape) ** 2).sum())


def project_to_shares(counts: npt.ArrayLike) -> Floats:
    """The distribution nearest to some counts in the Euclidean norm, once their sum is scaled to 1.

    Source: Duchi, Shalev-Shwartz, Singer & Chandra 2008, figure 1.
    """
    x = np.asarray(counts, np.float64)
    flat = x.ravel()
    total = max(1.0, float(flat.sum()))
    ordered = np.sort(flat)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(flat) + 1)
    above = np.flatnonzero(ordered > excess)
    if len(above) == 0:  # numbers so large that 1 is lost beside them
        return np.asarray(
            (np.arange(len(flat)) == flat.argmax()).astype(np.float64).reshape(x.shape)
        )
    kept = np.maximum(flat - excess[above[-1]], 0.0)
    return np.asarray((kept / kept.sum()).reshape(x.shape))


def estimate_total(measured: Sequence[Measured]) -> float:
    """The number of rows, from what all noised marginals add up to; at least 1, at most MAX_ROWS."""
    sums = np.array([float(part.counts.sum()) for part in measured])
    weights = np.array([1 / (part.variance + 1e-12) for part in measured])
    return min(max(1.0, float(sums @ weights / weights.sum())), float(MAX_ROWS))


@final
class _Tree:
    """A junction tree, and sums over its cliques.

    Potentials are logarithms of factors, one table for each clique; the model is their product.
    """

    def __init__(self, sizes: Sequence[int], cliques: Sequence[Clique]) -> None:
        self.sizes = tuple(sizes)
        self.cliques, self.parents = hang_cliques(find_cliques(sizes, cliques))
        self.shapes = [tuple(sizes[c] for c in clique) for clique in self.cliques]
        self.shared = [
            () if parent < 0 else tuple(sorted(set(clique) & set(self.cliques[parent])))
            for clique, parent in zip(self.cliques, self.parents, strict=True)
        ]
        self.places: dict[tuple[int, Clique], tuple[tuple[int, ...], tuple[int, ...]]] = {}

    def home(self, columns: Clique) -> int:
        """The smallest clique that has these columns."""
        able = [at for at, clique in enumerate(self.cliques) if set(columns) <= set(clique)]
        return min(able, key=lambda at: (np.prod(self.shapes[at]), at))

    def axes(self, at: int, columns: Clique) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Which axes of a clique are summed to get a table of the columns, and its shape spread over it."""
        if (at, columns) not in self.places:
            clique = self.cliques[at]
            away = tuple(axis for axis, c in enumerate(clique) if c not in columns)
            shape = tuple(self.sizes[c] if c in columns else 1 for c in clique)
            self.places[at, columns] = away, shape
        return self.places[at, columns]

    def project(self, table: Floats, at: int, columns: Clique) -> Floats:
        return np.asarray(table.sum(axis=self.axes(at, columns)[0]))

    def spread(self, table: Floats, at: int, columns: Clique) -> Floats:
        return table.reshape(self.axes(at, columns)[1])

    def marginals(self, potentials: Sequence[Floats]) -> list[Floats]:
        """The probabilities of each clique's cells: messages to the first clique, and back (Hugin)."""
        beliefs = [np.exp(table - table.max()) for table in potentials]
        sent: list[Floats | None] = [None] * len(beliefs)
        for at in range(len(beliefs) - 1, -1, -1):
            parent, shared = self.parents[at], self.shared[at]
            if parent >= 0:
                message = self.project(beliefs[at], at, shared)
                message /= max(float(message.max()), SMALLEST)
                sent[at] = message
                beliefs[parent] *= self.spread(message, parent, shared)
        for at, (parent, shared) in enumerate(zip(self.parents, self.shared, strict=True)):
            old = sent[at]
            if old is not None:
                reply = self.project(beliefs[parent], parent, shared)
                # where nothing was sent nothing comes back
                np.divide(reply, old, out=reply, where=old > 0)
                beliefs[at] *= self.spread(reply, at, shared)
            beliefs[at] /= max(float(beliefs[at].sum()), SMALLEST)
        return beliefs


@final
class _Loss:
    """Half the squared distance of expected to noised counts, each in units of its noise."""

    def __init__(self, tree: _Tree, measured: Sequence[Measured], total: float) -> None:
        self._tree, self._total = tree, total
        # without noise, a thousandth of a row is told apart
        self._parts = [
            (
                tree.home(part.columns),
                part.columns,
                part.counts,
                np.maximum(part.deviation, 1e-3) ** -2.0,
            )
            for part in measured
        ]
        weights: dict[int, float] = {}
        for at, columns, _, weight in self._parts:
            away = np.prod([tree.shapes[at][axis] for axis in tree.axes(at, columns)[0]])
            weights[at] = weights.get(at, 0.0) + float(weight.max()) * float(away)
        self.curvature = max(weights.values())

    def value(self, tables: Sequence[Floats]) -> tuple[float, list[Floats]]:
        """The loss, and its gradient by counts."""
        loss, gradient = 0.0, [np.zeros(shape) for shape in self._tree.shapes]
        for at, columns, counts, weight in self._parts:
            over = self._total * self._tree.project(tables[at], at, columns) - counts
            loss += 0.5 * float(np.vdot(over, weight * over))
            gradient[at] += self._tree.spread(weight * over, at, columns)
        return loss, gradient


def estimate(
    sizes: Sequence[int],
    measured: Sequence[Measured],
    total: float,
    *,
    iterations: int,
    start: JunctionModel | None = None,
) -> JunctionModel:
    """The graphical model that explains noised marginals best, by mirror descent.

    Source: McKenna, Sheldon & Miklau 2019, algorithm 1, with a step that grows while it succeeds.

    Parameters
    ----------
    sizes : sequence of int
        How many cells each column has.
    measured : sequence of Measured
    total : float
        The estimated number of rows.
    iterations : int
        At most this many; fewer once nothing moves.
    start : JunctionModel, optional
        An earlier estimate, whose measurements are among these.
    """
    tree = _Tree(sizes, [part.columns for part in measured])
    loss = _Loss(tree, measured, total)
    potentials = (
        [np.zeros(shape) for shape in tree.shapes] if start is None else _take_up(tree, start)
    )
    tables = tree.marginals(potentials)
    value, gradient = loss.value(tables)
    step, checked = 2.0 / (loss.curvature * total), value
    for iteration in range(1, iterations + 1):
        moved = [p - step * g for p, g in zip(potentials, gradient, strict=True)]
        there = tree.marginals(moved)
        new, slope = loss.value(there)
        gain = sum(
            float(np.vdot(g, a - b)) for g, a, b in zip(gradient, tables, there, strict=True)
        )
        if value - new >= 0.5 * total * gain and new <= value:
            potentials, tables, value, gradient = moved, there, new, slope
            step *= GROWTH
        else:
            step *= 0.5
        if iteration % CHECK_EVERY == 0:
            if checked - value <= TOLERANCE * abs(value):
                break
            checked = value
    return JunctionModel(tree.sizes, tree.cliques, tuple(tables), tree.parents)


def _take_up(tree: _Tree, start: JunctionModel) -> list[Floats]:
    """An earlier model as potentials: each of its cliques given the one before it."""
    potentials = [np.zeros(shape) for shape in tree.shapes]
    if not all(any(set(old) <= set(new) for new in tree.cliques) for old in start.cliques):
        return potentials  # its cliques were cut otherwise
    for at, clique in enumerate(start.cliques):
        given = start.given_parent(at)
        home = tree.home(clique)
        potentials[home] += tree.spread(np.log(np.maximum(given, SMALLEST)), home, clique)
    return potentials
