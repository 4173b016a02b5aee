"""Every kind of column, declared or derived, in one table on every engine at once: the same integers."""

from __future__ import annotations

import contextlib
import datetime
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pytest
import tables
import test_engine_matrix as matrix

import discreet as dp
from discreet import columns
from discreet.engines import open_engine
from discreet.queries import Check
from discreet.testing import exact_totals
from small_tables import as_columns

Day = datetime.date
FIRST, LAST = Day(2019, 2, 11), Day(2024, 12, 31)
#: Days outside of the bounds, which some engines hold as infinity, before Christ or after the year 9999.
BEFORE, AFTER = Day(1, 1, 1), Day(9999, 12, 31)
KINDS = {**matrix.KINDS, "day": "day", "seen": "time"}
SCHEMA = (
    dp.Schema(
        {name: matrix.SCHEMA[name] for name in matrix.KINDS if name != "person"}
        | {"day": dp.Date(FIRST, LAST), "seen": dp.Date(FIRST, LAST, fill="2020-02-29")}
    )
    .derive(**{name: matrix.SCHEMA[name] for name in ("band", "step", "near", "points", "level")})
    .derive(
        year=dp.Year("day"), month=dp.Month("day"), quarter=dp.Quarter("seen"),
        weekday=dp.Weekday("seen"), season=dp.Bins("day", ["2020-06-01", "2023-01-01"]),
        leaf=columns.Tree([("y", 2.5), ("sex", ("M",)), ("big", 1000.0)]),
    )
)  # fmt: skip
QUERIES = [
    dp.Histogram("year", "month"), dp.Histogram("quarter", "weekday"), dp.Histogram("season"),
    dp.Histogram("leaf", "near"), dp.Histogram("band", "level", "rating"),
    dp.Histogram("town", "flag", "step"),
    dp.Quantile("day"), dp.Quantile("seen", by="month"), dp.Quantile("y"), dp.Quantile("big"),
    dp.Mean("day", by="weekday"), dp.Mean("y", by="year"), dp.Sum("big", by="quarter"),
    dp.Sum("points"), dp.Variance("seen"), dp.Moments("x", "y", "n", "big"),
    dp.Gram("day", "y", "big"), dp.Estimate(dp.Mean("y", by="season")),
    dp.Count(by="month", where="day >= '2021-03-01' and weekday in (1, 7) or seen is None"),
    dp.Mean("seen", where="year != 2020 and y > 1.5 and quarter <= 3"),
    dp.Tighten(dp.Mean("big")), dp.Tighten(dp.Mean("y")),
]  # fmt: skip


def rows() -> tables.Table:
    """Hostile cells of every kind beside ordinary ones."""
    draw, table = random.Random(4), as_columns(matrix.DATA["dirty"], matrix.KINDS)
    many = len(table["x"])
    usual = [FIRST + datetime.timedelta(draw.randrange(-200, 2600)) for _ in range(many)]
    odd = [None, BEFORE, AFTER, Day(2024, 2, 29), FIRST, LAST, Day(1969, 12, 31), Day(1582, 10, 4)]
    table["day"] = [draw.choice([day, day, *odd]) for day in usual]
    clocks = [datetime.time.min, datetime.time.max, datetime.time(12, 30)]
    table["seen"] = [
        None if day is None else datetime.datetime.combine(day, draw.choice(clocks))
        for day in (draw.choice([day, day, *odd]) for day in usual[::-1])
    ]
    return table


def arrow_beyond(table: tables.Table) -> pa.Table:
    """The table in Arrow, its days outside of the bounds far beyond what a calendar has."""
    whole = tables.arrow(table, KINDS)
    far = {BEFORE: -(2**31) + 1, AFTER: 2**31 - 2}
    epoch = Day(1970, 1, 1).toordinal()
    ticks = [None if d is None else far.get(d, d.toordinal() - epoch) for d in table["day"]]
    days = pa.array(ticks, pa.int32()).cast(pa.date32())
    return whole.set_column(whole.column_names.index("day"), "day", days)


#: In SQL, days outside of the bounds become infinity and years before Christ.
BEYOND = [
    "update {table} set day = 'infinity' where day = '9999-12-31'",
    "update {table} set day = '0044-03-15 {bc}' where day = '0001-01-01'",
    "update {table} set seen = '-infinity' where seen < '0002-01-01'",
]


#: All of them, so that none is left out without a word.
EVERY = [
    "numpy", "polars", "polars lazy", "pandas", "pandas nullable", "pandas arrow", "pyarrow", "duckdb",
    "pyarrow beyond", "polars beyond", "pandas arrow beyond", "parquet", "duckdb url", "csv", "csv.gz",
    "duckdb beyond", "dask", "postgres", "postgres beyond", "ibis postgres beyond", "ibis duckdb",
]  # fmt: skip


