"""From noised counts in the leaves of a tree to what each leaf says: shrunk towards its ancestors.

Everything here is post-processing. The counts of a node are the sum of those of its leaves. For classes,
a node's answer is a mean of its own and its parent's, which counts as many rows as the node's noise could
hide; for numbers it is the posterior mean under a fixed public prior about its parent's. Constants were
chosen by measurement (``benchmarks/bench_tree.py``), and results change little around their values.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: A parent counts as this many standard deviations of a node's noisy count, plus this many rows.
PULL, ROWS = 1.0, 1.0
#: For targets in [-1, 1]: standard deviation of a node's mean about its parent's, variance in a node.
CHILD_SPREAD, TYPICAL_VARIANCE = 0.2, 0.1


def levels(leaves: Floats) -> list[Floats]:
    """The sums in the nodes of a complete binary tree, from the root down to the leaves."""
    found = [leaves]
    while len(found[-1]) > 1:
        found.append(found[-1].reshape(-1, 2, *leaves.shape[1:]).sum(axis=1))
    return found[::-1]


def class_prior(counts: Floats, noise: float) -> Floats:
    """The probabilities of classes over all rows, from noised counts; none is taken to be impossible."""
    seen = np.maximum(counts, 0.0) + ROWS
    least = min(0.5 * noise, seen.max() / 2)  # below that, a class can't be told from noise
    seen = np.maximum(seen, least)
    return np.asarray(seen / seen.sum())


def class_shares(leaves: Floats, noise: float, prior: Floats) -> Floats:
    """The probabilities of classes in each leaf, from noised counts of shape (leaves, classes).

    `prior` are those at the root.
    """
    classes = leaves.shape[1]
    found = levels(leaves)
    shares = prior[None, :]
    for level, counts in enumerate(found[1:], start=1):
        parents = np.repeat(shares, 2, axis=0)
        below = 2 ** (len(found) - 1 - level)
        pull = ROWS + PULL * noise * math.sqrt(classes * below)
        seen = np.maximum(counts, 0.0)
        shares = (seen + pull * parents) / (seen.sum(axis=1, keepdims=True) + pull)
    return shares


def whole_mean(count: float, total: float, noise: tuple[float, float]) -> float:
    """The mean of a target in [-1, 1] in all rows, from a noised count and sum."""
    pull = ROWS + PULL * math.hypot(*noise)
    return float(np.clip(total / (max(count, 0.0) + pull), -1.0, 1.0))


def leaf_means(counts: Floats, sums: Floats, noise: tuple[float, float], mean: float) -> Floats:
    """The mean of a target in [-1, 1] in each leaf, from noised counts and sums.

    `noise` holds the standard deviations of one leaf's count and of its sum, `mean` is that of all rows.
    """
    numbers, totals = levels(counts), levels(sums)
    means = np.array([mean])
    for level, (n, s) in enumerate(zip(numbers[1:], totals[1:], strict=True), start=1):
        parents = np.repeat(means, 2)
        below = 2 ** (len(numbers) - 1 - level)
        rows = np.maximum(n, 1.0)
        own = np.clip(s / rows, -1.0, 1.0)
        # delta method for the quotient, plus the variance of a mean of few rows
        spread = (noise[1] ** 2 + (own * noise[0]) ** 2) * below / rows**2 + TYPICAL_VARIANCE / rows
        weight = CHILD_SPREAD**2 / (CHILD_SPREAD**2 + spread)  # normal prior, normal noise
        means = parents + weight * (own - parents)
    return means
