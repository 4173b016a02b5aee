"""Ledgers without an address: a file of their own that goes when its process does."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

__all__ = ["temporary_url"]

#: What to remove, and the process that made it. Forked children inherit the list and leave it
#: alone.
_made: list[tuple[int, str]] = []


def temporary_url() -> str:
    """The URL of a new file that other processes can open and this one removes when it ends."""
    directory = tempfile.mkdtemp(prefix="discreet-ledger-")
    _made.append((os.getpid(), directory))
    return f"sqlite:///{directory}/budget.db"


@atexit.register
def _remove() -> None:
    for process, directory in _made:
        if process == os.getpid():
            shutil.rmtree(directory, ignore_errors=True)
