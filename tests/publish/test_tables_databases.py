"""Tables of databases and of Spark: rows by public slots, one charge, each part once, no password shown."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy

import discreet as dp
from discreet.ledger import Progress
from discreet.publish.masks import WaveletLaplace
from discreet.publish.tables import writing
from discreet.publish.tables.sinks import DatabaseTable

SCHEMA = dp.Schema(x=dp.Real(0, 100), g=dp.Categorical("a", "b", "c"))
EPSILON = 10**9
MASK = WaveletLaplace(EPSILON, order="position")


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "DEFAULT_CELLS", 2 * 27)


def slotted(rows: int) -> dict[str, Any]:
    """Rows in any order, with the slot of each; slot 13 has no row, slot 14 has two, two are outside."""
    slots = np.random.default_rng(0).permutation(rows)
    slots[slots == 13] = 14
    slots = np.append(slots, [-1, rows])
    return {
        "slot": slots,
        "x": np.where((slots >= 0) & (slots < rows), slots % 101 * 1.0, 77.0),
        "g": np.array(list("abc"))[slots % 3],
    }


def check(x: Any, g: Any, rows: int) -> None:
    places = np.arange(rows)
    wanted = np.where(places == 13, 50.0, places % 101)
    kinds = np.where(places == 13, "a", np.array(list("abc"))[places % 3])
    assert np.abs(np.array(x, float) - wanted).max() < 0.1
    assert (np.array(g) == kinds).all()


def data_of(source: Any, rows: int, ledger: dp.Ledger | None = None) -> dp.PrivateDataset:
    ledger = ledger or dp.Ledger(limit=dp.PureDP(EPSILON), unit=dp.REPLACE_ONE)
    return dp.PrivateDataset(source, SCHEMA, ledger=ledger, rows=rows)


def contents(url: str) -> tuple[list[float], list[str]]:
    engine = sqlalchemy.create_engine(url)
    with engine.connect() as connection:
        rows = connection.execute(sqlalchemy.text("SELECT x, g FROM public_rows")).all()
    engine.dispose()
    return [row[0] for row in rows], [row[1] for row in rows]


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/public.db"


def test_a_table_of_a_database_takes_each_part_once(tmp_path: Path, sqlite: str, monkeypatch):
    import polars as pl

    data = data_of(pl.DataFrame(slotted(100)).lazy(), 100)
    options = {"to": f"{sqlite}?table=public_rows", "private": tmp_path / "private"}
    for calls in (1, 3):
        honest, count = DatabaseTable.publish, []

        def publish(sink: Any, label: str, staged: Path, calls: int = calls) -> None:
            count.append(label)  # noqa: B023
            if len(count) == calls:  # noqa: B023
                # the rows are in the table, and the process dies before it knows
                content = staged.read_bytes()
                honest(sink, label, staged)  # noqa: B023
                staged.write_bytes(content)
                raise KeyboardInterrupt
            honest(sink, label, staged)  # noqa: B023

        with monkeypatch.context() as patch:
            patch.setattr(DatabaseTable, "publish", publish)
            with pytest.raises(KeyboardInterrupt):
                MASK.publish(data, order_by="slot", **options)
    MASK.publish(data, order_by="slot", **options)
    check(*contents(sqlite), 100)
    assert data.ledger.spent() == dp.PureDP(EPSILON)
    with pytest.raises(ValueError, match="is complete"):
        MASK.publish(data, order_by="slot", **options)
    with pytest.raises(ValueError, match="private must be given"):
        MASK.publish(data, order_by="slot", to=f"{sqlite}?table=public_rows")
    with pytest.raises(ValueError, match="must name one table"):
        MASK.publish(data, order_by="slot", to=sqlite, private=tmp_path)


def test_a_password_is_in_no_error(tmp_path: Path) -> None:
    url = "postgresql://me:geheim@127.0.0.1:1/nowhere?table=t"
    data = data_of(slotted(20), 20)
    with pytest.raises(RuntimeError, match="could not be written") as found:
        MASK.publish(data, to=url, private=tmp_path / "private")
    told = traceback.TracebackException.from_exception(found.value, capture_locals=True)
    mine = [line for line in told.format() if "test_tables_databases" not in line]
    assert "geheim" not in "".join(mine)
    assert data.ledger.spent() == dp.PureDP(0)


@pytest.fixture(scope="module")
def database(postgres_server: Any) -> str:
    return str(postgres_server.url(postgres_server.new_database("tables")))


def test_from_postgresql_to_postgresql(tmp_path: Path, database: str) -> None:
    import psycopg

    cells = slotted(300)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "create table people (slot bigint, x double precision, g text, more bytea)"
        )
        with connection.cursor().copy("copy people (slot, x, g) from stdin") as copy:
            for row in zip(*(cells[name].tolist() for name in ("slot", "x", "g")), strict=True):
                copy.write_row(row)
    data = data_of(f"{database}?table=people", 300)
    options = {"to": f"{database}?table=public_rows", "private": tmp_path / "private"}
    with pytest.raises(ValueError, match=r"row_number\(\) OVER"):
        MASK.publish(data, **options)
    for column, words in (("nothing", "no column"), ("more", "whole numbers"), ("x", "whole")):
        with pytest.raises(ValueError, match=words):
            MASK.publish(data, order_by=column, **options)
    assert data.ledger.spent() == dp.PureDP(0)
    written = MASK.publish(data, order_by="slot", **options)
    assert (written.rows, written.parts) == (300, 12)
    assert "owner" not in written.place
    check(*contents(database.replace("postgresql:", "postgresql+psycopg:")), 300)
    assert data.ledger.spent() == dp.PureDP(EPSILON)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark")
    sys.path.append(str(Path(__file__).parents[1] / "engines"))
    import tables

    session = tables.spark_session()
    yield session
    session.stop()


@pytest.mark.filterwarnings("ignore")  # of Spark, about pandas 3
def test_spark_draws_in_its_tasks_and_one_draw_of_a_part_is_published(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = slotted(300)
    rows = list(zip(*(cells[name].tolist() for name in ("slot", "x", "g")), strict=True))
    frame = spark.createDataFrame(rows, "slot long, x double, g string").repartition(5)
    data = data_of(frame, 300)
    with pytest.raises(ValueError, match=r"row_number\(\) OVER"):
        MASK.publish(data, to=tmp_path / "out")
    with monkeypatch.context() as patch:  # the driver dies when all tasks are done
        patch.setattr(Progress, "enter", _die)
        with pytest.raises(KeyboardInterrupt):
            MASK.publish(data, to=tmp_path / "out", order_by="slot")
    staged = tmp_path / ".out.private" / "staged"
    assert len(list(staged.iterdir())) == 12
    assert not (tmp_path / "out").exists()
    MASK.publish(data, to=tmp_path / "out", order_by="slot")
    assert list(staged.iterdir()) == []
    files = sorted((tmp_path / "out").glob("*.parquet"))
    assert len(files) == 12
    found = pa.concat_tables([pq.read_table(file) for file in files])
    check(found["x"].to_pylist(), found["g"].to_pylist(), 300)
    assert data.ledger.spent() == dp.PureDP(EPSILON)


def _die(*_: Any) -> None:
    raise KeyboardInterrupt
