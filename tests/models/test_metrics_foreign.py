"""Noised scores of models that aren't ours: any with a `predict`, and refusals of what it can't answer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as PlainLogistic
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from test_metrics import EXACT, SCHEMA, logistic_answers, public

import discreet as dp
from discreet.models.metrics import private_score
from discreet.models.naive_bayes import MixedNB


def test_any_model_of_scikit_learn() -> None:
    table = logistic_answers()
    x = np.column_stack([table["x"], table["z"]])
    plain = PlainLogistic().fit(x, table["y"].astype(str))
    found = private_score(plain, public(table), "accuracy", EXACT)
    assert found.value == pytest.approx(plain.score(x, table["y"].astype(str)), abs=2e-3)


def test_no_row_makes_a_foreign_model_raise() -> None:
    """An encoder that refuses unknown categories is not shown any."""
    schema = dp.Schema(a=dp.Categorical("u", "v"), y=dp.Categorical(0, 1))
    plain = make_pipeline(OneHotEncoder(), PlainLogistic())
    plain.fit(np.array([["u"], ["v"]] * 5, dtype=object), [0, 1] * 5)
    table = {"a": ["u", "v", "w", None], "y": [0, 0, 1, 1]}
    assert private_score(plain, public(table, schema), "accuracy", EXACT).value == 0.5
    own = MixedNB(epsilon=math.inf).fit(public({"a": ["u", "v"], "y": [0, 1]}, schema))
    assert private_score(own, public(table, schema), "accuracy", EXACT)._totals.sum() == 4


@pytest.mark.parametrize("rows_", [0, 3])
def test_a_model_fails_whatever_the_rows(rows_: int) -> None:
    class Short:
        classes_ = np.array(["no", "yes"])

        def predict(self, X: Any) -> Any:
            return np.array(["no"])

    class Three(Short):
        classes_ = np.array(["maybe", "no", "yes"])

        def predict_proba(self, X: Any) -> Any:
            return np.full((len(X), 3), 1 / 3)

    with pytest.raises(ValueError, match="one answer for each row"):
        private_score(Short(), public(logistic_answers(rows_)), "accuracy", EXACT)
    with pytest.raises(ValueError, match="two classes"):
        private_score(Three(), public(logistic_answers(rows_)), "auc", EXACT)
    assert private_score(Three(), public(logistic_answers(rows_)), "log_loss", EXACT).value >= 0


class Odd:
    """A model whose answers have a shape, or raise, as told."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, shape: tuple[int, ...] | None) -> None:
        self.shape = shape

    def predict(self, X: Any) -> Any:
        if self.shape is None:
            raise RuntimeError("not made for these rows")
        return np.full((len(X), *self.shape), "no", object)

    def predict_proba(self, X: Any) -> Any:
        return np.full(self.predict(X).shape, 0.25)


def test_a_column_of_predictions_is_a_list_of_them() -> None:
    table = logistic_answers(500)
    wanted = private_score(Odd(()), public(table), "accuracy", EXACT).value
    assert wanted == np.mean(table["y"] == "no")
    assert private_score(Odd((1,)), public(table), "accuracy", EXACT).value == wanted


@pytest.mark.parametrize("metric", ["accuracy", "log_loss", "auc"])
@pytest.mark.parametrize("shape", [None, (), (1,), (2,), (3,), (0,), (2, 2)], ids=str)
def test_a_model_without_an_answer_is_refused_before_the_charge(
    metric: str, shape: tuple[int, ...] | None
) -> None:
    ledger = dp.Ledger(limit=dp.PureDP(1))
    data = dp.PrivateDataset(logistic_answers(50), SCHEMA, ledger=ledger)
    good = {"accuracy": [(), (1,)], "log_loss": [(2,)], "auc": [(), (1,), (2,)]}[metric]
    if shape in good:
        assert math.isfinite(private_score(Odd(shape), data, metric, dp.PureDP(1)).value)
        assert ledger.spent() == dp.PureDP(1)
    else:
        with pytest.raises(ValueError, match="model has no answer"):
            private_score(Odd(shape), data, metric, dp.PureDP(1))
        assert ledger.spent() == dp.PureDP(0)


def test_an_error_that_no_double_holds_is_refused_before_the_charge() -> None:
    schema = dp.Schema(x=dp.Real(0, 1), y=dp.Real(-1e200, 1e200))
    ledger = dp.Ledger(limit=dp.PureDP(1))
    data = dp.PrivateDataset({"x": [0.5], "y": [1.0]}, schema, ledger=ledger)
    for metric in ("mean_squared_error", "mean_absolute_error"):
        with pytest.raises(ValueError, match="use other units"):
            private_score(Odd(()), data, metric, dp.PureDP(1))
    assert ledger.spent() == dp.PureDP(0)
