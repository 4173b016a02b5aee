"""What a prepaid door keeps to: plans that were paid in advance, and rows that they open."""

from __future__ import annotations

import os
import random
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from typing import Any, final

import numpy as np

from discreet import events, noise
from discreet.coding import AllOf, Code, Condition, NoneOf
from discreet.engines import Engine
from discreet.engines.base import Integers, Tally
from discreet.engines.progress import SWITCH
from discreet.queries import CodedQuery
from discreet.schema import Schema
from discreet.unit import REPLACE_ONE, Unit

__all__ = ["KeptRows", "PaidEngine", "PaidPlan", "Selection", "flat", "unobserved"]


@final
@dataclass(frozen=True)
class Selection:
    """The best of a random number of runs, each with a setting that is drawn at random.

    Attributes
    ----------
    settings : tuple of tuples of events
        What a run with each setting does, one event after the other.
    weights : tuple of int
        How likely each setting is; public.
    shape, gamma : Fraction
        The law of the number of runs, as in `events.RepeatAndSelect`.
    split : Condition, optional
        Of two events, the first is asked of the rows where it doesn't hold, the second of those where
        it does.

    Privacy
    -------
    A run is a mixture, by public weights, of mechanisms whose settings are told: it costs at most the
    dearest. Rows of one person without id fall into one part of a split, so under add/remove a run's
    two events are parallel; with ids they add up. Under replace-one a part's number of rows would be
    private while that of all is public, so a split is refused. Proof page:
    ``docs/proofs/model_selection.md``.
    """

    settings: tuple[tuple[events.Event, ...], ...]
    weights: tuple[int, ...]
    shape: Fraction
    gamma: Fraction
    split: Condition | None = None

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.settings) or min(self.weights, default=0) < 1:
            raise ValueError("weights must be whole numbers of at least 1, one for each setting.")
        if self.split is not None and any(len(events) != 2 for events in self.settings):
            raise ValueError("split needs two events in each setting.")

    def event(self, unit: Unit) -> events.Event:
        """All that will be done."""
        if self.is_free(unit):
            return events.Compose()
        return events.RepeatAndSelect(self.one_run(unit), self.shape, self.gamma)

    def is_free(self, unit: Unit) -> bool:
        """Whether nothing is noised, on public rows."""
        nothing = events.Compose()
        return unit.is_public and all(e == nothing for setting in self.settings for e in setting)

    def one_run(self, unit: Unit) -> events.Event:
        """What one run is, whichever setting is drawn."""
        found = dict.fromkeys(self._setting(setting, unit) for setting in self.settings)
        if len(found) == 1:
            return next(iter(found))
        return events.OneOf(found)

    def _setting(self, setting: tuple[events.Event, ...], unit: Unit) -> events.Event:
        if self.split is None:
            return events.Compose(*setting)
        if unit.relation is REPLACE_ONE:
            raise ValueError(
                "split: under dp.REPLACE_ONE rows are not split, since the number of rows in a part would "
                "be private: use a unit with dp.ADD_REMOVE, or no split."
            )
        return events.Compose(*setting) if unit.id_column else events.Parallel(setting)

    def parts(self, at: int) -> tuple[Condition | None, ...]:
        """Which rows each event of a setting is asked of."""
        if self.split is None:
            return (None,) * len(self.settings[at])
        return NoneOf(self.split), self.split

    def draw(self) -> int:
        """The number of a setting, at random."""
        upto = list(accumulate(self.weights))
        return bisect_right(upto, noise.uniform_below(upto[-1]))


@final
class PaidPlan:
    """Events that were paid in advance, to be asked in their order, in this process, while it is open."""

    def __init__(self, event: events.Event, entry: Any) -> None:
        self._left, self._entry = flat(event), entry
        self._open, self._process = True, os.getpid()

    def check(self) -> None:
        """Raise unless rows may be read under this plan, here and now."""
        if os.getpid() != self._process:
            raise RuntimeError(
                "a prepaid door can't be used in a forked process: the plan is paid once."
            )
        if not self._open:
            raise ValueError("this prepaid door is closed: its with-block has ended.")

    def spend(self, event: events.Event) -> Any:
        """Take the next events of the plan, which must be these; the entry that paid for them."""
        self.check()
        for asked in flat(event):
            planned = next(self._left, None)
            if planned != asked:
                self._open = False
                wanted = "nothing more" if planned is None else repr(planned)
                raise ValueError(
                    f"this is not the plan that was paid: next in it is {wanted}, asked was {asked!r}. "
                    "The door is closed now."
                )
        return self._entry

    def close(self) -> None:
        """Nothing more is paid."""
        self._open = False


@final
class KeptRows(Engine):
    """An engine that reads the rows of a step once for all runs of a selection."""

    #: So many tables are kept at once.
    MOST = 4

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: dict[Any, Integers] = {}

    def check(self, schema: Schema, unit: Unit) -> None:
        self._engine.check(schema, unit)

    def length(self) -> int | None:
        return None

    def totals(self, query: CodedQuery) -> Integers:
        return self._engine.totals(query)

    def tally(self, query: CodedQuery) -> Tally:
        return self._engine.tally(query)

    def rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        asked = (query, codes)
        if asked not in self._kept:
            if len(self._kept) == self.MOST:
                self._kept.pop(next(iter(self._kept)))
            self._kept[asked] = self._engine.rows(query, codes)
        return self._kept[asked].copy()  # a step may write to its rows

    def keys(self, query: CodedQuery, column: str, groups: int) -> dict[str, int]:
        return self._engine.keys(query, column, groups)


@final
class PaidEngine(Engine):
    """An engine, or the part of its rows where a condition holds, while a plan is open."""

    def __init__(self, engine: Engine, paid: PaidPlan, where: Condition | None) -> None:
        self._engine, self._paid, self._where = engine, paid, where

    def _only(self, query: CodedQuery) -> CodedQuery:
        self._paid.check()
        if self._where is None:
            return query
        both = self._where if query.where is None else AllOf((query.where, self._where))
        return replace(query, where=both)

    def check(self, schema: Schema, unit: Unit) -> None:
        self._engine.check(schema, unit)

    def length(self) -> int | None:
        return None  # so that nobody keeps its rows beyond the plan

    def totals(self, query: CodedQuery) -> Integers:
        return self._engine.totals(self._only(query))

    def tally(self, query: CodedQuery) -> Tally:
        return self._engine.tally(self._only(query))

    def rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        return self._engine.rows(self._only(query), codes)

    def keys(self, query: CodedQuery, column: str, groups: int) -> dict[str, int]:
        return self._engine.keys(self._only(query), column, groups)


@contextmanager
def unobserved() -> Iterator[None]:
    """Inside, how often something is done leaves no trace in warnings, bars and public generators.

    What code prints or keeps elsewhere is its own affair.
    """
    numbers, draws, bars = np.random.get_state(), random.getstate(), os.environ.get(SWITCH)
    os.environ[SWITCH] = "0"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        np.random.set_state(numbers)
        random.setstate(draws)
        if bars is None:
            os.environ.pop(SWITCH, None)
        else:
            os.environ[SWITCH] = bars


def flat(event: events.Event) -> Iterator[events.Event]:
    """The events of a plan one by one, compositions and repetitions opened."""
    if isinstance(event, events.Compose):
        for part in event.events:
            yield from flat(part)
    elif isinstance(event, events.Repeat):
        for _ in range(event.count):
            yield from flat(event.event)
    else:
        yield event
