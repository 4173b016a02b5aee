"""Connections to a ledger's database: one at a time per process, none across a fork."""

from __future__ import annotations

import itertools
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TypeVar, cast

from sqlalchemy import ClauseElement, Connection, Engine, QueuePool
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import SQLCompiler

from discreet.ledger.checkpoints import checkpoint_soon, forget_keeper, stop_keeper
from discreet.ledger.dialects import Dialect, Failure, Refusal
from discreet.ledger.errors import LedgerCorrupt, LedgerError, LedgerUnavailable, LedgerUnknown
from discreet.secret import strip_frames

__all__ = ["Store", "run"]

T = TypeVar("T")

_stores: weakref.WeakSet[Store] = weakref.WeakSet()
_numbers = itertools.count()
_forking = threading.Lock()


class Store:
    """The database behind a ledger.

    Transactions of one process wait for each other at a lock, those of several at the database.
    Before a fork the connection is closed, so that no child ever has its parent's; a child that was
    forked behind Python's back notices by its process id and leaves that connection alone.

    `read` and `write` outlive a lost connection or a server that restarts, and turn database errors
    into one sentence. They raise it *after* the handler, so that nothing of the driver's error,
    which may hold the connection and its password, stays attached.

    In each transaction the dialect checks that the place is still the one that was opened, and
    `anchor` remembers the newest entry that this process saw, so that a ledger which was replaced
    or restored behind its back is noticed before the next charge.
    """

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a ledger's connection can't be pickled or copied: pickle the ledger, which opens its own."
        )

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.url = dialect.url
        self.errors: tuple[type[Exception], ...] = (DBAPIError, Refusal, *dialect.errors)
        self.number = next(_numbers)
        self.lock = threading.RLock()
        self._engine: Engine | None = None
        self._process = os.getpid()
        self._abandoned: list[Engine] = []
        #: Whether a transaction ever began: then an address that doesn't answer isn't a wrong one.
        self._known = False
        #: Number and hash of the newest entry that was seen in this place.
        self.anchor: tuple[int, str] | None = None
        #: When the first and the last charge were committed that a checkpoint must still move.
        self.first_commit = self.last_commit = 0.0
        with _forking:
            _stores.add(self)

    @property
    def engine(self) -> Engine:
        """An engine of this process."""
        if self._process != os.getpid():
            if self._engine is not None:
                self._abandoned.append(self._engine)  # closing it would touch the parent's locks
            self._engine, self._process = None, os.getpid()
        if self._engine is None:
            self._engine = self.dialect.engine()
            weakref.finalize(self, _dispose, self.dialect, self._engine, self._process)
        return self._engine

    def disconnect(self) -> None:
        """Close the connection; the next use opens another."""
        if self._engine is not None and self._process == os.getpid():
            _dispose(self.dialect, self._engine, self._process)
            self.first_commit = self.last_commit = 0.0

    def remember(self, number: int, hash_: str) -> None:
        """Note an entry that was seen: from now on it must be there."""
        if self.anchor is None or self.anchor[0] < number:
            self.anchor = number, hash_

    def checkpoint(self) -> None:
        """Move committed charges from the log into the file; the caller holds the lock."""
        done = False
        with suppress(*self.errors):
            done = self.dialect.checkpoint(self.engine)
        self.first_commit = self.last_commit = 0.0 if done else time.monotonic()

    def _plan_checkpoint(self) -> None:
        self.last_commit = time.monotonic()
        if not self.first_commit:
            self.first_commit = self.last_commit
            if not checkpoint_soon(self):
                self.checkpoint()

    def _connect(self, *, reading: bool) -> Connection:
        """A connection. The driver's frames hold the password: no error keeps them."""
        interrupt: BaseException | None = None
        try:
            return self.engine.connect().execution_options(reading=reading)
        except Exception as error:
            if isinstance(error, (*self.errors, LedgerError)):
                raise  # the first become a sentence
            name = type(error).__name__
        except BaseException as error:
            interrupt, name = strip_frames(error), ""
        if interrupt is not None:
            raise interrupt
        raise Refusal(f"the driver raised {name}; its message is withheld. Check the address")

    @contextmanager
    def _transaction(self, *, reading: bool) -> Iterator[Connection]:
        """A transaction that the block commits, or that is rolled back."""
        with self.lock, self._connect(reading=reading) as connection:
            try:
                connection.begin()
                self._known = True
                self.dialect.check_place(connection)
                yield connection
                connection.rollback()  # does nothing after a commit
            except self.errors:
                connection.invalidate()  # closed: nothing of it stays on the server
                raise
            except BaseException:
                try:
                    connection.rollback()
                except self.errors:
                    connection.invalidate()
                raise

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that holds the write lock; committed, on the disk, when the block ends."""
        with self._transaction(reading=False) as connection:
            yield connection
            connection.commit()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the ledger."""
        with self._transaction(reading=True) as connection:
            yield connection

    def read(self, act: Callable[[Connection], T]) -> T:
        """What `act` reads from one state of the ledger."""
        patience = _Patience(self.dialect.patience_seconds)
        while True:
            try:
                with self.reading() as connection:
                    try:
                        return act(connection)
                    finally:
                        self.dialect.check_settled(connection)
            except self.errors as error:
                failure = self._explain(error)
            if not (failure.passing and patience.lasts()):
                raise self._unusable(failure)

    def write(
        self,
        act: Callable[[Connection], T],
        *,
        token: str = "",
        find: Callable[[Connection], T | None] | None = None,
    ) -> T:
        """What `act` returns after its transaction was committed: once, or certainly not at all.

        An error before the commit is sent means that nothing was written: the server forgets a
        transaction whose connection ends. An error after that can mean either, so `find` looks for
        what `act` wrote. It looks under the same lock, which the server keeps for the lost
        transaction until that one has ended; hence what isn't there then will never be. Without
        `find`, `act` must be such that doing it twice is doing it once.
        """
        if self.dialect.read_only:
            raise LedgerUnavailable(
                f"The ledger {self.url} was opened with read_only=True: nothing is written, so nothing "
                "can be charged and no charge looked for under its lock. Open it without read_only."
            )
        patience = _Patience(self.dialect.patience_seconds)
        while True:
            sent = False
            try:
                with self._transaction(reading=False) as connection:
                    result = act(connection)
                    sent = True
                    connection.commit()
                    if self.dialect.keeps_log:
                        self._plan_checkpoint()
                return result
            except self.errors as error:
                failure = self._explain(error)
            except BaseException as error:
                if sent and token:  # an interrupt: only this process wants to stop
                    error.add_note(f"The charge may be booked: ledger.find({token!r}) tells.")
                raise
            if sent and find is not None:
                found = self._find(find, token, patience)
                if found is not None:
                    return found
            if not (failure.passing and patience.lasts()):
                done = "Nothing was charged, so nothing may be read" if token else "Try again later"
                raise self._unusable(failure, f" {done}.")

    def _unusable(self, failure: Failure, done: str = "") -> LedgerError:
        kind = LedgerCorrupt if failure.damaged else LedgerUnavailable
        return kind(f"The ledger {self.url} can't be used: {failure.reason}.{done}")

    def _find(
        self, find: Callable[[Connection], T | None], token: str, patience: _Patience
    ) -> T | None:
        """What `find` finds once the lost transaction has ended; None is final."""
        while True:
            try:
                with self.writing() as connection:
                    return find(connection)
            except self.errors as error:
                failure = self._explain(error)
            if not (failure.passing and patience.lasts()):
                raise LedgerUnknown(token, self.url, failure.reason)

    def _explain(self, error: Exception) -> Failure:
        """The failure; where a connection was lost, those that wait in the pool are as well."""
        original = error.orig if isinstance(error, DBAPIError) else None
        cause = original if isinstance(original, Exception) else error
        failure = (
            cause.failure
            if isinstance(cause, Refusal)
            else self.dialect.explain(cause, known=self._known)
        )
        if failure.passing:
            with self.lock, suppress(*self.errors):
                self.disconnect()
        return failure

    def prepare(self) -> None:
        """Set what the database itself remembers."""
        patience = _Patience(self.dialect.patience_seconds)
        while True:
            try:
                with self.lock:
                    return self.dialect.prepare(self.engine)
            except self.errors as error:
                failure = self._explain(error)
            if not (failure.passing and patience.lasts()):
                raise self._unusable(failure)


