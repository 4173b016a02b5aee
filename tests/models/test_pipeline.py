"""The scikit-learn path is as strict as the door: nothing learns from private rows unpaid."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import decomposition
from sklearn import preprocessing as plain
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import discreet as dp
from discreet.matching import ColumnMismatch
from discreet.models.cluster import KMeans
from discreet.models.decomposition import PCA
from discreet.models.linear_model import LinearRegression, LogisticRegression
from discreet.models.pipeline import Pipeline
from discreet.models.preprocessing import QuantileBinner, StandardScaler

DRAW = np.random.default_rng(0)
X = DRAW.random((2000, 3)) * [1, 100, 5]
Y = (X[:, 1] > 50).astype(int)
BOUNDS = ([0, 0, 0], [1, 100, 5])


def ledger(epsilon=10):
    return dp.Ledger(limit=dp.PureDP(epsilon))


def model(**options):
    return LogisticRegression(**{"epsilon": 4, "classes": [0, 1], **options})


def test_private_steps_share_a_ledger_and_hand_on_their_public_bounds():
    book = ledger()
    chain = Pipeline(
        [
            ("scale", StandardScaler(epsilon=4, bounds=BOUNDS, ledger=book)),
            ("model", model(ledger=book)),
        ]
    )
    chain.fit(X, Y)
    assert chain.score(X, Y) > 0.8
    lower, upper = chain[0].output_box()
    moved = chain[0].transform(X)
    assert np.all(lower <= moved)
    assert np.all(moved <= upper)
    declared = chain[-1].columns_.values()
    assert [c.lower for c in declared] == pytest.approx(lower)
    assert [c.upper for c in declared] == pytest.approx(upper)
    assert chain[-1].bounds is None  # parameters are never written to
    with pytest.raises(dp.BudgetExceeded):
        clone(chain).fit(X, Y)


@pytest.mark.parametrize(
    "first",
    [
        lambda book: QuantileBinner(n_bins=4, epsilon=4, bounds=BOUNDS, ledger=book),
        lambda book: PCA(n_components=2, epsilon=4, bounds=BOUNDS, ledger=book),
        lambda book: PCA(n_components=2, whiten=True, epsilon=4, bounds=BOUNDS, ledger=book),
        lambda book: StandardScaler(with_std=False, epsilon=4, bounds=BOUNDS, ledger=book),
    ],
)
def test_what_comes_out_of_our_transformers_lies_in_their_box(first):
    book = ledger()
    step = first(book)
    chain = Pipeline([("first", step), ("model", model(ledger=book))]).fit(X, Y)
    lower, upper = step.output_box()
    far = np.vstack([X, np.full((1, 3), 1e9), np.full((1, 3), -1e9), np.full((1, 3), np.nan)])
    moved = step.transform(far)
    slack = 1e-9 * (1 + np.abs(upper - lower))
    assert np.all(moved >= lower - slack)
    assert np.all(moved <= upper + slack)
    assert chain.predict(X).shape == (2000,)


@pytest.mark.parametrize(
    "step",
    [
        plain.StandardScaler(),
        plain.MinMaxScaler(),
        plain.FunctionTransformer(lambda rows: rows),
        decomposition.PCA(),
        plain.OneHotEncoder(),
        type("Sneaky", (plain.Normalizer,), {})(),
    ],
    ids=lambda step: type(step).__name__,
)
def test_steps_that_learn_unpaid_are_refused_before_any_charge(step):
    book = ledger(4)
    chain = Pipeline([("first", step), ("model", model(ledger=book, bounds=BOUNDS))])
    for method in (chain.fit, chain.fit_transform, chain.fit_predict):
        with pytest.raises(ValueError, match=r"step 'first'.*without being charged"):
            method(X, Y)
    model(ledger=book, bounds=BOUNDS).fit(X, Y)  # all of it is left


def test_steps_that_learn_nothing_pass():
    chain = Pipeline([("none", "passthrough"), ("norm", plain.Normalizer()), ("model", model())])
    assert chain.fit(X, Y).predict(X).shape == (2000,)
    declared = list(chain[-1].columns_.values())
    assert declared == [dp.Real(-1, 1)] * 3
    chain = Pipeline([("binary", plain.Binarizer(threshold=50)), ("model", model())]).fit(X, Y)
    assert chain.score(X, Y) > 0.8


def test_rows_are_not_written_to_a_disk(tmp_path):
    chain = Pipeline([("model", model(bounds=BOUNDS))], memory=str(tmp_path))
    with pytest.raises(ValueError, match="memory"):
        chain.fit(X, Y)


def test_steps_that_are_charged_need_one_ledger():
    one, other = ledger(4), ledger(4)
    for first, second in ((None, None), (one, None), (one, other)):
        scale = StandardScaler(epsilon=4, bounds=BOUNDS, ledger=first)
        chain = Pipeline([("scale", scale), ("model", model(ledger=second))])
        with pytest.raises(ValueError, match="ledger must be given, the same"):
            chain.fit(X, Y)
    model(ledger=one, bounds=BOUNDS).fit(X, Y)
    model(ledger=other, bounds=BOUNDS).fit(X, Y)


def test_other_mistakes_are_named_before_any_charge():
    book = ledger(4)
    groups = KMeans(n_clusters=2, epsilon=4, bounds=BOUNDS, ledger=book)
    with pytest.raises(ValueError, match="'model': bounds must be declared"):
        Pipeline([("groups", groups), ("model", model(ledger=book))]).fit(X, Y)
    first = LinearRegression(epsilon=4, bounds=BOUNDS, target_bounds=(0, 1), ledger=book)
    with pytest.raises(TypeError, match="has no transform"):
        Pipeline([("first", first), ("model", model(ledger=book))]).fit(X, Y)
    public = StandardScaler(epsilon=4, bounds=BOUNDS, unit=dp.PUBLIC)
    with pytest.raises(ValueError, match="same unit"):
        Pipeline([("public", public), ("model", model(ledger=book))]).fit(X, Y)
    with pytest.raises(TypeError, match="sample_weight"):
        Pipeline([("model", model(bounds=BOUNDS, ledger=book))]).fit(X, Y, sample_weight=1)
    model(ledger=book, bounds=BOUNDS).fit(X, Y)


def test_a_box_of_an_earlier_fit_is_forgotten():
    step = model()
    Pipeline([("norm", plain.Normalizer()), ("model", step)]).fit(X, Y)
    with pytest.raises(ValueError, match="bounds must be declared"):
        Pipeline([("model", step)]).fit(X, Y)
    with pytest.raises(ValueError, match="bounds must be declared"):
        clone(step).fit(X, Y)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(X.astype(str), columns=list("abc")).astype(object),
        pd.DataFrame(X.astype(str), columns=list("abc")).astype("string"),
        pd.DataFrame(X.astype(str)).astype(object),
        pd.DataFrame(X, columns=list("abc")).astype(object),
        pl.DataFrame({n: X[:, j].astype(str) for j, n in enumerate("abc")}),
        X.astype(str),
    ],
    ids=["objects", "strings", "unnamed objects", "objects that are numbers", "polars", "array"],
)
def test_text_is_not_fitted_as_numbers(frame):
    book = ledger(4)
    with pytest.raises(ColumnMismatch, match="declared as numbers"):
        model(bounds=BOUNDS, ledger=book).fit(frame, Y)
    with pytest.raises(ColumnMismatch, match="declared as numbers"):
        model(bounds=BOUNDS, ledger=book).fit(frame[:0], Y[:0])  # not a cell decides
    model(bounds=BOUNDS, ledger=book).fit(X.astype(object), Y)


def test_surplus_columns_are_left_out_by_name_in_predict_as_in_fit():
    frame = pd.DataFrame(X, columns=list("abc"))
    schema = dp.Schema(a=dp.Real(0, 1), b=dp.Real(0, 100), c=dp.Real(0, 5), y=dp.Categorical(0, 1))
    wide = frame.assign(y=Y, note="text")
    fitted = LogisticRegression(epsilon=4, schema=schema).fit(wide)
    expected = fitted.predict(frame)
    assert np.array_equal(fitted.predict(wide), expected)
    assert np.array_equal(fitted.predict(wide[["note", "c", "b", "a"]]), expected)
    assert np.array_equal(fitted.predict(wide.to_dict("list")), expected)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(wide[["a", "b", "y"]])
    unnamed = model(bounds=BOUNDS).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert unnamed.predict(frame).shape == (2000,)


def test_classes_that_cannot_be_those_of_y_are_told_as_such():
    book = ledger(4)
    with pytest.raises(ColumnMismatch, match="are text, but y holds numbers"):
        model(bounds=BOUNDS, classes=["yes", "no"], ledger=book).fit(X, Y)
    with pytest.raises(ColumnMismatch, match="are numbers, but y holds text"):
        model(bounds=BOUNDS, ledger=book).fit(X, Y.astype(str))
    frame = pd.DataFrame(X, columns=list("abc"))
    with pytest.raises(ColumnMismatch, match="are text, but y holds numbers"):
        model(bounds=BOUNDS, classes=["yes", "no"], ledger=book).fit(frame, Y)
    model(bounds=BOUNDS, ledger=book).fit(X, Y.astype(object))


def test_a_certificate_says_what_it_covers():
    told = model(bounds=BOUNDS).fit(X, Y).privacy_.certificate
    assert "covers: this fit, and not what was learned from the same rows before it" in told


def test_a_spent_budget_is_an_error_in_cross_validation_and_not_a_nan():
    book = ledger(10)  # two fits of three
    private = model(bounds=BOUNDS, ledger=book)
    with pytest.raises(dp.BudgetExceeded):
        cross_val_score(private, X, Y, cv=3, error_score="raise")
    enough = model(bounds=BOUNDS, ledger=ledger(12))
    assert len(cross_val_score(enough, X, Y, cv=3, error_score="raise")) == 3


def test_a_scaler_hands_categories_on_with_their_declarations() -> None:
    draw = np.random.default_rng(2)
    ward = draw.choice(["A", "B"], 3000)
    rows = {"x": draw.normal(0, 30, 3000), "ward": ward}
    y = np.where(ward == "A", "yes", "no")
    schema = dp.Schema(x=dp.Real(-100, 100), ward=dp.Categorical("A", "B"))
    ledger = dp.Ledger(limit=dp.PureDP(2))
    model = Pipeline(
        [
            ("scale", StandardScaler(epsilon=1, schema=schema, ledger=ledger)),
            ("model", LogisticRegression(epsilon=1, classes=["no", "yes"], ledger=ledger)),
        ]
    ).fit(rows, y)
    scaler, last = model.steps[0][1], model.steps[1][1]
    assert (model.predict(rows) == y).mean() > 0.95  # numbers alone tell nothing
    assert list(last.columns_) == ["x", "ward"]
    assert last.columns_["ward"] == dp.Categorical("A", "B")
    assert abs(scaler.scale_[0] - 30) < 5
    assert (scaler.mean_[1], scaler.scale_[1]) == (0, 1)
    scaled = scaler.transform(rows)
    assert list(scaled) == ["x", "ward"]
    assert abs(scaled["x"].std() - 1) < 0.2
    back = scaler.inverse_transform(scaled)
    assert np.allclose(back["x"], rows["x"].clip(-100, 100))
    assert (back["ward"] == ward).all()
    assert last.columns_["x"].lower <= scaled["x"].min()
    assert scaled["x"].max() <= last.columns_["x"].upper
    with pytest.raises(ValueError, match="all columns are categories"):
        StandardScaler(epsilon=1, schema=dp.Schema(ward=dp.Categorical("A", "B"))).fit(
            {"ward": ward}
        )
