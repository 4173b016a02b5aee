"""Ledgers in a PostgreSQL database: each in a schema of its own.

Charges queue for an advisory lock that ends with its transaction. ``LOCK TABLE`` would do as well, but
needs the right to change or delete what is in the table, which nobody who charges should have; this
lock needs no rights, and exists before the tables do. Readers never wait for it.
"""

from __future__ import annotations

import functools
import hashlib
import re
from typing import Any
from urllib.parse import unquote

from sqlalchemy import URL, Connection, Engine, create_engine, event

from discreet.ledger.dialects.base import Dialect, Failure, Refusal
from discreet.ledger.errors import LedgerUnavailable
from discreet.secret import Secret

__all__ = ["PostgreSQL", "restore_password"]

#: The schema of a ledger that has no name.
_DEFAULT = "discreet"
_NAME = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")
#: Query parameters that must not be shown or pickled, even where the driver doesn't mark them so.
_SECRET = re.compile(r"pass(?!file)|secret|token|_key$", re.IGNORECASE)
#: A server that doesn't answer is noticed in about half a minute, even in the middle of a commit.
_NETWORK = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
#: How long a client that vanished can keep the lock.
_IDLE_SECONDS = 30

#: The address that this process was given, by its form without secrets. Pickles hold no password.
_given: dict[str, Secret] = {}


def restore_password(url: str) -> str:
    """The address as this process was given it."""
    return _given[url].reveal() if url in _given else url


@functools.cache
def _public_parameters() -> frozenset[str]:
    """The parameters that the driver knows and doesn't hide; all others are kept like passwords."""
    try:
        from psycopg.pq import Conninfo
    except ImportError:
        return frozenset()
    options = [(option.keyword.decode(), option.dispchar) for option in Conninfo.get_defaults()]
    return frozenset(name for name, shown in options if shown != b"*" and not _SECRET.search(name))


