"""Events made of events, and costs that are only declared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.events.base import Event, as_event
from discreet.measures.kinds import Measure, measure_from_dict
from discreet.measures.loss import PrivacyLoss
from discreet.rational import Number, as_integer, non_negative, probability, rational


@dataclass(frozen=True)
class External(Event):
    """A release made elsewhere, with the cost that a person declares for it.

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> printed = events.External(measures.PureDP(0.25), "a table in last year's report")
    >>> accounting.cost(printed, measures.PureDP)
    PureDP(epsilon=0.25)
    """

    cost: Measure
    note: str

    def __init__(self, cost: Measure, note: str) -> None:
        if not isinstance(cost, Measure) or isinstance(cost, PrivacyLoss):
            raise TypeError(
                f"cost must be a measure that can be stored, such as dp.PureDP(0.5), "
                f"not {type(cost).__name__}."
            )
        if not isinstance(note, str) or not note.strip():
            raise ValueError("note must say what was released, where and by whom.")
        object.__setattr__(self, "cost", cost)
        object.__setattr__(self, "note", note)

    @classmethod
    def from_fields(cls, values: Mapping[str, Any]) -> Event:
        return cls(measure_from_dict(values["cost"]), values["note"])


@dataclass(frozen=True)
class Assumed(Event):
    """An event whose guarantee rests on something that is not proved; `why` says on what.

    Ledgers accept it only when opened with ``accept_assumed=True``.

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> scan = events.Assumed(events.DiscreteLaplace(2), "no two scans are of one person")
    >>> accounting.cost(scan, measures.PureDP)
    PureDP(epsilon=0.5)
    """

    event: Event
    why: str

    def __init__(self, event: Event, why: str) -> None:
        object.__setattr__(self, "event", as_event(event, "event"))
        if not isinstance(why, str) or not why.strip():
            raise ValueError("why must say what the guarantee rests on.")
        object.__setattr__(self, "why", why)

    def parts(self) -> tuple[Event, ...]:
        return (self.event,)


@dataclass(frozen=True)
class Poisson(Event):
    """The inner event ran on a sample, which each person joins independently with `probability`.

    Defined for add/remove only; it samples people, not rows.

    Examples
    --------
    >>> from discreet import accounting, events
    >>> noise = events.Gaussian(1)
    >>> sampled = events.Poisson("1/100", noise)  # everyone joins with probability 1 %
    >>> round(float(accounting.epsilon_at(noise, 1e-6).epsilon), 2)
    4.89
    >>> round(float(accounting.epsilon_at(sampled, 1e-6).epsilon), 2)
    0.36
    """

    probability: Fraction
    event: Event

    def __init__(self, chance: Number, event: Event) -> None:
        object.__setattr__(self, "probability", probability(chance, "probability"))
        object.__setattr__(self, "event", as_event(event, "event"))

    @classmethod
    def from_fields(cls, values: Mapping[str, Any]) -> Event:
        return cls(values["probability"], values["event"])

    def parts(self) -> tuple[Event, ...]:
        return (self.event,)


@dataclass(frozen=True)
class Repeat(Event):
    """The same event, `count` times.

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> week = events.Repeat(events.DiscreteLaplace(10), 7)
    >>> accounting.cost(week, measures.PureDP)
    PureDP(epsilon=0.7)
    """

    event: Event
    count: int

    def __init__(self, event: Event, count: int) -> None:
        object.__setattr__(self, "event", as_event(event, "event"))
        object.__setattr__(self, "count", as_integer(count, "count"))

    def parts(self) -> tuple[Event, ...]:
        return (self.event,)


def _events(events: Iterable[Event]) -> tuple[Event, ...]:
    if not isinstance(events, Iterable):
        raise TypeError(f"events must be events from discreet.events, not {type(events).__name__}.")
    return tuple(as_event(event, "events") for event in events)


@dataclass(frozen=True)
class Compose(Event):
    """Events one after the other on the same data. Without any, it costs nothing.

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> day = events.Compose(events.DiscreteLaplace(2), events.DiscreteLaplace(4))
    >>> accounting.cost(day, measures.PureDP)
    PureDP(epsilon=0.75)
    """

    events: tuple[Event, ...]

    def __init__(self, *events: Event) -> None:
        object.__setattr__(self, "events", _events(events))

    @classmethod
    def from_fields(cls, values: Mapping[str, Any]) -> Event:
        return cls(*values["events"])

    def parts(self) -> tuple[Event, ...]:
        return self.events


@dataclass(frozen=True)
class Parallel(Event):
    """Events on disjoint parts of the data, of which one person can touch at most `reach`.

    Each branch's event covers all that one person can do inside that branch. With `max_rows` = k,
    `reach` is k under add/remove and 2k under replace-one (McSherry 2009, Theorem 4, for k = 1).

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> wards = [events.DiscreteLaplace(2)] * 12
    >>> accounting.cost(events.Parallel(wards), measures.PureDP)  # everyone is in one ward
    PureDP(epsilon=0.5)
    >>> accounting.cost(events.Parallel(wards, reach=2), measures.PureDP)  # or in up to two
    PureDP(epsilon=1)
    """

    events: tuple[Event, ...]
    reach: int = 1

    def __init__(self, events: Iterable[Event], reach: int = 1) -> None:
        object.__setattr__(self, "events", _events(events))
        object.__setattr__(self, "reach", as_integer(reach, "reach", minimum=1))

    def parts(self) -> tuple[Event, ...]:
        return self.events


@dataclass(frozen=True)
class OneOf(Event):
    """One of these events, drawn by chance that doesn't depend on the data; which one may be revealed.

    It costs at most the most expensive one: averages of e^((α-1)D_α) and of hockey sticks are at most their
    largest (proof page ``docs/proofs/model_selection.md``).

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> drawn = events.OneOf([events.DiscreteLaplace(2), events.DiscreteLaplace(4)])
    >>> accounting.cost(drawn, measures.PureDP)
    PureDP(epsilon=0.5)
    """

    events: tuple[Event, ...]

    def __init__(self, events: Iterable[Event]) -> None:
        object.__setattr__(self, "events", _events(events))
        if not self.events:
            raise ValueError("events must hold at least one event.")

    def parts(self) -> tuple[Event, ...]:
        return self.events


@dataclass(frozen=True)
class RepeatAndSelect(Event):
    """The best of a random number of runs of one event.

    The number of runs is truncated negative binomial: `shape` η >= 0 (0 logarithmic, 1 geometric), `gamma`
    in (0, 1). Source: Papernot & Steinke 2022, Definition 1 and Theorem 2.

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> fit = events.DiscreteLaplace(2)
    >>> best = events.RepeatAndSelect(fit, shape=1, gamma="1/10")  # ten runs on average
    >>> accounting.cost(best, measures.PureDP)  # three times one run, however many there are
    PureDP(epsilon=1.5)
    """

    event: Event
    shape: Fraction
    gamma: Fraction

    def __init__(self, event: Event, shape: Number, gamma: Number) -> None:
        object.__setattr__(self, "event", as_event(event, "event"))
        object.__setattr__(self, "shape", non_negative(shape, "shape"))
        object.__setattr__(self, "gamma", rational(gamma, "gamma"))
        if not 0 < self.gamma < 1:
            raise ValueError(f"gamma must be between 0 and 1, got {gamma!r}.")

    def parts(self) -> tuple[Event, ...]:
        return (self.event,)


def iter_leaves(event: Event) -> Iterator[Event]:
    """The events of a plan one by one, with compositions and repetitions expanded.

    Examples
    --------
    >>> from discreet import events
    >>> plan = events.Repeat(events.Compose(events.Gaussian(2), events.Exponential(1)), 2)
    >>> [type(leaf).__name__ for leaf in events.iter_leaves(plan)]
    ['Gaussian', 'Exponential', 'Gaussian', 'Exponential']
    """
    if isinstance(event, Compose):
        for part in event.events:
            yield from iter_leaves(part)
    elif isinstance(event, Repeat):
        for _ in range(event.count):
            yield from iter_leaves(event.event)
    else:
        yield event
