"""The reference engine: numpy arrays, one per column."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.coding import (
    EXACT_INTEGER,
    MIX_PRIME,
    ORDER_PRIME,
    AllOf,
    AnyOf,
    Between,
    Branches,
    Category,
    Closest,
    Code,
    CodedQuery,
    Condition,
    Cuts,
    Engine,
    Grid,
    Integers,
    Keep,
    Ladder,
    Linear,
    Lookup,
    NoneOf,
    OneOf,
    Part,
    Tally,
    base_columns,
)
from discreet.engines.base import ColumnMismatch, check_id_kind, check_kind, check_names, quietly
from discreet.engines.cells import (
    categories_of,
    count_cells,
    numbers_of,
    objects_of,
    persons_of,
    texts_of,
)
from discreet.engines.collected import rows_of
from discreet.engines.grouped import Grouped
from discreet.engines.plain import declared_type, plain_column
from discreet.engines.products import PLAIN, Products, grid_into
from discreet.engines.tallies import tallied
from discreet.schema import Schema
from discreet.unit import Unit

#: Rows handled at once: sums of this many terms of at most 2^31 are exact in float64.
CHUNK = 2**18
#: Up to this many values, text is compared with each.
FEW_VALUES = 64

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


class Arrays(Engine):
    """Rows as a mapping from column names to one-dimensional arrays of equal length.

    Lists and other sequences become arrays of objects, so that no cell decides the type of a column.
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        read = {name: _read_column(name, column) for name, column in columns.items()}
        self._columns = {name: cells for name, (cells, _) in read.items()}
        self._kinds = {name: kind for name, (_, kind) in read.items()}
        self._types = {name: declared_type(column) for name, column in columns.items()}
        for name, column in self._columns.items():
            if column.ndim != 1:
                raise ValueError(f"column {name!r} must be one-dimensional.")
        if len({len(column) for column in self._columns.values()}) > 1:
            raise ValueError("all columns must have the same length.")

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
        return quietly(lambda: totals_of(query, self._chunks(query)))

    def tally(self, query: CodedQuery) -> Tally:
        return quietly(lambda: tally_of(query, self._chunks(query)))

    def rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        return quietly(lambda: rows_of(codes, self._chunks(query), self.length()))

    def chunk(self) -> Chunk:
        """All rows."""
        return Chunk(self._columns)

    def keys(self, query: CodedQuery, column: str, groups: int) -> dict[str, int]:
        return quietly(lambda: self._keys(query, column, groups))

    def _keys(self, query: CodedQuery, column: str, groups: int) -> dict[str, int]:
        whole = Chunk(self._columns)
        cells, counted = self._columns[column].tolist(), whole.counted(query)
        if query.keep is None:
            return count_cells(compress(cells, counted.tolist()))
        texts, codes = texts_of(cells)
        order, persons = person_order(whole, query.keep, counted & (codes >= 0), codes)
        return count_texts(texts, codes[order], persons, query.keep.most, groups)

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


