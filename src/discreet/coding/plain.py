"""Columns of other packages as arrays of plain cells, told from their types and never from a cell.

Text in Arrow's memory need not be UTF-8, and its own functions raise where it isn't. Here it is taken
as bytes, so that ids stay apart and nothing raises.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.coding.calendar import is_date_type
from discreet.coding.cells import objects_of, text_of_bytes

Array = npt.NDArray[Any]

#: The kinds of numpy's types.
KINDS = {
    "f": "number", "i": "number", "u": "number", "b": "boolean", "O": "object", "U": "text",
}  # fmt: skip


def package_of(value: Any) -> str:
    """The name of the package that an object's class comes from."""
    return type(value).__module__.partition(".")[0]


def plain_column(column: Any) -> tuple[Array, str]:
    """The cells of an array, or of a frame's column, and their kind.

    The kind is one of number, boolean, text, date, zoned (times with a zone), object, other; columns of
    the last kind have no cells. Whole numbers and booleans beside a null stay what they are, as objects (as
    doubles, large ids would fall together); masked cells are null.
    """
    if isinstance(column, np.ma.MaskedArray):
        if is_date_type(column.dtype):
            return np.asarray(np.ma.filled(column, np.datetime64("NaT"))), "date"
        return np.asarray(np.ma.filled(column.astype(object), None)), KINDS.get(
            column.dtype.kind, "other"
        )
    if isinstance(column, np.ndarray):
        if is_date_type(column.dtype):
            return column, "date"
        array = column.astype(object) if column.dtype.kind == "T" else column
        return array, KINDS.get(array.dtype.kind, "other")
    package = package_of(column)
    if package == "pyarrow" and hasattr(column, "to_pylist"):
        return _from_arrow(column)
    if package == "polars" and hasattr(column, "to_list"):
        return _from_polars(column)
    if package == "pandas" and hasattr(column, "to_numpy") and hasattr(column, "dtype"):
        return _from_pandas(column)
    if hasattr(column, "__array__"):
        return plain_column(np.asarray(column))
    return objects_of(column), "object"


def type_of(column: Any) -> Any:
    """The type that an array or a column says it has; None if it says nothing."""
    return getattr(column, "dtype", getattr(column, "type", None))


def is_sound(column: Any) -> bool:
    """Whether all text of an Arrow column, or of pandas around one, is UTF-8."""
    arrow = importlib.import_module("pyarrow")
    try:
        (column if package_of(column) == "pyarrow" else arrow.array(column)).validate(full=True)
    except arrow.ArrowInvalid:
        return False
    return True


def _nothing(length: int) -> tuple[Array, str]:
    """A column of a type that nothing here reads."""
    return np.full(length, None, np.object_), "other"


def _from_arrow(column: Any) -> tuple[Array, str]:
    arrow = importlib.import_module("pyarrow")
    types, kind = arrow.types, column.type
    if types.is_dictionary(kind):
        parts = [chunk.dictionary_decode() for chunk in getattr(column, "chunks", [column])]
        return _from_arrow(arrow.chunked_array(parts, kind.value_type))
    if types.is_run_end_encoded(kind):
        return _from_arrow(importlib.import_module("pyarrow.compute").run_end_decode(column))
    if types.is_string(kind) or types.is_large_string(kind):
        cells = column.cast(arrow.large_binary()).to_pylist()
        return objects_of(map(text_of_bytes, cells)), "text"
    if types.is_string_view(kind):
        return objects_of(map(text_of_bytes, column.cast(arrow.binary_view()).to_pylist())), "text"
    if types.is_floating(kind):
        return np.asarray(column.to_numpy(zero_copy_only=False)), "number"
    if types.is_integer(kind) or types.is_decimal(kind):
        return objects_of(column.to_pylist()), "number"
    if types.is_boolean(kind):
        return objects_of(column.to_pylist()), "boolean"
    if types.is_timestamp(kind) and kind.tz is not None:
        return np.full(len(column), None, np.object_), "zoned"
    if types.is_date32(kind) or types.is_timestamp(kind):
        return np.asarray(column.to_numpy(zero_copy_only=False)), "date"
    return (
        (objects_of(column.to_pylist()), "object") if types.is_null(kind) else _nothing(len(column))
    )


def _from_polars(column: Any) -> tuple[Array, str]:
    polars = importlib.import_module("polars")
    kind = column.dtype
    if kind.is_float():
        return np.asarray(column.to_numpy()), "number"
    if kind.is_integer() and not column.null_count():
        return np.asarray(column.to_numpy()), "number"
    if kind.is_numeric():
        return objects_of(column.to_list()), "number"
    if kind == polars.Boolean:
        return objects_of(column.to_list()), "boolean"
    if kind in (polars.String, polars.Categorical, polars.Enum):
        cells = column.cast(polars.String).cast(polars.Binary).to_list()
        return objects_of(map(text_of_bytes, cells)), "text"
    if kind in (polars.Object, polars.Null):
        return objects_of(column.to_list()), "object"
    if kind == polars.Datetime and kind.time_zone is not None:
        return np.full(len(column), None, np.object_), "zoned"
    if kind in (polars.Date, polars.Datetime):
        return np.asarray(column.to_numpy()), "date"
    return _nothing(len(column))


def _from_pandas(column: Any) -> tuple[Array, str]:
    pandas = importlib.import_module("pandas")
    kind, types = column.dtype, pandas.api.types
    if isinstance(kind, pandas.ArrowDtype) or getattr(kind, "storage", "") == "pyarrow":
        return _from_arrow(importlib.import_module("pyarrow").array(column))
    if isinstance(kind, pandas.CategoricalDtype):
        values, _ = _from_pandas(pandas.Series(kind.categories))
        return np.append(values.astype(object), [None])[column.cat.codes.to_numpy()], "object"
    if isinstance(kind, np.dtype):
        return plain_column(column.to_numpy())
    if types.is_bool_dtype(kind):
        return objects_of(column), "boolean"
    if types.is_numeric_dtype(kind):
        return objects_of(column), "number"
    if types.is_string_dtype(kind):
        return objects_of(column), "text"
    if isinstance(kind, pandas.DatetimeTZDtype):
        return np.full(len(column), None, np.object_), "zoned"
    return _nothing(len(column))
