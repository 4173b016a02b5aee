"""Adult: its published training and test part, with public bounds and values."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parents[1]))

from harness import DATA

import discreet as dp

TARGET = "income"
NUMBERS = ("age", "education_num", "capital_gain", "capital_loss", "hours_per_week")
PRESENT = ("adult_train.csv.gz", "adult_test.csv.gz")


def is_there() -> bool:
    return all((DATA / name).is_file() for name in PRESENT)


@cache
def read(part: int) -> dict[str, npt.NDArray[Any]]:
    """Columns by name; the part is 0 for training, 1 for testing."""
    import pandas as pd

    frame = pd.read_csv(DATA / PRESENT[part], skipinitialspace=True, keep_default_na=False)
    frame.columns = [name.replace("-", "_") for name in frame.columns]
    frame[TARGET] = frame[TARGET].str.rstrip(".")
    return {name: frame[name].to_numpy() for name in schema().base}


@cache
def schema() -> dp.Schema:
    return dp.Schema.read(Path(__file__).parents[2] / "benchmarks" / "schemas" / "adult.toml")


def private(names: tuple[str, ...] | None = None, *, measure: Any) -> dp.PrivateDataset:
    """The training rows behind a door with a ledger for this budget."""
    chosen = names or tuple(schema().base)
    return dp.PrivateDataset(
        {name: read(0)[name] for name in chosen},
        dp.Schema({name: schema().base[name] for name in chosen}),
        ledger=dp.Ledger(limit=measure),
    )


def features(part: int) -> dict[str, npt.NDArray[Any]]:
    """Everything but the target."""
    return {name: column for name, column in read(part).items() if name != TARGET}


def truth(part: int) -> npt.NDArray[np.bool_]:
    return np.asarray(read(part)[TARGET] == ">50K")


@cache
def encoded(part: int) -> npt.NDArray[np.float64]:
    """Numbers in [0, 1] by their bounds, values one by one, for models without privacy."""
    return encode(features(part))


def encode(rows: dict[str, npt.NDArray[Any]]) -> npt.NDArray[np.float64]:
    columns = []
    for name, values in rows.items():
        column = schema().base[name]
        if isinstance(column, dp.Real):
            low, high = float(column.lower), float(column.upper)
            columns.append((np.asarray(values, np.float64) - low) / (high - low))
        else:
            columns += [np.asarray(values == value, np.float64) for value in column.values]
    return np.column_stack(columns)
