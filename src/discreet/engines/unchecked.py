"""Tables that PyArrow reads where others refuse: text that is not all UTF-8, numbers of 16 bits."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, TypeVar, final

from discreet.coding import Batch, Code, CodedQuery, Engine, Integers, Places, Tally, base_columns
from discreet.coding.batches import Rows, cut_rows
from discreet.coding.plain import plain_column
from discreet.engines.base import EngineFailed, refuse_key, withhold_each
from discreet.matching import ColumnMismatch, check_names, check_unique, list_needed
from discreet.schema import Schema
from discreet.unit import Unit

Result = TypeVar("Result")

#: Rows that are read from a Parquet file at a time.
RECORD_ROWS = 2**15


@final
class SecondReading(Engine):
    """Files that are read again, without a look at their text, where a first reading fails.

    Both readings give the same integers wherever both succeed, so which of them did shows in the time
    alone.

    Parameters
    ----------
    first : Engine
    files : list of str
    open_again : callable
        From a PyArrow data set to the second engine.
    """

    def __init__(
        self, first: Engine, files: list[str], open_again: Callable[[Any], Engine]
    ) -> None:
        self._first, self._files, self._open_again = first, files, open_again
        self._second: Engine | None = None
        self._dataset: Any = None

    def check(self, schema: Schema, unit: Unit) -> None:
        self._first.check(schema, unit)
        dataset = open_unchecked(self._files, list_needed(schema, unit))
        if dataset is not None:
            self._dataset = dataset
            self._second = self._open_again(dataset)
            self._second.check(schema, unit)

    def declared(self) -> list[tuple[str, str]]:
        """The names and types of the columns."""
        found: list[tuple[str, str]] = self._first.declared()  # type: ignore[attr-defined]
        return found

    def length(self) -> int | None:
        return self._first.length()

    def _ask(self, question: Callable[[Engine], Result]) -> Result:
        try:
            return question(self._first)
        except EngineFailed:
            if self._second is None:
                raise
        return question(self._second)

    def totals(self, query: CodedQuery) -> Integers:
        return self._ask(lambda engine: engine.totals(query))

    def joint_totals(self, queries: Sequence[CodedQuery]) -> list[Integers]:
        return self._ask(lambda engine: engine.joint_totals(queries))

    def tally(self, query: CodedQuery) -> Tally:
        return self._ask(lambda engine: engine.tally(query))

    def rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        return self._ask(lambda engine: engine.rows(query, codes))

    def person_rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        return self._ask(lambda engine: engine.person_rows(query, codes))

    def keys(self, query: CodedQuery, column: str, groups: int) -> dict[str, int]:
        return self._ask(lambda engine: engine.keys(query, column, groups))

    def check_places(self, places: Places) -> None:
        refuse_key(places)
        if self._dataset is None:
            raise ValueError(
                "rows of Parquet files are written in batches through PyArrow: pip install pyarrow."
            )

    def batches(
        self, codes: tuple[Code, ...], places: Places, skip: Collection[int] = ()
    ) -> Iterator[Batch]:
        return withhold_each(cut_rows(self._read(codes, places), places))

    def _read(self, codes: tuple[Code, ...], places: Places) -> Iterator[Rows]:
        """The codes of all rows, file after file, each in its own order."""
        names = [*base_columns(*codes), *([places.id_column] if places.id_column else [])]
        fields = [self._dataset.schema.field(name) for name in dict.fromkeys(names)]
        for record in _iter_records(self._files, fields, min(places.size, RECORD_ROWS)):
            ids = None
            if places.id_column is not None:
                ids = plain_column(record.column(places.id_column))[0].astype(object)
            columns = [name for name in record.schema.names if name != places.id_column]
            yield Rows(_code_record(record.select(columns), codes), ids)


def _code_record(record: Any, codes: tuple[Code, ...]) -> Integers:
    """The codes of a record batch's rows, numbers by numpy, text by Arrow; the integers are the same."""
    from discreet.engines.arrays import Arrays
    from discreet.engines.frames import Frames

    arrow = importlib.import_module("pyarrow")
    query = CodedQuery((), (), None, (), None)
    if all(arrow.types.is_floating(field.type) for field in record.schema):
        cells = {
            name: record.column(name).to_numpy(zero_copy_only=False) for name in record.schema.names
        }
        return Arrays(cells).rows(query, codes)
    return Frames(arrow.Table.from_batches([record])).rows(query, codes)


