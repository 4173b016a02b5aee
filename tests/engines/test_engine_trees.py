"""Leaves of public trees and parts by a public hash: the same integers from every engine."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import oracle
import pytest
import tables
from test_engine_matrix import DATA, KINDS, SCHEMA

import discreet as dp
from discreet.models.tree import RandomDecisionForest
from discreet.queries import BestSplit, WithColumns
from discreet.schema import Parts, Tree
from discreet.testing import exact_totals
from small_tables import as_columns, as_rows

SPLITS = [
    ("x", 12.5), ("town", ["b", "日本"]), ("n", 3.5),
    ("big", 1e6), None, ("sex", ["M"]), ("rating", [2, -4]),
]  # fmt: skip
PART_COLUMNS = ["x", "n", "big", "town", "flag"]
COLUMNS = {"leaf": Tree(SPLITS), "part": Parts(PART_COLUMNS, 5)}
QUERY = WithColumns(dp.Count(by=["leaf", "part"]), COLUMNS)


def leaf(codes: oracle.Codes) -> int:
    """The leaf by hand: the split's question, asked of the cells' codes in the oracle's way."""
    node = 0
    while node < len(SPLITS):
        split = SPLITS[node]
        right = False
        if split is not None:
            name, at = split
            column = SCHEMA[name]
            if isinstance(at, list):
                right = codes[name] in [column.values.index(v) for v in at]
            elif name == "n":
                right = codes[name] + column.lower >= at
            else:
                right = codes[name] >= oracle.grid(column, at, 20)
        node = 2 * node + (2 if right else 1)
    return node - len(SPLITS)


def part(codes: oracle.Codes) -> int:
    total = 0
    for index, name in enumerate(PART_COLUMNS):
        digest = int.from_bytes(hashlib.sha256(f"part {index}".encode()).digest()[:8])
        total += (codes[name] + 1) * (1 + digest % (2**31 - 2))
    return total % (2**31 - 1) % 5


def wanted(rows: list[oracle.Row]) -> list[list[int]]:
    counts = np.zeros((8 * 5, 1), np.int64)
    for row in rows:
        codes = oracle.Codes(SCHEMA, row)  # a row without a value passes no test, and counts
        counts[leaf(codes) * 5 + part(codes)] += 1
    return counts.tolist()


@pytest.mark.parametrize("name", ["dirty", "empty", "one row"])
def test_engines_find_the_same_leaves_and_parts(name: str, tmp_path: Path) -> None:
    table = as_columns(DATA[name], KINDS)
    rows = as_rows(table)
    expected = wanted(rows)
    for form, source in tables.forms(table, KINDS, tmp_path).items():
        dataset = dp.PrivateDataset(source, SCHEMA, unit=dp.Unit(dp.PUBLIC))
        assert exact_totals(dataset, QUERY).tolist() == expected, form


def test_engines_keep_the_same_rows_of_each_person_in_leaves(tmp_path: Path) -> None:
    table = as_columns(DATA["dirty"], KINDS)
    unit = dp.Unit(dp.PUBLIC, id_column="person", max_rows=2)
    found = {
        form: exact_totals(dp.PrivateDataset(source, SCHEMA, unit=unit), QUERY).tolist()
        for form, source in tables.forms(table, KINDS, tmp_path).items()
    }
    assert all(totals == found["numpy"] for totals in found.values())
    everyone = dp.PrivateDataset(tables.arrays(table, KINDS), SCHEMA, unit=dp.Unit(dp.PUBLIC))
    assert 0 < np.sum(found["numpy"]) < exact_totals(everyone, QUERY).sum()


def integers(source: Any) -> Any:
    return exact_totals(dp.PrivateDataset(source, SCHEMA, unit=dp.Unit(dp.PUBLIC)), QUERY).tolist()


