"""Every kind of release through the door: each registered query with each unit and each kind of noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
from mechanism_subjects import claims_of
from overheard import Noised, are_alike, draw_again, listen, spread_of, tell
from read_once import read_once
from subject import CHEAP_TRIES, HALF, Subject

import discreet as dp
from discreet import accounting, mechanisms, testing
from discreet.accounting import NoBound
from discreet.engines import open_engine
from discreet.events import Event
from discreet.ledger import Ledger
from discreet.publish.privelet import Ranges
from discreet.queries import Additive, Query
from discreet.unit import Unit

Row = tuple[Any, ...]
Table = dict[str, Any]

SCHEMA = dp.Schema(x=dp.Real(-1, 3), y=dp.Integer(0, 4), c=dp.Categorical("a", "b"))
OPEN = dp.Schema(t=dp.Text(), u=dp.Real())
#: For joint quantiles: few of the values are anybody's, so that a person's two rows go together.
SPARSE = dp.Schema(x=dp.Real(-1, 3), y=dp.Integer(0, 20), c=dp.Categorical("a", "b"))

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

#: For single quantiles and splits: what speaks against a claim there is rare, and less so with these.
SMALLER_BUDGETS = {"Laplace": dp.PureDP(1), "Gaussian": dp.ZCDP("1/4")}

#: Runs on each side; the accountant knows less of the discrete Gaussian, so refuting it takes more.
RUNS = {"Laplace": 400, "Gaussian": 400, "DiscreteGaussian": 900, "Staircase": 400}
#: Runs of a choice on each side for each pair of neighbours, to find the worst.
PILOT = 200
#: Releases that are read one by one, before the rest of those that only add noise is drawn at once.
REPEATED = 25
#: Whose copy has less than half of the noise, and why: a bound that nobody there can fill.
LESS_NOISE = {
    ("Best(Count(where='x > 0'), Count(where='x > 1'))", unit, noise): (
        Fraction(1, 3),
        "whoever counts in the second counts in the first, so nobody moves one up and the other down: half "
        "of the noise keeps the claim exactly",
    )
    for unit, noise in product(("replace a row", "replace a person"), BUDGETS)
} | {
    ("QuantileEstimate('y', q=1/3, by='c')", unit, noise): (
        Fraction(1, 8),
        "of few rows one of three draws is told, at three tenths of the price: half of the noise keeps the "
        "claim",
    )
    for unit, noise in product(UNITS, BUDGETS)
}
#: Few runs show most where a Gaussian's curve is at this δ.
SEEN_DELTA = 0.4
#: Of joint quantiles and of several marginals the accountant is also asked at these δ. Losses of both draws
#: seldom add up, and it knows that: at δ = 0 half of the noise shows in rare outputs only
#: (`test_exact_quartiles.py` and `test_exact_marginals.py` compute it).
JOINT_DELTAS, MARGINAL_DELTAS = (0.2, 0.3), (0.1, 0.3)
#: One of the three draws of an estimate is told, and it costs less than all three: likely events show that.
ESTIMATE_DELTAS = (0.1, 0.3)
#: Nobody turns the residual of a group around whose rows are all of its class, so half of discrete Gaussian
#: noise keeps the curve at `SEEN_DELTA`: δ = 0.387. Here it has δ = 0.15.
RESIDUAL_DELTA = 0.1
JOINT_BUDGETS = BUDGETS | {"Laplace": dp.PureDP(3)}
#: The others of joint quantiles, by whom is protected and how many rows a person has: how many have each of
#: three values; and where the person is. A row that is replaced moves what is told half as far: more runs.
QUARTERS = {
    (dp.ADD_REMOVE, 1): {5: 2, 10: 2, 15: 3},
    (dp.REPLACE_ONE, 1): {5: 2, 10: 2, 15: 3},
    (dp.ADD_REMOVE, 2): {5: 2, 10: 2, 15: 2},
    (dp.REPLACE_ONE, 2): {5: 4, 10: 4, 15: 6},
}
JOINT_RUNS = {dp.ADD_REMOVE: 600, dp.REPLACE_ONE: 1600}
ENDS = (0, 20)

#: Rows of any kind in a corner or half way between corners, and rows that all tables share.
CORNERS: list[Row] = [
    *product((-1.0, 1.0, 3.0), (0, 2, 4), ("a", "b")),
    (1.0, 2, "?"),
    (99.0, 99, "?"),
    (float("nan"), float("nan"), ""),
]
#: Those that are tried where each pair takes pilot runs.
FEW_CORNERS: list[Row] = [(3.0, 4, "a"), (-1.0, 0, "a"), (3.0, 0, "b"), (1.0, 2, "?")]
#: For splits also two rows that speak for different ones: the first for those of x, the second of y. Where
#: somebody else speaks for those of x, too, it is open after the second. The last two are in two groups.
SPLITS: list[Row] = [(3.0, 0, "b"), (-1.0, 4, "b"), (3.0, 2, "a"), (3.0, 2, "b")]
TWO_KINDS: list[tuple[Row, Row]] = [((x, y, "a"), (x, y, "b")) for x, y in ((3.0, 4), (-1.0, 0))]
#: Of two rows that differ in their numbers, a condition may keep one.
TWO_KINDS += [((3.0, 4, "b"), (-1.0, 0, "b"))]
COMMON: list[list[Row]] = [[], [(3.0, 4, "a"), (-1.0, 0, "b")]]
#: For choices also rows in the middle: between them and the ends, a few more to one side decide.
MIDDLE: Row = (1.0, 2, "a")
#: For splits many rows of one kind: one of another kind makes some splits better and all others worse.
CROWD: list[Row] = [(-1.0, 0, "a")] * 60
CROWD_OF_THE_OTHER: list[Row] = [(-1.0, 0, "b")] * 60
#: For splits by variance: high numbers to the left, low ones to the right. Rows between the two cuts, high
#: and low, make one split three times as much worse as they make the other better.
HALVES: list[Row] = [(3.0, 0, "a")] * 60 + [(-1.0, 4, "a")] * 60
BETWEEN_CUTS: list[Row] = [(3.0, 2, "a"), (-1.0, 2, "a"), (3.0, 2, "b")]
#: For marginals fewer rows than are expected, so that whoever comes or goes moves two scores apart.
FEW_EXPECTED: list[Row] = [(3.0, 0, "a")] * 3 + [(3.0, 0, "b")] * 2 + [(3.0, 0, "?")] * 2
A_OR_B: list[Row] = [(3.0, 4, "a"), (3.0, 4, "b")]
#: For estimates of a quantile rows above it: one at the other end moves what is drawn.
ABOVE: list[Row] = [(1.0, 2, "a"), (1.0, 4, "a")]
TWO_ENDS: list[Row] = [(1.0, 0, "a"), (1.0, 4, "a")]
#: With these runs half of the noise is four standard errors beyond a claim, or more.
MARGINAL_RUNS = 1600
OPEN_ROWS: list[Row] = [("here", 1000.0), ("here", 0.0), ("there", -7.0)]
#: Many rows of both keys, so that somebody who leaves one for the other moves both counts.
OPEN_COMMON: list[list[Row]] = [[("here", 5.0)] * 60, [("here", 5.0), ("there", 5.0)] * 60]


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
    """What the one person may have: a row; or as many as count, all alike, or one of each of two kinds."""
    if unit.id_column is None:
        return [[row] for row in rows]
    alike = [[row] * unit.rows_per_person for row in rows]
    return [*alike, *(list(two) for two in TWO_KINDS if set(two) <= set(rows))]


def pairs_for(
    schema: dp.Schema,
    unit: Unit,
    corners: Sequence[Row] = CORNERS,
    alike: Sequence[Sequence[Row]] = COMMON,
) -> Iterator[tuple[Table, Table]]:
    """Tables that differ in all that one person has."""
    is_open = schema is OPEN
    for common in OPEN_COMMON if is_open else alike:
        mine = persons(OPEN_ROWS if is_open else corners, unit)
        tables = [table(schema, common, person) for person in mine]
        without = table(schema, common, [])
        if unit.relation is dp.ADD_REMOVE:
            yield from ((one, without) for one in tables)
        else:
            yield from combinations(tables if unit.id_column is None else [without, *tables], 2)


#: Queries of several parts, or with steps after the noise, that tell noised sums and nothing else.
SUMS_IN_PARTS = (
    dp.queries.Joint,
    dp.queries.Bounds,
    dp.queries.Check,
    dp.queries.RowsPerPerson,
    Ranges,
)


class Released:
    """Releases of one query, through a door that was paid for all of them."""

    def __init__(self, query: Query, budget: Any, schema: dp.Schema, unit: Unit) -> None:
        self.query, self.budget, self.schema, self.unit = query, budget, schema, unit

    @cached_property
    def ledger(self) -> Ledger:
        limit = dp.ZCDP(10**9) if self.is_concentrated else dp.ApproxDP(10**9, "0.999999")
        return Ledger(limit=limit, unit=self.unit)

    def open(self, rows: Table) -> dp.PrivateDataset:
        kept = {name: cells for name, cells in rows.items() if name != "who" or self.unit.id_column}
        return dp.PrivateDataset(kept, self.schema, ledger=self.ledger)

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
            found = claims_of(self.event(), seen=float(getattr(self.query, "delta", SEEN_DELTA)))
        except (TypeError, ValueError, NoBound):
            return []
        if found[0] == (0.0, 0.0):
            return []
        asked = ((accounting.epsilon_at(self.event(), delta), delta) for delta in self.more_deltas)
        return found + [(float(at.epsilon), delta) for at, delta in asked]

    @property
    def more_deltas(self) -> tuple[float, ...]:
        """Where else on the accountant's curve half of the noise shows."""
        if is_joint(self.query):
            return JOINT_DELTAS
        if isinstance(self.query, dp.queries.FarMarginals):
            return MARGINAL_DELTAS
        if isinstance(self.query, dp.queries.QuantileEstimate):
            return ESTIMATE_DELTAS
        turns = isinstance(self.query, dp.queries.ClassResiduals)
        discrete = isinstance(self.budget, mechanisms.DiscreteGaussian)
        return (RESIDUAL_DELTA,) if turns and discrete else ()

    def __call__(self, rows: Table, runs: int) -> Any:
        """Each release as its noised sums, of which all that is reported is computed; else its answer.

        Where the first `REPEATED` releases noise the same sums in the same way, so will the others: their
        noise is drawn at once.
        """
        data, told = self.open(rows), []
        prepared = data._prepare(self.query, self.budget)
        with data.prepaid(dp.events.Repeat(prepared.event, runs)) as door, listen() as heard:
            read_once(door)
            door._prepare = lambda *_: prepared  # planned once, charged each time
            first, same = None, self.adds_noise
            for at in range(runs):
                heard.clear()
                shown = self.shown(door.release(self.query, self.budget))
                told.append(tell(heard) if self.adds_noise else shown)
                first = first or list(heard)
                same = same and are_alike(first, heard)
                if same and at + 1 == REPEATED < runs:
                    seen = np.array([np.concatenate(sums) for sums in told], np.float64)
                    return np.concatenate([seen, draw_again(first, runs - len(told))])
        return told

    def hear(self, rows: Table) -> list[Noised]:
        """The sums of one release, and their noise; nobody is shown it, so nothing is charged."""
        unit = self.query.narrow(self.unit)
        count = len(rows["who"]) if unit.length_is_public else None
        prepared = self.query.prepare(self.budget, self.schema, unit, count)
        with listen() as heard:
            prepared.answer(open_engine(rows, self.schema, unit))
        return heard

    def shown(self, release: Any) -> Any:
        """The answer; of keys that were found, the count of each that could be; of draws, all three."""
        if isinstance(self.query, dp.queries.KeyCounts):
            found = release.to_dict()
            return [found.get("here", 0), found.get("there", 0), len(found)]
        if isinstance(self.query, dp.queries.QuantileEstimate):
            drawn = release.interval(self.query.level)
            return np.concatenate([np.atleast_1d(drawn.lower), release.value, drawn.upper])
        return release.value

    @property
    def adds_noise(self) -> bool:
        """Whether it is a vector of sums with noise, rather than a choice."""
        query = self.query
        if isinstance(query, SUMS_IN_PARTS):
            return True
        return isinstance(query, Additive) and query not in testing.DISCOVERIES


