"""Attacks on lines by noise in the objective: on the plan, and on densities of the minimum of coded rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from discreet.accounting import satisfies
from discreet.audit.exact import statement
from discreet.audit.registry import Part
from discreet.audit.results import AuditResult
from discreet.events import LaplaceObjective
from discreet.guarantees.erm.attacks_batches import Batch, Table
from discreet.measures import ApproxDP, PureDP
from discreet.models.erm.features import ONE
from discreet.models.erm.perturbation import FINAL_SHARE, ObjectivePerturbation
from discreet.models.erm.step import MinimisedRisk
from discreet.models.facts import Facts
from discreet.models.linear_model import LinearRegression
from discreet.models.linear_model.minimising import plan_minimised
from discreet.models.shares import together
from discreet.schema import Real, Schema
from discreet.step import CodedRows
from discreet.unit import REPLACE_ONE, Unit

#: Why runs of whole fits stay below the claim.
FITTED = (
    "the loss is largest at far minima, which are rare: exact densities and plans stand beside it"
)


def minimised_plan(model: LinearRegression, unit: Unit, share: Fraction) -> Part:
    """Check that moments cost their share of ε, the step no more than the rest, and both the budget."""
    rows = 30 if unit.relation is REPLACE_ONE else None
    schema = Schema(**{name: Real(0, 1) for name in ("x", "z", "y")}, person=Real(0, 1))
    plan = model._plan(Facts(schema, unit, ("x", "z"), "y", rows), None)
    first, second = plan.recipe.moments.event, plan.recipe.step.event(schema, unit)
    measure = model._measure()
    assert isinstance(measure, PureDP | ApproxDP)
    rest = measure.epsilon * (1 - share)
    holds = plan.event == together([first, second]) and satisfies(plan.event, plan.measure)
    holds = holds and plan.measure in (measure, PureDP(measure.epsilon))
    holds = holds and satisfies(first, PureDP(measure.epsilon * share))
    delta = getattr(measure, "delta", 0)
    holds = holds and satisfies(second, ApproxDP(rest, delta) if delta else PureDP(rest))
    title = f"noise in the objective, {measure!r}, {share} of it for the target, {unit}"
    return statement(title, f"together at most {measure!r}", bool(holds), f"{plan.event!r}")


def centred_density(
    unit: Unit, zero: float, width: float, epsilon: float = 4.0, weaken: float = 1.0
) -> AuditResult:
    """log p(w)/p'(w) of the ideal minimiser, for rows that the step itself codes about a bought mean.

    p(w) = f(-G(w))·det ∇G(w) at single points, as in the attack on the step without a bought mean.
    """
    schema = Schema(x=Real(-1, 1), z=Real(-1, 1), y=Real(-1, 1))
    facts = Facts(schema, unit, ("x", "z"), "y", 30 if unit.length_is_public else None)
    plan = plan_minimised(facts, PureDP(epsilon), 30, 0.0)
    step = plan.step.with_target(zero, width)
    perturbation = step._perturbation
    assert isinstance(perturbation, ObjectivePerturbation)
    assert isinstance(perturbation.inner, LaplaceObjective)
    scale = weaken * float(perturbation.inner.scale)
    share = float(perturbation.task.epsilon * (1 - FINAL_SHARE))
    at = np.array(list(itertools.product((-2.0, -0.5, 0.0, 0.5, 2.0), repeat=3)))[:, None, :]
    most = 0.0
    for pair in _neighbours(step, schema, unit):
        logs = []
        for rows in pair:
            batch = Batch(step._loss, rows, float(perturbation.regulariser))
            size = np.abs(batch.gradient(at)).sum(axis=(1, 2)) / scale
            logs.append(np.linalg.slogdet(batch.hessian(at))[1] - size)
        most = max(most, float(np.abs(logs[0] - logs[1]).max()))
    return AuditResult(
        f"density of the line, target about {zero:g} in units of {width:g}, {unit}",
        PureDP(share),
        share,
        most,
        "violated" if most > share + 1e-6 else "consistent",
        1.0,
        "the density at one point",
        "densities",
        "ideal",
        0,
    )


def _neighbours(step: MinimisedRisk, schema: Schema, unit: Unit) -> Iterator[tuple[Table, Table]]:
    """Some rows with one more, or with another one instead, as the step codes them."""
    cells = np.array(list(itertools.product((0, 2**19, 2**20), repeat=3)), np.int64)
    target, codes = step._target(CodedRows(cells, ("x", "z", "y"), schema))
    features = step.features.block(codes) / ONE

    def some(rows: Sequence[int]) -> Table:
        return Table(features[rows], target[rows], np.ones(len(rows)))

    common = range(len(cells) // 3)
    for row in range(len(cells)):
        for other in range(len(cells)) if unit.relation is REPLACE_ONE else [None]:
            yield some([*common, row]), some([*common, *([] if other is None else [other])])
