"""Pairs of tables of equal types, one clean and one dirty, and what can be told of their answers."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import math
import random
import struct
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
import tables
from hostile import HOSTILE, text_array

import discreet as dp
from discreet import testing

SCHEMA = dp.Schema(
    x=dp.Real(-1, 3),
    y=dp.Integer(0, 4),
    c=dp.Categorical("a", "b"),
    k=dp.Categorical(0, 1, 2.5, unknown=1),
).derive(
    band=dp.Bins("x", [0, 1]),
    near=dp.Nearest(["x", "y"], [[0, 0], [2, 4]]),
    score=dp.Score({"band": [-3, 0, 3], "c": [1, 2]}, [0, 1, 4, 9]),
)
#: For what nobody declared: a column without bounds costs engines many expressions.
OPEN = dp.Schema(x=dp.Real(-1, 3), t=dp.Text(), u=dp.Real())
KINDS = {
    "x": "real",
    "y": "whole",
    "c": "text",
    "k": "real",
    "t": "text",
    "u": "real",
    "who": "text",
}
QUERIES = [
    *testing.QUERIES,
    *testing.SEVERAL,
    *testing.DISCOVERIES,
    dp.Count(by=["band", "near"]),
    dp.Sum("score", by="c", where="not (x < 0.5 or c in ['a'])"),
    dp.Median("x", by="near", where="y != 2"),
    dp.Histogram("k", where="k == 2.5 or y > 1"),
]
UNITS = {
    "rows": dp.Unit(dp.ADD_REMOVE),
    "fixed": dp.Unit(dp.REPLACE_ONE),
    "persons": dp.Unit(dp.ADD_REMOVE, id_column="who", max_rows=2),
}
Table = dict[str, list[Any]]

TEXTS = [
    "z",
    "",
    " a",
    "A",
    "ab",
    "é",
    "😀",
    "1",
    "nan",
    "x" * 300,
    "a'b",
    'a"b',
    "a,b",
    "a\nb",
    "\ufffd",
]
BYTES = [
    b"\xff",
    b"\xfe\xff",
    b"M\xfcller",
    b"M\xf6ller",
    b"\xc3",
    b"\xed\xa0\x80",
    b"a\xff" * 9,
    b"\xff" * 20,
]
OBJECTS: list[Any] = [
    b"a", b"\xff", decimal.Decimal("NaN"), decimal.Decimal("sNaN"), decimal.Decimal("1e999"), 1 + 2j, [], [1],
    {}, (), set(), object(), int, ..., datetime.date(2000, 1, 1), datetime.timedelta(1), pd.NA, pd.NaT,
    np.float16("inf"), np.uint64(2**64 - 1), np.datetime64("NaT"), np.bool_(True), np.str_("a"),
    np.array([1, 2]), np.array(1.0), np.ma.masked, 10**400, -(10**400), 2**63, True, "\ud800", "\udcff",
    *(cell for cell, _ in HOSTILE),
]  # fmt: skip


def clean_cell(draw: random.Random, kind: str, name: str) -> Any:
    if kind == "real":
        return draw.choice([0.0, 1.0, 2.5]) if name == "k" else round(draw.uniform(-1, 3), 3)
    if kind == "whole":
        return draw.randrange(5)
    return f"p{draw.randrange(4)}" if name in ("who", "t") else draw.choice("ab")


def dirty_cell(draw: random.Random, kind: str, name: str, allowed: set[str]) -> Any:
    """A cell that a table of these types can hold; `allowed` says what else its form lets in."""
    if "objects" in allowed and draw.random() < 0.5:
        return draw.choice(OBJECTS)
    if "null" in allowed and draw.random() < 0.3:
        return None
    if kind == "real":
        bits = struct.unpack("d", struct.pack("Q", draw.getrandbits(64)))[0]
        special = [math.nan, math.inf, -math.inf, 5e-324, -0.0, 1.7e308, -1e300, 2.5, 1e-310, bits]
        return draw.choice(special)
    if kind == "whole":
        return draw.choice([2**63 - 1, -(2**63), 2**53 + 1, -1, 5, draw.randrange(-(2**63), 2**63)])
    if "bytes" in allowed and draw.random() < 0.4:
        return draw.choice(BYTES)
    return draw.choice(["a\0", "\0", *TEXTS] if "nul" in allowed else TEXTS)


def fuzzed_table(draw: random.Random, rows: int, allowed: set[str] | None) -> Table:
    """A clean table, or a dirty one where what a form allows is given."""
    found: Table = {}
    for name, kind in KINDS.items():
        dirty = allowed is not None and draw.random() < 0.7
        found[name] = [
            dirty_cell(draw, kind, name, allowed or set())
            if dirty and draw.random() < 0.6
            else clean_cell(draw, kind, name)
            for _ in range(rows)
        ]
    return found


def as_text(cell: Any) -> Any:
    return cell.decode("utf-8", "surrogateescape") if isinstance(cell, bytes) else cell


def reference(content: Table, form: str) -> Any:
    """The same cells as lists, which the reference engine reads; bytes in a text column are text."""
    if form in LOOSE:
        return content
    found = {n: [as_text(c) for c in cells] for n, cells in content.items()}
    if form == "csv":  # where an empty cell is no id, and null
        found = {n: [None if c == "" and n == "who" else c for c in cs] for n, cs in found.items()}
        return {
            n: ["" if c is None and n in ("c", "t") else c for c in cs] for n, cs in found.items()
        }
    return found


def _bytes(cell: Any) -> bytes | None:
    return cell.encode() if isinstance(cell, str) else cell


def arrow(content: Table, _: Path) -> pa.Table:
    columns = {}
    for name, cells in content.items():
        if KINDS[name] == "text":
            columns[name] = text_array([_bytes(cell) for cell in cells])
        else:
            kind = pa.float64() if KINDS[name] == "real" else pa.int64()
            columns[name] = pa.array(cells, kind, from_pandas=False)
    return pa.table(columns)


def arrays(content: Table, _: Path) -> Any:
    kinds = {"real": np.dtype(float), "whole": np.dtype("i8"), "text": np.dtype("U300")}
    return {name: np.array(cells, kinds[KINDS[name]]) for name, cells in content.items()}


def records(content: Table, folder: Path) -> Any:
    columns = arrays(content, folder)
    kinds = [(name, column.dtype) for name, column in columns.items()]
    return np.array(list(zip(*columns.values(), strict=True)), kinds)


def csv(content: Table, folder: Path) -> Path:
    def cell_bytes(cell: Any) -> bytes:
        found = cell if isinstance(cell, bytes) else tables.cell_text(cell).encode()
        return b'"' + found.replace(b'"', b'""') + b'"'

    rows = [content.keys(), *zip(*content.values(), strict=True)]
    path = folder / "fuzz.csv"
    path.write_bytes(b"".join(b",".join(map(cell_bytes, row)) + b"\n" for row in rows))
    return path


def parquet(content: Table, folder: Path) -> Path:
    path = folder / "fuzz.parquet"
    pq.write_table(arrow(content, folder), path)
    return path


def polars(content: Table, folder: Path) -> Any:
    return pl.from_arrow(arrow(content, folder))


def pandas_arrow(content: Table, folder: Path) -> Any:
    return arrow(content, folder).to_pandas(types_mapper=pd.ArrowDtype)


def dask(content: Table, folder: Path) -> Any:
    import dask.dataframe

    frame = pandas_arrow(content, folder)
    return dask.dataframe.from_pandas(frame, npartitions=min(2, max(1, len(frame))), sort=False)


def of_lists(build: Callable[[tables.Table, tables.Kinds], Any]) -> Callable[[Table, Path], Any]:
    return lambda content, _: build(content, KINDS)


Form = tuple[Callable[[Table, Path], Any], set[str]]
#: Forms of a table in this process, and what their cells may be beside numbers and text.
LOOSE: dict[str, Form] = {
    "lists": (lambda content, _: dict(content), {"null", "objects", "nul"}),
    "objects": (of_lists(tables.object_arrays), {"null", "objects", "nul"}),
    "pandas objects": (of_lists(tables.pandas_object), {"null", "objects", "nul"}),
}
FORMS: dict[str, Form] = {
    **LOOSE,
    "numpy": (arrays, set()),
    "records": (records, set()),
    "csv": (csv, {"null", "bytes", "nul"}),
    "pyarrow": (arrow, {"null", "bytes", "nul"}),
    "mapping": (lambda t, f: dict(zip(KINDS, arrow(t, f).columns, strict=True)), {"null", "bytes", "nul"}),
    "polars": (polars, {"null", "bytes", "nul"}),
    "polars lazy": (lambda t, f: polars(t, f).lazy(), {"null", "bytes", "nul"}),
    "pandas nullable": (of_lists(tables.pandas_nullable), {"null", "nul"}),
    "pandas arrow": (pandas_arrow, {"null", "bytes", "nul"}),
    "duckdb": (lambda t, f: duckdb.connect().from_arrow(arrow(t, f)), {"null", "bytes", "nul"}),
    "parquet": (parquet, {"null", "bytes", "nul"}),
    "data set": (lambda t, f: pyarrow.dataset.dataset(parquet(t, f)), {"null", "bytes", "nul"}),
}  # fmt: skip
DASK: Form = (dask, {"null", "bytes", "nul"})


def shape_of(value: Any) -> Any:
    """All that can be told of a value but the numbers in it."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [(f.name, shape_of(getattr(value, f.name))) for f in dataclasses.fields(value)]
        return (type(value).__name__, fields)
    if isinstance(value, dict):
        return ("dict", [(key, shape_of(part)) for key, part in value.items()])
    if isinstance(value, list | tuple):
        return (type(value).__name__, [shape_of(part) for part in value])
    return type(value).__name__