class _Patience:
    """How long to try again, in growing steps, counted from the first failure."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.step = seconds, 0.02
        self.deadline: float | None = None

    def lasts(self) -> bool:
        """Whether to try again; waits a little before it says yes."""
        now = time.monotonic()
        if self.deadline is None:
            self.deadline = now + self.seconds
        if now >= self.deadline:
            return False
        time.sleep(min(self.step, self.deadline - now))
        self.step = min(2 * self.step, 0.5)
        return True


#: By statement and driver: the text, the order of the parameters if they are positional, defaults.
_compiled: dict[Any, tuple[str, list[str] | None, dict[str, Any]]] = {}


def run(connection: Connection, statement: ClauseElement, **values: Any) -> list[tuple[Any, ...]]:
    """The rows of a statement that is compiled once and handed to the driver's own cursor.

    Ten times as fast as ``execute``. Parameters and results are numbers and strings, which need no
    conversion.
    """
    key = statement, connection.dialect.name, connection.dialect.driver
    found = _compiled.get(key)
    if found is None:
        compiled = cast(SQLCompiler, statement.compile(dialect=connection.dialect))
        # what makes a table has no parameters
        places = getattr(compiled, "positiontup", None)
        order = list(places) if places is not None else None
        found = _compiled[key] = compiled.string, order, dict(compiled.params or {})
    text, order, defaults = found
    given = {**defaults, **values}
    cursor = connection.connection.cursor()
    try:
        cursor.execute(text, given if order is None else [given[name] for name in order])
        return list(cursor.fetchall()) if cursor.description else []
    finally:
        cursor.close()


def _dispose(dialect: Dialect, engine: Engine, process: int) -> None:
    if process != os.getpid():
        return
    pool = engine.pool
    if dialect.keeps_log and isinstance(pool, QueuePool) and pool.checkedin():
        # the last connection to close does it by itself, but others may have the file open
        with suppress(DBAPIError, Refusal, *dialect.errors):
            dialect.checkpoint(engine)
    engine.dispose()


_held: list[Store] = []


def _before_fork() -> None:
    _forking.acquire()
    _held[:] = sorted(_stores, key=lambda store: store.number)
    for store in _held:
        store.lock.acquire()
    stop_keeper()  # after the locks: nobody can start it again
    for store in _held:
        store.disconnect()


def _after_fork_in_parent() -> None:
    for store in reversed(_held):
        store.lock.release()
    _held.clear()
    _forking.release()


def _after_fork_in_child() -> None:
    global _forking
    for store in _stores:
        store.lock = threading.RLock()
        store.first_commit = store.last_commit = 0.0
    forget_keeper()
    _held.clear()
    _forking = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
