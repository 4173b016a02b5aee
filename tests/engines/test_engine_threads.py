"""One data set may be used by several threads: all are answered, and each has the answer to its own query."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset
import pytest
import tables

import discreet as dp
from discreet.testing import exact_totals
from small_tables import draw_table

KINDS = {"x": "real", "c": "text", "n": "whole", "id": "whole"}
SCHEMA = dp.Schema(x=dp.Real(0, 1), c=dp.Categorical("a", "b", "c"), n=dp.Integer(0, 9))
PERSONS = dp.Unit(dp.ADD_REMOVE, id_column="id", max_rows=2)
#: So little noise on counts that a draw other than 0 has a chance of 2e^-1000.
SURE = dp.PureDP(1000)
COUNTS: list[dp.Query] = [
    *(dp.Count(where=f"x > {at / 20}") for at in range(20)),
    *(dp.Count(where=f"n <= {at}") for at in range(9)),
    dp.Count(by="c"),
]
SUMS: list[dp.Query] = [
    dp.Sum("x", where="n >= 3"),
    dp.Gram("x", "n"),
    dp.Moments("x", "n", by="c"),
    dp.Histogram("c"),
    dp.Mean("n", where="x <= 0.5"),
]


def plain_cells(rows: int = 60) -> tables.Table:
    ids, letters = range(rows // 2), ["a", "b", "c", "d"]
    drawn = draw_table(rows, seed=4, x=(-0.1, 1.1), c=letters, n=range(-1, 11), id=ids)
    return {name: cells.tolist() for name, cells in drawn.items()}


def in_threads(threads: int, act: Callable[[int], Any]) -> list[Any]:
    """What `act` gives in each of several threads, which begin together; errors are raised here."""
    together, found, failed = threading.Barrier(threads), [None] * threads, []

    def work(at: int) -> None:
        try:
            together.wait()
            found[at] = act(at)
        except BaseException as error:
            failed.append(error)

    workers = [threading.Thread(target=work, args=(at,)) for at in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failed:
        raise AssertionError(f"{len(failed)} of {threads} threads failed") from failed[0]
    return found


def plain(value: Any) -> Any:
    return np.asarray(value).tolist()


def check(source: Any, threads: int, releases: int) -> None:
    """Threads release counts of one table, with and without ids, and sums; all answers are right."""
    unit = dp.Unit()
    ledgers = [dp.Ledger(limit=dp.PureDP(10**9), unit=each) for each in (unit, PERSONS)]
    private = [dp.PrivateDataset(source, SCHEMA, ledger=ledger) for ledger in ledgers]
    public = dp.PrivateDataset(source, SCHEMA, unit=dp.PUBLIC)
    rows = tables.arrays(plain_cells(), KINDS)
    alone = [
        dp.PrivateDataset(rows, SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(10**6), unit=each))
        for each in (unit, PERSONS)
    ]
    wanted = [[plain(data.release(q, SURE).value) for q in COUNTS] for data in alone]
    rest = dp.PrivateDataset(rows, SCHEMA, unit=dp.PUBLIC)
    sums = [exact_totals(rest, query).tolist() for query in SUMS]

    def work(number: int) -> int:
        right = 0
        for turn in range(releases):
            at = number * 7 + turn
            if at % 10 == 9:  # the larger queries cost the most, and have no more to share
                place = at // 10 % len(SUMS)
                right += exact_totals(public, SUMS[place]).tolist() == sums[place]
            else:
                kind, place = int(at % 10 == 4), at % len(COUNTS)
                found = private[kind].release(COUNTS[place], SURE).value
                right += plain(found) == wanted[kind][place]
        return right

    assert sum(in_threads(threads, work)) == threads * releases
    charges = sum(e.kind == "charge" for ledger in ledgers for e in ledger.entries())
    asked = [number * 7 + turn for number in range(threads) for turn in range(releases)]
    assert charges == sum(at % 10 != 9 for at in asked)


FORMS = [*tables.TYPED, *tables.LOOSE, *tables.TYPED_FILES, *tables.FILES, "dataset", "dask"]
#: Those with something that threads share: a connection, a file, kept columns.
SHARING = ["polars lazy", "duckdb", "parquet", "duckdb url", "dataset", "csv"]


def form(name: str, folder: Path) -> Any:
    rows = plain_cells()
    if name == "dask":
        return tables.dask_frame(rows, KINDS)
    if name == "dataset":
        return pyarrow.dataset.dataset(tables.parquet_files(rows, KINDS, folder))
    if name in tables.FILES:
        return tables.FILES[name](rows, folder)
    if name in tables.TYPED_FILES:
        return tables.TYPED_FILES[name](rows, KINDS, folder)
    return {**tables.TYPED, **tables.LOOSE}[name](rows, KINDS)


@pytest.mark.parametrize("name", SHARING)
def test_threads_share_a_data_set(name: str, tmp_path: Path) -> None:
    check(form(name, tmp_path), 4, 3)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", FORMS)
def test_many_threads_share_a_data_set(name: str, tmp_path: Path) -> None:
    check(form(name, tmp_path), 32, 100)


@contextlib.contextmanager
def ibis_table(server: Any) -> Iterator[Any]:
    """The table of an Ibis connection, which all threads have to share."""
    import ibis
    import psycopg

    tables.postgres_url(plain_cells(), KINDS, server)
    with psycopg.connect(server.url(), autocommit=True) as connection:
        yield ibis.postgres.from_connection(connection).table("rows")


def test_threads_share_a_table_of_postgres(postgres_server: Any) -> None:
    check(tables.postgres_url(plain_cells(), KINDS, postgres_server), 2, 2)
    with ibis_table(postgres_server) as shared:
        check(shared, 3, 2)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_threads_share_a_table_of_postgres(postgres_server: Any) -> None:
    check(tables.postgres_url(plain_cells(), KINDS, postgres_server), 32, 100)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_threads_share_a_table_of_ibis(postgres_server: Any) -> None:
    with ibis_table(postgres_server) as shared:
        check(shared, 32, 100)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17; install a Java runtime to run this test")
    session = tables.spark_session()
    yield session
    session.stop()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_many_threads_share_a_table_of_spark(spark: Any) -> None:
    check(tables.spark_frame(plain_cells(), KINDS, spark), 32, 3)
