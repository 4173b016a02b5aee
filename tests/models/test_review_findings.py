"""What a review of trees, splits and PCA found: each of these failed before."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import discreet as dp
from discreet.models.decomposition import PCA
from discreet.models.decomposition.ball import Ball
from discreet.models.tree import DecisionTreeClassifier, DecisionTreeRegressor
from discreet.queries import BestSplit


@pytest.mark.parametrize("epsilon", [0.0105, 20, 21])
def test_a_checked_fit_carries_out_its_own_plan(epsilon: float) -> None:
    X = np.random.default_rng(0).random((200, 2))
    model = DecisionTreeClassifier(epsilon=epsilon, bounds=(0, 1), classes=[0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, (X[:, 0] > 0.5).astype(int), check=True)
    assert len(model.leaf_proba_) == 2**model.depth_


@pytest.mark.parametrize(
    "column", [dp.Real(1.0, 1.0 + 2**-52), dp.Integer(2**53 - 1, 2**53), dp.Real(1e15, 1e15 + 1)]
)
@pytest.mark.parametrize("epsilon", [1, 10**6])
def test_bounds_few_doubles_apart_are_not_drawn_closer(column: dp.Real, epsilon: int) -> None:
    schema = dp.Schema(x=dp.Real(0, 1), t=column)
    for value in (column.lower, column.upper):
        table = {"x": np.linspace(0, 1, 100), "t": np.full(100, float(value))}
        data = dp.PrivateDataset(table, schema, ledger=dp.Ledger(limit=dp.PureDP(epsilon)))
        model = DecisionTreeRegressor(epsilon=epsilon).fit(data)
        assert np.isfinite(model.leaf_mean_).all()


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


def test_a_huge_norm_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(Ball((dp.Real(0, 1),), np.zeros(1), 1e200).product_units).all()


def test_a_wrong_norm_is_refused_whatever_the_method() -> None:
    with pytest.raises(ValueError, match="norm"):
        PCA(norm=-3, epsilon=0.01, bounds=(0, 1)).plan(n_features=20)


@pytest.mark.parametrize("most", [0, 1, 2, 6])
def test_whole_numbers_can_be_classes_of_a_tree(most: int) -> None:
    schema = dp.Schema(x=dp.Real(0, 1), t=dp.Integer(0, most))
    x = np.random.default_rng(0).random(300)
    data = dp.PrivateDataset(
        {"x": x, "t": np.floor(x * (most + 1))}, schema, ledger=dp.Ledger(limit=dp.PureDP(1))
    )
    model = DecisionTreeClassifier(epsilon=1, criterion="deviation").fit(data)
    assert model.leaf_proba_.shape[1] == most + 1
