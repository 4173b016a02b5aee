"""Attacks on ledgers and the door: adaptive analysts, and what happens before a charge."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from typing import Any

from discreet import events
from discreet.audit.exact import exact, statement
from discreet.audit.probes import WatchedRows, order_of_charge_and_read
from discreet.audit.registry import Part, attack
from discreet.dataset import PrivateDataset
from discreet.guarantees.ledger import attacks_adaptive as adaptive
from discreet.ledger import BudgetExceeded, Ledger
from discreet.ledger.amounts import Amounts, add_amounts
from discreet.ledger.filters import Filter, RenyiFilter, new_filter
from discreet.measures import ZCDP, ApproxDP, Measure, PureDP
from discreet.queries import Count, Histogram, Mean, Quantile, Query, Variance
from discreet.schema import Integer, Real, Schema
from discreet.selection import Selection
from discreet.step import CodedRows, Step
from discreet.unit import Unit

_HALF = Fraction(1, 2)
_CHOICES = (Fraction(1, 10), Fraction(1, 3), _HALF)


def asked_of(filter_: Filter, limit: Measure) -> Callable[[], Callable[[Fraction], bool]]:
    """A fresh analyst's view of a filter: may this ε be spent on randomised response?"""
    caps = filter_.caps(limit)

    def start() -> Callable[[Fraction], bool]:
        totals: Amounts = dict.fromkeys(filter_.names, Fraction(0))

        def ask(epsilon: Fraction) -> bool:
            nonlocal totals
            price = filter_.price(events.RandomizedResponse(epsilon), None)
            more = add_amounts(totals, price)
            if not filter_.fits(more, caps):
                return False
            totals = more
            return True

        return ask

    return start


def asked_of_ledger(limit: Measure) -> Callable[[], Callable[[Fraction], bool]]:
    """The same for a real ledger."""

    def start() -> Callable[[Fraction], bool]:
        ledger = Ledger(limit=limit)

        def ask(epsilon: Fraction) -> bool:
            try:
                ledger.charge(events.RandomizedResponse(epsilon))
            except BudgetExceeded:
                return False
            return True

        return ask

    return start


@attack("ledger-filter")
def ledger_filter() -> Iterator[Part]:
    pure = adaptive.responses(asked_of_ledger(PureDP(1)), _CHOICES, 5)
    yield exact(*pure, PureDP(1), title="a ledger of pure DP, questions chosen by answers")
    basic = ApproxDP(1, "1e-6")
    for composition, limit in (
        ("pure", PureDP(1)),
        ("basic", basic),
        ("zcdp", ZCDP("1/8")),
        ("zcdp", ApproxDP(1, "1/100")),
        ("renyi", ApproxDP(1, "1/100")),
    ):
        filter_ = new_filter(composition, limit, Fraction(0))
        distributions = adaptive.responses(asked_of(filter_, limit), _CHOICES, 9)
        yield exact(
            *distributions, limit, title=f"the {composition} filter with {limit!r}, 9 questions"
        )
    yield from _two_steps()


def _two_steps() -> Iterator[Part]:
    """The example that breaks a filter without shares, and the best attack of its shape on one with."""
    shares = {12.0: _HALF, 64.0: _HALF, math.inf: Fraction(0)}
    sound = RenyiFilter(adaptive.LIMIT.delta, Fraction(0), shares)
    taken = [answer for answer in (0, 1) if adaptive.accepts(sound, answer)]
    yield exact(*adaptive.transcript(taken), adaptive.LIMIT, title="two steps, shares of δ")
    caps, first = sound.caps(adaptive.LIMIT), sound.price(adaptive.declared(*adaptive.FIRST), None)
    second = {}
    for answer, t in ((0, 0.635), (1, 1.147e-5)):
        low, high = 0.0, 5.0
        for _ in range(50):  # the largest loss that the filter accepts
            middle = (low + high) / 2
            event = adaptive.declared(*adaptive.two_points(t, middle))
            fits = sound.fits(add_amounts(first, sound.price(event, None)), caps)
            low, high = (middle, high) if fits else (low, middle)
        second[answer] = adaptive.two_points(t, low)
    distributions = adaptive.transcript((0, 1), second)
    yield exact(
        *distributions,
        adaptive.LIMIT,
        title="two steps, as much as the filter takes on each branch",
    )


SCHEMA = Schema(x=Real(0, 1), y=Integer(0, 4))


class _WatchedLedger(Ledger):
    """A real ledger that tells the probe of each charge first."""

    def __init__(self, pay: Callable[[], None]) -> None:
        super().__init__(limit=PureDP(100))
        self._pay = pay

    def charge(self, *arguments: Any, **options: Any) -> Any:
        self._pay()
        return super().charge(*arguments, **options)


class _CountRows(Step):
    """A step that looks at all rows."""

    def event(self, schema: Schema, unit: Unit) -> events.Event:
        return events.DiscreteLaplace(1, 1)

    def run(self, rows: CodedRows) -> int:
        return len(rows.codes)


@attack("charged-before-read")
def charged_before_read() -> Iterator[Part]:
    columns: dict[str, list[float]] = {"x": [0.25, 0.75, 1.0], "y": [0, 3, 4]}
    asked: tuple[Query, ...] = (
        Count(where="x > 0"),
        Histogram("y"),
        Mean("x"),
        Variance("x", where="y >= 1"),
        Quantile("y", "1/2"),
    )
    for query in asked:

        def door(rows: WatchedRows, pay: Callable[[], None], query: Query = query) -> Any:
            data = PrivateDataset(rows, SCHEMA, ledger=_WatchedLedger(pay))
            return data.release(query, PureDP(1))

        yield order_of_charge_and_read(door, columns, title=f"release of {query!r}")

    def step(rows: WatchedRows, pay: Callable[[], None]) -> Any:
        return PrivateDataset(rows, SCHEMA, ledger=_WatchedLedger(pay)).run(_CountRows())

    yield order_of_charge_and_read(step, columns, title="a step")

    def prepaid(rows: WatchedRows, pay: Callable[[], None]) -> Any:
        data = PrivateDataset(rows, SCHEMA, ledger=_WatchedLedger(pay))
        event = data.plan(Mean("x"), PureDP(1)).event
        with data.prepaid(events.Repeat(event, 2)) as open_door:
            return [open_door.release(Mean("x"), PureDP(1)) for _ in range(2)]

    yield order_of_charge_and_read(prepaid, columns, title="a prepaid plan")

    def select(rows: WatchedRows, pay: Callable[[], None]) -> Any:
        data = PrivateDataset(rows, SCHEMA, ledger=_WatchedLedger(pay))
        event = data.plan(Mean("x"), PureDP(1)).event
        best = Selection(((event,),), (1,), Fraction(1), _HALF)
        return data.select(best, lambda _, doors: (0.0, doors[0].release(Mean("x"), PureDP(1))))

    yield order_of_charge_and_read(select, columns, title="the best of several runs")
    rows = WatchedRows(columns)
    data = PrivateDataset(rows, SCHEMA, ledger=Ledger(limit=PureDP(1)))
    data.plan(Mean("x"), PureDP("1/2"))
    repr(data)
    with suppress(BudgetExceeded):
        data.release(Mean("x"), PureDP(2))
    yield statement(
        "opening, planning, printing, an over-spend",
        "read no cell",
        rows.reads == 0,
        f"{rows.reads} looks at cells",
        "order of acts",
    )
