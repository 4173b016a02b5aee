"""Text that somebody else wrote, on one line and visible to the last character."""

from __future__ import annotations

import re

__all__ = ["MAX_SHOWN", "plain"]

#: How many characters of a text are shown.
MAX_SHOWN = 200

#: Letters and signs that count as printable and are drawn as nothing, so that they could push what
#: follows to the next line of a screen.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")


def plain(text: str) -> str:
    """A text as one line: spaces run together, whatever isn't printable is escaped, the end cut off.

    Line breaks and separators, control and escape codes, marks that turn the direction of writing and
    invisible characters all count as not printable.
    """
    joined = re.sub(" +", " ", text).strip()
    visible = "".join(
        char if char.isprintable() and char not in _BLANK else ascii(char)[1:-1]
        for char in joined[: MAX_SHOWN + 1]
    )
    return visible if len(visible) <= MAX_SHOWN else visible[: MAX_SHOWN - 3] + "..."
