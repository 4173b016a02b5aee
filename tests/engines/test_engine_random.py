"""Random bounds, random cells, values at the edges of grid cells: all engines equal the oracle."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import oracle
import pytest
import tables
from hypothesis import HealthCheck, given, reject
from hypothesis import strategies as st

import discreet as dp
from discreet.testing import exact_totals
from profiles import max_examples
from small_tables import as_rows

KINDS = {"x": "real", "n": "whole", "s": "text"}
SIZES = st.floats(1e-250, 1e250) | st.sampled_from([1.0, 0.1, 3.0, 1e-270, 1e270, 2.0**-500])
reals = st.floats() | st.floats(-1e6, 1e6) | st.none()


@st.composite
def schemas(draw: Any) -> dp.Schema:
    lower = draw(st.sampled_from([0.0, -1.0, 17.0, -0.1]) | st.floats(-1e9, 1e9))
    width = draw(st.sampled_from([73.0, 0.3, 1e-3, 0.0]) | st.floats(1e-6, 1e9))
    if draw(st.booleans()):
        lower, width = lower * 1e-200, draw(SIZES)
    try:
        real = dp.Real(lower, max(lower, lower + width))
    except ValueError:  # tiny bounds are refused
        reject()
    start = draw(st.integers(-(2**53), 2**52) | st.integers(-100, 100))
    span = draw(st.integers(0, 2**52) | st.integers(0, 2**21) | st.integers(0, 10))
    return dp.Schema(x=real, n=dp.Integer(start, start + span), s=dp.Categorical("a", "b"))


@st.composite
def cases(draw: Any) -> tuple[dp.Schema, tables.Table]:
    schema = draw(schemas())
    real, whole = schema["x"], schema["n"]
    length = draw(st.integers(0, 12))

    def edge(bits: int) -> float:
        """A value at, or one double beside, the edge of a cell of the grid."""
        share = draw(st.integers(-1, 2**bits + 1)) / 2**bits
        value = real.lower + (real.upper - real.lower) * share
        return draw(
            st.sampled_from([value, math.nextafter(value, -1e300), math.nextafter(value, 1e300)])
        )

    x = [
        draw(reals) if draw(st.booleans()) else edge(draw(st.sampled_from([1, 3, 15, 20])))
        for _ in range(length)
    ]
    anything = st.integers(-(2**63), 2**63 - 1) | st.none()
    inside = st.integers(whole.lower, whole.upper)
    n = draw(st.lists(anything | inside, min_size=length, max_size=length))
    s = draw(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=length, max_size=length))
    return schema, {"x": x, "n": n, "s": s}


QUERIES = [
    dp.Moments("x", "n"), dp.Sum("x", by="s"), dp.Sum("n"), dp.Mean("x"), dp.Mean("n", by="s"),
    dp.Gram("x", "n", by="s"), dp.Quantile("x"), dp.Quantile("n", by="s"),
]  # fmt: skip


def compare(schema: dp.Schema, table: tables.Table, builders: Any, queries: list[Any]) -> None:
    rows = as_rows(table)
    for query in queries:
        wanted = oracle.totals(query, schema, rows)
        for form, build in builders.items():
            dataset = dp.PrivateDataset(build(table), schema, unit=dp.PUBLIC)
            assert exact_totals(dataset, query).tolist() == wanted, (form, query)


@max_examples(150, suppress_health_check=list(HealthCheck))
@given(cases())
def test_numpy_lists_and_files(tmp_path_factory: Any, case: tuple[dp.Schema, tables.Table]) -> None:
    folder: Path = tmp_path_factory.getbasetemp()
    builders = {
        "numpy": lambda table: tables.arrays(table, KINDS),
        "lists": lambda table: table,
        "csv": lambda table: tables.csv_file(table, folder),
    }
    compare(*case, builders, QUERIES)


FRAMES = ["polars", "pandas", "pandas nullable", "pandas arrow", "pyarrow", "duckdb"]


@pytest.mark.parametrize("form", FRAMES)
@max_examples(10, suppress_health_check=list(HealthCheck))
@given(cases(), st.integers(0, 3))
def test_frames(form: str, case: tuple[dp.Schema, tables.Table], first: int) -> None:
    builders = {form: lambda table: tables.TYPED[form](table, KINDS)}
    compare(*case, builders, [QUERIES[0], *QUERIES[1 + first :: 4]])


@pytest.mark.slow
@pytest.mark.parametrize("form", FRAMES)
@max_examples(300, suppress_health_check=list(HealthCheck))
@given(cases())
def test_frames_at_length(form: str, case: tuple[dp.Schema, tables.Table]) -> None:
    builders = {form: lambda table: tables.TYPED[form](table, KINDS)}
    compare(*case, builders, QUERIES)
