"""Names of columns that SQL takes for something else: errors say which of them needs quotes."""

from __future__ import annotations

import pytest

import discreet as dp
from discreet.sql import SqlError, read_where

pytest.importorskip("sqlglot")
NEEDS = (
    "hours-per-week",
    "Alter",
    "case",
    "two words",
    "2nd",
    "a.b",
    "it's",
    "näh e",
    "x+1",
)
PLAIN = ("order_", "hours", "user", "week")
SCHEMA = dp.Schema(
    {name: dp.Integer(0, 99) for name in (*NEEDS, *PLAIN)} | {"Station": dp.Categorical("Basel")}
)


def plan(condition: str) -> None:
    data = dp.PrivateDataset(
        {name: [1] for name in SCHEMA.base}, SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(1))
    )
    data.plan_sql(f"SELECT COUNT(*) FROM rows WHERE {condition}", dp.PureDP(1))


def read(condition: str) -> None:
    read_where(condition, SCHEMA)


@pytest.mark.parametrize("ask", [plan, read])
@pytest.mark.parametrize("name", NEEDS)
def test_a_name_that_needs_quotes_is_told_so_and_works_with_them(ask, name):
    with pytest.raises(SqlError) as refused:
        ask(f"hours > 1 AND {name} > 20")
    if name != "it's":  # half a piece of text
        assert f'needs double quotes in SQL: "{name}".' in str(refused.value)
    ask(f'hours > 1 AND "{name}" > 20')


@pytest.mark.parametrize("ask", [plan, read])
@pytest.mark.parametrize("name", PLAIN)
def test_a_name_that_needs_no_quotes_is_never_said_to(ask, name):
    ask(f"{name} > 20")
    with pytest.raises(SqlError) as refused:
        ask(f"{name} > >")
    assert "double quotes" not in str(refused.value)


@pytest.mark.parametrize("ask", [plan, read])
@pytest.mark.parametrize(
    "condition", ['Station = "Basel"', "Station = Basel", 'Station IN ("Basel")']
)
def test_text_in_double_quotes_is_told_to_stand_in_single_ones(ask, condition):
    with pytest.raises(SqlError, match="text stands in single quotes: 'Basel'"):
        ask(condition)


@pytest.mark.parametrize("ask", [plan, read])
def test_an_error_says_once_what_it_is_about(ask):
    with pytest.raises(SqlError, match="must be compared with a finite number") as refused:
        ask("hours = 'x'")
    assert str(refused.value).count("where: ") == (ask is read)
