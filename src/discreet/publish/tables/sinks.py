"""Where a written table goes: a folder of Parquet files, or a table of a database."""

from __future__ import annotations

import importlib
import os
import re
import shutil
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, final

from discreet.secret import Secret, strip_frames

__all__ = ["DatabaseTable", "ParquetFolder", "Sink", "open_sink", "require_arrow", "sync_folder"]

#: Rows that are inserted by one statement where a database has no bulk copy.
INSERT_ROWS = 10_000


class Sink(ABC):
    """A public place that takes the parts of a table, each once.

    Privacy
    -------
    A sink gets parts that the ledger has entered, one draw of each, so that publishing a part again changes
    nothing for anybody. It decides nothing about privacy: what it holds is public.
    """

    @property
    @abstractmethod
    def place(self) -> str:
        """Where it is, without a password."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether nothing was published here yet."""

    @abstractmethod
    def publish(self, label: str, staged: Path) -> None:
        """Publish the rows of a staged Parquet file under this label, whole or not at all; then remove it.

        If they are there already, under that label, nothing is added.
        """

    def default_private(self) -> Path | None:
        """The folder for what nobody else may see, where one suggests itself."""
        return None

    def shows(self, path: Path) -> bool:
        """Whether whoever reads the table can read this path, too."""
        return False


@final
class ParquetFolder(Sink):
    """A folder of Parquet files, one for each part."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path).absolute()
        if self._path.exists() and not self._path.is_dir():
            raise ValueError(f"to: {str(path)!r} is a file; give the folder that files go to.")

    @property
    def place(self) -> str:
        return str(self._path)

    def default_private(self) -> Path:
        # beside the folder, so that a file is moved there and not copied
        return self._path.parent / f".{self._path.name}.private"

    def shows(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self._path.resolve())

    def is_empty(self) -> bool:
        return not self._path.is_dir() or not any(self._path.glob("*.parquet"))

    def publish(self, label: str, staged: Path) -> None:
        self._path.mkdir(parents=True, exist_ok=True)
        target = self._path / f"{label}.parquet"
        try:
            os.replace(staged, target)
        except (
            OSError
        ):  # another file system: what is copied is the draw that the ledger has entered
            copy = self._path / f".{label}.copy"
            shutil.copyfile(staged, copy)
            os.replace(copy, target)
            sync_folder(self._path)
            staged.unlink()
        sync_folder(self._path)

    def __repr__(self) -> str:
        return f"ParquetFolder({self.place!r})"


@final
class DatabaseTable(Sink):
    """A table of a database that SQLAlchemy knows; it is created if it isn't there.

    Parameters
    ----------
    url : str
        As SQLAlchemy writes it, with the table's name: ``postgresql://user@host/database?table=public_rows``.
        A second table, its name followed by ``_parts``, says which parts are there.
    """

    def __init__(self, url: str) -> None:
        found = _read_url(url)
        url = ""  # it may hold a password, and debuggers show what a failed call held
        if isinstance(found, Exception):
            raise found
        self._url, self.place_, self._table = found
        self._engine_: Any = None

    @property
    def place(self) -> str:
        return self.place_

    def _engine(self) -> Any:
        if self._engine_ is None:
            from sqlalchemy import create_engine
            from sqlalchemy.pool import NullPool

            self._engine_ = create_engine(
                self._url.reveal(), poolclass=NullPool, hide_parameters=True
            )
        return self._engine_

    def _parts(self, metadata: Any) -> Any:
        from sqlalchemy import BigInteger, Column, String, Table

        columns = (Column("label", String(200), primary_key=True), Column("rows", BigInteger))
        return Table(f"{self._table}_parts", metadata, *columns)

    def is_empty(self) -> bool:
        from sqlalchemy import inspect

        return not self._guard(lambda engine: inspect(engine).has_table(self._table))

    def publish(self, label: str, staged: Path) -> None:
        arrow = require_arrow()
        table = arrow.parquet.read_table(staged)
        self._guard(lambda engine: self._insert(engine, label, table))
        staged.unlink()

    def _insert(self, engine: Any, label: str, rows: Any) -> None:
        from sqlalchemy import Column, MetaData, Table, insert, select

        metadata = MetaData()
        parts = self._parts(metadata)
        columns = [Column(field.name, _sql_type(field.type)) for field in rows.schema]
        target = Table(self._table, metadata, *columns)
        metadata.create_all(engine)
        with engine.begin() as connection:  # the label and its rows, or neither
            if connection.execute(select(parts.c.label).where(parts.c.label == label)).first():
                return
            connection.execute(insert(parts).values(label=label, rows=rows.num_rows))
            if engine.dialect.name == "postgresql" and engine.driver == "psycopg":
                _copy(connection, engine, self._table, rows)
                return
            for start in range(0, rows.num_rows, INSERT_ROWS):
                connection.execute(insert(target), rows.slice(start, INSERT_ROWS).to_pylist())

    def _guard(self, act: Any) -> Any:
        """The result of `act`; errors show neither a password nor a statement's rows."""
        try:
            return act(self._engine())
        except Exception as error:
            name = type(error).__name__
        raise RuntimeError(
            f"to: the table at {self.place} could not be written ({name}); nothing is lost: call this again "
            "when the database can be reached and the table's columns are those of the schema."
        )

    def __repr__(self) -> str:
        return f"DatabaseTable({self.place!r})"


