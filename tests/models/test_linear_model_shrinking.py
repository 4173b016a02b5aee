"""Slopes and means that are shrunk by their noise: against drawn tables, and in whole fits."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.events import DiscreteLaplace, Gaussian
from discreet.models.linear_model import LinearRegression, Ridge
from discreet.models.linear_model.shrinking import (
    Bought,
    known_mean,
    shrunk,
    shrunk_line,
    shrunk_slopes,
)
from discreet.models.linear_model.solving import centre
from discreet.testing import fixed_noise


def test_slopes_are_the_posterior_mean_of_drawn_tables() -> None:
    """Among tables drawn from the prior, those that look like this one have these slopes on average."""
    draw = np.random.default_rng(1)
    count, variance, noise = 200.0, 0.05, 6.0
    left, right = np.diag([5.0, 40.0]), np.array([-2.0, 3.0])
    found = shrunk_slopes(left, right, noise**2, count, variance)
    share = np.exp(draw.normal(np.log(0.3), 2.0, 800_000))
    share = share[(share <= 1) & (share >= 1e-5)]
    slope = share * variance * count / 45
    h = np.diag(left)
    w = draw.normal(size=(len(slope), 2)) * np.sqrt(slope[:, None] + variance / h)
    spread = noise * np.sqrt(1 + 2 * slope)[:, None]
    weight = np.exp(-0.5 * ((right - h * w) / spread) ** 2).prod(axis=1) / spread[:, 0] ** 2
    assert np.allclose(weight @ w / weight.sum(), found, rtol=0.06)


def test_without_noise_nothing_is_shrunk() -> None:
    left, right = np.array([[5.0, 1.0], [1.0, 40.0]]), np.array([-2.0, 3.0])
    exact = np.linalg.solve(left, right)
    for spread in (0.0, 1e-9):
        assert np.allclose(shrunk_slopes(left, right, spread, 200.0, 0.05), exact, rtol=1e-6)


def sums_of_a_line(count: float, slope: float) -> np.ndarray:
    """The sums of vvᵀ, v = (1, u, t), of a narrow feature and a target that follows it; none of t²."""
    mean, level, variance = -0.8, -0.4, 0.02
    square = variance + mean**2
    product = slope * variance + mean * level
    rows = [[1, mean, level], [mean, square, product], [level, product, 0.0]]
    return count * np.array(rows)


def test_a_line_that_noise_hides_is_not_steep_by_chance() -> None:
    """The quotient of sums alone is anything where the noised variance is near 0."""
    draw, exact = np.random.default_rng(12), sums_of_a_line(400, 0.5)
    slopes, quotients, levels = [], [], []
    for _ in range(500):
        noise = draw.normal(0, 20, (3, 3))
        noised = exact + np.triu(noise) + np.triu(noise, 1).T
        found = shrunk_line(noised, 20.0)
        _, _, about = centre(noised)
        slopes.append(found.slopes[0])
        quotients.append(about[0, 1] / about[0, 0])
        levels.append(found.intercept + found.slopes[0] * -0.8)
    assert np.sqrt(np.mean(np.square(slopes))) < 1
    assert np.sqrt(np.mean(np.square(quotients))) > 3  # the control
    assert np.mean(levels) == pytest.approx(-0.4, abs=0.02)


def test_a_line_that_shows_through_the_noise_is_kept() -> None:
    exact = sums_of_a_line(1e6, 0.5)
    for noise in (0.0, 20.0):
        found = shrunk_line(exact, noise)
        assert found.slopes[0] == pytest.approx(0.5, rel=1e-3)
        assert found.intercept == pytest.approx(-0.4 + 0.5 * 0.8, abs=1e-3)


def test_means_are_weighted_by_what_is_known_of_them() -> None:
    exact, vague = Bought(0.2, 1e-8, 0.1, 0.1), Bought(0.2, 1.0, 0.1, 0.1)
    assert np.isclose(known_mean(0.7, 1e6, 50.0, exact), 0.2, atol=1e-4)
    assert np.isclose(known_mean(0.7, 1e6, 50.0, vague), 0.7, atol=1e-3)
    assert abs(known_mean(-0.9, 5000.0, 4900.0, None)) < 0.1  # a count that noise made large
    assert known_mean(0.7, 10.0, 0.0, vague) == 0.7


@pytest.mark.parametrize("count", [0, 1])
def test_solving_noise_alone_is_finite(count: int) -> None:
    draw = np.random.default_rng(count)
    for _ in range(50):
        noise = draw.normal(0, 1e6, (5, 5))
        noise = noise + noise.T + count
        for bought in (None, Bought(1.0, 1.0, 0.0, 1.0), Bought(0.0, 0.0, 0.0, 0.0)):
            solution = shrunk(noise, 1e6, np.zeros(3), bought)
            assert np.all(np.isfinite(solution.slopes))
            assert np.isfinite(solution.intercept)


@pytest.mark.parametrize("kind", [LinearRegression, Ridge])
def test_a_fit_that_learns_nothing_predicts_the_mean(kind: type[LinearRegression]) -> None:
    """Few rows and many columns: no fit is far worse than the mean of the target."""
    draw = np.random.default_rng(0)
    x = draw.uniform(-1, 1, (400, 15))
    y = np.clip(0.5 + 0.1 * x[:, 0] + draw.normal(0, 0.2, 400), -1, 1)
    scores = []
    for seed in range(15):
        with fixed_noise(seed):
            model = kind(epsilon=1, bounds=(-1, 1), target_bounds=(-1, 1))
            scores.append(model.fit(x, y).score(x, y))
    assert np.median(scores) > -0.2


@pytest.mark.parametrize("method", ["sufficient_statistics", "functional"])
def test_with_many_features_and_few_rows_a_line_is_as_good_as_the_mean(method: str) -> None:
    """R² of a fit is -0.003 ± 0.005 (40 fits); solved as published, the functional one has -20 ± 9."""
    draw = np.random.default_rng(0)
    x = draw.uniform(-1, 1, (400, 25))
    y = np.clip(0.4 + draw.normal(0, 0.2, 400), -1, 1)
    scores = []
    for seed in range(10):
        with fixed_noise(seed):
            model = LinearRegression(bounds=(-1, 1), target_bounds=(-1, 1), method=method)
            scores.append(model.fit(x, y).score(x, y))
    assert np.mean(scores) > -0.02


def test_targets_of_zero_width_and_missing_ones_are_predicted() -> None:
    x = np.random.default_rng(0).uniform(-1, 1, (50, 3))
    flat = LinearRegression(bounds=(-1, 1), target_bounds=(4, 4)).fit(x, np.full(50, 4.0))
    assert np.array_equal(flat.predict(x), np.full(50, 4.0))
    none = LinearRegression(bounds=(-1, 1), target_bounds=(0, 4)).fit(x, np.full(50, np.nan))
    assert np.isfinite(none.predict(x)).all()


@pytest.mark.parametrize(
    ("features", "epsilon", "delta"),
    [(100, 1000, 1e-6), (100, 1e-5, "1e-20"), (20, 1, "1e-100"), (7, 50, 1e-9), (14, 1, 1e-6)],
)
def test_what_is_planned_can_be_paid_for_at_extreme_budgets(
    features: int, epsilon: float, delta: float | str
) -> None:
    """A price that only the proof page knows would be refused by the ledger, after a plan promised it."""
    model = LinearRegression(epsilon=epsilon, delta=delta, bounds=(-1, 1), target_bounds=(-1, 1))
    model.fit(np.zeros((30, features)), np.zeros(30))
    kinds = [type(event) for event in model.privacy_.event.events]
    assert kinds[1] is Gaussian  # with Laplace noise for both, δ would be charged for nothing
    assert (kinds[0] is DiscreteLaplace) == (features == 14)
