"""No private value makes an engine raise, warn, or change a shape or a message."""

from __future__ import annotations

import datetime
import decimal
import fractions
import itertools
import math
import random
import struct
import traceback
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import oracle
import pandas as pd
import polars as pl
import pytest
import tables
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.engines.base import EngineFailed
from discreet.testing import exact_totals
from profiles import max_examples

SCHEMA = dp.Schema(
    x=dp.Real(-1, 1e6),
    n=dp.Integer(0, 9),
    s=dp.Categorical("F", "M", "emoji 😀", "NUL\0here"),
    k=dp.Categorical(0, 1, 2.5, unknown=1),
).derive(
    band=dp.Bins("x", [0, 10.5]),
    near=dp.Nearest(["x", "n"], [(0, 0), (1e6, 9)]),
    points=dp.Score({"band": [1, 2, 3], "s": [0, 1, 2, 3]}, link=[4, 5, 6]),
)
UNITS = [dp.Unit(dp.PUBLIC), dp.Unit(dp.PUBLIC, "s", 2), dp.Unit(dp.PUBLIC, "x", 1)]
QUERIES = [
    (dp.Moments("x", "n", by="s"), (4, 5)),
    (dp.Histogram("k", "band", where="x > 3 or s != 'F'"), (9, 1)),
    (dp.Sum("points", by="near"), (2, 1)),
    (dp.Gram("x", "n"), (1, 6)),
    (dp.Sum("x"), (1, 1)),
]


def strange_cell(draw: random.Random) -> Any:
    """A cell of any type that a careless table could hold."""
    kind = draw.randrange(22)
    if kind < 4:
        bits = draw.choice([draw.getrandbits(64), 0x7FF0000000000001, 0xFFF8000000000123])
        value = struct.unpack("d", struct.pack("Q", bits))[0]  # all doubles, NaN payloads too
        return value if kind < 2 else np.float64(value)
    if kind < 6:
        return draw.randrange(-(10 ** draw.randrange(1, 420)), 10 ** draw.randrange(1, 420))
    if kind < 8:
        letters = "FM\0 \t\n\"',;😀\ud800\udfffé日0123456789.eE+-_" + "a" * 10
        return draw.choice(["F", "M", "".join(draw.choices(letters, k=draw.randrange(12)))])
    exponent = draw.randrange(-2000, 2000)
    number = draw.choice([np.int8, np.uint8, np.int16, np.float16, np.float32, np.longdouble])
    with np.errstate(all="ignore"):
        scalar = number(draw.randrange(100))
    choices: list[Any] = [
        None, pd.NA, pd.NaT, math.nan, True, np.True_, [], [1], {}, {"a": 1}, (), object, b"\xff",
        1j, complex(math.nan, 1), decimal.Decimal(7).scaleb(exponent), decimal.Decimal("sNaN"),
        fractions.Fraction(draw.randrange(10**6), 10**400 + 7), fractions.Fraction(10**500, 3),
        datetime.datetime(2020, 1, 1), datetime.date(1, 1, 1), datetime.timedelta(1), range(3),
        np.datetime64("NaT"), np.timedelta64("NaT"), np.timedelta64(draw.randrange(99), "s"), scalar,
        np.array([1.0, 2.0]), np.array(1.0), np.longdouble("1e4000"), np.void(b"x"), np.str_("F"),
        np.uint64(2**64 - 1), float, "nan", "inf", "1_0", " 2 ", bytearray(b"F"), memoryview(b"F"),
        pd.Timestamp(0), pd.Series([1]), slice(1), Ellipsis, NotImplemented, Exception("x"),
    ]  # fmt: skip
    return draw.choice(choices)


def strange_table(draw: random.Random) -> tables.Table:
    length = draw.randrange(5)
    return {name: [strange_cell(draw) for _ in range(length)] for name in "xnsk"}


