"""Dates are the same integers in every engine: whole days, clamped, and parts of them by our own calendar."""

from __future__ import annotations

import datetime
import random
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

import discreet as dp
from discreet.engines import open_engine
from discreet.matching import ColumnMismatch
from discreet.queries import Check
from discreet.testing import exact_totals

Day = datetime.date
NONE = "missing"
#: Bounds of all kinds: usual ones, a day, the ends of the calendar, and years that nanoseconds don't reach.
BOUNDS = [
    ("2019-02-11", "2024-12-31"),
    ("2024-02-29", "2024-02-29"),
    ("0001-01-01", "0004-03-01"),
    ("9996-01-01", "9999-12-31"),
    ("1500-01-01", "1600-12-31"),
    ("1677-09-21", "1677-09-23"),
    ("1600-01-01", "2400-01-01"),
    ("2262-04-11", "2300-01-01"),
    ("2300-01-01", "2301-01-01"),
]


def days(seed: int = 0) -> list[Day | None]:
    draw = random.Random(seed)
    found: list[Day | None] = [
        None, Day(1, 1, 1), Day(9999, 12, 31), Day(2024, 2, 29), Day(1969, 12, 31), Day(1900, 2, 28),
        Day(2000, 2, 29), Day(1677, 9, 21), Day(1677, 9, 22), Day(2262, 4, 11), Day(2262, 4, 10),
    ]  # fmt: skip
    found += [Day(2018, 1, 1) + datetime.timedelta(draw.randrange(365 * 8)) for _ in range(60)]
    return found + [Day.fromordinal(draw.randrange(1, Day.max.toordinal())) for _ in range(40)]


def times(cells: list[Day | None], seed: int = 0) -> list[datetime.datetime | None]:
    """A moment of each day, often its first or its last."""
    draw = random.Random(seed)
    ends = [datetime.time.min, datetime.time.max, datetime.time(12, 30)]
    return [None if c is None else datetime.datetime.combine(c, draw.choice(ends)) for c in cells]


def schema_of(first: str, last: str) -> dp.Schema:
    return dp.Schema(day=dp.Date(first, last)).derive(
        year=dp.Year("day"),
        month=dp.Month("day"),
        quarter=dp.Quarter("day"),
        weekday=dp.Weekday("day"),
    )


PARTS: dict[str, Any] = {
    "year": lambda day: day.year,
    "month": lambda day: day.month,
    "quarter": lambda day: (day.month - 1) // 3 + 1,
    "weekday": lambda day: day.isoweekday(),
}


