"""Attacks on synthetic tables: counts of cells, draws among marginals, whole plans and what fits are told."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet import accounting
from discreet.audit.exact import exact, statement
from discreet.audit.pairs import through_the_door
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.columns import Categorical, Real
from discreet.dataset import PrivateDataset
from discreet.engines.arrays import Arrays
from discreet.events import Repeat
from discreet.guarantees.fits import Listener, answer_losses, flatten, likelihood
from discreet.guarantees.selection.attacks import worst
from discreet.ledger import Ledger
from discreet.measures import ZCDP, GaussianDP, Measure, PureDP
from discreet.mechanisms import AdditiveMechanism, Distribution, Exponential, mechanism_for
from discreet.publish.synthetic import Synthesizer
from discreet.publish.synthetic.fitting import fit_marginals
from discreet.queries import Axis, CellCounts, FarMarginals, Joint
from discreet.schema import Schema
from discreet.unit import ADD_REMOVE, REPLACE_ONE, Relation, Unit

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Row = tuple[int, int, float]
Rows = tuple[Row, ...]

#: Rows without a declared value of a are a cell of their own.
SCHEMA = Schema(a=Categorical(0, 1), b=Categorical(0, 1, unknown=0), v=Real(0, 1))
AXES = (Axis("a"), Axis("b"), Axis("v", (0.5,)))
PAIRS = ((AXES[0], AXES[1]), (AXES[0], AXES[2]), (AXES[1], AXES[2]))
RELATIONS = (ADD_REMOVE, REPLACE_ONE)
#: A row, and another that is in another cell of every column.
HERE, THERE = (1, 1, 1.0), (0, 0, 0.0)
FEW = (HERE, THERE, (7, 1, 0.0))


def engine(rows: Rows) -> Arrays:
    """These rows, as arrays."""
    cells = np.array(rows, np.float64).reshape(len(rows), 3)
    return Arrays({"a": cells[:, 0].astype(int), "b": cells[:, 1].astype(int), "v": cells[:, 2]})


def pair(relation: Relation) -> tuple[Rows, Rows]:
    """Neighbours that are as far apart as one row can move them."""
    return (HERE,), () if relation is ADD_REMOVE else (THERE,)


def vector_case(
    title: str,
    query: Joint,
    budget: Measure,
    relation: Relation,
    distribution: Distribution | None = None,
) -> Case:
    """One noised vector of counts against what it is charged; `distribution` weakens its noise."""
    unit = Unit(relation)
    sensitivity = query.sensitivity(SCHEMA, unit)
    if distribution is None:
        mechanism = mechanism_for(budget, sensitivity)
        assert isinstance(mechanism, AdditiveMechanism)
        distribution = mechanism.distribution(sensitivity)
    noise: Distribution = distribution
    sides = pair(relation)
    here, there = (
        np.concatenate([engine(rows).totals(part).ravel() for part in query.parts(SCHEMA, unit)])
        for rows in sides
    )
    moved = np.flatnonzero(here != there)  # other coordinates say nothing
    totals = {
        len(rows) and rows[0]: found[moved]
        for rows, found in zip(sides, (here, there), strict=True)
    }

    def draws(rows: Rows, trials: int) -> Integers:
        return noise.run(np.repeat(totals[len(rows) and rows[0]][None], trials, axis=0))

    claim = GaussianDP(2 * budget.rho) if isinstance(budget, ZCDP) else budget
    options = {"score": likelihood(noise, here[moved], there[moved])}
    return Case(f"{title}, {relation.value}", draws, sides, claim, 50_000, options)


@attack("cell-counts")
def cell_counts() -> Iterator[Part]:
    for relation in RELATIONS:
        columns, pairs = Joint(*map(CellCounts, AXES)), Joint(*(CellCounts(*p) for p in PAIRS))
        yield vector_case("each column, Laplace", columns, PureDP(2), relation)
        yield vector_case("three pairs, Gaussian", pairs, ZCDP("1/2"), relation)


def choice(draws: int = 1, expected: tuple[float, ...] | None = None) -> FarMarginals:
    """Draws among three pairs, far from a model that expects so many rows in every cell."""
    sizes = [CellCounts(*axes).sizes(SCHEMA) for axes in PAIRS]
    tables = [
        np.full(int(np.prod(size)), rows)
        for size, rows in zip(sizes, expected or (0.0,) * 3, strict=True)
    ]
    return FarMarginals(PAIRS, tables, draws=draws)


def distribution_of(query: FarMarginals, rows: Rows, unit: Unit, budget: Measure) -> Floats:
    """The probability of every sequence of draws."""
    scores = query.scores([engine(rows).totals(part) for part in query.parts(SCHEMA, unit)])
    factor = float(Exponential(budget).epsilon(query.draws))
    factor /= 2 * query.sensitivity(SCHEMA, unit).l1
    found = []
    for sequence in product(range(len(query.counts)), repeat=query.draws):
        chance = 1.0
        for at, place in enumerate(sequence):
            allowed = np.asarray(query.rule(sequence[:at]), np.float64)
            weights = allowed * np.exp(factor * (scores - scores.max()))
            chance *= weights[place] / weights.sum()
        found.append(chance)
    return np.array(found)


def neighbours(relation: Relation) -> Iterator[tuple[Rows, Rows]]:
    """Small tables, alone and beside a crowd, with neighbours."""
    for crowd in ((), (HERE,) * 12, (THERE,) * 12):
        if relation is ADD_REMOVE:
            yield from ((crowd, (*crowd, row)) for row in FEW)
        else:
            yield from (((*crowd, a), (*crowd, b)) for a in FEW for b in FEW if a < b)


def choice_result(
    title: str, query: FarMarginals, relation: Relation, budget: Measure
) -> AuditResult:
    """The distribution of draws over small neighbours, against what is charged for them."""
    unit = Unit(relation)
    found = (
        exact(
            distribution_of(query, first, unit, budget),
            distribution_of(query, second, unit, budget),
            budget,
        )
        for first, second in neighbours(relation)
    )
    return worst(found, f"{title}, {relation.value}, small neighbours")


@attack("far-marginals")
def far_marginals() -> Iterator[Part]:
    for relation in RELATIONS:
        for expected in ((4, 0, 0), (0, 9, 2)):
            yield choice_result(f"expected {expected}", choice(1, expected), relation, PureDP(2))
            yield choice_result(
                f"two draws, expected {expected}", choice(2, expected), relation, ZCDP("1/8")
            )
        # both the crowd and the row are where one model expects nobody and the other expects half each
        apart = FarMarginals(PAIRS[:2], [[9, 0, 0, 0, 0, 0], [0, 0, 6, 0, 0, 6]])
        yield choice_result("expected elsewhere", apart, relation, PureDP(2))
    # a row that takes one marginal away from the model and brings another nearer
    one = {"a": np.array([1]), "b": np.array([1]), "v": np.array([1.0])}
    none = {name: cells[:0] for name, cells in one.items()}
    query = FarMarginals(PAIRS[:2], [[0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 2]])
    door = through_the_door(query, PureDP(2), SCHEMA)
    yield Case("through the door", door, (one, none), PureDP(2), 6_000, {"reuse": False})


def whole_plan(model: Synthesizer, unit: Unit) -> Part:
    """Check that all that a fit asks costs no more together than what is charged for it."""
    rows = 1 if unit.length_is_public else None
    event = model._plan(SCHEMA, unit, rows).event
    holds = accounting.satisfies(event, model.measure)
    claim = f"together at most {model.measure!r}"
    return statement(f"the plan of {model!r}, {unit.relation.value}", claim, holds, f"{event!r}")


def told_case(model: Synthesizer, claim: Measure, trials: int) -> Case:
    """What fits really learn about one row, or none, from their first question, as one row of numbers."""

    def mechanism(table: Any, trials: int) -> Floats:
        data = PrivateDataset(table, SCHEMA, ledger=Ledger(limit=model.measure.times(trials + 1)))
        plan = model.plan(data)
        heard = []
        with data.prepaid(Repeat(plan.event, trials)) as door:
            for _ in range(trials):
                listener = Listener(door)
                fit_marginals(plan.recipe, listener, None, 2**10, 1)  # type: ignore[arg-type]
                heard.append(np.concatenate([flatten(found) for found in listener.told[:1]]))
        return np.array(heard)

    one = {"a": np.array([1]), "b": np.array([1]), "v": np.array([1.0])}
    none = {name: cells[:0] for name, cells in one.items()}
    title = f"{model!r}, what fits are told"
    first = model._plan(SCHEMA, Unit(ADD_REMOVE), None).recipe.questions()[0]
    losses = answer_losses(first.query, claim, SCHEMA, one, none, Unit(ADD_REMOVE))
    return Case(title, mechanism, (one, none), claim, trials, {"reuse": False}, losses)


@attack("synthetic-tables")
def synthetic_tables() -> Iterator[Part]:
    units = [Unit(ADD_REMOVE), Unit(REPLACE_ONE)]
    for unit in units:
        for delta in (0, "1/1000"):
            yield whole_plan(Synthesizer(2, delta, bins={"v": (0.5,)}, rounds=2), unit)
            yield whole_plan(Synthesizer(2, delta, target="b", bins={"v": (0.5,)}), unit)
        model = Synthesizer(2, "1/1000", bins={"v": (0.5,)}, rounds=1)
        recipe = model._plan(SCHEMA, unit, 1 if unit.length_is_public else None).recipe
        first, *others = recipe.questions()
        relation = unit.relation
        assert relation is not None
        yield vector_case("counts of each column", first.query, first.budget, relation)
        yield choice_result(
            "the choice of a tree", choice(2, (0, 9, 2)), relation, others[0].budget
        )
        pairs = Joint(*(CellCounts(*p) for p in PAIRS[:2]))
        yield vector_case("counts of the tree", pairs, others[1].budget, relation)
    pure = Synthesizer(8, bins={"v": (0.5,)}, rounds=0)
    share = pure._plan(SCHEMA, units[0], None).recipe.first.measure
    yield told_case(pure, share, 800)
