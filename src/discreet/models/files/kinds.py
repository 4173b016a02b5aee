"""Which classes a model file may name: a list of ours, never a path of imports from the file."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, final

from discreet.models.base import PrivateEstimator
from discreet.models.learned import Array, Count, Kind, Number, attributes

__all__ = ["LEFT_OUT", "SHARED", "PlainModel", "estimator_kinds", "learned_of", "plain_models"]

#: Attributes that are never written, by the reason.
LEFT_OUT = {
    "labels_": "they are about the rows of the fit, one by one",
    "_box": "the next fit of a pipeline sets it again",
    "_target_column": "only a fit needs it",
}
#: What every estimator has besides what it learns; written in fields of their own.
SHARED = frozenset(
    {
        "n_features_in_",
        "feature_names_in_",
        "columns_",
        "derived_",
        "classes_",
        "privacy_",
        "checked_",
    }
)
#: Estimators outside of `discreet.models`, by the module in which they are.
ELSEWHERE = {"MaskedData": "discreet.publish.masked_data"}


@cache
def estimator_kinds() -> Mapping[str, type[PrivateEstimator]]:
    """All estimators that a file may name, by name."""
    found: dict[str, type[PrivateEstimator]] = {}
    models: Any = import_module("discreet.models")
    for package in models.PACKAGES:
        module = import_module(f"discreet.models.{package}")
        for name, kind in vars(module).items():
            is_model = inspect.isclass(kind) and issubclass(kind, PrivateEstimator)
            if is_model and "__final__" in vars(kind):  # those for use, not those they share
                found[name] = kind
    for name, place in ELSEWHERE.items():
        found[name] = getattr(import_module(place), name)
    return found


def learned_of(kind: type) -> dict[str, Kind]:
    """What an estimator learns, by the name of the attribute."""
    found: dict[str, Kind] = {}
    for each in reversed(kind.__mro__):
        found |= each.__dict__.get("_learned", {})
    return found


@final
@dataclass(frozen=True)
class PlainModel:
    """A model of scikit-learn that may stand inside of ours, with what it learns from released numbers."""

    kind: type
    learned: Mapping[str, Kind]


@cache
def plain_models() -> Mapping[str, PlainModel]:
    """The models of scikit-learn that a file may name."""
    from sklearn import linear_model, preprocessing, svm

    scores: dict[str, Kind] = {
        "classes_": Array("own classes", dtype="labels"),
        "coef_": Array("outputs", "width"),
        "intercept_": Array("outputs"),
        "n_features_in_": Count(),
    }
    line: dict[str, Kind] = {
        "coef_": Array("width"),
        "intercept_": Number(),
        "n_features_in_": Count(),
    }
    lines = (
        linear_model.LinearRegression,
        linear_model.Ridge,
        linear_model.Lasso,
        linear_model.ElasticNet,
        linear_model.HuberRegressor,
        linear_model.QuantileRegressor,
    )
    stateless = (preprocessing.Normalizer, preprocessing.Binarizer)
    known: dict[type, Mapping[str, Kind]] = {
        **dict.fromkeys((linear_model.LogisticRegression, svm.LinearSVC), scores),
        **dict.fromkeys(lines, line),
        **dict.fromkeys(stateless, attributes()),
    }
    return {f"sklearn {kind.__name__}": PlainModel(kind, kept) for kind, kept in known.items()}
