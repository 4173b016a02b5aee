"""Private scaling and binning."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import preprocessing
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

import discreet as dp
from discreet import accounting
from discreet.measures import ZCDP
from discreet.models.cluster import KMeans
from discreet.models.linear_model import LogisticRegression
from discreet.models.pipeline import Pipeline
from discreet.models.preprocessing import MeanImputer, QuantileBinner, StandardScaler
from discreet.testing import fixed_noise

BOUNDS = ([0, -50], [10, 50])


def skewed_and_wide(count: int = 5000) -> Any:
    draw = np.random.default_rng(0)
    return np.clip(np.column_stack([draw.gamma(2, 1, count), draw.normal(3, 9, count)]), *BOUNDS)


def test_scaling_without_noise_is_the_plain_one() -> None:
    x = skewed_and_wide()
    ours = StandardScaler(unit=dp.PUBLIC, epsilon=math.inf, bounds=BOUNDS).fit(x)
    plain = preprocessing.StandardScaler().fit(x)
    assert ours.mean_ == pytest.approx(plain.mean_, abs=1e-3)
    assert ours.scale_ == pytest.approx(plain.scale_, rel=1e-3)
    assert ours.transform(x) == pytest.approx(plain.transform(x), abs=1e-2)
    assert ours.inverse_transform(ours.transform(x)) == pytest.approx(x)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_scaling_is_as_noisy_as_planned(delta: float) -> None:
    x = skewed_and_wide(2000)
    options: dict[str, Any] = {"bounds": BOUNDS, "epsilon": 0.5, "delta": delta, "unit": dp.PUBLIC}
    stated = StandardScaler(**options).plan(rows=2000).noise
    with fixed_noise(0):
        found = [StandardScaler(**options).fit(x) for _ in range(150)]
    for name in ("mean_", "var_"):
        values = np.array([getattr(model, name) for model in found])
        spread = values.std(axis=0) / stated[name]
        assert (spread > 0.6).all()
        assert (spread < 1.7).all()  # the noise of the count, and of the mean within the variance
        assert abs(values.mean(axis=0) / getattr(_exact(x), name) - 1).max() < 0.1


def _exact(x: Any) -> Any:
    return preprocessing.StandardScaler().fit(x)


def test_scaling_in_part() -> None:
    x = skewed_and_wide()
    centred = StandardScaler(with_std=False, bounds=BOUNDS, epsilon=1e4).fit(x)
    assert centred.transform(x) == pytest.approx(x - centred.mean_)
    assert centred.inverse_transform(centred.transform(x)) == pytest.approx(x)
    scaled = StandardScaler(with_mean=False, bounds=BOUNDS, epsilon=1e4).fit(x)
    assert scaled.transform(x) == pytest.approx(x / scaled.scale_)
    assert scaled.inverse_transform(scaled.transform(x)) == pytest.approx(x)
    with pytest.raises(ValueError, match="X has 3 columns, not 2"):
        scaled.inverse_transform(np.zeros((2, 3)))


def test_a_variance_is_never_below_its_noise() -> None:
    """Equal rows and much noise: no cell is blown up."""
    x = np.full((300, 2), [5.0, 0.0])
    for seed in range(5):
        with fixed_noise(seed):
            model = StandardScaler(bounds=BOUNDS, epsilon=0.05).fit(x)
        assert abs(model.transform(x)).max() < 10
        assert (model.var_ > 1e-3).all()


@pytest.mark.parametrize("kind", [StandardScaler, QuantileBinner])
def test_hardly_any_rows(kind: Any) -> None:
    schema = dp.Schema(x=dp.Real(0, 1), c=dp.Real(7, 7), n=dp.Integer(0, 5))
    tables: list[dict[str, Any]] = [
        {"x": [], "c": [], "n": []},
        {"x": [0.3], "c": [7.0], "n": [4]},
        {"x": [math.nan] * 3, "c": [None] * 3, "n": [None] * 3},
    ]
    frame = pd.DataFrame({"x": [math.nan, 0.2], "c": [0.0, 7.0], "n": [99, 2]})
    for table in tables:
        for epsilon in (1e-4, 1, 1e4):
            model = kind(epsilon=epsilon, schema=schema).fit(table)
            found = model.transform(frame)
            assert found.shape == (2, 3)
            assert np.isfinite(found).all()
            assert np.isfinite(model.inverse_transform(found)).all()


def test_bins_without_noise_hold_equal_shares() -> None:
    x = skewed_and_wide()
    model = QuantileBinner(4, unit=dp.PUBLIC, epsilon=math.inf, bounds=BOUNDS).fit(x)
    assert model.bin_edges_.shape == (2, 5)
    assert model.bin_edges_[:, [0, -1]].tolist() == [[0, 10], [-50, 50]]
    for column in model.transform(x).T:
        assert np.bincount(column.astype(int), minlength=4) == pytest.approx(1250, abs=30)
    inner = model.bin_edges_[:, 1:-1]
    assert inner == pytest.approx(np.quantile(x, [0.25, 0.5, 0.75], axis=0).T, abs=0.02)
    assert (model.n_bins_ == 4).all()


def test_private_bins_are_near_and_in_order() -> None:
    x = skewed_and_wide()
    with fixed_noise(4):
        model = QuantileBinner(4, epsilon=1, bounds=BOUNDS).fit(x)
    assert (np.diff(model.bin_edges_, axis=1) >= 0).all()
    for column in model.transform(x).T:
        assert np.bincount(column.astype(int), minlength=4) == pytest.approx(1250, abs=150)
    with fixed_noise(4):
        noise = QuantileBinner(4, epsilon=1e-4, bounds=BOUNDS).fit(x)
    shares = [np.bincount(c.astype(int), minlength=4) for c in noise.transform(x).T]
    assert abs(np.array(shares) - 1250).max() > 150


def test_a_bin_gives_back_its_middle() -> None:
    model = QuantileBinner(2, unit=dp.PUBLIC, epsilon=math.inf, bounds=(0, 8))
    model.fit(np.array([[1.0], [3.0], [5.0], [7.0]]))
    cut = model.bin_edges_[0, 1]
    assert model.transform([[0.0], [cut], [8.0], [math.nan]]).ravel().tolist() == [
        0,
        1,
        1,
        float(cut <= 4),
    ]
    back = model.inverse_transform([[0], [1], [5], [-3]]).ravel()
    assert back == pytest.approx([cut / 2, cut / 2 + 4, cut / 2 + 4, cut / 2])


def test_the_quantiles_cost_what_is_charged() -> None:
    pure = QuantileBinner(5, epsilon="3/2", bounds=(0, 1))
    assert accounting.cost(pure.plan(n_features=7).event, dp.PureDP) == dp.PureDP("3/2")
    few = QuantileBinner(3, epsilon=1, delta=1e-6, bounds=(0, 1)).plan(n_features=2)
    assert few.measure == dp.PureDP(1)  # no delta is needed, and none is charged
    many = QuantileBinner(5, epsilon=1, delta=1e-6, bounds=(0, 1)).plan(n_features=100)
    assert many.measure == dp.ApproxDP(1, 1e-6)
    assert accounting.satisfies(many.event, dp.ApproxDP(1, 1e-6))
    each = accounting.cost(many.event, ZCDP).rho / 400
    assert math.sqrt(8 * each) > 1 / 400  # more for each quantile than pure shares give
    assert (
        QuantileBinner(5, epsilon=1, delta=1e-6, bounds=(0, 1))
        .fit(np.zeros((5, 40)))
        .n_features_in_
        == 40
    )


def test_in_a_pipeline_with_names() -> None:
    frame = pd.DataFrame(skewed_and_wide(200), columns=["a", "b"])
    scaler = StandardScaler(bounds=BOUNDS, epsilon=5).set_output(transform="pandas")
    assert list(scaler.fit_transform(frame).columns) == ["a", "b"]
    pipe = make_pipeline(QuantileBinner(3, bounds=BOUNDS), KMeans(2, bounds=(0, 2)))
    assert set(pipe.fit_predict(skewed_and_wide(200))) <= {0, 1}


@pytest.mark.parametrize("bins", [1, 0, 2.5, "many"])
def test_bad_arguments(bins: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="n_bins must be"):
        QuantileBinner(bins, bounds=BOUNDS).fit(skewed_and_wide(5))


def with_gaps(count: int = 5000, share: float = 0.4) -> Any:
    """Two columns far below the middle of their bounds, a part of the first missing."""
    draw = np.random.default_rng(5)
    x = np.clip(draw.normal([2, -30], [1, 5], (count, 2)), *BOUNDS)
    x[draw.random(count) < share, 0] = math.nan
    return x


def test_filling_without_noise_is_the_plain_one() -> None:
    x = with_gaps()
    ours = MeanImputer(unit=dp.PUBLIC, epsilon=math.inf, bounds=BOUNDS).fit(x)
    plain = SimpleImputer().fit(x)
    assert ours.statistics_ == pytest.approx(plain.statistics_, abs=1e-3)
    assert ours.transform(x) == pytest.approx(plain.transform(x), abs=1e-3)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_missing_cells_do_not_pull_a_bought_mean_to_the_middle(delta: float) -> None:
    """The standard error of the noise is 0.007 and less of a width of 10."""
    x = with_gaps()
    with fixed_noise(0):
        model = MeanImputer(epsilon=1, delta=delta, bounds=BOUNDS).fit(x)
        scaler = StandardScaler(epsilon=1, delta=delta, bounds=BOUNDS).fit(x)
    assert abs(model.statistics_[0] - np.nanmean(x[:, 0])) < 0.05
    assert scaler.mean_[0] > np.nanmean(x[:, 0]) + 1  # which counts them as the middle, 5
    assert model.privacy_.claims == ("mean-imputer",)


def test_a_tenth_of_the_budget_for_means_pays_where_many_cells_are_missing() -> None:
    """Over twelve draws of noise the area under the curve is 0.76 to 0.77, and 0.61 to 0.64 without means."""
    draw = np.random.default_rng(6)
    x = with_gaps(3000)
    y = (draw.random(3000) < 1 / (1 + np.exp(4 - 2 * np.nan_to_num(x[:, 0], nan=2)))).astype(int)

    def score(*steps: Any) -> float:
        ledger = dp.Ledger(limit=dp.PureDP(1))
        for step in steps:
            step.set_params(ledger=ledger)
        pipeline = Pipeline([(str(at), step) for at, step in enumerate(steps)]).fit(x, y)
        return float(roc_auc_score(y, pipeline.predict_proba(x)[:, 1]))

    with fixed_noise(1):
        filled = score(
            MeanImputer(epsilon="0.1", bounds=BOUNDS),
            LogisticRegression(epsilon="0.9", classes=[0, 1]),
        )
        middle = score(LogisticRegression(epsilon=1, bounds=BOUNDS, classes=[0, 1]))
    assert filled > middle + 0.1


def test_an_imputer_hands_categories_on_and_needs_a_number() -> None:
    schema = dp.Schema(x=dp.Real(0, 1), c=dp.Categorical("a", "b"))
    rows = {"x": np.array([0.1, math.nan, 0.2] * 200), "c": np.array(["a", "b", "a"] * 200)}
    with fixed_noise(2):
        model = MeanImputer(epsilon=1, schema=schema).fit(rows)
    found = model.transform(rows)
    assert found["c"].tolist() == rows["c"].tolist()
    assert found["x"][1] == model.statistics_[0] == pytest.approx(0.15, abs=0.05)
    assert model.statistics_[1] == 0
    assert model.output_box() == dict(schema.base)
    with pytest.raises(ValueError, match="MeanImputer takes numbers, and all columns"):
        MeanImputer(epsilon=1, schema=dp.Schema(c=schema.base["c"])).fit({"c": rows["c"]})


def test_an_imputer_of_hardly_any_rows_stays_between_the_bounds() -> None:
    schema = dp.Schema(x=dp.Real(2, 3), c=dp.Real(7, 7), n=dp.Integer(0, 5))
    for cells in ([], [None], [math.nan] * 3):
        for epsilon in (1e-4, 1, 1e4):
            model = MeanImputer(epsilon=epsilon, schema=schema).fit(dict.fromkeys("xcn", cells))
            found = model.transform(pd.DataFrame({"x": [math.nan, 9], "c": [0.0, 7], "n": [99, 2]}))
            assert ((found >= [2, 7, 0]) & (found <= [3, 7, 5])).all()
