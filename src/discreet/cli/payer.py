"""A ledger whose charges are remembered by the command that makes them."""

from __future__ import annotations

import uuid
from typing import final

from discreet.cli.outcome import Charge, drop_charge, watch_charge
from discreet.events import Event
from discreet.ledger import Book, Entry, LedgerUnknown, Payer
from discreet.measures import Measure

__all__ = ["WatchedBook"]


@final
class WatchedBook(Payer):
    """Charges a ledger or account, so that whatever happens afterwards the charge can be told.

    Privacy
    -------
    Every charge is the book's own. A charge that is interrupted while it is booked has a token, by which
    the ledger is asked what became of it.
    """

    def __init__(self, book: Book) -> None:
        self._book = book

    @property
    def book(self) -> Book:
        return self._book

    def charge(
        self,
        event: Event,
        measure: Measure | None = None,
        *,
        note: str = "",
        token: str | None = None,
    ) -> Entry:
        charge = Charge(self._book, uuid.uuid4().hex if token is None else token)
        watch_charge(charge)
        try:
            charge.entry = self._book.charge(event, measure, note=note, token=charge.token)
        except LedgerUnknown:
            raise
        except Exception:  # refused: nothing was booked
            drop_charge(charge)
            raise
        return charge.entry
