"""Ledgers in a file."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

from discreet.ledger.dialects.base import Dialect, Failure
from discreet.ledger.errors import LedgerUnavailable
from discreet.ledger.temporary import is_temporary

__all__ = ["SQLite"]


class SQLite(Dialect):
    """A file. Writers take SQLite's write lock when they begin; readers see the log's last state.

    SQLite's back-off is unfair, so that one of sixteen processes may wait long for the lock.
    """

    errors = (sqlite3.Error,)
    patience_seconds = 0

    def __init__(self, url: URL, shown: str) -> None:
        if url.database in (None, "", ":memory:") or url.query:
            raise ValueError(
                f"url must name a file and nothing else, as in 'sqlite:///budget.db', got {shown}. "
                "For a temporary ledger leave url out."
            )
        self.path = Path(str(url.database)).expanduser().absolute()
        self.url = f"sqlite:///{self.path}"

    def exists(self) -> bool:
        """Whether there is a file.

        It isn't opened: closing it again would drop the locks that SQLite holds in this process.
        """
        path = self.path
        reason = ""
        if path.is_dir():
            reason = "this is a directory"
        elif not path.parent.is_dir():
            reason = f"the directory {path.parent} doesn't exist"
        elif not os.access(path.parent, os.W_OK):
            reason = f"the directory {path.parent} can't be written"
        elif path.exists() and not os.access(path, os.R_OK | os.W_OK):
            reason = "this file can't be both read and written"
        if reason:
            raise LedgerUnavailable(f"The ledger {path} can't be opened: {reason}.")
        return path.exists()

    def engine(self) -> Engine:
        """Transactions begin with the write lock, unless they only read."""
        engine = create_engine(
            self.url,
            connect_args={
                "timeout": self.wait_seconds,
                "isolation_level": None,
                "check_same_thread": False,
                "cached_statements": 64,
            },
            pool_size=1,
            max_overflow=4,
            pool_reset_on_return=None,
        )
        event.listen(engine, "connect", _let_go if is_temporary(self.path) else _hold)
        event.listen(engine, "begin", _on_begin)
        return engine

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

    def explain(self, error: Exception, *, known: bool) -> Failure:
        """SQLite's own words: it has no connection that could be lost."""
        return Failure(str(error), passing=False)


def _hold(connection: sqlite3.Connection, record: Any) -> None:
    # FULL: a commit is on the disk when it returns. The mode WAL is a property of the file.
    connection.execute("PRAGMA synchronous=FULL").close()


def _let_go(connection: sqlite3.Connection, record: Any) -> None:
    # A temporary ledger ends with its process. What the system has taken survives a killed child; a machine
    # that stops ends the process too, and nobody opens the file again: there is nothing to wait for.
    connection.execute("PRAGMA synchronous=OFF").close()


def _on_begin(connection: Connection) -> None:
    reading = connection.get_execution_options().get("reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
