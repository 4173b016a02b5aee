"""Our models on the benchmark page: one entry each, with default parameters.

All get columns as arrays with the schema of the table, under add/remove (the number of rows is private), with
fresh noise; ``random_state`` and the split come from the seed. Models that take ``expected_rows``, a public
guess, get the size of the table to one digit, which is published for all of these tables.
"""

from __future__ import annotations

import importlib
import inspect
from functools import lru_cache
from typing import Any

from contest import CLUSTERS, COMPONENTS, DELTA, Contestant, Inputs
from real_tables import Number, Split, Table

import discreet as dp

BOTH = (0.0, DELTA)

#: Estimators that the page has no line for, and why.
NOT_MEASURED = {
    "preprocessing.StandardScaler": "a step before a model, with no score of its own",
    "preprocessing.MeanImputer": "a step before a model, with no score of its own",
    "preprocessing.QuantileBinner": "a step before a model, with no score of its own",
    "model_selection.ThresholdClassifier": "sets the threshold of a model that is measured",
    "model_selection.PrivateSearch": "chooses among settings of a model that is measured",
    "publish.MaskedData": "publishes rows; it isn't a model",
}


def kind_of(path: str) -> Any:
    """The class below `discreet.models`, or None where it isn't in this version."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(f"discreet.models.{module}"), name, None)
    except ModuleNotFoundError:
        return None


@lru_cache(maxsize=64)
def schema_of(table: Table, names: tuple[str, ...]) -> dp.Schema:
    """The declarations of these columns, in this order."""
    full = dp.Schema.read(table.schema_path)
    return dp.Schema({name: full.base[name] for name in names})


def guess_of(split: Split) -> int:
    """The number of rows to one digit."""
    return int(float(f"{len(split.train):.0e}"))


def columns(split: Split, one: Contestant) -> Inputs:
    """Columns by name, the target with them."""
    table, names = split.table, one.names(split.table)
    target = table.label if one.task == "classes" else table.number
    assert target is not None
    rows = {name: split.train[name].to_numpy() for name in (*names, target)}
    test = {name: split.test[name].to_numpy() for name in names}
    truth = split.test[target].to_numpy()
    if one.task == "classes":
        return Inputs((rows,), test, truth, table.classes[1], options={"target": target})
    declared = table.columns[target]
    assert isinstance(declared, Number)
    bounds = (declared.lower, declared.upper)
    return Inputs((rows,), test, truth, bounds=bounds, options={"target": target})


def scaled(split: Split, one: Contestant) -> Inputs:
    """Numbers scaled to [0, 1], without a target."""
    return Inputs((split.scaled("train", one.names(split.table)),))


def build(split: Split, one: Contestant, epsilon: float, delta: float, seed: int) -> Any:
    """The estimator with its defaults and public facts."""
    kind, table = kind_of(one.path), split.table
    taken = inspect.signature(kind).parameters
    given: dict[str, Any] = {"epsilon": epsilon, "delta": delta, **one.parameters}
    if one.task in ("clusters", "components"):
        given["bounds"] = (0, 1)
    else:
        target = table.label if one.task == "classes" else table.number
        assert target is not None
        given["schema"] = schema_of(table, (*one.names(table), target))
    if "expected_rows" in taken:
        given["expected_rows"] = guess_of(split)
    if "random_state" in taken:
        given["random_state"] = seed
    return kind(**given)


def entry(
    path: str,
    task: str,
    view: str = "numbers",
    deltas: tuple[float, ...] = BOTH,
    left_out: dict[str, str] | None = None,
    shown: str | None = None,
    **parameters: Any,
) -> Contestant:
    """A contestant of ours; its name says which parameters differ from the defaults."""
    told = ", ".join(f"{value}" for name, value in parameters.items() if name == "method")
    name = path.rpartition(".")[2] + (f" ({told})" if told else "")
    inputs = scaled if task in ("clusters", "components") else columns
    return Contestant(
        "discreet",
        shown or name,
        task,
        view,
        inputs,
        build,
        deltas,
        path=path,
        parameters=parameters,
        left_out=left_out or {},
        is_variant="method" in parameters and task in ("classes", "number"),
    )


#: Left out so that the page can be made in less than half an hour; nothing prevents such a fit.
LONG = {"kdd": "left out to save time"}

ENTRIES = (
    entry("naive_bayes.GaussianNB", "classes"),
    entry("naive_bayes.CategoricalNB", "classes", "categories"),
    entry("naive_bayes.MixedNB", "classes", "all"),
    entry("linear_model.LogisticRegression", "classes"),
    entry("linear_model.LogisticRegression", "classes", "all"),
    entry("linear_model.LogisticRegression", "classes", "all", left_out=LONG, method="output"),
    entry("linear_model.LogisticRegression", "classes", method="functional"),
    entry("svm.LinearSVC", "classes", "all", left_out=LONG),
    entry("svm.LinearSVC", "classes", "all", left_out=LONG, method="output"),
    entry("svm.SVC", "classes", "all", left_out=LONG),
    entry("tree.RandomDecisionForest", "classes"),
    entry("tree.RandomDecisionForest", "classes", "all", left_out=LONG),
    entry("tree.DecisionTreeClassifier", "classes", deltas=(0.0,)),
    entry("tree.DecisionTreeClassifier", "classes", "all", deltas=(0.0,)),
    entry("boosting.AdditiveBoostingClassifier", "classes", "all"),
    entry("m_estimation.HistogramMEstimator", "classes", "few"),
    entry("linear_model.LinearRegression", "number"),
    entry("linear_model.LinearRegression", "number", method="objective"),
    entry("linear_model.LinearRegression", "number", method="functional"),
    entry("linear_model.Ridge", "number"),
    entry("svm.LinearSVR", "number"),
    entry(
        "svm.LinearSVR",
        "number",
        method="output",
        loss="huber",
        shown="LinearSVR (output, huber)",
    ),
    entry("svm.SVR", "number", left_out=LONG),
    entry("tree.RandomDecisionForestRegressor", "number", left_out=LONG),
    entry("tree.DecisionTreeRegressor", "number", deltas=(0.0,)),
    entry("boosting.AdditiveBoostingRegressor", "number"),
    entry("linear_model.SimpleLinearRegression", "line"),
    entry("linear_model.SimpleLinearRegression", "line", deltas=(0.0,), method="theil_sen"),
    entry("cluster.KMeans", "clusters", n_clusters=CLUSTERS),
    entry("cluster.KMeans", "clusters", method="sample_aggregate", n_clusters=CLUSTERS),
    entry("decomposition.PCA", "components", n_components=COMPONENTS),
    entry("decomposition.PCA", "components", method="clipped", n_components=COMPONENTS),
    entry(
        "decomposition.PCA",
        "components",
        deltas=(0.0,),
        method="exponential",
        n_components=COMPONENTS,
        accept_assumed=True,
    ),
)


def _takes(one: Contestant) -> bool:
    kind = kind_of(one.path)
    return kind is not None and set(one.parameters) <= set(inspect.signature(kind).parameters)


#: Those that this version has.
CONTESTANTS = tuple(one for one in ENTRIES if _takes(one))