def iter_sources(table: tables.Table, folder: Path, server: Any) -> Iterator[tuple[str, Any]]:
    """The table on every engine, with infinity and the like where an engine has them."""
    for name, build in tables.TYPED.items():
        yield name, build(table, KINDS)
    far = arrow_beyond(table)
    yield "pyarrow beyond", far
    yield "polars beyond", pl.from_arrow(far)
    yield "pandas arrow beyond", far.to_pandas(types_mapper=pd.ArrowDtype)
    for name, write in tables.TYPED_FILES.items():
        yield name, write(table, KINDS, folder)
    for name, put in tables.FILES.items():
        yield name, put(table, folder)
    connection = duckdb.connect()
    connection.register("given", tables.arrow(table, KINDS))
    connection.execute("create table beyond as select * from given")
    for statement in BEYOND:
        connection.execute(statement.format(table="beyond", bc="(BC)"))
    yield "duckdb beyond", connection.table("beyond")
    yield "dask", tables.dask_frame(table, KINDS)
    yield from iter_postgres(table, server)


def iter_postgres(table: tables.Table, server: Any) -> Iterator[tuple[str, Any]]:
    import ibis

    url = tables.postgres_url(table, KINDS, server, "kinds")
    yield "postgres", url
    with psycopg.connect(server.url(), autocommit=True) as connection:
        for statement in BEYOND:
            connection.execute(statement.format(table="kinds", bc="BC").encode())
        yield "postgres beyond", url
        yield "ibis postgres beyond", ibis.postgres.from_connection(connection).table("kinds")
    yield "ibis duckdb", ibis.duckdb.connect().create_table("kinds", tables.arrow(table, KINDS))


def integers(source: Any, unit: dp.Unit) -> dict[str, Any]:
    """The exact integers of every query, and of the check, which counts cells as they are."""
    data, engine = dp.PrivateDataset(source, SCHEMA, unit=unit), open_engine(source, SCHEMA, unit)
    asked = (
        QUERIES if unit.id_column is None else QUERIES[::4]
    )  # the rows kept are the same for all
    found: dict[str, Any] = {repr(query): exact_totals(data, query).tolist() for query in asked}
    parts = [engine.totals(part) for part in Check().parts(SCHEMA, unit)]
    found["check"] = Check().vector(parts, SCHEMA).tolist()
    return found


def compare(name: str, source: Any, wanted: list[dict[str, Any]]) -> None:
    for unit, expected in zip(UNITS, wanted, strict=True):
        found = integers(source, unit)
        for query, numbers in expected.items():
            assert found[query] == numbers, f"{query} in {name}, {unit!r}"


UNITS = [dp.Unit(dp.PUBLIC), dp.Unit(dp.PUBLIC, id_column="person", max_rows=2)]


def check_by_hand(table: tables.Table, found: dict[str, Any]) -> None:
    """What the calendar of Python says about the days, so that not all are wrong in the same way."""
    middle = Day.fromordinal((FIRST.toordinal() + LAST.toordinal()) // 2)
    days = [middle if day is None else min(max(day, FIRST), LAST) for day in table["day"]]
    months = Counter((day.year, day.month) for day in days)
    query = dp.Histogram("year", "month")
    assert np.ravel(found[repr(query)]).tolist() == [months[at] for at in query.labels(SCHEMA)]
    other = [Day(2020, 2, 29) if at is None else at.date() for at in table["seen"]]
    clamped = [min(max(day, FIRST), LAST) for day in other]
    parts = Counter(((day.month - 1) // 3 + 1, day.isoweekday()) for day in clamped)
    query = dp.Histogram("quarter", "weekday")
    assert np.ravel(found[repr(query)]).tolist() == [parts[at] for at in query.labels(SCHEMA)]


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.filterwarnings("ignore:fetch_arrow:DeprecationWarning")  # Ibis's own
def test_every_kind_of_column_has_the_same_integers_on_every_engine(
    tmp_path: Path, postgres_server: Any
) -> None:
    table = rows()
    wanted = [integers(tables.arrays(table, KINDS), unit) for unit in UNITS]
    check_by_hand(table, wanted[0])
    with contextlib.closing(iter_sources(table, tmp_path, postgres_server)) as sources:
        names = []
        for name, source in sources:
            compare(name, source, wanted)
            names.append(name)
    assert names == EVERY


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_every_kind_of_column_has_the_same_integers_on_spark() -> None:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17; install a Java runtime to run this test")
    table, session = rows(), tables.spark_session()
    wanted = [integers(tables.arrays(table, KINDS), unit) for unit in UNITS]
    try:
        compare("spark", tables.spark_frame(table, KINDS, session), wanted)
    finally:
        session.stop()
