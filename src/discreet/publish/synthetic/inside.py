"""How rows of a group are spread over its cells: post-processing of the first noised counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from discreet.publish.synthetic.estimation import Measured
from discreet.publish.synthetic.junction import (
    Clique,
    Floats,
    Integers,
    JunctionModel,
    draw_evenly,
)

#: Added to shares, so that no group is without any.
TINY = 1e-12

__all__ = ["Fitted", "cell_shares", "refine", "split_by_target"]


@final
@dataclass(frozen=True, eq=False)
class Fitted:
    """A model of groups of cells, and how rows are spread over the cells of a group.

    Attributes
    ----------
    model : JunctionModel
    groups : tuple of tuples of int
        For each column the group of each of its cells.
    shares : tuple of arrays
        For each column the share of rows in each of its cells; for fine columns an array (groups of the
        target, cells), with the shares of the rows of each.
    total : float
        The estimated number of rows.
    measured : tuple of Measured
        What was measured, by groups.
    """

    model: JunctionModel
    groups: tuple[tuple[int, ...], ...]
    shares: tuple[Floats, ...]
    total: float
    measured: tuple[Measured, ...]


def split_by_target(
    part: Measured,
    column: int,
    groups: Sequence[int],
    target_groups: Sequence[int],
    shares: Floats,
) -> Floats:
    """The shares of a column's cells among the rows of each group of the target.

    Within each group of cells, noised counts by target are drawn towards the column's own shares, the more
    the less they differ beyond their noise (James & Stein 1961, the positive part).

    Parameters
    ----------
    part : Measured
        The noised counts of the column and the target.
    column : int
    groups, target_groups : sequence of int
        The group of each of the column's cells, and of the target's.
    shares : array
        The column's own shares.
    """
    axis = part.columns.index(column)
    counts = np.moveaxis(part.counts, axis, 1)
    noise = np.moveaxis(np.broadcast_to(part.deviation, part.counts.shape), axis, 1) ** 2
    cell_group, own = np.array(groups), shares + TINY
    found = np.empty((max(target_groups) + 1, len(own)))
    for value in range(len(found)):
        rows = np.array(target_groups) == value
        here, variance = counts[rows].sum(axis=0), noise[rows].sum(axis=0)
        for group in range(cell_group.max() + 1):
            cells = cell_group == group
            pooled = own[cells] / own[cells].sum()
            shrunk = _shrink(here[cells], pooled, float(variance[cells].mean()))
            found[value, cells] = shrunk * own[cells].sum()
    return found


def _shrink(counts: Floats, shares: Floats, variance: float) -> Floats:
    """The distribution of noised counts, drawn towards shares."""
    total = max(1.0, float(counts.sum()))
    apart = counts - total * shares
    distance, noise = float(apart @ apart), variance * (len(counts) - 1)
    weight = 1 - noise / distance if distance > noise else 0.0
    kept = np.maximum(total * shares + weight * apart, 0.0)
    return np.asarray(kept / kept.sum()) if kept.sum() > 0 else shares


def refine(
    fitted: Fitted, rows: Integers, target: int | None, random: np.random.Generator
) -> Integers:
    """Rows of groups as rows of cells: within a group, as often as the column has them, or by target."""
    cells = np.empty_like(rows)
    for place, (groups, shares) in enumerate(zip(fitted.groups, fitted.shares, strict=True)):
        kinds, count = np.atleast_2d(shares), max(groups) + 1
        table = np.zeros((len(kinds), count, len(groups)))
        table[:, list(groups), np.arange(len(groups))] = kinds + TINY
        line = rows[:, place]
        if target is not None and shares.ndim == 2:
            line = rows[:, target] * count + line
        cells[:, place] = draw_evenly(table.reshape(-1, len(groups)), line, random)
    return cells


def cell_shares(fitted: Fitted, columns: Clique, target: int | None) -> Floats:
    """The probabilities of combinations of the cells of some columns, increasing: those of rows drawn."""
    if target is None or all(fitted.shares[c].ndim == 1 for c in columns):
        return _spread_inside(fitted, fitted.model.marginal(columns), columns, 0)
    found = 0.0
    for value, share in enumerate(fitted.model.column(target).tolist()):
        if share > 0:
            table = fitted.model.condition_on(target, value).marginal(columns)
            found = found + share * _spread_inside(fitted, table, columns, value)
    return np.asarray(found)


def _spread_inside(fitted: Fitted, table: Floats, columns: Clique, value: int) -> Floats:
    """Probabilities of groups as probabilities of cells, for rows of one group of the target."""
    for axis, place in enumerate(columns):
        groups, shares = np.array(fitted.groups[place]), fitted.shares[place]
        own = (shares if shares.ndim == 1 else shares[value]) + TINY
        share = own / np.bincount(groups, weights=own)[groups]
        shape = [-1 if a == axis else 1 for a in range(len(columns))]
        table = np.take(table, groups, axis=axis) * share.reshape(shape)
    return table
