"""What models are scored by."""

from __future__ import annotations

from typing import Any

import numpy as np

#: What each task is scored by: the first is what the comparisons speak of.
METRICS = {
    "classes": ("auc", "accuracy", "log_loss"),
    "number": ("r2",),
    "line": ("r2",),
    "clusters": ("inertia",),
    "components": ("variance",),
}
#: Of these metrics less is better.
SMALLER_IS_BETTER = frozenset({"inertia", "log_loss"})
#: Everyone's probabilities are kept this far from 0 and 1, so that one sure error isn't infinite.
CERTAINTY = 1e-6


def gain(metric: str, one: float, other: float) -> float:
    """By how much `one` is better than `other`; negative where it is worse."""
    return other - one if metric in SMALLER_IS_BETTER else one - other


def area(truth: Any, order: Any) -> float:
    """The area under the ROC curve: how often a row of the second class is put before one of the first."""
    _, place, count = np.unique(order, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]  # equal scores share the mean of their ranks
    ones = int(truth.sum())
    return float((rank[truth == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(truth) - ones)))


def log_loss(truth: Any, probability: Any) -> float:
    """The mean of −ln of the probability given to what was true, 0 and 1 being kept apart by `CERTAINTY`."""
    sure = np.clip(probability, CERTAINTY, 1 - CERTAINTY)
    return float(-np.log(np.where(truth, sure, 1 - sure)).mean())
