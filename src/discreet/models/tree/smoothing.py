"""From noised counts in the leaves of a tree to what each leaf says: shrunk towards its ancestors.

Everything here is post-processing. The counts of a node are the sum of those of its leaves. For classes,
a node's answer is a mean of its own and its parent's, which counts as many rows as the node's noise could
hide, and what all leaves of a forest differ by says how much of its evidence is noise; where rows chose the
splits, what two sides differ by is kept as far as luck doesn't explain it; for numbers it is the posterior
mean under a fixed public prior about its parent's. Constants were chosen by measurement
(``benchmarks/bench_tree.py``), and results change little around their values.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: A parent counts as this many standard deviations of a node's noisy count, plus this many rows.
PULL, ROWS = 1.0, 1.0
#: Where rows chose the splits, leaves fit these very rows, and a parent counts more: on training rows of
#: Adult, bank, Pima, WDBC, COMPAS and credit approval log loss fell everywhere, from ε = 4 on by up to 0.03.
ROWS_OF_CHOSEN = 6.0
#: The χ² by degree of freedom that the best of many splits has where nothing differs: two standard errors.
#: With it log loss fell from ε = 1 on, by up to 0.02: on the same tables, heart, liver patients, transfusion.
CHI_SQUARE_OF_CHOSEN = 4.0
#: Nodes on an ancestor's two sides choose their splits apart where on each side as many rows are of another
#: class than the most frequent one of their node as this times the deviation of a noised count. On training
#: rows of Adult, bank and COMPAS 4 to 8 were alike; without it AUC was lower by 0.003 to 0.015 up to ε = 1.
APART = 5.0
#: For targets in [-1, 1]: standard deviation of a node's mean about its parent's, variance in a node.
CHILD_SPREAD, TYPICAL_VARIANCE = 0.2, 0.1
#: Standard deviation of the mean of all rows about the middle of the bounds.
MEAN_SPREAD = 0.3
#: Of noise in a node's count, the part that hides rows on either side; and where there is no noise.
HIDDEN_ROWS, MIN_PULL = 0.25, 1e-9
#: The least share of leaves' differences that is taken for signal: scores keep their order.
MIN_SIGNAL = 0.02


def levels(leaves: Floats, trees: int = 1) -> list[Floats]:
    """The sums in the nodes of a complete binary tree, from the root down to the leaves.

    Of several trees of one size, whose leaves stand one tree after the other, so do the nodes.
    """
    found = [leaves]
    while len(found[-1]) > trees:
        found.append(found[-1].reshape(-1, 2, *leaves.shape[1:]).sum(axis=1))
    return found[::-1]


def class_prior(counts: Floats, noise: float) -> Floats:
    """The probabilities of classes over all rows, from noised counts; none is taken to be impossible.

    All shares are taken to be alike probable before (a Dirichlet prior, of variance (k - 1)/(k²(k + 1)) for
    k classes), so equal shares count as noise²·k(k + 1)/rows rows: what normal noise on the counts leaves.
    """
    classes, rows = len(counts), max(float(np.maximum(counts, 0.0).sum()), noise, 1.0)
    seen = np.maximum(counts, 0.0) + ROWS + noise**2 * (classes + 1) / rows
    least = min(0.5 * noise, seen.max() / 2)  # below that, a class can't be told from noise
    seen = np.maximum(seen, least)
    return np.asarray(seen / seen.sum())


def _pull(noise: float, cells: int, rows: float = ROWS) -> float:
    """As how many rows a parent counts, for a node that is the sum of this many noised counts."""
    return rows + PULL * noise * math.sqrt(cells)


def _pulled(counts: Floats, pull: float, parents: Floats) -> Floats:
    """The shares of classes in nodes whose parents' shares count as `pull` rows."""
    seen = np.maximum(counts, 0.0)
    return np.asarray((seen + pull * parents) / (seen.sum(axis=1, keepdims=True) + pull))


