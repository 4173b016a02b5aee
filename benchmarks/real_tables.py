"""The real tables of the benchmark page, each with what anyone may know of its columns.

Bounds and categories are typed in (``schemas/*.toml``, in the form that `discreet.Schema` reads) and never
found in the rows; all contestants get the same ones. Missing numbers become the middle of their bounds,
missing categories the declared value ``missing``, so that everyone sees the same cells. The files are read
from ``DISCREET_DATA`` (by default ``../shared/data`` beside the repository).

This module needs pandas and nothing of ours, since the other libraries' environments import it too.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

DATA = Path(os.environ.get("DISCREET_DATA", Path(__file__).parents[2] / "shared" / "data"))
SCHEMAS = Path(__file__).parent / "schemas"
TEST_SHARE = 0.3
DEFAULT_SEEDS = 10


def has_tables(what: str, *files: str) -> bool:
    """Whether all these files are here; if not, print a line that says what is left out."""
    absent = [file for file in files if not (DATA / file).exists()]
    if absent:
        print(f"{what}: left out, {', '.join(absent)} not found in {DATA}", flush=True)
    return not absent


@dataclass(frozen=True)
class Number:
    """A column of numbers between public bounds."""

    lower: float
    upper: float


@dataclass(frozen=True)
class Values:
    """A column with a public list of values."""

    values: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A set of rows, and what the tasks are.

    Attributes
    ----------
    name, title : str
    files : tuple of str
        One file, split at random by the seed; or the published training and test parts.
    label : str
        The column of classes.
    number : str, optional
        The column of numbers to predict, from the other numbers; none where nothing tells about it.
    feature : str, optional
        The one column from which a line predicts `number`.
    few : tuple of str
        Two or three numbers that common sense would choose, for models of few columns.
    guessed : str
        Which bounds are guesses, and whose.
    seeds : int
        How many fits a figure is the mean of.
    """

    name: str
    title: str
    files: tuple[str, ...]
    label: str
    number: str | None
    feature: str | None
    few: tuple[str, ...]
    guessed: str
    seeds: int = DEFAULT_SEEDS

    @property
    def schema_path(self) -> Path:
        """The file of public facts."""
        return SCHEMAS / f"{self.name}.toml"

    @cached_property
    def columns(self) -> dict[str, Number | Values]:
        """The declarations, the label's too."""
        declared = tomllib.loads(self.schema_path.read_text(encoding="utf-8"))["columns"]
        return {
            name: Values(tuple(facts["values"]))
            if facts["type"] == "categorical"
            else Number(facts["lower"], facts["upper"])
            for name, facts in declared.items()
        }

    @property
    def numbers(self) -> list[str]:
        """The features that are numbers."""
        return [name for name, column in self.columns.items() if isinstance(column, Number)]

    @property
    def categories(self) -> list[str]:
        """The features that are categories."""
        return [
            name
            for name, column in self.columns.items()
            if isinstance(column, Values) and name != self.label
        ]

    @property
    def classes(self) -> tuple[str, ...]:
        """The values of the label; the second is the one that scores speak of."""
        label = self.columns[self.label]
        assert isinstance(label, Values)
        return label.values

    @property
    def is_large(self) -> bool:
        """Whether it has so many rows that few fits tell enough."""
        return self.seeds < DEFAULT_SEEDS

    def size(self) -> int:
        """Bytes of the files, which tell roughly how long a table takes."""
        return sum((DATA / file).stat().st_size for file in self.files)

    def is_here(self) -> bool:
        """Whether the files are."""
        return all((DATA / file).exists() for file in self.files)


