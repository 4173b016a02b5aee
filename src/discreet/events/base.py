"""What an event is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any, ClassVar

from discreet.measures.kinds import Measure


class Event:
    """Something that ran, or will run, on private data.

    A subclass is known by its name in JSON from the moment it is defined.

    Examples
    --------
    >>> from discreet import events
    >>> noise = events.DiscreteLaplace(2, sensitivity=1)
    >>> noise.to_dict()
    {'event': 'DiscreteLaplace', 'version': 1, 'scale': '2', 'sensitivity': 1}
    >>> events.Repeat(noise, 3).parts() == (noise,)
    True
    """

    #: Raised when the JSON form of a class changes; old forms stay readable.
    version: ClassVar[int] = 1
    #: Every kind of event by its name in JSON.
    kinds: ClassVar[dict[str, type[Event]]] = {}

    def __init_subclass__(cls) -> None:
        known = Event.kinds.setdefault(cls.__name__, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise TypeError(
                f"two events are called {cls.__name__}: {known.__module__} has the other."
            )
        Event.kinds[cls.__name__] = cls

    def parts(self) -> tuple[Event, ...]:
        """The events inside this one."""
        return ()

    @classmethod
    def from_fields(cls, values: Mapping[str, Any]) -> Event:
        """Build the event from its fields, read from JSON and with inner events built already."""
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """The event as plain data."""
        data: dict[str, Any] = {"event": type(self).__name__, "version": self.version}
        for field in fields(self):  # type: ignore[arg-type]
            data[key_of(field.name)] = _to_plain(getattr(self, field.name))
        return data


def walk(event: Event) -> Iterator[Event]:
    """The event and all events inside it.

    Examples
    --------
    >>> from discreet import events
    >>> plan = events.Repeat(events.Compose(events.Gaussian(2), events.Exponential(1)), 2)
    >>> [type(event).__name__ for event in events.walk(plan)]
    ['Repeat', 'Compose', 'Gaussian', 'Exponential']
    """
    yield event
    for part in event.parts():
        yield from walk(part)


def _to_plain(value: Any) -> Any:
    if isinstance(value, Event | Measure):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_to_plain(item) for item in value]
    return str(value) if isinstance(value, Fraction) else value


def key_of(name: str) -> str:
    """The name of a field in JSON, where ``event`` says which event it is."""
    return "inner" if name == "event" else name


def as_event(value: object, name: str) -> Event:
    """The value, if it is an event."""
    if not isinstance(value, Event):
        raise TypeError(
            f"{name} must be an event from discreet.events, not {type(value).__name__}."
        )
    return value
