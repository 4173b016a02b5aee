"""What scikit-learn reaches without privacy, and the floor: the larger class, or the mean.

The reference lines of the page; they spend no budget, see every bound and read every row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from contest import CLUSTERS, COMPONENTS, Contestant, Inputs
from real_tables import Split, Values
from sklearn import cluster, decomposition, dummy, ensemble, linear_model, naive_bayes


def arrays(split: Split, one: Contestant) -> Inputs:
    """Numbers scaled to [0, 1]; all columns: indicators too, or codes for models that cut columns."""
    table, names = split.table, one.names(split.table)
    if one.task == "classes":
        if one.view == "numbers":
            x, x_test = (split.scaled(part, names) for part in ("train", "test"))
        elif "Boosting" in one.model:
            x, x_test = (coded(split, part) for part in ("train", "test"))
        else:
            x, x_test = (split.encoded(part) for part in ("train", "test"))
        return Inputs((x, split.truth("train")), x_test, split.truth("test"))
    if one.task in ("clusters", "components"):
        return Inputs((split.scaled("train", names),))
    assert table.number is not None
    y, y_test = (split.scaled(part, [table.number])[:, 0] for part in ("train", "test"))
    x, x_test = (split.scaled(part, names) for part in ("train", "test"))
    return Inputs((x, y), x_test, y_test)


def coded(split: Split, part: str) -> Any:
    """Numbers scaled, categories as their places in the list."""
    blocks = [split.scaled(part, split.table.numbers)]
    for name in split.table.categories:
        column = split.table.columns[name]
        assert isinstance(column, Values)
        place = {value: code for code, value in enumerate(column.values)}
        blocks.append(getattr(split, part)[name].map(place).to_numpy(float)[:, None])
    return np.hstack(blocks)


def _boosting(split: Split, one: Contestant, _e: float, _d: float, seed: int) -> Any:
    if one.task == "number":
        return ensemble.HistGradientBoostingRegressor(random_state=seed)
    first = len(split.table.numbers)
    return ensemble.HistGradientBoostingClassifier(
        categorical_features=list(range(first, first + len(split.table.categories))),
        random_state=seed,
    )


def entry(model: str, task: str, view: str, build: Any) -> Contestant:
    """A reference line."""
    return Contestant("scikit-learn", model, task, view, arrays, build, deltas=())


CONTESTANTS = (
    entry("larger class", "classes", "numbers", lambda *_: dummy.DummyClassifier(strategy="prior")),
    entry("GaussianNB", "classes", "numbers", lambda *_: naive_bayes.GaussianNB()),
    entry(
        "LogisticRegression",
        "classes",
        "numbers",
        lambda *_: linear_model.LogisticRegression(C=100, max_iter=300),
    ),
    entry(
        "LogisticRegression",
        "classes",
        "all",
        lambda *_: linear_model.LogisticRegression(C=100, max_iter=300),
    ),
    entry("HistGradientBoostingClassifier", "classes", "all", _boosting),
    entry("mean", "number", "numbers", lambda *_: dummy.DummyRegressor()),
    entry("LinearRegression", "number", "numbers", lambda *_: linear_model.LinearRegression()),
    entry("HistGradientBoostingRegressor", "number", "numbers", _boosting),
    entry("LinearRegression", "line", "numbers", lambda *_: linear_model.LinearRegression()),
    entry(
        "KMeans",
        "clusters",
        "numbers",
        lambda *p: cluster.KMeans(CLUSTERS, n_init=5, random_state=p[-1]),
    ),
    entry("PCA", "components", "numbers", lambda *_: decomposition.PCA(COMPONENTS)),
)
