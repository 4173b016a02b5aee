"""Examples of every estimator: what scikit-learn's checks and our own suites run over.

An estimator without an example here fails the suite, so that a later one can't be forgotten.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from sklearn.linear_model import LinearRegression

from discreet.unit import PUBLIC

if TYPE_CHECKING:
    from discreet.models import PrivateEstimator

__all__ = ["ESTIMATORS", "Example", "all_estimators_for_checks", "estimator_classes"]


@dataclass(frozen=True)
class Example:
    """How the suites make an estimator.

    Attributes
    ----------
    path : str
        Where its class is, as ``module.Name`` below `discreet.models`, or ``publish.Name``.
    parameters : mapping
        What it needs besides budget and domain.
    features : {"number", "category", "mixed"}
        What its columns hold in the suites; mixed: numbers and categories in turn.
    engines : {"all", "two"}
        Whether it is compared on every engine bit for bit, or on numpy and DuckDB.
    failing : mapping of check to reason
        Checks of scikit-learn that it can't pass.
    inner : str
        Where the class of its inner estimator is, if it needs one.
    refuses : str
        What it says to five hundred features, if by a public rule it accepts fewer.

    Examples
    --------
    >>> from discreet.testing import Example
    >>> example = Example("linear_model.Ridge", {"alpha": 0.5})
    >>> example.target, example.build(epsilon=2)
    ('number', Ridge(alpha=0.5, epsilon=2))
    """

    path: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    features: Literal["number", "category", "mixed"] = "number"
    engines: Literal["all", "two"] = "two"
    failing: Mapping[str, str] = field(default_factory=dict)
    inner: str = ""
    refuses: str = ""

    @property
    def kind(self) -> type[PrivateEstimator]:
        """The class."""
        module, _, name = self.path.rpartition(".")
        home = "discreet" if module.startswith("publish") else "discreet.models"
        found: type[PrivateEstimator] = getattr(importlib.import_module(f"{home}.{module}"), name)
        return found

    @property
    def target(self) -> Literal["none", "class", "number"]:
        """What it learns; for an estimator around another one, what that one learns."""
        return self.build()._target

    @property
    def accept_assumed(self) -> bool:
        """Whether ledgers for it must accept events that are assumed to be private."""
        return bool(self.parameters.get("accept_assumed", False))

    def build(self, **parameters: Any) -> PrivateEstimator:
        """An estimator with the example's parameters and these."""
        inner = {"estimator": Example(self.inner).build()} if self.inner else {}
        return self.kind(**{**inner, **self.parameters, **parameters})

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.path.rpartition('.')[2]}({shown})"


ESTIMATORS: tuple[Example, ...] = (
    Example("naive_bayes.GaussianNB", engines="all"),
    Example("naive_bayes.CategoricalNB", features="category", engines="all"),
    Example("naive_bayes.MixedNB", features="mixed", engines="all"),
    Example(
        "model_selection.PrivateSearch",
        {"settings": {"alpha": [None, 20]}, "runs": 2},
        inner="linear_model.LogisticRegression",
    ),
    Example("model_selection.ThresholdClassifier", inner="linear_model.LogisticRegression"),
    Example("cluster.KMeans", {"n_clusters": 3}, engines="all"),
    Example("cluster.KMeans", {"n_clusters": 3, "method": "sample_aggregate"}),
    Example("decomposition.PCA", {"n_components": 1}),
    Example("decomposition.PCA", {"n_components": 1, "method": "clipped"}),
    Example(
        "decomposition.PCA", {"n_components": 1, "method": "exponential", "accept_assumed": True}
    ),
    Example("m_estimation.HistogramMEstimator", engines="all", refuses="cells in all"),
    Example(
        "m_estimation.HistogramMEstimator",
        {"estimator": LinearRegression()},
        refuses="cells in all",
    ),
    Example("linear_model.LinearRegression", engines="all"),
    Example("linear_model.LinearRegression", {"method": "functional"}, engines="all"),
    Example("linear_model.LinearRegression", {"method": "objective", "expected_rows": 200}),
    Example(
        "linear_model.LogisticRegression",
        {"method": "functional"},
        engines="all",
        failing={"check_class_weight_classifiers": "class weights are for other methods"},
    ),
    Example("linear_model.LogisticRegression"),
    Example("linear_model.LogisticRegression", {"method": "output"}),
    Example("svm.LinearSVC"),
    Example("svm.LinearSVC", {"method": "output"}),
    Example("svm.LinearSVR"),
    Example("svm.LinearSVR", {"loss": "huber", "method": "output"}),
    Example("svm.SVC", {"n_components": 16, "random_state": 0}),
    Example("svm.SVR", {"n_components": 16, "random_state": 0}),
    Example("linear_model.Ridge", {"alpha": 0.5}, engines="all"),
    Example("linear_model.SimpleLinearRegression", {"feature": 0}, engines="all"),
    Example("linear_model.SimpleLinearRegression", {"feature": 0, "method": "theil_sen"}),
    Example("preprocessing.MeanImputer", engines="all"),
    Example("preprocessing.QuantileBinner", {"n_bins": 3}),
    Example("preprocessing.StandardScaler"),
    Example(
        "tree.RandomDecisionForest",
        {"n_estimators": 4, "max_depth": 5, "random_state": 0},
    ),
    Example(
        "tree.RandomDecisionForestRegressor",
        {"n_estimators": 16, "max_depth": 6, "random_state": 0},
    ),
    Example("tree.DecisionTreeClassifier"),
    Example("tree.DecisionTreeRegressor"),
    Example(
        "boosting.AdditiveBoostingClassifier", {"rounds": 2, "cells": 16}, "mixed", engines="all"
    ),
    Example(
        "boosting.AdditiveBoostingRegressor", {"rounds": 2, "cells": 16}, "mixed", engines="all"
    ),
    Example("publish.MaskedData", {"samples": 40, "random_state": 0}),
    Example("publish.MaskedData", {"samples": 32, "random_state": 0, "method": "greedy"}),
)


def all_estimators_for_checks() -> Iterator[tuple[PrivateEstimator, dict[str, str]]]:
    """Every estimator as scikit-learn's checks take it, with the checks that it can't pass.

    The checks invent their data, so the rows are declared public and no noise is drawn.

    Examples
    --------
    >>> from discreet.testing import all_estimators_for_checks
    >>> estimator, failing = next(iter(all_estimators_for_checks()))
    >>> estimator, failing
    (GaussianNB(epsilon=inf, unit=dp.PUBLIC), {})
    """
    for example in ESTIMATORS:
        yield example.build(unit=PUBLIC, epsilon=math.inf), dict(example.failing)


def estimator_classes() -> list[type[PrivateEstimator]]:
    """All estimators of `discreet.models` and `discreet.publish`."""
    models: Any = importlib.import_module("discreet.models")
    for home in (models, importlib.import_module("discreet.publish")):
        for module in pkgutil.walk_packages(home.__path__, f"{home.__name__}."):
            importlib.import_module(module.name)
    found: list[type[PrivateEstimator]] = []
    pending: list[Any] = [models.PrivateEstimator]
    while pending:
        below = pending.pop().__subclasses__()
        pending += below
        found += [kind for kind in below if not kind.__subclasses__()]
    return sorted(
        (k for k in found if k.__module__.startswith(("discreet.models.", "discreet.publish."))),
        key=lambda k: k.__name__,
    )
