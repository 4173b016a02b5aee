"""All that is particular to one database: addresses, pragmas, locks, error messages.

Only SQLite so far. Another database needs the same four functions.
"""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from discreet.ledger.errors import LedgerUnavailable

__all__ = ["address", "check_place", "driver_errors", "engine_for", "prepare", "wait_seconds"]

#: What the driver raises by itself.
driver_errors: tuple[type[sqlite3.Error]] = (sqlite3.Error,)

#: How long a charge waits for others. SQLite's back-off is unfair, so one in sixteen may wait long.
wait_seconds = 120


def address(url: object) -> str:
    """The URL of a ledger with an absolute path, so that other processes find the same file."""
    if not isinstance(url, str | URL):
        raise TypeError(f"url must be a string such as 'sqlite:///budget.db', not {url!r}.")
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise ValueError(f"url must look like 'sqlite:///budget.db', got {url!r}.") from None
    if parsed.get_backend_name() != "sqlite":
        raise ValueError(f"url must begin with 'sqlite:///', got {url!r}: no other database yet.")
    if parsed.database in (None, "", ":memory:") or parsed.query:
        raise ValueError(
            f"url must name a file and nothing else, as in 'sqlite:///budget.db', got {url!r}. For "
            "a temporary ledger leave url out."
        )
    return f"sqlite:///{Path(str(parsed.database)).expanduser().absolute()}"


def path_of(url: str) -> Path:
    """The file behind a URL."""
    return Path(url.removeprefix("sqlite:///"))


def check_place(url: str) -> bool:
    """Whether there is a file at `url`; raises where a ledger can't be kept.

    The file itself isn't opened: closing it again would drop the locks that SQLite holds in this
    process.
    """
    path = path_of(url)
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


def engine_for(url: str) -> Engine:
    """An engine whose transactions take the write lock when they begin, unless they only read."""
    engine = create_engine(
        url,
        connect_args={
            "timeout": wait_seconds,
            "isolation_level": None,
            "check_same_thread": False,
            "cached_statements": 64,
        },
        pool_size=1,
        max_overflow=4,
        pool_reset_on_return=None,
    )
    event.listen(engine, "connect", _on_connect)
    event.listen(engine, "begin", _on_begin)
    return engine


def _on_connect(connection: sqlite3.Connection, record: Any) -> None:
    # FULL: a commit is on the disk when it returns. The mode WAL is a property of the file.
    connection.execute("PRAGMA synchronous=FULL").close()


def _on_begin(connection: Connection) -> None:
    reading = connection.get_execution_options().get("reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def prepare(engine: Engine) -> None:
    """Set what the file itself remembers: write-ahead logging."""
    raw = engine.raw_connection()
    try:
        cursor = raw.cursor()
        deadline = time.monotonic() + wait_seconds
        while True:
            try:
                mode = cursor.execute("PRAGMA journal_mode=WAL").fetchone()[0]
                break
            except sqlite3.OperationalError as error:  # changing the mode doesn't wait for others
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
