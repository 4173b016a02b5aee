"""Attacks on counts of persons: a person with any rows, in any groups, is in the table or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np

from discreet.audit.exact import statement
from discreet.audit.pairs import through_the_door
from discreet.audit.registry import Case, Part, attack
from discreet.engines import open_engine
from discreet.guarantees.fits import exact_losses
from discreet.guarantees.queries.attacks import Integers, told_apart
from discreet.measures import PureDP
from discreet.mechanisms import Laplace
from discreet.queries import CountPeople, Query, RowsPerPerson
from discreet.schema import Categorical, Schema
from discreet.unit import ADD_REMOVE, REPLACE_ONE, Unit

SCHEMA = Schema(ward=Categorical("a", "b", "c", "d", "e"), sex=Categorical("F", "M"))
UNITS = tuple(
    Unit(relation, "who", most) for relation in (ADD_REMOVE, REPLACE_ONE) for most in (1, 2)
)
QUERIES: tuple[Query, ...] = (
    CountPeople(),
    CountPeople(where="sex == 'F'"),
    CountPeople(by="ward"),
    CountPeople(by=("ward", "sex"), where="ward != 'e'"),
    RowsPerPerson(3),
    RowsPerPerson(2, where="sex == 'F'"),
)
Row = tuple[str, str]
COMMON: tuple[Row, ...] = (("a", "F"), ("b", "M"), ("a", "M"))
CELLS: tuple[Row, ...] = tuple(product(("a", "b", "c", "e", "?"), ("F", "M")))


def table(person: Sequence[Row]) -> dict[str, Any]:
    """The common rows, each of a different person, and those of the one person."""
    rows = [*COMMON, *person]
    who = [f"{at}" for at in range(len(COMMON))] + ["the one"] * len(person)
    return {
        "ward": np.array([row[0] for row in rows], object),
        "sex": np.array([row[1] for row in rows], object),
        "who": np.array(who, object),
    }


def people() -> list[Sequence[Row]]:
    """All persons with up to two rows, some with more, in up to five groups, and one without any."""
    wide: list[Sequence[Row]] = [CELLS, CELLS[::2], CELLS[1::2], CELLS[:3] * 2, CELLS[4:6] * 3]
    pairs: list[Sequence[Row]] = list(combinations_with_replacement(CELLS, 2))
    return [(), *((cell,) for cell in CELLS), *pairs, *wide]


def count_exactly(query: Query, unit: Unit, person: Sequence[Row]) -> Integers:
    """The counts before noise, for the table with this person."""
    engine = open_engine(table(person), SCHEMA, unit)
    if isinstance(query, RowsPerPerson):
        return query.vector([engine.totals(p) for p in query.parts(SCHEMA, unit)], SCHEMA)
    return engine.totals(query.coded(SCHEMA, unit)).ravel()


def find_farthest(query: Query, unit: Unit) -> tuple[Integers, Integers, int, int]:
    """The neighbours that are farthest apart in L1, and the largest L1 and squared L2 distances."""
    found = np.stack([count_exactly(query, unit, person) for person in people()])
    start = found if unit.relation is REPLACE_ONE else found[:1]
    gaps = np.abs(found[None] - start[:, None])
    l1 = gaps.sum(axis=2)
    first, second = np.unravel_index(np.argmax(l1), l1.shape)
    return start[first], found[second], int(l1.max()), int((gaps**2).sum(axis=2).max())


@attack("counted-people")
def counted_people() -> Iterator[Part]:
    for query, unit in product(QUERIES, UNITS):
        bound = query.sensitivity(SCHEMA, unit)
        here, there, l1, l2_squared = find_farthest(query, unit)
        yield statement(
            f"{query!r}, {unit}",
            "its counts move by at most their sensitivity",
            l1 <= bound.l1 and l2_squared <= bound.l2_squared,
            f"L1 {l1} of {bound.l1}, squared L2 {l2_squared} of {bound.l2_squared}",
            probe="sensitivity",
        )
        if query in (QUERIES[2], QUERIES[4]) and unit.rows_per_person == 2:
            noise = Laplace(1).distribution(bound)
            losses = exact_losses(noise, here, there)
            run = told_apart(noise, here, there)
            title = f"{query!r}, {unit}, Laplace noise"
            yield Case(title, run, (here, there), 1.0, 20_000, losses=losses)
    for query in (QUERIES[2], QUERIES[4]):
        pair = (table(()), table(CELLS))
        first, second = (count_exactly(query, UNITS[1], person) for person in ((), CELLS))
        noise = Laplace(2).distribution(query.sensitivity(SCHEMA, UNITS[1]))
        losses = exact_losses(noise, first, second)
        door = through_the_door(query, PureDP(2), SCHEMA, UNITS[1])
        title = f"{query!r}, {UNITS[1]}, through the door"
        yield Case(title, door, pair, PureDP(2), 1_500, losses=losses)
