"""A ledger's tables as the bytes of a file: apart because every fit without a ledger opens one of its own."""

from __future__ import annotations

import sqlite3
from functools import cache
from typing import cast

from sqlalchemy import StaticPool, create_engine

from discreet.ledger.migrations import migrate

__all__ = ["empty_tables"]

#: Bytes 18 and 19 of a file of SQLite tell how it is written and read: 2 stands for write-ahead logging
#: (sqlite.org, Database File Format, 1.3.3).
_MODES, _WRITE_AHEAD = slice(18, 20), b"\2\2"


@cache
def empty_tables() -> bytes:
    """A file of SQLite, in write-ahead mode, with the tables of a ledger and no entry."""
    engine = create_engine("sqlite://", poolclass=StaticPool)
    try:
        with engine.begin() as connection:
            migrate(connection)
            raw = cast(sqlite3.Connection, connection.connection.driver_connection)
        content = bytearray(raw.serialize())
    finally:
        engine.dispose()
    content[_MODES] = _WRITE_AHEAD
    return bytes(content)
