"""Tables of PostgreSQL through Ibis: the database adds up, and integers alone leave it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from discreet.coding import Batch, Code, Engine, Places
from discreet.engines.base import EngineFailed, withhold_each, withhold_errors
from discreet.engines.frames import Frames
from discreet.engines.natives import POSTGRES, quote, require
from discreet.engines.parquet import missing_table
from discreet.engines.sessions import Sessions
from discreet.engines.turns import DUCKDB_RELATIONS, InTurn, Turn, share_turn
from discreet.engines.urls import Address
from discreet.matching import ColumnMismatch, check_names, list_needed
from discreet.schema import Schema
from discreet.secret import strip_frames
from discreet.unit import Unit

_EXTRA = "discreet[postgres]"
_PURPOSE = "a PostgreSQL table"
#: Connections that one data set has open at a time; more threads wait, since servers have a limit.
MAX_CONNECTIONS = 8

_REAL = "CAST({0} AS DOUBLE PRECISION)"
_WHOLE = "CAST({0} AS BIGINT)"
_TEXT = 'CAST({0} AS TEXT) COLLATE "C"'
# a numeric can be too large or too small for a double, and the cast raises there
_NUMERIC = (
    "CASE WHEN {0} = CAST('NaN' AS NUMERIC) THEN NULL"
    " WHEN {0} > 1.7976931348623158e308 THEN CAST('Infinity' AS DOUBLE PRECISION)"
    " WHEN {0} < -1.7976931348623158e308 THEN CAST('-Infinity' AS DOUBLE PRECISION)"
    " WHEN {0} < 2.4703282292062328e-324 AND {0} > -2.4703282292062328e-324"
    " THEN CAST(0 AS DOUBLE PRECISION)"
    " ELSE CAST({0} AS DOUBLE PRECISION) END"
)
#: How each type is read, and what it is then. Text is compared by bytes under the collation "C".
_TYPES = {
    "int2": (_WHOLE, "int64"),
    "int4": (_WHOLE, "int64"),
    "int8": (_WHOLE, "int64"),
    "float4": (_REAL, "float64"),
    "float8": (_REAL, "float64"),
    "numeric": (_NUMERIC, "float64"),
    "bool": ("CAST(CAST({0} AS INTEGER) AS BIGINT)", "int64"),
    "text": (_TEXT, "string"),
    "varchar": (_TEXT, "string"),
    "bpchar": (_TEXT, "string"),
    "name": (_TEXT, "string"),
    "uuid": (_TEXT, "string"),
    "enum": (_TEXT, "string"),
    "date": ("{0}", "date"),
    "timestamp": ("CAST({0} AS TIMESTAMP)", "timestamp"),
}
#: An id that is a numeric stays one: different numerics may be the same double.
_NUMERIC_ID = (
    "CASE WHEN {0} <> CAST('NaN' AS NUMERIC) AND CAST({0} AS TEXT) NOT LIKE '%Infinity'"
    ' THEN CAST(TRIM_SCALE({0}) AS TEXT) COLLATE "C" END'
)

_RELATION = """
SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = %s AND c.relkind IN ('r', 'v', 'm', 'f', 'p')
AND (n.nspname = %s OR %s AND pg_catalog.pg_table_is_visible(c.oid))
"""
_VISIBLE = """
SELECT n.nspname || '.' || c.relname FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
ORDER BY 1 LIMIT 20
"""
_COLUMNS = """
SELECT a.attname, a.atttypid, coalesce(l.collisdeterministic, true) FROM pg_catalog.pg_attribute a
LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
# the type behind domains
_BASE = """
WITH RECURSIVE base AS (
  SELECT oid, typname, typtype, typbasetype FROM pg_catalog.pg_type WHERE oid = %s
  UNION ALL SELECT t.oid, t.typname, t.typtype, t.typbasetype
  FROM base JOIN pg_catalog.pg_type t ON base.typtype = 'd' AND t.oid = base.typbasetype
)
SELECT CASE WHEN typtype = 'e' THEN 'enum' ELSE typname END FROM base WHERE typtype <> 'd'
"""

Connect = Callable[[], AbstractContextManager[Any]]


