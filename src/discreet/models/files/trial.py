"""A trial of a model that was read: does it answer for rows made of public facts alone?"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from discreet.columns import Base, Categorical, Date, Logarithmic, Numeric
from discreet.models.base import PrivateEstimator
from discreet.models.pipeline import Pipeline

__all__ = ["try_out"]

#: Rows of a trial: both ends of each column, what missing cells count as, and some between.
ROWS = 8
#: Methods that give an answer for each row.
METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform")


def try_out(model: Any) -> None:
    """Raise unless a model answers, with numbers, for a few rows between the bounds of its columns."""
    if hasattr(model, "sample") and not isinstance(model, PrivateEstimator):
        model.sample(ROWS, random_state=0)
        return
    rows = _make_rows(model)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for method in METHODS:
            if hasattr(model, method):
                found = np.asarray(getattr(model, method)(rows))
                if len(found) != ROWS or (found.dtype.kind == "f" and np.isnan(found).any()):
                    raise ValueError("the model doesn't answer for rows.")


def _make_rows(model: Any) -> Any:
    first, is_first = model, True
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step not in (None, "passthrough")]
        first = next(step for step in steps if isinstance(step, PrivateEstimator))
        is_first = first is steps[0]
    columns = dict(first.columns_)
    for recipe in getattr(first, "derived_", {}).values():
        columns |= recipe.schema.base
    cells = {name: _cells(column) for name, column in columns.items()}
    if hasattr(first, "feature_names_in_") and is_first:
        return cells
    if all(column.dtype.kind in "if" for column in cells.values()):
        return np.column_stack([column.astype(np.float64) for column in cells.values()])
    return np.column_stack([column.astype(object) for column in cells.values()])


def _cells(column: Base) -> np.ndarray[Any, Any]:
    """The ends of a column, and what missing cells count as."""
    if isinstance(column, Categorical):
        count = len(column.values)
        return np.array([column.values[(place - 1) % count] for place in range(ROWS)])
    assert isinstance(column, Numeric)
    source = column.source if isinstance(column, Logarithmic) else column
    lower, upper = float(source.lower), float(source.upper)
    inside = lower + (upper - lower) * np.linspace(0, 1, ROWS - 1)
    found = np.array([*inside, float(column.filling)])
    if isinstance(column, Date):
        return found.astype(np.int64).astype("datetime64[D]")
    return found
