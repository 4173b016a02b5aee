"""Column types: those that fit give the same integers, those that can't are refused by name."""

from __future__ import annotations

import datetime
import decimal
import fractions
import math
import random
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import oracle
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import tables

import discreet as dp
from discreet.matching import ColumnMismatch
from discreet.testing import exact_totals

SMALL = dp.Schema(v=dp.Integer(-40, 100), w=dp.Real(-3.7, 1000.25), k=dp.Categorical(-4, 0, 1, 250))
QUERIES = [dp.Moments("v", "w"), dp.Sum("w"), dp.Sum("v"), dp.Histogram("k"), dp.Quantile("w")]


def integers(source: Any, schema: dp.Schema, query: Any, unit: Any = dp.PUBLIC) -> Any:
    return exact_totals(dp.PrivateDataset(source, schema, unit=unit), query).tolist()


def forms(column: pa.ChunkedArray | pa.Array, names: str = "vwk") -> dict[str, Any]:
    """A table with the same Arrow column under each of the names, in every frame engine."""
    table = pa.table(dict.fromkeys(names, column))
    frame = pl.from_arrow(table)
    return {
        "polars": frame,
        "polars lazy": frame.lazy(),
        "pandas": table.to_pandas(),
        "pandas arrow": table.to_pandas(types_mapper=pd.ArrowDtype),
        "pyarrow": table,
        "duckdb": duckdb.connect().from_arrow(table),
    }


def rows_of(cells: list[Any], names: str = "vwk") -> list[oracle.Row]:
    return [dict.fromkeys(names, cell) for cell in cells]


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("sign", ["int", "uint"])
def test_integer_types(sign: str, bits: int) -> None:
    kind = np.dtype(f"{sign}{bits}")
    limits = np.iinfo(kind)
    edges = {limits.min, limits.min + 1, limits.max, limits.max - 1, 2**53 + 1, 2**63 + 1}
    cells = [c for c in edges | {-4, 0, 1, 99, 100, 101, 250} if limits.min <= c <= limits.max]
    array = np.array(cells, kind)
    nulls = pa.array([*cells, None], pa.from_numpy_dtype(kind))
    for query in QUERIES:
        wanted = oracle.totals(query, SMALL, rows_of(cells))
        assert integers(dict.fromkeys("vwk", array), SMALL, query) == wanted
        for form, source in forms(pa.array(cells, pa.from_numpy_dtype(kind))).items():
            assert integers(source, SMALL, query) == wanted, form
    query = dp.Moments("v", "w")
    wanted = oracle.totals(query, SMALL, rows_of([*cells, None]))
    for form, source in forms(nulls).items():
        assert integers(source, SMALL, query) == wanted, form
    nullable = (
        pd.DataFrame({n: pd.array([*cells, None], kind.name.title()) for n in "vwk"})
        if (sign == "int")
        else pd.DataFrame({n: pd.array([*cells, None], f"UInt{bits}") for n in "vwk"})
    )
    assert integers(nullable, SMALL, query) == wanted


@pytest.mark.parametrize("kind", ["int64", "uint64"])
def test_integers_beyond_the_doubles(kind: str) -> None:
    """Bounds far above 2^53: the nearest double is taken, whoever converts."""
    schema = dp.Schema(t=dp.Real(0, 1.5e19), s=dp.Real(1.6e18, 1.7e18))
    draw = random.Random(3)
    most = np.iinfo(kind).max
    cells = [draw.randrange(most) for _ in range(50)] + [most, 0, 2**53 + 1, 16 * 10**17 + 1]
    column = pa.array(cells, pa.from_numpy_dtype(np.dtype(kind)))
    query = dp.Moments("t", "s")
    wanted = oracle.totals(query, schema, rows_of(cells, "ts"))
    assert integers(dict.fromkeys("ts", np.array(cells, kind)), schema, query) == wanted
    assert integers(dict.fromkeys("ts", cells), schema, query) == wanted
    for form, source in forms(column, "ts").items():
        assert integers(source, schema, query) == wanted, form


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_float_types(kind: str) -> None:
    schema = dp.Schema(w=dp.Real(0.1, 3.3), k=dp.Categorical(0.1, 0.5, 3))
    cells = np.array([0.1, 0.5, 3, 0.3, 1 / 3, 2.7, math.nan, math.inf, -math.inf, -0.0], kind)
    wide = [float(cell) for cell in cells]  # 0.1 as float32 is another number than 0.1
    for query in [dp.Sum("w"), dp.Mean("w"), dp.Histogram("k")]:
        wanted = oracle.totals(query, schema, rows_of(wide, "wk"))
        assert integers(dict.fromkeys("wk", cells), schema, query) == wanted
        assert integers({"w": list(cells), "k": list(cells)}, schema, query) == wanted
        sources = {"pandas": pd.DataFrame(dict.fromkeys("wk", cells))}
        if kind != "float16":
            sources |= forms(pa.array(cells), "wk")
        for form, source in sources.items():
            assert integers(source, schema, query) == wanted, form