class Chunk:
    """Some rows, with the codes computed so far."""

    def __init__(
        self, columns: Mapping[str, Array], codes: Mapping[Code, Integers] | None = None
    ) -> None:
        self._columns = columns
        self._codes: dict[Code, Integers] = dict(codes or {})

    @property
    def length(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def column(self, name: str) -> Array:
        """The cells of a column."""
        return self._columns[name]

    def code(self, code: Code) -> Integers:
        """The values of a code."""
        if code not in self._codes:
            self._codes[code] = self._compute(code)
        return self._codes[code]

    def can_make(self, code: Code) -> bool:
        """Whether the values of a code are here, or the columns that it is made of."""
        return code in self._codes or all(name in self._columns for name in base_columns(code))

    def writer(self, code: Code) -> Callable[[npt.NDArray[np.float64], slice], None]:
        """What writes the values of a code in some rows; grids of numbers are made there and then."""
        if isinstance(code, Grid) and code not in self._codes:
            cells = self._columns[code.column]
            if cells.dtype.kind in PLAIN:
                return lambda out, rows: grid_into(out, cells[rows], code)
        values = self.code(code)

        def write(out: npt.NDArray[np.float64], rows: slice) -> None:
            out[:] = values[rows]

        return write

    def _compute(self, code: Code) -> Integers:
        match code:
            case Grid():
                return grid_codes(self._columns[code.column], code)
            case Ladder():
                return ladder_codes(self._columns[code.column], code)
            case Category():
                return category_codes(self._columns[code.column], code)
            case Linear(source=source, scale=scale, offset=offset):
                return self.code(source) * scale + offset
            case Cuts(source=source, cuts=cuts):
                return np.searchsorted(np.array(cuts), self.code(source), side="right")
            case Closest(sources=sources, centres=centres):
                return self._closest([self.code(source) for source in sources], centres)
            case Lookup(sources=sources, tables=tables, link=link):
                sum_ = np.zeros(self.length, np.int64)
                for source, table in zip(sources, tables, strict=True):
                    # a code of -1 (no category) reads the 0 behind the last entry
                    sum_ += np.array([*table, 0], np.int64)[self.code(source)]
                return np.array(link, np.int64)[np.clip(sum_, 0, len(link) - 1)]
            case Branches(tests=tests):
                return self._branches(tests)
            case Part(sources=sources, parts=parts, mixers=mixers):
                mix = np.zeros(self.length, np.int64)
                for source, mixer in zip(sources, mixers, strict=True):
                    mix += (self.code(source) + 1) * mixer % MIX_PRIME
                return mix % MIX_PRIME % parts

    def _branches(self, tests: tuple[Between | OneOf | None, ...]) -> Integers:
        leaf = np.zeros(self.length, np.int64)
        pending = [(0, np.arange(self.length))]
        while pending:
            node, rows = pending.pop()
            if node >= len(tests):
                leaf[rows] = node - len(tests)
                continue
            match tests[node]:
                case Between(code=code, low=low, high=high):
                    values = self.code(code)[rows]
                    right = (values >= low) & (values <= high)
                case OneOf(code=code, members=members):
                    right = np.isin(self.code(code)[rows], np.array(members, np.int64))
                case _:
                    right = np.zeros(len(rows), np.bool_)
            pending += [(2 * node + 1, rows[~right]), (2 * node + 2, rows[right])]
        return leaf

    def _closest(self, codes: list[Integers], centres: tuple[tuple[int, ...], ...]) -> Integers:
        best = np.zeros(self.length, np.int64)
        least = np.full(self.length, np.iinfo(np.int64).max)
        for index, centre in enumerate(centres):
            distance = np.zeros(self.length, np.int64)
            for values, at in zip(codes, centre, strict=True):
                distance += (values - at) ** 2
            nearer = distance < least
            best[nearer], least[nearer] = index, distance[nearer]
        return best

    def holds(self, condition: Condition) -> Mask:
        """Where a condition is true."""
        match condition:
            case Between(code=code, low=low, high=high):
                values = self.code(code)
                return (values >= low) & (values <= high)
            case OneOf(code=code, members=members):
                return np.isin(self.code(code), np.array(members, np.int64))
            case AllOf(parts=parts):
                result = np.ones(self.length, np.bool_)
                for part in parts:
                    result &= self.holds(part)
                return result
            case AnyOf(parts=parts):
                result = np.zeros(self.length, np.bool_)
                for part in parts:
                    result |= self.holds(part)
                return result
            case NoneOf(part=part):
                return ~self.holds(part)

    def counted(self, query: CodedQuery) -> Mask:
        """Which rows count, before rows per person are limited."""
        mask = np.ones(self.length, np.bool_)
        for code in query.known:
            mask &= self.code(code) >= 0
        return mask if query.where is None else mask & self.holds(query.where)

    def groups(self, query: CodedQuery) -> Integers:
        """The number of each row's group."""
        result = np.zeros(self.length, np.int64)
        for code, size in zip(query.by, query.sizes, strict=True):
            result = result * size + self.code(code)
        return result


def _read_column(name: str, column: Any) -> tuple[Array, str]:
    if not isinstance(column, Iterable) or isinstance(column, str | bytes | Mapping | Set):
        raise ColumnMismatch(
            f"column {name!r} must be an array or a list, not {type(column).__name__}."
        )
    if isinstance(column, list | tuple):
        return objects_of(column), "object"
    return quietly(lambda: plain_column(column))


def grid_codes(cells: Array, code: Grid) -> Integers:
    """floor((x - shift)·multiplier + half) after filling and clamping: `Grid`'s definition."""
    kind = cells.dtype.kind
    with np.errstate(all="ignore"):
        if kind == "O":
            x = numbers_of(cells)
        elif kind in "iu":
            limits = np.iinfo(cells.dtype)
            low = min(max(math.floor(code.lower), limits.min), limits.max)
            high = max(min(math.ceil(code.upper), limits.max), limits.min)
            x = np.clip(cells, low, high).astype(np.float64)
        else:
            x = cells.astype(np.float64)
        x = np.where(np.isnan(x), code.fill, x)
        x = np.minimum(np.maximum(x, code.lower), code.upper)
        return np.floor((x - code.shift) * code.multiplier + code.half).astype(np.int64)


def category_codes(cells: Array, code: Category) -> Integers:
    """The position of each cell among the declared values, or `otherwise`."""
    kind = cells.dtype.kind
    if kind == "O":
        return categories_of(cells, code)
    if kind == "U":
        return _text_codes(cells, code)
    values = [(float(value), index) for index, value in enumerate(code.values)]
    if kind in "iu":
        limits = np.iinfo(cells.dtype)
        whole = [(int(v), i) for v, i in values if v.is_integer()]
        values = [(v, i) for v, i in whole if limits.min <= v <= limits.max]
    else:
        with np.errstate(all="ignore"):
            cells = cells.astype(np.float64)
    if not values:
        return np.full(len(cells), code.otherwise, np.int64)
    known, places = (np.array(part) for part in zip(*sorted(values), strict=True))
    known = known.astype(cells.dtype)
    at = np.minimum(np.searchsorted(known, cells), len(known) - 1)
    return np.where(known[at] == cells, places[at], code.otherwise)


def _text_codes(cells: Array, code: Category) -> Integers:
    if len(code.values) > FEW_VALUES:
        return categories_of(cells.astype(object), code)
    result = np.full(len(cells), code.otherwise, np.int64)
    for index, value in enumerate(code.values):
        # arrays of text drop NUL at the end, so no cell can have one there
        if not str(value).endswith("\0"):
            result[cells == value] = index
    return result


def keep_rows(rows: Chunk, keep: Keep, counted: Mask) -> Mask:
    """Of each person's rows that count, the first `most` in the public order; none without id."""
    order, persons = person_order(rows, keep, counted)
    mask = np.zeros(len(counted), np.bool_)
    mask[order[ranks_within(persons) < keep.most]] = True
    return mask


def person_order(
    rows: Chunk, keep: Keep, counted: Mask, last: Integers | None = None
) -> tuple[Integers, Integers]:
    """The rows that count, person by person and in the public order, and their persons.

    Rows that are equal in all codes are ordered by `last`, if given.
    """
    persons = _persons(rows.column(keep.id_column))
    at = np.flatnonzero(counted & (persons >= 0))
    mix = np.zeros(len(at), np.int64)
    for code, mixer in zip(keep.order, keep.mixers, strict=True):
        mix += (rows.code(code)[at] + 1) * mixer % ORDER_PRIME
    persons = persons[at]
    key = persons * ORDER_PRIME + mix % ORDER_PRIME
    order = np.argsort(key, kind="stable")
    same = np.diff(key[order]) == 0
    tied = np.zeros(len(at), np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    if same.any():
        again = order[tied]
        codes = [rows.code(code)[at[again]] for code in dict.fromkeys((*keep.order, *keep.ties))]
        if last is not None:
            codes.append(last[at[again]])
        order[tied] = again[np.lexsort([*reversed(codes), key[again]])]
    return at[order], persons[order]


def ranks_within(persons: Integers) -> Integers:
    """0, 1, ... along each run of equal persons."""
    begins = np.ones(len(persons), np.bool_)
    begins[1:] = persons[1:] != persons[:-1]
    starts = np.flatnonzero(begins)
    return np.arange(len(persons)) - starts[np.cumsum(begins) - 1] if len(persons) else persons


def count_texts(
    texts: list[str], codes: Integers, persons: Integers, most: int, groups: int
) -> dict[str, int]:
    """How often each text occurs.

    Rows are in each person's order: of each person, the first `most` rows count, and of these the rows
    in the first `groups` different texts.
    """
    kept = ranks_within(persons) < most
    persons, codes = persons[kept], codes[kept]
    pairs = persons * max(1, len(texts)) + codes
    _, first, pair_of = np.unique(pairs, return_index=True, return_inverse=True)
    new = np.zeros(len(pairs), np.int64)
    new[first] = 1
    before = np.cumsum(new)
    begins = np.flatnonzero(ranks_within(persons) == 0)
    offset = np.repeat(before[begins] - 1, np.diff(np.append(begins, len(persons))))
    number = (before - offset)[first]  # 1, 2, ... for the different texts of a person
    codes = codes[number[pair_of] <= groups]
    counts = np.bincount(codes, minlength=len(texts))
    if len(counts) and not counts.all():
        texts, counts = [texts[at] for at in np.flatnonzero(counts)], counts[counts > 0]
    return dict(zip(texts, counts.tolist(), strict=True))


def ladder_codes(cells: Array, code: Ladder) -> Integers:
    """How many rungs each number has reached; -1 for whatever is no number."""
    kind = cells.dtype.kind
    with np.errstate(all="ignore"):
        if kind == "O":
            x = numbers_of(cells)
        elif kind in "iu":
            limits = np.iinfo(cells.dtype)
            low, high = max(-EXACT_INTEGER, limits.min), min(EXACT_INTEGER, limits.max)
            x = np.clip(cells, low, high).astype(np.float64)
        else:
            x = cells.astype(np.float64)
        reached = np.searchsorted(np.array(code.rungs), x, side="right")
        return np.where(np.isnan(x), -1, reached).astype(np.int64)


def _persons(ids: Array) -> Integers:
    """Numbers 0, 1, ... for equal ids; -1 where there is none."""
    if ids.dtype.kind in "OU":
        return persons_of(ids.astype(object))
    with np.errstate(all="ignore"):
        persons = np.unique(ids, return_inverse=True)[1].astype(np.int64)
        return np.where(np.isfinite(ids), persons, -1) if ids.dtype.kind == "f" else persons


Chunks = Iterable[tuple[Chunk, Mask]]


def totals_of(query: CodedQuery, chunks: Chunks) -> Integers:
    """The sums of a query over chunks of at most `CHUNK` rows."""
    result = np.zeros((query.groups, len(query.terms)), np.int64)
    products = None if query.by else Products(query)
    grouped = Grouped(query) if query.by else None
    for chunk, mask in chunks:
        add_chunk(result, query, chunk, mask, products, grouped)
    return result


def tally_of(query: CodedQuery, chunks: Chunks) -> Tally:
    """How often each value of ``query.tally`` occurs in each group."""
    assert query.tally is not None
    code, width = query.tally, query.tally.high + 1
    parts = (chunk.groups(query)[mask] * width + chunk.code(code)[mask] for chunk, mask in chunks)
    return tallied(query.groups, width, parts)


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
    groups = groups[mask]
    for index in others:
        term = query.terms[index]
        values = np.full(len(groups), 1, np.int64)
        for code in term.codes:
            values = values * chunk.code(code)[mask]
        sums = np.bincount(groups, weights=values.astype(np.float64), minlength=query.groups)
        result[:, index] += sums.astype(np.int64) * term.weight
