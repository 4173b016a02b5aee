"""Trees and forests of rows that lack some of their categories."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import discreet as dp
from discreet.models.tree import DecisionTreeClassifier, RandomDecisionForest
from discreet.models.tree.structure import leaves_of


def with_missing(share: float, rows: int = 6000, seed: int = 5) -> dict[str, Any]:
    """Six columns of categories, whose cells are missing or undeclared, and a class."""
    draw = np.random.default_rng(seed)
    y = (draw.random(rows) < 0.4).astype(int)
    table: dict[str, Any] = {"y": y}
    for j in range(6):
        cells = np.where(draw.random(rows) < 0.25 + 0.5 * y, "b", "a").astype(object)
        cells[draw.random(rows) < share] = None if j % 2 else "?"
        table[f"c{j}"] = cells
    return table


MISSING = dp.Schema(
    {**{f"c{j}": dp.Categorical("a", "b") for j in range(6)}, "y": dp.Categorical(0, 1)}
)
GROWN = {
    "forest": lambda **given: RandomDecisionForest(random_state=0, n_estimators=4, **given),
    "forest, rows": lambda **given: RandomDecisionForest(
        random_state=0, n_estimators=4, share="rows", **given
    ),
    "tree": lambda **given: DecisionTreeClassifier(max_depth=4, **given),
}


@pytest.mark.parametrize("grow", GROWN.values(), ids=GROWN)
def test_rows_without_a_declared_value_count_where_they_are_predicted(grow: Any) -> None:
    table = with_missing(0.3)
    rows = {name: cells for name, cells in table.items() if name != "y"}
    model = grow(schema=MISSING, unit=dp.PUBLIC, epsilon=math.inf).fit(rows, table["y"])
    if isinstance(model, DecisionTreeClassifier):
        counts, leaves = [model.leaf_values_], model._leaves(rows)[:, None]
    else:
        counts, leaves = model.leaf_values_, leaves_of(model.trees_, model._rows(rows))
    assert sum(leaf.sum() for leaf in counts) == len(table["y"]) * (
        1 if getattr(model, "share", None) == "rows" else len(counts)
    )
    if getattr(model, "share", None) != "rows":
        for tree, found in enumerate(counts):
            wanted = np.zeros_like(found)
            np.add.at(wanted, (leaves[:, tree], table["y"]), 1)
            assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize("grow", GROWN.values(), ids=GROWN)
def test_missing_categories_do_not_spoil_trees(grow: Any) -> None:
    test = with_missing(0, seed=6)
    names = [f"c{j}" for j in range(6)]
    areas = []
    for share in (0, 0.3):
        train = with_missing(share)
        scores = []
        for _ in range(3):
            model = grow(schema=MISSING, epsilon=1)
            model.fit({name: train[name] for name in names}, train["y"])
            told = model.predict_proba({name: test[name] for name in names})[:, 1]
            scores.append(roc_auc_score(test["y"], told))
        areas.append(np.mean(scores))
    assert areas[0] > 0.8
    assert areas[1] > areas[0] - 0.06
