"""What is peculiar to the engines behind Narwhals, and what is done about it before a row is read."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from discreet.coding.plain import package_of
from discreet.columns import Date
from discreet.matching import ColumnMismatch
from discreet.schema import Schema

#: More rows than any table has: a limit that is none, but that an optimiser can't see through.
EVERY_ROW = 2**62


@dataclass(frozen=True)
class Traits:
    """What the engine behind a frame can and can't do.

    Attributes
    ----------
    ranks : bool
        It numbers the rows of a person; otherwise codes are fetched and kept by numpy.
    local : bool
        It runs in this process, so that codes may be fetched and multiplied here.
    fenced : bool
        Codes are put behind a limit, or they would be computed again for every product.
    exact_zero : bool
        It raises where a product of doubles is too small for a double, so none such is made.
    maps : bool
        It looks up values in a table; otherwise they are compared one by one.
    max_sums : int
        How many sums are asked for at once.
    options : tuple
        Of its ``collect``.
    """

    ranks: bool = True
    local: bool = True
    fenced: bool = False
    exact_zero: bool = False
    maps: bool = True
    max_sums: int = 2**62
    options: tuple[tuple[str, Any], ...] = ()


DEFAULT = Traits()
ARROW = Traits(ranks=False)
SPARK = Traits(local=False, max_sums=300)
#: PostgreSQL returns at most 1664 columns, those of subqueries counted.
POSTGRES = Traits(local=False, fenced=True, exact_zero=True, maps=False, max_sums=800)
POLARS_STREAM = Traits(options=(("engine", "streaming"),))


def require(package: str, extra: str, purpose: str) -> Any:
    """An optional package, or an error with the command that installs it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        pass
    raise ImportError(f"{purpose} needs {package}: pip install '{extra}'.")


