"""Text in tables that people open with a spreadsheet program."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["as_cell"]

#: What begins a formula, at the start of a cell or of what a program with other separators takes for a cell.
_FORMULA = re.compile("(^|[;|\t\r\n])(?=[=+\\-@\t\r\uff1d\uff0b\uff0d\uff20])")


def as_cell(value: Any) -> Any:
    """A value for a CSV file: text that a spreadsheet program would run as a formula gets an apostrophe.

    Numbers, even those written as text, stay as they are.
    """
    if not isinstance(value, str):
        return value
    try:
        float(value)
    except ValueError:
        return _FORMULA.sub(r"\1'", value)
    return value
