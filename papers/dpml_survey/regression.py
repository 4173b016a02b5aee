"""Linear regression (section 3.1) on the law-school table: grades from tests, by every way that there is."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from harness import DATA, Study, markdown, seed_of
from study import DELTA, EPSILONS, STUDY

from discreet import testing
from discreet.models.linear_model import LinearRegression
from discreet.models.m_estimation import HistogramMEstimator

Floats = npt.NDArray[np.float64]

FILE = "law_school.csv.gz"
#: Two deciles, the test that was scored from 10 to 48, the grade before; and the standardised grade after.
BOUNDS = (1.0, 1.0, 10.0, 0.0), (10.0, 10.0, 48.0, 4.0)
FEATURES, TARGET, TARGET_BOUNDS = ("decile1b", "decile3", "lsat", "ugpa"), "zgpa", (-4.0, 4.0)
#: Name by name, how the model is asked for.
METHODS: dict[str, str | None] = {
    "noised sums (not in the survey)": "sufficient_statistics",
    "objective perturbation (3.1)": "objective",
    "functional mechanism (3.1)": "functional",
    "perturbed histogram (3.1, B.3)": None,
}


@cache
def read() -> tuple[Floats, Floats]:
    import pandas as pd

    frame = pd.read_csv(DATA / FILE)
    return frame[list(FEATURES)].to_numpy(np.float64), frame[TARGET].to_numpy(np.float64)


def split(seed: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Seven of ten rows to learn from, and the others."""
    x, y = read()
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: len(y) * 7 // 10], order[len(y) * 7 // 10 :]
    return x[train], y[train], x[test], y[test]


def goodness(found: Floats, truth: Floats) -> dict[str, float]:
    return {"r2": float(1 - ((truth - found) ** 2).sum() / ((truth - truth.mean()) ** 2).sum())}


def build(epsilon: float, method: str) -> Any:
    facts: dict[str, Any] = {"epsilon": epsilon, "bounds": BOUNDS, "target_bounds": TARGET_BOUNDS}
    kind = METHODS[method]
    if kind is None:
        from sklearn.linear_model import LinearRegression as Plain

        return HistogramMEstimator(Plain(), delta=DELTA, expected_rows=15_000, **facts)
    return LinearRegression(method=kind, delta=DELTA, expected_rows=15_000, **facts)


@STUDY.experiment(EPSILONS, tuple(METHODS), repeats=10, quick=1, needs=(FILE,))
def linear_regression(epsilon: float, method: str, *, seed: int) -> dict[str, float]:
    x, y, others, truth = split(seed)
    with testing.fixed_noise(seed_of(epsilon, method, seed)):
        model = build(epsilon, method).fit(x, y)
    return goodness(model.predict(others), truth)


@STUDY.experiment(repeats=10, quick=1, needs=(FILE,))
def linear_regression_not_private(*, seed: int) -> dict[str, float]:
    from sklearn.linear_model import LinearRegression as Plain

    x, y, others, truth = split(seed)
    return goodness(Plain().fit(x, y).predict(others), truth)


@STUDY.table("linear-regression", "linear-regression-not-private")
def grades(study: Study) -> str:
    rows = [[m, *(study.get("linear-regression", e, m)["r2"] for e in EPSILONS)] for m in METHODS]
    plain = study.get("linear-regression-not-private")["r2"]
    head = ["R² of held-out grades", *(f"ε = {e:g}" for e in EPSILONS)]
    return f"{markdown(head, rows)}\n\nNot private: {plain}. {plain.count} repetitions."
