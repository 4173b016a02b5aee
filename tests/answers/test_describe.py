"""A private description: one charge, every column, intervals, and a table to read."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dp

SCHEMA = dp.Schema(
    age=dp.Integer(17, 90),
    cost=dp.Real(0, 100),
    town=dp.Categorical("Bonn", "Ulm", "Trier"),
    note=dp.Text(),
)


def data(n=5000, limit=None):
    draw = np.random.default_rng(2)
    rows = {
        "age": draw.integers(17, 91, n),
        "cost": draw.uniform(0, 100, n),
        "town": draw.choice(["Bonn", "Ulm"], n, p=[0.8, 0.2]),
        "note": np.full(n, "secret"),
    }
    return dp.PrivateDataset(rows, SCHEMA, ledger=dp.Ledger(limit=limit or dp.PureDP(4)))


def test_a_description_is_one_charge_and_right_within_its_intervals():
    table = data()
    found = table.describe(dp.PureDP(4), level=0.999)
    assert table.ledger.spent() == dp.PureDP(4)
    assert found.rows.lower <= 5000 <= found.rows.upper
    mean, spread = found.numbers["cost"]["mean"], found.numbers["cost"]["deviation"]
    assert mean.lower <= 49.9 < 50.2 <= mean.upper or mean.lower < 50 < mean.upper
    assert spread.lower < 29 < spread.upper
    assert found.numbers["age"]["50 %"].value == pytest.approx(54, abs=4)
    assert next(iter(found.values["town"])) == "Bonn"
    assert set(found.values["town"]) == {"Bonn", "Ulm", "Trier"}
    assert "note" not in found.numbers
    assert "note" not in found.values


def test_a_description_prints_as_a_table_with_intervals():
    shown = str(data().describe(dp.PureDP(4)))
    assert "one charge of PureDP(epsilon=4)" in shown
    assert "commonest" in shown
    assert " to " in shown
    assert "ranks" in shown
    assert "secret" not in shown


def test_the_split_is_that_of_release_all():
    found = data().describe(dp.PureDP(1))
    shares = [question.share for question in found.answers.plan.questions]
    assert sum(shares) == pytest.approx(1, abs=1e-4)
    assert min(shares) > 0.02


def test_nothing_is_charged_for_a_bad_level():
    table = data()
    with pytest.raises(ValueError, match="level"):
        table.describe(dp.PureDP(1), level=95)
    assert table.ledger.spent() == dp.PureDP(0)


def test_columns_of_dates_are_described_by_days():
    rows = {"day": np.datetime64("2024-03-01") + np.arange(2000) % 61, "n": np.arange(2000) % 7}
    schema = dp.Schema(day=dp.Date("2024-01-01", "2024-12-31"), n=dp.Integer(0, 6))
    table = dp.PrivateDataset(rows, schema, ledger=dp.Ledger(limit=dp.PureDP(50)))
    found = table.describe(dp.PureDP(50))
    line = next(line for line in str(found).splitlines() if line.split()[0] == "day")
    assert "2024-03-30 (2024-03-30 to 2024-03-30)" in line
    assert " days" in line
    assert "2024-04-1" in line  # the upper quartile, in April
    frame = found.to_frame()
    at = {
        (c, f): d for c, f, d in zip(frame["column"], frame["figure"], frame["date"], strict=True)
    }
    assert at["day", "50 %"].startswith("2024-03-3")
    assert at["n", "mean"] is None or at["n", "mean"] != at["n", "mean"]  # pandas: NaN
    assert "2024-03-3" in found._repr_html_()
