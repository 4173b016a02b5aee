"""Attacks on risk minimisation: exact laws in one dimension, distances of minimisers, runs in two."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from discreet import events
from discreet.audit.attacks.selection import worst
from discreet.audit.exact import exact, statement
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.measures import ApproxDP, Measure, PureDP
from discreet.models.erm.features import ONE
from discreet.models.erm.losses import (
    HuberSquare,
    Insensitive,
    Logistic,
    Loss,
    SmoothHinge,
    Softmax,
)
from discreet.models.erm.objective import WEIGHT_STEP, Objective
from discreet.models.erm.perturbation import (
    FINAL_SHARE,
    ObjectivePerturbation,
    OutputPerturbation,
    Perturbation,
    Task,
)
from discreet.models.erm.solver import minimise
from discreet.unit import ADD_REMOVE, REPLACE_ONE, Unit

Floats = npt.NDArray[np.float64]
#: Features and targets of some rows.
Rows = tuple[Floats, Floats]

UNITS = (
    Unit(ADD_REMOVE),
    Unit(REPLACE_ONE),
    Unit(ADD_REMOVE, id_column="person", max_rows=2),
)
LOSSES: dict[str, Callable[[], Loss]] = {
    "logistic": Logistic,
    "smooth hinge": lambda: SmoothHinge(Fraction(1, 2)),
    "insensitive": lambda: Insensitive(Fraction(1, 10), Fraction(1, 4)),
    "Huber square": lambda: HuberSquare(Fraction(1, 2)),
}
EPSILONS = (Fraction(1, 2), Fraction(1), Fraction(4))
#: Cells of the exact laws.
_CELLS = 400


def task_of(
    loss: Loss, unit: Unit, measure: Measure, width: int = 1, alpha: Fraction | None = None
) -> Task:
    """The constants of a fit with features of norm at most 1."""
    length = ONE if width == 1 else math.isqrt(width * ONE * ONE) + 1
    return Task(loss, width, ONE, length, measure, unit, alpha)


def neighbours(unit: Unit, classes: bool) -> Iterator[tuple[Rows, Rows]]:
    """Few rows of one feature at ±1, and one person's rows more, or others instead."""
    targets = (0.0, 1.0) if classes else (-1.0, 1.0)
    rows = list(itertools.product((1.0, -1.0), targets))
    count = unit.rows_per_person
    for common in ([], rows[:1], [rows[0], rows[1]]):
        for moved in rows:
            other = [(-moved[0], moved[1])] * count if unit.relation is REPLACE_ONE else []
            yield table([*common, *[moved] * count]), table([*common, *other])


def table(rows: list[tuple[float, float]]) -> Rows:
    """Rows (x, target) as arrays."""
    found = np.array(rows, np.float64).reshape(-1, 2)
    return found[:, :1], found[:, 1]


def slopes(loss: Loss, rows: Rows, regulariser: float, at: Floats) -> Floats:
    """The derivative of the objective without b, for one weight."""
    x, target = rows
    found = regulariser * at
    for value, goal in zip(x[:, 0], target, strict=True):
        goals = np.full(len(at), goal)
        found = found + value * loss.gradient((value * at)[:, None], goals)[:, 0]
    return np.asarray(found)


def ideal_law(inner: events.Event, shift: Floats) -> Floats:
    """P(w* ≤ a) in cells, where b = -shift(a) has w* = a: shift rises with a."""
    if isinstance(inner, events.LaplaceObjective):
        z = shift / float(inner.scale)
        low = np.where(z < 0, 0.5 * np.exp(np.minimum(z, 0)), 1 - 0.5 * np.exp(-np.maximum(z, 0)))
        high = np.where(z > 0, 0.5 * np.exp(-np.maximum(z, 0)), 1 - 0.5 * np.exp(np.minimum(z, 0)))
    else:
        assert isinstance(inner, events.GaussianObjective)
        low, high = ndtr(shift / float(inner.sigma)), ndtr(-shift / float(inner.sigma))
    inside = np.where(low[1:] < 0.5, np.diff(low), -np.diff(high))
    return np.concatenate([low[:1], np.maximum(inside, 0.0), high[-1:]])


def exact_laws(
    loss: Loss,
    unit: Unit,
    measure: Any,
    alpha: Fraction | None = None,
    weaken: float = 1.0,
) -> AuditResult:
    """The ideal minimiser's law for neighbours, in one dimension; b with `weaken` times the noise."""
    plan = ObjectivePerturbation(task_of(loss, unit, measure, alpha=alpha))
    share = measure.epsilon * (1 - FINAL_SHARE)
    claim = ApproxDP(share, measure.delta) if isinstance(measure, ApproxDP) else PureDP(share)
    inner, regulariser = plan.inner, float(plan.regulariser)
    size = inner.scale if isinstance(inner, events.LaplaceObjective) else inner.sigma
    reach = (12 * float(size) + 4 * float(loss.slope)) / regulariser
    edges = np.linspace(-reach, reach, _CELLS)

    def found() -> Iterator[AuditResult]:
        for here, there in neighbours(unit, loss.has_zero):
            p, q = (
                ideal_law(inner, slopes(loss, rows, regulariser, edges) / weaken)
                for rows in (here, there)
            )
            yield exact(p, q, claim, error=1e-14)

    return worst(found(), f"ideal minimiser, {measure!r}, {unit}")


