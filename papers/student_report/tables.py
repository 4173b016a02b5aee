"""The report's four tables, with what may be public about them."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parents[1]))

from harness import DATA

Floats = npt.NDArray[np.float64]

#: Lower and upper bounds that somebody could write down without the rows: grade points and intelligence
#: quotients; years; pay.
STUDENTS = (0.0, 50.0), (10.0, 150.0)
YEARS, SALARY = (0.0, 15.0), (20_000.0, 150_000.0)
#: Lengths and widths of petals and sepals in centimetres.
IRIS = (4.0, 2.0, 0.0, 0.0), (8.0, 5.0, 7.0, 3.0)
#: The values of each attribute, from the documentation of the mushroom data (UCI, 1987).
MUSHROOM = {
    "cap-shape": "bcxfks", "cap-surface": "fgys", "cap-color": "nbcgrpuewy", "bruises": "tf",
    "odor": "alcyfmnps", "gill-attachment": "adfn", "gill-spacing": "cwd", "gill-size": "bn",
    "gill-color": "knbhgropuewy", "stalk-shape": "et", "stalk-root": "bcuezr?",
    "stalk-surface-above-ring": "fyks", "stalk-surface-below-ring": "fyks",
    "stalk-color-above-ring": "nbcgopewy", "stalk-color-below-ring": "nbcgopewy", "veil-type": "pu",
    "veil-color": "nowy", "ring-number": "not", "ring-type": "ceflnpsz", "spore-print-color": "knbhrouwy",
    "population": "acnsvy", "habitat": "glmpuwd",
}  # fmt: skip


def is_there() -> bool:
    return (DATA / "mushroom.csv.gz").is_file()


def _read(name: str) -> Any:
    import pandas as pd

    return pd.read_csv(DATA / f"{name}.csv.gz", dtype=str)


@cache
def students() -> Floats:
    return np.asarray(_read("student_clustering")[["cgpa", "iq"]].to_numpy(np.float64))


@cache
def salaries() -> tuple[Floats, Floats]:
    frame = _read("salary_data")
    return frame["YearsExperience"].to_numpy(np.float64), frame["Salary"].to_numpy(np.float64)


@cache
def mushrooms() -> tuple[npt.NDArray[np.str_], npt.NDArray[np.str_]]:
    frame = _read("mushroom")
    return frame[list(MUSHROOM)].to_numpy(str), frame["class"].to_numpy(str)


@cache
def iris() -> tuple[Floats, npt.NDArray[np.int64]]:
    from sklearn.datasets import load_iris

    x, y = load_iris(return_X_y=True)
    return np.asarray(x, np.float64), np.asarray(y, np.int64)
