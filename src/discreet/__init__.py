"""Differential privacy in which every guarantee can be checked.

>>> import discreet as dp
>>> schema = dp.Schema(age=dp.Real(17, 90), sex=dp.Categorical("F", "M"))
>>> ledger = dp.Ledger(limit=dp.PureDP(1))
>>> data = dp.PrivateDataset({"age": [34.0, 51.0], "sex": ["F", "M"]}, schema, ledger=ledger)
>>> answer = data.release(dp.Mean("age"), dp.PureDP(0.5))
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet import accounting, events, measures, mechanisms, noise
    from discreet.dataset import PrivateDataset
    from discreet.expressions import col
    from discreet.ledger import BudgetExceeded, Ledger
    from discreet.measures import ZCDP, ApproxDP, GaussianDP, PureDP, Renyi, convert
    from discreet.queries import (
        Bounds,
        Count,
        Gram,
        Histogram,
        Keys,
        Mean,
        Median,
        Moments,
        Quantile,
        Sum,
        Variance,
    )
    from discreet.release import NoiseInterval, Plan, Release
    from discreet.schema import Bins, Categorical, Integer, Nearest, Real, Schema, Score, Text
    from discreet.step import Step
    from discreet.unit import ADD_REMOVE, PUBLIC, REPLACE_ONE, Unit

__version__ = "0.1.0"

__all__ = [
    "ADD_REMOVE",
    "PUBLIC",
    "REPLACE_ONE",
    "ZCDP",
    "ApproxDP",
    "Bins",
    "Bounds",
    "BudgetExceeded",
    "Categorical",
    "Count",
    "GaussianDP",
    "Gram",
    "Histogram",
    "Integer",
    "Keys",
    "Ledger",
    "Mean",
    "Median",
    "Moments",
    "Nearest",
    "NoiseInterval",
    "Plan",
    "PrivateDataset",
    "PureDP",
    "Quantile",
    "Real",
    "Release",
    "Renyi",
    "Schema",
    "Score",
    "Step",
    "Sum",
    "Text",
    "Unit",
    "Variance",
    "accounting",
    "col",
    "convert",
    "events",
    "measures",
    "mechanisms",
    "noise",
]

#: Where the names above are at home. They are imported when first used, so that the command line and
#: a program that needs one of them are quick to start.
_HOMES = {
    "dataset": ("PrivateDataset",),
    "expressions": ("col",),
    "ledger": (
        "BudgetExceeded",
        "Ledger",
    ),
    "measures": (
        "ZCDP",
        "ApproxDP",
        "GaussianDP",
        "PureDP",
        "Renyi",
        "convert",
    ),
    "queries": (
        "Bounds",
        "Count",
        "Gram",
        "Histogram",
        "Keys",
        "Mean",
        "Median",
        "Moments",
        "Quantile",
        "Sum",
        "Variance",
    ),
    "release": (
        "NoiseInterval",
        "Plan",
        "Release",
    ),
    "schema": (
        "Bins",
        "Categorical",
        "Integer",
        "Nearest",
        "Real",
        "Schema",
        "Score",
        "Text",
    ),
    "step": ("Step",),
    "unit": (
        "ADD_REMOVE",
        "PUBLIC",
        "REPLACE_ONE",
        "Unit",
    ),
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        value = getattr(import_module(f"discreet.{_MODULE_OF[name]}"), name)
    elif name in __all__:
        value = import_module(f"discreet.{name}")
    else:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