def _iter_records(files: list[str], fields: list[Any], size: int) -> Iterator[Any]:
    """The columns of Parquet files, in the files' order and theirs, a few rows at a time.

    A column that a file lacks is null, as in a data set.
    """
    arrow = importlib.import_module("pyarrow")
    parquet = importlib.import_module("pyarrow.parquet")
    schema = arrow.schema(fields)
    for path in files:
        with parquet.ParquetFile(path, pre_buffer=False, buffer_size=2**16) as file:
            there = [name for name in schema.names if name in file.schema_arrow.names]
            for found in file.iter_batches(size, columns=there, use_threads=False):
                columns = [
                    found.column(field.name).cast(field.type, safe=False)
                    if field.name in there
                    else arrow.nulls(found.num_rows, field.type)
                    for field in fields
                ]
                yield arrow.RecordBatch.from_arrays(columns, schema=schema)


def open_unchecked(files: list[str], needed: list[str]) -> Any:
    """A PyArrow data set of the needed columns; None without PyArrow, or if it can't read the files."""
    try:
        arrow = importlib.import_module("pyarrow")
        reading = importlib.import_module("pyarrow.dataset")
        found = [importlib.import_module("pyarrow.parquet").read_schema(file) for file in files]
    except Exception:  # another reader may still understand them
        return None
    fields = []
    for name in needed:
        if any(schema.names.count(name) > 1 for schema in found):
            raise ColumnMismatch(f"column {name!r} stands twice in a file: leave one of them out.")
        kinds = [schema.field(name).type for schema in found if name in schema.names]
        different = list(dict.fromkeys(_plain_kind(arrow, kind, name) for kind in kinds))
        fields.append(arrow.field(name, _widest(arrow, different, name)))
    schema = arrow.schema(fields)
    return reading.dataset(
        [reading.dataset(file, format="parquet", schema=schema) for file in files]
    )


def check_fields(fields: Any, schema: Schema, unit: Unit) -> None:
    """Check the columns of a PyArrow data set, which DuckDB would refuse in words of its own."""
    check_names(list(fields.names), schema, unit)
    check_unique(fields.names)
    arrow = importlib.import_module("pyarrow")
    for name in list_needed(schema, unit):
        if not _is_readable(arrow, fields.field(name).type):
            raise ColumnMismatch(
                f"column {name!r} has the type {fields.field(name).type}, which can't be read from a data "
                "set: write it as float or as decimal128, or give the path of the files."
            )


def readable_dataset(dataset: Any) -> Any:
    """A PyArrow data set without the columns that DuckDB can't read."""
    arrow = importlib.import_module("pyarrow")
    fields = [field for field in dataset.schema if _is_readable(arrow, field.type)]
    return dataset.replace_schema(arrow.schema(fields))


def _is_readable(arrow: Any, kind: Any) -> bool:
    return not (arrow.types.is_float16(kind) or arrow.types.is_decimal256(kind))


def _plain_kind(arrow: Any, kind: Any, name: str) -> Any:
    """The type in which a column is read: text without an encoding, decimals of up to 38 digits."""
    types = arrow.types
    if types.is_dictionary(kind):
        return _plain_kind(arrow, kind.value_type, name)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return arrow.string()
    if types.is_decimal(kind):
        if kind.precision > 38:
            raise ColumnMismatch(
                f"column {name!r} holds decimals of more than 38 digits: write it as doubles, or with "
                "fewer digits."
            )
        return arrow.decimal128(kind.precision, kind.scale)
    return arrow.float32() if types.is_float16(kind) else kind


def _widest(arrow: Any, kinds: list[Any], name: str) -> Any:
    """The one type of a column in all files, or the 64 bits that hold all of several."""
    if len(kinds) == 1:
        return kinds[0]
    types = arrow.types
    if all(types.is_signed_integer(kind) for kind in kinds):
        return arrow.int64()
    if all(types.is_floating(kind) for kind in kinds):
        return arrow.float64()
    raise ColumnMismatch(
        f"column {name!r} has different types in the files: write it with the same type in each."
    )
