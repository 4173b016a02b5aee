"""Joint vectors: sensitivities against all neighbours, and answers that are those of their queries."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet import testing
from discreet.coding import Sensitivity
from discreet.engines.arrays import Arrays
from discreet.queries import Joint, WithColumns
from discreet.schema import Tree
from small_tables import as_columns

SCHEMA = dp.Schema(
    x=dp.Integer(0, 2), v=dp.Real(-1, 3), s=dp.Categorical("a", "b"), y=dp.Categorical(0, 1, 2)
)
CELLS: dict[str, list[Any]] = {
    "x": [0, 1, 2], "v": [-1.0, 0.5, 3.0], "s": ["a", "b", "other"], "y": [0, 1, 2],
}  # fmt: skip
UNITS = {
    "add": dp.Unit(dp.ADD_REMOVE),
    "replace": dp.Unit(dp.REPLACE_ONE),
    "add, persons": dp.Unit(dp.ADD_REMOVE, "id", 2),
    "replace, persons": dp.Unit(dp.REPLACE_ONE, "id", 2),
}
Row = tuple[Any, ...]
TREES = {"one": Tree([("x", 1)]), "two": Tree([("v", 0), ("s", ["a"]), None])}


def all_cells(used: tuple[str, ...]) -> list[Row]:
    return [
        tuple(dict(zip(used, cells, strict=True)).get(name, CELLS[name][0]) for name in CELLS)
        for cells in itertools.product(*(CELLS[name] for name in used))
    ]


def with_ids(data: list[Row], ids: list[int] | None = None) -> dict[str, Any]:
    columns = as_columns(data, CELLS)
    return columns | {"id": list(range(len(data))) if ids is None else ids}


def vector(query: Joint, data: list[Row], unit: dp.Unit) -> Any:
    engine = Arrays(with_ids(data, [1] * len(data)))
    parts = query.parts(SCHEMA, unit)
    weights = query.weights(SCHEMA, unit)
    return np.concatenate(
        [engine.totals(p).ravel() * w for p, w in zip(parts, weights, strict=True)]
    )


JOINTS = [
    (Joint(dp.Count(by="s"), dp.Count(by="y")), ("s", "y")),
    (Joint(dp.Count(), dp.Count(by="y")), ("y",)),
    (Joint(dp.Count(by="y"), dp.Sum("x", by="s")), ("s", "y", "x")),
    (
        Joint(*(WithColumns(dp.Count(by=[name, "y"]), {name: TREES[name]}) for name in TREES)),
        ("x", "v", "s", "y"),
    ),
]


@pytest.mark.parametrize("unit", ["add", "replace"])
@pytest.mark.parametrize(("query", "used"), JOINTS, ids=[repr(q)[:50] for q, _ in JOINTS])
def test_joint_sensitivity_is_exact(query: Joint, used: tuple[str, ...], unit: str) -> None:
    one = [vector(query, [row], UNITS[unit]) for row in all_cells(used)]
    moves = one if unit == "add" else [a - b for a in one for b in one]
    true = Sensitivity(
        max(int(abs(m).sum()) for m in moves), max(int((m * m).sum()) for m in moves)
    )
    found = query.sensitivity(SCHEMA, UNITS[unit])
    assert found.l1 >= true.l1
    assert found.l2_squared >= true.l2_squared
    if "Sum" not in repr(query):  # the largest sum and the largest count are in different rows
        assert found == true


@pytest.mark.parametrize("unit", ["add, persons", "replace, persons"])
def test_joint_sensitivity_bounds_persons(unit: str) -> None:
    draw = random.Random(3)
    for query, _ in JOINTS:
        bound = query.sensitivity(SCHEMA, UNITS[unit])
        for _ in range(60):
            a, b = (
                [tuple(draw.choice(cells) for cells in CELLS.values()) for _ in range(n)]
                for n in (draw.randrange(5), draw.randrange(5))
            )
            moved = vector(query, a, UNITS[unit])
            if "replace" in unit:
                moved = moved - vector(query, b, UNITS[unit])
            assert int(abs(moved).sum()) <= bound.l1
            assert int((moved * moved).sum()) <= bound.l2_squared


def test_blocks_of_a_joint_vector_are_made_equally_large() -> None:
    query = Joint(dp.Count(by="y"), dp.Sum("v"))
    unit = UNITS["add"]
    assert query.weights(SCHEMA, unit) == (2**20, 1)
    data = dp.PrivateDataset(
        with_ids([(0, 0.5, "a", 1)] * 50), SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(100))
    )
    with testing.fixed_noise(1):
        found = [data.release(query, dp.PureDP(1)) for _ in range(50)]
    counts = np.array([release.value[0] for release in found])
    sums = np.array([release.value[1] for release in found])
    assert counts.mean(axis=0) == pytest.approx([0, 50, 0], abs=2)
    assert sums.mean() == pytest.approx(25, abs=4)
    assert counts.std(axis=0).mean() == pytest.approx(found[0].stderr[0][0], rel=0.3)
    # each block has twice the noise that it would have alone
    alone = data.plan(dp.Count(by="y"), dp.PureDP("1/2")).stderr
    assert found[0].stderr[0] == pytest.approx(alone, rel=0.02)
    low, high = found[0].noise_interval(0.999)[:2]
    assert np.all(low[0] <= [0, 50, 0])
    assert np.all(high[0] >= [0, 50, 0])


def test_a_joint_answer_without_noise_is_that_of_its_queries() -> None:
    data = dp.PrivateDataset(with_ids(all_cells(("x", "v", "s", "y"))), SCHEMA, unit=dp.PUBLIC)
    asked = (dp.Count(by=["s", "y"]), dp.Mean("v", by="s"), dp.Count(), dp.Variance("x"))
    joint = data.release(Joint(*asked), dp.PureDP(float("inf"))).value
    for query, value in zip(asked, joint, strict=True):
        assert np.array_equal(data.release(query, dp.PureDP(float("inf"))).value, value)


def moved(query: Any, before: Any, after: Any) -> int:
    """How much the change favours one candidate over another, summed over groups."""
    change = after - before
    return int((change.max(axis=1) - change.min(axis=1)).sum())
