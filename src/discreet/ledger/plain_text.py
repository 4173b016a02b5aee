"""Text that somebody else wrote, on one line and visible to the last character."""

from __future__ import annotations

import re

from discreet.show import visible

__all__ = ["MAX_SHOWN", "plain"]

#: How many characters of a text are shown.
MAX_SHOWN = 200


def plain(text: str) -> str:
    """A text as one line: spaces run together, whatever isn't printable is escaped, the end cut off.

    Line breaks and separators, control and escape codes, marks that turn the direction of writing and
    invisible characters all count as not printable.
    """
    joined = re.sub(" +", " ", text).strip()
    shown = visible(joined[: MAX_SHOWN + 1])
    return shown if len(shown) <= MAX_SHOWN else shown[: MAX_SHOWN - 3] + "..."
