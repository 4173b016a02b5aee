"""Which engine fits what the person gave."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from discreet.coding import Engine
from discreet.coding.plain import package_of
from discreet.engines.arrays import Arrays
from discreet.engines.delimited import Delimited
from discreet.engines.unchecked import check_fields
from discreet.engines.urls import Address, Unreadable, conceal
from discreet.schema import Schema, Text
from discreet.unit import Unit


def open_engine(source: Any, schema: Schema, unit: Unit) -> Engine:
    """The engine for a data frame, an array, a mapping of arrays, a path, or the URL of a table."""
    if isinstance(source, Engine):  # it was checked when it was opened
        return source
    if type(source).__module__ == "pyarrow._dataset":
        check_fields(source.schema, schema, unit)
    engine = _engine(source, schema)
    engine.check(schema, unit)
    return engine


def list_columns(source: str | Path) -> list[tuple[str, str]]:
    """The names of a table's columns and the types that its file or database declares for them.

    Privacy
    -------
    Names and types are public facts of a Parquet file or of a database, and no row is read. The first line of
    a CSV file is read: ask for it only if a person said that it holds names.
    """
    engine: Any = _engine(conceal(source), Schema(unused=Text()))
    found: list[tuple[str, str]] = engine.declared()
    return found


def _engine(source: Any, schema: Schema) -> Engine:
    source = conceal(source)
    if isinstance(source, Unreadable):
        raise source.error
    if isinstance(source, Address):
        return _open_address(source)
    if isinstance(source, str | Path):
        return _open_path(source)
    if isinstance(source, np.ndarray):
        return Arrays(_columns(source, schema))
    if isinstance(source, Mapping):
        return Arrays(source)
    return _open_frame(source)


def _open_address(found: Address) -> Engine:
    if found.kind == "duckdb":
        from discreet.engines.parquet import open_duckdb

        if os.path.exists(found.place):
            check_readable(found.place)
        return open_duckdb(found.place, found.table)
    from discreet.engines.postgres import open_postgres

    return open_postgres(found)


def _open_path(source: str | Path) -> Engine:
    from discreet.engines.parquet import open_parquet, parquet_files

    try:
        files = parquet_files(source)
        path = Path(source)
        is_there = files is not None or path.exists()
    except PermissionError:
        raise _not_permitted(source) from None
    if not is_there:
        start = "" if path.is_absolute() else f", which starts from {str(Path.cwd())!r}"
        raise FileNotFoundError(f"there is no file {str(source)!r}: check the path{start}.")
    for file in [str(source)] if files is None else files:
        check_readable(file)
    if files is not None:
        return open_parquet(files, source)
    if not path.name.endswith((".csv", ".csv.gz")):
        raise ValueError(
            f"{path.name!r} is not a CSV file (.csv or .csv.gz) nor a Parquet file (.parquet); write other "
            "files as CSV first, or open them with Polars, pandas or DuckDB and pass the frame. Tabs become "
            "commas by pandas.read_csv('old.tsv', sep='\\t', dtype=str).to_csv('new.csv', index=False)."
        )
    return Delimited(path)


def check_readable(path: str | Path) -> None:
    """Raise if this user may not read a file; its name was given by the person, so it is told."""
    if not os.access(path, os.R_OK):
        raise _not_permitted(path)


def _not_permitted(path: str | Path) -> PermissionError:
    return PermissionError(
        f"this user may not read the file {str(path)!r}: ask its owner for the permission, or copy it to "
        "where you may."
    )


def _open_frame(source: Any) -> Engine:
    package = package_of(source)
    if package in ("dask", "dask_expr"):
        from discreet.engines.partitions import Partitions

        if not hasattr(source, "map_partitions") or not hasattr(source, "columns"):
            raise TypeError("data must be a Dask data frame, not another Dask collection.")
        return Partitions(source)
    if package == "ibis":
        from discreet.engines.postgres import open_ibis

        return open_ibis(source)
    if type(source).__module__ == "pyarrow._dataset":
        from discreet.engines.parquet import open_dataset

        return open_dataset(source)
    from discreet.engines.frames import Frames

    if package in ("duckdb", "_duckdb"):
        from discreet.engines.turns import DUCKDB_RELATIONS, InTurn

        with DUCKDB_RELATIONS.take():
            return InTurn(Frames(source), DUCKDB_RELATIONS)
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
