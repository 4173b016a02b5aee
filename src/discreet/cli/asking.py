"""Questions that ``discreet init`` asks a person: public facts only, and no row is read for them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from discreet.cli.declaring import parse_column
from discreet.cli.outcome import CommandError
from discreet.dataset import list_columns
from discreet.unit import Relation, Unit

__all__ = ["ask_columns", "ask_unit"]

_SKIP = ("", "skip", "-")
_EXPLANATION = """For each column say what anyone may know about it, from the form, the law or a code book:
  integer(0, 120)   real(0, 5000)   categorical('icu', 'er')   date('2024-01-01', '2024-12-31')   text()
An empty line leaves the column out: it is then never read, but may still say which rows are one person's,
which is asked at the end.
"""


def ask_columns(data: str | None, header: bool) -> dict[str, Any]:
    """The columns of a table, as the person declares them."""
    offered = _find_names(data, header)
    _tell(_EXPLANATION)
    found: dict[str, Any] = {}
    if offered:
        names = [name for name, _ in offered]
        for name in dict.fromkeys(one for one in names if names.count(one) > 1):
            _tell(
                f"{name} stands twice in the first line, so it can't be declared: rename one of them.\n"
            )
        for name, kind in offered:
            if names.count(name) == 1:
                _ask_kind(found, name, kind)
    else:
        while name := _ask("name of a column (empty: no more)"):
            _ask_kind(found, name, "")
    if not found:
        raise CommandError(
            "no column was declared: declare at least one, as in age=integer(0, 120)."
        )
    return found


def _find_names(data: str | None, header: bool) -> list[tuple[str, str]]:
    """Names and types that the table declares; of a CSV file once its first line is said to be names."""
    if data is None:
        return []
    is_text = data.endswith((".csv", ".csv.gz"))
    if is_text and not Path(data).is_file():
        raise CommandError(f"DATA: there is no file {data!r}: check the path.")
    if is_text and not header:
        question = "Is the first line of the file the names of the columns (and not somebody's data)? [y/n]"
        if _ask(question).lower() not in ("y", "yes"):
            return []
    return list_columns(data)


def _ask_kind(found: dict[str, Any], name: str, declared: str) -> None:
    title = f"{name}, declared as {declared}" if declared else name
    while (text := _ask(title)).lower() not in _SKIP:
        try:
            found[name] = parse_column(text)
            return
        except CommandError as error:
            _tell(f"{error}\n")


def ask_unit() -> Unit | None:
    """Who is protected."""
    column = _ask("column that says which rows are one person's (empty: each row is a person)")
    if not column:
        return None
    while True:
        text = _ask("how many rows of one person may count (such as 3)")
        if text.isdecimal() and int(text) > 0:
            return Unit(Relation.ADD_REMOVE, column, int(text))
        _tell("Give a whole number, at least 1.\n")


def _ask(question: str) -> str:
    _tell(f"{question}: ")
    line = sys.stdin.readline()
    if not line:
        _tell("\n")
        raise CommandError(
            "the answers ended before the questions: answer them on a terminal, or give --column for each "
            "column."
        )
    return line.strip()


def _tell(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
