"""Which engine fits what the person gave."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from discreet.engines.arrays import Arrays
from discreet.engines.base import Engine
from discreet.engines.delimited import Delimited
from discreet.schema import Schema
from discreet.unit import Unit


def open_engine(source: Any, schema: Schema, unit: Unit) -> Engine:
    """The engine for a data frame, an array, a mapping of arrays, or the path of a CSV file."""
    engine = _engine(source, schema)
    engine.check(schema, unit)
    return engine


def _engine(source: Any, schema: Schema) -> Engine:
    if isinstance(source, str | Path):
        path = Path(source)
        if not path.exists():
            raise FileNotFoundError(f"there is no file {str(source)!r}.")
        if not path.name.endswith((".csv", ".csv.gz")):
            raise ValueError(
                f"{path.name!r} is not a CSV file (.csv or .csv.gz); open other files with Polars, "
                "pandas or DuckDB and pass the frame."
            )
        return Delimited(path)
    if isinstance(source, np.ndarray):
        return Arrays(_columns(source, schema))
    if isinstance(source, Mapping):
        return Arrays(source)
    from discreet.engines.frames import Frames

    return Frames(source)


def _columns(array: np.ndarray[Any, Any], schema: Schema) -> dict[str, Any]:
    if array.dtype.names:
        return {name: array[name] for name in array.dtype.names}
    if array.ndim != 2 or array.shape[1] != len(schema.base):
        raise ValueError(
            f"an array needs {len(schema.base)} columns, one for each column of the schema in its "
            f"order; its shape is {array.shape}."
        )
    return dict(zip(schema.base, array.T, strict=True))
