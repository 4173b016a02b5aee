"""Shares of several classes, divided in whole numbers: the same integers on every engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tables

import discreet as dp
from discreet.coding import Grid, LeftOver, Linear, Total, leaves, sources
from discreet.coding.chunks import Chunk
from discreet.engines.arrays import Arrays
from discreet.queries import Cells, ClassResiduals, Joint
from discreet.queries.residuals import CENTRE, EXPONENTIALS, SIZE
from discreet.testing import exact_totals

SCHEMA = dp.Schema(
    a=dp.Categorical("x", "y"), n=dp.Integer(0, 9), c=dp.Categorical("p", "q", "r", "s")
)
KINDS = {"a": "text", "n": "whole", "c": "text"}
CELLS = Cells({"band": dp.Bins("n", [2, 5, 8])})
DRAW = np.random.default_rng(0)
SCORES: list[dict[str, list[int]]] = [
    {"a": DRAW.integers(-150, 150, 2).tolist(), "band": DRAW.integers(-90, 90, 4).tolist()}
    for _ in range(4)
]
QUERY = ClassResiduals("c", "band", SCORES, [0, 5, -20, 40], classes=[0, 1, 2, 3], cells=CELLS)


def rows_with_gaps(rows: int = 400) -> dict[str, list[Any]]:
    draw = np.random.default_rng(1)
    return {
        "a": draw.choice(["x", "y", "z"], rows).tolist(),
        "n": [None if k == 10 else int(k) for k in draw.integers(-1, 11, rows)],
        "c": draw.choice(["p", "q", "r", "s", "t"], rows).tolist(),
    }


def expected(table: dict[str, list[Any]]) -> np.ndarray:
    """One row after the other, in Python's own integers."""
    totals = np.zeros((4, 4), np.int64)
    for a, n, c in zip(table["a"], table["n"], table["c"], strict=True):
        if c == "t":
            continue
        k = min(max(4 if n is None else n, 0), 9)
        band = sum(k >= cut for cut in (2, 5, 8))
        weights = []
        for score, offset in zip(SCORES, QUERY.offsets, strict=True):
            steps = offset + score["band"][band] + (0 if a == "z" else score["a"]["xy".index(a)])
            weights.append(EXPONENTIALS[min(max(steps + CENTRE, 0), 2 * CENTRE)])
        for at, weight in enumerate(weights):
            share = 2 * SIZE * weight // sum(weights)
            own = "pqrs".index(c) == at
            totals[band, at] += min(SIZE, 2 * SIZE - share) if own else -min(SIZE, share)
    return totals


FORMS: dict[str, Any] = {
    "arrays": tables.arrays,
    "polars": tables.polars_eager,
    "lazy polars": tables.polars_lazy,
    "pandas": tables.pandas_default,
    "nullable pandas": tables.pandas_nullable,
    "Arrow": tables.arrow,
    "DuckDB": tables.duckdb_relation,
    "Dask": tables.dask_frame,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_engine_divides_alike(form: str) -> None:
    table = rows_with_gaps()
    data = dp.PrivateDataset(FORMS[form](table, KINDS), SCHEMA, unit=dp.PUBLIC)
    assert np.array_equal(exact_totals(data, QUERY), expected(table))


def test_files_and_databases_divide_alike(tmp_path: Path) -> None:
    table = rows_with_gaps()
    for source in (
        tables.parquet_files(table, KINDS, tmp_path),
        tables.duckdb_url(table, KINDS, tmp_path),
    ):
        data = dp.PrivateDataset(source, SCHEMA, unit=dp.PUBLIC)
        assert np.array_equal(exact_totals(data, QUERY), expected(table))


def test_postgres_divides_alike(postgres_server: Any) -> None:
    table = rows_with_gaps()
    url = tables.postgres_url(table, KINDS, postgres_server)
    data = dp.PrivateDataset(url, SCHEMA, unit=dp.PUBLIC)
    assert np.array_equal(exact_totals(data, QUERY), expected(table))


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_spark_divides_alike() -> None:
    table, session = rows_with_gaps(), tables.spark_session()
    try:
        data = dp.PrivateDataset(tables.spark_frame(table, KINDS, session), SCHEMA, unit=dp.PUBLIC)
        assert np.array_equal(exact_totals(data, QUERY), expected(table))
    finally:
        session.stop()


def test_shares_rounded_down_are_those_of_doubles() -> None:
    """The premise of engines that divide doubles: no quotient is rounded up to a whole number."""
    draw = np.random.default_rng(2)
    weights = draw.choice(np.array(EXPONENTIALS), (20_000, 30))
    whole = weights.sum(axis=1)
    exact = 2 * SIZE * weights // whole[:, None]
    assert np.array_equal(exact, np.floor(2.0 * SIZE * weights / whole[:, None]))
    # quotients that are whole, or one short of it
    tops = 2 * SIZE * weights
    assert np.array_equal((tops - 1) // weights, np.floor((tops - 1.0) / weights))
    assert (exact.sum(axis=1) <= 2 * SIZE).all()
    assert min(EXPONENTIALS) > 0
    assert (2 * SIZE + 1) * 2**10 * max(EXPONENTIALS) < 2**53  # MAX_CLASSES of the largest


def test_codes_tell_what_they_are_made_of() -> None:
    grid = Grid("n", 0.0, 3.0, 0.0, 0.0, 1.0, 0.0)
    more = Linear(grid, 2, 1)
    whole = Total((grid, more))
    left = LeftOver(more, whole, grid, 5)
    assert (whole.low, whole.high) == (1, 10)
    assert (left.low, left.high) == (-5, 5)
    assert sources(whole) == (grid, more)
    assert sources(left) == (more, whole, grid)
    assert leaves(left) == (grid,)
    values = Chunk({"n": np.array([0, 1, 2, 3])}).code(left)
    assert values.tolist() == [-5, 3, -5, -5]  # shares of 10, 7, 7 and 7 tenths
    assert Arrays({"n": [1]}).length() == 1


def test_a_joint_vector_of_groups_has_the_noise_of_three_units() -> None:
    """With four classes or forty, a block of residuals moves by 3 units."""
    many = dp.Schema(a=dp.Categorical(*range(5)), c=dp.Categorical(*range(40)))
    wide = ClassResiduals("c", "a", [{"a": [0] * 5}] * 40, [0] * 40, classes=list(range(40)))
    for query, schema in ((QUERY, SCHEMA), (wide, many)):
        moved = Joint(query).sensitivity(schema, dp.Unit())
        assert (moved.l1, moved.l2_squared) == (3 * SIZE, 3 * SIZE**2)
        moved = Joint(query).sensitivity(schema, dp.Unit(dp.REPLACE_ONE))
        assert (moved.l1, moved.l2_squared) == (6 * SIZE, 10 * SIZE**2)
