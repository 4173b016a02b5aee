"""Time the engines against queries written by hand for them, and check that all integers agree.

Run ``python benchmarks/bench_engines.py``. Times are the best of interleaved repetitions in this one
run, so ratios matter, not seconds. Ten times the rows may take 13 times as long on numpy, Polars and
DuckDB. The exit status is the number of bars missed, those of equal integers among them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import dask.dataframe
import duckdb
import numpy as np
import pandas as pd
import polars as pl

import discreet as dp
from discreet.testing import exact_totals

ROWS = 1_000_000
ROUNDS = 5
GROWTH_BAR = 13
QUICK = {"ROWS": 1000, "ROUNDS": 1}
NAMES = [f"x{i}" for i in range(10)]
SCHEMA = dp.Schema(
    {
        **{name: dp.Real(-3, 5) for name in NAMES},
        "group": dp.Categorical("a", "b", "c", "d"),
    }
)
QUERIES: dict[str, dp.Count | dp.Sum | dp.Mean | dp.Moments | dp.Gram] = {
    "means by group": dp.Mean("x0", by="group"),
    "count where": dp.Count(where="x0 > 1 and group in ['a', 'b']"),
    "moments of 10": dp.Moments(*NAMES),
    "gram of 10": dp.Gram(*NAMES),
}


def columns(rows: int, names: list[str] = NAMES) -> dict[str, Any]:
    """A table of normal deviates, and groups of which one is not declared."""
    draw = np.random.default_rng(0)
    table: dict[str, Any] = {name: draw.normal(1, 2, rows) for name in names}
    table["group"] = draw.choice(np.array(["a", "b", "c", "d", "e"]), rows)
    return table


def by_hand(frame: pl.DataFrame, relation: Any) -> dict[tuple[str, str], Callable[[], Any]]:
    """The same sums as an analyst would write them, without care for null, NaN or exactness."""
    scale = 2**20 / 8
    code = ((pl.col("x0").clip(-3, 5) + 3) * scale).floor().cast(pl.Int64)
    codes = [((pl.col(n).clip(-3, 5) + 3) * scale).floor().cast(pl.Int64).alias(n) for n in NAMES]
    squares = [(pl.col(n) * pl.col(n)).sum().alias(f"{n}2") for n in NAMES]
    products = [
        (pl.col(a) * pl.col(b)).sum().alias(f"{a}{b}")
        for i, a in enumerate(NAMES)
        for b in NAMES[i:]
    ]
    lazy = frame.lazy()
    sql = "floor((least(greatest({0}, -3), 5) + 3) * 131072)::bigint"
    inner = ", ".join(f"{sql.format(n)} as {n}" for n in NAMES)
    coded = f"(select {inner} from t)"
    sums = ", ".join(f"sum({n})" for n in NAMES)
    squared = ", ".join(f"sum({n} * {n})" for n in NAMES)
    crossed = ", ".join(f"sum({a} * {b})" for i, a in enumerate(NAMES) for b in NAMES[i:])
    polars_where = (pl.col("x0") > 1) & pl.col("group").is_in(["a", "b"])

    def ask(text: str) -> Callable[[], Any]:
        return lambda: relation.query("t", text).fetchall()

    return {
        ("polars", "means by group"): lambda: (
            lazy.group_by("group").agg(pl.len(), code.sum()).collect()
        ),
        ("polars", "count where"): lambda: lazy.filter(polars_where).select(pl.len()).collect(),
        ("polars", "moments of 10"): lambda: (
            lazy.select(codes).select(pl.len(), pl.col(NAMES).sum(), *squares).collect()
        ),
        ("polars", "gram of 10"): lambda: (
            lazy.select(codes).select(pl.len(), pl.col(NAMES).sum(), *products).collect()
        ),
        ("duckdb", "means by group"): ask(
            f'select "group", count(*), sum({sql.format("x0")}) from t group by "group"'
        ),
        ("duckdb", "count where"): ask(
            "select count(*) from t where x0 > 1 and \"group\" in ('a', 'b')"
        ),
        ("duckdb", "moments of 10"): ask(f"select count(*), {sums}, {squared} from {coded}"),
        ("duckdb", "gram of 10"): ask(f"select count(*), {sums}, {crossed} from {coded}"),
    }


def best(acts: dict[Any, Callable[[], Any]]) -> dict[Any, float]:
    """Seconds of each, the repetitions interleaved."""
    times: dict[Any, list[float]] = {key: [] for key in acts}
    for _ in range(ROUNDS):
        for key, act in acts.items():
            start = time.perf_counter()
            act()
            times[key].append(time.perf_counter() - start)
    return {key: min(values) for key, values in times.items()}


def growth() -> int:
    """How much longer ten times the rows take; the number of bars missed."""
    names = NAMES[:4]
    schema = dp.Schema({**{n: SCHEMA[n] for n in names}, "group": SCHEMA["group"]})
    queries = {"moments of 4": dp.Moments(*names), "means by group": dp.Mean("x0", by="group")}
    times: dict[tuple[str, str, int], float] = {}
    for rows in (ROWS, 10 * ROWS):
        table = columns(rows, names)
        frame = pl.DataFrame(table)
        sources = {
            "numpy": table,
            "polars": frame,
            "duckdb": duckdb.connect().from_arrow(frame.to_arrow()),
        }
        acts: dict[Any, Callable[[], Any]] = {}
        for name, source in sources.items():
            dataset = dp.PrivateDataset(source, schema, unit=dp.PUBLIC)
            for label, query in queries.items():
                acts[name, label, rows] = lambda d=dataset, q=query: exact_totals(d, q)  # type: ignore[misc]
        times |= best(acts)
    failures = 0
    for name, label, rows in times:
        if rows == ROWS:
            ratio = times[name, label, 10 * ROWS] / times[name, label, ROWS]
            failures += ratio > GROWTH_BAR
            verdict = "PASS" if ratio <= GROWTH_BAR else "FAIL"
            print(
                f"{verdict}  {label} on {name}: ten times the rows, {ratio:.1f} x (<= {GROWTH_BAR})"
            )
    return failures


def main() -> int:
    """Print the ratios; return how many bars were missed."""
    table = columns(ROWS)
    frame = pl.DataFrame(table)
    relation = duckdb.connect().from_arrow(frame.to_arrow())
    sources = {
        "numpy": table,
        "polars": frame,
        "pandas": pd.DataFrame(table),
        "pyarrow": frame.to_arrow(),
        "duckdb": relation,
        "dask": dask.dataframe.from_pandas(pd.DataFrame(table), npartitions=4),
    }
    opened = {n: dp.PrivateDataset(s, SCHEMA, unit=dp.PUBLIC) for n, s in sources.items()}
    failures = 0
    acts: dict[Any, Callable[[], Any]] = {}
    hand = by_hand(frame, relation)
    for label, query in QUERIES.items():
        wanted = exact_totals(opened["numpy"], query)
        for name, dataset in opened.items():
            if not np.array_equal(exact_totals(dataset, query), wanted):
                failures += 1
                print(f"{label} on {name}: OTHER INTEGERS than numpy")
            acts[name, label] = lambda d=dataset, q=query: exact_totals(d, q)  # type: ignore[misc]
    times = best(acts)
    hand_times = best(hand)
    print(f"{ROWS} rows; seconds, and the ratio to the same query written by hand for the engine")
    for (name, label), seconds in times.items():
        ratio = seconds / hand_times[name, label] if (name, label) in hand_times else None
        shown = "" if ratio is None else f"{ratio:6.1f} x by hand"
        print(f"  {label:16s} {name:8s} {seconds:7.3f} s {shown}")
    print("PASS  all integers equal" if not failures else f"FAIL  {failures} answers differ")
    return failures + growth()


if __name__ == "__main__":
    sys.exit(main())
