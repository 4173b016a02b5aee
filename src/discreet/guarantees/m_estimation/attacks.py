"""Attacks on estimators fitted to a noised histogram: its cells, and what whole fits learn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from discreet import accounting
from discreet.audit.exact import statement
from discreet.audit.registry import Case, Part, attack
from discreet.columns import Categorical, Real
from discreet.engines.arrays import Arrays
from discreet.guarantees.fits import RELATIONS, add_noise, fit_case, likelihood
from discreet.measures import GaussianDP, Measure, PureDP
from discreet.mechanisms import AdditiveMechanism, Distribution, GaussianDistribution, mechanism_for
from discreet.models.facts import Facts
from discreet.models.m_estimation import HistogramMEstimator
from discreet.queries.additive import Additive
from discreet.schema import Schema
from discreet.unit import ADD_REMOVE, REPLACE_ONE, Relation, Unit

Integers = npt.NDArray[np.int64]
Table = dict[str, Any]

SCHEMAS = {
    "class": Schema(x=Real(0, 1), c=Categorical("a", "b"), y=Categorical(0, 1)),
    "number": Schema(x=Real(0, 1), c=Categorical("a", "b"), y=Real(0, 1)),
}


def model(target: str, **options: Any) -> HistogramMEstimator:
    """A classifier or a regressor on two columns in six cells."""
    inner = None if target == "class" else LinearRegression()
    return HistogramMEstimator(inner, bins={"x": 3}, **options)


def facts(target: str, relation: Relation) -> Facts:
    """Under replace-one the one row is public."""
    rows = 1 if relation is REPLACE_ONE else None
    return Facts(SCHEMAS[target], Unit(relation), ("x", "c"), "y", rows)


def table(rows: list[tuple[Any, ...]]) -> Table:
    """Columns of a few rows."""
    x, c, y = zip(*rows, strict=True) if rows else ((), (), ())
    return {"x": np.array(x, float), "c": np.array(c, object), "y": np.array(y, float)}


def pair(relation: Relation) -> tuple[Table, Table]:
    """Neighbours that are as far apart as one person can move them: in another cell and class."""
    one, other = (1.0, "a", 1), (0.0, "b", 0)
    return table([one]), table([] if relation is ADD_REMOVE else [other])


def totals(query: Additive, target: str, relation: Relation, rows: Table) -> Integers:
    """The exact integers of a query."""
    return Arrays(rows).totals(query.coded(SCHEMAS[target], Unit(relation))).ravel()


def noise_of(query: Additive, budget: Measure, target: str, relation: Relation) -> Distribution:
    """The noise that it gets."""
    moved = query.sensitivity(SCHEMAS[target], Unit(relation))
    mechanism = mechanism_for(budget, moved)
    assert isinstance(mechanism, AdditiveMechanism)
    return mechanism.distribution(moved)


def case(target: str, relation: Relation, delta: float, trials: int = 20_000) -> Case:
    """The noised cells against what is charged for them."""
    estimator = model(target, epsilon=2, delta=delta)
    query, budget = estimator._plan(facts(target, relation), None).queries[0], estimator._measure()
    distribution = noise_of(query, budget, target, relation)
    first, second = pair(relation)
    here, there = (totals(query, target, relation, rows) for rows in (first, second))
    moved = np.flatnonzero(here != there)
    claim: Any = budget
    if isinstance(distribution, GaussianDistribution):
        moved_by = query.sensitivity(SCHEMAS[target], Unit(relation))
        claim = accounting.cost(distribution.event(moved_by), GaussianDP)
    read = lambda rows: totals(query, target, relation, rows)[moved]  # noqa: E731
    options = {"score": likelihood(distribution, here[moved], there[moved])}
    title = f"cells for a {target}, {relation.value}, δ = {delta:g}"
    return Case(title, add_noise(distribution, read), (first, second), claim, trials, options)


def reached(target: str, relation: Relation) -> Part:
    """Check that no two neighbours of one row are farther apart than the sensitivity says."""
    query = model(target)._plan(facts(target, relation), None).queries[0]
    moved = query.sensitivity(SCHEMAS[target], Unit(relation))
    values = [0.0, 0.4, 1.0, float("nan")]
    ends = [(x, c, y) for x in values for c in ("a", "b", "other") for y in (0, 1)]
    found = [totals(query, target, relation, table([row])) for row in ends]
    found.append(np.zeros_like(found[0]))
    apart = [a - b for a in found for b in (found if relation is REPLACE_ONE else found[-1:])]
    holds = (
        max(int(abs(move).sum()) for move in apart) <= moved.l1
        and max(int((move * move).sum()) for move in apart) <= moved.l2_squared
    )
    title = f"rows in cells for a {target}, {relation.value}"
    return statement(title, "moves within the sensitivity", holds, "a pair of rows")


@attack("histogram-m-estimator")
def histogram_m_estimator() -> Iterator[Part]:
    row = {"x": 1.0, "c": "a", "y": 1}
    fast = HistogramMEstimator(GaussianNB(), bins={"x": 3}, epsilon=2)
    yield fit_case(fast, PureDP(2), SCHEMAS["class"], row, "y")
    for target, schema in SCHEMAS.items():
        for relation in RELATIONS:
            yield reached(target, relation)
            yield case(target, relation, 0.0)
            if target == "number":
                yield case(target, relation, 0.1)
            plan = model(target, epsilon=2, schema=schema, unit=relation)._plan(
                facts(target, relation), None
            )
            holds = accounting.satisfies(plan.event, PureDP(2))
            title = f"the plan for a {target}, {relation.value}"
            yield statement(title, "at most ε = 2", holds, f"{plan.event!r}")
