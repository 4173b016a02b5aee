"""Public domains of local values, and the public rule for whatever lies outside.

Nothing here raises, or changes a length, because of a value: that would tell something about it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.rational import Number, as_integer, rational

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: The steps of the public grid on which real values are coded.
STEPS = 1 << 20

#: What Python would turn into a number though it isn't one (in arrays, also masked cells, with a warning).
_NO_NUMBERS = (str, bytes, bytearray, np.ndarray)

#: The largest domain of categories.
LARGEST = 1 << 30


def as_array(values: Any) -> npt.NDArray[Any]:
    """The values as an array whose shape depends on no value.

    Lists become flat arrays of objects, even where an entry is itself a list.
    """
    if isinstance(values, np.ndarray):
        return np.asarray(values)  # a masked array's own arithmetic could change lengths
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"values must be an array or a list, not {type(values).__name__}.")
    if hasattr(values, "__array__"):
        return np.asarray(values)
    items = list(values)
    array = np.empty(len(items), object)
    for index, item in enumerate(items):
        array[index] = item
    return array


def reals_of(values: Any) -> Floats:
    """The values as doubles, in their shape; NaN for what is not a number."""
    array = as_array(values)
    if array.dtype.kind in "biuf":
        with np.errstate(all="ignore"):  # a caller's settings must not let a value raise
            return array.astype(np.float64)
    found = [_real(value) for value in array.astype(object).ravel().tolist()]
    return np.array(found, np.float64).reshape(array.shape)


@final
@dataclass(frozen=True)
class Categories:
    """The values 0 to k - 1, or a list of k different values.

    Parameters
    ----------
    values : int or sequence
        The number of values, or the values.
    unknown : int
        The index that stands for every value outside the domain, NaN and None among them.
    """

    k: int
    unknown: int = 0
    values: tuple[Any, ...] | None = None
    _codes: dict[Any, int] = field(default_factory=dict, repr=False, compare=False)

    def __init__(self, values: int | Sequence[Any], unknown: int = 0) -> None:
        listed = None if isinstance(values, int) else _list_values(values)
        k = as_integer(len(listed) if listed is not None else values, "k", minimum=2)
        if k > LARGEST:
            raise ValueError(f"k must be at most 2^30, got {k}.")
        if as_integer(unknown, "unknown") >= k:
            raise ValueError(f"unknown must be an index below {k}, got {unknown}.")
        codes = {value: index for index, value in enumerate(listed or ())}
        if listed is not None and len(codes) < k:
            raise ValueError("the values of a domain must be different.")
        for name, content in (
            ("k", k),
            ("unknown", unknown),
            ("values", listed),
            ("_codes", codes),
        ):
            object.__setattr__(self, name, content)

    def codes(self, values: Any) -> Integers:
        """The index of each value, in the shape of `values`."""
        array = as_array(values)
        if self.values is None and array.dtype.kind in "biuf":
            with np.errstate(all="ignore"):  # a caller's settings must not let a value raise
                inside = (array >= 0) & (array < self.k)
                if array.dtype.kind == "f":
                    inside &= array == np.floor(array)
                return np.where(inside, np.where(inside, array, 0).astype(np.int64), self.unknown)
        found = [self._code(value) for value in array.astype(object).ravel().tolist()]
        return np.array(found, np.int64).reshape(array.shape)

    def _code(self, value: Any) -> int:
        try:
            if self.values is not None:
                return self._codes.get(value, self.unknown)
            if isinstance(value, _NO_NUMBERS):
                return self.unknown
            number = int(value)
            return number if 0 <= number < self.k and bool(number == value) else self.unknown
        except Exception:  # an unhashable or otherwise strange value counts as unknown
            return self.unknown


def _list_values(values: Sequence[Any]) -> tuple[Any, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise TypeError(
            f"k must be the number of values or a list of them, not {type(values).__name__}."
        )
    return tuple(values)


@final
@dataclass(frozen=True)
class Interval:
    """Real values between public bounds, coded as whole steps of (upper - lower)/2^20.

    Values outside are clamped; NaN, None and whatever is not a number stand for the midpoint.
    """

    lower: Fraction
    upper: Fraction

    def __init__(self, lower: Number, upper: Number) -> None:
        object.__setattr__(self, "lower", rational(lower, "lower"))
        object.__setattr__(self, "upper", rational(upper, "upper"))
        if not self.lower < self.upper:
            raise ValueError("lower must be less than upper.")
        if not math.isfinite(self._factor):
            raise ValueError("lower and upper are too close together.")

    @property
    def _factor(self) -> float:
        try:
            return STEPS / float(self.upper - self.lower)
        except (OverflowError, ZeroDivisionError):
            return math.inf

    def codes(self, values: Any) -> Integers:
        """The step of each value, from 0 to 2^20, in the shape of `values`."""
        reals = reals_of(values)
        lower, upper = float(self.lower), float(self.upper)
        middle = float((self.lower + self.upper) / 2)
        clamped = np.clip(np.where(np.isnan(reals), middle, reals), lower, upper)
        steps = np.floor((clamped - lower) * self._factor + 0.5)
        return np.clip(steps, 0, STEPS).astype(np.int64)

    def reals(self, steps: Floats | float) -> Any:
        """The real numbers at these steps, whole or not."""
        return float(self.lower) + np.asarray(steps) * (float(self.upper - self.lower) / STEPS)

    @property
    def step(self) -> float:
        """The width of one step."""
        return float(self.upper - self.lower) / STEPS


def _real(value: Any) -> float:
    try:
        if isinstance(value, _NO_NUMBERS):
            return math.nan
        return float(value)
    except OverflowError:
        return math.inf if _is_positive(value) else -math.inf
    except Exception:  # what is not a number has a public stand-in
        return math.nan


def _is_positive(value: Any) -> bool:
    try:
        return bool(value > 0)
    except Exception:  # see above
        return True