def class_shares(leaves: Floats, noise: float, prior: Floats, trees: int = 1) -> Floats:
    """The probabilities of classes in each leaf, from noised counts of shape (leaves, classes).

    `prior` are those at the root, or at the roots of `trees` trees, whose leaves stand one after the other;
    a parent counts as one row besides what noise could hide.
    """
    found = levels(leaves, trees)
    shares = np.repeat(prior[None, :], trees, axis=0)
    for level, counts in enumerate(found[1:], start=1):
        below = 2 ** (len(found) - 1 - level)
        pull = _pull(noise, leaves.shape[1] * below)
        shares = _pulled(counts, pull, np.repeat(shares, 2, axis=0))
    return shares


def own_class_parts(leaves: Floats, noise: float, trees: int = 1) -> Floats:
    """How much a row's own class moves its leaf's share of it, as `class_shares` has it, for each leaf.

    In a node with n rows whose parent counts as m it is (1 + m·a)/(n + m), where a is that of the parent.
    """
    found = levels(leaves, trees)
    own = np.zeros(trees)
    for level, counts in enumerate(found[1:], start=1):
        below = 2 ** (len(found) - 1 - level)
        pull = _pull(noise, leaves.shape[1] * below)
        own = (1 + pull * np.repeat(own, 2)) / (np.maximum(counts, 0.0).sum(axis=1) + pull)
    return own


def likely_rows(leaves: Floats, noise: float, trees: int = 1) -> Floats:
    """How many rows are in each leaf, from noised counts: those of each node, shared by its two sides.

    Noise counts as half as many rows on both sides, by a quarter of its deviation; that was closest to the
    rows in the leaves of random trees, for ε·rows from 4000 to 100 000 and columns even and skewed.
    """
    found = levels(leaves, trees)
    rows = np.maximum(found[0], 0.0)
    for level, counts in enumerate(found[1:], start=1):
        pull = MIN_PULL + HIDDEN_ROWS * noise * math.sqrt(2 ** (len(found) - 1 - level))
        sides = _pulled(counts.reshape(-1, 2), pull, np.full((1, 2), 0.5))
        rows = (rows[:, None] * sides).ravel()
    return rows


def chosen_shares(leaves: Floats, noise: float, prior: Floats) -> Floats:
    """The probabilities of classes in each leaf of a tree whose splits were chosen for their differences.

    As `class_shares`, but a parent counts as more rows, and of a step away from it `kept_steps` are made.
    """
    found = levels(leaves)
    shares = prior[None, :]
    for level, counts in enumerate(found[1:], start=1):
        parents = np.repeat(shares, 2, axis=0)
        below = 2 ** (len(found) - 1 - level)
        pull = _pull(noise, leaves.shape[1] * below, ROWS_OF_CHOSEN)
        kept = np.repeat(kept_steps(counts, shares), 2)[:, None]
        shares = parents + kept * (_pulled(counts, pull, parents) - parents)
    return shares


def kept_steps(counts: Floats, parents: Floats) -> Floats:
    """The part of the difference of each node's two sides that luck doesn't explain, between 0 and 1.

    It is χ²/(χ² + c) with Pearson's statistic by degree of freedom for the sides' noised counts, of shape
    (2·nodes, classes), under the shares of the node, and c what the best of many splits has by luck.
    """
    nodes, classes = parents.shape
    sides = np.maximum(counts, 0.0).reshape(nodes, 2, classes) + parents[:, None, :]  # a row more
    rows = sides.sum(axis=2)
    shares = sides / rows[:, :, None]
    apart = ((shares[:, 1] - shares[:, 0]) ** 2 / parents).sum(axis=1)
    by_degree = apart / (1 / rows).sum(axis=1) / max(1, classes - 1)
    return np.asarray(by_degree / (by_degree + CHI_SQUARE_OF_CHOSEN))


def node_shares(counts: Floats, noise: float, above: Floats | None) -> Floats:
    """The probabilities of classes in each node of a level, from noised counts and those above."""
    if above is None:
        return class_prior(counts[0], noise)[None, :]
    pull = _pull(noise, counts.shape[1])
    return _pulled(counts, pull, np.repeat(above, 2, axis=0))


