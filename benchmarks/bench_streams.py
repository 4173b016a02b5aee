"""Parquet files larger than they may be in memory: how much of it they take, and how long.

Run ``python benchmarks/bench_streams.py`` (20 million rows of ten columns), with ``--rows 50000000`` for
the full size, and ``--csv`` for a CSV file too. Rows per person are limited in one file of five million
rows. The files are made in a temporary folder and removed. The
memory is the largest resident set of a process of its own that does nothing else. The exit status is the
number of bars missed.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import discreet as dp
from discreet.testing import exact_totals

ROWS = 20_000_000
FILE_ROWS = 5_000_000
NAMES = [f"x{i}" for i in range(10)]
SCHEMA = dp.Schema({name: dp.Real(-3, 5) for name in NAMES})
PERSONS = dp.Unit(dp.PUBLIC, id_column="person", max_rows=2)
MEMORY_BAR = 800  # megabytes
HAND_BAR = 1.5
ROUNDS = 4
QUICK = {"ROWS": 2000, "FILE_ROWS": 1000, "ROUNDS": 1}


def write(folder: Path, rows: int) -> None:
    """Files of random numbers, some of them null or NaN, and a person of ten rows on average."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET memory_limit = '1GB'")
    columns = ", ".join(
        f"CASE WHEN random() < 0.001 THEN NULL ELSE random() * 10 - 4 END AS {n}" for n in NAMES
    )
    for index, start in enumerate(range(0, rows, FILE_ROWS)):
        length = min(FILE_ROWS, rows - start)
        connection.execute(
            f"COPY (SELECT {columns}, (random() * {rows // 10})::BIGINT AS person "
            f"FROM range({length})) TO '{folder / f'{index:03d}.parquet'}' (FORMAT parquet)"
        )


def by_hand(folder: Path) -> Callable[[], list[int]]:
    """Counts, sums and squares as SQL that gives the same integers, on a connection like ours."""
    from discreet.engines.parquet import connect_with_limits

    connection = connect_with_limits()
    code = (
        "2 * floor((CASE WHEN {0} IS NULL OR isnan({0}) THEN 1.0 ELSE least(greatest({0}, -3.0), 5.0) END "
        "+ 3.0::DOUBLE) * 4096.0::DOUBLE)::BIGINT - 32768"
    )
    inner = ", ".join(f"{code.format(n)} AS {n}" for n in NAMES)
    sums = ", ".join(f"sum({n}), sum({n} * {n})" for n in NAMES)
    files = f"read_parquet('{folder}/*.parquet')"
    text = f"SELECT count(*), {sums} FROM (SELECT {inner} FROM {files})"
    return lambda: [int(value) for value in connection.sql(text).fetchall()[0]]


def child(folder: Path, question: str) -> None:
    """Ask one question and print the seconds and megabytes it took."""
    source: Any = folder / "rows.csv" if question.startswith("csv") else folder
    if question == "persons":
        source = folder / "000.parquet"
    names = NAMES[:3] if question.startswith("csv") else NAMES
    unit = PERSONS if question.endswith("persons") else dp.Unit(dp.PUBLIC)
    query = {
        "moments": dp.Moments(*NAMES),
        "gram": dp.Gram(*NAMES),
        "persons": dp.Moments(*NAMES),
        "median": dp.Median("x0"),
    }.get(question, dp.Moments(*names))
    dataset = dp.PrivateDataset(source, SCHEMA, unit=unit)
    start = time.perf_counter()
    exact_totals(dataset, query)
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([seconds, memory]))


def measured(folder: Path, question: str) -> tuple[float, float]:
    """Seconds and megabytes of a question in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--child", str(folder), "--ask", question],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    seconds, memory = json.loads(done.stdout.splitlines()[-1])
    return seconds, memory


def report(passed: bool, text: str) -> int:
    print(f"{'PASS' if passed else 'FAIL'}  streams: {text}", flush=True)
    return int(not passed)


def compare(folder: Path) -> int:
    """Our sums and squares against the same SQL by hand, interleaved."""
    dataset = dp.PrivateDataset(folder, SCHEMA, unit=dp.PUBLIC)
    hand = by_hand(folder)
    query = dp.Moments(*NAMES)
    terms = query.terms(SCHEMA)
    ours = exact_totals(dataset, query)[0].tolist()
    wanted = [value * term.weight for value, term in zip(hand(), terms, strict=True)]
    times: dict[str, list[float]] = {"ours": [], "hand": []}
    for _ in range(ROUNDS):
        for name, act in {"ours": lambda: exact_totals(dataset, query), "hand": hand}.items():
            start = time.perf_counter()
            act()
            times[name].append(time.perf_counter() - start)
    ratio = min(times["ours"]) / min(times["hand"])
    text = f"sums and squares of ten columns, {min(times['ours']):.2f} s: {ratio:.2f} x by hand"
    failures = report(ratio <= HAND_BAR, f"{text} (<= {HAND_BAR})")
    return failures + report(ours == wanted, "the integers of the SQL written by hand are the same")


def write_csv(folder: Path, rows: int) -> None:
    import duckdb

    files = f"read_parquet('{folder}/*.parquet')"
    duckdb.connect().execute(
        f"COPY (SELECT * REPLACE (person % 50000 AS person) FROM {files} LIMIT {rows}) "
        f"TO '{folder / 'rows.csv'}' (HEADER)"
    )


def main(rows: int | None = None, csv: bool = False) -> int:
    """Print each figure with PASS or FAIL; the number of bars missed."""
    rows = ROWS if rows is None else rows
    failures = 0
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name:
        folder = Path(name)
        write(folder, rows)
        size = sum(path.stat().st_size for path in folder.iterdir()) / 2**30
        print(f"{rows:,} rows of ten columns and an id: {size:.1f} GiB of Parquet")
        for question in ("moments", "gram", "median", "persons"):
            seconds, memory = measured(folder, question)
            text = f"{question}: {seconds:.1f} s, {memory:.0f} MB at most (<= {MEMORY_BAR})"
            failures += report(memory <= MEMORY_BAR, text)
        failures += compare(folder)
        if csv:
            write_csv(folder, rows // 20)
            for question in ("csv", "csv persons"):
                seconds, memory = measured(folder, question)
                text = f"{question}, {rows // 20:,} rows: {seconds:.1f} s, {memory:.0f} MB at most"
                failures += report(memory <= MEMORY_BAR, f"{text} (<= {MEMORY_BAR})")
    return failures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--csv", action="store_true")
    parser.add_argument("--child", type=Path)
    parser.add_argument("--ask", default="moments")
    given = parser.parse_args()
    if given.child is not None:
        child(given.child, given.ask)
        sys.exit(0)
    sys.exit(min(main(given.rows, given.csv), 1))
