"""What one pass over many rows costs: processor time and memory by engine, and what Spark shuffles.

Run ``python benchmarks/bench_scale.py`` for 1e6 and 1e7 rows; ``--rows 1e8`` goes on (a run of its own, with
3 GB of disk). The rows are written once, as Parquet files of a million rows each; each engine answers the
same questions in a process of its own, on one thread, so that its largest memory is its own. Times are those
of the processor, which a busy machine doesn't change much; those of Spark are its tasks' own account. The
bars: ten times the rows take at most 13 times as long, and all engines give the same integers.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROWS = [1_000_000, 10_000_000]
ENGINES = ["numpy", "Polars", "DuckDB", "CSV", "Spark"]
#: The standard library reads CSV, at microseconds per row: shown at the smallest size.
SMALL_ONLY = {"CSV"}
QUICK = {
    "ROWS": [1000, 2000],
    "ENGINES": ["numpy", "Polars", "DuckDB"],
    "FILE": 1000,
    "GROWTH_BAR": 1000,
}
#: Rows of one file.
FILE = 1_000_000
GROWTH_BAR = 13
#: An engine by itself, with rows of its own: DuckDB on a file of its own, asked by address.
DATABASE = "DuckDB-file"
#: How many of the questions are asked, from the first on.
QUESTIONS = 5
#: What DuckDB may take before it writes to the disk.
DUCKDB_MEMORY = "6GB"
WARDS = ("A", "B", "C", "D")


def write_rows(folder: Path, rows: int) -> None:
    """Visits of patients, three on average, in Parquet files."""
    import numpy as np
    import polars as pl

    for number, start in enumerate(range(0, rows, FILE)):
        draw = np.random.default_rng(number)
        size = min(FILE, rows - start)
        frame = pl.DataFrame(
            {
                "patient": draw.integers(0, max(1, rows // 3), size),
                "ward": draw.choice(np.array(WARDS), size),
                "age": draw.integers(0, 100, size),
                "cost": draw.gamma(2.0, 400.0, size),
                "stay": draw.gamma(2.0, 3.0, size),
            }
        )
        frame.write_parquet(folder / f"part-{number:05d}.parquet")


def write_database(path: Path, rows: int) -> None:
    """Visits in a file of DuckDB, which makes them up itself: sooner than numpy writes as many."""
    import duckdb

    with duckdb.connect(str(path), config={"threads": 1}) as database:
        database.execute(
            f"CREATE TABLE visits AS SELECT CAST(random() * {rows // 3} AS INTEGER) AS patient, "
            "chr(65 + CAST(floor(random() * 4) AS INTEGER)) AS ward, "
            "CAST(floor(random() * 100) AS INTEGER) AS age, -400 * ln(1 - random()) AS cost, "
            f"-6 * ln(1 - random()) AS stay FROM range({rows})"
        )


def open_rows(engine: str, folder: Path) -> tuple[Any, Any]:
    """The rows as an engine is given them, and a Spark session, if there is one."""
    if engine == DATABASE:
        path = folder.parent / f"{folder.name}.db"
        if not path.exists():
            write_database(path, int(folder.name))
        return f"duckdb:///{path}?table=visits", None
    import polars as pl

    pattern = str(folder / "*.parquet")
    if engine == "numpy":
        return {
            name: column.to_numpy() for name, column in pl.read_parquet(pattern).to_dict().items()
        }, None
    if engine == "Polars":
        return pl.scan_parquet(pattern), None
    if engine == "DuckDB":
        import duckdb

        spare = {"memory_limit": DUCKDB_MEMORY, "temp_directory": str(folder.parent)}
        connection = duckdb.connect(config={"threads": 1, **spare})
        return connection.read_parquet(pattern), None
    if engine == "CSV":
        path = folder.parent / f"{folder.name}.csv"
        if not path.exists():
            pl.scan_parquet(pattern).sink_csv(path)
        return str(path), None
    return open_spark(folder)


def open_spark(folder: Path) -> tuple[Any, Any]:
    """The rows as a Spark frame; its web page has the figures of stages, and stays on this machine."""
    import warnings

    os.environ["PYSPARK_PYTHON"] = sys.executable
    warnings.simplefilter("ignore")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").appName("scale")
    for name, value in {
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "8",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "3g",
        "spark.log.level": "OFF",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    return session.read.parquet(str(folder)), session


def read_clock(session: Any) -> tuple[float, int]:
    """Seconds of the processor, and bytes shuffled, so far; for Spark by its own account of its tasks."""
    if session is None:
        return time.process_time(), 0
    from urllib.request import urlopen

    base = f"{session.sparkContext.uiWebUrl}/api/v1/applications"
    with urlopen(f"{base}/{session.sparkContext.applicationId}/stages?status=complete") as answer:
        stages = json.load(answer)
    return (
        sum(stage["executorCpuTime"] for stage in stages) / 1e9,
        sum(stage["shuffleWriteBytes"] for stage in stages),
    )


def ask(engine: str, folder: Path) -> dict[str, Any]:
    """Answer all questions with one engine: seconds, digest of the integers, bytes shuffled, memory."""
    import hashlib

    import discreet as dp
    from discreet.testing import exact_totals

    schema = dp.Schema(
        ward=dp.Categorical(*WARDS),
        age=dp.Integer(0, 100),
        cost=dp.Real(0, 5000),
        stay=dp.Real(0, 60),
    )
    source, session = open_rows(engine, folder)
    rows = dp.PrivateDataset(source, schema, unit=dp.PUBLIC)
    people = dp.PrivateDataset(
        source, schema, unit=dp.Unit(dp.PUBLIC, id_column="patient", max_rows=2)
    )
    questions: dict[str, tuple[Any, Any]] = {
        "count": (rows, dp.Count()),
        "means by ward": (rows, dp.Mean("cost", by="ward")),
        "moments of 3": (rows, dp.Moments("age", "cost", "stay")),
        "median": (rows, dp.Median("cost")),
        "mean, 2 rows a person": (people, dp.Mean("cost", by="ward")),
    }
    found: dict[str, Any] = {}
    for name, (data, query) in list(questions.items())[:QUESTIONS]:
        start, before = read_clock(session)
        totals = exact_totals(data, query)
        end, after = read_clock(session)
        seconds, moved = end - start, None if session is None else after - before
        digest = hashlib.sha256(totals.tobytes()).hexdigest()
        found[name] = {"seconds": seconds, "digest": digest, "shuffled": moved}
    found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if session is not None:
        session.stop()
    return found


def ask_apart(engine: str, folder: Path) -> dict[str, Any] | None:
    """`ask` in a process of its own, on one thread; None where the engine isn't installed."""
    if engine == "Spark" and shutil.which("java") is None:
        return None
    one = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    command = [sys.executable, __file__, "--ask", engine, "--folder", str(folder)]
    command += ["--questions", str(QUESTIONS)]
    done = subprocess.run(command, env=os.environ | one, capture_output=True, text=True)
    if done.returncode:
        print(f"{engine}: left out, {done.stderr.strip().splitlines()[-1:]}", flush=True)
        return None
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def show(engine: str, rows: int, found: dict[str, Any]) -> None:
    """A line for each question."""
    for name, told in found.items():
        if name == "memory":
            print(f"{engine:7} {rows:12,} {'largest memory':24} {told:9.0f} MB")
            continue
        moved = "" if told["shuffled"] is None else f"   {told['shuffled']:13,} bytes shuffled"
        per_row = told["seconds"] / rows * 1e9
        print(
            f"{engine:7} {rows:12,} {name:24} {told['seconds']:9.2f} s {per_row:9.1f} ns/row{moved}"
        )


