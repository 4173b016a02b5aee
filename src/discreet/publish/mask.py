"""From noisy weights to rows that can be published: labels, starting points, ridge, scale."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.publish.stationary import Floats, Goal, Integers, balance

#: A mask whose mean gradient is longer than this is tried again with smaller weights.
GOOD = 1e-10
#: The largest share that the ridge may take of the largest sum of residuals times scores that rows can
#: have (0.278 each, for two classes).
_LOAD = 0.05
#: Scores of rows spread evenly between the bounds have at most about this standard deviation.
_SPREAD = 8.0
#: No class gets a smaller share than this over the number of classes, nor fewer rows than this.
_MIN_SHARE, _MIN_ROWS = 0.05, 4
#: The fewest rows of each class.
ROWS_PER_CLASS = 8
#: Beyond this C there is no ridge.
_MAX_STRENGTH = 1e100
#: Multiples of the weights that are tried one after the other.
_SCALINGS = (1.0, 0.5, 2.0, 0.25, 4.0, 16.0, 64.0)
#: The same where a start may contradict the weights: small ones leave it room.
_SCALINGS_OF_START = tuple(2.0**-k for k in range(16))
#: Points between the bounds that stand for all of them.
_POINTS = 512
#: The most rows that are shifted together; if there are more, these stand for all.
_MANY = 2**14

Generator = np.random.Generator


@dataclass(frozen=True)
class Noisy:
    """Noisy weights of features scaled to [-1, 1] by their bounds; everything here is already public.

    Attributes
    ----------
    weights, intercept : arrays of shape (classes, features) and (classes,)
        Centred: they sum to 0 over classes. For two classes ∓ half of the only weights.
    half : array of shape (features,)
        Half the distance of each feature's bounds, all greater than 0.
    """

    weights: Floats
    intercept: Floats
    half: Floats

    @classmethod
    def of(cls, weights: Floats, intercept: Floats, half: Floats) -> Noisy:
        """From one row of weights for two classes, or one for each class."""
        if len(weights) == 1:
            weights = np.concatenate([-weights, weights]) / 2
            intercept = np.concatenate([-intercept, intercept]) / 2
        return cls(weights - weights.mean(axis=0), intercept - intercept.mean(), half)

    @property
    def ridged(self) -> Floats:
        """The weights whose squares scikit-learn's ridge adds up, by class."""
        return self.weights * (2.0 if len(self.weights) == 2 else 1.0)

    def largest_scale(self) -> float:
        """c at most 1 for which the scores of c·weights are neither huge nor lost in rounding."""
        spread = 2.0 * float(np.sqrt((self.weights**2).sum(axis=1).max(initial=0.0) / 3))
        return min(1.0, _SPREAD / spread) if spread > 0 else 1.0

    def modest_scale(self, scale: float, minimum: float, generator: Generator) -> float:
        """c at most `scale` for which c·weights give every class the share `minimum` between the bounds."""
        z = generator.uniform(-1.0, 1.0, (_POINTS, self.weights.shape[1]))
        for _ in range(200):
            shares = Goal(scale * self.weights, scale * self.intercept, self.weights).shares(z)
            if shares.mean(axis=0).min() >= minimum:
                break
            scale *= 0.8
        return scale

    def settle(self, scale: float, samples: int, strength: float | None) -> tuple[float, float]:
        """The scale, and scikit-learn's C: both such that this many rows can hold the ridge's pull."""
        with np.errstate(all="ignore"):
            slopes = self.ridged / self.half
            load = float((self.weights / self.half * slopes).sum()) / (_LOAD * samples)
            push = float(np.abs(slopes / self.half).max(initial=0.0)) / (2 * _LOAD * samples)
        if strength is None:
            found = max(1.0, scale**2 * load, scale * push)
            return scale, found if found < _MAX_STRENGTH else math.inf
        load, push = min(load, 1e300), min(push, 1e300)
        if load > 0:  # a C that was settled for this scale leaves it as it is
            scale = min(scale, 1.000001 * min(math.sqrt(strength / load), strength / push))
        return scale, strength

    def goal(self, scale: float, strength: float) -> Goal:
        """Stationarity at scale·weights for scikit-learn's C = `strength`."""
        with np.errstate(all="ignore"):
            pull = scale * (self.ridged / self.half) / (strength * self.half)
        pull = np.clip(np.nan_to_num(pull, nan=0.0), -1e100, 1e100)
        return Goal(scale * self.weights, scale * self.intercept, pull)


