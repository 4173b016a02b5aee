"""Steps of boosting where columns say the same over and over: they are taken back, and don't diverge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.models.boosting import AdditiveBoostingRegressor
from discreet.models.boosting.learning import Floats, Start, Step, boost
from discreet.testing import fixed_noise

ROWS = 600


def copies(columns: int, noise: float = 0.0, seed: int = 0) -> tuple[Start, Any, Any]:
    """A start, residuals and the loss for copies of a column of three cells: the target is 1, 0, -1 there."""
    draw = np.random.default_rng(seed)
    cells = np.arange(ROWS) % 3
    target = 1.0 - cells
    here = np.full(3, ROWS / 3)
    first = [np.array([[0.3], [0.0], [-0.3]]) for _ in range(columns)]
    curvature = [here[:, None] for _ in range(columns)]
    errors = [np.zeros((3, 1)) for _ in range(columns)]
    start = Start([here] * columns, curvature, first, errors, np.zeros(1), 1.0, 9.0, True)

    def ask(values: Sequence[Floats], intercept: Floats) -> tuple[list[Floats], float]:
        residual = target - intercept[0] - sum(value[cells, 0] for value in values)
        sums = np.bincount(cells, residual, 3)[:, None]
        return [sums + draw.normal(0, noise, (3, 1)) for _ in values], noise

    def loss(values: Sequence[Floats]) -> float:
        return float(np.mean((target - sum(value[cells, 0] for value in values)) ** 2))

    return start, ask, loss


@pytest.mark.parametrize("columns", [1, 2, 5, 15, 60])
@pytest.mark.parametrize("rounds", [3, 8])
@pytest.mark.parametrize("noise", [0.0, 5.0])
def test_no_number_of_equal_columns_makes_shapes_diverge(
    columns: int, rounds: int, noise: float
) -> None:
    """With 0.6 of a step for each of 60 copies shapes would be wrong 35 times as much after every round."""
    start, ask, loss = copies(columns, noise)
    found = boost(start, rounds, ask)
    assert loss(found.values) < 0.35 * loss([np.zeros((3, 1))])


def test_a_step_that_went_too_far_is_right_up_to_where_the_slope_was_zero() -> None:
    moves, before = [np.array([[2.0], [-2.0]])], [np.array([[3.0], [-3.0]])]
    step = Step(moves, before, 12.0)
    back = [np.array([[-9.0], [9.0]])]  # the slope falls from 12 to -36: zero after a quarter
    assert step.right_share(back, 0.0) == pytest.approx(0.25)
    assert step.right_share(back, 20.0) == 1.0  # that could be noise
    assert step.right_share(before, 0.0) == 1.0
    assert Step(moves, before, -1.0).right_share(back, 0.0) == 1.0


def test_many_correlated_columns_are_learned_from() -> None:
    """Over twelve draws of the noise R² lay between 0.79 and 0.84; with steps of full length below 0.1."""
    draw = np.random.default_rng(0)
    factors = draw.normal(size=(4000, 3))
    x = factors @ draw.normal(size=(3, 60)) / 2 + 0.5 * draw.normal(size=(4000, 60))
    y = factors @ [1.0, 0.6, 0.3] + 0.5 * draw.normal(size=4000)
    scores = []
    for seed in range(3):
        with fixed_noise(seed):
            model = AdditiveBoostingRegressor(
                epsilon=10, delta=1e-6, bounds=(-5, 5), target_bounds=(-5, 5), unit=dp.PUBLIC
            )
            scores.append(model.fit(x, y).score(x, y))
    assert np.median(scores) > 0.4
