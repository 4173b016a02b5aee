"""How naive Bayes' vector should be split between counts, sums and squares: accuracies by weights.

Run ``python benchmarks/split_of_naive_bayes.py``; it prints the table of ``docs/proofs/naive_bayes.md``.
Noise is drawn here in floats, since only accuracy is asked for. The chosen split is marked.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from peers import DATA, adult
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from discreet.models.posterior import class_moments, repair_counts

#: Weights of the count, of u and of 1 - u².
SPLITS = [
    (0.5, 1, 0.5), (0.25, 1, 0.5), (1, 1, 0.5), (2, 1, 0.5),
    (0.5, 1, 0.25), (0.5, 1, 1), (1, 1, 1), (1, 1, 2),
]  # fmt: skip
REPEATS = 60


def size(first: float, rest: float) -> float:
    """The largest of first·|u| + rest·(1 - u²)."""
    return first if 2 * rest <= first else first**2 / (4 * rest) + rest


def accuracy(
    x: Any, y: Any, x_test: Any, y_test: Any, epsilon: float, split: Any, draw: Any
) -> float:
    """Of one noised model; features are in [-1, 1]."""
    count, first, rest = split
    classes = int(max(y.max(), y_test.max())) + 1
    scale = (count + x.shape[1] * size(first, rest)) / epsilon
    n = np.bincount(y, minlength=classes).astype(float)
    sums = np.array([x[y == c].sum(axis=0) for c in range(classes)])
    rests = np.array([(1 - x[y == c] ** 2).sum(axis=0) for c in range(classes)])
    noisy = n + draw.laplace(scale=scale / count, size=n.shape)
    sums += draw.laplace(scale=scale / first, size=sums.shape)
    rests += draw.laplace(scale=scale / rest, size=rests.shape)
    spread = 2**0.5 * scale
    columns = np.ones(x.shape[1])
    noise = (spread / count, spread / first * columns, spread / rest * columns)
    counts = repair_counts(noisy, noise[0])
    means, variances = class_moments(counts, sums, noisy[:, None] - rests, noise, 4.0**-14)
    scores = np.log(counts / counts.sum()) - 0.5 * np.log(variances).sum(axis=1)
    far = ((x_test[:, None, :] - means) ** 2 / variances).sum(axis=2)
    return float(np.mean((scores - 0.5 * far).argmax(axis=1) == y_test))


def main() -> int:
    """Print the table."""
    tables: list[tuple[str, Any, tuple[float, ...]]] = []
    for name, load in (("Iris", load_iris), ("Wine", load_wine), ("Breast C.", load_breast_cancer)):
        found = load()
        low, high = found.data.min(axis=0), found.data.max(axis=0)
        tables.append((name, (2 * (found.data - low) / (high - low) - 1, found.target), (1, 10)))
    if (DATA / "adult_train.csv.gz").exists():
        x, y, x_test, y_test = adult()
        tables.append(("Adult", (2 * x - 1, y, 2 * x_test - 1, y_test), (0.1, 1, 10)))
    heads = [f"{name} {epsilon:g}" for name, _, budgets in tables for epsilon in budgets]
    print(f"{'count : u : 1 - u²':20}" + "".join(f"{head:>14}" for head in heads))
    for split in SPLITS:
        draw = np.random.default_rng(0)
        means = []
        for _, data, budgets in tables:
            for epsilon in budgets:
                found = []
                for _ in range(REPEATS if len(data) == 2 else REPEATS // 3):
                    parts = data
                    if len(data) == 2:
                        order = draw.permutation(len(data[1]))
                        cut = int(0.7 * len(order))
                        train, test = order[:cut], order[cut:]
                        parts = (data[0][train], data[1][train], data[0][test], data[1][test])
                    found.append(accuracy(*parts, epsilon, split, draw))
                means.append(np.mean(found))
        shown = " : ".join(f"{weight:g}" for weight in split) + (" *" if split == SPLITS[0] else "")
        print(f"{shown:20}" + "".join(f"{mean:14.3f}" for mean in means))
    return 0


if __name__ == "__main__":
    sys.exit(main())
