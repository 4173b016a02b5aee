"""Cells that raise, or lie, whatever is done to them, and text that is no UTF-8."""

from __future__ import annotations

import decimal
import fractions
from typing import Any

import numpy as np
import pyarrow as pa


def _fail(*_: Any, **__: Any) -> Any:
    raise RuntimeError("secret")


#: What Python calls when a value is converted, compared, hashed, shown or looked into.
_METHODS = [
    "__float__", "__int__", "__index__", "__bool__", "__eq__", "__ne__", "__lt__", "__gt__", "__le__",
    "__ge__", "__hash__", "__str__", "__repr__", "__iter__", "__len__", "__getitem__", "__contains__",
    "__add__", "__sub__", "__neg__", "__abs__", "__trunc__", "__floor__", "__round__", "__format__",
    "__complex__", "__array__", "__getattr__", "isascii", "encode", "as_integer_ratio",
]  # fmt: skip


def hostile(base: type, *arguments: Any) -> Any:
    """A value of a class of its own, all of whose methods raise."""
    body: dict[str, Any] = dict.fromkeys(_METHODS, _fail)
    body["__class__"] = property(_fail)
    return type(f"Hostile{base.__name__.capitalize()}", (base,), body)(*arguments)


#: Each with the cell that it stands for.
HOSTILE: list[tuple[Any, Any]] = [
    (hostile(object), None),
    (hostile(int, 2), 2),
    (hostile(int, 10**400), 10**400),
    (hostile(float, 1.5), 1.5),
    (hostile(str, "a"), "a"),
    (hostile(decimal.Decimal, "2"), 2),
    (hostile(decimal.Decimal, "sNaN"), None),
    (hostile(fractions.Fraction, 1, 2), None),
    (hostile(np.float64, 1.5), 1.5),
    (hostile(np.int64, 2), 2),
    (hostile(np.float32, 1.5), 1.5),
    (hostile(list, [1.0]), None),
    (hostile(dict), None),
]


def text_array(cells: list[bytes | None], kind: Any = None) -> Any:
    """Bytes as an Arrow array of text, unchecked."""
    kind = kind or pa.string()
    if pa.types.is_dictionary(kind):
        known = list(dict.fromkeys(cell for cell in cells if cell is not None))
        places = pa.array([None if c is None else known.index(c) for c in cells], kind.index_type)
        return pa.DictionaryArray.from_arrays(places, text_array(known, kind.value_type))
    if pa.types.is_string_view(kind):
        return text_array(cells).cast(kind)
    form = pa.large_binary() if pa.types.is_large_string(kind) else pa.binary()
    found = pa.array(cells, form)
    return pa.Array.from_buffers(kind, len(found), found.buffers())
