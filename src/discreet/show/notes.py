"""What something is about, on one short line: for the notes of a ledger's entries."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["name_several", "shorten_note"]

#: The most names that are listed, and the most characters of a note.
MAX_NAMES = 8
MAX_NOTE = 200


def name_several(names: Iterable[str]) -> str:
    """Names behind each other; of many the first ones, and how many there are."""
    found = list(names)
    if len(found) <= MAX_NAMES:
        return shorten_note(", ".join(found))
    first = shorten_note(", ".join(found[:MAX_NAMES]))
    return f"{first} and {len(found) - MAX_NAMES} more"


def shorten_note(text: str) -> str:
    """Text on one line that isn't longer than a note may be."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_NOTE else line[: MAX_NOTE - 3] + "..."