def split_blocks(counts: Floats, noise: float, shares: Floats) -> Integers:
    """Which nodes of a level get one split in common, from noised counts and shares: a number for each.

    From the root down, the nodes below an ancestor are one block unless both its sides have so many rows that
    a split can set apart that their own choices wouldn't be noise.
    """
    others = np.maximum(counts, 0.0).sum(axis=1) * (1.0 - shares.max(axis=1))
    apart, block = np.ones(1, np.bool_), np.zeros(1, np.int64)
    for halves in levels(others)[1:]:
        apart &= halves.reshape(-1, 2).min(axis=1) >= APART * noise
        block = (2 * block[:, None] + apart[:, None] * [0, 1]).ravel()
        apart = np.repeat(apart, 2)
    return block


def signal_share(trees: list[Floats], noise: float, prior: Floats) -> float:
    """The share of the trees' averaged evidence that is no noise, from what their leaves differ by.

    A leaf's counts less what `prior` says of that many rows have a known sum of squares from noise and from
    the draw of rows alone; what is seen beyond it is r of the whole. All trees see the same signal, each
    with its own noise, so of the mean of T trees r/(r + (1 - r)/T) is signal.
    """
    seen = by_chance = 0.0
    spread = float(((1 - prior) ** 2 + (len(prior) - 1) * prior**2).sum())
    for leaves in trees:
        rows = leaves.sum(axis=1, keepdims=True)
        seen += float(((leaves - rows * prior) ** 2).sum())
        drawn = max(float(rows.sum()), 0.0) * float((prior * (1 - prior)).sum())
        by_chance += len(leaves) * noise**2 * spread + drawn
    share = max(MIN_SIGNAL, 1.0 - by_chance / seen) if seen > 0 else 1.0
    return share / (share + (1.0 - share) / len(trees))


def whole_mean(count: float, total: float, noise: tuple[float, float]) -> float:
    """The mean of a target in [-1, 1] in all rows, from a noised count and sum: shrunk to 0 by their noise.

    `noise` holds the standard deviations of both. A count that noise may have made is taken as that large.
    """
    rows = max(count, noise[0], ROWS)
    own = min(max(total / rows, -1.0), 1.0)
    spread = (noise[1] ** 2 + (own * noise[0]) ** 2) / rows**2  # delta method for the quotient
    return own * MEAN_SPREAD**2 / (MEAN_SPREAD**2 + spread)  # normal prior, normal noise


def leaf_means(
    counts: Floats, sums: Floats, noise: tuple[float, float], mean: float, trees: int = 1
) -> Floats:
    """The mean of a target in [-1, 1] in each leaf, from noised counts and sums.

    `noise` holds the standard deviations of one leaf's count and of its sum, `mean` is that of all rows.
    The leaves of several `trees` stand one tree after the other.
    """
    numbers, totals = levels(counts, trees), levels(sums, trees)
    means = np.full(trees, mean)
    for level, (n, s) in enumerate(zip(numbers[1:], totals[1:], strict=True), start=1):
        own, weight = _own_means(n, s, noise, 2 ** (len(numbers) - 1 - level))
        parents = np.repeat(means, 2)
        means = parents + weight * (own - parents)
    return means


def _own_means(
    counts: Floats, sums: Floats, noise: tuple[float, float], leaves: int
) -> tuple[Floats, Floats]:
    """The means in nodes of `leaves` leaves each, and their weights against those of their parents."""
    rows = np.maximum(counts, 1.0)
    own = np.clip(sums / rows, -1.0, 1.0)
    # delta method for the quotient, plus the variance of a mean of few rows
    spread = (noise[1] ** 2 + (own * noise[0]) ** 2) * leaves / rows**2 + TYPICAL_VARIANCE / rows
    return own, CHILD_SPREAD**2 / (CHILD_SPREAD**2 + spread)  # normal prior, normal noise


def own_mean_parts(
    counts: Floats, sums: Floats, noise: tuple[float, float], trees: int = 1
) -> Floats:
    """How much a row's own target moves its leaf's mean, as `leaf_means` has it, for each leaf."""
    numbers, totals = levels(counts, trees), levels(sums, trees)
    part = np.zeros(trees)
    for level, (n, s) in enumerate(zip(numbers[1:], totals[1:], strict=True), start=1):
        _, weight = _own_means(n, s, noise, 2 ** (len(numbers) - 1 - level))
        part = weight / np.maximum(n, 1.0) + (1 - weight) * np.repeat(part, 2)
    return part
