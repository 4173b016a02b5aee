"""Native frames of whatever library is there: pandas, else Polars, else PyArrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from importlib.util import find_spec
from typing import Any

import numpy as np

__all__ = ["BACKENDS", "native_frame"]

#: In which order libraries are looked for.
BACKENDS = ("pandas", "polars", "pyarrow")


def native_frame(columns: Mapping[str, Any], backend: str | None = None) -> Any:
    """Columns as a frame of the named library, or of the first that is installed.

    Parameters
    ----------
    columns : mapping of name to array or sequence
    backend : {"pandas", "polars", "pyarrow", "modin"}, optional

    Raises
    ------
    ImportError
        If the library, or each of them, is missing.
    """
    import narwhals as nw

    name = _choose(backend)
    cells = {
        key: values if isinstance(values, np.ndarray) else _unify(values)
        for key, values in columns.items()
    }
    return nw.from_dict(cells, backend=name).to_native()  # type: ignore[arg-type]


def _choose(backend: str | None) -> str:
    if backend is None:
        for name in BACKENDS:
            if find_spec(name) is not None:
                return name
        raise ImportError(
            "to_frame needs pandas, Polars or PyArrow, and none of them is installed: pip install pandas."
        )
    known = (*BACKENDS, "modin")
    if not isinstance(backend, str) or backend not in known:
        raise ValueError(f"backend must be one of {', '.join(map(repr, known))}, got {backend!r}.")
    if find_spec(backend) is None:
        there = [repr(name) for name in BACKENDS if find_spec(name) is not None]
        instead = f", or give backend={there[0]}" if there else ""
        raise ImportError(f"backend={backend!r} is not installed: pip install {backend}{instead}.")
    return backend


def _unify(values: Sequence[Any]) -> list[Any]:
    """Cells of one kind, as columns of frames want them: numbers, dates, booleans, or else text."""
    known = [value for value in values if value is not None]
    kinds = {type(value) for value in known}
    if kinds <= {bool} or kinds <= {str} or kinds <= {date} or kinds <= {datetime}:
        return list(values)
    if kinds <= {int} and all(-(2**63) <= value < 2**63 for value in known):
        return list(values)
    if kinds <= {int, float, Fraction} and all(
        abs(value) <= 2**53 for value in known if isinstance(value, int)
    ):
        return [None if value is None else float(value) for value in values]
    return [None if value is None else str(value) for value in values]
