"""Attacks on risk minimisation: exact distributions and densities, distances of minimisers, many runs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from discreet import events
from discreet.audit.exact import exact, statement
from discreet.audit.losses import LossDistribution
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.guarantees.erm.attacks_batches import Batch, Table, runs, table
from discreet.guarantees.erm.attacks_evening import evened_parts
from discreet.guarantees.fits import exact_losses
from discreet.guarantees.selection.attacks import worst
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
from discreet.models.erm.norm_gamma import NormGammaObjective, NormGammaOutput
from discreet.models.erm.objective import WEIGHT_STEP, Objective
from discreet.models.erm.perturbation import (
    FINAL_SHARE,
    ObjectivePerturbation,
    OutputPerturbation,
    Perturbation,
)
from discreet.models.erm.solver import minimise
from discreet.models.erm.task import Task
from discreet.models.erm.weights import Weighted
from discreet.unit import ADD_REMOVE, REPLACE_ONE, Unit

Floats = npt.NDArray[np.float64]

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
    "softmax": lambda: Softmax(3),
    "weighted hinge": lambda: Weighted(SmoothHinge(Fraction(1, 2)), (0.25, 1.0)),
}
EPSILONS = (Fraction(1, 2), Fraction(1), Fraction(4))
#: A Λ at which nearly all of ε is noise.
STRONG_REGULARISER = Fraction(50)
#: Why attacks on draws stay below the claim.
DENSITY = "the loss is largest at far minima, which are rare: the exact density stands beside it"
#: Cells of the exact distributions.
_CELLS = 400


def task_of(
    loss: Loss, unit: Unit, measure: Measure, width: int = 1, alpha: Fraction | None = None
) -> Task:
    """The constants of a fit with features of norm at most 1."""
    length = ONE if width == 1 else math.isqrt(width * ONE * ONE) + 1
    return Task(loss, width, ONE, length, measure, unit, alpha)


def goals(loss: Loss) -> tuple[float, ...]:
    """Targets that rows may have."""
    if loss.has_zero:
        return tuple(map(float, range(max(2, loss.outputs))))
    return (-1.0, 1.0)


def neighbours(loss: Loss, unit: Unit) -> Iterator[tuple[Table, Table]]:
    """A few rows of one feature at ±1, with one person's rows added, or with others instead."""
    rows = list(itertools.product((1.0, -1.0), goals(loss)))
    count = unit.rows_per_person
    for common in ([], rows[:1], [rows[0], rows[1]]):
        for moved in rows:
            other = [(-moved[0], moved[1])] * count if unit.relation is REPLACE_ONE else []
            yield table([*common, *[moved] * count]), table([*common, *other])


def ideal_distribution(inner: events.Event, shift: Floats) -> Floats:
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


def exact_distributions(
    loss: Loss,
    unit: Unit,
    measure: Any,
    alpha: Fraction | None = None,
    weaken: float = 1.0,
) -> AuditResult:
    """The ideal minimiser's distribution for neighbours in one dimension; b with `weaken` times the noise."""
    plan = ObjectivePerturbation(task_of(loss, unit, measure, alpha=alpha))
    share = measure.epsilon * (1 - FINAL_SHARE)
    claim = ApproxDP(share, measure.delta) if isinstance(measure, ApproxDP) else PureDP(share)
    inner, regulariser = plan.inner, float(plan.regulariser)
    size = inner.scale if isinstance(inner, events.LaplaceObjective) else inner.sigma
    reach = (12 * float(size) + 4 * float(loss.slope)) / regulariser
    edges = np.linspace(-reach, reach, _CELLS)

    def audit_pairs() -> Iterator[AuditResult]:
        for pair in neighbours(loss, unit):
            slopes = (
                Batch(loss, rows, regulariser).gradient(edges[:, None, None]) for rows in pair
            )
            p, q = (ideal_distribution(inner, slope[:, 0, 0] / weaken) for slope in slopes)
            yield exact(p, q, claim, error=1e-14)

    return worst(audit_pairs(), f"ideal minimiser, {measure!r}, {unit}")


def densities(
    loss: Loss,
    unit: Unit,
    measure: PureDP,
    alpha: Fraction | None = None,
    weaken: float = 1.0,
) -> AuditResult:
    """log p(w)/p'(w) of the ideal minimiser where gradients and determinants differ most.

    p(w) = f(-G(w))·det ∇G(w), without chance: it is compared at single points, however rare they are.
    """
    plan = ObjectivePerturbation(task_of(loss, unit, measure, 2, alpha))
    assert isinstance(plan.inner, events.LaplaceObjective)
    scale, share = weaken * float(plan.inner.scale), float(measure.epsilon * (1 - FINAL_SHARE))
    most = 0.0
    for here, there, at in extremes(loss, unit, float(plan.regulariser)):
        logs = []
        for rows in (here, there):
            batch = Batch(loss, rows, float(plan.regulariser))
            size = np.abs(batch.gradient(at)).sum(axis=(1, 2)) / scale
            logs.append(np.linalg.slogdet(batch.hessian(at))[1] - size)
        most = max(most, float(np.abs(logs[0] - logs[1]).max()))
    violated = most > share + 1e-6  # what float64 leaves at far weights
    return AuditResult(
        f"density of the minimiser, {measure!r}, {unit}",
        PureDP(measure.epsilon * (1 - FINAL_SHARE)),
        share,
        most,
        "violated" if violated else "consistent",
        1.0,
        "the density at one point",
        "densities",
        "ideal",
        0,
    )


