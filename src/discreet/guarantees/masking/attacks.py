"""Attacks on masked data and input perturbation (Pham, Ghosh & Yegneswaran)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from discreet.audit.exact import exact, statement
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.guarantees.draws import Floats, norm_exponential, norm_gamma
from discreet.guarantees.masking.broken import (
    input_perturbation,
    logistic,
    masked_data,
    noisy_weights,
    softmax_weights,
)
from discreet.guarantees.told import ScoreOnly

#: Six records in the unit disc with labels.
_ROWS = np.array([[0.6, 0.3], [0.5, -0.4], [0.2, 0.7], [-0.5, 0.1], [-0.3, -0.6], [-0.7, 0.4]])
_LABELS = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])


def _changed(record: tuple[float, float], label: float = 1.0) -> tuple[Floats, Floats]:
    rows, labels = _ROWS.copy(), _LABELS.copy()
    rows[0], labels[0] = record, label
    return rows, labels


def _of(mechanism: Callable[..., Floats], **settings: Any) -> Callable[..., Floats]:
    """A mechanism on pairs of records and labels."""

    def run(data: tuple[Floats, Floats], trials: int) -> Floats:
        return mechanism(*data, trials, **settings)

    return run


def _gamma_score(first: Floats, second: Floats, scale: float) -> Callable[[Floats], Floats]:
    """The log-ratio of densities ∝ exp(-‖o - centre‖/scale)."""

    def score(outputs: Floats) -> Floats:
        away = [np.linalg.norm(outputs - centre, axis=1) for centre in (second, first)]
        return np.asarray((away[0] - away[1]) / scale)

    return score


def _ring_score(first: Floats, second: Floats, scale: float) -> Callable[[Floats], Floats]:
    """The log-ratio of densities ∝ ‖o - centre‖^-(d-1)·exp(-‖o - centre‖/scale)."""

    def score(outputs: Floats) -> Floats:
        power = outputs.shape[1] - 1
        a, b = (np.linalg.norm(outputs - centre, axis=1) for centre in (first, second))
        return np.asarray(power * (np.log(b) - np.log(a)) + (b - a) / scale)

    return score


@attack("masking-weights")
def weights() -> Iterator[Part]:
    strength = 0.5
    pair = _changed((1.0, 0.0)), _changed((-1.0, 0.0))
    centres = [logistic(*data, strength) for data in pair]
    moved = float(np.linalg.norm(centres[0] - centres[1]))
    bound = 2 / (strength * len(_ROWS))
    yield statement(
        "a record moves from one side of the unit disc to the other",
        "the weights move by at most 2/(λN)",
        moved <= bound,
        f"they move by {moved:.4f}, and 2/(λN) = {bound:.4f}",
        "two fits compared",
    )
    mechanism = _of(noisy_weights, epsilon=1.0, strength=strength)
    told = ScoreOnly(mechanism, _gamma_score(centres[0], centres[1], bound))
    options, words = (
        {"rounding": 1e-6},
        "this record moves the weights by half of what noise is for",
    )
    yield Case("noisy weights, ε = 1", told, pair, 1.0, 40_000, options, reason=words)
    for dimension in (2, 10):
        first, second = np.zeros(dimension), np.eye(dimension)[0] * bound
        told = ScoreOnly(partial(_gamma_noise, scale=bound), _gamma_score(first, second, bound))
        title = f"weights that move by all of 2/(λN), d = {dimension}, ε = 1"
        words = "" if dimension < 10 else "in ten dimensions noise is rarely along the move"
        yield Case(title, told, (first, second), 1.0, 40_000, options, reason=words)


def _gamma_noise(centre: Floats, trials: int, *, scale: float) -> Floats:
    return np.asarray(centre + norm_gamma(len(centre), scale, trials))


@attack("masking-exponential-norm")
def exponential_norm() -> Iterator[Part]:
    strength = 0.5
    fill, edge, labels = np.zeros((5, 2)), np.eye(2)[:1], np.ones(6)
    pair = (np.vstack([edge, fill]), labels), (np.vstack([-edge, fill]), labels)
    centres = [logistic(*data, strength) for data in pair]
    scale = 2 / (strength * 6)
    mechanism = _of(noisy_weights, epsilon=1.0, strength=strength, exponential=True)
    told = ScoreOnly(mechanism, _ring_score(centres[0], centres[1], scale))
    yield Case("weights of six records, d = 2, ε = 1", told, pair, 1.0, 100_000, {"rounding": 1e-6})
    for dimension in (2, 10):
        first, second = np.zeros(dimension), np.eye(dimension)[0] * scale
        told = ScoreOnly(partial(_ring_noise, scale=scale), _ring_score(first, second, scale))
        title = f"weights that move by all of 2/(λN), d = {dimension}, ε = 1"
        yield Case(title, told, (first, second), 1.0, 400_000, {"rounding": 1e-6})
        near, far = _small_ball(dimension, 1e-6)
        yield exact(
            [near], [far], 1.0, title=f"a ball about the first weights, d = {dimension}, ε = 1"
        )


def _small_ball(dimension: int, radius: float) -> tuple[float, float]:
    """The chance of a ball about the centre, and at most that of the same ball at distance 1; scale 1.

    The density is e^-ρ/(S·ρ^(d-1)) with S the sphere's surface, and the ball's volume S·r^d/d.
    """
    away = 1 - radius
    return -math.expm1(-radius), radius**dimension / dimension * math.exp(-away) / away ** (
        dimension - 1
    )


def _ring_noise(centre: Floats, trials: int, *, scale: float) -> Floats:
    return np.asarray(centre + norm_exponential(len(centre), scale, trials))


@attack("masking-multi-class")
def multi_class() -> Iterator[AuditResult]:
    total, strength, tilt = 1e9, 1e-8, 0.4
    side = float(np.sqrt(1 - tilt**2))
    found = []
    for sign in (1.0, -1.0):
        rows = np.array([[0.0, 1.0], [sign * side, tilt]])
        labels = np.array([0, 1])
        found.append(softmax_weights(rows, labels, np.array([total - 1, 1.0]), strength, 3))
    moved = float(np.linalg.norm(found[0] - found[1]) * strength * total)
    yield statement(
        "three classes, N = 10⁹, λ = 10⁻⁸: one record is mirrored",
        "the weights of a multi-class model move by at most 2/(λN)",
        moved <= 2,
        f"they move by {moved:.4f}/(λN), so noise for ε = 1 gives {moved / 2:.4f}",
        "two fits compared",
    )


@attack("masking-true-labels")
def true_labels() -> Iterator[Part]:
    pair = _changed((0.6, 0.3), 1.0), _changed((0.6, 0.3), -1.0)
    mechanism = _of(masked_data, epsilon=1.0)
    told = ScoreOnly(mechanism, lambda found: found[:, 0, -1])
    yield Case("one record's label is another, ε = 1", told, pair, 1.0, 4_000)


@attack("masking-real-start")
def real_start() -> Iterator[Part]:
    pair = _changed((0.6, 0.3)), _changed((0.6, 0.300001))
    mechanism = _of(masked_data, epsilon=1.0, start=2)
    told = ScoreOnly(mechanism, lambda found: found[:, 0, 1])
    yield Case("a starting record moves by 0.000001, ε = 1", told, pair, 1.0, 4_000)


@attack("masking-without-labels")
def without_labels() -> Iterator[Part]:
    pair = _changed((1.0, 0.0)), _changed((-1.0, 0.0))
    mechanism = _of(masked_data, epsilon=1.0)
    told = ScoreOnly(mechanism, lambda found: found[:, :, :-1])
    title, options = "masked records, one record changed, ε = 1", {"rounding": 1e-6}
    words = "made from the noisy weights of masking-weights: the records say less"
    yield Case(title, told, pair, 1.0, 8_000, options, reason=words)


@attack("masking-input-perturbation")
def input_labels() -> Iterator[Part]:
    pair = _changed((0.6, 0.3), 1.0), _changed((0.6, 0.3), -1.0)
    told = ScoreOnly(_of(input_perturbation, epsilon=1.0), lambda found: found[:, 0, -1])
    yield Case("one record's label is another, ε = 1", told, pair, 1.0, 4_000)


@attack("masking-input-records")
def input_records() -> Iterator[Part]:
    pair = _changed((1.0, 0.0)), _changed((-1.0, 0.0))
    yield _input_case("a record from one side of the disc to the other, ε = 1", pair)


@attack("masking-toy-data")
def toy_data() -> Iterator[Part]:
    pair = _changed((0.5, 2.0)), _changed((1.5, -1.5))  # one deviation from two of its centres
    yield _input_case("a record of the toy data is another of them, ε = 1", pair)


def _input_case(title: str, pair: Any) -> Case:
    score = _gamma_score(pair[0][0][0], pair[1][0][0], 2.0)
    told = ScoreOnly(_of(input_perturbation, epsilon=1.0), lambda found: score(found[:, 0, :-1]))
    return Case(title, told, pair, 1.0, 40_000, {"rounding": 1e-6})
