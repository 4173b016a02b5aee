"""Events from their JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from discreet.events.additive import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    KeyThreshold,
    Staircase,
)
from discreet.events.base import Event, key_of
from discreet.events.composed import (
    Assumed,
    Compose,
    External,
    OneOf,
    Parallel,
    Poisson,
    Repeat,
    RepeatAndSelect,
)
from discreet.events.objective import GaussianObjective, LaplaceObjective
from discreet.events.selection import (
    Exponential,
    NoisyMax,
    PartialResponse,
    PermuteAndFlip,
    RandomizedResponse,
    SparseVector,
)
from discreet.measures.kinds import measure_from_dict


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
    names = {key_of(field.name) for field in fields(kind)}  # type: ignore[arg-type]
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


_KINDS: dict[str, type[Event]] = {
    kind.__name__: kind
    for kind in (
        Assumed, Compose, DiscreteGaussian, DiscreteLaplace, Exponential, External, Gaussian,
        GaussianObjective, KeyThreshold, LaplaceObjective, NoisyMax, OneOf, Parallel, PartialResponse,
        PermuteAndFlip, Poisson, RandomizedResponse, Repeat, RepeatAndSelect, SparseVector, Staircase,
    )
}  # fmt: skip
