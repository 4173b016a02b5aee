"""A ledger's tables as the bytes of a file: apart because temporary ledgers are opened by the hundred."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from sqlalchemy import NullPool, create_engine

from discreet.ledger.migrations import migrate

__all__ = ["empty_tables"]


@cache
def empty_tables() -> bytes:
    """A file of SQLite, in write-ahead mode, with the tables of a ledger and no entry."""
    with tempfile.TemporaryDirectory(prefix="discreet-tables-") as folder:
        path = Path(folder) / "tables.db"
        engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)
        with engine.begin() as connection:
            migrate(connection)
        with engine.connect() as connection:
            # the mode is a property of the file; what closes it last writes all of it there
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        return path.read_bytes()
