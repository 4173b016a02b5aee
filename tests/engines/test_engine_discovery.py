"""Keys and bounds on the engines that are not in memory."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tables

import discreet as dp
from discreet.testing import exact_keys, exact_totals

SCHEMA = dp.Schema(town=dp.Text(), x=dp.Real(), n=dp.Integer(0, 9))
KINDS = {"town": "text", "x": "real", "n": "whole", "who": "whole"}


def rows(count: int = 300) -> dict[str, list[Any]]:
    rng = np.random.default_rng(0)
    special = {0: None, 1: math.nan, 2: math.inf, 3: -math.inf, 4: 5e-324, 5: 1e300}
    return {
        "town": [None if k % 37 == 0 else f"town {z}" for k, z in enumerate(rng.zipf(1.6, count))],
        "x": [special.get(k % 29, v) for k, v in enumerate(rng.normal(0, 300, count).tolist())],
        "n": rng.integers(0, 10, count).tolist(),
        "who": [None if k % 31 == 0 else int(w) for k, w in enumerate(rng.integers(0, 60, count))],
    }


PLAIN = dp.Unit(dp.PUBLIC)
PERSONS = dp.Unit(dp.PUBLIC, id_column="who", max_rows=4)


def found(source: Any) -> list[Any]:
    """All that the discoveries count."""
    results: list[Any] = []
    for unit in (PLAIN, PERSONS):
        data = dp.PrivateDataset(source, SCHEMA, unit=unit)
        for groups in (None, 2):
            keys = dp.Keys.discover("town", delta=1e-6, max_groups=groups)
            results.append(exact_keys(data, dp.Count(by=keys, where="n > 1")))
        results.append(exact_totals(data, dp.Bounds("x")).tolist())
    return results


@pytest.mark.parametrize("form", ["arrow", "dask", "parquet", "duckdb"])
def test_discoveries_count_the_same(form: str, tmp_path: Path) -> None:
    table = rows()
    sources = {
        "arrow": lambda: tables.arrow(table, KINDS),
        "dask": lambda: tables.dask_frame(table, KINDS),
        "parquet": lambda: tables.parquet_files(table, KINDS, tmp_path),
        "duckdb": lambda: tables.duckdb_url(table, KINDS, tmp_path),
    }
    assert found(sources[form]()) == found(table)


def test_discoveries_count_the_same_in_postgresql(postgres_server: Any) -> None:
    table = rows()
    url = tables.postgres_url(table, KINDS, postgres_server, "discoveries")
    assert found(url) == found(table)
