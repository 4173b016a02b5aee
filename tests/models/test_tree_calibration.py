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
    fitted_excess,
    mean_line,
)
from discreet.models.tree.smoothing import (
    TYPICAL_VARIANCE,
    class_shares,
    leaf_means,
    likely_rows,
    own_class_parts,
    own_mean_parts,
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
    line = class_line(counts, 0.0, -1.0, MIDDLES, 0.0)
    assert (line.shift, line.slope) == pytest.approx((shift, slope), abs=0.01)
    noised = counts / 100 + np.random.default_rng(1).laplace(0, 20, counts.shape)
    line = class_line(noised, 20 * math.sqrt(2), -1.0, MIDDLES, 0.0)
    assert (line.shift, line.slope) == pytest.approx((shift, slope), abs=0.25)


@pytest.mark.parametrize("slope", [0.4, 1.0, 2.0])
def test_the_line_of_means_is_found(slope: float) -> None:
    weights = 1e6 * np.exp(-(MIDDLES**2) * 50 / 4)
    middles = MIDDLES / 10
    line = mean_line(weights, weights * (0.2 + 0.05 + slope * middles), (0, 0), 0.2, middles, 0.0)
    assert (line.shift, line.slope) == pytest.approx((0.05, slope), abs=0.02)


@pytest.mark.parametrize("size", [0.0, 1.0, 1e3, 1e12])
@pytest.mark.parametrize("fitted", [0.0, 1e2, 1e9])
@pytest.mark.parametrize("seed", range(5))
def test_lines_are_finite_and_rise_whatever_the_noise(
    size: float, fitted: float, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    counts = size * draw.standard_normal((BINS, 2))
    lines = [
        class_line(counts, size, 1.0, MIDDLES, fitted),
        class_line(counts, 0.0, -30.0, MIDDLES * 1e3, fitted),  # noise that nobody told of
        mean_line(*counts.T, (size, size), 0.5, MIDDLES / 8, fitted),
        mean_line(*counts.T, (0.0, 0.0), -1.0, MIDDLES * 0, fitted),
    ]
    for line in lines:
        assert math.isfinite(line.shift)
        assert MIN_SLOPE * 0.999 <= line.slope <= 1.001 / MIN_SLOPE


def test_where_noise_hides_all_nothing_is_changed() -> None:
    counts = classes_in_bins(0.5, 0.5, 0.0, 10.0)
    line = class_line(counts + 1e3, 1e6, 0.0, MIDDLES, 0.0)
    assert (line.shift, line.slope) == pytest.approx((0, 1), abs=0.01)
    line = mean_line(counts[:, 0], counts[:, 1], (1e6, 1e6), 0.0, MIDDLES / 8, 0.0)
    assert (line.shift, line.slope) == pytest.approx((0, 1), abs=0.01)


# Leaves are made of the very rows that bins count.


def test_of_scores_that_are_their_own_rows_noise_nothing_is_kept() -> None:
    """What rows exceed expectation by is what they owe: a line finds no more than was known before."""
    rows = np.exp(-(MIDDLES**2) / 4) * 1000
    fitted = 0.02 * float(rows @ MIDDLES**2)  # each row raised its score by a fiftieth of its own
    for slope in (0.5, 1.0):
        p = expit(slope * MIDDLES)
        high = rows * p + 0.02 * rows * MIDDLES
        counts = np.stack([rows - high, high], axis=1)
        line = class_line(counts, 0.0, 0.0, MIDDLES, fitted)
        assert line.slope == pytest.approx(slope, abs=0.03)
        assert class_line(counts, 0.0, 0.0, MIDDLES, 0.0).slope > line.slope + 0.05
        middles = MIDDLES / 10
        sums = rows * slope * middles + fitted_excess(rows, 0.0, middles, TYPICAL_VARIANCE * fitted)
        line = mean_line(rows, sums, (0.0, 0.0), 0.0, middles, fitted)
        assert line.slope == pytest.approx(slope, abs=0.03)


def test_rows_that_may_be_noise_owe_little() -> None:
    """Without noise bins owe as their rows and scores say; far bins of noise alone would take most of it."""
    rows, middles = np.array([3.0, 500, 500, 3]), np.array([-20.0, -1, 1, 20])
    owed = fitted_excess(rows, 0.0, middles, 100.0)
    assert owed @ middles == pytest.approx(100)
    assert owed[3] == pytest.approx(owed[2] * 20 * 3 / 500, rel=0.05)
    hidden = fitted_excess(rows, 5.0, middles, 100.0)
    assert hidden @ middles == pytest.approx(100)
    assert hidden[2] > 1.5 * owed[2]
    assert fitted_excess(0 * rows, 0.0, middles, 100.0).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("trees", [1, 4])
@pytest.mark.parametrize("noise", [0.0, 3.0])
def test_a_rows_own_part_is_what_another_row_like_it_would_change(trees: int, noise: float) -> None:
    """A leaf's share with one more row of a class, against one more of the other: by differences."""
    draw = np.random.default_rng(trees)
    leaves, prior = draw.integers(1, 30, (trees * 8, 2)).astype(float), np.array([0.6, 0.4])
    own = own_class_parts(leaves, noise, trees)
    numbers, sums = leaves.sum(axis=1) + 20, draw.normal(0, 5, trees * 8)
    parts = own_mean_parts(numbers, sums, (noise, noise), trees)
    for leaf in range(trees * 8):
        moved = leaves.copy()
        moved[leaf] += [-1e-6, 1e-6]
        shares = [class_shares(each, noise, prior, trees)[leaf, 1] for each in (leaves, moved)]
        assert (shares[1] - shares[0]) / 1e-6 == pytest.approx(own[leaf], rel=1e-4)
        means = [
            leaf_means(
                numbers, sums + each * (np.arange(trees * 8) == leaf), (noise, 0), 0.1, trees
            )
            for each in (0, 1e-6)
        ]
        # noise that grows with a mean's size gives it a little less weight
        assert (means[1] - means[0])[leaf] / 1e-6 == pytest.approx(
            own_mean_parts(numbers, sums, (noise, 0), trees)[leaf], rel=0.15 if noise else 1e-4
        )
    assert (parts > 0).all()


@pytest.mark.parametrize("noise", [0.0, 2.0, 10.0])
@pytest.mark.parametrize("power", [1, 3])
def test_likely_rows_are_about_the_rows_and_large_leaves_stay_large(
    noise: float, power: int
) -> None:
    draw = np.random.default_rng(power)
    rows = np.concatenate(
        [
            np.bincount((256 * draw.random(3000) ** power).astype(int), minlength=256)
            for _ in range(8)
        ]
    ).astype(float)
    own = 1 / (rows + 5)  # as a leaf's part falls with its rows
    told = likely_rows(rows + noise * draw.standard_normal(len(rows)), noise, 8)
    assert (told >= 0).all()
    assert told.sum() == pytest.approx(8 * 3000, rel=0.05)
    assert own @ told == pytest.approx(own @ rows, rel=0.02 if noise == 0 else 0.15)


@pytest.mark.parametrize("epsilon", [10, 100])
@pytest.mark.parametrize("rows", [1000, 10_000])
def test_a_line_does_not_believe_what_leaves_learned_by_heart(rows: int, epsilon: int) -> None:
    """Of columns that tell nothing a forest learns these rows' luck; bins of the same rows confirm it."""
    bounds = {"bounds": (0, 1), "random_state": 0, "expected_rows": rows}
    losses: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(4):
        draw = np.random.default_rng(seed)
        X, y = draw.random((rows, 6)), draw.integers(0, 2, rows)
        new, expected = draw.random((4000, 6)), draw.integers(0, 2, 4000)
        for calibrate, found in losses.items():
            with testing.fixed_noise(seed):
                forest = RandomDecisionForest(
                    epsilon=epsilon, classes=[0, 1], calibrate=calibrate, **bounds
                ).fit(X, y)
            found.append(float(-forest.predict_log_proba(new)[np.arange(4000), expected].mean()))
    # without what rows owe to themselves: 0.008 to 0.054 worse
    assert np.mean(losses[True]) < np.mean(losses[False]) + 0.006


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