class Database(Sessions):
    """A table, view or query of a PostgreSQL database; each answer is one read-only transaction."""

    def __init__(self, connect: Connect, place: str, relation: Callable[[Any], _Relation]) -> None:
        self._connect, self._place = connect, place
        with self._open() as backend:
            self._relation = _withhold_secrets(lambda: relation(backend.con), place)
        self._source = ""
        self._types: dict[str, str] = {}

    def check(self, schema: Schema, unit: Unit) -> None:
        columns, shown = self._relation.columns, []
        check_names(list(columns), schema, unit)
        for name in list_needed(schema, unit):
            kind, is_bytes = columns[name]
            if kind not in _TYPES or not is_bytes:
                why = "a collation under which different texts are equal" if not is_bytes else (
                    f"the PostgreSQL type {kind}"
                )  # fmt: skip
                raise ColumnMismatch(
                    f"column {name!r} has {why}: make a view that casts it to a number, a boolean, a date "
                    "(of a time with zone, as in (column AT TIME ZONE 'UTC')::date), or text with "
                    'COLLATE "C".'
                )
            form, plain = _TYPES[kind]
            if kind == "numeric" and name == unit.id_column:
                if name in schema.base:
                    raise ColumnMismatch(
                        f"id column {name!r} is a numeric and also declared in the schema, and as doubles "
                        "two ids may be one: make a view with the id cast to text in its own column."
                    )
                form, plain = _NUMERIC_ID, "string"
            shown.append(f"{form.format(quote(name))} AS {quote(name)}")
            self._types[name] = plain
        self._source = f"SELECT {', '.join(shown)} FROM {self._relation.sql}"
        with self._open() as backend:
            table = backend.sql(self._source, schema=self._types)
            Frames(table, POSTGRES).check(schema, unit)
            withhold_errors(lambda: backend.con.execute(f"{self._source} LIMIT 0"))
            Frames(table.head(0), POSTGRES).check(schema, unit)

    def declared(self) -> list[tuple[str, str]]:
        """The names and types of the columns."""
        return [(name, kind) for name, (kind, _) in self._relation.columns.items()]

    @contextmanager
    def _open(self) -> Iterator[Any]:
        """The Ibis backend, inside a transaction that can't write and sees one state of the table."""
        with self._connect() as backend:
            begun = backend.con.info.transaction_status != 0  # an Ibis table's may have begun one
            with backend.con.transaction():
                if not begun:
                    level = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
                    backend.con.execute(f"SET TRANSACTION {level}")
                backend.con.execute("SET LOCAL standard_conforming_strings = on")
                yield backend

    @contextmanager
    def _session(self) -> Iterator[Engine]:
        with self._open() as backend:
            yield Frames(backend.sql(self._source, schema=self._types), POSTGRES)

    def check_places(self, places: Places) -> None:
        source, types = self._slotted(places.order_by)
        with self._open() as backend:
            Frames(backend.sql(source, schema=types), POSTGRES).check_places(places)

    def _slotted(self, slot: str | None) -> tuple[str, dict[str, str]]:
        """What is selected with a column of slots beside the schema's columns."""
        if slot is None or slot in self._types or slot not in self._relation.columns:
            return self._source, self._types
        form, plain = _TYPES.get(self._relation.columns[slot][0], (_TEXT, "string"))
        shown = f"{form.format(quote(slot))} AS {quote(slot)}"
        source = self._source.replace("SELECT ", f"SELECT {shown}, ", 1)
        return source, {slot: plain, **self._types}

    def batches(
        self, codes: tuple[Code, ...], places: Places, skip: Collection[int] = ()
    ) -> Iterator[Batch]:
        return withhold_each(self._by_slot(codes, places, skip))

    def _by_slot(
        self, codes: tuple[Code, ...], places: Places, skip: Collection[int]
    ) -> Iterator[Batch]:
        """Each batch by a condition on the column of slots, which an index serves."""
        assert places.order_by is not None
        source, types = self._slotted(places.order_by)
        slot = quote(places.order_by)
        for number in range(places.batches):
            if number in skip:
                continue
            start, end = places.bounds(number)
            part = f"{source} WHERE {slot} >= {start} AND {slot} < {end}"
            with self._open() as backend:
                batch = Frames(backend.sql(part, schema=types), POSTGRES).batch(
                    number, codes, places
                )
            yield batch


class _Relation:
    """What is selected from, and the types of its columns."""

    def __init__(self, sql: str, columns: dict[str, tuple[str, bool]]) -> None:
        self.sql, self.columns = sql, columns


