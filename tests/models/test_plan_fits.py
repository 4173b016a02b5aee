"""A fit carries out the plan that was charged: of all estimators, and where trees once looked again."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from examples import schema_for, table_for

import discreet as dp
from discreet.models.inputs import open_input
from discreet.models.tree import DecisionTreeClassifier, DecisionTreeRegressor
from discreet.testing import ESTIMATORS, Example


class Unreadable:
    """An ε that nobody may look at any more."""

    def _refuse(self, *others: Any) -> Any:
        raise AssertionError("the budget is in the plan: a fit reads no other")

    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __float__ = __int__ = __bool__ = _refuse
    __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __add__ = __radd__ = __str__ = _refuse
    __hash__ = object.__hash__


@pytest.mark.parametrize("example", [e for e in ESTIMATORS if not e.inner], ids=str)
def test_what_is_carried_out_follows_from_the_plan_alone(example: Example) -> None:
    """A checked fit plans with less than the model's ε, and then asks what it planned."""
    table = table_for(example, 60)
    model = example.build(epsilon=1.0, delta=1e-6)
    schema = schema_for(example)
    limit = dp.Ledger(limit=dp.ApproxDP(1, 1e-6), accept_assumed=True)
    data = dp.PrivateDataset(table, schema, ledger=limit)
    source = open_input(model, data, None, None, "y" if "y" in table else None, None)
    plan = model._plan(source.facts, None)
    model.epsilon = Unreadable()
    model._carry_out(plan, source)


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


@pytest.mark.parametrize("most", [0, 1, 2, 6])
def test_whole_numbers_can_be_classes_of_a_tree(most: int) -> None:
    schema = dp.Schema(x=dp.Real(0, 1), t=dp.Integer(0, most))
    x = np.random.default_rng(0).random(300)
    data = dp.PrivateDataset(
        {"x": x, "t": np.floor(x * (most + 1))}, schema, ledger=dp.Ledger(limit=dp.PureDP(1))
    )
    model = DecisionTreeClassifier(epsilon=1, criterion="deviation").fit(data)
    assert model.leaf_proba_.shape[1] == most + 1
