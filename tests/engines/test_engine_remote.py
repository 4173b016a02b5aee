"""Dask, Spark and PostgreSQL: the whole matrix, with the servers of the tests' own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import oracle
import pytest
import tables
import test_engine_check as checks
import test_engine_discovery as discovery
import test_engine_matrix as matrix

import discreet as dp
from discreet.testing import exact_totals
from small_tables import as_columns, as_rows

#: Queries that are asked about persons: each kind of sum, filter and group once.
PERSONS = ["histogram", "sum of score", "mean where", "moments", "gram by", "quantile by"]
PERSON = dp.Unit(dp.PUBLIC, id_column="person", max_rows=2)


def check(source: Any, table: tables.Table, cases: list[str], persons: list[str]) -> None:
    """Every case equals the oracle, and those about persons with ids too."""
    rows = as_rows(table)
    dataset = dp.PrivateDataset(source, matrix.SCHEMA, unit=dp.PUBLIC)
    for case in cases:
        query, predicate, uses = matrix.CASES[case]
        wanted = oracle.totals(query, matrix.SCHEMA, rows, predicate, uses)
        assert exact_totals(dataset, query).tolist() == wanted, case
    dataset = dp.PrivateDataset(source, matrix.SCHEMA, unit=PERSON)
    for case in persons:
        query, predicate, uses = matrix.CASES[case]
        wanted = oracle.totals(query, matrix.SCHEMA, rows, predicate, uses, "person", 2)
        assert exact_totals(dataset, query).tolist() == wanted, case


DIRTY = as_columns(matrix.DATA["dirty"], matrix.KINDS)
EMPTY = as_columns([], matrix.KINDS)
ALL = list(matrix.CASES)
OTHERS = [name for name in matrix.DATA if name not in ("dirty", "empty")]


def test_dask() -> None:
    check(tables.dask_frame(DIRTY, matrix.KINDS), DIRTY, ALL, PERSONS)


def test_dask_without_rows() -> None:
    check(tables.dask_frame(EMPTY, matrix.KINDS), EMPTY, PERSONS, PERSONS[-1:])


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_dask_at_length(name: str) -> None:
    table = as_columns(matrix.DATA[name], matrix.KINDS)
    check(tables.dask_frame(table, matrix.KINDS), table, ALL, ALL)


def test_postgres(postgres_server: Any) -> None:
    check(tables.postgres_url(DIRTY, matrix.KINDS, postgres_server), DIRTY, ALL, ALL)
    check(tables.postgres_url(EMPTY, matrix.KINDS, postgres_server), EMPTY, ALL, PERSONS)


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_postgres_at_length(postgres_server: Any, name: str) -> None:
    table = as_columns(matrix.DATA[name], matrix.KINDS)
    check(tables.postgres_url(table, matrix.KINDS, postgres_server), table, ALL, ALL)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """A Spark of this process's own, on one core."""
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17; install a Java runtime to run this test")
    session = tables.spark_session()
    yield session
    session.stop()


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_spark(spark: Any) -> None:
    check(tables.spark_frame(DIRTY, matrix.KINDS, spark), DIRTY, ALL, PERSONS)
    check(tables.spark_frame(EMPTY, matrix.KINDS, spark), EMPTY, ["moments", "histogram"], [])


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_spark_keeps_the_limits_of_a_question(spark: Any) -> None:
    table = checks.sample(12, 80)
    checks.check_limits(tables.spark_frame(table, checks.KINDS, spark), table)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("name", OTHERS)
def test_spark_at_length(spark: Any, name: str) -> None:
    table = as_columns(matrix.DATA[name], matrix.KINDS)
    check(tables.spark_frame(table, matrix.KINDS, spark), table, ALL, PERSONS)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_spark_refuses_text_that_ignores_case(spark: Any) -> None:
    frame = spark.sql("select 'F' collate UTF8_LCASE as s, 1.5D as x")
    with pytest.raises(TypeError, match="'s' has the collation UTF8_LCASE"):
        dp.PrivateDataset(frame, dp.Schema(s=dp.Categorical("F")), unit=dp.PUBLIC)
    dp.PrivateDataset(frame, dp.Schema(x=dp.Real(0, 1)), unit=dp.PUBLIC)


