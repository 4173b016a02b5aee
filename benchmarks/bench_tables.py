"""Tables written in batches: masks and whole releases against numpy's Laplace draws, and their memory.

Run ``python benchmarks/bench_tables.py``: 3.19 million rows of nine columns, as in the paper, masked by
`WaveletLaplace` (LS+*), in memory and from Parquet to Parquet. Times are ratios to drawing as many Laplace
values with numpy in the same process. The memory is the largest resident set of a process of its own beyond
what it held before the release, libraries loaded. The exit status is the number of bars missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dp
from discreet.publish.masks import WaveletLaplace

ROWS, COLUMNS = 3_190_000, 9
FILE_ROWS = 500_000
ROUNDS = 3
NAMES = [f"x{j}" for j in range(COLUMNS)]
SCHEMA = dp.Schema({name: dp.Real(0, 1) for name in NAMES})
MASK = WaveletLaplace(1, order="position")
MASK_BAR, WRITE_BAR, GROWTH_BAR = 2.0, 6.0, 11.0
MEMORY_BAR, MEMORY_GROWTH_BAR = 100.0, 20.0  # megabytes
QUICK = {"ROWS": 20_000, "FILE_ROWS": 1000, "ROUNDS": 1}


def report(value: float, bar: float, text: str) -> int:
    passed = value <= bar
    print(f"{'PASS' if passed else 'FAIL'}  tables: {text} (<= {bar:g})", flush=True)
    return int(not passed)


def seconds_of(act: Any) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def draw(rows: int) -> None:
    """As many Laplace values as the table has cells, a batch at a time."""
    generator = np.random.default_rng()
    for _ in range(COLUMNS):
        generator.laplace(size=rows)


def mask_in_memory() -> int:
    codes = np.random.default_rng(0).integers(0, 2**20, (ROWS, COLUMNS))
    plan = MASK.plan(SCHEMA)
    ours, theirs = [], []
    for _ in range(ROUNDS):
        theirs.append(seconds_of(lambda: draw(ROWS)))
        ours.append(seconds_of(lambda: plan.blur_numbers(codes)))
    ratio = min(ours) / min(theirs)
    nanoseconds = 1e9 * min(theirs) / ROWS / COLUMNS
    text = f"mask of {ROWS:,} × {COLUMNS}: {ratio:.2f} × numpy's draws ({nanoseconds:.1f} ns each)"
    return report(ratio, MASK_BAR, text)


def write(folder: Path, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    generator = np.random.default_rng(0)
    for index, start in enumerate(range(0, rows, FILE_ROWS)):
        cells = generator.random((min(FILE_ROWS, rows - start), COLUMNS))
        table = pa.table(dict(zip(NAMES, cells.T, strict=True)))
        pq.write_table(
            table, folder / f"{index:03d}.parquet", use_dictionary=False, row_group_size=100_000
        )


class Watch:
    """The most memory that this process holds while it is watched, in megabytes beyond the beginning."""

    def __enter__(self) -> Watch:
        self.start = self.most = self._now()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._end.wait(0.01):
            self.most = max(self.most, self._now())

    @staticmethod
    def _now() -> float:
        fields = Path("/proc/self/statm").read_text().split()
        return int(fields[1]) * 4096 / 2**20

    @property
    def grown(self) -> float:
        return self.most - self.start


def child(folder: Path, rows: int) -> None:
    """Publish a folder into another one, and print seconds, those of numpy's draws, and megabytes."""
    small = folder.parent / f"small-{folder.name}"
    write(small, 9)  # libraries are loaded before the watch begins
    ledger = dp.Ledger(limit=dp.PureDP(1), unit=dp.REPLACE_ONE)
    warm = dp.PrivateDataset(small, SCHEMA, ledger=ledger, rows=9)
    MASK.publish(warm, to=folder.parent / f"warm-{folder.name}")
    theirs = min(seconds_of(lambda: draw(min(rows, 500_000))) for _ in range(3))
    theirs *= rows / min(rows, 500_000)
    ledger = dp.Ledger(limit=dp.PureDP(1), unit=dp.REPLACE_ONE)
    with Watch() as memory:
        data = dp.PrivateDataset(folder, SCHEMA, ledger=ledger, rows=rows)
        ours = seconds_of(lambda: MASK.publish(data, to=folder.parent / f"out-{folder.name}"))
    print(json.dumps([ours, theirs, memory.grown]))


def measured(folder: Path, rows: int) -> tuple[float, float, float]:
    done = subprocess.run(
        [sys.executable, __file__, "--child", str(folder), "--rows", str(rows)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    ours, theirs, memory = json.loads(done.stdout.splitlines()[-1])
    return ours, theirs, memory


def main() -> int:
    """Print each figure with PASS or FAIL; the number of bars missed."""
    failures = mask_in_memory()
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name:
        found = {}
        for rows in (ROWS // 10, ROWS):
            folder = Path(name) / f"rows-{rows}"
            write(folder, rows)
            found[rows] = measured(folder, rows)
        few, many = found[ROWS // 10], found[ROWS]
        text = f"Parquet to Parquet, {ROWS:,} rows, {many[0]:.2f} s: {many[0] / many[1]:.2f} × numpy's draws"
        failures += report(many[0] / many[1], WRITE_BAR, text)
        failures += report(many[2], MEMORY_BAR, f"memory beyond the start: {many[2]:.0f} MB")
        grown = many[2] - few[2]
        failures += report(grown, MEMORY_GROWTH_BAR, f"ten times the rows: {grown:.0f} MB more")
        failures += report(
            many[0] / few[0], GROWTH_BAR, f"ten times the rows: {many[0] / few[0]:.1f} × the time"
        )
    return failures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", type=Path)
    parser.add_argument("--rows", type=int, default=ROWS)
    given = parser.parse_args()
    if given.child is not None:
        child(given.child, given.rows)
        sys.exit(0)
    sys.exit(min(main(), 1))
