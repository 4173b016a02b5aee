"""Ledgers in a file."""

from __future__ import annotations

import gc
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, NullPool, QueuePool, create_engine, event

from discreet.ledger.dialects.base import Dialect, Draft, Failure, Refusal
from discreet.ledger.dialects.files import (
    Identity,
    draft_of,
    find_identity,
    link_into_place,
    log_of,
    make_file,
    remove_draft_names,
)
from discreet.ledger.errors import LedgerUnavailable
from discreet.ledger.temporary import is_temporary

__all__ = ["SQLite"]


class SQLite(Dialect):
    """A file. Writers take SQLite's write lock when they begin; readers see the log's last state.

    SQLite's back-off is unfair, so that one of sixteen processes may wait a long time for the lock.

    Read-only, every transaction has a connection of its own: through the log where there is one, else
    to the file as it is (``immutable``), which needs no right to write next to it. SQLite doesn't lock
    such a file, so a reader checks afterwards that nobody wrote in the meantime.
    """

    errors = (sqlite3.Error,)
    patience_seconds = 0
    accepts_empty = False

    def __init__(self, url: URL, shown: str, *, read_only: bool = False) -> None:
        if url.database in (None, "", ":memory:") or url.query or "?" in str(url.database):
            raise ValueError(
                f"url must name a file and nothing else, as in 'sqlite:///budget.db', got {shown}. "
                "For a temporary ledger leave url out."
            )
        self.path = Path(str(url.database)).expanduser().absolute()
        self.url = f"sqlite:///{self.path}"
        self.read_only = self.shows_old_tables = read_only
        self.is_private = is_temporary(self.path)
        self.keeps_log = not read_only and not self.is_private
        #: The file that was opened first; no other one is ever used instead.
        self._identity: Identity | None = None
        self._cached_statements = 64
        if read_only:
            self.patience_seconds = 20

    def exists(self) -> bool:
        """Whether there is a file.

        It isn't opened: closing it again would drop the locks that SQLite holds in this process.
        """
        path = self.path
        reason = ""
        directory = Path(os.path.realpath(path)).parent
        if path.is_dir():
            reason = "this is a directory"
        elif not directory.is_dir():
            reason = f"the directory {directory} doesn't exist; make it first, or choose another"
        elif self.read_only:
            if not path.exists():
                reason = "there is no file"
            elif not os.access(path, os.R_OK):
                reason = "this file can't be read"
        elif not os.access(directory, os.W_OK):
            reason = f"the directory {directory} can't be written"
        elif path.exists() and not os.access(path, os.R_OK | os.W_OK):
            reason = "this file can't be both read and written"
        if reason:
            if not self.read_only and path.is_file():
                reason += "; to read and verify it, open it with read_only=True"
            raise LedgerUnavailable(f"The ledger {path} can't be opened: {reason}.")
        if not self.read_only:
            remove_draft_names(path)
        return path.exists()

    def engine(self) -> Engine:
        """Transactions begin with the write lock, unless they only read."""
        place = URL.create("sqlite", database=str(self.path))
        if self.read_only:
            engine = create_engine(place, creator=self._connect_to_read, poolclass=NullPool)
        else:
            engine = create_engine(
                place,
                creator=self._connect,
                poolclass=QueuePool,
                pool_size=1,
                max_overflow=4,
                pool_reset_on_return=None,
            )
        event.listen(engine, "begin", _on_begin)
        return engine

    def _connect(self) -> _Connection:
        opened = self._this_file()
        connection = self._open("mode=rw")  # never makes a file
        # FULL: a commit is on the disk when it returns. The mode WAL is a property of the file.
        # A temporary ledger ends with its process. What the system has accepted survives a killed child; a
        # machine that stops ends the process too, and nobody opens the file again: nothing to wait for.
        waits = "OFF" if self.is_private else "FULL"
        connection.execute(f"PRAGMA synchronous={waits}").close()
        return self._check(connection, opened)

    def _connect_to_read(self) -> _Connection:
        opened = self._this_file()
        stamp = self._stamp()
        connection = self._open("mode=ro" if stamp is None else "mode=ro&immutable=1")
        connection.stamp = stamp
        _show_old_tables(connection)
        return self._check(connection, opened)

    def _open(self, mode: str) -> _Connection:
        return sqlite3.connect(
            f"{self.path.as_uri()}?{mode}",
            uri=True,
            timeout=self.wait_seconds,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=self._cached_statements,
            factory=_Connection,
        )

    def _check(self, connection: _Connection, opened: Identity) -> _Connection:
        """The connection, if the file that has the name was the same before and after."""
        try:
            self._this_file()
        except Refusal:
            connection.close()
            raise
        self._identity = opened
        return connection

    def _this_file(self) -> Identity:
        """Device and inode of the file, if it is the one that was opened first."""
        found = find_identity(self.path, alone=not self.read_only)
        if found != (self._identity or found):
            raise Refusal(
                "its file was replaced by another one; if that is right, open it again and compare it "
                "with an anchor: ledger.verify(head, count)"
            )
        return found

    def _stamp(self) -> tuple[int, ...] | None:
        """What changes whenever the file does, while its log holds nothing; None if it does."""
        with suppress(OSError):
            if log_of(self.path).stat().st_size:
                return None
        found = self.path.stat()
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def check_place(self, connection: Connection) -> None:
        """The file has its name, and the log that this connection writes is the file's."""
        self._this_file()
        if self.read_only:
            return
        raw: Any = connection.connection.driver_connection
        log: Identity | None = None
        try:
            found = os.stat(raw.log_path or self._log_path(raw))
            log = found.st_dev, found.st_ino
        except OSError:
            pass
        if raw.log is None:
            raw.log = log
        elif raw.log != log:
            raise Refusal(
                "its log (the file that ends in -wal) was deleted or replaced while it was in use; "
                "never remove it by hand. Open the ledger again and verify it"
            )

    def _log_path(self, raw: _Connection) -> str:
        raw.log_path = str(log_of(self.path))
        return raw.log_path

    def check_settled(self, connection: Connection) -> None:
        """Nobody wrote to a file that was read without a lock."""
        stamp = getattr(connection.connection.driver_connection, "stamp", None)
        if stamp is not None and self._stamp() != stamp:
            raise Refusal("others wrote to it again and again while it was read", passing=True)

    def prepare(self, engine: Engine) -> None:
        """Write-ahead logging."""
        raw = engine.raw_connection()
        try:
            cursor = raw.cursor()
            deadline = time.monotonic() + self.wait_seconds
            while True:
                try:
                    mode = cursor.execute("PRAGMA journal_mode=WAL").fetchone()[0]
                    break
                except sqlite3.OperationalError as error:
                    # changing the mode doesn't wait for others
                    if "locked" not in str(error) or time.monotonic() > deadline:
                        raise
                    time.sleep(0.01)
            cursor.close()
        finally:
            raw.close()
        if str(mode).lower() != "wal":
            raise LedgerUnavailable(
                "This place can't keep a ledger: write-ahead logging doesn't work here. "
                "Use a local disk."
            )

    def claim(self, content: bytes) -> None:
        make_file(self.path, content)

    @contextmanager
    def draft(self) -> Iterator[Draft]:
        """A file under another name, which is removed unless it is put in place."""
        with draft_of(self.path) as path:
            make_file(path)
            yield _Draft(path, self.path)

    def checkpoint(self, engine: Engine) -> bool:
        """A passive checkpoint: it waits for nobody, and nobody waits for it."""
        raw = engine.raw_connection()
        try:
            cursor = raw.cursor()
            _, frames, moved = cursor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            cursor.close()
        finally:
            raw.close()
        return bool(frames == moved)

    def explain(self, error: Exception, *, known: bool) -> Failure:
        """SQLite's own words: it has no connection that could be lost."""
        text = str(error)
        if "decode to UTF-8" in text:  # SQLite goes on with what it found
            return Failure("a text in it is not UTF-8: it was changed", passing=False, damaged=True)
        if self.read_only and "unable to open" in text:
            text = (
                "its log can't be read: ask for the right to read the files that end in -wal and -shm, "
                "or for a copy made with ledger.backup(path)"
            )
        damaged = "malformed" in text or "no such table" in text or "no such column" in text
        return Failure(text, passing=False, damaged=damaged)