def quote(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def names_of(frame: Any) -> list[Any]:
    """The names of the columns of a frame that may have two of the same name; else none."""
    package = package_of(frame)
    if package == "pyarrow":
        return list(getattr(getattr(frame, "schema", None), "names", []))
    return list(getattr(frame, "columns", [])) if package in ("pandas", "pyspark") else []


def adapt(frame: Any) -> tuple[Any, Traits]:
    """The frame in a form that compares text byte by byte, and the traits of its engine."""
    package = package_of(frame)
    if package in ("duckdb", "_duckdb"):
        return _plain_relation(frame), DEFAULT
    if package == "pyarrow":
        return _plain_table(frame), ARROW
    if package == "pyspark":
        return frame, SPARK
    return (_plain_frame(frame) if package == "pandas" else frame), DEFAULT


#: Seconds and milliseconds reach further than microseconds, and DuckDB raises where one is beyond them: times
#: outside of the years that a date can have become infinite first.
_COARSE = (
    "CASE WHEN {{0}} < {kind} '0001-01-01' THEN TIMESTAMP '-infinity'"
    " WHEN {{0}} >= {kind} '10000-01-01' THEN TIMESTAMP 'infinity'"
    " ELSE {{0}}::TIMESTAMP END AS {{0}}"
)
#: Text is compared by bytes, whatever collation was declared for it. NaN becomes null: the statistics of
#: Parquet files leave it out, and DuckDB's optimiser takes ``x <= 5`` for true if the largest number is 5.
#: Nanoseconds are rounded down: DuckDB tells the year of the last one of 1969 as 1970.
_DUCKDB = {
    "varchar": '{0}::VARCHAR COLLATE "binary" AS {0}',
    "enum": '{0}::VARCHAR COLLATE "binary" AS {0}',
    "float": "CASE WHEN NOT isnan({0}) THEN {0} END AS {0}",
    "double": "CASE WHEN NOT isnan({0}) THEN {0} END AS {0}",
    "timestamp_ns": (
        "CASE WHEN {0} < TIMESTAMP_NS '1677-09-22' THEN TIMESTAMP '-infinity'"
        " WHEN {0} >= TIMESTAMP_NS '2262-04-11' THEN TIMESTAMP 'infinity'"
        " WHEN {0}::TIMESTAMP::TIMESTAMP_NS > {0} THEN {0}::TIMESTAMP - INTERVAL 1 MICROSECOND"
        " ELSE {0}::TIMESTAMP END AS {0}"
    ),
    **{kind: _COARSE.format(kind=kind.upper()) for kind in ("timestamp_s", "timestamp_ms")},
}


def _plain_relation(relation: Any) -> Any:
    """A DuckDB relation whose cells compare as those of other engines."""
    if not hasattr(relation, "select") or not hasattr(relation, "columns"):
        return relation
    columns = zip(relation.columns, relation.types, strict=True)
    wanted = [_DUCKDB.get(kind.id, "{0}").format(quote(name)) for name, kind in columns]
    return relation.select(", ".join(wanted))


def _plain_table(table: Any) -> Any:
    """An Arrow table without encodings that Arrow's own functions do not all know."""
    arrow = importlib.import_module("pyarrow")
    if isinstance(table, arrow.RecordBatch):
        table = arrow.Table.from_batches([table])
    if not isinstance(table, arrow.Table):
        return table
    for index, field in enumerate(table.schema):
        column = _plain_column(arrow, table.column(index))
        if column.type != field.type:
            table = table.set_column(index, arrow.field(field.name, column.type), column)
    return table


def _plain_column(arrow: Any, column: Any) -> Any:
    """A column of Arrow's in a type whose cells, whatever they are, none of Arrow's functions refuses."""
    types, kind = arrow.types, column.type
    if types.is_dictionary(kind):
        return _plain_column(arrow, column.cast(kind.value_type))
    if types.is_run_end_encoded(kind):
        decode = importlib.import_module("pyarrow.compute").run_end_decode
        return _plain_column(arrow, decode(column))
    if types.is_timestamp(kind) and kind.unit in _SECOND:
        return _clip_times(arrow, column).cast(arrow.timestamp("us", kind.tz))
    if types.is_string_view(kind):
        return column.cast(arrow.large_string())
    if types.is_decimal256(kind) and kind.precision <= 38:
        return column.cast(arrow.decimal128(kind.precision, kind.scale))
    return column.cast(arrow.float32()) if types.is_float16(kind) else column


def _plain_frame(frame: Any) -> Any:
    """A pandas frame in which Arrow's seconds and milliseconds have become microseconds, as in a table."""
    if not hasattr(frame, "dtypes") or not hasattr(frame, "columns"):
        return frame
    kinds = [getattr(kind, "pyarrow_dtype", None) for kind in frame.dtypes]
    if all(getattr(kind, "unit", "") not in _SECOND for kind in kinds):
        return frame
    arrow, pandas = importlib.import_module("pyarrow"), importlib.import_module("pandas")
    columns = {}
    for place, (name, kind) in enumerate(zip(frame.columns, kinds, strict=True)):
        column = frame.iloc[:, place]
        if kind is not None and arrow.types.is_timestamp(kind) and kind.unit in _SECOND:
            plain = _plain_column(arrow, arrow.chunked_array(arrow.array(column)))
            dtype = pandas.ArrowDtype(plain.type)
            column = pandas.Series(plain, index=frame.index, dtype=dtype)
        columns[name] = column
    return pandas.DataFrame(columns, index=frame.index)


#: Ticks of a second in the units that reach further than microseconds.
_SECOND = {"s": 1, "ms": 1000}
#: The moments between which microseconds hold all: the first of year 0, and the first of year 10000.
_FIRST_SECOND, _LAST_SECOND = -62_167_219_200, 253_402_300_800


def _clip_times(arrow: Any, column: Any) -> Any:
    """Times in seconds or milliseconds, those outside of the years 1 to 9999 moved to just beyond them."""
    compute = importlib.import_module("pyarrow.compute")
    second = _SECOND[column.type.unit]
    ticks = compute.max_element_wise(
        column.cast(arrow.int64()), _FIRST_SECOND * second, skip_nulls=False
    )
    ticks = compute.min_element_wise(ticks, _LAST_SECOND * second, skip_nulls=False)
    return ticks.cast(column.type)


def split_objects(frame: Any) -> tuple[Any, dict[Any, Any]]:
    """A pandas frame with zeros for its columns of objects, and those; other frames as they are.

    Narwhals looks into the cells of such columns to tell their type, which a cell may make fail.
    """
    if (
        package_of(frame) != "pandas"
        or not hasattr(frame, "dtypes")
        or not hasattr(frame, "columns")
    ):
        return frame, {}
    types = zip(frame.columns, frame.dtypes, strict=True)
    objects = {name: frame[name] for name, kind in types if str(kind) in ("object", "category")}
    if objects:
        frame = frame.copy(deep=False)
        for name in objects:
            frame[name] = 0
    return frame, objects


def given_type(objects: Any, dtype: Any) -> Any:
    """A column's type by the name that its table has for it: pandas' categories are read as objects."""
    return nw.Categorical() if str(getattr(objects, "dtype", "")) == "category" else dtype


def kind_of_objects(objects: Any, kind: str) -> str:
    """The kind of a column that may be one of pandas' categories: that of their type, which is public."""
    categories = getattr(getattr(objects, "dtype", None), "categories", None)
    letter = getattr(getattr(categories, "dtype", None), "kind", "O")
    if letter in "iuf":
        return "number"
    if letter == "b":
        return "boolean"
    is_text = str(getattr(categories, "dtype", "")).startswith(("str", "large_string"))
    return "text" if is_text else kind


def kind_of(dtype: Any, has_objects: bool) -> str:
    """The kind of a column by its type: number, boolean, text, date, zoned, object or other."""
    if dtype.is_numeric():
        return "number"
    if dtype == nw.Boolean:
        return "boolean"
    if dtype == nw.String or dtype == nw.Categorical or dtype == nw.Enum:
        return "text"
    if dtype == nw.Datetime and getattr(dtype, "time_zone", None) is not None:
        return "zoned"
    if dtype == nw.Date or dtype == nw.Datetime:
        return "date"
    return "object" if dtype == nw.Object and has_objects else "other"


#: Ids from this many bytes on are told apart by their SHA-256, whose hexadecimal form has this many letters.
LONG_ID = 64
#: The end of the name under which DuckDB shows the bytes of a text.
_BYTES = " as bytes"


def add_bytes(frame: nw.LazyFrame[Any], name: str, alias: str) -> nw.LazyFrame[Any]:
    """The frame with what `text_expression` of a column needs."""
    return _add_to_duckdb(frame, f"encode({quote(name)})", alias)


def add_id_bytes(frame: nw.LazyFrame[Any], name: str, alias: str) -> nw.LazyFrame[Any]:
    """The frame with what `text_expression` of a column of ids needs; in DuckDB they are short.

    Its windows and groups hold every id in memory, so that rows of long ones would make it fail. An id of
    `LONG_ID` bytes or more becomes the `LONG_ID` letters of its SHA-256: equal for equal ids, and no shorter
    id is as long, so that different ones stay different unless somebody has two texts with one SHA-256.
    """
    text = f"encode({quote(name)})"
    digest = f"encode(sha256({text}))"
    short = f"CASE WHEN octet_length({text}) < {LONG_ID} THEN {text} ELSE {digest} END"
    return _add_to_duckdb(frame, short, alias)


def _add_to_duckdb(frame: nw.LazyFrame[Any], expression: str, alias: str) -> nw.LazyFrame[Any]:
    """The frame with a column for `text_expression`, if it is DuckDB's."""
    if not frame.implementation.is_duckdb():
        return frame
    relation = nw.to_native(frame)
    column = f"{expression} AS {quote(alias + _BYTES)}"
    found: nw.LazyFrame[Any] = nw.from_native(relation.select(f"*, {column}")).lazy()
    return found


def text_expression(frame: nw.LazyFrame[Any], name: str, alias: str) -> nw.Expr:
    """Text in a form in which it is compared by bytes, even where these are no UTF-8.

    DuckDB and Polars sort and group text by tricks that hold for UTF-8 alone. With other bytes DuckDB
    writes beyond a row, so that the codes of that row become any numbers.
    """
    if frame.implementation.is_duckdb():
        return nw.col(alias + _BYTES).alias(alias)
    text = nw.col(name).cast(nw.String)
    is_exact = frame.implementation.is_polars() or frame.implementation.is_pyspark()
    return (text.cast(nw.Binary) if is_exact else text).alias(alias)


def refuse_collations(frame: Any, names: set[str]) -> None:
    """Spark's text may be declared to ignore case; then it is not compared by bytes."""
    if package_of(frame) != "pyspark":
        return
    for field in frame.schema.fields:
        collation = getattr(field.dataType, "collation", "UTF8_BINARY")
        if field.name in names and collation != "UTF8_BINARY":
            raise ColumnMismatch(
                f"column {field.name!r} has the collation {collation}, under which different texts are "
                "equal: cast it to STRING COLLATE UTF8_BINARY first."
            )


def refuse_early_dates(frame: Any, schema: Schema) -> None:
    """Spark's Python writes years of fewer than four digits so that Spark can't read them."""
    if package_of(frame) != "pyspark":
        return
    for name, column in schema.base.items():
        if isinstance(column, Date) and column.first.year <= 1000:
            raise ColumnMismatch(
                f"column {name!r} is declared from {column.first} on: Spark can be asked about dates from "
                "the year 1001 on. Declare a later first day; earlier dates then count as that day."
            )


def read_native(frame: Any) -> Any:
    """A frame as Narwhals sees it; an error that lists all inputs, if it is not one."""
    try:
        return nw.from_native(frame)
    except TypeError:
        raise TypeError(
            "data must be a Polars, pandas, PyArrow, DuckDB, Dask, Spark or Ibis table, a numpy array, a "
            "mapping of names to arrays, the path of CSV or Parquet files, or the URL of a database table, "
            f"not {type(frame).__name__}."
        ) from None
