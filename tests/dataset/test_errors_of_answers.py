"""Standard errors and noise intervals mean what they say."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dp
from discreet import mechanisms, testing
from discreet.queries import QuantileEstimate, Tightened

SCHEMA = dp.Schema(x=dp.Real(0, 10), y=dp.Integer(0, 4), c=dp.Categorical("a", "b"))
TRIALS = 400


def data_of(n, seed=0):
    rng = np.random.default_rng(seed)
    table = {
        "x": rng.uniform(2, 9, n),
        "y": rng.integers(0, 5, n),
        "c": rng.choice(["a", "b"], n).astype(object),
    }
    return dp.PrivateDataset(table, SCHEMA, unit=dp.PUBLIC)


def flat(value):
    if isinstance(value, dp.queries.MomentsValue):
        value = np.concatenate(
            [np.ravel(value.count), np.ravel(value.mean), np.ravel(value.variance)]
        )
    if isinstance(value, dp.queries.MarginalsValue):
        rows = [rows for rows in value.unknown if rows is not None]
        parts = [value.count, value.sums, value.squares, *value.cells, *rows]
        value = np.concatenate([np.ravel(part) for part in parts])
    return np.ravel(np.asarray(value, float))


#: What a tightened mean answers is about rows between bounds that it buys: it has tests of its own.
OTHERS = dp.Quantile | QuantileEstimate | Tightened
SUMS = [q for q in testing.QUERIES if not isinstance(q, OTHERS)]
HOWS = [dp.PureDP(1), mechanisms.Gaussian(1, 1e-5), mechanisms.DiscreteGaussian(rho=0.2)]


@pytest.mark.parametrize("budget", HOWS, ids=repr)
@pytest.mark.parametrize("query", SUMS, ids=repr)
def test_the_standard_error_is_the_spread_of_answers(query, budget):
    data = data_of(5000)
    with testing.fixed_noise(1):
        releases = [data.release(query, budget) for _ in range(TRIALS)]
    spread = np.std([flat(r.value) for r in releases], axis=0)
    said = np.mean([flat(r.stderr) for r in releases], axis=0)
    assert np.all(abs(spread / said - 1) < 0.2)


@pytest.mark.parametrize("n", [*(pytest.param(n, marks=pytest.mark.long) for n in (0, 1, 3000)), 4])
@pytest.mark.parametrize("budget", HOWS, ids=repr)
@pytest.mark.parametrize("query", SUMS, ids=repr)
def test_noise_intervals_cover_also_where_the_noisy_count_is_near_zero(query, budget, n):
    data = data_of(n)
    exact = flat(data.release(query, dp.PureDP(float("inf"))).value)
    level, covered = 0.8, 0
    with testing.fixed_noise(2):
        for _ in range(TRIALS):
            interval = data.release(query, budget).noise_interval(level)
            low, high = flat(interval.lower), flat(interval.upper)
            covered += (low - 1e-9 <= exact) & (exact <= high + 1e-9)
    # 0.8 less four standard deviations of a share of 400
    assert np.all(np.asarray(covered) / TRIALS >= level - 0.08)


def test_an_interval_is_not_vacuous():
    data = data_of(3000)
    with testing.fixed_noise(3):
        interval = data.release(dp.Count(), dp.PureDP(1)).noise_interval(0.95)
    assert interval.upper - interval.lower == 6  # P(|K| <= 3) = 0.954 at scale 1
    assert interval.unit == "value"


@pytest.mark.parametrize("q", ["1/10", "1/2"])
def test_rank_intervals_of_quantiles_cover(q):
    data = data_of(500)
    values = np.random.default_rng(0).uniform(2, 9, 500)
    with testing.fixed_noise(4):
        for _ in range(100):
            release = data.release(dp.Quantile("x", q), dp.PureDP(1))
            interval = release.noise_interval(0.95)
            rank = (values < release.value).sum()
            assert interval.unit == "rank"
            assert interval.lower - 1 <= rank - float(eval(q)) * 500 <= interval.upper + 1
            assert release.stderr is None


def test_a_mean_is_unbiased_by_the_grid():
    """The floor of the grid loses half a step, and the answer gives it back."""
    n = 200_000
    x = np.random.default_rng(5).uniform(0, 10, n)
    data = dp.PrivateDataset({"x": x}, dp.Schema(x=dp.Real(0, 10)), unit=dp.PUBLIC)
    step = 10 / 2**20
    mean = data.release(dp.Mean("x"), dp.PureDP(float("inf"))).value
    assert abs(mean - x.mean()) < 0.01 * step
    total = data.release(dp.Sum("x"), dp.PureDP(float("inf"))).value
    assert abs(total - x.sum()) < 5 * step * n**0.5
    variance = data.release(dp.Variance("x"), dp.PureDP(float("inf"))).value
    assert variance == pytest.approx(x.var(), rel=1e-5)


def test_gram_is_the_matrix_of_products():
    rng = np.random.default_rng(6)
    table = {"x": rng.uniform(0, 10, 1000), "y": rng.integers(0, 5, 1000)}
    data = dp.PrivateDataset(table, dp.Schema(x=dp.Real(0, 10), y=dp.Integer(0, 4)), unit=dp.PUBLIC)
    design = np.stack([np.ones(1000), table["x"], table["y"]], axis=1)
    gram = data.release(dp.Gram("x", "y"), dp.PureDP(float("inf"))).value
    np.testing.assert_allclose(gram, design.T @ design, rtol=1e-5)
