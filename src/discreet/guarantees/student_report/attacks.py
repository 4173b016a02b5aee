"""Attacks on the programs of the student report, and on the part of it that holds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from discreet.audit.exact import cells, exact, statement
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.guarantees.draws import Floats, corner, laplace, laplace_distribution
from discreet.guarantees.student_report.broken import (
    category_counts,
    class_counts,
    frequencies,
    kmeans,
    mean_and_deviation,
    regression,
)
from discreet.guarantees.told import ScoreOnly
from discreet.mechanisms import LaplaceDistribution

#: Six points about the first of two public starting centroids, and one about the second.
_START = np.array([[0.2, 0.2], [0.8, 0.8]])
_POINTS = np.array([[0.1, 0.2], [0.2, 0.1], [0.3, 0.2], [0.2, 0.3], [0.1, 0.1], [0.3, 0.3]])
_ALONE = np.array([[0.9, 0.7]])


@attack("report-kmeans")
def kmeans_domain() -> Iterator[Part]:
    pair = np.vstack([_POINTS, _ALONE]), _POINTS
    one = partial(kmeans, epsilon=0.1, start=_START, rounds=1)
    yield Case("a cluster of one point or none, ε = 0.1", one, pair, 0.1, 40_000)
    other = np.vstack([_POINTS, [[0.7, 0.9]]])
    yield Case(
        "a cluster of one point, replaced: its ratio is exact, ε = 0.1",
        ScoreOnly(one, lambda found: found[:, 1, 0] / found[:, 1, 1]),
        (pair[0], other),
        0.1,
        20_000,
        {"rounding": 1e-6},
    )
    ten = partial(kmeans, epsilon=0.1, start=_START, rounds=10)
    yield Case("ten rounds, ε = 0.1", ten, pair, 0.1, 10_000)


@attack("report-kmeans-budget")
def kmeans_budget() -> Iterator[Part]:
    points = np.vstack([_POINTS, [[1.0, 1.0]]])
    mechanism = partial(kmeans, epsilon=2.0, start=_START, rounds=1, domain=1.0, transcript=True)

    def score(found: Floats) -> Floats:  # the second cluster: (1, 1, 1) against (0, 0, 0), noise 1
        return np.asarray((np.abs(found[:, 1]) - np.abs(found[:, 1] - 1)).sum(axis=1))

    pair = points, points[:-1]
    title = "noisy size and sums, public domain, ε = 2"
    yield Case(title, ScoreOnly(mechanism, score), pair, 2.0, 200_000, {"rounding": 1e-6})
    p, q = corner([1, 1, 1], 2 / 2.0)
    yield exact([p], [q], 2.0, title="the same, its distribution at one corner: 1.5 times ε")


@attack("report-categorical-bayes")
def categorical_bayes() -> Iterator[Part]:
    rows = np.random.default_rng(22).integers(0, 2, (3, 22))  # a small class
    for epsilon, trials in ((0.1, 100_000), (0.5, 100_000), (1.0, 200_000)):
        mechanism = partial(category_counts, epsilon=epsilon, values=2)
        score = partial(_frequency_score, rows, rows[:-1], epsilon=epsilon)
        yield Case(
            f"22 attributes, ε = {epsilon:g}",
            ScoreOnly(mechanism, score),
            (rows, rows[:-1]),
            epsilon,
            trials,
            {"rounding": 1e-6},
        )
        p, q = corner(np.ones(22), 1 / epsilon)
        yield exact(
            [p], [q], epsilon, title=f"22 counts, ε = {epsilon:g}, its distribution at one corner"
        )


def _frequency_score(first: Any, second: Any, found: Floats, *, epsilon: float) -> Floats:
    """The log-ratio of the densities of noisy counts over exact class sizes."""
    sides = []
    for rows in (first, second):
        counts = (rows[:, :, None] == np.arange(2)).sum(axis=0)
        density = math.log(len(rows)) - epsilon * np.abs(found * len(rows) - counts)
        sides.append(density.sum(axis=(1, 2)))
    return np.asarray(sides[0] - sides[1])


@attack("report-exact-class-size")
def exact_class_size() -> Iterator[AuditResult]:
    for reach in (5.0, 10.0, 50.0):
        edges = np.linspace(-reach, reach, 2001)
        p, q = (cells(laplace_distribution(0.0, 1 / n), edges) for n in (10, 11))
        title = f"a count of 0 over n = 10 or 11, ε = 1, outputs up to {reach:g}"
        yield exact(p[:1000], q[:1000], 1.0, title=title)


@attack("report-values-from-data")
def values_from_data() -> Iterator[Part]:
    rows = ["edible"] * 9
    mechanism = partial(frequencies, epsilon=0.1)
    yield Case("a value that one row has", mechanism, ([*rows, "poisonous"], rows), 0.1, 4_000)


@attack("report-class-counts")
def class_count_noise() -> Iterator[Part]:
    mechanism = partial(class_counts, epsilon=0.1)
    pair = np.array([10.0, 20.0]), np.array([11.0, 20.0])
    told = ScoreOnly(mechanism, lambda found: np.abs(found[:, 0] - 11) - np.abs(found[:, 0] - 10))
    yield Case("class counts, ε = 0.1", told, pair, 0.1, 40_000, {"rounding": 1e-6})
    p, q = corner([1.0], 1.0)
    yield exact([p], [q], 0.1, title="class counts, ε = 0.1, its distribution: 1 whatever ε is")


@attack("report-numeric-bayes")
def numeric_bayes() -> Iterator[Part]:
    column = np.array([5.0, 5.0, 5.0, 5.0])
    mechanism = partial(mean_and_deviation, epsilon=0.1)
    pair = column, np.append(column, 6.0)
    yield Case("a column of equal values, ε = 0.1", mechanism, pair, 0.1, 20_000)
    for n in (1, 4):
        edges = np.linspace(-400, 400, 4001)
        scales = [12 / (size + 1) / 1.0 for size in (n, n + 1)]
        p, q = (cells(laplace_distribution(0.0, scale), edges) for scale in scales)
        title = f"public bounds, the mean of {n} or {n + 1} zeros, ε = 1: the scale tells n"
        yield exact(p[:2000], q[:2000], 1.0, title=title)


@attack("report-sample-deviation")
def sample_deviation() -> Iterator[AuditResult]:
    for n in (2, 10):
        zeros, more = np.zeros(n), np.append(np.zeros(n), 1.0)
        moved = more.std(ddof=1) - zeros.std(ddof=1)
        p, q = corner([moved], math.sqrt(n) / (n + 1))
        yield exact(
            [p], [q], 1.0, title=f"the sample deviation of {n} zeros, and of these and a one"
        )


#: Why attacks on draws of several numbers stay below the claim.
CORNER = "the largest loss is that of the rare outcome beyond all of them at once"


@attack("report-bayes-budget")
def bayes_budget() -> Iterator[Part]:
    share = Fraction(1, 12)
    total = 4 * (share + share) + Fraction(1, 3)
    yield statement(
        "four attributes, two parameters each, and the class counts",
        "the shares add up to ε",
        total == 1,
        f"(ε/12 + ε/12)·4 + ε/3 = {total}·ε",
        "arithmetic",
    )
    distribution, counts = LaplaceDistribution(Fraction(12)), LaplaceDistribution(Fraction(3))

    def released(data: Any, trials: int) -> Any:
        sums = distribution.run(np.repeat(data[None, :8], trials, axis=0))
        return np.column_stack([sums, counts.run(np.repeat(data[None, 8:], trials, axis=0))])

    pair = np.zeros(9, np.int64), np.ones(9, np.int64)
    title, words = "eight sums that move by 1 and a count, ε = 1", "nine numbers share ε: " + CORNER
    yield Case(title, released, pair, 1.0, 50_000, reason=words)


@attack("report-noisy-stats")
def noisy_stats() -> Iterator[Part]:
    pairs = [(_line(0.0), _line(1.0)), (_line(1.0, 0.0), _line(1.0, 1.0))]
    for epsilon in (1.0, 3.0):
        mechanism = partial(noisy_statistics, epsilon=epsilon)
        title = f"independent draws, ε = {epsilon:g}"
        options, words = {"rounding": 1e-6}, "three statistics share ε: " + CORNER
        yield Case(title, mechanism, pairs, epsilon, 60_000, options, reason=words)
        p, q = corner([1, 1, 1], 3 / epsilon)
        title = f"all three statistics move by their sensitivity, ε = {epsilon:g}, at a corner"
        yield exact([p], [q], epsilon, title=title)
    corners = [_line(x, y) for x in (0.0, 1.0) for y in (0.0, 1.0)]
    moves = np.abs([np.subtract(_statistics(a), _statistics(b)) for a in corners for b in corners])
    yield statement(
        "covariance and variance of five points, one of them at every corner",
        "both move by at most 1 - 1/n",
        bool(moves.max() <= 0.8 + 1e-12),
        f"the largest move is {moves.max():.6g}, and 1 - 1/n is 0.8",
        "brute force over corners",
    )


def _line(x: float, y: float | None = None) -> Floats:
    """Four points and one more."""
    fixed = [[0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 1.0]]
    return np.array([*fixed, [x, x if y is None else y]])


def _statistics(points: Floats) -> tuple[float, float]:
    x, y = points.T
    return float(((x - x.mean()) * (y - y.mean())).sum()), float(((x - x.mean()) ** 2).sum())


def noisy_statistics(points: Floats, trials: int, *, epsilon: float, share: float = 3.0) -> Floats:
    """NoisyStats as Alabi et al. state it: three independent draws; 3 is the number of shares."""
    n = len(points)
    scale = share * (1 - 1 / n) / epsilon
    covariance, variance = (number + laplace(scale, trials) for number in _statistics(points))
    slope = np.where(variance > 0, covariance / variance, np.nan)
    told = np.nan_to_num(slope)
    intercept = points[:, 1].mean() - told * points[:, 0].mean()
    intercept = intercept + laplace(share * (1 + np.abs(told)) / (n * epsilon), trials)
    return np.column_stack([slope, np.where(np.isnan(slope), np.nan, intercept)])


@attack("report-regression")
def shared_draw() -> Iterator[Part]:
    x = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    line = np.column_stack([x, x])
    other = line.copy()
    other[2, 1] = 0.0
    mechanism = partial(regression, epsilon=0.5)
    pair = line, other
    title = "points on a line, and one beside it, ε = 0.5"
    yield Case(title, mechanism, pair, 0.5, 40_000, {"rounding": 1e-9})


@attack("report-parallel")
def parallel() -> Iterator[Part]:
    distribution = LaplaceDistribution(Fraction(1))

    def released(data: Any, trials: int) -> Any:
        return distribution.run(np.repeat(data[None], trials, axis=0))

    yield Case(
        "counts of disjoint parts, one row more",
        released,
        (np.array([3, 4]), np.array([4, 4])),
        1.0,
    )


@attack("report-parallel-replaced")
def parallel_replaced() -> Iterator[Part]:
    distribution = LaplaceDistribution(Fraction(1))

    def released(data: Any, trials: int) -> Any:
        return distribution.run(np.repeat(data[None], trials, axis=0))

    pair = np.array([3, 4]), np.array([4, 3])
    yield Case("a row goes from one part to the other, ε = 1", released, pair, 1.0, 40_000)
    yield exact(*_corner([1, 1], 1.0), 1.0, title="the same, its distribution at one corner")


def _corner(shifts: list[float], scale: float) -> tuple[list[float], list[float]]:
    p, q = corner(shifts, scale)
    return [p], [q]
