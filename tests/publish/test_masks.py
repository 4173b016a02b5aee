"""Masks of private rows: the sensitivity is the true one, the whole row is covered, and n is never told."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dp
from discreet import testing
from discreet.accounting import satisfies
from discreet.mechanisms import NoNoise
from discreet.publish.masks import (
    AngleEmbedding,
    ClampedSigmoid,
    WaveletApproximation,
    WaveletGaussian,
    WaveletLaplace,
)
from discreet.publish.masks.clamped_sigmoid import STEPS
from discreet.publish.masks.plan import MaskedRows
from discreet.publish.rows import ONE
from discreet.publish.wavelets import THREE_BAND, forward
from discreet.step import CodedRows
from small_tables import draw_table

MASKS: tuple[Any, ...] = (
    WaveletLaplace(40, target="ill"),
    WaveletGaussian(40, target="ill", delta="1/100000"),
    WaveletApproximation(40, target="ill"),
    AngleEmbedding(40, target="ill"),
    AngleEmbedding(40, target="ill", variant="embedding", eta=0.25),
    ClampedSigmoid(40, target="ill"),
)
NAMES = [f"{type(mask).__name__}-{getattr(mask, 'variant', '')}" for mask in MASKS]
SCHEMA = dp.Schema(
    a=dp.Real(0, 10),
    b=dp.Integer(-5, 5),
    g=dp.Categorical("x", "y", "z"),
    same=dp.Real(3, 3),
    only=dp.Categorical("one"),
    ill=dp.Categorical(0, 1),
)
COLUMNS: dict[str, Any] = {
    "a": (0, 10),
    "b": range(-5, 6),
    "g": ["x", "y", "z"],
    "same": 3.0,
    "only": "one",
    "ill": range(2),
}


def numbers(columns: int) -> dp.Schema:
    return dp.Schema({f"x{j}": dp.Real(0, 1) for j in range(columns)})


def dataset(count: int, unit: Any = dp.REPLACE_ONE, limit: float = 100, **options: Any) -> Any:
    ledger = dp.Ledger(limit=dp.ApproxDP(limit, 0.01), unit=unit)
    return dp.PrivateDataset(draw_table(count, **COLUMNS), SCHEMA, ledger=ledger, **options)


# constants and noise


def test_constants_of_the_paper_bank() -> None:
    """Found by another program from the taps; here they come from the integers that are used."""
    for mask, constant in (
        (WaveletLaplace(1), 2.2011206),
        (WaveletApproximation(1), 0.8692223),
        (AngleEmbedding(1), 0.5597135),
    ):
        for columns in (1, 9):
            release = mask.plan(numbers(columns)).release
            found = release.sensitivity.l1 / (columns * 2 * ONE * release.transform.one)
            assert found == pytest.approx(constant, abs=5e-8)
    gaussian = WaveletGaussian(1, delta=1e-6).plan(numbers(9)).release
    squared = gaussian.sensitivity.l2_squared / (9 * (2 * ONE * gaussian.transform.one) ** 2)
    assert squared == pytest.approx(1, abs=2e-9)


def test_the_transform_hurts_laplace_noise_and_leaves_gaussian_noise() -> None:
    spread = {
        type(mask).__name__: mask.plan(numbers(9)).spread()["x0"]
        for mask in (WaveletLaplace(1), WaveletGaussian(1, delta=1e-6), WaveletApproximation(1))
    }
    assert spread["WaveletLaplace"] == pytest.approx(28.0, abs=0.05)
    assert spread["WaveletGaussian"] == pytest.approx(12.7, abs=0.05)
    assert spread["WaveletLaplace"] / 2.2011206 == pytest.approx(
        9 * 2**0.5, rel=1e-3
    )  # cells alone
    assert spread["WaveletApproximation"] == pytest.approx(6.39, abs=0.01)


@pytest.mark.parametrize("mask", MASKS[:3], ids=NAMES[:3])
def test_noise_has_the_spread_it_says(mask: Any) -> None:
    plan = mask.plan(SCHEMA)
    codes = np.tile([2**19, 5, 0, 0, 0, 0], (18_000, 1))
    with testing.fixed_noise(3):
        told = plan.decode(*plan.blur(codes))
    for name, middle in (("a", 5.0), ("b", 0.0)):
        size = plan.spread()[name]
        assert abs(told[name].mean() - middle) < 5 * size / math.sqrt(18_000)
        assert told[name].std() == pytest.approx(size, rel=0.04)
        assert told[name].std() != pytest.approx(1.15 * size, rel=0.04)


def test_coefficients_have_laplace_noise_of_the_stated_scale() -> None:
    plan = WaveletLaplace(1).plan(numbers(1))
    with testing.fixed_noise(5):
        told = plan.blur_numbers(np.full((9 * 3000, 1), 2**19)).reshape(3000, 9)
    seen = forward(told, THREE_BAND, axis=1).ravel()
    scale = 2.2011206 * 2 * ONE
    assert stats.kstest(seen, stats.laplace(scale=scale).cdf).pvalue > 1e-3
    assert stats.kstest(seen, stats.laplace(scale=scale / 1.05).cdf).pvalue < 1e-3


@pytest.mark.parametrize("mask", MASKS, ids=NAMES)
def test_without_noise_rows_come_back(mask: Any) -> None:
    """The maps before and after the noise are each other's inverse, so noise is all that is lost."""
    plan = replace(mask, target=None).plan(numbers(2))
    release = plan.release
    codes = np.random.default_rng(1).integers(0, 2**20, (20, 2), endpoint=True)
    if isinstance(mask, ClampedSigmoid):
        object.__setattr__(release.table, "draw", lambda steps: steps)
        error = 4 / STEPS
    else:
        object.__setattr__(release, "distribution", NoNoise())
        error = 3e-4
    told = np.column_stack(list(plan.decode(*plan.blur(codes)).values()))
    true = codes / 2**20
    if isinstance(mask, WaveletApproximation):
        padded = np.vstack([true, np.full((7, 2), 0.5)])
        seen = forward(padded.reshape(3, 9, 2), mask.bank, axis=1)
        kept = forward(np.vstack([told, np.full((7, 2), 0.5)]).reshape(3, 9, 2), mask.bank, axis=1)
        np.testing.assert_allclose(kept[:2, :3], seen[:2, :3], atol=1e-3)
        assert np.abs(kept[:2, 3:]).max() < 1e-9
    else:
        assert np.abs(told - true).max() < error


