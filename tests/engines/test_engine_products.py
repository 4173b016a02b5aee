"""Sums of products by BLAS, tile by tile: equal to integers added one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.coding import Grid, Linear
from discreet.coding.values import grid_codes, grid_into
from discreet.engines import products
from discreet.engines.arrays import Arrays
from discreet.engines.products import Products

SCHEMA = dp.Schema(
    a=dp.Real(-1.7, 3.1), b=dp.Real(0, 1e-3, fill=0), c=dp.Integer(-5, 40_000), d=dp.Real(1, 1)
)


def columns(rows: int) -> dict[str, Any]:
    draw = np.random.default_rng(rows)
    a = draw.normal(0, 3, rows)
    a[draw.random(rows) < 0.1] = np.nan
    a[:3] = [np.inf, -np.inf, -0.0][: min(3, rows)]
    return {
        "a": a,
        "b": draw.uniform(-1e-3, 2e-3, rows).astype(np.float32),
        "c": draw.integers(-100, 50_000, rows),
        "d": draw.normal(size=rows),
    }


def slowly(query: Any, table: dict[str, Any], mask: Any) -> list[int]:
    """The same totals in Python integers."""
    coded = query.coded(SCHEMA, dp.Unit())
    totals = []
    for term in coded.terms:
        product = np.ones(len(mask), object)
        for code in term.codes:
            source = code.source if isinstance(code, Linear) else code
            values = grid_codes(table[source.column], source).astype(object)
            product *= values * code.scale + code.offset if isinstance(code, Linear) else values
        totals.append(term.weight * int(product[mask].sum()))
    return totals


@pytest.mark.parametrize("rows", [0, 1, 1023, 1024, 1025, 8192, 20_001])
@pytest.mark.parametrize("query", [dp.Gram(*SCHEMA), dp.Moments(*SCHEMA), dp.Gram("a")], ids=repr)
def test_totals_of_products(query: Any, rows: int) -> None:
    table = columns(rows)
    found = Arrays(table).totals(query.coded(SCHEMA, dp.Unit()))[0].tolist()
    assert found == slowly(query, table, np.ones(rows, bool))


def test_rows_that_do_not_count() -> None:
    table = columns(3000)
    found = dp.Gram("a", "b", "c", where="c > 1000")
    mask = np.clip(table["c"], -5, 40_000) > 1000
    totals = Arrays(table).totals(found.coded(SCHEMA, dp.Unit()))[0].tolist()
    assert totals == slowly(found, table, mask)


def test_chunks_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    table, query = columns(9000), dp.Gram(*SCHEMA)
    coded = query.coded(SCHEMA, dp.Unit())
    whole = Arrays(table).totals(coded)
    monkeypatch.setattr("discreet.coding.chunks.CHUNK", 1000)
    monkeypatch.setattr(products, "MIN_TILE_ROWS", 7)
    monkeypatch.setattr(products, "MAX_TILE_ROWS", 7)
    assert np.array_equal(Arrays(table).totals(coded), whole)


def test_the_largest_sums_are_exact() -> None:
    """A chunk of ends of the grid: 2^18 products of size 2^30 on one side, one odd row on the other."""
    rows = 2**18
    table = {"x": np.full(rows, 1.0), "y": np.full(rows, -1.0)}
    table["x"][0] = 0.123
    schema = dp.Schema(x=dp.Real(-1, 1), y=dp.Real(-1, 1))
    query = dp.Gram("x", "y")
    found = Arrays(table).totals(query.coded(schema, dp.Unit()))[0]
    k = 2 * int(np.floor((0.123 + 1) * 2**14)) - 2**15
    assert found[4] == -((rows - 1) * 2**30 + k * 2**15)
    assert found[3] == 2**30 - k * k  # the others are at the end, where 1 - u² is 0
    table["x"][1:] = 0.0  # ... and in the middle, where it is largest
    found = Arrays(table).totals(query.coded(schema, dp.Unit()))[0]
    assert found[3] == rows * 2**30 - k * k


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "u1", "u8", "?"])
def test_grids_without_integers(dtype: str) -> None:
    draw = np.random.default_rng(3)
    cells = (draw.normal(0, 100, 5000)).astype("i8").astype(dtype)
    for grid in (
        Grid("x", -3.3, 77.7, 0.0, -3.3, 12.9, 0.0),
        Grid("x", 0.0, 1.0, 1.0, 0.0, 2.0**20, 0.5),
        Grid("x", -9.0, 40.0, 4.0, -9.0, 1.0, 0.0),
        Grid("x", 300.0, 301.0, 300.0, 300.0, 7.0, 0.0),
    ):
        out = np.empty(5000)
        grid_into(out, cells, grid, 2, -5)
        assert np.array_equal(out, grid_codes(cells, grid) * 2.0 - 5)


def test_codes_are_found_once() -> None:
    coded = dp.Gram("a", "b", "c").coded(SCHEMA, dp.Unit())
    assert len(Products(coded).codes) == 3
