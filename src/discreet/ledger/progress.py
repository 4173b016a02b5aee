"""How far a release that was paid for once has been published: durable, part by part."""

from __future__ import annotations

import hashlib
from typing import final

from discreet.events import Compose
from discreet.ledger.book import Book
from discreet.ledger.chain import new_token

__all__ = ["Progress", "begins_plan", "has_parts"]

_CUT = "a release that was paid before is published in these parts: "
_WORDS = "a part of a release that was paid before is published: "


@final
class Progress:
    """Which parts of one release may have been seen, and under which name each was made.

    A part is entered, at no cost, when it is made and before anybody can see it. From then on no other draw
    of it may be published: whoever finds it entered publishes what was made under that name, or nothing.

    Parameters
    ----------
    book : Book or None
        The ledger or account that paid; None on public rows, where nothing is at stake and nothing durable.
    token : str
        The name of the release in the ledger.

    Examples
    --------
    >>> import discreet as dp
    >>> ledger = dp.Ledger(limit=dp.PureDP(2))
    >>> parts = dp.ledger.Progress(ledger, "masked visits of 2026")
    >>> parts.enter(0, "part-0-a.parquet"), parts.find(0), parts.find(1)
    (True, 'part-0-a.parquet', None)
    >>> parts.enter(0, "part-0-b.parquet")  # another draw of it may be out already
    False
    """

    def __init__(self, book: Book | None, token: str) -> None:
        self._book, self._token = book, token
        self._found: dict[int, str] = {}

    def bind(self, facts: str) -> None:
        """Enter, once, what the parts are parts of; raise if that is something else already.

        A row that stands in another part than before would be drawn again for the same charge, and so
        would it if a plan of steps had this token as well.

        Parameters
        ----------
        facts : str
            Public: how rows are cut into parts.
        """
        if self._book is None:
            return
        if self._book.find(begins_plan(self._token)) is not None:
            raise ValueError("token: a prepaid plan has this token; choose another one.")
        note = _CUT + hashlib.sha256(facts.encode()).hexdigest()
        entry = self._book.charge(Compose(), note=note, token=_parts_of(self._token))
        if entry.note != note:
            raise ValueError(
                "token: rows cut into other batches have this token: give the places and columns with "
                "which it was begun, or choose another token."
            )

    def _name(self, part: int) -> str:
        return f"part {part} of {self._token}"

    def find(self, part: int) -> str | None:
        """The name under which a part was entered; None if it was not, and no draw of it was seen."""
        if part not in self._found and self._book is not None:
            entry = self._book.find(self._name(part))
            if entry is not None:
                self._found[part] = entry.note.removeprefix(_WORDS)
        return self._found.get(part)

    def enter(self, part: int, made: str) -> bool:
        """Enter what was made of a part; False if another draw of it was entered before."""
        if self._book is not None:
            entry = self._book.charge(Compose(), note=f"{_WORDS}{made}", token=self._name(part))
            self._found[part] = entry.note.removeprefix(_WORDS)
        return self._found.setdefault(part, made) == made


def begins_plan(token: str) -> str:
    """The token of the first step of a prepaid plan."""
    return f"step 0 of {token}"


def has_parts(book: Book, token: str) -> bool:
    """Whether rows are written in parts under a token."""
    return book.find(_parts_of(token)) is not None


def _parts_of(token: str) -> str:
    return f"parts of {token}"


def new_name() -> str:
    """A name that nobody else chooses."""
    return new_token()
