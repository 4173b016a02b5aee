"""What must be said beside a number goes wherever the number goes."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest

import discreet as dp
from discreet.testing import fixed_noise

SCHEMA = dp.Schema(x=dp.Real(0, 10), note=dp.Categorical("a", "b"))
ROWS = {"x": [1.0, 2.0] * 50, "note": ["a", "b"] * 50}
COST = dp.PureDP(1)
#: All results with numbers about rows that the door gives.
RESULTS: dict[str, Callable[[dp.PrivateDataset], Any]] = {
    "release": lambda data: data.release(dp.Count(), COST),
    "release by group": lambda data: data.release(dp.Mean("x", by="note"), COST),
    "release_all": lambda data: data.release_all({"n": dp.Count(), "m": dp.Mean("x")}, COST),
    "sql": lambda data: data.sql("SELECT note, COUNT(*) FROM t GROUP BY note", COST),
    "describe": lambda data: data.describe(COST),
    "check": lambda data: data.check(COST),
}


def notes_of(result: Any) -> tuple[set[Any], set[Any]]:
    """The last column of the CSV file and of the frame, and that they are called note."""
    rows = list(csv.reader(io.StringIO(result.to_csv())))
    frame = result.to_frame(backend="pandas")
    assert rows[0][-1] == frame.columns[-1]
    assert rows[0][-1].startswith("note")
    assert [*frame.columns[:-1]] == [*result.to_table().columns]
    return {row[-1] for row in rows[1:]}, set(frame.iloc[:, -1])


@pytest.mark.parametrize("name", RESULTS)
def test_numbers_of_a_known_seed_say_so_in_files_and_frames(name: str) -> None:
    data = dp.PrivateDataset(ROWS, SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(10)))
    with fixed_noise(1):
        found = RESULTS[name](data)
    assert found.mark == "NOT PRIVATE"
    assert notes_of(found) == ({"NOT PRIVATE"}, {"NOT PRIVATE"})


@pytest.mark.parametrize("name", RESULTS)
def test_made_up_numbers_say_so_in_files_and_frames(name: str) -> None:
    data = dp.PrivateDataset(ROWS, SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(10)))
    made_up = data.rehearse(100)
    found = RESULTS[name](made_up)
    assert notes_of(found) == ({found.mark}, {found.mark})
    assert "NOT DATA" in found.mark


@pytest.mark.parametrize("name", RESULTS)
def test_private_numbers_have_no_such_column(name: str) -> None:
    data = dp.PrivateDataset(ROWS, SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(10)))
    found = RESULTS[name](data)
    assert found.mark == ""
    assert [*found.to_frame(backend="pandas").columns] == [*found.to_table().columns]
