"""Attacks on histograms whose noise is shaped: every neighbour of small tables, exactly, and the door."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.accounting import cost
from discreet.audit.exact import statement
from discreet.audit.pairs import through_the_door
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.engines import open_engine
from discreet.measures import ZCDP, GaussianDP, Measure, PureDP
from discreet.mechanisms import GaussianDistribution, LaplaceDistribution
from discreet.publish.privelet import Bank, Flat, Haar, Ranges, Tree
from discreet.publish.privelet.designs import Design
from discreet.schema import Categorical, Integer, Schema
from discreet.unit import ADD_REMOVE, REPLACE_ONE, Unit

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Row = tuple[int, str]

SCHEMA = Schema(n=Integer(0, 6), c=Categorical("a", "b"))
UNITS = (
    Unit(ADD_REMOVE),
    Unit(REPLACE_ONE),
    Unit(ADD_REMOVE, id_column="who", max_rows=2),
    Unit(REPLACE_ONE, id_column="who", max_rows=2),
)
#: All rows that there can be, one without a declared value of c among them.
ROWS: tuple[Row, ...] = tuple(product(range(7), ("a", "b", "?")))
SOME = tuple(row for row in ROWS if row[0] in (0, 3, 6))
COMMON: tuple[Row, ...] = ((1, "a"), (5, "b"), (6, "a"))


def queries() -> tuple[Ranges, ...]:
    """Ways to measure one column and two, with and without rows that may not count."""
    return (
        Ranges("n"),
        Ranges("n", strategy=Flat()),
        Ranges("n", strategy=Tree(2, split="equal")),
        Ranges("n", strategy=Tree(3)),
        Ranges("n", strategy=Haar(2), where="n > 2"),
        Ranges("n", strategy=Haar(3)),
        Ranges("n", strategy=Haar((4, 2), split="equal")),
        Ranges("n", strategy=Bank()),
        Ranges("n", "c", strategy=Tree(3)),
        Ranges("n", "c", strategy=Haar(3), ordered=["c"]),
    )


def table(person: Sequence[Row]) -> dict[str, Any]:
    """The common rows, each of a different person, and those of the one person."""
    rows = [*COMMON, *person]
    return {
        "n": np.array([row[0] for row in rows], np.float64),
        "c": np.array([row[1] for row in rows], object),
        "who": np.array([*map(str, range(len(COMMON))), *["the one"] * len(person)], object),
    }


def design_of(query: Ranges, budget: Measure, unit: Unit) -> Design:
    """What the door would measure, for a table of as many rows as here."""
    rows = len(COMMON) + 1 if unit.length_is_public else None
    prepared = query.prepare(budget, SCHEMA, unit, rows)
    return prepared.design  # type: ignore[attr-defined,no-any-return]


def persons(unit: Unit) -> list[Sequence[Row]]:
    """All that the one person may have."""
    if unit.id_column is None:
        return [(row,) for row in ROWS]
    return [(), *((row,) for row in ROWS), *combinations_with_replacement(SOME, 2)]


def counted(query: Ranges, unit: Unit) -> tuple[Integers, list[Integers]]:
    """The cells' counts without the one person and with all that they may have, from the engine."""
    coded = query.coded(SCHEMA, unit)
    shape = [len(scale.labels) for scale in query.histogram(SCHEMA)[1]]
    key = repr((coded, unit))
    if key not in _COUNTED:
        _COUNTED[key] = [
            open_engine(table(person), SCHEMA, unit).totals(coded)
            for person in ((), *persons(unit))
        ]
    without, *others = (counts.reshape(shape) for counts in _COUNTED[key])
    return without, others


#: Designs differ in what they make of the same counts.
_COUNTED: dict[str, list[Integers]] = {}


def loss(design: Design, one: Sequence[Integers], two: Sequence[Integers]) -> Fraction:
    """The largest log-ratio of Laplace noise, or the squared distance in deviations of Gaussian noise."""
    found = Fraction(0)
    for distribution, here, there in zip(design.distributions, one, two, strict=True):
        apart = [int(gap) for gap in (here - there).ravel() if gap]
        if isinstance(distribution, LaplaceDistribution):
            found += Fraction(sum(map(abs, apart))) / distribution.scale
        else:
            assert isinstance(distribution, GaussianDistribution)
            found += Fraction(sum(gap * gap for gap in apart)) / distribution.sigma**2
    return found


