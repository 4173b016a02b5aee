"""Components drawn by the exponential mechanism: what they cost, what one row can do, how good they are."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn import decomposition

import discreet as dp
from discreet import accounting, events
from discreet.coding import VALUE_BITS
from discreet.models.decomposition import PCA
from discreet.models.decomposition.ball import RADIUS, Ball
from discreet.models.decomposition.directions import (
    WHY,
    PrincipalDirections,
    SquaresAlong,
    _complement,
)
from discreet.step import CodedRows
from discreet.testing import fixed_noise
from small_tables import CLOUD_BOUNDS, draw_cloud

UNITS = {
    "add": dp.Unit(dp.ADD_REMOVE),
    "replace": dp.Unit(dp.REPLACE_ONE),
    "add, persons": dp.Unit(dp.ADD_REMOVE, "id", 2),
    "replace, persons": dp.Unit(dp.REPLACE_ONE, "id", 2),
}


def exponential(count: int | None = None, **options: Any) -> PCA:
    return PCA(count, **{"method": "exponential", "accept_assumed": True, **options})


def box(d: int, centre: Any = None, norm: float = 0.5) -> Ball:
    middle = np.full(d, 0.5) if centre is None else np.asarray(centre, float)
    return Ball((dp.Real(0, 1),) * d, middle, norm)


def test_without_noise_it_is_the_plain_one() -> None:
    x = draw_cloud()
    free = {"unit": dp.PUBLIC, "epsilon": math.inf, "bounds": CLOUD_BOUNDS}
    ours = exponential(norm=100, **free).fit(x)
    plain = decomposition.PCA().fit(x)
    assert abs((ours.components_ * plain.components_).sum(axis=1)) == pytest.approx(1, abs=1e-4)
    shares = plain.explained_variance_ * (len(x) - 1) / len(x)
    # the squares of all columns are on the grid of the widest
    assert ours.explained_variance_[0] == pytest.approx(shares[0], rel=1e-4)
    assert ours.explained_variance_ratio_[0] == pytest.approx(
        plain.explained_variance_ratio_[0], rel=1e-4
    )
    assert ours.mean_ == pytest.approx(x.mean(axis=0), abs=1e-2)
    moved = exponential(norm=1, **free).fit(x)
    assert moved.explained_variance_.sum() <= 1.001


@pytest.mark.parametrize(("count", "draws"), [(1, 1), (2, 2), (3, 2), (None, 2)])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_what_a_fit_costs(count: int | None, draws: int, delta: float) -> None:
    plan = exponential(count, epsilon=2, delta=delta, bounds=CLOUD_BOUNDS).plan(rows=1000)
    mean, directions, squares = plan.event.events
    assert type(mean) is type(squares) is events.DiscreteLaplace
    each = events.Exponential(Fraction(16, 10) / draws)
    assert directions == events.Assumed(events.Repeat(each, draws), WHY)
    assert accounting.cost(plan.event, dp.PureDP).epsilon == 2
    assert set(plan.noise) == {"mean_", "explained_variance_"}


def test_one_column_is_not_drawn() -> None:
    plan = exponential(epsilon=1, bounds=(0, 1)).plan(n_features=1)
    assert not [e for e in events.walk(plan.event) if isinstance(e, events.Assumed)]
    assert accounting.cost(plan.event, dp.PureDP).epsilon == 1
    assert exponential(bounds=(0, 1)).fit(np.zeros((5, 1))).components_ == [[1]]


def test_columns_without_width_come_last() -> None:
    x = np.random.default_rng(0).random((500, 4))
    model = exponential(bounds=([0, 2, 0, 3], [1, 2, 1, 3]), epsilon=1).fit(x)
    assert (model.components_[2:] == np.eye(4)[[1, 3]]).all()
    assert (model.components_[:2, [1, 3]] == 0).all()
    assert model.components_ @ model.components_.T == pytest.approx(np.eye(4), abs=1e-12)
    assert (np.diff(model.explained_variance_) <= 0).all()
    nothing = exponential(2, bounds=(1, 1)).fit(np.ones((5, 3)))
    assert (nothing.components_ == np.eye(3)[:2]).all()


def test_consent_is_asked_for() -> None:
    x = draw_cloud(50)
    with pytest.raises(ValueError, match="pass accept_assumed=True, give a ledger"):
        PCA(1, method="exponential", bounds=CLOUD_BOUNDS).fit(x)
    closed = dp.Ledger(limit=dp.PureDP(1))
    for consent in (False, True):  # the ledger's own terms count, not the estimator's wish
        with pytest.raises(ValueError, match=r"isn't proved \(unit vectors are drawn"):
            exponential(1, bounds=CLOUD_BOUNDS, ledger=closed, accept_assumed=consent).fit(x)
    assert len(closed.entries()) == 1  # nothing was charged
    ledger = dp.Ledger(limit=dp.PureDP(1), accept_assumed=True)
    model = PCA(1, method="exponential", bounds=CLOUD_BOUNDS, ledger=ledger).fit(x)
    assert len(ledger.statement().assumed) == 1
    assert f"assumed, not proved: {WHY}" in model.privacy_.certificate
    assert model.privacy_.claims == ("pca-exponential",)
    with pytest.raises(TypeError, match="accept_assumed must be True or False"):
        PCA(1, bounds=CLOUD_BOUNDS, accept_assumed="yes").fit(x)
    proved = PCA(1, bounds=CLOUD_BOUNDS).fit(x)
    assert "assumed" not in proved.privacy_.certificate
    assert proved.privacy_.claims == ("pca", "pca-clipped")


def test_public_arguments_are_checked() -> None:
    for norm in (0, -1):
        with pytest.raises(ValueError, match="norm must be"):
            exponential(1, bounds=CLOUD_BOUNDS, norm=norm).plan()
    with pytest.raises(ValueError, match="norm must lie between"):
        exponential(1, bounds=CLOUD_BOUNDS, norm="1e-400").plan()
    with pytest.raises(ValueError, match="'clipped' or 'exponential', got 'exact'"):
        PCA(1, bounds=CLOUD_BOUNDS, method="exact").plan()
    step = PrincipalDirections(("x",), box(1), 1, math.inf, dp.Unit())
    with pytest.raises(ValueError, match=r"only with unit=dp.PUBLIC"):
        step.event(dp.Schema(x=dp.Real(0, 1)), dp.Unit())
    with pytest.raises(ValueError, match="another unit"):
        step.event(dp.Schema(x=dp.Real(0, 1)), dp.Unit(dp.REPLACE_ONE))


def test_rows_in_a_ball() -> None:
    draw = np.random.default_rng(0)
    codes = draw.integers(0, 2**VALUE_BITS + 1, (3000, 4))
    ball = box(4, [0.2, 0.5, 0.5, 1.0])
    inside = ball.rows(codes)
    assert ((inside**2).sum(axis=1) <= RADIUS**2).all()
    real = (codes + 0.5) / 2**VALUE_BITS - ball.centre
    far = np.linalg.norm(real, axis=1)
    wanted = real * np.minimum(1, 0.5 / far)[:, None] / 0.5
    assert inside / RADIUS == pytest.approx(wanted, abs=3 / RADIUS)
    # each row by itself
    assert all((ball.rows(codes[i : i + 1])[0] == inside[i]).all() for i in range(50))
    exact = sum(np.outer(z, z).astype(object) for z in inside)
    assert (ball.gram(codes) == exact).all()
    assert (ball.gram(codes[::-1]) == exact).all()


def test_squares_along_directions_share_a_rows_norm() -> None:
    draw = np.random.default_rng(1)
    ball = box(5)
    axes = np.linalg.qr(draw.normal(size=(5, 5)))[0]
    codes = draw.integers(0, 2**VALUE_BITS + 1, (300, 5))
    for k in (1, 3, 5):
        each = np.array([ball.squares(codes[i : i + 1], axes[:k]) for i in range(300)])
        assert each.min() >= 0
        assert (each.sum(axis=1) <= RADIUS**2).all()
        assert (ball.squares(codes, axes[:k]) == each.sum(axis=0)).all()
        inside = ball.rows(codes).astype(float)
        assert each[:, :k] == pytest.approx((inside @ axes[:k].T) ** 2, abs=4 * RADIUS)
    for name, rows_, sides in (("add", 1, 1), ("replace", 1, 2), ("replace, persons", 2, 2)):
        assert ball.sensitivity(UNITS[name]).l1 == rows_ * sides * RADIUS**2


CORNERS = [
    np.array(c) for c in itertools.product([0, 2 ** (VALUE_BITS - 1), 2**VALUE_BITS], repeat=2)
]


def log_ratios(factor: float, here: Any, there: Any) -> Any:
    """How the log-density changes at each of many directions in the plane, normaliser included."""
    angles = np.arange(360) * math.pi / 360
    v = np.column_stack([np.cos(angles), np.sin(angles)])
    logs = [factor * np.einsum("ni,ij,nj->n", v, box(2).gram(c), v) for c in (here, there)]
    return np.subtract(*(one - np.logaddexp.reduce(one) for one in logs))


@pytest.mark.parametrize("name", UNITS)
def test_one_person_changes_log_densities_by_epsilon_at_most(name: str) -> None:
    unit, epsilon = UNITS[name], 1.5
    step = PrincipalDirections(("x", "y"), box(2), 1, Fraction(3, 2), unit)
    factor, most = float(step.factor()), 0.0
    m, others = unit.rows_per_person, [CORNERS[5]] * 40
    for gone, come in itertools.product(CORNERS, repeat=2):
        came = [come] * m if "replace" in name else []
        for rest in ([], others):
            here, there = (np.array([*rest, *part]) for part in ([gone] * m, came))
            there = there.reshape(-1, 2)
            ratio = log_ratios(factor, here, there)
            assert abs(ratio).max() <= epsilon + 1e-9
            assert np.ptp(ratio) <= epsilon + 1e-9  # which makes it ε²/8-zCDP too
            most = max(most, float(abs(ratio).max()))
    assert most > 0.95 * epsilon  # and a smaller bound would be false
    wrong = log_ratios(1.1 * factor, np.array(others + [CORNERS[5]] * m), np.array(others))
    if name.startswith("add"):
        assert abs(wrong).max() > epsilon


def test_directions_are_orthonormal_and_drawn_in_the_complement() -> None:
    for q in (2, 5, 30):
        along = np.random.default_rng(q).normal(size=q)
        along /= np.linalg.norm(along)
        for v in (along, np.eye(q)[0], -np.eye(q)[0], np.eye(q)[-1]):
            turned = _complement(v)
            assert turned.T @ turned == pytest.approx(np.eye(q - 1), abs=1e-12)
            assert v @ turned == pytest.approx(0, abs=1e-12)
    codes = np.random.default_rng(0).integers(0, 2**VALUE_BITS + 1, (40, 12))
    names = tuple(f"x{j}" for j in range(12))
    schema = dp.Schema({name: dp.Real(0, 1) for name in names})
    step = PrincipalDirections(names, box(12), 12, Fraction(1), dp.Unit())
    found = step.run(CodedRows(codes, names, schema))
    assert found @ found.T == pytest.approx(np.eye(12), abs=1e-12)
    best = PrincipalDirections(names, box(12), 12, math.inf, dp.Unit())
    values, vectors = np.linalg.eigh(box(12).gram(codes).astype(float))
    assert abs((best.run(CodedRows(codes, names, schema)) * vectors.T[::-1]).sum(axis=1)) == (
        pytest.approx(1, abs=1e-9)
    )
    assert (np.diff(values) > 0).all()


def test_signs_are_canonical_and_components_random() -> None:
    found = [
        exponential(bounds=CLOUD_BOUNDS, epsilon=0.1).fit(draw_cloud(100)).components_
        for _ in range(4)
    ]
    for components in found:
        largest = abs(components).argmax(axis=1)
        assert (components[np.arange(3), largest] > 0).all()
    assert len({components.tobytes() for components in found}) == 4


def test_noise_of_variances_is_what_is_planned() -> None:
    names, schema = ("x", "y"), dp.Schema(x=dp.Real(0, 1), y=dp.Real(0, 1))
    step = SquaresAlong(names, box(2), np.eye(2), dp.PureDP("1/10"), dp.Unit())
    codes = np.array([[2**VALUE_BITS, 2 ** (VALUE_BITS - 1)]] * 30)
    with fixed_noise(0):
        found = np.array([step.run(CodedRows(codes, names, schema)) for _ in range(3000)])
    assert found.std(axis=0) == pytest.approx(step.spread(), rel=0.06)
    assert found.mean(axis=0) == pytest.approx([30 * 0.25, 0, 0], abs=4 * step.spread() / 50)


def captured(x: Any, **options: Any) -> float:
    covariance = np.cov(x.T)
    best = np.linalg.eigvalsh(covariance)[-2:].sum()
    shares = []
    for seed in range(5):
        with fixed_noise(seed):
            v = PCA(2, bounds=(0, 1), accept_assumed=True, **options).fit(x).components_
        shares.append(np.trace(v @ covariance @ v.T) / best)
    return float(np.mean(shares))


def test_with_many_columns_draws_beat_noise_on_the_matrix() -> None:
    """Pure DP on 40 columns: a matrix has 820 entries to hide, a direction is one draw."""
    draw = np.random.default_rng(0)
    factors = draw.normal(size=(10_000, 2)) @ draw.normal(size=(2, 40))
    x = np.clip(0.5 + 0.08 * factors + 0.05 * draw.normal(size=(10_000, 40)), 0, 1)
    drawn = captured(x, method="exponential", epsilon=1)
    assert drawn > 0.95
    assert drawn > captured(x, method="sulq", epsilon=1) + 0.2
    assert captured(x, method="exponential", epsilon=0.05) < drawn


@pytest.mark.parametrize("width", [1e-270, 1e270])
def test_columns_whose_products_fit_no_double_are_refused(width: float) -> None:
    with pytest.raises(ValueError, match="use other units"):
        exponential(1, bounds=(0, width)).fit(np.zeros((5, 2)))


@pytest.mark.parametrize("width", [1e-100, 1e100])
def test_columns_of_any_width(width: float) -> None:
    x = np.random.default_rng(0).random((50, 2)) * width
    for norm in (None, width * 1e-9, 1.0, 1e290, 1e-290):
        model = exponential(1, bounds=(0, width), norm=norm).fit(x)
        assert np.isfinite(model.explained_variance_).all()
        assert np.isfinite(model.transform(x)).all()


def test_fits_read_the_same_rows_for_persons() -> None:
    x = draw_cloud(60)
    unit = dp.Unit(dp.REPLACE_ONE, id_column="who", max_rows=2)
    model = exponential(1, bounds=CLOUD_BOUNDS, unit=unit).fit(x, groups=np.arange(60) // 3)
    assert model.privacy_.unit == unit
    assert model.transform(x).shape == (60, 1)
    assert exponential(1, bounds=CLOUD_BOUNDS, whiten=True).fit(x).transform(x).shape == (60, 1)
