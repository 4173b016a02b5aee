"""The hospital's report: a whole task in at most 25 lines, in Python and in SQL, against the truth."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.testing import fixed_noise

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "hospital.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
MAX_LINES = 25
#: Laplace noise is beyond this many of its standard deviations once in a million draws.
MAX_DEVIATIONS = 10


def write_visits(path: Path, visits: int, patients: int) -> pd.DataFrame:
    """Made-up visits, at most six of each patient."""
    draw = np.random.default_rng(0)
    again = draw.choice(patients * 5, visits - patients, replace=False) % patients
    who = np.concatenate([np.arange(patients), again])
    commonness = 1 / np.arange(1, 21)
    table = {
        "patient": who,
        "ward": draw.choice(["emergency", "surgery", "medicine", "children"], visits),
        "diagnosis": draw.choice(
            [f"D{number:02}" for number in range(20)], visits, p=commonness / commonness.sum()
        ),
        "day": (np.datetime64("2024-01-01") + draw.integers(0, 366, visits)).astype(str),
        "age": draw.integers(0, 100, patients)[who],
        "cost": draw.gamma(2, 300, visits).round(2),
    }
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(cells.tolist() for cells in table.values()), strict=True))
    return pd.DataFrame(table)


def run(block: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    with fixed_noise(1):
        exec(compile(block, PAGE.name, "exec"), names)
    return names["answers"]


def check_python(table: pd.DataFrame, answers: Any) -> None:
    month = pd.to_datetime(table["day"]).dt.month.rename("month")
    wanted = {
        "visits": table.groupby("ward").size(),
        "mean cost": table.groupby(["ward", month])["cost"].mean(),
        "diagnoses": table.groupby("diagnosis").size(),
    }
    for name, truth in wanted.items():
        frame = answers[name].to_frame().set_index(list(truth.index.names))
        assert len(frame) == len(truth)
        far = (frame["value"] - truth).abs() / frame["stderr"]
        assert far.max() < MAX_DEVIATIONS
        assert (frame["lower"] < frame["value"]).all()
        assert (frame["value"] < frame["upper"]).all()
    costs = answers["mean cost"].to_frame()
    assert (costs["population_lower"] < costs["population_upper"]).all()
    patients = table.drop_duplicates("patient")["age"]
    ages = answers["median age of patients"].to_frame().iloc[0]
    assert abs(ages["value"] - patients.median()) <= 3
    assert ages["population_lower"] <= ages["value"] <= ages["population_upper"]
    assert ages["population_upper"] - ages["population_lower"] <= 20


def check_sql(table: pd.DataFrame, answers: Any) -> None:
    shown = {name: answer.with_intervals(0.95).to_frame() for name, answer in answers.items()}
    truth = table.groupby("diagnosis").size().sort_values(ascending=False)
    top = shown["top diagnoses"]
    assert len(top) == 5
    assert top["diagnosis"].tolist()[:2] == truth.index[:2].tolist()
    assert top["visits"].is_monotonic_decreasing
    for name, column in (("visits", "visits"), ("mean cost", "mean"), ("top diagnoses", "visits")):
        frame = shown[name]
        assert (frame[f"{column}_lower"] < frame[column]).all()
        assert (frame[column] < frame[f"{column}_upper"]).all()
    wards = shown["visits"].set_index("ward")["visits"]
    assert ((wards - table.groupby("ward").size()).abs() < 1000).all()
    assert len(shown["mean cost"]) == 48
    (ages,) = shown["median age of patients"].to_dict("records")
    assert ages["median_lower"] <= ages["median"] <= ages["median_upper"]
    patients = table.drop_duplicates("patient")["age"]
    assert abs(ages["median"] - patients.median()) <= 3


@pytest.mark.parametrize("block", BLOCKS, ids=["python", "sql"])
def test_the_report_takes_at_most_25_lines(block: str) -> None:
    assert 10 < len(block.splitlines()) <= MAX_LINES


@pytest.mark.parametrize(
    ("visits", "patients"),
    [(20_000, 6_000), pytest.param(200_000, 60_000, marks=pytest.mark.long)],
)
def test_the_report_is_close_to_the_truth(
    visits: int, patients: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(BLOCKS) == 2
    table = write_visits(tmp_path / "visits.csv", visits, patients)
    assert table["patient"].nunique() == patients
    check_python(table, run(BLOCKS[0], tmp_path, monkeypatch))
    check_sql(table, run(BLOCKS[1], tmp_path, monkeypatch))
