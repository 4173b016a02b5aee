"""Rows that may be seen: those to predict for, and tables that were made; read and written as files."""

from __future__ import annotations

import csv
import gzip
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from discreet.cli.outcome import CommandError

if TYPE_CHECKING:
    from discreet.columns import Base

__all__ = ["TABLES", "format_rows", "read_rows", "write_rows"]

#: Files that rows are read from and written to.
SOURCES = (".csv", ".csv.gz", ".parquet")
TABLES = (".csv", ".parquet")


def read_rows(
    path: str, columns: Mapping[str, Base], named: bool, keep: Sequence[str] = ()
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns of a file that a model needs, and those to keep, as arrays.

    Parameters
    ----------
    path : str
        A CSV file with a header line, or a Parquet file.
    columns : mapping of name to column
        What the model was fitted to; cells are read by these declarations.
    named : bool
        Whether columns are found by name; else by position.
    keep : sequence of str
        Columns to pass on as they are.
    """
    if not path.lower().endswith(SOURCES):
        raise CommandError(f"DATA must be a file that ends in {', '.join(SOURCES)}.")
    if not Path(path).is_file():
        raise CommandError(f"DATA: there is no file {path!r}: check the path.")
    header, cells = _read_parquet(path) if path.lower().endswith(".parquet") else _read_csv(path)
    places = dict(zip(columns, header, strict=False)) if not named else {n: n for n in columns}
    if not named and len(header) != len(columns):
        raise CommandError(
            f"DATA has {len(header)} columns, but the model was fitted to {len(columns)} without names: give "
            "a file with these columns alone, in the same order."
        )
    for name in (*places.values(), *keep):
        if name not in header:
            raise CommandError(
                f"DATA has no column {name!r}, which the model needs: it has {', '.join(header[:12])}."
            )
    needed = {name: _parse(cells[place], columns[name]) for name, place in places.items()}
    return needed, {name: cells[name] for name in keep}


def _read_csv(path: str) -> tuple[list[str], dict[str, list[Any]]]:
    csv.field_size_limit(max(csv.field_size_limit(), 2**24))
    opened = gzip.open if path.lower().endswith(".gz") else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            lines = csv.reader(file)
            header = next(lines, [])
            rows = [row for row in lines if row or len(header) == 1]
    except (OSError, EOFError, csv.Error) as error:
        raise CommandError(
            f"DATA: {path!r} can't be read as CSV ({type(error).__name__}): write it again as UTF-8 text "
            "with commas and a header line."
        ) from None
    if header and header[0].startswith(("\udcff\udcfe", "\udcfe\udcff")):
        raise CommandError(f"DATA: {path!r} is written as UTF-16: save it as UTF-8.")
    if not header:
        raise CommandError(f"DATA: {path!r} has no header line: add one with the names of columns.")
    cells = {
        name: [row[place] if place < len(row) else "" for row in rows]
        for place, name in enumerate(header)
    }
    return header, cells


def _read_parquet(path: str) -> tuple[list[str], dict[str, Any]]:
    try:
        table = import_module("pyarrow.parquet").read_table(path)
    except ImportError:
        raise CommandError("DATA: Parquet files need pyarrow: pip install pyarrow.") from None
    except Exception as error:
        raise CommandError(
            f"DATA: {path!r} can't be read as Parquet ({type(error).__name__}): write it again."
        ) from None
    return list(table.column_names), {name: table[name].to_pylist() for name in table.column_names}


def _parse(cells: Sequence[Any], column: Base) -> Any:
    """Cells as the door reads them: text as it is, numbers and days where they are some."""
    import numpy as np

    from discreet.columns import Categorical, Date

    if isinstance(column, Date):
        return np.array([_day(cell) for cell in cells], "datetime64[D]")
    if isinstance(column, Categorical) and isinstance(column.values[0], str):
        found = np.empty(len(cells), object)
        found[:] = list(cells)
        return found
    return np.array([_number(cell) for cell in cells], np.float64)


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return float("nan")


def _day(cell: Any) -> Any:
    from datetime import date

    try:
        return date.fromisoformat(cell[:10]) if isinstance(cell, str) else cell
    except ValueError:
        return None


def write_rows(columns: Mapping[str, Any], path: str) -> None:
    """Write columns to a CSV or Parquet file; if that fails, print them, since they were paid for."""
    place = Path(path)
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        try:
            if place.suffix.lower() == ".parquet":
                arrow = import_module("pyarrow")
                cells = {name: _plain(column) for name, column in columns.items()}
                import_module("pyarrow.parquet").write_table(arrow.table(cells), beside)
            else:
                with open(beside, "w", encoding="utf-8", errors="replace", newline="") as file:
                    format_rows(columns, file)
            os.replace(beside, place)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        format_rows(columns, sys.stdout)
        raise CommandError(
            f"--out: {path!r} can't be written ({type(error).__name__}); the rows were printed instead."
        ) from None


def format_rows(columns: Mapping[str, Any], file: TextIO) -> None:
    """Write columns as CSV; text that a spreadsheet program would run begins with an apostrophe."""
    from discreet.show import as_cell

    cells = [[as_cell(cell) for cell in _plain(column)] for column in columns.values()]
    writer = csv.writer(file)
    writer.writerow(map(as_cell, columns))
    writer.writerows(zip(*cells, strict=True))


def _plain(column: Any) -> list[Any]:
    """Cells of Python's own kinds."""
    found: list[Any] = column.tolist() if hasattr(column, "tolist") else list(column)
    return found


def check_parquet(path: str) -> None:
    """Raise if a Parquet file is wanted and can't be written here."""
    from importlib.util import find_spec

    if path.lower().endswith(".parquet") and find_spec("pyarrow") is None:
        raise CommandError(
            "--out: Parquet files need pyarrow: pip install pyarrow, or give a .csv."
        )
