"""What stands in one row changes nothing about the other rows, and raises nothing."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hostile import HOSTILE, hostile

import discreet as dp
from discreet.models.linear_model import LogisticRegression, SimpleLinearRegression
from discreet.models.naive_bayes import CategoricalNB, GaussianNB
from discreet.testing import fixed_noise

PERSON = dp.Unit(dp.ADD_REMOVE, id_column="person", max_rows=1)
FRAMES = {"polars": pl.DataFrame, "pyarrow": pa.table}


def counts(model):
    return np.round(model.class_count_).tolist()


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_a_null_id_does_not_make_other_persons_one(frame):
    """As doubles, ids beyond 2^53 would fall together as soon as one cell is null."""
    n = 300
    ids, x, y = [2**60 + i for i in range(n)], [0.5] * n, [0, 1] * (n // 2)
    model = GaussianNB(epsilon=100, bounds=(0, 1), classes=[0, 1], unit=PERSON)
    found = []
    for more in ([], [None]):
        table = frame({"x": x + [0.5] * len(more), "person": ids + more})
        with fixed_noise(1):
            found.append(counts(model.fit(table, y + [0] * len(more))))
        with fixed_noise(1):
            groups = pl.Series(ids + more) if frame is pl.DataFrame else pa.array(ids + more)
            X = np.full((n + len(more), 1), 0.5)
            found.append(counts(model.fit(X, y + [0] * len(more), groups=groups)))
    assert found[0] == found[1] == found[2] == found[3]
    assert found[0] == pytest.approx([n / 2, n / 2], abs=2)


@pytest.mark.parametrize("cells", [[True, False], [True, None]])
def test_a_null_does_not_decide_whether_a_type_fits(cells):
    model = CategoricalNB(categories=["no", "yes"], classes=[0, 1])
    with pytest.raises(TypeError, match="declared as text"):
        model.fit(pl.DataFrame({"x": cells}), [0, 1])


@pytest.mark.parametrize(
    ("classes", "y", "words"),
    [
        ([0, 1], pl.Series(["no", "yes"] * 5), r"classes=\[0, 1\] are numbers, but y holds text"),
        (
            ["no", "yes"],
            pl.Series([0, 1] * 5),
            r"are text, but y holds numbers: declare the classes",
        ),
        (
            ["no", "yes"],
            np.array([0, 1] * 5),
            r"are text, but y holds numbers: declare the classes",
        ),
    ],
)
def test_classes_of_another_type_are_told_as_such_before_a_charge(classes, y, words):
    ledger = dp.Ledger(limit=dp.PureDP(1))
    model = GaussianNB(bounds=(0, 1), classes=classes, ledger=ledger)
    with pytest.raises(TypeError, match=words):
        model.fit(np.ones((10, 1)), y)
    with pytest.raises(TypeError, match=words.replace("y holds", "column 'y' holds")):
        model.fit(pl.DataFrame({"x": [1.0] * 10, "y": y}), target="y")
    assert len(ledger.entries()) == 1


def test_masked_cells_are_null():
    masked = np.ma.masked_array(np.full((400, 1), 9.0), mask=True)
    y = np.repeat([0, 1], 200)
    model = GaussianNB(epsilon=1000, bounds=(0, 10), classes=[0, 1])
    assert model.fit(masked, y).theta_.ravel() == pytest.approx([5, 5], abs=0.1)
    assert model.fit({"x": masked[:, 0]}, y).theta_.ravel() == pytest.approx([5, 5], abs=0.1)
    nobody = np.ma.masked_array(y, mask=y == 1)
    assert model.fit(np.full((400, 1), 5.0), nobody).class_count_[1] < 5
    assert len(model.predict(masked[:3])) == 3


LISTED = {
    "ragged": [[1.0, 2.0], [3.0], [4.0, 5.0, 6.0]],
    "a short first row": [[1.0], [3.0, 4.0], [4.0, 5.0]],
    "an empty first row": [[], [3.0, 4.0], [4.0, 5.0]],
    "a long first row": [[1.0, 2.0, 3.0], [3.0, 4.0], [4.0, 5.0]],
    "no row": [[1.0, 2.0], None, "text"],
    "no first row": [None, [1.0, 2.0], [3.0, 4.0]],
    "a number first": [7.0, [1.0, 2.0], [3.0, 4.0]],
    "lists in cells": [[[1.0], [2.0]], [[3.0], [4.0]], [5.0, 6.0]],
    "ragged lists in cells": [[[1.0, [2.0]], [2.0]], [[3.0], [[4.0], 1.0]], [5.0, 6.0]],
    "arrays in cells": [[np.array([1.0, 2.0]), np.array(3.0)], [np.zeros((2, 2)), 1.0], [5.0, 6.0]],
    "masked cells": [[np.ma.masked, 1.0], [2.0, np.ma.masked], [5.0, 6.0]],
    "masked rows": [np.ma.masked_array([1.0, 2.0], mask=[True, False]), [2.0, 3.0], [5.0, 6.0]],
    "arrays of one cell": [np.array(1.0), np.array([[1.0, 2.0]]), np.array([5.0, 6.0])],
    "durations": [np.array(["2020", "2021"], "M8[ns]"), [2.0, 3.0], [5.0, 6.0]],
    "hostile rows": [hostile(list, [1.0, 2.0]), hostile(tuple, (1.0, 2.0)), hostile(object)],
    "hostile cells": [[cell for cell, _ in HOSTILE], [hostile(float, 2.5), 1.0], [5.0, 6.0]],
}
DECLARED = {
    "bounds": GaussianNB(epsilon=1000, bounds=([0, 0], [10, 10]), classes=[0, 1]),
    "schema": GaussianNB(
        epsilon=1000,
        schema=dp.Schema(a=dp.Real(0, 10), b=dp.Real(0, 10), y=dp.Categorical(0, 1)),
    ),
}


@pytest.mark.parametrize("model", DECLARED.values(), ids=DECLARED)
@pytest.mark.parametrize("rows", LISTED.values(), ids=LISTED)
def test_rows_of_a_list_raise_nothing(rows, model):
    model.fit(rows, [0, 1, 0])
    assert model.n_features_in_ == 2
    assert model.theta_.shape == (2, 2)
    assert np.isfinite(model.predict_proba([[1.0, 2.0]])).all()


def test_a_list_of_rows_is_read_like_an_array():
    rows = [[1.0, 9.0]] * 300 + [(3.0, 7.0)] * 100 + [np.array([3.0, 7.0])] * 200
    y = [0] * 300 + [1] * 300
    model = DECLARED["bounds"].fit(rows, y)
    assert model.theta_ == pytest.approx(np.array([[1, 9], [3, 7]]), abs=0.2)


@pytest.mark.parametrize("rows", [*LISTED.values(), [], [[1.0, 2.0]] * 3])
def test_the_width_of_a_list_is_never_taken_from_a_row(rows):
    """With bounds for all features alike nothing declares how many there are."""
    with pytest.raises(ValueError, match="nothing declares how many columns") as caught:
        GaussianNB(bounds=(0, 10), classes=[0, 1]).fit(rows, [0] * len(rows))
    assert "np.array" not in str(caught.value)


def test_no_rows_in_a_list():
    model = GaussianNB(bounds=([0, 0], [10, 10]), classes=[0, 1]).fit([], [])
    assert model.n_features_in_ == 2
    schema = dp.Schema(a=dp.Real(0, 1), y=dp.Categorical(0, 1))
    assert GaussianNB(schema=schema).fit([], []).n_features_in_ == 1


def test_a_delta_that_is_not_used_is_not_charged():
    model = SimpleLinearRegression(
        epsilon=1,
        delta=1e-6,
        method="theil_sen",
        bounds=(0, 1),
        target_bounds=(0, 1),
        ledger=dp.Ledger(limit=dp.PureDP(1)),
    )
    model.fit(np.linspace(0, 1, 50)[:, None], np.linspace(0, 1, 50))
    assert model.privacy_.measure == dp.PureDP(1)


def test_a_budget_may_be_text():
    model = LogisticRegression(epsilon="1/3", bounds=([0], [1]), classes=[0, 1])
    assert model.plan(rows=100).measure == dp.PureDP("1/3")


@pytest.mark.parametrize("wrong", [{"classes": "ab"}, {"bounds": "01"}])
def test_text_is_no_list_of_classes_and_no_pair_of_bounds(wrong):
    X, y = np.full((20, 1), 0.5), ["a", "b"] * 10
    model = GaussianNB(**{"epsilon": 1, "bounds": (0, 1), "classes": ["a", "b"], **wrong})
    with pytest.raises(
        (TypeError, ValueError), match=f"^{next(iter(wrong))} must be a (list|pair)"
    ):
        model.fit(X, y)
