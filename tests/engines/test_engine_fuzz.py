"""Clean and dirty tables of equal types can't be told apart by anything but noised values."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fuzz
import fuzz_models
import numpy as np
import pytest
import tables

#: Of so many pairs in this process, one in this many is about a mechanism, a frame or file, or an estimator.
MECHANISM, SLOWER, ESTIMATOR = 4, 20, 100
QUICK = ["lists", "objects", "numpy", "records", "csv", "mapping"]
OTHERS = [name for name in fuzz.FORMS if name not in QUICK]


def in_process(seed: int, pairs: int, folder: Path) -> list[Any]:
    draw = random.Random(seed)
    found: list[Any] = []
    for pair in range(pairs):
        if pair % ESTIMATOR == ESTIMATOR - 1:
            found += fuzz_models.estimator_differences(draw)
        elif pair % MECHANISM == 1:
            found += fuzz_models.mechanism_differences(draw)
        else:
            name = draw.choice(OTHERS if pair % SLOWER == 0 else QUICK)
            found += fuzz.differences(draw, name, fuzz.FORMS[name], folder)
    return found


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_pairs_in_this_process(tmp_path: Path) -> None:
    assert in_process(0, 500, tmp_path) == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(1, 11))
def test_pairs_in_this_process_at_length(seed: int, tmp_path: Path) -> None:
    assert in_process(seed, 1000, tmp_path) == []


def on_dask(seed: int, pairs: int, folder: Path) -> list[Any]:
    draw = random.Random(seed)
    return [d for _ in range(pairs) for d in fuzz.differences(draw, "dask", fuzz.DASK, folder)]


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_pairs_on_dask(tmp_path: Path) -> None:
    assert on_dask(0, 50, tmp_path) == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(1, 5))
def test_pairs_on_dask_at_length(seed: int, tmp_path: Path) -> None:
    assert on_dask(seed, 250, tmp_path) == []


def on_postgres(seed: int, pairs: int, server: Any, folder: Path) -> list[Any]:
    """Text of a database in UTF-8 has neither other bytes nor NUL."""
    draw = random.Random(seed)

    def build(content: fuzz.Table, _: Path) -> str:
        return tables.postgres_url(content, fuzz.KINDS, server, "fuzz")

    found: list[Any] = []
    for _ in range(pairs):
        found += fuzz.differences(draw, "postgres", (build, {"null"}), folder)
    return found


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_pairs_on_postgres(postgres_server: Any, tmp_path: Path) -> None:
    assert on_postgres(0, 50, postgres_server, tmp_path) == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(1, 5))
def test_pairs_on_postgres_at_length(seed: int, postgres_server: Any, tmp_path: Path) -> None:
    assert on_postgres(seed, 250, postgres_server, tmp_path) == []


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17; install a Java runtime to run this test")
    session = tables.spark_session()
    yield session
    session.stop()


def on_spark(seed: int, pairs: int, session: Any, folder: Path) -> list[Any]:
    """Text is made of bytes, which Spark does not check."""
    draw = random.Random(seed)
    names = {"real": "double", "whole": "bigint", "text": "binary"}
    types = ", ".join(f"`{name}` {names[kind]}" for name, kind in fuzz.KINDS.items())

    def build(content: fuzz.Table, _: Path) -> Any:
        rows = [
            tuple(cell.encode() if isinstance(cell, str) else cell for cell in row)
            for row in zip(*content.values(), strict=True)
        ]
        frame = session.createDataFrame(rows, types)
        texts = {name for name, kind in fuzz.KINDS.items() if kind == "text"}
        shown = [f"cast({n} as string) as {n}" if n in texts else n for n in fuzz.KINDS]
        return frame.selectExpr(*shown)

    form: fuzz.Form = (build, {"null", "bytes", "nul"})
    return [d for _ in range(pairs) for d in fuzz.differences(draw, "spark", form, folder)]


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_pairs_on_spark(spark: Any, tmp_path: Path) -> None:
    assert on_spark(0, 20, spark, tmp_path) == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_pairs_on_spark_at_length(spark: Any, tmp_path: Path) -> None:
    assert on_spark(1, 300, spark, tmp_path) == []


def test_the_fuzz_sees_what_differs(tmp_path: Path) -> None:
    """A form that raises at an infinite number, one that warns, and one that adds up wrongly."""

    def raising(content: fuzz.Table, folder: Path) -> Any:
        if any(cell is not None and np.isinf(cell) for cell in content["x"]):
            raise ValueError("infinite")
        return fuzz.arrow(content, folder)

    def wrong(content: fuzz.Table, folder: Path) -> Any:
        return fuzz.arrow({**content, "x": content["x"][:1] * len(content["x"])}, folder)

    for build in (raising, wrong):
        draw, form = random.Random(0), (build, {"null", "bytes", "nul"})
        assert any(fuzz.differences(draw, "pyarrow", form, tmp_path) for _ in range(100))
