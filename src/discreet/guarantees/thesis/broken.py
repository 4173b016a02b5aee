"""Programs of the thesis on theory and tools, as its appendix prints them.

Source: S. Ferrari, *The protection of personal data: a theoretical approach via differential privacy*, 2022:
algorithms 2-5 and the appendix, which uses the package diffpriv.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.guarantees.draws import GENERATOR, Floats, laplace

__all__ = [
    "local_mean",
    "matrix_mean",
    "plausible",
    "regression_values",
    "sampled_sensitivity",
]


def matrix_mean(matrix: Floats, trials: int, *, epsilon: float, delta: float = 0.0) -> Floats:
    """The mean of a matrix with values in an interval of length 1, and "sensitivity 1/n", n its *cells*.

    Laplace noise, or with delta > 0 Gaussian noise of σ = L√(2·log(1.25/δ))/ε.
    """
    sensitivity = 1 / matrix.size
    if delta:
        sigma = sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon
        return np.asarray(matrix.mean() + sigma * GENERATOR.normal(size=trials))
    return np.asarray(matrix.mean() + laplace(sensitivity / epsilon, trials))


def local_mean(column: Floats, other: Floats, trials: int, *, epsilon: float) -> Floats:
    """Algorithm 2 with its step 1 taken at its word: L = |f(D) - f(D')| for the pair at hand."""
    scale = abs(column.mean() - other.mean()) / epsilon
    return np.asarray(column.mean() + laplace(scale, trials))


def regression_values(points: Floats, nodes: Floats, bandwidth: float = 0.1) -> Floats:
    """The Priestley–Chao regression of the appendix (`pck_regression`) at some places."""
    x, y = points[np.argsort(points[:, 0])].T
    weights = np.diff(x) * y[1:]
    kernel = np.exp(-(((nodes[:, None] - x[1:]) / bandwidth) ** 2) / 2)
    return np.asarray(kernel @ weights / bandwidth)


def plausible(count: int, generator: np.random.Generator) -> Floats:
    """The sampler of "plausible" data sets, function `P` of the appendix."""
    x = generator.random(count)
    y = x if generator.random() < 0.95 else np.zeros(count)
    y = y * np.sin(x) if generator.random() < 0.5 else y
    y = y * np.cos(x) if generator.random() < 0.5 else y
    return np.column_stack([x, y + generator.normal(scale=0.2, size=count)])


def sampled_sensitivity(
    nodes: Floats,
    generator: np.random.Generator,
    *,
    count: int = 100,
    draws: int = 500,
    keep: int = 439,
) -> float:
    """The keep-th smallest of sampled differences, as diffpriv takes it for m = 500 and γ = 0.2.

    Each is the largest change of the regression at the nodes when one row is redrawn.
    """
    found = []
    for _ in range(draws):
        points = plausible(count + 1, generator)
        first, second = points[:-1], np.vstack([points[:-2], points[-1:]])
        moved = regression_values(first, nodes) - regression_values(second, nodes)
        found.append(float(np.abs(moved).max()))
    return sorted(found)[keep - 1]
