"""What attacks on models share: one answer of a plan, all that a fit learns, and what the plan costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet import accounting
from discreet.audit.exact import statement
from discreet.audit.losses import GaussianLoss, LaplaceLoss, LossDistribution
from discreet.audit.registry import Case, Part
from discreet.columns import Real
from discreet.dataset import PrivateDataset
from discreet.engines import open_engine
from discreet.engines.arrays import Arrays
from discreet.events import Repeat, iter_leaves
from discreet.ledger import Ledger
from discreet.measures import ZCDP, GaussianDP, Measure
from discreet.mechanisms import (
    AdditiveMechanism,
    Distribution,
    GaussianDistribution,
    LaplaceDistribution,
    Mechanism,
    mechanism_for,
)
from discreet.models.base import PrivateEstimator
from discreet.models.facts import Facts
from discreet.models.inputs import open_input
from discreet.queries import Additive, Joint, MomentsValue, Query
from discreet.release import Release
from discreet.schema import Schema
from discreet.step import Step
from discreet.unit import ADD_REMOVE, PUBLIC, REPLACE_ONE, Relation, Unit

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Rows = tuple[tuple[float, ...], ...]

SCHEMA = Schema(x=Real(0, 1), y=Real(0, 1))
#: A row in the corner that moves every coordinate farthest, and its opposite.
FAR, OPPOSITE = (1.0, 1.0), (0.0, 0.0)
ROW = {"x": 1.0, "y": 1.0}
RELATIONS = (ADD_REMOVE, REPLACE_ONE)


def facts(relation: Relation) -> Facts:
    """Two columns between 0 and 1; under replace-one the one row is public."""
    unit = Unit(relation)
    return Facts(SCHEMA, unit, ("x", "y"), None, 1 if relation is REPLACE_ONE else None)


def pair(relation: Relation) -> tuple[Rows, Rows]:
    """Neighbours that are as far apart as one person can move them."""
    return ((FAR,), ()) if relation is ADD_REMOVE else ((FAR,), (OPPOSITE,))


def totals(query: Additive, unit: Unit, rows: Rows) -> Integers:
    """The exact integers of a query on these rows."""
    columns = np.array(rows, np.float64).reshape(len(rows), 2)
    return (
        Arrays({"x": columns[:, 0], "y": columns[:, 1]}).totals(query.coded(SCHEMA, unit)).ravel()
    )


def noise_of(query: Additive, budget: Measure | Mechanism, unit: Unit) -> Distribution:
    """The noise that a query gets."""
    moved = query.sensitivity(SCHEMA, unit)
    mechanism = budget if isinstance(budget, Mechanism) else mechanism_for(budget, moved)
    assert isinstance(mechanism, AdditiveMechanism)
    return mechanism.distribution(moved)


def add_noise(
    distribution: Distribution, read: Callable[[Rows], Integers]
) -> Callable[..., Integers]:
    """The mechanism that noises what is read of rows."""

    def mechanism(rows: Rows, trials: int) -> Integers:
        return distribution.run(np.repeat(read(rows)[None], trials, axis=0))

    return mechanism


def likelihood(
    distribution: Distribution, here: Integers, there: Integers
) -> Callable[[Floats], Floats]:
    """The log-likelihood ratio of an outcome between both sides, up to a factor."""
    if isinstance(distribution, LaplaceDistribution):
        scale = float(distribution.scale)
        return lambda found: np.asarray(
            (abs(found - there) - abs(found - here)).sum(axis=1) / scale
        )
    assert isinstance(distribution, GaussianDistribution)
    step = (here - there) / float(distribution.sigma)
    return lambda found: np.asarray((found - there) / float(distribution.sigma) @ step)


def exact_losses(
    distribution: Distribution, here: Integers, there: Integers
) -> LossDistribution | None:
    """The exact distribution of the loss where noise of this distribution is added to either vector."""
    if isinstance(distribution, LaplaceDistribution):
        return LaplaceLoss.between(float(distribution.scale), here, there)
    if isinstance(distribution, GaussianDistribution):
        return GaussianLoss.between(float(distribution.sigma), here, there)
    return None


def case(
    title: str,
    query: Additive,
    budget: Measure | Mechanism,
    relation: Relation,
    *,
    distribution: Distribution | None = None,
    trials: int = 60_000,
) -> Case:
    """One answer of a plan against its share of the budget; another `distribution` weakens its noise."""
    unit = Unit(relation)
    chosen = noise_of(query, budget, unit) if distribution is None else distribution
    first, second = pair(relation)
    here, there = totals(query, unit, first), totals(query, unit, second)
    # noise is independent by coordinate: those that no person moves say nothing
    moved = np.flatnonzero(here != there)
    measure = budget.measure if isinstance(budget, Mechanism) else budget
    claim: Any = GaussianDP(2 * measure.rho) if isinstance(measure, ZCDP) else measure
    options = {"score": likelihood(chosen, here[moved], there[moved])}
    read = lambda rows: totals(query, unit, rows)[moved]  # noqa: E731
    return Case(
        f"{title}, {relation.value}",
        add_noise(chosen, read),
        (first, second),
        claim,
        trials,
        options,
        exact_losses(noise_of(query, budget, unit), here, there),
    )


class Listener:
    """A door that keeps every answer that a fit gets through it."""

    def __init__(self, door: PrivateDataset) -> None:
        self._door, self.entry = door, door.entry
        self.told: list[Any] = []

    def release(self, query: Query, budget: Any) -> Release:
        found = self._door.release(query, budget)
        self.told.append(found.value)
        return found

    def run(self, step: Step) -> Any:
        self.told.append(self._door.run(step))
        return self.told[-1]


def fit_case(
    model: PrivateEstimator,
    claim: Measure,
    schema: Schema,
    row: dict[str, Any],
    target: str | None = None,
    told: slice = slice(None),
    trials: int = 800,
    losses: LossDistribution | None = None,
    work_out: Callable[[Any], Any] | None = None,
) -> Case:
    """What fits really learn about one row, or none: some of their answers, as one row of numbers.

    Each run is a whole fit: what it plans is paid for, and what it learns comes through the door. Only the
    ledger is written once for all runs. The losses of a single answer that is a sum is known without help.
    A few hundred runs show most where its curve has a μ of about 2: a smaller one drowns in chance, and with
    a larger one the runs on both sides are told apart so well that half the noise looks like all of it.
    `work_out` makes of a fitted model what an attacker would, in place of what the model was told.
    """

    def mechanism(table: Any, trials: int) -> Floats:
        ledger = Ledger(limit=model._measure().times(trials + 1))
        data = PrivateDataset(table, schema, ledger=ledger)
        source = open_input(model, data, None, None, target)
        plan = model._plan(source.facts, None)
        heard = []
        with data.prepaid(Repeat(plan.event, trials)) as door:
            for _ in range(trials):
                listener = Listener(door)
                model._remember(source.facts, source.named)
                model._train(plan, listener)  # type: ignore[arg-type]
                known = listener.told[told] if work_out is None else [work_out(model)]
                heard.append(np.concatenate([flatten(found) for found in known]))
        return np.array(heard)

    one = {name: np.array([cell]) for name, cell in row.items()}
    none = {name: cells[:0] for name, cells in one.items()}
    title = f"{type(model).__name__}, what fits are told"
    known = open_input(model, PrivateDataset(none, schema, unit=PUBLIC), None, None, target).facts
    plan = model._plan(replace(known, unit=Unit(ADD_REMOVE)), None)
    asked = plan.queries[told]
    # a plan may have steps besides, which are no queries: then one query is not all that is told
    is_known = told != slice(None) or len(list(iter_leaves(plan.event))) == len(plan.queries)
    if losses is None and len(asked) == 1 and is_known:
        losses = answer_losses(asked[0], claim, schema, one, none, Unit(ADD_REMOVE))
    return Case(title, mechanism, (one, none), claim, trials, {"reuse": False}, losses)


def answer_losses(
    query: Any, budget: Measure, schema: Schema, one: Any, other: Any, unit: Unit
) -> LossDistribution | None:
    """The exact distribution of the answer to one query about two tables; None if it is not a noised sum."""
    if isinstance(query, Joint):
        parts, weights = query.parts(schema, unit), query.weights(schema, unit)
    elif isinstance(query, Additive):
        parts, weights = (query.coded(schema, unit),), (1,)
    else:
        return None
    moved = query.sensitivity(schema, unit)
    here, there = (
        np.concatenate(
            [
                open_engine(rows, schema, unit).totals(part).ravel() * weight
                for part, weight in zip(parts, weights, strict=True)
            ]
        )
        for rows in (one, other)
    )
    return exact_losses(mechanism_for(budget, moved).distribution(moved), here, there)


def flatten(found: Any) -> Floats:
    """All numbers of an answer."""
    if isinstance(found, MomentsValue):
        found = found.count, found.mean, found.variance
    if isinstance(found, tuple):
        return np.concatenate([flatten(part) for part in found])
    return np.asarray(found, np.float64).ravel()


def whole_plan(model: PrivateEstimator, relation: Relation) -> Part:
    """Check that all that a fit asks costs no more together than what is charged for it."""
    made = model._plan(facts(relation), None)
    holds = accounting.satisfies(made.event, model._measure())
    claim = f"together at most {model._measure()!r}"
    title = f"the plan of {type(model).__name__}, {relation.value}"
    return statement(title, claim, holds, f"{made.event!r}")
