"""What doesn't fit into memory lies in a private folder, or nowhere."""

from __future__ import annotations

import shutil
import stat
import tempfile
import threading
import time
from pathlib import Path

import pytest

duckdb = pytest.importorskip("duckdb")

from discreet.engines import parquet  # noqa: E402

#: Sorts more than the memory that is allowed.
LARGE = (
    "SELECT max(x) FROM "
    "(SELECT hash(range)::VARCHAR || range AS x FROM range(3000000) ORDER BY x OFFSET 5)"
)


def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv(parquet.MEMORY_SWITCH, "60MB")
    connection = parquet.connect_with_limits()
    connection.execute("SET threads = 1")
    return connection


def test_only_the_owner_can_reach_what_is_spilled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = opened(tmp_path, monkeypatch)
    seen, done = set(), threading.Event()

    def watch() -> None:
        while not done.is_set():
            for file in tmp_path.glob("discreet-spill-*/*/*"):
                seen.add(stat.S_IMODE(file.parent.parent.stat().st_mode))
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        connection.execute(LARGE).fetchall()  # type: ignore[attr-defined]
    finally:
        done.set()
        watcher.join()
    assert seen == {0o700}


def test_a_folder_that_was_removed_is_not_made_again_for_all_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As programs that clean up temporary files do it, or the end of a process whose threads still ask."""
    connection = opened(tmp_path, monkeypatch)
    (folder,) = tmp_path.glob("discreet-spill-*")
    shutil.rmtree(folder)
    with pytest.raises(duckdb.Error):
        connection.execute(LARGE).fetchall()  # type: ignore[attr-defined]
    assert list(tmp_path.glob("discreet-spill-*")) == []
