"""Ledgers without an address: files in one folder of the process, which is removed when the process ends."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import tempfile
import threading
from pathlib import Path

__all__ = ["is_temporary", "remove_temporary", "temporary_url"]

_PREFIX = "discreet-ledgers-"

#: The folder of each process that made ledgers. A forked child inherits the entry of its parent and
#: leaves that folder alone.
_folders: dict[int, str] = {}
_numbers = itertools.count(1)
_lock = threading.Lock()
# A fork while another thread holds the lock must not leave it locked in the child for ever.
os.register_at_fork(
    before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
)


def temporary_url() -> str:
    """The URL of a new file that other processes can open and this one removes when it ends."""
    with _lock:
        process = os.getpid()
        if process not in _folders:
            _folders[process] = tempfile.mkdtemp(prefix=_PREFIX)
        return f"sqlite:///{_folders[process]}/{next(_numbers)}.db"


def is_temporary(path: Path) -> bool:
    """Whether a file is such a ledger, of this process or of another one."""
    return path.parent.name.startswith(_PREFIX) and str(path.parent.parent) == tempfile.gettempdir()


@atexit.register
def remove_temporary() -> None:
    """Remove this process's folder, now; runs by itself where a process ends in the usual way."""
    with _lock:
        folder = _folders.pop(os.getpid(), None)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
