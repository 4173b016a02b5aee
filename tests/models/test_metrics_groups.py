"""Counts by group, truth and prediction: one cell for a row, whatever the row holds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.models.metrics import GroupCounts, private_score
from discreet.models.naive_bayes import MixedNB

SCHEMA = dp.Schema(
    x=dp.Integer(0, 9), g=dp.Categorical("a", "b", "c"), y=dp.Categorical("no", "yes")
)
EXACT = dp.PureDP(math.inf)


def rows(count: int, seed: int = 0) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    x = draw.integers(0, 10, count)
    return {
        "x": x,
        "g": draw.choice(["a", "b", "c"], count, p=[0.6, 0.3, 0.1]).astype(object),
        "y": np.where(x + draw.normal(0, 2, count) > 5, "yes", "no").astype(object),
    }


def public(table: Any) -> dp.PrivateDataset:
    return dp.PrivateDataset(table, SCHEMA, unit=dp.PUBLIC)


class Steps:
    """A public model that gives a share of x, with or without probabilities."""

    classes_ = np.array(["no", "yes"], object)
    n_features_in_ = 1

    def predict(self, X: Any) -> Any:
        return np.where(np.asarray(X, float)[:, 0] >= 5, "yes", "no")


class Shares(Steps):
    def predict_proba(self, X: Any) -> Any:
        share = np.asarray(X, float)[:, 0] / 9
        return np.column_stack([1 - share, share])


@pytest.mark.parametrize(("model", "bins"), [(Steps(), 2), (Shares(), 10), (Shares(), 4)])
def test_counts_are_those_of_a_slow_loop(model, bins):
    table = rows(300)
    score = private_score(model, public(table), GroupCounts("g", bins=bins), EXACT)
    wanted = np.zeros((3, 2, score.metric.bins))
    for x, g, y in zip(*table.values(), strict=True):
        share = x / 9 if hasattr(model, "predict_proba") else float(x >= 5)
        wanted["abc".index(g), int(y == "yes"), min(int(share * bins), bins - 1)] += 1
    assert (score.totals.reshape(wanted.shape) == wanted).all()
    half = score.metric.bins // 2
    right = wanted[:, 0, :half].sum() + wanted[:, 1, half:].sum()
    assert score.value == right / 300
    assert score.stderr == score.deviation == 0


def test_the_group_may_be_a_feature_or_not():
    table = rows(400)
    data = public(table)
    with_group = MixedNB(epsilon=math.inf).fit(data, target="y")
    narrow = dp.Schema(x=SCHEMA["x"], y=SCHEMA["y"])
    without = MixedNB(epsilon=math.inf).fit(dp.PrivateDataset(table, narrow, unit=dp.PUBLIC))
    for model in (with_group, without):
        found = private_score(model, data, GroupCounts("g"), EXACT)
        accuracy = private_score(model, data, GroupCounts("g", bins=2), EXACT).value
        assert found.value == accuracy == private_score(model, data, "accuracy", EXACT).value


def test_rows_without_group_or_class_count_nowhere():
    table = rows(50)
    more = {name: list(column) for name, column in table.items()}
    for cells in ((1, None, "yes"), (2, "elsewhere", "no"), (3, "a", "else"), (4, math.nan, None)):
        for name, cell in zip(more, cells, strict=True):
            more[name].append(cell)
    metric = GroupCounts("g")
    one, other = (private_score(Shares(), public(t), metric, EXACT).totals for t in (table, more))
    assert (one == other).all()
    assert one.sum() == 50


def test_unknown_groups_count_where_the_schema_says():
    open_schema = dp.Schema(
        x=dp.Integer(0, 9),
        g=dp.Categorical("a", "b", unknown="b"),
        y=dp.Categorical("no", "yes"),
    )
    data = dp.PrivateDataset(rows(80), open_schema, unit=dp.PUBLIC)
    score = private_score(Shares(), data, GroupCounts("g"), EXACT)
    assert score.totals.sum() == 80
    assert score.totals.reshape(score.metric.shape)[1].sum() == (rows(80)["g"] != "a").sum()


@pytest.mark.parametrize("count", [0, 1, 200])
@pytest.mark.parametrize("relation", [dp.ADD_REMOVE, dp.REPLACE_ONE])
def test_private_counts_cost_one_charge_of_the_noise_on_a_cell(count, relation):
    ledger = dp.Ledger(limit=dp.PureDP(1), unit=dp.Unit(relation))
    data = dp.PrivateDataset(rows(count), SCHEMA, ledger=ledger)
    score = private_score(Shares(), data, GroupCounts("g"), dp.PureDP("1/2"))
    assert ledger.spent() == dp.PureDP("1/2")
    assert score.event.scale == (2 if relation is dp.ADD_REMOVE else 4)
    low, high, *_ = score.noise_interval(0.9)
    assert 0 <= low <= high <= 1
    assert 0 <= score.value <= 1
    assert math.isfinite(score.stderr)


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        (lambda: GroupCounts("x"), "must be a dp.Categorical"),
        (lambda: GroupCounts("y"), "is the target, and not"),
        (lambda: GroupCounts("z"), "'z'"),
        (lambda: GroupCounts("g", bins=5), "even"),
        (lambda: GroupCounts("g", bins=True), "even"),
        (lambda: GroupCounts("g", bins=2**20), "cells, more than"),
        (lambda: GroupCounts("g", positive="maybe"), "positive must be one of"),
        (lambda: GroupCounts(3), "must be the name of a column"),
    ],
)
def test_wrong_arguments_are_named_before_anything_is_charged(metric, words):
    ledger = dp.Ledger(limit=dp.PureDP(1))
    data = dp.PrivateDataset(rows(10), SCHEMA, ledger=ledger)
    with pytest.raises((TypeError, ValueError, KeyError), match=words):
        private_score(Shares(), data, metric(), dp.PureDP(1))
    assert ledger.spent() == dp.PureDP(0)


def test_one_of_many_classes_must_be_named():
    schema = dp.Schema(
        x=dp.Integer(0, 9), g=dp.Categorical("a", "b"), y=dp.Categorical("u", "v", "w")
    )
    table = {"x": [1, 5, 9] * 9, "g": ["a", "b", "a"] * 9, "y": ["u", "v", "w"] * 9}
    data = dp.PrivateDataset(table, schema, unit=dp.PUBLIC)
    model = MixedNB(epsilon=math.inf).fit(data)
    with pytest.raises(ValueError, match="positive must be given"):
        private_score(model, data, GroupCounts("g"), EXACT)
    found = private_score(model, data, GroupCounts("g", "v"), EXACT)
    assert found.metric.shape == (2, 2, 2)
    assert found.totals.reshape(2, 2, 2)[1, 1, 1] == 9
