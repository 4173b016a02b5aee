"""How much room the texts of a model file take as arrays, told before any array is made."""

from __future__ import annotations

from typing import Any

__all__ = ["MAX_LETTERS", "check_room"]

#: Letters for which the arrays of a model may have room: 4 bytes each.
MAX_LETTERS = 2**25
#: Numbers among texts become texts of at most this many letters, integers of more digits aside.
_NUMBER = 32


def check_room(data: Any) -> None:
    """Raise if the texts of a document would become arrays that are far larger than it.

    An array gives each of its texts the room of the longest one, so that a list of one long and many short
    texts takes their product.
    """
    if _room(data) > MAX_LETTERS:
        raise ValueError("the texts of a list are too long for an array.")


def _room(data: Any) -> int:
    """The letters for which all lists below have room; lists in a list are one array with it."""
    if isinstance(data, dict):
        return sum(map(_room, data.values()))
    if not isinstance(data, list):
        return 0
    count, longest, has_text, inside, lists = 0, 0, False, 0, [data]
    while lists:
        for item in lists.pop():
            if isinstance(item, list):
                lists.append(item)
            elif isinstance(item, dict):
                inside += _room(item)
            else:
                count += 1
                has_text = has_text or isinstance(item, str)
                longest = max(longest, _length(item))
    return inside + (count * longest if has_text else 0)


def _length(item: Any) -> int:
    if isinstance(item, str):
        return len(item)
    return item.bit_length() if type(item) is int and abs(item) > 2**64 else _NUMBER
