"""Damped Newton that ends at a gradient below its tolerance, on every input."""

from __future__ import annotations

import numpy as np

from discreet.models.erm.losses import Floats
from discreet.models.erm.objective import WEIGHT_STEP, Objective, Weights

#: Plain float64 steps before the exact ones; they only find a start.
_QUICK_STEPS = 100
#: Newton steps are halved at most so often before a gradient step is taken.
_HALVINGS = 40
_UNITS = float(1 / WEIGHT_STEP)


def minimise(objective: Objective, tolerance: float) -> Weights:
    """Weights, in units of `WEIGHT_STEP`, at which the computed gradient is at most `tolerance` long.

    The merit is the length of the gradient: a Newton step shortens it by a fixed share, or by a fixed
    amount that public constants give, so the loop ends (``docs/proofs/erm.md``, "The solver"). It has no
    other way out: no input gets an answer that misses the tolerance.
    """
    with np.errstate(all="ignore"):  # a warning would depend on rows
        return _minimise(objective, tolerance)


def _minimise(objective: Objective, tolerance: float) -> Weights:
    outputs, width = objective.shape
    weights = _exact(_start(objective, tolerance, np.zeros(outputs * width)))
    gradient = objective.gradient(weights)
    length = float(np.linalg.norm(gradient))
    while not length <= tolerance:
        step = _direction(objective.hessian(_rough(weights)), gradient)
        share = 1.0
        for _ in range(_HALVINGS):
            moved = _add(weights, share * step)
            found = objective.gradient(moved)
            if np.linalg.norm(found) <= (1 - share / 4) * length:
                break
            share /= 2
        else:
            moved = _add(weights, -gradient / objective.steepest())
            found = objective.gradient(moved)
        weights, gradient, length = moved, found, float(np.linalg.norm(found))
    return weights


def _start(objective: Objective, tolerance: float, weights: Floats) -> Floats:
    """Near the minimum, in plain float64."""
    gradient = objective.quick(weights)
    length = float(np.linalg.norm(gradient))
    for _ in range(_QUICK_STEPS):
        if length <= tolerance:
            break
        step = _direction(objective.hessian(weights), gradient)
        share = 1.0
        while share > 1e-9:
            moved = weights + share * step
            found = objective.quick(moved)
            if np.linalg.norm(found) <= (1 - share / 4) * length:
                break
            share /= 2
        else:
            break
        weights, gradient, length = moved, found, float(np.linalg.norm(found))
    return weights


def _direction(hessian: Floats, gradient: Floats) -> Floats:
    """Newton's; down the gradient where float64 can't tell it."""
    try:
        step = np.linalg.solve(hessian, gradient)
    except np.linalg.LinAlgError:
        step = np.full(len(gradient), np.nan)
    if not np.isfinite(step).all():
        step = gradient / float(np.trace(hessian))
    return -np.asarray(step)


def _exact(weights: Floats) -> Weights:
    return [round(w * _UNITS) for w in weights.tolist()]


def _rough(weights: Weights) -> Floats:
    return np.array([w / _UNITS for w in weights])


def _add(weights: Weights, step: Floats) -> Weights:
    return [w + round(s * _UNITS) for w, s in zip(weights, step.tolist(), strict=True)]
