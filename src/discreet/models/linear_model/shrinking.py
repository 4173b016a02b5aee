"""Coefficients shrunk by what the noise says about them: empirical Bayes on noised normal equations.

Everything here is post-processing of noised sums, in units in which the bounds are -1 and 1. The prior is
public; its numbers were chosen on the training parts of six tables (``benchmarks/bench_linear_model.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.models.linear_model.asking import Scales
from discreet.models.linear_model.solving import Solution, centre, missing_ridge, solve
from discreet.release import Release

Floats = npt.NDArray[np.float64]

#: The share of the target's variance that slopes explain is log-normal up to 1: its median without that
#: limit, and the standard deviation of its logarithm.
TYPICAL_SHARE, SHARE_SPREAD = 0.3, 2.0
#: The shares over which it is averaged.
_SHARES = np.geomspace(1e-5, 1.0, 40)
#: A mean between -1 and 1 of which nothing is known: the variance of an even spread.
MEAN_VARIANCE = 1 / 3
#: The variance of a target is no smaller, so that few rows don't look like exact ones.
MIN_VARIANCE = 1e-4


@final
@dataclass(frozen=True)
class Bought:
    """Noised moments of the target in scaled units, with their standard errors."""

    mean: float
    mean_error: float
    variance: float
    variance_error: float

    @classmethod
    def of(cls, release: Release, target: Scales) -> Bought:
        """What a release of `Moments` says."""
        value, error = release.value, release.stderr

        def scaled(number: Any) -> Floats:
            return target.divide(np.ravel(np.asarray(number, np.float64))[:1])

        mean = float(scaled(value.mean - target.middle)[0])
        variance = float(target.divide(scaled(value.variance))[0])
        return cls(
            mean,
            float(scaled(error.mean)[0]),
            variance,
            float(target.divide(scaled(error.variance))[0]),
        )


def shrunk(matrix: Floats, noise: float, penalty: Floats, bought: Bought | None = None) -> Solution:
    """Least squares with an intercept, each direction shrunk by its noise.

    Parameters
    ----------
    matrix : array
        The noised sums of vvᵀ, v = (1, u, t).
    noise : float
        Standard deviation of the noise of an entry.
    penalty : array
        A ridge for each slope that was asked for.
    bought : Bought, optional
        Other noised moments of t.
    """
    count, means, about = centre(matrix)
    middle = known_mean(float(means[-1]), count, noise, bought)
    # an entry about the means carries the noise of four sums: (1 + mᵢ²)(1 + mⱼ²) times the variance
    spread = noise**2 * (1.0 + float(np.mean(means[:-1] ** 2))) * (1.0 + middle**2)
    # a variance that may be larger by its error: too much shrinkage can't be undone
    if bought is None:
        variance = (float(about[-1, -1]) + noise * (1.0 + middle**2)) / count
    else:
        variance = bought.variance + bought.variance_error
    left = about[:-1, :-1] + np.diag(penalty)
    ridge = missing_ridge(left, noise * (1.0 + float((means[:-1] ** 2).max())))
    slopes = shrunk_slopes(left, about[:-1, -1], spread, count, variance)
    return Solution(float(middle - means[:-1] @ slopes), slopes, ridge)


def shrunk_through_zero(matrix: Floats, noise: float, penalty: Floats, middles: Floats) -> Solution:
    """As `shrunk`, without an intercept: `middles` are the midpoints of bounds in half-widths."""
    move = np.eye(len(matrix))
    move[1:, 0] = middles
    raw = move @ matrix @ move.T
    spread = noise**2 * (1.0 + float(np.mean(middles[:-1] ** 2))) * (1.0 + float(middles[-1] ** 2))
    count = max(float(matrix[0, 0]), 1.0)
    variance = (float(raw[-1, -1]) + noise * (1.0 + float(middles[-1] ** 2))) / count
    left = raw[1:-1, 1:-1] + np.diag(penalty)
    ridge = missing_ridge(left, noise * (1.0 + float((middles[:-1] ** 2).max())))
    slopes = shrunk_slopes(left, raw[1:-1, -1], spread, count, variance)
    return Solution(0.0, slopes, ridge)


def shrunk_line(matrix: Floats, noise: float) -> Solution:
    """As `shrunk` for one feature, where no square of the target was asked for.

    The target's variance is taken to be that of an even spread between its bounds: what slopes explain of it
    is averaged over anyway.
    """
    count, means, about = centre(matrix)
    middle = known_mean(float(means[1]), count, noise, None)
    spread = noise**2 * (1.0 + float(means[0]) ** 2) * (1.0 + middle**2)
    slopes = shrunk_slopes(about[:1, :1], about[:1, 1], spread, count, MEAN_VARIANCE)
    return Solution(float(middle - means[0] * slopes[0]), slopes, 0.0)


def known_mean(mean: float, count: float, noise: float, bought: Bought | None) -> float:
    """The mean of t from the equations and from what was bought, weighted by precision and shrunk."""
    if noise == 0:
        return mean
    # a count less its noise: a count that noise made large must not make the mean look exact
    error = noise**2 * (1.0 + mean**2) / max(count - noise, 1.0) ** 2
    weights, total = 1.0 / error, mean / error
    if bought is not None:
        error = max(bought.mean_error, 1e-12) ** 2
        weights, total = weights + 1.0 / error, total + bought.mean / error
    return float(np.clip(total / (weights + 1.0 / MEAN_VARIANCE), -1.0, 1.0))


def shrunk_slopes(
    left: Floats, right: Floats, spread: float, count: float, variance: float
) -> Floats:
    """The posterior mean of the least-squares solution of `left`·w = `right`.

    In the eigenbasis of `left` a coordinate g = hw + noise. With slopes of variance τ in the population and
    v the target's variance, w varies by τ + v/h over tables, and the noise of g is s²(1 + dτ): s² its own,
    s²dτ that of `left` times the slopes. Slopes explain τ·Σh/n of v; that share is averaged over its
    posterior, the Bayesian form of a ridge chosen by the data (MacKay 1992). Without noise nothing is shrunk.

    Parameters
    ----------
    left, right : arrays
        Noised sums of products about the means.
    spread : float
        The variance s² of the noise in an entry.
    count, variance : float
        The number of rows, and the target's variance v.
    """
    values, vectors = np.linalg.eigh(np.nan_to_num(left, posinf=1e300, neginf=-1e300))
    if spread == 0:
        return solve(values, vectors, right)
    h, g = np.maximum(values, 0.0), vectors.T @ np.nan_to_num(right)
    v = max(variance, MIN_VARIANCE)
    slope = (_SHARES * v * count / max(float(h.sum()), 1.0))[:, None]
    varying = h * slope + v  # times h: of what is to be found
    total = h * varying + spread * (1.0 + len(h) * slope)
    fit = -0.5 * (np.log(total) + g / total * g).sum(axis=1)
    fit -= 0.5 * (np.log(_SHARES / TYPICAL_SHARE) / SHARE_SPREAD) ** 2
    weights = np.exp(fit - fit.max())
    kept = (weights[:, None] * varying / total).sum(axis=0) / weights.sum()
    return np.asarray(vectors @ (kept * g))