TABLES = {
    table.name: table
    for table in (
        Table(
            "adult",
            "Adult",
            ("adult_train.csv.gz", "adult_test.csv.gz"),
            "income",
            "hours_per_week",
            "age",
            ("age", "education_num", "hours_per_week"),
            "the bound of fnlwgt",
            seeds=4,
        ),
        Table(
            "kdd",
            "KDD Census-Income",
            ("kdd_census_income_train.parquet", "kdd_census_income_test.parquet"),
            "income",
            "weeks_worked_in_year",
            "num_persons_worked_for_employer",
            ("age", "weeks_worked_in_year"),
            "the bound of capital losses; the others are top codes of the survey",
            seeds=3,
        ),
        Table(
            "bank",
            "Bank Marketing",
            ("bank_marketing_full.csv.gz",),
            "y",
            None,
            None,
            ("age", "duration"),
            "the bounds of balance, duration (an hour), campaign, pdays and previous",
            seeds=4,
        ),
        Table(
            "pima",
            "Pima diabetes",
            ("pima_diabetes.csv.gz",),
            "outcome",
            "bmi",
            "skin_thickness",
            ("glucose", "bmi"),
            "all bounds: what a physician would say",
        ),
        Table(
            "heart",
            "Heart disease, four sites",
            ("heart_disease_four_sites.csv.gz",),
            "disease",
            "thalach",
            "age",
            ("age", "thalach", "oldpeak"),
            "all bounds: what a physician would say",
        ),
        Table(
            "wdbc",
            "Breast cancer, diagnostic",
            ("breast_cancer_wdbc.csv.gz",),
            "diagnosis",
            "worst_texture",
            "mean_texture",
            ("mean_texture", "worst_perimeter"),
            "all bounds: round numbers about the size of cell nuclei in these images",
        ),
        Table(
            "law",
            "Law school",
            ("law_school.csv.gz",),
            "pass_bar",
            "zfygpa",
            "lsat",
            ("lsat", "zgpa"),
            "the bounds of the standardised grades",
            seeds=4,
        ),
        Table(
            "compas",
            "COMPAS, two years",
            ("compas_two_years.csv.gz",),
            "two_year_recid",
            "priors_count",
            "age",
            ("age", "priors_count"),
            "all bounds: what someone who knows such records would say; the scores aren't given to models",
            seeds=4,
        ),
        Table(
            "credit",
            "Credit approval",
            ("credit_approval_crx.csv.gz",),
            "A16",
            None,
            None,
            ("A8", "A11"),
            "all bounds, from what the columns are said to be",
        ),
        Table(
            "ilpd",
            "Indian liver patients",
            ("ilpd_liver.csv.gz",),
            "selector",
            "albumin",
            "total_proteins",
            ("total_bilirubin", "albumin"),
            "all bounds: what a physician would say",
        ),
        Table(
            "transfusion",
            "Blood transfusion",
            ("blood_transfusion.csv.gz",),
            "donated_march_2007",
            "time_months",
            "frequency_times",
            ("recency_months", "frequency_times"),
            "all bounds: what someone at a donor service would say",
        ),
    )
}


@dataclass(frozen=True)
class Split:
    """Rows to learn from and rows to score on, all within the declared domain."""

    table: Table
    train: Any
    test: Any

    def truth(self, part: str) -> npt.NDArray[np.int64]:
        """Whether each row is of the second class."""
        rows = getattr(self, part)[self.table.label]
        return np.asarray(rows == self.table.classes[1], dtype=np.int64)

    def scaled(self, part: str, names: Sequence[str], lower: float = 0.0) -> Floats:
        """Columns of numbers, from their bounds to [lower, 1]."""
        rows = getattr(self, part)
        found = np.empty((len(rows), len(names)))
        for place, name in enumerate(names):
            column = self.table.columns[name]
            assert isinstance(column, Number)
            share = (rows[name].to_numpy() - column.lower) / (column.upper - column.lower)
            found[:, place] = lower + (1 - lower) * share
        return found

    def encoded(self, part: str) -> Floats:
        """All columns: numbers scaled to [0, 1], and an indicator for each value of a category."""
        rows, blocks = getattr(self, part), [self.scaled(part, self.table.numbers)]
        for name in self.table.categories:
            column = self.table.columns[name]
            assert isinstance(column, Values)
            cells = rows[name].to_numpy()
            blocks.append(np.stack([cells == value for value in column.values], axis=1))
        return np.hstack(blocks)


@lru_cache(maxsize=2)
def _rows(name: str) -> tuple[Any, ...]:
    """The files of a table as data frames, with the names of the schema, clamped and filled."""
    import pandas as pd

    table = TABLES[name]
    frames = []
    for file in table.files:
        path = DATA / file
        frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
        frame.columns = [column.replace("-", "_") for column in frame.columns]
        if name == "heart":
            frame["disease"] = (frame["num"] > 0).astype(int)
        kept = {column: _filled(frame[column], facts) for column, facts in table.columns.items()}
        frames.append(pd.DataFrame(kept))
    return tuple(frames)


def _filled(cells: Any, column: Number | Values) -> Any:
    if isinstance(column, Number):
        middle = (column.lower + column.upper) / 2
        return cells.astype(float).fillna(middle).clip(column.lower, column.upper)
    missing = cells.isna().to_numpy()
    if cells.dtype.kind in "iuf":  # codes, as floats where there are gaps
        cells = cells.fillna(-1).astype(int).astype(str)
    found = cells.to_numpy(object)
    found[missing] = "missing"
    return found


def load(name: str, seed: int = 0) -> Split:
    """A table, with the split that belongs to the seed; published splits are the same for every seed."""
    table, rows = TABLES[name], _rows(name)
    if len(rows) == 2:
        return Split(table, *rows)
    order = np.random.default_rng(seed).permutation(len(rows[0]))
    cut = round(TEST_SHARE * len(order))
    test, train = (rows[0].iloc[places].reset_index(drop=True) for places in np.split(order, [cut]))
    return Split(table, train, test)


def outside(name: str) -> dict[str, int]:
    """How many cells of each category column are no declared value; the page's test wants none."""
    return {
        column: count
        for column, facts in TABLES[name].columns.items()
        if isinstance(facts, Values)
        and (count := sum(int((~rows[column].isin(facts.values)).sum()) for rows in _rows(name)))
    }
