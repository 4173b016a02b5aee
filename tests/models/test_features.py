"""Parts of dates and other derived columns as features: as if they stood in the table, on every engine."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from examples import learned

import discreet as dp
from discreet.models.boosting import AdditiveBoostingClassifier
from discreet.models.cluster import KMeans
from discreet.models.files import ModelFileError, from_json, to_json
from discreet.models.linear_model import LinearRegression, LogisticRegression
from discreet.models.metrics import private_score
from discreet.models.model_selection import PrivateSearch, ThresholdClassifier
from discreet.models.naive_bayes import CategoricalNB, GaussianNB, MixedNB
from discreet.testing import ESTIMATORS, Example, fixed_noise

ROWS = 300
DRAW = np.random.default_rng(8)
DAYS = np.datetime64("2023-01-01") + DRAW.integers(0, 730, ROWS)
MONTH = (DAYS.astype("M8[M]").astype(int) % 12) + 1
X = DRAW.uniform(0, 1, ROWS)
TARGETS = {
    "class": ((MONTH > 6).astype(int), dp.Categorical(0, 1)),
    "number": (MONTH / 12 + X / 10, dp.Real(0, 2)),
    "none": (np.zeros(ROWS), dp.Real(0, 1)),
}
DERIVED = {
    "month": dp.Month("day"),
    "weekday": dp.Weekday("day"),
    "band": dp.Bins("x", [0.25, 0.5], ["low", "middle", "high"]),
}
#: What can't take part: models around others score them on rows, and masks are made of whole rows.
WITHOUT = ("PrivateSearch", "ThresholdClassifier", "MaskedData", "SimpleLinearRegression")
FITTING = [e for e in ESTIMATORS if not any(name in str(e) for name in WITHOUT)]
fitting = pytest.mark.parametrize("example", FITTING, ids=str)


def open_table(example: Example | str, form: Any = None) -> dp.PrivateDataset:
    """Days, numbers and a target; months and bands are derived."""
    target = example if isinstance(example, str) else example.target
    values, column = TARGETS[target]
    rows: dict[str, Any] = {"day": DAYS, "x": X, "y": values}
    accepted = not isinstance(example, str) and example.accept_assumed
    schema = dp.Schema(day=dp.Date("2023-01-01", "2024-12-31"), x=dp.Real(0, 1), y=column)
    ledger = dp.Ledger(limit=dp.PureDP(50), accept_assumed=accepted)
    source = rows if form is None else form(rows)
    return dp.PrivateDataset(source, schema.derive(**DERIVED), ledger=ledger)


def open_oracle(example: Example, as_numbers: bool) -> dp.PrivateDataset:
    """The same, with months and bands that stand in the table."""
    values, column = TARGETS[example.target]
    place = np.digitize(X, [0.25, 0.5])
    month: Any = dp.Integer(1, 12) if as_numbers else dp.Categorical(*range(1, 13), unknown=1)
    band: Any = (
        dp.Integer(0, 2) if as_numbers else dp.Categorical("low", "middle", "high", unknown="low")
    )
    bands = place if as_numbers else np.array(["low", "middle", "high"])[place]
    schema = dp.Schema(x=dp.Real(0, 1), month=month, band=band, y=column)
    ledger = dp.Ledger(limit=dp.PureDP(50), accept_assumed=example.accept_assumed)
    rows = {"x": X, "month": MONTH, "band": bands, "y": values}
    return dp.PrivateDataset(rows, schema, ledger=ledger)


def fit(model: Any, data: dp.PrivateDataset, target: str | None = "y") -> Any:
    names = ["month", "band"] if isinstance(model, CategoricalNB) else ["month", "x", "band"]
    with fixed_noise(5):
        return model.fit(data, target=target, features=names)


def to_duckdb(rows: dict[str, Any]) -> Any:
    import duckdb
    import pandas as pd

    frame = pd.DataFrame(rows)  # noqa: F841
    return duckdb.sql("select cast(day as date) as day, x, y from frame")


def to_polars(rows: dict[str, Any]) -> Any:
    import polars as pl

    return pl.DataFrame(rows).lazy()


@fitting
def test_derived_features_are_learned_from_as_if_they_stood_in_the_table(example: Example) -> None:
    model = example.build(epsilon=1)
    target = None if model._target == "none" else "y"
    oracle = open_oracle(example, model._numbers_only)
    data = open_table(example)
    try:
        wanted = fit(example.build(epsilon=1), oracle, target or "y")
    except ValueError:  # one that takes numbers only by one of its methods
        with pytest.raises(ValueError, match="takes numbers only"):
            fit(model, data, target or "y")
        assert len(list(data.ledger.entries())) == 1
        return
    found = fit(model, data, target or "y")
    assert learned(found) == learned(wanted)
    names = list(found.feature_names_in_)
    assert [name for name in names if name != "x"] == ["month", "band"]
    act = "predict" if hasattr(found, "predict") else "transform"
    rows = {"day": DAYS, "x": X}
    place = np.digitize(X, [0.25, 0.5])
    bands = place if model._numbers_only else np.array(["low", "middle", "high"])[place]
    cells = {"month": MONTH, "x": X, "band": bands}
    told = getattr(wanted, act)({name: cells[name] for name in names})
    assert np.array_equal(getattr(found, act)(rows), told)


@pytest.mark.parametrize(
    "kind", [MixedNB, AdditiveBoostingClassifier, LogisticRegression, GaussianNB]
)
@pytest.mark.parametrize("form", [to_duckdb, to_polars])
def test_derived_features_are_the_same_on_every_engine(kind: Any, form: Any) -> None:
    here, there = (fit(kind(epsilon=1), open_table("class", f)) for f in (None, form))
    assert learned(here) == learned(there)
    with fixed_noise(6):
        other = kind(epsilon=1).fit(
            open_table("class"), target="y", features=["month", "x", "band"]
        )
    assert learned(other) != learned(here)


def test_what_depends_on_the_month_is_learned() -> None:
    data = open_table("class")
    months = MixedNB(epsilon=8).fit(data, target="y", features=["month"])
    values = TARGETS["class"][0]
    assert (months.predict({"day": DAYS}) == values).mean() > 0.95
    plain = MixedNB(epsilon=8).fit(data, target="y", features=["x"])
    assert (plain.predict({"x": X}) == values).mean() < 0.7
    assert private_score(months, data, "accuracy", dp.PureDP(5), target="y").value > 0.9


def test_derived_columns_that_nobody_named_are_left_out_with_a_word() -> None:
    with pytest.warns(
        UserWarning, match="derived columns .month, weekday, band. are not learned from"
    ):
        model = GaussianNB(epsilon=1).fit(
            dp.PrivateDataset(
                {"x": X, "y": TARGETS["class"][0]},
                dp.Schema(x=dp.Real(0, 1), y=dp.Categorical(0, 1)).derive(
                    month=dp.Bins("x", [0.1]), weekday=dp.Bins("x", [0.2]), band=dp.Bins("x", [0.3])
                ),
                ledger=dp.Ledger(limit=dp.PureDP(1)),
            )
        )
    assert list(model.feature_names_in_) == ["x"]


def test_models_with_derived_features_are_kept_in_files() -> None:
    model = fit(AdditiveBoostingClassifier(epsilon=2), open_table("class"))
    text = to_json(model)
    again = from_json(text)
    rows = {"day": DAYS, "x": X}
    assert np.array_equal(again.predict_proba(rows), model.predict_proba(rows))
    with pytest.raises(ModelFileError):
        from_json(text.replace('"month"', '"moonth"', 1))


def test_wrong_features_are_refused_before_a_charge() -> None:
    data = open_table("class")
    for wrong, error, told in (
        (["mont"], KeyError, "Did you mean 'month'"),
        (["y"], ValueError, "is the target"),
        (["x", "x"], ValueError, "named twice"),
        ("month", TypeError, "must be names"),
        ([], TypeError, "must be names"),
    ):
        with pytest.raises(error, match=told):
            MixedNB(epsilon=1).fit(data, target="y", features=wrong)
    from_target = dp.PrivateDataset(
        {"x": X, "y": TARGETS["number"][0]},
        dp.Schema(x=dp.Real(0, 1), y=dp.Real(0, 2)).derive(band=dp.Bins("y", [0.5])),
        ledger=dp.Ledger(limit=dp.PureDP(1)),
    )
    with pytest.raises(ValueError, match="derived from the target"):
        LinearRegression(epsilon=1).fit(from_target, target="y", features=["x", "band"])
    near = data.with_schema(data.schema.derive(near=dp.Nearest("x", [(0.1,), (0.9,)])))
    with pytest.raises(ValueError, match="has no order"):
        GaussianNB(epsilon=1).fit(near, target="y", features=["near"])
    assert len(list(data.ledger.entries())) == 1


def test_rows_to_predict_for_need_the_columns_that_features_are_derived_from() -> None:
    model = fit(MixedNB(epsilon=1), open_table("class"))
    for rows in ({"x": X}, np.zeros((3, 3)), {"month": MONTH, "x": X, "band": MONTH}):
        with pytest.raises(ValueError, match="is computed from them"):
            model.predict(rows)


def test_clusters_of_public_rows_have_labels_by_derived_features() -> None:
    frame = {"day": DAYS, "x": X}
    schema = dp.Schema(day=dp.Date("2023-01-01", "2024-12-31"), x=dp.Real(0, 1))
    model = KMeans(2, epsilon=np.inf, unit=dp.PUBLIC, schema=schema.derive(month=dp.Month("day")))
    model.fit(frame, features=["x", "month"])
    assert len(model.labels_) == ROWS


@pytest.mark.parametrize("around", [PrivateSearch, ThresholdClassifier])
def test_models_around_others_refuse_derived_features_before_anything_is_charged(
    around: Any,
) -> None:
    data = open_table("class")
    inner = LogisticRegression()
    model = around(inner, {"alpha": [1, 10]}) if around is PrivateSearch else around(inner)
    with pytest.raises(ValueError, match="'month' is derived"):
        fit(model, data)
    assert data.ledger is not None
    assert data.ledger.spent() == dp.PureDP(0)
    with fixed_noise(5):
        model.fit(data, target="y", features=["day", "x"])
    assert data.ledger.spent() == dp.PureDP(1)


def test_a_derived_target_is_learned_beside_features_on_a_logarithmic_scale() -> None:
    costs = np.random.default_rng(0).lognormal(6, 1, 3000)
    schema = dp.Schema(cost=dp.Real(0, 1e6), rent=dp.Real(0, 1e5)).derive(
        band=dp.Bins("cost", [400])
    )
    rows = {"cost": costs, "rent": costs / 10}
    for features in (["rent"], ["cost", "rent"], None):
        data = dp.PrivateDataset(rows, schema, ledger=dp.Ledger(limit=dp.PureDP(5)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # derived columns that nobody asked to learn from
            model = MixedNB(epsilon=5).fit(data, target="band", features=features)
        wanted = np.where(costs < 400, "[0, 400)", "[400, 1000000]")
        assert np.mean(model.predict(rows) == wanted) > 0.8  # 0.88 to 0.9; the larger part is 0.5
    data = dp.PrivateDataset(rows, schema, ledger=dp.Ledger(limit=dp.PureDP(5)))
    with pytest.raises(
        ValueError, match="'band' is a derived column, which this model can't learn"
    ):
        LogisticRegression(epsilon=1).fit(data, target="band", features=["rent"])
    assert data.ledger.spent() == dp.PureDP(0)
