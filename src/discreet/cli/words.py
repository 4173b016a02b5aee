"""Columns whose values are typed without quotes: ``job=categorical(Private, State-gov, <=50K, New York)``.

Apart from `declaring`, which reads what Python could read, too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

__all__ = ["read_plain"]

#: Kinds all of whose values are text, even 01 and 2024-01-01.
_TEXT = ("categorical", "date")
_CLOSING = {"(": ")", "[": "]"}
#: Options that a value may be given to by name.
_OPTION = re.compile(r"(unknown|fill|first|last|column|cuts|labels)\s*=(?!=)(.*)", re.DOTALL)


def read_plain(text: str) -> tuple[str, list[Any], dict[str, Any], bool]:
    """The kind, its values and options, where words stand for text as they are.

    Raises
    ------
    ValueError
        If it isn't clear where a word begins and ends: quotes say so.
    """
    found = re.fullmatch(r"\s*([A-Za-z_]+)\s*\((.*)\)\s*", text, re.DOTALL)
    if found is None or found[1].lower() in ("real", "integer", "text"):
        raise ValueError
    kind = found[1].lower()
    values: list[Any] = []
    options: dict[str, Any] = {}
    for part in _iter_parts(found[2]):
        option = _OPTION.fullmatch(part)
        if option is None:
            if options:
                raise ValueError
            values.append(_read_word(part, kind in _TEXT))
        elif option[1] in options:
            raise ValueError
        else:
            options[option[1]] = _read_word(option[2].strip(), kind in _TEXT)
    return kind, values, options, False


def _iter_parts(text: str) -> Iterator[str]:
    """What stands between commas that are neither in quotes nor in brackets."""
    start, quote, depth = 0, "", 0
    for at, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote and text[at - 1] != "\\" else quote
        elif letter in "'\"" and not text[start:at].strip(" [="):
            quote = letter
        elif letter in "[]":
            depth += 1 if letter == "[" else -1
        elif letter == "," and depth == 0:
            yield text[start:at].strip()
            start = at + 1
    if quote or depth:
        raise ValueError
    if text[start:].strip() or not start:
        yield text[start:].strip()


def _read_word(text: str, is_text: bool) -> Any:
    """A list, a piece of text in quotes, a number where one may stand, or the words as they are."""
    if text[:1] == "[" and text[-1:] == "]":
        return [_read_word(part, is_text) for part in _iter_parts(text[1:-1])]
    if text[:1] in ("'", '"'):
        found = ast.literal_eval(text)
        if not isinstance(found, str):
            raise ValueError
        return found
    if not text or re.search(r"[()\[\]'\"\\]", text):
        raise ValueError
    if not is_text and re.fullmatch(r"[-+]?\d+(\.\d+)?", text):
        return ast.literal_eval(text)
    return text
