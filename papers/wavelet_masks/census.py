"""KDD Census-Income, which stands in for IPUMS: eight numbers in [0, 1] and an income above 50 000."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from harness import DATA, choose_size

import discreet as dp

__all__ = [
    "COLUMNS",
    "FILES",
    "LEAKY",
    "SCHEMA",
    "SIZES",
    "TARGET",
    "add_copy",
    "draw_rows",
    "unscale",
    "wrap",
]

Floats = npt.NDArray[np.float64]

FILES = ("kdd_census_income_train.parquet", "kdd_census_income_test.parquet")
TARGET = "income"
#: Columns with bounds that anyone may know.
COLUMNS: dict[str, tuple[float, float]] = {
    "age": (0, 90),
    "num_persons_worked_for_employer": (0, 6),
    "weeks_worked_in_year": (0, 52),
    "own_business_or_self_employed": (0, 2),
    "veterans_benefits": (0, 2),
    "sex": (0, 1),
    "capital_gains": (0, 10_000),
    "dividends_from_stocks": (0, 10_000),
}
_NUMBERS = {name: dp.Real(0, 1) for name in COLUMNS}
_LABEL = {TARGET: dp.Categorical(0, 1)}
SCHEMA = dp.Schema({**_NUMBERS, **_LABEL})
#: The label once more, as a number among the predictors.
LEAKY = dp.Schema({**_NUMBERS, "copy": dp.Real(0, 1), **_LABEL})
#: Training and test rows: of LS and pseudo-quantum, by the table of section 4.1 (small) and by its text
#: (medium), and of LS+.
SIZES = {"small": (2187, 729), "medium": (19_683, 729), "large": (90_000, 30_000)}


@cache
def read(part: int) -> Floats:
    """All rows, scaled by the bounds, with the label in the last column; the part is 0 or 1."""
    import pandas as pd

    frame = pd.read_parquet(DATA / FILES[part], columns=[*COLUMNS, TARGET])
    frame["sex"] = (frame["sex"] == "Female").astype(int)
    low, high = np.array(list(COLUMNS.values()), np.float64).T
    x = np.clip((frame[list(COLUMNS)].to_numpy(np.float64) - low) / (high - low), 0, 1)
    return np.column_stack([x, frame[TARGET].str.startswith("50000")])


def draw_rows(size: str, seed: int) -> tuple[Floats, Floats]:
    """Training rows of the training part and test rows of the test part, drawn anew for each seed."""
    draw = np.random.default_rng([2019, seed])
    train, test = choose_size(SIZES[size], (729, 243))
    return tuple(  # type: ignore[return-value]
        read(part)[draw.choice(len(read(part)), count, replace=False)]
        for part, count in enumerate((train, test))
    )


def add_copy(rows: Floats) -> Floats:
    """Put the label among the predictors."""
    return np.column_stack([rows, rows[:, -1]])


def unscale(rows: Floats) -> Floats:
    """The predictors in their own units: ages, weeks, amounts."""
    low, high = np.array(list(COLUMNS.values()), np.float64).T
    found = rows.copy()
    found[:, : len(low)] = low + rows[:, : len(low)] * (high - low)
    return found


def wrap(rows: Floats, **options: Any) -> dp.PrivateDataset:
    """Rows as a data set, declared public unless the options have a ledger."""
    schema = SCHEMA if rows.shape[1] == len(SCHEMA.base) else LEAKY
    return dp.PrivateDataset(rows, schema, **(options or {"unit": dp.PUBLIC}))
