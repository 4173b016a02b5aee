"""CSV files, read as text by the standard library in chunks and parsed by the schema's rule."""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.coding import (
    Batch,
    Code,
    CodedQuery,
    Engine,
    Filled,
    Integers,
    Places,
    Tally,
    leaves,
)
from discreet.coding.batches import cut_rows
from discreet.coding.calendar import day_of_text
from discreet.coding.cells import is_filled
from discreet.coding.chunks import CHUNK, FILLED, Chunk
from discreet.engines.arrays import Arrays, joint_totals_of, tally_of, totals_of
from discreet.engines.base import (
    join_keys,
    join_tallies,
    refuse_key,
    withhold_each,
    withhold_errors,
)
from discreet.engines.collected import person_rows_of, rows_of
from discreet.engines.person_rows import Mask, PersonRows
from discreet.matching import ColumnMismatch, cell_kind, check_names, list_needed
from discreet.progress import show
from discreet.schema import Schema
from discreet.unit import Unit

#: The most characters of a cell; the csv module's own limit is lower, and it raises there.
LONGEST_CELL = 2**31 - 1


#: What else may stand between the names of a first line.
SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
#: Stands for a carriage return; no bytes are decoded to it.
RETURN = "\ud800"
#: The kinds of cells that are read as doubles; a date is its number of days.
_NUMBERS = ("number", "date")
#: How a file of UTF-16 begins, as its bytes are decoded here.
MARKS = ("\udcff\udcfe", "\udcfe\udcff")
#: The name under which ids are read; no column of a file has a NUL in its name.
ID = "\0id"


