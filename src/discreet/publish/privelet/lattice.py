"""Weighted least squares over products of levels: covariance, estimate, and the farthest pair of cells.

An array over the levels of all axes, of shape (h_1 + 1, ..., h_d + 1), is called a *lattice*. Measured node
counts with variances v have the normal matrix Σ λ·(Q ⊗ ... ⊗ Q) with λ_l = Σ_(k >= l) s_k/v_k; measured
coefficients have it with λ_l one over their variance. Its inverse is the covariance of the estimate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np
import numpy.typing as npt

from discreet.publish.privelet.axes import Axis

__all__ = [
    "contrasts",
    "forward",
    "inverse",
    "levels_of",
    "on_nodes",
    "outer",
    "precision_of_nodes",
    "projected",
    "spread",
    "sum_nodes",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def outer(parts: Sequence[Floats]) -> Floats:
    """The lattice of products of numbers of each level."""
    return np.asarray(reduce(np.multiply.outer, parts), np.float64)


def levels_of(axes: Sequence[Axis]) -> list[tuple[int, ...]]:
    """All places of the lattice."""
    return list(np.ndindex(*(len(axis.sizes) for axis in axes)))


def precision_of_nodes(axes: Sequence[Axis], precision: Floats) -> Floats:
    """λ_l = Σ_(k >= l) s_k/v_k, where `precision` is 1/v of the node counts of each level."""
    weighted = precision * outer([np.array(axis.sizes, np.float64) for axis in axes])
    for place in range(weighted.ndim):
        weighted = np.flip(np.cumsum(np.flip(weighted, place), place), place)
    return weighted


def sum_nodes(counts: Integers, axes: Sequence[Axis], levels: tuple[int, ...]) -> Integers:
    """The counts of all nodes at some levels, from those of padded cells."""
    found = counts
    for place, (axis, level) in enumerate(zip(axes, levels, strict=True)):
        shape = found.shape
        split = (*shape[:place], -1, axis.sizes[level], *shape[place + 1 :])
        found = found.reshape(split).sum(axis=place + 1)
    return found


def spread(values: Floats, axes: Sequence[Axis], levels: tuple[int, ...]) -> Floats:
    """Numbers of nodes, on each of their cells."""
    for place, (axis, level) in enumerate(zip(axes, levels, strict=True)):
        values = np.repeat(values, axis.sizes[level], axis=place)
    return values


def contrasts(children: int) -> Integers:
    """Orthogonal differences of so many children, the last against the first ones: Helmert's.

    Row j has 1 for the first j + 1 children and -(j + 1) for the next one.
    """
    rows = np.zeros((children - 1, children), np.int64)
    for j in range(children - 1):
        rows[j, : j + 1], rows[j, j + 1] = 1, -(j + 1)
    return rows


def forward(cells: Floats, axes: Sequence[Axis]) -> Floats:
    """Orthonormal coefficients of the padded cells: along each axis the total, then level by level."""
    for place, axis in enumerate(axes):
        found, parts = np.moveaxis(cells, place, 0), []
        for children in reversed(axis.branching):
            families = found.reshape(-1, children, *found.shape[1:])
            parts.append(_flatten(np.tensordot(_orthonormal(children), families, axes=(1, 1))))
            found = families.sum(axis=1) / math.sqrt(children)
        cells = np.moveaxis(np.concatenate([found, *reversed(parts)]), 0, place)
    return cells


def inverse(coefficients: Floats, axes: Sequence[Axis]) -> Floats:
    """The padded cells that have these coefficients."""
    for place, axis in enumerate(axes):
        given = np.moveaxis(coefficients, place, 0)
        found, at = given[:1], 1
        for children in axis.branching:
            count = len(found) * (children - 1)
            parts = given[at : at + count].reshape(len(found), children - 1, *given.shape[1:])
            details = np.tensordot(_orthonormal(children).T, parts, axes=(1, 1))
            families = details + found[None] / math.sqrt(children)
            found, at = _flatten(families), at + count
        coefficients = np.moveaxis(found, 0, place)
    return coefficients


def _flatten(by_row: Floats) -> Floats:
    """From (row, node, ...) to (node and row, ...)."""
    moved = np.moveaxis(by_row, 0, 1)
    return np.ascontiguousarray(moved).reshape(-1, *moved.shape[2:])


def _orthonormal(children: int) -> Floats:
    rows = contrasts(children).astype(np.float64)
    return np.asarray(rows / np.sqrt((rows**2).sum(axis=1, keepdims=True)))


def projected(values: Floats, axes: Sequence[Axis], factors: Floats) -> Floats:
    """Σ factors·(Q ⊗ ... ⊗ Q) applied to padded cells, in linear time.

    Along each axis Q_l of a vector is a number for each node of level l: its mean less that of its parent.
    """
    for place, axis in enumerate(axes):
        values = np.moveaxis(_pyramid(np.moveaxis(values, place, 0), axis), 0, place)
    starts = [np.cumsum([0, *_nodes(axis)]) for axis in axes]
    for levels in levels_of(axes):
        here = tuple(slice(s[k], s[k + 1]) for s, k in zip(starts, levels, strict=True))
        values[here] *= factors[levels]
    for place, axis in enumerate(axes):
        values = np.moveaxis(_collapse(np.moveaxis(values, place, 0), axis), 0, place)
    return values


def _nodes(axis: Axis) -> list[int]:
    return [axis.padded // size for size in axis.sizes]


def _pyramid(values: Floats, axis: Axis) -> Floats:
    """Means of nodes less those of their parents, level by level from the root, along the first axis."""
    means = [values]
    for children in reversed(axis.branching):
        means.append(means[-1].reshape(-1, children, *values.shape[1:]).mean(axis=1))
    means.reverse()
    pairs = zip(means, means[1:], axis.branching, strict=False)
    details = [finer - np.repeat(coarser, b, axis=0) for coarser, finer, b in pairs]
    return np.concatenate([means[0], *details])


def _collapse(pyramid: Floats, axis: Axis) -> Floats:
    """The sum of all levels, each spread over its cells."""
    found, at = pyramid[:1], 1
    for children, count in zip(axis.branching, _nodes(axis)[1:], strict=True):
        found = np.repeat(found, children, axis=0) + pyramid[at : at + count]
        at += count
    return found


def on_nodes(axes: Sequence[Axis], levels: tuple[int, ...]) -> tuple[slice, ...]:
    """Where the coefficients of some levels stand."""
    ends = []
    for axis, level in zip(axes, levels, strict=True):
        upto = axis.padded // axis.sizes[level]
        ends.append(slice(0 if level == 0 else axis.padded // axis.sizes[level - 1], upto))
    return tuple(ends)
