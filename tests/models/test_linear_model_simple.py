"""A line through one feature: NoisyStats as sums, and Theil–Sen by random pairs."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare, linregress

import discreet as dp
from discreet.events import Compose, DiscreteLaplace, Exponential
from discreet.models.linear_model import SimpleLinearRegression
from discreet.models.linear_model.theil_sen import (
    STEPS,
    MedianLevel,
    PairedSlopes,
    bucket_count,
    level_at,
    level_codes,
    pair_randomly,
    random_pairs,
    score_sensitivity,
    slope_at,
    slope_codes,
    with_lines,
)
from discreet.testing import fixed_noise

OPTIONS: dict[str, Any] = {"bounds": (0, 10), "target_bounds": (-5, 5)}
REPLACE = dp.Unit(dp.REPLACE_ONE)


def line(count: int, seed: int = 0, spread: float = 0.3) -> tuple[Any, Any]:
    draw = np.random.default_rng(seed)
    x = draw.uniform(0, 10, count)
    return x[:, None], -3 + 0.6 * x + draw.normal(0, spread, count)


@pytest.mark.parametrize("method", ["noisy_stats", "theil_sen"])
def test_without_noise_it_is_the_line(method: str) -> None:
    x, y = line(2000)
    model = SimpleLinearRegression(method=method, unit=dp.PUBLIC, epsilon=math.inf).fit(x, y)
    true = linregress(x[:, 0], y)
    tolerance = 1e-3 if method == "noisy_stats" else 0.02
    assert abs(model.slope_ - true.slope) < tolerance
    assert abs(model.intercept_ - true.intercept) < 10 * tolerance
    assert np.array_equal(model.coef_, [model.slope_])


@pytest.mark.parametrize("unit", [dp.ADD_REMOVE, dp.REPLACE_ONE])
@pytest.mark.parametrize("method", ["noisy_stats", "theil_sen"])
def test_with_noise_it_is_near(method: str, unit: Any) -> None:
    x, y = line(20_000)
    for seed in range(5):
        with fixed_noise(seed):
            model = SimpleLinearRegression(method=method, unit=unit, epsilon=1, **OPTIONS)
            model.fit(x, y)
        assert abs(model.slope_ - 0.6) < 0.05
        assert abs(model.intercept_ + 3) < 0.3


def published(x: Any, y: Any, epsilon: float, draw: Any) -> float:
    """The slope of NoisyStats as printed (Alabi et al. 2022): x, y in [0, 1], n public."""
    n = len(x)
    scale = 3 * (1 - 1 / n) / epsilon
    covariance = ((x - x.mean()) * (y - y.mean())).sum() + draw.laplace(0, scale)
    variance = ((x - x.mean()) ** 2).sum() + draw.laplace(0, scale)
    return covariance / variance if variance > 0 else 0.0


def test_sums_are_no_noisier_than_the_published_form() -> None:
    x, y = line(2000)
    ledger = dp.Ledger(limit=dp.PureDP(200), unit=REPLACE)
    model = SimpleLinearRegression(ledger=ledger, epsilon=1, **OPTIONS)
    draw = np.random.default_rng(0)
    true = linregress(x[:, 0], y).slope
    ours, theirs = [], []
    for seed in range(150):
        with fixed_noise(seed):
            ours.append(model.fit(x, y).slope_ - true)
        theirs.append(published(x[:, 0] / 10, (y + 5) / 10, 1, draw) - true)
    assert np.sqrt(np.mean(np.square(ours))) < 0.9 * np.sqrt(np.mean(np.square(theirs)))


def test_each_sum_has_noise_of_its_own() -> None:
    """If y = x, one draw for covariance and variance would give slope 1 exactly, always."""
    x = np.linspace(0, 1, 30)
    model = SimpleLinearRegression(epsilon=1, bounds=(0, 1), target_bounds=(0, 1))
    slopes = {model.fit(x[:, None], x).slope_ for _ in range(20)}
    assert 1.0 not in slopes
    assert len(slopes - {0.0}) > 5


def test_outliers_hardly_move_theil_sen() -> None:
    x, y = line(2000)
    y[:200] = 5.0
    x[:200] = 0.0
    slopes = {}
    for method in ("noisy_stats", "theil_sen"):
        with fixed_noise(1):
            model = SimpleLinearRegression(method=method, epsilon=5, **OPTIONS).fit(x, y)
        slopes[method] = model.slope_
    assert abs(slopes["theil_sen"] - 0.6) < 0.1 < abs(slopes["noisy_stats"] - 0.6)


@pytest.mark.parametrize("unit", [dp.PUBLIC, dp.ADD_REMOVE, dp.REPLACE_ONE])
def test_the_order_of_rows_does_not_matter(unit: Any) -> None:
    x, y = line(301)
    order = np.random.default_rng(0).permutation(301)
    found = []
    for at in (slice(None), order):
        with fixed_noise(2):
            model = SimpleLinearRegression(method="theil_sen", unit=unit, **OPTIONS)
            model.fit(x[at], y[at])
        found.append((model.slope_, model.intercept_))
    assert found[0] == found[1]


def test_what_is_charged() -> None:
    x, y = line(50)
    replaced = SimpleLinearRegression(method="theil_sen", unit=REPLACE, **OPTIONS).fit(x, y)
    assert replaced.privacy_.event == Compose(Exponential("2/3"), Exponential("1/3"))
    added = SimpleLinearRegression(method="theil_sen", **OPTIONS).fit(x, y)
    medians = Exponential("3/5"), Exponential("3/10")
    assert added.privacy_.event == Compose(DiscreteLaplace(10, 1), *medians)
    sums = SimpleLinearRegression(unit=REPLACE, **OPTIONS).fit(x, y)
    assert sums.privacy_.event == DiscreteLaplace(5 * 2**30, 5 * 2**30)
    fewer = SimpleLinearRegression(**OPTIONS).fit(x, y)
    assert fewer.privacy_.event == DiscreteLaplace(4 * 2**30, 4 * 2**30)
    assert added.privacy_.claims == ("theil-sen",)
    assert sums.privacy_.claims == ("noisy-stats",)


def apart(values: Any, others: Any) -> int:
    """How far (values below) - (values above) of two tables are apart, between any two grid points.

    That is what scores are made of; it changes at values only.
    """
    at = np.concatenate([[-1], np.unique(np.concatenate([values, others]))])
    first, second = (
        2 * np.searchsorted(np.sort(part), at, side="right") - len(part)
        for part in (values, others)
    )
    return int(abs(first - second).max())


CELLS = list(itertools.product([0.0, 0.5, 1.0], repeat=2))


def slopes(rows: Any, first: Any, second: Any) -> Any:
    x, y = rows.T
    return slope_codes(x, y, *with_lines(x, first, second))


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_replaced_row_moves_scores_by_two_for_each_matching(rounds: int) -> None:
    draw = np.random.default_rng(rounds)
    worst = 0
    for trial in range(300):
        rows = np.array(CELLS)[draw.integers(0, 9, 6)]
        with fixed_noise(trial):
            pairs = [random_pairs(6) for _ in range(rounds)]
        first, second = (np.concatenate(part) for part in zip(*pairs, strict=True))
        before = slopes(rows, first, second)
        for cell in CELLS:
            other = rows.copy()
            other[draw.integers(6)] = cell
            worst = max(worst, apart(before, slopes(other, first, second)))
    assert worst == score_sensitivity(REPLACE, rounds)


@pytest.mark.parametrize(
    ("unit", "added"), [(dp.Unit(), 1), (dp.Unit(max_rows=3, id_column="i"), 3)]
)
def test_added_rows_move_scores_by_one_each_for_each_round(unit: dp.Unit, added: int) -> None:
    """The same coins for the rows that both tables have; the new rows bring coins of their own."""
    draw = np.random.default_rng(added)
    worst = 0
    for trial in range(4000):
        rows = np.array(CELLS)[draw.integers(0, 9, 8 + added)]
        bucket = draw.integers(0, 3, 8 + added)
        if trial % 2:  # the new rows come into buckets of two, each into its own
            bucket = np.append(np.arange(8) // 2, np.arange(added))
        moved = [slopes(rows[:n], *pairs_of(bucket[:n])) for n in (8, 8 + added)]
        worst = max(worst, apart(*moved))
    assert worst == score_sensitivity(unit, 1)


@pytest.mark.parametrize("most", [1, 2])
def test_replaced_persons_move_scores_by_one_for_each_old_row_and_each_new_one(most: int) -> None:
    """Rows of another person lie in buckets of their own, so both may break up a pair."""
    draw = np.random.default_rng(most)
    bound = score_sensitivity(dp.Unit(dp.REPLACE_ONE, "i", most), 1)
    worst = 0
    for trial in range(1000):
        common = np.array(CELLS)[draw.integers(0, 9, 8)]
        bucket = np.arange(8) // 2 if trial % 2 else draw.integers(0, 4, 8)
        moved = []
        for side in range(2):
            own = np.array(CELLS)[draw.integers(0, 9, most)]
            places = np.arange(most) + most * side if trial % 2 else draw.integers(0, 4, most)
            rows = np.concatenate([common, own])
            moved.append(slopes(rows, *pairs_of(np.append(bucket, places))))
        worst = max(worst, apart(*moved))
    assert bound / 2 < worst <= bound  # for one row alone, or without the old one, it would be half


def pairs_of(bucket: Any) -> Any:
    """`pair_randomly` with buckets that are given: whoever are two in one."""
    inside = [np.flatnonzero(bucket == value) for value in np.unique(bucket)]
    pairs = [rows for rows in inside if len(rows) == 2]
    return np.array(pairs, np.int64).reshape(-1, 2).T


def test_thrown_pairs_are_two_alone_in_a_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    from discreet.models.linear_model import theil_sen

    for rows in (0, 1, 2, 3, 9, 40):
        bucket = draw.integers(0, 7, rows) if rows != 2 else np.array([6, 6])
        monkeypatch.setattr(theil_sen.noise, "uniform_below", lambda *_, b=bucket: b)
        found = pair_randomly(rows, 7)
        assert np.array_equal(np.stack(found), pairs_of(bucket))


@pytest.mark.parametrize("unit", [dp.Unit(), REPLACE, dp.Unit(dp.REPLACE_ONE, "i", 2)])
def test_a_person_moves_levels_by_one_for_each_row_that_comes_or_goes(unit: dp.Unit) -> None:
    draw = np.random.default_rng(0)
    worst, own = 0, unit.rows_per_person
    for _ in range(300):
        common, old, new = (level_codes(draw.integers(-1, 4, n) / 2) for n in (5, own, own))
        other = np.append(common, new) if unit.relation is dp.REPLACE_ONE else common
        worst = max(worst, apart(np.append(common, old), other))
    assert worst == score_sensitivity(unit, 1)


def test_matchings_are_uniform() -> None:
    """Of four rows there are three matchings, each as likely; a biased one would be noticed."""
    counts = dict.fromkeys([(1,), (2,), (3,)], 0)
    for _ in range(3000):
        first, second = random_pairs(4)
        pairs = {frozenset(pair) for pair in zip(first.tolist(), second.tolist(), strict=True)}
        (partner,) = [tuple(pair - {0}) for pair in pairs if 0 in pair]
        counts[partner] += 1
    assert chisquare(list(counts.values())).pvalue > 1e-4
    assert chisquare([1200, 900, 900]).pvalue < 1e-4


def test_lines_through_pairs() -> None:
    x, y = np.array([0.0, 0.5, 1.0, 0.5]), np.array([0.0, 0.5, 0.0, 1.0])
    first, second = with_lines(x, np.array([0, 1, 0]), np.array([1, 3, 2]))
    # through (0, 0) and (½, ½): 1; (½, ½) and (½, 1) have no line; through (0, 0) and (1, 0): 0
    codes = slope_codes(x, y, first, second)
    assert [round(slope_at(code), 2) for code in codes.tolist()] == [1.0, 0.0]
    steep = slope_codes(np.array([0.0, 1e-6]), np.array([0.0, 1.0]), np.array([0]), np.array([1]))
    assert steep.tolist() == [STEPS]
    assert abs(slope_at(STEPS) - 4) < 0.05


def test_heights_and_the_grid() -> None:
    heights = np.array([-0.5, -0.1, 0.0, 0.3, 1.0, 1.2])
    back = [level_at(code) for code in level_codes(heights).tolist()]
    assert np.allclose(back, heights, atol=0.005)
    assert level_codes(np.array([-7.0, 9.0])).tolist() == [0, STEPS]


def test_buckets() -> None:
    assert bucket_count(-50) == 1
    assert bucket_count(1000) == 1000
    with fixed_noise(0):
        first, _ = pair_randomly(100_000, bucket_count(100_000))
    assert 0.181 < len(first) / 100_000 < 0.187


def test_where_noise_hides_the_line_it_is_flat_at_the_median() -> None:
    """60 rows at ε = 1: two medians of lines would be anywhere, and so would the line."""
    draw = np.random.default_rng(0)
    x, y = draw.uniform(0, 10, (60, 1)), draw.normal(-2, 0.5, 60)
    errors, slopes = [], []
    for seed in range(40):
        with fixed_noise(seed):
            model = SimpleLinearRegression(method="theil_sen", epsilon=1, **OPTIONS).fit(x, y)
        errors.append(abs(model.predict([[5.0]])[0] + 2))
        slopes.append(abs(model.slope_))
    assert np.median(errors) < 0.5  # 0.1 to 0.3 for other seeds; at random it would be 3
    assert np.mean(slopes) < 0.4  # about 0.2; at random 1


def test_trust_grows_with_rows_and_is_full_without_noise() -> None:
    step = PairedSlopes("x", "y", dp.PureDP(1), dp.Unit(), 10)
    found = [step.trust(rows) for rows in (-3, 20, 22, 2000)]
    assert found == sorted(found)
    assert found[0] < 0.01 < 0.49 < found[2] < 0.51 < 0.99 < found[3]
    assert PairedSlopes("x", "y", dp.PureDP(math.inf), dp.Unit(dp.PUBLIC), 1).trust(5) == 1


def test_many_rows_tell_the_level_by_pairs() -> None:
    """Half of the rows are at (0, 0), the others at the top: a median of rows would be at an end."""
    x = np.repeat([0.0, 10.0, 9.0], [5100, 2500, 2400])
    y = np.where(x > 0, 5.0, -5.0)
    with fixed_noise(0):
        model = SimpleLinearRegression(method="theil_sen", epsilon=1, **OPTIONS).fit(x[:, None], y)
    assert model.score(x[:, None], y) > 0.9


def test_a_step_is_for_its_unit() -> None:
    schema = dp.Schema(x=dp.Real(0, 1), y=dp.Real(0, 1))
    for kind in (PairedSlopes, MedianLevel):
        with pytest.raises(ValueError, match="another unit"):
            kind("x", "y", dp.PureDP(1), REPLACE, 2).event(schema, dp.Unit())


def test_one_feature_of_several() -> None:
    draw = np.random.default_rng(0)
    x = draw.uniform(0, 10, (5000, 3))
    y = -3 + 0.6 * x[:, 1]
    model = SimpleLinearRegression(feature=1, epsilon=5, **OPTIONS).fit(x, y)
    assert abs(model.slope_ - 0.6) < 0.05
    assert model.coef_[0] == model.coef_[2] == 0
    assert model.coef_[1] == model.slope_
    with pytest.raises(ValueError, match="feature must be given"):
        SimpleLinearRegression(**OPTIONS).fit(x, y)
    with pytest.raises(ValueError, match="feature must be below 3"):
        SimpleLinearRegression(feature=3, **OPTIONS).fit(x, y)
    with pytest.raises(ValueError, match="X has no column 'z'"):
        SimpleLinearRegression(feature="z", **OPTIONS).fit(x, y)
    with pytest.raises(ValueError, match="method must be one of"):
        SimpleLinearRegression(method="exact", feature=0, **OPTIONS).fit(x, y)
    with pytest.raises(ValueError, match="matchings must be at least 1"):
        SimpleLinearRegression(method="theil_sen", matchings=0, feature=0, **OPTIONS).fit(x, y)
