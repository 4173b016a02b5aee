"""An engine that keeps the codes of a plan gives the integers of the engine that it wraps."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dp
from discreet.coding import CodedQuery, Engine
from discreet.engines.arrays import Arrays
from discreet.engines.code_cache import CHUNK, TOGETHER, CodeCache, with_cache
from discreet.engines.frames import Frames
from discreet.queries import Cells, CentredSums, ClassResiduals, Marginals, NumberResiduals
from small_tables import draw_table

SCHEMA = dp.Schema(
    x=dp.Real(0, 1), n=dp.Integer(0, 9), c=dp.Categorical("a", "b", "c"), y=dp.Categorical(0, 1)
).derive(
    half=dp.Bins("x", [0.5]),
    near=dp.Nearest(["x", "n"], [(0.1, 1), (0.9, 8)]),
    tree=dp.schema.Tree([("x", 0.3), ("c", ["a"]), None]),
)
CELLS = Cells({"fives": dp.Bins("n", [5])})
QUERIES = [
    dp.Count(),
    dp.Count(where="n != 2.5"),  # every row meets it: it reads no cell
    dp.Count(by=("half", "c")),
    dp.Count(by=["tree", "y"], where="n >= 3 and c in ['a', 'b']"),
    dp.Count(by=["tree", "half", "c"]),  # the last two together are kept
    dp.Mean("x", by=["near", "half", "y"], where="n >= 3"),
    dp.Count(by=["near", "tree", "half", "c"]),
    dp.Sum("x", where="x > 0.2"),
    dp.Gram("x", "n"),
    dp.Moments("x", "n", by="c"),
    CentredSums("x", "n", by="near"),
    Marginals("x", "c", by="y"),
    ClassResiduals("y", "c", [{"c": [3, 0, -9], "fives": [5, 1]}], [2], classes=[1], cells=CELLS),
    NumberResiduals("x", "fives", {"c": [3, 0, -9]}, 40, steps=2, cells=CELLS),
]


def numbers_and_gaps(rows: int) -> dict[str, Any]:
    letters, ids = ["a", "b", "c", "other"], range(max(1, rows // 3))
    numbers: dict[str, Any] = {"x": (-0.2, 1.2), "c": letters, "n": range(-3, 14), "y": range(3)}
    table = draw_table(rows, seed=rows, **numbers, id=ids)
    table["x"][::7] = np.nan
    return table


def engines(rows: int) -> list[Engine]:
    return [
        Arrays(numbers_and_gaps(rows)),
        Frames(pl.DataFrame(numbers_and_gaps(rows), strict=False)),
    ]


@pytest.mark.parametrize("rows", [0, 1, 500])
def test_the_same_integers(rows: int) -> None:
    for unit in (dp.Unit(), dp.Unit(id_column="id", max_rows=2)):
        for engine in engines(rows):
            kept = CodeCache(engine)
            coded = [query.coded(SCHEMA, unit) for query in QUERIES]
            for query in (*coded, *reversed(coded)):  # once new, once remembered
                assert np.array_equal(kept.totals(query), engine.totals(query))
            for query in coded:  # each as the first of a plan
                first = CodeCache(engine)
                assert np.array_equal(first.totals(query), engine.totals(query))
                found = CodeCache(engine).joint_totals([query, query])
                assert all(np.array_equal(one, engine.totals(query)) for one in found)


def test_what_is_kept_is_forgotten_before_it_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.engines.code_cache.MAX_CODES", 2)
    engine = Arrays(numbers_and_gaps(200))
    kept = CodeCache(engine)
    for start in range(12):  # equal numbers of objects, none of them the same for long
        cells = Cells({"part": dp.Bins("n", [1 + start % 8])})
        by = ClassResiduals("y", "part", [{"part": [start, -5]}], [0], classes=[0], cells=cells)
        coded = by.coded(SCHEMA, dp.Unit())
        assert np.array_equal(kept.totals(coded), engine.totals(coded))
        assert len(kept._codes.values) <= 5


def test_many_queries_at_once_keep_no_more_than_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.engines.code_cache.MAX_CODES", 2)
    engine = Arrays(numbers_and_gaps(200))
    kept = CodeCache(engine)
    schemas = [SCHEMA.derive(own=dp.schema.Tree([("x", cut / 40)])) for cut in range(1, 40)]
    queries = [dp.Count(by=["own", "half", "c"]).coded(schema, dp.Unit()) for schema in schemas]
    found = kept.joint_totals(queries)
    assert all(map(np.array_equal, found, engine.joint_totals(queries)))
    # of each query the leaf, of all of them the bin, and the bin with the category
    assert len(kept._codes.values) <= 2 + TOGETHER + 2


def test_large_tables_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Arrays(numbers_and_gaps(100))
    assert isinstance(with_cache(engine, 3), CodeCache)
    assert isinstance(with_cache(engine, 0), CodeCache)
    assert with_cache(engine, 1) is engine
    assert with_cache(Arrays({"x": np.zeros(CHUNK + 1)}), 9) is not engine
    assert not isinstance(with_cache(Arrays({"x": np.zeros(CHUNK + 1)}), 9), CodeCache)
    assert not isinstance(
        with_cache(Frames(pl.LazyFrame(numbers_and_gaps(9), strict=False)), 9), CodeCache
    )
    monkeypatch.setattr("discreet.engines.code_cache.MAX_KEPT", 100)
    kept, coded = CodeCache(engine), QUERIES[1].coded(SCHEMA, dp.Unit())
    assert np.array_equal(kept.totals(coded), engine.totals(coded))
    assert not kept._codes.leaves


def test_of_two_rounds_only_codes_of_trees_are_kept() -> None:
    engine = Arrays(numbers_and_gaps(100))
    kept = with_cache(engine, 2)
    assert isinstance(kept, CodeCache)
    for query in QUERIES:
        coded = query.coded(SCHEMA, dp.Unit())
        before = dict(kept._codes.leaves)
        assert np.array_equal(kept.totals(coded), engine.totals(coded))
        assert np.array_equal(kept.joint_totals([coded, coded])[1], engine.totals(coded))
        assert "tree" in repr(query) or kept._codes.leaves == before
    assert kept._codes.leaves


def test_rows_are_read_once() -> None:
    read: list[CodedQuery] = []

    class Counted(Arrays):
        def rows(self, query: CodedQuery, codes: Any) -> Any:
            read.append(query)
            return super().rows(query, codes)

        def totals(self, query: CodedQuery) -> Any:
            raise AssertionError("the codes are kept")

    kept = CodeCache(Counted(numbers_and_gaps(100)))
    for _ in range(5):
        kept.totals(QUERIES[-2].coded(SCHEMA, dp.Unit()))
    assert len(read) == 1


@pytest.mark.parametrize("cells", [1, 2, 3, 126, 127, 128, 129, 200])
def test_codes_of_any_width_are_kept_whole(cells: int) -> None:
    engine = Arrays(numbers_and_gaps(700))
    many = [cut / (cells + 1) for cut in range(1, cells)]
    ends = (-(2**20), 2**15, -(2**15) - 1, 2**7, -(2**7) - 1, 2**20)
    schema = SCHEMA.derive(
        bins=dp.Bins("x", many) if many else dp.Bins("x", [0.5]),
        score=dp.schema.Score({"n": range(10)}, ends[: 1 + cells % len(ends)]),
    )
    kept = CodeCache(engine)
    for query in (
        dp.Count(
            by=["tree", "bins", "c"]
        ),  # the last two are a pair: up to 600 cells, c may be missing
        dp.Count(by=["tree", "c", "bins"]),
        dp.Count(by=["bins", "tree"]),
        dp.Sum("score", by=["bins", "c"]),
    ):
        coded = query.coded(schema, dp.Unit())
        assert np.array_equal(kept.totals(coded), engine.totals(coded))


def test_what_stood_by_for_other_codes_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    coded = [query.coded(SCHEMA, dp.Unit()) for query in QUERIES]
    engine = Arrays(numbers_and_gaps(300))
    expected = [engine.totals(query) for query in coded]
    for most in (0, 300, 900):
        monkeypatch.setattr("discreet.engines.code_cache.MAX_WIDE", most)
        kept = CodeCache(engine)
        for query, totals in zip((*coded, *coded), (*expected, *expected), strict=True):
            assert np.array_equal(kept.totals(query), totals)
        derived = kept._codes._chunk.known - len(kept._codes.leaves)
        assert derived * 300 <= most + 4 * 300  # those that a code is made of come with it


def test_rows_go_with_their_cache_at_once() -> None:
    """Without a collector of garbage: codes of private rows are not left behind in a circle."""
    kept = CodeCache(Arrays(numbers_and_gaps(100)))
    for query in QUERIES:
        kept.totals(query.coded(SCHEMA, dp.Unit()))
    held = [weakref.ref(values) for values in kept._codes.leaves.values()]
    held += [weakref.ref(values) for values in kept._codes.values.values()]
    held.append(weakref.ref(kept._codes._chunk))
    gc.disable()
    try:
        del kept
        assert len(held) > 5
        assert not [one for one in held if one() is not None]
    finally:
        gc.enable()