def test_booleans_as_numbers_and_categories() -> None:
    schema = dp.Schema(v=dp.Integer(0, 1), k=dp.Categorical(False, True))
    cells = [True, False, None, True]
    for query in [dp.Sum("v"), dp.Histogram("k"), dp.Mean("v", where="k == True")]:
        uses, test = (("k",), lambda k: k["k"] == 1) if query.where is not None else ((), None)
        wanted = oracle.totals(query, schema, rows_of(cells, "vk"), test, uses)
        for form, source in forms(pa.array(cells), "vk").items():
            assert integers(source, schema, query) == wanted, form
        whole = oracle.totals(query, schema, rows_of([True, False], "vk"), test, uses)
        assert integers(dict.fromkeys("vk", np.array([True, False])), schema, query) == whole


def test_decimals() -> None:
    schema = dp.Schema(v=dp.Integer(-40, 100), w=dp.Real(-3.7, 1000.25), k=dp.Categorical(0.1, 2))
    draw = random.Random(1)
    for precision, scale in [(9, 3), (18, 5), (38, 2), (38, 20)]:
        whole = [draw.randrange(-(10**precision) + 1, 10**precision) for _ in range(200)]
        shift = decimal.Context(prec=60)
        cells = [shift.scaleb(decimal.Decimal(c), -scale) for c in whole]
        cells += [decimal.Decimal("0.10"), decimal.Decimal(2), None]
        floats = [None if cell is None else float(cell) for cell in cells]
        column = pa.array(cells, pa.decimal128(precision, scale))
        for query in [dp.Moments("v", "w"), dp.Sum("w"), dp.Histogram("k")]:
            wanted = oracle.totals(query, schema, rows_of(floats))
            assert integers(dict.fromkeys("vwk", cells), schema, query) == wanted
            for form, source in forms(column).items():
                assert integers(source, schema, query) == wanted, (form, precision, scale)


def test_text_types() -> None:
    cells = ["F", "M", "f", "", "Ä", "F ", "日本", "M"]
    schema = dp.Schema(s=dp.Categorical("F", "M", "日本", ""))
    query = dp.Histogram("s")
    wanted = oracle.totals(query, schema, [{"s": cell} for cell in cells])
    enum = pl.Enum(sorted(set(cells)))
    connection = duckdb.connect()
    names = ", ".join(f"'{cell}'" for cell in sorted(set(cells)))
    listed = ", ".join(f"('{cell}')" for cell in cells)
    connection.execute(f"create type kind as enum ({names})")
    sources = {
        "numpy": {"s": np.array(cells)},
        "numpy text": {"s": np.array(cells, np.dtypes.StringDType())},
        "numpy text with null": {
            "s": np.array(cells, np.dtypes.StringDType(na_object=None)),
        },
        "polars categorical": pl.DataFrame({"s": pl.Series(cells, dtype=pl.Categorical)}),
        "polars enum": pl.DataFrame({"s": pl.Series(cells, dtype=enum)}).lazy(),
        "polars object": pl.DataFrame({"s": pl.Series(cells, dtype=pl.Object)}),
        "pandas categorical": pd.DataFrame({"s": pd.Categorical(cells)}),
        "pandas str": pd.DataFrame({"s": pd.Series(cells, dtype="str")}),
        "pandas string": pd.DataFrame({"s": pd.Series(cells, dtype="string")}),
        "pandas arrow": pd.DataFrame({"s": pd.Series(cells, dtype=pd.ArrowDtype(pa.string()))}),
        "pandas arrow dictionary": pd.DataFrame(
            {"s": pd.Series(cells, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))}
        ),
        "duckdb enum": connection.sql(f"select s::kind as s from (values {listed}) t(s)"),
    }
    for form, source in sources.items():
        assert integers(source, schema, query) == wanted, form
    dropped = {"s": np.array([*cells[:2], None], np.dtypes.StringDType(na_object=None))}
    assert integers(dropped, schema, query) == [[1], [1], [0], [0]]


