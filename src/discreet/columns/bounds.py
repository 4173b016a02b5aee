"""Declared bounds: finite numbers in the right order."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from typing import Any


def finite(value: Any, name: str) -> float:
    """A declared bound as a float."""
    if value is None:
        raise ValueError(
            f"{name} must be given: bounds are public facts and are never taken from the data. "
            "Declare what anyone may know, such as dp.Real(0, 120) for an age."
        )
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite and fit a double.")
    return number


def as_list(values: Any, name: str, example: str) -> tuple[Any, ...]:
    """The items of a list; text is none, though it could be taken for a list of its letters."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list, as in {example}, not {type(values).__name__}.")
    return tuple(values)


def check_bounds(
    kind: str, lower: float, upper: float, fill: float | None, scale: str | None
) -> None:
    """Raise unless bounds, fill and scale of a numeric column fit together."""
    if lower > upper:
        raise ValueError(f"{kind}: lower must not exceed upper, got {lower!r} and {upper!r}.")
    if fill is not None and not lower <= fill <= upper:
        raise ValueError(f"{kind}: fill must lie between lower and upper.")
    if scale not in (None, "log", "linear"):
        raise ValueError(f'{kind}: scale must be "log" or "linear", got {scale!r}.')
    if scale == "log" and not 1e-100 <= max(abs(lower), abs(upper)) <= 1e100:
        raise ValueError(f"{kind}: for a log scale the larger bound must lie in 1e-100 ... 1e100.")
