"""Attacks on joint vectors, choices by sums, trees and forests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet import accounting
from discreet.audit.exact import exact, statement
from discreet.audit.pairs import through_the_door
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.columns import Categorical, Integer, Real
from discreet.engines.arrays import Arrays
from discreet.guarantees.fits import exact_losses, fit_case, likelihood
from discreet.guarantees.selection.attacks import worst
from discreet.measures import ZCDP, ApproxDP, Measure, PureDP
from discreet.mechanisms import AdditiveMechanism, Distribution, PermuteAndFlip, mechanism_for
from discreet.models.facts import Facts
from discreet.models.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomDecisionForest,
    RandomDecisionForestRegressor,
)
from discreet.models.tree.calibration import SHARE
from discreet.models.tree.forest import RandomForest
from discreet.models.tree.greedy import LEAVES_OF_CLASSES, GreedyTree
from discreet.queries import Additive, Best, BestSplit, Choice, Count, Joint, Mean
from discreet.schema import Schema, Tree
from discreet.unit import ADD_REMOVE, REPLACE_ONE, Relation, Unit

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Row = tuple[int, int, float]
Rows = tuple[Row, ...]

SCHEMA = Schema(x=Integer(0, 3), c=Categorical(0, 1), v=Real(-1, 1))
RELATIONS = (ADD_REMOVE, REPLACE_ONE)
#: A row, and another that differs from it in every column.
HERE, THERE = (3, 1, 1.0), (0, 0, -1.0)
ROW = {"x": 3, "c": 1, "v": 1.0}


def engine(rows: Rows) -> Arrays:
    """These rows, as arrays."""
    columns = [np.array([row[i] for row in rows]) for i in range(3)]
    return Arrays({"x": columns[0].astype(int), "c": columns[1].astype(int), "v": columns[2] * 1.0})


def pair(relation: Relation) -> tuple[Rows, Rows]:
    """Neighbours that are as far apart as one row can move them."""
    return ((HERE,), () if relation is ADD_REMOVE else (THERE,))


def read(query: Joint | Additive, unit: Unit, rows: Rows) -> Integers:
    """The exact integers that are noised."""
    if isinstance(query, Joint):
        parts, weights = query.parts(SCHEMA, unit), query.weights(SCHEMA, unit)
    else:
        parts, weights = (query.coded(SCHEMA, unit),), (1,)
    found = [engine(rows).totals(p).ravel() * w for p, w in zip(parts, weights, strict=True)]
    return np.concatenate(found)


def vector_case(
    title: str,
    query: Joint | Additive,
    budget: Measure,
    relation: Relation,
    distribution: Distribution | None = None,
) -> Case:
    """One noised vector against what it is charged; `distribution` weakens its noise."""
    unit = Unit(relation)
    mechanism = mechanism_for(budget, query.sensitivity(SCHEMA, unit))
    assert isinstance(mechanism, AdditiveMechanism)
    stated = mechanism.distribution(query.sensitivity(SCHEMA, unit))
    noise: Distribution = stated if distribution is None else distribution
    first, second = pair(relation)
    here, there = read(query, unit, first), read(query, unit, second)
    moved = np.flatnonzero(here != there)  # other coordinates say nothing

    def mechanism_of(rows: Rows, trials: int) -> Integers:
        return noise.run(np.repeat(read(query, unit, rows)[moved][None], trials, axis=0))

    options = {"score": likelihood(noise, here[moved], there[moved])}
    losses = exact_losses(stated, here, there)
    title = f"{title}, {relation.value}"
    return Case(title, mechanism_of, (first, second), budget, 40_000, options, losses)


@attack("joint-vector")
def joint_vector() -> Iterator[Part]:
    query = Joint(Count(by="c"), Count(by=["c", "x"]), Mean("v", by="c"))
    for relation in RELATIONS:
        yield vector_case("two histograms and a mean", query, PureDP(2), relation)
        yield vector_case("the same, δ = 0.01", query, ApproxDP(2, "1/100"), relation)


def noise_of(query: Choice, rows: Rows, unit: Unit, epsilon: Fraction) -> list[Floats]:
    """The probabilities of a choice, group by group."""
    parts = [engine(rows).totals(part) for part in query.parts(SCHEMA, unit)]
    mechanism = PermuteAndFlip(epsilon, monotone=query.is_monotone(unit))
    sensitivity = query.sensitivity(SCHEMA, unit).l1
    return [mechanism.probabilities(row, sensitivity) for row in query.scores(parts, SCHEMA)]


def joined(distributions: list[Floats]) -> Floats:
    """The joint distribution of independent draws."""
    result = np.ones(1)
    for distribution in distributions:
        result = np.outer(result, distribution).ravel()
    return result


#: Rows that many cuts separate, and the tables that they join: none, and a crowd of one kind.
FEW = ((0, 0, -1.0), (1, 1, 1.0), (2, 0, 1.0), (3, 1, -1.0))
CROWDS: tuple[Rows, ...] = ((), FEW[:1] * 40)


def neighbours(relation: Relation, maximum: int = 1) -> Iterator[tuple[Rows, Rows]]:
    """Small tables, alone and beside a crowd, with all their neighbours."""
    for crowd in CROWDS:
        for size in range(maximum + 1):
            for few in combinations_with_replacement(FEW, size):
                rows = crowd + few
                if relation is ADD_REMOVE:
                    yield from ((rows, (*rows, row)) for row in FEW)
                else:
                    yield from (((*rows, a), (*rows, b)) for a in FEW for b in FEW if a < b)


def choice_result(
    title: str, query: Choice, relation: Relation, believed: Fraction = Fraction(1)
) -> AuditResult:
    """The distribution of a choice over small neighbours, against the ε = 1 that is charged for it.

    A weakened copy believes in that share of the sensitivity: its draws are those of a larger ε.
    """

    def distribution(rows: Rows) -> Floats:
        return joined(noise_of(query, rows, Unit(relation), 1 / believed))

    found = (exact(distribution(a), distribution(b), 1.0) for a, b in neighbours(relation))
    return worst(found, f"{title}, {relation.value}, small neighbours")


STUMP = Tree([("x", 1.5)])
CHOICES: dict[str, Choice] = {
    "counts": Best(Count(where="x > 1"), Count(where="c == 1"), Count()),
    "majority": BestSplit("c", {"x": (0.5, 1.5, 2.5)}, criterion="majority"),
    "gini": BestSplit("c", {"x": (0.5, 2.5)}),
    "gini in two nodes": BestSplit("c", {"x": (0.5, 2.5)}, by="node", derive={"node": STUMP}),
    "variance": BestSplit("v", {"x": (0.5, 2.5), "c": ()}, criterion="variance"),
    "deviation": BestSplit("c", {"x": (0.5, 2.5)}, criterion="deviation"),
    "deviation from shares in two nodes": BestSplit(
        "c",
        {"x": (0.5, 2.5)},
        criterion="deviation",
        by="node",
        derive={"node": STUMP},
        expected=((0.9, 0.1), (0.3, 0.7)),
    ),
    "deviation from shares in two nodes that choose together": BestSplit(
        "c",
        {"x": (0.5, 2.5)},
        criterion="deviation",
        by="node",
        derive={"node": STUMP},
        expected=((0.9, 0.1), (0.3, 0.7)),
        blocks=(0, 0),
    ),
    "deviation of numbers": BestSplit(
        "v", {"x": (0.5, 2.5), "c": ()}, criterion="deviation", expected=((0.4, 0.6),)
    ),
}


#: Columns of which a row may have no value, and one that says in which group it is.
GAPS = Schema(g=Categorical(0, 1), s=Categorical("a"), t=Categorical("a"), c=Categorical(0, 1))


def persons_result() -> AuditResult:
    """A person with two rows, of which one counts: each has a value in one of two cut columns alone.

    If each column counted its own rows, the person would be in two groups at once.
    """
    unit = Unit(ADD_REMOVE, "who", 1)
    query = BestSplit("c", {"s": (), "t": ()}, by="g", criterion="majority")
    crowd = [
        (g, s, t, c, f"{g}{s}{t}{c}") for g in (0, 1) for s, t, c in (("a", "", 1), ("", "a", 0))
    ]
    person = [(0, "a", "", 0, "one"), (1, "", "a", 0, "one")]

    def distribution(rows: list[tuple[Any, ...]]) -> Floats:
        columns = {name: [row[at] for row in rows] for at, name in enumerate((*GAPS.base, "who"))}
        table = Arrays({name: np.array(cells, object) for name, cells in columns.items()})
        parts = [table.totals(part) for part in query.parts(GAPS, unit)]
        mechanism = PermuteAndFlip(Fraction(1), monotone=query.is_monotone(unit))
        moved = query.sensitivity(GAPS, unit).l1
        return joined([mechanism.probabilities(row, moved) for row in query.scores(parts, GAPS)])

    few = [crowd * times for times in (0, 1)]
    found = (exact(distribution([*rows, *person]), distribution(rows), 1.0) for rows in few)
    return worst(found, "a person whose rows have gaps, in two groups")


#: Why runs of a choice stay below the ρ that is claimed.
COIN = "a choice of two says little about ρ in few runs; the exact distributions of choices stand above"


@attack("private-choice")
def private_choice() -> Iterator[Part]:
    yield persons_result()
    for relation in RELATIONS:
        for title, query in CHOICES.items():
            yield choice_result(title, query, relation)
    # a tie, and one row from one candidate to the other: nothing separates two scores more
    tie = Best(Count(where="c == 0"), Count(where="c == 1"))
    pair = tuple({"x": np.zeros(2), "c": np.array([c, 1]), "v": np.zeros(2)} for c in (0, 1))
    measures: tuple[Measure, ...] = PureDP(2), ZCDP("1/2")
    for budget in measures:
        door = through_the_door(tie, budget, SCHEMA, REPLACE_ONE)
        words = COIN if isinstance(budget, ZCDP) else ""
        title, options = f"a tie for {budget!r}, through the door", {"reuse": False}
        yield Case(title, door, pair, budget, 1_500, options, reason=words)


def facts(relation: Relation, target: str) -> Facts:
    """Three columns, one of them the target; under replace-one the one row is public."""
    features = tuple(name for name in SCHEMA if name != target)
    return Facts(SCHEMA, Unit(relation), features, target, 1 if relation is REPLACE_ONE else None)


def whole_plan(model: RandomForest | GreedyTree, known: Facts) -> Part:
    """Check that all that a fit asks costs no more together than what is charged for it."""
    made = model._plan(known, None)
    holds = accounting.satisfies(made.event, model._measure())
    title = f"the plan of {type(model).__name__}, {known.unit.relation.value}"
    return statement(title, f"together at most {model._measure()!r}", holds, f"{made.event!r}")


def drawn_query(model: RandomForest, known: Facts) -> Joint:
    """What a fit would ask about the leaves of trees drawn with seed 0."""
    forest = model._plan(known, None).recipe
    return model._queries(
        known, forest, model._draw_forest(known, forest, np.random.default_rng(0))
    )


def line_parts(model: RandomForest, known: Facts) -> Iterator[Part]:
    """The plan of a calibrated forest, and what it asks of bins of its score."""
    yield whole_plan(model, known)
    plan = model._plan(known, None)
    budget = plan.recipe.line
    title = f"{type(model).__name__}, bins of the score for {budget!r}"
    yield vector_case(title, plan.queries[1], budget, known.unit.relation)


def forests(relation: Relation) -> Iterator[tuple[str, RandomForest, Facts]]:
    """Small forests that share the budget, or the rows."""
    for share in ("budget", "rows"):
        for kind, target in ((RandomDecisionForest, "c"), (RandomDecisionForestRegressor, "v")):
            options: Any = {"epsilon": 2, "n_estimators": 4, "max_depth": 3, "random_state": 0}
            options["calibrate"] = False
            yield (
                f"{kind.__name__}, shared {share}",
                kind(share=share, **options),
                facts(relation, target),
            )


@attack("random-decision-forest")
def random_decision_forest() -> Iterator[Part]:
    for relation in RELATIONS:
        for title, model, known in forests(relation):
            yield whole_plan(model, known)
            query = drawn_query(model, known)
            yield vector_case(title, query, model._measure(), relation)
        gaussian = RandomDecisionForest(
            epsilon=2,
            delta="1/100",
            n_estimators=64,
            max_depth=2,
            share="budget",
            calibrate=False,
            random_state=0,
        )
        known = facts(relation, "c")
        query = drawn_query(gaussian, known)
        yield vector_case("64 trees, δ = 0.01", query, gaussian._measure(), relation)
        told: Any = {"epsilon": 20, "n_estimators": 4, "max_depth": 2, "calibrate": True}
        yield from line_parts(RandomDecisionForest(**told), known)
        yield from line_parts(RandomDecisionForest(**told, delta="1/100", share="rows"), known)
        yield from line_parts(RandomDecisionForestRegressor(**told), facts(relation, "v"))
    one: Any = {"n_estimators": 1, "max_depth": 2, "random_state": 0}
    single = RandomDecisionForest(epsilon=2, calibrate=False, **one)
    yield fit_case(single, PureDP(2), SCHEMA, ROW, "c")
    calibrated = RandomDecisionForest(epsilon=2 / SHARE, calibrate=True, **one)
    part = fit_case(calibrated, PureDP(2), SCHEMA, ROW, "c", told=slice(1, 2))
    yield replace(part, title="RandomDecisionForest, the bins of the score that fits are told")


@attack("decision-tree")
def decision_tree() -> Iterator[Part]:
    for relation in RELATIONS:
        for kind, target in ((DecisionTreeClassifier, "c"), (DecisionTreeRegressor, "v")):
            model, known = kind(epsilon=6, max_depth=2), facts(relation, target)
            yield whole_plan(model, known)
            asked = zip(model._plan(known, None).queries, model._parts(known), strict=True)
            for place, (query, budget) in enumerate(asked):
                title = f"{kind.__name__}, question {place}"
                if isinstance(query, Choice):
                    yield choice_result(title, query, relation)
                else:  # the target's moments, what nodes hold, or the leaves
                    yield vector_case(title, query, budget, relation)
    # at this ε for the leaves few runs show most
    stump = DecisionTreeClassifier(epsilon=Fraction(16, 5) / LEAVES_OF_CLASSES, max_depth=1)
    share = stump._parts(facts(ADD_REMOVE, "c"))[-1]
    yield fit_case(stump, share, SCHEMA, ROW, "c", told=slice(-1, None))


def noised_as_for_one_tree(relation: Relation) -> Callable[[], Case]:
    """A weakened copy: a forest whose every tree has the noise of a single one."""
    known = facts(relation, "c")
    model = RandomDecisionForest(n_estimators=4, max_depth=3, share="budget", random_state=0)
    query = drawn_query(model, known)
    alone = query.queries[0].sensitivity(SCHEMA, known.unit)
    mechanism = mechanism_for(PureDP(1), alone)
    assert isinstance(mechanism, AdditiveMechanism)
    distribution = mechanism.distribution(alone)
    return lambda: vector_case("noised as for one tree", query, PureDP(1), relation, distribution)
