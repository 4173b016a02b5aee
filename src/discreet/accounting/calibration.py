"""From a target to the least noise that reaches it, ending on the private side."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from discreet.accounting.costs import satisfies
from discreet.events import Event
from discreet.measures import Measure, PrivacyLoss
from discreet.rational import Number, positive

E = TypeVar("E", bound=Event)

__all__ = ["calibrate"]


def calibrate(
    make_event: Callable[[Fraction], E],
    target: Measure,
    *,
    tolerance: Number = 1e-9,
    start: Number = 1.0,
) -> E:
    """Find the event with the least noise that costs at most `target`.

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
        It satisfies ``accounting.satisfies(event, target)``.

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> def release_ten(sigma):
    ...     return events.Repeat(events.Gaussian(sigma), 10)
    >>> plan = accounting.calibrate(release_ten, measures.ApproxDP(1, 1e-6))
    >>> round(float(plan.event.sigma), 2)
    13.36
    >>> accounting.satisfies(plan, measures.ApproxDP(1, 1e-6))
    True
    """
    if not callable(make_event):
        raise TypeError("make_event must be a function from a number to an event.")
    if not isinstance(target, Measure) or isinstance(target, PrivacyLoss):
        raise TypeError(
            f"target must be a measure such as dp.ApproxDP(1, 1e-6), not {type(target).__name__}."
        )
    high = positive(start, "start")
    width = positive(tolerance, "tolerance")
    for _ in range(200):
        best = _reaching(make_event, high, target)
        if best is not None:
            break
        high *= 2
    else:
        raise ValueError(
            f"no amount of noise brings this event to target {target!r}: is it above 0, does it have "
            "a delta where the mechanism needs one, and does the event get cheaper with more noise?"
        )
    low = high / 2
    for _ in range(200):
        found = _reaching(make_event, low, target)
        if found is None:
            break
        low, high, best = low / 2, low, found
    else:
        raise ValueError("any amount of noise reaches this target: there is nothing to calibrate.")
    while high - low > width * high:
        middle = (low + high) / 2
        found = _reaching(make_event, middle, target)
        if found is None:
            low = middle
        else:
            high, best = middle, found
    return best


def _reaching(make_event: Callable[[Fraction], E], noise: Fraction, target: Measure) -> E | None:
    event = make_event(noise)
    if not isinstance(event, Event):
        raise TypeError(f"make_event must return an event, not {type(event).__name__}.")
    return event if satisfies(event, target) else None
