"""The reference engine: numpy arrays, one per column."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.coding import Batch, Code, CodedQuery, Engine, Integers, Places, Tally
from discreet.coding.batches import Rows, cut_rows
from discreet.coding.cells import count_cells, objects_of, texts_of
from discreet.coding.chunks import CHUNK, Chunk
from discreet.coding.persons import count_texts, keep_rows, person_order
from discreet.coding.plain import plain_column, type_of
from discreet.engines.base import refuse_key, withhold_each, withhold_errors
from discreet.engines.collected import person_rows_of, rows_of
from discreet.engines.grouped import Grouped
from discreet.engines.person_rows import PersonRows
from discreet.engines.products import Products
from discreet.engines.tallies import tally_places
from discreet.matching import ColumnMismatch, check_id_kind, check_kind, check_names
from discreet.schema import Schema
from discreet.unit import Unit

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


class Arrays(Engine):
    """Rows as a mapping from column names to one-dimensional arrays of equal length.

    Lists and other sequences become arrays of objects, so that no cell decides the type of a column.
    """

    is_ordered = True

    def __init__(self, columns: Mapping[str, Any]) -> None:
        read = {name: _read_column(name, column) for name, column in columns.items()}
        self._columns = {name: cells for name, (cells, _) in read.items()}
        self._kinds = {name: kind for name, (_, kind) in read.items()}
        self._types = {name: type_of(column) for name, column in columns.items()}
        for name, column in self._columns.items():
            if column.ndim != 1:
                raise ValueError(f"column {name!r} must be one-dimensional.")
        if len({len(column) for column in self._columns.values()}) > 1:
            raise ValueError("all columns must have the same length: give one cell per row.")

    def check(self, schema: Schema, unit: Unit) -> None:
        check_names(list(self._columns), schema, unit)
        for name in schema.base:
            check_kind(name, self._kinds[name], self._type(name), schema)
        if unit.id_column is not None:
            check_id_kind(unit.id_column, self._kinds[unit.id_column], self._type(unit.id_column))

    def _type(self, name: str) -> Any:
        """The type that a column came with."""
        found = self._types[name]
        return self._columns[name].dtype if found is None else found

    def length(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def totals(self, query: CodedQuery) -> Integers:
        return withhold_errors(lambda: totals_of(query, self._chunks(query)))

    def joint_totals(self, queries: Sequence[CodedQuery]) -> list[Integers]:
        return withhold_errors(lambda: joint_totals_of(queries, lambda same: self._chunks(same[0])))

    def tally(self, query: CodedQuery) -> Tally:
        return withhold_errors(lambda: tally_of(query, self._chunks(query)))

    def rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        return withhold_errors(lambda: rows_of(codes, self._chunks(query), self.length()))

    def person_rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        def act() -> Integers:
            assert query.keep is not None
            kept = PersonRows(query.keep, codes)
            kept.add(self.chunk(), self.chunk().counted(query))
            return person_rows_of(query, codes, kept.chunks())

        return withhold_errors(act)

    def chunk(self) -> Chunk:
        """All rows."""
        return Chunk(self._columns)

    def check_places(self, places: Places) -> None:
        refuse_key(places)

    def batches(
        self, codes: tuple[Code, ...], places: Places, skip: Collection[int] = ()
    ) -> Iterator[Batch]:
        starts = range(0, min(self.length(), places.slots), places.size)
        parts = (self.part(start, start + places.size) for start in starts)
        return withhold_each(cut_rows((p.read(codes, places.id_column) for p in parts), places))

    def part(self, start: int, stop: int) -> Arrays:
        """Some successive rows."""
        found = Arrays({})
        found._columns = {name: cells[start:stop] for name, cells in self._columns.items()}
        return found

    def read(self, codes: tuple[Code, ...], id_column: str | None) -> Rows:
        """The codes of all rows, and their ids."""
        ids = None if id_column is None else self._columns[id_column].astype(object)
        return Rows(self.rows(CodedQuery((), (), None, (), None), codes), ids)

    def keys(self, query: CodedQuery, column: str, groups: int) -> dict[str, int]:
        return withhold_errors(lambda: self._keys(query, column, groups))

    def _keys(self, query: CodedQuery, column: str, groups: int) -> dict[str, int]:
        whole = Chunk(self._columns)
        cells, counted = self._columns[column].tolist(), whole.counted(query)
        if query.keep is None:
            return count_cells(compress(cells, counted.tolist()))
        texts, codes = texts_of(cells)
        order, persons = person_order(whole, query.keep, counted & (codes >= 0), codes)
        return count_texts(texts, codes[order], persons, query.keep.max_rows, groups)

    def _chunks(self, query: CodedQuery) -> Iterator[tuple[Chunk, Mask]]:
        length = self.length()
        kept: Mask | None = None
        if query.keep is not None:
            whole = Chunk(self._columns)
            kept = keep_rows(whole, query.keep, whole.counted(query))
        for start in range(0, length, CHUNK):
            part = {name: array[start : start + CHUNK] for name, array in self._columns.items()}
            chunk = Chunk(part)
            mask = chunk.counted(query) if kept is None else kept[start : start + CHUNK]
            yield chunk, mask


def _read_column(name: str, column: Any) -> tuple[Array, str]:
    if not isinstance(column, Iterable) or isinstance(column, str | bytes | Mapping | Set):
        raise ColumnMismatch(
            f"column {name!r} must be an array or a list, not {type(column).__name__}."
        )
    if isinstance(column, list | tuple):
        return objects_of(column), "object"
    return withhold_errors(lambda: plain_column(column))


Chunks = Iterable[tuple[Chunk, Mask]]


def totals_of(query: CodedQuery, chunks: Chunks) -> Integers:
    """The sums of a query over chunks of at most `CHUNK` rows."""
    sums = _Sums(query)
    for chunk, mask in chunks:
        sums.add(chunk, mask)
    return sums.result


def joint_totals_of(
    queries: Sequence[CodedQuery], read: Callable[[list[CodedQuery]], Chunks]
) -> list[Integers]:
    """The sums of several queries; `read` gives the rows that count in queries that count the same ones."""
    found: list[Integers | None] = [None] * len(queries)
    for places in group_alike(queries):
        same = [queries[place] for place in places]
        sums = [_Sums(query) for query in same]
        for chunk, mask in read(same):
            for one in sums:
                one.add(chunk, mask)
        for place, one in zip(places, sums, strict=True):
            found[place] = one.result
    return [result for result in found if result is not None]


def group_alike(
    queries: Sequence[CodedQuery], also: Callable[[CodedQuery], Any] = lambda query: None
) -> list[list[int]]:
    """The places of queries in which the same rows count, together; they are equal in `also`, too."""
    alike: dict[Any, list[int]] = {}
    for place, query in enumerate(queries):
        rows = (query.where, query.known, query.keep)
        alike.setdefault((rows, also(query)), []).append(place)
    return list(alike.values())


class _Sums:
    """The sums of a query, chunk by chunk."""

    def __init__(self, query: CodedQuery) -> None:
        self._query = query
        self.result = np.zeros((query.groups, len(query.terms)), np.int64)
        self._products = None if query.by else Products(query)
        self._grouped = Grouped(query) if query.by else None

    def add(self, chunk: Chunk, mask: Mask) -> None:
        """Add the sums over one chunk."""
        add_chunk(self.result, self._query, chunk, mask, self._products, self._grouped)


def tally_of(query: CodedQuery, chunks: Chunks) -> Tally:
    """How often each value of ``query.tally`` occurs in each group."""
    assert query.tally is not None
    code, width = query.tally, query.tally.high + 1
    parts = (chunk.groups(query)[mask] * width + chunk.code(code)[mask] for chunk, mask in chunks)
    return tally_places(query.groups, width, parts)


def add_chunk(
    result: Integers,
    query: CodedQuery,
    chunk: Chunk,
    mask: Mask,
    products: Products | None = None,
    grouped: Grouped | None = None,
) -> None:
    """Add the sums of one chunk to `result`, exactly: all partial sums stay below 2^53."""
    if not query.by:
        products = products or Products(query)
        everyone = bool(mask.all())
        writers = [chunk.writer(code) for code in products.codes]

        def fill(matrix: npt.NDArray[np.float64], rows: slice) -> None:
            for index, write in enumerate(writers):
                write(matrix[1 + index], rows)
            if not everyone:
                matrix *= mask[rows]

        products.add(result[0], fill, chunk.length)
        return
    grouped = grouped or Grouped(query)
    everyone = bool(mask.all())
    groups = chunk.groups(query)
    if all(map(chunk.can_make, grouped.grids)) and all(map(chunk.can_make, grouped.tables)):
        writers = [chunk.writer(grid) for grid in grouped.grids]
        tables = [chunk.code(code) for code in grouped.tables]
        grouped.add(result, groups, None if everyone else mask, writers, tables)
        others = grouped.others
    else:
        others = list(range(len(query.terms)))
    if not others:
        return
    groups = groups[mask]
    for index in others:
        term = query.terms[index]
        values = np.full(len(groups), 1, np.int64)
        for code in term.codes:
            values = values * chunk.code(code)[mask]
        sums = np.bincount(groups, weights=values.astype(np.float64), minlength=query.groups)
        result[:, index] += sums.astype(np.int64) * term.weight
