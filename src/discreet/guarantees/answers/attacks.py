"""Attacks on several answers from one budget: what they tell together, and what they are charged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.accounting import satisfies
from discreet.answers import AnswersPlan, plan_questions
from discreet.audit.exact import exact, statement
from discreet.audit.pairs import through_the_door
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.dataset import PrivateDataset
from discreet.engines import open_engine
from discreet.events import Repeat
from discreet.guarantees.fits import exact_losses, flatten, likelihood
from discreet.guarantees.queries.attacks import (
    LONG,
    SCHEMA,
    SHARP,
    UNITS,
    quantile_pairs,
    table,
)
from discreet.guarantees.selection.attacks import worst
from discreet.ledger import Ledger
from discreet.measures import ZCDP, ApproxDP, GaussianDP, Measure, PureDP
from discreet.mechanisms import mechanism_for
from discreet.queries import Count, Mean, Quantile, QuantileEstimate, Query, Sum
from discreet.queries.quantile_estimate import PreparedEstimate
from discreet.unit import Unit

Floats = npt.NDArray[np.float64]
Levels = tuple[Fraction, Fraction, Fraction]

#: Two counts that one person moves both.
TWICE: dict[str, Query] = {"wide": Count(where="x > 0"), "tall": Count(where="y >= 1")}
#: Questions of all kinds and sizes.
ALL_KINDS: dict[str, Query] = {
    **TWICE,
    "all": Count(by="c"),
    "sum": Sum("x", by="c"),
    "mean": Mean("y"),
}
PERSON = (3.0, 4.0, "b")
MEASURES: tuple[Measure, ...] = (PureDP(1), ApproxDP(1, "1/1000000"), ZCDP("1/10"))


def ask_together(
    asked: dict[str, Query], measure: Measure, plan: AnswersPlan, unit: Unit
) -> Callable[..., Any]:
    """The mechanism that really plans (once for all runs), pays, reads and answers, as one row of numbers."""

    def mechanism(rows: Any, trials: int) -> Any:
        ledger = Ledger(limit=measure.times(trials + 1), unit=unit)
        data = PrivateDataset(rows, SCHEMA, ledger=ledger)
        found = []
        planned = data.plan_all(asked, measure)
        with data.prepaid(Repeat(plan.event, trials)) as door:
            door.plan_all = lambda *_, **__: planned  # type: ignore[method-assign]
            for _ in range(trials):
                answers = door.release_all(asked, measure)
                found.append(np.concatenate([flatten(one.value) for one in answers.values()]))
        return np.array(found)

    return mechanism


@attack("split-budget")
def split_budget() -> Iterator[Part]:
    kinds: dict[str, dict[str, Query]] = {
        "sums": ALL_KINDS,
        "sums and a median": {**ALL_KINDS, "median": Quantile("y", "1/2")},
        "thirty counts": {f"{i}": Count(where=f"x > {i / 15}") for i in range(30)},
    }
    for title, asked in kinds.items():
        for measure, unit in product(MEASURES, UNITS if "wide" in asked else UNITS[:1]):
            weights = {"wide": 9} if "wide" in asked else None
            plan = plan_questions(asked, measure, SCHEMA, unit, rows=3, weights=weights)
            yield statement(
                f"{title}, {measure!r}, {unit}",
                f"together at most {measure!r}",
                satisfies(plan.event, measure),
                f"{len(asked)} questions, {plan.route}",
            )
    pair = (table(()), table((PERSON,)))
    here = np.array([2, 3])  # of the common rows, in both counts
    for measure in (PureDP(3), ZCDP(2)):
        claim = GaussianDP(2 * measure.rho) if isinstance(measure, ZCDP) else measure
        plan = plan_questions(TWICE, measure, SCHEMA, UNITS[0])
        query, budget = plan.questions[0].query, plan.questions[0].budget
        moved = query.sensitivity(SCHEMA, UNITS[0])
        noise = mechanism_for(budget, moved).distribution(moved)
        losses = exact_losses(noise, here, here + 1)
        yield Case(
            f"two counts of the same person, {measure!r}, through the door",
            ask_together(TWICE, measure, plan, UNITS[0]),
            pair,
            claim,
            1_500,
            {"score": likelihood(noise, here, here + 1), "reuse": False},
            losses,
        )


def neighbour_distribution(
    asked: QuantileEstimate, measure: Measure, rows: Any, unit: Unit, q: Sequence[Levels]
) -> Floats:
    """The probabilities of all draws over groups together, each group with neighbours of its own."""
    prepared = asked.prepare(measure, SCHEMA, unit, 3)
    assert isinstance(prepared, PreparedEstimate)
    tally = open_engine(rows, SCHEMA, unit).tally(asked.coded(SCHEMA, unit))
    last, found = SCHEMA.code(asked.column).high, []
    for group, levels in enumerate(q):
        here, draws = tally.groups == group, prepared.plan_draws(levels)
        for at, level in enumerate(levels):
            first, length, score = Quantile.scores(
                tally.codes[here], tally.counts[here], level, last
            )
            factor = float(draws.event.event.epsilon) / (2 * draws.sensitivities[at])  # type: ignore[attr-defined]
            points = np.repeat(score, length)[np.argsort(np.repeat(first, length), kind="stable")]
            mass = np.exp(factor * (points - points.max()))
            found.append(mass / mass.sum())
    return np.asarray(reduce(np.multiply.outer, found), np.float64).ravel()


def _compare_draws(
    asked: QuantileEstimate, budget: Measure, unit: Unit, pair: tuple[Any, Any], q: Sequence[Levels]
) -> AuditResult:
    """What the draws tell about a pair of tables, against the part of the budget that is theirs."""
    here, there = (neighbour_distribution(asked, budget, rows, unit, q) for rows in pair)
    return exact(here, there, PureDP(4))


@attack("quantile-estimate")
def quantile_estimate() -> Iterator[Part]:
    asked = QuantileEstimate("y", "1/4", by="c")
    for measure, unit in product((PureDP(1), ZCDP("1/10")), UNITS):
        event = asked.prepare(measure, SCHEMA, unit, 3).event
        claim, holds = f"together at most {measure!r}", satisfies(event, measure)
        yield statement(f"{asked!r}, {unit}", claim, holds, f"{event!r}")
    half = Fraction(1, 2)
    tables = (((half,) * 3, (half,) * 3), ((Fraction(1, 5), half, 1 - Fraction(1, 5)), (half,) * 3))
    draws = PureDP(Fraction(10, 9) * 4)  # of which the draws have 4
    for unit in UNITS[:3]:
        found = (
            _compare_draws(asked, draws, unit, pair, q)
            for q in tables
            for pair in quantile_pairs(unit)
        )
        yield worst(found, f"{asked!r}, {unit}: the distribution of its draws")
    unit, query = UNITS[0], QuantileEstimate("n", "1/2")  # the sharper of both pairs
    door = through_the_door(query, PureDP(6), LONG, unit)
    title = f"{query!r}, {unit}, its own draw through the door, with 3/10 of the budget"
    yield Case(title, door, SHARP[unit], 1.8, 4_000)
