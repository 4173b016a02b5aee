"""Fast paths of risk minimisation give what the slow ones give; noise of papers is marked as assumed."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dp
from discreet import events
from discreet.accounting.objective import objective_delta
from discreet.coding import VALUE_BITS, CodedQuery, PersonLimit
from discreet.coding.clipping import clip_rows
from discreet.engines.arrays import Arrays
from discreet.measures.gaussian import gaussian_delta
from discreet.models.erm import FeatureMap, Logistic, Softmax, Task, solver
from discreet.models.erm.features import ONE, shrink, shrink_sizes
from discreet.models.erm.norm_gamma import NormGammaObjective, NormGammaOutput
from discreet.models.erm.objective import WEIGHT_STEP, Objective
from discreet.models.erm.perturbation import ObjectivePerturbation
from discreet.models.erm.solver import minimise
from discreet.models.linear_model import LogisticRegression
from discreet.models.svm import SVC, SVR, LinearSVC, LinearSVR
from discreet.noise.norm_gamma import norm_gamma
from discreet.schema import order_codes
from discreet.testing import fixed_noise

COLUMNS = (
    dp.Real(-3, 5), dp.Integer(0, 7), dp.Categorical("a", "b", "c"), dp.Real(2, 2),
    dp.Integer(-999_983, 17), dp.Categorical("x"), dp.Real(0, 1e-9),
)  # fmt: skip


def some_codes(count: int, seed: int = 0) -> Any:
    draw = np.random.default_rng(seed)
    found = []
    for column in COLUMNS:
        if isinstance(column, dp.Categorical):
            found.append(draw.integers(-1, len(column.values), count))
        else:
            steps = column.steps(VALUE_BITS)
            found.append(draw.choice([0, steps // 2, steps, draw.integers(0, steps + 1)], count))
    return np.column_stack(found)


def obvious_features(codes: Any, constant: bool) -> Any:
    rows = []
    for row in codes.tolist():
        found: list[int] = []
        for code, column in zip(row, COLUMNS, strict=True):
            if isinstance(column, dp.Categorical):
                found += [ONE * (code == place) for place in range(len(column.values))]
            else:
                steps = column.steps(VALUE_BITS)
                found.append((2 * code - steps) * ONE // steps if steps else 0)
        rows.append([*found, *[ONE] * constant])
    return np.array(rows, np.int64)


@pytest.mark.parametrize("norm", [None, "1/3", 2, 100])
@pytest.mark.parametrize("constant", [True, False])
def test_features_are_the_obvious_integers(constant: bool, norm: Any) -> None:
    features = FeatureMap(COLUMNS, constant, norm)
    codes = some_codes(300)
    wanted = clip_rows(obvious_features(codes, constant), features.radius)
    assert (features.block(codes) == wanted).all()
    whole = features.matrix(np.tile(codes, (20, 1)))
    assert whole.dtype == np.float32
    assert (whole == np.tile(wanted, (20, 1))).all()
    assert features.matrix(codes[:0]).shape == (0, features.width)


@pytest.mark.parametrize("constant", [True, False])
def test_features_of_reals_alone_are_the_obvious_integers(constant: bool) -> None:
    features = FeatureMap((dp.Real(0, 1), dp.Real(-5, 3)), constant, 100)
    codes = np.random.default_rng(7).integers(0, 2**20 + 1, (2000, 2))
    codes[0], codes[1] = 0, 2**20
    wanted = (2 * codes - 2**20) * ONE // 2**20
    wanted = np.column_stack([wanted, np.full((len(codes), int(constant)), ONE)])
    assert (features.block(codes) == clip_rows(wanted, features.radius)).all()
    assert features._halving
    assert not FeatureMap(COLUMNS, constant)._halving


def test_shrinking_in_floats_is_clipping_in_integers() -> None:
    draw = np.random.default_rng(1)
    for width in (1, 3, 40):
        for radius in (0, 1, 7, 5 * ONE // 4, ONE, 2**17):
            rows = draw.integers(-ONE, ONE + 1, (500, width))
            rows[:100] //= 1000
            z = rows.astype(np.float64)
            shrink(z, radius)
            assert (z == clip_rows(rows, radius)).all()


def test_sizes_of_shrunk_rows_add_up_to_the_length_at_most() -> None:
    """Rows above it end just below, in their direction; others, and rows of zeros, stay."""
    draw = np.random.default_rng(2)
    for width in (1, 3, 40):
        for length in (1, 7, ONE, 3 * ONE // 2, 2**17):
            rows = draw.integers(-ONE, ONE + 1, (500, width))
            rows[:100] //= 1000
            rows[0] = 0
            z = rows.astype(np.float64)
            with np.errstate(all="raise"):
                shrink_sizes(z, length)
            found, sizes = z.astype(np.int64), np.abs(rows).sum(axis=1)
            long = sizes > length
            assert (found == z).all()
            assert (found[~long] == rows[~long]).all()
            assert np.abs(found).sum(axis=1).max() <= length
            assert (np.abs(found[long]).sum(axis=1) >= length - width - 1).all()
            wanted = rows[long] * (length / sizes[long, None])
            assert (np.abs(found[long] - wanted) <= 1 + 1e-6).all()


@pytest.mark.parametrize("constant", [True, False])
def test_short_rows_are_those_of_the_norm_scaled_down(constant: bool) -> None:
    codes = some_codes(300)
    plain = FeatureMap(COLUMNS, constant).block(codes)
    short = FeatureMap(COLUMNS, constant, short=True)
    numbers = sum(isinstance(column, dp.Real | dp.Integer) for column in COLUMNS)
    others = len(COLUMNS) - numbers + constant
    assert short.length == ONE * (2 * others + numbers) // 2
    assert short.length < FeatureMap(COLUMNS, constant).length
    block = short.block(codes)
    assert (np.abs(block).sum(axis=1) <= short.length).all()
    assert ((block**2).sum(axis=1) <= short.radius**2).all()
    assert np.abs(block).sum(axis=1).max() > short.length - short.width - 1
    fits = np.abs(plain).sum(axis=1) <= short.length
    assert 0 < fits.sum() < len(fits)
    assert (block[fits] == plain[fits]).all()


@pytest.mark.parametrize(
    ("given", "is_short"),
    [
        ({}, True),
        ({"class_weight": "balanced"}, True),
        ({"delta": "1e-6"}, False),
        ({"norm": 2}, False),
        ({"method": "output"}, False),
        ({"noise": "norm-gamma"}, False),
        ({"epsilon": np.inf, "unit": dp.PUBLIC}, False),
        ({"expected_rows": 3000}, False),  # 1000 for each of three features
        ({"epsilon": 2}, False),
        ({"expected_rows": None}, False),
    ],
)
def test_rows_are_short_where_laplace_noise_grows_with_their_sizes(
    given: dict[str, Any], is_short: bool
) -> None:
    schema = dp.Schema(a=dp.Real(0, 1), b=dp.Real(0, 1), c=dp.Categorical("no", "yes"))
    model = LogisticRegression(**{"epsilon": 1, "schema": schema, "expected_rows": 2999, **given})
    recipe = model.plan().recipe
    features = getattr(recipe, "step", recipe).features
    assert features.short == is_short
    if is_short:
        assert features.length == 2 * ONE


@pytest.mark.parametrize("constant", [True, False])
def test_wide_rows_have_a_longer_norm_that_still_holds(constant: bool) -> None:
    codes = some_codes(300)
    wide = FeatureMap(COLUMNS, constant, wide=True)
    numbers = sum(isinstance(column, dp.Real | dp.Integer) for column in COLUMNS)
    others = len(COLUMNS) - numbers + constant
    assert wide.radius == math.isqrt(ONE * ONE * (5 * others + 3 * numbers) // 5)
    assert wide.radius > FeatureMap(COLUMNS, constant).radius
    block = wide.block(codes)
    assert ((block**2).sum(axis=1) <= wide.radius**2).all()
    assert (np.abs(block).sum(axis=1) <= wide.length).all()
    assert (FeatureMap(COLUMNS, constant, 2, wide=True).block(codes)
            == FeatureMap(COLUMNS, constant, 2).block(codes)).all()  # fmt: skip


@pytest.mark.parametrize(
    ("given", "is_wide"),
    [
        ({}, True),
        ({"class_weight": "balanced"}, True),
        ({"delta": "1e-6"}, True),
        ({"epsilon": np.inf, "unit": dp.PUBLIC}, True),
        ({"expected_rows": 8999}, False),  # below 3000 for each of three features
        ({"expected_rows": 4500, "epsilon": 2}, True),
        ({"norm": 2}, False),
        ({"method": "output"}, False),
        ({"schema": dp.Schema(a=dp.Categorical(0, 1), c=dp.Categorical("no", "yes"))}, False),
    ],
)
def test_rows_of_numbers_are_wide_where_there_is_little_noise(
    given: dict[str, Any], is_wide: bool
) -> None:
    schema = dp.Schema(a=dp.Real(0, 1), b=dp.Real(0, 1), c=dp.Categorical("no", "yes"))
    model = LogisticRegression(**{"epsilon": 1, "schema": schema, "expected_rows": 9000, **given})
    recipe = model.plan().recipe
    features = getattr(recipe, "step", recipe).features
    assert features.wide == is_wide
    assert not (features.wide and features.short)


@pytest.mark.parametrize("most", [None, 2])
def test_collected_rows_are_each_codes_own_values(most: int | None) -> None:
    """Of floats, integers, text, objects with nulls; across tiles and chunks."""
    draw = np.random.default_rng(2)
    count = 300_001  # more than one chunk, not a multiple of a tile
    table = {
        "a": draw.normal(0, 2, count),
        "b": draw.integers(-100, 100, count),
        "c": np.array(["u", "v", "w"])[draw.integers(0, 3, count)],
        "d": draw.random(count).astype(np.float32),
        "id": draw.integers(0, count // 3, count),
    }
    table["a"][::7] = np.nan
    schema = dp.Schema(
        a=dp.Real(-1, 1), b=dp.Integer(-50, 50), c=dp.Categorical("v", "u"), d=dp.Real(0, 1)
    )
    codes = tuple(schema.code(name) for name in "dcba")
    keep = None if most is None else PersonLimit("id", most, order_codes(schema))
    query = CodedQuery((), (), None, (), keep)
    engine = Arrays(table)
    found = engine.rows(query, codes)
    wanted = np.concatenate(
        [
            np.column_stack([chunk.code(c)[mask] for c in codes])
            for chunk, mask in engine._chunks(query)
        ]
    )
    assert found.dtype == np.int64
    assert found.shape == wanted.shape
    assert (found == wanted).all()
    assert len(found) == count if most is None else len(found) < count
    assert (found[:, 1] == -1).any()


def test_a_start_on_few_rows_leads_to_the_same_minimum(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(3)
    x = np.trunc(draw.uniform(-1, 1, (70_000, 3)) * ONE)
    order = np.argsort(x[:, 0])  # sorted rows, so that every 16th is like the rest
    for rows in (x, x[order], np.repeat(x[:4375], 16, axis=0)):
        t = (rows[:, 0] + rows[:, 1] > draw.logistic(0, ONE, len(rows))).astype(float)
        objective = Objective(rows, t, Logistic(), Fraction(2), [5, 5, 5], Fraction(1))
        fast = np.array(minimise(objective, 1e-6)) * float(WEIGHT_STEP)
        with monkeypatch.context() as patch:
            patch.setattr(solver, "_FEW_ROWS", len(rows))
            slow = np.array(minimise(objective, 1e-6)) * float(WEIGHT_STEP)
        assert np.linalg.norm(objective.quick(fast)) < 1e-5
        np.testing.assert_allclose(fast, slow, atol=1e-6)
        single = replace(objective, features=rows.astype(np.float32))
        assert minimise(single, 1e-6) == minimise(objective, 1e-6)


@pytest.mark.parametrize("classes", [3, 5])
def test_the_joint_determinant_of_many_classes(classes: int) -> None:
    for ridge in (Fraction(1, 2), Fraction(9)):
        task = Task(Softmax(classes), 4, ONE, 2 * ONE, dp.PureDP(1), dp.Unit(dp.ADD_REMOVE))
        wanted = (classes - 1) * math.log1p(1 / (classes * ridge))
        assert wanted <= float(task.jacobian(ridge)) <= wanted * (1 + 1e-11)
        assert task.row_squared == 2


def test_gaussian_noise_has_no_factor_two_for_two_classes() -> None:
    """One vertex: δ is that of the Gaussian mechanism at ε less the determinant's share."""
    event = events.GaussianObjective(4, 1, Fraction(1, 10), 1)
    alone = gaussian_delta(Fraction(1, 16), Fraction(9, 10))
    assert math.isclose(float(objective_delta(event)), alone, rel_tol=1e-9)
    both = events.GaussianObjective(4, 1, Fraction(1, 10), 1, ways=2, has_zero=False)
    assert math.isclose(float(objective_delta(both)), 2 * alone, rel_tol=1e-9)


