"""Columns on their logarithmic scale: the rule, the codes, the way back, and the file."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import discreet as dp
from discreet.coding import PRODUCT_BITS, VALUE_BITS
from discreet.coding.values import grid_codes, grid_into
from discreet.columns import Logarithmic
from discreet.columns.scales import OCTAVES
from profiles import max_examples

BOUNDS = st.one_of(st.floats(-1e90, 1e90), st.floats(-1e5, 1e5), st.integers(-9999, 9999))


def numbers(column: Any) -> np.ndarray[Any, Any]:
    """Cells of all kinds: ends, edges of pieces and beside them, outside, not a number."""
    scale = Logarithmic(column)
    starts = [piece.start for piece in scale.grid("x", VALUE_BITS).pieces]
    beside = [math.nextafter(x, way) for x in starts for way in (-math.inf, math.inf)]
    between = np.random.default_rng(0).uniform(scale.lower, scale.upper, 50)
    return np.array([*starts, *beside, 5e-324, -5e-324, 0.0, *scale.to_source(between)])


@max_examples(200)
@given(BOUNDS, BOUNDS, st.sampled_from([1, 6, PRODUCT_BITS, VALUE_BITS]))
def test_codes_are_whole_increasing_and_within_their_range(a: Any, b: Any, bits: int) -> None:
    lower, upper = sorted((float(a), float(b)))
    assume(upper - lower > 1e-90 and max(abs(lower), abs(upper)) > 1e-90)
    column = dp.Real(lower, upper, scale="log")
    grid = Logarithmic(column).grid("x", bits)
    assert (grid.low, grid.high) == (0, 2**bits)
    cells = np.sort(numbers(column))
    codes = grid_codes(cells, grid)
    assert codes.tolist() == [grid.of(cell) for cell in cells.tolist()]
    assert codes.min() >= 0
    assert codes.max() <= 2**bits
    assert np.all(np.diff(codes) >= 0)
    outside = grid_codes(np.array([-math.inf, math.inf, math.nan]), grid)
    assert outside[:2].tolist() == [0, 2**bits]
    assert 0 <= outside[2] <= 2**bits
    written = np.empty(len(cells))
    grid_into(written, cells, grid)
    assert written.tolist() == codes.tolist()


@max_examples(200)
@given(BOUNDS, BOUNDS)
def test_the_scale_leads_back_and_codes_follow_it(a: Any, b: Any) -> None:
    lower, upper = sorted((float(a), float(b)))
    assume(upper - lower > 1e-90 and max(abs(lower), abs(upper)) < 1e6 * (upper - lower))
    column = Logarithmic(dp.Real(lower, upper, scale="log"))
    cells = np.clip(numbers(column.source), lower, upper)
    places = column.to_scale(cells)
    largest = max(abs(lower), abs(upper))
    np.testing.assert_allclose(column.to_source(places), cells, rtol=1e-12, atol=1e-15 * largest)
    steps = (places - column.lower) / column.width * 2**VALUE_BITS
    codes = grid_codes(cells, column.grid("x", VALUE_BITS))
    assert np.all(np.abs(steps - codes - 0.5) <= 2)


def test_the_scale_follows_the_logarithm() -> None:
    column = Logarithmic(dp.Real(0, 1024))
    assert column.unit == 1
    assert column.to_scale(np.array([0, 0.5, 1, 2, 4, 1024])).tolist() == [0, 0.5, 1, 2, 3, 11]
    x = np.geomspace(1, 1024, 500)
    assert np.max(abs(column.to_scale(x) - 1 - np.log2(x))) < 0.09
    assert column.upper == OCTAVES + 1


@pytest.mark.parametrize(
    ("column", "wide"),
    [
        (dp.Real(0, 1e6), True),
        (dp.Integer(0, 1000), True),
        (dp.Real(-50, 5000), True),
        (dp.Real(-5000, 50), True),
        (dp.Real(0, 999), False),
        (dp.Real(1900, 2100), False),
        (dp.Real(-1e6, 1e6), False),
        (dp.Real(1e6, 1e6), False),
        (dp.Real(0, 1e6, scale="linear"), False),
        (dp.Real(0, 10, scale="log"), True),
        (dp.Real(-1e6, 1e6, scale="log"), True),
    ],
)
def test_the_rule_is_public(column: Any, wide: bool) -> None:
    assert column.is_log is wide


def test_files_and_pickles_keep_the_scale(tmp_path: Path) -> None:
    schema = dp.Schema(a=dp.Real(0, 10, scale="log"), b=dp.Integer(0, 9999, fill=3, scale="linear"))
    schema.write(tmp_path / "schema.toml")
    assert dp.Schema.read(tmp_path / "schema.toml") == schema
    assert "scale='log'" in repr(schema)
    for one in (schema, schema.on_scale(["a", "b"]), dp.Schema(a=dp.Real(0, 1))):
        assert pickle.loads(pickle.dumps(one)) == one
        assert [*map(repr, pickle.loads(pickle.dumps(one)).base.values())] == [
            *map(repr, one.base.values())
        ]
    assert pickle.loads(pickle.dumps(dp.Real(0, 10, scale="log"))) == dp.Real(0, 10, scale="log")
    assert schema.on_scale(["b"]) is schema


def test_bad_scales_are_named() -> None:
    for kind in (dp.Real, dp.Integer):
        with pytest.raises(ValueError, match='scale must be "log" or "linear"'):
            kind(0, 10, scale="ln")
    with pytest.raises(ValueError, match="for a log scale"):
        dp.Real(0, 1e200, scale="log")


def test_sums_and_means_do_not_depend_on_the_scale() -> None:
    unit = dp.Unit()
    for query in (
        dp.Sum("x"),
        dp.Mean("x"),
        dp.Variance("x"),
        dp.Gram("x"),
        dp.Count(where="x > 3"),
    ):
        forms = [
            query.coded(dp.Schema(x=dp.Real(0, 1e6, scale=scale)), unit)
            for scale in ("log", "linear")
        ]
        assert forms[0] == forms[1]


@pytest.mark.parametrize("upper", [1e7, 1e9])
def test_quantiles_err_little_where_bounds_are_far_too_wide(upper: float) -> None:
    """A median near 40, found in units of 40 and not in those of the bounds."""
    x = np.random.default_rng(0).lognormal(np.log(40), 0.6, 1000)
    errors = {}
    for scale in ("log", "linear"):
        schema = dp.Schema(x=dp.Real(0, upper, scale=scale))
        data = dp.PrivateDataset({"x": x}, schema, unit=dp.PUBLIC)
        prepared = data._prepare(dp.Median("x"), dp.PureDP("1/10"))
        with dp.testing.fixed_noise(5):
            found = [prepared.answer(data._engine).value for _ in range(40)]
        errors[scale] = np.sqrt(np.mean((np.array(found) - np.median(x)) ** 2))
    assert errors["log"] < errors["linear"] / 3
    assert errors["log"] < 8