def outcome(act: Callable[[], Any]) -> Any:
    """What can be seen of an act: the shape of its result, or its error, and its warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            found: Any = ("result", act())
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | pytest.fail.Exception):
                raise
            found = ("error", type(error).__name__, str(error))
    return (*found, sorted({str(warning.message) for warning in seen}))


def is_same(clean: Any, dirty: Any) -> bool:
    """Whether two outcomes can't be told apart; a clean table must have an answer."""
    return bool(clean == dirty and clean[0] == "result")


def release_shape(release: dp.Release) -> Any:
    if release.query in testing.DISCOVERIES:  # how many are found is noised
        found: Any = type(release.value).__name__
    else:
        found = (shape_of(release.value), shape_of(release.stderr), release.labels)
    return (found, repr(release.event), repr(release.measure), release.is_private)


_books: dict[str, dp.Ledger] = {}


def book(unit: str) -> dp.Ledger:
    """One ledger for all questions of a unit."""
    if unit not in _books:
        _books[unit] = dp.Ledger(limit=dp.ApproxDP(10**9, 0.9), unit=UNITS[unit])
    return _books[unit]


def schema_for(query: Any) -> dp.Schema:
    return OPEN if query in testing.DISCOVERIES else SCHEMA


def ask(source: Any, unit: str, query: Any, measure: Any) -> Any:
    """The shape of what the door answers."""
    options = {"rows": 7} if unit == "fixed" else {}
    dataset = dp.PrivateDataset(source, schema_for(query), ledger=book(unit), **options)
    return release_shape(dataset.release(query, measure))


