"""Columns of every physical type with the extreme cells of that type, and what a cell stands for."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import tables

Day = datetime.date
EPOCH = Day(1970, 1, 1).toordinal()
#: Ticks of a unit of time that a day has.
TICKS = {"s": 86_400, "ms": 86_400_000, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}
#: The whole days that nanoseconds reach; parts of days beyond may stand for infinity.
NANOSECONDS = -106_751, 106_750


@dataclass(frozen=True)
class Column:
    """A column: its Arrow array, what each cell stands for, and how it is declared.

    ``kind`` is one of number, text, day, or refused: a type that no declaration takes.
    """

    kind: str
    array: Any
    cells: list[Any]


def day_of(day: int) -> Day:
    """A day by its number; those beyond Python's calendar are before or after all bounds anyway."""
    at = day + EPOCH
    return Day.min if at < 1 else Day.max if at > Day.max.toordinal() else Day.fromordinal(at)


def _times(unit: str) -> Column:
    day = TICKS[unit]
    edges = [
        -(2**63) + 1, -(2**63) + 2, 2**63 - 1, 2**63 - 2, -(2**62), 2**60, -(2**60), 0, -1, 1,
        day - 1, day, -day,
    ]  # fmt: skip
    for scale in (1, 10**3, 10**6, 10**9):  # where a finer unit's 64 bits end
        end = 2**63 // scale
        edges += [end - 1, end + 1, -end - 1, -end + 1, end - end % day, -end - -end % day]
    for date in (Day(1, 1, 1), Day(9999, 12, 31), Day(2019, 2, 11), Day(2024, 12, 31)):
        first = (date.toordinal() - EPOCH) * day
        edges += [first - 1, first, first + day - 1, first + day]
    ticks = [tick for tick in dict.fromkeys(edges) if -(2**63) < tick < 2**63]
    days: list[Any] = [tick // day for tick in ticks]
    if unit == "ns":
        first, last = NANOSECONDS
        days = [-(10**9) if d < first else 10**9 if d > last else d for d in days]
    array = pa.array([*ticks, None], pa.int64()).cast(pa.timestamp(unit))
    return Column("day", array, [*map(day_of, days), None])


def _days() -> Column:
    edges = [-(2**31) + 1, -(2**31) + 2, 2**31 - 2, 0, -1, -719_162, -719_163, 2_932_896, 2_932_897]
    near = [(Day(2019, 2, 11).toordinal() - EPOCH) + step for step in (-1, 0, 1)]
    array = pa.array([*edges, *near, None], pa.int32()).cast(pa.date32())
    return Column("day", array, [*map(day_of, [*edges, *near]), None])


def _integers(kind: Any) -> Column:
    limits = np.iinfo(kind.to_pandas_dtype())
    edges = {limits.min, limits.min + 1, limits.max, limits.max - 1, 2**53 + 1, 2**63, 2**63 - 1}
    cells = [c for c in sorted(edges | {0, 1, 2, 3, 100, -1}) if limits.min <= c <= limits.max]
    return Column("number", pa.array([*cells, None], kind), [*cells, None])


def _floats(kind: Any) -> Column:
    limits = np.finfo(kind.to_pandas_dtype())
    cells = [
        float(limits.max), -float(limits.max), float(limits.tiny), float(limits.smallest_subnormal),
        math.inf, -math.inf, math.nan, 0.0, -0.0, 1.0, 2.5, 100.0,
    ]  # fmt: skip
    array = pa.array(np.array(cells, kind.to_pandas_dtype()))
    return Column("number", pa.concat_arrays([array, pa.nulls(1, kind)]), [*cells, None])


def _decimals(build: Callable[[int, int], Any], precision: int, scale: int) -> Column:
    context = decimal.Context(prec=100)
    most = 10**precision - 1
    whole = [c for c in (most, -most, 1, -1, 0, 10**scale, 3 * 10**scale) if abs(c) <= most]
    cells = [context.scaleb(decimal.Decimal(c), -scale) for c in whole]
    array = pa.array([*cells, None], build(precision, scale))
    return Column("number", array, [*map(float, cells), None])


def _texts(kind: Any) -> Column:
    cells = ["a", "", "\0", "a\0", "\U0010ffff", "é", "é", "z" * 300_000, " a", "A", None]
    return Column("text", pa.array(cells, pa.string()).cast(kind), cells)


def _booleans() -> Column:
    return Column("number", pa.array([True, False, None]), [1, 0, None])


def _encoded(column: Column, kind: str) -> Column:
    """The same column as numbers of a dictionary, or as runs."""
    if kind == "runs":
        array = pa.RunEndEncodedArray.from_arrays(range(1, len(column.array) + 1), column.array)
    else:
        known = column.array.drop_null()
        places = pa.array([*range(len(known)), None], pa.int32())
        array = pa.DictionaryArray.from_arrays(places, known)
    return Column(column.kind, array, column.cells)


def _refused() -> dict[str, Any]:
    """Types that no declaration takes, with extreme cells where they have such."""
    most, least = 2**63 - 1, -(2**63) + 1
    ends = pa.array([least, most, None], pa.int64())
    zoned = {f"timestamp {u} UTC": ends.cast(pa.timestamp(u, "UTC")) for u in TICKS}
    spans = {f"duration {u}": ends.cast(pa.duration(u)) for u in TICKS}
    return zoned | spans | {
        "date64": ends.view(pa.date64()),
        "time32 s": pa.array([0, 86_399, None], pa.time32("s")),
        "time32 ms": pa.array([0, 86_399_999, None], pa.time32("ms")),
        "time64 us": pa.array([0, TICKS["us"] - 1, None], pa.time64("us")),
        "time64 ns": pa.array([0, TICKS["ns"] - 1, None], pa.time64("ns")),
        "interval": pa.array([(2**31 - 1, 2**31 - 1, 2**63 - 1), None], pa.month_day_nano_interval()),
        "null": pa.nulls(2),
        "binary": pa.array([b"\xff", b"", None]),
        "large binary": pa.array([b"\xff", b"", None], pa.large_binary()),
        "binary view": pa.array([b"\xff", b"", None], pa.binary_view()),
        "fixed binary": pa.array([b"\xff", None], pa.binary(1)),
        "list": pa.array([[1.0], [], None]),
        "large list": pa.array([[1.0], [], None], pa.large_list(pa.float64())),
        "fixed list": pa.array([[1.0], None], pa.list_(pa.float64(), 1)),
        "struct": pa.array([{"a": 1.0}, None]),
        "map": pa.array([[("a", 1.0)], None], pa.map_(pa.string(), pa.float64())),
        "list view": pa.array([[1.0], [], None], pa.list_view(pa.float64())),
        "large list view": pa.array([[1.0], [], None], pa.large_list_view(pa.float64())),
        "dense union": pa.UnionArray.from_dense(
            pa.array([0, 0], pa.int8()), pa.array([0, 1], pa.int32()), [pa.array([1.0, 2.0])]
        ),
        "sparse union": pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1.0])]),
    }  # fmt: skip


