"""One thread that moves committed charges from the log into the ledger's file a moment later.

SQLite writes a charge to a log next to the file first. Somebody who copies the file alone, as people
do, would miss what is only in the log. A checkpoint after each commit would cost more than the
charge; a moment after the last one it costs nothing.

The thread is a daemon, ends when nothing is left to do, and is stopped before a fork, so that no
child inherits a half-done act or a lock.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import Protocol

__all__ = [
    "DELAY_SECONDS",
    "MAX_DELAY_SECONDS",
    "Keeper",
    "checkpoint_soon",
    "forget_keeper",
    "stop_keeper",
]

#: How long after the last charge, and at the latest after the first one that isn't in the file.
DELAY_SECONDS = 0.3
MAX_DELAY_SECONDS = 2.0

#: How often a thread that waits for a ledger looks whether it should stop.
_POLL_SECONDS = 0.02


class Checkpointed(Protocol):
    """What can be checkpointed."""

    lock: threading.RLock
    #: When the first and the last charge were committed that aren't in the file; zero for none.
    first_commit: float
    last_commit: float

    def checkpoint(self) -> None:
        """Move what is in the log; called with the lock held."""


class Keeper:
    """The thread of one process, and what it has to do."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._change = threading.Condition(threading.Lock())
        self._waiting: dict[int, weakref.ref[Checkpointed]] = {}
        self._thread: threading.Thread | None = None
        self._stopping = False

    def add(self, kept: Checkpointed) -> bool:
        """Plan a checkpoint; False where no thread can start, as at the end of a process."""
        with self._change:
            self._waiting[id(kept)] = weakref.ref(kept)
            if self._thread is not None:
                self._change.notify()
                return True
            thread = threading.Thread(target=self._work, name="discreet-checkpoints", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                self._waiting.clear()
                return False
            self._thread = thread
            return True

    def stop(self) -> None:
        """End the thread; safe for a caller who holds the lock of a ledger."""
        with self._change:
            thread, self._stopping = self._thread, True
            self._change.notify()
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        with self._change:
            self._stopping = False

    def _work(self) -> None:
        while True:
            with self._change:
                ready, seconds = self._due()
                if self._stopping or not (ready or seconds):
                    self._thread = None
                    return
                if not ready:
                    self._change.wait(seconds)
                    continue
            for kept in ready:
                self._checkpoint(kept)
            del ready, kept  # or a ledger that nobody else holds would stay open

    def _due(self) -> tuple[list[Checkpointed], float]:
        """What is ready now, and else how long to wait; 0 when nothing is left to do."""
        now, ready, seconds = time.monotonic(), [], 0.0
        for key, reference in list(self._waiting.items()):
            kept = reference()
            if kept is None or not kept.last_commit:
                del self._waiting[key]
                continue
            left = min(
                kept.last_commit + DELAY_SECONDS - now, kept.first_commit + MAX_DELAY_SECONDS - now
            )
            if left <= 0:
                ready.append(kept)
            else:
                seconds = min(seconds or left, left)
        return ready, seconds

    def _checkpoint(self, kept: Checkpointed) -> None:
        while not self._stopping:
            if kept.lock.acquire(timeout=_POLL_SECONDS):
                try:
                    if kept.last_commit and not self._stopping:
                        kept.checkpoint()
                finally:
                    kept.lock.release()
                return


_keeper = Keeper()


def checkpoint_soon(kept: Checkpointed) -> bool:
    """Plan a checkpoint of `kept`, in this process."""
    if _keeper.process != os.getpid():  # forked behind Python's back
        forget_keeper()
    return _keeper.add(kept)


def stop_keeper() -> None:
    """End the thread of this process, before a fork."""
    _keeper.stop()


def forget_keeper() -> None:
    """Start afresh in a forked child, where the parent's thread doesn't run."""
    global _keeper
    _keeper = Keeper()
