"""Models that scale see wide columns on a logarithmic scale."""

from __future__ import annotations

import math
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import discreet as dp
from discreet.columns import Logarithmic
from discreet.models.cluster import KMeans
from discreet.models.linear_model import LinearRegression, LogisticRegression
from discreet.models.naive_bayes import GaussianNB
from discreet.models.svm import LinearSVC

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "scales.md"
CLASSIFIERS = (GaussianNB, LogisticRegression, LinearSVC)


def incomes(scale: str | None, upper: float = 1e6) -> tuple[dp.Schema, dict[str, Any]]:
    draw = np.random.default_rng(0)
    income = draw.lognormal(10, 0.8, 4000)
    buys = income * draw.lognormal(0, 0.4, 4000) > 22_000
    schema = dp.Schema(income=dp.Real(0, upper, scale=scale), buys=dp.Categorical("no", "yes"))
    return schema, {"income": income, "buys": np.where(buys, "yes", "no")}


def accuracy(build: Any, scale: str | None) -> float:
    schema, rows = incomes(scale, 1e7)
    found = []
    for seed in range(3):
        with dp.testing.fixed_noise(seed):
            model = build(epsilon=0.5, schema=schema).fit(rows, target="buys")
        found.append(np.mean(model.predict({"income": rows["income"]}) == rows["buys"]))
    return float(np.mean(found))


@pytest.mark.parametrize("build", CLASSIFIERS)
def test_wide_bounds_no_longer_hide_the_rows(build: Any) -> None:
    assert accuracy(build, None) > 0.8
    assert accuracy(build, None) > accuracy(build, "linear")


def calls(upper: float, scale: str | None, epsilon: float) -> tuple[float, GaussianNB]:
    """The area of naive Bayes on calls, of which many that sell nothing end at once."""
    draw = np.random.default_rng(0)
    sold = draw.random(6000) < 0.12
    length = np.where(sold, draw.lognormal(6.1, 0.6, 6000), draw.lognormal(5.1, 1.1, 6000))
    schema = dp.Schema(
        length=dp.Real(0, upper, scale=scale), age=dp.Real(18, 100), sold=dp.Categorical(0, 1)
    )
    rows = {"length": length, "age": draw.normal(40 + 4 * sold, 12), "sold": sold.astype(int)}
    unit = dp.PUBLIC if epsilon == math.inf else None
    with dp.testing.fixed_noise(1):
        model = GaussianNB(epsilon=epsilon, schema=schema, unit=unit).fit(rows, target="sold")
    scores = model.predict_proba({name: rows[name] for name in ("length", "age")})[:, 1]
    return float(roc_auc_score(sold, scores)), model


def test_naive_bayes_has_one_spread_on_a_logarithmic_scale_and_does_not_lose_by_it() -> None:
    """Of the classes one has the wider spread and the smaller values: long calls aren't a sign of it."""
    for epsilon in (math.inf, 1):
        area, model = calls(3600, None, epsilon)
        assert model.var_[0, 0] == model.var_[1, 0]
        assert model.var_[0, 1] != model.var_[1, 1]
        assert area > calls(3600, "linear", epsilon)[0] - 0.005
    assert calls(36_000, None, 1)[0] > calls(36_000, "linear", 1)[0] + 0.02


@pytest.mark.parametrize("build", [*CLASSIFIERS, LinearRegression])
def test_the_plan_names_the_columns_and_is_what_is_charged(build: Any) -> None:
    schema, rows = incomes(None)
    if build is LinearRegression:
        schema, rows = schema.replace(buys=dp.Real(0, 1)), {**rows, "buys": rows["income"] > 2e4}
    ledger = dp.Ledger(limit=dp.PureDP(1))
    data = dp.PrivateDataset(rows, schema, ledger=ledger)
    model = build(epsilon=1)
    plan = model.plan(data)
    assert plan.log_scaled == ("income",)
    assert "\n  log     income" in repr(plan)
    model.fit(data, target="buys")
    assert model.privacy_.event == plan.event
    assert isinstance(model.columns_["income"], Logarithmic)
    assert ledger.remaining() == dp.PureDP(0)
    again = pickle.loads(pickle.dumps(model))
    some = {"income": np.array([0.0, 1e3, 1e5, 2e9, np.nan])}
    assert np.array_equal(again.predict(some), model.predict(some))


def test_a_linear_scale_and_other_models_are_as_they_were() -> None:
    schema, _ = incomes("linear")
    assert LogisticRegression(epsilon=1, schema=schema).plan().log_scaled == ()
    numbers = dp.Schema(income=dp.Real(0, 1e6))
    assert KMeans(2, epsilon=1, schema=numbers).plan().log_scaled == ()


def test_a_prediction_is_that_of_the_scaled_column() -> None:
    """Coefficients are in the unit of the scale, on which rows to predict for are put, too."""
    schema, rows = incomes(None)
    schema = schema.replace(buys=dp.Real(0, 1))
    given = {"income": rows["income"], "buys": (rows["buys"] == "yes").astype(float)}
    model = LinearRegression(epsilon=float("inf"), schema=schema, unit=dp.PUBLIC)
    model.fit(given, target="buys")
    scaled = Logarithmic(dp.Real(0, 1e6)).to_scale(rows["income"])
    slope, intercept = np.polyfit(scaled, given["buys"], 1)
    assert np.ravel(model.coef_)[0] == pytest.approx(slope, rel=1e-3)
    found = model.predict({"income": rows["income"]})
    np.testing.assert_allclose(found, np.clip(intercept + slope * scaled, 0, 1), atol=1e-3)
    assert roc_auc_score(given["buys"], found) > 0.9


def test_the_guide_runs(capsys: Any) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    exec(compile(block, PAGE.name, "exec"), {})
    printed = capsys.readouterr().out
    shown = re.findall(r"print\(.*\)  # (.*)", block)
    assert printed.splitlines() == shown
