"""Processes that end leave no folders behind, however they were started."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

CHILDREN = """
import multiprocessing, os, sys
import discreet as dp
from discreet.engines.parquet import connect_with_limits

kept = []


def work():
    kept.append(dp.Ledger(limit=dp.PureDP(1)))
    kept.append(connect_with_limits())
    print(*sorted(name for name in os.listdir(os.environ["TMPDIR"]) if name.startswith("discreet")))


if __name__ == "__main__":
    if sys.argv[1] == "alone":
        work()
    else:
        child = multiprocessing.get_context(sys.argv[1]).Process(target=work)
        child.start()
        child.join()
        sys.exit(child.exitcode)
"""


@pytest.mark.parametrize("how", ["alone", "fork", "spawn", "forkserver"])
def test_folders_go_with_the_process(how: str, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    program = tmp_path / "program.py"
    program.write_text(CHILDREN)
    with tempfile.TemporaryDirectory() as folder:  # the names of sockets must be short
        told, left = run(program, how, folder)
    assert told.count("discreet-") == 2  # both were there
    assert left == []


def run(program: Path, how: str, folder: str) -> tuple[str, list[str]]:
    """What the program says, and which folders of ours it leaves."""
    done = subprocess.run(
        [sys.executable, str(program), how],
        env={**os.environ, "TMPDIR": folder},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout, [name for name in os.listdir(folder) if name.startswith("discreet")]
