"""Persons in SQL, and how several aggregates share one budget."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.sql import SqlError

pytest.importorskip("sqlglot")

SCHEMA = dp.Schema(
    ward=dp.Categorical("A", "B", "C"),
    age=dp.Integer(0, 100),
    smoker=dp.Categorical(True, False),
)


def table() -> dict[str, Any]:
    draw = np.random.default_rng(0)
    return {
        "ward": draw.choice(["A", "B", "C"], 400),
        "age": draw.integers(0, 101, 400),
        "smoker": draw.random(400) < 0.3,
        "id": draw.integers(0, 90, 400),
    }


def open_data(unit: dp.Unit | None = None) -> dp.PrivateDataset:
    ledger = dp.Ledger(limit=dp.PureDP(10**6), unit=unit or dp.Unit())
    return dp.PrivateDataset(table(), SCHEMA, ledger=ledger)


def test_what_needs_more_of_the_budget_gets_more() -> None:
    text = "SELECT AVG(age), VARIANCE(age) FROM v"
    mean, variance = open_data().plan_sql(text, dp.PureDP(1), rows=400).plans
    assert variance.measure.epsilon != mean.measure.epsilon
    errors = [part.expected_error(400) / size for part, size in ((mean, 100), (variance, 2500))]
    equal = [
        open_data().plan(part.asked, dp.PureDP("1/2")).expected_error(400) / size
        for part, size in ((mean, 100), (variance, 2500))
    ]
    assert sum(np.square(errors)) < sum(np.square(equal))


@pytest.mark.parametrize("name", ["id", "ID", "v.id", '"id"'])
def test_count_distinct_of_ids_counts_persons(name: str) -> None:
    unit = dp.Unit(id_column="id", max_rows=20)
    data, ids = open_data(unit=unit), table()["id"]
    text = f"SELECT ward, COUNT(DISTINCT {name}) AS n FROM v GROUP BY ward"
    found = data.sql(text, dp.PureDP(10**5))
    wards = table()["ward"]
    assert dict(found.rows) == {w: len(set(ids[wards == w].tolist())) for w in ("A", "B", "C")}
    smokers = data.sql(
        f"SELECT COUNT(DISTINCT {name}) FILTER (WHERE smoker = TRUE), COUNT(*) FROM v WHERE ward = 'A'",
        dp.PureDP(10**5),
    )
    here = (wards == "A") & table()["smoker"]
    assert smokers.rows[0] == (len(set(ids[here].tolist())), int((wards == "A").sum()))
    assert repr(data.plan_sql(text, dp.PureDP(1)).plans[0].asked).startswith("CountPeople(")


@pytest.mark.parametrize("what", ["ward", '"ID"', "w.id", "id, ward", "id + 1", "*"])
def test_count_distinct_of_anything_else_is_refused(what: str) -> None:
    data = open_data(unit=dp.Unit(id_column="id", max_rows=3))
    with pytest.raises(SqlError):
        data.sql(f"SELECT COUNT(DISTINCT {what}) FROM v", dp.PureDP(1))
    with pytest.raises(SqlError, match="by the id column of the unit alone"):
        open_data().sql("SELECT COUNT(DISTINCT id) FROM v", dp.PureDP(1))
