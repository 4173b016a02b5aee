"""A rehearsal: the same data set on made-up rows, free, and marked everywhere."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

import discreet as dp
from discreet.answers.rehearsal import make_up_rows
from discreet.columns import Base, Logarithmic
from discreet.models.naive_bayes import GaussianNB
from discreet.report.answers import describe_plan
from discreet.show import Shown

SCHEMA = dp.Schema(
    age=dp.Integer(17, 90), cost=dp.Real(0, 100), town=dp.Categorical("Bonn", "Ulm"), key=dp.Text()
)
MARK = "NOT DATA"


def data(unit=None, rows=50):
    table = {
        "age": np.full(rows, 40),
        "cost": np.full(rows, 7.0),
        "town": np.full(rows, "Ulm"),
        "key": np.full(rows, "Anna"),
        "who": np.arange(rows).astype(str),
    }
    ledger = dp.Ledger(limit=dp.ApproxDP(5, "1/1000"), unit=unit)
    return dp.PrivateDataset(table, SCHEMA, ledger=ledger)


def test_a_rehearsal_is_free_and_marked_everywhere():
    real = data()
    again = real.rehearse(rows=3000)
    assert again.is_made_up
    assert not real.is_made_up
    assert again.ledger is not real.ledger
    assert again.ledger.limit == real.ledger.limit
    answers = again.release_all({"n": dp.Count(), "age": dp.Mean("age")}, dp.PureDP(1))
    assert abs(answers["n"].value - 3000) < 100
    assert real.ledger.spent().epsilon == 0
    shown = [again, again.release(dp.Count(), dp.PureDP(1)), answers, again.ledger.statement()]
    shown += [again.describe(dp.PureDP(1)), again.rehearse(), again.check(dp.PureDP("1/10"))]
    assert all(MARK in str(each) for each in shown)
    results = [each for each in shown if isinstance(each, Shown)]
    assert len(results) == 5
    assert all(MARK in each._repr_html_() for each in results)
    assert MARK in repr(again)
    assert all(MARK not in str(each) for each in (real, real.release(dp.Count(), dp.PureDP(1))))


def test_plans_of_a_rehearsal_are_marked_too():
    def list_plans(where):
        asked = {"n": dp.Count(), "age": dp.Mean("age")}
        return [
            where.plan(dp.Count(), dp.PureDP(1)),
            where.plan_all(asked, dp.PureDP(1)),
            where.plan_sql("SELECT town, COUNT(*) FROM t GROUP BY town", dp.PureDP(1)),
        ]

    for plan in list_plans(data().rehearse()):
        assert MARK in str(plan)
        assert MARK in plan._repr_html_()
        assert MARK in str(describe_plan(plan, ""))  # as reports and the studio show it
    for plan in list_plans(data()):
        assert MARK not in str(plan) + str(describe_plan(plan, ""))


def test_inside_a_prepaid_plan_it_is_still_marked():
    again = data().rehearse()
    event = again.plan(dp.Count(), dp.PureDP(1)).event
    with again.prepaid(event) as door:
        assert MARK in str(door.release(dp.Count(), dp.PureDP(1)))


def test_made_up_rows_follow_from_the_schema_alone():
    again = data().rehearse(rows=5000, seed=4)
    ages = again.release(dp.Quantile("age", ["1/100", "99/100"]), dp.PureDP(5)).value
    assert ages[0] < 22  # the real rows are all 40
    assert ages[1] > 85
    keys = data().rehearse().release(dp.KeyCounts("key", delta="1/1000000"), dp.PureDP(1))
    assert "Anna" not in str(keys)


def test_days_are_made_up_between_the_first_and_the_last():
    schema = dp.Schema(day=dp.Date("2024-01-30", "2024-02-02")).derive(month=dp.Month("day"))
    table = {"day": np.array(["2024-02-01"] * 3, "datetime64[D]")}
    real = dp.PrivateDataset(table, schema, ledger=dp.Ledger(limit=dp.PureDP(100)))
    again = real.rehearse(rows=4000)
    days = again.release(dp.Count(by="day"), dp.PureDP(10)).to_dict()
    assert list(days) == ["2024-01-30", "2024-01-31", "2024-02-01", "2024-02-02"]
    assert all(900 < count < 1100 for count in days.values())
    months = again.release(dp.Count(by="month"), dp.PureDP(10)).to_dict()
    assert months[1] + months[2] == pytest.approx(4000, abs=30)


def test_every_kind_of_column_can_be_made_up():
    columns = {
        "whole": dp.Integer(0, 3),
        "real": dp.Real(0, 3),
        "scaled": Logarithmic(dp.Real(1000, 1e6)),
        "any": dp.Real(),
        "day": dp.Date("2024-01-30", "2024-02-02"),
        "kind": dp.Categorical("a", "b"),
        "text": dp.Text(),
    }
    assert {type(column) for column in columns.values()} == set(get_args(Base))
    made = make_up_rows(dp.Schema(columns), dp.Unit(dp.ADD_REMOVE), 9)
    assert {name: len(cells) for name, cells in made.items()} == dict.fromkeys(columns, 9)
    assert min(made["scaled"]) >= 1000


@pytest.mark.parametrize(
    "unit",
    [
        dp.Unit(dp.REPLACE_ONE),
        dp.Unit(dp.ADD_REMOVE, id_column="who", max_rows=3),
    ],
    ids=str,
)
def test_units_are_kept(unit):
    real = data(unit)
    again = real.rehearse(rows=700)
    assert again.unit == unit
    assert again.release(dp.Count(), dp.PureDP(5)).value == pytest.approx(700, abs=60)
    assert again.rows == (700 if unit.length_is_public else None)


def test_public_rows_can_be_rehearsed_too():
    table = {"age": [1, 2], "cost": [1.0, 2.0], "town": ["Ulm"] * 2, "key": ["a"] * 2}
    again = dp.PrivateDataset(table, SCHEMA, unit=dp.PUBLIC).rehearse(rows=9)
    assert MARK in str(again.release(dp.Count(), dp.PureDP(1)))


def test_a_model_fitted_on_made_up_rows_says_so():
    schema = dp.Schema(x=dp.Real(0, 1), y=dp.Categorical("no", "yes"))
    table = {"x": np.zeros(20), "y": np.full(20, "no")}
    real = dp.PrivateDataset(table, schema, ledger=dp.Ledger(limit=dp.PureDP(2)))
    model = GaussianNB(epsilon=1).fit(real.rehearse(), target="y")
    assert MARK in model.privacy_.certificate
