"""Attacks on searches and noised scores: exact distributions of small ones, and runs behind the real door."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet import accounting, events
from discreet.accounting.counts import PAIR
from discreet.audit.exact import exact, statement
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.columns import Categorical, Real
from discreet.dataset import PrivateDataset
from discreet.guarantees.model_selection.attacks_replay import replays
from discreet.guarantees.selection.attacks import worst
from discreet.ledger import Ledger
from discreet.measures import ApproxDP, Measure, PureDP, Renyi
from discreet.mechanisms import LaplaceDistribution
from discreet.models.metrics import (
    AUC,
    F1,
    Accuracy,
    GroupCounts,
    LogLoss,
    MeanAbsoluteError,
    MeanSquaredError,
    Metric,
    ScoredRows,
)
from discreet.models.model_selection.threshold import ScoreCounts
from discreet.schema import Schema
from discreet.selection import Selection
from discreet.unit import ADD_REMOVE, REPLACE_ONE, Unit

Floats = npt.NDArray[np.float64]

SHAPES = tuple(map(Fraction, ("0", "1/2", "1", "3")))
GAMMAS = Fraction(1, 50), Fraction(1, 4)
#: A run's outcomes: probabilities, each with its score.
Run = tuple[Floats, npt.NDArray[np.int64]]
#: Scores with noise are clamped to this, which is post-processing.
_FAR = 6


def generating(shape: float, gamma: float, x: Any) -> Any:
    """E[x^K] of the truncated negative binomial (Papernot & Steinke 2022, Definition 1)."""
    if shape == 0:
        return np.log1p(-(1 - gamma) * x) / math.log(gamma)
    return ((1 - (1 - gamma) * x) ** -shape - 1) / (gamma**-shape - 1)


def best_distribution(run: Run, shape: float, gamma: float) -> Floats:
    """The distribution of the first of the best outcomes of K runs, from that of one.

    Given that the best score is s, the first outcome with it is distributed like any outcome with that score.
    """
    chance, score = run
    found = np.zeros(len(chance))
    for value in np.unique(score):
        here = score == value
        upto, below = chance[score <= value].sum(), chance[score < value].sum()
        won = generating(shape, gamma, min(upto, 1.0)) - generating(shape, gamma, below)
        found[here] = won * chance[here] / chance[here].sum()
    return found


def told_runs(run: Run, shape: float, gamma: float, maximum: int = 60) -> Floats:
    """The distribution of the best outcome together with the number of runs, which must stay secret."""
    chance, score = run
    k = np.arange(1, maximum + 1)
    ratios = np.log((k[1:] - 1 + shape) / k[1:])
    mass = np.exp(k * math.log1p(-gamma) + np.concatenate([[0.0], np.cumsum(ratios)]))
    mass = mass / mass.sum()
    found = np.zeros((maximum, len(chance)))
    for value in np.unique(score):
        here = score == value
        upto, below = chance[score <= value].sum(), chance[score < value].sum()
        won = (min(upto, 1.0) ** k - below**k) * mass
        found[:, here] = won[:, None] * chance[here] / chance[here].sum()
    return found


def noisy_score(at: int, epsilon: float) -> Floats:
    """Discrete Laplace noise on a count, clamped."""
    q = math.exp(-epsilon)
    values = np.arange(-_FAR, _FAR + 1)
    distribution = (1 - q) / (1 + q) * q ** np.abs(values - at)
    distribution[0] = q ** (at + _FAR) / (1 + q)
    distribution[-1] = q ** (_FAR - at) / (1 + q)
    return np.asarray(distribution)


def searched(present: bool, fit: float, score: float, weights: Sequence[int]) -> Run:
    """One run on a person's bit: a setting at random, a noised bit of each, a noised count as the score.

    The first setting keeps the bit by randomised response, the second reveals nothing but its score.
    """
    share = np.array(weights) / sum(weights)
    keep = math.exp(fit) / (1 + math.exp(fit))
    truth = np.array([1 - keep, keep] if present else [keep, 1 - keep])
    models = np.concatenate([share[0] * truth, share[1] * np.array([0.5, 0.5])])
    noised = noisy_score(int(present), score)
    chance = np.outer(models, noised).ravel()
    scores = np.tile(np.arange(-_FAR, _FAR + 1), len(models))
    return chance, scores


def revealing(present: bool, epsilon: float, delta: float) -> Run:
    """One run that reveals the bit with probability δ, and then wins; else randomised response."""
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    chance = [1 - keep, keep] if present else [keep, 1 - keep]
    found = [(1 - delta) * chance[0], (1 - delta) * chance[1], 0.0, 0.0]
    found[2 + present] = delta
    return np.array(found), np.array([0, 1, 2, 2])


def exact_searches() -> Iterator[AuditResult]:
    """Check all that theory says about small searches, from their distributions."""
    fit, score = Fraction(1, 4), Fraction(1, 2)
    setting = events.RandomizedResponse(fit), events.DiscreteLaplace(1 / score)
    other = events.Compose(), events.DiscreteLaplace(1 / score)
    for shape, gamma in itertools.product(SHAPES, GAMMAS):
        plan = Selection((setting, other), (3, 1), shape, gamma)
        event = plan.event(Unit(ADD_REMOVE))
        runs = [searched(p, float(fit), float(score), plan.weights) for p in (False, True)]
        p, q = (best_distribution(run, float(shape), float(gamma)) for run in runs)
        claims: list[Measure] = [
            accounting.cost(event, PureDP),
            accounting.cost(event, Renyi),
            accounting.cost(event, ApproxDP, delta="1/1000"),
        ]
        for claim in claims:
            words = f"{type(claim).__name__}, shape {shape}, γ = {gamma}"
            yield exact(p, q, claim, title=f"the distribution of a search, {words}", error=1e-15)
        epsilon, delta = 0.5, 1e-3
        pair = events.External(ApproxDP(Fraction(1, 2), Fraction(1, 1000)), "a run")
        whole = events.RepeatAndSelect(pair, shape, gamma)
        cost = PAIR.total(whole)
        p, q = (
            best_distribution(revealing(present, epsilon, delta), float(shape), float(gamma))
            for present in (False, True)
        )
        title = f"a run that tells all with probability δ, shape {shape}, γ = {gamma}"
        yield exact(p, q, cost, title=title, error=1e-15)


@final
class Constant:
    """A public model that says the same about every row."""

    classes_ = np.array([0, 1])

    def predict(self, X: Any) -> Any:
        """Class 1."""
        return np.ones(len(X), np.int64)

    def predict_proba(self, X: Any) -> Any:
        """How sure it is depends on the row."""
        first = np.asarray(X, np.float64)[:, 0]
        return np.stack([1 - first, first], axis=1)


#: What the attacked tables hold.
SCHEMA = Schema({"x": Real(0, 1), "g": Categorical(0, 1), "y": Categorical(0, 1)})


def table(rows: Sequence[tuple[float, int]]) -> dict[str, Any]:
    """Rows (x, y) as columns; the group is the class."""
    classes = np.array([y for _, y in rows], int)
    return {"x": np.array([x for x, _ in rows], float), "g": classes, "y": classes}


def searches(epsilon: Fraction) -> tuple[Callable[..., Any], Measure]:
    """Searches behind the door, many times: a run reveals only its score, which is the worst for it."""
    unit, metric = Unit(ADD_REMOVE), Accuracy()
    distribution = LaplaceDistribution(1 / epsilon)
    phases = (distribution.event(metric.sensitivity(unit)),)
    plan = Selection((phases, phases), (1, 2), Fraction(0), Fraction(1, 3))
    event = plan.event(unit)
    step = ScoredRows(metric, Constant(), ("x",), "y", distribution)

    def once(at: int, views: tuple[PrivateDataset, ...]) -> tuple[float, Any]:
        right, wrong = views[0].run(step)
        return float(right - wrong), (at, right, wrong)

    def run(rows: Sequence[tuple[float, int]], trials: int) -> Any:
        ledger = Ledger(limit=PureDP(10**9), unit=unit)
        data = PrivateDataset(table(rows), SCHEMA, ledger=ledger)
        with data.prepaid(events.Repeat(event, trials)) as door:
            return np.array([door.select(plan, once)[1] for _ in range(trials)], float)

    return run, accounting.cost(event, PureDP)


#: One more row that is predicted right, among few.
NEIGHBOURS = [(0.2, 0)], [(0.2, 0), (0.7, 1)]


@attack("private-search")
def private_search() -> Iterator[Part]:
    yield from exact_searches()
    run, claim = searches(Fraction(2))
    words = "charged as the worst search that there can be, whose exact distribution stands above"
    yield Case("behind the door, the score tells", run, NEIGHBOURS, claim, 1_000, reason=words)
    for replay in replays():
        yield replay.result()


METRICS: tuple[Metric, ...] = (
    Accuracy(),
    LogLoss(),
    AUC(4),
    MeanSquaredError(Real(0, 1)),
    MeanAbsoluteError(Real(0, 1)),
    ScoreCounts(),
    F1().bound(Constant(), SCHEMA, "y"),
    GroupCounts("g", 1, 4).bound(Constant(), SCHEMA, "y"),
)
UNITS = (
    Unit(ADD_REMOVE),
    Unit(REPLACE_ONE),
    Unit(ADD_REMOVE, id_column="i", max_rows=2),
    Unit(REPLACE_ONE, id_column="i", max_rows=2),
)


def moved(metric: Metric, unit: Unit) -> AuditResult:
    """Compare how far a person's rows move the sums, over all rows of a small table, with the sensitivity."""
    model = Constant()
    goals: tuple[Any, ...] = (0, 1) if metric.target == "class" else (0.0, 0.3, 1.0)
    if metric.beside:  # the group, then the class
        goals = tuple(itertools.product((0, 1), goals))
    rows = list(itertools.product((0.0, 0.4, 1.0), goals))
    vectors = [_sums(metric, model, [row]) for row in rows]
    nothing = np.zeros(metric.size, np.int64)
    count = unit.rows_per_person
    ways = [sum(some, nothing) for some in itertools.product([nothing, *vectors], repeat=count)]
    pairs = itertools.product(ways, ways if unit.relation is REPLACE_ONE else [nothing])
    far = [a - b for a, b in pairs]
    one = max(int(np.abs(d).sum()) for d in far)
    two = max(int((d.astype(object) ** 2).sum()) for d in far)
    sensitivity = metric.sensitivity(unit)
    holds = one <= sensitivity.l1 and two <= sensitivity.l2_squared
    words = f"moved by {one} in L1 of {sensitivity.l1}"
    return statement(f"{metric!r}, {unit}", "sensitivity", holds, words)