def check_shape(source: Any, query: Any, shape: tuple[int, int], unit: dp.Unit) -> None:
    found = exact_totals(dp.PrivateDataset(source, SCHEMA, unit=unit), query)
    assert found.shape == shape
    assert found.dtype == np.int64


@pytest.mark.parametrize("seed", range(4))
def test_arrays_of_strange_objects(seed: int) -> None:
    """3000 tables each, with one query and one unit."""
    draw = random.Random(seed)
    for _ in range(3000):
        table = strange_table(draw)
        query, shape = draw.choice(QUERIES)
        source = table if draw.random() < 0.5 else tables.object_arrays(table, {})
        check_shape(source, query, shape, draw.choice(UNITS))


def test_frames_of_strange_objects() -> None:
    draw = random.Random(9)
    for turn in range(80):
        table = strange_table(draw)
        query, shape = draw.choice(QUERIES)
        check_shape(tables.pandas_object(table, {}), query, shape, draw.choice(UNITS))
        if turn % 4 == 0:
            columns = {n: pl.Series(n, c, dtype=pl.Object) for n, c in table.items()}
            check_shape(pl.DataFrame(columns), query, shape, draw.choice(UNITS))


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "i1", "i8", "u1", "u8"])
def test_arrays_of_random_bits(kind: str) -> None:
    """Any bits, signalling NaN among them, in every numeric type."""
    draw = np.random.default_rng(0)
    schema = dp.Schema(x=dp.Real(-1, 1e6), k=dp.Categorical(0, 1, 2.5))
    size = np.dtype(kind).itemsize
    for _ in range(100):
        length = int(draw.integers(0, 9))
        cells = np.frombuffer(draw.bytes(length * size), kind)
        if kind == "f4" and length:
            cells = cells.copy()
            cells.view("u4")[0] = 0x7F800001  # a signalling NaN
        source: Any = {"x": cells, "k": cells}
        if draw.random() < 0.2:
            source = pd.DataFrame(source)
        rows = [{"x": cell, "k": cell} for cell in cells]
        for query in [dp.Moments("x", by="k"), dp.Sum("x")]:
            found = exact_totals(dp.PrivateDataset(source, schema, unit=dp.PUBLIC), query)
            assert found.tolist() == oracle.totals(query, schema, rows)


def test_long_doubles() -> None:
    cells = np.array(["1e4000", "-1e4000", "1e-4000", "nan", "2.5"], np.longdouble)
    dataset = dp.PrivateDataset({"x": cells}, dp.Schema(x=dp.Real(0, 10, fill=0)), unit=dp.PUBLIC)
    step = 2**20 / 10
    assert exact_totals(dataset, dp.Sum("x")).tolist() == [[2**20 + math.floor(2.5 * step + 0.5)]]


HEADER = "x,n,s,k\n"
FILES = {
    "nothing": "",
    "blank lines": "\n\n1,2,F,1\n\n\n",
    "short rows": "1\n1,2\n,\n,,,\n1,2,F",
    "long rows": "1,2,F,1,9,9,9\n",
    "open quote": '1,"2,F,1\n1,2,F,1\n',
    "stray quotes": '1,2,F"M,1\n1,2,"F"M,1\n"1""2",2,F,1\n',
    "carriage returns": "1,2,F,1\r\n1,2,M,1\r1,2,F,1\n",
    "quoted newlines": '1,2,"F\nM\r\n",1\n',
    "NUL": "1,2,F\0,1\n\0\0\0\n",
    "long cell": "1,2," + "F" * 300_000 + ",1\n",
    "numbers": "1e999,-1e999,F,1_0\n0x10,nan,M,infinity\n" + "9" * 5000 + ",١٢,F,true\n",
    "other separators": "1\u20282,2\x0b,F\x1c,1\x85\n",
}


