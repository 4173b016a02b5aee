"""Parquet files, and tables of DuckDB files: streamed by DuckDB, or by Polars, in bounded memory."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from discreet.coding import Engine
from discreet.engines.base import ColumnMismatch, missing_column, quietly
from discreet.engines.frames import Frames
from discreet.engines.natives import POLARS_STREAM, quoted, required
from discreet.engines.progress import shown
from discreet.engines.sessions import Sessions
from discreet.engines.turns import Turn, shared_turn
from discreet.noise.entropy import current_process
from discreet.schema import Schema
from discreet.unit import Unit

#: How much DuckDB may hold in memory before it writes to a private temporary folder.
MEMORY_SWITCH, MEMORY = "DISCREET_MEMORY", "400MB"
ENDINGS = (".parquet", ".pq", ".parq")


class DuckFrame(Sessions):
    """A relation on a DuckDB connection of our own, with limited memory.

    Answers are given one at a time: they share the limit, so two large ones at once would fail where each
    alone would not, and DuckDB uses all cores for each. A forked process opens a connection of its own.

    Parameters
    ----------
    connect : callable
        Opens the connection.
    sql : str
    title : str
        Of the bar that shows how much was read.
    turn : Turn, optional
        Of all that read one database file, which is opened once in a process.
    """

    def __init__(
        self, connect: Callable[[], Any], sql: str, title: str, turn: Turn | None = None
    ) -> None:
        self._connect, self._sql, self._title = connect, sql, title
        self._turn = turn or Turn()
        with self._turn.take():
            self._open()

    def _open(self) -> None:
        self._owner = current_process()
        self._connection = self._connect()
        self._frames = Frames(quietly(lambda: self._connection.sql(self._sql)))

    def check(self, schema: Schema, unit: Unit) -> None:
        with self._turn.take():
            self._frames.check(schema, unit)

    @contextmanager
    def _session(self) -> Iterator[Engine]:
        with self._turn.take():
            if self._owner != current_process():
                _LEFT.append((self._connection, self._frames))
                self._open()
            with shown(self._title, self._share):
                yield self._frames

    def _share(self) -> float:
        return float(self._connection.query_progress()) / 100


#: Connections of the process that this one was forked from: closing them would wait for its threads.
_LEFT: list[Any] = []


def limited_connection(path: str = ":memory:", read_only: bool = False) -> Any:
    """A DuckDB connection that spills into a private folder, removed with the connection."""
    duckdb = required("duckdb", "discreet[duckdb]", "this source")
    connection = duckdb.connect(path, read_only=read_only)
    folder = tempfile.mkdtemp(prefix="discreet-spill-")
    weakref.finalize(connection, _remove, folder, current_process())
    memory = os.environ.get(MEMORY_SWITCH, MEMORY)
    for statement in (
        f"SET memory_limit = {_text(memory)}",
        f"SET temp_directory = {_text(folder)}",
        "SET preserve_insertion_order = false",
        "SET enable_progress_bar = true",
        "SET enable_progress_bar_print = false",
    ):
        connection.execute(statement)
    return connection


def _remove(folder: str, owner: tuple[int, int]) -> None:
    if owner == current_process():  # not a forked child, whose parent spills there
        shutil.rmtree(folder, ignore_errors=True)


def parquet_files(source: str | Path) -> list[str] | None:
    """The Parquet files that a path, glob or folder names; None if it names something else."""
    text = str(source)
    path = Path(text)
    if path.is_dir():
        found = sorted(p for p in path.rglob("*") if p.name.endswith(ENDINGS))
    elif path.exists():
        return [text] if text.endswith(ENDINGS) else None
    elif any(sign in text for sign in "*?["):
        import glob

        found = [Path(p) for p in sorted(glob.glob(text, recursive=True))]
        found = [p for p in found if p.name.endswith(ENDINGS)]
    else:
        return None
    if not found:
        raise FileNotFoundError(f"there is no Parquet file in {text!r} (names end in .parquet).")
    return [str(p) for p in found]


def open_parquet(files: list[str], source: str | Path) -> Engine:
    """The engine that streams Parquet files."""
    title = f"reading {Path(str(source)).name or source}"
    if importlib.util.find_spec("duckdb") is not None:
        listed = ", ".join(_text(name) for name in files)
        sql = f"SELECT * FROM read_parquet([{listed}], union_by_name = true)"
        return DuckFrame(limited_connection, sql, title)
    if importlib.util.find_spec("polars") is not None:
        return _PolarsFiles(files)
    raise ImportError(
        "Parquet files need DuckDB, or Polars, to be read: pip install 'discreet[duckdb]'."
    )


def open_dataset(dataset: Any) -> Engine:
    """The engine that streams a PyArrow data set."""

    def connect() -> Any:
        connection = limited_connection()
        connection.register("dataset", dataset)
        return connection

    return DuckFrame(connect, "SELECT * FROM dataset", "reading")


def open_duckdb(path: str, table: tuple[str, ...]) -> Engine:
    """The engine for a table of a DuckDB file, which is opened for reading alone."""
    if not Path(path).is_file():
        raise FileNotFoundError(
            f"there is no file {path!r}; write duckdb:///name.db for a path from here, and "
            "duckdb:////folder/name.db for one from the root."
        )
    required("duckdb", "discreet[duckdb]", "a DuckDB file")
    turn = shared_turn(("duckdb", os.path.realpath(path)))
    with turn.take(), closing(quietly(lambda: _readable(path))) as connection:
        known = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables"
        ).fetchall()
    schema, name = table if len(table) == 2 else ("main", table[0])
    if (schema, name) not in known:
        raise missing_table(table, [n if s == "main" else f"{s}.{n}" for s, n in known])
    sql = f"SELECT * FROM {quoted(schema)}.{quoted(name)}"
    return DuckFrame(lambda: quietly(lambda: _readable(path)), sql, f"reading {name}", turn)


def missing_table(table: tuple[str, ...], present: list[str]) -> LookupError:
    """The error for a table that a database does not have."""
    names = ", ".join(sorted(present)[:20]) or "none"
    return LookupError(f"there is no table {'.'.join(table)!r}; tables there: {names}.")


def _readable(path: str) -> Any:
    try:
        return limited_connection(path, read_only=True)
    except Exception as error:
        if type(error).__name__ != "ConnectionException":
            raise
    return limited_connection(path)  # this process has it open for writing already


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


class _PolarsFiles(Sessions):
    """Parquet files scanned by Polars, for where there is no DuckDB."""

    def __init__(self, files: list[str]) -> None:
        self._polars = required("polars", "polars", "a Parquet file")
        self._files = files

    def check(self, schema: Schema, unit: Unit) -> None:
        names = [*schema.base, *([unit.id_column] if unit.id_column is not None else [])]
        first = quietly(lambda: self._polars.read_parquet_schema(self._files[0]))
        for file in self._files:
            found = quietly(lambda file=file: self._polars.read_parquet_schema(file))  # type: ignore[misc]
            for name in names:
                if name not in found:
                    raise missing_column(name, list(found))
                if found[name] != first[name]:
                    raise ColumnMismatch(f"column {name!r} has different types in the files.")
        self._frames().check(schema, unit)

    def _frames(self) -> Frames:
        scan = quietly(lambda: self._polars.scan_parquet(self._files, extra_columns="ignore"))
        return Frames(scan, POLARS_STREAM)

    @contextmanager
    def _session(self) -> Iterator[Engine]:
        yield self._frames()


__all__ = [
    "DuckFrame",
    "limited_connection",
    "missing_table",
    "open_dataset",
    "open_duckdb",
    "open_parquet",
    "parquet_files",
]
