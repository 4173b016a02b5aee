"""Attacks on checks: how far one person moves their counts, and what the noise leaves of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from discreet.accounting import satisfies
from discreet.audit.exact import statement
from discreet.audit.pairs import through_the_door
from discreet.audit.registry import Case, Part, attack
from discreet.dataset import PrivateDataset
from discreet.engines import open_engine
from discreet.guarantees.fits import exact_losses
from discreet.guarantees.queries.attacks import COMMON, SCHEMA, UNITS, Integers, Row, told_apart
from discreet.ledger import Ledger
from discreet.measures import ZCDP, ApproxDP, Measure, PureDP
from discreet.mechanisms import Gaussian, Laplace, mechanism_for
from discreet.queries import Check, Mean
from discreet.unit import ADD_REMOVE, REPLACE_ONE, Unit

#: Rows whose cells are in every combination of states: below, within, above, missing, text; known or not.
ANY: tuple[Row, ...] = tuple(
    product((-7.0, 0.5, 1e300, math.nan, "7,5"), (-1.0, 2.0, 5.0, math.nan), ("a", "?"))
)
FAR: tuple[Row, ...] = ((0.5, 2.0, "a"), (1e300, 5.0, "?"), ("7,5", -1.0, "b"))
#: A person: rows, and the id they have.
Person = tuple[Sequence[Row], str | None]


def table(person: Sequence[Row], who: str | None) -> dict[str, Any]:
    """The common rows, each of a different person, and those of the one person."""
    rows = [*COMMON, *person]
    ids = [f"{at}" for at in range(len(COMMON))] + [who] * len(person)
    return {
        "x": np.array([row[0] for row in rows], object),
        "y": np.array([row[1] for row in rows], np.float64),
        "c": np.array([row[2] for row in rows], object),
        "who": np.array(ids, object),
    }


def people(unit: Unit) -> list[Person]:
    """All that the one person may have: a row, with or without id; with ids up to two above the limit."""
    single: list[Person] = [((row,), "the one") for row in ANY]
    if unit.id_column is None:
        return single
    most = unit.rows_per_person
    many: list[Person] = [((row,) * n, "the one") for row in FAR for n in range(1, most + 3)]
    mixed: list[Person] = [((*FAR, FAR[0])[:n], "the one") for n in range(2, most + 3)]
    alone: list[Person] = [((row,), None) for row in FAR]
    return [*single, *many, *mixed, *alone]


def count_states(query: Check, unit: Unit, person: Person) -> Integers:
    """The counts of a check before noise, for the table with this person."""
    engine = open_engine(table(*person), SCHEMA, unit)
    parts = [engine.totals(part) for part in query.parts(SCHEMA, unit)]
    return query.vector(parts, SCHEMA)


def find_farthest(query: Check, unit: Unit) -> tuple[Integers, Integers, int, int]:
    """The neighbours that are farthest apart in L1, and the largest L1 and squared L2 distances."""
    found = np.stack([count_states(query, unit, person) for person in people(unit)])
    start = found
    if unit.relation is ADD_REMOVE:
        start = count_states(query, unit, ((), None))[None]
    gaps = np.abs(found[None] - start[:, None])
    l1 = gaps.sum(axis=2)
    first, second = np.unravel_index(np.argmax(l1), l1.shape)
    return start[first], found[second], int(l1.max()), int((gaps**2).sum(axis=2).max())


@attack("checked-table")
def checked_table() -> Iterator[Part]:
    for query, unit in product((Check(), Check("c")), UNITS):
        bound = query.sensitivity(SCHEMA, unit)
        here, there, l1, l2_squared = find_farthest(query, unit)
        yield statement(
            f"{query!r}, {unit}",
            "its counts move by at most their sensitivity",
            l1 <= bound.l1 and l2_squared <= bound.l2_squared,
            f"L1 {l1} of {bound.l1}, squared L2 {l2_squared} of {bound.l2_squared}",
            probe="sensitivity",
        )
        if not query.names:
            noise = Laplace(1).distribution(bound)
            losses = exact_losses(noise, here, there)
            run = told_apart(noise, here, there)
            title = f"{query!r}, {unit}, Laplace noise"
            yield Case(title, run, (here, there), 1.0, 20_000, losses=losses)
    unit = UNITS[3]
    bound = Check().sensitivity(SCHEMA, unit)
    here, there, _, _ = find_farthest(Check(), unit)
    noise = Gaussian(rho="1/2").distribution(bound)
    run, losses = told_apart(noise, here, there), exact_losses(noise, here, there)
    yield Case("Gaussian noise", run, (here, there), ZCDP("1/2"), 20_000, losses=losses)
    yield from _through_the_door()
    yield from _along()


def _through_the_door() -> Iterator[Part]:
    """The released counts of neighbours: a person above the limit is in the table or not."""
    query, budget, unit = Check(), PureDP(4), UNITS[2]
    over = (FAR[1],) * (unit.rows_per_person + 1)
    people_apart: tuple[Person, Person] = (((), None), (over, "the one"))
    pair = tuple(table(*person) for person in people_apart)
    first, second = (count_states(query, unit, person) for person in people_apart)
    bound = query.sensitivity(SCHEMA, unit)
    losses = exact_losses(mechanism_for(budget, bound).distribution(bound), first, second)
    door = through_the_door(query, budget, SCHEMA, unit)
    yield Case(f"{query!r}, {unit}, through the door", door, pair, budget, 500, losses=losses)


def _along() -> Iterator[Part]:
    """What a check along with an answer costs: no more than the budget that was given for both."""
    budgets: tuple[Measure, ...] = (PureDP(1), ApproxDP(1, "1/1000000"), ZCDP("1/8"))
    for budget, unit in product(budgets, (UNITS[0], Unit(REPLACE_ONE, "who", 2))):
        ledger = Ledger(limit=budget, unit=unit)
        data = PrivateDataset(table((), None), SCHEMA, ledger=ledger)
        event = data.release(Mean("x", by="c"), budget, check=True).event
        yield statement(
            f"a check along with a mean, {budget!r}, {unit}",
            "costs at most the budget of both",
            satisfies(event, budget),
            f"its event is {event!r}",
        )