def _join(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else ",".join(value)


class PostgreSQL(Dialect):
    """A schema of a PostgreSQL database: ``postgresql://user@host:port/database?ledger=name``."""

    def __init__(self, url: URL, *, read_only: bool = False) -> None:
        self.read_only = read_only
        self._check(url)
        name = url.query.get("ledger", _DEFAULT)
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(
                "url: ledger must be one name of up to 63 small letters, digits and underscores, "
                "not beginning with a digit or 'pg_'."
            )
        self.name = name
        query = {key: value for key, value in url.query.items() if key != "ledger"}
        known = _public_parameters()
        hidden = [key for key in query if key not in known]
        self._secrets = {key: Secret(_join(query.pop(key))) for key in hidden}
        if url.password is not None:
            self._secrets["password"] = Secret(str(url.password))
        place = (url.username, None, url.host, url.port, url.database)
        self._address = URL.create("postgresql+psycopg", *place, query)
        shown = query if name == _DEFAULT else {**query, "ledger": name}
        self.url = URL.create("postgresql", *place, shown).render_as_string()
        try:
            import psycopg
        except ImportError:
            psycopg = None  # type: ignore[assignment]
        if psycopg is None:
            raise LedgerUnavailable(
                f"The ledger {self.url} needs the driver psycopg: pip install discreet[postgres]"
            )
        self.errors = (psycopg.Error,)
        if self._secrets:
            _given[self.url] = Secret(url.render_as_string(hide_password=False))

    @staticmethod
    def _check(url: URL) -> None:
        if not url.database:
            raise ValueError(
                "url must name a database, as in 'postgresql://user@host:5432/database'."
            )
        hosts = url.query.get("host", ())
        places = (url.host, url.database, *((hosts,) if isinstance(hosts, str) else hosts))
        if any("@" in unquote(part) for part in places if part):
            raise ValueError(
                "url has more than one '@', or one in a strange place: write '@' in a user name or "
                "password as '%40', and only there, or better put the password in ~/.pgpass."
            )
        # what isn't where it belongs would be taken for a name, and names are shown
        astray = any(set(part) & set("#&;=") for part in places if part)
        if astray or ":" in (url.username or "") or ":" in url.database:
            raise ValueError(
                "url must have the form 'postgresql://user@host:5432/database?option=value': its user, "
                "host or database holds a ':', '#', '&', ';' or '='. Better put the password in ~/.pgpass."
            )
        if url.host and "%" in url.host and ":" not in url.host:
            raise ValueError("url: the host must not be written with '%' signs.")

    def exists(self) -> bool:
        """Only the server knows."""
        return True

    @property
    def key(self) -> int:
        """The number of the ledger's lock."""
        mark = hashlib.sha256(f"discreet ledger {self.name}".encode()).digest()
        return int.from_bytes(mark[:8], signed=True)

    def engine(self) -> Engine:
        """Transactions begin, with all their settings and the lock, in one message.

        Settings are local to the transaction, and statements aren't prepared, so that a pooler
        between client and server does no harm. A transaction that waits for the lock takes a new
        snapshot after it (READ COMMITTED), so it sees what the one before it committed.
        """
        engine = create_engine(
            self._address,
            connect_args={
                **{key: value for key, value in _NETWORK.items() if key not in self._address.query},
                **{key: secret.reveal() for key, secret in self._secrets.items()},
                "autocommit": True,
                "prepare_threshold": None,
                "application_name": self._address.query.get("application_name", "discreet"),
            },
            execution_options={"schema": self.name},
            pool_size=1,
            max_overflow=4,
            pool_reset_on_return=None,
            use_native_hstore=False,
        )
        path = f'SET LOCAL search_path = "{self.name}", pg_temp'
        read = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {path}"
        write = "; ".join(
            [
                "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
                path,
                "SET LOCAL synchronous_commit = on",
                f"SET LOCAL lock_timeout = {_milliseconds(self.wait_seconds)}",
                f"SET LOCAL statement_timeout = {_milliseconds(self.wait_seconds + _IDLE_SECONDS)}",
                f"SET LOCAL idle_in_transaction_session_timeout = {_milliseconds(_IDLE_SECONDS)}",
                f"SELECT pg_advisory_xact_lock({self.key})",
            ]
        )

        def on_begin(connection: Connection) -> None:
            reading = connection.get_execution_options().get("reading", False)
            _execute(connection, read if reading or self.read_only else write)

        event.listen(engine, "connect", self._on_connect)
        event.listen(engine, "begin", on_begin)
        return engine

    def _on_connect(self, connection: Any, record: Any) -> None:
        synced = connection.execute("SHOW fsync").fetchone()[0]
        if synced != "on":
            connection.close()
            raise Refusal(
                f"its server runs with fsync = {synced}, so that a crash could make it forget charges; "
                "turn fsync on"
            )

    def check_place(self, connection: Connection) -> None:
        """Tables have no other mark than their entries: the newest one seen is compared in each charge."""

    def check_settled(self, connection: Connection) -> None:
        """A transaction on the server sees one state."""

    def prepare(self, engine: Engine) -> None:
        """Make the schema, unless somebody with more rights has made it already."""
        with engine.begin() as connection:
            if not _execute(
                connection, f"SELECT 1 FROM pg_namespace WHERE nspname = '{self.name}'"
            ):
                _execute(connection, f'CREATE SCHEMA "{self.name}"')

    def explain(self, error: Exception, *, known: bool) -> Failure:
        """PostgreSQL's error as a clause. A refused connection has a text, but no code."""
        code = getattr(error, "sqlstate", None)
        text = " ".join(str(error).partition("\n")[0].split()) or type(error).__name__
        for secret in self._secrets.values():
            text = text.replace(secret.reveal(), "***") if secret else text
        user, database = self._address.username, self._address.database
        where = f"{self._address.host or 'the local socket'}"
        where += f":{self._address.port}" if self._address.port else ""
        if code is not None:
            reasons = {
                "42501": f"{text}: ask the owner of the ledger to grant it to {user or 'your role'}",
                "42P01": (
                    f"its tables are gone, or {user or 'your role'} may not use the schema {self.name}: "
                    "ask its owner"
                ),
                "55P03": f"others kept it locked for {self.wait_seconds:g} seconds",
                "57014": "the server stopped a statement because it took too long",
                "25006": "this server only reads: it is a standby, or set to read only",
            }
            passing = code.startswith("08") or code in _PASSING
            return Failure(reasons.get(code, text), passing)
        for pattern, reason in _REFUSALS.items():
            if re.search(pattern, str(error)):
                return Failure(reason.format(user=user, database=database, where=where), False)
        if re.search("(resolve|translate) host", str(error)):
            return Failure(f"there is no host at {where}", known)
        if re.search(_RESTARTING, str(error)):
            return Failure(f"the server at {where} is starting or stopping", True)
        broken = isinstance(error, self.errors) and "OperationalError" in type(error).__name__
        if re.search("refused|No such file|timeout expired|unreachable", str(error)):
            return Failure(f"no server answers at {where}", broken and known)
        return Failure(text.removeprefix("connection failed: "), broken and known)


#: The connection or the whole server ended, or has no place yet: another attempt may work.
_PASSING = {"57P01", "57P02", "57P03", "57P05", "25P03", "25P04", "53300"}

#: What a server says while it starts, stops or repairs itself after a crash.
_RESTARTING = (
    "starting up|shutting down|recovery mode|not yet accepting|another server process|"
    "server closed the connection"
)

#: What a server says to somebody it doesn't let in; texts, because there is no code then.
_REFUSALS = {
    "no password supplied": (
        "the server at {where} asks for a password and none was given: put it in ~/.pgpass or "
        "PGPASSWORD (a pickled ledger carries none)"
    ),
    "password authentication failed": (
        "the server at {where} refused the user {user!r} with this password"
    ),
    'database ".*" does not exist': "the server at {where} has no database {database!r}",
    'role ".*" does not exist': "the server at {where} has no role {user!r}",
    "authentication failed|no pg_hba.conf entry|not permitted to log in": (
        "the server at {where} doesn't let the user {user!r} into the database {database!r}"
    ),
    "permission denied for database": (
        "the user {user!r} may not connect to the database {database!r}"
    ),
}


def _execute(connection: Connection, statements: str) -> list[Any]:
    """Send statements without parameters as one message; return the rows of the first."""
    cursor = connection.connection.cursor()
    try:
        cursor.execute(statements)
        return list(cursor.fetchall()) if cursor.description else []
    finally:
        cursor.close()


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))
