"""Sums stay within 64 bits: their size follows from public facts, or the question is refused unpaid."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.coding import Code, CodedQuery, Engine, Integers, Tally
from discreet.engines.arrays import Arrays
from discreet.publish import Ranges
from discreet.queries import (
    Additive,
    Best,
    Choice,
    FarMarginals,
    Joint,
    Quantile,
    QuantileEstimate,
    Query,
    Tightened,
    Variance,
)
from discreet.queries.count_vector import CountVector
from discreet.queries.sizes import MAX_ROWS, MAX_TOTAL, largest_summand
from discreet.schema import Schema
from discreet.testing import QUERIES, SEVERAL
from discreet.unit import Unit

#: So much budget that the noise is zero.
EXACT = dp.PureDP(10**20)
UNITS = {
    "add": dp.Unit(dp.ADD_REMOVE),
    "replace": dp.Unit(dp.REPLACE_ONE),
    "add, persons": dp.Unit(dp.ADD_REMOVE, "id", 3),
    "replace, persons": dp.Unit(dp.REPLACE_ONE, "id", 3),
}
#: The two ends of each pair are rows that the columns x and y may have.
COLUMNS: dict[str, tuple[Any, tuple[float, float]]] = {
    "far and narrow whole numbers": (dp.Integer(2**20 - 1, 2**20), (2**20 - 1, 2**20)),
    "far and narrow": (dp.Real(1e6, 1e6 + 1), (1e6, 1e6 + 1)),
    "below zero": (dp.Integer(-(2**20), 2 - 2**20), (-(2**20), 2 - 2**20)),
    "wide whole numbers": (dp.Integer(-(2**53), 2**53), (-(2.0**53), 2.0**53)),
    "small": (dp.Real(0, 3), (0.0, 3.0)),
    "huge": (dp.Real(-1e279, 1e279), (-1e279, 1e279)),
    "tiny": (dp.Real(1e-270, 1e-260), (1e-270, 1e-260)),
    "one value": (dp.Integer(2**20, 2**20), (2**20, 2**20)),
}
ASKED: tuple[Query, ...] = (
    *QUERIES,
    *SEVERAL,
    Joint(dp.Sum("y"), Variance("x")),
    Joint(dp.Count(where="x > 0"), dp.Gram("x", "y"), dp.Sum("x")),
    Best(dp.Sum("x"), dp.Sum("y"), dp.Count(where="x > 0")),
    Quantile("x", "999983/999999"),
)


class Copies(Engine):
    """A table of so many rows that are all alike; its sums are those of one row times their number."""

    def __init__(self, row: dict[str, Any], rows: int) -> None:
        self._one = Arrays({name: [cell] for name, cell in row.items()})
        self._rows = rows

    def check(self, schema: Schema, unit: Unit) -> None:
        self._one.check(schema, unit)

    def length(self) -> int | None:
        return self._rows

    def exact(self, query: CodedQuery) -> Any:
        """The sums as Python's integers."""
        return self._one.totals(query).astype(object) * self._rows

    def totals(self, query: CodedQuery) -> Integers:
        found = self.exact(query)
        assert not found.size or max(map(abs, found.ravel())) <= MAX_TOTAL
        return np.asarray(found.astype(np.int64))

    def tally(self, query: CodedQuery) -> Tally:
        one = self._one.tally(query)
        return Tally(one.groups, one.codes, one.counts * self._rows)

    def rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        raise AssertionError("queries ask for sums and tallies, not for rows")

    def keys(self, query: CodedQuery, column: str, groups: int) -> dict[str, int]:
        raise AssertionError("keys have no magnitude before they are counted")


def as_numbers(value: Any) -> np.ndarray[Any, Any]:
    """All numbers of an answer, one after the other."""
    if isinstance(value, tuple | list):
        return np.concatenate([np.zeros(0), *map(as_numbers, value)])
    if hasattr(value, "__dataclass_fields__"):
        return as_numbers([v for v in vars(value).values() if v is not None])
    return np.ravel(np.asarray(value, np.float64))


def exact_answer(query: Query, engine: Copies, schema: Schema, unit: Unit, rows: int) -> Any:
    """What is to be reported, from sums in Python's integers."""
    if isinstance(query, Joint):
        return tuple(exact_answer(part, engine, schema, unit, rows) for part in query.queries)
    if isinstance(query, CountVector):
        parts = [engine.exact(part) for part in query.parts(schema, unit)]
        return query.vector(parts, schema)
    assert isinstance(query, Additive)
    query = query.in_basis(schema, unit)
    coded = query.coded(schema, unit)
    sums = engine.exact(coded) if coded.terms else np.zeros((coded.groups, 0))
    return query.estimate(query.with_count(sums, schema, rows), schema)


#: What the quick share of the suite looks at; the rest takes a minute.
QUICK = [("far and narrow whole numbers", "small"), ("huge", "huge")]


def cases() -> list[Any]:
    pairs = [*((name, name) for name in COLUMNS), ("small", "far and narrow"), QUICK[0]]
    return [
        pytest.param(
            x, y, unit, id=f"{x}, {y}, {unit}", marks=[] if (x, y) in QUICK else pytest.mark.slow
        )
        for (x, y), unit in itertools.product(pairs, UNITS)
    ]


