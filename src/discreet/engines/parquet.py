"""Parquet files, and tables of DuckDB files: streamed by DuckDB, or by Polars, in bounded memory."""

from __future__ import annotations

import glob
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
from discreet.engines.base import withhold_errors
from discreet.engines.frames import Frames
from discreet.engines.natives import POLARS_STREAM, quote, require
from discreet.engines.sessions import Sessions
from discreet.engines.turns import Turn, share_turn
from discreet.engines.unchecked import SecondReading, readable_dataset
from discreet.matching import ColumnMismatch, check_names, list_needed
from discreet.noise.entropy import current_process
from discreet.progress import show
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
        self._frames = Frames(withhold_errors(lambda: self._connection.sql(self._sql)))

    def check(self, schema: Schema, unit: Unit) -> None:
        with self._turn.take():
            self._frames.check(schema, unit)

    def declared(self) -> list[tuple[str, str]]:
        """The names and types of the columns."""
        with self._turn.take():
            return self._frames.declared()

    @contextmanager
    def _session(self) -> Iterator[Engine]:
        with self._turn.take():
            if self._owner != current_process():
                _LEFT.append((self._connection, self._frames))
                self._open()
            with show(self._title, self._share):
                yield self._frames

    def _share(self) -> float:
        return float(self._connection.query_progress()) / 100


#: Connections of the process that this one was forked from: closing them would wait for its threads.
_LEFT: list[Any] = []


def connect_with_limits(path: str = ":memory:", read_only: bool = False) -> Any:
    """A DuckDB connection that spills into a private folder, removed with the connection."""
    duckdb = require("duckdb", "discreet[duckdb]", "this source")
    connection = duckdb.connect(path, read_only=read_only)
    folder = tempfile.mkdtemp(prefix="discreet-spill-")
    weakref.finalize(connection, _remove, folder, current_process())
    memory = os.environ.get(MEMORY_SWITCH, MEMORY)
    for statement in (
        f"SET memory_limit = {_text(memory)}",
        # DuckDB makes its folder again where it is gone, for all to read, but not the private one around it
        f"SET temp_directory = {_text(str(Path(folder) / 'spill'))}",
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
    """The Parquet files that a path, pattern or folder names; None if it names something else.

    What exists is taken as it stands, whatever signs its name holds. Else ``*`` and ``?`` make a pattern,
    in which ``[`` has its meaning too; a name with ``[`` alone is a name.
    """
    text = str(source)
    path = Path(text)
    if path.is_dir():
        found = sorted(p for p in path.rglob("*") if p.name.endswith(ENDINGS))
    elif path.exists():
        return [text] if text.endswith(ENDINGS) else None
    elif any(sign in text for sign in "*?"):
        found = [Path(p) for p in sorted(glob.glob(_pattern(path), recursive=True))]
        found = [p for p in found if p.name.endswith(ENDINGS)]
    else:
        return None
    if not found:
        raise FileNotFoundError(f"there is no Parquet file in {text!r} (names end in .parquet).")
    return [str(p) for p in found]


def _pattern(path: Path) -> str:
    """A path with a pattern in it; the folders at its beginning that exist are taken as they stand."""
    known = next(parent for parent in path.parents if parent.exists() or parent == parent.parent)
    return str(Path(glob.escape(str(known))) / path.relative_to(known))


def _exactly(file: str) -> str:
    """The path of one file as SQL text, without a sign that DuckDB would take for a pattern."""
    whole = str(Path(file).absolute())  # a ~ at its beginning has no meaning any more
    signs = "*?["
    if "\\" in whole and any(sign in whole for sign in signs):
        raise ValueError(
            f"the path {file!r} has a backslash beside *, ? or [, and DuckDB can't be told that it is no "
            "pattern: rename the file."
        )
    return _text("".join(f"[{sign}]" if sign in signs else sign for sign in whole))


def open_parquet(files: list[str], source: str | Path) -> Engine:
    """The engine that streams Parquet files."""
    title = f"reading {Path(str(source)).name or source}"
    if importlib.util.find_spec("duckdb") is not None:
        listed = ", ".join(map(_exactly, files))
        # names of folders such as x=9 are no column: the column x of the file would be lost
        options = "union_by_name = true, hive_partitioning = false"
        sql = f"SELECT * FROM read_parquet([{listed}], {options})"
        return SecondReading(DuckFrame(connect_with_limits, sql, title), files, open_dataset)
    if importlib.util.find_spec("polars") is not None:
        return SecondReading(_PolarsFiles(files), files, _polars_dataset)
    raise ImportError(
        "Parquet files need DuckDB, or Polars, to be read: pip install 'discreet[duckdb]'."
    )


def open_dataset(dataset: Any) -> Engine:
    """The engine that streams a PyArrow data set."""

    def connect() -> Any:
        connection = connect_with_limits()
        connection.register("dataset", readable_dataset(dataset))
        return connection

    return DuckFrame(connect, "SELECT * FROM dataset", "reading")


def open_duckdb(path: str, table: tuple[str, ...]) -> Engine:
    """The engine for a table of a DuckDB file, which is opened for reading alone."""
    if not Path(path).is_file():
        raise FileNotFoundError(
            f"there is no file {path!r}; write duckdb:///name.db for a path from here, and "
            "duckdb:////folder/name.db for one from the root."
        )
    require("duckdb", "discreet[duckdb]", "a DuckDB file")
    turn = share_turn(("duckdb", os.path.realpath(path)))
    with turn.take(), closing(withhold_errors(lambda: _readable(path))) as connection:
        known = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables"
        ).fetchall()
    schema, name = table if len(table) == 2 else ("main", table[0])
    if (schema, name) not in known:
        raise missing_table(table, [n if s == "main" else f"{s}.{n}" for s, n in known])
    sql = f"SELECT * FROM {quote(schema)}.{quote(name)}"
    return DuckFrame(lambda: withhold_errors(lambda: _readable(path)), sql, f"reading {name}", turn)


