"""Sensitivities against all neighbours of small schemas, each row coded by the reference engine."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.coding import PRODUCT_BITS, Sensitivity
from discreet.engines.arrays import Arrays
from discreet.queries import MeanEstimate, ShareEstimate, SumEstimate

SCHEMA = dp.Schema(
    n=dp.Integer(-1, 2),
    m=dp.Integer(3, 5),
    x=dp.Real(-2, 6),
    s=dp.Categorical("a", "b"),
    t=dp.Categorical("a", "b", unknown="a"),
    one=dp.Categorical("a", unknown="a"),
    still=dp.Real(4, 4),
).derive(band=dp.Bins("x", [0]), points=dp.Score({"s": [0, 1]}, link=[-7, 20]))
#: Cells that reach every corner of the codes; for x also where the moments' L1 norm and distance are largest.
PLACES = [k + i for k in (2**PRODUCT_BITS // 4, 3 * 2**PRODUCT_BITS // 4) for i in (-1, 0, 1)]
CELLS: dict[str, list[Any]] = {
    "n": [-1, 0, 1, 2, None],
    "m": [3, 4, 5],
    "x": [
        -2.0,
        6.0,
        *(-2 + 8 * (k + 0.5) / 2**PRODUCT_BITS for k in PLACES),
    ],
    "s": ["a", "b", "unknown"],
    "t": ["a", "b", "unknown"],
    "one": ["a", None],
    "still": [4.0, None],
}

Vector = tuple[int, ...]


def vectors(query: Any, unit: dp.Unit, uses: tuple[str, ...]) -> set[Vector]:
    """What one row can contribute, over all rows."""
    free = [name for name in SCHEMA.base if name in uses]
    coded = query.coded(SCHEMA, unit)
    found = set()
    for cells in itertools.product(*(CELLS[name] for name in free)):
        row = {name: [CELLS[name][0]] for name in SCHEMA.base} | {
            name: [cell] for name, cell in zip(free, cells, strict=True)
        }
        found.add(tuple(Arrays({**row, "id": [1]}).totals(coded).ravel().tolist()))
    return found


def add(a: Vector, b: Vector, sign: int = 1) -> Vector:
    return tuple(u + sign * v for u, v in zip(a, b, strict=True))


def true_sensitivity(query: Any, unit: dp.Unit, uses: tuple[str, ...]) -> Sensitivity:
    """The largest distance of the vectors of neighbours."""
    one = vectors(query, unit, uses)
    zero: Vector = (0,) * len(next(iter(one)))
    sums = {zero}  # of at most max_rows rows
    for _ in range(unit.rows_per_person):
        sums |= {add(a, b) for a in sums for b in one}
    if unit.relation is dp.ADD_REMOVE:
        moves = sums
    elif unit.id_column is None:
        moves = {add(a, b, -1) for a in one for b in one}
    else:
        moves = {add(a, b, -1) for a in sums for b in sums}
    return Sensitivity(
        max(sum(map(abs, move)) for move in moves), max(sum(v * v for v in move) for move in moves)
    )


UNITS = {
    "add": dp.Unit(dp.ADD_REMOVE),
    "replace": dp.Unit(dp.REPLACE_ONE),
    "add, persons": dp.Unit(dp.ADD_REMOVE, "id", 2),
    "replace, persons": dp.Unit(dp.REPLACE_ONE, "id", 2),
}
TIGHT: list[tuple[Any, tuple[str, ...]]] = [
    (dp.Count(), ()),
    (dp.Count(where="n > 0"), ("n",)),
    (dp.Count(by="s"), ("s",)),
    (dp.Count(by="t"), ("t",)),
    (dp.Count(by="one"), ("one",)),
    (dp.Histogram("t", "band"), ("t", "x")),
    (dp.Histogram("s", where="n == 2"), ("s", "n")),
    (dp.Sum("n"), ("n",)),
    (dp.Sum("m"), ("m",)),
    (dp.Sum("m", where="n > 0"), ("m", "n")),
    (dp.Sum("m", by="t"), ("m", "t")),
    (dp.Sum("m", by="one"), ("m", "one")),
    (dp.Sum("x"), ("x",)),
    (dp.Sum("x", by="s"), ("x", "s")),
    (dp.Sum("points"), ("s",)),
    (dp.Sum("still"), ("still",)),
    (dp.Mean("n"), ("n",)),
    (dp.Mean("x"), ("x",)),
    (dp.Mean("still"), ("still",)),
    (dp.Mean("m", where="s == 'a'"), ("m", "s")),
    (dp.Mean("m", by="t"), ("m", "t")),
    (dp.Variance("n"), ("n",)),
    (dp.Variance("m"), ("m",)),
    (dp.Variance("x"), ("x",)),
    (dp.Variance("still"), ("still",)),
    (dp.Variance("n", where="m < 5"), ("n", "m")),
    (dp.Variance("n", by="s"), ("n", "s")),
    (dp.Moments("n", "m"), ("n", "m")),
    (dp.Moments("m", by="s", where="m != 4"), ("m", "s")),
    (dp.Moments("n", "m").for_budget(dp.PureDP(1)), ("n", "m")),
    (dp.Moments("n", "m", by="t").for_budget(dp.PureDP(1)), ("n", "m", "t")),
    (dp.Moments("x", "still").for_budget(dp.PureDP(1)), ("x", "still")),
    (MeanEstimate("n"), ("n",)),
    (MeanEstimate("x", by="t"), ("x", "t")),
    (SumEstimate("m", where="n > 0"), ("m", "n")),
    (ShareEstimate(by="t"), ("t",)),
]
BOUNDED: list[tuple[Any, tuple[str, ...]]] = [
    (dp.Gram("n"), ("n",)),
    (dp.Gram("n", "m"), ("n", "m")),
    (dp.Gram("n", by="t"), ("n", "t")),
    (dp.Gram("m", "x", where="n > 0"), ("n", "m", "x")),
    (dp.Gram("still", "m"), ("still", "m")),
]


@pytest.mark.parametrize("unit", list(UNITS))
@pytest.mark.parametrize(("query", "uses"), TIGHT, ids=[repr(query) for query, _ in TIGHT])
def test_sensitivity_is_exact(query: Any, uses: tuple[str, ...], unit: str) -> None:
    found = query.sensitivity(SCHEMA, UNITS[unit])
    assert found == true_sensitivity(query, UNITS[unit], uses)


@pytest.mark.parametrize("unit", list(UNITS))
@pytest.mark.parametrize(("query", "uses"), BOUNDED, ids=[repr(query) for query, _ in BOUNDED])
def test_gram_is_never_below(query: Any, uses: tuple[str, ...], unit: str) -> None:
    """An upper bound: to 2 % under add/remove (grids of a few steps miss where the sum is largest), at
    most 1.5 times too large in L2 under replace-one."""
    found = query.sensitivity(SCHEMA, UNITS[unit])
    true = true_sensitivity(query, UNITS[unit], uses)
    assert found.l1 >= true.l1
    assert found.l2_squared >= true.l2_squared
    if "add" in unit:
        assert found.l1 <= 1.02 * true.l1
        assert found.l2_squared <= 1.02 * true.l2_squared
    assert found.l2_squared <= 2.25 * true.l2_squared


def test_gram_bound_by_random_pairs() -> None:
    """Many columns: no pair of rows is farther apart than the bound."""
    draw = np.random.default_rng(0)
    for d in (1, 2, 3, 5, 8):
        names = [f"x{i}" for i in range(d)]
        schema = dp.Schema({name: dp.Real(-1, 1) for name in names})
        query, unit = dp.Gram(*names), dp.Unit(dp.REPLACE_ONE)
        coded = query.coded(schema, unit)
        bound = query.sensitivity(schema, unit)
        corners = draw.choice([-1.0, 0.0, 1.0], (150, d))
        rows = [
            Arrays({n: row[i : i + 1] for i, n in enumerate(names)}).totals(coded)[0].tolist()
            for row in corners
        ]
        for a, b in itertools.combinations(rows, 2):
            assert sum(abs(u - v) for u, v in zip(a, b, strict=True)) <= bound.l1
            assert sum((u - v) ** 2 for u, v in zip(a, b, strict=True)) <= bound.l2_squared


def test_ages_of_women_move_by_ninety() -> None:
    schema = dp.Schema(age=dp.Integer(17, 90), sex=dp.Categorical("F", "M"))
    replace = dp.Unit(dp.REPLACE_ONE)
    assert dp.Sum("age", where="sex == 'F'").sensitivity(schema, replace).l1 == 90
    assert dp.Sum("age").sensitivity(schema, replace).l1 == 73
    assert dp.Sum("age").sensitivity(schema, dp.Unit(dp.ADD_REMOVE)).l1 == 90
    assert dp.Sum("age", by="sex").sensitivity(schema, replace).l1 == 180


@pytest.mark.parametrize("k", [1, 2, 7])
def test_histograms_with_several_rows_per_person(k: int) -> None:
    query = dp.Histogram("t")
    assert query.sensitivity(SCHEMA, dp.Unit(dp.ADD_REMOVE, "id", k)) == Sensitivity(k, k * k)
    moved = query.sensitivity(SCHEMA, dp.Unit(dp.REPLACE_ONE, "id", k))
    assert moved == Sensitivity(2 * k, 2 * k * k)


@pytest.mark.parametrize("relation", [dp.ADD_REMOVE, dp.REPLACE_ONE])
@pytest.mark.parametrize("condition", [None, "x > 1"])
def test_neighbouring_tables_never_move_farther(relation: Any, condition: str | None) -> None:
    """Whole tables, with persons who have more rows than count."""
    draw = random.Random(1)
    unit = dp.Unit(relation, "id", 2)
    queries = [
        dp.Moments("n", "x", by="t", where=condition),
        dp.Sum("x", by=["s", "band"], where=condition),
        dp.Histogram("s", "t", where=condition),
        dp.Gram("n", "x", where=condition),
    ]

    def person(name: int) -> list[dict[str, Any]]:
        return [
            {column: draw.choice(cells) for column, cells in CELLS.items()} | {"id": name}
            for _ in range(draw.randrange(6))
        ]

    def total(rows: list[dict[str, Any]], query: Any) -> Any:
        table = {name: [row[name] for row in rows] for name in [*CELLS, "id"]}
        return Arrays(table).totals(query.coded(SCHEMA, unit))

    for _ in range(100):
        others, mine = person(1) + person(2), person(3)
        changed = [] if relation is dp.ADD_REMOVE else person(3)
        for query in queries:
            moved = total(others + mine, query) - total(changed + others, query)
            bound = query.sensitivity(SCHEMA, unit)
            assert int(np.abs(moved).sum()) <= bound.l1
            assert sum(int(v) ** 2 for v in moved.ravel()) <= bound.l2_squared


def test_the_public_count_is_left_out_under_replace_one() -> None:
    unit = dp.Unit(dp.REPLACE_ONE)
    assert dp.Count().coded(SCHEMA, unit).terms == ()
    assert dp.Count().sensitivity(SCHEMA, unit) == Sensitivity(0, 0)
    assert len(dp.Mean("x").coded(SCHEMA, unit).terms) == 1
    for query in (dp.Mean("x", where="n > 0"), dp.Mean("x", by="t"), dp.Mean("x", by="s")):
        assert len(query.coded(SCHEMA, unit).terms) == 2
    for other in (dp.Unit(dp.ADD_REMOVE), dp.Unit(dp.REPLACE_ONE, "id", 1), dp.Unit(dp.PUBLIC)):
        assert len(dp.Mean("x").coded(SCHEMA, other).terms) == 2


# Quantiles: the scores of all grid points and groups together.

POINTS = dp.Schema(v=dp.Integer(0, 3), g=dp.Categorical("a", "b"))


def all_scores(rows: list[tuple[int, str | None]], q: Fraction, groups: bool) -> Any:
    """The scores by definition: distance of 0 from the interval of rank differences."""
    a, b = q.numerator, q.denominator
    result = []
    for group in ("a", "b") if groups else (None,):
        values = [v for v, g in rows if group is None or g == group]
        for point in range(4):
            below, above = sum(v < point for v in values), sum(v > point for v in values)
            at = len(values) - below - above
            low = (b - a) * below - a * (above + at)
            high = (b - a) * (below + at) - a * above
            result.append(-max(0, low, -high))
    return np.array(result).reshape(-1, 4)


@pytest.mark.parametrize("q", ["0", "1", "1/2", "1/3", "9/10"])
@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize("most", [1, 2])
def test_score_sensitivity_is_exact(q: str, groups: bool, most: int) -> None:
    query = dp.Quantile("v", q, by="g" if groups else None)
    cells = [(v, g) for v in range(4) for g in (("a", "b") if groups else ("a",))]
    persons = [
        list(c) for r in range(most + 1) for c in itertools.combinations_with_replacement(cells, r)
    ]
    value = Fraction(q)
    starts = [[(0, "a")] * i + [(3, "a")] * j for i in (0, 3, 6) for j in (0, 3, 6)]
    if groups:
        starts = [s + [(v, "b") for v, _ in t] for s in starts[:3] for t in starts[:3]]

    def distance(one: Any, two: Any) -> int:
        return int(np.abs(one - two).max(axis=1).sum())

    added = replaced = single = 0
    for start in starts:
        scores = [all_scores(start + person, value, groups) for person in persons]
        nobody = all_scores(start, value, groups)
        added = max(added, *(distance(score, nobody) for score in scores))
        replaced = max(replaced, *(distance(a, b) for a in scores for b in scores))
        exactly = [s for s, p in zip(scores, persons, strict=True) if len(p) == 1]
        single = max(single, *(distance(a, b) for a in exactly for b in exactly))
    add = dp.Unit(dp.ADD_REMOVE, "id", most) if most > 1 else dp.Unit(dp.ADD_REMOVE)
    assert query.rank_sensitivity(value, POINTS, add) == added
    assert query.rank_sensitivity(value, POINTS, dp.Unit(dp.REPLACE_ONE, "id", most)) == replaced
    if most == 1 and not groups:
        assert query.rank_sensitivity(value, POINTS, dp.Unit(dp.REPLACE_ONE)) == single
    assert query.sensitivity(POINTS, add) == Sensitivity(added, added**2)
