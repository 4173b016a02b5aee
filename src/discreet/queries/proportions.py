"""Intervals for proportions: of n persons a whole number are ones, so what an interval covers moves in jumps.

If an interval reaches m/2 persons to either side, m a whole number, it takes in m numbers of ones whatever
the candidate is: as one of them enters, another leaves, and the jumps cancel. Everything here is
post-processing of noised sums. Derivations and figures: ``docs/proofs/answers.md``.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from discreet.queries.fieller import Floats, Quadratic, critical_value, solve

__all__ = ["find_proportion_interval"]

#: What is added to the variance, at the bounds and by μ(1 - μ): few ones need more than Wilson's interval.
EXTRA, EXTRA_EACH = 0.2, 0.6
#: What is added to a width before it is rounded down to whole persons; and by how much more, by deviation of
#: the normal distribution, at levels other than 0.95.
MARGIN, OTHER_MARGIN = 0.52, 0.3


def find_proportion_interval(
    ones: Floats,
    count: Floats,
    blur: Quadratic,
    fourth: Floats,
    level: float,
    rows_per_person: int = 1,
) -> tuple[Floats, Floats]:
    """The ends of the set of proportions μ at which T(μ) = S - μN isn't too far from 0.

    Parameters
    ----------
    ones, count : array
        S and N, by group.
    blur : Quadratic
        The variance of the noise on T(μ).
    fourth : array
        Σ(weight·deviation)⁴ over the Laplace noises in T; 0 if the noise is normal.
    rows_per_person : int
        At most this many rows of a person: all of them may be alike, so that persons are counted.
    """
    each, z = float(rows_per_person), float(ndtri((1 + level) / 2))
    ones, count = ones / each, count / each
    best = np.clip(np.where(count > 0, ones / np.where(count > 0, count, 1.0), 0.5), 0.0, 1.0)
    many = np.maximum(count, 1.0) + EXTRA_EACH
    variance = Quadratic(
        blur.c0 / each**2 + EXTRA, blur.c1 / each**2 + many, blur.c2 / each**2 - many
    )
    kurtosis = 3 * fourth / each**4 / variance.at(best) ** 2
    critical = critical_value(level, np.full_like(count, 1e9), kurtosis)
    margin = MARGIN + OTHER_MARGIN * abs(z - float(ndtri(0.975)))
    # numbers as likely on both sides lie around nμ + shift·(1 - 2μ): a binomial is skewed (Edgeworth)
    shift = (z * z - 3) / 6
    ones, count = ones - shift, count - 2 * shift
    low, high = (
        _snap(end, side, ones, count, variance, critical, margin)
        for side, end in zip(
            (-1.0, 1.0), solve(ones, count, variance, critical, margin / 2), strict=True
        )
    )
    return np.minimum(low, best), np.maximum(high, best)


def _snap(
    end: Floats,
    side: float,
    ones: Floats,
    count: Floats,
    variance: Quadratic,
    critical: Floats,
    margin: float,
) -> Floats:
    """The last candidate on a side whose distance, in halves of a person, is at most the width rounded down.

    `end` is the last one before rounding.
    """
    is_inside = (count > 0) & (end > 0) & (end < 1)
    divisor = np.where(count > 0, count, 1.0)
    distance = 2 * side * (end * count - ones)
    whole = np.floor(distance + 1e-9)
    snapped = (ones + side * whole / 2) / divisor
    # where the width grows inwards, it may be rounded down to one more before that
    width = 2 * critical * np.sqrt(np.maximum(variance.at(snapped), 0.0)) + margin
    part = np.clip((whole + 1 - distance) / np.maximum(width - distance, 1e-12), 0.0, 1.0)
    return np.where(is_inside, np.clip(end + part * (snapped - end), 0.0, 1.0), end)
