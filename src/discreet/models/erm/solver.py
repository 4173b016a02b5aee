"""Damped Newton that ends at a gradient below its tolerance, on every input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from discreet.models.erm.losses import Floats
from discreet.models.erm.objective import MAX_ROWS, WEIGHT_STEP, Objective, Weights

#: Plain float64 steps before the exact ones; they only find a start.
_QUICK_STEPS = 100
#: Newton steps are halved at most this often before a gradient step is taken.
_HALVINGS = 40
#: A start is found on a part of the rows if there are more than this, or than ten for each weight.
_FEW_ROWS, _ROWS_PER_WEIGHT, _THIN = 2**14, 10, 16
#: An old Hessian is good enough while it shortens the gradient to this share.
_GOOD = 0.25
_UNITS = float(1 / WEIGHT_STEP)


def minimise(objective: Objective, tolerance: float) -> Weights:
    """Weights, in units of `WEIGHT_STEP`, at which the computed gradient has norm at most `tolerance`.

    The merit is the norm of the gradient: a Newton step shortens it by a fixed share, or by a fixed
    amount that public constants give, so the loop ends within `maximum_steps` (``docs/proofs/erm.md``, "The
    solver"). It has no other way out: no input gets an answer that misses the tolerance.
    """
    with np.errstate(all="ignore"):  # a warning would depend on rows
        return _minimise(objective, tolerance)


def _minimise(objective: Objective, tolerance: float) -> Weights:
    start, curve = _start(objective, tolerance)
    weights = _exact(start)
    gradient = objective.gradient(weights)
    length = float(np.linalg.norm(gradient))
    for _ in range(maximum_steps(objective, tolerance)):
        if length <= tolerance:
            return weights
        moved = _add(weights, curve.step(gradient))
        found = objective.gradient(moved)
        if not np.linalg.norm(found) <= _GOOD * length:
            curve = Curve(objective.hessian(_rough(weights)))
            moved, found = _damp(objective, weights, gradient, curve.step(gradient))
        curve.learn(_rough(moved) - _rough(weights), found - gradient)
        weights, gradient, length = moved, found, float(np.linalg.norm(found))
    raise AssertionError("the solver's proof is wrong.")


def maximum_steps(objective: Objective, tolerance: float) -> int:
    """A bound on the number of steps, from public constants and b: no rows are looked at.

    A step shortens the gradient by a quarter, or by Λ²/(8·M) with M = n·bend·R³ (``docs/proofs/erm.md``).
    """
    width = objective.shape[1]
    loss, regulariser = objective.loss, float(objective.regulariser)
    norm = math.sqrt(width)
    tilt = math.hypot(*objective.tilt) * float(objective.tilt_step)
    longest = 16 * (MAX_ROWS * norm * math.sqrt(loss.slope_squared) + tilt)
    bend = MAX_ROWS * float(loss.bend) * norm**3
    short = math.log(max(2.0, longest / tolerance)) / math.log(4 / 3)
    return math.ceil(short + longest * 8 * bend / regulariser**2) + 2


def _damp(
    objective: Objective, weights: Weights, gradient: Floats, step: Floats
) -> tuple[Weights, Floats]:
    """The first half, quarter, ... of a Newton step that shortens the gradient by enough."""
    length, share = float(np.linalg.norm(gradient)), 1.0
    for _ in range(_HALVINGS):
        moved = _add(weights, share * step)
        found = objective.gradient(moved)
        if np.linalg.norm(found) <= (1 - share / 4) * length:
            return moved, found
        share /= 2
    moved = _add(weights, -gradient / objective.steepest())
    return moved, objective.gradient(moved)


class Curve:
    """A Hessian, corrected by what later gradients show (L-BFGS; Nocedal & Wright 2006, algorithm 7.4).

    It only proposes steps: each is tried, and one that is not good enough is thrown away.
    """

    def __init__(self, hessian: Floats) -> None:
        self._trace = float(np.trace(hessian))
        try:
            self._factor: Any = cho_factor(hessian, check_finite=False)
        except np.linalg.LinAlgError:
            self._factor = None
        self._pairs: list[tuple[Floats, Floats, float]] = []
        #: What the Hessian is multiplied by.
        self.scale = 1.0

    def learn(self, moved: Floats, change: Floats) -> None:
        """Take in that the gradient changed by `change` where the weights `moved`."""
        bend = float(moved @ change)
        if bend > 0 and np.isfinite(bend):
            self._pairs.append((moved, change, bend))

    def step(self, gradient: Floats) -> Floats:
        """Newton's step; down the gradient where float64 can't find it."""
        left, shares = gradient.copy(), []
        for moved, change, bend in reversed(self._pairs):
            shares.append(float(moved @ left) / bend)
            left -= shares[-1] * change
        step = self._solve(left)
        for (moved, change, bend), share in zip(self._pairs, reversed(shares), strict=True):
            step += (share - float(change @ step) / bend) * moved
        if not np.isfinite(step).all():
            step = gradient / (self.scale * self._trace)
        return -step

    def _solve(self, vector: Floats) -> Floats:
        vector = vector / self.scale
        if self._factor is None:
            return vector / self._trace
        return np.asarray(cho_solve(self._factor, vector, check_finite=False))


def _start(objective: Objective, tolerance: float) -> tuple[Floats, Curve]:
    """Near the minimum, in plain float64: from the minima of thinned rows, fewest first."""
    outputs, width = objective.shape
    weights = np.zeros(outputs * width)
    most = max(_FEW_ROWS, _ROWS_PER_WEIGHT * len(weights))
    every = 1
    while len(objective.features) > every * most:
        every *= _THIN
    if every == 1:
        return _descend(objective, tolerance, weights)
    while every > 1:
        thin = objective.thin(every)
        # rows that were left out move the minimum farther
        weights, curve = _descend(thin, 1e-2 * math.sqrt(len(thin.features)), weights)
        curve.scale *= every
        every //= _THIN
    return weights, curve


def _descend(objective: Objective, enough: float, weights: Floats) -> tuple[Floats, Curve]:
    """Descend until the gradient is `enough`, or float64 ends; also the Hessian there or a step before."""
    gradient = objective.quick(weights)
    length = float(np.linalg.norm(gradient))
    curve = Curve(objective.hessian(weights))
    for _ in range(_QUICK_STEPS):
        if length <= enough:
            break
        step, share = curve.step(gradient), 1.0
        while share > 1e-9:
            moved = weights + share * step
            found = objective.quick(moved)
            if np.linalg.norm(found) <= (1 - share / 4) * length:
                break
            share /= 2
        else:
            break
        shorter = float(np.linalg.norm(found))
        if shorter > enough:
            curve = Curve(objective.hessian(moved))
        weights, gradient, length = moved, found, shorter
    return weights, curve


def _exact(weights: Floats) -> Weights:
    return [round(w * _UNITS) for w in weights.tolist()]


def _rough(weights: Weights) -> Floats:
    return np.array([w / _UNITS for w in weights])


def _add(weights: Weights, step: Floats) -> Weights:
    return [w + round(s * _UNITS) for w, s in zip(weights, step.tolist(), strict=True)]
