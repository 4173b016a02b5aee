"""What networks, teachers and data sets say while they work on rows stays inside."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import threading
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np

__all__ = ["keep_quiet"]


class _Silence:
    """Warnings, logs and standard output of the process: off from the first thread inside to the last one."""

    def __init__(self) -> None:
        self._lock, self._inside, self._stack = threading.Lock(), Counter[int](), ExitStack()
        os.register_at_fork(after_in_child=self._fork)

    def enter(self) -> None:
        with self._lock:
            if not self._inside:
                self._turn_off()
            self._inside[threading.get_ident()] += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= Counter([threading.get_ident()])
            if not self._inside:
                self._stack.close()

    def _turn_off(self) -> None:
        self._stack.close()  # of somebody who was interrupted on the way out
        self._stack.callback(logging.disable, logging.root.manager.disable)
        logging.disable(logging.CRITICAL)
        self._stack.enter_context(warnings.catch_warnings())
        self._stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        warnings.simplefilter("ignore")

    def _fork(self) -> None:
        """In a child the thread that forked is alone, and another may have held the lock."""
        self._lock, mine = threading.Lock(), threading.get_ident()
        self._inside = Counter({mine: self._inside[mine]} if self._inside[mine] else {})
        if not self._inside:
            self._stack.close()


_silence = _Silence()


@contextlib.contextmanager
def keep_quiet() -> Iterator[None]:
    """Keep what a library would tell about rows to itself: warnings, logs, and what Python prints.

    These belong to the whole process, so all threads are quiet until the last one has left.
    """
    _silence.enter()
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _silence.leave()
