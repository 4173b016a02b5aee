"""A labelled table: what every result becomes before it is printed, written or drawn."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from os import PathLike
from typing import Any, final

from discreet.show.cells import as_cell
from discreet.show.documents import read_document, write_document
from discreet.show.frames import native_frame
from discreet.show.pages import render_html
from discreet.show.values import as_plain, decode_value, encode_value, visible

__all__ = ["MAX_PRINTED", "Table", "format_cell"]

#: How many rows are printed for people; frames, CSV and JSON have all.
MAX_PRINTED = 40


@final
@dataclass(frozen=True)
class Table:
    """Columns with names, rows of plain values, a caption and a note.

    Parameters
    ----------
    columns : sequence of str
        Names, each once.
    rows : sequence of sequences
        Numbers, text, dates, booleans, fractions or None; numpy's numbers become Python's.
    caption : str
        What the table shows, in a line.
    note : str
        What a reader must know to read it; may be empty.

    Examples
    --------
    >>> from discreet.show import Table
    >>> print(Table(["ward", "count"], [["A", 12], ["B", 7]], caption="visits"))
    visits
      ward  count
      A        12
      B         7

    Privacy
    -------
    It holds what it is given, so it must be given released or public values alone. Text is escaped where a
    browser or a spreadsheet would run it.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    caption: str = ""
    note: str = ""

    def __init__(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        caption: str = "",
        note: str = "",
    ) -> None:
        names = tuple(columns)
        if not names or not all(isinstance(name, str) for name in names):
            raise TypeError("columns must be one or more names.")
        if len(set(names)) < len(names):
            raise ValueError("columns must have different names.")
        cells = tuple(tuple(as_plain(cell) for cell in row) for row in rows)
        if any(len(row) != len(names) for row in cells):
            raise ValueError(f"rows must have {len(names)} cells each, one for each column.")
        for name, value in zip(
            ("columns", "rows", "caption", "note"), (names, cells, caption, note), strict=True
        ):
            object.__setattr__(self, name, value)

    def column(self, name: str) -> list[Any]:
        """The cells of a column."""
        if name not in self.columns:
            raise KeyError(f"there is no column {name!r}; there are: {', '.join(self.columns)}.")
        at = self.columns.index(name)
        return [row[at] for row in self.rows]

    def add_note(self, note: str) -> Table:
        """The table with a text beside each row, in a last column ``note``; the same table for none."""
        if not note:
            return self
        name = "note"
        while name in self.columns:
            name += "_"
        rows = [(*row, note) for row in self.rows]
        return Table((*self.columns, name), rows, self.caption, self.note)

    def to_frame(self, backend: str | None = None) -> Any:
        """The table as a native frame: of pandas, else Polars, else PyArrow, or of the one named."""
        return native_frame({name: self.column(name) for name in self.columns}, backend)

    def to_csv(self, path: str | PathLike[str] | None = None) -> str | None:
        """Write the table as CSV, or return the text if no path is given.

        Text that a spreadsheet program would run as a formula begins with an apostrophe.
        """
        text = io.StringIO(newline="")
        write = csv.writer(text)
        write.writerow(map(as_cell, self.columns))
        write.writerows([as_cell(_written(cell)) for cell in row] for row in self.rows)
        if path is None:
            return text.getvalue()
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text.getvalue())
        return None

    def to_json(self) -> str:
        """The table as JSON, exact to the last digit."""
        rows = [[encode_value(cell) for cell in row] for row in self.rows]
        body = {"columns": list(self.columns), "rows": rows}
        return write_document("table", 1, {**body, "caption": self.caption, "note": self.note})

    @classmethod
    def from_json(cls, text: str) -> Table:
        """The inverse of `to_json`."""
        with read_document(text, "table", 1) as body:
            rows = [[decode_value(cell) for cell in row] for row in body["rows"]]
            return cls(body["columns"], rows, str(body["caption"]), str(body["note"]))

    def to_html(self, max_rows: int = MAX_PRINTED) -> str:
        """The table as HTML, everything in it escaped."""
        shown = [[format_cell(cell) for cell in row] for row in self.rows[:max_rows]]
        right = [self._is_number(name) for name in self.columns]
        return render_html(
            self.columns, shown, right, self.caption, self.note, len(self.rows) - len(shown)
        )

    def _repr_html_(self) -> str:
        return self.to_html()

    def _is_number(self, name: str) -> bool:
        cells = [cell for cell in self.column(name) if cell is not None]
        return bool(cells) and all(
            isinstance(cell, int | float | Fraction) and not isinstance(cell, bool)
            for cell in cells
        )

    def __str__(self) -> str:
        shown = [[format_cell(cell) for cell in row] for row in self.rows[:MAX_PRINTED]]
        table = [[visible(name) for name in self.columns], *shown]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        right = [self._is_number(name) for name in self.columns]
        lines = [visible(self.caption)] if self.caption else []
        for row in table:
            cells = [
                cell.rjust(width) if is_number else cell.ljust(width)
                for cell, width, is_number in zip(row, widths, right, strict=True)
            ]
            lines.append(("  " + "  ".join(cells)).rstrip())
        if len(self.rows) > len(shown):
            lines.append(f"  ... and {len(self.rows) - len(shown)} more")
        notes = [f"  {visible(line.strip())}" for line in self.note.split("\n") if line.strip()]
        return "\n".join([*lines, *notes])

    __repr__ = __str__


def format_cell(value: Any) -> str:
    """A cell for people: floats with six digits, text on one line and visible to the last character."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float() | Fraction():
            return f"{float(value):.6g}"
        case int() | date():
            return str(value)
    return visible(str(value))


def _written(value: Any) -> Any:
    """A cell of a CSV file: exact, and text only where it is text."""
    return str(value) if isinstance(value, Fraction | date) else value
