"""Ways to ask for several things at once through the door: guests look at all that is told together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import pytest
from door_subjects import FEW_CORNERS, SCHEMA, SEEN_DELTA, UNITS, Released, Table, pairs_for
from mechanism_subjects import claims_of
from overheard import listen, tell
from read_once import read_once
from readings import flatten
from subject import Subject

import discreet as dp
from discreet.events import Event

QUESTIONS = {"people": dp.Count(by="c"), "x": dp.Mean("x"), "middle": dp.Quantile("y", "1/2")}
#: A description of one column: a count, moments and quartiles.
ONE_COLUMN = dp.Schema(x=SCHEMA.base["x"])
BUDGETS = {"Laplace": dp.PureDP(3), "Gaussian": dp.ZCDP(1)}


def tell_all(found: Any) -> list[float]:
    """What answers to several questions say."""
    return [number for name in found for number in flatten(found[name].value)]


#: A way to ask, and what an attacker reads of its answer besides the noised sums.
WAYS: dict[str, Callable[[dp.PrivateDataset, Any], list[float]]] = {
    "release_all": lambda data, budget: tell_all(data.release_all(QUESTIONS, budget)),
    "describe": lambda data, budget: tell_all(data.describe(budget).answers),
    "release with a check": lambda data, budget: flatten(
        data.release(dp.Sum("x"), budget, check=True).value
    ),
}


@contextmanager
def planned_once() -> Iterator[None]:
    """Plan each question and each set of questions once inside the block: plans follow from public facts."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_prepare", "plan_all"):
            plan, kept = getattr(dp.PrivateDataset, name), {}

            def remember(
                data: Any, *asked: Any, plan: Any = plan, kept: Any = kept, **more: Any
            ) -> Any:
                key = repr((asked, more))
                if key not in kept:
                    kept[key] = plan(data, *asked, **more)
                return kept[key]

            patch.setattr(dp.PrivateDataset, name, remember)
        yield


class Asked(Released):
    """One way to ask, many times, of a door that was paid for all of them."""

    def __init__(self, way: str, budget: Any, unit: Any) -> None:
        super().__init__(dp.Count(), budget, ONE_COLUMN if way == "describe" else SCHEMA, unit)
        self.way = way

    def event(self) -> Event:
        """What is charged for asking once."""
        data = self.open(next(pairs_for(self.schema, self.unit))[0])
        WAYS[self.way](data, self.budget)
        assert data.ledger is not None
        charged = data.ledger.entries()[-1].event
        assert charged is not None
        return charged

    def __call__(self, rows: Table, runs: int) -> Any:
        data, told = self.open(rows), []
        event = self.event()
        with planned_once(), data.prepaid(dp.events.Repeat(event, runs)) as door, listen() as heard:
            read_once(door)
            for _ in range(runs):
                heard.clear()
                shown = WAYS[self.way](door, self.budget)
                told.append([*tell(heard), shown])
        return told


def asked_subject(way: str, unit_name: str, noise: str) -> Subject:
    """One way to ask, as guests see it."""
    unit = UNITS[unit_name]
    asked = Asked(way, BUDGETS[noise], unit)
    claims = claims_of(asked.event(), seen=SEEN_DELTA)
    title = f"{way}, {unit_name}, {noise}"
    return Subject(
        title, asked, list(pairs_for(asked.schema, unit, FEW_CORNERS)), claims, 400, 6, way
    )


#: Every way, with every unit and both kinds of noise.
ASKINGS = tuple(product(WAYS, UNITS, BUDGETS))


def all_asked() -> Iterator[Subject]:
    yield from (asked_subject(*asking) for asking in ASKINGS)