def clamp(day: Day | None, first: Day, last: Day) -> Day:
    if day is None:
        return Day.fromordinal((first.toordinal() + last.toordinal()) // 2)
    return min(max(day, first), last)


def check(source: Any, cells: list[Day | None], first: str, last: str, no: str = NONE) -> None:
    """Compare with Python's own dates; `no` is the state of cells without one."""
    schema = schema_of(first, last)
    data = dp.PrivateDataset(source, schema, unit=dp.PUBLIC)
    lower, upper = Day.fromisoformat(first), Day.fromisoformat(last)
    clamped = [clamp(cell, lower, upper) for cell in cells]
    tally = exact_totals(data, dp.Quantile("day")).tolist()
    wanted = sorted((day - lower).days for day in clamped)
    assert [code for _, code, count in tally for _ in range(count)] == wanted
    for names in (("year", "quarter"), ("month", "weekday")):
        query = dp.Histogram(*names)
        counts = Counter(tuple(PARTS[name](day) for name in names) for day in clamped)
        found = exact_totals(data, query).ravel().tolist()
        assert found == [counts[label] for label in query.labels(schema)], names
    present = exact_totals(data, dp.Count(where="day is not None")).item()
    assert present == sum(cell is not None for cell in cells)
    assert exact_totals(data, dp.Count(where="day is None")).item() == len(cells) - present
    middle = clamp(None, lower, upper)
    since = exact_totals(data, dp.Count(where=f"day >= '{middle}' and month <= 9")).item()
    assert since == sum(day >= middle and day.month <= 9 for day in clamped)
    check_parts(data, clamped, middle)
    check_states(source, cells, first, last, no)


def check_parts(data: dp.PrivateDataset, clamped: list[Day], middle: Day) -> None:
    """Compare a condition on parts of a date, beside a group by one of them, with Python's own."""

    def holds(day: Day) -> bool:
        early = day.month != 7 and day.year <= middle.year
        return early or day.isoweekday() == 3 or PARTS["quarter"](day) in (2, 4)

    where = f"month != 7 and year <= {middle.year} or weekday == 3 or quarter in (2, 4)"
    months = Counter(day.month for day in clamped if holds(day))
    found = exact_totals(data, dp.Count(by="month", where=where)).ravel().tolist()
    assert found == [months[at] for at in range(1, 13)]


def state_of(day: Day | None, first: Day, last: Day, no: str) -> str:
    if day is None:
        return no
    return "before" if day < first else "after" if day > last else "within"


def count_states(source: Any, schema: dp.Schema, unit: dp.Unit) -> list[int]:
    """The counts of a check before noise."""
    query, engine = Check(), open_engine(source, schema, unit)
    parts = [engine.totals(part) for part in query.parts(schema, unit)]
    found: list[int] = query.vector(parts, schema).tolist()
    return found


def check_states(source: Any, cells: list[Day | None], first: str, last: str, no: str) -> None:
    """Compare the counts of a check with Python's own comparisons."""
    schema = dp.Schema(day=dp.Date(first, last))
    ends = Day.fromisoformat(first), Day.fromisoformat(last)
    counts = Counter(("day", state_of(cell, *ends, no)) for cell in cells)
    found = count_states(source, schema, dp.Unit(dp.PUBLIC))
    assert found == [counts[label] for label in Check().labels(schema)]


def iter_forms(cells: list[Day | None], folder: Path) -> Iterator[tuple[str, Any]]:
    """The same days in every type of every engine in memory, and in files."""
    moments = times(cells)
    arrow_days = pa.table({"day": pa.array(cells, pa.date32())})
    arrow_times = pa.table({"day": pa.array(moments, pa.timestamp("us"))})
    micro = np.array(moments, "datetime64[us]")
    yield "numpy D", {"day": np.array(cells, "datetime64[D]")}
    yield "numpy swapped", {"day": micro.astype(">M8[us]")}
    masked = np.ma.MaskedArray(micro, [cell is None for cell in cells])
    yield "numpy masked", {"day": masked}
    yield "arrow date", arrow_days
    yield "pandas arrow date", arrow_days.to_pandas(types_mapper=pd.ArrowDtype)
    yield "pandas arrow us", arrow_times.to_pandas(types_mapper=pd.ArrowDtype)
    yield "polars date", pl.DataFrame({"day": pl.Series(cells, dtype=pl.Date)})
    yield "polars lazy", pl.DataFrame({"day": pl.Series(cells, dtype=pl.Date)}).lazy()
    for unit in ("h", "m", "s", "ms", "us"):
        yield f"numpy {unit}", {"day": micro.astype(f"datetime64[{unit}]")}
    for unit in ("s", "ms", "us"):
        whole = pa.array(micro.astype(f"datetime64[{unit}]"))  # Arrow itself rounds towards 1970
        yield f"arrow {unit}", pa.table({"day": whole})
        frame = pd.DataFrame({"day": pd.Series(micro.astype(f"datetime64[{unit}]"))})
        yield f"pandas {unit}", frame
        yield f"pandas column {unit}", {"day": frame["day"]}
        yield f"duckdb {unit}", duckdb.connect().from_arrow(pa.table({"day": whole}))
    for polars_unit in ("ms", "us"):
        series = pl.Series(moments, dtype=pl.Datetime(polars_unit))
        yield f"polars {polars_unit}", pl.DataFrame({"day": series})
        yield f"polars column {polars_unit}", {"day": series}
    yield "duckdb date", duckdb.connect().from_arrow(arrow_days)
    for name, rows in (("date", arrow_days), ("time", arrow_times)):
        path = folder / f"{name}.parquet"
        pa.parquet.write_table(rows, path)
        yield f"parquet {name}", path
    texts = ["" if cell is None else cell.isoformat() for cell in cells]
    (folder / "days.csv").write_text("day,x\n" + "".join(f"{text},1\n" for text in texts))
    yield "csv", folder / "days.csv"
    stamps = ["" if moment is None else moment.isoformat() for moment in moments]
    (folder / "times.csv").write_text("day,x\n" + "".join(f"{text},1\n" for text in stamps))
    yield "csv times", folder / "times.csv"


def check_forms(folder: Path, choose: Any) -> None:
    cells = days()
    for turn, (name, source) in enumerate(iter_forms(cells, folder)):
        for bounds in choose(turn):
            try:
                check(source, cells, *bounds)
            except Exception as error:
                error.add_note(f"in {name}, between {bounds}")
                raise


def test_every_engine_has_the_days_of_the_calendar(tmp_path: Path) -> None:
    check_forms(tmp_path, lambda turn: [BOUNDS[turn % len(BOUNDS)]])


@pytest.mark.long
@pytest.mark.timeout(900)
def test_every_engine_has_the_days_of_the_calendar_between_all_bounds(tmp_path: Path) -> None:
    check_forms(tmp_path, lambda turn: BOUNDS)


@pytest.mark.parametrize("bounds", [BOUNDS[at] for at in (5, 6, 8)], ids="/".join)
def test_nanoseconds_hold_few_years_and_every_bound_still_works(bounds: tuple[str, str]) -> None:
    edges = [-(2**63) + 1, -(2**63) + 2, 2**63 - 1, 0, -1, 1, 86_400 * 10**9 - 1, -86_400 * 10**9]
    draw = random.Random(1)
    ticks = np.array(edges + [draw.randrange(-(2**63) + 1, 2**63) for _ in range(50)], np.int64)
    first, last = Day(1677, 9, 22), Day(2262, 4, 10)  # whole days; beyond may stand for infinity
    cells: list[Day | None] = [
        Day.min if day < first else Day.max if day > last else day
        for tick in ticks.tolist()
        for day in [Day.fromordinal(tick // (86_400 * 10**9) + Day(1970, 1, 1).toordinal())]
    ]
    cells.append(None)
    moments = np.append(ticks, -(2**63)).view("datetime64[ns]")
    arrow = pa.table(
        {"day": pa.array([*ticks.tolist(), None], pa.int64()).cast(pa.timestamp("ns"))}
    )
    sources = {
        "numpy": {"day": moments},
        "pandas": pd.DataFrame({"day": moments}),
        "pandas arrow": arrow.to_pandas(types_mapper=pd.ArrowDtype),
        "arrow": arrow,
        "polars": pl.from_arrow(arrow),
        "duckdb": duckdb.connect().from_arrow(arrow),
    }
    for source in sources.values():
        check(source, cells, *bounds)


def test_days_beyond_the_calendar_are_clamped() -> None:
    """Infinity, years before Christ and after 9999: told by comparison, never by a year."""
    extremes = np.array([-(2**31) + 1, -800_000, 3_000_000, 2**31 - 2], np.int32)
    arrow = pa.table({"day": pa.array(extremes, pa.int32()).cast(pa.date32())})
    cells: list[Day | None] = [Day.min, Day.min, Day.max, Day.max]
    large = np.array([-(2**63) + 1, -(2**61), 2**61, 2**63 - 1], np.int64)
    seconds = {"day": large.view("datetime64[s]")}
    literals = ["-infinity", "0044-03-15 (BC)", "10000-01-01", "infinity"]
    for bounds in (BOUNDS[0], BOUNDS[2]):
        for source in (arrow, pl.from_arrow(arrow), arrow.to_pandas(types_mapper=pd.ArrowDtype)):
            check(source, cells, *bounds)
        check(seconds, cells, *bounds)
        for kind in ("date", "timestamp"):
            rows = ", ".join(f"('{text}'::{kind})" for text in literals)
            check(duckdb.connect().sql(f"select * from (values {rows}) t(day)"), cells, *bounds)


#: What a CSV cell says, and the day that it is; None where it is no date.
TEXTS: dict[str, Day | None] = {
    "2024-02-29": Day(2024, 2, 29),
    " 2024-02-29\t": Day(2024, 2, 29),
    "2024-02-29T23:59:59.999999": Day(2024, 2, 29),
    "2024-02-29 00:00": Day(2024, 2, 29),
    "2024-02-29T23:30:00Z": Day(2024, 2, 29),  # the day that is written, whatever the zone
    "2024-02-29T23:30:00-11:00": Day(2024, 2, 29),
    "0001-01-01": Day(1, 1, 1),
    "9999-12-31": Day(9999, 12, 31),
    "": None, "NaT": None, "null": None, "2023-02-29": None, "2024-02-30": None, "2024-13-01": None,
    "2024-00-01": None, "0000-01-01": None, "2024-2-9": None, "24-02-09": None, "20240229": None,
    "29.02.2024": None, "02/29/2024": None, "2024-02-29x": None, "2024-02-29T": None,
    "2024-02-29T24:00": None, "2024-02-29T10": None, "-0044-03-15": None, "12024-01-01": None,
    "２０２４-02-29": None, "2024-02-29\x00": None, "2024–02–29": None, "infinity": None, "19782": None,
    "2024-W09-4": None, "2024-060": None, "\udcff2024-02-29": None, "2024-02-29\r": None,
}  # fmt: skip


def test_files_name_days_in_iso_form(tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    for text, day in TEXTS.items():
        path.write_bytes(f"day,x\n{text},1\n".encode("utf-8", "surrogateescape"))
        for bounds in (("0001-01-01", "2000-01-01"), ("2020-01-01", "2025-12-31")):
            check(path, [day], *bounds, NONE if text in ("", "NaT", "null") else "not a date")


def test_files_of_any_bytes_never_raise(tmp_path: Path) -> None:
    draw, path = random.Random(0), tmp_path / "days.csv"
    alphabet = b'0123456789--::TZ. ,"\n\r\t\x00\xff\xc3\xa9'
    schema = schema_of("2020-01-01", "2024-12-31")
    for _ in range(300):
        content = bytes(draw.choices(alphabet, k=draw.randrange(60)))
        path.write_bytes(b"day,x\n" + content)
        data = dp.PrivateDataset(path, schema, unit=dp.PUBLIC)
        assert exact_totals(data, dp.Histogram("month", "weekday")).shape == (84, 1)


REFUSED = {
    "zoned pandas": lambda: pd.DataFrame({"day": pd.date_range("2024", periods=2, tz="UTC")}),
    "zoned pandas column": lambda: {"day": pd.Series(pd.date_range("2024", periods=2, tz="UTC"))},
    "zoned polars": lambda: pl.DataFrame({"day": pl.Series([], dtype=pl.Datetime("us", "UTC"))}),
    "zoned polars column": lambda: {"day": pl.Series([], dtype=pl.Datetime("us", "UTC"))},
    "zoned arrow": lambda: pa.table({"day": pa.array([], pa.timestamp("us", "UTC"))}),
    "zoned arrow column": lambda: {"day": pa.array([], pa.timestamp("us", "UTC"))},
    "zoned duckdb": lambda: duckdb.connect().sql("select now() as day"),
    "objects of pandas": lambda: pd.DataFrame({"day": pd.Series([Day(2024, 1, 1)], dtype=object)}),
    "a list": lambda: {"day": [Day(2024, 1, 1)]},
    "objects of numpy": lambda: {"day": np.array([Day(2024, 1, 1)], object)},
    "text": lambda: pl.DataFrame({"day": ["2024-01-01"]}),
    "numbers": lambda: {"day": np.array([19_000])},
    "months": lambda: {"day": np.array(["2024-01"], "datetime64[M]")},
    "weeks of two": lambda: {"day": np.array(["2024-01-01"], "datetime64[2D]")},
    "no unit": lambda: {"day": np.array(["NaT"], "datetime64")},
    "durations": lambda: {"day": np.array([1], "timedelta64[D]")},
    "date64": lambda: pa.table({"day": pa.array([Day(2024, 1, 1)], pa.date64())}),
    "times of day": lambda: duckdb.connect().sql("select time '10:00' as day"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_other_types_are_refused_with_the_remedy(name: str) -> None:
    wanted = "AT TIME ZONE" if name.startswith("zoned") else "to_datetime"
    with pytest.raises(ColumnMismatch, match=wanted):
        dp.PrivateDataset(REFUSED[name](), schema_of("2024-01-01", "2024-12-31"), unit=dp.PUBLIC)


@pytest.mark.parametrize("declared", [dp.Real(0, 1), dp.Categorical("a", "b"), dp.Text()])
def test_dates_that_are_declared_as_something_else_are_refused(declared: Any) -> None:
    for source in (pl.DataFrame({"day": [Day(2024, 1, 1)]}), {"day": np.array(["2024"], "M8[D]")}):
        with pytest.raises(ColumnMismatch, match=r"dp\.Date\(first, last\)"):
            dp.PrivateDataset(source, dp.Schema(day=declared), unit=dp.PUBLIC)


def test_rows_of_a_person_are_kept_in_one_order_everywhere(tmp_path: Path) -> None:
    cells, draw = days(3), random.Random(2)
    people = [draw.randrange(9) for _ in cells]
    arrow = pa.table({"day": pa.array(cells, pa.date32()), "id": pa.array(people, pa.int64())})
    path = tmp_path / "days.csv"
    texts = ["" if cell is None else cell.isoformat() for cell in cells]
    path.write_text("day,id\n" + "".join(f"{t},{p}\n" for t, p in zip(texts, people, strict=True)))
    schema = schema_of("2019-02-11", "2024-12-31")
    sources = (
        {"day": np.array(cells, "datetime64[D]"), "id": np.array(people)},
        arrow, pl.from_arrow(arrow), arrow.to_pandas(types_mapper=pd.ArrowDtype),
        duckdb.connect().from_arrow(arrow), path,
    )  # fmt: skip
    unit = dp.Unit(dp.PUBLIC, "id", 2)
    found = [
        exact_totals(
            dp.PrivateDataset(source, schema, unit=unit), dp.Histogram("year", "month")
        ).tolist()
        for source in sources
    ]
    assert all(other == found[0] for other in found)
    states = [count_states(source, schema, unit) for source in sources]
    assert all(other == states[0] for other in states)


def test_postgresql_has_the_same_days(postgres_server: Any) -> None:
    cells = days()
    url = postgres_server.url(postgres_server.new_database("dates"))
    extremes = ["infinity", "-infinity", "0044-03-15 BC", "4713-01-01 BC", "5000-01-01"]
    for kind, values in (("date", cells), ("timestamp", times(cells))):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"create table {kind}s (day {kind})".encode())
            for value in [*values, *extremes]:
                connection.execute(f"insert into {kind}s values (%s)".encode(), (value,))
        clamped = [Day.max, Day.min, Day.min, Day.min, Day(5000, 1, 1)]
        for bounds in (BOUNDS[0], BOUNDS[3]):
            check(f"{url}?table={kind}s", [*cells, *clamped], *bounds)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(b"create table zoned (day timestamptz)")
    with pytest.raises(ColumnMismatch, match="AT TIME ZONE"):
        check(f"{url}?table=zoned", [], *BOUNDS[0])


@pytest.mark.filterwarnings("ignore:fetch_arrow:DeprecationWarning")  # Ibis's own
def test_ibis_has_the_same_days() -> None:
    ibis = pytest.importorskip("ibis")
    cells = days()
    rows = pa.table({"day": pa.array(times(cells), pa.timestamp("us"))})
    connection = ibis.duckdb.connect()
    check(connection.create_table("rows", rows), cells, *BOUNDS[0])


def test_dask_has_the_same_days() -> None:
    dask = pytest.importorskip("dask.dataframe")
    cells = days()
    frame = pd.DataFrame({"day": pd.Series(np.array(times(cells), "datetime64[us]"))})
    check(dask.from_pandas(frame, npartitions=3), cells, *BOUNDS[0])


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_spark_has_the_same_days() -> None:
    session = tables.spark_session()
    try:
        cells = days()
        rows = [(cell,) for cell in cells]
        dates = session.createDataFrame(rows, "day date")
        check(dates, cells, "1900-01-01", "2025-12-31")  # so many years that days are listed
        with pytest.raises(ColumnMismatch, match="from the year 1001 on"):
            check(dates, cells, *BOUNDS[2])
        moments = [(moment,) for moment in times(cells)]
        check(session.createDataFrame(moments, "day timestamp_ntz"), cells, *BOUNDS[0])
        with pytest.raises(ColumnMismatch, match="AT TIME ZONE"):
            check(session.createDataFrame(moments[:0], "day timestamp"), [], *BOUNDS[0])
    finally:
        session.stop()