# the whole row, and the door


@pytest.mark.parametrize("mask", MASKS, ids=NAMES)
def test_the_shares_make_up_the_budget(mask: Any) -> None:
    plan = mask.plan(SCHEMA)
    assert sum(plan.channel.shares.values()) == 40
    assert satisfies(plan.event(), plan.measure)
    assert not satisfies(plan.event(), dp.ApproxDP(30, "1/10000000"))


@pytest.mark.parametrize("mask", MASKS, ids=NAMES)
def test_data_sets_are_published_and_charged_once(mask: Any) -> None:
    data = dataset(30)
    found = mask.publish(data)
    assert list(found) == list(SCHEMA.base)
    assert all(len(column) == 30 for column in found.values())
    assert set(found["same"]) == {3.0}
    assert set(found["only"]) == {"one"}
    assert set(found["ill"]) <= {0, 1}
    entry = data.ledger.statement().entries[-1]
    assert entry.event == mask.plan(SCHEMA).event()
    assert data.ledger.statement().count == 2


@pytest.mark.parametrize("mask", MASKS[:1] + MASKS[3:5], ids=NAMES[:1] + NAMES[3:5])
@pytest.mark.parametrize("rows", [0, 1, 8, 9, 10])
def test_any_number_of_rows(mask: Any, rows: int) -> None:
    found = mask.publish(dataset(rows))
    assert all(len(column) == rows for column in found.values())
    assert all(np.isfinite(found[name]).all() for name in ("a", "b"))


@pytest.mark.parametrize("unit", [dp.ADD_REMOVE, dp.Unit(dp.REPLACE_ONE, "who", 1)], ids=repr)
def test_rows_that_may_come_and_go_are_refused_before_anything_is_charged(unit: Any) -> None:
    ledger = dp.Ledger(limit=dp.PureDP(100), unit=unit)
    table = {**draw_table(20, **COLUMNS), "who": np.arange(20)}
    data = dp.PrivateDataset(table, SCHEMA, ledger=ledger)
    for mask in MASKS[:2]:
        for order in ("random", "position"):
            changed: Any = replace(mask, order=order)
            with pytest.raises(ValueError, match=r"REPLACE_ONE|order of rows"):
                changed.publish(data)
    assert ledger.statement().count == 1


def test_a_declared_number_of_rows_is_a_constant() -> None:
    for order in ("random", "position"):
        for rows in (0, 5, 20, 40):
            found = WaveletLaplace(40, order=order).publish(dataset(20, rows=rows))
            assert len(found["a"]) == rows


def test_cells_of_any_kind_are_told_alike() -> None:
    odd = {
        "a": [None, math.nan, math.inf, 1e300, -1e300, 5.0],
        "b": [None, 2.5, -math.inf, math.nan, 1e30, 5],
        "g": [None, "q", 3, math.nan, b"x", "x"],
        "same": [None] * 6,
        "only": [None] * 6,
        "ill": [2, None, "1", math.nan, 0.5, 1],
    }
    for mask in MASKS:
        ledger = dp.Ledger(limit=dp.ApproxDP(100, 0.01), unit=dp.REPLACE_ONE)
        found = mask.publish(dp.PrivateDataset(odd, SCHEMA, ledger=ledger))
        assert all(len(column) == 6 for column in found.values())
        assert np.isfinite(found["a"]).all()
        assert set(found["g"]) <= set("xyz")
        assert set(found["ill"]) <= {0, 1}