def farthest(released: Released) -> list[tuple[Table, Table]]:
    """The pair that half of the noise hides least, by the exact sums before noise.

    It only saves pilot runs: another pair could show a leak that this one doesn't, never hide one.
    """
    pairs = list(pairs_for(released.schema, released.unit))
    heard = {id(side): side for pair in pairs for side in pair}
    sums = {key: released.hear(side) for key, side in heard.items()}
    return [max(pairs, key=lambda pair: expected_loss(*(sums[id(side)] for side in pair)))]


def expected_loss(one: Sequence[Noised], other: Sequence[Noised]) -> float:
    """The privacy loss to expect of sums that are noised by half as much as they should be."""
    loss = 0.0
    for mine, yours in zip(one, other, strict=True):
        gap = np.abs(np.subtract(mine.totals, yours.totals)).astype(np.float64)
        kind, spread = spread_of(mine.distribution)
        moved = 2 * gap / spread
        laplace = kind == "Laplace"
        loss += float((moved - 1 + np.exp(-moved) if laplace else moved**2 / 2).sum())
    return loss


def is_joint(query: Query) -> bool:
    """Whether it is several quantiles, drawn by splitting."""
    return isinstance(query, dp.Quantile) and query.is_joint


def quarters_pair(unit: Unit) -> tuple[Table, Table]:
    """A person at one end, and none or at the other end: where the exact distributions differ most."""
    times = unit.rows_per_person
    quarters = QUARTERS[unit.relation, times]
    common = [(1.0, y, "a") for y, rows in quarters.items() for _ in range(rows)]
    low, high = ([(1.0, y, "a")] * times for y in ENDS)
    other = high if unit.relation is dp.REPLACE_ONE else []
    return table(SPARSE, common, low), table(SPARSE, common, other)


