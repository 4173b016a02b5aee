"""The slow obvious implementation: rows one by one in plain Python, from the text of the design."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np

import discreet as dp
from discreet.queries import Query

Row = dict[str, Any]
Predicate = Callable[["Codes"], bool]
PRIME = 2**31 - 1


def as_float(cell: Any) -> float:
    """A cell as a double; NaN for null and for whatever is no number."""
    if isinstance(cell, bool | int | float | np.number | np.bool_):
        try:
            return float(cell)
        except OverflowError:
            return math.inf if cell > 0 else -math.inf
    return math.nan


def filled(column: Any, cell: Any) -> float:
    """The cell after fill and clamp."""
    x = as_float(cell)
    if math.isnan(x):
        if column.fill is not None:
            x = float(column.fill)
        elif isinstance(column, dp.Integer):
            x = float((column.lower + column.upper) // 2)
        else:
            x = column.lower + (column.upper - column.lower) * 0.5
    return max(float(column.lower), min(float(column.upper), x))


def steps(column: Any, bits: int) -> int:
    if isinstance(column, dp.Integer) and column.upper - column.lower <= 2**bits:
        return int(column.upper - column.lower)
    return 2**bits if column.upper > column.lower else 0


def grid(column: Any, cell: Any, bits: int) -> int:
    """k = floor((x - lower)·m) with m = 2^bits/width nudged so that the upper bound has code 2^bits."""
    x, lower, upper = filled(column, cell), float(column.lower), float(column.upper)
    if upper == lower:
        return 0
    if isinstance(column, dp.Integer) and column.upper - column.lower <= 2**bits:
        return math.floor(x - lower)
    m = 2.0**20 / (upper - lower)
    while math.floor((upper - lower) * m) < 2**20:
        m = math.nextafter(m, math.inf)
    return math.floor((x - lower) * (m * 2.0 ** (bits - 20)))


def log_grid(column: Any, cell: Any, bits: int) -> int:
    """The code on a scale linear up to M/1024, M the larger bound, then in octaves of equal length."""
    lower, upper = float(column.lower), float(column.upper)
    largest = max(abs(lower), abs(upper))

    def place(x: float) -> Fraction:
        t = abs(Fraction(x)) / (Fraction(largest) / 1024)
        octave = max((j for j in range(10) if t >= 2**j), default=None)
        size = t if octave is None else octave + t / 2**octave
        return size if x >= 0 else -size

    def source(f: float) -> float:
        octave = max(0, min(9, math.ceil(abs(f)) - 2))
        t = abs(f) if abs(f) <= 1 else (abs(f) - octave) * 2.0**octave
        return math.copysign(t * largest / 1024, f)

    first, last = place(lower), place(upper)
    missing = source((float(first) + float(last)) / 2) if column.fill is None else column.fill
    x = as_float(cell)
    x = float(missing) if math.isnan(x) else filled(column, cell)
    octaves = [largest / 1024 * 2**j for j in range(10)]
    edges = sorted(
        {lower, upper, *(s * e for e in octaves for s in (1, -1) if lower < s * e < upper)}
    )
    start = max(edge for edge in edges if edge <= x)
    code = round((place(start) - first) / (last - first) * 2**bits)
    if start == upper:
        return code
    end = min(edge for edge in edges if edge > x)
    steps = round((place(end) - first) / (last - first) * 2**bits) - code
    m = steps / (end - start)
    while math.floor((end - start) * m) < steps:
        m = math.nextafter(m, math.inf)
    return code + math.floor((x - start) * m)


def summand(column: Any, cell: Any) -> int:
    """The code of `Sum`, which keeps zero."""
    x = filled(column, cell)
    largest = float(max(abs(column.lower), abs(column.upper)))
    if largest == 0:
        return 0
    if isinstance(column, dp.Integer) and largest <= 2**20:
        return math.floor(x)
    return math.floor(x * (2.0**20 / largest) + 0.5)


def category(column: Any, cell: Any) -> int:
    """The place among the declared values; -1 where there is none."""
    if isinstance(column.values[0], str):
        found = [i for i, v in enumerate(column.values) if isinstance(cell, str) and cell == v]
    elif isinstance(cell, bool | int | np.integer | np.bool_):
        found = [i for i, v in enumerate(column.values) if int(cell) == v]
    elif isinstance(cell, float | np.floating):
        found = [i for i, v in enumerate(column.values) if float(cell) == v]
    else:
        found = []
    if found:
        return found[0]
    return -1 if column.unknown is None else column.values.index(column.unknown)


class Codes:
    """The codes of one row, base columns and derived ones."""

    def __init__(self, schema: dp.Schema, row: Row) -> None:
        self.schema, self.row = schema, row

    def __getitem__(self, name: str) -> int:
        return self.value(name)

    def cut(self, name: str, constant: float) -> int:
        """The code of a constant in a real column."""
        return grid(self.schema[name], constant, 20)

    def value(self, name: str) -> int:
        column = self.schema[name]
        if isinstance(column, dp.Categorical):
            return category(column, self.row[name])
        if isinstance(column, dp.Real | dp.Integer):
            return grid(column, self.row[name], 20)
        if isinstance(column, dp.Bins):
            source = self.schema[column.column]
            here = self.value(column.column)
            if isinstance(source, dp.Score):
                return sum(here >= cut for cut in column.cuts)
            if steps(source, 20) == source.upper - source.lower and isinstance(source, dp.Integer):
                return sum(here + source.lower >= cut for cut in column.cuts)
            return sum(here >= grid(source, cut, 20) for cut in column.cuts)
        if isinstance(column, dp.Nearest):
            return self._nearest(column)
        assert isinstance(column, dp.Score)
        total = column.offset + sum(t[self.value(n)] for n, t in column.tables.items())
        return column.link[max(0, min(len(column.link) - 1, total))]

    def _nearest(self, column: dp.Nearest) -> int:
        code = column.code("", self.schema)  # the public positions of the centres on the grid
        distances = []
        for centre in code.centres:
            distance = 0
            for name, at in zip(column.columns, centre, strict=True):
                size = steps(self.schema[name], 20)
                stretch = max(1, 2**20 // size) if size else 0
                distance += (self.value(name) * stretch - at) ** 2
            distances.append(distance)
        return distances.index(min(distances))

    def bases(self, names: Iterable[str]) -> set[str]:
        """The base columns behind some columns."""
        found: set[str] = set()
        for name in names:
            column = self.schema[name]
            if isinstance(column, dp.Bins):
                found |= self.bases([column.column])
            elif isinstance(column, dp.Nearest):
                found |= self.bases(column.columns)
            elif isinstance(column, dp.Score):
                found |= self.bases(column.tables)
            else:
                found.add(name)
        return found


def counted(
    schema: dp.Schema, row: Row, uses: Iterable[str], predicate: Predicate | None
) -> Codes | None:
    codes = Codes(schema, row)
    for name in codes.bases(uses):
        if isinstance(schema[name], dp.Categorical) and codes[name] < 0:
            return None
    return codes if predicate is None or predicate(codes) else None


def kept(
    rows: list[Codes], schema: dp.Schema, id_column: str, most: int, query: Query
) -> list[Codes]:
    """The first `most` rows of each person in the public order; rows without id are dropped."""
    mixers = [
        1 + int.from_bytes(hashlib.sha256(b"order %d" % i).digest()[:8]) % (PRIME - 1)
        for i in range(len(schema.base))
    ]
    persons: dict[Any, list[Codes]] = {}
    for row in rows:
        person = row.row[id_column]
        if isinstance(person, str) or math.isfinite(as_float(person)):
            persons.setdefault(person, []).append(row)

    def order(row: Codes) -> tuple[Any, ...]:
        codes = [row[name] for name in schema.base]
        mix = sum((k + 1) * a for k, a in zip(codes, mixers, strict=True)) % PRIME
        ties = contributions(query, row) if not isinstance(query, dp.Quantile) else []
        return mix, codes, ties

    return [row for rows in persons.values() for row in sorted(rows, key=order)[:most]]


SIZE = 2**30


def contributions(query: Query, row: Codes) -> list[int]:
    """The vector of one row."""
    schema = row.schema
    if isinstance(query, dp.Count):
        return [1]
    if isinstance(query, dp.Sum):
        column = schema[query.column]
        if isinstance(column, dp.Score):
            return [row[query.column]]
        return [summand(column, row.row[query.column])]
    if isinstance(query, dp.Mean):
        code = grid(schema[query.column], row.row[query.column], 20)
        return [code, max(1, steps(schema[query.column], 20)) - code]
    names = query.columns
    sizes = [steps(schema[n], 15) for n in names]
    z = [2 * grid(schema[n], row.row[n], 15) - s for n, s in zip(names, sizes, strict=True)]
    ends, sizes = sizes, [max(1, s) for s in sizes]
    if isinstance(query, dp.Moments | dp.Variance):
        if len(z) == 1 and ends[0]:
            (s, v), weight = (ends[0], z[0]), SIZE // sizes[0] ** 2
            return [
                weight * part // 4 for part in ((s + v) ** 2, 2 * (s * s - v * v), (s - v) ** 2)
            ]
        pairs = [
            [SIZE // s * v, SIZE // s**2 * (e * e - v * v)]
            for s, e, v in zip(sizes, ends, z, strict=True)
        ]
        return [SIZE, *itertools.chain(*pairs)]
    d = range(len(z))
    singles = [SIZE // sizes[i] * z[i] for i in d]
    products = [
        SIZE // (sizes[i] * sizes[j]) * (z[i] * z[j] if i < j else ends[i] ** 2 - z[i] ** 2)
        for i in d
        for j in d
        if i <= j
    ]
    return [SIZE, *singles, *products]


def totals(
    query: Query,
    schema: dp.Schema,
    rows: list[Row],
    predicate: Predicate | None = None,
    uses: Iterable[str] = (),
    id_column: str | None = None,
    most: int = 1,
) -> list[list[int]]:
    """What an engine must return, as `exact_totals` gives it. `uses`: the columns of the predicate."""
    names = [*query.by, *query.columns, *uses]
    left = [c for row in rows if (c := counted(schema, row, names, predicate)) is not None]
    if id_column is not None:
        left = kept(left, schema, id_column, most, query)
    groups = list(itertools.product(*(range(len(schema.labels(name))) for name in query.by)))
    if isinstance(query, dp.Quantile):
        seen: dict[tuple[int, int], int] = {}
        for row in left:
            place = groups.index(tuple(row[name] for name in query.by))
            column = schema[query.column]
            code = log_grid if column.is_log else grid
            key = (place, code(column, row.row[query.column], 20))
            seen[key] = seen.get(key, 0) + 1
        return [[*key, seen[key]] for key in sorted(seen)]
    length = len(query.coded(schema, dp.Unit()).terms)
    sums = {group: [0] * length for group in groups}
    for row in left:
        group = tuple(row[name] for name in query.by)
        sums[group] = [a + b for a, b in zip(sums[group], contributions(query, row), strict=True)]
    return [sums[group] for group in groups]
