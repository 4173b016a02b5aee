"""Weights of classes: what they minimise, what they cost, and that their bounds hold for all of them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as PlainLogistic
from sklearn.metrics import balanced_accuracy_score

import discreet as dp
from discreet import accounting, events, models
from discreet.models.erm import HuberSquare, Logistic, Loss, SmoothHinge, Softmax
from discreet.models.erm.weights import BALANCE_SHARE, Weighted, balanced_weights, read_weights
from discreet.models.linear_model import LogisticRegression
from discreet.models.svm import SVC, LinearSVC

LOSSES: list[Loss] = [
    Logistic(),
    Softmax(3),
    SmoothHinge(Fraction(1, 2)),
    SmoothHinge(1, classes=3),
]
DOMAIN: dict[str, Any] = {"bounds": (-1, 1), "classes": [0, 1]}


def few_positives(n: int = 4000, seed: int = 0) -> tuple[Any, Any]:
    draw = np.random.default_rng(seed)
    x = draw.uniform(-1, 1, (n, 2))
    return x, (x[:, 0] + 0.3 * draw.normal(size=n) > 0.9).astype(int)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{type(loss).__name__}-{loss.outputs}")
def test_constants_of_a_loss_bound_it_with_any_weights(loss: Loss) -> None:
    draw = np.random.default_rng(0)
    classes, count = max(2, loss.outputs), 50_000
    margins = draw.normal(0, draw.choice([0.1, 1.0, 6.0], (count, 1)), (count, loss.outputs))
    target = draw.integers(0, classes, count).astype(float)
    weights = (1.0, 0.01, 0.5)[:classes]
    weighted = Weighted(loss, weights)
    slope, bend = weighted.gradient(margins, target), weighted.curvature(margins, target)
    plain, bent = loss.gradient(margins, target), loss.curvature(margins, target)
    row = np.array(weights)[target.astype(int)]
    assert np.array_equal(slope, plain * row[:, None])
    assert np.allclose(bend, bent * row.reshape(-1, *[1] * (bent.ndim - 1)), rtol=1e-15, atol=0)
    trace = bend if bend.ndim == 1 else np.trace(bend, axis1=1, axis2=2)
    assert np.abs(slope).sum(axis=1).max() <= float(weighted.slope) + 1e-12
    assert (slope**2).sum(axis=1).max() <= float(weighted.slope_squared) + 1e-12
    assert trace.max() <= float(weighted.trace) + 1e-12
    for name in ("outputs", "slope", "slope_squared", "rank", "trace", "bend", "ways", "has_zero"):
        assert getattr(weighted, name) == getattr(loss, name)


@pytest.mark.parametrize("weights", [(1.0, 1.5), (0.0, 1.0), (-1.0, 1.0), (1.0, math.nan)])
def test_weights_above_one_are_refused_since_no_bound_would_hold(weights: Any) -> None:
    with pytest.raises(ValueError, match="at most 1"):
        Weighted(Logistic(), weights)


def test_a_loss_whose_gradients_cannot_shrink_within_their_polytope_takes_no_weights() -> None:
    with pytest.raises(ValueError, match="shrink"):
        Weighted(HuberSquare(Fraction(1, 2)), (1.0, 0.5))


@pytest.mark.parametrize("method", ["objective", "output"])
def test_without_noise_weights_are_those_of_scikit_learn(method: str) -> None:
    x, y = few_positives(600)
    given = {0: 1, 1: 4}
    model = LogisticRegression(
        epsilon=math.inf,
        unit=dp.PUBLIC,
        alpha=2,
        norm=2,
        method=method,
        class_weight=given,
        **DOMAIN,
    ).fit(x, y)
    rows = np.column_stack([x, np.ones(len(x))])  # the intercept is shrunk, too
    plain = PlainLogistic(C=1 / 2, fit_intercept=False, class_weight={0: 1 / 4, 1: 1}, tol=1e-10)
    found = plain.fit(rows, y).coef_[0]
    assert np.allclose([*model.coef_[0], model.intercept_[0]], found, atol=2e-3)
    assert model.class_weight_.tolist() == [0.25, 1.0]
    other = LogisticRegression(
        epsilon=math.inf, unit=dp.PUBLIC, alpha=2, norm=2, method=method, **DOMAIN
    ).fit(x, y)
    assert not np.allclose(other.coef_, model.coef_, atol=0.1)


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC, SVC])
@pytest.mark.parametrize("method", ["objective", "output"])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_public_weights_cost_nothing(kind: Any, method: str, delta: float) -> None:
    given: dict[str, Any] = {"epsilon": 1, "delta": delta, "method": method, **DOMAIN}
    plans = [
        kind(**given, class_weight=weights).plan(n_features=2)
        for weights in (None, {1: 3}, {0: 1e-9, 1: 5})
    ]
    assert plans[0].event == plans[1].event == plans[2].event


@pytest.mark.parametrize("unit", [dp.Unit(), dp.Unit(dp.REPLACE_ONE)])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_balanced_weights_are_paid_for_within_the_budget(unit: dp.Unit, delta: float) -> None:
    model = LogisticRegression(epsilon=1, delta=delta, class_weight="balanced", unit=unit, **DOMAIN)
    plan = model.plan(n_features=2, rows=1000)
    counts, step = plan.event.events
    assert isinstance(counts, events.DiscreteLaplace)
    paid = Fraction(counts.sensitivity) / counts.scale
    assert paid == BALANCE_SHARE
    assert plan.measure == (dp.ApproxDP(1, delta) if delta else dp.PureDP(1))
    if not delta:
        assert accounting.cost(step, dp.PureDP).epsilon <= 1 - BALANCE_SHARE
    ledger = dp.Ledger(limit=plan.measure, unit=unit)
    model.set_params(ledger=ledger).fit(
        *few_positives(500)
    )  # a limit of exactly that has room for it
    with pytest.raises(dp.BudgetExceeded):
        model.fit(*few_positives(500))


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_balanced_weights_find_the_rare_class(kind: Any) -> None:
    x, y = few_positives(20_000)
    plain = kind(epsilon=1, **DOMAIN).fit(x, y)
    even = kind(epsilon=1, class_weight="balanced", **DOMAIN).fit(x, y)
    # seen over sixteen fits: 0.857 to 0.879 against at most 0.68
    assert balanced_accuracy_score(y, even.predict(x)) > 0.84
    assert balanced_accuracy_score(y, plain.predict(x)) < 0.72
    assert even.class_weight_[0] == pytest.approx(y.mean() / (1 - y.mean()), rel=0.3)


def test_weights_follow_the_order_of_classes_and_are_kept_in_a_file() -> None:
    x, y = few_positives(2000)
    named = np.array(["rare", "common"])[1 - y]
    model = LogisticRegression(
        epsilon=5, bounds=(-1, 1), classes=["rare", "common"], class_weight={"common": 1, "rare": 8}
    ).fit(x, named)
    assert dict(zip(model.classes_, model.class_weight_, strict=True)) == {
        "common": 1 / 8,
        "rare": 1,
    }
    again = models.from_json(models.to_json(model))
    assert again.class_weight_.tolist() == model.class_weight_.tolist()
    assert again.get_params()["class_weight"] == {"common": 1, "rare": 8}
    model.set_params(class_weight=None).fit(x, named)
    assert not hasattr(model, "class_weight_")


def test_noised_counts_below_the_noise_do_not_blow_up_weights() -> None:
    weights = balanced_weights(np.array([1000.0, -40.0]), 20.0)
    assert weights == (41 / 1000, 1.0)
    assert balanced_weights(np.array([-5.0, -6.0]), 20.0) == (1.0, 1.0)
    assert min(balanced_weights(np.array([1e12, 0.0]), 0.0)) == 1e-6


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("even", "'balanced' or a mapping"),
        ({0: 0}, "class_weight must be"),
        ({0: -1}, "class_weight must be"),
        ({7: 1}, "no declared class"),
        ([1, 2], "a mapping"),
    ],
)
def test_bad_weights_are_refused_before_the_charge(weights: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        LinearSVC(epsilon=1, class_weight=weights, **DOMAIN).plan(n_features=2)


def test_the_functional_mechanism_takes_no_weights() -> None:
    with pytest.raises(ValueError, match="functional"):
        LogisticRegression(method="functional", class_weight={1: 2}, **DOMAIN).plan(n_features=2)


def test_weights_are_shares_of_the_largest() -> None:
    assert read_weights({1: 5}, (0, 1)) == (0.2, 1.0)
    assert read_weights(None, (0, 1)) is None
