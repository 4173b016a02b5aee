"""Estimators on a noised histogram against models that ask in other ways, each line with its bar.

Run ``python benchmarks/bench_m_estimation.py``. Figures are test accuracies, or R², means over repeated
fits with fresh noise: on Adult's shipped split with two, three and four columns, on random splits of Pima
(768 patients), and for regression hours of work on Adult. ``--post`` compares ways to make weights of
noisy counts. The data sets are read from ``DISCREET_DATA`` (by default ``../shared/data`` beside the
repository); those that are absent are left out. The exit status is the number of bars missed.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from bench_models import Bars
from real_tables import DATA, has_tables
from sklearn import linear_model, tree

import discreet as dp
from discreet.models import m_estimation
from discreet.models.linear_model import LinearRegression, LogisticRegression
from discreet.models.m_estimation import HistogramMEstimator
from discreet.models.naive_bayes import GaussianNB
from discreet.models.tree import DecisionTreeRegressor, RandomDecisionForest

REPEATS = 10
EPSILONS = (0.01, 0.1, 1)
COLUMNS = {
    "age": dp.Integer(17, 90),
    "education-num": dp.Integer(1, 16),
    "hours-per-week": dp.Integer(1, 99),
    "capital-gain": dp.Integer(0, 100_000),
}
PATIENTS = {"glucose": dp.Integer(40, 200), "bmi": dp.Real(10, 60), "age": dp.Integer(20, 85)}
#: Amounts that are mostly 0: even bins would hide them.
CUTS = {"capital-gain": [5000, 20_000]}
#: How far the histogram may stay behind the same estimator without noise, at ε = 1 on two columns.
BEHIND = 0.01
QUICK = {"REPEATS": 1, "EPSILONS": (1,)}

Maker = Callable[[float], Any]


def small_tree() -> Any:
    return tree.DecisionTreeClassifier(max_depth=5, random_state=0)


def makers(schema: dp.Schema, rows: int) -> dict[str, Maker]:
    """Ours by name, each from a budget; all know about how many rows there are."""
    common = {"schema": schema, "expected_rows": rows}
    bins = {name: cuts for name, cuts in CUTS.items() if name in schema.base} or None

    def histogram(inner: Any) -> Maker:
        return lambda e: HistogramMEstimator(inner, epsilon=e, bins=bins, **common)

    return {
        "histogram, logistic": histogram(linear_model.LogisticRegression()),
        "histogram, tree": histogram(small_tree()),
        "LogisticRegression": lambda e: LogisticRegression(epsilon=e, **common),
        "GaussianNB": lambda e: GaussianNB(epsilon=e, schema=schema),
        "RandomDecisionForest": lambda e: RandomDecisionForest(
            epsilon=e, schema=schema, random_state=0
        ),
    }


def shown(name: str, what: str, found: list[float]) -> None:
    print(f"{f'{name}, {what}':46} " + "  ".join(f"{value:7.4f}" for value in found))


def mean_scores(make: Maker, splits: Callable[[int], Any]) -> list[float]:
    found = []
    for epsilon in EPSILONS:
        scores = []
        for seed in range(REPEATS):
            x, y, x_test, y_test = splits(seed)
            scores.append(make(epsilon).fit(x, y).score(x_test, y_test))
        found.append(float(np.mean(scores)))
    return found


def compared(
    bars: Bars, name: str, columns: dict[str, Any], rows: int, splits: Callable[[int], Any]
) -> None:
    schema = dp.Schema({**columns, "class": dp.Categorical(0, 1)})
    shares = [np.mean(splits(seed)[3]) for seed in range(REPEATS)]
    majority = max(np.mean(shares), 1 - np.mean(shares))
    print(
        f"{f'{name}, the larger class':46} {majority:7.4f}        ε = {', '.join(f'{e:g}' for e in EPSILONS)}"
    )
    plain = {
        "histogram, logistic": linear_model.LogisticRegression(max_iter=5000),
        "histogram, tree": small_tree(),
    }
    for what, make in makers(schema, rows).items():
        found = mean_scores(make, splits)
        shown(name, what, found)
        if what in plain and len(columns) == 2:
            parts = [splits(seed) for seed in range(REPEATS)]
            best = float(np.mean([plain[what].fit(*p[:2]).score(*p[2:]) for p in parts]))
            bars.show(f"{name}, {what}, behind scikit-learn", best - found[-1], BEHIND, most=True)


def adult(names: list[str]) -> Callable[[int], Any]:
    parts = [pd.read_csv(DATA / f"adult_{part}.csv.gz") for part in ("train", "test")]
    found = tuple(
        array
        for part in parts
        for array in (part[names].to_numpy(float), (part["income"] == ">50K").to_numpy(int))
    )
    return lambda seed: found


def patients(names: list[str]) -> Callable[[int], Any]:
    table = pd.read_csv(DATA / "pima_diabetes.csv.gz")
    x, y = table[names].to_numpy(float), table["outcome"].to_numpy(int)

    def split(seed: int) -> Any:
        order = np.random.default_rng(seed).permutation(len(x))
        train, test = order[: int(0.7 * len(x))], order[int(0.7 * len(x)) :]
        return x[train], y[train], x[test], y[test]

    return split


def regression(bars: Bars) -> None:
    names, target = ["age", "education-num"], "hours-per-week"
    schema = dp.Schema({name: COLUMNS[name] for name in (*names, target)})
    parts = [pd.read_csv(DATA / f"adult_{part}.csv.gz") for part in ("train", "test")]
    (x, y), (x_test, y_test) = (
        (p[names].to_numpy(float), p[target].to_numpy(float)) for p in parts
    )
    splits = lambda seed: (x, y, x_test, y_test)  # noqa: E731
    grown = tree.DecisionTreeRegressor(max_depth=5, random_state=0)
    common = {"schema": schema, "expected_rows": 30_000}
    for what, make in {
        "histogram, linear": lambda e: HistogramMEstimator(
            linear_model.LinearRegression(), epsilon=e, **common
        ),
        "histogram, linear, target in 6 bins": lambda e: HistogramMEstimator(
            linear_model.LinearRegression(), epsilon=e, target_bins=6, **common
        ),
        "histogram, tree": lambda e: HistogramMEstimator(grown, epsilon=e, **common),
        "histogram, tree, target in 6 bins": lambda e: HistogramMEstimator(
            grown, epsilon=e, target_bins=6, **common
        ),
        "LinearRegression": lambda e: LinearRegression(epsilon=e, schema=schema),
        "DecisionTreeRegressor": lambda e: DecisionTreeRegressor(epsilon=e, schema=schema),
    }.items():
        shown("Adult, hours, R²", what, mean_scores(make, splits))
    for what, model in (("linear", linear_model.LinearRegression()), ("tree", grown)):
        plain = model.fit(x, y).score(x_test, y_test)
        print(f"{f'Adult, hours, R², {what} of scikit-learn':46} {plain:7.4f}")


def soft(counts: Any, at_least: float) -> Any:
    """The nearest weights of the same sum that are at least 0 (projection on a simplex)."""
    total = max(float(counts.sum()), 1.0)
    falling = np.sort(counts)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(counts) + 1)
    return np.maximum(counts - excess[np.flatnonzero(falling > excess)[-1]], 0.0)


def clipped(counts: Any, at_least: float) -> Any:
    return np.maximum(counts, 1e-9)


def half(counts: Any, at_least: float) -> Any:
    return HONEST(counts, at_least / 2)


HONEST = m_estimation.keep_cells


def post_processing() -> None:
    """What becomes of weights that are made of noisy counts in other ways."""
    for names in (list(COLUMNS)[:2], list(COLUMNS)):
        splits = adult(names)
        schema = dp.Schema({**{n: COLUMNS[n] for n in names}, "class": dp.Categorical(0, 1)})
        for title, rule in (
            ("a threshold, scaled", HONEST),
            ("half the threshold, scaled", half),
            ("simplex", soft),
            ("negative to 0", clipped),
        ):
            m_estimation.keep_cells = rule
            for what in ("histogram, logistic", "histogram, tree"):
                found = mean_scores(makers(schema, 30_000)[what], splits)
                shown(f"{len(names)} columns, {title}", what.split(", ")[1], found)
    m_estimation.keep_cells = HONEST


def main(arguments: Sequence[str] = ()) -> int:
    """Print the table and return the number of bars missed."""
    warnings.filterwarnings("ignore", category=UserWarning)
    bars = Bars()
    if has_tables("Adult", "adult_train.csv.gz", "adult_test.csv.gz"):
        if "--post" in arguments:
            post_processing()
        for count in (2, 3, 4):
            names = list(COLUMNS)[:count]
            columns = {name: COLUMNS[name] for name in names}
            compared(bars, f"Adult, {count} columns", columns, 30_000, adult(names))
        regression(bars)
    if has_tables("Pima", "pima_diabetes.csv.gz"):
        for count in (2, 3):
            names = list(PATIENTS)[:count]
            columns = {name: PATIENTS[name] for name in names}
            compared(bars, f"Pima, {count} columns", columns, 500, patients(names))
    print(f"{bars.missed} bars missed" if bars.missed else "all bars hold")
    return bars.missed


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
