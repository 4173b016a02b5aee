"""Intervals for means of a population from noised sums: noise and sampling error in one statistic.

For a candidate mean μ the statistic T(μ) = S - μN has mean 0, whatever the number of rows is; the interval is
the set of all μ at which T isn't too far from 0 (Fieller 1954). It needs no division by a noised count, so it
holds for small groups too: where the count doesn't stand out of the noise, it is the whole range.
Everything here is post-processing of noised sums. Derivations: ``docs/proofs/answers.md``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

__all__ = ["MIN_VARIANCE", "Quadratic", "critical_value", "solve"]

Floats = npt.NDArray[np.float64]

#: Smaller variances are taken as this one: without noise there may be none, and its square must not vanish.
MIN_VARIANCE = 1e-150


class Quadratic(NamedTuple):
    """c0 + c1·μ + c2·μ², by group."""

    c0: Floats
    c1: Floats
    c2: Floats

    def at(self, value: Floats) -> Floats:
        """Its value."""
        return np.asarray(self.c0 + value * (self.c1 + value * self.c2))


def critical_value(level: float, freedom: Floats, kurtosis: Floats) -> Floats:
    """How many deviations a statistic stays within 0 with probability `level`.

    Parameters
    ----------
    freedom : array
        Degrees of freedom of the estimated part of its variance (Welch 1947); at least 1.
    kurtosis : array
        The excess kurtosis of its noise: 3 if it is one Laplace variable alone, 0 if normal.
    """
    tail = (1 + level) / 2
    normal = float(ndtri(tail))
    student = stdtrit(np.maximum(freedom, 1.0), tail)
    laplace = -math.log1p(-level) / math.sqrt(2)  # of unit variance
    # between both distributions by their kurtosis, never below the normal one
    heavier = np.clip(kurtosis / 3, 0.0, 1.0) * max(0.0, laplace - normal)
    return np.asarray(student + heavier)


def solve(
    sums: Floats, counts: Floats, variance: Quadratic, critical: Floats, margin: float = 0.0
) -> tuple[Floats, Floats]:
    """All μ in [0, 1] with (\\|S - μN\\| - margin)² <= critical²·variance(μ), as the least and the largest.

    Parameters
    ----------
    margin : float
        A continuity correction: how far T may be off for free.
    """
    square = critical**2
    best = np.clip(sums / np.where(counts > 0, counts, 1.0), 0.0, 1.0)
    ends = []
    for sign in (-1.0, 1.0):
        shifted = sums + sign * margin
        a = counts**2 - square * variance.c2
        b = -2 * shifted * counts - square * variance.c1
        c = shifted**2 - square * variance.c0
        root = np.sqrt(np.maximum(b * b - 4 * a * c, 0.0))
        bounded = (counts > 0) & (a > 0)
        found = (-b + sign * root) / np.where(bounded, 2 * a, 1.0)
        ends.append(np.where(bounded, np.clip(found, 0.0, 1.0), (1.0 + sign) / 2))
    return np.minimum(ends[0], best), np.maximum(ends[1], best)
