"""Tables for every kind of estimator, and schemas that declare them."""

from __future__ import annotations

from typing import Any

import numpy as np

import discreet as dp
from discreet.testing import Example

Table = dict[str, Any]


def schema_for(example: Example, width: int = 3, categories: int = 3) -> dp.Schema:
    """Features x0, x1, ... and, if the estimator learns one, a target y."""
    column: Any = (
        dp.Real(0, 1) if example.features == "number" else dp.Categorical(*range(categories))
    )
    columns: Table = {f"x{j}": column for j in range(width)}
    target = example.kind._target
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
    if example.features == "number":
        x = np.clip(draw.random((rows, width)) * 0.5 + draw.integers(0, 2, (rows, 1)) * 0.5, 0, 1)
    else:
        x = draw.integers(0, categories, (rows, width))
    table: Table = {f"x{j}": x[:, j] for j in range(width)}
    half = 0.5 if example.features == "number" else (categories - 1) / 2
    if example.kind._target == "class":
        table["y"] = (x[:, 0] > half).astype(np.int64)
    elif example.kind._target == "number":
        table["y"] = x[:, 0] + 0.5 * draw.random(rows)
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
        if name.endswith("_") and name not in ("privacy_", "columns_", "feature_names_in_"):
            found[name] = _bits(value)
    return found


def _bits(value: Any) -> bytes:
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.tobytes()
    if isinstance(value, list | tuple | np.ndarray):
        return b"|".join(_bits(part) for part in value)
    if isinstance(value, dict):
        return b"|".join(_bits(key) + b":" + _bits(part) for key, part in value.items())
    return repr(value).encode()