def test_postgres_finds_the_same_leaves_and_parts(postgres_server: Any) -> None:
    table = as_columns(DATA["dirty"], KINDS)
    url = tables.postgres_url(table, KINDS, postgres_server, "trees")
    assert integers(url) == integers(tables.arrays(table, KINDS))


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.slow
@pytest.mark.long
def test_spark_finds_the_same_leaves_and_parts() -> None:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17; install a Java runtime to run this test")
    table = as_columns(DATA["dirty"], KINDS)
    session = tables.spark_session()
    try:
        found = integers(tables.spark_frame(table, KINDS, session))
    finally:
        session.stop()
    assert found == integers(tables.arrays(table, KINDS))


def test_dask_finds_the_same_leaves_and_parts() -> None:
    table = as_columns(DATA["dirty"], KINDS)
    assert integers(tables.dask_frame(table, KINDS)) == integers(tables.arrays(table, KINDS))


def test_parts_are_of_about_equal_size() -> None:
    schema = dp.Schema(x=dp.Real(0, 1), n=dp.Integer(0, 9)).derive(part=Parts(["x", "n"], 8))
    draw = np.random.default_rng(0)
    rows = {"x": draw.random(16_000), "n": draw.integers(0, 10, 16_000)}
    counts = exact_totals(dp.PrivateDataset(rows, schema, unit=dp.PUBLIC), dp.Count(by="part"))
    assert abs(counts - 2000).max() < 5 * 42  # five standard deviations


def test_a_deep_tree_equals_plain_comparisons(tmp_path: Path) -> None:
    """Six levels, both children of every node, on arrays and in SQL."""
    draw = np.random.default_rng(1)
    splits = [(draw.choice(["a", "b"]), float(draw.uniform(0.1, 3.9))) for _ in range(63)]
    schema = dp.Schema(a=dp.Real(0, 4), b=dp.Real(0, 4)).derive(leaf=Tree(splits))
    rows = {"a": draw.uniform(0, 4, 500), "b": draw.uniform(0, 4, 500)}
    expected = np.zeros(64, np.int64)
    for i in range(500):
        node = 0
        while node < 63:
            column, cut = splits[node]
            node = 2 * node + (2 if rows[column][i] >= cut else 1)
        expected[node - 63] += 1
    kinds = {"a": "real", "b": "real"}
    table = {name: column.tolist() for name, column in rows.items()}
    for form in ("numpy", "polars", "duckdb", "pandas nullable"):
        data = dp.PrivateDataset(tables.TYPED[form](table, kinds), schema, unit=dp.PUBLIC)
        assert exact_totals(data, dp.Count(by="leaf"))[:, 0].tolist() == expected.tolist(), form


@pytest.mark.parametrize("far", [2.0**32, 2.0**33 + 5, 1e18])
def test_cuts_far_outside_of_a_column_send_all_rows_to_one_side(far: float) -> None:
    """Whole numbers are their own codes, so that such a cut is far beyond all codes of 32 bits."""
    rows = {"n": np.arange(10)}
    for cut, leaf in ((far, 0), (-far, 1)):
        schema = dp.Schema(n=dp.Integer(0, 9)).derive(leaf=Tree([("n", cut)]))
        counts = exact_totals(dp.PrivateDataset(rows, schema, unit=dp.PUBLIC), dp.Count(by="leaf"))
        assert counts[:, 0].tolist() == [10 * (leaf == 0), 10 * (leaf == 1)]


BAD: list[tuple[Any, str]] = [
    (lambda: Tree([]), "1, 3, 7"),
    (lambda: Tree([("x", 1), None]), "1, 3, 7"),
    (lambda: Tree([None]), "at least one node"),
    (lambda: Tree([("x", "F")]), "a number, or a list"),
    (lambda: Tree([("x", [])]), "a number, or a list"),
    (lambda: Tree(["ab"]), "a pair"),
    (lambda: Tree([("x", float("nan"))]), "finite"),
    (lambda: SCHEMA.derive(t=Tree([("sex", 1)])), "must be dp.Real or dp.Integer"),
    (lambda: SCHEMA.derive(t=Tree([("sex", ["X"])])), "no value of column 'sex'"),
    (lambda: Parts([], 2), "at least one column"),
    (lambda: Parts(["x"], 0), "parts"),
]


