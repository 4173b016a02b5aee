"""The exact distribution of three joint quartiles of one group, slow and obvious, from the proof page.

It shares no code with `discreet.queries`. A cell of the grid has fewer positions than there: rows are still
spread evenly over them, and probabilities differ by little.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Rows = tuple[int, ...]


def rows_below(rows: Rows, start: int, stop: int, pieces: int) -> Floats:
    """How many rows of a part, from position `start` up to `stop`, are below each position of the grid."""
    positions, below = np.arange(len(rows) * pieces), np.zeros(len(rows) * pieces)
    for cell, count in enumerate(rows):
        first, end = max(cell * pieces, start), min((cell + 1) * pieces, stop)
        if count:
            below += count * np.clip(positions - first, 0, end - first) // (end - first)
    return below


def median_odds(rows: Rows, start: int, stop: int, rate: float, pieces: int) -> Floats:
    """The probability of each position as the median of a part: exp(-rate·|2·(rows below) - rows|)."""
    below = rows_below(rows, start, stop, pieces)
    positions = np.arange(len(below))
    weights = np.exp(-rate * np.abs(2 * below - sum(rows)))
    weights[(positions < start) | (positions > stop)] = 0
    return np.asarray(weights / weights.sum())


@cache
def quartile_odds(rows: Rows, rate: float, pieces: int = 4) -> Floats:
    """The probability of each three cells: the median of all rows, then those below and above it.

    Parameters
    ----------
    rows : tuple of int
        How many there are in each cell.
    rate : float
        What a score is multiplied with, in either level.
    pieces : int
        The positions of a cell.
    """
    cells = len(rows)
    odds = np.zeros((cells, cells, cells))

    def by_cell(part: Rows, start: int, stop: int) -> Floats:
        return np.asarray(
            median_odds(part, start, stop, rate, pieces).reshape(cells, pieces).sum(axis=1)
        )

    for cut, chance in enumerate(median_odds(rows, 0, cells * pieces, rate, pieces).tolist()):
        lower = tuple(
            count * min(max(cut - cell * pieces, 0), pieces) // pieces
            for cell, count in enumerate(rows)
        )
        upper = tuple(a - b for a, b in zip(rows, lower, strict=True))
        both = by_cell(lower, 0, cut), by_cell(upper, cut, cells * pieces)
        odds[:, cut // pieces, :] += chance * np.multiply.outer(*both)
    return odds


def hockey_stick(one: Floats, other: Floats, epsilon: float) -> float:
    """The smallest δ with which one is (ε, δ)-close to the other, both ways."""
    factor = math.exp(epsilon)
    return max(
        float(np.maximum(one - factor * other, 0).sum()),
        float(np.maximum(other - factor * one, 0).sum()),
    )


def largest_loss(one: Floats, other: Floats) -> float:
    """The largest logarithm of a ratio of probabilities, of one to the other or of the other to it."""
    seen = (one > 0) | (other > 0)
    return float(np.abs(np.log(one[seen] / other[seen])).max())


def standard_errors(one: Floats, other: Floats, epsilon: float, delta: float) -> float:
    """How far one run on each side is beyond a claim, for the best event; times √runs for many runs."""
    found = []
    for p, q in ((one.ravel(), other.ravel()), (other.ravel(), one.ravel())):
        order = np.argsort(-p / np.maximum(q, 1e-300), kind="stable")
        hits, others = np.cumsum(p[order])[:-1], np.cumsum(q[order])[:-1]
        factor = math.exp(epsilon)
        spread = hits * (1 - hits) + factor**2 * others * (1 - others)
        found.append((hits - factor * others - delta) / np.sqrt(np.maximum(spread, 1e-12)))
    return float(np.max(found))
