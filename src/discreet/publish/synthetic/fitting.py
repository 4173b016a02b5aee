"""Carrying out a synthesizer's recipe: what is asked next follows from released answers alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import final

import numpy as np
import numpy.typing as npt

from discreet.dataset import PrivateDataset
from discreet.publish.synthetic.estimation import (
    Measured,
    estimate,
    estimate_total,
    project_to_shares,
)
from discreet.publish.synthetic.inside import Fitted, split_by_target
from discreet.publish.synthetic.junction import (
    Clique,
    Floats,
    JunctionModel,
    model_size,
)
from discreet.publish.synthetic.layout import merge_cells
from discreet.publish.synthetic.plan import Recipe, Stage
from discreet.queries import CellCounts, FarMarginals, Joint
from discreet.queries.far_marginals import MAX_EXPECTED, Rule

Mask = npt.NDArray[np.bool_]

#: Cells are put together until each group has this many times the noise of a measured marginal.
MERGE = 4.0


def fit_joint(recipe: Recipe, door: PrivateDataset, rows: int | None) -> Fitted:
    """Ask for the counts of all combinations of cells at once."""
    release = recipe.first.release(door)
    sizes, error = recipe.layout.sizes, release.stderr
    counts = np.asarray(release.value, np.float64).reshape(sizes)
    measured = Measured(tuple(range(len(sizes))), counts, np.asarray(error[0]))
    total = float(max(rows, 1)) if rows is not None else estimate_total([measured])
    table = project_to_shares(counts)
    model = JunctionModel(sizes, (measured.columns,), (table,), (-1,))
    groups = tuple(tuple(range(size)) for size in sizes)
    shares = tuple(model.column(place) for place in range(len(sizes)))
    return Fitted(model, groups, shares, total, (measured,))


def fit_marginals(
    recipe: Recipe, door: PrivateDataset, rows: int | None, max_cells: int, iterations: int
) -> Fitted:
    """Ask for each column, then for a tree of pairs, then round by round for what the model misses."""
    release = recipe.first.release(door)
    first = []
    for place, counts, error in zip(recipe.free, release.value, release.stderr, strict=True):
        columns = recipe.extend((place,))
        shape = tuple(recipe.layout.sizes[c] for c in columns)
        table = np.asarray(counts, np.float64).reshape(shape)
        first.append(Measured(columns, table, np.asarray(error[0])))
    total = float(max(rows, 1)) if rows is not None else estimate_total(first)
    shares = tuple(_find_share(first, place) for place in range(len(recipe.layout.sizes)))
    groups = _find_groups(recipe, shares, total)
    fit = _Fit(recipe, door, groups, total, max_cells)
    fit.measured = [_in_groups(part, groups) for part in first]
    fit.model = estimate(fit.sizes, fit.measured, total, iterations=iterations)
    # estimates between rounds only serve the next choice: the more rounds, the fewer steps for each
    between = -(-iterations // max(1, len(recipe.stages) - 2))
    for number, stage in enumerate(recipe.stages):
        fit.measure(stage, fit.choose_tree(stage) if number == 0 else fit.choose_more(stage))
        is_last = number == len(recipe.stages) - 1
        steps = iterations if is_last else between
        fit.model = estimate(fit.sizes, fit.measured, total, iterations=steps, start=fit.model)
    inside = _find_inside(recipe, first, groups, shares)
    return Fitted(fit.model, groups, inside, total, tuple(fit.measured))


@final
class _Fit:
    """What is known so far: released answers, and the model that follows from them."""

    model: JunctionModel
    measured: list[Measured]

    def __init__(
        self,
        recipe: Recipe,
        door: PrivateDataset,
        groups: tuple[tuple[int, ...], ...],
        total: float,
        max_cells: int,
    ) -> None:
        self._recipe, self._door, self._total, self._max_cells = recipe, door, total, max_cells
        self._axes = tuple(
            replace(axis, groups=group)
            for axis, group in zip(recipe.layout.axes, groups, strict=True)
        )
        self.sizes = tuple(max(group) + 1 for group in groups)

    def measure(self, stage: Stage, cliques: Sequence[Clique]) -> None:
        """Ask for the counts of these marginals."""
        counts = (CellCounts(*(self._axes[c] for c in clique)) for clique in cliques)
        answer = self._door.release(Joint(*counts), stage.measure.budget)
        for clique, value, error in zip(cliques, answer.value, answer.stderr, strict=True):
            shape = tuple(self.sizes[c] for c in clique)
            table = np.asarray(value, np.float64).reshape(shape)
            self.measured.append(Measured(clique, table, np.asarray(error[0])))

    def choose_tree(self, stage: Stage) -> list[Clique]:
        """Pairs of columns that depend on one another most, joined in a tree."""
        if stage.choose is None:  # few columns: all of them, or one again where that is too much
            free = self._recipe.free
            is_small = self._cells(self._recipe.extend(free)) <= self._max_cells
            return [self._recipe.extend(free if is_small else free[:1])]
        marginals = self._recipe.tree_candidates()
        cells = [self._cells(self._recipe.extend(clique)) for clique in marginals]
        rule = tree_rule(marginals, cells, self._max_cells // stage.count)
        drawn = self._draw(stage, marginals, [0] * len(marginals), rule)
        return [self._recipe.extend(clique) for clique in drawn]

    def choose_more(self, stage: Stage) -> list[Clique]:
        """Marginals that the model misses by more than their measurement would."""
        marginals = self._recipe.round_candidates()
        noise = math.sqrt(2 / math.pi) * expected_noise(stage)  # the mean size of normal noise
        left = [min(round(noise * self._cells(c)), MAX_EXPECTED) for c in marginals]
        kept = [part.columns for part in self.measured]
        rule = size_rule(self.sizes, marginals, kept, self._max_cells)
        drawn = self._draw(stage, tuple(marginals), left, rule)
        return [marginals[clique] for clique in drawn]

    def _cells(self, clique: Clique) -> int:
        return math.prod(self.sizes[c] for c in clique)

    def _draw(
        self, stage: Stage, marginals: Sequence[Clique], allowances: Sequence[int], rule: Rule
    ) -> list[Clique]:
        assert stage.choose is not None
        assert isinstance(stage.choose.query, FarMarginals)
        query = FarMarginals(
            [[self._axes[c] for c in clique] for clique in marginals],
            [self._total * table for table in self._expected(marginals)],
            weights=stage.choose.query.weights,
            allowances=allowances,
            draws=stage.count,
            rule=rule,
        )
        drawn: tuple[int, ...] = self._door.release(query, stage.choose.budget).value
        return [marginals[place] for place in drawn]

    def _expected(self, marginals: Sequence[Clique]) -> list[Floats]:
        """What the model expects of each marginal; pairs with one column are found together, once."""
        pairs = cache(self.model.pairs)
        return [
            pairs(clique[0])[clique[1]] if len(clique) == 2 else self.model.marginal(clique)
            for clique in marginals
        ]


def expected_noise(stage: Stage) -> float:
    """The standard deviation of the noise on each count that a stage measures."""
    return float(stage.measure.expected_error(1)[0][0])


def _find_groups(
    recipe: Recipe, shares: Sequence[Floats], total: float
) -> tuple[tuple[int, ...], ...]:
    """Which cells of each column are counted together in marginals of several columns."""
    least = MERGE * expected_noise(recipe.stages[0])
    groups = [
        merge_cells(share * total, least, recipe.layout.is_ordered(place))
        for place, share in enumerate(shares)
    ]
    target = recipe.target
    if target is not None and max(groups[target]) == 0:  # nothing could be told about it
        groups[target] = tuple(range(len(groups[target])))
    return tuple(groups)


def _find_share(measured: Sequence[Measured], column: int) -> Floats:
    """The distribution of one column, from all noised counts that it is in."""
    parts = [part.sum_to(column) for part in measured if column in part.columns]
    weights = [1 / (part.variance + 1e-12) for part in parts]
    counts = sum(weight * part.counts for weight, part in zip(weights, parts, strict=True))
    return project_to_shares(counts / sum(weights))


def _find_inside(
    recipe: Recipe,
    first: Sequence[Measured],
    groups: Sequence[tuple[int, ...]],
    shares: Sequence[Floats],
) -> tuple[Floats, ...]:
    """The shares of cells: by target for fine columns, whose groups have many."""
    target, found = recipe.target, list(shares)
    if target is not None:
        for place, part in zip(recipe.free, first, strict=True):
            if recipe.layout.is_fine(place):
                found[place] = split_by_target(
                    part, place, groups[place], groups[target], shares[place]
                )
    return tuple(found)


def _in_groups(part: Measured, groups: Sequence[tuple[int, ...]]) -> Measured:
    """Noised counts of cells as counts of groups of them."""
    counts = part.counts
    noise = np.broadcast_to(part.deviation, counts.shape) ** 2
    for axis, column in enumerate(part.columns):
        group = np.array(groups[column])
        starts = np.argsort(group, kind="stable")
        first = np.searchsorted(group[starts], np.arange(group.max() + 1))
        counts, noise = (
            np.add.reduceat(np.take(table, starts, axis=axis), first, axis=axis)
            for table in (counts, noise)
        )
    return Measured(part.columns, counts, np.sqrt(noise))


def tree_rule(marginals: Sequence[Clique], cells: Sequence[int], maximum: int) -> Rule:
    """Pairs that join two parts of the forest drawn so far; single columns when there is none."""

    def rule(chosen: tuple[int, ...]) -> Mask:
        part = {c: c for clique in marginals for c in clique}
        for place in chosen:
            if len(marginals[place]) == 2:
                a, b = (part[c] for c in marginals[place])
                part = {c: a if own == b else own for c, own in part.items()}
        allowed = np.array(
            [
                len(clique) == 2 and part[clique[0]] != part[clique[1]] and size <= maximum
                for clique, size in zip(marginals, cells, strict=True)
            ]
        )
        return allowed if allowed.any() else np.array([len(c) == 1 for c in marginals])

    return rule


def size_rule(
    sizes: Sequence[int],
    marginals: Mapping[Clique, Clique],
    kept: Sequence[Clique],
    maximum: int,
) -> Rule:
    """Marginals, each once, with which the model stays small enough; single columns when there is none.

    `marginals` are those to draw from, each with what is measured for it.
    """
    measured = list(marginals.values())

    def rule(chosen: tuple[int, ...]) -> Mask:
        have = [*kept, *(measured[place] for place in chosen)]
        allowed = np.array(
            [
                len(clique) > 1
                and place not in chosen
                and (
                    any(set(wide) <= set(other) for other in have)
                    or model_size(sizes, [*have, wide]) <= maximum
                )
                for place, (clique, wide) in enumerate(marginals.items())
            ]
        )
        return allowed if allowed.any() else np.array([len(c) == 1 for c in marginals])

    return rule