def test_the_default_regulariser_grows_where_rows_are_few() -> None:
    def ridge(rows: int | None, epsilon: Any = 1) -> Fraction:
        task = Task(
            Logistic(), 9, 2 * ONE, 6 * ONE, dp.PureDP(epsilon), dp.Unit(dp.ADD_REMOVE), None, rows
        )
        return ObjectivePerturbation(task).regulariser

    assert ridge(500) > 3 * ridge(10**6)
    assert ridge(10**6) == ridge(10**9)
    assert ridge(None) == ridge(10_000)
    assert ridge(500, "1/10") <= max(Fraction(500, 16) * Fraction(101, 100), ridge(10**9, "1/10"))


def test_norm_gamma_has_the_distribution_it_says() -> None:
    with fixed_noise(4):
        drawn = norm_gamma(20_000, 3, 2.5)
    lengths = np.linalg.norm(drawn, axis=1)
    assert stats.kstest(lengths, stats.gamma(3, scale=2.5).cdf).pvalue > 1e-3
    assert stats.kstest(lengths, stats.gamma(3, scale=2.4).cdf).pvalue < 1e-6
    assert stats.kstest(lengths, stats.expon(scale=7.5).cdf).pvalue < 1e-6
    # a coordinate of a direction in three dimensions is uniform (Archimedes)
    assert stats.kstest(drawn[:, 0] / lengths, stats.uniform(-1, 2).cdf).pvalue > 1e-3


