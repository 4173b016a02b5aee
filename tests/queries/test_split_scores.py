"""Scores of splits: against real numbers and fractions, of very many rows, with nothing expected."""

from __future__ import annotations

import random

import numpy as np
import pytest
from test_choice import CHOICES, scores
from test_joint import SCHEMA, UNITS, all_cells, with_ids

import discreet as dp
from discreet.engines.arrays import Arrays
from discreet.queries import BestSplit
from discreet.queries.best_split import DEVIATION, FINENESS


def test_variance_scores_are_those_of_real_numbers() -> None:
    draw = np.random.default_rng(0)
    data = [(int(x), float(v), "a", 0) for x, v in zip(
        draw.integers(0, 3, 200), draw.uniform(-1, 3, 200), strict=True)]  # fmt: skip
    query = BestSplit("v", {"x": [0.5, 1.5]}, criterion="variance")
    z = np.array([(row[1] - 1) / 2 for row in data])
    x = np.array([row[0] for row in data])
    wanted = [sum(z[m].sum() ** 2 / m.sum() for m in (x < c, x >= c)) for c in (0.5, 1.5)]
    assert scores(query, data, UNITS["add"])[0] / FINENESS == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("target", ["y", "v"])
def test_deviation_scores_are_those_of_real_numbers(target: str) -> None:
    """Against fractions, in units of what a row can add, of classes and of numbers between their bounds."""
    draw = np.random.default_rng(0)
    columns = draw.integers(0, 3, 200), draw.uniform(-1, 3, 200), draw.integers(0, 3, 200)
    data = [(int(x), float(v), "a", int(y)) for x, v, y in zip(*columns, strict=True)]
    if target == "y":
        parts, expected = np.eye(3)[columns[2]], np.array([0.5, 0.25, 0.25])
    else:
        parts, expected = (
            np.stack([3 - columns[1], columns[1] + 1], axis=1) / 4,
            np.array([0.75, 0.25]),
        )
    query = BestSplit(target, {"x": [0.5, 1.5]}, criterion="deviation", expected=[3 * expected])
    sides = [[columns[0] < c, columns[0] >= c] for c in (0.5, 1.5)]
    apart = [sum(abs((parts[m] - expected).sum(axis=0)).sum() for m in side) for side in sides]
    wanted = np.array(apart) / 2 / (1 - expected.min())
    found = scores(query, data, UNITS["add"])[0] / DEVIATION
    assert found == pytest.approx(wanted, rel=FINENESS / DEVIATION)  # a whole unit for each share


def test_nothing_expected_is_every_class_alike() -> None:
    data = [(x, 0.5, "a", y) for x in (0, 1, 2) for y in (0, 0, 1, 2)] + [(2, 0.5, "a", 1)] * 3
    found = [
        scores(
            BestSplit("y", {"x": [0.5, 1.5]}, criterion="deviation", expected=expected),
            data,
            UNITS["add"],
        )
        for expected in (None, [[0, 0, 0]], [[5, 5, 5]])
    ]
    assert found[0].tolist() == found[1].tolist()
    assert found[0] == pytest.approx(found[2], rel=FINENESS / DEVIATION)
    schema = dp.Schema({"x": dp.Integer(0, 2), "y": dp.Categorical(0)})
    query = BestSplit("y", {"x": [0.5, 1.5]}, criterion="deviation")
    totals = [Arrays({"x": [0, 1], "y": [0, 0]}).totals(p) for p in query.parts(schema, dp.Unit())]
    assert query.scores(totals, schema).tolist() == [[0, 0]]  # one class deviates from nothing


@pytest.mark.parametrize(
    "case", ["gini", "gini by", "variance", "deviation", "deviation of numbers"]
)
def test_scores_of_very_many_rows_are_exact(case: str) -> None:
    """What 64 bits can't hold is computed with Python's integers, and is as many times larger."""
    query, used = CHOICES[case]
    draw = random.Random(3)
    engine = Arrays(with_ids([draw.choice(all_cells(used)) for _ in range(50)]))
    totals = [engine.totals(part) for part in query.parts(SCHEMA, UNITS["add"])]
    few = query.scores(totals, SCHEMA)
    for times in (2**20, 2**32):
        many = query.scores([part * times for part in totals], SCHEMA).astype(object)
        assert (
            abs(many - few.astype(object) * times) <= 2 * times
        ).all()  # both sides rounded down


def test_shares_of_a_wrong_shape_are_refused_before_the_charge() -> None:
    schema = dp.Schema(x=dp.Integer(0, 9), t=dp.Categorical("a", "b", "c"))
    ledger = dp.Ledger(limit=dp.PureDP(1))
    data = dp.PrivateDataset({"x": [1, 2, 3], "t": ["a", "b", "c"]}, schema, ledger=ledger)
    query = BestSplit("t", {"x": [5]}, criterion="deviation", expected=[[0.5, 0.5]])
    with pytest.raises(ValueError, match="shape"):
        data.release(query, dp.PureDP(1))
    assert ledger.spent() == dp.PureDP(0)


def test_names_of_bins_do_not_meet() -> None:
    names = ["a", "a'", "bins of a"]
    schema = dp.Schema({**{n: dp.Integer(0, 9) for n in names}, "t": dp.Categorical("u", "v")})
    parts = BestSplit("t", {"a": [3, 5], "a'": [5]}).parts(schema, dp.Unit())
    assert [part.groups for part in parts] == [6, 4]
