"""Doors to the desk's table: one with nothing behind it, to plan, and the real one, which a release pays."""

from __future__ import annotations

import threading
from typing import final

from discreet.cli.common import build_empty
from discreet.cli.outcome import CommandError
from discreet.dataset import PrivateDataset
from discreet.events import Event
from discreet.ledger import Book, Entry, Payer
from discreet.measures import Measure
from discreet.studio.desk import Desk
from discreet.unit import REPLACE_ONE, Unit

__all__ = ["DEFAULT_ROWS", "ReleasePayer", "guess_rows", "open_door", "open_empty"]

#: Our guess of the number of rows, where nobody gave one: errors are shown for it.
DEFAULT_ROWS = 1000
_kept: dict[object, PrivateDataset] = {}
_lock = threading.Lock()


def guess_rows(desk: Desk, unit: Unit) -> int | None:
    """The number of rows for which errors are shown; None where it must be declared and isn't."""
    if desk.rows is not None:
        return desk.rows
    return None if unit.relation is REPLACE_ONE else DEFAULT_ROWS


def open_empty(desk: Desk) -> PrivateDataset:
    """A door with nothing behind it: plans come from public facts alone."""
    schema, unit = desk.schema(), desk.unit()
    _check_unit(desk, unit)
    rows = guess_rows(desk, unit)
    if unit.length_is_public and rows is None:
        raise CommandError(
            "say how many rows the table has: with this protection their number is public."
        )
    key = (schema.to_toml(unit), rows)
    with _lock:
        if key not in _kept:
            _kept.clear()
            _kept[key] = build_empty(schema, unit, rows)
        return _kept[key]


def _check_unit(desk: Desk, unit: Unit) -> None:
    """Refuse a ledger that protects others than the schema file says."""
    _, declared = desk.facts()
    if declared is not None and declared != unit:
        raise CommandError(
            f"the ledger protects another unit ({unit}) than the schema file declares ({declared})."
        )


@final
class ReleasePayer(Payer):
    """Charges a ledger in the name of one release: under one token, once.

    Privacy
    -------
    Every charge is the book's own. A token that the ledger has already paid is refused: it paid for what was
    read then, and whoever reads again must charge again.
    """

    def __init__(self, book: Book, token: str) -> None:
        self._book, self._token, self._count = book, token, 0
        #: The ledger's entry of the last charge.
        self.entry: Entry | None = None

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
        name = self._token if self._count == 0 else f"{self._token}-{self._count}"
        self._count += 1
        if self._book.find(name) is not None:
            raise CommandError("this release was charged before: nothing is charged or read again.")
        self.entry = self._book.charge(event, measure, note=note, token=name)
        return self.entry


def open_door(desk: Desk, token: str) -> tuple[PrivateDataset, ReleasePayer]:
    """The table behind its door, and who pays: all that is asked is charged in the name of a release."""
    book = desk.book(read_only=False)
    if book is None:
        raise CommandError("there is no ledger yet: set the budget on the page Protect.")
    _check_unit(desk, book.unit)
    if book.unit != desk.unit():
        raise CommandError(
            "another ledger stands where the one was that was shown: look at it again."
        )
    rows = guess_rows(desk, book.unit) if book.unit.relation is REPLACE_ONE else None
    payer = ReleasePayer(book, token)
    return PrivateDataset(desk.path, desk.schema(), ledger=payer, rows=rows), payer