def integers(source: Any, unit: str, query: Any) -> Any:
    """What stands before the noise."""
    public = dataclasses.replace(UNITS[unit], relation=dp.PUBLIC)
    dataset = dp.PrivateDataset(source, schema_for(query), unit=public)
    if getattr(query, "keys", None) is not None:
        return testing.exact_keys(dataset, query)
    return testing.exact_totals(dataset, query).tolist()


def differences(draw: random.Random, name: str, form: Form, folder: Path) -> list[Any]:
    """What differs between a clean table and a dirty one of the same types; nothing, it is hoped."""
    build, allowed = form
    rows = draw.randrange(6)
    clean, dirty = fuzzed_table(draw, rows, None), fuzzed_table(draw, rows, allowed)
    unit, query = draw.choice(list(UNITS)), draw.choice(QUERIES)
    measure = draw.choice([dp.PureDP(1), dp.ApproxDP(1, 1e-6)])
    if isinstance(query, dp.Bounds):  # which takes no other
        measure = dp.PureDP(1)
    seen = [
        outcome(lambda content=content: ask(build(content, folder), unit, query, measure))  # type: ignore[misc]
        for content in (clean, dirty)
    ]
    if not is_same(*seen):
        return [(name, unit, query, *seen)]
    if query not in testing.SEVERAL and draw.random() < 0.25:
        found = outcome(lambda: integers(build(dirty, folder), unit, query))
        wanted = outcome(lambda: integers(reference(dirty, name), unit, query))
        if found != wanted:
            return [(name, unit, query, found, wanted)]
    return []
