"""Trees and forests on real data, each line with its bar.

Run ``python benchmarks/bench_tree.py``. Figures are means over repeated fits with fresh noise and fresh
public seeds. The bars for forests are those of diffprivlib 0.6.6 on scikit-learn 1.5 on the same columns and
bounds (its RandomForestClassifier), less 0.002; a decision tree must beat our forest from ε = 1 on. The data
set is read from ``DISCREET_DATA`` (by default ``../shared/data`` beside the repository); without it nothing
is measured. ``DISCREET_PEERS``: see ``peers.py``. The exit status is the number of bars missed.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import peers
from bench_models import Bars
from peers import adult
from real_tables import has_tables
from sklearn import ensemble, tree

from discreet.models.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomDecisionForest,
    RandomDecisionForestRegressor,
)

REPEATS, SLACK = 10, 0.002
#: diffprivlib 0.6.6, RandomForestClassifier: test accuracy at ε.
PEER = {0.1: 0.768, 1: 0.770, 10: 0.770}
#: What our own forest is to reach.
AIM = {0.1: 0.0, 1: 0.80, 10: 0.80}
QUICK = {"REPEATS": 1, "PEER": {1: 0.770}}


def scored(build: Any, data: tuple[Any, ...]) -> tuple[float, float, float]:
    """Mean test score of repeated fits, its standard error, and the seconds of a fit."""
    x, y, new, expected = data
    began = time.perf_counter()
    found = [build(seed).fit(x, y).score(new, expected) for seed in range(REPEATS)]
    spent = (time.perf_counter() - began) / REPEATS
    return float(np.mean(found)), float(np.std(found) / REPEATS**0.5), spent


def line(what: str, found: tuple[float, float, float]) -> None:
    print(f"{what:58} {found[0]:9.4f}   ± {found[1]:.4f}, {found[2]:.2f} s a fit")


def classifiers(bars: Bars, data: tuple[Any, ...]) -> None:
    x, y, new, expected = data
    plain = tree.DecisionTreeClassifier(max_depth=7, random_state=0).fit(x, y)
    print(f"{'Adult, scikit-learn tree, 7 levels':58} {plain.score(new, expected):9.4f}")
    many = ensemble.RandomForestClassifier(100, max_depth=8, random_state=0).fit(x, y)
    print(f"{'Adult, scikit-learn forest':58} {many.score(new, expected):9.4f}")
    for told, accuracy in peers.asked("forest").get("forest", {}).items():
        print(f"{f'Adult, diffprivlib RandomForestClassifier, ε = {told}':58} {accuracy:9.4f}")
    for epsilon, peer in PEER.items():
        domain: dict[str, Any] = {"epsilon": epsilon, "bounds": (0, 1), "classes": [0, 1]}
        forest = scored(lambda seed: RandomDecisionForest(**domain, random_state=seed), data)  # noqa: B023
        what = f"Adult, RandomDecisionForest, ε = {epsilon:g}"
        bars.show(what, forest[0], max(peer - SLACK, AIM[epsilon]))
        line("", forest)
        for options in (
            {"delta": 1e-6, "n_estimators": 64},
            {"share": "rows", "n_estimators": 8},
        ):
            found = scored(
                lambda seed: RandomDecisionForest(**domain, random_state=seed, **options),  # noqa: B023
                data,
            )
            line(f"  the same, {', '.join(f'{k} = {v}' for k, v in options.items())}", found)
        found = scored(lambda seed: DecisionTreeClassifier(**domain), data)  # noqa: B023
        what = f"Adult, DecisionTreeClassifier, ε = {epsilon:g}"
        bars.show(what, found[0], forest[0] if epsilon >= 1 else peer - SLACK)
        line("", found)
        found = scored(lambda seed: DecisionTreeClassifier(**domain, criterion="majority"), data)  # noqa: B023
        line("  the same, criterion = majority", found)


def regressors(data: tuple[Any, ...]) -> None:
    """Hours of work from the other five columns: R²."""
    x, _, new, _ = data
    parts = (x[:, :5], x[:, 5], new[:, :5], new[:, 5])
    plain = tree.DecisionTreeRegressor(max_depth=6, random_state=0).fit(*parts[:2])
    print(f"{'Adult, hours, scikit-learn tree, R²':58} {plain.score(*parts[2:]):9.4f}")
    for epsilon in PEER:
        domain: dict[str, Any] = {"epsilon": epsilon, "bounds": (0, 1), "target_bounds": (0, 1)}
        line(
            f"Adult, hours, DecisionTreeRegressor, ε = {epsilon:g}, R²",
            scored(lambda seed: DecisionTreeRegressor(**domain), parts),  # noqa: B023
        )
        line(
            f"Adult, hours, RandomDecisionForestRegressor, ε = {epsilon:g}, R²",
            scored(
                lambda seed: RandomDecisionForestRegressor(**domain, random_state=seed),  # noqa: B023
                parts,
            ),
        )


def main() -> int:
    """The number of bars missed."""
    if not has_tables("Adult", "adult_train.csv.gz", "adult_test.csv.gz"):
        return 0
    bars = Bars()
    data = adult()
    classifiers(bars, data)
    regressors(data)
    return bars.missed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
