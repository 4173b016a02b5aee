"""Laws of the form of all events: JSON there and back, names, and arguments that are refused."""

from __future__ import annotations

import gc
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given
from test_laws_events import EVENTS, NAMES

from discreet import events
from discreet.events import Event, event_from_dict, walk
from discreet.measures import (
    PureDP,
)
from discreet.measures.loss import identity
from profiles import max_examples


@pytest.mark.parametrize("name", NAMES)
def test_json_round_trip(name: str) -> None:
    @max_examples(40)
    @given(EVENTS[name])
    def distribution(event: Event) -> None:
        data = json.loads(json.dumps(event.to_dict(), allow_nan=False))
        back = event_from_dict(data)
        assert back == event
        assert hash(back) == hash(event)
        assert repr(back) == repr(event)
        assert json.dumps(back.to_dict()) == json.dumps(event.to_dict())

    distribution()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_understood_whole_is_refused(name: str) -> None:
    @max_examples(5)
    @given(EVENTS[name])
    def distribution(event: Event) -> None:
        data = event.to_dict()
        for version in (0, 2, None, "1"):
            with pytest.raises(ValueError, match="version"):
                event_from_dict({**data, "version": version})
        with pytest.raises(ValueError, match="fields"):
            event_from_dict({**data, "surplus": 1})
        for key in set(data) - {"event", "version"}:
            with pytest.raises(ValueError, match="fields"):
                event_from_dict({k: v for k, v in data.items() if k != key})
        with pytest.raises(ValueError, match="Mystery"):
            event_from_dict({**data, "event": "Mystery"})

    distribution()


def test_walk_sees_every_event() -> None:
    inner = events.Gaussian(1)
    event = events.Compose(
        events.Repeat(inner, 2), events.Parallel([events.Poisson("0.5", inner)]), events.Assumed(inner, "w"),
        events.RepeatAndSelect(inner, 1, "0.5"),
    )  # fmt: skip
    assert [part for part in walk(event) if part == inner] == [inner] * 4
    assert sum(1 for _ in walk(event)) == 10


BAD = [
    (lambda: events.DiscreteLaplace(0), ValueError, "scale"),
    (lambda: events.DiscreteLaplace(math.nan), ValueError, "scale"),
    (lambda: events.DiscreteLaplace(1, -1), ValueError, "sensitivity"),
    (lambda: events.DiscreteLaplace(1, 1.5), TypeError, "sensitivity"),
    (lambda: events.Gaussian(0), ValueError, "sigma"),
    (lambda: events.Gaussian(None), TypeError, "sigma"),
    (lambda: events.Gaussian(1, -1), ValueError, "sensitivity_squared"),
    (lambda: events.Gaussian(1, sensitivity=-1), ValueError, "sensitivity"),
    (lambda: events.Gaussian(1, 1, sensitivity=1), ValueError, "sensitivity"),
    (lambda: events.DiscreteGaussian(-1), ValueError, "sigma"),
    (lambda: events.DiscreteGaussian(1, "0.5"), ValueError, "sensitivity_squared"),
    (lambda: events.Exponential(-1), ValueError, "epsilon"),
    (lambda: events.Exponential(math.inf), ValueError, "epsilon"),
    (lambda: events.RandomizedResponse(-1), ValueError, "epsilon"),
    (lambda: events.RandomizedResponse(1, 1), ValueError, "k must"),
    (lambda: events.PartialResponse(-1, 1), ValueError, "epsilon"),
    (lambda: events.PartialResponse(1, 2), ValueError, "share"),
    (lambda: events.PermuteAndFlip(0), ValueError, "scale"),
    (lambda: events.PermuteAndFlip(1, monotone=1), TypeError, "monotone"),
    (lambda: events.NoisyMax(1, -1), ValueError, "sensitivity"),
    (lambda: events.SparseVector(1, 0), ValueError, "answer_scale"),
    (lambda: events.SparseVector(1, 1, 0), ValueError, "cutoff"),
    (lambda: events.Staircase(0, 1, 1, 1), ValueError, "epsilon"),
    (lambda: events.Staircase(1, 2, 3, 1), ValueError, "step"),
    (lambda: events.External(1.0, "n"), TypeError, "cost"),
    (lambda: events.External(identity(), "n"), TypeError, "cost"),
    (lambda: events.External(PureDP(1), " "), ValueError, "note"),
    (lambda: events.Assumed(events.Gaussian(1), ""), ValueError, "why"),
    (lambda: events.Assumed("x", "w"), TypeError, "event"),
    (lambda: events.Poisson(1.5, events.Gaussian(1)), ValueError, "probability"),
    (lambda: events.Poisson(0.5, 1), TypeError, "event"),
    (lambda: events.Repeat(events.Gaussian(1), -1), ValueError, "count"),
    (lambda: events.Repeat(events.Gaussian(1), 2.0), TypeError, "count"),
    (lambda: events.Repeat(None, 2), TypeError, "event"),
    (lambda: events.Compose(1), TypeError, "events"),
    (lambda: events.Parallel(events.Gaussian(1)), TypeError, "events"),
    (lambda: events.Parallel([1]), TypeError, "events"),
    (lambda: events.Parallel([], 0), ValueError, "reach"),
    (lambda: events.OneOf([]), ValueError, "events"),
    (lambda: events.OneOf([1]), TypeError, "events"),
    (lambda: events.RepeatAndSelect(events.Gaussian(1), -1, 0.5), ValueError, "shape"),
    (lambda: events.RepeatAndSelect(events.Gaussian(1), 1, 1), ValueError, "gamma"),
    (lambda: events.RepeatAndSelect(1, 1, 0.5), TypeError, "event"),
    (lambda: event_from_dict([]), TypeError, "data"),
    (lambda: event_from_dict({"event": "Gaussian"}), ValueError, "version"),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_arguments_are_named(case: int) -> None:
    call, error, name = BAD[case]
    with pytest.raises(error, match=name):
        call()


@pytest.fixture
def forget() -> Iterator[None]:
    """Let classes of a test be forgotten, by the registry and by `Event.__subclasses__`."""
    known = dict(Event.kinds)
    yield
    Event.kinds.clear()
    Event.kinds.update(known)
    gc.collect()


@pytest.mark.usefixtures("forget")
def test_an_event_is_known_by_name_from_its_definition_on() -> None:
    with pytest.raises(ValueError, match="no event is called 'Whispered'"):
        event_from_dict({"event": "Whispered", "version": 1})

    @dataclass(frozen=True)
    class Whispered(Event):
        """An event of somebody else's."""

    assert isinstance(event_from_dict({"event": "Whispered", "version": 1}), Whispered)


@pytest.mark.usefixtures("forget")
def test_an_event_cannot_take_the_name_of_another() -> None:
    with pytest.raises(TypeError, match="two events are called Gaussian"):
        type("Gaussian", (Event,), {"__module__": "elsewhere"})
    assert Event.kinds["Gaussian"] is events.Gaussian