def _copy(connection: Any, engine: Any, table: str, rows: Any) -> None:
    quote = engine.dialect.identifier_preparer.quote_identifier
    names = ", ".join(map(quote, rows.schema.names))
    with (
        connection.connection.cursor() as cursor,
        cursor.copy(f"COPY {quote(table)} ({names}) FROM STDIN") as copy,
    ):
        for start in range(0, rows.num_rows, INSERT_ROWS):
            part = rows.slice(start, INSERT_ROWS)
            for row in zip(*(column.to_pylist() for column in part.columns), strict=True):
                copy.write_row(row)


def _sql_type(kind: Any) -> Any:
    from sqlalchemy import BigInteger, Boolean, Double, Text

    types = require_arrow().types
    if types.is_boolean(kind):
        return Boolean()
    if types.is_integer(kind):
        return BigInteger()
    return Double() if types.is_floating(kind) else Text()


def _read_url(url: str) -> tuple[Secret, str, str] | Exception:
    """What connects, what may be shown, and the table; an error is returned, with no frame that holds it."""
    from sqlalchemy.engine import make_url

    try:
        read = make_url(url)
        table = read.query.get("table")
        if not isinstance(table, str) or not table:
            return ValueError("to: the address must name one table, as in ...?table=public_rows.")
        plain = read.difference_update_query(["table"])
        if plain.drivername in ("postgresql", "postgres"):
            plain = plain.set(drivername="postgresql+psycopg")
        server = "" if plain.host is None else f"{plain.host}:{plain.port or 5432}/"
        shown = f"{server}{plain.database}, table {table}"
        return Secret(plain.render_as_string(hide_password=False)), shown, table
    except Exception as error:
        strip_frames(error)
    return ValueError(
        "to: the address can't be read: write postgresql://user@host:5432/database?table=name."
    )


def open_sink(to: Any) -> Sink:
    """The sink that a path, the address of a table, or a sink itself names."""
    if isinstance(to, Sink):
        return to
    if isinstance(to, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", to):
        return DatabaseTable(to)
    if not isinstance(to, str | os.PathLike):
        raise TypeError(
            "to must be the path of a folder for Parquet files, or the address of a table, as in "
            f"postgresql://user@host/database?table=public_rows, not {type(to).__name__}."
        )
    return ParquetFolder(to)


def require_arrow() -> Any:
    """PyArrow, with its Parquet part."""
    try:
        pyarrow = importlib.import_module("pyarrow")
        importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError(
            "writing a table needs pyarrow: pip install 'discreet[duckdb]'."
        ) from None
    return pyarrow


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
