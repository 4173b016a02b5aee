"""Attacks on the formulas of the survey by Fan & Tian that hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import norm

from discreet.audit.exact import cells, exact, statement
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.guarantees.draws import Floats, corner, laplace_distribution
from discreet.measures import ApproxDP
from discreet.mechanisms import LaplaceDistribution, accuracy


def response(epsilon: float) -> tuple[Floats, Floats]:
    """The distributions of randomised response on both values."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    return np.array([truth, 1 - truth]), np.array([1 - truth, truth])


def counters(scale: Fraction) -> Callable[..., Any]:
    """Integers with discrete Laplace noise, the toolkit's own."""
    distribution = LaplaceDistribution(scale)

    def released(data: Any, trials: int) -> Any:
        return distribution.run(np.repeat(np.asarray(data)[None], trials, axis=0))

    return released


@attack("survey-composition")
def composition() -> Iterator[AuditResult]:
    for first, second in ((0.5, 1.0), (0.1, 0.1)):
        (p1, q1), (p2, q2) = response(first), response(second)
        title = f"two answers, ε = {first:g} and {second:g}"
        yield exact(np.outer(p1, p2), np.outer(q1, q2), first + second, title=title)


@attack("survey-post-processing")
def post_processing() -> Iterator[AuditResult]:
    p, q = (cells(laplace_distribution(at, 1.0), np.arange(-30, 31)) for at in (0.0, 1.0))
    for words, group in (
        ("its parity", np.arange(len(p)) % 2),
        ("its size", np.abs(np.arange(len(p)) - 30)),
        ("whether it is large", np.arange(len(p)) > 32),
    ):
        parts = np.unique(group)
        first, second = ([side[group == part].sum() for part in parts] for side in (p, q))
        yield exact(first, second, 1.0, title=f"of a noisy integer {words}, ε = 1", error=1e-15)


@attack("survey-laplace")
def laplace_mechanism() -> Iterator[AuditResult]:
    for epsilon in (0.1, 1.0, 4.0):
        edges = np.linspace(-20 / epsilon, 20 / epsilon, 4001)
        p, q = (cells(laplace_distribution(at, 1 / epsilon), edges) for at in (0.0, 1.0))
        yield exact(
            p, q, epsilon, title=f"one number that moves by Δ, ε = {epsilon:g}", error=1e-15
        )
        first, second = corner([0.2, 0.3, 0.5], 1 / epsilon)
        title = f"three numbers that move by Δ in all, ε = {epsilon:g}, at a corner"
        yield exact([first], [second], epsilon, title=title)


@attack("survey-gaussian")
def gaussian() -> Iterator[AuditResult]:
    for epsilon, delta in ((0.1, 1e-5), (0.5, 0.01), (0.99, 1e-9), (0.99, 0.9)):
        sigma = accuracy.published_gaussian_sigma(epsilon, delta)
        edges = np.linspace(-8 * sigma, 8 * sigma + 1, 20_001)
        p, q = (cells(norm(at, sigma).cdf, edges) for at in (0.0, 1.0))
        title = f"σ = Δ√(2 log(1.25/δ))/ε at ({epsilon:g}, {delta:g})"
        yield exact(p, q, ApproxDP(epsilon, delta), title=title, error=1e-15)


def _smoothed_slope(margin: Floats, width: float) -> Floats:
    """The slope of the hinge loss, its corner replaced by a parabola over ±width."""
    return -np.clip((1 + width - margin) / (2 * width), 0.0, 1.0)


