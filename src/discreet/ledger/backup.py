"""A copy of a ledger in one file, from one state of it."""

from __future__ import annotations

import os
from os import PathLike

from sqlalchemy import URL, Connection

from discreet.ledger.building import build
from discreet.ledger.dialects.sqlite import SQLite
from discreet.ledger.errors import LedgerUnavailable
from discreet.ledger.journal import check_anchor
from discreet.ledger.migrations import balances, entries
from discreet.ledger.store import Store
from discreet.ledger.terms import Terms
from discreet.ledger.verification import check_rows, read_all

__all__ = ["write_backup"]


def write_backup(store: Store, terms: Terms, path: str | PathLike[str]) -> tuple[str, int]:
    """Copy all entries and balances to a new file; return the hash of the last entry and their number."""
    name = os.fspath(path)
    if not isinstance(name, str) or not name or "?" in name or "://" in name:
        raise ValueError("path must name a file, as in ledger.backup('budget-2030-01-01.db').")
    copy = SQLite(URL.create("sqlite", database=name), "path")
    if copy.exists():
        raise _take(copy)
    rows, stored = store.read(read_all)
    hashes = check_rows(terms, rows, stored)
    check_anchor(store, hashes)

    def fill(connection: Connection) -> None:
        connection.execute(entries.insert(), [dict(row._mapping) for row in rows])
        connection.execute(balances.insert(), [dict(row._mapping) for row in stored])

    if not build(copy, fill):
        raise _take(copy)
    return hashes[-1], len(hashes)


def _take(copy: SQLite) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"path: {copy.path} exists already, and a backup never replaces a file: give another path."
    )