def extremes(loss: Loss, unit: Unit, regulariser: float) -> Iterator[tuple[Table, Table, Floats]]:
    """Neighbours with two features, and weights to look at.

    Alone, a row has its largest curvature and slope. Under replace-one, many rows in common pull weights to
    where two rows in nearly opposite directions both have their steepest slope.
    """
    goal_pairs = list(itertools.product(goals(loss), repeat=2))
    sizes = np.array([0.3, 1.0, 4.0, 30.0, 1e4])
    sizes = np.concatenate([-sizes, [0.0], sizes])[:, None, None, None]
    ways = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=loss.outputs)))
    count = float(unit.rows_per_person)
    crowd = Batch(loss, table([(_ACROSS, goals(loss)[0])], 2, 2.0**28), regulariser)
    for angle in (0.0, 0.01, 0.3):
        one, other = _nearly_opposite(angle)
        for goal, back in goal_pairs:
            come = table([(one, goal)], 2, count)
            gone = table([(other, back)] if unit.relation is REPLACE_ONE else [], 2, count)
            for axis in (_ALONG, _ACROSS):
                at = sizes * ways[None, :, :, None] * axis
                yield come, gone, at.reshape(-1, loss.outputs, 2)
            if unit.relation is REPLACE_ONE and angle:
                pulls = np.array([-3.0, 3.0])[:, None, None, None] * ways[None, :, :, None] * _ALONG
                at = crowd.minima(pulls.reshape(-1, loss.outputs, 2))
                yield crowd.rows.joined(come), crowd.rows.joined(gone), at


#: Directions of two features.
_ALONG, _ACROSS = np.array([[1.0, 1.0], [1.0, -1.0]]) / math.sqrt(2)


def _nearly_opposite(angle: float) -> tuple[Floats, Floats]:
    """Rows of norm 1, both at this angle to `_ALONG`, one of them to its other end."""
    lean = math.sin(angle) * _ACROSS
    return lean + math.cos(angle) * _ALONG, lean - math.cos(angle) * _ALONG


def found_minimum(plan: Perturbation, rows: Table) -> list[int]:
    """What the solver finds without b, in units of `WEIGHT_STEP`."""
    task = plan.task
    features = np.trunc(rows.x * ONE).reshape(-1, task.width)
    tilt, step = [0] * task.size, Fraction(1)
    objective = Objective(features, rows.target, task.loss, plan.regulariser, tilt, step)
    return minimise(objective, task.tolerance)


def distances(loss: Loss, unit: Unit, measure: Measure, alpha: Fraction) -> AuditResult:
    """Compare the distance of neighbours' rounded minimisers with the sensitivity."""
    plan = OutputPerturbation(task_of(loss, unit, measure, alpha=alpha))
    far = far_squared = 0
    for pair in neighbours(loss, unit):
        one, other = (
            [round(w * WEIGHT_STEP / plan.grid) for w in found_minimum(plan, rows)] for rows in pair
        )
        far = max(far, sum(abs(a - b) for a, b in zip(one, other, strict=True)))
        far_squared = max(far_squared, sum((a - b) ** 2 for a, b in zip(one, other, strict=True)))
    holds = far <= plan.moved.l1 and far_squared <= plan.moved.l2_squared
    words = f"{far} steps apart, sensitivity {plan.moved.l1}"
    return statement(
        f"distance of minimisers, Λ = {float(alpha):g}, {unit}", "sensitivity", holds, words
    )


def steep_pair(loss: Loss, unit: Unit) -> tuple[Table, Table]:
    """Neighbours whose gradients differ nearly as much as they can where the minimum is likely to be.

    Many rows in common pull the minimum to where a row of another target is steepest; under replace-one, to
    where both rows are, which point in nearly opposite directions.
    """
    count = unit.rows_per_person
    low, high = goals(loss)[0], goals(loss)[-1]
    if unit.relation is not REPLACE_ONE:
        # a residual of 1 is on the steep part by itself
        common = table([(1.0, low)] if loss.has_zero else [], 1, 1000.0)
        return common, common.joined(table([(1.0, high)], 1, count))
    one, other = _nearly_opposite(0.3)
    common = table([(_ACROSS, low)], 2, 2.0**28)
    come, gone = table([(one, high)], 2, count), table([(other, high)], 2, count)
    return common.joined(come), common.joined(gone)


