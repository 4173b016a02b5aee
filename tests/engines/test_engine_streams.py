"""Files that stream: Parquet by DuckDB or Polars, CSV in chunks; what they refuse, and their bar."""

from __future__ import annotations

import importlib.util
import math
import random
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import oracle
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
import tables
import test_engine_matrix as matrix

import discreet as dp
from discreet import progress
from discreet.engines import delimited, person_rows
from discreet.engines.base import EngineFailed
from discreet.matching import ColumnMismatch
from discreet.testing import exact_totals
from small_tables import as_columns, as_rows

PERSON = dp.Unit(dp.PUBLIC, id_column="person", max_rows=2)
DIRTY = as_columns(matrix.DATA["dirty"], matrix.KINDS)
CASES = ["histogram", "sum of score", "mean where", "moments", "gram by", "quantile by"]


def integers(source: Any, schema: dp.Schema, query: Any, unit: Any = dp.PUBLIC) -> Any:
    return exact_totals(dp.PrivateDataset(source, schema, unit=unit), query).tolist()


def check(source: Any, unit: dp.Unit) -> None:
    rows = [dict(zip(DIRTY, cells, strict=True)) for cells in zip(*DIRTY.values(), strict=True)]
    for case in CASES:
        query, predicate, uses = matrix.CASES[case]
        column, most = unit.id_column, unit.rows_per_person
        wanted = oracle.totals(query, matrix.SCHEMA, rows, predicate, uses, column, most)
        assert integers(source, matrix.SCHEMA, query, unit) == wanted, case


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tables.parquet_files(DIRTY, matrix.KINDS, tmp_path)


@pytest.mark.parametrize("unit", [dp.Unit(dp.PUBLIC), PERSON])
def test_folders_globs_and_data_sets(folder: Path, unit: dp.Unit) -> None:
    check(f"{folder}/*.parquet", unit)
    check(pyarrow.dataset.dataset(folder), unit)


@pytest.mark.parametrize("unit", [dp.Unit(dp.PUBLIC), PERSON])
def test_polars_where_there_is_no_duckdb(
    folder: Path, unit: dp.Unit, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "duckdb" else found(name, *a)
    )
    check(folder, unit)
    monkeypatch.setattr(importlib.util, "find_spec", lambda *_: None)
    with pytest.raises(ImportError, match=r"pip install 'discreet\[duckdb\]'"):
        dp.PrivateDataset(folder, matrix.SCHEMA, unit=unit)


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_nan_that_statistics_leave_out(tmp_path: Path, kind: Any) -> None:
    """All numbers lie in the bounds, so DuckDB's optimiser thinks that all cells do."""
    path = tmp_path / "nan.parquet"
    pq.write_table(pa.table({"x": pa.array([1.0, 2.0, math.nan], kind)}), path)
    schema = dp.Schema(x=dp.Real(0, 5, fill=0))
    wanted = oracle.totals(dp.Sum("x"), schema, [{"x": 1.0}, {"x": 2.0}, {"x": math.nan}])
    for source in [path, duckdb.read_parquet(str(path)), f"{tmp_path}/*.parquet"]:
        assert integers(source, schema, dp.Sum("x")) == wanted


def test_collations_of_duckdb_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "loose.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "create table t (s varchar collate nocase, person varchar collate nocase)"
        )
        connection.execute("insert into t values ('F', 'a'), ('f', 'A'), ('F', 'a')")
        schema = dp.Schema(s=dp.Categorical("F", "f"))
        relation = connection.table("t")
        assert integers(relation, schema, dp.Histogram("s")) == [[2], [1]]
        assert integers(relation, schema, dp.Count(), dp.Unit(dp.PUBLIC, "person", 1)) == [[2]]
    assert integers(f"duckdb:///{path}?table=t", schema, dp.Histogram("s")) == [[2], [1]]


def test_files_that_differ(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1.0], "s": ["F"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"s": ["M"], "y": [2]}), tmp_path / "b.parquet")
    schema = dp.Schema(x=dp.Real(0, 2, fill=2), s=dp.Categorical("F", "M"))
    query = dp.Sum("x", by="s")
    assert integers(tmp_path, schema, query) == oracle.totals(
        query, schema, [{"x": 1.0, "s": "F"}, {"x": None, "s": "M"}]
    )
    pq.write_table(pa.table({"x": ["text"], "s": ["M"]}), tmp_path / "c.parquet")
    with pytest.raises(ColumnMismatch, match="column 'x' is declared as numbers"):
        dp.PrivateDataset(tmp_path, schema, unit=dp.PUBLIC)


