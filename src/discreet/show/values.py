"""Values as JSON and back, exact: integers of any size, fractions, dates, arrays; and text made visible.

JSON's own numbers are doubles for many readers, so an integer beyond 2^53 is written as text with a mark, and
so is a float that is not finite. Reading builds nothing but the kinds listed here: no code is run.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import numpy as np

__all__ = ["as_plain", "decode_value", "encode_value", "visible"]

#: Integers that every reader of JSON keeps.
MAX_EXACT = 2**53
#: Elements that an array in a file may have.
MAX_ELEMENTS = 2**24
_PLAIN = frozenset({type(None), bool, int, float, str})
_KINDS = ("int64", "float64", "bool", "uint64", "int32", "float32")
#: Letters and signs that count as printable and are drawn as nothing, so that they could push what
#: follows to the next line of a screen.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")


def as_plain(value: Any) -> Any:
    """A value of Python's own kinds for what may be numpy's; tuples and lists become text."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple | list):
        return ", ".join(str(as_plain(part)) for part in value)
    if value is None or isinstance(value, bool | int | float | Fraction | str | date):
        return value
    return str(value)


def visible(text: str) -> str:
    """Text on one line: whatever isn't printable is escaped, so that it can't pass for another line."""
    joined = re.sub(" +", " ", text)
    return "".join(
        char if char.isprintable() and char not in _BLANK else ascii(char)[1:-1] for char in joined
    )


def encode_value(value: Any) -> Any:
    """A value as plain data that JSON can hold, from which `decode_value` gives an equal one."""
    match value:
        case None | bool() | str():
            return _check_text(value)
        case np.generic():
            return {"array": _encode_array(np.asarray(value))}
        case int():
            return value if abs(value) <= MAX_EXACT else {"integer": str(value)}
        case float():
            return value if math.isfinite(value) else {"float": str(value)}
        case Fraction():
            return {"fraction": str(value)}
        case datetime():
            return {"datetime": value.isoformat()}
        case date():
            return {"date": value.isoformat()}
        case np.ndarray():
            return {"array": _encode_array(value)}
        case list():
            return [encode_value(item) for item in value]
        case tuple() if hasattr(value, "_asdict"):
            return _encode_record(type(value).__name__, value._asdict())
        case tuple():
            return {"tuple": [encode_value(item) for item in value]}
        case Mapping():
            return {"mapping": [[encode_value(k), encode_value(v)] for k, v in value.items()]}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return _encode_record(type(value).__name__, {n: getattr(value, n) for n in names})
    raise TypeError(
        f"a value of type {type(value).__name__} can't be written as JSON; to_frame and to_csv may show it."
    )


def _check_text(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("text that isn't Unicode can't be written as JSON.") from None
    return value


def _encode_record(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"record": name, "fields": {key: encode_value(part) for key, part in fields.items()}}


def _encode_array(value: np.ndarray[Any, Any]) -> dict[str, Any]:
    if value.dtype.name not in _KINDS:
        raise TypeError(f"an array of {value.dtype.name} can't be written as JSON.")
    cells = value.ravel().tolist()
    if not np.isfinite(value).all() or (
        value.dtype.kind in "iu" and value.size and not _is_small(value)
    ):
        cells = [encode_value(cell) for cell in cells]
    return {"dtype": value.dtype.name, "shape": list(value.shape), "cells": cells}


def _is_small(value: np.ndarray[Any, Any]) -> bool:
    """Whether all integers of an array are kept by readers that know only doubles."""
    return int(value.min()) >= -MAX_EXACT and int(value.max()) <= MAX_EXACT


def decode_value(data: Any, records: Mapping[str, Callable[..., Any]] | None = None) -> Any:
    """The inverse of `encode_value`.

    Parameters
    ----------
    data
        What `encode_value` gave, through JSON.
    records : mapping of name to callable, optional
        What records may be built, each from its fields; no other is.

    Raises
    ------
    ValueError
        For anything that `encode_value` doesn't write.
    """
    known = records or {}
    match data:
        case None | bool() | str() | int() | float():
            return data
        case list():
            return [decode_value(item, known) for item in data]
        case {"integer": str(text)} if len(data) == 1 and re.fullmatch(r"-?\d{1,4000}", text):
            return int(text)
        case {"float": "inf" | "-inf" | "nan" as text} if len(data) == 1:
            return float(text)
        case {"fraction": str(text)} if re.fullmatch(r"-?\d{1,4000}(/\d{1,4000})?", text):
            return Fraction(text)
        case {"date": str(text)} if len(data) == 1:
            return date.fromisoformat(text)
        case {"datetime": str(text)} if len(data) == 1:
            return datetime.fromisoformat(text)
        case {"array": {"dtype": str(kind), "shape": list(shape), "cells": list(cells)}}:
            return _decode_array(kind, shape, cells)
        case {"tuple": list(items)} if len(data) == 1:
            return tuple(decode_value(item, known) for item in items)
        case {"mapping": list(items)} if len(data) == 1:
            return {decode_value(key, known): decode_value(part, known) for key, part in items}
        case {"record": str(name), "fields": dict(fields)} if name in known:
            return known[name](**{key: decode_value(part, known) for key, part in fields.items()})
    raise ValueError("no value is written like this.")


def _decode_array(kind: str, shape: list[Any], cells: list[Any]) -> Any:
    if kind not in _KINDS or not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError("no array is written like this.")
    if len(cells) > MAX_ELEMENTS or math.prod(shape) != len(cells):
        raise ValueError("no array is written like this.")
    if not set(map(type, cells)) <= {int, float, bool}:
        cells = [decode_value(cell) for cell in cells]
    flat = np.array(cells, dtype=kind)
    return flat.reshape(shape) if shape else flat.reshape(())[()]
