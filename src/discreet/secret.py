"""Passwords: used where they are needed, and shown nowhere."""

from __future__ import annotations

from typing import NoReturn, TypeVar

__all__ = ["Secret", "strip_frames"]

Error = TypeVar("Error", bound=BaseException)


class Secret:
    """A text that neither a repr nor a pickle shows."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself: hand it on, and keep it in no variable."""
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return "'***'"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a password is never pickled.")


def strip_frames(error: Error) -> Error:
    """An error without its traceback and the errors before it, whose frames may hold a password."""
    error.__context__ = error.__cause__ = None
    return error.with_traceback(None)
