"""One table, given as lists of plain Python cells, in the form of every engine."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import math
import os
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet

Table = dict[str, list[Any]]
Kinds = dict[str, str]

#: real: floats and null; whole: integers and null; text, flag, day, time (of a day): the same with null.
ARROW = {
    "real": pa.float64(), "whole": pa.int64(), "text": pa.string(), "flag": pa.bool_(),
    "day": pa.date32(), "time": pa.timestamp("us"),
}  # fmt: skip
POLARS: dict[str, Any] = {
    "real": pl.Float64, "whole": pl.Int64, "text": pl.String, "flag": pl.Boolean,
    "day": pl.Date, "time": pl.Datetime("us"),
}  # fmt: skip
NULLABLE = {"real": "Float64", "whole": "Int64", "text": "string", "flag": "boolean"}
MOMENTS = {"day": "datetime64[s]", "time": "datetime64[us]"}


def _plain(cells: list[Any], kind: str) -> np.ndarray[Any, Any]:
    """The natural numpy array: floats with NaN for null; objects where numpy has no null."""
    if kind in MOMENTS:
        return np.array(cells, "datetime64[D]" if kind == "day" else MOMENTS[kind])
    nulls = any(cell is None for cell in cells)
    if kind == "real" or (kind == "whole" and nulls and _fits(cells)):
        return np.array([math.nan if c is None else c for c in cells], np.float64)
    if nulls:
        return objects(cells)
    types = {"whole": np.int64, "text": np.str_, "flag": np.bool_}
    return np.array(cells, types[kind])


def _fits(cells: list[Any]) -> bool:
    return all(cell is None or abs(cell) <= 2**53 for cell in cells)


def objects(cells: list[Any]) -> np.ndarray[Any, Any]:
    return np.fromiter(cells, object, len(cells))


def arrays(table: Table, kinds: Kinds) -> Any:
    return {name: _plain(cells, kinds[name]) for name, cells in table.items()}


def object_arrays(table: Table, kinds: Kinds) -> Any:
    return {name: objects(cells) for name, cells in table.items()}


def lists(table: Table, kinds: Kinds) -> Any:
    return dict(table)


def arrow(table: Table, kinds: Kinds) -> pa.Table:
    columns = {n: pa.array(cells, ARROW[kinds[n]], from_pandas=False) for n, cells in table.items()}
    return pa.table(columns)


def polars_eager(table: Table, kinds: Kinds) -> Any:
    return pl.DataFrame(
        {n: pl.Series(n, cells, POLARS[kinds[n]]) for n, cells in table.items()}, strict=False
    )


def polars_lazy(table: Table, kinds: Kinds) -> Any:
    return polars_eager(table, kinds).lazy()


def pandas_default(table: Table, kinds: Kinds) -> Any:
    columns = {}
    for name, cells in table.items():
        if kinds[name] == "text":
            columns[name] = pd.Series(cells, dtype="str")
        elif kinds[name] in MOMENTS:
            columns[name] = pd.Series(np.array(cells, MOMENTS[kinds[name]]))
        else:
            columns[name] = pd.Series(_plain(cells, kinds[name]))
    return pd.DataFrame(columns, index=None)


def pandas_nullable(table: Table, kinds: Kinds) -> Any:
    columns = {}
    for name, cells in table.items():
        if kinds[name] == "real":  # NaN and NA apart
            mask = np.array([cell is None for cell in cells], np.bool_)
            values = np.array([0.0 if cell is None else cell for cell in cells], np.float64)
            columns[name] = pd.Series(pd.arrays.FloatingArray(values, mask))
        elif kinds[name] in MOMENTS:
            columns[name] = pd.Series(np.array(cells, MOMENTS[kinds[name]]))
        else:
            columns[name] = pd.Series(cells, dtype=NULLABLE[kinds[name]])
    return pd.DataFrame(columns)


def pandas_arrow(table: Table, kinds: Kinds) -> Any:
    return arrow(table, kinds).to_pandas(types_mapper=pd.ArrowDtype)


def pandas_object(table: Table, kinds: Kinds) -> Any:
    frame = pd.DataFrame({n: pd.Series(objects(c), dtype=object) for n, c in table.items()})
    frame.index = range(7, 7 + len(frame))  # an index of its own must not matter
    return frame


def duckdb_relation(table: Table, kinds: Kinds) -> Any:
    connection = duckdb.connect()
    return connection.from_arrow(arrow(table, kinds))


def dask_frame(table: Table, kinds: Kinds) -> Any:
    """Three partitions, or one for a table without rows."""
    import dask.dataframe

    frame = pandas_nullable(table, kinds)
    return dask.dataframe.from_pandas(frame, npartitions=min(3, max(1, len(frame))), sort=False)


def parquet_files(table: Table, kinds: Kinds, folder: Path) -> Path:
    """A folder with the rows in two files of several row groups."""
    whole, half = arrow(table, kinds), len(next(iter(table.values()), [])) // 2
    place = folder / "table"
    place.mkdir(exist_ok=True)
    for name, part in {"a": whole.slice(0, half), "b": whole.slice(half)}.items():
        pyarrow.parquet.write_table(part, place / f"{name}.parquet", row_group_size=10)
    return place


def duckdb_url(table: Table, kinds: Kinds, folder: Path) -> str:
    """The address of a table in a DuckDB file."""
    return duckdb_url_of(arrow(table, kinds), folder)


def duckdb_url_of(rows: pa.Table, folder: Path) -> str:
    """The address of a table in a DuckDB file, with the rows of one in memory."""
    path = folder / "table.db"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.register("rows", rows)
        connection.execute('create schema "my clinic"')
        connection.execute('create table "my clinic"."the.table" as select * from rows')
    return f'duckdb:///{path}?table="my clinic"."the.table"'


def postgres_url(table: Table, kinds: Kinds, server: Any, name: str = "rows") -> str:
    """The address of a table in a database of a server."""
    import psycopg

    types = {
        "real": "double precision", "whole": "bigint", "text": "text", "flag": "boolean",
        "day": "date", "time": "timestamp",
    }  # fmt: skip
    columns = ", ".join(f'"{column}" {types[kinds[column]]}' for column in table)
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f'drop table if exists "{name}"'.encode())
        connection.execute(f'create table "{name}" ({columns})'.encode())
        with connection.cursor().copy(f'copy "{name}" from stdin'.encode()) as copy:
            for row in zip(*table.values(), strict=True):
                copy.write_row(row)
    return f"{server.url()}?table={name}"


def spark_session() -> Any:
    """Spark on one core, without a web page, colour or noise."""
    import warnings

    os.environ["PYSPARK_PYTHON"] = sys.executable  # its workers import what this process does
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about pandas 3, and files of its own left open
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[1]").appName("discreet")
        for name, value in {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.log.level": "OFF",
        }.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()


def spark_frame(table: Table, kinds: Kinds, session: Any) -> Any:
    """The table as a data frame of a Spark session."""
    names = {
        "real": "double", "whole": "bigint", "text": "string", "flag": "boolean",
        "day": "date", "time": "timestamp_ntz",
    }  # fmt: skip
    schema = ", ".join(f"`{column}` {names[kinds[column]]}" for column in table)
    return session.createDataFrame(list(zip(*table.values(), strict=True)), schema)


def cell_text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, datetime.date):
        return cell.isoformat()
    return repr(cell) if isinstance(cell, float) else str(cell)


def csv_text(table: Table) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow(table)
    writer.writerows(zip(*([cell_text(c) for c in cells] for cells in table.values()), strict=True))
    return out.getvalue()


def csv_file(table: Table, folder: Path) -> Path:
    path = folder / "table.csv"
    path.write_text(csv_text(table), encoding="utf-8", newline="")
    return path


def csv_gz_file(table: Table, folder: Path) -> Path:
    path = folder / "table.csv.gz"
    path.write_bytes(gzip.compress(csv_text(table).encode()))
    return path


#: Engines that hold typed columns, by name.
TYPED = {
    "numpy": arrays,
    "polars": polars_eager,
    "polars lazy": polars_lazy,
    "pandas": pandas_default,
    "pandas nullable": pandas_nullable,
    "pandas arrow": pandas_arrow,
    "pyarrow": arrow,
    "duckdb": duckdb_relation,
}
#: Engines whose cells can be anything.
LOOSE = {"numpy objects": object_arrays, "lists": lists, "pandas objects": pandas_object}
#: Engines that read files.
FILES = {"csv": csv_file, "csv.gz": csv_gz_file}
#: Engines that read files with types.
TYPED_FILES = {"parquet": parquet_files, "duckdb url": duckdb_url}


def forms(table: Table, kinds: Kinds, folder: Path) -> dict[str, Any]:
    """The table in every form."""
    made = {name: build(table, kinds) for name, build in {**TYPED, **LOOSE}.items()}
    made |= {name: build(table, kinds, folder) for name, build in TYPED_FILES.items()}
    return made | {name: build(table, folder) for name, build in FILES.items()}
