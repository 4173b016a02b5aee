"""Residuals of additive predictions: their values, and how far one row moves them."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.engines.arrays import Arrays
from discreet.queries import Cells, ClassResiduals, NumberResiduals
from discreet.queries.residuals import CENTRE, CLASS_LINK, PARTS, REACH, SCORE_CUTS, SIZE

SCHEMA = dp.Schema(
    a=dp.Categorical("x", "y"),
    n=dp.Integer(0, 5),
    two=dp.Categorical(0, 1),
    three=dp.Categorical(0, 1, 2),
    five=dp.Categorical(0, 1, 2, 3, 4),
    t=dp.Integer(-1, 2),
    r=dp.Real(0, 2),
)
CELLS: dict[str, list[Any]] = {
    "a": ["x", "y", "unknown"],
    "n": [0, 1, 2, 3, 4, 5, None],
    "two": [0, 1, 7],
    "three": [0, 1, 2, 7],
    "five": [0, 1, 2, 3, 4, 7],
    "t": [-1, 0, 2, None],
    "r": [0.0, 0.7, 2.0, None],
}
BANDS = {"band": dp.Bins("n", [2])}
TABLES = {"a": [300, -300], "band": [-20, 15]}


def binary(by: str = "a") -> ClassResiduals:
    return ClassResiduals("two", by, [TABLES], [3], classes=[1], cells=Cells(BANDS))


def several(by: str = "a") -> ClassResiduals:
    tables = [{"a": [300, -300]}, {"a": [-300, 300]}, {"band": [400, -400]}]
    return ClassResiduals("three", by, tables, [0, 0, 0], classes=[0, 1, 2], cells=Cells(BANDS))


def many(by: str = "a") -> ClassResiduals:
    """Five classes; each band gives two of them about half of the whole each."""
    halves = ({0, 1}, {1, 2}, {3, 4}, {0, 3}, {2, 4})
    bands = Cells({"each": dp.Bins("n", [1, 2, 3, 4])})
    scores = [{"each": [500 if k in two else -500 for two in halves]} for k in range(5)]
    return ClassResiduals("five", by, scores, [0] * 5, classes=list(range(5)), cells=bands)


def number(target: str, by: str = "a", steps: int = 50) -> NumberResiduals:
    return NumberResiduals(target, by, TABLES, 40, steps=steps, cells=Cells(BANDS))


QUERIES = {
    "binary": (binary(), "two"),
    "binary by band": (binary("band"), "two"),
    "three classes": (several(), "three"),
    "three classes by band": (several("band"), "three"),
    "five classes": (many(), "five"),
    "whole numbers": (number("t", steps=500), "t"),
    "real numbers": (number("r"), "r"),
}


def rows_of(target: str) -> list[dict[str, Any]]:
    names = ("a", "n", target)
    other = {name: cells[0] for name, cells in CELLS.items()}
    cells = itertools.product(*(CELLS[name] for name in names))
    return [{**other, **dict(zip(names, row, strict=True))} for row in cells]


def contribution(query: Any, unit: dp.Unit, row: dict[str, Any]) -> np.ndarray:
    columns = {name: [cell] for name, cell in row.items()}
    return Arrays({**columns, "id": [1]}).totals(query.coded(SCHEMA, unit)).ravel()


@pytest.mark.parametrize("name", QUERIES)
def test_one_row_moves_them_no_farther_than_stated(name: str) -> None:
    query, target = QUERIES[name]
    for relation in (dp.ADD_REMOVE, dp.REPLACE_ONE):
        unit = dp.Unit(relation)
        found = np.array([contribution(query, unit, row) for row in rows_of(target)])
        if relation is dp.ADD_REMOVE:
            apart = found
        else:
            apart = (found[:, None] - found[None]).reshape(-1, found.shape[1])
        stated = query.sensitivity(SCHEMA, unit)
        l1, squared = abs(apart).sum(axis=1).max(), (apart**2).sum(axis=1).max()
        assert l1 <= stated.l1
        assert squared <= stated.l2_squared
        if relation is dp.ADD_REMOVE and query.width == 1:  # attained
            assert (l1, squared) == (stated.l1, stated.l2_squared) == (SIZE, SIZE**2)
        if name == "five classes":  # attained but for what rounding down leaves out
            few = 3 if relation is dp.ADD_REMOVE else 6
            squares = 3 if relation is dp.ADD_REMOVE else 10
            assert (stated.l1, stated.l2_squared) == (few * SIZE, squares * SIZE**2)
            assert l1 >= few * SIZE - 12
            assert squared >= 0.99 * squares * SIZE**2


@pytest.mark.parametrize("relation", [dp.ADD_REMOVE, dp.REPLACE_ONE])
def test_the_event_knows_neither_tables_nor_cells(relation: Any) -> None:
    """Rounds are planned before cells and shapes are known."""
    unit = dp.Unit(relation)
    fine = Cells({"band": dp.Bins("n", [1, 2, 3, 4])})
    other = ClassResiduals("two", "band", [{"band": [1, 2, 3, 4, 5]}], [9], classes=[0], cells=fine)
    assert other.sensitivity(SCHEMA, unit) == binary("band").sensitivity(SCHEMA, unit)
    wide = NumberResiduals("t", "band", {"band": [0] * 5}, 0, steps=7, cells=fine)
    assert wide.sensitivity(SCHEMA, unit) == number("t", "band").sensitivity(SCHEMA, unit)


def test_residuals_of_classes_are_those_of_the_logistic_function() -> None:
    """Within half a part of the clipped residual, or what one step of the score changes."""
    for steps in range(-CENTRE, CENTRE + 1):
        score = REACH * steps / CENTRE
        p = 1 / (1 + math.exp(-score))
        level = sum(steps + CENTRE >= cut for cut in SCORE_CUTS)
        other, own = CLASS_LINK[level], CLASS_LINK[2 * PARTS + 1 + level]
        slack = 0.5 / PARTS + 0.5 * REACH / CENTRE
        assert own / SIZE == pytest.approx(min(2 * (1 - p), 1.0), abs=slack)
        assert other / SIZE == pytest.approx(-min(2 * p, 1.0), abs=slack)
    assert max(map(abs, CLASS_LINK)) == SIZE


def test_residuals_of_several_classes_are_those_of_their_shares() -> None:
    scores = [40, 0, -30, 10, 5]
    query = ClassResiduals(
        "five", "a", [{"a": [s, s]} for s in scores], [0] * 5, classes=list(range(5))
    )
    shares = np.exp(np.array(scores) * REACH / CENTRE)
    shares /= shares.sum()
    row = {name: cells[0] for name, cells in CELLS.items()}
    for place in range(5):
        found = contribution(query, dp.Unit(), {**row, "five": place})[:5] / (2 * SIZE)
        left = -np.minimum(shares, 0.5)
        left[place] = min(1 - shares[place], 0.5)
        assert found == pytest.approx(left, abs=0.002)


def test_residuals_of_numbers_are_differences() -> None:
    row = {**{name: cells[0] for name, cells in CELLS.items()}, "a": "y", "n": 5, "t": 2}
    # the prediction is 40 - 300 + 15 steps, the target 3 cells of 50 steps above its lower bound
    assert contribution(number("t"), dp.Unit(), row).tolist() == [0, 150 - 40 + 300 - 15]
    row["a"] = "x"
    assert contribution(number("t"), dp.Unit(), row).tolist() == [150 - 40 - 300 - 15, 0]
    row |= {"a": "y", "r": 1.0}
    assert contribution(number("r"), dp.Unit(), row).tolist() == [0, SIZE]  # clipped


def test_a_value_that_is_not_declared_scores_nothing_and_its_row_counts() -> None:
    row = {**{name: cells[0] for name, cells in CELLS.items()}, "a": "unknown", "n": 5, "t": 2}
    by_band = contribution(number("t", "band"), dp.Unit(), row)
    assert by_band.tolist() == [0, 150 - 40 - 15]
    assert contribution(number("t"), dp.Unit(), row).tolist() == [0, 0]  # but not in a cell of a


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="one or more columns"):
        ClassResiduals("two", "a", [], [], classes=[])
    with pytest.raises(ValueError, match="different places"):
        ClassResiduals("two", "a", [TABLES], [0], classes=[0, 1], cells=Cells(BANDS))
    with pytest.raises(ValueError, match="must have 2 entries"):
        ClassResiduals("two", "a", [{"a": [1]}], [0], classes=[0]).coded(SCHEMA, dp.Unit())
    with pytest.raises(ValueError, match="steps"):
        NumberResiduals("t", "a", {"a": [0, 1]}, 0, steps=0)


ALONE = dp.Schema(one=dp.Categorical("a"), two=dp.Categorical(0, 1), t=dp.Integer(-1, 2))


@pytest.mark.parametrize("schema", [SCHEMA, ALONE], ids=["several cells", "one cell"])
@pytest.mark.parametrize(("target", "ends"), [("two", [0, 1]), ("t", [-1, 2])])
def test_a_replaced_row_moves_a_residual_from_end_to_end(
    target: str, ends: list[int], schema: dp.Schema
) -> None:
    by = "a" if schema is SCHEMA else "one"
    table = {by: [0] * len(schema.labels(by))}
    query: Any = ClassResiduals("two", by, [table], [0], classes=[1])
    if target == "t":
        query = NumberResiduals("t", by, table, 2 * SIZE, steps=2 * SIZE)
    unit = dp.Unit(dp.REPLACE_ONE)
    other = {"one": "a", **{name: cells[0] for name, cells in CELLS.items()}}
    first, second = (
        Arrays({name: [cell] for name, cell in {**other, target: end}.items()})
        .totals(query.coded(schema, unit))
        .ravel()
        .astype(object)
        for end in ends
    )
    stated = query.sensitivity(schema, unit)
    assert stated.l1 == abs(first - second).sum()
    assert stated.l2_squared == ((first - second) ** 2).sum()