class _Connection(sqlite3.Connection):
    """A connection that knows what it was opened on."""

    #: The log, from the first transaction on.
    log: Identity | None = None
    log_path: str | None = None
    #: Of a file that is read without a lock.
    stamp: tuple[int, ...] | None = None


class _Draft(Draft):
    """A file next to the one that it will be."""

    def __init__(self, path: Path, place: Path) -> None:
        self.path, self.place = path, place
        self.dialect = SQLite(URL.create("sqlite", database=str(path)), "")
        self.dialect.keeps_log = False  # closing it writes everything into the file
        self.dialect._cached_statements = 0  # a statement that is alive would keep it open

    def put_in_place(self) -> bool:
        if log_of(
            self.path
        ).exists():  # a statement in a cycle of garbage keeps the connection open
            gc.collect()
        if log_of(self.path).exists():
            raise LedgerUnavailable(
                f"No ledger was made in {self.place.parent}: something in this process still reads the new "
                "file. Try again."
            )
        return link_into_place(self.path, self.place)


def _show_old_tables(connection: sqlite3.Connection) -> None:
    """Entries without tokens, from before there were any, read like newer ones."""
    columns = {row[1] for row in connection.execute("PRAGMA main.table_info(discreet_entries)")}
    if columns and "token" not in columns:
        connection.execute("PRAGMA temp_store=MEMORY").close()
        connection.execute(
            "CREATE TEMP VIEW discreet_entries AS "
            "SELECT number, hash, body, NULL AS token FROM main.discreet_entries"
        ).close()


def _on_begin(connection: Connection) -> None:
    reading = connection.get_execution_options().get("reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