def tiny_pair(loss: Loss, unit: Unit) -> tuple[Table, Table]:
    """Neighbours of two or three rows."""
    low, high = goals(loss)[0], goals(loss)[-1]
    common = [(1.0, low)]
    mine = [(1.0, high)] * unit.rows_per_person
    other = [(-1.0, high)] * unit.rows_per_person if unit.relation is REPLACE_ONE else []
    return table([*common, *mine]), table([*common, *other])


METHODS: dict[str, type[Perturbation]] = {
    "output": OutputPerturbation,
    "objective": ObjectivePerturbation,
}


def case(
    method: str,
    name: str,
    unit: Unit,
    measure: Measure,
    trials: int,
    *,
    alpha: Fraction | None = None,
    weaken: int = 1,
    pairs: Callable[[Loss, Unit], tuple[Table, Table]] = tiny_pair,
) -> Case:
    """Many runs of a method with a loss on two or three rows (or the rows of `pairs`)."""
    loss = LOSSES[name]()
    pair = pairs(loss, unit)
    plan = METHODS[method](task_of(loss, unit, measure, pair[0].x.shape[1], alpha))
    title = f"{method}, {name}, {measure!r}, {unit}"
    losses = minimum_losses(plan, pair) if isinstance(plan, OutputPerturbation) else None
    return Case(title, runs(plan, weaken), pair, measure, trials, losses=losses)


def minimum_losses(plan: OutputPerturbation, pair: tuple[Table, Table]) -> LossDistribution | None:
    """The exact distribution of the noise on the minimisers of two tables."""
    start = np.zeros((1, plan.task.loss.outputs, plan.task.width))
    here, there = (
        np.rint(
            Batch(plan.task.loss, rows, float(plan.regulariser)).minima(start) / float(plan.grid)
        )
        for rows in pair
    )
    return exact_losses(plan.distribution, here.astype(np.int64), there.astype(np.int64))


def steep_case(
    name: str,
    unit: Unit,
    measure: Measure,
    trials: int,
    weaken: int = 1,
    method: str = "objective",
) -> Case:
    """Runs where almost all of ε is noise, on neighbours that show it."""
    return case(
        method,
        name,
        unit,
        measure,
        trials,
        alpha=STRONG_REGULARISER,
        weaken=weaken,
        pairs=steep_pair,
    )


def whole_grid(trials: int) -> Iterator[Case]:
    """Each loss, method and unit at three ε."""
    for method, name in itertools.product(METHODS, LOSSES):
        for unit, epsilon in itertools.product(UNITS, EPSILONS):
            yield case(method, name, unit, PureDP(epsilon), trials)
        yield case(method, name, UNITS[0], ApproxDP(1, "1/100"), trials)


@attack("output-perturbation")
def output_perturbation() -> Iterator[Part]:
    for make in LOSSES.values():
        for unit in UNITS:
            for alpha in (Fraction(1, 4), Fraction(8)):
                yield distances(make(), unit, PureDP(1), alpha)
    for name in LOSSES:
        yield case("output", name, UNITS[0], PureDP(2), 60_000)
    for measure in (PureDP("1/2"), PureDP(4), ApproxDP(1, "1/10")):
        yield case("output", "smooth hinge", UNITS[0], measure, 40_000)


@attack("objective-perturbation")
def objective_perturbation() -> Iterator[Part]:
    for name, make in LOSSES.items():
        for unit, epsilon in itertools.product(UNITS, EPSILONS):
            for alpha in (None, STRONG_REGULARISER):
                yield densities(make(), unit, PureDP(epsilon), alpha)
                if name != "softmax":
                    yield exact_distributions(make(), unit, PureDP(epsilon), alpha)
                    yield exact_distributions(make(), unit, ApproxDP(epsilon, "1/1000"), alpha)
    for name in LOSSES:
        yield replace(case("objective", name, UNITS[0], PureDP(4), 10_000), reason=DENSITY)
    for measure in (PureDP(4), ApproxDP(4, "1/100")):
        yield steep_case("smooth hinge", UNITS[0], measure, 10_000)
    yield from evened_parts()


@attack("norm-gamma-perturbation")
def norm_gamma_perturbation() -> Iterator[Part]:
    for kind in (NormGammaOutput, NormGammaObjective):
        for unit in UNITS[:2]:
            loss = LOSSES["smooth hinge"]()
            pair = table([], 2), table([((1.0, 0.0), 1.0)], 2)
            if unit.relation is REPLACE_ONE:
                pair = steep_pair(loss, unit)
            plan = kind(task_of(loss, unit, PureDP(2), 2, Fraction(20)))
            title = f"{kind.__name__}, {unit}"
            yield Case(title, runs(plan), pair, PureDP(2), 10_000, {"rounding": 1e-6})