def release_of(query: Query, unit_name: str, noise: str) -> Released:
    schema = OPEN if query in testing.DISCOVERIES else SCHEMA
    budget = BUDGETS[noise]
    if is_joint(query):
        schema, budget = SPARSE, JOINT_BUDGETS[noise]
    elif isinstance(query, dp.Quantile | dp.queries.BestSplit):
        budget = SMALLER_BUDGETS.get(noise, budget)
    return Released(query, budget, schema, UNITS[unit_name])


def subject_for(query: Query, unit_name: str, noise: str) -> Subject | None:
    """A set-up, or None where there is no claim."""
    released = release_of(query, unit_name, noise)
    schema, unit, claims = released.schema, released.unit, released.claims()
    if not claims:
        return None
    title = f"{query!r}, {unit_name}, {noise}"
    share, _ = LESS_NOISE.get((repr(query), unit_name, noise), (HALF, ""))
    if released.adds_noise:
        pair = farthest(released)
        return Subject(
            title, released, pair, claims, RUNS[noise], of=query, share=share, tries=CHEAP_TRIES
        )
    if is_joint(query):
        runs = JOINT_RUNS[unit.relation]
        return Subject(title, released, [quarters_pair(unit)], claims, runs, of=query, share=share)
    if isinstance(query, dp.queries.FarMarginals):
        pairs = list(pairs_for(schema, unit, A_OR_B, [FEW_EXPECTED]))
        return Subject(title, released, pairs, claims, MARGINAL_RUNS, PILOT, query, share)
    middle = [MIDDLE] * (2 * unit.rows_per_person)
    corners, common = FEW_CORNERS, [*COMMON, middle]
    if isinstance(query, dp.queries.QuantileEstimate):
        corners, common = TWO_ENDS, [ABOVE, ABOVE * 2]
    elif isinstance(query, dp.queries.BestSplit):
        corners = SPLITS
        common = [[*CROWD, *SPLITS[:1] * unit.rows_per_person], CROWD + CROWD_OF_THE_OTHER]
        if query.criterion == "variance":
            # with somebody like one of these already there, both splits are as good after the other
            corners, common = BETWEEN_CUTS, [[*HALVES, *BETWEEN_CUTS[:1] * unit.rows_per_person]]
    pairs = list(pairs_for(schema, unit, corners, common))
    return Subject(title, released, pairs, claims, RUNS[noise], PILOT, query, share)


ASKED = (*testing.QUERIES, *testing.DISCOVERIES, *testing.SEVERAL)
#: All kinds of release: a query, whom it protects, and its noise.
RELEASES = tuple(product(ASKED, UNITS, BUDGETS))


def all_releases() -> Iterator[Subject]:
    for release in RELEASES:
        found = subject_for(*release)
        if found is not None:
            yield found
