"""From noised histograms of scores to a reliability curve and a threshold: post-processing throughout."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

Floats = npt.NDArray[np.float64]

#: Bins of scores, and where the outermost begin, as logarithms of odds.
BINS, REACH = 32, 8.0
#: Scores are within this; twice that is a threshold that none reaches.
FARTHEST = 32.0
#: What a model itself says of a bin counts as this many rows, and this many deviations of a count's noise.
OWN_ROWS, OWN_NOISE = 1.0, 2.0
METRICS = ("balanced_accuracy", "accuracy", "f1")


def middles() -> Floats:
    """The middle of each bin, as the logarithm of odds."""
    width = 2 * REACH / BINS
    return np.asarray(-REACH + width * (np.arange(BINS) + 0.5))


def place_scores(odds: Floats) -> npt.NDArray[np.int64]:
    """The bin of each score, given as the logarithm of odds; what is no number is in the first."""
    shares = (np.where(np.isnan(odds), -REACH, odds) + REACH) / (2 * REACH)
    return np.clip(np.floor(shares * BINS), 0, BINS - 1).astype(np.int64)


def log_odds(model: Any, X: Any) -> Floats:
    """The score of the second class for each row, as the logarithm of odds."""
    if hasattr(model, "predict_proba"):
        found = np.asarray(model.predict_proba(X), np.float64)
        share = found[:, -1] if found.ndim == 2 else found
        return np.asarray(np.clip(logit(share), -FARTHEST, FARTHEST))
    # the margins of a machine are about ±1
    return np.clip(4.0 * np.asarray(model.decision_function(X), np.float64), -FARTHEST, FARTHEST)


def blend(counts: Floats, noise: float) -> Floats:
    """Counts by class and bin, with what the model itself says of each bin as a few more rows."""
    own = expit(middles())
    pull = OWN_ROWS + OWN_NOISE * noise
    return np.maximum(counts + pull * np.stack([1.0 - own, own]), 0.0)


def reliability(blended: Floats) -> Floats:
    """The share of the second class in each bin, never falling: isotonic regression (Ayer et al. 1955)."""
    pools: list[tuple[float, float, int]] = []  # rows of the second class, rows, bins
    for first, second in blended.T.tolist():
        pools.append((second, first + second, 1))
        while len(pools) > 1 and _share(pools[-2]) >= _share(pools[-1]):
            last, before = pools.pop(), pools.pop()
            pools.append((before[0] + last[0], before[1] + last[1], before[2] + last[2]))
    return np.concatenate([np.full(pool[2], _share(pool)) for pool in pools])


def _share(pool: tuple[float, float, int]) -> float:
    return pool[0] / pool[1] if pool[1] > 0 else 0.5


def best_cut(blended: Floats, curve: Floats, metric: str) -> float:
    """The share of the second class above which to predict it, so that the metric is largest.

    Accuracy: 1/2. Balanced accuracy: the share of the second class in all rows. F1: half of the largest F1
    (Lipton, Elkan & Naryanaswamy 2014).
    """
    if metric == "accuracy":
        return 0.5
    first, second = (float(part.sum()) for part in blended)
    if metric == "balanced_accuracy":
        return second / (first + second) if first + second > 0 else 0.5
    caught = blended[1][::-1].cumsum()
    chosen = blended.sum(axis=0)[::-1].cumsum()
    return float(np.max(2 * caught / np.maximum(second + chosen, 1e-9))) / 2


def find_threshold(curve: Floats, cut: float) -> float:
    """The logarithm of odds at which the curve, linear between the middles of bins, exceeds the cut."""
    at = middles()
    above = np.flatnonzero(curve > cut)
    if not len(above):
        return 2 * FARTHEST
    first = int(above[0])
    if first == 0:
        return -2 * FARTHEST
    low, high = float(curve[first - 1]), float(curve[first])
    return float(at[first - 1] + (at[first] - at[first - 1]) * (cut - low) / (high - low))
