"""Which column of a text that can't be read stands there without the double quotes that it needs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from discreet.sql.reading import SqlError, kind_of, parse_select

__all__ = ["hint_quotes"]

#: Text in single quotes, and names in double ones.
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
#: What stands in statements anyway, so that it says nothing about a column of this name.
_SPOKEN = frozenset({"select", "from", "where", "and", "or", "not", "in", "is", "null", "as"})


def hint_quotes(text: str, columns: Iterable[str]) -> str:
    """A sentence about a column that needs quotes and has none; empty if there is no such column.

    Privacy
    -------
    A function of the text and the names of the schema alone.
    """
    bare = _QUOTED.sub(" ", text)
    for name in sorted(columns, key=len, reverse=True):
        pattern = rf"(?<!\w){re.escape(name)}(?!\w)"
        if name.casefold() in _SPOKEN or not name.strip():
            continue
        if re.search(pattern, bare, re.IGNORECASE) and _needs_quotes(name):
            return f" The column {name!r} needs double quotes in SQL: {_quote(name)}."
    return ""


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@cache
def _needs_quotes(name: str) -> bool:
    """Whether a name stands for something else, or for nothing, without quotes."""
    try:
        tree = parse_select(f"SELECT COUNT(*) FROM rows WHERE (\n{name}\n > 1)")
        column = tree.args["where"].this.this.this
        return bool(kind_of(column) != "Column" or column.args.get("table") or column.name != name)
    except (SqlError, KeyError, AttributeError):
        return True
