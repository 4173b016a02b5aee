"""Ledgers without an address: their files are made with the tables of any other."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from ledger_files import path_of

from discreet.ledger import Ledger, store
from discreet.measures import ApproxDP

PAIR = ApproxDP(1, 1e-6)


def test_a_temporary_ledger_has_the_tables_and_the_mode_of_any_other(tmp_path: Path) -> None:
    def shape(path: Path) -> list[object]:
        with closing(sqlite3.connect(path)) as connection:
            tables = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name"
            pragmas = ("journal_mode", "page_size", "encoding", "auto_vacuum", "user_version")
            return [
                connection.execute(tables).fetchall(),
                connection.execute("SELECT version FROM discreet_version").fetchall(),
                [connection.execute(f"PRAGMA {name}").fetchall() for name in pragmas],
                connection.execute("PRAGMA integrity_check").fetchall(),
                connection.execute("SELECT count(*) FROM discreet_entries").fetchall(),
            ]

    lasting = Ledger(f"sqlite:///{tmp_path}/lasting.db", limit=PAIR)
    temporary = Ledger(limit=PAIR)
    shapes = [shape(path_of(one.url)) for one in (lasting, temporary)]
    assert shapes[0] == shapes[1]
    assert shapes[1][2][0] == [("wal",)]  # type: ignore[index]
    assert Ledger(temporary.url, limit=PAIR).entries() == temporary.entries()


def test_entry_0_of_a_temporary_ledger_is_written_once_if_its_opening_is_done_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write = store.Store.write

    def twice(self: store.Store, act: Any, **options: Any) -> Any:
        once, again = (write(self, act, **options) for _ in range(2))
        assert once == again
        return again

    monkeypatch.setattr(store.Store, "write", twice)
    ledger = Ledger(limit=PAIR)
    monkeypatch.undo()
    assert ledger.head[1] == len(ledger.entries()) == 1
    ledger.verify()