def test_many_categories(tmp_path: Path) -> None:
    values = [f"c{i}" for i in range(300)]
    numbers = [float(i) / 4 for i in range(300)]
    schema = dp.Schema(s=dp.Categorical(*values), t=dp.Categorical(*numbers, unknown=7.0)).derive(
        points=dp.Score({"s": list(range(300)), "t": [1] * 300}, link=list(range(0, 600, 2)))
    )
    draw = random.Random(0)
    table = {
        "s": [draw.choice([*values, "c", None, "c300"]) for _ in range(500)],
        "t": [draw.choice([*numbers, 0.1, None, math.nan, 1e300]) for _ in range(500)],
    }
    rows = [dict(zip("st", cells, strict=True)) for cells in zip(*table.values(), strict=True)]
    for query in [dp.Histogram("s"), dp.Histogram("t"), dp.Sum("points")]:
        wanted = oracle.totals(query, schema, rows)
        for form, source in tables.forms(table, {"s": "text", "t": "real"}, tmp_path).items():
            assert integers(source, schema, query) == wanted, form


def test_wide_gram_by_blas_equals_the_oracle(tmp_path: Path) -> None:
    names = [f"x{i}" for i in range(16)]
    schema = dp.Schema({name: dp.Real(-1, i + 1) for i, name in enumerate(names)})
    draw = random.Random(0)
    table = {
        n: [draw.choice([draw.uniform(-2, 9), math.nan, None]) for _ in range(30)] for n in names
    }
    rows = [dict(zip(names, cells, strict=True)) for cells in zip(*table.values(), strict=True)]
    query = dp.Gram(*names)
    assert len(query.terms(schema)) > 150
    wanted = oracle.totals(query, schema, rows)
    for form, source in tables.forms(table, dict.fromkeys(names, "real"), tmp_path).items():
        assert integers(source, schema, query) == wanted, form


WRONG: list[Any] = [
    "F", "7", 7, 7.5, True, None, b"F", 10**400, -(10**400), [1], {}, {1: 2}, object(), 1j,
    decimal.Decimal("3.5"), decimal.Decimal("sNaN"), decimal.Decimal("Infinity"),
    decimal.Decimal("1e999999"), fractions.Fraction(7, 2), pd.NA, pd.NaT, np.nan, np.float32(0.5),
    np.int8(3), np.uint64(2**64 - 1), np.bool_(True), np.timedelta64(3, "D"), np.str_("M"),
    np.datetime64("2020-01-01"), datetime.date(2020, 1, 1), np.longdouble("1e4000"), "\ud800", "F\0",
]  # fmt: skip


def test_cells_of_the_wrong_type() -> None:
    """Object columns hold anything: what is no number is null, what is no text matches nothing."""
    schema = dp.Schema(
        x=dp.Real(0, 10, fill=2), s=dp.Categorical("F", "M"), k=dp.Categorical(1, 3, 3.5, 0.5, 7)
    )
    table = dict.fromkeys(("x", "s", "k"), WRONG)
    rows = []
    for cell in WRONG:
        if isinstance(cell, np.timedelta64):
            cell = None
        elif isinstance(cell, decimal.Decimal | fractions.Fraction):
            cell = math.nan if "sNaN" in str(cell) else float(cell)
        rows.append(dict.fromkeys(("x", "s", "k"), cell))
    for query in [
        dp.Moments("x"),
        dp.Sum("x"),
        dp.Histogram("s"),
        dp.Histogram("k"),
        dp.Median("x"),
    ]:
        wanted = oracle.totals(query, schema, rows)
        for form, build in tables.LOOSE.items():
            assert integers(build(table, {}), schema, query) == wanted, form
        mixed = pl.DataFrame({n: pl.Series(n, c, dtype=pl.Object) for n, c in table.items()})
        assert integers(mixed, schema, query) == wanted


def test_masked_arrays_have_nulls_under_the_mask() -> None:
    schema = dp.Schema(x=dp.Integer(0, 10, fill=1))
    masked = np.ma.masked_array([5, 6, 7], [False, True, False])
    assert integers({"x": masked}, schema, dp.Sum("x")) == [[5 + 1 + 7]]


