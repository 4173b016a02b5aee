"""The counts of a check: the same integers on every engine, those of a plain loop."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import hostile
import numpy as np
import pandas as pd
import pytest
import tables

import discreet as dp
from discreet.engines import open_engine
from discreet.queries import Check

SCHEMA = dp.Schema(
    x=dp.Real(-1, 3),
    n=dp.Integer(0, 4),
    c=dp.Categorical("a", "é"),
    k=dp.Categorical(1, 2.5, unknown=1),
    f=dp.Categorical(True, False),
    u=dp.Real(),
)
KINDS = {
    "x": "real",
    "n": "whole",
    "c": "text",
    "k": "real",
    "f": "flag",
    "u": "real",
    "who": "text",
}
STATES = {
    "x": lambda v: number_state(v, -1, 3),
    "n": lambda v: number_state(v, 0, 4),
    "c": lambda v: "within" if v in ("a", "é") else "unknown",
    "k": lambda v: "within" if v in (1, 2.5) else "unknown",
    "f": lambda v: "unknown" if v is None else "within",
    "u": lambda v: number_state(v, -math.inf, math.inf),
}


def number_state(value, low, high):
    if value is None or math.isnan(value):
        return "missing"
    return "below" if value < low else "above" if value > high else "within"


def sample(seed: int, length: int) -> tables.Table:
    draw = random.Random(seed)
    reals = [
        None,
        math.nan,
        math.inf,
        -math.inf,
        -1.0,
        3.0,
        3.0000000000000004,
        -1.0000000000000002,
    ]
    reals += [0.5, 1e300, 5e-324, -0.0]
    columns = {
        "x": reals,
        "n": [None, 0, 4, 5, -1, 2, 2**62, -(2**63)],
        "c": [None, "a", "A", "é", "", "e\u0301"],
        "k": [None, 1.0, 2.5, 2.0, math.nan],
        "f": [True, False, None],
        "u": reals,
        "who": ["p", "q", "r", "s", None],
    }
    return {name: [draw.choice(cells) for _ in range(length)] for name, cells in columns.items()}


def count_plainly(table, rows):
    """The slow, obvious count of every state over some rows."""
    counts = {}
    for name, state in STATES.items():
        for row in rows:
            key = (name, state(table[name][row]))
            counts[key] = counts.get(key, 0) + 1
    return counts


def integers(source, unit, query=None):
    query = query or Check()
    engine = open_engine(source, SCHEMA, unit)
    found = query.vector([engine.totals(p) for p in query.parts(SCHEMA, unit)], SCHEMA)
    return found.tolist()


ENGINES = [
    tables.arrays,
    tables.object_arrays,
    tables.lists,
    tables.arrow,
    tables.polars_eager,
    tables.polars_lazy,
    tables.pandas_default,
    tables.pandas_nullable,
    tables.pandas_arrow,
    tables.pandas_object,
    tables.duckdb_relation,
    tables.dask_frame,
]


@pytest.mark.parametrize("build", ENGINES, ids=lambda build: build.__name__)
@pytest.mark.parametrize("length", [0, 1, 60])
def test_every_engine_counts_what_a_plain_loop_counts(build, length):
    table = sample(length, length)
    unit = dp.Unit(dp.PUBLIC)
    plain = count_plainly(table, range(length))
    labels = Check().labels(SCHEMA)
    assert integers(build(table, KINDS), unit) == [plain.get(label, 0) for label in labels]


#: Cells of a column of numbers, and the state that each is in; what a file can't hold isn't text.
CELLS: list[tuple[Any, str]] = [
    (None, "missing"), (math.nan, "missing"), (pd.NA, "missing"), (pd.NaT, "missing"), ("", "missing"),
    (" ", "missing"), ("NA", "missing"), ("n/a", "missing"), ("NaN", "missing"), ("null", "missing"),
    (Decimal("NaN"), "missing"), (np.datetime64("NaT"), "missing"), ("1,5", "not a number"),
    ("x", "not a number"), ("12 EUR", "not a number"), ("-", "not a number"), ([], "not a number"),
    ({}, "not a number"), (b"1", "not a number"), (np.datetime64("2024"), "not a number"),
    (-2, "below"), (0.5, "within"), (True, "within"), (Decimal("2"), "within"), (7, "above"),
    (math.inf, "above"),
]  # fmt: skip
HOSTILE_CELLS = [(cell, None) for cell, _ in hostile.HOSTILE]


def count_one(source: Any, schema: dp.Schema) -> dict[str, int]:
    query, unit = Check("x"), dp.Unit(dp.PUBLIC)
    engine = open_engine(source, schema, unit)
    found = query.vector([engine.totals(p) for p in query.parts(schema, unit)], schema)
    return dict(zip((state for _, state in query.labels(schema)), found.tolist(), strict=True))


@pytest.mark.parametrize("declared", [dp.Real(-1, 3), dp.Integer(0, 4), dp.Real()], ids=repr)
def test_a_cell_is_in_exactly_one_state_whatever_it_holds(declared: Any) -> None:
    schema = dp.Schema(x=declared)
    for cell, state in [*CELLS, *HOSTILE_CELLS]:
        cells = np.empty(1, object)
        cells[0] = cell
        for source in (
            {"x": cells},
            {"x": [cell]},
            pd.DataFrame({"x": pd.Series(cells, dtype=object)}),
        ):
            found = count_one(source, schema)
            assert sorted(found.values()) == [0] * (len(found) - 1) + [1]
            if state is not None:
                assert found.get(state, found["within"]) == 1, state


def test_a_file_tells_missing_cells_from_text(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('x,day\n"1,5",2024-03-01\n,\n" NA",03/01/2024\nnan,NaT\n2\n"12 EUR",null\n')
    schema = dp.Schema(x=dp.Real(0, 9), day=dp.Date("2024-01-01", "2024-12-31"))
    unit = dp.Unit(dp.PUBLIC)
    for query in (Check(), Check("day", "x")):
        engine = open_engine(path, schema, unit)
        counts = query.vector([engine.totals(p) for p in query.parts(schema, unit)], schema)
        found = dict(zip(query.labels(schema), counts.tolist(), strict=True))
        assert found["x", "missing"] == 3
        assert found["x", "not a number"] == 2
        assert found["x", "within"] == 1
        assert found["day", "missing"] == 4
        assert found["day", "not a date"] == 1
        assert found["day", "within"] == 1


def test_files_of_any_bytes_have_one_state_for_each_cell(tmp_path: Path) -> None:
    draw, path = random.Random(1), tmp_path / "rows.csv"
    schema = dp.Schema(x=dp.Real(0, 9), day=dp.Date("2024-01-01", "2024-12-31"))
    for _ in range(200):
        text = bytes(draw.choices(b"0123456789.,-+eEnNaAuUlLtT \t\xff\xc3\xa9\x00", k=4))
        path.write_bytes(b'x,day\n"' + text + b'","' + text[::-1] + b'"\n')
        for name in ("x", "day"):
            query, unit = Check(name), dp.Unit(dp.PUBLIC)
            engine = open_engine(path, schema, unit)
            counts = query.vector([engine.totals(p) for p in query.parts(schema, unit)], schema)
            assert sorted(counts.tolist()) == [0, 0, 0, 0, 1]


@pytest.mark.parametrize("build", ENGINES, ids=lambda build: build.__name__)
@pytest.mark.parametrize("most", [1, 3])
def test_persons_and_rows_without_id_are_counted_before_rows_are_left_out(build, most):
    table = sample(5, 70)
    unit = dp.Unit(dp.PUBLIC, id_column="who", max_rows=most)
    have = {who: table["who"].count(who) for who in ("p", "q", "r", "s")}
    over = sum(rows > most for rows in have.values())
    found = integers(build(table, KINDS), unit)
    assert found[-3:] == [len(have) - over, over, table["who"].count(None)]
    assert found == integers(tables.arrays(table, KINDS), unit)
    kept = sum(min(rows, most) for rows in have.values())
    for name in STATES:
        places = [at for at, (column, _) in enumerate(Check().labels(SCHEMA)) if column == name]
        assert sum(found[at] for at in places) == kept


def test_a_file_is_counted_like_its_rows(tmp_path):
    table = sample(8, 50)
    table["who"] = [who or "" for who in table["who"]]
    path = tmp_path / "rows.csv"
    lines = [",".join(table)]
    for cells in zip(*table.values(), strict=True):
        lines.append(",".join("" if cell is None else str(cell) for cell in cells))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    table["who"] = [who or None for who in table["who"]]
    for unit in (dp.Unit(dp.PUBLIC), dp.Unit(dp.PUBLIC, "who", 2)):
        assert integers(path, unit) == integers(tables.arrays(table, KINDS), unit)


@pytest.mark.parametrize("build", ENGINES, ids=lambda build: build.__name__)
@pytest.mark.parametrize("most", [1, 2])
def test_every_engine_counts_the_same_persons_in_the_same_groups(build, most):
    table = sample(6, 90)
    unit = dp.Unit(dp.PUBLIC, id_column="who", max_rows=most)
    reference = open_engine(tables.arrays(table, KINDS), SCHEMA, unit)
    engine = open_engine(build(table, KINDS), SCHEMA, unit)
    for query in (
        dp.CountPeople(),
        dp.CountPeople(by="c"),
        dp.CountPeople(by=["c", "f"], where="x >= 0"),
    ):
        coded = query.coded(SCHEMA, unit)
        found = engine.totals(coded).tolist()
        assert found == reference.totals(coded).tolist()
    rows = zip(*(table[name] for name in ("who", "c", "f", "x")), strict=True)
    kept = [
        (who, c, f)
        for who, c, f, x in rows
        if who and c in ("a", "é") and f is not None and not (x is not None and x < 0)
    ]
    groups = {}
    for who, c, f in kept:
        groups.setdefault(who, set()).add((c, f))
    assert sum(map(sum, found)) == sum(min(most, len(held)) for held in groups.values())


def test_a_file_that_is_read_in_parts_counts_the_same_persons(tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.engines.delimited.CHUNK", 7)
    monkeypatch.setattr("discreet.engines.person_rows.CHUNK", 7)
    table = sample(9, 120)
    path = tmp_path / "rows.csv"
    lines = [",".join(table)]
    for cells in zip(*table.values(), strict=True):
        lines.append(",".join("" if cell is None else str(cell) for cell in cells))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    unit = dp.Unit(dp.PUBLIC, "who", 2)
    coded = dp.CountPeople(by=["c", "n"]).coded(SCHEMA, unit)
    whole = open_engine(tables.arrays(table, KINDS), SCHEMA, unit)
    assert open_engine(path, SCHEMA, unit).totals(coded).tolist() == whole.totals(coded).tolist()


def check_limits(source: Any, table: tables.Table) -> None:
    """Compare checks, counts of persons, and questions with limits of their own with those of arrays."""
    unit = dp.Unit(dp.PUBLIC, "who", 3)
    reference = open_engine(tables.arrays(table, KINDS), SCHEMA, unit)
    engine = open_engine(source, SCHEMA, unit)
    assert integers(source, unit) == integers(tables.arrays(table, KINDS), unit)
    asked = (
        dp.CountPeople(),  # a person counts once
        dp.CountPeople(by=["c", "f"], where="x >= 0"),
        dp.CountPeople(by="c").per_person(1),
        dp.Mean("x", by="c").per_person(1),
        dp.Count(where="n >= 2").per_person(2),
        dp.RowsPerPerson(4),
    )
    for query in asked:
        narrow = query.narrow(unit)
        parts = (
            query.parts(SCHEMA, narrow)
            if hasattr(query, "parts")
            else [query.coded(SCHEMA, narrow)]
        )
        for coded in parts:
            assert engine.totals(coded).tolist() == reference.totals(coded).tolist(), query
    quantile = dp.Median("x").per_person(1)
    coded = quantile.coded(SCHEMA, quantile.narrow(unit))
    found, wanted = (
        [part.tolist() for part in (tally.groups, tally.codes, tally.counts)]
        for tally in (engine.tally(coded), reference.tally(coded))
    )
    assert found == wanted


@pytest.mark.parametrize(
    "build",
    [tables.arrow, tables.polars_lazy, tables.pandas_nullable, tables.duckdb_relation],
    ids=lambda build: build.__name__,
)
def test_limits_of_a_question_are_the_same_on_every_engine(build: Any) -> None:
    table = sample(11, 80)
    check_limits(build(table, KINDS), table)


@pytest.mark.filterwarnings("ignore:fetch_arrow:DeprecationWarning")  # Ibis's own
def test_postgresql_and_ibis_keep_the_limits_of_a_question(postgres_server: Any) -> None:
    ibis = pytest.importorskip("ibis")
    table = sample(12, 80)
    check_limits(tables.postgres_url(table, KINDS, postgres_server, "limits"), table)
    rows = ibis.duckdb.connect().create_table("rows", tables.arrow(table, KINDS))
    check_limits(rows, table)
