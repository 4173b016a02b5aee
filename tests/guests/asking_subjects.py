"""Ways to ask for several things at once through the door: guests look at all that is told together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pytest
from door_subjects import (
    FEW_CORNERS,
    REPEATED,
    SCHEMA,
    SEEN_DELTA,
    UNITS,
    Released,
    Table,
    expected_loss,
    pairs_for,
)
from mechanism_subjects import claims_of
from overheard import Noised, are_alike, draw_again, listen, tell
from read_once import read_once
from readings import flatten
from subject import Subject

import discreet as dp
from discreet import accounting, testing
from discreet.events import Event
from discreet.queries.joint_quantiles import PreparedJointQuantiles
from discreet.queries.quantile import PreparedQuantile

QUESTIONS = {"people": dp.Count(by="c"), "x": dp.Mean("x"), "middle": dp.Quantile("y", "1/2")}
#: A description of one column: a count, moments and quartiles.
ONE_COLUMN = dp.Schema(x=SCHEMA.base["x"])
BUDGETS = {"Laplace": dp.PureDP(2), "Gaussian": dp.ZCDP(1)}
#: The δ at which the accountant is asked of several answers, besides 0: it knows that losses seldom add up.
DELTAS = (0.1, 0.3)
HALF, WEAKER = Fraction(1, 2), Fraction(1, 4)
#: Runs on each side. A person with several rows is spread over more numbers; quantiles take the most time.
RUNS = {"release_all": 3000, "describe": 1000, "release with a check": 1500}
RUNS_OF_PERSONS = {"release_all": 5000, "describe": 1000, "release with a check": 1500}


#: Ways to ask for several things.
WAYS: dict[str, Callable[[dp.PrivateDataset, Any], Any]] = {
    "release_all": lambda data, budget: data.release_all(QUESTIONS, budget),
    "describe": lambda data, budget: data.describe(budget),
    "release with a check": lambda data, budget: data.release(dp.Sum("x"), budget, check=True),
}

#: Plans of questions whose answer is drawn among candidates rather than noised.
DRAWN = (PreparedQuantile, PreparedJointQuantiles)
Choice = tuple[Any, Any, list[float]]


@contextmanager
def listen_to_choices() -> Iterator[list[Choice]]:
    """Collect what is chosen inside the block: the plan, the rows' engine, the answer."""
    chosen: list[Choice] = []
    with pytest.MonkeyPatch.context() as patch:
        for kind in DRAWN:

            def answer(prepared: Any, engine: Any, honest: Any = kind.answer) -> Any:
                found = honest(prepared, engine)
                chosen.append((prepared, engine, flatten(found.value)))
                return found

            patch.setattr(kind, "answer", answer)
        yield chosen


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

    @cached_property
    def pairs(self) -> list[tuple[Table, Table]]:
        """Neighbours; where the number of rows is public, and plans depend on it, all of one number."""
        found = list(pairs_for(self.schema, self.unit, FEW_CORNERS))
        if self.unit.length_is_public:
            most = max(len(pair[0]["who"]) for pair in found)
            found = [pair for pair in found if len(pair[0]["who"]) == most]
        return found

    @cached_property
    def charged(self) -> Event:
        """What is charged for asking once."""
        WAYS[self.way](self.open(self.pairs[0][0]), self.budget)
        found = self.ledger.entries()[-1].event
        assert found is not None
        return found

    def event(self) -> Event:
        return self.charged

    def claims(self) -> list[tuple[float, float]]:
        """What is claimed: of pure answers the whole ε, and what the accountant says at each δ."""
        found = claims_of(self.charged, seen=SEEN_DELTA)
        return found + [
            (float(accounting.epsilon_at(self.charged, delta).epsilon), delta) for delta in DELTAS
        ]

    def hear(self, rows: Table) -> list[Noised]:
        """The sums of asking once."""
        with (
            self.open(rows).prepaid(self.charged) as door,
            listen() as heard,
        ):
            WAYS[self.way](door, self.budget)
        return heard

    def farthest(self) -> tuple[Table, Table]:
        """The neighbours whose exact sums half of the noise hides least."""
        tables = {id(side): side for pair in self.pairs for side in pair}
        sums = {key: self.hear(side) for key, side in tables.items()}
        return max(self.pairs, key=lambda pair: expected_loss(*(sums[id(side)] for side in pair)))

    def __call__(self, rows: Table, runs: int) -> Any:
        """All noised sums and all choices, of which everything that is reported is computed.

        Nothing that is asked here depends on an answer: `REPEATED` runs go through the door and noise the
        same sums; for the others the same noise is drawn at once, and the same choices are made once more.
        """
        data, told, first = self.open(rows), [], None
        carried_out = min(runs, REPEATED)
        with (
            planned_once(),
            data.prepaid(dp.events.Repeat(self.charged, carried_out)) as door,
            listen() as heard,
            listen_to_choices() as chosen,
        ):
            read_once(door)
            for _ in range(carried_out):
                heard.clear()
                chosen.clear()
                WAYS[self.way](door, self.budget)
                told.append(flatten([*tell(heard), *(answer for _, _, answer in chosen)]))
                first = first or list(heard)
                assert are_alike(first, heard), "an answer noised other sums than before"
            if runs == carried_out:
                return np.array(told)
            plans = [(prepared, engine) for prepared, engine, _ in chosen]
            sums, again = draw_again(list(heard), runs - carried_out), []
            for _ in range(runs - carried_out):
                again.append(flatten([prepared.answer(engine).value for prepared, engine in plans]))
                chosen.clear()
        rest = np.concatenate([sums, np.array(again).reshape(len(sums), -1)], axis=1)
        return np.concatenate([np.array(told), rest])


def asked_subject(way: str, unit_name: str, noise: str) -> Subject:
    """One way to ask, as guests see it."""
    asked = Asked(way, BUDGETS[noise], UNITS[unit_name])
    with testing.fixed_noise(15):
        pair = asked.farthest()
    unit = UNITS[unit_name]
    runs = (RUNS if unit.id_column is None else RUNS_OF_PERSONS)[way]
    # Whoever moves moments most, from one end of a column or to it, doesn't move quartiles as far as somebody
    # in the middle would, and nobody does both: all of them together cost more than anybody can move.
    share = WEAKER if way == "describe" else HALF
    title = f"{way}, {unit_name}, {noise}"
    return Subject(title, asked, [pair], asked.claims(), runs, of=way, share=share)


#: Every way, with every unit and both kinds of noise.
ASKINGS = tuple(product(WAYS, UNITS, BUDGETS))


def all_asked() -> Iterator[Subject]:
    yield from (asked_subject(*asking) for asking in ASKINGS)