def _sums(metric: Metric, model: Any, rows: list[tuple[float, Any]]) -> Any:
    x = np.array([[value] for value, _ in rows])
    goals = np.array([goal for _, goal in rows])
    return metric.totals(model, x, goals, np.ones(len(rows), np.int64))


def scores(metric: Metric, budget: Fraction) -> tuple[Callable[..., Any], Measure]:
    """Noised scores of a public model, many times."""
    unit = Unit(ADD_REMOVE)
    distribution = LaplaceDistribution(metric.sensitivity(unit).l1 / budget)
    step = ScoredRows(metric, Constant(), ("x",), "y", distribution)
    event = step.event(SCHEMA, unit)

    def run(rows: Sequence[tuple[float, int]], trials: int) -> Any:
        data = PrivateDataset(table(rows), SCHEMA, ledger=Ledger(limit=PureDP(10**9), unit=unit))
        with data.prepaid(events.Repeat(event, trials)) as door:
            return np.array([door.run(step) for _ in range(trials)], float)

    return run, PureDP(budget)


@attack("private-score")
def private_score() -> Iterator[Part]:
    for unit in UNITS:
        yield worst((moved(metric, unit) for metric in METRICS), f"sensitivities, {unit}")
    run, claim = scores(Accuracy(), Fraction(1))
    yield Case("accuracy", run, NEIGHBOURS, claim, 1_500)
    run, claim = scores(METRICS[-1], Fraction(1))
    yield Case("counts by group, truth and prediction", run, NEIGHBOURS, claim, 1_500)
    run, claim = scores(ScoreCounts(), Fraction(1))
    yield Case("counts of scores by class", run, NEIGHBOURS, claim, 1_500)
