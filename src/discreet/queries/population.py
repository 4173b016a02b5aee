"""Intervals for means, sums and shares of a population from noised sums of its sample.

Everything here is post-processing of noised sums. Derivations: ``docs/proofs/answers.md``.
"""

from __future__ import annotations

import numpy as np

from discreet.queries.fieller import MIN_VARIANCE, Floats, Quadratic, critical_value
from discreet.queries.proportions import find_proportion_interval
from discreet.queries.scatter import (
    find_freedom,
    find_scatter_interval,
    measure_scatter,
)

__all__ = ["find_shares", "mean_interval", "share_interval", "sum_interval"]

#: How many deviations of its noise are added to the variance of a sum: too small a one is overconfident.
CAUTION = 0.5


def find_shares(sums: Floats) -> Floats:
    """Σu/count between 0 and 1; 1/2 where the count is not positive."""
    count, first, _ = sums
    return np.asarray(np.clip(np.where(count > 0, first / np.maximum(count, 1.0), 0.5), 0.0, 1.0))


def mean_interval(
    sums: Floats,
    noise: float,
    level: float,
    is_laplace: bool,
    rows_per_person: int = 1,
    count_is_public: bool = False,
    is_binary: bool = False,
) -> tuple[Floats, Floats]:
    """An interval for the mean of u in a population, by group.

    Parameters
    ----------
    sums : array
        Count, Σu and Σu², by group.
    noise : float
        The variance of the noise on each of Σ(1-u)², Σ2u(1-u) and Σu².
    rows_per_person : int
        At most this many rows of a person, who is drawn as a whole: by Cauchy-Schwarz the variance is at
        most that many times the one of independent rows.
    is_binary : bool
        Whether u is 0 or 1, so that its variance follows from the mean (Wilson 1927).
    """
    count, first, _ = sums
    share, zero = find_shares(sums), np.zeros_like(count)
    if count_is_public:
        blur = Quadratic(zero + noise / 2, zero, zero)
        fourth = zero + noise**2 / 8  # half the difference of two coordinates is left
    else:
        blur = Quadratic(zero + 1.25 * noise, zero - 3 * noise, zero + 3 * noise)
        fourth = noise**2 * (share**4 + (0.5 - share) ** 4 + (1 - share) ** 4)
    fourth = fourth if is_laplace else zero
    if not is_binary:
        measured = measure_scatter(sums, share, noise, count_is_public, is_laplace, rows_per_person)
        return find_scatter_interval(first, count, share, blur, fourth, measured, level)
    return find_proportion_interval(first, count, blur, fourth, level, rows_per_person)


def share_interval(
    counts: Floats, noise: float, level: float, is_laplace: bool, rows_per_person: int = 1
) -> tuple[Floats, Floats]:
    """An interval for each group's share of a population, from noised counts of all groups (last axis).

    A group's count is binomial given the whole, so its variance follows from the share (Wilson 1927).
    """
    whole = counts.sum(axis=-1, keepdims=True) + np.zeros_like(counts)
    others, zero = counts.shape[-1] - 1, np.zeros_like(counts)
    share = np.clip(counts / np.maximum(whole, 1.0), 0.0, 1.0)
    blur = Quadratic(zero + noise, zero - 2 * noise, zero + (1 + others) * noise)
    fourth = noise**2 * ((1 - share) ** 4 + others * share**4) if is_laplace else zero
    return find_proportion_interval(counts, whole, blur, fourth, level, rows_per_person)


def sum_interval(
    sums: Floats,
    ends: tuple[float, float],
    noise: float,
    level: float,
    is_laplace: bool,
    rows_per_person: int = 1,
    rows: int | None = None,
) -> tuple[Floats, Floats]:
    """How far below and above the estimate the expected sum of y may lie, y = ends[0] + u·(distance).

    y is a value in units of the largest there is, so -1 <= y <= 1. Rows come as a Poisson process, so the
    variance is Σy²; with a public number of rows it is that of as many draws. A sum of few rows says little
    about its variance, so that is tied to the sum that is asked about where values have one sign.
    """
    (low, high), (count, first, second) = ends, sums
    width = high - low
    weights = np.array([low, (low + high) / 2, high])
    blur, fourth = noise * float(np.sum(weights**2)), noise**2 * float(np.sum(weights**4))
    one_sign = rows is None and (low >= 0 or high <= 0)
    if rows is None:
        squares = low**2 * count + 2 * low * width * first + width**2 * second
        blurred = noise * float(np.sum(np.array([low**2, low * high, high**2]) ** 2))
        scatter = np.maximum(squares, 0.0) + CAUTION * np.sqrt(blurred)
        value = np.abs(low * count + width * first)
        # the variance by which one unit of the sum comes, at most 1, at first as if a row were at the end
        each = np.clip((scatter + 1) / (value + 1), 0.0, 1.0) if one_sign else np.ones_like(count)
        freedom = np.full_like(count, 1e9)
    else:
        measured = measure_scatter(sums, find_shares(sums), noise, True, is_laplace, 1)
        scatter = width**2 * (np.maximum(measured.found, 0.0) + CAUTION * measured.deviation)
        freedom = find_freedom(blur + scatter, scatter, measured.persons)
        each = np.zeros_like(count)
    scatter, each = rows_per_person * scatter, rows_per_person * each
    spread = np.maximum(blur + scatter, MIN_VARIANCE)
    kurtosis = 3 * fourth / spread**2 if is_laplace else np.zeros_like(count)
    critical = critical_value(level, freedom, kurtosis)
    shift = critical**2 * each / 2
    reach = critical * np.sqrt(spread + (critical * each) ** 2 / 4) + each / 2
    if not one_sign:
        return -reach - shift, reach + shift
    return (shift - reach, shift + reach) if high > 0 else (-shift - reach, reach - shift)
