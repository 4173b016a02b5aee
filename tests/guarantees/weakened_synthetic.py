"""Copies of synthetic tables, each weakened in one place; the registered attacks must catch them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.coding import Sensitivity
from discreet.publish.synthetic import plan as synthetic_plan
from discreet.queries import CellCounts, FarMarginals
from discreet.unit import ADD_REMOVE, Unit


def cells_of_half_the_sensitivity(patch):
    """Half of it where it can be halved: a row that comes or goes still moves one count by 1 in L1."""
    honest = CellCounts.sensitivity

    def half(query, schema, unit):
        right = honest(query, schema, unit)
        return Sensitivity(-(-right.l1 // 2), Fraction(right.l2_squared) / 4)

    patch.setattr(CellCounts, "sensitivity", half)


def replaced_rows_counted_as_added(patch):
    honest = CellCounts.sensitivity
    patch.setattr(
        CellCounts,
        "sensitivity",
        lambda query, schema, unit: honest(query, schema, Unit(ADD_REMOVE)),
    )


def scores_of_squared_distances(patch):
    """A row moves the square of a distance by more than any weight."""

    def scores(query, totals):
        parts = zip(totals, query.expected, strict=True)
        return np.array([int(((part[:, 0] - expected) ** 2).sum()) for part, expected in parts])

    patch.setattr(FarMarginals, "scores", scores)


def expectations_of_the_true_number_of_rows(patch):
    """A model scaled to as many rows as there are: one more row moves every cell's distance."""

    def scores(query, totals):
        found = []
        for part, expected in zip(totals, query.expected, strict=True):
            share = expected / max(1, expected.sum())
            found.append(int(np.rint(8 * abs(part[:, 0] - share * part.sum()).sum())))
        return np.array(found, np.int64)

    honest = FarMarginals.sensitivity

    def moved(query, schema, unit):
        right = 8 * honest(query, schema, unit).l1  # scores are in eighths
        return Sensitivity(right, right**2)

    patch.setattr(FarMarginals, "scores", scores)
    patch.setattr(FarMarginals, "sensitivity", moved)


def rounds_beside_the_budget(patch):
    honest = synthetic_plan.split_budget

    def split(measure, shares):
        tree = honest(measure, shares[:3])
        return (*tree, *honest(measure, shares)[3:])

    patch.setattr(synthetic_plan, "split_budget", split)
