"""Every kind of release through the door: each registered query with each unit and each kind of noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
from mechanism_subjects import claims_of
from overheard import listen
from subject import Subject

import discreet as dp
from discreet import mechanisms, testing
from discreet.accounting import NoBound
from discreet.engines import open_engine
from discreet.events import Event
from discreet.ledger import Ledger
from discreet.queries import Additive, Query
from discreet.unit import Unit

Row = tuple[Any, ...]
Table = dict[str, Any]

SCHEMA = dp.Schema(x=dp.Real(-1, 3), y=dp.Integer(0, 4), c=dp.Categorical("a", "b"))
OPEN = dp.Schema(t=dp.Text(), u=dp.Real())

UNITS = {
    "add or remove a row": Unit(dp.ADD_REMOVE),
    "replace a row": Unit(dp.REPLACE_ONE),
    "add or remove a person": Unit(dp.ADD_REMOVE, id_column="who", max_rows=2),
    "replace a person": Unit(dp.REPLACE_ONE, id_column="who", max_rows=2),
}
#: A budget for each family of noise.
BUDGETS = {
    "Laplace": dp.PureDP(2),
    "Gaussian": dp.ZCDP(1),
    "DiscreteGaussian": mechanisms.DiscreteGaussian(rho=1),
    "Staircase": mechanisms.Staircase(2),
}

#: Runs on each side; the accountant knows less of the discrete Gaussian, so refuting it takes more.
RUNS = {"Laplace": 400, "Gaussian": 400, "DiscreteGaussian": 900, "Staircase": 400}
#: Few runs show most where a Gaussian's curve is at this δ.
SEEN_DELTA = 0.4

#: Rows of any kind in a corner of the domain, and rows that all tables share.
CORNERS: list[Row] = [*product((-1.0, 3.0), (0, 4), ("a", "b")), (1.0, 2, "?")]
COMMON: list[list[Row]] = [[], [(3.0, 4, "a"), (-1.0, 0, "b")]]
OPEN_ROWS: list[Row] = [("here", 1000.0), ("here", 0.0), ("there", -7.0)]
OPEN_COMMON: list[list[Row]] = [[("here", 5.0)] * 60]


def table(schema: dp.Schema, common: Sequence[Row], person: Sequence[Row]) -> Table:
    """The common rows, each of another person, and those of the one."""
    rows = [*common, *person]
    found: Table = {
        name: np.array([row[at] for row in rows], np.float64 if name in "xyu" else object)
        for at, name in enumerate(schema.base)
    }
    found["who"] = np.array([*map(str, range(len(common))), *["one"] * len(person)], object)
    return found


def persons(rows: Sequence[Row], unit: Unit) -> list[list[Row]]:
    """What the one person may have: a row, or as many as count."""
    if unit.id_column is None:
        return [[row] for row in rows]
    return [[], *([row] * unit.rows_per_person for row in rows)]


def pairs_for(schema: dp.Schema, unit: Unit) -> Iterator[tuple[Table, Table]]:
    """Tables that differ in all that one person has."""
    is_open = schema is OPEN
    for common in OPEN_COMMON if is_open else COMMON:
        mine = persons(OPEN_ROWS if is_open else CORNERS, unit)
        if unit.relation is dp.ADD_REMOVE:
            for person in filter(None, mine):
                yield table(schema, common, person), table(schema, common, [])
        else:
            for person, other in combinations(mine, 2):
                yield table(schema, common, person), table(schema, common, other)


def farthest(query: Query, schema: dp.Schema, unit: Unit, power: int) -> list[tuple[Table, Table]]:
    """The pair whose sums before noise are farthest apart, in this power of their distance.

    It only saves pilot runs: another pair could show a leak that this one doesn't, never hide one.
    """
    rows = Unit(dp.ADD_REMOVE, unit.id_column, unit.max_rows)  # n is of no use here

    def gap(pair: tuple[Table, Table]) -> float:
        one, other = (sums(query, schema, rows, side) for side in pair)
        return float((np.abs(one - other) ** power).sum())

    return [max(pairs_for(schema, unit), key=gap)]


def sums(query: Query, schema: dp.Schema, unit: Unit, side: Table) -> Any:
    """The integers of a query, or of its parts, on rows that are made up."""
    parts = query.queries if isinstance(query, dp.queries.Joint) else [query]
    engine = open_engine(side, schema, unit)
    found = [engine.totals(part.coded(schema, unit)).astype(np.float64) for part in parts]
    return np.concatenate([part.ravel() for part in found])


class Released:
    """Releases of one query, through a door that was paid for all of them."""

    def __init__(self, query: Query, budget: Any, schema: dp.Schema, unit: Unit) -> None:
        self.query, self.budget, self.schema, self.unit = query, budget, schema, unit

    def open(self, rows: Table) -> dp.PrivateDataset:
        limit = dp.ZCDP(10**9) if self.is_concentrated else dp.ApproxDP(10**9, "0.999999")
        kept = {name: cells for name, cells in rows.items() if name != "who" or self.unit.id_column}
        return dp.PrivateDataset(kept, self.schema, ledger=Ledger(limit=limit, unit=self.unit))

    @property
    def is_concentrated(self) -> bool:
        return isinstance(getattr(self.budget, "measure", self.budget), dp.ZCDP)

    def event(self) -> Event:
        """What the door would charge, without opening it."""
        rows = 3 if self.unit.length_is_public else None
        return self.query.prepare(self.budget, self.schema, self.unit, rows).event

    def claims(self) -> list[tuple[float, float]]:
        """What is claimed; nothing where that noise is refused, or where nobody can move the answer."""
        try:
            found = claims_of(self.event(), seen=SEEN_DELTA)
        except (TypeError, ValueError, NoBound):
            return []
        return [] if found[0] == (0.0, 0.0) else found

    def __call__(self, rows: Table, runs: int) -> list[Any]:
        """Each release as its noised sums, of which all that is reported is computed; else its answer."""
        data, told = self.open(rows), []
        prepared = data._prepare(self.query, self.budget)
        with data.prepaid(dp.events.Repeat(prepared.event, runs)) as door, listen() as heard:
            door._prepare = lambda *_: prepared  # planned once, charged and read each time
            for _ in range(runs):
                heard.clear()
                shown = self.shown(door.release(self.query, self.budget))
                told.append(list(heard) if self.adds_noise else shown)
        return told

    def shown(self, release: Any) -> Any:
        """The answer; of keys that were found, the count of each that could be."""
        if isinstance(self.query, dp.queries.KeyCounts):
            found = release.to_dict()
            return [found.get("here", 0), found.get("there", 0), len(found)]
        return release.value

    @property
    def adds_noise(self) -> bool:
        """Whether it is a vector of sums with noise, rather than a choice."""
        query = self.query
        if isinstance(query, dp.queries.Joint | dp.queries.Bounds):
            return True
        return isinstance(query, Additive) and query not in testing.DISCOVERIES


def release_of(query: Query, unit_name: str, noise: str) -> Released:
    schema = OPEN if query in testing.DISCOVERIES else SCHEMA
    return Released(query, BUDGETS[noise], schema, UNITS[unit_name])


def subject_for(query: Query, unit_name: str, noise: str) -> Subject | None:
    """A set-up, or None where there is no claim."""
    released = release_of(query, unit_name, noise)
    schema, unit, claims = released.schema, released.unit, released.claims()
    if not claims:
        return None
    power = 2 if "Gaussian" in noise else 1
    title = f"{query!r}, {unit_name}, {noise}"
    if released.adds_noise:
        return Subject(
            title, released, farthest(query, schema, unit, power), claims, RUNS[noise], of=query
        )
    return Subject(title, released, list(pairs_for(schema, unit)), claims, 600, 30, query)


ASKED = (*testing.QUERIES, *testing.DISCOVERIES, *testing.SEVERAL)
#: All kinds of release: a query, whom it protects, and its noise.
RELEASES = tuple(product(ASKED, UNITS, BUDGETS))


def all_releases() -> Iterator[Subject]:
    for release in RELEASES:
        found = subject_for(*release)
        if found is not None:
            yield found
