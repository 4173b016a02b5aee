"""Formulas of a survey of differentially private machine learning, as printed.

Source: J. Fan, X. Tian, *Differentially private machine learning*, 2024: equations (15)-(17), (25)-(28),
(33), section 3.3, algorithm 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.guarantees.draws import GENERATOR, Floats, laplace

__all__ = [
    "aggregated_centre",
    "dp_sgd",
    "gaussian_parameters",
    "noisy_counts",
    "noisy_tree",
    "objective_noise",
    "objective_perturbation",
    "regularised_logistic",
]


def regularised_logistic(
    rows: Floats, labels: Floats, strength: float, linear: Floats | None = None, steps: int = 15
) -> Floats:
    """argmin Σ log(1 + e^(-y·θ·x)) + strength·‖θ‖² + linear·θ, equations (15) and (17), by Newton's method.

    `linear` may hold many vectors: then there is one minimiser for each.
    """
    dimension = rows.shape[1]
    push = np.zeros((1, dimension)) if linear is None else linear
    signed = rows * labels[:, None]
    found = np.zeros_like(push)
    for _ in range(steps):
        missed = 1 / (1 + np.exp(found @ signed.T))
        gradient = -missed @ signed + 2 * strength * found + push
        curve = np.einsum("tn,ni,nj->tij", missed * (1 - missed), signed, signed)
        curve += 2 * strength * np.eye(dimension)
        found = found - np.linalg.solve(curve, gradient[..., None])[..., 0]
    return found


def objective_perturbation(
    rows: Floats,
    labels: Floats,
    trials: int,
    *,
    epsilon: float,
    strength: float,
    grid: float | None = None,
) -> Floats:
    """Equation (17): the minimiser with a linear term of Laplace noise of scale 2/(strength·ε).

    With `grid` the noise is put on multiples of it, which looks like a remedy against floating point.
    """
    noise = laplace(2 / (strength * epsilon), (trials, rows.shape[1]))
    if grid is not None:
        noise = np.round(noise / grid) * grid
    return regularised_logistic(rows, labels, strength, noise)


def objective_noise(output: Floats, rows: Floats, labels: Floats, strength: float) -> Floats:
    """The noise that an output of `objective_perturbation` comes from, if these are the data."""
    signed = rows * labels[:, None]
    missed = 1 / (1 + np.exp(output @ signed.T))
    return np.asarray(missed @ signed - 2 * strength * output)


def noisy_counts(
    rows: npt.NDArray[np.int64], trials: int, *, epsilon: float, values: int, classes: int
) -> Floats:
    """Equations (25)-(26): class counts and counts of attributes by class, which is the last column."""
    labels = rows[:, -1:] == np.arange(classes)
    cells = rows[:, :-1, None] == np.arange(values)
    counts = np.einsum("nc,nmv->cmv", labels.astype(np.int64), cells.astype(np.int64))
    flat = np.concatenate([labels.sum(axis=0), counts.ravel()]).astype(np.float64)
    return flat + laplace(1 / epsilon, (trials, len(flat)))


def gaussian_parameters(
    column: Floats, trials: int, *, epsilon: float, bounds: tuple[float, float]
) -> Floats:
    """Equations (27)-(28): mean and deviation of n values, with noise scaled by the data's own n."""
    width, n = bounds[1] - bounds[0], len(column)
    mean = column.mean() + laplace(width / (n + 1) / epsilon, trials)
    deviation = column.std() + laplace(np.sqrt(n * width / (n + 1)) / epsilon, trials)
    return np.column_stack([mean, deviation])


def noisy_tree(rows: npt.NDArray[np.int64], trials: int, *, epsilon: float) -> Floats:
    """The leaves of a tree that splits by noisy information gain and stops where all labels are equal.

    Section 3.3 with its rule (i); binary features and, in the last column, labels. For each run: the
    number of leaves.
    """
    return np.array(
        [_leaves(rows, tuple(range(rows.shape[1] - 1)), epsilon) for _ in range(trials)]
    )


def _leaves(rows: npt.NDArray[np.int64], features: tuple[int, ...], epsilon: float) -> float:
    if not features or len(np.unique(rows[:, -1])) <= 1:
        return 1.0
    gains = [_entropy(rows) - _rest(rows, j) + laplace(1 / epsilon, 1)[0] for j in features]
    best = features[int(np.argmax(gains))]
    left = tuple(j for j in features if j != best)
    return sum(_leaves(rows[rows[:, best] == side], left, epsilon) for side in (0, 1))


def _entropy(rows: npt.NDArray[np.int64]) -> float:
    chance = float(np.mean(rows[:, -1])) if len(rows) else 0.0
    return -sum(p * float(np.log2(p)) for p in (chance, 1 - chance) if p > 0)


def _rest(rows: npt.NDArray[np.int64], feature: int) -> float:
    parts = [rows[rows[:, feature] == side] for side in (0, 1)]
    return sum(len(part) / len(rows) * _entropy(part) for part in parts)


def aggregated_centre(
    outputs: Floats, trials: int, *, epsilon: float, diameter: float = 1.0
) -> Floats:
    """Equation (33) in one dimension: the centre of the fullest ball of block outputs, noised."""
    inside = np.abs(outputs[:, None] - outputs) <= diameter / 2
    best = int(np.argmax(inside.sum(axis=1)))
    return np.asarray(outputs[best] + laplace(diameter / epsilon, trials))


def dp_sgd(rows: Floats, trials: int, *, sigma: float, batch: int, rounds: int) -> Floats:
    """Algorithm 1 for the mean of numbers in [-1, 1]: θ after `rounds`, with clipping to 1 and rate 1/2."""
    theta = np.zeros(trials)
    for _ in range(rounds):
        order = GENERATOR.random((trials, len(rows))).argsort(axis=1)[:, :batch]
        gradient = np.clip(theta[:, None] - rows[order], -1, 1).sum(axis=1)
        theta = theta - (gradient + sigma * GENERATOR.normal(size=trials)) / batch / 2
    return theta
