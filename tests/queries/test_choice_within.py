"""Splits: the one that separates is chosen; within groups the question is the one with these groups."""

from __future__ import annotations

import math

import pytest
from test_choice import scores
from test_joint import SCHEMA, UNITS, with_ids

import discreet as dp
from discreet import testing
from discreet.queries import BestSplit
from discreet.queries.best_split import FINENESS


def test_the_best_split_is_the_one_that_separates() -> None:
    data = [(0, 0.5, "a", 0)] * 40 + [(1, 0.5, "b", 1)] * 40 + [(2, 0.5, "a", 1)] * 40
    private = dp.PrivateDataset(with_ids(data), SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(100)))
    for criterion in ("gini", "majority", "deviation"):
        query = BestSplit("y", {"x": [0.5, 1.5], "s": []}, criterion=criterion)  # type: ignore[arg-type]
        with testing.fixed_noise(4):
            choice = private.release(query, dp.PureDP(5)).value
        assert query.splits_of(SCHEMA)[choice] == ("x", 0.5)
    whole = scores(BestSplit("y", {"x": [0.5]}), data, UNITS["add"])
    assert whole.tolist() == [[120 * FINENESS]]


def test_a_question_within_groups_is_the_one_with_these_groups() -> None:
    schema = dp.Schema(x=dp.Real(0, 1), c=dp.Categorical("a", "b"), y=dp.Categorical("no", "yes"))
    tree, cuts = dp.schema.Tree([("x", 0.5)]), {"x": [0.2, 0.7], "c": []}
    root = BestSplit("y", cuts, criterion="deviation")
    whole = BestSplit("y", cuts, criterion="deviation", by="node", derive={"node": tree})
    for unit in (dp.Unit(), dp.Unit(id_column="id", max_rows=2)):
        assert root.within({}).parts(schema, unit) == root.parts(schema, unit)
        assert root.within({"node": tree}).parts(schema, unit) == whole.parts(schema, unit)
    with pytest.raises(ValueError, match="has groups"):
        whole.within({"other": tree})
    derived = BestSplit("band", {"c": []}, derive={"band": dp.Bins("x", [0.5])})
    with pytest.raises(ValueError, match="derived already"):
        derived.within({"band": dp.Bins("x", [0.6])})


def test_groups_of_one_block_get_the_split_that_is_best_for_all_of_them() -> None:
    schema = dp.Schema(
        g=dp.Integer(0, 2), a=dp.Categorical(0, 1), b=dp.Categorical(0, 1), y=dp.Categorical(0, 1)
    )
    # in group 0 column a tells, in group 1 and 2 column b, the more so in 1
    told = {0: ("a", 30), 1: ("b", 80), 2: ("b", 40)}
    rows: dict[str, list[int]] = {name: [] for name in "gaby"}
    for group, (name, count) in told.items():
        for y in (0, 1):
            for i in range(count):
                for column, cell in {"g": group, "a": i % 2, "b": i % 2, "y": y, name: y}.items():
                    rows[column].append(cell)
    private = dp.PrivateDataset(rows, schema, unit=dp.PUBLIC)
    root = BestSplit("y", {"a": [], "b": []}, criterion="deviation", by="g")
    names = [name for name, _ in root.splits_of(schema)]
    for blocks, wanted in (
        (None, "abb"),
        ([7, 7, 1], "bbb"),
        ([0, 1, 0], "bbb"),
        ([2, 1, 0], "abb"),
    ):
        query = BestSplit("y", {"a": [], "b": []}, criterion="deviation", by="g", blocks=blocks)
        value = private.release(query, dp.PureDP(math.inf)).value
        assert [names[int(one)] for one in value] == list(wanted)


def test_a_question_within_groups_keeps_its_own_limit_of_rows_per_person() -> None:
    unit = dp.Unit(id_column="id", max_rows=3)
    root = BestSplit("y", {"x": [0.5]}).per_person(1)
    for nodes in ({}, {"node": dp.schema.Tree([("x", 0.5)])}):
        assert root.within(nodes).narrow(unit) == root.narrow(unit)


def test_too_many_cells_in_all_groups_together_are_refused() -> None:
    schema = dp.Schema(
        g=dp.Integer(0, 2**17), c=dp.Categorical(*range(40)), y=dp.Categorical("no", "yes")
    )
    with pytest.raises(ValueError, match="groups"):
        BestSplit("y", {"c": []}, by="g").parts(schema, dp.Unit())