@pytest.mark.parametrize("name", list(FILES))
def test_files_of_any_text(name: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes((HEADER + FILES[name]).encode())
    for query, shape in QUERIES:
        for unit in UNITS:
            check_shape(path, query, shape, unit)


def test_files_are_read_by_the_rule(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(
        b"\xef\xbb\xbfx,surplus,n,s,k\r\n"  # a byte order mark, DOS lines
        b"5,?,3,F,1\r\n"
        b'"5","?","3","F","1","more","cells"\r\n'
        b"\r\n"
        b"oops,?,,M\r\n"  # no number, empty, missing
        b" 5 ,?,3.0,\xff,True\r\n"  # white space, a byte that is no UTF-8
    )
    rows = [
        {"x": 5.0, "n": 3.0, "s": "F", "k": 1.0},
        {"x": 5.0, "n": 3.0, "s": "F", "k": 1.0},
        {"x": math.nan, "n": None, "s": "M", "k": None},
        {"x": 5.0, "n": 3.0, "s": "\ufffd", "k": 1.0},
    ]
    for query in [dp.Moments("x", "n"), dp.Histogram("s", "k")]:
        wanted = oracle.totals(query, SCHEMA, rows)
        dataset = dp.PrivateDataset(path, SCHEMA, unit=dp.PUBLIC)
        assert exact_totals(dataset, query).tolist() == wanted


@max_examples(150)
@given(st.binary(max_size=200))
def test_files_of_any_bytes(tmp_path_factory: Any, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.csv"
    path.write_bytes(HEADER.encode() + content)
    for query, shape in QUERIES[:2]:
        check_shape(path, query, shape, UNITS[len(content) % 3])


def test_files_in_several_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.engines import delimited

    table = {"x": [0.5 * i for i in range(50)], "n": [i % 10 for i in range(50)],
             "s": ["F", "M"] * 25, "k": [1, 2.5, 7, 0, 1] * 10}  # fmt: skip
    path = tables.csv_file(table, tmp_path)
    queries = [dp.Moments("x", by="s"), dp.Quantile("x", by="s"), dp.Histogram("k")]
    for query in queries:
        dataset = dp.PrivateDataset(path, SCHEMA, unit=dp.PUBLIC)
        monkeypatch.undo()
        whole = exact_totals(dataset, query)
        monkeypatch.setattr(delimited, "CHUNK", 7)
        assert exact_totals(dataset, query).tolist() == whole.tolist()


def test_a_file_without_header(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(ValueError, match="no header line"):
        dp.PrivateDataset(tmp_path / "empty.csv", SCHEMA, unit=dp.PUBLIC)


SECRET = "secret 4711"


def failing_sources(folder: Path) -> dict[str, Any]:
    def fail(_: Any) -> Any:
        raise ValueError(SECRET)

    connection = duckdb.connect()
    connection.execute(f"create table t as select '{SECRET}' as v")
    frame = pl.DataFrame({"v": [SECRET]}).lazy()
    mapped = pl.DataFrame({"x": [1.0]}).lazy().map_batches(fail, schema={"x": pl.Float64})
    truncated = folder / "truncated.csv.gz"
    truncated.write_bytes(tables.csv_gz_file({"x": [1.0] * 99}, folder).read_bytes()[:-9])
    return {
        "duckdb": connection.sql("select v::double as x from t"),
        "polars": frame.select(x=pl.col("v").cast(pl.Float64)),
        "polars function": mapped,
        "truncated": truncated,
    }


@pytest.mark.parametrize(
    ("query", "form"),
    [
        *itertools.product(
            [dp.Sum("x"), dp.Median("x")], ["duckdb", "polars", "polars function", "truncated"]
        ),
        (dp.Count(), "polars function"),  # elsewhere a count need not read the column
        (dp.Count(), "truncated"),
    ],
)
def test_messages_of_engines_never_reach_the_reader(form: str, query: Any, tmp_path: Path) -> None:
    source = failing_sources(tmp_path)[form]
    dataset = dp.PrivateDataset(source, dp.Schema(x=dp.Real(0, 1)), unit=dp.PUBLIC)
    with pytest.raises(EngineFailed) as caught:
        exact_totals(dataset, query)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "4711" not in "".join(traceback.format_exception(caught.value))