@pytest.mark.parametrize("relation", [dp.ADD_REMOVE, dp.REPLACE_ONE])
def test_norm_gamma_scales(relation: Any) -> None:
    unit, changed = dp.Unit(relation), 2 if relation is dp.REPLACE_ONE else 1
    task = Task(Logistic(), 4, ONE, 2 * ONE, dp.PureDP(1), unit, Fraction(10))
    assert math.isclose(NormGammaOutput(task).scale, changed / 10)
    left = 1 - math.log1p(1 / 40)
    assert math.isclose(NormGammaObjective(task).scale, changed / left)


CASES = [
    LogisticRegression(bounds=(0, 1), classes=[0, 1]),
    LinearSVC(bounds=(0, 1), classes=[0, 1]),
    LinearSVR(bounds=(0, 1), target_bounds=(0, 1)),
    SVC(bounds=(0, 1), classes=[0, 1], n_components=4),
    SVR(bounds=(0, 1), target_bounds=(0, 1), n_components=4),
]


@pytest.mark.parametrize("method", ["objective", "output"])
@pytest.mark.parametrize("model", CASES, ids=lambda model: type(model).__name__)
def test_norm_gamma_is_for_those_who_accept_it(model: Any, method: str) -> None:
    draw = np.random.default_rng(5)
    x = draw.random((300, 2))
    y = (x[:, 0] > 0.5).astype(int)
    model.set_params(noise="norm-gamma", method=method, epsilon=5, ledger=None, unit=None)
    strict = dp.Ledger(limit=dp.PureDP(9))
    with pytest.raises(ValueError, match="isn't proved"):
        model.set_params(ledger=strict).fit(x, y)
    assert [entry.kind for entry in strict.entries()] == ["ledger"]
    ledger = dp.Ledger(limit=dp.PureDP(9), accept_assumed=True)
    model.set_params(ledger=ledger).fit(x, y)
    assert np.isfinite(model.coef_).all()
    assert model.privacy_.claims == ("norm-gamma-perturbation",)
    assert isinstance(model.privacy_.event, events.Assumed)
    assert ledger.statement().assumed
    public = model.set_params(ledger=None, unit=dp.PUBLIC).fit(x, y)
    assert not public.privacy_.is_private
    model.set_params(unit=None)


def test_norm_gamma_is_pure() -> None:
    model = LogisticRegression(
        bounds=(0, 1), classes=[0, 1], noise="norm-gamma", delta=1e-6, unit=dp.PUBLIC
    )
    with pytest.raises(ValueError, match="delta must be 0"):
        model.fit(np.zeros((3, 1)), [0, 1, 0])
    with pytest.raises(ValueError, match="noise must be"):
        model.set_params(noise="gamma", delta=0).fit(np.zeros((3, 1)), [0, 1, 0])
    with pytest.raises(ValueError, match="noise must be 'exact'"):
        model.set_params(noise="norm-gamma", method="functional").fit(np.zeros((3, 1)), [0, 1, 0])