def _taken() -> dict[str, Column]:
    found: dict[str, Column] = {f"timestamp {unit}": _times(unit) for unit in TICKS}
    found["date32"] = _days()
    for sign in ("int", "uint"):
        for bits in (8, 16, 32, 64):
            found[f"{sign}{bits}"] = _integers(getattr(pa, f"{sign}{bits}")())
    for bits in (16, 32, 64):
        found[f"float{bits}"] = _floats(getattr(pa, f"float{bits}")())
    for scale in (0, 20, 38):
        found[f"decimal128 {scale}"] = _decimals(pa.decimal128, 38, scale)
        found[f"decimal256 {scale}"] = _decimals(pa.decimal256, 38, scale)
    found["decimal256 wide"] = _decimals(pa.decimal256, 76, 0)
    if hasattr(pa, "decimal32"):
        found["decimal32"] = _decimals(pa.decimal32, 9, 3)
        found["decimal64"] = _decimals(pa.decimal64, 18, 3)
    for name in ("string", "large_string", "string_view"):
        found[name] = _texts(getattr(pa, name)())
    found["bool"] = _booleans()
    times = ["timestamp s", "timestamp ms", "timestamp us", "date32"]
    for name in [*times, "string", "int64", "uint64"]:
        found[f"{name} dictionary"] = _encoded(found[name], "dictionary")
        found[f"{name} runs"] = _encoded(found[name], "runs")
    return found


TAKEN = _taken()
REFUSED = {name: Column("refused", array, []) for name, array in _refused().items()}
#: Every physical type.
COLUMNS = TAKEN | REFUSED


class Unbuilt(Exception):
    """A package has no such column; nothing of ours was asked."""


@contextlib.contextmanager
def building() -> Iterator[None]:
    """Tell failures of other packages to hold a column apart from ours to read it."""
    try:
        yield
    except BaseException as error:  # Polars panics with an error of its own
        if isinstance(error, KeyboardInterrupt):
            raise
        raise Unbuilt(type(error).__name__) from None


def _only(table: pa.Table) -> tuple[str, Any]:
    return table.column_names[0], table.column(0).combine_chunks()


