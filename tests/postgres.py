"""A PostgreSQL server of the tests' own: a temporary cluster on a free port, removed at the end.

Fixtures: `postgres_server` for the whole session, which tests may fill with databases, and
`spare_postgres_server`, which they may also stop, crash and start. Benchmarks use `PostgresServer`.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from packages import install

_PROGRAMS = ("initdb", "pg_ctl", "postgres")

#: What makes starting and stopping quick without touching durability: fsync stays on.
_SETTINGS = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "shared_buffers": "16MB",
    "max_connections": "100",
    "max_wal_senders": "0",
    "wal_level": "minimal",
    "autovacuum": "off",
    "jit": "off",
    "listen_addresses": "'127.0.0.1'",
    "log_min_messages": "fatal",
    "restart_after_crash": "on",
}

#: The role ``locked`` must show its password; everyone else is let in.
_ACCESS = """
local all locked scram-sha-256
host  all locked 127.0.0.1/32 scram-sha-256
local all all trust
host  all all 127.0.0.1/32 trust
"""


class PostgresServer:
    """A cluster in a temporary directory; the superuser is ``owner``, without a password."""

    host = "127.0.0.1"

    def __init__(self) -> None:
        programs = find_programs()
        if programs is None:
            raise FileNotFoundError("PostgreSQL is not installed: no initdb was found.")
        self._programs = programs
        self._user = _unprivileged()
        self._names = itertools.count(1)
        self.directory = Path(tempfile.mkdtemp(prefix="discreet-postgres-", dir="/tmp"))
        self.data = self.directory / "data"
        self.port = _free_port()
        if self._user is not None:
            os.chown(self.directory, self._user.pw_uid, self._user.pw_gid)
        self._watchdog = self._watch()
        try:
            self._run("initdb", "-D", str(self.data), "-U", "owner", "-A", "trust", "-E", "UTF8",
                      "--locale=C", "--no-sync", "--no-instructions")  # fmt: skip
            settings = {
                **_SETTINGS,
                **self._quick_recovery(),
                "port": str(self.port),
                "unix_socket_directories": f"'{self.directory}'",
            }
            lines = "".join(f"{name} = {value}\n" for name, value in settings.items())
            with (self.data / "postgresql.conf").open("a") as file:
                file.write(lines)
            (self.data / "pg_hba.conf").write_text(_ACCESS)
            self.start()
        except BaseException:
            self.close()
            raise

    def url(self, database: str = "postgres", user: str = "owner") -> str:
        """The address of a database."""
        return f"postgresql://{user}@{self.host}:{self.port}/{database}"

    def socket_url(self, database: str = "postgres", user: str = "owner") -> str:
        """The same by the socket in the file system."""
        return f"postgresql://{user}@/{database}?host={self.directory}&port={self.port}"

    def new_database(self, prefix: str = "test") -> str:
        """The name of a new, empty database."""
        name = f"{prefix}_{next(self._names)}"
        self.execute(f'CREATE DATABASE "{name}"')
        return name

    def execute(self, *statements: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """The rows of the last statement, run by the superuser."""
        import psycopg

        rows: list[tuple[object, ...]] = []
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
                rows = list(cursor.fetchall()) if cursor.description else []
        return rows

    def start(self) -> None:
        """Start, and wait until connections are taken."""
        log = str(self.directory / "log")
        self._run("pg_ctl", "start", "-w", "-t", "60", "-D", str(self.data), "-l", log)

    def stop(self, mode: str = "fast") -> None:
        """Stop: ``"fast"`` ends transactions in order, ``"immediate"`` is a crash."""
        self._run("pg_ctl", "stop", "-w", "-t", "60", "-D", str(self.data), "-m", mode)

    def restart(self, mode: str = "fast") -> None:
        """Stop and start on the same port."""
        self.stop(mode)
        self.start()

    def wait(self, seconds: float = 30) -> None:
        """Until the server takes connections again, after a crash that it repairs by itself."""
        import psycopg

        deadline = time.monotonic() + seconds
        while True:
            try:
                self.execute("SELECT 1")
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def close(self) -> None:
        """Stop and remove everything; done by itself when this process ends, however it ends."""
        if self._watchdog.stdin is not None and not self._watchdog.stdin.closed:
            self._watchdog.stdin.close()
            self._watchdog.wait(timeout=60)

    def _watch(self) -> subprocess.Popen[bytes]:
        """A shell that cleans up when its input ends, as it does when this process dies."""
        script = 'cat >/dev/null; "$1" stop -m immediate -D "$2/data" >/dev/null 2>&1; rm -rf "$2"'
        stop = str(self._programs / "pg_ctl")
        return subprocess.Popen(
            ["/bin/sh", "-c", script, "sh", stop, str(self.directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
            **self._identity(),
        )

    def _quick_recovery(self) -> dict[str, str]:
        """One call to sync all files after a crash, from version 14 on."""
        shown = subprocess.check_output([self._programs / "postgres", "--version"], text=True)
        version = int("".join(itertools.takewhile(str.isdigit, shown.split()[2])))
        return {"recovery_init_sync_method": "syncfs"} if version >= 14 else {}

    def _identity(self) -> dict[str, object]:
        if self._user is None:
            return {}
        return {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._programs / program), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # a pipe would stay open in the server
            stderr=subprocess.DEVNULL,
            cwd="/",
            timeout=120,
            **self._identity(),
        )
        if done.returncode:
            log = self.directory / "log"
            words = log.read_text()[-2000:] if log.exists() else ""
            raise RuntimeError(f"{program} ended with {done.returncode}: {words}")


def find_programs() -> Path | None:
    """The directory of the newest PostgreSQL that is complete."""
    on_path = [Path(found).resolve().parent for name in _PROGRAMS if (found := shutil.which(name))]
    installed = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"),
        key=lambda path: [int(part) for part in path.parent.name.split(".") if part.isdigit()],
        reverse=True,
    )
    for directory in [*on_path, *installed]:
        if all((directory / name).exists() for name in _PROGRAMS):
            return directory
    return None


def _unprivileged() -> pwd.struct_passwd | None:
    """Whom the server runs as when this is root, whom PostgreSQL refuses."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise RuntimeError("PostgreSQL doesn't run as root, and there is no user postgres or nobody.")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _server() -> Iterator[PostgresServer]:
    if not install("postgresql", lambda: find_programs() is not None):
        pytest.skip("PostgreSQL is not installed; install the package postgresql to run this test")
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A running server; tests make databases of their own in it."""
    yield from _server()


@pytest.fixture(scope="module")
def spare_postgres_server() -> Iterator[PostgresServer]:
    """A running server that the tests of one file may stop, crash and start."""
    yield from _server()