class Delimited(Engine):
    """Rows of a CSV file with a header line.

    Missing cells are null, surplus cells are ignored; numbers are what Python's ``float`` reads, true and
    false, anything else is NaN; dates are in ISO form (`day_of_text`); text is taken as it stands. Bytes
    that are no UTF-8 become lone surrogates, each byte its own: such text is no category and no key, and
    as an id it is the same as text of the same bytes alone. An empty cell is no id. Which cells are
    malformed never shows. A quotation mark that is never closed takes the following lines into its cell:
    the private table is the one read by these rules.
    """

    is_ordered = True

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kinds: dict[str, str] = {}
        if csv.field_size_limit() < LONGEST_CELL:
            csv.field_size_limit(LONGEST_CELL)
        self._header = withhold_errors(self._first_line)
        if self._header and self._header[0].startswith(MARKS):
            raise ValueError(
                f"{path.name!r} is written as UTF-16: save it as UTF-8 (a spreadsheet calls that CSV UTF-8)."
            )
        if not self._header:
            raise ValueError(
                f"{path.name!r} has no header line with the names of its columns: add one, such as age,ward."
            )

    def _first_line(self) -> list[str]:
        with open(self._path, "rb") as raw, self._text(raw) as file:
            return [_restore(name) for name in next(csv.reader(_lines(file)), [])]

    def _text(self, raw: Any) -> io.TextIOBase:
        binary: Any = gzip.GzipFile(fileobj=raw) if self._path.name.endswith(".gz") else raw
        return io.TextIOWrapper(
            binary, encoding="utf-8-sig", errors="surrogateescape", newline="\n"
        )

    def _share(self, raw: Any) -> Callable[[], float]:
        """The share of the file's bytes that were read."""
        size = max(1, self._path.stat().st_size)
        return lambda: float(os.lseek(raw.fileno(), 0, os.SEEK_CUR) / size)

    def check(self, schema: Schema, unit: Unit) -> None:
        self._check_line_ends()
        self._check_separator(schema, unit)
        check_names(self._header, schema, unit, f"the first line of {self._path.name!r}")
        for name, column in schema.base.items():
            self._kinds[name] = cell_kind(column)
        if unit.id_column is not None:
            # apart from the schema's columns: an id is compared as text, even if declared as a number
            self._kinds[ID] = "id"
            self._id_place = self._header.index(unit.id_column)

    def declared(self) -> list[tuple[str, str]]:
        """The names of the first line, for whoever said that it holds names; a file of text has no types."""
        self._check_line_ends()
        for separator, title in SEPARATORS.items():
            if len(self._header) == 1 and separator in self._header[0]:
                raise ColumnMismatch(
                    f"the first line of {self._path.name!r} is separated by {title}, not by commas: write "
                    f"the file with commas{_explain_conversion(separator)}."
                )
        return [(name, "") for name in self._header]

    def _check_line_ends(self) -> None:
        """Refuse a file of one line, whose number of names would tell that of its rows."""
        if any("\r" in name.replace("\r\n", "") for name in self._header):
            raise ColumnMismatch(
                f"the first line of {self._path.name!r} holds a carriage return without a line feed: the "
                "file's lines must end with a line feed, alone or after a carriage return."
            )

    def _check_separator(self, schema: Schema, unit: Unit) -> None:
        """Refuse a file whose names are separated by something else, told from names that are declared."""
        needed = set(list_needed(schema, unit))
        if needed <= set(self._header):
            return
        for separator, title in SEPARATORS.items():
            names = {
                name.strip().strip('"') for part in self._header for name in part.split(separator)
            }
            if len(needed & names) > len(needed & set(self._header)):
                raise ColumnMismatch(
                    f"the first line of {self._path.name!r} is separated by {title}, not by commas: write "
                    f"the file with commas (and points in numbers){_explain_conversion(separator)}, or open "
                    "it with Polars, pandas or DuckDB and pass the frame."
                )

    def length(self) -> None:
        return None

    def _chunks(self, size: int, told: Collection[str] = ()) -> Iterator[Arrays]:
        """The rows, so many at once; of the columns `told` also which cells are missing."""
        places = {name: self._header.index(name) for name in self._kinds if name != ID}
        if ID in self._kinds:
            places[ID] = self._id_place
        title = f"reading {self._path.name}"
        with (
            open(self._path, "rb") as raw,
            self._text(raw) as file,
            show(title, self._share(raw)),
        ):
            reader = csv.reader(_lines(file))
            next(reader, None)
            columns: dict[str, list[Any]] = {name: [] for name in places}
            columns |= {FILLED + name: [] for name in told}
            length = 0
            for cells in reader:
                if not cells and len(self._header) > 1:
                    continue  # a blank line is no row; in a file of one column it is an empty cell
                for name, place in places.items():
                    cell = cells[place] if place < len(cells) else ""
                    columns[name].append(_parse(cell, self._kinds[name]))
                for name in told:
                    cell = cells[places[name]] if places[name] < len(cells) else ""
                    columns[FILLED + name].append(1.0 if is_filled(cell) else math.nan)
                length += 1
                if length == size:
                    yield self._arrays(columns)
                    columns, length = {name: [] for name in columns}, 0
            yield self._arrays(columns)

    def _arrays(self, columns: dict[str, list[Any]]) -> Arrays:
        return Arrays(
            {
                name: np.array(cells, np.float64) if self._is_double(name) else cells
                for name, cells in columns.items()
            }
        )

    def _is_double(self, name: str) -> bool:
        return name not in self._kinds or self._kinds[name] in _NUMBERS

    def _limit_persons(
        self, query: CodedQuery, codes: Sequence[Code]
    ) -> Iterator[tuple[Chunk, Mask]]:
        """The rows that count, those beyond a person's limit forgotten while the file is read."""
        assert query.keep is not None
        kept = PersonRows(query.keep, codes)
        for part in self._chunks(CHUNK, _find_told(query)):
            chunk = part.chunk()
            kept.add(chunk, chunk.counted(query))
        return kept.chunks()

    def totals(self, query: CodedQuery) -> Integers:
        return withhold_errors(lambda: self._totals(_with_own_id(query)))

    def _totals(self, query: CodedQuery) -> Integers:
        if query.keep is not None:
            return totals_of(query, self._limit_persons(query, query.codes))
        result = np.zeros((query.groups, len(query.terms)), np.int64)
        for part in self._chunks(CHUNK, _find_told(query)):
            result += part.totals(query)
        return result

    def joint_totals(self, queries: Sequence[CodedQuery]) -> list[Integers]:
        own = [_with_own_id(query) for query in queries]
        return withhold_errors(lambda: joint_totals_of(own, self._read_once))

    def _read_once(self, same: list[CodedQuery]) -> Iterator[tuple[Chunk, Mask]]:
        """The rows that count in queries that count the same ones, from one reading of the file."""
        if same[0].keep is not None:
            codes = tuple(dict.fromkeys(code for query in same for code in query.codes))
            yield from self._limit_persons(same[0], codes)
            return
        told = tuple(dict.fromkeys(name for query in same for name in _find_told(query)))
        for part in self._chunks(CHUNK, told):
            chunk = part.chunk()
            yield chunk, chunk.counted(same[0])

    def tally(self, query: CodedQuery) -> Tally:
        return withhold_errors(lambda: self._tally(_with_own_id(query)))

    def _tally(self, query: CodedQuery) -> Tally:
        if query.keep is not None:
            return tally_of(query, self._limit_persons(query, query.codes))
        return join_tallies(part.tally(query) for part in self._chunks(CHUNK))

    def keys(self, query: CodedQuery, column: str, groups: int) -> dict[str, int]:
        return withhold_errors(lambda: self._keys(_with_own_id(query), column, groups))

    def _keys(self, query: CodedQuery, column: str, groups: int) -> dict[str, int]:
        # the order of a person's keys needs all rows at once
        size = CHUNK if query.keep is None else 2**62
        return join_keys(part.keys(query, column, groups) for part in self._chunks(size))

    def rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        if query.keep is not None:
            return withhold_errors(
                lambda: rows_of(codes, self._limit_persons(_with_own_id(query), codes))
            )
        return withhold_errors(
            lambda: np.concatenate([part.rows(query, codes) for part in self._chunks(CHUNK)])
        )

    def person_rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        own = _with_own_id(query)
        return withhold_errors(lambda: person_rows_of(own, codes, self._limit_persons(own, codes)))

    def check_places(self, places: Places) -> None:
        refuse_key(places)

    def batches(
        self, codes: tuple[Code, ...], places: Places, skip: Collection[int] = ()
    ) -> Iterator[Batch]:
        id_column = None if places.id_column is None else ID
        parts = (part.read(codes, id_column) for part in self._chunks(places.size))
        return withhold_each(cut_rows(parts, places))


