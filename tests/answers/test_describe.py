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
