"""Programs of Debian that tests need, installed by the tests themselves where they may."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

#: Seconds until an installation is given up.
PATIENCE = 900


def install(package: str, is_there: Callable[[], bool]) -> bool:
    """Whether a package is there; as root, its installation is tried once per machine."""
    if is_there():
        return True
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    mark = Path(tempfile.gettempdir()) / f"discreet-{package}-install"
    with mark.open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # workers that run side by side
        lock.seek(0)
        if not lock.read() and not is_there():
            lock.write("tried\n")
            for words in (["update", "-qq"], ["install", "-y", "-qq", package]):
                _run("apt-get", *words)
    return is_there()


def _run(*words: str) -> None:
    """Run a program without a word; what it couldn't do is missed later."""
    try:
        subprocess.run(
            words,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return