def compare(results: dict[tuple[str, int], dict[str, Any]]) -> int:
    """How many bars are missed: equal integers, and time that grows with the rows and no faster."""
    missed = 0
    for (engine, rows), found in results.items():
        for name, told in found.items():
            if name == "memory":
                continue
            first = next(r[name] for (_, n), r in results.items() if n == rows)
            missed += told["digest"] != first["digest"]
            if told["digest"] != first["digest"]:
                print(f"{engine} {rows:,} {name}: OTHER INTEGERS")
            before = results.get((engine, rows // 10))
            if before is None:
                continue
            growth = told["seconds"] / before[name]["seconds"]
            late = growth > GROWTH_BAR
            missed += late
            print(
                f"{engine:7} {name:24} ten times the rows: {growth:5.1f} times as long{'  MISSED' * late}"
            )
    return missed


def main(sizes: Sequence[int] | None = None) -> int:
    """Measure all engines at all sizes; the number of bars missed."""
    results: dict[tuple[str, int], dict[str, Any]] = {}
    smallest = min(sizes or ROWS)
    with tempfile.TemporaryDirectory() as scratch:
        for rows in sizes or ROWS:
            folder = Path(scratch) / str(rows)
            folder.mkdir()
            if set(ENGINES) != {DATABASE}:
                write_rows(folder, rows)
            for engine in ENGINES:
                if engine in SMALL_ONLY and rows > smallest:
                    continue
                found = ask_apart(engine, folder)
                if found is not None:
                    results[engine, rows] = found
                    show(engine, rows, found)
    return compare(results)


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--rows", nargs="*", type=float, help="how many rows, such as 1e6 1e7 1e8")
    reader.add_argument("--engines", nargs="*", help="a part of them")
    reader.add_argument("--ask", help=argparse.SUPPRESS)
    reader.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    reader.add_argument("--questions", type=int, default=QUESTIONS, help="the first ones alone")
    given = reader.parse_args()
    QUESTIONS = given.questions
    if given.ask:
        print(json.dumps(ask(given.ask, given.folder)))
    else:
        ENGINES = given.engines or ENGINES
        sys.exit(main([int(rows) for rows in given.rows] if given.rows else None))