@attack("survey-smoothed-hinge")
def smoothed_hinge() -> Iterator[AuditResult]:
    width, strength, epsilon = 0.5, 4.0, 1.0
    margins = np.linspace(-3, 3, 60_001)
    steep = float(np.abs(np.diff(_smoothed_slope(margins, width)) / np.diff(margins)).max())
    yield statement(
        "the hinge smoothed over ±h, h = 0.5",
        "its slope changes by at most 1/(2h) for a unit of margin",
        steep <= 1 / (2 * width) + 1e-9,
        f"the steepest change is {steep:.6f}",
        "grid of 60 000 steps",
    )
    left = epsilon - 2 * math.log1p(1 / (2 * width * strength))
    noise = laplace_distribution(0.0, 2 / left)
    edges = np.linspace(-6, 6, 4001)
    records = [(x, y) for x in (0.0, 0.5, 1.0) for y in (-1.0, 1.0)]
    distributions = []
    for x, y in records:
        push = -(x * y * _smoothed_slope(x * y * edges, width) + strength * edges)
        at = 1 - noise(push)  # P(w <= t) = P(b >= push(t))
        distributions.append(np.maximum(np.diff(np.concatenate([[0.0], at, [1.0]])), 0.0))
    for i, j in ((1, 0), (5, 4), (5, 0), (5, 1)):
        title = f"objective perturbation, record {records[i]} against {records[j]}, ε = 1"
        yield exact(distributions[i], distributions[j], epsilon, title=title, error=1e-15)


_GRID = 1000


@attack("survey-functional-mechanism")
def functional() -> Iterator[Part]:
    def coded(x: float, y: float) -> list[int]:  # the coefficients of (y - θx)²: -2xy and x²
        return [math.floor(-2 * x * y * _GRID), math.floor(x * x * _GRID)]

    released = counters(Fraction(6 * _GRID))  # Δ = 2·max(2|xy| + x²) = 6 for |x|, |y| <= 1
    pairs = [
        (coded(1, 1), coded(1, -1)),
        (coded(1, 1), coded(0, 0)),
        (coded(1, -1), coded(-1, -1)),
    ]
    yield Case("linear regression in one dimension, ε = 1", released, pairs, 1.0, 60_000)


@attack("survey-random-trees")
def random_trees() -> Iterator[Part]:
    yield Case("one tree, a row more, ε = 1", counters(Fraction(1)), ([5, 3, 0], [5, 4, 0]), 1.0)
    pair = [5, 3, 4, 4, 6, 2], [5, 4, 4, 5, 7, 2]
    yield Case("three trees with Lap(3/ε), a row more", counters(Fraction(3)), pair, 1.0, 60_000)


@attack("survey-principal-components")
def principal_components() -> Iterator[AuditResult]:
    angle = (np.arange(3600) + 0.5) * math.pi / 3600
    direction = np.column_stack([np.cos(angle), np.sin(angle)])
    fixed = np.array([[0.6, 0.5], [0.1, -0.9]])
    for epsilon in (0.5, 2.0):
        for first, second in (([1.0, 0.0], [0.0, 1.0]), ([1.0, 0.0], [0.0, 0.0])):
            distributions = []
            for record in (first, second):
                caught = ((np.vstack([fixed, record]) @ direction.T) ** 2).sum(axis=0)
                log_distribution = epsilon / 2 * caught  # Bmf(nεΣ/2)
                distributions.append(
                    np.exp(log_distribution - np.logaddexp.reduce(log_distribution))
                )
            title = f"a first direction in the plane, {first} against {second}, ε = {epsilon:g}"
            yield exact(distributions[0], distributions[1], epsilon, title=title)


@attack("survey-teacher-votes")
def teacher_votes() -> Iterator[Part]:
    released = counters(Fraction(2))
    pair = [6, 4, 1], [5, 5, 1]
    yield Case("noisy votes, one teacher votes otherwise, ε = 1", released, pair, 1.0, 60_000)

    def winner(data: Any, trials: int) -> Any:
        return np.argmax(released(data, trials), axis=1)

    yield Case("the winner alone", winner, pair, 1.0, 60_000)


@attack("survey-histogram-add-remove")
def histogram_add_remove() -> Iterator[Part]:
    yield Case("a histogram, a row more, ε = 1", counters(Fraction(1)), ([7, 3, 1], [7, 4, 1]), 1.0)
