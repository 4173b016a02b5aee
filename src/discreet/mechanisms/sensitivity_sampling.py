"""A sensitivity estimated by sampling, which gives random differential privacy only."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import lambertw

from discreet.measures.random_dp import RandomDP
from discreet.rational import Number, as_integer, probability

__all__ = ["SampledSensitivity", "order_statistic", "sensitivity_sampler"]

_MAX_DRAWS = 10**8


@dataclass(frozen=True)
class SampledSensitivity:
    """An order statistic of distances between answers on random neighbours.

    Privacy
    -------
    Noise calibrated to `value` is random DP, see `RandomDP`, and never DP: it is not a sensitivity.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import mechanisms
    >>> draw = np.random.default_rng(0).random
    >>> found = mechanisms.sensitivity_sampler(np.mean, draw, n=100, gamma=0.2)
    >>> found.value < 1 / 100
    True
    >>> found.guarantee(epsilon=1)
    RandomDP(epsilon=1, delta=0, gamma=0.2)
    """

    value: float
    draws: int
    order: int
    gamma: Fraction

    def guarantee(self, epsilon: Number, delta: Number = 0) -> RandomDP:
        """The guarantee of a mechanism that would be (ε, δ)-DP if `value` were the sensitivity."""
        return RandomDP(epsilon, delta, self.gamma)


def _slack(m: int) -> tuple[float, float]:
    """ρ and ρ + √(log(1/ρ)/(2m)), the least γ that m draws allow."""
    # the ρ that makes the second one least (Rubinstein & Aldà 2017)
    rho = math.exp(float(lambertw(-1 / (4 * m), -1).real) / 2)
    return rho, rho + math.sqrt(-math.log(rho) / (2 * m))


def order_statistic(m: int, gamma: Number) -> int:
    """Which of m sorted distances to take for the confidence γ: 439 of 500 for γ = 0.2.

    k = ⌈m(1 - γ + ρ + √(log(1/ρ)/(2m)))⌉ with ρ = exp(W₋₁(-1/(4m))/2) (Rubinstein & Aldà 2017).
    """
    draws, share = as_integer(m, "m", minimum=2), float(probability(gamma, "gamma"))
    least = _slack(draws)[1]
    if share < least or share == 0:
        raise ValueError(
            f"gamma must be at least {least:.4g} with m = {draws}: give a larger gamma or m."
        )
    return min(draws, math.ceil(draws * (1 - share + least)))


def _minimum_draws(gamma: Fraction) -> int:
    low, high = 1, 2
    while _slack(high)[1] > gamma:
        low, high = high, 2 * high
        if high > _MAX_DRAWS:
            raise ValueError("gamma is too small to be sampled.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _slack(middle)[1] <= gamma else (middle, high)
    return high


def sensitivity_sampler(
    target: Callable[[Any], npt.ArrayLike],
    sampler: Callable[[int], npt.NDArray[Any]],
    n: int,
    gamma: Number,
    m: int | None = None,
) -> SampledSensitivity:
    """Estimate how far `target` moves when one of n rows is replaced, on data made by `sampler`.

    Parameters
    ----------
    target : callable
        Takes an array of n rows; its value, or vector of values, is compared in the sup norm.
    sampler : callable
        ``sampler(n + 1)`` draws that many independent rows from the distribution of the data. It must not
        look at the data.
    n : int
        The number of rows, which is public.
    gamma : number
        The share of data sets for which nothing will be promised.
    m : int, optional
        How many pairs are drawn; by default the least number that `gamma` allows.

    Privacy
    -------
    It touches no private data. What is calibrated to its result has `RandomDP`, for replace-one, and
    only if `sampler` *is* the distribution of the data; no ledger accepts it.
    Rubinstein & Aldà 2017. Proof page: ``docs/proofs/bernstein.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import mechanisms
    >>> draw = np.random.default_rng(0).random
    >>> found = mechanisms.sensitivity_sampler(np.mean, draw, n=100, gamma=0.2)
    >>> 0.005 < found.value < 0.01
    True
    """
    rows, share = as_integer(n, "n", minimum=1), probability(gamma, "gamma")
    if not 0 < share < 1:
        raise ValueError("gamma must be greater than 0 and less than 1.")
    draws = _minimum_draws(share) if m is None else as_integer(m, "m", minimum=2)
    order = order_statistic(draws, share)
    distances = np.empty(draws)
    for i in range(draws):
        data = np.asarray(sampler(rows + 1))
        if len(data) != rows + 1:
            raise ValueError("sampler(n + 1) must give n + 1 rows.")
        here = np.asarray(target(data[:rows]), float)
        there = np.asarray(target(np.delete(data, rows - 1, axis=0)), float)
        distances[i] = np.max(np.abs(here - there))
    value = float(np.sort(distances)[order - 1])
    return SampledSensitivity(value, draws, order, share)