@pytest.mark.parametrize(("build", "message"), BAD)
def test_bad_trees_are_refused_with_a_sentence(build: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        build()


def test_trees_and_parts_survive_a_file(tmp_path: Path) -> None:
    schema = SCHEMA.derive(**COLUMNS)
    schema.write(tmp_path / "schema.toml")
    again = dp.Schema.read(tmp_path / "schema.toml")
    assert again == schema
    assert again.code("leaf") == schema.code("leaf")
    assert again.code("part") == schema.code("part")


def test_splits_count_rows_without_a_value_with_the_others_on_every_engine(
    postgres_server: Any,
) -> None:
    table = as_columns(DATA["dirty"], KINDS)
    query = BestSplit("flag", {"x": [12.5], "town": [], "sex": []}, by="leaf", derive=COLUMNS)
    parts = query.parts(SCHEMA, dp.Unit(dp.PUBLIC))
    sources = {form: tables.TYPED[form](table, KINDS) for form in ("numpy", "polars", "duckdb")}
    sources["dask"] = tables.dask_frame(table, KINDS)
    sources["postgres"] = tables.postgres_url(table, KINDS, postgres_server, "splits")
    found = {}
    for form, source in sources.items():
        engine = dp.PrivateDataset(source, SCHEMA, unit=dp.Unit(dp.PUBLIC))._engine
        found[form] = [engine.totals(part).tolist() for part in parts]
    assert all(totals == found["numpy"] for totals in found.values())
    counted = [np.sum(totals) for totals in found["numpy"]]
    flags = [oracle.category(SCHEMA["flag"], cell) for cell in table["flag"]]
    if SCHEMA.code("flag").low < 0:
        flags = [flag for flag in flags if flag >= 0]
    assert counted == [len(flags)] * 3  # a row counts whether or not it has a town or a sex


DEEP_KINDS = {"a": "real", "b": "real", "t": "text"}
DEEP = dp.Schema(a=dp.Real(0, 1), b=dp.Real(0, 1), t=dp.Categorical("n", "y"))


def calibrate_a_deep_forest(source: Any) -> Any:
    """The line through the bins of a score of sixteen trees with eight levels each."""
    forest = RandomDecisionForest(
        epsilon=float("inf"), n_estimators=16, max_depth=8, calibrate=True, random_state=0
    ).fit(dp.PrivateDataset(source, DEEP, unit=dp.Unit(dp.PUBLIC)))
    return forest.calibration_, [values.tolist() for values in forest.leaf_values_]


def deep_table() -> dict[str, list[Any]]:
    draw = np.random.default_rng(0)
    a, b = draw.random((2, 2000))
    t = np.where(draw.random(2000) < a, "y", "n")
    return {"a": a.tolist(), "b": b.tolist(), "t": t.tolist()}


def test_a_score_of_deep_trees_is_the_same_on_remote_engines(postgres_server: Any) -> None:
    """PostgreSQL's stack overflowed where each of 256 comparisons wrote out the tree again."""
    table = deep_table()
    expected = calibrate_a_deep_forest(tables.arrays(table, DEEP_KINDS))
    assert expected[0] != (0.0, 1.0)
    assert calibrate_a_deep_forest(tables.dask_frame(table, DEEP_KINDS)) == expected
    url = tables.postgres_url(table, DEEP_KINDS, postgres_server, "deep")
    assert calibrate_a_deep_forest(url) == expected


def test_a_score_of_deep_trees_is_the_same_on_local_engines(tmp_path: Path) -> None:
    table = deep_table()
    expected = calibrate_a_deep_forest(tables.arrays(table, DEEP_KINDS))
    for form, source in tables.forms(table, DEEP_KINDS, tmp_path).items():
        assert calibrate_a_deep_forest(source) == expected, form
