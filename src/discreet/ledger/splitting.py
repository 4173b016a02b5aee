"""Which events a ledger accepts at all, and the δ that an event brings along."""

from __future__ import annotations

from fractions import Fraction

from discreet.accounting import NoBound
from discreet.accounting.thresholds import threshold_delta
from discreet.events import (
    Assumed,
    Compose,
    DiscreteLaplace,
    Event,
    External,
    KeyThreshold,
    OneOf,
    Parallel,
    Poisson,
    Repeat,
    RepeatAndSelect,
    walk,
)
from discreet.measures import ApproxDP, PureDP
from discreet.unit import ADD_REMOVE, REPLACE_ONE, Unit

__all__ = ["check_admissible", "split_delta"]


def check_admissible(event: Event, unit: Unit, *, accept_assumed: bool) -> None:
    """Raise unless a ledger for this unit may accept this event.

    Privacy
    -------
    Sampling amplifies for add/remove only; an `Assumed` event needs consent at opening.
    """
    if not isinstance(event, Event):
        raise TypeError(
            f"event must come from discreet.events, as data.plan(...).event does, not {type(event).__name__}."
        )
    for part in walk(event):
        if isinstance(part, Poisson) and unit.relation is not ADD_REMOVE:
            raise ValueError(
                "event: Poisson sampling is counted for dp.ADD_REMOVE only, and this ledger "
                f"protects {unit.relation!r}: count the event without sampling."
            )
        if isinstance(part, Parallel) and part.reach < min(_reach(unit), len(part.events)):
            raise ValueError(
                f"event: in this ledger one person can touch {_reach(unit)} branches of a Parallel "
                f"event, not {part.reach}: say so, as in Parallel(events, reach={_reach(unit)})."
            )
        if isinstance(part, KeyThreshold) and (
            part.rows < unit.rows_per_person or part.sensitivity < _reach(unit)
        ):
            raise ValueError(
                f"event: in this ledger one person has up to {unit.rows_per_person} rows and moves counts "
                f"of keys by {_reach(unit)}: KeyThreshold must say at least that."
            )
        if isinstance(part, Assumed) and not accept_assumed:
            raise ValueError(
                f"event rests on something that isn't proved ({part.why}). Only a ledger opened "
                "with accept_assumed=True accepts it, and its statement says so from then on."
            )


def _reach(unit: Unit) -> int:
    """How many branches, or rows of a histogram, one person can touch."""
    return unit.rows_per_person * (2 if unit.relation is REPLACE_ONE else 1)


def split_delta(event: Event) -> tuple[Event, Fraction]:
    """The event with every declared (ε, δ) read as pure ε, and the δ that this leaves out.

    Privacy
    -------
    Two distributions that are (ε, δ)-close in both directions are, outside an event of probability δ,
    those of ε-randomised response (Kairouz, Oh & Viswanath 2015), so the δ of successive events add up, and
    those of disjoint parts add up over the parts that one person can touch. Inside samples and selections
    no such split is known here, so it is refused. Proof page: ``docs/proofs/ledger.md``.
    """
    match event:
        case External(cost=ApproxDP(epsilon=epsilon, delta=delta), note=note):
            return External(PureDP(epsilon), note), delta
        case KeyThreshold(scale=scale, sensitivity=sensitivity):
            delta = threshold_delta(scale, event.threshold, event.rows, event.groups)
            return DiscreteLaplace(scale, sensitivity), delta
        case Assumed(event=inner, why=why):
            left, delta = split_delta(inner)
            return Assumed(left, why), delta
        case Repeat(event=inner, count=count):
            left, delta = split_delta(inner)
            return Repeat(left, count), delta * count
        case Compose(events=events):
            pairs = [split_delta(part) for part in events]
            total = sum((delta for _, delta in pairs), start=Fraction(0))
            return Compose(*(left for left, _ in pairs)), total
        case Parallel(events=events, reach=reach):
            pairs = [split_delta(part) for part in events]
            largest = sorted((delta for _, delta in pairs), reverse=True)[:reach]
            total = sum(largest, start=Fraction(0))
            return Parallel((left for left, _ in pairs), reach), total
        case OneOf(events=events):
            pairs = [split_delta(part) for part in events]
            return OneOf(left for left, _ in pairs), max(delta for _, delta in pairs)
        case Poisson(probability=chance, event=inner):
            return Poisson(chance, _drop_delta(inner)), Fraction(0)
        case RepeatAndSelect(event=inner, shape=shape, gamma=gamma):
            return RepeatAndSelect(_drop_delta(inner), shape, gamma), Fraction(0)
        case _:
            return event, Fraction(0)


def _drop_delta(event: Event) -> Event:
    left, delta = split_delta(event)
    if delta:
        raise NoBound(
            "event: a declared delta inside a sample or a selection can't be set apart: declare the "
            "cost of the whole as one dp.External."
        )
    return left
