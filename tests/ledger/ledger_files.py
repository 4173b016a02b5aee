"""Files of ledgers, as tests handle them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path


def path_of(url: str) -> Path:
    """The file of a ledger in SQLite."""
    return Path(url.removeprefix("sqlite:///"))


def copy_file(source: Path, target: Path) -> Path:
    """A copy by another process: closing the file in this one would drop SQLite's locks."""
    subprocess.run(["cp", source, target], check=True)
    return target


def wait_for(condition: Callable[[], bool], seconds: float = 20) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