def _find_table(connection: Any, table: tuple[str, ...]) -> _Relation:
    name, schema = table[-1], table[0] if len(table) == 2 else None
    found = connection.execute(_RELATION, (name, schema, schema is None)).fetchone()
    if found is None:
        raise missing_table(table, [row[0] for row in connection.execute(_VISIBLE).fetchall()])
    columns = {
        column: (_base_type(connection, kind), is_bytes)
        for column, kind, is_bytes in connection.execute(_COLUMNS, found).fetchall()
    }
    return _Relation(".".join(quote(part) for part in table), columns)


def _query(connection: Any, sql: str) -> _Relation:
    cursor = connection.execute(f"SELECT * FROM ({sql}) AS q LIMIT 0")
    columns = {c.name: (_base_type(connection, c.type_code), True) for c in cursor.description}
    return _Relation(f"({sql}) AS q", columns)


def _base_type(connection: Any, kind: int) -> str:
    found = connection.execute(_BASE, (kind,)).fetchone()
    return "unknown" if found is None else str(found[0])


def open_postgres(address: Address) -> Engine:
    """The engine for the table at an address."""
    psycopg = require("psycopg", _EXTRA, _PURPOSE)
    ibis = require("ibis", _EXTRA, _PURPOSE)
    turn = Turn(MAX_CONNECTIONS)

    def open_connection() -> Any:
        return psycopg.connect(address.secret.reveal(), autocommit=True)

    @contextmanager
    def connect() -> Iterator[Any]:
        with turn.take(), _withhold_secrets(open_connection, address.place) as connection:
            yield ibis.postgres.from_connection(connection)

    return Database(connect, address.place, lambda con: _find_table(con, address.table))


def open_ibis(table: Any) -> Engine:
    """The engine for an Ibis table of DuckDB or PostgreSQL."""
    ibis = require("ibis", _EXTRA, "an Ibis table")
    backend = withhold_errors(table.get_backend)
    if backend.name not in ("duckdb", "postgres"):
        raise TypeError(
            f"Ibis tables of DuckDB and PostgreSQL are read, not of {backend.name}: open the data with "
            "Polars, pandas or Spark and pass the frame."
        )
    sql = withhold_errors(lambda: ibis.to_sql(table, dialect=backend.name))
    if backend.name == "duckdb":
        with DUCKDB_RELATIONS.take():
            return InTurn(Frames(withhold_errors(lambda: backend.con.sql(sql))), DUCKDB_RELATIONS)
    turn = share_turn(("postgres", id(backend.con)))  # one connection's transactions must not mix

    @contextmanager
    def connect() -> Iterator[Any]:
        with turn.take():
            yield backend

    return Database(connect, "the database of the Ibis table", lambda con: _query(con, sql))


def _withhold_secrets(act: Callable[[], Any], place: str) -> Any:
    """The result of `act`; if it fails, an error that shows neither a password nor a row."""
    try:
        return act()
    except LookupError:
        raise
    except Exception as error:
        name, reason = type(error).__name__, _explain(str(error))
    except (
        BaseException
    ) as error:  # an interrupt: without the driver's frames, which hold the password
        interrupt, name, reason = strip_frames(error), "", ""
    if not name:
        raise interrupt
    raise EngineFailed(
        f"the database at {place} could not be opened ({name}): {reason}. The server's own message is "
        "withheld."
    )


#: What servers and the driver say before a row is read, and what that means. Only the meaning is told.
_REASONS = {
    "(resolve|translate) host": "there is no host of that name; check the address",
    "authentication failed|no password supplied": (
        "the server refuses this user or password; check the user in the address, and ~/.pgpass or PGPASSWORD"
    ),
    "no pg_hba.conf entry": "the server lets this user in from elsewhere alone; ask who runs it",
    "role .* does not exist": "the server knows no such user; check the user in the address",
    "database .* does not exist": "the server has no database of that name; check the address",
    "permission denied": "this user may not read the table; ask its owner to grant it",
    "refused|No such file|timeout expired|timed out|unreachable": (
        "no server answers there; check host and port, and that the server runs"
    ),
    "too many (connections|clients)": "the server has no connection left; try again later",
}


def _explain(message: str) -> str:
    """What an error of the connection means, in our own words: the message may hold a password."""
    for pattern, reason in _REASONS.items():
        if re.search(pattern, message):
            return reason
    return "check the address, and that the server runs and lets this user read the table"