def test_bad_sources(tmp_path: Path) -> None:
    schema = dp.Schema(x=dp.Real(0, 1))
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 secret 4711 PAR1")
    (tmp_path / "empty").mkdir()
    tables.duckdb_url({"x": [1.0]}, {"x": "real"}, tmp_path)
    database = f"duckdb:///{tmp_path}/table.db"
    for source, error, message in [
        (tmp_path / "empty", FileNotFoundError, "no Parquet file"),
        (f"{tmp_path}/*.pq", FileNotFoundError, "no Parquet file"),
        (tmp_path / "broken.parquet", EngineFailed, "withheld"),
        (f"{tmp_path}/nowhere.parquet", FileNotFoundError, "no file"),
        (f"{database}?table=nowhere", LookupError, "no table 'nowhere'; tables there: my clinic"),
        (database, ValueError, "must name one table"),
        ("duckdb:///nowhere.db?table=t", FileNotFoundError, "four|duckdb:////folder"),
        ("duckdb://?table=t", ValueError, "duckdb:///file.db"),
        ("sqlite:///x.db?table=t", ValueError, "no engine reads 'sqlite'"),
    ]:
        with pytest.raises(error, match=message) as caught:
            dp.PrivateDataset(source, schema, unit=dp.PUBLIC)
        assert "4711" not in str(caught.value)


@pytest.mark.parametrize("most", [1, 3])
def test_rows_of_persons_are_kept_while_a_csv_file_streams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Chunks of seven rows, so that what is kept shrinks many times."""
    draw = random.Random(most)
    table = {
        "x": [draw.choice([0.25, 0.5, draw.random()]) for _ in range(400)],
        "s": [draw.choice(["a", "b", ""]) for _ in range(400)],
        "person": [draw.choice(["", *(f"p{i}" for i in range(40))]) for _ in range(400)],
    }
    schema = dp.Schema(x=dp.Real(0, 1), s=dp.Categorical("a", "b"))
    rows = as_rows(table)
    rows = [{**row, "person": row["person"] or None} for row in rows]
    monkeypatch.setattr(delimited, "CHUNK", 7)
    monkeypatch.setattr(person_rows, "CHUNK", 7)
    path = tables.csv_file(table, tmp_path)
    unit = dp.Unit(dp.PUBLIC, "person", most)
    for query in [dp.Moments("x", by="s"), dp.Quantile("x"), dp.Sum("x")]:
        wanted = oracle.totals(query, schema, rows, id_column="person", most=most)
        assert integers(path, schema, query, unit) == wanted


def test_the_bar_is_shown_when_asked_for_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path
) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    monkeypatch.setattr(progress, "PACE", 0.01)
    for switch, is_shown in {"0": False, "1": True, "": False}.items():
        monkeypatch.setenv(progress.SWITCH, switch)
        with progress.show("reading", lambda: 0.5):
            time.sleep(0.1)
        written = capsys.readouterr()
        assert ("50%" in written.err) is is_shown
        assert written.out == ""
    monkeypatch.setenv(progress.SWITCH, "1")
    with progress.show("reading", lambda: 1 / 0):
        time.sleep(0.05)
    assert "Error" not in capsys.readouterr().err


def test_of_bars_inside_each_other_the_innermost_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    monkeypatch.setattr(progress, "PACE", 0.01)
    monkeypatch.setenv(progress.SWITCH, "1")
    with progress.show("asking", progress.find_no_share):
        with progress.show("reading", lambda: 0.5):
            time.sleep(0.1)
        inner = capsys.readouterr().err
        time.sleep(0.1)
    outer = capsys.readouterr().err
    assert "reading" in inner
    assert "asking" not in inner
    assert "asking" in outer
    assert "%" not in outer  # nobody knows how far it is


@pytest.mark.parametrize(
    ("package", "source"),
    [("psycopg", "postgresql://u@h/d?table=t"), ("duckdb", "duckdb:///{0}?table=t")],
)
def test_missing_packages_are_named_with_the_command(
    package: str, source: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "x.db").touch()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=f"needs {package}: pip install 'discreet"):
        dp.PrivateDataset(
            source.format(tmp_path / "x.db"), dp.Schema(x=dp.Real(0, 1)), unit=dp.PUBLIC
        )
