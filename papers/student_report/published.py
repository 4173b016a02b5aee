"""The report's programs, line by line as its figures print them, and what it quotes. None is private."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Draws = np.random.Generator


def cluster(points: Floats, epsilon: float, draw: Draws, rounds: int = 10, k: int = 4) -> Floats:
    """Centroids (figures 2 and 3); the report doesn't say where they begin: at rows, as is usual."""
    centroids = points[draw.choice(len(points), k, replace=False)]
    for _ in range(rounds):
        nearest = ((points[:, None] - centroids) ** 2).sum(axis=2).argmin(axis=1)
        centroids = centroids.copy()
        for place in range(k):
            mine = points[nearest == place]
            size = len(mine) + draw.laplace(0, 2 * rounds / epsilon)
            domain = np.ptp(mine, axis=0) if len(mine) else np.zeros(points.shape[1])
            centroids[place] = (
                mine.sum(axis=0) + draw.laplace(0, 2 * rounds * domain / epsilon)
            ) / size
    return centroids


class CategoricalBayes:
    """Noisy counts over exact class sizes (figure 5), multiplied."""

    def __init__(self, epsilon: float | None, draw: Draws) -> None:
        self.epsilon, self.draw = epsilon, draw

    def fit(self, x: npt.NDArray[np.str_], y: npt.NDArray[np.str_]) -> CategoricalBayes:
        self.classes = np.unique(y)
        self.shares: list[list[dict[str, float]]] = []
        for label in self.classes:
            rows = x[y == label]
            self.shares.append([self._shares(rows[:, j], x[:, j]) for j in range(x.shape[1])])
        self.prior = [float((y == label).mean()) for label in self.classes]
        return self

    def _shares(
        self, column: npt.NDArray[np.str_], everyone: npt.NDArray[np.str_]
    ) -> dict[str, float]:
        found = {}
        for value in np.unique(everyone):  # the values that occur
            noise = 0.0 if self.epsilon is None else self.draw.laplace(0, 1 / self.epsilon)
            found[str(value)] = (int((column == value).sum()) + noise) / len(column)
        return found

    def predict(self, x: npt.NDArray[np.str_]) -> npt.NDArray[np.str_]:
        scores = np.empty((len(x), len(self.classes)))
        for at, (prior, shares) in enumerate(zip(self.prior, self.shares, strict=True)):
            factors = [
                [share.get(str(value), 0.0) for value in x[:, j]] for j, share in enumerate(shares)
            ]
            scores[:, at] = prior * np.prod(factors, axis=0)
        return np.asarray(self.classes[scores.argmax(axis=1)])


def gaussian_bayes(
    x: Floats, y: npt.NDArray[np.int64], test: Floats, epsilon: float, draw: Draws
) -> npt.NDArray[np.int64]:
    """Classes of the test rows (figures 6 and 7): bounds and sizes are the data's own."""
    share = epsilon / (3 * x.shape[1])
    scores = []
    for label in np.unique(y):
        rows = x[y == label]
        n = len(rows)
        width = np.ptp(rows, axis=0) / (n + 1)
        mean = rows.mean(axis=0) + draw.laplace(0, width / share)
        deviation = rows.std(axis=0, ddof=1) + draw.laplace(0, np.sqrt(n) * width / share)
        prior = (n + draw.laplace(0, 3 / epsilon)) / len(y)
        with np.errstate(all="ignore"):
            density = np.exp(-((test - mean) ** 2) / (2 * deviation**2)) / (
                np.sqrt(2 * np.pi) * deviation
            )
            scores.append(prior * density.prod(axis=1))
    return np.unique(y)[np.argmax(np.nan_to_num(scores, nan=-np.inf), axis=0)]


def regress(x: Floats, y: Floats, epsilon: float, draw: Draws) -> tuple[float, float]:
    """Slope and intercept (figures 9 and 10): one draw for both sums, and rows in their own units."""
    n = len(x)
    shared = draw.laplace(0, 3 * (1 - 1 / n) / epsilon)
    covariance = ((x - x.mean()) * (y - y.mean())).sum() + shared
    slope = covariance / (((x - x.mean()) ** 2).sum() + shared)
    noise = draw.laplace(0, 3 * (1 + abs(slope)) / (n * epsilon))
    return float(slope), float(y.mean() - slope * x.mean() + noise)


def noisy_stats(
    x: Floats,
    y: Floats,
    years: tuple[float, float],
    pay: tuple[float, float],
    epsilon: float,
    draw: Draws,
) -> tuple[float, float] | None:
    """Slope and intercept, or no answer, as figure 8 quotes it; columns are scaled by public bounds."""
    u, v = (x - years[0]) / (years[1] - years[0]), (y - pay[0]) / (pay[1] - pay[0])
    n = len(u)
    first, second = draw.laplace(0, 3 * (1 - 1 / n) / epsilon, 2)
    variance = ((u - u.mean()) ** 2).sum() + second
    if variance <= 0:
        return None
    slope = (((u - u.mean()) * (v - v.mean())).sum() + first) / variance
    third = draw.laplace(0, 3 * (1 + abs(slope)) / (n * epsilon))
    intercept = v.mean() - slope * u.mean() + third
    own = slope * (pay[1] - pay[0]) / (years[1] - years[0])
    return float(own), float(pay[0] + (pay[1] - pay[0]) * intercept - own * years[0])
