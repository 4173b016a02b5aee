"""Attacks on k-means: each answer of its plans, and the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from discreet import accounting
from discreet.audit.registry import Case, Part, attack
from discreet.guarantees.cluster.attacks_blocks import released_blocks
from discreet.guarantees.fits import (
    RELATIONS,
    ROW,
    SCHEMA,
    Floats,
    Integers,
    Rows,
    add_noise,
    case,
    exact_losses,
    facts,
    fit_case,
    likelihood,
    pair,
    whole_plan,
)
from discreet.measures import GaussianDP, Measure, PureDP
from discreet.mechanisms import Distribution, NoNoise, mechanism_for
from discreet.models.cluster import KMeans
from discreet.models.cluster.blocks import SIZE, BlockCentres, block_sensitivity
from discreet.queries import Additive
from discreet.step import CodedRows
from discreet.unit import ADD_REMOVE, Relation, Unit


def lloyd_parts(model: KMeans, relation: Relation) -> list[tuple[str, Additive, Measure]]:
    """What k-means asks, each with its share of the budget; rounds with centres in two corners."""
    lloyd = model._lloyd(facts(relation))
    asked = zip(lloyd.queries(), lloyd.measures(model._measure()), strict=True)
    rounds = lloyd.space.sums(np.array([[1.0, 1.0], [-1.0, -1.0]]))
    starts = len(lloyd.queries()) - lloyd.rounds
    return [
        ("the start", query, budget)
        if index < starts
        else (f"round {index + 1 - starts}", rounds, budget)
        for index, (query, budget) in enumerate(asked)
    ]


@attack("k-means")
def k_means() -> Iterator[Part]:
    for relation in RELATIONS:
        for delta, init in ((0.0, "grid"), (0.0, "split"), (0.01, "grid")):
            model = KMeans(2, epsilon=4.0, delta=delta, init=init, schema=SCHEMA, unit=relation)
            yield whole_plan(model, relation)
            parts = lloyd_parts(model, relation)
            for title, query, budget in (parts[0], parts[-1]):
                yield case(f"{init}, δ = {delta:g}, {title}", query, budget, relation)
    model = KMeans(2, epsilon=15, init="split", random_state=0)
    start = model._lloyd(facts(ADD_REMOVE)).measures(model._measure())[0]
    yield fit_case(model, start, SCHEMA, ROW, told=slice(1))


def block_sums(starts: Floats, blocks: int) -> Callable[[Rows], Integers]:
    """The exact sums of the blocks' centres."""
    step = BlockCentres(("x", "y"), starts, blocks, NoNoise())

    def read(rows: Rows) -> Integers:
        codes = (np.array(rows, np.float64).reshape(len(rows), 2) * SIZE).astype(np.int64)
        shares = step.run(CodedRows(codes, ("x", "y"), SCHEMA))
        return np.asarray(np.rint(shares.ravel() * (SIZE * blocks)), np.int64)

    return read


def blocks_case(
    relation: Relation,
    budget: Measure,
    *,
    distribution: Distribution | None = None,
    trials: int = 40_000,
) -> Case:
    """Sample and aggregate in eight blocks, from starts in the corner that a row is farthest from."""
    unit, blocks, starts = Unit(relation), 8, np.zeros((1, 1, 2))
    moved = block_sensitivity(SCHEMA, unit, ("x", "y"), 1, blocks)
    stated = mechanism_for(budget, moved).distribution(moved)
    chosen = stated if distribution is None else distribution
    read = block_sums(starts, blocks)
    first, second = pair(relation)
    claim: Any = (
        budget if isinstance(budget, PureDP) else accounting.cost(chosen.event(moved), GaussianDP)
    )
    options = {"score": likelihood(chosen, read(first), read(second))}
    title = f"{blocks} blocks, {budget!r}, {relation.value}"
    losses = exact_losses(stated, read(first), read(second))
    return Case(title, add_noise(chosen, read), (first, second), claim, trials, options, losses)


@attack("k-means-blocks")
def k_means_blocks() -> Iterator[Part]:
    for relation in RELATIONS:
        yield blocks_case(relation, PureDP(2))
        model = KMeans(2, method="sample_aggregate", epsilon=2.0, schema=SCHEMA, unit=relation)
        yield whole_plan(model, relation)
    yield from released_blocks()
    single = KMeans(1, method="sample_aggregate", epsilon=12.0, random_state=0)
    step = single._plan(facts(ADD_REMOVE), None).recipe
    read = block_sums(step.starts, step.blocks)
    losses = exact_losses(step.distribution, *(read(rows) for rows in pair(ADD_REMOVE)))
    yield fit_case(single, PureDP(12), SCHEMA, ROW, trials=600, losses=losses)
