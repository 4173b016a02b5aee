"""A fitted model as JSON: tables that people can read, and that make the same predictions again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.columns.files import base_column_from_dict
from discreet.events import event_from_dict
from discreet.measures.kinds import measure_from_dict
from discreet.models.boosting.pairs import Pair
from discreet.models.privacy import FitPrivacy
from discreet.unit import Unit

if TYPE_CHECKING:
    from discreet.models.boosting.estimator import AdditiveBoosting

FORMAT, VERSION = "discreet additive boosting", 1
LOADED = "read from a file: what it says about privacy is only as true as the file"


def model_to_dict(model: AdditiveBoosting) -> dict[str, Any]:
    """The fitted model as plain data."""
    privacy, layout = model.privacy_, model._layout()
    heads: list[dict[str, Any]] = []
    for name, cuts in model.cuts_.items():
        cells = layout.labels(model.columns_, name)
        heads.append(
            {"column": name, **({} if cuts is None else {"cuts": list(cuts)}), "cells": cells}
        )
    for pair in model.pairs_:
        parts = [list(part) for part in pair.parts]
        heads.append({"columns": [pair.first, pair.second], "parts": parts, "cells": pair.labels()})
    terms = [
        {
            **head,
            "scores": model.term_scores_[at].tolist(),
            "errors": model.term_errors_[at].tolist(),
            "rows": model.term_counts_[at].tolist(),
        }
        for at, head in enumerate(heads)
    ]
    return {
        "format": FORMAT,
        "version": VERSION,
        "model": type(model).__name__,
        "privacy": {
            "event": privacy.event.to_dict(),
            "measure": privacy.measure.to_dict(),
            "unit": privacy.unit.to_dict(),
            "claims": list(privacy.claims),
            "is_private": privacy.is_private,
        },
        "columns": {name: column.to_dict() for name, column in model.columns_.items()},
        "named": hasattr(model, "feature_names_in_"),
        **model._export(),
        "intercept": model.intercept_.tolist(),
        "terms": terms,
    }


def text_of(model: AdditiveBoosting, path: str | Path | None) -> str:
    """The model as JSON text, also written to a file if a path is given."""
    text = json.dumps(model_to_dict(model), ensure_ascii=False, indent=1)
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def read_into(model: AdditiveBoosting, source: str | Path) -> None:
    """Set what was learned from JSON text, or from a file."""
    is_text = isinstance(source, str) and source.lstrip().startswith("{")
    text = str(source) if is_text else Path(source).read_text(encoding="utf-8")
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"source is not JSON: {error}.") from None
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise ValueError("source is not an additive boosting model as to_json writes it.")
    if data.get("version") != VERSION:
        raise ValueError(
            f"source was written in version {data.get('version')!r} of the format; this toolkit reads "
            f"{VERSION}. A newer toolkit is needed."
        )
    if data.get("model") != type(model).__name__:
        raise ValueError(f"source holds an {data.get('model')}: use its from_json.")
    try:
        _set(model, data)
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"source is incomplete: {type(error).__name__} {error}.") from None


def _set(model: AdditiveBoosting, data: Mapping[str, Any]) -> None:
    paid, terms = data["privacy"], data["terms"]
    columns = {name: base_column_from_dict(name, entry) for name, entry in data["columns"].items()}
    model.columns_ = columns
    model.n_features_in_ = len(columns)
    if data["named"]:
        model.feature_names_in_ = np.array(list(columns), dtype=object)
    model._import(data)
    model.cuts_ = {
        term["column"]: tuple(term["cuts"]) if "cuts" in term else None
        for term in terms
        if "column" in term
    }
    model.pairs_ = [
        Pair(
            term["columns"][0],
            term["columns"][1],
            (tuple(term["parts"][0]), tuple(term["parts"][1])),
        )
        for term in terms
        if "column" not in term
    ]
    model.term_names_ = [*model.cuts_, *(pair.name for pair in model.pairs_)]
    outputs = len(data["intercept"])
    model.intercept_ = np.array(data["intercept"], np.float64)
    model.term_scores_ = [np.array(t["scores"], np.float64).reshape(-1, outputs) for t in terms]
    model.term_errors_ = [np.array(t["errors"], np.float64).reshape(-1, outputs) for t in terms]
    model.term_counts_ = [np.array(t["rows"], np.float64) for t in terms]
    model._check_learned()
    model.privacy_ = FitPrivacy(
        event_from_dict(paid["event"]),
        measure_from_dict(paid["measure"]),
        Unit.from_dict(paid["unit"]),
        tuple(paid["claims"]),
        None,
        bool(paid["is_private"]),
        LOADED,
    )
