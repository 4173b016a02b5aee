"""The cells of whatever a fit or a prediction is given: read by rules that no cell can change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from discreet.coding.cells import objects_of
from discreet.coding.plain import plain_column
from discreet.ledger import Book
from discreet.matching import check_unique
from discreet.schema import Schema
from discreet.unit import Unit, as_unit

if TYPE_CHECKING:
    from discreet.models.base import PrivateEstimator

Array = npt.NDArray[Any]


def column_names(X: Any) -> list[str] | None:
    """The names of a frame's columns, or of a mapping's; None for anything without names."""
    if isinstance(X, Mapping):
        found = list(X)
    elif hasattr(X, "column_names"):
        found = list(X.column_names)
    elif hasattr(X, "collect_schema"):
        found = list(X.collect_schema().names())
    elif hasattr(X, "columns"):
        found = list(X.columns)
    else:
        return None
    text = [isinstance(name, str) for name in found]
    if any(text) and not all(text):
        raise TypeError("X must have column names that are all text, or none.")
    if not found or not all(text):
        return None
    check_unique(found)
    return found


def read_matrix(estimator: PrivateEstimator, X: Any, unit: Unit) -> Array:
    """X as a matrix. Only shape and type are looked at, unless the rows are public."""
    if issparse(X):
        raise TypeError("X must be dense: sparse data was passed. Use X.toarray() to convert it.")
    if isinstance(X, str | bytes):
        raise TypeError(
            "X must be an array, a data frame or a dp.PrivateDataset; open a file with "
            "dp.PrivateDataset(path, schema, ledger=ledger)."
        )
    if unit.is_public:
        text = bool(estimator.__sklearn_tags__().input_tags.string)
        checked = check_array(
            X, dtype=None if text else "numeric", ensure_all_finite=False, estimator=estimator
        )
        return np.asarray(checked)
    matrix = list_rows(estimator, X) if isinstance(X, list | tuple) else read_cells(X)
    if matrix.dtype.kind == "c":
        raise ValueError("Complex data not supported.")
    if matrix.ndim != 2:
        raise ValueError(
            f"X must be two-dimensional, not of {matrix.ndim} dimensions. Reshape your data, with one row "
            "per record and one column per feature."
        )
    if matrix.shape[1] == 0:
        raise ValueError("X has 0 feature(s), while a minimum of 1 is required.")
    return matrix


def list_rows(estimator: PrivateEstimator, rows: Sequence[Any]) -> Array:
    """A list of rows as a matrix of objects. Its width is the declared one, never that of a row.

    No row can raise: cells that a row lacks are null, surplus ones are not read, as in a CSV file.
    """
    width = _count_declared(estimator)
    if not width:
        raise ValueError(
            "X is a list of rows, and nothing declares how many columns they have: pass numpy.array(X) or "
            "a data frame, or declare each feature, as in bounds=([0, 17], [1, 90]) or a schema. The width "
            "is never taken from a row."
        )
    cells = (cell for row in rows for cell in islice(chain(_row_cells(row), repeat(None)), width))
    return np.fromiter(cells, np.object_, len(rows) * width).reshape(len(rows), width)


def _row_cells(row: Any) -> Iterator[Any]:
    """The cells of a list, a tuple or an array; anything else is not a row, and has none."""
    kind = type(row)
    if issubclass(kind, list):
        return list.__iter__(row)
    if issubclass(kind, tuple):
        return tuple.__iter__(row)
    if issubclass(kind, np.ndarray) and row.ndim:
        return iter(plain_column(row)[0])
    return iter(())


def _count_declared(estimator: Any) -> int:
    """How many features are declared; 0 if nothing says."""
    if estimator.schema is not None:
        unit = choose_unit(estimator.unit, estimator.ledger)
        target = target_name(estimator, estimator.schema, unit, None)
        return sum(name not in (target, unit.id_column) for name in estimator.schema.base)
    return estimator._declared_width() or 0


def read_cells(column: Any) -> Array:
    """The cells of an array, a list or a frame's column, each as it is: one null changes no other cell."""
    return objects_of(column) if isinstance(column, list | tuple) else plain_column(column)[0]


def kind_of(column: Any) -> str | None:
    """The kind of a column according to its frame's own type; None for lists and arrays."""
    if isinstance(column, np.ndarray) or not hasattr(column, "to_numpy"):
        return None
    return plain_column(column[:0])[1]


def target_array(estimator: PrivateEstimator, y: Any, unit: Unit) -> Array:
    """y as one column. Only shape and type are looked at, unless the rows are public."""
    if unit.is_public:
        checked: Array = np.asarray(column_or_1d(y, warn=True))
        if estimator._target == "class":
            check_array(checked, ensure_2d=False, dtype=None, input_name="y")
            check_classification_targets(checked)
            return checked
        return np.asarray(
            check_array(checked, ensure_2d=False, dtype=np.float64, input_name="y"), np.float64
        )
    found = read_cells(y)
    if found.ndim == 2 and found.shape[1] == 1:
        return np.asarray(column_or_1d(found, warn=True))
    if found.ndim != 1:
        raise ValueError(f"y must be one-dimensional, not of {found.ndim} dimensions.")
    return found


def column_array(X: Any, name: str) -> Array:
    """One column of a mapping or of a frame in memory, as an array."""
    try:
        column = X[name]
    except TypeError:  # a lazy frame
        column = None
    if isinstance(column, list | tuple):
        return objects_of(column)
    if not hasattr(column, "__array__") and not hasattr(column, "to_numpy"):
        raise TypeError(
            "X must be in memory here: with a lazy frame, name the target column of the frame instead of "
            "giving y, as in fit(frame, target='income'), and collect rows before predicting."
        )
    return read_cells(column)


def pair(bounds: Any, name: str) -> tuple[Any, Any]:
    """The two halves of a pair (lower, upper)."""
    try:
        if isinstance(bounds, str):  # whose letters are no bounds
            raise TypeError
        lower, upper = bounds
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a pair (lower, upper), got {bounds!r}.") from None
    return lower, upper


def choose_unit(unit: Any, ledger: Any) -> Unit:
    """The unit that was given; else the ledger's; else add/remove with one row per person."""
    if unit is not None:
        return as_unit(unit)
    return ledger.unit if isinstance(ledger, Book) else Unit()


def target_name(
    estimator: PrivateEstimator, schema: Schema, unit: Unit, target: str | None
) -> str | None:
    """The name of the target in a schema: the last column unless told otherwise."""
    if target is not None:
        schema[target]  # raises if it is not declared
        return target
    if estimator._target == "none":
        return None
    return [name for name in schema.base if name != unit.id_column][-1]
