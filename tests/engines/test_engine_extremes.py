"""Extreme cells of every physical type, on every engine: they answer, and with the same integers."""

from __future__ import annotations

import datetime
import math
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import oracle
import physical
import pyarrow as pa
import pytest
import test_engine_dates as dates

import discreet as dp
from discreet.testing import exact_totals

#: Bounds of dates: usual ones, and both ends of the calendar.
DAYS = [("2019-02-11", "2024-12-31"), ("0001-01-01", "0004-03-01"), ("9996-01-01", "9999-12-31")]
NUMBERS = [
    (dp.Schema(x=dp.Real(0, 10)), [dp.Moments("x"), dp.Sum("x"), dp.Quantile("x")]),
    (dp.Schema(x=dp.Integer(-3, 100)), [dp.Sum("x")]),
    (dp.Schema(x=dp.Categorical(0, 1, 3)), [dp.Histogram("x")]),
]
TEXTS = dp.Schema(x=dp.Categorical("a", "", "é", "a\0"))
#: Opens a source, or gives None where its type is refused before a cell is read.
Opener = Callable[..., dp.PrivateDataset | None]


def check_numbers(opened: Opener, column: physical.Column) -> None:
    rows = [{"x": cell} for cell in column.cells]
    for schema, queries in NUMBERS:
        if (data := opened(schema)) is None:
            continue
        for query in queries:
            found = exact_totals(data, query).tolist()
            if isinstance(query, dp.Quantile):
                codes = [oracle.grid(schema.base["x"], cell, 20) for cell in column.cells]
                assert [k for _, k, n in found for _ in range(n)] == sorted(codes)
            else:
                assert found == oracle.totals(query, schema, rows), query
    check_ids(opened, NUMBERS[0][0], column)


def check_texts(opened: Opener, column: physical.Column) -> None:
    if (data := opened(TEXTS)) is not None:
        wanted = [[column.cells.count(value)] for value in TEXTS.base["x"].values]
        assert exact_totals(data, dp.Histogram("x")).tolist() == wanted
    check_ids(opened, TEXTS, column)


def check_ids(opened: Opener, schema: dp.Schema, column: physical.Column) -> None:
    """Different cells are different persons; a cell that is no text or finite number is none."""
    data = opened(schema, dp.Unit(dp.PUBLIC, id_column="x", max_rows=1))
    ids = {cell for cell in column.array.to_pylist() if cell is not None}
    ids = {cell for cell in ids if not isinstance(cell, float) or math.isfinite(cell)}
    if data is not None:
        assert exact_totals(data, dp.Count()).item() == len(ids)


def check_days(opened: Opener, column: physical.Column) -> None:
    for bounds in DAYS:
        schema, unit = dp.Schema(day=dp.Date(*bounds)), dp.Unit(dp.PUBLIC)
        if (data := opened(schema, unit)) is None:
            continue
        first, last = map(datetime.date.fromisoformat, bounds)
        clamped = [dates.clamp(cell, first, last) for cell in column.cells]
        found = exact_totals(data, dp.Quantile("day")).tolist()
        wanted = sorted((day - first).days for day in clamped)
        assert [code for _, code, count in found for _ in range(count)] == wanted
        present = exact_totals(data, dp.Count(where="day is not None")).item()
        assert present == sum(cell is not None for cell in column.cells)
        dates.check_states(data._engine, column.cells, *bounds, dates.NONE)


def check_refused(opened: Opener, column: physical.Column) -> None:
    """Where a package has made something else of a column, such as objects, it answers."""
    for schema, query in (
        (NUMBERS[0][0], dp.Sum("x")),
        (TEXTS, dp.Histogram("x")),
        (dp.Schema(x=dp.Date(*DAYS[0])), dp.Mean("x")),
    ):
        if (data := opened(schema)) is not None:
            exact_totals(data, query)


CHECKS = {"number": check_numbers, "text": check_texts, "day": check_days, "refused": check_refused}


def answer(column: physical.Column, form: str, folder: Path) -> int:
    """Check a column in a form; how often it was opened. Its cells decide nothing but the integers."""
    name, build, count = "day" if column.kind == "day" else "x", physical.FORMS[form], 0
    table = pa.table({name: column.array})
    with physical.building():
        source = build(table, folder)

    def opened(schema: dp.Schema, unit: Any = dp.PUBLIC) -> dp.PrivateDataset | None:
        nonlocal count
        try:
            data = dp.PrivateDataset(source, schema, unit=unit)
        except Exception as error:
            empty = build(table.slice(0, 0), Path(tempfile.mkdtemp(dir=folder)))
            with pytest.raises(type(error), match=f"^{re.escape(str(error))}$"):
                dp.PrivateDataset(empty, schema, unit=unit)  # of no row at all it says the same
            return None
        count += 1
        return data

    CHECKS[column.kind](opened, column)
    return count


def answer_in_all(column: physical.Column, folder: Path, forms: list[str]) -> dict[str, int]:
    """How often each form was opened; those that a package can't make are left out."""
    found = {}
    for form in forms:
        try:
            found[form] = answer(column, form, folder)
        except physical.Unbuilt:
            continue
        except BaseException as error:
            error.add_note(f"in {form}")
            raise
    return found


#: What runs in the usual tests; the rest of the forms is long.
QUICK = ["arrow", "arrow column", "pandas arrow", "polars", "duckdb", "parquet"]
#: Types that hold numbers and that Narwhals doesn't know in a table of Arrow's: refused when it is opened.
UNKNOWN = {"decimal32", "decimal64", "decimal256 wide"}


@pytest.mark.parametrize("name", list(physical.COLUMNS))
def test_extreme_cells_of_every_type_are_answered(name: str, tmp_path: Path) -> None:
    found = answer_in_all(physical.COLUMNS[name], tmp_path, QUICK)
    assert bool(found["arrow"]) == (name in physical.TAKEN.keys() - UNKNOWN)


@pytest.mark.long
@pytest.mark.parametrize("name", list(physical.COLUMNS))
def test_extreme_cells_of_every_type_are_answered_in_every_form(name: str, tmp_path: Path) -> None:
    answer_in_all(physical.COLUMNS[name], tmp_path, [f for f in physical.FORMS if f not in QUICK])


@pytest.mark.parametrize("kind", list(physical.DUCKDB))
def test_extreme_cells_of_duckdb_are_answered(kind: str) -> None:
    what, written, cells = physical.DUCKDB[kind]
    name = "day" if what == "day" else "x"
    source = physical.duckdb_table(kind, written, name)
    column = physical.Column(what, pa.array([None if c is None else str(c) for c in cells]), cells)

    def opened(schema: dp.Schema, unit: Any = dp.PUBLIC) -> dp.PrivateDataset:
        return dp.PrivateDataset(source, schema, unit=unit)

    CHECKS[what](opened, column)


def test_no_type_of_arrow_is_left_out() -> None:
    """A type that a new version brings must be written down here, with its extreme cells."""
    known = {array.type.id for array in (c.array for c in physical.COLUMNS.values())}
    ids = {name: value for name, value in vars(pa.lib).items() if name.startswith("Type_")}
    old = {"Type_INTERVAL_MONTHS", "Type_INTERVAL_DAY_TIME"}  # Python can't make them
    assert {name for name, value in ids.items() if value not in known} <= old
