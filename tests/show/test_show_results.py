"""Results that hold several answers are shown like single ones: frames, CSV, and tables in notebooks."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import numpy as np
import pytest

import discreet as dp
from discreet.show import Shown

RUN = "<img src=x onerror=alert(1)>"
SCHEMA = dp.Schema(
    ward=dp.Categorical("A", RUN, "=1+2"),
    age=dp.Integer(0, 100),
    day=dp.Date("2024-01-01", "2024-12-31"),
)
MEASURE = dp.PureDP(50)
QUESTIONS = {
    "people": dp.Count(),
    "wards": dp.Count(by="ward"),
    "age": dp.Quantile("age", ["1/4", "3/4"]),
    "both": dp.Moments("age"),
}
TEXT = "SELECT ward, COUNT(*) AS n, AVG(age) AS n FROM v GROUP BY ward"


def open_data() -> dp.PrivateDataset:
    draw = np.random.default_rng(0)
    rows = {
        "ward": draw.choice(np.array(["A", RUN, "=1+2"], object), 500),
        "age": draw.integers(0, 101, 500),
        "day": np.datetime64("2024-01-01") + draw.integers(0, 366, 500),
    }
    return dp.PrivateDataset(rows, SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(10**6)))


RESULTS: dict[str, tuple[Callable[[dp.PrivateDataset], Shown], int]] = {
    "check": (lambda data: data.check(MEASURE), 2 + 5 + 5),
    "plan of answers": (lambda data: data.plan_all(QUESTIONS, MEASURE, rows=500), 4),
    "answers": (lambda data: data.release_all(QUESTIONS, MEASURE), 1 + 3 + 2 + 3),
    "description": (lambda data: data.describe(MEASURE), 1 + 5 + 5 + 3),
    "plan of SQL": (lambda data: data.plan_sql(TEXT, MEASURE, rows=500), 2),
    "SQL": (lambda data: data.sql(TEXT, MEASURE), 3),
}


@pytest.mark.parametrize("name", list(RESULTS))
def test_results_are_frames_files_and_pages_that_run_nothing(name: str) -> None:
    if "SQL" in name:
        pytest.importorskip("sqlglot")
    build, rows = RESULTS[name]
    result = build(open_data())
    table = result.to_table()
    assert len(table.rows) == rows
    frame = result.to_frame(backend="polars")
    assert frame.shape == (rows, len(table.columns))
    text = result.to_csv()
    assert text is not None
    read = list(csv.reader(io.StringIO(text)))
    assert read[0] == list(table.columns)
    assert all(not cell.startswith("=") for line in read for cell in line)
    page = result._repr_html_()
    assert RUN not in page
    assert "<table" in page
    assert "PureDP(epsilon=50)" in page


def test_answers_in_a_table_are_those_of_their_releases() -> None:
    answers = open_data().release_all(QUESTIONS, MEASURE)
    rows = answers.to_table(0.9).rows
    people, first, second = answers["people"].noise_interval(0.9), *answers["wards"].value[:2]
    assert rows[0][:3] == ("people", "", answers["people"].value)
    assert rows[0][4:] == (people.lower, people.upper, None, None)
    assert [row[2] for row in rows[1:3]] == [first, second]
    assert [row[1] for row in rows[1:4]] == ["A", RUN, "=1+2"]
    ranks = np.atleast_1d(answers["age"].noise_interval(0.9).upper)
    assert [row[-1] for row in rows if row[0] == "age"] == np.broadcast_to(ranks, 2).tolist()
    assert [row[4:6] for row in rows if row[0] == "age"] == [(None, None)] * 2
    assert {row[1] for row in rows if row[0] == "both"} == {"count", "mean age", "variance age"}


def test_a_description_is_shown_at_its_own_level_or_at_another() -> None:
    description = open_data().describe(MEASURE, level=0.5)
    narrow, wide = description.to_table(), description.to_table(0.99)
    assert narrow.rows[0] == ("", "rows", *description.rows[:3], None, None, None)  # no date
    assert description.to_frame(backend="polars")["lower"][0] == description.rows.lower
    for low, high in ((3, 4), (5, 6)):  # of values, and of ranks
        pairs = [(a, b) for a, b in zip(narrow.rows, wide.rows, strict=True) if a[low] is not None]
        assert all(a[low] >= b[low] and a[high] <= b[high] for a, b in pairs)
        assert any(a[low] > b[low] for a, b in pairs)
    assert "0.99 each" in wide.caption
