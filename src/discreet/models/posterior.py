"""From noised sums to means, variances and counts: what a public prior and the known noise suggest.

Everything here is post-processing. The prior is fixed, in units in which the bounds are -1 and 1; its
numbers were chosen by measurement (``benchmarks/bench_models.py``) and are flat around their values.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from discreet.queries import MarginalsValue
from discreet.release import Release

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: Standard deviation of a class mean about the mean of all rows.
MEAN_SPREAD = 0.5
#: Variances are log-normal: median, and standard deviation of the logarithm.
TYPICAL_VARIANCE, VARIANCE_SPREAD = 0.1, 1.0
#: Standard deviation of the classes' variances about their mean, as a share of it.
CLASS_VARIANCE_SPREAD = 0.25
#: Standard deviation of a value's share within a class about its share of all rows, as a share of that.
CELL_SPREAD = 2.0
#: A class of which a value should have more than this many standard deviations of noise can lack it.
CLEAR_CELL = 2.0
#: Counts below this many standard deviations of their noise are treated as noise.
MIN_COUNT = 2.0
MIN_CELL = 0.5
#: Where the noise is below this share of a variance, the prior has nothing to add.
NEGLIGIBLE = 0.1
_VARIANCES = np.exp(np.linspace(np.log(1e-7), 0.0, 256))


def repair_counts(counts: Floats, noise: float) -> Floats:
    """Counts of classes, none below what noise alone could show."""
    return np.maximum(counts, max(1.0, MIN_COUNT * noise))


def shrink_shares(shares: Floats, noise: float) -> Floats:
    """Shares of classes, nearer to equal ones the less their noise lets them be told.

    The prior is that all shares are equally probable: its mean is 1/k for k classes, its variance
    (k - 1)/(k²(k + 1)). Mean and noise are combined as if both were normal. `noise` is the standard
    deviation of a class's count, over the number of rows.
    """
    classes = len(shares)
    # s = a/(a + b), b the other classes: derivatives (1 - s)/n and -s/n
    error = noise**2 * ((1 - shares) ** 2 + (classes - 1) * shares**2)
    prior = max((classes - 1) / (classes**2 * (classes + 1)), 1e-12)
    return np.asarray(1 / classes + (shares - 1 / classes) * prior / (prior + error))


def class_prior(counts: Floats, noise: float) -> Floats:
    """The probabilities of classes, from their noised counts: shrunk shares that add up to 1."""
    rows = counts.sum()
    found = shrink_shares(counts / rows, noise / rows)
    return np.asarray(found / found.sum())


def repair_cells(cells: Floats, noise: float, counts: Floats, alpha: float) -> Floats:
    """Counts of cells by class, pulled to those of a class like all rows as far as noise blurs them.

    A count that can't be told from noise is 0, in all classes together or where a class like all rows
    would clearly have some; `alpha` is added to each.

    Parameters
    ----------
    cells : array of shape (classes, values)
        Noised counts.
    noise : float
        Standard deviation of the noise of each.
    counts : array over classes
        Repaired counts.
    alpha : float
        Positive.
    """
    joined = cells.sum(axis=0)
    joined = np.where(joined <= MIN_CELL * noise * len(cells) ** 0.5, 0.0, joined) + alpha
    typical = counts[:, None] * (joined / joined.sum())
    share = _believed(typical, noise)
    lacks = (cells <= MIN_CELL * noise) & (typical > CLEAR_CELL * noise)
    found = np.where(lacks, 0.0, typical + share * (cells - typical))
    return np.asarray(np.maximum(found, 0.0) + alpha)


def _believed(typical: Floats, noise: float) -> Floats:
    """How far to believe a noised count that is typically this large: normal prior, normal noise."""
    prior = (CELL_SPREAD * typical) ** 2
    return prior / (prior + noise**2) if noise else np.ones_like(typical)


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
    blur = np.sqrt(parts) / n
    variances = np.maximum(_variances(spread, blur) + left, minimum)
    return means, _join_variances(variances, blur, counts / counts.sum())


def _join_variances(variances: Floats, noise: Floats, shares: Floats) -> Floats:
    """Pull the variances of classes to their mean as far as noise blurs what is between them.

    A class with fewer rows has the more noise, and would have the larger variances for that alone: then
    every extreme row is of that class, and every usual row isn't.
    """
    joined = shares @ variances
    kept = CLASS_VARIANCE_SPREAD**2 / (CLASS_VARIANCE_SPREAD**2 + (noise / joined) ** 2)
    return np.asarray(joined * (variances / joined) ** kept)


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


def normal_divergences(shares: Floats, means: Floats, variances: Floats) -> Floats:
    """How far classes are apart in each column that is normal within them, in nats.

    The mean over pairs of classes, weighted by their shares, of Kullback and Leibler's symmetric
    divergence: what a row's column adds to the log-odds of its class, on average.
    """
    found, total = np.zeros(means.shape[1]), 0.0
    for a, b in combinations(range(len(shares)), 2):
        ratio = variances[a] / variances[b]
        far = (means[a] - means[b]) ** 2 * (1 / variances[a] + 1 / variances[b])
        found += shares[a] * shares[b] * 0.5 * (ratio + 1 / ratio - 2 + far)
        total += shares[a] * shares[b]
    return found / total if total else found


def cell_divergence(shares: Floats, log_probabilities: Floats) -> float:
    """How far classes are apart in a column of values, as `normal_divergences` has it for numbers."""
    found = total = 0.0
    for a, b in combinations(range(len(shares)), 2):
        odds = log_probabilities[a] - log_probabilities[b]
        moved = np.exp(log_probabilities[a]) - np.exp(log_probabilities[b])
        found += shares[a] * shares[b] * float((moved * odds).sum())
        total += shares[a] * shares[b]
    return found / total if total else 0.0


def blurred_divergence(shares: Floats, cells: Floats, counts: Floats, noise: float) -> float:
    """How far noise alone puts classes apart in a column of values, after `repair_cells`.

    The variance of a cell that is left, relative to the square of the typical count, is that of the
    logarithm of its probability; two classes have the sum of theirs.
    """
    joined = cells.sum(axis=0) / cells.sum()
    typical = counts[:, None] * joined
    left = (joined * _believed(typical, noise) * (noise / typical) ** 2).sum(axis=1)
    pairs = list(combinations(range(len(shares)), 2))
    total = sum(shares[a] * shares[b] for a, b in pairs)
    found = sum(shares[a] * shares[b] * (left[a] + left[b]) for a, b in pairs)
    return float(found / total) if total else 0.0


def weigh_evidence(divergences: Floats, correlation: float, blurred: float = 0.0) -> float:
    """How much of the columns' summed log-likelihoods to believe.

    The sum of m log-odds of equal size, each two with correlation r, has 1 + r(m - 1) times the
    variance that it would have if they were independent, and the same mean: so log-odds that are right
    are the sum divided by 1 + r(m - 1). Columns of unequal size count as (Σd)²/Σd² equal ones. What noise
    adds to the variance says nothing of the class: it divides by a further 1 + blurred/Σd.

    Parameters
    ----------
    divergences : array over columns
    correlation : float
    blurred : float
        The sum of divergences that noise alone makes.
    """
    total, squares = float(divergences.sum()), float((divergences**2).sum())
    if not squares:
        return 1.0
    effective = max(total**2 / squares, 1.0)
    return 1.0 / (1.0 + correlation * (effective - 1.0)) / (1.0 + blurred / total)


def order_classes(release: Release, order: Integers) -> tuple[MarginalsValue, MarginalsValue]:
    """Value and standard error with the classes in this order."""
    found: tuple[MarginalsValue, MarginalsValue] = (release.value, release.stderr)
    return found[0].map(lambda part: part[order]), found[1].map(lambda part: part[order])


def list_class_counts(value: MarginalsValue, error: MarginalsValue) -> list[tuple[Floats, float]]:
    """All that a vector says about the numbers of rows by class, each with its noise.

    Every histogram adds up to them, if the cell for undeclared values is counted.
    """
    found = []
    if value.count is not None:
        found.append((value.count, float(error.count[0])))
    for cells, unknown, spread in zip(value.cells, value.unknown, error.cells, strict=True):
        parts = cells if unknown is None else np.column_stack([cells, unknown])
        found.append((parts.sum(axis=1), float(spread[0, 0]) * parts.shape[1] ** 0.5))
    return found
