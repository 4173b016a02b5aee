"""The public box that rows lie in, scaled to [-1, 1] in every column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.columns import Numeric

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: How many random candidates are tried for each public point, as in Su et al. 2016.
_TRIES = 100


@dataclass(frozen=True)
class Box:
    """Lower bounds and widths of the columns."""

    lower: Floats
    width: Floats

    @classmethod
    def of(cls, columns: tuple[Numeric, ...]) -> Box:
        """The box that the columns' bounds make."""
        return cls(
            np.array([float(column.lower) for column in columns]),
            np.array([column.width for column in columns]),
        )

    def units(self, scaled: Floats) -> Floats:
        """Points of [-1, 1] in the units of the columns."""
        return np.clip(
            self.lower + self.width * ((scaled + 1) / 2), self.lower, self.lower + self.width
        )

    def scale(self, points: Floats) -> Floats:
        """Points in the units of the columns, in [-1, 1]; 0 in a column of zero width."""
        width = np.where(self.width > 0, self.width, 1.0)
        share = (points - self.lower) / width
        return np.where(self.width > 0, 2 * np.clip(share, 0.0, 1.0) - 1, 0.0)


def nearest(points: Floats, centres: Floats) -> tuple[Integers, Floats]:
    """The nearest centre of each point, ties to the first, and the squared distance to it."""
    best = np.zeros(len(points), np.int64)
    least = np.full(len(points), np.inf)
    for index, centre in enumerate(centres):
        distance = ((points - centre) ** 2).sum(axis=1)
        nearer = distance < least
        best[nearer], least[nearer] = index, distance[nearer]
    return best, least


def spread(count: int, dimensions: int, draw: np.random.Generator) -> Floats:
    """Public points of [-1, 1]^d, far from each other and from the walls.

    Sphere packing of Su et al. 2016: the largest radius (by bisection) for which random
    points at least a radius from the walls and two radii from each other were found.
    """
    low, high, found = 0.0, 1.0, draw.uniform(-1, 1, (count, dimensions))
    for _ in range(12):
        radius = (low + high) / 2
        points = _pack(count, dimensions, radius, draw)
        if points is None:
            high = radius
        else:
            low, found = radius, points
    return found


def _pack(count: int, dimensions: int, radius: float, draw: np.random.Generator) -> Floats | None:
    chosen = np.empty((0, dimensions))
    for _ in range(count):
        tried = draw.uniform(radius - 1, 1 - radius, (_TRIES, dimensions))
        free = np.ones(_TRIES, np.bool_)
        for point in chosen:
            free &= ((tried - point) ** 2).sum(axis=1) >= 4 * radius**2
        if not free.any():
            return None
        chosen = np.concatenate([chosen, tried[free.argmax()][None]])
    return chosen


def cluster_weighted(
    points: Floats, weights: Floats, count: int, draw: np.random.Generator, starts: int = 10
) -> Floats:
    """k-means of weighted points, from the best of several k-means++ starts; nothing private here.

    If there are too few points for `count` centres, the last centres stay at public spread points.
    """
    if len(points) <= count:
        return np.concatenate([points, spread(count - len(points), points.shape[1], draw)])
    best, least = points[:count], np.inf
    for _ in range(starts):
        centres = _settle(points, weights, _plus_plus(points, weights, count, draw))
        inertia = float((nearest(points, centres)[1] * weights).sum())
        if inertia < least:
            best, least = centres, inertia
    return best


def _plus_plus(points: Floats, weights: Floats, count: int, draw: np.random.Generator) -> Floats:
    """k-means++ for weighted points, the best of a few candidates each time.

    Source: Arthur & Vassilvitskii 2007, with the greedy choice of their experiments.
    """
    candidates = 2 + int(np.log(count))
    first = int(draw.choice(len(points), p=weights / weights.sum()))
    chosen = [first]
    least = ((points - points[first]) ** 2).sum(axis=1)
    while len(chosen) < count:
        mass = weights * least
        total = mass.sum()
        share = mass / total if total > 0 else weights / weights.sum()
        tried = draw.choice(len(points), size=candidates, p=share)
        lower = [np.minimum(least, ((points - points[at]) ** 2).sum(axis=1)) for at in tried]
        best = int(np.argmin([(weights * distance).sum() for distance in lower]))
        chosen.append(int(tried[best]))
        least = lower[best]
    return np.asarray(points[chosen])


def _settle(points: Floats, weights: Floats, centres: Floats, rounds: int = 50) -> Floats:
    """Lloyd's rounds until nothing moves, at most `rounds`."""
    for _ in range(rounds):
        labels, _ = nearest(points, centres)
        mass = np.bincount(labels, weights, len(centres))
        moved = centres.copy()
        for j in range(points.shape[1]):
            sums = np.bincount(labels, weights * points[:, j], len(centres))
            moved[:, j] = np.where(mass > 0, sums / np.where(mass > 0, mass, 1.0), centres[:, j])
        if np.array_equal(moved, centres):
            break
        centres = moved
    return centres
