"""Models of other libraries, in environments of their own, on the tables and tasks of ours.

``python benchmarks/page.py --setup-peers FOLDER`` makes the environments (diffprivlib 0.6.6 no longer imports
with a current scikit-learn). With ``DISCREET_PEERS=FOLDER`` set, the other benchmarks print figures of
diffprivlib beside ours.

Each model gets the same public bounds as ours: where a library asks for a norm, it is that of the box (for
logistic regression the one that ours take with few rows); categories become indicators, or stay names where a
model takes those. Everything else is the library's default.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import real_tables as tables
from contest import CLUSTERS, COMPONENTS, DELTA, Contestant, Inputs
from real_tables import DATA, Number, Split

__all__ = ["CONTESTANTS", "DATA", "REQUIREMENTS", "adult", "asked", "python_of"]

REQUIREMENTS = {
    "diffprivlib": ("diffprivlib==0.6.6", "scikit-learn==1.5.2", "pandas", "pyarrow"),
    "OpenDP": ("opendp[scikit-learn]==0.16.0", "pandas", "pyarrow"),
    "interpret": ("interpret-core==0.7.8", "pandas", "pyarrow"),
}


def python_of(folder: str | Path, library: str) -> Path:
    """The interpreter of a library's environment."""
    return Path(folder) / library.lower() / "bin" / "python"


def adult() -> tuple[Any, ...]:
    """Six numeric columns scaled by public bounds, and whether income exceeds 50K: train and test."""
    split = tables.load("adult")
    names = split.table.numbers
    return tuple(
        found
        for part in ("train", "test")
        for found in (split.scaled(part, names), split.truth(part))
    )


#: Tasks on Adult that other benchmarks ask about: model and metric.
ASKED = {
    "naive_bayes": ("GaussianNB", "accuracy"),
    "forest": ("RandomForestClassifier", "accuracy"),
    "kmeans": ("KMeans", "inertia"),
    "pca": ("PCA", "variance"),
    "regression": ("LinearRegression", "r2"),
}


def asked(*names: str) -> dict[str, dict[str, float]]:
    """The means of diffprivlib on Adult's numbers by task and ε, where ``DISCREET_PEERS`` is set; or none."""
    folder = os.environ.get("DISCREET_PEERS")
    if folder is None or not tables.TABLES["adult"].is_here():
        return {}
    if not python_of(folder, "diffprivlib").exists():
        print(f"diffprivlib: left out, no environment in {folder}")
        return {}
    command = [str(python_of(folder, "diffprivlib")), str(Path(__file__).parent / "contest.py")]
    command += ["diffprivlib", "adult", "--seeds", "10", "--columns", "numbers", "--only"]
    found: dict[str, dict[str, float]] = {}
    for name in names:
        model, metric = ASKED[name]
        done = subprocess.run([*command, model], stdout=subprocess.PIPE, text=True, check=True)
        for line in map(json.loads, done.stdout.splitlines()):
            if line["task"] != "line":
                pairs = zip(line["epsilons"], line[metric], strict=True)
                found[name] = {f"{epsilon:g}": figure[0] for epsilon, figure in pairs if figure}
    return found


def arrays(split: Split, one: Contestant, lower: float = 0.0) -> Inputs:
    """Columns scaled to [lower, 1], with indicators where all columns are taken."""
    table, names = split.table, one.names(split.table)
    if one.task == "classes" and one.view == "all" and table.categories:
        x, x_test = split.encoded("train"), split.encoded("test")
    else:
        x, x_test = (split.scaled(part, names, lower) for part in ("train", "test"))
    if one.task == "classes":
        return Inputs((x, split.truth("train")), x_test, split.truth("test"))
    if one.task in ("clusters", "components"):
        return Inputs((x,))
    assert table.number is not None
    y, y_test = (split.scaled(part, [table.number], lower)[:, 0] for part in ("train", "test"))
    return Inputs((x, y), x_test, y_test, bounds=(lower, 1.0))


def both_sides(split: Split, one: Contestant) -> Inputs:
    """Columns scaled to [-1, 1]."""
    return arrays(split, one, -1.0)


def centred(split: Split, one: Contestant) -> Inputs:
    """Columns scaled to [-1/2, 1/2], whose box has the smallest norm."""
    inputs = arrays(split, one)
    return Inputs((inputs.train[0] - 0.5,))


def frames(split: Split, one: Contestant) -> Inputs:
    """Columns as they are, in a data frame."""
    table, names = split.table, one.names(split.table)
    if one.task == "classes":
        truth = [split.truth(part) for part in ("train", "test")]
        return Inputs((split.train[names], truth[0]), split.test[names], truth[1])
    assert table.number is not None
    column = table.columns[table.number]
    assert isinstance(column, Number)
    y, y_test = (part[table.number].to_numpy() for part in (split.train, split.test))
    bounds = (column.lower, column.upper)
    return Inputs((split.train[names], y), split.test[names], y_test, bounds=bounds)


def _width(split: Split, one: Contestant) -> int:
    names = one.names(split.table)
    listed = [split.table.columns[name] for name in names]
    return sum(1 if isinstance(column, Number) else len(column.values) for column in listed)


def _norm(split: Split, one: Contestant) -> float:
    """Longer rows are scaled down to it, as in ours with few rows: √(a + d/3) for d numbers, a categories."""
    numbers = sum(isinstance(split.table.columns[name], Number) for name in one.names(split.table))
    return float(np.sqrt(len(one.names(split.table)) - numbers + numbers / 3))


