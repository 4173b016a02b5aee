"""Intervals beside the answers of a SELECT, and answers about persons."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.queries import Estimate
from discreet.sql import SqlError

SCHEMA = dp.Schema(
    ward=dp.Categorical("A", "B", "C"),
    age=dp.Integer(0, 99),
    day=dp.Date("2024-01-01", "2024-12-31"),
)


def open_data(limit: int = 1000, **unit: Any) -> dp.PrivateDataset:
    draw = np.random.default_rng(0)
    who = np.repeat(np.arange(500), 3)
    table = {
        "ward": draw.choice(["A", "B", "C"], 1500, p=[0.2, 0.5, 0.3]),
        "age": draw.integers(0, 100, 500)[who],
        "day": np.datetime64("2024-01-01") + draw.integers(0, 366, 1500),
        "who": who,
    }
    ledger = dp.Ledger(limit=dp.PureDP(limit), unit=dp.Unit(dp.ADD_REMOVE, **unit))
    return dp.PrivateDataset(table, SCHEMA, ledger=ledger)


def test_each_row_has_the_interval_of_its_own_group() -> None:
    text = (
        "SELECT COUNT(*) AS n, ward, AVG(age) AS age, STDDEV(age) AS spread, AVG(day) AS day FROM t "
        "GROUP BY ward HAVING n >= 10 ORDER BY n DESC LIMIT 2 OFFSET 1"
    )
    answer = open_data().sql(text, dp.PureDP(50))
    shown = answer.with_intervals(0.9)
    assert shown.columns == (
        "n", "n_lower", "n_upper", "ward", "age", "age_lower", "age_upper",
        "spread", "spread_lower", "spread_upper", "day", "day_lower", "day_upper",
    )  # fmt: skip
    counts = answer.releases[0].noise_interval(0.9)
    variances = answer.releases[2].noise_interval(0.9)
    for row in shown.to_frame().to_dict("records"):
        at = answer.releases[0].labels.index(row["ward"])
        assert (row["n_lower"], row["n_upper"]) == (counts.lower[at], counts.upper[at])
        assert row["age_lower"] < row["age"] < row["age_upper"]
        assert row["spread_upper"] == pytest.approx(variances.upper[at] ** 0.5)
        assert row["day_lower"] <= row["day"] <= row["day_upper"]
        assert row["day"].startswith("2024-")
    assert [row[3] for row in shown.rows] == ["C", "A"]
    assert pickle.loads(pickle.dumps(answer)).with_intervals(0.95).columns == shown.columns
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        answer.with_intervals(95)


def test_intervals_of_estimates_are_for_the_population_and_medians_have_them() -> None:
    text = "SELECT MEDIAN(age) AS middle, SUM(age) AS years, COUNT(*) AS n FROM t"
    plain = open_data().sql(text, dp.PureDP(9)).with_intervals().to_dict()
    assert plain["middle_lower"] == plain["middle_upper"] == [None]
    answer = open_data().sql(text, dp.PureDP(9), estimate=True)
    found = answer.with_intervals().to_dict()
    assert found["middle_lower"] < found["middle"] < found["middle_upper"]
    interval = answer.releases[1].interval(0.95)
    assert found["years_lower"] == [interval.lower]
    assert interval.upper - interval.lower > 2 * (plain["years_upper"][0] - plain["years_lower"][0])
    assert found["n_upper"] == [answer.releases[2].noise_interval(0.95).upper]


def test_answers_about_persons_take_fewer_rows_and_less_noise() -> None:
    data = open_data(id_column="who", max_rows=3)
    text = "SELECT COUNT(*) AS n, AVG(age) AS age FROM t"
    assert abs(data.sql(text, dp.PureDP(50), per_person=1).rows[0][0] - 500) < 20
    assert abs(data.sql(text, dp.PureDP(50)).rows[0][0] - 1500) < 20
    one, all_rows = (
        data.plan_sql(text, dp.PureDP(1), rows=1000, per_person=rows).plans[0].stderr
        for rows in (1, None)
    )
    assert float(all_rows) == pytest.approx(3 * float(one), rel=0.2)
    with pytest.raises(SqlError, match="at most 3 rows per person"):
        data.sql(text, dp.PureDP(1), per_person=4)
    with pytest.raises(SqlError, match="id column"):
        open_data().sql(text, dp.PureDP(1), per_person=1)


def test_an_estimate_keeps_the_limit_of_its_query() -> None:
    query = Estimate(dp.Median("age").per_person(2))
    assert query.person_rows == 2
    assert Estimate(query).person_rows == 2
    assert Estimate(dp.Mean("age")).person_rows is None


def test_errors_stand_beside_each_answer_and_ranks_are_called_ranks() -> None:
    text = "SELECT ward, COUNT(*) AS n, STDDEV(age) AS spread, MEDIAN(age) AS middle FROM t GROUP BY ward"
    answer = open_data().sql(text, dp.PureDP(1))
    shown = answer.with_errors(0.8)
    assert shown.columns == (
        "ward", "n", "n_stderr", "n_lower", "n_upper", "spread", "spread_lower", "spread_upper",
        "middle", "middle_rank_lower", "middle_rank_upper",
    )  # fmt: skip
    count, middle = answer.releases[0], answer.releases[2]
    found = shown.to_dict()
    assert found["n_stderr"] == np.broadcast_to(count.stderr, 3).tolist()
    assert found["n_upper"] == count.noise_interval(0.8).upper.tolist()
    assert (
        found["middle_rank_upper"] == np.broadcast_to(middle.noise_interval(0.8).upper, 3).tolist()
    )
    assert shown.rows[1][:2] == answer.rows[1][:2]
    assert found["n_upper"] < answer.with_errors(0.99).to_dict()["n_upper"]
