"""Lines by noise in the objective: where rows are few, about a bought mean, at the price of the plan."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn import linear_model as others

import discreet as dp
from discreet.accounting import satisfies
from discreet.coding import VALUE_BITS
from discreet.models.linear_model import LinearRegression, Ridge
from discreet.models.linear_model.minimising import plan_minimised
from discreet.models.model_selection import PrivateSearch
from discreet.models.plan import FitPlan
from discreet.step import CodedRows
from discreet.testing import fixed_noise

UNIT_BOX: dict[str, Any] = {"bounds": (-1, 1), "target_bounds": (-1, 1)}
NOISED: dict[str, Any] = {"unit": dp.PUBLIC, **UNIT_BOX}


def plane(rows: int, features: int, seed: int = 0, spread: float = 0.05) -> tuple[Any, Any]:
    """A target between -0.5 and 0.5, about 0.2, which depends on all features alike."""
    draw = np.random.default_rng(seed)
    x = draw.uniform(-1, 1, (rows, features))
    y = 0.2 + x @ np.full(features, 0.3 / math.sqrt(features)) + draw.normal(0, spread, rows)
    return x, np.clip(y, -1, 1)


def mean_score(model: LinearRegression, x: Any, y: Any, runs: int = 8) -> float:
    scores = []
    for seed in range(runs):
        with fixed_noise(seed):
            scores.append(model.fit(x, y).score(x, y))
    return float(np.mean(scores))


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_few_rows_teach_what_noised_sums_hide(delta: float) -> None:
    x, y = plane(500, 12)
    options: dict[str, Any] = {"epsilon": 2, "delta": delta, **NOISED}
    sums = LinearRegression(method="sufficient_statistics", **options)
    chosen = LinearRegression(expected_rows=500, **options)
    assert mean_score(chosen, x, y) > 0.6  # about 0.78 and 0.72
    assert chosen.method_ == "objective"
    assert mean_score(sums, x, y) < 0.3  # about 0.02 and 0.07


@pytest.mark.parametrize("kind", [LinearRegression, Ridge])
def test_where_nothing_can_be_learned_it_predicts_about_the_mean(kind: Any) -> None:
    """Also where the mean is far from the middle of the bounds, which is what shrunk weights would say."""
    x, _ = plane(500, 5)
    y = np.random.default_rng(3).normal(-0.7, 0.05, 500)
    assert mean_score(kind(expected_rows=500, **NOISED), x, y) > -0.15  # about -0.05


@pytest.mark.parametrize(
    ("options", "features", "method"),
    [
        ({}, 5, "sufficient_statistics"),  # nobody says how many rows there are
        ({"expected_rows": 1000}, 5, "objective"),
        ({"expected_rows": 30_000}, 5, "sufficient_statistics"),
        ({"expected_rows": 30_000}, 40, "objective"),
        ({"expected_rows": 2_000_000, "epsilon": 0.01}, 5, "sufficient_statistics"),
        ({"expected_rows": 1000, "epsilon": 30}, 5, "sufficient_statistics"),
        ({"expected_rows": 1000, "fit_intercept": False}, 5, "sufficient_statistics"),
        ({"expected_rows": 1000}, 1, "sufficient_statistics"),
        ({"expected_rows": 1000, "epsilon": 1e-9}, 5, "sufficient_statistics"),
        ({"expected_rows": 1000, "method": "functional"}, 5, "functional"),
        ({"method": "objective"}, 1, "objective"),
        ({"unit": dp.REPLACE_ONE}, 5, "objective"),  # 40 rows, which is public there
        ({"unit": dp.REPLACE_ONE, "expected_rows": 50_000}, 5, "sufficient_statistics"),
    ],
)
def test_the_method_follows_from_public_facts(
    options: dict[str, Any], features: int, method: str
) -> None:
    x, y = plane(40, features)
    model = LinearRegression(**{"epsilon": 1, **UNIT_BOX, **options}).fit(x, y)
    assert model.method_ == method
    name = "minimised-regression" if method == "objective" else "linear-regression"
    assert model.privacy_.claims == (name,)
    intervals = model.coefficient_intervals()
    assert intervals.shape == (features, 2)
    assert method != "objective" or np.isinf(intervals).all()


def test_without_noise_it_is_least_squares_unless_it_is_asked_for() -> None:
    x, y = plane(2000, 3)
    free: dict[str, Any] = {"epsilon": math.inf, "unit": dp.PUBLIC, **UNIT_BOX}
    assert LinearRegression(**free).fit(x, y).method_ == "sufficient_statistics"
    asked = LinearRegression(method="objective", **free).fit(x, y)
    theirs = others.LinearRegression().fit(x, y)
    # residuals are far below a deviation of the target, and a ridge of 1 is little beside 2000 rows
    assert np.allclose(asked.coef_, theirs.coef_, atol=0.01)
    assert asked.intercept_ == pytest.approx(theirs.intercept_, abs=0.01)


def test_a_ridge_for_all_slopes_is_only_used_where_it_is_asked_for() -> None:
    x, y = plane(300, 4)
    small = Ridge(alpha=0.5, expected_rows=300, **UNIT_BOX).fit(x, y)
    assert small.method_ == "objective"
    large = Ridge(alpha=1e6, expected_rows=300, **UNIT_BOX)
    assert large.fit(x, y).method_ == "sufficient_statistics"
    asked = Ridge(alpha=1e6, expected_rows=300, method="objective", **UNIT_BOX).fit(x, y)
    assert asked.ridge_ == pytest.approx(1e6)
    assert np.abs(asked.coef_).max() < 0.01 < np.abs(small.coef_).max()


def planned(model: LinearRegression, features: int) -> FitPlan:
    return model.plan(n_features=features)


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize(
    ("epsilon", "rows", "share"), [(1, 1000, 0.1), (1, 500, 0.2), (0.1, 500, 0.5), (2, None, 0.1)]
)
def test_moments_and_the_step_share_the_budget(
    epsilon: float, rows: int | None, share: float, delta: float
) -> None:
    options: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "expected_rows": rows}
    plan = planned(LinearRegression(method="objective", **options, **UNIT_BOX), 6)
    moments, *step = plan.event.events  # type: ignore[attr-defined]
    assert satisfies(moments, dp.PureDP(epsilon * share * (1 + 1e-9)))
    assert not satisfies(moments, dp.PureDP(epsilon * share * 0.999))
    together = dp.events.Compose(*step)
    kind = dp.ApproxDP if delta else dp.PureDP
    rest = epsilon * (1 - share)
    assert satisfies(together, kind(rest * (1 + 1e-9), *([delta] if delta else [])))
    assert not satisfies(together, kind(rest * 0.98, *([delta] if delta else [])))
    assert satisfies(plan.event, kind(epsilon, *([delta] if delta else [])))


def test_laplace_noise_on_both_costs_no_delta() -> None:
    options: dict[str, Any] = {"delta": 1e-6, "expected_rows": 100, **UNIT_BOX}
    few, many = (planned(LinearRegression(**options), features) for features in (3, 12))
    assert few.measure == dp.PureDP(1)
    assert many.measure == dp.ApproxDP(1, 1e-6)


def test_a_guess_of_the_rows_for_the_plan_does_not_change_the_event() -> None:
    model = LinearRegression(method="objective", expected_rows=300, **UNIT_BOX)
    few, many = (model.plan(n_features=3, rows=rows) for rows in (10, 10**6))
    assert few.event == many.event
    assert set(few.noise) == {"objective"}


@pytest.mark.parametrize(("zero", "unit"), [(0.0, 1.0), (-0.7, 0.02), (1.0, 2.0), (0.3, 0.5)])
def test_targets_about_a_mean_stay_where_the_proof_has_them(zero: float, unit: float) -> None:
    schema = dp.Schema(x=dp.Real(0, 1), y=dp.Real(-3, 5))
    facts = planned(LinearRegression(method="objective", schema=schema), 1).facts
    step = plan_minimised(facts, dp.PureDP(1), 100, 0.0).step
    codes = np.linspace(0, 2**VALUE_BITS, 1001).astype(np.int64)
    rows = CodedRows(np.stack([codes, codes], axis=1), ("x", "y"), schema)
    whole, _ = step._target(rows)
    found, _ = step.with_target(zero, unit)._target(rows)
    assert np.abs(found).max() <= 1
    assert np.array_equal(found, np.clip((whole - zero) / unit, -1, 1))
    assert found.min() < found.max()
    # the price doesn't depend on it
    assert step.with_target(zero, unit).event(schema, facts.unit) == step.event(schema, facts.unit)


@pytest.mark.parametrize("rows", [0, 1, 2, 40])
@pytest.mark.parametrize("epsilon", [1e-3, 1, 100])
def test_odd_tables_are_learned_without_an_error(rows: int, epsilon: float) -> None:
    draw = np.random.default_rng(rows)
    x = draw.uniform(-1, 1, (rows, 3))
    x[::2, 0] = np.nan
    options: dict[str, Any] = {"epsilon": epsilon, "method": "objective", "expected_rows": 50}
    box = ([-1, 0, 5], [1, 1, 5])  # the last has no width
    for y, bounds in (
        (np.full(rows, np.nan), (0, 4)),
        (np.full(rows, 4.0), (4, 4)),
        (np.full(rows, 9.0), (0, 4)),
        (draw.uniform(0, 4, rows), (0, 4)),
    ):
        model = LinearRegression(bounds=box, target_bounds=bounds, **options).fit(x, y)
        found = model.predict(draw.uniform(-1, 1, (5, 3)))
        assert np.isfinite(found).all()
        assert (found >= bounds[0]).all()
        assert (found <= bounds[1]).all()
        assert model.coef_[2] == 0


@pytest.mark.parametrize("unit", [dp.ADD_REMOVE, dp.REPLACE_ONE], ids=str)
@pytest.mark.parametrize(
    ("features", "epsilon", "delta"),
    [(100, 1000, 1e-6), (100, 1e-5, "1e-20"), (20, 1, "1e-100"), (7, 50, 1e-9), (2, 1e-9, 0)],
)
def test_what_is_planned_can_be_paid_for_at_extreme_budgets(
    features: int, epsilon: float, delta: float | str, unit: Any
) -> None:
    model = LinearRegression(
        epsilon=epsilon, delta=delta, expected_rows=30, unit=dp.Unit(unit), **UNIT_BOX
    )
    model.fit(np.zeros((30, features)), np.zeros(30))
    assert model.method_ in ("objective", "sufficient_statistics")


@pytest.mark.parametrize(
    "ledger",
    [
        {"limit": dp.ZCDP(3)},
        {"limit": dp.ApproxDP(9, 1e-5), "composition": "renyi", "delta_reserve": 5e-6},
    ],
    ids=["zcdp", "renyi"],
)
def test_ledgers_that_know_no_noise_in_the_objective_with_a_delta_take_sums(ledger: Any) -> None:
    x, y = plane(200, 12)
    options: dict[str, Any] = {"expected_rows": 200, **UNIT_BOX}
    model = LinearRegression(ledger=dp.Ledger(**ledger), delta=1e-6, **options)
    assert model.plan(n_features=12).event == model.fit(x, y).privacy_.event
    assert model.method_ == "sufficient_statistics"
    assert LinearRegression(delta=1e-6, **options).fit(x, y).method_ == "objective"
    pure = LinearRegression(ledger=dp.Ledger(**ledger), **options)
    assert pure.fit(x, y).method_ == "objective"


def test_a_search_names_the_claims_of_the_methods_it_may_take() -> None:
    def names(**options: Any) -> set[str]:
        return set(LinearRegression(**options)._claims)

    assert names() == {"linear-regression", "minimised-regression"}
    assert names(method="objective") == {"minimised-regression"}
    assert names(method="functional") == {"linear-regression"}
    x, y = plane(60, 2)
    settings = {"method": ["objective"]}
    search = PrivateSearch(LinearRegression(**UNIT_BOX), settings, epsilon=3, runs=2)
    assert "minimised-regression" in search.fit(x, y).privacy_.claims


def test_a_step_that_is_asked_for_needs_no_sums_that_could_be_drawn() -> None:
    options: dict[str, Any] = {"delta": "1e-300", "expected_rows": 30, **UNIT_BOX}
    with pytest.raises(ValueError, match="delta is too small"):
        LinearRegression(method="sufficient_statistics", **options).plan(n_features=5)
    plan = planned(LinearRegression(method="objective", **options), 5)
    assert len(plan.queries) == 1


def test_a_skewed_target_is_predicted_without_its_outliers() -> None:
    """What the documentation says of it: sums keep the mean."""
    draw = np.random.default_rng(1)
    x, y = draw.uniform(-1, 1, (3000, 3)), np.where(draw.random(3000) < 0.05, 0.9, -1.0)
    options: dict[str, Any] = {"epsilon": 20, **NOISED}
    with fixed_noise(4):
        objective = LinearRegression(method="objective", **options).fit(x, y).predict(x).mean()
        sums = LinearRegression(method="sufficient_statistics", **options).fit(x, y)
    assert y.mean() - 0.08 < objective < y.mean() - 0.02
    assert sums.predict(x).mean() == pytest.approx(y.mean(), abs=0.02)


def test_arguments() -> None:
    x, y = plane(20, 2)
    with pytest.raises(ValueError, match="fit_intercept must be True with method='objective'"):
        LinearRegression(method="objective", fit_intercept=False, **UNIT_BOX).fit(x, y)
    for wrong in (0, -3, 2.5, "many"):
        with pytest.raises((ValueError, TypeError), match="expected_rows"):
            LinearRegression(expected_rows=wrong, **UNIT_BOX).fit(x, y)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="alpha is too large for method='objective'"):
        Ridge(method="objective", alpha=1e12, **UNIT_BOX).fit(x, y)
    with pytest.raises(ValueError, match="less than 8192"):
        LinearRegression(method="objective", **UNIT_BOX).plan(n_features=8192)
