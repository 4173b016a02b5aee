"""What diffprivlib 0.6.6 reaches on the tasks of our bars, in an environment of its own.

It needs scikit-learn 1.5: ``python -m venv peers && peers/bin/pip install diffprivlib==0.6.6
scikit-learn==1.5.2 pandas``. Then ``peers/bin/python benchmarks/peers.py`` prints its figures as JSON, means
of ten seeds; with ``DISCREET_PEERS=peers/bin/python`` set, benchmarks print them beside ours.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(os.environ.get("DISCREET_DATA", Path(__file__).parents[2] / "shared" / "data"))
ADULT = {
    "age": (17, 90),
    "fnlwgt": (0, 1.5e6),
    "education_num": (1, 16),
    "capital_gain": (0, 1e5),
    "capital_loss": (0, 5000),
    "hours_per_week": (1, 99),
}
SEEDS = 10


def adult() -> tuple[Any, ...]:
    """Six numeric columns scaled by public bounds, and whether income exceeds 50K: train and test."""
    import pandas as pd

    lower, upper = np.array(list(ADULT.values()), float).T
    parts: list[Any] = []
    for part in ("train", "test"):
        table = pd.read_csv(DATA / f"adult_{part}.csv.gz")
        table.columns = [name.replace("-", "_") for name in table.columns]
        x = np.clip((table[list(ADULT)].to_numpy(float) - lower) / (upper - lower), 0, 1)
        parts += [x, (table["income"] == ">50K").to_numpy().astype(int)]
    return tuple(parts)


def figures(names: list[str]) -> dict[str, dict[str, float]]:
    """Means over seeds, by task and ε; to be run where diffprivlib can be imported."""
    from diffprivlib import models

    warnings.simplefilter("ignore")
    x, y, x_test, y_test = adult()
    box = (np.zeros(6), np.ones(6))
    hours, others = x[:, 5], x[:, :5]

    def naive_bayes(epsilon: float, seed: int) -> float:
        model = models.GaussianNB(epsilon=epsilon, bounds=box, random_state=seed)
        return float(model.fit(x, y).score(x_test, y_test))

    def forest(epsilon: float, seed: int) -> float:
        model = models.RandomForestClassifier(
            epsilon=epsilon, bounds=box, classes=[0, 1], random_state=seed
        )
        return float(model.fit(x, y).score(x_test, y_test))

    def kmeans(epsilon: float, seed: int) -> float:
        model = models.KMeans(4, epsilon=epsilon, bounds=box, random_state=seed).fit(x)
        far = ((x[:, None, :] - model.cluster_centers_) ** 2).sum(axis=2)
        return float(far.min(axis=1).sum())

    def pca(epsilon: float, seed: int) -> float:
        norm = 6**0.5
        model = models.PCA(2, epsilon=epsilon, bounds=box, data_norm=norm, random_state=seed).fit(x)
        centred = x - x.mean(axis=0)
        return float(((centred @ model.components_.T) ** 2).sum() / (centred**2).sum())

    def regression(epsilon: float, seed: int) -> float:
        model = models.LinearRegression(
            epsilon=epsilon, bounds_X=(0, 1), bounds_y=(0, 1), random_state=seed
        ).fit(others, hours)
        return float(model.score(x_test[:, :5], x_test[:, 5]))

    tasks = {f.__name__: f for f in (naive_bayes, forest, kmeans, pca, regression)}
    return {
        name: {
            f"{epsilon:g}": float(np.mean([tasks[name](epsilon, seed) for seed in range(SEEDS)]))
            for epsilon in (0.1, 1.0, 10.0)
        }
        for name in names
    }


def asked(*names: str) -> dict[str, dict[str, float]]:
    """The peer's figures of these tasks, from the interpreter that ``DISCREET_PEERS`` names; or none."""
    python = os.environ.get("DISCREET_PEERS")
    if python is None or not (DATA / "adult_train.csv.gz").exists():
        return {}
    done = subprocess.run([python, __file__, *names], stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, dict[str, float]] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    print(
        json.dumps(
            figures(sys.argv[1:] or ["naive_bayes", "forest", "kmeans", "pca", "regression"])
        )
    )
