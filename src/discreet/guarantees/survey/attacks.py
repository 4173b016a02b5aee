"""Attacks on the formulas of the survey by Fan & Tian: those that fail."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit

from discreet.audit.exact import cells, exact, hockey_stick, statement
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.guarantees.draws import Floats, corner, laplace_distribution
from discreet.guarantees.survey.broken import (
    aggregated_centre,
    dp_sgd,
    gaussian_parameters,
    noisy_counts,
    noisy_tree,
    objective_noise,
    objective_perturbation,
    regularised_logistic,
)
from discreet.guarantees.told import ScoreOnly
from discreet.measures import ApproxDP
from discreet.mechanisms import LaplaceDistribution

_ONE = np.ones((1, 1))
_YES, _NO = np.array([1.0]), np.array([-1.0])


@attack("survey-delta-does-not-add")
def delta_adds() -> Iterator[AuditResult]:
    for epsilon, delta in ((0.5, 0.01), (1.0, 1e-5)):
        # the mechanism that no (ε, δ)-DP mechanism is worse than (Kairouz, Oh & Viswanath 2015)
        rest = (1 - delta) / (1 + math.exp(epsilon))
        p = np.array([delta, rest * math.exp(epsilon), rest, 0.0])
        twice, other = (
            np.outer(distribution, distribution).ravel() for distribution in (p, p[::-1])
        )
        worst = hockey_stick(twice, other, 2 * epsilon)
        yield statement(
            f"the worst ({epsilon:g}, {delta:g})-DP mechanism, twice",
            "with δ the sums of both parameters don't hold for a pair of answers",
            worst > 2 * delta,
            f"δ at 2ε is {worst:.4g}, not more than 2δ = {2 * delta:g}",
            "exact composition of the dominating pair",
        )


@attack("survey-output-perturbation")
def output_perturbation() -> Iterator[AuditResult]:
    strength = 5.0
    for dimension in (64, 256):
        row = np.full((1, dimension), dimension**-0.5)
        first, second = (regularised_logistic(row, y, strength)[0] for y in (_YES, _NO))
        p, q = corner(first - second, 2 / strength)
        title = f"a label is another, x on the diagonal, r = {dimension}, C = 5, ε = 1"
        yield exact([p], [q], 1.0, title=title)
        moved = float(np.linalg.norm(first - second))
        if dimension == 256:
            yield statement(
                title,
                "the L1 norm that the noise is for is at most 2/C",
                float(np.abs(first - second).sum()) <= 2 / strength,
                f"the L2 norm moves by {moved:.4f}, the L1 norm by "
                f"{np.abs(first - second).sum():.4f}; 2/C = {2 / strength:g}",
                "two fits compared",
            )


@attack("survey-objective-perturbation")
def objective() -> Iterator[Part]:
    for epsilon in (0.5, 1.0):
        mechanism = partial(_label_flip, epsilon=epsilon, strength=10.0)
        title = f"one record, its label is another, C = 10, ε = {epsilon:g}"
        yield Case(title, mechanism, (_YES, _NO), epsilon, 200_000, {"rounding": 1e-6})
    for words, epsilon, strength, pair, reach in (
        ("a label is another", 0.5, 10.0, ((1.0, 1.0), (1.0, -1.0)), 0.2),
        ("a label is another", 1.0, 10.0, ((1.0, 1.0), (1.0, -1.0)), 0.2),
        ("x from 1 to 0: the curvature", 0.1, 0.005, ((1.0, 1.0), (0.0, 1.0)), 10.0),
    ):
        edges = np.linspace(-reach, reach, 4001)
        distributions = (
            _objective_distribution(*record, epsilon=epsilon, strength=strength) for record in pair
        )
        p, q = (cells(distribution, edges) for distribution in distributions)
        title = f"its distribution, {words}, C = {strength:g}, ε = {epsilon:g}"
        yield exact(p, q, epsilon, title=title, error=1e-15)


def _label_flip(label: Floats, trials: int, *, epsilon: float, strength: float) -> Floats:
    """The log-ratio of both densities at the minimiser (the curvature is the same for both labels)."""
    found = objective_perturbation(_ONE, label, trials, epsilon=epsilon, strength=strength)
    if_yes, if_no = (objective_noise(found, _ONE, given, strength)[:, 0] for given in (_YES, _NO))
    return np.asarray((np.abs(if_no) - np.abs(if_yes)) * strength * epsilon / 2)


def _objective_distribution(
    x: float, label: float, *, epsilon: float, strength: float
) -> Callable[[Floats], Floats]:
    """The distribution function of the minimiser for one record: it falls as the noise rises."""
    noise = laplace_distribution(0.0, 2 / (strength * epsilon))
    signed = x * label

    def cdf(at: Floats) -> Floats:
        return 1 - noise(signed * expit(-signed * at) - 2 * strength * at)

    return cdf


@attack("objective-perturbation-on-a-grid")
def grid_objective() -> Iterator[Part]:
    step, strength = 2.0**-10, 1.0

    def mechanism(data: Any, trials: int) -> Floats:
        rows, labels = data
        found = objective_perturbation(
            rows, labels, trials, epsilon=1.0, strength=strength, grid=step
        )
        return found[:, 0]

    def off_grid(found: Floats) -> Floats:
        noise = objective_noise(found[:, None], _ONE, _YES, strength)[:, 0] / step
        return np.asarray(np.abs(noise - np.round(noise)))

    pair = (_ONE, _YES), (0.9 * _ONE, _YES)
    title = "is the noise that the output tells, if these are the data, on the grid?"
    yield Case(title, ScoreOnly(mechanism, off_grid), pair, 1.0, 20_000, {"rounding": 1e-9})


@attack("survey-bayes-counts")
def bayes_counts() -> Iterator[Part]:
    rows = np.random.default_rng(25).integers(0, 2, (8, 6))
    rows[-1] = 0
    mechanism = partial(noisy_counts, epsilon=1.0, values=2, classes=2)
    other = rows.copy()
    other[-1] = 1
    for words, pair, times in (
        ("a row more", (rows, rows[:-1]), 6),
        ("a row replaced", (rows, other), 12),
    ):
        means = [_expected_counts(data) for data in pair]
        told = ScoreOnly(mechanism, partial(_nearer, *means))
        title = f"five attributes, {words}, ε = 1"
        yield Case(title, told, pair, 1.0, 60_000, {"rounding": 1e-6})
        p, q = corner(np.ones(times), 1.0)
        yield exact(
            [p], [q], 1.0, title=f"the same, its distribution at one corner: {times} counts"
        )


def _expected_counts(rows: Any) -> Floats:
    """What `noisy_counts` is without noise."""
    return np.asarray(noisy_counts(rows, 1, epsilon=math.inf, values=2, classes=2)[0])


def _nearer(first: Floats, second: Floats, outputs: Floats) -> Floats:
    return np.asarray((np.abs(outputs - second) - np.abs(outputs - first)).sum(axis=1))


@attack("survey-bayes-gaussian")
def bayes_gaussian() -> Iterator[Part]:
    for n in (1, 9):
        edges = np.linspace(-30, 30, 4001)
        few, more = (
            cells(laplace_distribution(0.0, 1 / (size + 1)), edges)[:2000] for size in (n, n + 1)
        )
        title = f"the mean of {n} or {n + 1} zeros in [0, 1], ε = 1: the scale tells n"
        yield exact(few, more, 1.0, title=title)
    mechanism = partial(gaussian_parameters, epsilon=1.0, bounds=(0.0, 1.0))
    told = ScoreOnly(mechanism, lambda found: np.minimum(np.abs(found[:, 0]), 4.0))
    zero, zeros = np.zeros(1), np.zeros(2)
    options = {"rounding": 1e-6}
    yield Case("the mean of 1 or 2 zeros, drawn", told, (zero, zeros), 1.0, 200_000, options)
    zeros, wide = np.zeros(3), np.array([0.0, 0.0, 0.0, 100.0])
    p, q = corner([wide.std()], math.sqrt(3 * 100 / 4))
    yield exact(
        [p], [q], 1.0, title="the deviation of three zeros in [0, 100], and of these and 100"
    )
    p, q = corner([zeros.mean() - wide.mean(), wide.std()], [100 / 4, math.sqrt(3) * 100 / 4])
    yield exact(
        [p], [q], 1.0, title="the same with the right Δσ: mean and deviation are two answers"
    )


@attack("survey-tree-stops")
def tree_stops() -> Iterator[Part]:
    rows = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
    other = rows.copy()
    other[0, -1] = 0
    mechanism = partial(noisy_tree, epsilon=0.1)
    title = "all labels equal, and one that isn't, noise for ε = 0.1"
    yield Case(title, mechanism, (rows, other), 0.1, 2_000)


def _counters(scale: int) -> Callable[..., Any]:
    distribution = LaplaceDistribution(Fraction(scale))

    def released(data: Any, trials: int) -> Any:
        return distribution.run(np.repeat(np.asarray(data)[None], trials, axis=0))

    return released


@attack("survey-random-trees-replaced")
def trees_replaced() -> Iterator[Part]:
    pair = [5, 3, 0, 2], [4, 3, 1, 2]
    told = ScoreOnly(_counters(1), partial(_nearer, np.array(pair[0]), np.array(pair[1])))
    yield Case("one tree, a row's leaf is another, ε = 1", told, pair, 1.0, 60_000)
    p, q = corner(np.ones(10), 5.0)
    yield exact([p], [q], 1.0, title="five trees with Lap(5/ε), its distribution at one corner")


@attack("survey-histogram")
def histogram() -> Iterator[Part]:
    pair = [7, 3, 1], [6, 4, 1]
    told = ScoreOnly(_counters(1), partial(_nearer, np.array(pair[0]), np.array(pair[1])))
    yield Case("a row goes to another cell, ε = 1", told, pair, 1.0, 60_000)
    p, q = corner([1, 1], 1.0)
    yield exact([p], [q], 1.0, title="the same, its distribution at one corner")


@attack("survey-sample-and-aggregate")
def sample_and_aggregate() -> Iterator[Part]:
    near, far = np.zeros(10), np.full(10, 100.0)
    pair = np.concatenate([near, [0.2], far]), np.concatenate([near, [99.8], far])
    mechanism = partial(aggregated_centre, epsilon=1.0)
    yield Case("one block of 21 decides which ball, ε = 1", mechanism, pair, 1.0, 40_000)
    p, q = corner([100.0], 1.0)
    yield exact(
        [p], [q], 1.0, title="the same, its distribution: the centre moves by 100 diameters"
    )


@attack("survey-dp-sgd")
def sgd() -> Iterator[Part]:
    claim = ApproxDP(1, "1/100000")
    rows = np.array([0.1, 0.2, 0.3, 0.4])
    pair = rows, np.array([0.1, 0.2, 0.3, 1.0])
    for sigma in (0.0, 1e-3):
        mechanism = partial(dp_sgd, sigma=sigma, batch=2, rounds=3)
        yield Case(f"σ = {sigma:g} is below the bound", mechanism, pair, claim, 40_000)


@attack("survey-local-definition")
def local_definition() -> Iterator[AuditResult]:
    distributions = {
        "no": np.array([1.0, 0.0]),
        "yes": np.array([0.0, 1.0]),
    }  # the mechanism tells the value
    owners = ("no", "no", "no")
    gaps = [np.abs(distributions[a] - distributions[b]).max() for a in owners for b in owners]
    yield statement(
        "three owners with equal data, the mechanism that tells the data",
        "what satisfies the definition protects a value",
        max(gaps) > 0,
        f"over all pairs of owners, the distributions differ by {max(gaps):g}, so it holds with ε = 0",
        "all pairs",
    )
    title = "the same mechanism on two values"
    yield exact(distributions["no"], distributions["yes"], 1.0, title=title, labels=["no", "yes"])
