"""Utility against ε: measured on public rows, or charged; and what is recommended from it."""

from __future__ import annotations

import math
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import discreet as dp
from discreet.models.naive_bayes import GaussianNB, MixedNB
from discreet.testing import fixed_noise
from discreet.tradeoff import Curve, curve, recommend
from discreet.tradeoff.curves import Point

SCHEMA = dp.Schema(x=dp.Real(-4, 6), z=dp.Real(-4, 6), y=dp.Categorical("no", "yes"))


def rows(count: int, seed: int = 0) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    y = draw.random(count) < 0.5
    names = np.where(y, "yes", "no").astype(object)
    return {"x": draw.normal(y * 2.0, 1), "z": draw.normal(y * 1.0, 1), "y": names}


def private(count: int, limit: Any, seed: int = 0) -> dp.PrivateDataset:
    return dp.PrivateDataset(rows(count, seed), SCHEMA, ledger=dp.Ledger(limit=limit))


def test_utility_rises_with_epsilon_up_to_the_line_without_noise():
    """Over seeds 0 to 19 means lay in 0.34 to 0.63, 0.858 to 0.874, 0.861 to 0.865; the line at 0.863."""
    with fixed_noise(3):
        found = curve(
            GaussianNB(), rows(600), [0.01, 1, 100], repeats=8, schema=SCHEMA, unit=dp.PUBLIC
        )
    means = [found.point("GaussianNB", epsilon).mean for epsilon in (0.01, 1, 100, math.inf)]
    assert means[0] < means[3] - 0.05
    assert means[1] < means[3] + 0.02
    assert abs(means[2] - means[3]) < 0.02
    assert means[3] > 0.8
    assert found.is_public
    assert not found.charged
    assert "NOT PRIVATE" in str(found)
    assert len(found.point("GaussianNB", 1).scores) == 8


def test_scores_are_exact_and_splits_are_those_of_the_seed():
    call = {"schema": SCHEMA, "unit": dp.PUBLIC}
    one, two, other = (
        curve(GaussianNB(), rows(60), [1], 3, random_state=seed, **call).point(
            "GaussianNB", math.inf
        )
        for seed in (0, 0, 1)
    )
    assert one.scores == two.scores != other.scores
    # 18 rows are held out, so an accuracy is a share of 18
    assert all((score * 18).is_integer() for score in one.scores)


def test_processes_give_the_same_splits_and_every_task_one_score():
    call = {"schema": SCHEMA, "unit": dp.PUBLIC, "metric": "log_loss", "delta": 1e-6}
    models = {"a": GaussianNB(), "b": MixedNB()}
    alone = curve(models, rows(80), [1, 10], 3, **call)
    with joblib.parallel_config(backend="threading"):
        found = curve(models, rows(80), [1, 10], 3, n_jobs=2, **call)
    assert [(p.model, p.epsilon, len(p.scores)) for p in found.points] == [
        (name, epsilon, 3) for name in "ab" for epsilon in (1, 10, math.inf)
    ]
    for name in "ab":
        assert found.point(name, math.inf).scores == alone.point(name, math.inf).scores
    assert not found.is_better_if_larger


def test_private_rows_are_refused_without_a_charge():
    data, test = private(50, dp.PureDP(9)), private(50, dp.PureDP(9), 1)
    with pytest.raises(ValueError, match="data must be declared public"):
        curve(GaussianNB(), rows(50), [1], schema=SCHEMA)
    with pytest.raises(ValueError, match="data must be declared public"):
        curve(GaussianNB(), rows(50), [1], schema=SCHEMA, unit=dp.ADD_REMOVE)
    with pytest.raises(TypeError, match="test must be"):
        curve(GaussianNB(), data, [1], 2)
    with pytest.raises(ValueError, match="each score is a release of its own"):
        curve(GaussianNB(), data, [1], 2, test=test)
    # public training rows don't make private test rows public
    public = dp.PrivateDataset(rows(50), SCHEMA, unit=dp.PUBLIC)
    with pytest.raises(ValueError, match="each score is a release of its own"):
        curve(GaussianNB(), public, [1], 2, test=test)
    with pytest.raises(ValueError, match="finite"):
        curve(GaussianNB(), data, [1, math.inf], 2, test=test, budget=dp.PureDP(1))
    for one in (data, test):
        assert one.ledger.spent() == dp.PureDP(0)


