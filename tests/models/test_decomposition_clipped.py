"""Components of rows moved into a ball: what they cost, what one person moves, when they are taken."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn import decomposition
from sklearn.datasets import load_breast_cancer

import discreet as dp
from discreet import accounting, events
from discreet.coding import VALUE_BITS
from discreet.guarantees.decomposition.attacks import find_farthest_products
from discreet.models.decomposition import PCA
from discreet.models.decomposition.ball import RADIUS, Ball, root_above
from discreet.models.decomposition.clipped import ClippedPlan, ClippedProducts
from discreet.models.facts import Facts
from discreet.testing import fixed_noise
from small_tables import CLOUD_BOUNDS, draw_cloud

UNITS = [
    dp.Unit(dp.ADD_REMOVE),
    dp.Unit(dp.REPLACE_ONE),
    dp.Unit(dp.ADD_REMOVE, "id", 3),
    dp.Unit(dp.REPLACE_ONE, "id", 3),
]


def clipped(count: int | None = None, **options: Any) -> PCA:
    return PCA(count, **{"method": "clipped", **options})


def ball(d: int, norm: Any = 0.5) -> Ball:
    return Ball((dp.Real(0, 1),) * d, np.full(d, 0.5), norm)


def test_without_noise_it_is_the_plain_one() -> None:
    x = draw_cloud()
    ours = clipped(unit=dp.PUBLIC, epsilon=math.inf, bounds=CLOUD_BOUNDS, norm=100).fit(x)
    plain = decomposition.PCA().fit(x)
    assert abs((ours.components_ * plain.components_).sum(axis=1)) == pytest.approx(1, abs=1e-4)
    shares = plain.explained_variance_ * (len(x) - 1) / len(x)
    assert ours.explained_variance_ == pytest.approx(shares, rel=1e-2)
    assert ours.mean_ == pytest.approx(x.mean(axis=0), abs=1e-2)
    assert not ours.privacy_.is_private


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_products_move_by_their_sensitivity_at_most(unit: dp.Unit, d: int) -> None:
    bound = ball(d).products_sensitivity(unit)
    l1, l2_squared = find_farthest_products(unit, d)
    assert l1 <= bound.l1
    assert l2_squared <= bound.l2_squared
    # under add/remove both are reached, but for the grid; L2 under replace-one where there are two axes
    if unit.relation is dp.ADD_REMOVE:
        assert l1 > 0.999 * bound.l1
    if unit.relation is dp.ADD_REMOVE or d > 1:
        assert l2_squared > 0.999 * bound.l2_squared


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_the_sensitivity_of_products_is_exact_for_rows_on_the_grid(unit: dp.Unit) -> None:
    """Rows at an axis, and for two or four columns rows with equal entries, are on the sphere exactly."""
    for d in (1, 4):
        bound, m = ball(d).products_sensitivity(unit), unit.rows_per_person
        above = np.triu_indices(d)
        even = np.full(d, RADIUS // math.isqrt(d), object)
        axes = RADIUS * np.eye(d, dtype=object)
        assert (even**2).sum() == RADIUS**2
        mine = [m * np.outer(z, z)[above] for z in (even, *axes)]
        if unit.relation is dp.ADD_REMOVE:
            assert max(sum(move) for move in mine) == bound.l1
            assert max(sum(move**2) for move in mine) == bound.l2_squared
        elif d > 1:
            assert sum((mine[1] - mine[2]) ** 2) == bound.l2_squared


def test_replacing_a_row_moves_products_no_farther_than_the_bound() -> None:
    """For random pairs of rows on the sphere, and for those that a climb finds."""
    draw = np.random.default_rng(0)
    for d in (2, 4, 9):
        above, bound = np.triu_indices(d), d / math.sqrt(2) + 1
        z, w = draw.normal(size=(2, 20_000, d))
        z, w = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (z, w))
        moved = abs(z[:, above[0]] * z[:, above[1]] - w[:, above[0]] * w[:, above[1]]).sum(axis=1)
        assert moved.max() <= bound
        assert ball(d).products_sensitivity(UNITS[1]).l1 == min(
            root_above(d * d * RADIUS**4, 2) + RADIUS**2, (d + 1) * RADIUS**2
        )
        assert ball(d).products_sensitivity(UNITS[1]).l1 >= bound * RADIUS**2


def test_roots_are_rounded_up() -> None:
    for number, divisor in itertools.product(range(60), (1, 2)):
        found = root_above(number, divisor)
        assert divisor * found**2 >= number
        assert not found or divisor * (found - 1) ** 2 < number


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_fit_costs_what_was_given(unit: dp.Unit, delta: float) -> None:
    plan = clipped(epsilon=2, delta=delta, bounds=CLOUD_BOUNDS, unit=unit).plan(rows=1000)
    mean, products = plan.event.events
    kind = events.Gaussian if delta else events.DiscreteLaplace
    assert type(mean) is type(products) is kind
    target = dp.ApproxDP(2, delta) if delta else dp.PureDP(2)
    assert accounting.satisfies(plan.event, target)
    less = dp.ApproxDP("199/100", delta) if delta else dp.PureDP("199/100")
    assert not accounting.satisfies(plan.event, less)
    assert set(plan.noise) == {"mean_", "covariance"}


def test_the_ball_is_round_where_columns_are_scaled_by_their_bounds() -> None:
    """A narrow column keeps its share of the noise: in other units the fit is the same, but for them."""
    x = draw_cloud(4000)  # so many that no eigenvalue is negative
    low, high = (np.asarray(side, float) for side in CLOUD_BOUNDS)
    units = np.array([1.0, 1e-3, 50.0])
    with fixed_noise(3):
        one = clipped(bounds=CLOUD_BOUNDS, epsilon=100).fit(x)
    with fixed_noise(3):
        other = clipped(bounds=(low * units, high * units), epsilon=100).fit(x * units)
    assert other.mean_ == pytest.approx(one.mean_ * units, rel=1e-6)
    total = [(m.components_.T * m.explained_variance_) @ m.components_ for m in (one, other)]
    assert total[1] == pytest.approx(total[0] * np.outer(units, units), rel=1e-3, abs=1e-6)


def test_columns_without_width_have_no_variance() -> None:
    x = np.random.default_rng(0).random((500, 3))
    model = clipped(bounds=([0, 2, 0], [1, 2, 1]), epsilon=1).fit(x)
    assert (model.components_[:2, 1] == 0).all()
    assert model.explained_variance_[2] == 0
    nothing = clipped(1, bounds=(1, 1)).fit(np.ones((5, 2)))
    assert nothing.explained_variance_ == [0]


def test_no_rows_and_rows_of_nothing_are_no_special_cases() -> None:
    for x in (np.zeros((0, 3)), np.full((4, 3), np.nan), np.full((4, 3), 1e300)):
        model = clipped(2, bounds=CLOUD_BOUNDS, epsilon=1).fit(x)
        assert model.components_ @ model.components_.T == pytest.approx(np.eye(2), abs=1e-9)
        assert np.isfinite(model.explained_variance_).all()


def test_public_facts_decide_whether_rows_are_clipped() -> None:
    def recipe(d: int, **options: Any) -> Any:
        return PCA(1, bounds=(0, 1), **options).plan(n_features=d).recipe

    def is_clipped(d: int, **options: Any) -> bool:
        return isinstance(recipe(d, **options), ClippedPlan)

    assert not is_clipped(3, epsilon=1)
    assert is_clipped(3, epsilon=1, expected_rows=500)
    assert is_clipped(3, epsilon="1/10")
    assert is_clipped(20, epsilon=1)
    assert not is_clipped(20, epsilon=1, expected_rows=10**7)
    assert not is_clipped(20, epsilon=1, method="sulq")
    assert not is_clipped(20, epsilon=1, delta=1e-6, method="analyze_gauss")
    assert not is_clipped(3, epsilon=math.inf, unit=dp.PUBLIC)
    # noise that a fine grid has no room for: on a coarser one
    assert is_clipped(3, epsilon="1e-7")
    assert recipe(3, epsilon="1e-7")._grid < RADIUS
    with pytest.raises(ValueError, match="more than can be drawn"):
        recipe(3, epsilon="1e-13", method="clipped")
    with pytest.raises(ValueError, match="expected_rows"):
        is_clipped(3, expected_rows=0)
    for norm in (0, -1):
        with pytest.raises(ValueError, match="norm must be"):
            recipe(3, method="clipped", norm=norm)
    with pytest.raises(ValueError, match="norm must lie between"):
        recipe(3, method="clipped", norm="1e-400")


def test_the_ball_grows_with_the_rows_that_are_expected() -> None:
    radii = []
    for rows in (100, 2_000, 6_000, 10**7):
        model = clipped(1, bounds=(-1, 1), epsilon=1, expected_rows=rows)
        radii.append(model.plan(n_features=9).recipe._norms[0] / 3)
    assert radii == pytest.approx([1 / 3, 1 / 3, 1 / 2, 2 / 3])


def test_a_step_is_for_its_own_unit() -> None:
    schema = dp.Schema(x=dp.Real(0, 1))
    step = ClippedProducts(("x",), ball(1), dp.PureDP(1), dp.Unit())
    with pytest.raises(ValueError, match="another unit"):
        step.event(schema, dp.Unit(dp.REPLACE_ONE))
    assert repr(step) == "ClippedProducts('x',)"


def test_products_in_an_ellipsoid_are_those_of_rows_scaled_by_its_axes() -> None:
    draw = np.random.default_rng(0)
    codes = draw.integers(0, 2**VALUE_BITS + 1, (50, 2))
    around = ball(2, np.array([2.0, 8.0]))
    centred = (codes + 0.5) / 2**VALUE_BITS - 0.5
    found = around.gram(codes) * around.product_units
    assert found == pytest.approx(centred.T @ centred, rel=1e-2)
    assert ((around.rows(codes) ** 2).sum(axis=1) <= RADIUS**2).all()


def test_few_rows_and_many_columns_keep_most_of_the_variance() -> None:
    """569 rows, 30 columns, scaled to [0, 1] by bounds of half as much again: 8 fits each, spread 0.01."""
    x = load_breast_cancer().data
    x = x / (1.5 * x.max(axis=0))
    covariance = np.cov(x.T)

    def captured(model: PCA) -> float:
        along = model.components_[:2]
        return float(np.trace(along @ covariance @ along.T) / np.trace(covariance))

    options = {"bounds": (0, 1), "epsilon": 2, "delta": 1e-6, "expected_rows": 600}
    best = captured(decomposition.PCA(2).fit(x))
    ours = np.mean([captured(PCA(2, **options).fit(x)) for _ in range(8)])
    whole = np.mean([captured(PCA(2, method="analyze_gauss", **options).fit(x)) for _ in range(8)])
    assert ours > 0.85 * best
    assert whole < 0.6 * best


def test_a_huge_norm_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(Ball((dp.Real(0, 1),), np.zeros(1), 1e200).product_units).all()


def test_a_wrong_norm_is_refused_whatever_the_method() -> None:
    with pytest.raises(ValueError, match="norm"):
        PCA(norm=-3, epsilon=0.01, bounds=(0, 1)).plan(n_features=20)


def test_a_grid_is_as_coarse_as_the_noise_asks_and_no_row_reaches_beyond_it() -> None:
    """Noise for 200 columns at a tiny ε can't be drawn on the finest grid."""
    schema = dp.Schema({f"x{i}": dp.Real(0, 1) for i in range(200)})
    draw = np.random.default_rng(0)
    for epsilon, most in ((1.0, RADIUS), (1e-4, 2**11), (1e-7, 2**7)):
        facts = Facts(schema, dp.Unit(), tuple(schema), None, None)
        plan = ClippedPlan(facts, tuple(schema.base.values()), dp.PureDP(epsilon), 100, None)
        made = plan._products(np.full(200, 0.5), plan._grid)
        assert plan._grid == most
        z = made._ball.rows(draw.integers(0, 2**VALUE_BITS + 1, (50, 200)))
        assert (z**2).sum(axis=1).max() <= most**2
        moved = made._ball.products_sensitivity(dp.Unit())
        assert moved.l2_squared == most**4
        assert accounting.satisfies(plan.event(), dp.PureDP(epsilon))
    PCA(1, method="clipped", epsilon=1e-7, schema=schema).fit(draw.random((5, 200)))
