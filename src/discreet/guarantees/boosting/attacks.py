"""Attacks on additive boosting: its first answer, its rounds, and the whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product

import numpy as np

from discreet import accounting
from discreet.audit.exact import statement
from discreet.audit.registry import Case, Part, attack
from discreet.columns import Categorical
from discreet.engines.arrays import Arrays
from discreet.guarantees.fits import fit_case
from discreet.guarantees.tree.attacks import RELATIONS, ROW, SCHEMA, facts, vector_case
from discreet.measures import ZCDP, GaussianDP, Measure
from discreet.models.boosting import AdditiveBoostingClassifier, AdditiveBoostingRegressor
from discreet.models.boosting.learning import Learned
from discreet.models.boosting.pairs import PairQueries
from discreet.models.facts import Facts
from discreet.queries import Additive, ClassResiduals, Joint
from discreet.schema import Schema
from discreet.unit import ADD_REMOVE, Relation, Unit

Model = AdditiveBoostingClassifier | AdditiveBoostingRegressor
KINDS = (
    (AdditiveBoostingClassifier, "c", 0),
    (AdditiveBoostingRegressor, "v", 0),
    (AdditiveBoostingClassifier, "c", "1/100"),
)


def whole_plan(model: Model, known: Facts) -> Part:
    """Check that all that a fit asks costs no more together than what is charged for it."""
    made = model._plan(known, None)
    holds = accounting.satisfies(made.event, model._measure())
    title = f"the plan of {type(model).__name__}, {known.unit.relation.value}"
    return statement(title, f"together at most {model._measure()!r}", holds, f"{made.event!r}")


def questions(model: Model, known: Facts) -> tuple[tuple[str, Joint | Additive, Measure], ...]:
    """The first question, one that is wrong about every row, and the target's, each with its share."""
    layout = model._public_layout(known)
    costs = model._costs(layout)
    # cells to the right, where one row is, score low, cells to the left, where the other is, high
    steep = [np.linspace(4.0, -4.0, size)[:, None] for size in layout.sizes.values()]
    group, clip = model._groups(layout)[-1][-1], model._default_clip()
    round_, _ = model._round(steep, np.zeros(1), clip, group, layout, known)
    asked: list[tuple[str, Joint | Additive, Measure]] = [
        ("first", model._first(layout, known), costs.first),
        ("a group of columns", round_, costs.rounds[-1][-1]),
    ]
    if model._target_query is not None and costs.target is not None:
        asked.append(("target", model._target_query(costs.target, known), costs.target))
    return tuple(asked)


def pair_questions(known: Facts) -> tuple[tuple[str, Joint, Measure], ...]:
    """The search for pairs, their counts and a round, with scores that are wrong about one row."""
    model = AdditiveBoostingClassifier(epsilon=16, rounds=1, cells=4, interactions=1)
    layout = model._public_layout(known)
    steep = [np.linspace(4.0, -4.0, size)[:, None] for size in layout.sizes.values()]
    shapes = Learned(steep, steep, np.zeros(1))
    asked = PairQueries(model, layout, shapes, model._default_clip(), known).plan(1)
    shares = model._costs(layout).pairs[:3]
    return tuple(zip(("search", "counts", "round of pairs"), asked, shares, strict=True))


def question_case(title: str, query: Joint | Additive, budget: Measure, relation: Relation) -> Case:
    """One question against its share of the budget; a share of ρ is that of a Gaussian mechanism."""
    case = vector_case(title, query, budget, relation)
    return replace(case, claim=GaussianDP(2 * budget.rho)) if isinstance(budget, ZCDP) else case


def many_classes(relation: Relation, number: int) -> Part:
    """Check that residuals of classes, over all pairs of rows, are no farther apart than stated."""
    # a row is in the one cell of `a`; `b` gives any two classes half of the whole each, or nearly
    ends = list(combinations(range(number), 2))
    schema = Schema(
        a=Categorical(0, 1), b=Categorical(*range(len(ends))), c=Categorical(*range(number))
    )
    scores = [{"b": [500 if k in pair else -500 for pair in ends]} for k in range(number)]
    query = ClassResiduals("c", "a", scores, [0] * number, classes=list(range(number)))
    unit = Unit(relation)
    coded, stated = query.coded(schema, unit), query.sensitivity(schema, unit)
    rows = [np.zeros((2, number), np.int64)] if relation is ADD_REMOVE else []
    for a, b, c in product(range(2), range(len(ends)), range(number + 1)):  # the last: not declared
        row = {"a": np.array([a]), "b": np.array([b]), "c": np.array([c])}
        rows.append(Arrays(row).totals(coded))
    apart = [here - there for here in rows for there in rows]
    if relation is ADD_REMOVE:
        apart = [here - rows[0] for here in rows]
    l1 = max(int(abs(step).sum()) for step in apart)
    l2_squared = max(int((step**2).sum()) for step in apart)
    holds = l1 <= stated.l1 and l2_squared <= stated.l2_squared
    title = f"{number} classes, all pairs of rows, {relation.value}"
    claim = f"L1 at most {stated.l1}, squared L2 at most {stated.l2_squared}"
    return statement(title, claim, holds, f"L1 {l1}, squared L2 {l2_squared}")


@attack("additive-boosting")
def additive_boosting() -> Iterator[Part]:
    small = AdditiveBoostingClassifier(epsilon=8, rounds=1, cells=2)
    yield whole_plan(small, facts(ADD_REMOVE, "c"))
    share = small._costs(small._public_layout(facts(ADD_REMOVE, "c"))).first
    yield fit_case(small, share, SCHEMA, ROW, "c", told=slice(1), trials=1_600)
    for relation in RELATIONS:
        for kind, target, delta in KINDS:
            model = kind(epsilon=4, delta=delta, rounds=1, cells=4)
            known = facts(relation, target)
            yield whole_plan(model, known)
            for title, query, budget in questions(model, known):
                name = f"{kind.__name__}, δ = {delta}, {title}"
                yield question_case(name, query, budget, relation)
        paired = AdditiveBoostingClassifier(epsilon=4, rounds=1, interactions=1)
        yield whole_plan(paired, facts(relation, "c"))
        for title, query, budget in pair_questions(facts(relation, "c")):
            yield question_case(title, query, budget, relation)
        yield many_classes(relation, 3)
        yield many_classes(relation, 5)
