"""Attacks on means between bought bounds: the histogram, the sums under all bounds, and both together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.accounting import satisfies
from discreet.audit.exact import statement
from discreet.audit.pairs import through_the_door
from discreet.audit.registry import Case, Part, attack
from discreet.engines import open_engine
from discreet.guarantees.queries.attacks import SCHEMA, UNITS, Row, persons, table
from discreet.measures import ZCDP, ApproxDP, PureDP
from discreet.queries import Mean, MeanEstimate, Moments, Query, Tighten, Variance
from discreet.queries.tightened import Tightened, find_edges
from discreet.schema import Schema
from discreet.unit import ADD_REMOVE, Unit

Integers = npt.NDArray[np.int64]

ASKED: tuple[Tightened, ...] = (
    Tighten(Mean("x", by="c")),
    Tighten(Variance("x", where="y >= 1"), "1/3"),
    Tighten(Moments("y")),
    Tighten(MeanEstimate("x")),
)


def _ratio(found: int, bound: int) -> float:
    """The share of a bound that was reached; more than 1 where nothing may move and something does."""
    return found / bound if bound else 2.0 * bool(found)


def find_farthest(query: Query, schema: Schema, unit: Unit, some: Sequence[Any]) -> tuple[int, int]:
    """The largest L1 and squared L2 distance of a query's integers between neighbours, by brute force."""
    coded = query.coded(schema, unit)

    def totals(person: Sequence[Row]) -> Integers:
        return open_engine(table(person), schema, unit).totals(coded).ravel()

    found = np.stack([totals(person) for person in some])
    start = totals(())[None] if unit.relation is ADD_REMOVE else found
    gaps = (found[None] - start[:, None]).reshape(-1, found.shape[1])
    squares = max(sum(int(v) ** 2 for v in gap) for gap in gaps)
    return int(np.abs(gaps).sum(axis=1).max()), squares


def list_questions(query: Tightened) -> Iterator[tuple[str, Query, Schema]]:
    """What may be asked of the rows: the histogram, and the question between some of all bounds."""
    yield "the histogram", query, SCHEMA
    edges = find_edges(SCHEMA, query.column)
    for lower, upper in list(combinations(edges, 2))[::37]:
        inner, schema = query.within(SCHEMA, lower, upper)
        yield f"between {lower:g} and {upper:g}", inner, schema


@attack("tightened-means")
def tightened_means() -> Iterator[Part]:
    for query in ASKED:
        for unit in UNITS:
            some = persons(unit)[:: 1 if unit.id_column is None else 5]
            worst, moved = 0.0, ""
            for title, asked, schema in list_questions(query):
                bound = asked.sensitivity(schema, unit)
                l1, squares = find_farthest(asked, schema, unit, some)
                ratio = max(_ratio(l1, bound.l1), _ratio(squares, bound.l2_squared))
                worst, moved = max((worst, moved), (ratio, title))
            claim = "the integers of both parts move by at most their sensitivity"
            told = f"the farthest is {worst:.4g} times the bound: {moved}"
            yield statement(f"{query!r}, {unit}", claim, worst <= 1, told, probe="sensitivity")
            for measure in (PureDP(1), ApproxDP(1, "1/1000000"), ZCDP("1/10")):
                prepared = query.prepare(measure, SCHEMA, unit, 3)
                same = all(
                    asked.prepare(prepared._rest, schema, unit, 3).event == prepared._inner.event  # type: ignore[attr-defined]
                    for _, asked, schema in list(list_questions(query))[1:]
                )
                holds = same and satisfies(prepared.event, measure)
                yield statement(
                    f"{query!r}, {unit}",
                    f"together at most {measure!r}",
                    holds,
                    f"{prepared.event!r}",
                )
    query, unit = Tighten(Mean("x"), "1/2"), UNITS[0]
    pair = (table(()), table(((3.0, 4.0, "b"),)))
    door = through_the_door(query, PureDP(2), SCHEMA, unit)
    words = "two parts share the budget, and what they tell is rarely rare in both"
    yield Case(f"{query!r}, {unit}, through the door", door, pair, 2.0, 3_000, reason=words)
