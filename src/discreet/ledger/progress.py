"""How far a release that was paid for once has been published: durable, part by part."""

from __future__ import annotations

from typing import final

from discreet.events import Compose
from discreet.ledger.book import Book
from discreet.ledger.chain import new_token

__all__ = ["Progress"]

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


def new_name() -> str:
    """A name that nobody else chooses."""
    return new_token()
