"""What ran on private data, as plain data.

Events carry integers and fractions, never a float ε, and never change their meaning: an old ledger
can be recounted by a better accountant. Each has a JSON form with a version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

from discreet.measures.kinds import Measure, measure_from_dict
from discreet.measures.loss import PrivacyLoss
from discreet.rational import Number, non_negative, positive, probability, rational, whole

__all__ = [
    "Assumed",
    "Compose",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Event",
    "Exponential",
    "External",
    "Gaussian",
    "KeyThreshold",
    "NoisyMax",
    "Parallel",
    "PartialResponse",
    "PermuteAndFlip",
    "Poisson",
    "RandomizedResponse",
    "Repeat",
    "RepeatAndSelect",
    "SparseVector",
    "Staircase",
    "event_from_dict",
]


class Event:
    """Something that ran, or will run, on private data."""

    #: Raised when the JSON form of a class changes; old forms stay readable.
    version: ClassVar[int] = 1

    def parts(self) -> tuple[Event, ...]:
        """The events inside this one."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """The event as plain data."""
        data: dict[str, Any] = {"event": type(self).__name__, "version": self.version}
        for field in fields(self):  # type: ignore[arg-type]
            data[_key(field.name)] = _to_plain(getattr(self, field.name))
        return data


def walk(event: Event) -> Iterator[Event]:
    """The event and all events inside it."""
    yield event
    for part in event.parts():
        yield from walk(part)


def _to_plain(value: Any) -> Any:
    if isinstance(value, Event | Measure):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_to_plain(item) for item in value]
    return str(value) if isinstance(value, Fraction) else value


@dataclass(frozen=True)
class DiscreteLaplace(Event):
    """Integers plus discrete Laplace noise, P(k) ∝ exp(-|k|/scale), on each.

    `sensitivity` is the largest L1 distance of the integer vectors of two neighbours. Costs
    sensitivity/scale of pure DP (Ghosh, Roughgarden & Sundararajan 2012).
    """

    scale: Fraction
    sensitivity: int = 1

    def __init__(self, scale: Number, sensitivity: int = 1) -> None:
        object.__setattr__(self, "scale", positive(scale, "scale"))
        object.__setattr__(self, "sensitivity", whole(sensitivity, "sensitivity"))


def _squared(squared: Number | None, sensitivity: Number | None) -> Fraction:
    if squared is not None and sensitivity is not None:
        raise ValueError("give sensitivity_squared or sensitivity, not both.")
    if sensitivity is not None:
        return non_negative(sensitivity, "sensitivity") ** 2
    return Fraction(1) if squared is None else non_negative(squared, "sensitivity_squared")


@dataclass(frozen=True)
class Gaussian(Event):
    """Numbers plus normal noise N(0, sigma²) on each; rounding afterwards changes nothing.

    `sensitivity_squared` is the largest squared L2 distance of the vectors of two neighbours (a
    rational `sensitivity` may be given instead). It is (sensitivity/sigma)-Gaussian DP
    (Dong, Roth & Su 2022, Theorem 2.7).
    """

    sigma: Fraction
    sensitivity_squared: Fraction

    def __init__(
        self,
        sigma: Number,
        sensitivity_squared: Number | None = None,
        *,
        sensitivity: Number | None = None,
    ) -> None:
        object.__setattr__(self, "sigma", positive(sigma, "sigma"))
        object.__setattr__(self, "sensitivity_squared", _squared(sensitivity_squared, sensitivity))


@dataclass(frozen=True)
class DiscreteGaussian(Event):
    """Integers plus discrete Gaussian noise, P(k) ∝ exp(-k²/2sigma²), on each.

    It has a Rényi (zCDP) curve only (Canonne, Kamath & Steinke 2020, Theorem 14): the analytic formula
    of the Gaussian is false for it.
    """

    sigma: Fraction
    sensitivity_squared: Fraction

    def __init__(
        self,
        sigma: Number,
        sensitivity_squared: Number | None = None,
        *,
        sensitivity: Number | None = None,
    ) -> None:
        squared = _squared(sensitivity_squared, sensitivity)
        if squared.denominator != 1:
            raise ValueError(
                "sensitivity_squared must be a whole number: discrete Gaussian noise is for integers."
            )
        object.__setattr__(self, "sigma", positive(sigma, "sigma"))
        object.__setattr__(self, "sensitivity_squared", squared)


@dataclass(frozen=True)
class Exponential(Event):
    """Draws whose log-probabilities, between neighbours, change by values in an interval of width ε.

    The exponential mechanism with weights exp(ε·score/(2·sensitivity)) (McSherry & Talwar 2007), and
    products of such draws whose widths add up to `epsilon`. It is ε-DP and ε²/8-zCDP
    (bounded range: Dong, Durfee & Rogers 2020; Cesar & Rogers 2021).
    """

    epsilon: Fraction

    def __init__(self, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", non_negative(epsilon, "epsilon"))


@dataclass(frozen=True)
class KeyThreshold(Event):
    """Counts of keys that nobody listed, with discrete Laplace noise; those at the threshold or above.

    `sensitivity` is the largest L1 distance of the counts of two neighbours; one person has at most
    `rows` rows, in at most `groups` keys. It is (sensitivity/scale, δ)-DP, where δ bounds the chance that
    a key of one person alone reaches `threshold`, the mass at the threshold included
    (Korolova, Kenthapadi, Mishra & Ntoulas 2009).
    """

    scale: Fraction
    sensitivity: int
    threshold: int
    rows: int
    groups: int

    def __init__(
        self, scale: Number, sensitivity: int, threshold: int, rows: int = 1, groups: int = 1
    ) -> None:
        object.__setattr__(self, "scale", positive(scale, "scale"))
        object.__setattr__(self, "sensitivity", whole(sensitivity, "sensitivity", least=1))
        object.__setattr__(self, "rows", whole(rows, "rows", least=1))
        object.__setattr__(self, "groups", whole(groups, "groups", least=1))
        object.__setattr__(self, "threshold", whole(threshold, "threshold", least=1))
        if self.threshold <= self.rows:
            raise ValueError("threshold must be greater than rows: else one person's key may pass.")


@dataclass(frozen=True)
class RandomizedResponse(Event):
    """One value out of `k`, kept with probability e^ε/(e^ε + k - 1), else another one uniformly."""

    epsilon: Fraction
    k: int = 2

    def __init__(self, epsilon: Number, k: int = 2) -> None:
        object.__setattr__(self, "epsilon", non_negative(epsilon, "epsilon"))
        object.__setattr__(self, "k", whole(k, "k", least=2))


@dataclass(frozen=True)
class PermuteAndFlip(Event):
    """One candidate by permute-and-flip, candidate i kept with probability exp(-(best - score_i)/scale).

    No score moves by more than `sensitivity` between neighbours; `monotone` says that they all move in
    the same direction. Costs 2·sensitivity/scale of pure DP, half of that if monotone
    (McKenna & Sheldon 2020). Its range is wider than that of the exponential mechanism.
    """

    scale: Fraction
    sensitivity: int = 1
    monotone: bool = False

    def __init__(self, scale: Number, sensitivity: int = 1, monotone: bool = False) -> None:
        _set_selection(self, scale, sensitivity, monotone)


@dataclass(frozen=True)
class NoisyMax(Event):
    """The index of the largest of integers plus geometric noise, P(k) ∝ exp(-k/scale) for k >= 0.

    Ties are broken by an order that doesn't depend on the data. No score moves by more than
    `sensitivity` between neighbours; `monotone` says that they all move in the same direction. Costs
    2·sensitivity/scale of pure DP, half of that if monotone (Dwork & Roth 2014, Claim 3.9).
    """

    scale: Fraction
    sensitivity: int = 1
    monotone: bool = False

    def __init__(self, scale: Number, sensitivity: int = 1, monotone: bool = False) -> None:
        _set_selection(self, scale, sensitivity, monotone)


@dataclass(frozen=True)
class SparseVector(Event):
    """Which of a stream of integers reach a noisy threshold, until `cutoff` of them did.

    Discrete Laplace noise of `threshold_scale` on the threshold, once, and of `answer_scale` on each
    integer. Costs sensitivity/threshold_scale + cutoff·2·sensitivity/answer_scale of pure DP, without
    the 2 if `monotone` (Lyu, Su & Li 2017). Numbers released are events of their own.
    """

    threshold_scale: Fraction
    answer_scale: Fraction
    cutoff: int = 1
    sensitivity: int = 1
    monotone: bool = False

    def __init__(
        self,
        threshold_scale: Number,
        answer_scale: Number,
        cutoff: int = 1,
        sensitivity: int = 1,
        monotone: bool = False,
    ) -> None:
        object.__setattr__(self, "threshold_scale", positive(threshold_scale, "threshold_scale"))
        object.__setattr__(self, "answer_scale", positive(answer_scale, "answer_scale"))
        object.__setattr__(self, "cutoff", whole(cutoff, "cutoff", least=1))
        object.__setattr__(self, "sensitivity", whole(sensitivity, "sensitivity"))
        object.__setattr__(self, "monotone", _flag(monotone, "monotone"))


@dataclass(frozen=True)
class Staircase(Event):
    """One integer plus discrete staircase noise: stairs of `width`, each e^-ε times the one before.

    The step within a stair comes after `step` integers. `sensitivity` is the largest distance of the
    integers of two neighbours. Costs ε for each started `width` of it
    (Geng & Viswanath 2016).
    """

    epsilon: Fraction
    width: int
    step: int
    sensitivity: int

    def __init__(self, epsilon: Number, width: int, step: int, sensitivity: int) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "width", whole(width, "width", least=1))
        object.__setattr__(self, "step", whole(step, "step", least=1))
        object.__setattr__(self, "sensitivity", whole(sensitivity, "sensitivity"))
        if self.step > self.width:
            raise ValueError("step must not exceed width.")


def _set_selection(event: Event, scale: Number, sensitivity: int, monotone: bool) -> None:
    object.__setattr__(event, "scale", positive(scale, "scale"))
    object.__setattr__(event, "sensitivity", whole(sensitivity, "sensitivity"))
    object.__setattr__(event, "monotone", _flag(monotone, "monotone"))


def _flag(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {type(value).__name__}.")
    return value


@dataclass(frozen=True)
class PartialResponse(Event):
    """A report that says the same of any two values, or else is a randomised response between them.

    `share` is the largest probability of the latter: 1/2 for optimised unary encoding.
    """

    epsilon: Fraction
    share: Fraction

    def __init__(self, epsilon: Number, share: Number) -> None:
        object.__setattr__(self, "epsilon", non_negative(epsilon, "epsilon"))
        object.__setattr__(self, "share", probability(share, "share"))


@dataclass(frozen=True)
class External(Event):
    """A release made elsewhere, with the cost that a person declares for it."""

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


@dataclass(frozen=True)
class Assumed(Event):
    """An event whose guarantee rests on something that is not proved; `why` says on what.

    Ledgers take it only when opened with ``accept_assumed=True``.
    """

    event: Event
    why: str

    def __init__(self, event: Event, why: str) -> None:
        object.__setattr__(self, "event", _event(event, "event"))
        if not isinstance(why, str) or not why.strip():
            raise ValueError("why must say what the guarantee rests on.")
        object.__setattr__(self, "why", why)

    def parts(self) -> tuple[Event, ...]:
        return (self.event,)


@dataclass(frozen=True)
class Poisson(Event):
    """The event inside ran on a sample: each person in it with probability `probability`, apart.

    Defined for add/remove only; it samples persons, not rows.
    """

    probability: Fraction
    event: Event

    def __init__(self, chance: Number, event: Event) -> None:
        object.__setattr__(self, "probability", probability(chance, "probability"))
        object.__setattr__(self, "event", _event(event, "event"))

    def parts(self) -> tuple[Event, ...]:
        return (self.event,)


@dataclass(frozen=True)
class Repeat(Event):
    """The same event, `count` times."""

    event: Event
    count: int

    def __init__(self, event: Event, count: int) -> None:
        object.__setattr__(self, "event", _event(event, "event"))
        object.__setattr__(self, "count", whole(count, "count"))

    def parts(self) -> tuple[Event, ...]:
        return (self.event,)


def _events(events: Iterable[Event]) -> tuple[Event, ...]:
    if not isinstance(events, Iterable):
        raise TypeError(f"events must be events from discreet.events, not {type(events).__name__}.")
    return tuple(_event(event, "events") for event in events)


@dataclass(frozen=True)
class Compose(Event):
    """Events one after the other on the same data. Without any, it costs nothing."""

    events: tuple[Event, ...]

    def __init__(self, *events: Event) -> None:
        object.__setattr__(self, "events", _events(events))

    def parts(self) -> tuple[Event, ...]:
        return self.events


@dataclass(frozen=True)
class Parallel(Event):
    """Events on disjoint parts of the data, of which one person can touch at most `reach`.

    Each branch's event covers all that one person can do inside that branch. With `max_rows` = k,
    `reach` is k under add/remove and 2k under replace-one (McSherry 2009, Theorem 4, for k = 1).
    """

    events: tuple[Event, ...]
    reach: int = 1

    def __init__(self, events: Iterable[Event], reach: int = 1) -> None:
        object.__setattr__(self, "events", _events(events))
        object.__setattr__(self, "reach", whole(reach, "reach", least=1))

    def parts(self) -> tuple[Event, ...]:
        return self.events


@dataclass(frozen=True)
class RepeatAndSelect(Event):
    """The best of a random number of runs of one event.

    The number is truncated negative binomial: `shape` η >= 0 (0 logarithmic, 1 geometric) and `gamma`
    in (0, 1). Source: Papernot & Steinke 2022, Definition 1 and Theorem 2.
    """

    event: Event
    shape: Fraction
    gamma: Fraction

    def __init__(self, event: Event, shape: Number, gamma: Number) -> None:
        object.__setattr__(self, "event", _event(event, "event"))
        object.__setattr__(self, "shape", non_negative(shape, "shape"))
        object.__setattr__(self, "gamma", rational(gamma, "gamma"))
        if not 0 < self.gamma < 1:
            raise ValueError(f"gamma must be between 0 and 1, got {gamma!r}.")

    def parts(self) -> tuple[Event, ...]:
        return (self.event,)


def _event(value: object, name: str) -> Event:
    if not isinstance(value, Event):
        raise TypeError(
            f"{name} must be an event from discreet.events, not {type(value).__name__}."
        )
    return value


def event_from_dict(data: Mapping[str, Any]) -> Event:
    """The inverse of `Event.to_dict`.

    Raises
    ------
    ValueError
        For another version of the format, for unknown events, and for missing or unknown fields: what
        isn't understood whole could mean something else.
    """
    if not isinstance(data, Mapping):
        raise TypeError(f"data must be what `to_dict` gave, not {type(data).__name__}.")
    version = data.get("version")
    if version != 1:
        raise ValueError(
            f"this event was written in version {version!r} of the format; this toolkit reads 1. "
            "A newer toolkit is needed."
        )
    kind = _KINDS.get(data.get("event", ""))
    if kind is None:
        raise ValueError(f"no event is called {data.get('event')!r}.")
    names = {_key(field.name) for field in fields(kind)}  # type: ignore[arg-type]
    given = {key: value for key, value in data.items() if key not in ("event", "version")}
    if set(given) != names:
        raise ValueError(
            f"{kind.__name__} has the fields {', '.join(sorted(names))}, "
            f"and was written with {', '.join(sorted(map(str, given))) or 'none'}."
        )
    return _build(kind, given)


def _build(kind: type[Event], given: Mapping[str, Any]) -> Event:
    read: dict[str, Any] = dict(given)
    if "inner" in read:
        read["event"] = event_from_dict(read.pop("inner"))
    if "events" in read:
        read["events"] = tuple(map(event_from_dict, read["events"]))
    if kind is Compose:
        return Compose(*read["events"])
    if kind is Poisson:
        return Poisson(read["probability"], read["event"])
    if kind is External:
        return External(measure_from_dict(read["cost"]), read["note"])
    return kind(**read)


def _key(name: str) -> str:
    """The name of a field in JSON, where ``event`` says which event it is."""
    return "inner" if name == "event" else name


_KINDS: dict[str, type[Event]] = {
    kind.__name__: kind
    for kind in (
        Assumed, Compose, DiscreteGaussian, DiscreteLaplace, Exponential, External, Gaussian, KeyThreshold,
        NoisyMax, Parallel, PartialResponse, PermuteAndFlip, Poisson, RandomizedResponse, Repeat,
        RepeatAndSelect, SparseVector, Staircase,
    )
}  # fmt: skip