def minimisers(loss: Loss, rows: Rows, regulariser: float, tilt: Floats) -> Floats:
    """Minima for many b at once, by damped Newton; `tilt` has the shape (trials, outputs, width)."""
    x, target = rows
    trials, outputs, width = tilt.shape
    goals = np.tile(target, trials)
    w = np.zeros_like(tilt)

    def gradient(w: Floats) -> Floats:
        margins = np.einsum("tod,nd->tno", w, x).reshape(-1, outputs)
        slope = loss.gradient(margins, goals).reshape(trials, len(x), outputs)
        return np.asarray(np.einsum("tno,nd->tod", slope, x) + regulariser * w + tilt)

    g = gradient(w)
    for _ in range(200):
        length = np.sqrt((g**2).sum(axis=(1, 2)))
        if length.max() <= 1e-9:
            break
        margins = np.einsum("tod,nd->tno", w, x).reshape(-1, outputs)
        bend = loss.curvature(margins, goals)
        bend = bend.reshape(trials, len(x), outputs, outputs)
        hessian = np.einsum("tnop,nd,ne->todpe", bend, x, x).reshape(
            trials, outputs * width, outputs * width
        ) + regulariser * np.eye(outputs * width)
        step = -np.linalg.solve(hessian, g.reshape(trials, -1, 1)).reshape(w.shape)
        share = np.ones(trials)
        for _ in range(60):
            trial = gradient(w + share[:, None, None] * step)
            good = np.sqrt((trial**2).sum(axis=(1, 2))) <= (1 - share / 4) * length + 1e-12
            if good.all():
                break
            share = np.where(good, share, share / 2)
        w = w + share[:, None, None] * step
        g = gradient(w)
    return w


def runs(plan: ObjectivePerturbation) -> Callable[..., Any]:
    """The whole mechanism, many runs at once."""
    loss, width = plan.task.loss, plan.task.width

    def run(rows: Rows, trials: int) -> Any:
        tilt = plan.draws(trials).astype(np.float64) * float(plan.step)
        tilt = tilt.reshape(trials, loss.outputs, width)
        w = minimisers(loss, rows, float(plan.regulariser), tilt).reshape(trials, -1)
        return plan.law.run(np.rint(w / float(plan.grid)).astype(np.int64)) * float(plan.grid)

    return run


def found_minimum(plan: Perturbation, rows: Rows) -> list[int]:
    """What the solver finds without b, in units of `WEIGHT_STEP`."""
    task = plan.task
    features = np.trunc(rows[0] * ONE).reshape(-1, task.width)
    tilt, step = [0] * task.size, Fraction(1)
    objective = Objective(features, rows[1], task.loss, plan.regulariser, tilt, step)
    return minimise(objective, task.tolerance)


def distances(loss: Loss, unit: Unit, measure: Measure, alpha: Fraction) -> AuditResult:
    """How far the rounded minimisers of neighbours are apart, against the sensitivity."""
    plan = OutputPerturbation(task_of(loss, unit, measure, alpha=alpha))
    far = 0
    for here, there in neighbours(unit, loss.has_zero):
        one, other = (
            round(found_minimum(plan, rows)[0] * WEIGHT_STEP / plan.grid) for rows in (here, there)
        )
        far = max(far, abs(one - other))
    holds = far <= plan.moved.l1 and far**2 <= plan.moved.l2_squared
    words = f"{far} steps apart, sensitivity {plan.moved.l1}"
    return statement(
        f"distance of minimisers, Λ = {float(alpha):g}, {unit}", "sensitivity", holds, words
    )


def output_runs(plan: OutputPerturbation, weaken: int = 1) -> Callable[..., Any]:
    """Output perturbation, many runs at once, with 1/`weaken` of the noise."""

    def run(rows: Rows, trials: int) -> Any:
        found = found_minimum(plan, rows)
        steps = [round(w * WEIGHT_STEP / plan.grid) for w in found]
        at = np.tile(np.array(steps, np.int64), (trials, 1))
        return at + (plan.law.run(np.zeros_like(at)) // weaken)

    return run


#: A row more, on the side that the others are not on: the hinge's slope is 1 there.
PAIR = (table([]), table([(1.0, 1.0)]))


@attack("output-perturbation")
def output_perturbation() -> Iterator[Part]:
    for make in LOSSES.values():
        for unit in UNITS:
            for alpha in (Fraction(1, 4), Fraction(8)):
                yield distances(make(), unit, PureDP(1), alpha)
    for measure in (PureDP("1/2"), PureDP(4), ApproxDP(1, "1/100")):
        plan = OutputPerturbation(task_of(LOSSES["smooth hinge"](), UNITS[0], measure))
        yield Case(f"smooth hinge, {measure!r}", output_runs(plan), PAIR, measure, 40_000)


@attack("objective-perturbation")
def objective_perturbation() -> Iterator[Part]:
    for make in LOSSES.values():
        for unit in UNITS:
            for epsilon in EPSILONS:
                for measure in (PureDP(epsilon), ApproxDP(epsilon, "1/1000")):
                    yield exact_laws(make(), unit, measure)
                    yield exact_laws(make(), unit, measure, alpha=Fraction(50))
    for loss, measure in ((Softmax(3), PureDP(4)), (Softmax(3), ApproxDP(4, "1/100"))):
        plan = ObjectivePerturbation(task_of(loss, UNITS[0], measure, 2))
        few = np.array([[0.6, 0.8]])
        here = few, np.array([1.0])
        there = np.concatenate([few, [[-0.6, -0.8]]]), np.array([1.0, 1.0])
        yield Case(f"three classes, {measure!r}", runs(plan), (here, there), measure, 20_000)
