"""Estimators on a noised histogram: cells against an oracle, weights, guards, and scikit-learn's manners."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import HuberRegressor, LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import discreet as dp
from discreet import events
from discreet.models import naive_bayes
from discreet.models.cells import axis_of, default_bins, even_cuts
from discreet.models.m_estimation import MAX_CELLS, HistogramMEstimator, keep_cells, means
from discreet.testing import fixed_noise

PIMA = Path(__file__).parents[3] / "shared" / "data" / "pima_diabetes.csv.gz"
SCHEMA = dp.Schema(
    x=dp.Real(-1, 3),
    k=dp.Integer(2, 8),
    c=dp.Categorical("u", "v", "w"),
    y=dp.Categorical("no", "yes", "maybe"),
)
FREE: dict[str, Any] = {"unit": dp.PUBLIC, "epsilon": math.inf}


def three_answers(count: int = 500, seed: int = 0) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    x, k = draw.uniform(-1, 3, count), draw.integers(2, 9, count)
    y = np.where(x + k > 6, "yes", np.where(draw.random(count) < 0.2, "maybe", "no"))
    return {"x": x, "k": k, "c": draw.choice(["u", "v", "w"], count), "y": y.astype(object)}


def two_blobs(count: int = 4000, seed: int = 0) -> tuple[Any, Any]:
    draw = np.random.default_rng(seed)
    y = draw.integers(0, 2, count)
    return np.clip(draw.normal(0.35 + 0.3 * y[:, None], 0.12, (count, 2)), 0, 1), y


def test_cells_are_those_of_an_oracle() -> None:
    table = three_answers()
    model = HistogramMEstimator(schema=SCHEMA, bins={"x": 4, "k": [4, 7.5]}, **FREE).fit(table)
    assert list(model.classes_) == ["maybe", "no", "yes"]  # sorted, unlike in the schema
    weights = model.weights_.reshape(4, 3, 3, 3)
    wanted = np.zeros_like(weights)
    for x, k, c, y in zip(*table.values(), strict=True):
        place = min(int((x + 1) // 1), 3), int(k >= 4) + int(k >= 8), "uvw".index(c)
        wanted[(*place, ["maybe", "no", "yes"].index(y))] += 1
    assert (weights == wanted).all()
    points = model._layout.points()
    assert points.shape == (36, 5)
    assert sorted(set(points[:, 0])) == pytest.approx([-0.75, -0.25, 0.25, 0.75])
    # whole numbers 2 and 3, 4 to 7, and 8, scaled from [2, 8]
    assert sorted(set(points[:, 1])) == pytest.approx([-5 / 6, (5.5 - 2) / 3 - 1, 1.0])
    assert (points[:, 2:].sum(axis=1) == 1).all()


def test_means_of_the_target_are_those_of_the_rows() -> None:
    table = three_answers()
    schema = dp.Schema(x=dp.Real(-1, 3), c=dp.Categorical("u", "v", "w"), t=dp.Real(0, 10))
    t = table["k"] + table["x"] / 10
    model = HistogramMEstimator(DecisionTreeRegressor(), schema=schema, bins=2, **FREE)
    model.fit({"x": table["x"], "c": table["c"], "t": t})
    for low in (-1, 1):
        for c in "uvw":
            here = (table["x"] >= low) & (table["x"] < low + 2) & (table["c"] == c)
            asked = {"x": [low + 1.0], "c": np.array([c])}
            assert model.predict(asked) == pytest.approx(t[here].mean(), abs=1e-4)


def test_a_cut_target_is_what_other_losses_need() -> None:
    draw = np.random.default_rng(0)
    x = draw.random((2000, 1))
    y = np.where(draw.random(2000) < 0.2, 4.0, x[:, 0])  # a fifth are outliers
    made = HistogramMEstimator(
        HuberRegressor(), bins=8, target_bins=40, bounds=(0, 1), target_bounds=(0, 4), **FREE
    )
    robust = made.fit(x, y)
    mean = clone(made).set_params(target_bins=None).fit(x, y)
    at = np.array([[0.25], [0.75]])
    assert abs(robust.predict(at) - at[:, 0]).max() < 0.3
    assert (mean.predict(at) - at[:, 0]).min() > 0.5
    assert robust.n_cells_ == 320


def test_without_noise_fine_cells_are_as_good_as_rows() -> None:
    x, y = two_blobs()
    plain = LogisticRegression().fit(2 * x - 1, y)
    ours = HistogramMEstimator(bins=100, bounds=(0, 1), **FREE).fit(x, y)
    assert ours.estimator_.coef_ == pytest.approx(plain.coef_, rel=0.02)
    assert ours.predict_proba(x) == pytest.approx(plain.predict_proba(2 * x - 1), abs=0.02)
    assert abs(ours.score(x, y) - plain.score(2 * x - 1, y)) < 0.005


def test_what_it_costs() -> None:
    plan = HistogramMEstimator(schema=SCHEMA, bins=3, epsilon="1/2").plan(rows=100)
    assert plan.event == events.DiscreteLaplace(2, 1)
    assert plan.noise["weights_"] == pytest.approx(math.sqrt(8), rel=0.02)
    replaced = HistogramMEstimator(schema=SCHEMA, bins=3, unit=dp.REPLACE_ONE)
    assert replaced.plan(rows=100).event == events.DiscreteLaplace(2, 2)
    persons = dp.Unit(dp.ADD_REMOVE, id_column="who", max_rows=3)
    assert HistogramMEstimator(schema=SCHEMA, unit=persons).plan().event.sensitivity == 3
    number = HistogramMEstimator(LinearRegression(), bounds=(0, 1), target_bounds=(0, 1))
    assert number.plan(n_features=2).event == events.DiscreteLaplace(2**21, 2**21)
    assert type(
        HistogramMEstimator(schema=SCHEMA, epsilon=1, delta=1e-3, unit=persons).plan().event
    ) in (events.Gaussian, events.DiscreteLaplace)


def test_noise_of_the_weights_is_what_is_planned() -> None:
    x = np.full((2000, 1), 0.1)
    options = {"bins": 2, "epsilon": 0.1, "bounds": (0, 1), "classes": [0, 1]}
    found = []
    for seed in range(60):
        with fixed_noise(seed):
            model = HistogramMEstimator(GaussianNB(), **options).fit(x, np.zeros(len(x)))
        found.append(model.weights_[0])
    planned = HistogramMEstimator(**options).plan(n_features=1, rows=2000).noise["weights_"]
    # the class's total is of two noisy cells
    assert np.std(found) == pytest.approx(planned * math.sqrt(2), rel=0.35)
    assert np.mean(found) == pytest.approx(2000, abs=4 * planned * math.sqrt(2 / 60))


def test_weights_from_noisy_counts() -> None:
    counts = np.array([100.0, -3.0, 2.0, 50.0, -4.0])
    found = keep_cells(counts, 5.0)
    assert (found > 0).tolist() == [True, False, False, True, False]
    assert found.sum() == pytest.approx(counts.sum())
    assert found[0] / found[3] == 2
    assert keep_cells(counts, 500.0).tolist() == pytest.approx([29.0] * 5)  # nothing stands out
    assert keep_cells(-counts, 1000.0).sum() == 1
    assert keep_cells(np.zeros(3), 0.0).tolist() == pytest.approx([1 / 3] * 3)


def test_means_from_noisy_counts_and_sums() -> None:
    counts, sums = np.array([100.0, 10.0, -5.0, 0.0]), np.array([50.0, 9.0, 3.0, -20.0])
    middle = 42 / 105
    assert means(counts, sums, 0.0)[[0, 3]].tolist() == [0.5, middle]
    pulled = means(counts, sums, 10.0)
    assert pulled[0] == pytest.approx((50 + 10 * middle) / 110)
    assert pulled[1] == pytest.approx((9 + 10 * middle) / 20)
    assert (abs(pulled) <= 1).all()
    assert means(np.zeros(2), np.zeros(2), 0.0).tolist() == [0, 0]
    assert means(np.array([1.0]), np.array([30.0]), 0.0).tolist() == [1]


def test_empty_cells_seldom_stand_out() -> None:
    """About half a cell of a whole table passes the threshold by its noise alone."""
    empty = np.zeros((0, 2))
    spurious = []
    for seed in range(30):
        with fixed_noise(seed):
            model = HistogramMEstimator(
                LinearRegression(), bins=16, bounds=(0, 1), target_bounds=(0, 1)
            ).fit(empty, np.zeros(0))
        passed = (model.weights_ > 0).sum()
        spurious.append(0 if passed == 256 else passed)
    assert 0.1 < np.mean(spurious) < 1.2


@pytest.mark.parametrize("epsilon", [1e-3, 1.0])
def test_every_class_is_always_there(epsilon: float) -> None:
    x = np.random.default_rng(0).random((300, 2))
    for seed in range(3):
        with fixed_noise(seed):
            model = HistogramMEstimator(
                bins=3, epsilon=epsilon, bounds=(0, 1), classes=[0, 1, 2]
            ).fit(x, np.ones(300, int))
        assert list(model.estimator_.classes_) == [0, 1, 2]
        assert model.predict_proba(x).shape == (300, 3)
    assert model.predict(x).mean() == 1 or epsilon < 1


def test_the_number_of_cells_is_limited() -> None:
    many = HistogramMEstimator(bounds=(0, 1), classes=[0, 1])
    with pytest.raises(ValueError, match=r"make 262,144 cells in all .*more than 131,072"):
        many.plan(n_features=17)
    with pytest.raises(ValueError, match=r"about 10\^60 cells in all"):
        many.plan(n_features=200)
    with pytest.raises(ValueError, match=r"make 2,000,000 cells .*bins=1 for a column"):
        clone(many).set_params(bins=[1000, 1000]).plan(n_features=2)
    fits = clone(many).set_params(bins=[2] * 12 + [1] * 5).plan(n_features=17)
    assert len(fits.queries[0].by) == 13
    assert MAX_CELLS == 2 * 2**16
    assert many.plan(n_features=16)  # two bins each, exactly as many as are taken


def test_usual_bins_follow_public_facts() -> None:
    bins = [default_bins(signal, 2, 2) for signal in (1, 100, 1000, 1e4, 1e6, 1e15)]
    assert bins == sorted(bins)
    assert bins[0] == 2
    assert bins[-1] == 16
    assert default_bins(1e4, 2, 2) > default_bins(1e4, 6, 2) >= 2
    assert default_bins(1e4, 2, 2) > default_bins(1e4, 2, 2000)
    few = HistogramMEstimator(expected_rows=100, bounds=(0, 1), classes=[0, 1])
    more = clone(few).set_params(expected_rows=10**6)
    sizes = [
        math.prod(len(p.queries[0].larger(p.facts.schema).labels(n)) for n in p.queries[0].by)
        for p in (few.plan(n_features=2), more.plan(n_features=2))
    ]
    assert sizes[0] < sizes[1]


def test_cuts_of_columns() -> None:
    assert even_cuts(dp.Real(0, 4), 4) == (1, 2, 3)
    assert even_cuts(dp.Integer(1, 16), 10)[:3] == (2.5, 4.5, 5.5)
    assert even_cuts(dp.Integer(1, 3), 10) == (1.5, 2.5)
    assert even_cuts(dp.Real(2, 2), 5) == ()
    assert even_cuts(dp.Integer(0, 2**30), 2) == (2.0**29,)
    axis = axis_of("k", dp.Integer(1, 3), 10)
    assert axis.points[:, 0].tolist() == [-1, 0, 1]
    one = axis_of("x", dp.Real(5, 9), 1)
    assert one.by is None
    assert one.points.tolist() == [[0]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": KNeighborsClassifier()}, "which KNeighborsClassifier doesn't"),
        (
            {"estimator": make_pipeline(StandardScaler(), LogisticRegression())},
            "not a pipeline: numbers are scaled",
        ),
        ({"estimator": LogisticRegression}, "got estimator class instead"),
        ({"estimator": KMeans()}, "must be a classifier or a regressor"),
        ({"estimator": naive_bayes.GaussianNB()}, "the histogram is private already"),
        ({"estimator": LinearRegression()}, "the estimator is a regressor"),
        ({"bins": 0}, "bins must be at least 1"),
        ({"bins": 2.5}, "bins must be a whole number"),
        ({"bins": {"z": 3}}, "'z' is not among the columns x, k, c"),
        ({"bins": [3, 4]}, "one entry for each of the 3 columns, got 2"),
        ({"bins": {"x": [1, "a"]}}, "cuts"),
        ({"bins": {"x": [1, 0]}}, "increasing numbers"),
        ({"bins": {"x": [9]}}, "strictly between the bounds of 'x'"),
        ({"expected_rows": 0}, "expected_rows must be at least 1"),
    ],
)
def test_bad_arguments(options: dict[str, Any], message: str) -> None:
    ledger = dp.Ledger(limit=dp.PureDP(1))
    with pytest.raises((TypeError, ValueError), match=message):
        HistogramMEstimator(schema=SCHEMA, ledger=ledger, **options).fit(three_answers(5))
    assert len(ledger.entries()) == 1  # nothing was charged


def test_targets_must_suit_the_estimator() -> None:
    schema = dp.Schema(x=dp.Real(0, 1), t=dp.Real(0, 1))
    with pytest.raises(ValueError, match=r"target 't' must be dp.Categorical"):
        HistogramMEstimator(schema=schema).plan()
    with pytest.raises(ValueError, match="more than one class"):
        HistogramMEstimator(bounds=(0, 1), classes=[1]).plan(n_features=1)
    text = dp.Schema(x=dp.Text(), y=dp.Categorical(0, 1))
    with pytest.raises(ValueError, match=r"must be dp.Real, dp.Integer or dp.Categorical"):
        HistogramMEstimator(schema=text).plan()


def test_manners_of_an_estimator_around_another() -> None:
    inner = LogisticRegression(C=3.0)
    model = HistogramMEstimator(inner, bounds=(0, 1), classes=[0, 1], epsilon=5)
    assert model.get_params()["estimator__C"] == 3.0
    copy = clone(model)
    assert copy.estimator is not inner
    assert copy.estimator.C == 3.0
    x, y = two_blobs(1000)
    fitted = clone(model).set_params(estimator__C=0.5).fit(x, y)
    assert fitted.estimator_.C == 0.5
    assert fitted.estimator_ is not fitted.estimator
    assert not hasattr(fitted.estimator, "coef_")
    assert fitted.decision_function(x).shape == (1000,)
    assert is_classifier(model)
    assert not is_regressor(model)
    number = HistogramMEstimator(LinearRegression())
    assert is_regressor(number)
    assert not is_classifier(number)
    assert not hasattr(number, "predict_proba")
    margin = HistogramMEstimator(LinearSVC())
    assert hasattr(margin, "decision_function")
    assert not hasattr(margin, "predict_proba")
    assert cross_val_score(model, x, y, cv=3).mean() > 0.9


def test_the_same_cells_serve_other_estimators_for_nothing() -> None:
    x, y = two_blobs(1000)
    ledger = dp.Ledger(limit=dp.PureDP(1))
    model = HistogramMEstimator(bounds=(0, 1), classes=[0, 1], ledger=ledger).fit(x, y)
    before = model.predict(x)
    other = model.refit(DecisionTreeClassifier(max_depth=3, random_state=0))
    assert len([entry for entry in ledger.entries() if entry.kind == "charge"]) == 1
    assert isinstance(other.estimator_, DecisionTreeClassifier)
    assert other.privacy_ is model.privacy_
    assert (other.weights_ == model.weights_).all()
    assert other.score(x, y) > 0.85
    assert isinstance(model.estimator_, LogisticRegression)
    assert (model.predict(x) == before).all()
    same = other.refit(LogisticRegression())
    assert same.estimator_.coef_ == pytest.approx(model.estimator_.coef_)
    with pytest.raises(ValueError, match="where a classifier was fitted"):
        model.refit(LinearRegression())
    with pytest.raises(TypeError, match="sample_weight"):
        model.refit(KNeighborsClassifier())
    with pytest.raises(NotFittedError):
        HistogramMEstimator().refit(LogisticRegression())


def test_unknown_categories_are_left_out_and_predicted() -> None:
    table = three_answers(200)
    table["c"] = table["c"].astype(object)
    table["c"][:50] = "elsewhere"
    table["y"][50:60] = "never heard of"
    model = HistogramMEstimator(schema=SCHEMA, bins=2, **FREE).fit(table)
    assert model.weights_.sum() == 140
    asked = {"x": [0.5, math.nan], "k": [4, 99], "c": np.array(["elsewhere", "u"], object)}
    assert set(model.predict(asked)) <= {"yes", "no", "maybe"}


def test_small_budgets_on_few_columns() -> None:
    x, y = two_blobs()
    for inner, bar in ((None, 0.93), (DecisionTreeClassifier(max_depth=4, random_state=0), 0.9)):
        scores = []
        for seed in range(5):
            with fixed_noise(seed):
                model = HistogramMEstimator(
                    inner, epsilon=0.2, bounds=(0, 1), classes=[0, 1], expected_rows=4000
                )
                scores.append(model.fit(x, y).score(x, y))
        assert np.mean(scores) > bar
    with fixed_noise(0):  # and a budget that is far too small is seen
        lost = HistogramMEstimator(epsilon=1e-4, bounds=(0, 1), classes=[0, 1]).fit(x, y)
    assert lost.score(x, y) < 0.9


@pytest.mark.skipif(not PIMA.exists(), reason="the table is not here")
def test_a_medical_table() -> None:
    table = pd.read_csv(PIMA)
    x, y = table[["glucose", "bmi"]].to_numpy(float), table["outcome"].to_numpy()
    scores = []
    for seed in range(10):
        with fixed_noise(seed):
            model = HistogramMEstimator(
                bounds=([40, 10], [200, 60]), classes=[0, 1], expected_rows=700, epsilon=1
            )
            scores.append(model.fit(x, y).score(x, y))
    assert np.mean(scores) > 0.71  # 0.65 are without diabetes; without noise 0.77