def _explain_conversion(separator: str) -> str:
    """How a file with other separators becomes one with commas."""
    options = "sep=';', decimal=','" if separator == ";" else f"sep={separator!r}, dtype=str"
    return f", as in pandas.read_csv('old.csv', {options}).to_csv('new.csv', index=False)"


def _with_own_id(query: CodedQuery) -> CodedQuery:
    """The query with its id read from the column of ids."""
    return query if query.keep is None else replace(query, keep=replace(query.keep, id_column=ID))


def _find_told(query: CodedQuery) -> tuple[str, ...]:
    """The columns of which a query asks whether cells are missing."""
    keep = query.keep
    order = () if keep is None else (*keep.order, *keep.ties)
    asked = leaves(*query.codes, *order)
    return tuple(leaf.column for leaf in asked if isinstance(leaf, Filled))


def _parse(cell: str, kind: str) -> Any:
    if kind == "date":
        return day_of_text(cell)
    if kind != "number":
        return None if kind == "id" and not cell else _restore(cell)
    try:
        return float(cell)
    except ValueError:
        return {"true": 1.0, "false": 0.0}.get(cell.strip().lower(), math.nan)


def _lines(file: io.TextIOBase) -> Iterator[str]:
    """Lines that end with a line feed, or a carriage return and a line feed.

    A carriage return elsewhere is a character of a cell: it must not end the row, so another character
    stands for it.
    """
    for line in file:
        if "\r" not in line:
            yield line
            continue
        end = "\r\n" if line.endswith("\r\n") else "\n" if line.endswith("\n") else ""
        yield line.removesuffix(end).replace("\r", RETURN) + end


def _restore(cell: str) -> str:
    return cell if cell.isascii() else cell.replace(RETURN, "\r")
