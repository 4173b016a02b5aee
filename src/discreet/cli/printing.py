"""Results on the terminal and in files: tables by Rich, CSV, JSON and HTML."""

from __future__ import annotations

import io
import os
import shutil
import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.outcome import CommandError, tell_charges, tell_left

if TYPE_CHECKING:
    from discreet.show import Shown, Table

__all__ = ["check_out", "give_result", "print_lines", "print_table", "tell", "write_table"]

#: How wide tables are where nobody looks, such as in a file.
WIDTH = 160
SUFFIXES = (".csv", ".json", ".html")


def check_out(path: str | None, force: bool, suffixes: tuple[str, ...] = SUFFIXES) -> None:
    """Raise unless a result can be written there: before anything is charged."""
    if path is None:
        return
    place = Path(path)
    if place.suffix.lower() not in suffixes:
        raise CommandError(f"--out must end in {' or '.join(suffixes)}, as in result{suffixes[0]}.")
    if place.is_dir() or (place.exists() and not force):
        raise CommandError(
            f"--out: {path!r} exists already: give another name, or --force to replace it."
        )
    folder = place.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise CommandError(
            f"--out: there is no folder {str(folder)!r} that this user may write to: make it first."
        )


def give_result(
    result: Shown,
    *,
    out: str | None = None,
    as_json: bool = False,
    quiet: bool = False,
    level: float | None = None,
) -> None:
    """Print a result, or write it to a file, and tell what was charged for it."""
    if out is not None:
        try:
            _write_file(result, Path(out), level)
        except OSError as error:  # it was paid for, so it is shown in any case
            _print_result(result, as_json, level)
            raise CommandError(
                f"--out: {out!r} can't be written ({type(error).__name__}); the result was printed instead."
            ) from None
        tell(f"written to {out}", quiet)
    if as_json or out is None:
        _print_result(result, as_json, level)
    charged = tell_charges()
    if charged and not quiet:
        tell(f"charged {charged}; left is {tell_left()}")


def _print_result(result: Shown, as_json: bool, level: float | None) -> None:
    """Print a result as JSON or as a table."""
    from discreet.cli.documents import write_result

    if as_json:
        print_lines(write_result(result))
    else:
        to_printed = getattr(result, "to_printed", None)
        print_table(_lay_out(result, level) if to_printed is None else to_printed())


def _lay_out(result: Shown, level: float | None) -> Table:
    """A result as a table; that of a SELECT with its errors, as all others have them."""
    with_errors = getattr(result, "with_errors", None)
    if with_errors is not None:
        result = with_errors(0.95 if level is None else level)
    return result.to_table() if level is None else result.to_table(level)


def print_table(table: Table) -> None:
    """Print a table on standard output; long ones are cut, and say so."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    from discreet.show import visible
    from discreet.show.tables import MAX_PRINTED, format_cell

    is_seen = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if is_seen else WIDTH
    text = io.StringIO()  # Rich would end the process if nobody reads the output any more
    console = Console(file=text, force_terminal=is_seen, width=width, highlight=False)
    shown = RichTable(box=box.SIMPLE_HEAD if is_seen else None, pad_edge=False)
    for name in table.columns:
        cells = [cell for cell in table.column(name) if cell is not None]
        is_number = bool(cells) and all(type(cell) in (int, float) for cell in cells)
        shown.add_column(Text(visible(name)), justify="right" if is_number else "left")
    for row in table.rows[:MAX_PRINTED]:
        shown.add_row(*(Text(format_cell(cell)) for cell in row))
    if table.caption:
        console.print(Text(visible(table.caption)), soft_wrap=True)
    console.print(shown)
    left_out = len(table.rows) - MAX_PRINTED
    if left_out > 0:
        console.print(Text(f"... and {left_out} more; --out all.csv has them"), soft_wrap=True)
    for line in filter(None, (line.strip() for line in table.note.split("\n"))):
        console.print(Text(visible(line)), soft_wrap=True)
    print_lines(text.getvalue().rstrip())


def print_lines(text: str) -> None:
    """Print text as it is."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def tell(text: str, quiet: bool = False) -> None:
    """Say something beside the result, on standard error."""
    if not quiet:
        sys.stderr.write(text + "\n")


_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em}}</style>
<main>{body}</main>
</html>
"""


def write_table(result: Any, path: str) -> None:
    """Write a result that cost nothing to a file."""
    try:
        _write_file(result, Path(path), None)
    except OSError as error:
        raise CommandError(
            f"--out: {path!r} can't be written ({type(error).__name__}): give another place."
        ) from None


def _write_file(result: Any, path: Path, level: float | None) -> None:
    from discreet.cli.documents import write_result

    match path.suffix.lower():
        case ".csv":
            _lay_out(result, level).to_csv(path)
        case ".json":
            path.write_text(write_result(result) + "\n", encoding="utf-8")
        case _:
            to_printed = getattr(result, "to_printed", None)
            table = _lay_out(result, level) if to_printed is None else to_printed()
            title = escape(table.caption or "discreet")
            body = table.to_html(max(1, len(table.rows)))
            path.write_text(_PAGE.format(title=title, body=body), encoding="utf-8")
