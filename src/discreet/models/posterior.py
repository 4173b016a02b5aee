"""From noised sums to means, variances and counts: what a public prior and the known noise suggest.

Everything here is post-processing. The prior is fixed, in units in which the bounds are -1 and 1; its
numbers were chosen by measurement (``benchmarks/bench_models.py``) and are flat around their values.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: Standard deviation of a class mean about the mean of all rows.
MEAN_SPREAD = 0.5
#: Variances are log-normal: median, and standard deviation of the logarithm.
TYPICAL_VARIANCE, VARIANCE_SPREAD = 0.1, 1.0
#: Counts below this many standard deviations of their noise are treated as noise.
MIN_COUNT = 2.0
MIN_CELL = 0.5
#: Where the noise is below this share of a variance, the prior has nothing to add.
NEGLIGIBLE = 0.1
_VARIANCES = np.exp(np.linspace(np.log(1e-7), 0.0, 256))


def repair_counts(counts: Floats, noise: float) -> Floats:
    """Counts of classes, none below what noise alone could show."""
    return np.maximum(counts, max(1.0, MIN_COUNT * noise))


def repair_cells(cells: Floats, noise: Floats, alpha: float) -> Floats:
    """Counts of cells plus `alpha`; those that can't be told from noise count as 0."""
    return np.where(cells <= MIN_CELL * noise, 0.0, cells) + alpha


def join_counts(estimates: list[tuple[Floats, float]]) -> tuple[Floats, float]:
    """Combine several estimates of the same counts, each with its noise, weighted by precision."""
    if any(noise == 0.0 for _, noise in estimates):
        return next((counts, 0.0) for counts, noise in estimates if noise == 0.0)
    weights = [noise**-2.0 for _, noise in estimates]
    total = sum(weights)
    joined = sum(w * counts for w, (counts, _) in zip(weights, estimates, strict=True))
    return np.asarray(joined) / total, float(total**-0.5)


def class_moments(
    counts: Floats,
    sums: Floats,
    squares: Floats,
    noise: tuple[float, Floats, Floats],
    minimum: float,
) -> tuple[Floats, Floats]:
    """Means and variances of u in [-1, 1] by class and column, from noised sums of u and 1 - u².

    Parameters
    ----------
    counts : array over classes
        Repaired counts.
    sums, squares : arrays of shape (classes, columns)
        Noised sums of u and u².
    noise : tuple
        Standard deviations of the noise of the count, of the sums, and of the sums of 1 - u².
    minimum : float
        The least variance: that of the grid.

    Returns
    -------
    means, variances
        The variance is that of a new row: the noise of its mean is included.
    """
    count_noise, sum_noise, rest_noise = noise
    n = counts[:, None]
    raw = np.clip(sums / n, -1.0, 1.0)
    mean_noise = np.hypot(sum_noise, np.abs(raw) * count_noise) / n  # delta method
    pooled = (raw * n).sum(axis=0) / n.sum()
    share = MEAN_SPREAD**2 / (MEAN_SPREAD**2 + mean_noise**2)  # normal prior, normal noise
    means = pooled + (raw - pooled) * share
    left = share * mean_noise**2
    spread = squares / n - raw**2
    # v = 1 - T/n - (S/n)² with T the sum of 1 - u²: derivatives in T, S and n
    v = np.clip(spread, 0.0, 1.0)
    parts = rest_noise**2 + (2 * raw * sum_noise) ** 2 + ((1 + raw**2 - v) * count_noise) ** 2
    variances = _variances(spread, np.sqrt(parts) / n)
    return means, np.maximum(variances + left, minimum)


def _variances(seen: Floats, noise: Floats) -> Floats:
    """Posterior means of variances seen with normal noise, under the log-normal prior."""
    result = np.clip(seen, 0.0, 1.0)
    prior = -0.5 * (np.log(_VARIANCES / TYPICAL_VARIANCE) / VARIANCE_SPREAD) ** 2
    for row in range(len(seen)):
        at = np.flatnonzero(noise[row] > NEGLIGIBLE * np.maximum(seen[row], 0.0))
        at = at[noise[row][at] > 0.0]
        if not len(at):
            continue
        x, sd = seen[row][at, None], noise[row][at, None]
        weights = -0.5 * ((x - _VARIANCES) / sd) ** 2 + prior
        weights = np.exp(weights - weights.max(axis=1, keepdims=True))
        result[row][at] = (weights * _VARIANCES).sum(axis=1) / weights.sum(axis=1)
    return result
