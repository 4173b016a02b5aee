"""How sure forests may be: what it costs, which bins are asked about, and the lines drawn through them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import discreet as dp
from discreet import events, testing
from discreet.accounting import satisfies
from discreet.models.tree import RandomDecisionForest, RandomDecisionForestRegressor
from discreet.models.tree.calibration import (
    BINS,
    MIN_SLOPE,
    Line,
    ScoreBins,
    class_line,
    mean_line,
)
from discreet.models.tree.structure import leaves_of
from discreet.schema import Tree

SCHEMA = dp.Schema(a=dp.Real(0, 1), b=dp.Integer(0, 9), t=dp.Categorical(0, 1))
NUMBERS = dp.Schema(a=dp.Real(0, 1), b=dp.Integer(0, 9), t=dp.Real(0, 4))
UNITS = {
    "add": (dp.Unit(dp.ADD_REMOVE), 1),
    "replace": (dp.Unit(dp.REPLACE_ONE), 2),
    "replaced persons": (dp.Unit(dp.REPLACE_ONE, "id", 3), 6),
}
MIDDLES = np.linspace(-4, 4, BINS)

# Prices.


@pytest.mark.parametrize("share", ["budget", "rows"])
@pytest.mark.parametrize("name", list(UNITS))
def test_a_twentieth_buys_the_line_and_the_rest_the_leaves(name: str, share: str) -> None:
    unit, moved = UNITS[name]
    forest = RandomDecisionForest(
        epsilon=2, schema=SCHEMA, unit=unit, n_estimators=8, share=share, calibrate=True
    )
    plan = forest.plan(rows=1000)
    trees = 8 if share == "budget" else 1
    leaves = events.DiscreteLaplace(moved * trees / Fraction("1.9"), moved * trees)
    assert plan.event == events.Compose(leaves, events.DiscreteLaplace(Fraction(moved * 10), moved))
    assert plan.measure == dp.PureDP(2)
    assert satisfies(plan.event, plan.measure)


@pytest.mark.parametrize("kind", [RandomDecisionForest, RandomDecisionForestRegressor])
def test_with_a_delta_the_noise_that_is_smaller_on_leaves(kind: Any) -> None:
    schema = SCHEMA if kind is RandomDecisionForest else NUMBERS
    options = {"epsilon": 1, "delta": "1e-6", "schema": schema, "calibrate": True}
    many, one = (kind(n_estimators=count, **options).plan(rows=1000) for count in (64, 1))
    leaves, line = many.event.events
    assert isinstance(leaves, events.Gaussian)
    assert isinstance(line, events.Gaussian)
    mu = [float(each.sensitivity_squared) / float(each.sigma) ** 2 for each in (leaves, line)]
    assert mu[1] / sum(mu) == pytest.approx(1 / 20, rel=1e-6)
    assert satisfies(many.event, dp.ApproxDP(1, "1e-6"))
    assert all(isinstance(each, events.DiscreteLaplace) for each in one.event.events)
    assert one.measure == dp.PureDP(1)


@pytest.mark.parametrize(
    ("kind", "schema", "fewest"),
    [
        (RandomDecisionForest, SCHEMA, 1000),
        (RandomDecisionForestRegressor, NUMBERS, 10_000),
        (RandomDecisionForest, SCHEMA.replace(t=dp.Categorical(0, 1, 2)), math.inf),
        (RandomDecisionForest, SCHEMA.replace(a=dp.Real(1, 1), b=dp.Integer(1, 1)), math.inf),
    ],
    ids=["classes", "numbers", "three classes", "nothing to split"],
)
def test_the_default_follows_from_public_facts(kind: Any, schema: Any, fewest: float) -> None:
    def asks(**options: Any) -> int:
        return len(kind(schema=schema, **options).plan(rows=10).queries)

    for rows in (500, 999, 1000, 9999, 10_000, 1_000_000):
        assert asks(epsilon=1, expected_rows=rows) == (2 if rows >= fewest else 1)
        assert asks(epsilon=2, expected_rows=rows) == (2 if 2 * rows >= fewest else 1)
        assert asks(epsilon=1, expected_rows=rows, calibrate=False) == 1
    assert asks(calibrate=True, expected_rows=1) == (1 if fewest == math.inf else 2)


def test_calibrate_is_none_or_a_truth_value() -> None:
    with pytest.raises(ValueError, match="calibrate must be None, True or False"):
        RandomDecisionForest(schema=SCHEMA, calibrate="yes").plan()


# Bins.


def draw_rows(count: int, seed: int = 0) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    a, b = draw.random(count), draw.integers(0, 10, count)
    return {"a": a, "b": b, "t": (draw.random(count) < expit(3 * a + b / 3 - 3)).astype(int)}


@pytest.mark.parametrize("share", ["budget", "rows"])
def test_a_row_is_in_the_bin_of_what_trees_add_up_to(share: str) -> None:
    rows = draw_rows(3000)
    data = dp.PrivateDataset(rows, SCHEMA, unit=dp.PUBLIC)
    forest = RandomDecisionForest(
        epsilon=math.inf, n_estimators=16, share=share, random_state=0, calibrate=True
    ).fit(data)
    noised, scores = forest._scores()
    bins = ScoreBins.from_leaves(noised, scores)
    trees = list(map(Tree, forest.trees_))
    query = forest._line_query(forest.plan(data).facts, trees, scores, bins)
    counted = np.ravel(data.release(query, dp.PureDP(math.inf)).value[0])
    leaves = leaves_of(forest.trees_, forest._rows({"a": rows["a"], "b": rows["b"]}))
    score = sum(each[leaves[:, tree]] for tree, each in enumerate(scores))
    place = np.clip((score - bins.lower) // bins.width, 0, BINS - 1)
    expected = np.bincount((place * 2 + rows["t"]).astype(int), minlength=2 * BINS)
    # a tree's evidence is rounded to a 64th of a bin
    assert np.abs(counted - expected).sum() <= 2 * 0.03 * len(score)
    assert counted.sum() == 3000
    assert (np.abs(bins.middles - score[:, None]).min(axis=1) <= bins.width / 2).mean() > 0.8


def test_bins_of_leaves_that_say_nothing() -> None:
    for rows in (np.zeros(4), np.array([-3.0, 5, 0, 1])):
        bins = ScoreBins.from_leaves([rows] * 2, [np.zeros(4)] * 2)
        assert bins.width > 0
        assert np.isfinite(bins.middles).all()
        assert bins.middles.mean() == pytest.approx(0, abs=1e-12)


# Lines.


def classes_in_bins(shift: float, slope: float, log_odds: float, rows: float) -> Any:
    weights = np.exp(-(MIDDLES**2) / 4)
    weights *= rows / weights.sum()
    p = expit(log_odds + shift + slope * MIDDLES)
    return np.stack([weights * (1 - p), weights * p], axis=1)


@pytest.mark.parametrize("slope", [0.4, 1.0, 2.0])
@pytest.mark.parametrize("shift", [-0.5, 0.0, 0.3])
def test_the_line_of_classes_is_found(slope: float, shift: float) -> None:
    counts = classes_in_bins(shift, slope, -1.0, 1e6)
    line = class_line(counts, 0.0, -1.0, MIDDLES)
    assert (line.shift, line.slope) == pytest.approx((shift, slope), abs=0.01)
    noised = counts / 100 + np.random.default_rng(1).laplace(0, 20, counts.shape)
    line = class_line(noised, 20 * math.sqrt(2), -1.0, MIDDLES)
    assert (line.shift, line.slope) == pytest.approx((shift, slope), abs=0.25)


@pytest.mark.parametrize("slope", [0.4, 1.0, 2.0])
def test_the_line_of_means_is_found(slope: float) -> None:
    weights = 1e6 * np.exp(-(MIDDLES**2) * 50 / 4)
    middles = MIDDLES / 10
    line = mean_line(weights, weights * (0.2 + 0.05 + slope * middles), (0, 0), 0.2, middles)
    assert (line.shift, line.slope) == pytest.approx((0.05, slope), abs=0.02)


@pytest.mark.parametrize("size", [0.0, 1.0, 1e3, 1e12])
@pytest.mark.parametrize("seed", range(5))
def test_lines_are_finite_and_rise_whatever_the_noise(size: float, seed: int) -> None:
    draw = np.random.default_rng(seed)
    counts = size * draw.standard_normal((BINS, 2))
    lines = [
        class_line(counts, size, 1.0, MIDDLES),
        class_line(counts, 0.0, -30.0, MIDDLES * 1e3),  # noise that nobody told of
        mean_line(*counts.T, (size, size), 0.5, MIDDLES / 8),
        mean_line(*counts.T, (0.0, 0.0), -1.0, MIDDLES * 0),
    ]
    for line in lines:
        assert math.isfinite(line.shift)
        assert MIN_SLOPE * 0.999 <= line.slope <= 1.001 / MIN_SLOPE


def test_where_noise_hides_all_nothing_is_changed() -> None:
    counts = classes_in_bins(0.5, 0.5, 0.0, 10.0)
    line = class_line(counts + 1e3, 1e6, 0.0, MIDDLES)
    assert (line.shift, line.slope) == pytest.approx((0, 1), abs=0.01)
    line = mean_line(counts[:, 0], counts[:, 1], (1e6, 1e6), 0.0, MIDDLES / 8)
    assert (line.shift, line.slope) == pytest.approx((0, 1), abs=0.01)


# What it is good for.


def copies(count: int, seed: int) -> tuple[dict[str, Any], Any]:
    """Six columns that say the same, so that trees repeat each other."""
    draw = np.random.default_rng(seed)
    hidden = draw.random(count)
    columns = {
        f"x{place}": np.clip(hidden + 0.03 * draw.standard_normal(count), 0, 1)
        for place in range(6)
    }
    return columns, hidden


def test_a_forest_of_copies_is_less_sure_with_calibration() -> None:
    schema = dp.Schema(
        {f"x{place}": dp.Real(0, 1) for place in range(6)} | {"t": dp.Categorical(0, 1)}
    )
    losses: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(3):
        (X, hidden), (new, unseen) = copies(5000, seed), copies(5000, 100 + seed)
        draw = np.random.default_rng(200 + seed)
        t, expected = (
            (draw.random(5000) < 0.2 + 0.4 * each).astype(int) for each in (hidden, unseen)
        )
        for calibrate, found in losses.items():
            with testing.fixed_noise(seed):
                forest = RandomDecisionForest(
                    epsilon=1, schema=schema, random_state=seed, calibrate=calibrate
                ).fit({**X, "t": t}, target="t")
            p = forest.predict_proba(new)[np.arange(5000), expected]
            found.append(float(-np.log(p).mean()))
            assert (forest.calibration_ == (0.0, 1.0)) == (not calibrate)
            assert not calibrate or forest.calibration_[1] < 0.8
    assert np.mean(losses[True]) < np.mean(losses[False]) - 0.003


def test_a_regression_of_copies_is_better_with_calibration() -> None:
    schema = dp.Schema({f"x{place}": dp.Real(0, 1) for place in range(6)} | {"t": dp.Real(0, 1)})
    scores: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(3):
        (X, hidden), (new, unseen) = copies(5000, seed), copies(5000, 100 + seed)
        for calibrate, found in scores.items():
            with testing.fixed_noise(seed):
                forest = RandomDecisionForestRegressor(
                    epsilon=4, schema=schema, random_state=seed, calibrate=calibrate
                ).fit({**X, "t": hidden}, target="t")
            found.append(forest.score(new, unseen))
    assert np.mean(scores[True]) > np.mean(scores[False]) + 0.02


def test_no_line_is_shift_0_and_slope_1() -> None:
    assert Line() == Line(0.0, 1.0)
