"""The tables of a ledger, and the steps from each version of them to the next.

Step i takes the tables from version i to version i + 1; version 0 is an empty database. To change
the tables, append a step; never change one that was published.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import (
    Column,
    Connection,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    inspect,
    select,
    text,
)
from sqlalchemy.schema import CreateTable

from discreet.ledger.errors import LedgerCorrupt, LedgerUnavailable
from discreet.ledger.store import run

__all__ = ["STEPS", "balances", "entries", "migrate", "version_of"]

metadata = MetaData()

versions = Table("discreet_version", metadata, Column("version", Integer, nullable=False))

#: One row per entry: `body` is canonical JSON and holds all of it; `hash` is its SHA-256; `token`
#: repeats the body's, so that a charge is found by it.
entries = Table(
    "discreet_entries",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("hash", String(64), nullable=False),
    Column("body", Text, nullable=False),
    Column("token", String(32), nullable=True),
)

#: One row per account: the entry that made it, its limit as amounts, and what its entries add up
#: to, so that a charge needn't read them all.
balances = Table(
    "discreet_balances",
    metadata,
    Column("account", String(1000), primary_key=True),
    Column("entry", Integer, nullable=False),
    Column("caps", Text, nullable=False),
    Column("totals", Text, nullable=False),
)

Step = Callable[[Connection], None]


_first_tables = MetaData()
Table("discreet_version", _first_tables, Column("version", Integer, nullable=False))
Table(
    "discreet_entries",
    _first_tables,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("hash", String(64), nullable=False),
    Column("body", Text, nullable=False),
)
Table(
    "discreet_balances",
    _first_tables,
    Column("account", String(1000), primary_key=True),
    Column("entry", Integer, nullable=False),
    Column("caps", Text, nullable=False),
    Column("totals", Text, nullable=False),
)

#: The statements of each step, made once: every fit without a ledger opens one of its own.
_FIRST = [
    *(CreateTable(table) for table in _first_tables.sorted_tables),
    versions.insert().values(version=1),
]
_SECOND = [
    text("ALTER TABLE discreet_entries ADD COLUMN token VARCHAR(32)"),
    text("CREATE UNIQUE INDEX discreet_tokens ON discreet_entries (token)"),
]
_set_version = versions.update()


def _first(connection: Connection) -> None:
    for statement in _FIRST:
        run(connection, statement)


def _second(connection: Connection) -> None:
    # Entries made before have no token, neither here nor in what is hashed.
    for statement in _SECOND:
        run(connection, statement)


STEPS: tuple[Step, ...] = (_first, _second)


def version_of(connection: Connection) -> int:
    """The version of the tables; 0 where there are none."""
    names = inspect(connection).get_table_names(connection.get_execution_options().get("schema"))
    if versions.name not in names:
        if names:
            raise LedgerUnavailable(
                "This place belongs to something else: it has tables, but none of a ledger."
            )
        return 0
    found = [row.version for row in connection.execute(select(versions.c.version)).all()]
    if len(found) != 1 or not isinstance(found[0], int) or found[0] < 1:
        raise LedgerCorrupt("The version of this ledger's tables can't be read: it was changed.")
    return found[0]


def check_version(version: int, steps: Sequence[Step] | None = None) -> bool:
    """Whether tables of this version need no step; refuses tables newer than this toolkit."""
    newest = len(STEPS if steps is None else steps)
    if version > newest:
        raise LedgerUnavailable(
            f"This ledger has version {version} and this toolkit reads up to {newest}: install a "
            "newer discreet. Nothing was changed."
        )
    return version == newest


def migrate(connection: Connection, steps: Sequence[Step] | None = None) -> None:
    """Bring the tables to the newest version, inside the caller's transaction."""
    chosen = STEPS if steps is None else steps
    version = version_of(connection)
    if check_version(version, chosen):
        return
    for step in chosen[version:]:
        step(connection)
    run(connection, _set_version, version=len(chosen))
