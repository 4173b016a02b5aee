"""Evened Fourier features: exact bounds for every turn, what they cost, where they are used."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet import models
from discreet.accounting import satisfies
from discreet.models.cells import axis_of
from discreet.models.erm import EvenedMap, FeatureMap, FourierMap
from discreet.models.erm.evened import wave_moments
from discreet.models.erm.features import ONE, shrink
from discreet.models.erm.fourier import orthogonal_frequencies
from discreet.models.svm import SVR, kernel
from discreet.models.svm.evening import _project
from discreet.testing import fixed_noise


def evened(constant: bool = True, count: int = 20, size: float = 1.0, seed: int = 3) -> EvenedMap:
    """A map of numbers whose turn has entries of about this size."""
    columns = tuple(dp.Real(-1, 1) for _ in range(3))
    inner = FeatureMap(columns, False, 6)
    draw = np.random.RandomState(seed)
    waves = FourierMap(inner, orthogonal_frequencies(3, count, 2.0, draw), False)
    planned = EvenedMap.without_turn(waves, constant)
    shape = planned.turn.shape
    turn, centre = size * draw.normal(size=shape), size * draw.normal(size=shape[0])
    return replace(planned, turn=turn, centre=centre)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("size", [0.0, 1e-3, 0.1, 10.0, 1e300])
def test_evened_features_have_the_norm_they_claim_whatever_the_turn(
    size: float, constant: bool
) -> None:
    features = evened(constant, size=size)
    rows = np.random.default_rng(0).integers(0, 2**20 + 1, (4097, 3))
    z = features.block(rows)
    assert (z == np.rint(z)).all()
    assert (z**2).sum(axis=1).max() <= features.radius**2
    assert np.abs(z).sum(axis=1).max() <= features.length
    assert features.width == z.shape[1] == 43 + constant
    if size >= 0.1:  # the bound is reached, so that a smaller one would fail
        assert (z**2).sum(axis=1).max() >= 0.99 * features.radius**2


@pytest.mark.parametrize("size", [1e-3, 0.1, 10.0, 1e300])
def test_an_evened_row_has_the_same_features_in_every_company(size: float) -> None:
    features = evened(size=size)
    rows = np.random.default_rng(1).integers(0, 2**20 + 1, (4097, 3))
    together = features.matrix(rows)
    assert (together[1:] == features.matrix(rows[1:])).all()
    assert (together[-1] == features.block(rows[-1:])[0]).all()
    assert (together[7] == features.block(rows[7:8])[0]).all()


@pytest.mark.parametrize("size", [1e-3, 0.1, 10.0, 1e300])
def test_evened_features_are_those_of_whole_numbers_without_limit(size: float) -> None:
    features = evened(size=size)
    rows = np.random.default_rng(2).integers(0, 2**20 + 1, (20, 3))
    inner = features.waves.inner.block(rows)
    raw = np.concatenate([features.waves.block(rows), inner], axis=1).astype(int).tolist()
    turn = [
        [int(np.rint(min(max(cell * 2**14, -(2.0**24)), 2.0**24))) for cell in line]
        for line in features.turn
    ]
    centre = [int(np.rint(min(max(cell, -1.0), 1.0) * ONE)) for cell in features.centre]
    wanted = np.empty((20, 43))
    for at, row in enumerate(raw):
        for to in range(43):
            found = sum(
                (f - c) * turn[k][to] for k, (f, c) in enumerate(zip(row, centre, strict=True))
            )
            whole = abs(found) >> 14
            wanted[at, to] = min(whole, ONE) * (1 if found > 0 else -1)
    shrink(wanted, ONE)
    assert (features.block(rows)[:, :43] == wanted).all()


def test_a_turn_that_is_no_number_is_none() -> None:
    features = evened(size=1.0)
    turn, centre = features.turn.copy(), features.centre.copy()
    turn[0, 0], turn[1, 1], turn[2, 2], centre[3] = np.nan, np.inf, -np.inf, np.nan
    found = replace(features, turn=turn, centre=centre)
    turn[0, 0], turn[1, 1], turn[2, 2], centre[3] = 0, 2**10, -(2**10), 0
    wanted = replace(features, turn=turn.copy(), centre=centre.copy())
    rows = np.random.default_rng(3).integers(0, 2**20 + 1, (50, 3))
    assert (found.block(rows) == wanted.block(rows)).all()


@pytest.mark.parametrize(
    "counts", [[0, 0, 0], [-5, -3, -9], [1e17, 0, -3], [1e17, 1e17, 3], [4, -2, 2], [7]]
)
def test_shares_of_noised_counts_are_shares_whatever_noise_adds(counts: list[float]) -> None:
    shares = _project(counts)
    assert (shares >= 0).all()
    assert shares.sum() == pytest.approx(1)
    assert (np.argsort(shares, kind="stable") == np.argsort(counts, kind="stable")).all() or (
        len(set(shares)) < len(counts)
    )


def test_moments_of_waves_are_those_of_independent_columns() -> None:
    draw = np.random.default_rng(5)
    points = [np.linspace(-0.9, 0.9, 7), np.array([-1.0, 0.5, 1.0])]
    shares = [draw.dirichlet(np.ones(7)), draw.dirichlet(np.ones(3))]
    frequencies = draw.normal(0, 2, (2, 4))
    cells = np.array([(a, b) for a in points[0] for b in points[1]])
    weights = np.outer(*shares).ravel()
    angles = cells @ frequencies
    waves = np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / 2
    mean, covariance = wave_moments(frequencies, points, shares)
    assert mean == pytest.approx(weights @ waves)
    centred = waves - weights @ waves
    assert covariance == pytest.approx((centred.T * weights) @ centred)


def narrow(count: int = 20_000) -> tuple[Any, Any]:
    """Columns that fill little of their bounds, one of which bends a target that varies little."""
    draw = np.random.default_rng(8)
    x = np.column_stack([draw.beta(1, 6, count), draw.normal(0.2, 0.05, count)])
    x = np.clip(x, 0, 1)
    return x, 0.5 + 0.05 * np.cos(20 * x[:, 0]) + draw.normal(0, 0.03, count)


def test_evened_features_tell_what_noise_hides_otherwise(monkeypatch: Any) -> None:
    x, y = narrow()
    options: dict[str, Any] = {"epsilon": 1, "bounds": (0, 1), "target_bounds": (0, 1)}
    options |= {"expected_rows": 20_000, "delta": 1e-6, "random_state": 0}
    with fixed_noise(3):
        model = SVR(**options).fit(x, y)
        monkeypatch.setattr(kernel, "is_worth_it", lambda *_: False)
        plain = SVR(**options).fit(x, y)
    assert model.turn_.shape == (102, 102)
    assert model.gamma_ == 10.0
    assert model.coef_.shape == (102,)
    assert not hasattr(plain, "turn_")
    assert model.score(x, y) > plain.score(x, y) + 0.1
    model.fit(x, y)  # a fit that evens nothing forgets what another one did
    assert not hasattr(model, "centre_")


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("relation", [dp.ADD_REMOVE, dp.REPLACE_ONE])
def test_histograms_and_step_cost_what_was_planned(relation: Any, delta: Any) -> None:
    unit = dp.Unit(relation)
    options: dict[str, Any] = {"epsilon": 2, "delta": delta, "bounds": (0, 1), "unit": unit}
    plan = SVR(target_bounds=(0, 1), expected_rows=50_000, **options).plan(n_features=3)
    assert len(plan.queries) == 3
    counts = [question.measure.epsilon for question in plan.recipe.asked]
    assert sum(counts) == Fraction(1, 10)
    measure = dp.ApproxDP(2, delta) if delta else dp.PureDP(2)
    assert satisfies(plan.event, measure)
    less = dp.ApproxDP("1.9", delta) if delta else dp.PureDP("1.9")
    assert not satisfies(plan.event, less)


def test_features_are_evened_where_there_are_many_rows_for_the_noise_alone() -> None:
    def is_evened(rows: int, **changed: Any) -> bool:
        options: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "target_bounds": (0, 1)}
        options |= {"bounds": (0, 1), "expected_rows": rows} | changed
        return len(SVR(**options).plan(n_features=2).queries) == 2

    assert is_evened(8_000)
    assert not is_evened(6_000)
    assert is_evened(1_000, epsilon=10)
    assert not is_evened(999, epsilon=10)
    assert not is_evened(8_000, delta=0)
    assert not is_evened(8_000, expected_rows=None)  # nobody says that there are many
    public = {"expected_rows": None, "unit": dp.Unit(dp.REPLACE_ONE)}
    x = np.linspace(0, 1, 2_000)[:, None]
    model = SVR(epsilon=50, bounds=(0, 1), target_bounds=(0, 1), n_components=4, **public)
    assert hasattr(model.fit(x, x[:, 0]), "turn_")
    assert not is_evened(8_000, method="output")
    assert not is_evened(10**6, n_components=300)
    wide = {"epsilon": 1, "delta": 1e-6, "bounds": (0, 1), "target_bounds": (0, 1)}
    for width, asked in ((8, 8), (33, 0)):
        model = SVR(**wide, n_components=256, expected_rows=10**8)
        assert len(model.plan(n_features=width).queries) == asked
    schema = dp.Schema(u=dp.Real(0, 1), v=dp.Categorical("a", "b"), y=dp.Real(0, 1))
    kinds = SVR(epsilon=1, delta=1e-6, schema=schema, expected_rows=10**6).plan(target="y")
    assert not kinds.queries


def test_evened_features_of_columns_of_any_kind_and_after_a_file(tmp_path: Any) -> None:
    draw = np.random.default_rng(9)
    rows = {
        "pay": np.exp(draw.normal(10, 1, 5000)),
        "same": np.full(5000, 3.0),
        "age": draw.integers(0, 5, 5000),
    }
    rows["y"] = np.log(rows["pay"]) / 20 + rows["age"] / 50
    schema = dp.Schema(
        pay=dp.Real(1000, 10**6, scale="log"),
        same=dp.Real(3, 3),
        age=dp.Integer(0, 4),
        y=dp.Real(0, 1),
    )
    model = SVR(epsilon=8, delta=1e-6, schema=schema, n_components=8, random_state=1)
    model.fit(rows, target="y")
    given = {name: rows[name][:50] for name in ("pay", "same", "age")}
    models.save(model, tmp_path / "model.json")
    read = models.load(tmp_path / "model.json")
    assert (read.predict(given) == model.predict(given)).all()
    assert model.score(given, rows["y"][:50]) > 0.5


def test_evened_features_limit_the_rows_of_a_person() -> None:
    unit = dp.Unit(dp.ADD_REMOVE, id_column="person", max_rows=2)
    schema = dp.Schema(u=dp.Real(0, 1), v=dp.Real(0, 1), y=dp.Real(0, 1))
    rows = dict(zip("uv", np.random.default_rng(4).uniform(0, 1, (2, 6000)), strict=True))
    rows |= {"y": rows["u"] ** 2, "person": np.arange(6000) // 3}
    model = SVR(epsilon=20, schema=schema, unit=unit, expected_rows=6000, n_components=8)
    model.fit(rows, target="y")
    assert model.turn_.shape == (18, 18)
    assert model.score({name: rows[name] for name in "uv"}, rows["y"]) > 0.5
    doubled = [question.prepared.event for question in model.plan(n_features=2).recipe.asked]
    alone = SVR(epsilon=20, schema=schema, expected_rows=6000, n_components=8)
    single = [question.prepared.event for question in alone.plan(n_features=2).recipe.asked]
    for two, one in zip(doubled, single, strict=True):
        assert (two.sensitivity, two.scale) == (2, 2 * one.scale)


def test_bins_of_a_logarithmic_column_are_of_one_width_on_its_scale() -> None:
    schema = dp.Schema(pay=dp.Real(1000, 10**6, scale="log")).on_scale(("pay",), ())
    column: Any = schema["pay"]
    values = np.exp(np.random.default_rng(0).normal(10, 1, 5000)).clip(1000, 1e6)
    axis = axis_of("pay", column, 20)
    assert axis.by is not None
    query = dp.queries.WithColumns(dp.Count(by="bin"), {"bin": axis.by})
    data = dp.PrivateDataset({"pay": values}, schema, unit=dp.PUBLIC)
    edges = np.linspace(column.lower, column.upper, 21)
    wanted = np.histogram(column.to_scale(values), edges)[0]
    assert (data.release(query, dp.PureDP(math.inf)).value == wanted).all()
