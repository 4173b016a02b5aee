"""One person's date moves counts and means by what the query says, and by no less."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.audit.pairs import Neighbours
from discreet.publish.synthetic.layout import Layout
from discreet.testing import exact_totals

SCHEMA = dp.Schema(day=dp.Date("2023-11-29", "2024-03-02")).derive(
    month=dp.Month("day"), weekday=dp.Weekday("day"), year=dp.Year("day")
)
QUERIES = [
    dp.Count(by=["year", "month"]),
    dp.Histogram("weekday"),
    dp.Count(by="month", where="day >= '2024-01-01' and day is not None"),
    dp.Mean("day"),
]


@pytest.mark.parametrize("relation", [dp.ADD_REMOVE, dp.REPLACE_ONE])
@pytest.mark.parametrize("query", QUERIES, ids=repr)
def test_neighbours_differ_by_the_sensitivity_and_reach_it(query: Any, relation: Any) -> None:
    unit = dp.Unit(relation)
    coded = query.coded(SCHEMA, unit)
    first, last = np.datetime64("2023-11-20"), np.datetime64("2024-03-10")
    cells = [*np.arange(first, last), np.datetime64("NaT", "D")]
    rows = [
        dp.PrivateDataset({"day": np.array([cell])}, SCHEMA, unit=dp.PUBLIC)._engine.totals(coded)
        for cell in cells
    ]
    others = rows if relation is dp.REPLACE_ONE else [np.zeros_like(rows[0])]
    most = max(int(np.abs(one - other).sum()) for one in rows for other in others)
    assert most == query.sensitivity(SCHEMA, unit).l1


def test_neighbours_of_dates_are_tables_of_dates() -> None:
    pairs = Neighbours(SCHEMA, dp.ADD_REMOVE)
    near = pairs.near(pairs[0], np.random.default_rng(0), 20)
    for one, other in near:
        sizes = [
            exact_totals(dp.PrivateDataset(table, SCHEMA, unit=dp.PUBLIC), dp.Count()).item()
            for table in (one, other)
        ]
        assert abs(sizes[0] - sizes[1]) == 1


@pytest.mark.parametrize("bins", [8, 1000])
def test_synthetic_dates_are_days_between_the_declared_ones(bins: int) -> None:
    layout = Layout.from_schema(SCHEMA, ["day"], bins)
    cells = np.arange(layout.sizes[0]).repeat(40)[:, None]
    made = layout.decode(cells, np.random.default_rng(0))["day"]
    assert made.dtype == np.dtype("datetime64[D]")
    assert made.min() == np.datetime64("2023-11-29")
    assert made.max() == np.datetime64("2024-03-02")
