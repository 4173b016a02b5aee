"""The programs of a student report: k-means, both kinds of naive Bayes, regression, as its figures show them.

Its neighbours differ by one row's presence. All functions are vectorised over runs.

Source: a student report on k-means, naive Bayes and regression under differential privacy: figures 2-3
(k-means), 4-7 (naive Bayes, after Vaidya et al. 2013), 8-10 (NoisyStats of Alabi et al. 2022).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.guarantees.draws import Floats, laplace

__all__ = [
    "category_counts",
    "class_counts",
    "frequencies",
    "kmeans",
    "mean_and_deviation",
    "regression",
]


def kmeans(
    points: Floats,
    trials: int,
    *,
    epsilon: float,
    start: Floats,
    rounds: int,
    domain: float | None = None,
    transcript: bool = False,
) -> Floats:
    """Centroids after `rounds` of noisy sizes and sums.

    Without `domain` the noise on a sum is scaled by the largest less the smallest value *of the
    cluster's own points* (figure 3). `transcript` gives the noisy sizes and sums of the last round, which
    the report's budget is meant to cover.
    """
    centroids = np.repeat(start[None], trials, axis=0)
    sizes, sums = np.zeros(0), np.zeros(0)
    for _ in range(rounds):
        distances = ((points[None, :, None, :] - centroids[:, None]) ** 2).sum(axis=-1)
        # run, point, cluster
        mine = np.argmin(distances, axis=2)[:, :, None] == np.arange(len(start))
        cells = mine[..., None]
        if domain is None:
            high = np.where(cells, points[:, None, :], -np.inf).max(axis=1, initial=-np.inf)
            low = np.where(cells, points[:, None, :], np.inf).min(axis=1, initial=np.inf)
            width = np.where(np.isfinite(high), high - np.where(np.isfinite(low), low, 0.0), 0.0)
        else:
            width = np.full(centroids.shape, domain)
        sizes = mine.sum(axis=1) + laplace(2 * rounds / epsilon, centroids.shape[:2])
        sums = np.where(cells, points[:, None, :], 0.0).sum(axis=1)
        sums = sums + laplace(2 * rounds * width / epsilon, centroids.shape)
        centroids = sums / sizes[..., None]
    if transcript:
        return np.concatenate([sizes[..., None], sums], axis=2)
    return np.asarray(centroids)


def category_counts(
    rows: npt.NDArray[np.int64], trials: int, *, epsilon: float, values: int
) -> Floats:
    """P(attribute = value | class) in one class: noisy counts over the class's *exact* size (figure 5)."""
    counts = (rows[:, :, None] == np.arange(values)).sum(axis=0)
    return np.asarray((counts + laplace(1 / epsilon, (trials, *counts.shape))) / len(rows))


def frequencies(rows: list[str], *, epsilon: float) -> dict[str, float]:
    """Noisy counts of the values *that occur*: which ones do is revealed exactly."""
    return {
        value: rows.count(value) + float(laplace(1 / epsilon, 1)[0]) for value in sorted(set(rows))
    }


def class_counts(counts: Floats, trials: int, *, epsilon: float) -> Floats:
    """Class counts with Laplace(0, 1), whatever ε is (figure 4, line 18)."""
    del epsilon
    return counts + laplace(1.0, (trials, *np.shape(counts)))


def mean_and_deviation(
    column: Floats,
    trials: int,
    *,
    epsilon: float,
    attributes: int = 4,
    bounds: tuple[float, float] | None = None,
) -> Floats:
    """Mean and standard deviation of an attribute in one class (figures 6-7), ε/(3·attributes) each.

    Without `bounds` the column's own smallest and largest value are used, as printed; the sensitivities
    use the exact size of the class, the deviation divides by n - 1.
    """
    low, high = bounds or (float(column.min()), float(column.max()))
    n, share = len(column), epsilon / (3 * attributes)
    mean = column.mean() + laplace((high - low) / (n + 1) / share, trials)
    scale = np.sqrt(n) * (high - low) / (n + 1) / share
    return np.column_stack([mean, column.std(ddof=1) + laplace(scale, trials)])


def regression(points: Floats, trials: int, *, epsilon: float) -> Floats:
    """Slope and intercept by NoisyStats with *one* draw for covariance and variance (figures 9-10)."""
    x, y = points.T
    n = len(points)
    shared = laplace(3 * (1 - 1 / n) / epsilon, trials)
    variance = ((x - x.mean()) ** 2).sum() + shared
    covariance = ((x - x.mean()) * (y - y.mean())).sum() + shared
    slope = covariance / variance
    noise = laplace(3 * (1 + np.abs(slope)) / (n * epsilon), trials)
    return np.column_stack([slope, y.mean() - slope * x.mean() + noise])
