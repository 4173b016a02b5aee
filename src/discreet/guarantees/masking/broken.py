"""Masked data and input perturbation of Pham, Ghosh & Yegneswaran, as published.

A logistic regression is fitted and noised; then records are made up, one by one, so that the noisy
weights become stationary for them. These records are published *with the true labels*.

Source: A. T. Pham, S. Ghosh, V. Yegneswaran, *Data masking with privacy guarantees*: algorithms 1 and 2.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.guarantees.draws import Floats, norm_exponential, norm_gamma

__all__ = [
    "input_perturbation",
    "logistic",
    "masked_data",
    "noisy_weights",
    "softmax_weights",
]


def logistic(rows: Floats, labels: Floats, strength: float, steps: int = 60) -> Floats:
    """argmin (1/N)·Σ log(1 + e^(-y·w·x)) + (strength/2)‖w‖², by Newton's method."""
    count, dimension = rows.shape
    weights = np.zeros(dimension)
    signed = rows * labels[:, None]
    for _ in range(steps):
        missed = 1 / (1 + np.exp(signed @ weights))
        gradient = -(missed @ signed) / count + strength * weights
        curve = (signed.T * (missed * (1 - missed))) @ signed / count
        weights = weights - np.linalg.solve(curve + strength * np.eye(dimension), gradient)
    return weights


def noisy_weights(
    rows: Floats,
    labels: Floats,
    trials: int,
    *,
    epsilon: float,
    strength: float,
    exponential: bool = False,
) -> Floats:
    """Steps 1 and 2: weights plus noise with density ∝ exp(-strength·N·ε·‖η‖/2).

    With `exponential` the *norm* is exponentially distributed, as the formula is written.
    """
    scale = 2 / (strength * len(rows) * epsilon)
    draw = norm_exponential if exponential else norm_gamma
    return logistic(rows, labels, strength) + draw(rows.shape[1], scale, trials)


def masked_data(
    rows: Floats,
    labels: Floats,
    trials: int,
    *,
    epsilon: float,
    strength: float = 0.5,
    start: int = 0,
    steps: int = 20,
) -> Floats:
    """Algorithm 1: masked records with the true labels, as (trials, N, d + 1).

    The first `start` records are the real ones, as in its experiments with a non-empty start; each further
    record is found by gradient descent on the norm of the gradient (4).
    """
    count, dimension = rows.shape
    weights = noisy_weights(rows, labels, trials, epsilon=epsilon, strength=strength)
    one = (labels == 1).astype(np.float64)
    masked = np.zeros((trials, count, dimension))
    masked[:, :start] = rows[:start]
    residual = -count * strength * weights
    for i in range(count):
        if i >= start:
            masked[:, i] = _record(weights, residual, one[i], steps)
        residual = residual + _pull(masked[:, i], weights, one[i])
    told = np.broadcast_to(labels[:, None], (trials, count, 1))
    return np.concatenate([masked, told], axis=2)


def _pull(record: Floats, weights: Floats, one: float) -> Floats:
    """The part of the likelihood's gradient that a record gives: (1[y = 1] - σ(w·x))·x."""
    return np.asarray((one - 1 / (1 + np.exp(-(record * weights).sum(1))))[:, None] * record)


def _record(weights: Floats, residual: Floats, one: float, steps: int) -> Floats:
    """A record whose pull makes the residual small, by descent with steps that only ever shorten."""
    record = np.zeros_like(weights)
    rate = np.ones((len(weights), 1))
    for _ in range(steps):
        likely = 1 / (1 + np.exp(-(record * weights).sum(1, keepdims=True)))
        left = (one - likely) * record + residual
        inner = (record * left).sum(1, keepdims=True)
        gradient = (one - likely) * left - likely * (1 - likely) * inner * weights
        tried = record - rate * gradient
        better = ((_pull(tried, weights, one) + residual) ** 2).sum(1) < (left**2).sum(1)
        record = np.where(better[:, None], tried, record)
        rate = np.where(better[:, None], rate, rate / 2)
    return record


def input_perturbation(rows: Floats, labels: Floats, trials: int, *, epsilon: float) -> Floats:
    """Algorithm 2: every record plus noise with density ∝ exp(-ε‖η‖/2), beside its true label."""
    count, dimension = rows.shape
    noise = norm_gamma(dimension, 2 / epsilon, trials * count).reshape(trials, count, dimension)
    told = np.broadcast_to(labels[:, None], (trials, count, 1))
    return np.concatenate([rows + noise, told], axis=2)


def softmax_weights(
    rows: Floats,
    labels: npt.NDArray[np.int64],
    counts: Floats,
    strength: float,
    classes: int,
    steps: int = 200,
) -> Floats:
    """argmin (1/N)·Σ softmax loss + (strength/2)‖W‖² for records that come `counts` times, N their sum."""
    dimension = rows.shape[1]
    total = counts.sum()
    weights = np.zeros((classes, dimension))
    wanted = (labels[:, None] == np.arange(classes)).astype(np.float64)
    share = counts / total

    def value(at: Floats) -> float:
        scores = rows @ at.T
        losses = np.logaddexp.reduce(scores, axis=1) - (scores * wanted).sum(1)
        return float(share @ losses + strength / 2 * (at**2).sum())

    for _ in range(steps):  # Newton's method with halved steps
        scores = rows @ weights.T
        likely = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
        gradient = ((likely - wanted).T * share) @ rows + strength * weights
        curve = strength * np.eye(classes * dimension)
        for row, chance, part in zip(rows, likely, share, strict=True):
            spread = np.diag(chance) - np.outer(chance, chance)
            curve += part * np.kron(spread, np.outer(row, row))
        step = np.linalg.solve(curve, gradient.ravel()).reshape(weights.shape)
        size = 1.0
        while value(weights - size * step) > value(weights) and size > 1e-9:
            size /= 2
        weights = weights - size * step
    return weights
