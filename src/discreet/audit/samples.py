"""Outputs of many runs in a common form: what they look like from outside, and the numbers in them."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "Raised",
    "Reader",
    "Sample",
    "block_marks",
    "collect",
    "is_vectorised",
    "join",
    "sample_of",
]

Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.uint64]
Texts = npt.NDArray[Any]


@dataclass(frozen=True)
class Raised:
    """A run that raised instead of returning: an exception is an output too."""

    name: str


@dataclass(frozen=True)
class Reader:
    """How to read outputs with this many numbers; whole ones are read as differences from some origin.

    Whole numbers beyond 2^53 would lose digits as doubles; their differences need not.
    """

    origin: tuple[int | float, ...]

    @property
    def width(self) -> int:
        """How many numbers an output has."""
        return len(self.origin)


class Sample:
    """Outputs of runs on one input.

    Attributes
    ----------
    forms : array of str, or str
        What each output looks like from outside: its type, length, keys, or the exception; one text if
        all look alike.
    marks : array of uint64
        A number for each output, equal where outputs are equal to the last bit.
    """

    def __init__(
        self,
        forms: Texts | str,
        marks: Marks,
        shown: Any,
        block: npt.NDArray[Any] | None = None,
        leaves: list[tuple[int | float, ...]] | None = None,
    ) -> None:
        self.forms, self.marks, self.shown = forms, marks, shown
        self._block, self._leaves = block, leaves

    def __len__(self) -> int:
        return len(self.marks)

    def part(self, start: int, stop: int) -> Sample:
        """Some of the runs."""
        cut = slice(start, stop)
        return Sample(
            self.forms if isinstance(self.forms, str) else self.forms[cut],
            self.marks[cut],
            self.shown[cut],
            None if self._block is None else self._block[cut],
            None if self._leaves is None else self._leaves[cut],
        )

    def form_counts(self) -> Counter[str]:
        """How many outputs have each form."""
        if isinstance(self.forms, str):
            return Counter({self.forms: len(self)})
        return Counter(self.forms.tolist())

    def form_texts(self) -> Texts:
        """The form of each output."""
        if isinstance(self.forms, str):
            return np.full(len(self), self.forms)
        return self.forms.astype(str)

    def width_counts(self) -> Counter[int]:
        """How many outputs have each count of numbers in them."""
        if self._block is not None:
            return Counter({self._block.shape[1]: len(self)})
        assert self._leaves is not None
        return Counter(map(len, self._leaves))

    def origin(self, width: int) -> tuple[int | float, ...]:
        """The numbers in the first output that has `width` of them, 0 for places where not all are whole."""
        if self._block is not None:
            return (
                tuple(self._block[0].tolist()) if self._block.dtype.kind in "iu" else (0.0,) * width
            )
        assert self._leaves is not None
        rows = [row for row in self._leaves if len(row) == width]
        return tuple(
            column[0] if all(isinstance(value, int) for value in column) else 0.0
            for column in zip(*rows, strict=True)
        )

    def numbers(self, reader: Reader) -> tuple[npt.NDArray[np.bool_], Floats]:
        """Which outputs have as many numbers as the reader wants, and these, one row for each."""
        if self._block is not None:
            if self._block.shape[1] != reader.width:
                return np.zeros(len(self), np.bool_), np.empty((0, reader.width))
            rows = self._block
            if rows.dtype.kind in "iu":  # wraps only where the difference itself is huge
                rows = rows - np.array([int(start) for start in reader.origin], rows.dtype)
            elif any(reader.origin):
                rows = rows - np.array(reader.origin, np.float64)
            return np.ones(len(self), np.bool_), rows.astype(np.float64)
        assert self._leaves is not None
        where = np.array([len(row) == reader.width for row in self._leaves], np.bool_)
        found = [
            [_difference(value, start) for value, start in zip(row, reader.origin, strict=True)]
            for row, use in zip(self._leaves, where.tolist(), strict=True)
            if use
        ]
        return where, np.array(found, np.float64).reshape(len(found), reader.width)


def _difference(value: int | float, start: int | float) -> float:
    try:
        return float(value - start)
    except OverflowError:
        return math.copysign(math.inf, value)


def is_vectorised(mechanism: Callable[..., Any]) -> bool:
    """Whether a mechanism takes the number of runs, as ``mechanism(data, trials)``."""
    try:
        return "trials" in inspect.signature(mechanism).parameters
    except (TypeError, ValueError):
        return False


def collect(mechanism: Callable[..., Any], data: Any, trials: int) -> Any:
    """Outputs of `trials` runs: an array with runs first, or a list. Exceptions become outputs.

    If a call for many runs raises, the runs are made one by one, so that one that fails is one output.
    """
    if is_vectorised(mechanism):
        try:
            return _count_outputs(mechanism(data, trials=trials), trials)
        except WrongNumber:
            raise
        except Exception as error:  # a mechanism may fail in any way: that is what is looked for
            if trials == 1:
                return [Raised(type(error).__name__)]
        found: list[Any] = []
        for _ in range(trials):
            found += list(collect(mechanism, data, 1))
        return found
    found = []
    for _ in range(trials):
        try:
            found.append(mechanism(data))
        except Exception as error:  # as above
            found.append(Raised(type(error).__name__))
    return found


def join(first: Any, second: Any) -> Any:
    """Outputs of two calls as those of one."""
    arrays = isinstance(first, np.ndarray) and isinstance(second, np.ndarray)
    if arrays and (first.dtype, first.shape[1:]) == (second.dtype, second.shape[1:]):
        return np.concatenate([first, second])
    return [*first, *second]


class WrongNumber(ValueError):
    """A mechanism for many runs gave a different number of outputs than it was asked for."""


def _count_outputs(outputs: Any, trials: int) -> Any:
    if len(outputs) != trials:
        raise WrongNumber(
            f"mechanism(data, trials={trials}) must return {trials} outputs, got {len(outputs)}."
        )
    return outputs


def sample_of(outputs: Any, rounding: float | None = None) -> Sample:
    """Outputs in their common form; real numbers rounded to multiples of `rounding`, if given."""
    if isinstance(outputs, np.ndarray) and outputs.dtype.kind in "iubf" and outputs.ndim:
        block = np.ascontiguousarray(outputs.reshape(len(outputs), -1))
        if rounding is not None and block.dtype.kind == "f":
            block = np.round(block.astype(np.float64) / rounding) * rounding + 0.0
        form = (
            f"{'number' if outputs.ndim == 1 else f'array {outputs.shape[1:]}'} of {outputs.dtype}"
        )
        return Sample(form, block_marks(block), _Shown(block), block)
    parts = [_take_apart(output, rounding) for output in outputs]
    forms = np.array([form for form, _, _ in parts], dtype=object)
    marks = np.array([_mark(o, *p) for o, p in zip(outputs, parts, strict=True)], np.uint64)
    shown = np.array([_brief(output) for output in outputs], dtype=object)
    return Sample(forms, marks, shown, None, [numbers for _, _, numbers in parts])


def _mark(output: Any, form: str, text: str, numbers: tuple[int | float, ...]) -> int:
    """A number for an output, the same whether it came alone or in an array of many."""
    if isinstance(output, np.generic | np.ndarray) and output.dtype.kind in "iubf":
        return int(block_marks(np.array(numbers, output.dtype).reshape(1, -1))[0])
    return hash(f"{form}|{text}|{numbers!r}") % 2**64


class _Shown:
    """The rows of a block as text, made when they are asked for."""

    def __init__(self, block: npt.NDArray[Any]) -> None:
        self._block = block

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return _Shown(self._block[at])
        rows = self._block[at].tolist()
        return np.array([str(row[0] if len(row) == 1 else row) for row in rows], dtype=object)


def block_marks(block: npt.NDArray[Any]) -> Marks:
    """Equal rows have equal marks; a collision of others would cost power, not validity."""
    mixed = np.zeros(len(block), np.uint64)
    kind = np.float64 if block.dtype.kind == "f" else np.int64
    for column in block.T:
        bits = np.ascontiguousarray(column.astype(kind, copy=False)).view(np.uint64)
        mixed = (mixed ^ bits) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed


Opened = tuple[str, str, tuple[int | float, ...]]


def _take_apart(output: Any, rounding: float | None) -> Opened:
    """The form of an output, what in it is neither form nor number, and its numbers."""
    match output:
        case Raised():
            return f"an exception {output.name}", "", ()
        case None:
            return "nothing", "", ()
        case np.bool_() | np.integer():
            return f"number of {output.dtype}", "", (int(output),)
        case np.floating():
            return f"number of {output.dtype}", "", (_round(float(output), rounding),)
        case bool() | int():
            return type(output).__name__, "", (int(output),)
        case float() | Fraction() | Decimal():
            return type(output).__name__, "", (_round(float(output), rounding),)
        case complex() | np.complexfloating():
            parts = (float(output.real), float(output.imag))
            return type(output).__name__, "", tuple(_round(part, rounding) for part in parts)
        case str() | bytes():
            return f"a {type(output).__name__} of length {len(output)}", repr(output), ()
        case Mapping():
            name = f"a {type(output).__name__} with the keys {list(output)}"
            return _join(name, output.values(), rounding)
        case set() | frozenset():
            name = f"a {type(output).__name__} of length {len(output)}"
            return _join(name, sorted(output, key=repr), rounding)
        case list() | tuple():
            return _join(f"a {type(output).__name__} of length {len(output)}", output, rounding)
    return _take_object_apart(output, rounding)


def _take_object_apart(output: Any, rounding: float | None) -> Opened:
    if isinstance(output, np.ndarray):
        kind = "array" if type(output) is np.ndarray else type(output).__name__
        name = f"{kind} {output.shape} of {output.dtype}"
        if output.dtype.kind in "iubf":
            values = output.ravel().tolist()
            return (
                name,
                "",
                tuple(_round(v, rounding) if isinstance(v, float) else v for v in values),
            )
        return _join(name, output.ravel().tolist(), rounding)
    if dataclasses.is_dataclass(output) and not isinstance(output, type):
        fields = [getattr(output, field.name) for field in dataclasses.fields(output)]
        return _join(f"a {type(output).__name__}", fields, rounding)
    if hasattr(output, "__array__"):
        form, text, numbers = _take_object_apart(np.asarray(output), rounding)
        labels = [
            repr(list(getattr(output, n))) for n in ("index", "columns") if hasattr(output, n)
        ]
        return f"{type(output).__name__}: {form} {' '.join(labels)}".rstrip(), text, numbers
    if getattr(type(output), "__repr__", None) is object.__repr__:
        raise TypeError(
            f"outputs of type {type(output).__name__} can't be compared: return its numbers, such as "
            "model.coef_, from the mechanism."
        )
    return f"a {type(output).__name__}", repr(output), ()


def _join(name: str, parts: Any, rounding: float | None) -> Opened:
    opened = [_take_apart(part, rounding) for part in parts]
    inner = dict.fromkeys(form for form, _, _ in opened)
    form = f"{name} ({', '.join(form for form, _, _ in opened)})" if len(inner) > 1 else name
    if len(inner) == 1:
        form = f"{name} of {next(iter(inner))}"
    numbers = tuple(number for _, _, found in opened for number in found)
    return form, "|".join(text for _, text, _ in opened), numbers


def _round(value: float, step: float | None) -> float:
    if step is None or not math.isfinite(value):
        return value
    return round(value / step) * step + 0.0


def _brief(output: Any) -> str:
    if isinstance(output, Raised):
        return f"an exception {output.name}"
    text = " ".join(
        (repr(output) if not isinstance(output, Sequence | str) else str(output)).split()
    )
    return text if len(text) <= 60 else text[:57] + "..."
