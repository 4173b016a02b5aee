"""What can be told of estimators and mechanisms that met a clean and a dirty table of equal types."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import examples
import numpy as np
from fuzz import OBJECTS, Table, dirty_cell, is_same, outcome, shape_of

import discreet as dp
from discreet import mechanisms, testing
from discreet.mechanisms.permute_and_flip import check_scores

WEIGHTS = np.ones(4, np.int64)
CHOICES: list[Callable[[Any], Any]] = [
    mechanisms.PermuteAndFlip(1).run,
    mechanisms.ReportNoisyMax(1).run,
    lambda scores: mechanisms.Exponential(dp.PureDP(1)).run(scores, WEIGHTS, 1),
    lambda scores: len(mechanisms.SparseVector(1, cutoff=9).run(scores, 5)) and None,
    lambda scores: mechanisms.Staircase(1).run(scores[0]),
    lambda scores: [each.run(check_scores(scores)) for each in testing.DISTRIBUTIONS],
]  # fmt: skip


def mechanism_differences(draw: random.Random) -> list[Any]:
    """The same for scores of any size, and for values that people report locally."""
    sizes = [2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**400, -(10**400)]
    if draw.random() < 0.5:
        run = draw.choice(CHOICES)
        inputs: list[Any] = [
            [draw.randrange(9) for _ in range(4)],
            [draw.choice(sizes) for _ in range(4)],
        ]
    else:
        local = draw.choice(testing.LOCALS)
        run = local.randomize
        inputs = [[draw.choice([0, 1]) for _ in range(4)], [draw.choice(OBJECTS) for _ in range(4)]]
    seen = [outcome(lambda given=given: shape_of(run(given))) for given in inputs]  # type: ignore[misc]
    return [] if is_same(*seen) else [(run, *seen)]


def fitted(example: testing.Example, X: Any, y: Any) -> Any:
    """What can be told of a fit: the types of all that was learned, and the form of predictions."""
    model = example.build(
        epsilon=1, delta=example_delta(example), schema=examples.schema_for(example, 2)
    )
    model.fit(X, y)
    types = {
        n: type(v).__name__ for n, v in vars(model).items() if n.endswith("_") and n != "tree_"
    }
    rows = np.zeros((3, 2), int if example.features == "category" else float)
    has_answers = hasattr(model, "predict") or hasattr(model, "transform")
    said = shape_of(examples.answers(model, rows))[1] if has_answers else None
    return (types, said, repr(model.privacy_.event), repr(model.privacy_.measure))


def example_delta(example: testing.Example) -> Any:
    """A δ for those that need one."""
    return example.parameters.get("delta", 0)


def estimator_differences(draw: random.Random) -> list[Any]:
    """The same for a fit of rows given as an array, a list, or arrays by name."""
    example = draw.choice([e for e in testing.ESTIMATORS if not e.inner])
    clean = examples.table_for(example, 12, 2, seed=draw.randrange(99))
    form = draw.choice(["arrays", "lists", "matrix"])
    dirty: Table = {}
    for name, cells in clean.items():
        kind = "real" if cells.dtype.kind == "f" else "whole"
        allowed = {"objects", "null"} if form == "lists" else set()
        strange = [dirty_cell(draw, kind, name, allowed) for _ in cells]
        dirty[name] = [
            b if draw.random() < 0.5 else a for a, b in zip(cells.tolist(), strange, strict=True)
        ]

    def given(content: Any) -> tuple[Any, Any]:
        columns = (
            {n: np.array(content[n], clean[n].dtype) for n in content}
            if form != "lists"
            else content
        )
        y = columns.get("y")
        if form == "arrays":
            return columns, None
        names = [name for name in columns if name != "y"]
        if form == "matrix":
            return np.column_stack([columns[name] for name in names]), y
        return [list(row) for row in zip(*(columns[name] for name in names), strict=True)], list(
            y
        ) if y is not None else None

    lists = {name: cells.tolist() for name, cells in clean.items()}
    seen = [
        outcome(lambda content=content: fitted(example, *given(content)))
        for content in (lists, dirty)
    ]  # type: ignore[misc]
    return [] if is_same(*seen) else [(str(example), form, *seen)]
