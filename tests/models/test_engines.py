"""For the same noise, models come out bit for bit the same on every engine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
import tables
from examples import learned, schema_for, table_for

import discreet as dp
from discreet.testing import ESTIMATORS, Example, fixed_noise

ROWS = 400
EVERYWHERE = [example for example in ESTIMATORS if example.engines == "all"]
every = pytest.mark.parametrize("example", ESTIMATORS, ids=str)
everywhere = pytest.mark.parametrize("example", EVERYWHERE, ids=str)

#: Forms that need no server.
FORMS = {
    "polars": tables.polars_eager,
    "polars lazy": tables.polars_lazy,
    "pandas": tables.pandas_default,
    "pandas nullable": tables.pandas_nullable,
    "pandas arrow": tables.pandas_arrow,
    "pyarrow": tables.arrow,
    "duckdb": tables.duckdb_relation,
    "dask": tables.dask_frame,
}


def dirty_table(example: Example) -> tuple[tables.Table, tables.Kinds]:
    """Cells as plain Python objects, some missing or out of bounds."""
    table = {name: cells.tolist() for name, cells in table_for(example, ROWS).items()}
    kinds = {name: "real" if isinstance(c[0], float) else "whole" for name, c in table.items()}
    for name, cells in table.items():
        cells[::41] = [None] * len(cells[::41])
        cells[7::53] = [9.5 if kinds[name] == "real" else 9] * len(cells[7::53])
    return table, kinds


def fitted(example: Example, source: Any, delta: float, unit: Any = dp.Unit()) -> Any:  # noqa: B008
    limit = dp.ApproxDP(1, delta) if delta else dp.PureDP(1)
    ledger = dp.Ledger(limit=limit, unit=unit, accept_assumed=example.accept_assumed)
    data = dp.PrivateDataset(source, schema_for(example), ledger=ledger)
    with fixed_noise(11):
        return example.build(epsilon=1, delta=delta).fit(data)


@every
def test_numpy_and_duckdb(example: Example) -> None:
    table, kinds = dirty_table(example)
    for delta in (0, 1e-6):
        here = learned(fitted(example, tables.arrays(table, kinds), delta))
        assert here
        assert learned(fitted(example, tables.duckdb_relation(table, kinds), delta)) == here


@everywhere
@pytest.mark.parametrize(
    "form",
    ["polars", "pandas", "dask"]
    + [
        pytest.param(name, marks=pytest.mark.slow)
        for name in ("polars lazy", "pandas nullable", "pandas arrow", "pyarrow")
    ],
)
def test_every_engine_of_this_process(example: Example, form: str) -> None:
    table, kinds = dirty_table(example)
    here = learned(fitted(example, tables.arrays(table, kinds), 0))
    assert learned(fitted(example, FORMS[form](table, kinds), 0)) == here


@everywhere
def test_postgres(example: Example, postgres_server: Any) -> None:
    table, kinds = dirty_table(example)
    here = learned(fitted(example, tables.arrays(table, kinds), 0))
    there = fitted(example, tables.postgres_url(table, kinds, postgres_server, "model"), 0)
    assert learned(there) == here


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17; install a Java runtime to run this test")
    session = tables.spark_session()
    yield session
    session.stop()


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@everywhere
def test_spark(example: Example, spark: Any) -> None:
    table, kinds = dirty_table(example)
    here = learned(fitted(example, tables.arrays(table, kinds), 0))
    assert learned(fitted(example, tables.spark_frame(table, kinds, spark), 0)) == here


@everywhere
def test_other_noise_gives_other_models(example: Example) -> None:
    """The comparison can fail."""
    table, kinds = dirty_table(example)
    source = tables.arrays(table, kinds)
    data = dp.PrivateDataset(source, schema_for(example), ledger=dp.Ledger(limit=dp.PureDP(1)))
    with fixed_noise(12):
        other = example.build(epsilon=1).fit(data)
    assert learned(other) != learned(fitted(example, source, 0))
