"""A column on a logarithmic scale tells a linear model its order of magnitude and its value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.coding import VALUE_BITS
from discreet.columns import Logarithmic
from discreet.models.erm import FeatureMap
from discreet.models.erm.features import ONE, clamp_values
from discreet.models.linear_model import LogisticRegression
from discreet.models.svm import LinearSVC

WIDE = (Logarithmic(dp.Real(0, 100_000)), Logarithmic(dp.Integer(-20_000, 3000)))
COLUMNS = (WIDE[0], dp.Categorical("a", "b"), WIDE[1], dp.Real(-1, 1))
LAST = (2**VALUE_BITS, 1, 2**VALUE_BITS, 2**VALUE_BITS)


def gains(count: int, seed: int) -> tuple[dict[str, Any], Any]:
    """Most have no gain; of the others those with a large one belong to class 1, as in Adult."""
    draw = np.random.default_rng(seed)
    gain = np.where(draw.random(count) < 0.7, 0.0, 10 ** draw.uniform(2, 5, count))
    chance = np.where(gain == 0, 0.25, np.where(gain < 7000, 0.05, 0.95))
    return {"gain": gain}, np.where(draw.random(count) < chance, "yes", "no")


@pytest.mark.parametrize("constant", [True, False])
def test_a_column_on_a_logarithmic_scale_has_its_place_and_its_value(constant: bool) -> None:
    features = FeatureMap(COLUMNS, constant, 100, values=True)
    codes = np.random.default_rng(0).integers(0, np.array(LAST) + 1, (500, 4))
    codes[0] = 0
    block = features.block(codes)
    plain = FeatureMap(COLUMNS, constant, 100).block(codes)
    assert features.width == 7 + constant == block.shape[1]
    assert (np.abs(np.delete(block, [1, 5], axis=1) - plain) <= 1).all()
    for place, at, column, reach in ((0, 1, WIDE[0], 25_000), (2, 5, WIDE[1], 5000)):
        scaled = column.lower + codes[:, place] * (column.width / 2**VALUE_BITS)
        wanted = np.clip(column.to_source(scaled) / reach, -1, 1) * ONE
        assert (np.abs(block[:, at] - wanted) <= 2).all()


def test_values_are_counted_in_the_bounds_of_a_row() -> None:
    """At their upper bounds, unclipped, every feature of a row is at its largest: both bounds are reached."""
    for norm in (100, 2, None):
        features = FeatureMap(COLUMNS[:2], True, norm, values=True)
        codes = np.stack([np.array(LAST[:2]), np.array([0, -1])])
        block = features.block(codes)
        assert (np.abs(block).sum(axis=1) <= features.length).all()
        assert ((block**2).sum(axis=1) <= features.radius**2).all()
        assert (np.abs(block) <= ONE).all()
    wide = FeatureMap(COLUMNS[:2], True, 100, values=True)
    assert wide.block(codes)[0].tolist() == [ONE, ONE, 0, ONE, ONE]
    assert wide.length == 4 * ONE
    assert wide.radius == 2 * ONE


def test_values_are_clamped_to_a_quarter_of_the_larger_bound() -> None:
    """Also where the inverse of the scale overshoots a bound by its rounding."""
    for column, reach in zip(WIDE, (25_000.0, 5000.0), strict=True):
        values = clamp_values(column, np.array([column.lower, column.upper, 20.0, -20.0]))
        assert np.abs(values).max() == reach
        assert values[2] == -values[3] == reach


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_predictions_are_those_of_the_learned_features(kind: Any) -> None:
    rows, label = gains(2000, 1)
    schema = dp.Schema(gain=dp.Real(0, 100_000), bought=dp.Categorical("no", "yes"))
    model = kind(epsilon=np.inf, unit=dp.PUBLIC, schema=schema, norm=100)
    model.fit({**rows, "bought": label}, target="bought")
    assert model.coef_.shape == (1, 2)
    scale = Logarithmic(dp.Real(0, 100_000))
    wanted = model.coef_[0, 0] * scale.to_scale(rows["gain"]) + model.intercept_[0]
    wanted = wanted + model.coef_[0, 1] * np.minimum(rows["gain"], 25_000)
    assert model.decision_function(rows) == pytest.approx(wanted)


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_what_depends_on_the_value_itself_is_learned_too(kind: Any) -> None:
    """Accuracy over 20 fits: 0.799 ± 0.001 (standard deviation), at most 0.785 with the logarithm alone."""
    rows, label = gains(10_000, 2)
    schema = dp.Schema(gain=dp.Real(0, 100_000), bought=dp.Categorical("no", "yes"))
    model = kind(epsilon=1, schema=schema).fit({**rows, "bought": label}, target="bought")
    others, truth = gains(20_000, 3)
    assert np.mean(model.predict(others) == truth) > 0.793


def test_functional_logistic_regression_has_no_slope_for_the_value() -> None:
    rows, label = gains(2000, 4)
    schema = dp.Schema(gain=dp.Real(0, 100_000), bought=dp.Categorical("no", "yes"))
    model = LogisticRegression(epsilon=1, schema=schema, method="functional")
    model.fit({**rows, "bought": label}, target="bought")
    assert model.coef_.shape == (1, 2)
    assert model.coef_[0, 1] == 0
    assert np.isfinite(model.predict_proba(rows)).all()