def farthest(
    query: Ranges, design: Design, unit: Unit
) -> tuple[Fraction, list[Integers], list[Integers]]:
    """The worst pair of neighbours among all that there are around the common rows."""
    without, others = counted(query, unit)
    found = [design.measure(counts) for counts in others]
    if unit.relation is ADD_REMOVE:
        pairs: Any = ((design.measure(without), other) for other in found)
    else:
        pairs = combinations(found if len(found) < 40 else found[:: len(found) // 25], 2)
    worst = max(pairs, key=lambda pair: loss(design, *pair))
    return loss(design, *worst), *worst


def claimed(design: Design, budget: Measure) -> Fraction:
    """What the event of a design costs: ε of Laplace noise, μ² of Gaussian noise."""
    if isinstance(budget, PureDP):
        return Fraction(cost(design.event, PureDP).epsilon)
    return Fraction(cost(design.event, GaussianDP).mu_squared)


def told_apart(
    design: Design, one: Sequence[Integers], two: Sequence[Integers]
) -> Callable[..., Floats]:
    """The noised integers of all levels, told as the likelihood ratio of two tables."""

    def run(centre: Sequence[Integers], trials: int) -> Floats:
        found = np.zeros(trials)
        for distribution, at, a, b in zip(design.distributions, centre, one, two, strict=True):
            differ = np.flatnonzero((a - b).ravel())
            noised = distribution.run(np.tile(at.ravel()[differ], (trials, 1)))
            here, there = a.ravel()[differ], b.ravel()[differ]
            if isinstance(distribution, LaplaceDistribution):
                gap = np.abs(noised - there) - np.abs(noised - here)
                found += gap.sum(axis=1) / float(distribution.scale)
            else:
                assert isinstance(distribution, GaussianDistribution)
                found += noised @ (here - there) / float(distribution.sigma) ** 2
        return np.round(found, 6)

    return run


def searches() -> Iterator[AuditResult]:
    """Compare what the farthest neighbours tell with what is charged, for every design and unit."""
    budgets: tuple[Measure, ...] = (PureDP(1), ZCDP("1/2"))  # ε = 1, and μ² = 2ρ = 1
    for query, budget in product(queries(), budgets):
        told, within = [], True
        for unit in UNITS:
            design = design_of(query, budget, unit)
            most, charge = farthest(query, design, unit)[0], claimed(design, budget)
            within = within and most <= charge <= 1
            told.append(f"{float(most):.4g} of {float(charge):.4g}")
        yield statement(
            f"{query!r}, {budget!r}",
            "the farthest neighbours are within the event, and the event within the budget",
            within,
            f"they reach {', '.join(told)} (unit by unit)",
            probe="every neighbour",
        )


def cells_through_the_door(query: Ranges, budget: Measure, unit: Unit) -> Callable[..., Any]:
    """Whole releases, told as the noised cells."""
    door = through_the_door(query, budget, SCHEMA, unit)

    def run(rows: Any, trials: int) -> Floats:
        return np.array([value.cells.ravel() for value in door(rows, trials)])

    return run


@attack("privelet")
def privelet() -> Iterator[Part]:
    yield from searches()
    for query in (Ranges("n", strategy=Tree(3)), Ranges("n", strategy=Haar(2))):
        for unit in UNITS[:3]:
            design = design_of(query, PureDP(1), unit)
            _, one, two = farthest(query, design, unit)
            run = told_apart(design, one, two)
            yield Case(f"{query!r}, {unit}, ε = 1", run, (one, two), 1.0, 40_000)
    for query in (Ranges("n", strategy=Tree(2)), Ranges("n", "c", strategy=Haar(2))):
        design = design_of(query, ZCDP("1/2"), UNITS[1])
        _, one, two = farthest(query, design, UNITS[1])
        run = told_apart(design, one, two)
        yield Case(f"{query!r}, {UNITS[1]}, ρ = 1/2", run, (one, two), GaussianDP(1), 40_000)
    pair = table(()), table(((0, "a"),))
    door = cells_through_the_door(Ranges("n"), PureDP(2), UNITS[0])
    yield Case(f"{Ranges('n')!r}, through the door", door, pair, 2.0, 600)
