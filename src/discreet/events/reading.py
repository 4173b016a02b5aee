"""Events from their JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from discreet.events.base import Event, key_of


def event_from_dict(data: Mapping[str, Any]) -> Event:
    """The inverse of `Event.to_dict`.

    Raises
    ------
    ValueError
        For another version of the format, for unknown events, and for missing or unknown fields: what isn't
        fully understood could mean something else.

    Examples
    --------
    >>> from discreet import events
    >>> kept = events.Repeat(events.DiscreteLaplace(2), 3).to_dict()
    >>> events.event_from_dict(kept)
    Repeat(event=DiscreteLaplace(scale=Fraction(2, 1), sensitivity=1), count=3)
    """
    if not isinstance(data, Mapping):
        raise TypeError(f"data must be what `to_dict` gave, not {type(data).__name__}.")
    version = data.get("version")
    if version != 1:
        raise ValueError(
            f"this event was written in version {version!r} of the format; this toolkit reads 1. "
            "A newer toolkit is needed."
        )
    name = data.get("event")
    if not isinstance(name, str) or name not in Event.kinds:
        raise ValueError(f"no event is called {name!r}.")
    kind = Event.kinds[name]
    names = {key_of(field.name) for field in fields(kind)}  # type: ignore[arg-type]
    given = {key: value for key, value in data.items() if key not in ("event", "version")}
    if set(given) != names:
        raise ValueError(
            f"{kind.__name__} has the fields {', '.join(sorted(names))}, "
            f"and was written with {', '.join(sorted(map(str, given))) or 'none'}."
        )
    if "inner" in given:
        given["event"] = event_from_dict(given.pop("inner"))
    if "events" in given:
        given["events"] = tuple(map(event_from_dict, given["events"]))
    return kind.from_fields(given)
