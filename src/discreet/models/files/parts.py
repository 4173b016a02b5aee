"""Fitted models as plain data, and back."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from discreet.check_report import CheckReport
from discreet.columns import base_column_from_dict
from discreet.ledger import NOT_DATA, Entry
from discreet.models.base import PrivateEstimator
from discreet.models.features import Recipe
from discreet.models.files.kinds import PlainModel, estimator_kinds, learned_of, plain_models
from discreet.models.files.settings import read_setting, write_setting
from discreet.models.learned import Array, Flag, IfSet, Inner, Kind, Tools
from discreet.models.pipeline import Pipeline
from discreet.models.privacy import FitPrivacy

__all__ = ["iter_certificates", "read_part", "strip_entry", "write_certificate", "write_part"]

_LABELS = Array("classes", dtype="labels")
#: Models that aren't estimators, with the module that writes and reads them.
OTHERS = {"Synthesizer": "discreet.publish.synthetic.stored"}


def write_part(model: Any) -> dict[str, Any]:
    """A model, fitted or not, as plain data: parameters, public facts, what was learned, certificate.

    Only what its class lists is looked at.
    """
    name = type(model).__name__
    if isinstance(model, Pipeline):
        return {"model": "Pipeline", "steps": [_write_step(*step) for step in model.steps]}
    if type(model) is estimator_kinds().get(name):
        return _write_estimator(model)
    if name in OTHERS and type(model).__module__.startswith("discreet."):
        found: dict[str, Any] = import_module(OTHERS[name]).write_model(model, _tools())
        return {"model": name, **found}
    for known, plain in plain_models().items():
        if type(model) is plain.kind:
            return _write_plain(model, known, plain)
    raise TypeError(
        f"{name} can't be written to a model file: models of discreet can, and in a HistogramMEstimator "
        "linear ones of scikit-learn; its refit(LogisticRegression()) costs nothing."
    )


def read_part(data: Any) -> Any:
    """The inverse of `write_part`: classes are looked up by name in a list of ours."""
    name = data["model"]
    if name == "Pipeline":
        return Pipeline([_read_step(*step) for step in data["steps"]])
    if name in OTHERS:
        return import_module(OTHERS[name]).read_model(data, _tools())
    if name in plain_models():
        return _read_plain(data, plain_models()[name])
    return _read_estimator(data, estimator_kinds()[name])


def iter_certificates(model: Any) -> Iterator[FitPrivacy]:
    """The certificates of a fitted model and of those inside of it; for a pipeline those of its steps."""
    if isinstance(model, Pipeline):
        for _, step in model.steps:
            if isinstance(step, PrivateEstimator):
                yield from iter_certificates(step)
    elif hasattr(model, "privacy_"):
        yield model.privacy_
        for name, kind in learned_of(type(model)).items():
            if isinstance(kind, Inner) and isinstance(
                inner := getattr(model, name), PrivateEstimator
            ):
                yield from iter_certificates(inner)
    else:
        raise ValueError(f"this {type(model).__name__} is not fitted yet: call fit first.")


def write_certificate(privacy: FitPrivacy) -> dict[str, Any]:
    """A certificate without what a ledger keeps to itself: who charged it, notes, and the token.

    Whoever has a token may carry out a paid plan again.
    """
    entry = privacy.entry
    return replace(privacy, entry=None if entry is None else strip_entry(entry)).to_plain()


def strip_entry(entry: Entry) -> Entry:
    """An entry of a ledger as a certificate in a file has it."""
    mark = NOT_DATA if NOT_DATA in entry.note else ""
    return replace(entry, who="", note=mark, token="")


def _tools() -> Tools:
    def write(value: Any) -> Any:
        return write_setting(value, write_part)

    def read(data: Any) -> Any:
        return read_setting(data, read_part)

    return Tools(write_part, read_part, write, read)


def _write_step(name: str, step: Any) -> list[Any]:
    return [name, step if step is None or step == "passthrough" else write_part(step)]


def _read_step(name: Any, step: Any) -> tuple[str, Any]:
    if not isinstance(name, str):
        raise TypeError("the name of a step is missing.")
    return name, step if step in (None, "passthrough") else read_part(step)


def _write_estimator(model: PrivateEstimator) -> dict[str, Any]:
    tools, name = _tools(), type(model).__name__
    parameters = {}
    for key, value in model.get_params(deep=False).items():
        try:
            parameters[key] = tools.write_setting(value)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"the parameter {key} of {name} can't be written to a model file ({error}) Set it to plain "
                f"data first, as in model.set_params({key}=None): a fitted model keeps what it learned."
            ) from None
    part: dict[str, Any] = {"model": name, "parameters": parameters}
    if not hasattr(model, "privacy_"):
        return part
    classes = getattr(model, "classes_", None)
    checked = getattr(model, "checked_", None)
    return part | {
        "columns": [[name, column.to_dict()] for name, column in model.columns_.items()],
        **_write_recipes(model),
        "named": hasattr(model, "feature_names_in_"),
        "classes": None if classes is None else _LABELS.write(classes, tools),
        "learned": _write_learned(model, learned_of(type(model)), tools),
        "checked": None if checked is None else checked.to_plain(),
        "certificate": write_certificate(model.privacy_),
    }


def _write_recipes(model: Any) -> dict[str, Any]:
    """How derived features follow from columns of a table; nothing where there are none."""
    if not hasattr(model, "derived_"):
        return {}
    return {"derived": [recipe.to_dict() for recipe in model.derived_.values()]}


def _write_learned(model: Any, kinds: Mapping[str, Kind], tools: Tools) -> dict[str, Any]:
    found = {}
    for key, kind in kinds.items():
        if isinstance(kind, IfSet) and not hasattr(model, key):
            continue
        found[key] = kind.write(getattr(model, key), tools)
    return found


def _read_estimator(data: Any, kind: type[PrivateEstimator]) -> PrivateEstimator:
    tools = _tools()
    known = kind._get_param_names()
    if not set(data["parameters"]) <= set(known):
        raise ValueError("a parameter isn't one of this model.")
    model = kind(**{key: tools.read_setting(one) for key, one in data["parameters"].items()})
    if "learned" not in data:
        return model
    columns = {name: base_column_from_dict("of the file", one) for name, one in data["columns"]}
    if len(columns) != len(data["columns"]) or not all(isinstance(name, str) for name in columns):
        raise ValueError("a column is there twice.")
    tools.columns, tools.sizes["features"] = columns, len(columns)
    model.columns_, model.n_features_in_ = columns, len(columns)
    if "derived" in data:
        recipes = [Recipe.from_dict(one) for one in data["derived"]]
        model.derived_ = {recipe.name: recipe for recipe in recipes}
        if not recipes or not set(model.derived_) <= set(columns):
            raise ValueError("a derived feature isn't a column.")
    if Flag().read(data["named"], tools):
        model.feature_names_in_ = np.array(list(columns), dtype=object)
    if data["classes"] is not None:
        model.classes_ = _LABELS.read(data["classes"], tools)
        if len(np.unique(model.classes_)) != len(model.classes_):
            raise ValueError("a class is there twice.")
        count = len(model.classes_)
        tools.sizes["scores"] = 1 if count <= 2 else count
    _read_learned(model, data["learned"], learned_of(kind), tools)
    if data["checked"] is not None:
        model.checked_ = CheckReport.from_plain(data["checked"])
    model.privacy_ = FitPrivacy.from_plain(data["certificate"])
    model._check_learned()
    return model


def _read_learned(model: Any, data: Any, kinds: Mapping[str, Kind], tools: Tools) -> None:
    needed = {key for key, kind in kinds.items() if not isinstance(kind, IfSet)}
    if not needed <= set(data) <= set(kinds):
        raise ValueError("what was learned isn't what this model learns.")
    for key, one in data.items():
        setattr(model, key, kinds[key].read(one, tools))


def _write_plain(model: Any, name: str, plain: PlainModel) -> dict[str, Any]:
    """A model of scikit-learn: the parameters that aren't the usual ones, and what it learned."""
    tools, usual = _tools(), inspect.signature(plain.kind).parameters
    given = {
        key: tools.write_setting(value)
        for key, value in model.get_params(deep=False).items()
        if repr(value) != repr(usual[key].default)
    }
    part: dict[str, Any] = {"model": name, "parameters": given}
    if plain.learned and hasattr(model, "coef_"):
        part["learned"] = _write_learned(model, plain.learned, tools)
    return part


def _read_plain(data: Any, plain: PlainModel) -> Any:
    tools = _tools()
    model = plain.kind(**{key: tools.read_setting(one) for key, one in data["parameters"].items()})
    if "learned" in data:
        _read_learned(model, data["learned"], plain.learned, tools)
        if model.n_features_in_ != tools.sizes["width"]:
            raise ValueError("an inner model has another width than it says.")
    return model
