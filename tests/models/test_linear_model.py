"""Linear and logistic regression: against scikit-learn, against their formulas, and on real rows."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model as others

import discreet as dp
from discreet.accounting import calibrate, cost, satisfies
from discreet.events import Compose, DiscreteLaplace, Gaussian
from discreet.models.linear_model import LinearRegression, LogisticRegression, Ridge
from discreet.models.linear_model.asking import target_share
from discreet.models.linear_model.solving import centre, functional, noise_eigenvalue
from discreet.testing import fixed_noise

ADULT = Path(__file__).parents[3] / "shared" / "data"
FREE: dict[str, Any] = {"epsilon": math.inf, "unit": dp.PUBLIC}
#: Noise as usual, without a ledger: for tests that fit many times.
NOISED: dict[str, Any] = {"epsilon": 1, "unit": dp.PUBLIC}


def noisy_plane(count: int = 4000, seed: int = 0) -> tuple[Any, Any]:
    draw = np.random.default_rng(seed)
    x = draw.uniform([-1, 10, 0], [3, 12, 100], (count, 3))
    y = 5 + x @ [0.8, -1.5, 0.03] + draw.normal(0, 0.3, count)
    return x, y


BOUNDS = ([-1, 10, 0], [3, 12, 100])


def test_without_noise_it_is_least_squares() -> None:
    x, y = noisy_plane()
    ours = LinearRegression(**FREE).fit(x, y)
    theirs = others.LinearRegression().fit(x, y)
    assert np.allclose(ours.coef_, theirs.coef_, rtol=2e-3)
    assert np.isclose(ours.intercept_, theirs.intercept_, rtol=2e-3)
    assert ours.ridge_ == 0
    inside = np.clip(theirs.predict(x), y.min(), y.max())
    assert np.allclose(ours.predict(x), inside, atol=1e-2)
    assert ours.coef_[0] != theirs.coef_[0]  # the grid


@pytest.mark.parametrize("alpha", [0.0, 3.0, 1e4])
@pytest.mark.parametrize("intercept", [True, False])
def test_without_noise_ridge_is_that_of_scikit_learn(alpha: float, intercept: bool) -> None:
    x, y = noisy_plane()
    ours = Ridge(alpha=alpha, fit_intercept=intercept, **FREE).fit(x, y)
    theirs = others.Ridge(alpha=alpha, fit_intercept=intercept).fit(x, y)
    assert np.allclose(ours.coef_, theirs.coef_, rtol=5e-3)
    assert np.isclose(ours.intercept_, theirs.intercept_, rtol=5e-3)


def test_without_noise_the_functional_mechanism_is_least_squares() -> None:
    x, y = noisy_plane()
    ours = LinearRegression(method="functional", **FREE).fit(x, y)
    assert np.allclose(ours.coef_, others.LinearRegression().fit(x, y).coef_, rtol=2e-3)


def test_collinear_and_constant_columns() -> None:
    x, y = noisy_plane()
    wide = np.column_stack([x, x[:, 0], np.full(len(x), 7.0)])
    for method in ("sufficient_statistics", "functional"):
        ours = LinearRegression(method=method, **FREE).fit(wide, y)
        assert ours.coef_[4] == 0
        assert np.isclose(ours.coef_[0], ours.coef_[3])
        theirs = others.LinearRegression().fit(x, y).predict(x)
        assert np.allclose(ours.predict(wide), np.clip(theirs, y.min(), y.max()), atol=1e-2)


def test_predictions_stay_within_the_declared_bounds() -> None:
    x, y = noisy_plane()
    ours = LinearRegression(unit=dp.PUBLIC, epsilon=math.inf, bounds=BOUNDS, target_bounds=(-9, -8))
    found = ours.fit(x, y).predict(x)
    assert found.min() >= -9
    assert found.max() <= -8


@pytest.mark.parametrize("d", [1, 3, 7])
def test_what_is_charged_is_the_joint_sensitivity(d: int) -> None:
    """At a corner 1 + (d+1)(d+2)/2 coordinates reach their size; replace-one has its own bound."""
    coordinates = 1 + (d + 1) * (d + 2) // 2
    x, y = np.zeros((5, d)), np.zeros(5)
    options: dict[str, Any] = {"bounds": (0, 1), "target_bounds": (0, 1)}

    def asked(**more: Any) -> Any:
        """The event of the equations; the target's moments come first, where they are bought."""
        found = LinearRegression(**options, **more).fit(x, y).privacy_.event
        if d == 1:
            return found
        assert isinstance(found, Compose)
        assert len(found.events) == 2
        return found.events[1]

    functional = asked(method="functional")
    rest = 1 if d == 1 else Fraction(4, 5)
    assert functional == DiscreteLaplace(coordinates * 2**30 / rest, coordinates * 2**30)
    assert asked().sensitivity == coordinates * 2**30
    normal = asked(delta=1e-6)
    if d > 1:
        assert isinstance(normal, Gaussian)
        assert normal.sensitivity_squared == coordinates * 2**60
    for method, squares in (("sufficient_statistics", d + 1), ("functional", d)):
        event = asked(method=method, unit=dp.REPLACE_ONE)
        assert event.sensitivity == (2 * ((d + 2) ** 2 // 4) + squares) * 2**30


@pytest.mark.parametrize(("features", "share"), [(4, 0.2), (7, 0.2), (14, 0.4), (40, 0.6)])
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("epsilon", [0.1, 1, 3, 30])
def test_moments_and_equations_share_the_budget(
    epsilon: float, delta: float, features: int, share: float
) -> None:
    """That share of ε, or of ρ, buys the target's moments; all of it is used, and not more.

    With less noise by Laplace they cost a part of ε that leaves the equations the noise they had.
    """
    share = max(0.1, share / max(1, epsilon))
    options: dict[str, Any] = {"bounds": (0, 1), "target_bounds": (0, 1)}
    plan = LinearRegression(epsilon=epsilon, delta=delta, **options).plan(n_features=features)
    assert isinstance(plan.event, Compose)
    moments, equations = plan.event.events
    if isinstance(moments, DiscreteLaplace) and isinstance(equations, Gaussian):
        assert (features, epsilon) in [(14, 1), (40, 0.1), (40, 1)]
        part = float(cost(moments, dp.PureDP).epsilon) / epsilon
        assert np.isclose((1 - part) ** 2, 1 - share)
        left = cost(equations, dp.ApproxDP, delta=delta).epsilon
        assert float(left) == pytest.approx((1 - part) * epsilon, rel=1e-3)
        assert satisfies(plan.event, dp.ApproxDP(epsilon, delta))
        assert not satisfies(plan.event, dp.ApproxDP(epsilon * 0.8, delta))
        return
    if isinstance(plan.measure, dp.PureDP):
        parts = [float(cost(event, dp.PureDP).epsilon) for event in plan.event.events]
        whole = float(cost(plan.event, dp.PureDP).epsilon)
    else:
        parts = [float(cost(event, dp.ZCDP).rho) for event in plan.event.events]
        whole = float(cost(plan.event, dp.ApproxDP, delta=delta).epsilon)
    assert np.isclose(share * parts[1], (1 - share) * parts[0], rtol=1e-6)
    assert epsilon * 0.999 < whole <= epsilon


def test_the_smaller_noise_is_chosen_for_moments_and_equations() -> None:
    options: dict[str, Any] = {"bounds": (0, 1), "target_bounds": (0, 1), "delta": 1e-6}
    few, many = (LinearRegression(epsilon=10, **options).plan(n_features=d) for d in (2, 20))
    assert isinstance(few.event, Compose)
    assert isinstance(many.event, Compose)
    assert {type(event) for event in few.event.events} == {DiscreteLaplace}
    assert few.measure == dp.PureDP(10)
    assert {type(event) for event in many.event.events} == {Gaussian}
    assert many.measure == dp.ApproxDP(10, 1e-6)
    mixed = LinearRegression(epsilon=1, **options).plan(n_features=20)
    assert isinstance(mixed.event, Compose)
    assert list(map(type, mixed.event.events)) == [DiscreteLaplace, Gaussian]
    assert mixed.measure == dp.ApproxDP(1, 1e-6)
    share = float(target_share(mixed.facts, 1))
    rho = float(cost(calibrate(Gaussian, dp.ApproxDP(1, 1e-6)), dp.ZCDP).rho)
    exact, normal = (float(cost(event, dp.ZCDP).rho) for event in mixed.event.events)
    assert mixed.event.events[0].scale ** 2 * 2 < 1 / (2 * share * rho) * 2**60
    assert normal == pytest.approx((1 - share) * rho, rel=0.1)
    assert exact > share * rho


@pytest.mark.parametrize(
    ("features", "epsilon", "delta"), [(7, 1e-5, "1e-15"), (20, 3e-6, 1e-9), (20, 1e-5, "1e-30")]
)
def test_nothing_is_bought_apart_where_noise_of_a_part_can_not_be_drawn(
    features: int, epsilon: float, delta: Any
) -> None:
    """Gaussian noise on a part of these may be too large, where Laplace noise on it isn't."""
    options: dict[str, Any] = {"bounds": (0, 1), "target_bounds": (0, 1)}
    plan = LinearRegression(epsilon=epsilon, delta=delta, **options).plan(n_features=features)
    assert len(plan.queries) == 1
    assert satisfies(plan.event, dp.ApproxDP(epsilon, delta))


def test_nothing_is_bought_apart_where_its_noise_can_not_be_drawn() -> None:
    model = LinearRegression(epsilon=1e-7, bounds=(0, 1), target_bounds=(0, 1))
    assert len(model.plan(n_features=3).queries) == 1
    assert np.isfinite(model.fit(np.zeros((4, 3)), np.zeros(4)).predict(np.zeros((1, 3)))).all()


def test_the_ridge_is_that_of_adassp() -> None:
    """What lifts the least eigenvalue to the bound on the noise, and none where it is there."""
    x, y = noisy_plane(300)
    options: dict[str, Any] = {"bounds": BOUNDS, "target_bounds": (-20, 10)}
    with fixed_noise(3):
        poor = LinearRegression(epsilon=0.5, **options).fit(x, y)
    _, means, about = centre(poor._equations)
    spread = poor.noise_ * (1 + (means[:-1] ** 2).max())
    least = np.linalg.eigvalsh(about[:-1, :-1])[0]
    assert poor.ridge_ > 0
    assert np.isclose(poor.ridge_ + least, noise_eigenvalue(3, spread))
    x, y = noisy_plane(200_000)
    with fixed_noise(3):
        rich = LinearRegression(epsilon=1, **options).fit(x, y)
    assert rich.ridge_ == 0
    assert np.allclose(rich.coef_, [0.8, -1.5, 0.03], rtol=0.1)


def test_the_functional_mechanism_minimises_the_noised_objective() -> None:
    """Eigenvalues that stay below zero after 4σ are left out; in the rest it is the minimiser."""
    draw = np.random.default_rng(0)
    noise = draw.normal(size=(6, 6))
    left, right = noise + noise.T - 3 * np.eye(6), draw.normal(size=6)
    values, vectors = np.linalg.eigh(left)
    assert values[0] + 4 * 0.5 < 0 < values[-1] + 4 * 0.5
    found = functional(left, right, 0.5)
    inside = vectors[:, values + 2 > 0]
    assert np.allclose(inside @ (inside.T @ found), found)
    gradient = (left + 2 * np.eye(6)) @ found - right
    assert np.allclose(inside.T @ gradient, 0)
    assert not np.allclose(gradient, 0)


def coverage(weaken: float = 1.0, runs: int = 250, **options: Any) -> tuple[float, float]:
    """How often intervals cover the coefficients of the population, and those of these rows."""
    draw = np.random.default_rng(5)
    truth = np.array([0.6, -0.3])
    population = sample = 0
    for seed in range(runs):
        x = draw.uniform(-1, 1, (4000, 2))
        y = 0.1 + x @ truth + draw.uniform(-0.5, 0.5, 4000)
        with fixed_noise(seed):
            model = LinearRegression(
                delta=1e-6,
                bounds=(-1, 1),
                target_bounds=(-2, 2),
                method="sufficient_statistics",
                **options,
            ).fit(x, y)
        model.noise_ *= weaken
        low, high = model.coefficient_intervals(0.9).T
        population += int(((low <= truth) & (truth <= high)).sum())
        low, high = model.coefficient_intervals(0.9, sampling=False).T
        here = others.LinearRegression().fit(x, y).coef_
        sample += int(((low <= here) & (here <= high)).sum())
    return population / (2 * runs), sample / (2 * runs)


def test_coefficient_intervals_cover_what_they_say() -> None:
    for share in coverage(**NOISED):
        assert 0.86 < share < 0.94


def test_coefficient_intervals_cover_where_the_count_is_public() -> None:
    ledger = dp.Ledger(limit=dp.ApproxDP(150, "1/100"), unit=dp.Unit(dp.REPLACE_ONE))
    for share in coverage(runs=150, epsilon=1, ledger=ledger):
        assert 0.84 < share < 0.95


def test_intervals_that_forget_the_noise_do_not_cover() -> None:
    for share in coverage(weaken=0.01, runs=100, **NOISED):
        assert share < 0.8


def test_no_interval_where_none_is_known() -> None:
    x, y = noisy_plane(50)
    options: dict[str, Any] = {"bounds": BOUNDS, "target_bounds": (-20, 10)}
    for model in (
        LinearRegression(epsilon=0.01, **options),
        LinearRegression(method="functional", **options),
        LinearRegression(fit_intercept=False, **options),
        Ridge(**options),
    ):
        assert np.all(np.isinf(model.fit(x, y).coefficient_intervals()))
    with pytest.raises(ValueError, match="level must be"):
        model.coefficient_intervals(1)


def test_expected_noise_is_that_of_features_spread_evenly() -> None:
    draw = np.random.default_rng(0)
    x = draw.uniform(0, 4, (20_000, 2))
    y = np.full(20_000, 5.0)
    model = LinearRegression(bounds=(0, 4), target_bounds=(0, 10), **NOISED)
    expected = model.plan(n_features=2, rows=20_000).noise["coef_"]
    found = []
    for seed in range(60):
        with fixed_noise(seed):
            found.append(model.fit(x, y).coefficient_intervals().mean(axis=1))  # before shrinkage
    assert np.all(abs(np.std(found, axis=0) / expected - 1) < 0.35)


def test_arguments() -> None:
    x, y = noisy_plane(20)
    options: dict[str, Any] = {"bounds": BOUNDS, "target_bounds": (-20, 10)}
    with pytest.raises(ValueError, match="method must be one of"):
        LinearRegression(method="exact", **options).fit(x, y)
    with pytest.raises(ValueError, match="fit_intercept must be True"):
        LinearRegression(method="functional", fit_intercept=False, **options).fit(x, y)
    with pytest.raises(ValueError, match="alpha must be at least 0"):
        Ridge(alpha=-1, **options).fit(x, y)
    schema = dp.Schema(a=dp.Categorical("u", "v"), y=dp.Real(0, 1))
    with pytest.raises(ValueError, match="takes numbers only"):
        LinearRegression(schema=schema).fit(np.array([["u"]]), [1.0])
    schema = dp.Schema(a=dp.Real(0, 1), y=dp.Categorical("u", "v"))
    with pytest.raises(ValueError, match="predicts numbers"):
        LinearRegression(schema=schema).fit(np.array([[1.0]]), ["u"])
    for method in (None, "newton"):
        with pytest.raises(
            ValueError, match="method must be 'objective', 'output' or 'functional'"
        ):
            LogisticRegression(method=method, bounds=BOUNDS, classes=[0, 1]).fit(x, y > 0)


def blobs_anywhere(classes: int, count: int = 20_000) -> tuple[Any, Any]:
    draw = np.random.default_rng(classes)
    centres = draw.uniform(-0.6, 0.6, (classes, 2))
    label = draw.integers(0, classes, count)
    return np.clip(centres[label] + draw.normal(0, 0.15, (count, 2)), -1, 1), label


def test_logistic_regression_without_noise_solves_the_expansion() -> None:
    """Σvvᵀ·w = 2Σsv: twice the regression of ±1."""
    x, label = blobs_anywhere(2)
    ours = LogisticRegression(method="functional", **FREE).fit(x, label)
    theirs = others.LinearRegression().fit(x, 2 * label - 1)
    assert np.allclose(ours.coef_[0], 2 * theirs.coef_, rtol=2e-3)
    assert np.isclose(ours.intercept_[0], 2 * theirs.intercept_, atol=2e-3)
    assert np.allclose(ours.predict_proba(x).sum(axis=1), 1)
    assert np.array_equal(ours.predict(x) == 1, ours.decision_function(x) > 0)


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_logistic_regression_learns(classes: int) -> None:
    x, label = blobs_anywhere(classes)
    reference = others.LogisticRegression().fit(x, label).score(x, label)
    scores = []
    for seed in range(5):
        with fixed_noise(seed):
            model = LogisticRegression(
                method="functional", epsilon=1, bounds=(-1, 1), classes=list(range(classes))
            )
            scores.append(model.fit(x, label).score(x, label))
    assert reference - np.mean(scores) < (0.02 if classes == 2 else 0.15)
    assert np.mean(scores) > 1.4 / classes


def test_the_order_of_declared_classes_does_not_matter() -> None:
    x, label = blobs_anywhere(2)
    names = np.array(["no", "yes"], object)[label]
    models = []
    for values in (("no", "yes"), ("yes", "no")):
        schema = dp.Schema(a=dp.Real(-1, 1), b=dp.Real(-1, 1), y=dp.Categorical(*values))
        models.append(
            LogisticRegression(
                method="functional", schema=schema, unit=dp.PUBLIC, epsilon=math.inf
            ).fit(x, names)
        )
    assert np.allclose(models[0].coef_, models[1].coef_)
    assert np.array_equal(models[0].predict(x), models[1].predict(x))
    assert (models[0].predict(x) == names).mean() > 0.9


def test_rows_of_no_declared_class_are_left_out() -> None:
    x, label = blobs_anywhere(3)
    declared = LogisticRegression(method="functional", classes=[0, 1], bounds=(-1, 1), **FREE)
    only = label < 2
    assert np.allclose(declared.fit(x, label).coef_, declared.fit(x[only], label[only]).coef_)


@pytest.mark.skipif(not ADULT.exists(), reason="the shared data sets are not here")
@pytest.mark.parametrize(("epsilon", "bar"), [(1, 0.01), (10, 0.025)])
def test_hours_of_adult(epsilon: float, bar: float) -> None:
    """Test R² from five numeric columns with public bounds; 0.0296 without noise."""
    names = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
    parts = []
    for part in ("train", "test"):
        frame = pd.read_csv(ADULT / f"adult_{part}.csv.gz")
        frame.columns = [name.replace("_", "-") for name in frame.columns]
        parts.append(frame[names].to_numpy(float))
    train, test = parts
    bounds = [17, 0, 1, 0, 0], [90, 1.5e6, 16, 1e5, 5000]
    scores = []
    for seed in range(10):
        with fixed_noise(seed):
            model = LinearRegression(
                epsilon=epsilon, delta=1e-6, bounds=bounds, target_bounds=(1, 99)
            ).fit(train[:, :5], train[:, 5])
        assert model.privacy_.measure == dp.ApproxDP(epsilon, 1e-6)
        scores.append(model.score(test[:, :5], test[:, 5]))
    assert np.mean(scores) >= bar
