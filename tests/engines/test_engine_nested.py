"""Columns derived from derived columns: trees over leaves of other trees, bins of scores of them.

A leaf that another tree asks about is computed while that tree is: what both use must not get mixed up.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tables

import discreet as dp
from discreet.coding import CodedQuery, Integers
from discreet.engines.arrays import Arrays
from discreet.engines.code_cache import CodeCache
from discreet.models.tree import RandomDecisionForest
from discreet.schema import Tree
from discreet.testing import exact_totals

ROWS, LARGEST, WARDS, LEAVES = 40, 99, ("p", "q", "r"), 4
KINDS = {"a": "whole", "b": "whole", "c": "text"}
BASE = dp.Schema(a=dp.Integer(0, LARGEST), b=dp.Integer(0, LARGEST), c=dp.Categorical(*WARDS))
UNIT = dp.Unit()
NOTHING = dp.PureDP(float("inf"))

Table = dict[str, list[Any]]
Splits = list[Any]


def draw_table(draw: np.random.Generator) -> Table:
    numbers = draw.integers(0, LARGEST + 1, (2, ROWS)).tolist()
    return {"a": numbers[0], "b": numbers[1], "c": draw.choice(WARDS, ROWS).tolist()}


def draw_splits(draw: np.random.Generator, trees: Collection[str]) -> Splits:
    """A tree of two levels over numbers, words and the leaves of the trees so far."""

    def split() -> Any:
        name = str(draw.choice([*KINDS, *trees, *trees]))  # trees twice: they are what is tested
        if name in trees:
            return name, draw.choice(LEAVES, 2, replace=False).tolist()
        if name == "c":
            return name, [str(draw.choice(WARDS))]
        return name, float(draw.integers(1, LARGEST)) - 0.5

    return [split() for _ in range(3)]


def leaf_of(row: dict[str, Any], splits: Splits) -> int:
    """The leaf by hand."""
    node = 0
    while node < len(splits):
        name, at = splits[node]
        node = 2 * node + 1 + (row[name] in at if isinstance(at, list) else row[name] >= at)
    return node - len(splits)


def draw_case(seed: int) -> tuple[dp.Schema, Table, dict[str, list[int]]]:
    """A schema with trees over trees and a score of them, a table, and what each of them counts."""
    draw = np.random.default_rng(seed)
    table, schema, trees = draw_table(draw), BASE, {}
    for name in ("t0", "t1", "t2"):
        trees[name] = draw_splits(draw, trees)
        schema = schema.derive(**{name: Tree(trees[name])})
    points = {name: draw.integers(-2, 5, LEAVES).tolist() for name in draw.permutation(list(trees))}
    schema = schema.derive(score=dp.Score(points, [0, 1, 2, 3, 4, 5]))
    schema = schema.derive(band=dp.Bins("score", [2.5]))
    counts = {name: [0] * LEAVES for name in trees} | {"band": [0, 0]}
    for place in range(ROWS):
        row = {name: cells[place] for name, cells in table.items()}
        for name, splits in trees.items():
            row[name] = leaf_of(row, splits)
            counts[name][row[name]] += 1
        score = sum(points[name][row[name]] for name in trees)
        counts["band"][min(max(score, 0), 5) >= 2.5] += 1
    return schema, table, counts


def coded(schema: dp.Schema, names: list[str]) -> list[CodedQuery]:
    return [dp.Count(by=name).coded(schema, UNIT) for name in names]


def as_lists(found: list[Integers]) -> list[list[int]]:
    return [totals.ravel().tolist() for totals in found]


@pytest.mark.parametrize("seed", range(60))
def test_several_questions_at_once_and_one_after_the_other(seed: int) -> None:
    schema, table, counts = draw_case(seed)
    names = np.random.default_rng(seed).permutation(list(counts)).tolist()
    wanted, queries = [counts[name] for name in names], coded(schema, names)
    for kind in (Arrays, lambda cells: CodeCache(Arrays(cells))):
        assert as_lists(kind(table).joint_totals(queries)) == wanted
        engine = kind(table)  # a plan's questions, each again at the end
        assert as_lists([engine.totals(query) for query in (*queries, *queries)]) == wanted * 2
    pair = dp.Count(by=names[:2]).coded(schema, UNIT)
    found = Arrays(table).totals(pair).reshape(len(wanted[0]), -1)
    assert as_lists([found.sum(axis=1), found.sum(axis=0)]) == wanted[:2]


@pytest.mark.parametrize("seed", range(3))
def test_every_engine(seed: int, tmp_path: Path) -> None:
    schema, table, counts = draw_case(seed)
    for form, source in tables.forms(table, KINDS, tmp_path).items():
        dataset = dp.PrivateDataset(source, schema, unit=dp.Unit(dp.PUBLIC))
        for name, wanted in counts.items():
            assert exact_totals(dataset, dp.Count(by=name)).ravel().tolist() == wanted, form
            # at once engines in this process fetch the cells of a score of trees
            together = dataset.release(dp.queries.Joint(dp.Count(by=name)), NOTHING)
            assert np.ravel(together.value[0]).tolist() == wanted, form


def check_large_scores(form: str, source: Any) -> None:
    """Four rows of which one has a score of twice what stands in a leaf."""
    schema = BASE.derive(t0=Tree([("a", 50.0)]), t1=Tree([("b", 50.0)]))
    for large in (2**31 - 1, -(2**31), 2**40):
        points = {"t0": [0, large], "t1": [0, large]}
        scored = schema.derive(score=dp.Score(points, [0, 1, 2], offset=1))
        scored = scored.derive(band=dp.Bins("score", [0.5, 1.5]))
        dataset = dp.PrivateDataset(source, scored, unit=dp.PUBLIC)
        wanted = [0, 1, 3] if large > 0 else [3, 1, 0]
        assert exact_totals(dataset, dp.Count(by="band")).ravel().tolist() == wanted, (form, large)
        together = dataset.release(dp.queries.Joint(dp.Count(by="band")), NOTHING)
        assert np.ravel(together.value[0]).tolist() == wanted, (form, large)


LARGE_SCORES: Table = {"a": [0, 90, 0, 90], "b": [0, 0, 90, 90], "c": ["p"] * 4}


def test_a_score_of_trees_may_exceed_32_bits(tmp_path: Path) -> None:
    """What stands in leaves is 64 bits wide: no row's sum of it wraps round, or makes an engine raise."""
    for form, source in tables.forms(LARGE_SCORES, KINDS, tmp_path).items():
        check_large_scores(form, source)


