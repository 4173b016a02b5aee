"""Every estimator can be fitted with a check along: one charge of its budget, and no more."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from examples import features, schema_for, table_for

import discreet as dp
from discreet.models.naive_bayes import GaussianNB
from discreet.testing import ESTIMATORS

every = pytest.mark.parametrize("example", ESTIMATORS, ids=str)


@every
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_check_and_fit_are_one_charge_of_the_budget(example, delta):
    schema, table = schema_for(example), table_for(example, 200)
    limit = dp.ApproxDP(3, 1e-5)
    ledger = dp.Ledger(limit=limit, accept_assumed=True)
    model = example.build(epsilon=3, delta=delta, schema=schema, ledger=ledger)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(features(table), table.get("y"), check=0.25)
    assert model.checked_.measure == dp.PureDP("3/4")
    charged = model.privacy_.measure
    assert charged.epsilon <= 3
    assert dp.accounting.satisfies(model.privacy_.event, charged)
    assert "checked-table" in model.privacy_.certificate
    assert model.privacy_.entry.number == 1
    with pytest.raises(dp.BudgetExceeded):
        model.fit(features(table), table.get("y"), check=0.25)


def test_a_fit_without_a_check_has_none():
    draw = np.random.default_rng(0)
    X = draw.random((300, 2))
    y = (X[:, 0] > 0.5).astype(int)
    model = GaussianNB(epsilon=1, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    assert not hasattr(model, "checked_")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert hasattr(model.fit(X, y, check=True), "checked_")
    # the certificate of the next fit doesn't cover what an earlier one found
    assert not hasattr(model.fit(X, y), "checked_")


def test_a_check_of_a_fit_sees_features_and_target_alone():
    draw = np.random.default_rng(0)
    rows = {"a": draw.random(500), "z": draw.random(500) + 9, "y": draw.integers(0, 2, 500)}
    schema = dp.Schema(a=dp.Real(0, 1), z=dp.Real(0, 1), y=dp.Categorical(0, 1))
    ledger = dp.Ledger(limit=dp.PureDP(9))
    data = dp.PrivateDataset(rows, schema, ledger=ledger)
    with pytest.warns(UserWarning, match="`z` lies above its upper bound 1"):
        model = GaussianNB(epsilon=9).fit(data, check=True)
    assert {row.column for row in model.checked_.rows} == {"a", "z", "y"}


def test_a_share_that_is_none_is_refused_before_the_charge():
    ledger = dp.Ledger(limit=dp.PureDP(1))
    model = GaussianNB(epsilon=1, bounds=(0, 1), classes=[0, 1], ledger=ledger)
    with pytest.raises(ValueError, match="check"):
        model.fit(np.zeros((5, 1)), np.zeros(5), check=1)
    model.fit(np.zeros((5, 1)), np.zeros(5))
