"""The δ of releasing keys by a threshold. Proof page: ``docs/proofs/discovery.md``."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.rational import above

__all__ = ["minimum_threshold", "threshold_delta"]


#: Chances below this underflow; they count as this, so that none passes for zero.
SMALLEST = 1e-300


def _reaches(scale: Fraction, distance: int) -> float:
    """P(K >= distance) of discrete Laplace noise, distance >= 1: q^distance/(1 + q)."""
    # exponents beyond 10^6 underflow anyway
    step, exponent = (float(min(x / scale, Fraction(10**6))) for x in (1, distance))
    return math.exp(-exponent) / (1 + math.exp(-step))


def threshold_delta(scale: Fraction, threshold: int, rows: int, groups: int) -> Fraction:
    """The largest chance that one of a person's own keys reaches the threshold, rounded up.

    The person has `rows` rows in j <= `groups` keys. The chance is convex in a key's rows below the
    threshold, so the worst split has one large key and j - 1 keys of one row; and it is convex in j too, so
    the worst j is 1 or the largest.
    """

    def at(j: int) -> float:
        large = _reaches(scale, threshold - (rows - j + 1))
        small = _reaches(scale, threshold - 1)
        return large + float(min(j - 1, 10**300)) * small

    worst = max(at(1), at(min(groups, rows)))
    return min(Fraction(1), above(max(worst, SMALLEST)))


def minimum_threshold(scale: Fraction, delta: Fraction, rows: int, groups: int) -> int:
    """The smallest threshold whose δ is at most `delta`."""
    if not 2 * Fraction(SMALLEST) < delta < 1:
        raise ValueError(f"delta must be greater than {2 * SMALLEST:g} and less than 1.")
    low, high = rows, rows + 1
    while threshold_delta(scale, high, rows, groups) > delta:
        low, high = high, rows + 2 * (high - rows)
    while high - low > 1:
        middle = (low + high) // 2
        if threshold_delta(scale, middle, rows, groups) <= delta:
            high = middle
        else:
            low = middle
    return high