def test_places_are_kept_or_refused() -> None:
    """Rows in their own order come out so; a random order mixes them, whatever the source."""
    frames = pytest.importorskip("polars")
    duck = pytest.importorskip("duckdb")
    table = {"x": np.linspace(0, 1, 90)}
    schema = dp.Schema(x=dp.Real(0, 1))
    kept = WaveletLaplace(4000, order="position")
    for source in (table, frames.DataFrame(table)):
        data = dp.PrivateDataset(
            source, schema, ledger=dp.Ledger(limit=dp.PureDP(9000), unit=dp.REPLACE_ONE)
        )
        assert np.abs(kept.publish(data)["x"] - table["x"]).max() < 0.1
        mixed = WaveletLaplace(4000).publish(data)["x"]
        assert np.abs(mixed - table["x"]).max() > 0.3
        assert np.abs(np.sort(mixed) - table["x"]).max() < 0.1
    frame = frames.DataFrame(table)
    for source in (frame.lazy(), duck.sql("select x from frame")):
        ledger = dp.Ledger(limit=dp.PureDP(9000), unit=dp.REPLACE_ONE)
        with pytest.raises(ValueError, match="rows must be declared for this source"):
            WaveletLaplace(1).publish(dp.PrivateDataset(source, schema, ledger=ledger))
        data = dp.PrivateDataset(source, schema, ledger=ledger, rows=90)
        with pytest.raises(ValueError, match="rests on the order of rows"):
            kept.publish(data)
        assert ledger.statement().count == 1
        assert len(WaveletLaplace(4000).publish(data)["x"]) == 90


def test_blocks_do_not_see_each_other() -> None:
    """With one stream of noise, a row that changes moves the output of its own block alone."""
    plan = WaveletLaplace(1).plan(numbers(2))
    codes = np.full((27, 2), 2**18)
    other = codes.copy()
    other[13] = 2**20
    told = []
    for rows in (codes, other):
        with testing.fixed_noise(9):
            told.append(plan.blur_numbers(rows))
    changed = np.flatnonzero((told[0] != told[1]).any(axis=1))
    assert set(changed) <= set(range(9, 18))
    assert 13 in changed


def test_small_budgets_get_fewer_bits_and_still_their_noise() -> None:
    for mask in (WaveletLaplace("1/1000"), AngleEmbedding("1/1000"), WaveletLaplace("1/100000")):
        release = mask.plan(numbers(9)).release
        assert release.transform.bits < 30
        assert release.distribution.scale <= 2**50
        assert release.sensitivity.l1 / release.distribution.scale == Fraction(mask.epsilon)
    with pytest.raises(ValueError, match="larger budget"):
        WaveletLaplace("1/1000000000").plan(numbers(9))


def test_public_rows_are_masked_without_charge() -> None:
    data = dp.PrivateDataset(draw_table(12, **COLUMNS), SCHEMA, unit=dp.PUBLIC)
    assert len(WaveletLaplace(1).publish(data)["a"]) == 12


def test_columns_that_cannot_differ_need_no_block() -> None:
    schema = dp.Schema(same=dp.Real(3, 3), y=dp.Categorical("no", "yes"))
    plan = WaveletLaplace(1, target="y").plan(schema)
    assert plan.release is None
    found = plan.decode(*plan.blur(np.zeros((4, 2), np.int64)))
    assert found["same"].tolist() == [3.0] * 4
    assert plan.spread() == {}


def test_a_step_for_other_columns_is_refused() -> None:
    step = MaskedRows(WaveletLaplace(1).plan(numbers(1)), 3)
    with pytest.raises(ValueError, match="other columns"):
        step.event(numbers(2), dp.Unit(dp.REPLACE_ONE))
    coded = CodedRows(np.zeros((3, 1), np.int64), ("x0",), numbers(1))
    assert len(step.run(coded)["x0"]) == 3
    with pytest.raises(ValueError, match="at most"):
        MaskedRows(WaveletLaplace(1).plan(numbers(1)), 2**40).event(
            numbers(1), dp.Unit(dp.REPLACE_ONE)
        )


def test_wrong_parameters_say_what_to_do() -> None:
    for make, words in (
        (lambda: WaveletLaplace(1, block=10), "multiple of 3"),
        (lambda: WaveletLaplace(1, levels=3), "multiple of 27"),
        (lambda: WaveletLaplace(1, order="sorted"), "order must be"),  # type: ignore[arg-type]
        (lambda: WaveletLaplace(0).plan(SCHEMA), "epsilon"),
        (lambda: WaveletGaussian(1), "delta must be given"),
        (lambda: WaveletGaussian(1, delta=0).plan(SCHEMA), "delta"),
        (lambda: AngleEmbedding(1, variant="sine"), "variant"),  # type: ignore[arg-type]
        (lambda: AngleEmbedding(1, eta=2), "eta"),
        (lambda: ClampedSigmoid(1, gamma=3), "gamma"),
        (lambda: WaveletLaplace(1, target="a").plan(SCHEMA), "target"),
    ):
        with pytest.raises(ValueError, match=words):
            make()
    with pytest.raises(TypeError, match="PrivateDataset"):
        WaveletLaplace(1).publish(np.zeros((3, 3)))  # type: ignore[arg-type]
