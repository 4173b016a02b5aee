"""Rows in memory, and the values of every code of them: the reference for all engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from discreet.coding.branches import CodeTable
from discreet.coding.calendar import part_codes
from discreet.coding.cells import Array, Floats, Integers, Mask
from discreet.coding.codes import (
    MIX_PRIME,
    AllOf,
    AnyOf,
    Between,
    Branches,
    Calendar,
    Category,
    Closest,
    Code,
    Condition,
    Cuts,
    Filled,
    Grid,
    Ladder,
    LeftOver,
    Linear,
    Lookup,
    NoneOf,
    OneOf,
    Part,
    Total,
)
from discreet.coding.made_of import base_columns
from discreet.coding.questions import CodedQuery
from discreet.coding.values import (
    PLAIN,
    category_codes,
    filled_codes,
    grid_codes,
    grid_into,
    ladder_codes,
)

#: Rows handled at once: sums of this many terms of at most 2^31 are exact in float64.
CHUNK = 2**18
#: Before the name of a column: what its cells were before they were read as numbers, NaN where missing.
FILLED = "\0filled "


class Chunk:
    """Some rows, with the codes computed so far."""

    def __init__(
        self, columns: Mapping[str, Array], codes: Mapping[Code, Integers] | None = None
    ) -> None:
        self._columns = columns
        self._codes: dict[Code, Integers] = dict(codes or {})
        self._table: CodeTable | None = None

    @property
    def length(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    @property
    def known(self) -> int:
        """How many codes have values here."""
        return len(self._codes)

    def take(self, rows: slice | Integers) -> Chunk:
        """Some of the rows, with what was computed of them."""
        columns = {name: cells[rows] for name, cells in self._columns.items()}
        return Chunk(columns, {code: values[rows] for code, values in self._codes.items()})

    def column(self, name: str) -> Array:
        """The cells of a column."""
        return self._columns[name]

    def code(self, code: Code) -> Integers:
        """The values of a code."""
        values = self._codes.get(code)
        if values is None:
            values = self._codes[code] = self._compute(code)
        return values

    def can_make(self, code: Code) -> bool:
        """Whether the values of a code are here, or the columns that it is made of."""
        return code in self._codes or all(name in self._columns for name in base_columns(code))

    def writer(self, code: Code) -> Callable[[Floats, slice], None]:
        """What writes the values of a code in some rows; grids of numbers are made there and then."""
        if isinstance(code, Grid) and code not in self._codes:
            cells = self._columns[code.column]
            if cells.dtype.kind in PLAIN:
                return lambda out, rows: grid_into(out, cells[rows], code)
        values = self.code(code)

        def write(out: Floats, rows: slice) -> None:
            out[:] = values[rows]

        return write

    def _compute(self, code: Code) -> Integers:
        match code:
            case Grid():
                return grid_codes(self._columns[code.column], code)
            case Ladder():
                return ladder_codes(self._columns[code.column], code)
            case Filled(column=name):
                return filled_codes(self._columns.get(FILLED + name, self._columns[name]))
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
            case Total(sources=sources):
                total = np.zeros(self.length, np.int64)
                for source in sources:
                    total += self.code(source)
                return total
            case LeftOver(part=part, whole=whole, own=own, size=size):
                share = 2 * size * self.code(part) // self.code(whole)
                left, other = np.minimum(2 * size - share, size), -np.minimum(share, size)
                return np.asarray(np.where(self.code(own) == 1, left, other))
            case Branches(tests=tests):
                return self._leaves(tests)
            case Part(sources=sources, parts=parts, mixers=mixers):
                mix = np.zeros(self.length, np.int64)
                for source, mixer in zip(sources, mixers, strict=True):
                    mix += (self.code(source) + 1) * mixer % MIX_PRIME
                return mix % MIX_PRIME % parts
            case Calendar(source=source, first=first, part=name):
                return np.asarray(part_codes(self.code(source), first, name))

    def _leaves(self, tests: Sequence[Between | OneOf | None]) -> Integers:
        if self._table is None:
            self._table = CodeTable(self.length)
        found = self._table.leaves(tests, self.code)
        return self._branches(tests) if found is None else found

    def _branches(self, tests: Sequence[Between | OneOf | None]) -> Integers:
        """The leaves by parts of the rows, node by node: for whatever tests."""
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
        if not query.by:
            return np.zeros(self.length, np.int64)
        result = self.code(query.by[0])
        if len(query.by) == 1:
            return result.astype(np.int64, copy=False)
        # a new array: what a code's values are kept in isn't written to, and may be of a narrow type
        result = np.multiply(result, query.sizes[1], dtype=np.int64)
        result += self.code(query.by[1])
        for code, size in zip(query.by[2:], query.sizes[2:], strict=True):
            result *= size
            result += self.code(code)
        return result
