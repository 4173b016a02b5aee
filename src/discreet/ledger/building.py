"""New ledgers in files: built under another name, and given theirs when they are whole."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection

from discreet.ledger.dialects import Dialect
from discreet.ledger.migrations import migrate
from discreet.ledger.store import Store

__all__ = ["build"]


def build(dialect: Dialect, fill: Callable[[Connection], object]) -> bool:
    """Make a ledger with the entries that `fill` writes; False if another one took its place first.

    Whoever looks at the place sees nothing or a whole ledger, even when this process is killed.
    """
    with dialect.draft() as draft:
        store = Store(draft.dialect)

        def act(connection: Connection) -> None:
            migrate(connection)
            fill(connection)

        try:
            store.prepare()
            store.write(act)
        finally:
            store.disconnect()  # closing the last connection writes everything into the file
        return draft.put_in_place()