@dataclass(frozen=True)
class Start:
    """Public rows that a mask begins with."""

    z: Floats
    y: Integers


@dataclass(frozen=True)
class Mask:
    """Made-up rows, in scaled features.

    Attributes
    ----------
    z, y : arrays
    scale : float
        The gradient vanishes at scale·weights.
    strength : float
        scikit-learn's C.
    gradient : float
        The length of the mean gradient at scale·weights.
    """

    z: Floats
    y: Integers
    scale: float
    strength: float
    gradient: float


#: Fills rows for a goal: (goal, shares or labels, number of rows, random generator) to (z, y).
Filling = Callable[[Goal, Any, int, Generator], tuple[Floats, Integers]]


def mask(
    noisy: Noisy,
    samples: int,
    generator: Generator,
    *,
    shares: Floats | None = None,
    labels: Integers | None = None,
    strength: float | None = None,
    start: Start | None = None,
    fill: Filling | None = None,
) -> Mask:
    """Make up rows for which the noisy weights, or a multiple of them, are stationary.

    Parameters
    ----------
    noisy : Noisy
    samples : int
        Rows in all, including those of `start`.
    generator : numpy Generator
        Not for privacy: everything here is post-processing.
    shares : array, optional
        The classes' shares: all rows are shifted until the weights themselves give these, which may be
        beyond the bounds. By default rows stay roughly within the bounds and the shares are what the weights
        give there; the weights are scaled down where a class would be too rare.
    labels : array, optional
        Instead of shares, the labels of all rows but those of `start`.
    strength : float, optional
        scikit-learn's C; 1 by default, or more where so few rows could not hold the ridge.
    start : Start, optional
        Public rows.
    fill : callable, optional
        How rows are found: `joint` by default.
    """
    fill = joint if fill is None else fill
    made = samples - (0 if start is None else len(start.y))
    classes = len(noisy.weights)
    least = min(max(_MIN_SHARE / classes, _MIN_ROWS / made), 0.5 / classes)
    found, best = None, (0, 0.0)
    for factor in _SCALINGS if start is None else _SCALINGS_OF_START:
        scale = noisy.largest_scale() * factor
        if shares is None and labels is None:
            scale = noisy.modest_scale(scale, least, generator)
        scale, settled = noisy.settle(scale, samples, strength)
        goal = noisy.goal(scale, settled)
        rest = goal if start is None else goal.less(start.z, start.y)
        z, y = fill(rest, shares if labels is None else labels, made, generator)
        if start is not None:
            z, y = np.concatenate([start.z, z]), np.concatenate([start.y, y])
        with np.errstate(all="ignore"):
            length = float(np.linalg.norm(goal.gap(z, y))) / max(1, samples)
        rank = (len(np.unique(y)), -length)  # a mask without one of the classes teaches nothing
        if found is None or rank > best:
            found, best = Mask(z, y, scale, settled, length), rank
        if length <= GOOD or fill is not joint:
            break
    assert found is not None
    return found


def joint(goal: Goal, shares: Any, count: int, generator: Generator) -> tuple[Floats, Integers]:
    """Rows spread evenly, labels by the weights' own probabilities, then all rows moved at once."""
    z = generator.uniform(-1.0, 1.0, (count, goal.weights.shape[1]))
    if isinstance(shares, np.ndarray) and shares.dtype.kind == "i":
        y = shares
        z = z[_matching(goal.shares(z), y)]
    else:
        if shares is not None:
            z += find_shift(goal, z, shares)
        y = draw_labels(tilt(goal, z), generator)
    if count <= _MANY:  # with more rows the counts are near enough to their expectations
        found = np.bincount(y, minlength=len(goal.weights)) - _lacking(goal)
        z += find_shift(goal, z, np.maximum(found, 0.25) / np.maximum(found, 0.25).sum())
    return balance(goal, z, y), y


