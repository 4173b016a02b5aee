"""Ids of any length: the same persons on every engine, and no memory that one person's rows can fill."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
import tables

import discreet as dp
from discreet.engines import natives, parquet
from discreet.testing import exact_totals

SCHEMA = dp.Schema(x=dp.Real(0, 1000))


def count_persons(source: Any) -> int:
    unit = dp.Unit(dp.PUBLIC, id_column="who", max_rows=1)
    return int(exact_totals(dp.PrivateDataset(source, SCHEMA, unit=unit), dp.Count()).item())


def test_ids_around_the_length_of_a_digest_stay_apart(tmp_path: Path) -> None:
    """Among them are digests of others and theirs in turn, which would meet if digests could be written."""
    long = natives.LONG_ID
    ids = [
        "é" * 40,
        *("z" * size for size in (1, long - 1, long, long + 1, 5000)),
        "z" * 4999 + "y",
    ]
    for text in tuple(ids):
        once = hashlib.sha256(text.encode()).hexdigest()
        ids += [once, hashlib.sha256(once.encode()).hexdigest(), once.upper(), once[:-1]]
    assert len(set(ids)) == len(ids)
    table = {"who": [*ids, *ids], "x": [1.0] * (2 * len(ids))}
    for form, source in tables.forms(table, {"who": "text", "x": "real"}, tmp_path).items():
        assert count_persons(source) == len(ids), form


@pytest.mark.parametrize(("rows", "size"), [(20_000, 4000), (2, 20_000_000)])
def test_long_ids_of_one_person_leave_the_memory_to_the_others(
    rows: int, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many letters as the memory that DuckDB may take, in one person's ids."""
    monkeypatch.setenv(parquet.MEMORY_SWITCH, "80MB")
    ids = [str(row) for row in range(3000)] + ["z" * size] * rows
    path = tmp_path / "rows.parquet"
    table = pa.table({"who": pa.array(ids, pa.large_string()), "x": [1.0] * len(ids)})
    pyarrow.parquet.write_table(
        table, path, use_dictionary=False, write_statistics=False, row_group_size=2000
    )
    assert count_persons(path) == 3001
