"""Losses of risk minimisation: their constants, their determinant bound, their exact gradients."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.models.erm import (
    HuberSquare,
    Insensitive,
    Logistic,
    Loss,
    SmoothHinge,
    Softmax,
    Task,
)
from discreet.models.erm.features import ONE
from discreet.models.erm.objective import WEIGHT_STEP, Objective

LOSSES: list[Loss] = [
    Logistic(),
    Softmax(3),
    SmoothHinge(Fraction(1, 2)),
    SmoothHinge(1, classes=3),
    Insensitive(Fraction(1, 10), Fraction(1, 4)),
    Insensitive(1, Fraction(1, 2)),
    HuberSquare(Fraction(1, 2)),
]
IDS = [f"{type(loss).__name__}-{loss.outputs}-{float(loss.trace):.3g}" for loss in LOSSES]
UNITS = [
    dp.Unit(dp.ADD_REMOVE),
    dp.Unit(dp.REPLACE_ONE),
    dp.Unit(dp.ADD_REMOVE, id_column="i", max_rows=3),
    dp.Unit(dp.REPLACE_ONE, id_column="i", max_rows=2),
]


def targets(loss: Loss, draw: np.random.Generator, count: int) -> Any:
    if not loss.has_zero:
        return draw.uniform(-1, 1, count)
    return draw.integers(0, max(2, loss.outputs), count).astype(float)


@pytest.mark.parametrize("loss", LOSSES, ids=IDS)
def test_constants_bound_every_margin_and_are_nearly_reached(loss: Loss) -> None:
    draw = np.random.default_rng(0)
    count = 200_000
    margins = draw.normal(0, draw.choice([0.1, 1.0, 6.0], (count, 1)), (count, loss.outputs))
    t = targets(loss, draw, count)
    slope, bend = loss.gradient(margins, t), loss.curvature(margins, t)
    if bend.ndim == 1:
        bend = bend[:, None, None]
    longest = np.abs(slope).sum(axis=1).max()
    assert 0.95 * float(loss.slope) <= longest <= float(loss.slope) + 1e-12
    squares = (slope**2).sum(axis=1).max()
    assert 0.9 * float(loss.slope_squared) <= squares <= float(loss.slope_squared) + 1e-12
    trace = np.trace(bend, axis1=1, axis2=2).max()
    assert 0.8 * float(loss.trace) <= trace <= float(loss.trace) + 1e-12
    # how fast the Hessian changes
    move = draw.normal(size=margins.shape) * 1e-5
    change = loss.curvature(margins + move, t)
    change = (change[:, None, None] if change.ndim == 1 else change) - bend
    speed = np.linalg.norm(change, 2, axis=(1, 2)) / np.linalg.norm(move, axis=1)
    assert 0.2 * float(loss.bend) <= speed.max() <= float(loss.bend) * (1 + 1e-3)
    values = np.linalg.eigvalsh(bend[:2000])
    assert values.min() >= -1e-12
    assert ((values > 1e-9).sum(axis=1) <= loss.rank).all()


@pytest.mark.parametrize("loss", LOSSES, ids=IDS)
def test_curvature_is_the_derivative_of_the_gradient(loss: Loss) -> None:
    draw = np.random.default_rng(1)
    margins = draw.normal(0, 1.5, (500, loss.outputs))
    t = targets(loss, draw, 500)
    bend = loss.curvature(margins, t)
    if bend.ndim == 1:
        bend = bend[:, None, None]
    for at in range(loss.outputs):
        move = np.zeros(loss.outputs)
        move[at] = 1e-6
        change = (loss.gradient(margins + move, t) - loss.gradient(margins - move, t)) / 2e-6
        np.testing.assert_allclose(change, bend[:, :, at], atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES, ids=IDS)
@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_the_determinant_bound_holds_and_is_nearly_attained(loss: Loss, unit: dp.Unit) -> None:
    """log det(A + B)/det(A + B') over random and worst rows, for D and D' of one person's rows."""
    draw = np.random.default_rng(2)
    k, width, best = unit.rows_per_person, 4, 0.0
    task = Task(loss, width, ONE, 2 * ONE, dp.PureDP(1), unit)
    for ridge in (Fraction(1, 10), Fraction(1), Fraction(20)):
        bound = float(task.jacobian(ridge))
        for trial in range(100):
            x = draw.normal(size=(2 * k + 3, width))
            x /= np.linalg.norm(x, axis=1, keepdims=True)
            margins = draw.normal(0, 2, (len(x), loss.outputs))
            t = targets(loss, draw, len(x))
            if trial == 0:  # orthogonal rows at the largest curvature, nothing in common
                x[:k] = np.eye(width)[:k]
                margins[:] = 0.0 if loss.outputs == 1 or loss.relative else 1.0
                if not loss.has_zero:
                    t[:] = 0.0
                    margins[:] = 0.0 if loss.gradient.__self__.trace == 1 else _peak(loss)
                elif isinstance(loss, SmoothHinge):
                    margins = np.where(t[:, None] == np.arange(loss.outputs), 1.0, -1.0)
                    if loss.outputs == 1:
                        margins = np.where(t > 0, 1.0, -1.0)[:, None]
            bend = loss.curvature(margins, t)
            if bend.ndim == 1:
                bend = bend[:, None, None]
            each = np.stack([np.kron(b, np.outer(v, v)) for b, v in zip(bend, x, strict=True)])
            base = float(ridge) * np.eye(loss.outputs * width)
            if trial:
                base = base + each[2 * k :].sum(axis=0)
            there = base
            if trial and unit.relation is dp.REPLACE_ONE:
                there = base + each[k : 2 * k].sum(axis=0)
            found = np.linalg.slogdet(base + each[:k].sum(axis=0))[1] - np.linalg.slogdet(there)[1]
            assert found <= bound + 1e-9
            best = max(best, found / bound)
    assert best > 0.999


def _peak(loss: Any) -> float:
    return 0.0 if loss.margin < loss.width else float(loss.margin)


def rational_gradient(objective: Objective, weights: list[int]) -> Any:
    """The obvious way, margins in rational numbers."""
    outputs, width = objective.shape
    table = [[Fraction(w) * WEIGHT_STEP for w in weights[o * width : (o + 1) * width]]
             for o in range(outputs)]  # fmt: skip
    total = [objective.regulariser * Fraction(w) * WEIGHT_STEP for w in weights]
    total = [a + b * objective.tilt_step for a, b in zip(total, objective.tilt, strict=True)]
    for row, goal in zip(objective.features, objective.target, strict=True):
        x = [Fraction(int(z), ONE) for z in row]
        m = [sum(a * b for a, b in zip(w, x, strict=True)) for w in table]
        if objective.loss.relative:
            m = [a - max(m) for a in m]
        slope = objective.loss.gradient(np.array([[float(a) for a in m]]), np.array([goal]))[0]
        for o in range(outputs):
            for j in range(width):
                total[o * width + j] += Fraction(float(slope[o])) * x[j]
    return np.array([float(value) for value in total])


@pytest.mark.parametrize("loss", LOSSES, ids=IDS)
@pytest.mark.parametrize("size", [1.0, 1e9])
def test_gradients_do_not_lose_digits(loss: Loss, size: float) -> None:
    """Even with weights of 1e9 that cancel, where plain float64 is off by 1e-7 a row."""
    draw = np.random.default_rng(3)
    x = draw.integers(-ONE // 2, ONE // 2, (40, 3))
    x[:, 1] = x[:, 0]
    w = draw.normal(size=(loss.outputs, 3))
    w[:, 1] -= w[:, 0] + 0.0
    w[:, 0] += size
    w[:, 1] -= size
    weights = [round(v / float(WEIGHT_STEP)) for v in w.ravel()]
    if loss.relative:  # a common offset changes no difference
        weights = [
            v + round(size / float(WEIGHT_STEP)) * (i % 3 == 2) for i, v in enumerate(weights)
        ]
    objective = Objective(
        x.astype(float),
        targets(loss, draw, 40),
        loss,
        Fraction(1, 2**30),
        [3] * len(weights),
        Fraction(1, 8),
    )
    off = np.abs(objective.gradient(weights) - rational_gradient(objective, weights)).max()
    assert off <= 40 * 32 * 2.0**-53 * max(1.0, float(loss.trace), float(loss.slope)) * 2
