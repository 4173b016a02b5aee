"""Attacks on k-means, principal components and scaling: each answer of their plans, and the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet import accounting
from discreet.audit.exact import statement
from discreet.audit.registry import Case, Part, attack
from discreet.columns import Real
from discreet.dataset import PrepaidDoor, PrivateDataset
from discreet.engines.arrays import Arrays
from discreet.events import Repeat
from discreet.ledger import Ledger
from discreet.measures import ZCDP, GaussianDP, Measure, PureDP
from discreet.mechanisms import (
    AdditiveMechanism,
    GaussianLaw,
    LaplaceLaw,
    Law,
    Mechanism,
    NoNoise,
    mechanism_for,
)
from discreet.models.base import PrivateEstimator
from discreet.models.cluster import KMeans
from discreet.models.cluster.blocks import SIZE, BlockCentres, block_sensitivity
from discreet.models.decomposition import PCA
from discreet.models.facts import Facts
from discreet.models.inputs import opened
from discreet.models.preprocessing import StandardScaler
from discreet.queries import Additive, Query
from discreet.release import Release
from discreet.schema import Schema
from discreet.step import CodedRows, Step
from discreet.unit import ADD_REMOVE, REPLACE_ONE, Relation, Unit

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
    """Neighbours that are as far apart as one person can bring them."""
    return ((FAR,), ()) if relation is ADD_REMOVE else ((FAR,), (OPPOSITE,))


def totals(query: Additive, unit: Unit, rows: Rows) -> Integers:
    """The exact integers of a query on these rows."""
    columns = np.array(rows, np.float64).reshape(len(rows), 2)
    return (
        Arrays({"x": columns[:, 0], "y": columns[:, 1]}).totals(query.coded(SCHEMA, unit)).ravel()
    )


def law_of(query: Additive, how: Measure | Mechanism, unit: Unit) -> Law:
    """The noise that a query gets."""
    moved = query.sensitivity(SCHEMA, unit)
    mechanism = how if isinstance(how, Mechanism) else mechanism_for(how, moved)
    assert isinstance(mechanism, AdditiveMechanism)
    return mechanism.law(moved)


def noised(law: Law, read: Callable[[Rows], Integers]) -> Callable[..., Integers]:
    """The mechanism that noises what is read of rows."""

    def mechanism(rows: Rows, trials: int) -> Integers:
        return law.run(np.repeat(read(rows)[None], trials, axis=0))

    return mechanism


def likelihood(law: Law, here: Integers, there: Integers) -> Callable[[Floats], Floats]:
    """The logarithm of how much likelier an outcome is on one side, up to a factor."""
    if isinstance(law, LaplaceLaw):
        scale = float(law.scale)
        return lambda found: np.asarray(
            (abs(found - there) - abs(found - here)).sum(axis=1) / scale
        )
    assert isinstance(law, GaussianLaw)
    step = (here - there) / float(law.sigma)
    return lambda found: np.asarray((found - there) / float(law.sigma) @ step)


def case(
    title: str,
    query: Additive,
    how: Measure | Mechanism,
    relation: Relation,
    *,
    law: Law | None = None,
    trials: int = 20_000,
) -> Case:
    """One answer of a plan against the share of the budget that it may cost; `law` weakens its noise."""
    unit = Unit(relation)
    chosen = law_of(query, how, unit) if law is None else law
    first, second = pair(relation)
    here, there = totals(query, unit, first), totals(query, unit, second)
    # noise is independent by coordinate: those that no person moves tell nothing
    moved = np.flatnonzero(here != there)
    measure = how.measure if isinstance(how, Mechanism) else how
    claim: Any = GaussianDP(2 * measure.rho) if isinstance(measure, ZCDP) else measure
    options = {"score": likelihood(chosen, here[moved], there[moved])}
    read = lambda rows: totals(query, unit, rows)[moved]  # noqa: E731
    return Case(
        f"{title}, {relation.value}", noised(chosen, read), (first, second), claim, trials, options
    )


class Listener:
    """A door that a fit goes through, and that keeps what the fit was told."""

    def __init__(self, door: PrepaidDoor) -> None:
        self._door, self.entry = door, door.entry
        self.told: list[Any] = []

    def release(self, query: Query, how: Any) -> Release:
        found = self._door.release(query, how)
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
) -> Case:
    """What fits are really told about one row, or none: some of their answers, all numbers in a row.

    Each run is a whole fit: what it plans is paid, and what it learns comes through the door. Only the
    ledger is written once for all runs.
    """

    def mechanism(table: Any, trials: int) -> Floats:
        ledger = Ledger(limit=model._measure().times(trials + 1))
        data = PrivateDataset(table, schema, ledger=ledger)
        source = opened(model, data, None, None, target)
        plan = model._plan(source.facts, None)
        heard = []
        with data.prepaid(Repeat(plan.event, trials)) as door:
            for _ in range(trials):
                listener = Listener(door)
                model._remember(source.facts, source.named)
                model._train(source.facts, listener)  # type: ignore[arg-type]
                heard.append(np.concatenate([flat(found) for found in listener.told[told]]))
        return np.array(heard)

    one = {name: np.array([cell]) for name, cell in row.items()}
    none = {name: cells[:0] for name, cells in one.items()}
    title = f"{type(model).__name__}, what fits are told"
    return Case(title, mechanism, (one, none), claim, trials, {"reuse": False})


def flat(found: Any) -> Floats:
    """All numbers of an answer."""
    if isinstance(found, tuple):
        return np.concatenate([flat(part) for part in found])
    return np.asarray(found, np.float64).ravel()


def whole_plan(model: PrivateEstimator, relation: Relation) -> Part:
    """Whether all that a fit asks costs together what is charged for it."""
    made = model._plan(facts(relation), None)
    holds = accounting.satisfies(made.event, model._measure())
    claim = f"together at most {model._measure()!r}"
    title = f"the plan of {type(model).__name__}, {relation.value}"
    return statement(title, claim, holds, f"{made.event!r}")


def lloyd_parts(model: KMeans, relation: Relation) -> list[tuple[str, Additive, Measure]]:
    """What k-means asks, each with its share of the budget; rounds with centres in two corners."""
    lloyd = model._lloyd(facts(relation))
    asked = zip(lloyd.queries(), lloyd.measures(model._measure()), strict=True)
    rounds = lloyd.space.sums(np.array([[1.0, 1.0], [-1.0, -1.0]]))
    starts = len(lloyd.queries()) - lloyd.rounds
    return [
        ("the start", query, how)
        if index < starts
        else (f"round {index + 1 - starts}", rounds, how)
        for index, (query, how) in enumerate(asked)
    ]


@attack("k-means")
def k_means() -> Iterator[Part]:
    for relation in RELATIONS:
        for delta, init in ((0.0, "grid"), (0.0, "split"), (0.01, "grid")):
            model = KMeans(2, epsilon=4.0, delta=delta, init=init, schema=SCHEMA, unit=relation)
            yield whole_plan(model, relation)
            parts = lloyd_parts(model, relation)
            for title, query, how in (parts[0], parts[-1]):
                yield case(f"{init}, δ = {delta:g}, {title}", query, how, relation)
    model = KMeans(2, epsilon=4.0, init="split", random_state=0)
    start = model._lloyd(facts(ADD_REMOVE)).measures(model._measure())[0]
    yield fit_case(model, start, SCHEMA, ROW, told=slice(1), trials=600)


def blocks_case(
    relation: Relation, how: Measure, *, law: Law | None = None, trials: int = 40_000
) -> Case:
    """Sample and aggregate in eight blocks, from starts in the corner that a row is farthest from."""
    unit, blocks, starts = Unit(relation), 8, np.zeros((1, 1, 2))
    moved = block_sensitivity(SCHEMA, unit, ("x", "y"), 1, blocks)
    chosen = mechanism_for(how, moved).law(moved) if law is None else law
    step = BlockCentres(("x", "y"), starts, blocks, NoNoise())

    def read(rows: Rows) -> Integers:
        codes = (np.array(rows, np.float64).reshape(len(rows), 2) * SIZE).astype(np.int64)
        shares = step.run(CodedRows(codes, ("x", "y"), SCHEMA))
        return np.asarray(np.rint(shares.ravel() * (SIZE * blocks)), np.int64)

    first, second = pair(relation)
    claim: Any = (
        how if isinstance(how, PureDP) else accounting.cost(chosen.event(moved), GaussianDP)
    )
    options = {"score": likelihood(chosen, read(first), read(second))}
    title = f"{blocks} blocks, {how!r}, {relation.value}"
    return Case(title, noised(chosen, read), (first, second), claim, trials, options)


@attack("k-means-blocks")
def k_means_blocks() -> Iterator[Part]:
    for relation in RELATIONS:
        yield blocks_case(relation, PureDP(2))
        model = KMeans(2, method="sample_aggregate", epsilon=2.0, schema=SCHEMA, unit=relation)
        yield whole_plan(model, relation)
    single = KMeans(1, method="sample_aggregate", epsilon=2.0, random_state=0)
    yield fit_case(single, PureDP(2), SCHEMA, ROW, trials=400)


@attack("pca")
def pca() -> Iterator[Part]:
    for relation in RELATIONS:
        for delta in (0.0, 0.01):
            model = PCA(1, epsilon=2.0, delta=delta, schema=SCHEMA, unit=relation)
            query, how = model._query(facts(relation)), model._how()
            yield whole_plan(model, relation)
            yield case(f"δ = {delta:g}", query, how, relation)
    yield fit_case(PCA(1, epsilon=2.0), PureDP(2), SCHEMA, ROW)


@attack("standard-scaler")
def standard_scaler() -> Iterator[Part]:
    for relation in RELATIONS:
        model = StandardScaler(epsilon=2.0, schema=SCHEMA, unit=relation)
        yield whole_plan(model, relation)
        yield case("Laplace noise", model._query(facts(relation)), PureDP(2), relation)
    yield fit_case(StandardScaler(epsilon=2.0), PureDP(2), SCHEMA, ROW)
