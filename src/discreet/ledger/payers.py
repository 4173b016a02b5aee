"""Who pays for what is read: a ledger, a plan that was paid in advance, or nobody."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, final

from discreet.events import Event
from discreet.measures import Measure

if TYPE_CHECKING:
    from discreet.ledger.book import Book
    from discreet.ledger.chain import Entry

__all__ = ["NOT_DATA", "Nobody", "Payer"]

#: The mark of everything that comes from made-up rows, in notes too.
NOT_DATA = "NOT DATA: made-up rows of a rehearsal"


class Payer(ABC):
    """Something that is charged before rows are read.

    Examples
    --------
    >>> import discreet as dp
    >>> payers = dp.Ledger(limit=dp.PureDP(2)), dp.ledger.Nobody()
    >>> [isinstance(payer, dp.ledger.Payer) for payer in payers]
    [True, True]
    >>> [payer.book is None for payer in payers]
    [False, True]
    """

    @property
    @abstractmethod
    def book(self) -> Book | None:
        """The ledger or account that pays in the end; None where nothing is paid."""

    @abstractmethod
    def charge(
        self,
        event: Event,
        measure: Measure | None = None,
        *,
        note: str = "",
        token: str | None = None,
    ) -> Entry | None:
        """Pay for an event, once for each token, or raise: then nothing may be read."""


@final
class Nobody(Payer):
    """Pays for nothing: for rows that anyone may see.

    Examples
    --------
    >>> import discreet as dp
    >>> dp.ledger.Nobody().charge(dp.events.DiscreteLaplace(2)) is None
    True
    """

    @property
    def book(self) -> None:
        return None

    def charge(
        self,
        event: Event,
        measure: Measure | None = None,
        *,
        note: str = "",
        token: str | None = None,
    ) -> None:
        return None