def _lacking(goal: Goal) -> Floats:
    """How many labels of each class are wanted beyond the sum of their probabilities."""
    lacking = goal.wanted[:, -1]
    return np.concatenate([[-lacking.sum()], lacking])


def tilt(goal: Goal, z: Floats) -> Floats:
    """The probabilities at points, tilted towards what the existing rows leave to be done."""
    found = goal.shares(z)
    missing = _lacking(goal)
    if not missing.any() or not len(z):
        return found
    shares = np.maximum(found.mean(axis=0) + missing / len(z), _MIN_SHARE / len(missing))
    shares /= shares.sum()
    for _ in range(50):  # proportional fitting: rows sum to 1, columns to the shares
        found *= shares / np.maximum(found.mean(axis=0), 1e-300)
        found /= np.maximum(found.sum(axis=1, keepdims=True), 1e-300)
    return found


def find_shift(goal: Goal, z: Floats, shares: Floats) -> Floats:
    """How to shift all points so that their mean probabilities are `shares`, as far as possible.

    The minimum of the convex E log Σ exp(scores) - shares·scores over shifts, by Newton's method.
    """
    z = z[:_MANY]
    shift = np.zeros(z.shape[1])
    if not len(z):
        return shift

    def value(at: Floats) -> float:
        scores = (z + at) @ goal.weights.T + goal.intercept
        top = scores.max(axis=1, keepdims=True)
        free = np.log(np.exp(scores - top).sum(axis=1)) + top[:, 0]
        return float(free.mean() - (scores @ shares).mean())

    with np.errstate(all="ignore"):
        here = value(shift)
        for _ in range(60):
            found = goal.shares(z + shift)
            gap = found.mean(axis=0) - shares
            if np.abs(gap).max() < 1e-9:
                break
            spread = np.diag(found.mean(axis=0)) - found.T @ found / len(z)
            # a little more than the curvature, so that the step is bounded
            spread += 1e-12 * (np.eye(len(shares)) - 1 / len(shares))
            inner = np.linalg.lstsq(
                goal.weights.T @ spread @ goal.weights, goal.weights.T @ gap, rcond=1e-10
            )[0]
            # where all scores are far apart the curvature vanishes: no step moves a score by more than 10
            inner *= min(1.0, 10.0 / max(np.abs(goal.weights @ inner).max(), 1e-300))
            share = 1.0
            while share > 1e-6 and not value(shift - share * inner) < here:
                share /= 2
            if share <= 1e-6 or not np.isfinite(inner).all():
                break
            shift = shift - share * inner
            here = value(shift)
    return shift


def draw_labels(chances: Floats, generator: Generator) -> Integers:
    """Draw a label for each row, class by class, with the rows in the order of their chance of it.

    One random offset for each class: the numbers of labels are their expectations, rounded.
    """
    count, classes = chances.shape
    labels = np.zeros(count, np.int64)
    left = np.arange(count)
    rest = np.ones(count)
    for label in range(classes - 1, 0, -1):
        chance = np.clip(chances[left, label] / np.maximum(rest[left], 1e-300), 0.0, 1.0)
        order = np.argsort(chance, kind="stable")
        total = np.floor(np.cumsum(chance[order]) + generator.random())
        chosen = np.diff(total, prepend=0.0) > 0
        labels[left[order[chosen]]] = label
        rest[left] -= chances[left, label]
        left = np.sort(left[order[~chosen]])
    return labels


def _matching(chances: Floats, labels: Integers) -> Integers:
    """Which point goes with each of the given labels: those of a class get points where it is likely."""
    places = np.empty(len(labels), np.int64)
    free = np.arange(len(labels))
    for label in range(chances.shape[1] - 1, -1, -1):
        rows = np.flatnonzero(labels == label)
        order = free[np.argsort(-chances[free, label], kind="stable")]
        places[rows] = order[: len(rows)]
        free = np.sort(order[len(rows) :])
    return places
