"""From a target to the least noise that reaches it, ending on the private side."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from discreet.accounting.costs import satisfies
from discreet.events import Event
from discreet.measures import Measure
from discreet.rational import positive

E = TypeVar("E", bound=Event)

__all__ = ["calibrate"]


def calibrate(
    make_event: Callable[[Fraction], E],
    target: Measure,
    *,
    tolerance: float = 1e-9,
    start: float = 1.0,
) -> E:
    """The event with the least noise that costs at most `target`.

    Parameters
    ----------
    make_event : callable
        From a positive number, such as a noise scale, to an event whose cost falls as it grows.
    target : Measure
    tolerance : float
        Relative width at which the search stops; the result is always at its private end.
    start : float
        A first guess.

    Returns
    -------
    Event
        One for which ``accounting.satisfies(event, target)`` is true.
    """
    high = positive(start, "start")
    width = positive(tolerance, "tolerance")
    for _ in range(200):
        if satisfies(make_event(high), target):
            break
        high *= 2
    else:
        raise ValueError(
            f"no amount of noise brings this event to {target!r}: is the target above 0, does it have "
            "a delta where the mechanism needs one, and does the event get cheaper with more noise?"
        )
    low = high / 2
    for _ in range(200):
        if not satisfies(make_event(low), target):
            break
        low, high = low / 2, low
    else:
        raise ValueError("any amount of noise reaches this target: there is nothing to calibrate.")
    while high - low > width * high:
        middle = (low + high) / 2
        if satisfies(make_event(middle), target):
            high = middle
        else:
            low = middle
    return make_event(high)