def _diffprivlib(split: Split, one: Contestant, epsilon: float, _delta: float, seed: int) -> Any:
    from diffprivlib import models

    kind, width = getattr(models, one.model), _width(split, one)
    box = (np.zeros(width), np.ones(width))
    given: dict[str, Any] = {"epsilon": epsilon, "random_state": seed}
    if one.model == "LogisticRegression":
        return kind(data_norm=_norm(split, one), **given)
    if one.model == "LinearRegression":
        # with a lower bound of 0 it would leave entries without noise
        return kind(bounds_X=(-1, 1), bounds_y=(-1, 1), **given)
    if one.model == "KMeans":
        return kind(CLUSTERS, bounds=box, **given)
    if one.model == "PCA":
        return kind(COMPONENTS, bounds=(-0.5, 0.5), data_norm=width**0.5 / 2, **given)
    if one.model != "GaussianNB":
        given["classes"] = [0, 1]
    return kind(bounds=box, **given)


def _opendp(split: Split, one: Contestant, epsilon: float, _delta: float, _seed: int) -> Any:
    import opendp.prelude as odp

    odp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
    if one.task == "components":
        rows, width = len(split.train), _width(split, one)
        return odp.sklearn.decomposition.PCA(
            epsilon=epsilon,
            row_norm=width**0.5 / 2,
            n_samples=rows,
            n_features=width,
            n_components=COMPONENTS,
        )

    def line(scale: float) -> Any:
        return odp.sklearn.linear_model.LinearRegression(
            odp.max_divergence(), x_bounds=[(0.0, 1.0)], y_bounds=(0.0, 1.0), scale=scale
        )

    return line(line(1.0).measurement.map(1) / epsilon)  # the cost is inverse to the scale


def _interpret(split: Split, one: Contestant, epsilon: float, delta: float, seed: int) -> Any:
    from interpret import privacy

    table, names = split.table, one.names(split.table)
    columns = [table.columns[name] for name in names]
    given: dict[str, Any] = {
        "feature_names": names,
        "feature_types": ["continuous" if isinstance(c, Number) else "nominal" for c in columns],
        "privacy_bounds": {
            name: (column.lower, column.upper)
            for name, column in zip(names, columns, strict=True)
            if isinstance(column, Number)
        },
        "epsilon": epsilon,
        "delta": delta,
        "n_jobs": 1,
        "random_state": seed,
    }
    if one.task == "classes":
        return privacy.DPExplainableBoostingClassifier(**given)
    assert table.number is not None
    target = table.columns[table.number]
    assert isinstance(target, Number)
    return privacy.DPExplainableBoostingRegressor(
        privacy_target_min=target.lower, privacy_target_max=target.upper, **given
    )


#: Dense indicators would be half a gigabyte, and minutes for a fit.
WIDE = {"kdd": "503 indicators for 199523 rows"}


def _of_diffprivlib(
    model: str, task: str, view: str, rival: str, inputs: Any = arrays
) -> Contestant:
    out = WIDE if view == "all" else {}
    return Contestant(
        "diffprivlib", model, task, view, inputs, _diffprivlib, rival=rival, left_out=out
    )


def _of_others(
    library: str, model: str, task: str, view: str, rival: str, inputs: Any
) -> Contestant:
    build, deltas = (_opendp, (0.0,)) if library == "OpenDP" else (_interpret, (DELTA,))
    return Contestant(library, model, task, view, inputs, build, deltas, rival)


_TREE, _LINE = "DecisionTreeClassifier", "SimpleLinearRegression"

CONTESTANTS = (
    _of_diffprivlib("GaussianNB", "classes", "numbers", "GaussianNB"),
    _of_diffprivlib("GaussianNB", "classes", "all", "MixedNB"),
    _of_diffprivlib("LogisticRegression", "classes", "numbers", "LogisticRegression"),
    _of_diffprivlib("LogisticRegression", "classes", "all", "LogisticRegression"),
    _of_diffprivlib("RandomForestClassifier", "classes", "numbers", "RandomDecisionForest"),
    _of_diffprivlib("RandomForestClassifier", "classes", "all", "RandomDecisionForest"),
    _of_diffprivlib(_TREE, "classes", "numbers", _TREE),
    _of_diffprivlib(_TREE, "classes", "all", _TREE),
    _of_diffprivlib("LinearRegression", "number", "numbers", "LinearRegression", both_sides),
    _of_diffprivlib("LinearRegression", "line", "numbers", _LINE, both_sides),
    _of_diffprivlib("KMeans", "clusters", "numbers", "KMeans"),
    _of_diffprivlib("PCA", "components", "numbers", "PCA", centred),
    _of_others(
        "OpenDP",
        "LinearRegression (Theil–Sen)",
        "line",
        "numbers",
        "SimpleLinearRegression (theil_sen)",
        arrays,
    ),
    _of_others("OpenDP", "PCA", "components", "numbers", "PCA", centred),
    _of_others(
        "interpret",
        "DPExplainableBoostingClassifier",
        "classes",
        "all",
        "AdditiveBoostingClassifier",
        frames,
    ),
    _of_others(
        "interpret",
        "DPExplainableBoostingRegressor",
        "number",
        "numbers",
        "AdditiveBoostingRegressor",
        frames,
    ),
)