def _plain(array: Any) -> Any:
    """The array without an encoding."""
    if pa.types.is_run_end_encoded(array.type):
        return pyarrow.compute.run_end_decode(array)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _numpy(table: pa.Table) -> dict[str, Any]:
    """Numpy's arrays; whole numbers and booleans beside a null are objects."""
    name, array = _only(table)
    array = _plain(array)
    if pa.types.is_integer(array.type) or pa.types.is_boolean(array.type):
        return {name: tables.objects(array.to_pylist())}
    cells = array.to_numpy(zero_copy_only=False)
    return {name: cells.astype("datetime64[D]") if pa.types.is_date(array.type) else cells}


def _pandas(table: pa.Table) -> pd.DataFrame:
    name, array = _only(table)
    if pa.types.is_run_end_encoded(array.type):
        table = pa.table({name: _plain(array)})
    nullable = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}
    nullable[pa.bool_()] = pd.BooleanDtype()
    return table.to_pandas(date_as_object=False, types_mapper=nullable.get)


def _pandas_arrow(table: pa.Table) -> pd.DataFrame:
    name, array = _only(table)
    return pd.DataFrame({name: pd.Series(array, dtype=pd.ArrowDtype(array.type))})


def _polars(table: pa.Table) -> pl.DataFrame:
    kind = table.schema.field(0).type
    if getattr(getattr(kind, "value_type", kind), "unit", "") == "s":
        raise TypeError("Polars has no seconds, and multiplies them without a look at their size.")
    return pl.DataFrame(pl.from_arrow(table))


def _column(build: Callable[[pa.Table], Any], table: pa.Table) -> dict[str, Any]:
    name = table.column_names[0]
    return {name: build(table)[name]}


def _dask(frame: pd.DataFrame) -> Any:
    import dask.dataframe

    return dask.dataframe.from_pandas(frame, npartitions=1, sort=False)


def _duckdb_url(table: pa.Table, folder: Path) -> str:
    return tables.duckdb_url_of(table, Path(tempfile.mkdtemp(dir=folder)))


def _feather(table: pa.Table, folder: Path) -> Any:
    path = folder / "table.feather"
    pyarrow.feather.write_feather(table, str(path), compression="uncompressed")
    return pyarrow.dataset.dataset(path, format="feather")


def _parquet(table: pa.Table, folder: Path, **options: Any) -> Path:
    path = folder / "table.parquet"
    pyarrow.parquet.write_table(table, path, **options)
    return path


#: A table in the form of every engine.
FORMS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "arrow": lambda table, _: table,
    "arrow batch": lambda table, _: pa.RecordBatch.from_arrays([_only(table)[1]], table.column_names),
    "arrow column": lambda table, _: dict([_only(table)]),
    "arrow data set": _feather,
    "numpy": lambda table, _: _numpy(table),
    "pandas": lambda table, _: _pandas(table),
    "pandas column": lambda table, _: _column(_pandas, table),
    "pandas arrow": lambda table, _: _pandas_arrow(table),
    "pandas arrow column": lambda table, _: _column(_pandas_arrow, table),
    "dask": lambda table, _: _dask(_pandas(table)),
    "dask arrow": lambda table, _: _dask(_pandas_arrow(table)),
    "polars": lambda table, _: _polars(table),
    "polars lazy": lambda table, _: _polars(table).lazy(),
    "polars column": lambda table, _: _column(_polars, table),
    "duckdb": lambda table, _: duckdb.connect().from_arrow(table),
    "duckdb url": _duckdb_url,
    "parquet": _parquet,
    "parquet without statistics": lambda table, folder: _parquet(table, folder, write_statistics=False),
    "parquet 1.0": lambda table, folder: _parquet(table, folder, version="1.0"),
    "parquet scan": lambda table, folder: pl.scan_parquet(_parquet(table, folder), glob=False),
}  # fmt: skip
#: Types of DuckDB's tables beside Arrow's, and cells that only SQL can write: the kind, the cells in SQL and
#: what they stand for.
DUCKDB: dict[str, tuple[str, list[str], list[Any]]] = {
    "HUGEINT": ("number", [str(2**127 - 1), str(1 - 2**127), "2", "null"], [2**127 - 1, 1 - 2**127, 2, None]),
    "UHUGEINT": ("number", [str(2**128 - 1), "0", "2", "null"], [2**128 - 1, 0, 2, None]),
    **{
        kind: (
            "day",
            ["'infinity'::timestamp", "'-infinity'::timestamp", "'2020-01-01'", "null"],
            [Day.max, Day.min, Day(2020, 1, 1), None],
        )
        for kind in ("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
    },
}  # fmt: skip


def duckdb_table(kind: str, cells: list[str], name: str) -> Any:
    """A relation of DuckDB with cells written in SQL."""
    rows = ", ".join(f"({cell}::{kind})" for cell in cells)
    return duckdb.connect().sql(f"select * from (values {rows}) t({name})")
