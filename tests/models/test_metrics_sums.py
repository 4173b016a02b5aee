"""The sums behind scores: whatever a model answers, a row adds numbers of at least 0 that make up `steps`."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.coding import Sensitivity
from discreet.models.metrics import AUC, METRICS, GroupCounts, LogLoss, Metric
from discreet.models.model_selection.threshold import ScoreCounts

WILD = [
    -math.inf,
    -1e300,
    -3.0,
    -1e-9,
    0.0,
    1e-12,
    0.3,
    1.0,
    1.0 + 1e-9,
    7.0,
    1e300,
    math.inf,
    math.nan,
]
CLASSES = np.array(["no", "yes"], object)


class Wild:
    """A model whose answers are no probabilities, and no numbers within bounds."""

    classes_ = CLASSES

    def __init__(self, answers: list[float]) -> None:
        self.answers = np.array(answers)

    def predict(self, X: Any) -> Any:
        return self.answers

    def predict_proba(self, X: Any) -> Any:
        return np.column_stack([1 - self.answers, self.answers])


def metrics() -> list[Metric]:
    schema = dp.Schema(y=dp.Real(0, 1), c=dp.Categorical("no", "yes"))
    found = [
        kind().bound(Wild([]), schema, "y" if kind.target == "number" else "c")
        for kind in METRICS.values()
    ]
    grouped = dp.Schema(g=dp.Categorical("a", "b"), c=dp.Categorical("no", "yes"))
    by_group = [GroupCounts("g", "yes", bins).bound(Wild([]), grouped, "c") for bins in (2, 6)]
    return [*found, AUC(2), LogLoss(0.4), ScoreCounts(), *by_group]


@pytest.mark.parametrize("metric", metrics(), ids=lambda metric: repr(metric))
def test_a_row_adds_numbers_of_at_least_zero_that_make_up_the_steps(metric: Metric) -> None:
    targets: list[Any] = ["no", "yes"] if metric.target == "class" else [0.0, 0.4, 1.0]
    if metric.beside:
        targets = list(itertools.product(["a", "b", "elsewhere"], targets))
    for answer, target in itertools.product(WILD, targets):
        with np.errstate(all="ignore"):
            added = metric.totals(
                Wild([answer]),
                [[0]],
                np.array([target], object if metric.target == "class" else float),
                np.array([1]),
            )
        assert added.shape == (metric.size,)
        assert added.min() >= 0, (answer, target)
        assert added.sum() == metric.steps, (answer, target)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("metric", metrics(), ids=lambda metric: repr(metric))
def test_the_sensitivity_is_how_far_such_vectors_can_be_apart(metric: Metric, rows: int) -> None:
    """Vectors of at least 0 with one sum are farthest from 0, and from one another, at corners."""
    corners = [rows * metric.steps * np.eye(metric.size, dtype=object)[at] for at in range(2)]
    ids = None if rows == 1 else "id"
    for relation, moves in (
        (dp.ADD_REMOVE, corners),
        (dp.REPLACE_ONE, [one - other for one in corners for other in corners]),
    ):
        found = metric.sensitivity(dp.Unit(relation, ids, rows if ids else None))
        assert found == Sensitivity(
            max(int(np.abs(move).sum()) for move in moves),
            max(int((move**2).sum()) for move in moves),
        )
