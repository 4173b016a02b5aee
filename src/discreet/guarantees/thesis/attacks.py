"""Attacks on the thesis by Ferrari: what fails in it besides the slips in its formulas."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.stats import norm

from discreet.audit.exact import cells, exact, statement
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.guarantees.draws import Floats, corner
from discreet.guarantees.thesis.broken import (
    local_mean,
    matrix_mean,
    regression_values,
    sampled_sensitivity,
)
from discreet.measures import ApproxDP
from discreet.mechanisms import accuracy


@attack("thesis-gaussian-impossible")
def gaussian_impossible() -> Iterator[AuditResult]:
    for epsilon, delta in ((0.5, 1e-5), (0.1, 1e-5)):
        found = accuracy.published_gaussian_delta(epsilon, delta)
        yield statement(
            f"Gaussian noise with σ = √(2 log(1.25/δ))/ε at ({epsilon:g}, {delta:g})",
            "the Gaussian mechanism can't be (ε, δ)-DP",
            found > delta,
            f"its exact δ is {found:.3g}, below {delta:g}",
            "the analytic formula",
        )


@attack("thesis-largest-error")
def largest_error() -> Iterator[AuditResult]:
    bins, beta, sensitivity, epsilon = 10, 0.05, 2.0, 0.1
    scale = sensitivity / epsilon
    printed = math.log(bins / beta * scale)
    chance = 1 - (1 - math.exp(-printed / scale)) ** bins
    yield statement(
        "ten bins, β = 0.05, L = 2, ε = 0.1",
        "P(‖Y‖∞ >= ln((n/β)·(L/ε))) <= β",
        chance <= beta,
        f"the threshold is {printed:.3g}, and it is passed with probability {chance:.4f}",
        "the exact tail",
    )


def _matrix(rows: int, columns: int, value: float) -> Floats:
    matrix = np.full((rows, columns), 0.5)
    matrix[0] = value
    return matrix


@attack("thesis-matrix-mean")
def mean_of_matrix() -> Iterator[Part]:
    pair = _matrix(10, 10, 0.0), _matrix(10, 10, 1.0)
    mechanism = partial(matrix_mean, epsilon=1.0)
    title = "10 × 10, a row from 0 to 1, ε = 1"
    yield Case(title, mechanism, pair, 1.0, 40_000, {"rounding": 1e-6})
    for size in (10, 100):
        first, second = corner([1 / size], 1 / size**2)
        yield exact([first], [second], 1.0, title=f"{size} × {size}, its distribution, ε = 1")


@attack("thesis-matrix-mean-gaussian")
def gaussian_mean_of_matrix() -> Iterator[AuditResult]:
    sigma = accuracy.published_gaussian_sigma(1.0, 1e-4)
    for columns in (10, 50):
        edges = np.linspace(-8 * sigma, columns / 2, 20_001)
        # the lower half of the outputs: there float64 keeps all digits of small probabilities
        p, q = (cells(norm(at, sigma).cdf, edges)[:-1] for at in (0.0, float(columns)))
        title = f"{columns} columns, noise for one cell at (1, 0.0001)"
        yield exact(p, q, ApproxDP(1, "1/10000"), title=title)


@attack("thesis-local-sensitivity")
def local_sensitivity() -> Iterator[Part]:
    def mechanism(column: Floats, trials: int) -> Floats:
        other = column.copy()
        other[-1] = 0.0
        return local_mean(column, other, trials, epsilon=0.1)

    pair = np.zeros(4), np.array([0.0, 0.0, 0.0, 1.0])
    yield Case("L from the data at hand, ε = 0.1", mechanism, pair, 0.1, 20_000)


@attack("thesis-sampled-regression")
def sampled_regression() -> Iterator[AuditResult]:
    degree, epsilon = 25, 1.0
    nodes = np.linspace(0, 1, degree + 1)
    generator = np.random.default_rng(439)  # data and oracle are synthetic: nothing private here
    found = sampled_sensitivity(nodes, generator)
    x = generator.random(100)
    points = np.column_stack([x, x * np.sin(10 * x) + generator.normal(scale=0.2, size=100)])
    order = np.argsort(x)
    row = order[1 + int(np.argmax(np.diff(x[order])))]  # the row after the widest gap
    for y in (5.0, 50.0):
        other = points.copy()
        other[row, 1] = y
        moved = regression_values(points, nodes) - regression_values(other, nodes)
        p, q = corner(moved, found * (degree + 1) / epsilon)
        title = f"L = {found:.3f} was sampled, y isn't bounded: one y is {y:g}, ε = 1"
        yield exact([p], [q], epsilon, title=title)
