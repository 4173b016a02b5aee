"""Who reads now: connections that serve one thread at a time, or a few.

A turn is taken for the time of one answer, after it was charged, and no other lock is waited for while
it is held. What is taken before it comes always in one order: the run of a search (`noise.generators`),
kept rows or codes of a plan, then the turn. So no two threads can wait for each other.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any, final

from discreet.coding import Engine
from discreet.engines.sessions import Sessions
from discreet.schema import Schema
from discreet.unit import Unit

__all__ = ["DUCKDB_RELATIONS", "InTurn", "Turn", "share_turn"]


@final
class Turn:
    """Lets a number of threads in at a time; a forked child finds it free, whoever held it in the parent."""

    def __init__(self, maximum: int = 1) -> None:
        self._most = maximum
        self.renew()
        _turns.add(self)

    def renew(self) -> None:
        """Forget who holds it."""
        self._lock: Any = threading.BoundedSemaphore(self._most)
        if self._most == 1:
            self._lock = threading.RLock()

    @contextmanager
    def take(self) -> Iterator[None]:
        """Wait for the turn, and hold it inside."""
        lock = self._lock
        with lock:
            yield


_turns: weakref.WeakSet[Turn] = weakref.WeakSet()
_shared: weakref.WeakValueDictionary[Any, Turn] = weakref.WeakValueDictionary()
_sharing = threading.Lock()


def share_turn(key: Hashable) -> Turn:
    """The turn of all that reads through one database or connection; there as long as anyone holds it."""
    with _sharing:
        turn = _shared.get(key)
        if turn is None:
            _shared[key] = turn = Turn()
        return turn


def _renew_turns() -> None:
    global _sharing
    _sharing = threading.Lock()
    for turn in _turns:
        turn.renew()


os.register_at_fork(after_in_child=_renew_turns)

#: A relation doesn't tell its connection, which serves one thread at a time: all that people gave take turns.
DUCKDB_RELATIONS = Turn()


@final
class InTurn(Sessions):
    """An engine that is asked by one thread at a time."""

    def __init__(self, engine: Engine, turn: Turn) -> None:
        self._engine, self._turn = engine, turn

    def check(self, schema: Schema, unit: Unit) -> None:
        with self._turn.take():
            self._engine.check(schema, unit)

    @contextmanager
    def _session(self) -> Iterator[Engine]:
        with self._turn.take():
            yield self._engine
