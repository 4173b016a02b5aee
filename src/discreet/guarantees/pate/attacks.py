"""Attacks on votes: crafted counts, teachers that tell all they see, and neighbours that shift places."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet import accounting
from discreet.audit.exact import exact, statement
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.columns import Categorical, Integer
from discreet.dataset import PrivateDataset
from discreet.deep.pate import PATE, Aggregation, ConfidentGNMax, GNMax, LNMax, dependent_cost
from discreet.deep.pate.dependent import neighbouring_counts
from discreet.deep.pate.teachers import deal
from discreet.events import Repeat
from discreet.guarantees.selection.attacks import worst
from discreet.ledger import Ledger
from discreet.measures import ZCDP, ApproxDP, GaussianDP, Measure, PureDP
from discreet.models.inputs import open_input
from discreet.schema import Schema
from discreet.unit import ADD_REMOVE, PUBLIC, REPLACE_ONE, Unit

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Table = dict[str, Any]

SCHEMA = Schema(x=Integer(0, 1), y=Categorical(0, 1))
#: How many questions a case asks, all of them alike: one person then moves as many labels.
QUESTIONS = 32
#: Why an attack on a person among others stays far below the claim.
ONE_OF_MANY = (
    "the claim allows for the person to decide a teacher's vote; here it is the neighbours' other rows that "
    "must not move, and a rule by places moves them all"
)
#: Why an attack on all rows of a person stays below the claim.
MEET = "by chance some of the twelve rows meet at one teacher, where the claim allows for twelve teachers"


def count_labels(aggregation: Aggregation, label: int) -> Callable[..., Floats]:
    """How many of `QUESTIONS` questions with these counts get a label."""

    def mechanism(counts: tuple[int, ...], trials: int) -> Floats:
        votes = np.tile(np.array(counts, np.int64), (QUESTIONS, 1))
        found = [(aggregation.run(votes) == label).sum() for _ in range(trials)]
        return np.array(found, np.float64)

    return mechanism


def draw_case(title: str, aggregation: Aggregation, pair: Any, label: int) -> Case:
    """The labels of crafted votes against the price of answering."""
    price = accounting.cost(aggregation.event(QUESTIONS), GaussianDP)
    return Case(title, count_labels(aggregation, label), pair, price, 2500)


def tell_labels(rows: Floats, labels: Integers, classes: int) -> Callable[[Floats], Integers]:
    """A teacher that votes for the class of most of its rows."""
    vote = int(np.bincount(labels, minlength=classes).argmax())
    return lambda questions: np.full(len(questions), vote)


def tell_agreement(rows: Floats, labels: Integers, classes: int) -> Callable[[Floats], Integers]:
    """A teacher that votes 1 if all of its rows are alike."""
    vote = int((rows == rows[0]).all())
    return lambda questions: np.full(len(questions), vote)


def fits(title: str, model: PATE, unit: Unit, pair: Any, trials: int, reason: str = "") -> Case:
    """How many labels of whole runs through the door are 1, against what is charged for a run."""

    def mechanism(table: Table, trials: int) -> Floats:
        ledger = Ledger(limit=ZCDP(10**9), unit=unit)
        data = PrivateDataset(table, SCHEMA, ledger=ledger)
        plan = model._plan(open_input(model, data, None, None, "y").facts, None)
        lesson, public = model._prepare(plan, np.zeros((QUESTIONS, 1)))
        step = model._step(replace(plan, recipe=replace(plan.recipe, lesson=lesson, public=public)))
        with data.prepaid(Repeat(plan.event, trials)) as door:
            return np.array([(door.run(step)[0] == 1).sum() for _ in range(trials)], np.float64)

    here = PrivateDataset(pair[0], SCHEMA, unit=PUBLIC)
    facts = replace(open_input(model, here, None, None, "y").facts, unit=unit)
    claim = accounting.cost(model._plan(facts, None).event, GaussianDP)
    return Case(title, mechanism, pair, claim, trials, {"reuse": False}, reason=reason)


def table(rows: list[tuple[int, int, int]]) -> Table:
    """Columns of a few rows: x, class, person."""
    x, y, person = zip(*rows, strict=True) if rows else ((), (), ())
    return {name: np.array(cells, float) for name, cells in zip("xyp", (x, y, person), strict=True)}


def teach(teacher: Any, teachers: int, **options: Any) -> PATE:
    """PATE at a small budget with a teacher of ours."""
    budget = {"epsilon": 8, "delta": 0.01, "aggregation": "gnmax", **options}
    return PATE(teacher, None, teachers, n_queries=QUESTIONS, **budget)


def dealt_rows() -> tuple[Table, Table]:
    """Sixteen rows, and the same without the first: in pairs by place all agree, and then none does."""
    rows = [(at // 2 % 2, at % 2, 0) for at in range(16)]
    return table(rows), table(rows[1:])


@attack("pate")
def pate() -> Iterator[Part]:
    yield draw_case("GNMax, votes 21 and 12, drawn", GNMax(4), ((2, 1), (1, 2)), 0)
    confident = ConfidentGNMax(10, 2, 20, QUESTIONS)
    yield draw_case("Confident-GNMax at its threshold, drawn", confident, ((10, 0), (9, 1)), -1)
    laplace = LNMax(1)
    yield Case(
        "LNMax, votes 10 and 01, drawn",
        lambda counts, trials: laplace.run(np.tile(counts, (trials, 1))),
        (np.array([1, 0]), np.array([0, 1])),
        accounting.cost(laplace.event(1), PureDP),
        20_000,
    )
    for aggregation in (LNMax(2), LNMax("1/2")):
        price = accounting.cost(aggregation.event(1), PureDP)
        yield worst(
            (
                _compare(aggregation, pair, price)
                for pair in (((30, 0), (29, 1)), ((1, 0), (0, 1)), ((9, 9, 0), (9, 8, 1)))
            ),
            f"the distribution of {aggregation!r}",
        )
    one = table([(1, 1, 1)]), table([])
    yield fits("a row or none, one teacher", teach(tell_labels, 1), Unit(ADD_REMOVE), one, 1600)
    other = table([(1, 1, 1)]), table([(1, 0, 1)])
    yield fits("a row replaced, one teacher", teach(tell_labels, 1), Unit(REPLACE_ONE), other, 1200)
    many = table([(1, 1, 1)] * 12), table([])
    persons = Unit(ADD_REMOVE, "p", 12)
    yield fits("twelve rows of a person", teach(tell_labels, 12), persons, many, 500, MEET)
    shifted = fits(
        "rows that shift places",
        teach(tell_agreement, 8),
        Unit(ADD_REMOVE),
        dealt_rows(),
        250,
        ONE_OF_MANY,
    )
    yield shifted
    ids = np.array([5, 0, 5, 3, 5, 0])
    teachers = [deal(6, 50, ids, 6) for _ in range(40)]
    holds = all(len(set(found[ids == who])) == 1 for found in teachers for who in (0, 5))
    yield statement("rows of one id", "go to one teacher", holds, "forty deals to fifty teachers")
    for unit in (Unit(ADD_REMOVE), Unit(REPLACE_ONE), persons):
        yield whole_price(unit)


def _compare(aggregation: Aggregation, pair: Any, price: Measure) -> AuditResult:
    """The two distributions of the label, against the price of one question."""
    here, there = aggregation.probabilities(np.array(pair))
    return exact(here, there, price)


def whole_price(unit: Unit) -> Part:
    """Check that what is charged covers the event, for each aggregation."""
    data = PrivateDataset(table([(1, 1, 1)]), SCHEMA, unit=PUBLIC)
    holds = True
    for aggregation, delta in product(("confident", "gnmax", "lnmax"), (1e-6,)):
        model = teach(tell_labels, 20, aggregation=aggregation, epsilon=2, delta=delta)
        facts = replace(open_input(model, data, None, None, "y").facts, unit=unit)
        holds &= accounting.satisfies(model._plan(facts, None).event, ApproxDP(2, delta))
    return statement(f"the plans for: {unit}", "at most (2, 1e-6)", holds, "all aggregations")


def law_by_enumeration(aggregation: Aggregation, counts: Integers, reach: int) -> Floats:
    """The probabilities of outcomes, summed over all values of all noises: slow and obvious."""
    values = np.arange(-reach, reach + 1)
    scale = getattr(aggregation, "sigma", getattr(aggregation, "scale", None))
    weights = _weights(values, float(scale), isinstance(aggregation, LNMax))  # type: ignore[arg-type]
    found = np.zeros(len(counts) + 1)
    for drawn in product(range(len(values)), repeat=len(counts)):
        noisy = [count + values[at] for count, at in zip(counts, drawn, strict=True)]
        found[noisy.index(max(noisy))] += np.prod(weights[list(drawn)])
    if isinstance(aggregation, ConfidentGNMax):
        checks = _weights(values, float(aggregation.check_sigma), laplace=False)
        passed = checks[counts.max() + values >= aggregation.threshold].sum()
        found *= passed
        found[-1] = 1 - passed
    return found


def _weights(values: Integers, scale: float, laplace: bool) -> Floats:
    """The probabilities of rounded Gaussian or discrete Laplace noise, by other functions than its own."""
    if laplace:
        found = np.exp(-abs(values) / scale)
        return np.asarray(found / found.sum())
    tails = [math.erfc((abs(v) - 0.5) / (scale * math.sqrt(2))) / 2 for v in range(len(values) + 1)]
    cells = [tails[abs(v)] - tails[abs(v) + 1] if v else 1 - 2 * tails[1] for v in values.tolist()]
    return np.array(cells)


@attack("pate-dependent")
def pate_dependent() -> Iterator[Part]:
    """No neighbour of crafted votes is farther away than the curve says, by a sum of its own."""
    orders = (1.5, 2, 4, 8)
    for aggregation in (GNMax(2), LNMax(2), ConfidentGNMax(4, 2, 2, 5)):
        reach = 44 if isinstance(aggregation, LNMax) else 14
        for counts in ((5, 1), (2, 2), (3, 0)):
            row = np.array(counts)
            curve = dependent_cost(aggregation, row[None], orders=orders)
            here = law_by_enumeration(aggregation, row, reach)
            found = (
                exact(here, law_by_enumeration(aggregation, other, reach), curve)
                for other in neighbouring_counts(row)
            )
            yield worst(found, f"{aggregation!r}, votes {counts}, all neighbours")
    yield statement(
        "private rows", "the data-dependent ε is refused", _is_refused(), "a fit to private rows"
    )


def _is_refused() -> bool:
    rows = table([(0, 0, 0), (1, 1, 1)])
    data = PrivateDataset(rows, SCHEMA, ledger=Ledger(limit=ApproxDP(8, 0.01)))
    model = teach(tell_labels, 2).fit(data, public=np.zeros((QUESTIONS, 1)))
    try:
        model.dependent_epsilon()
    except ValueError:
        return True
    return False
