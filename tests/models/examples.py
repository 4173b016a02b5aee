"""Tables for every kind of estimator, and schemas that declare them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import discreet as dp
from discreet.testing import Example

Table = dict[str, Any]


def counts(example: Example, place: int) -> bool:
    """Whether the feature at a place holds categories."""
    return example.features == "category" or (example.features == "mixed" and place % 2 == 1)


def schema_for(example: Example, width: int = 3, categories: int = 3) -> dp.Schema:
    """Features x0, x1, ... and, if the estimator learns one, a target y."""
    columns: Table = {}
    for j in range(width):
        columns[f"x{j}"] = (
            dp.Categorical(*range(categories)) if counts(example, j) else dp.Real(0, 1)
        )
    target = example.target
    if target == "class":
        columns["y"] = dp.Categorical(0, 1)
    elif target == "number":
        columns["y"] = dp.Real(0, 2)
    return dp.Schema(columns)


def table_for(
    example: Example, rows: int, width: int = 3, categories: int = 3, seed: int = 0
) -> Table:
    """Rows that match `schema_for`: the target follows the first feature."""
    draw = np.random.default_rng(seed)
    numbers = np.clip(draw.random((rows, width)) * 0.5 + draw.integers(0, 2, (rows, 1)) * 0.5, 0, 1)
    places = draw.integers(0, categories, (rows, width))
    table: Table = {
        f"x{j}": places[:, j] if counts(example, j) else numbers[:, j] for j in range(width)
    }
    half = (categories - 1) / 2 if counts(example, 0) else 0.5
    if example.target == "class":
        table["y"] = (table["x0"] > half).astype(np.int64)
    elif example.target == "number":
        table["y"] = table["x0"] + 0.5 * draw.random(rows)
    return table


def features(table: Table) -> np.ndarray[Any, Any]:
    names = [name for name in table if name != "y"]
    return np.column_stack([table[name] for name in names])


def answers(estimator: Any, x: Any) -> np.ndarray[Any, Any]:
    """What a fitted estimator says of rows: predictions, or what it makes of them."""
    if hasattr(estimator, "predict"):
        return np.asarray(estimator.predict(x))
    return np.asarray(estimator.transform(x))


def learned(estimator: Any) -> dict[str, bytes]:
    """All that was learned, bit for bit."""
    found = {}
    for name, value in vars(estimator).items():
        if name.endswith("_") and name not in (
            "privacy_",
            "columns_",
            "derived_",
            "feature_names_in_",
        ):
            found[name] = _bits(value)
    return found


def _bits(value: Any) -> bytes:
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.tobytes()
    if isinstance(value, list | tuple | np.ndarray):
        return b"|".join(_bits(part) for part in value)
    if isinstance(value, dict):
        return b"|".join(_bits(key) + b":" + _bits(part) for key, part in value.items())
    if isinstance(value, BaseEstimator):
        return _bits(learned(value))
    return repr(value).encode()