def test_a_score_of_trees_may_exceed_32_bits_in_postgres(postgres_server: Any) -> None:
    check_large_scores("postgres", tables.postgres_url(LARGE_SCORES, KINDS, postgres_server))


def test_a_score_of_as_many_trees_as_a_forest_may_have_in_postgres(postgres_server: Any) -> None:
    """One after the other they were nested too deep, which was noticed after the charge."""
    trees = {f"t{at}": Tree([("a", at % LARGEST + 0.5)]) for at in range(1024)}
    schema = BASE.derive(**trees)
    schema = schema.derive(score=dp.Score(dict.fromkeys(trees, (0, 1)), range(1025)))
    schema = schema.derive(band=dp.Bins("score", [500.5]))
    source = tables.postgres_url(LARGE_SCORES, KINDS, postgres_server)
    totals = exact_totals(dp.PrivateDataset(source, schema, unit=dp.PUBLIC), dp.Count(by="band"))
    assert totals.ravel().tolist() == [2, 2]


@pytest.mark.parametrize("seed", [25, 39, 44, 52])
def test_no_row_makes_a_forest_over_leaves_raise(seed: int) -> None:
    """Places of codes that were off by one had rows with a large `a` look beyond a node's list."""
    draw = np.random.default_rng(0)
    table = {
        "a": draw.integers(0, 2, 300), "b": draw.integers(0, 100, 300),
        "c": draw.integers(0, 100, 300), "d": draw.choice(["p", "q"], 300),
        "e": draw.choice(["p", "q", "r"], 300), "y": draw.integers(0, 2, 300),
    }  # fmt: skip
    person = {"a": 90, "b": 5, "c": 5, "d": "p", "e": "p", "y": 0}
    more = {name: np.append(cells, [person[name]]) for name, cells in table.items()}
    schema = dp.Schema(
        **{name: dp.Integer(0, 99) for name in "abc"},
        d=dp.Categorical("p", "q"), e=dp.Categorical("p", "q", "r"), y=dp.Categorical(0, 1),
    ).derive(leaf=Tree([("a", 50.0), ("b", 30.0), ("b", 70.0)]))  # fmt: skip
    for rows in (table, more):
        data = dp.PrivateDataset(rows, schema, ledger=dp.Ledger(limit=dp.PureDP(1)))
        forest = RandomDecisionForest(epsilon=1, n_estimators=16, max_depth=2, random_state=seed)
        forest.fit(data, target="y", features=["leaf", *"abcde"])
        assert len(forest.leaf_values_) == 16
