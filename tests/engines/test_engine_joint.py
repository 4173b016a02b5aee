"""Several sums from one reading of the rows: the same integers as one after the other, on every engine."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tables
from test_engine_matrix import DATA, KINDS, SCHEMA

import discreet as dp
from discreet.coding import Between, Branches, CodedQuery, Engine, Grid, OneOf
from discreet.coding.branches import MAX_PLACES, TILE, CodeTable
from discreet.coding.chunks import Chunk
from discreet.engines.arrays import Arrays
from discreet.engines.frames import Frames
from discreet.engines.wrappers import GuardedEngine
from discreet.models.tree.random_trees import random_tree
from discreet.queries import CentredSums, WithColumns
from discreet.schema import Tree
from small_tables import as_columns

FEATURES = {name: SCHEMA.base[name] for name in ("x", "n", "town", "sex", "rating")}
TREES = [Tree(random_tree(FEATURES, 5, np.random.default_rng(seed))) for seed in range(3)]
QUERIES = [
    *(WithColumns(dp.Count(by=["leaf", "flag"]), {"leaf": tree}) for tree in TREES),
    *(WithColumns(CentredSums("big", by="leaf"), {"leaf": tree}) for tree in TREES),
    WithColumns(dp.Count(by="leaf", where="n >= 3"), {"leaf": TREES[0]}),
]
UNITS = [dp.Unit(dp.PUBLIC), dp.Unit(dp.PUBLIC, id_column="person", max_rows=2)]


def ask(source: Any, unit: dp.Unit) -> tuple[Engine, list[CodedQuery]]:
    """The engine behind a source, and the queries in integers."""
    data = dp.PrivateDataset(source, SCHEMA, unit=unit)
    return data._engine, [query.coded(SCHEMA, unit) for query in QUERIES]


def together(source: Any, unit: dp.Unit) -> list[Any]:
    engine, coded = ask(source, unit)
    return [part.tolist() for part in engine.joint_totals(coded)]


def one_by_one(source: Any, unit: dp.Unit) -> list[Any]:
    engine, coded = ask(source, unit)
    return [engine.totals(query).tolist() for query in coded]


@pytest.mark.parametrize("unit", UNITS, ids=["rows", "persons"])
@pytest.mark.parametrize("name", ["dirty", "empty", "one row"])
def test_engines_add_up_several_queries_as_one_by_one(
    name: str, unit: dp.Unit, tmp_path: Path
) -> None:
    table = as_columns(DATA[name], KINDS)
    expected = one_by_one(tables.arrays(table, KINDS), unit)
    for form, source in tables.forms(table, KINDS, tmp_path).items():
        assert together(source, unit) == expected, form
    assert together(tables.dask_frame(table, KINDS), unit) == expected
    if name == "dirty":
        assert np.sum(expected[0]) > 0 < np.sum(expected[-1])


@pytest.mark.parametrize("unit", UNITS, ids=["rows", "persons"])
def test_postgres_adds_up_several_queries_as_one_by_one(
    unit: dp.Unit, postgres_server: Any
) -> None:
    table = as_columns(DATA["dirty"], KINDS)
    url = tables.postgres_url(table, KINDS, postgres_server, "joint")
    assert together(url, unit) == one_by_one(tables.arrays(table, KINDS), unit)


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.slow
@pytest.mark.long
def test_spark_adds_up_several_queries_as_one_by_one() -> None:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17; install a Java runtime to run this test")
    table = as_columns(DATA["dirty"], KINDS)
    session = tables.spark_session()
    try:
        found = together(tables.spark_frame(table, KINDS, session), UNITS[0])
    finally:
        session.stop()
    assert found == one_by_one(tables.arrays(table, KINDS), UNITS[0])


def test_a_lazy_frame_is_read_once_for_all_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    table = as_columns(DATA["dirty"], KINDS)
    engine, coded = ask(tables.TYPED["polars"](table, KINDS).lazy(), UNITS[0])
    reads: list[int] = []
    read = Frames._series
    monkeypatch.setattr(Frames, "_series", lambda self, frame: reads.append(1) or read(self, frame))
    sums = Frames._collect
    monkeypatch.setattr(
        Frames, "_collect", lambda self, frame: reads.append(1) or sums(self, frame)
    )
    engine.joint_totals(coded[:3])
    assert len(reads) == 1
    reads.clear()
    for query in coded[:3]:
        engine.totals(query)
    assert len(reads) == 3


def test_a_guarded_engine_adds_up_its_part_of_the_rows_and_nothing_once_it_is_closed() -> None:
    engine, coded = ask(tables.arrays(as_columns(DATA["dirty"], KINDS), KINDS), UNITS[0])
    open_ = [True]

    def allow() -> None:
        if not open_[0]:
            raise RuntimeError("closed")

    half = Between(SCHEMA.code("n"), 2, SCHEMA.code("n").high)
    guarded = GuardedEngine(engine, allow, half)
    expected = [guarded.totals(query).tolist() for query in coded]
    assert [part.tolist() for part in guarded.joint_totals(coded)] == expected
    assert expected[0] != engine.totals(coded[0]).tolist()
    open_[0] = False
    with pytest.raises(RuntimeError, match="closed"):
        guarded.joint_totals(coded)
    with pytest.raises(RuntimeError, match="closed"):
        guarded.joint_totals([])


def walk(tests: Sequence[Any], row: dict[Any, int]) -> int:
    """The leaf of one row, by the definition."""
    node = 0
    while node < len(tests):
        test = tests[node]
        right = False
        if isinstance(test, Between):
            right = test.low <= row[test.code] <= test.high
        elif isinstance(test, OneOf):
            right = row[test.code] in test.members
        node = 2 * node + (2 if right else 1)
    return node - len(tests)


@pytest.mark.parametrize("levels", [1, 2, 4, 5, 7])
@pytest.mark.parametrize("rows", [0, 1, TILE + 3])
def test_leaves_of_any_tests_are_those_of_the_definition(levels: int, rows: int) -> None:
    draw = np.random.default_rng([levels, rows])
    numbers = [Grid(f"x{i}", 0.0, 2.0**20, 0.0, 0.0, 1.0, 0.0) for i in range(3)]
    listed = [dp.Categorical(*"abcde").code(name, SCHEMA) for name in ("k", "l")]
    values: dict[Any, Any] = {code: draw.integers(0, 2**20 + 1, rows) for code in numbers}
    values |= {code: draw.integers(-1, 5, rows) for code in listed}

    def draw_test() -> Any:
        kind = draw.integers(10)
        if kind == 0:
            return None
        if kind < 6:
            code = numbers[draw.integers(3)]
            return Between(code, int(draw.integers(-5, 2**20 + 5)), code.high)
        members = draw.permutation(np.arange(-1, 5))[: draw.integers(1, 4)]
        return OneOf(listed[draw.integers(2)], tuple(members.tolist()))

    tests = tuple(draw_test() for _ in range(2**levels - 1))
    shown = list(range(0, rows, max(1, rows // 200)))
    found = CodeTable(rows).leaves(tests, values.__getitem__)
    assert found is not None
    for row in shown:
        assert found[row] == walk(tests, {code: int(cells[row]) for code, cells in values.items()})
    slow = Chunk({"": np.zeros(rows)}, values)._branches(tests)
    assert found.tolist() == slow.tolist()


def test_tests_with_two_ends_or_long_lists_or_many_codes_go_node_by_node() -> None:
    narrow = Grid("x", 0.0, 100.0, 0.0, 0.0, 1.0, 0.0)
    long = dp.Categorical(*range(TILE + 1)).code("k", SCHEMA)
    cells = {"x": np.arange(101.0), "k": np.arange(101)}
    many = [Grid(f"y{i}", 0.0, 1.0, 0.0, 0.0, 1.0, 0.0) for i in range(MAX_PLACES + 1)]
    cells |= {f"y{i}": np.arange(101.0) % 2 for i in range(MAX_PLACES + 1)}
    for tests in (
        (Between(narrow, 10, 20),),
        (OneOf(long, (3, 5)),),
        tuple(Between(code, 1, 1) for code in many[:511])
        + tuple(Between(code, 1, 1) for code in many[1:513]),
    ):
        chunk = Chunk(cells)
        assert CodeTable(101).leaves(tests, chunk.code) is None
        assert chunk.code(Branches(tests)).tolist() == chunk._branches(tests).tolist()
    for empty in (Chunk(cells), Chunk({"": np.zeros(101, np.bool_)})):  # nodes that ask nothing
        assert empty.code(Branches((None, None, None))).tolist() == [0] * 101
    two_ends = Chunk(cells).code(Branches((Between(narrow, 10, 20),)))
    assert np.flatnonzero(two_ends).tolist() == [*range(10, 21)]


def test_queries_of_other_rows_stay_apart() -> None:
    """A count under a condition in the same breath as one without."""
    schema = dp.Schema(x=dp.Real(0, 1), k=dp.Categorical("a", "b"))
    engine = Arrays({"x": np.array([0.1, 0.9, 0.6]), "k": np.array(["a", "z", "b"])})
    unit = dp.Unit()
    queries = [dp.Count(), dp.Count(where="x > 0.5"), dp.Count(by="k")]
    found = engine.joint_totals([query.coded(schema, unit) for query in queries])
    assert [part.tolist() for part in found] == [[[3]], [[2]], [[1], [1]]]