@pytest.mark.parametrize(("x", "y", "unit"), cases())
def test_the_largest_sums_are_answered_right_or_refused_unread(x: str, y: str, unit: str) -> None:
    schema = dp.Schema(x=COLUMNS[x][0], y=COLUMNS[y][0], c=dp.Categorical("a", "b"))
    asked = 0
    for query, bits in itertools.product(ASKED, (32, 40)):
        if unit.startswith("add") and bits > 32 and not _is_small(query, schema, UNITS[unit]):
            continue  # beyond what the query is documented for; nobody may look
        try:
            ready = query.prepare(EXACT, schema, UNITS[unit], 2**bits)
        except ValueError:
            continue  # before anything is charged or read
        asked += 1
        for a, b in itertools.product(COLUMNS[x][1], COLUMNS[y][1]):
            engine = Copies({"x": a, "y": b, "c": "a", "id": 1}, 2**bits)
            release = ready.answer(engine)
            if isinstance(query, Choice):
                parts = [engine.exact(part) for part in query.parts(schema, UNITS[unit])]
                scores = query.scores(parts, schema)
                assert scores[0, np.ravel(release.value)[0]] == scores[0].max()
            elif isinstance(query, FarMarginals):
                parts = [engine.exact(part) for part in query.parts(schema, UNITS[unit])]
                scores = query.scores(parts)
                assert scores[release.value[0]] == scores.max()
            elif isinstance(query, Ranges):
                wanted = engine.exact(query.coded(schema, UNITS[unit])).astype(np.float64)
                np.testing.assert_allclose(release.value.cells.ravel(), wanted[:, 0], atol=1)
            elif isinstance(query, Quantile | QuantileEstimate | Tightened):
                # the grid point of the only value there is
                if isinstance(getattr(query, "query", None), Variance):
                    assert np.isfinite(release.value)
                    continue
                lower, upper = COLUMNS[x][1] if query.column == "x" else COLUMNS[y][1]
                one = a if query.column == "x" else b
                assert abs(as_numbers(release.value)[0] - one) <= (upper - lower) * 2.0**-19
            else:
                told = query.for_budget(EXACT) if isinstance(query, Additive) else query
                wanted = as_numbers(exact_answer(told, engine, schema, UNITS[unit], 2**bits))
                found = as_numbers(release.value)
                np.testing.assert_allclose(
                    found, wanted, rtol=1e-9, atol=1e-290, err_msg=f"{query}"
                )
    assert asked


def _is_small(query: Query, schema: Schema, unit: Unit) -> bool:
    """Whether the largest number of rows can't bring a sum beyond its limit."""
    try:
        parts = (
            query.parts(schema, unit) if hasattr(query, "parts") else [query.coded(schema, unit)]
        )
    except ValueError:
        return True
    return all(largest_summand(part) * MAX_ROWS <= MAX_TOTAL for part in parts)


def test_a_sum_far_from_zero_is_right_beside_second_moments() -> None:
    rows = 20_000
    table = {"x": np.arange(rows) % 2 + 10**6, "y": np.linspace(0, 1, rows)}
    ledger = dp.Ledger(limit=dp.PureDP(10), unit=dp.REPLACE_ONE)
    schema = dp.Schema(x=dp.Integer(10**6, 10**6 + 1), y=dp.Real(0, 1))
    data = dp.PrivateDataset(table, schema, ledger=ledger)
    answer = data.release(Joint(dp.Sum("x"), Variance("y")), dp.PureDP(10))
    assert abs(answer.value[0] - (10**6 * rows + rows // 2)) < 10
    assert answer.stderr[0] < 1


def test_more_rows_than_sums_can_hold_are_refused_before_the_charge() -> None:
    ledger = dp.Ledger(limit=dp.PureDP(10), unit=dp.REPLACE_ONE)
    schema = dp.Schema(x=dp.Real(0, 1))
    table = {"x": [0.5, 0.7]}
    for rows, query in ((2**32 + 1, Variance("x")), (2**41, dp.Sum("x")), (10**400, dp.Mean("x"))):
        data = dp.PrivateDataset(table, schema, ledger=ledger, rows=rows)
        for act in (data.plan, data.release):
            with pytest.raises(ValueError, match="rows: this query adds up at most"):
                act(query, dp.PureDP(1))
    most = dp.PrivateDataset(table, schema, ledger=ledger, rows=2**32)
    assert np.isfinite(most.release(Variance("x"), dp.PureDP(1)).value)
    assert ledger.spent() == dp.PureDP(1)


@pytest.mark.parametrize("query", [*QUERIES, *SEVERAL], ids=repr)
def test_ordinary_questions_are_not_refused_and_their_sums_are_as_large_as_told(
    query: Query,
) -> None:
    schema = dp.Schema(x=dp.Real(-1, 3), y=dp.Integer(0, 6), c=dp.Categorical("a", "b"))
    draw = np.random.default_rng(0)
    for unit in UNITS.values():
        query.prepare(dp.PureDP(1), schema, unit, 10**6)
        for part in (
            query.parts(schema, unit) if hasattr(query, "parts") else [query.coded(schema, unit)]
        ):
            largest = largest_summand(part) if part.terms else 1
            seen = 0
            for x, y, c in zip(
                [-1.0, 3.0, *draw.uniform(-1, 3, 40)],
                [0, 6, *draw.integers(0, 7, 40)],
                "ab" * 21,
                strict=True,
            ):
                if part.terms:
                    one = Arrays({"x": [x], "y": [y], "c": [c], "id": [1]}).totals(part)
                    seen = max(seen, int(abs(one).max()))
            assert seen <= largest <= 2**30
            assert not part.terms or largest <= 4 * seen  # it is no wild guess