def missing_table(table: tuple[str, ...], present: list[str]) -> LookupError:
    """The error for a table that a database does not have."""
    names = ", ".join(sorted(present)[:20]) or "none"
    return LookupError(f"there is no table {'.'.join(table)!r}; tables there: {names}.")


def _readable(path: str) -> Any:
    try:
        return connect_with_limits(path, read_only=True)
    except Exception as error:
        if type(error).__name__ != "ConnectionException":
            raise
    return connect_with_limits(path)  # this process has it open for writing already


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _polars_dataset(dataset: Any) -> Engine:
    polars = require("polars", "polars", "a Parquet file")
    return Frames(withhold_errors(lambda: polars.scan_pyarrow_dataset(dataset)))


class _PolarsFiles(Sessions):
    """Parquet files scanned by Polars, for where there is no DuckDB."""

    def __init__(self, files: list[str]) -> None:
        self._polars = require("polars", "polars", "a Parquet file")
        self._files = files

    def check(self, schema: Schema, unit: Unit) -> None:
        first = self._schema_of(self._files[0])
        for file in self._files:
            found = self._schema_of(file)
            check_names(list(found), schema, unit)
            for name in list_needed(schema, unit):
                if found[name] != first[name]:
                    raise ColumnMismatch(f"column {name!r} has different types in the files.")
        self._frames().check(schema, unit)

    def declared(self) -> list[tuple[str, str]]:
        """The names and types of the columns."""
        return self._frames().declared()

    def _schema_of(self, file: str) -> dict[str, Any]:
        return withhold_errors(lambda: dict(self._scan([file]).collect_schema()))

    def _scan(self, files: list[str]) -> Any:
        options = {"extra_columns": "ignore", "glob": False, "hive_partitioning": False}
        return self._polars.scan_parquet(files, **options)

    def _frames(self) -> Frames:
        return Frames(withhold_errors(lambda: self._scan(self._files)), POLARS_STREAM)

    @contextmanager
    def _session(self) -> Iterator[Engine]:
        yield self._frames()


__all__ = [
    "DuckFrame",
    "connect_with_limits",
    "missing_table",
    "open_dataset",
    "open_duckdb",
    "open_parquet",
    "parquet_files",
]
