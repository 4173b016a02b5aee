"""Masked rows one by one, as Pham, Ghosh & Yegneswaran published it (algorithm 1, step 3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.publish.mask import draw_labels, find_shift, tilt
from discreet.publish.stationary import Floats, Goal, Integers

#: Descent steps for a row, and halvings of one.
_DESCENTS, _HALVINGS = 40, 30
#: A step is taken if it achieves this share of what the slope promises.
_ARMIJO = 1e-4


def greedy(
    goal: Goal, shares: Any, count: int, generator: np.random.Generator
) -> tuple[Floats, Integers]:
    """Find rows one after the other, each by backtracking descent on ‖its residual ⊗ (z, 1) + g‖².

    Here g is what the rows before it left (equations 4 and 5, their signs corrected, for two and more
    classes). Descent starts at a random point between the bounds; the source doesn't say where.
    """
    width = goal.weights.shape[1]
    if isinstance(shares, np.ndarray) and shares.dtype.kind == "i":
        labels = shares
    else:
        even = generator.uniform(-1.0, 1.0, (count, width))
        if shares is not None:
            even += find_shift(goal, even, shares)
        labels = draw_labels(tilt(goal, even), generator)[generator.permutation(count)]
    gap = -np.concatenate([-goal.wanted.sum(axis=0, keepdims=True), goal.wanted])
    rows = generator.uniform(-1.0, 1.0, (count, width))
    with np.errstate(all="ignore"):
        for place, label in enumerate(labels.tolist()):
            rows[place], gap = _row(goal, rows[place], label, gap)
    return rows, labels


def _row(goal: Goal, row: Floats, label: int, gap: Floats) -> tuple[Floats, Floats]:
    """The next row, found from `row`, and the gap that it leaves."""
    left, residual, shares = _left(goal, row, label, gap)
    value, rate = float((left**2).sum()), 1.0
    for _ in range(_DESCENTS):
        # ∂/∂z Σ_c ‖r_c·(z, 1) + g_c‖² = 2·Σ_c (r_c·left_c + (left_c·(z, 1))·∂r_c/∂z)
        inner = left @ np.append(row, 1.0)
        slopes = -shares[:, None] * (goal.weights - shares @ goal.weights)
        slope = 2.0 * (residual @ left[:, :-1] + inner @ slopes)
        steep = float(slope @ slope)
        if not steep > 1e-24 * max(value, 1e-300):
            break
        for _ in range(_HALVINGS):
            tried = row - rate * slope
            found = _left(goal, tried, label, gap)
            size = float((found[0] ** 2).sum())
            if size <= value - _ARMIJO * rate * steep:
                break
            rate /= 2
        else:
            break
        row, (left, residual, shares), value = tried, found, size
        rate *= 2
    return row, left


def _left(goal: Goal, row: Floats, label: int, gap: Floats) -> tuple[Floats, Floats, Floats]:
    shares = goal.shares(row[None])[0]
    residual = -shares
    residual[label] += 1.0
    return gap + residual[:, None] * np.append(row, 1.0), residual, shares