@pytest.mark.parametrize("cells", [["a", "b"], [1.0, "a"], [None, None], []])
def test_no_cell_decides_the_type_of_an_object_column(cells: list[Any]) -> None:
    """Whatever stands in them, columns of objects are accepted for every declaration."""
    number, text = dp.Schema(x=dp.Real(0, 1)), dp.Schema(x=dp.Categorical("a"))
    frame = pd.DataFrame({"x": pd.Series(cells, dtype=object)})
    for source in [frame, {"x": cells}, {"x": tables.objects(cells)}]:
        assert len(integers(source, number, dp.Sum("x"))) == 1
        assert integers(source, text, dp.Histogram("x")) == [[cells.count("a")]]


DATES = [datetime.date(2020, 1, 1)]
REFUSED = {
    "numpy dates": {"x": np.array(["2020-01-01"], "datetime64[D]")},
    "numpy complex": {"x": np.array([1j])},
    "numpy bytes": {"x": np.array([b"a"])},
    "polars dates": pl.DataFrame({"x": DATES}),
    "polars lists": pl.DataFrame({"x": [[1]]}),
    "polars null": pl.DataFrame({"x": [None]}),
    "polars lazy object": pl.DataFrame({"x": pl.Series([1], dtype=pl.Object)}).lazy(),
    "pandas dates": pd.DataFrame({"x": pd.to_datetime(DATES)}),
    "duckdb dates": duckdb.sql("select date '2020-01-01' as x"),
    "duckdb blob": duckdb.sql("select 'a'::blob as x"),
    "duckdb struct": duckdb.sql("select {'a': 1} as x"),
}


@pytest.mark.parametrize("form", list(REFUSED))
@pytest.mark.parametrize("column", [dp.Real(0, 1), dp.Categorical("a"), dp.Categorical(1)])
def test_types_that_never_match_are_refused_by_name(form: str, column: Any) -> None:
    with pytest.raises(ColumnMismatch, match="column 'x' is declared as"):
        dp.PrivateDataset(REFUSED[form], dp.Schema(x=column), unit=dp.PUBLIC)


@pytest.mark.parametrize(
    "source",
    [{"x": np.array(["a"])}, pl.DataFrame({"x": ["1"]}), pd.DataFrame({"x": ["1"]}, dtype="string"),
     duckdb.sql("select '1' as x")],
)  # fmt: skip
def test_text_is_no_number_and_numbers_are_no_text(source: Any) -> None:
    with pytest.raises(ColumnMismatch, match="'x' is declared as numbers"):
        dp.PrivateDataset(source, dp.Schema(x=dp.Real(0, 1)), unit=dp.PUBLIC)
    with pytest.raises(ColumnMismatch, match="'x' is declared as text"):
        dp.PrivateDataset({"x": np.array([1.0])}, dp.Schema(x=dp.Categorical("a")), unit=dp.PUBLIC)


@pytest.mark.parametrize(
    "source",
    [{"y": [1]}, pl.DataFrame({"y": [1]}), pd.DataFrame({7: [1]}), duckdb.sql("select 1 as y")],
)
def test_missing_columns_are_named(source: Any) -> None:
    with pytest.raises(ColumnMismatch, match=r"no column 'x'; it has 1 name, of which"):
        dp.PrivateDataset(source, dp.Schema(x=dp.Real(0, 1)), unit=dp.PUBLIC)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"x": np.zeros((2, 2))}, "one-dimensional"),
        ({"x": [1.0], "z": [1.0, 2.0]}, "same length"),
        ({"x": "abc"}, "'x' must be an array or a list, not str"),
        ({"x": 5}, "'x' must be an array or a list, not int"),
        (np.zeros((2, 3)), "needs 1 columns"),
        (7, "data must be a Polars, pandas, PyArrow, DuckDB, Dask, Spark or Ibis table"),
        ("nowhere.csv", "no file 'nowhere.csv'"),
        (__file__, "not a CSV file"),
    ],
)
def test_bad_sources(source: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError, OSError), match=message):
        dp.PrivateDataset(source, dp.Schema(x=dp.Real(0, 1)), unit=dp.PUBLIC)


def test_a_refusal_calls_categories_of_pandas_by_their_name() -> None:
    table = pd.DataFrame(
        {"day": pd.Categorical(["2024-01-01"]), "other": pd.Series(["x"], dtype=object)}
    )
    for name, kind in (("day", "Categorical"), ("other", "Object")):
        schema = dp.Schema({name: dp.Date("2024-01-01", "2024-12-31")})
        with pytest.raises(
            ColumnMismatch, match=f"its type in the table is {kind}: give it a type"
        ):
            dp.PrivateDataset(table, schema, unit=dp.PUBLIC)
