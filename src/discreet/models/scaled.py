"""Noised moments of the features, on the finest grid that leaves room for the noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.coding import Sensitivity
from discreet.measures import Measure
from discreet.mechanisms import Mechanism, mechanism_for
from discreet.models.facts import Facts
from discreet.queries import CentredSums
from discreet.queries.additive import Floats
from discreet.queries.centred import Products

__all__ = ["ScaledMoments", "finest", "scaled_moments"]

#: Coarser grids are not tried.
_MIN_BITS = 6


def finest(facts: Facts, budget: Measure | Mechanism, products: Products) -> CentredSums:
    """The query for moments of all features; where noise is too large for a fine grid, on a coarser one.

    What decides is the number of columns and the budget, both public.
    """
    fine = CentredSums(*facts.features, products=products)
    moved, bits = fine.sensitivity(facts.schema, facts.unit), fine.bits
    while bits > _MIN_BITS and not _fits(moved, budget):
        bits -= 1  # coordinates, and with them the noise, become four times smaller
        moved = Sensitivity(-(-moved.l1 // 4), -(-moved.l2_squared // 16))
    return CentredSums(*facts.features, products=products, bits=bits)


def _fits(moved: Sensitivity, budget: Measure | Mechanism) -> bool:
    mechanism = budget if isinstance(budget, Mechanism) else mechanism_for(budget, moved)
    try:
        mechanism.for_sums(moved, 2)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class ScaledMoments:
    """What a noised vector says about columns scaled to [-1, 1].

    Attributes
    ----------
    count : float
        At least 1.
    mean : array of shape (d,)
    second : array of shape (d,) or (d, d)
        Mean squares, or mean products.
    error : float
        The standard deviation of the noise in an entry of `second`.
    """

    count: float
    mean: Floats
    second: Floats
    error: float


def scaled_moments(answer: Any, errors: Any, dimensions: int, *, squares: bool) -> ScaledMoments:
    """Means of u and of its products, kept within what [-1, 1] allows."""
    d = dimensions
    sums, deviations = (np.asarray(values, np.float64).ravel() for values in (answer, errors))
    count = max(float(sums[0]), 1.0)
    mean = np.clip(sums[1 : 1 + d] / count, -1.0, 1.0)
    products = np.clip(sums[1 + d :] / count, -1.0, 1.0)
    error = float(deviations[1 + d :].max()) / count
    if squares:
        return ScaledMoments(count, mean, np.maximum(products, 0.0), error)
    second = np.zeros((d, d))
    second[np.triu_indices(d)] = products
    return ScaledMoments(count, mean, second + np.triu(second, 1).T, error)