def test_spark_types(spark: Any) -> None:
    """Narrow integers, floats, decimals and dates; overflow is an error of Spark's, made impossible."""
    frame = spark.sql(
        "select 127Y as a, 32767S as b, cast(1.5 as float) as c, cast(2.25 as decimal(20, 5)) as d, "
        "9223372036854775807L as e, date'2020-01-01' as f"
    )
    schema = dp.Schema({name: dp.Real(0, 100) for name in "abcde"})
    dataset = dp.PrivateDataset(frame, schema, unit=dp.PUBLIC)
    row = {"a": 127, "b": 32767, "c": 1.5, "d": 2.25, "e": 2**63 - 1}
    query = dp.Moments(*"abcde")
    assert exact_totals(dataset, query).tolist() == oracle.totals(query, schema, [row])
    with pytest.raises(TypeError, match="column 'f' is declared as numbers"):
        dp.PrivateDataset(frame, dp.Schema(f=dp.Real(0, 1)), unit=dp.PUBLIC)


def test_dask_computes_the_graph_once() -> None:
    """Opening reads nothing; an answer runs every partition once, and its own columns alone."""
    import dask.dataframe
    import pandas as pd

    seen: list[tuple[str, ...]] = []

    def noted(frame: Any) -> Any:
        seen.append(tuple(frame.columns))
        return frame

    plain = pd.DataFrame({"x": [0.1, 0.2, 0.3, 0.4], "person": ["a", "b", "a", "c"], "z": range(4)})
    frame = dask.dataframe.from_pandas(plain, npartitions=2)
    frame = frame.map_partitions(noted, meta=plain.iloc[:0])
    seen.clear()
    unit = dp.Unit(dp.PUBLIC, "person", 1)
    dataset = dp.PrivateDataset(frame, dp.Schema(x=dp.Real(0, 1)), unit=unit)
    assert seen == []
    assert exact_totals(dataset, dp.Count()).tolist() == [[3]]
    assert len(seen) == 2
    plainly = dp.PrivateDataset(frame, dp.Schema(x=dp.Real(0, 1)), unit=dp.PUBLIC)
    seen.clear()
    assert exact_totals(plainly, dp.Count()).tolist() == [[4]]
    assert len(seen) == 2


@pytest.mark.parametrize("convert", [True, False])
def test_dask_types(convert: bool) -> None:
    """Booleans with null, categories, objects; ids of every type come together."""
    import dask
    import dask.dataframe
    import pandas as pd

    flags = [True, None, False, True, None, True]
    plain = pd.DataFrame(
        {
            "flag": pd.array(flags, "boolean"),
            "kind": pd.Categorical(["u", "v", None, "w", "u", "u"]),
            "loose": pd.Series([1, "1", None, 2.5, True, [3]], dtype=object),
            "real": [0.0, -0.0, 1.0, 1.0, float("nan"), 2.0],
            "label": pd.Categorical([1, 1, 2, 2, 1, 3]),
        }
    )
    schema = dp.Schema(flag=dp.Categorical(True, False), kind=dp.Categorical("u", "v"))
    with dask.config.set({"dataframe.convert-string": convert}):
        frame = dask.dataframe.from_pandas(plain, npartitions=3, sort=False)
        frame = frame.partitions[[2, 0, 1]]
        whole = frame.compute()
        ids = ["real", "label", "kind"] if convert else ["real", "label", "kind", "loose"]
        for unit in [dp.Unit(dp.PUBLIC), *(dp.Unit(dp.PUBLIC, name, 1) for name in ids)]:
            for query in [dp.Histogram("flag"), dp.Histogram("kind"), dp.Count()]:
                found = [
                    exact_totals(dp.PrivateDataset(source, schema, unit=unit), query).tolist()
                    for source in (frame, whole)
                ]
                assert found[0] == found[1], (unit, query)


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_discoveries_in_spark(spark: Any) -> None:
    table = discovery.towns_and_gaps(120)
    frame = tables.spark_frame(table, discovery.KINDS, spark)
    assert discovery.found(frame) == discovery.found(table)