def test_every_fit_and_every_score_on_private_rows_is_charged():
    data, test = private(200, dp.PureDP(9)), private(100, dp.PureDP(9), 1)
    found = curve(GaussianNB(), data, ["1/2", 1], 3, test=test, budget=dp.PureDP("1/4"))
    assert data.ledger.spent() == dp.PureDP("9/2")
    assert test.ledger.spent() == dp.PureDP("6/4")
    assert len(found.charged) == 12
    assert not found.is_public
    assert [point.epsilon for point in found.points] == [0.5, 1.0], "no line without noise"
    assert "NOT PRIVATE" not in str(found)
    # public test rows: fits alone are charged, and still there is no line without noise
    public = dp.PrivateDataset(rows(50), SCHEMA, unit=dp.PUBLIC)
    more = curve(GaussianNB(), data, [1], 2, test=public)
    assert data.ledger.spent() == dp.PureDP("13/2")
    assert [point.epsilon for point in more.points] == [1.0]
    assert not more.is_public


def test_a_curve_that_cannot_be_paid_is_refused_before_the_first_charge():
    data, test = private(50, dp.PureDP(3)), private(50, dp.PureDP("1/2"), 1)
    for budget, words in ((dp.PureDP("1/9"), "cost ε = 4 "), (dp.PureDP(1), "cost ε = 4 ")):
        with pytest.raises(ValueError, match=words):
            curve(GaussianNB(), data, [1], 4, test=test, budget=budget)
    with pytest.raises(ValueError, match="cost ε = 2 in 2 charges"):
        curve(GaussianNB(), data, [1], 2, test=test, budget=dp.PureDP(1))
    # one ledger pays for both
    both = dp.PrivateDataset(rows(50), SCHEMA, ledger=data.ledger)
    with pytest.raises(ValueError, match="cost ε = 4 in 4 charges"):
        curve(GaussianNB(), data, [1], 2, test=both, budget=dp.PureDP(1))
    with pytest.raises(ValueError, match="δ"):
        curve(GaussianNB(), data, [1], 2, test=both, delta="1e-6", budget=dp.PureDP("1/9"))
    assert data.ledger.spent() == test.ledger.spent() == dp.PureDP(0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: curve([], rows(9), [1], schema=SCHEMA, unit=dp.PUBLIC), "at least one model"),
        (lambda: curve(LogisticRegression(), rows(9), [1]), "no parameters epsilon and delta"),
        (lambda: curve(GaussianNB(), rows(9), [], schema=SCHEMA), "at least one number"),
        (lambda: curve(GaussianNB(), rows(9), [0], schema=SCHEMA), "greater than 0"),
        (lambda: curve(GaussianNB(), rows(9), [1], 0, schema=SCHEMA), "repeats"),
        (lambda: curve(GaussianNB(), rows(9), [1], delta=2), "delta"),
        (lambda: curve(GaussianNB(), rows(9), [1], unit=dp.PUBLIC), "schema must be given"),
        (
            lambda: curve(GaussianNB(), [[1]], [1], schema=SCHEMA, unit=dp.PUBLIC),
            "frame or a mapping",
        ),
        (
            lambda: curve(GaussianNB(), {"x": [1, 2]}, [1], schema=SCHEMA, unit=dp.PUBLIC),
            "no column 'z'",
        ),
        (
            lambda: curve(GaussianNB(), rows(1), [1], schema=SCHEMA, unit=dp.PUBLIC),
            "at least two rows",
        ),
    ],
)
def test_wrong_arguments_are_named(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call()


def made_up() -> Curve:
    points = (
        Point("A", 0.1, (0.5, 0.7, 0.6)),
        Point("A", 1.0, (0.80, 0.90, 0.85)),
        Point("A", 10.0, (0.90, 0.91, 0.92)),
        Point("B", 0.1, (0.70, 0.71, 0.72)),
        Point("B", 1.0, (0.78, 0.80, 0.82)),
        Point("B", 10.0, (0.80, 0.80, 0.80)),
        Point("A", math.inf, (0.95, 0.95, 0.95)),
    )
    return Curve(points, "Accuracy", True, 0.0, True)


def test_the_smallest_epsilon_is_one_that_reaches_the_utility_surely():
    lucky = recommend(made_up(), utility=0.84)
    assert (lucky.model, lucky.epsilon) == ("A", 10.0), (
        "the mean at 1 is 0.85, but by three repeats"
    )
    assert "Epsilon 1 (A) may do" in lucky.words
    assert recommend(made_up(), utility=0.84, level=0.6).epsilon == 1.0
    sure = recommend(made_up(), utility=0.6)
    assert (sure.model, sure.epsilon, sure.repeats) == ("B", 0.1, 3)
    assert sure.lower <= sure.mean
    assert sure.stderr == pytest.approx(0.01 / math.sqrt(3))
    with pytest.raises(ValueError, match=r"best mean is 0\.91 .*A at epsilon 10.*try larger"):
        recommend(made_up(), utility=0.99)
    with pytest.raises(ValueError, match="more repeats may show"):
        recommend(made_up(), utility=0.905)


def test_the_best_utility_for_an_epsilon_names_who_is_as_good():
    found = recommend(made_up(), epsilon=0.5)
    assert (found.model, found.epsilon) == ("B", 0.1)
    assert "not told apart" in found.words
    best = recommend(made_up(), epsilon=50)
    assert (best.model, best.epsilon, round(best.mean, 2)) == ("A", 10.0, 0.91)
    assert "not told apart" not in best.words
    with pytest.raises(ValueError, match="below all that were tried"):
        recommend(made_up(), epsilon=0.01)
    for wrong in ({}, {"utility": 1, "epsilon": 1}, {"utility": 1, "level": 1}):
        with pytest.raises(ValueError, match=r"give either|level"):
            recommend(made_up(), **wrong)
    with pytest.raises(TypeError, match="curve must be"):
        recommend(3, utility=1)


def test_losses_are_recommended_downwards_and_one_repeat_is_never_sure():
    points = (Point("A", 1.0, (0.4, 0.5, 0.6)), Point("A", 2.0, (0.2, 0.21, 0.22)))
    loss = Curve(points, "LogLoss(0.001)", False, 0.0, True)
    assert recommend(loss, utility=0.3).epsilon == 2.0
    assert recommend(loss, utility=0.3).lower >= 0.21
    assert recommend(loss, epsilon=1).mean == pytest.approx(0.5)
    single = Curve((Point("A", 1.0, (0.9,)),), "Accuracy", True, 0.0, True)
    with pytest.raises(ValueError, match="more repeats"):
        recommend(single, utility=0.5)
    assert recommend(single, epsilon=1).stderr == math.inf


def test_curves_travel_as_json_and_are_shown():
    found = made_up()
    assert Curve.from_json(found.to_json()) == found
    assert "inf" in str(found)
    with pytest.raises(ValueError, match="changed or cut"):
        Curve.from_json(found.to_json().replace('"scores"', '"marks"', 1))
    with pytest.raises(KeyError, match="it has A, B at"):
        found.point("C", 1)
    charged = Curve(found.points[:2], "Accuracy", True, 1e-6, False, (dp.ApproxDP(1, 1e-6),))
    assert Curve.from_json(charged.to_json()) == charged
    assert list(found.to_frame(backend="pandas").columns)[:3] == ["model", "epsilon", "mean"]


def test_models_of_one_kind_are_numbered():
    models = [MixedNB(), GaussianNB(), GaussianNB()]
    found = curve(models, rows(30), [1], 2, schema=SCHEMA, unit=dp.PUBLIC)
    assert found.models == ("MixedNB", "GaussianNB", "GaussianNB (2)")
