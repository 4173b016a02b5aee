"""The ledger of one fit or one question that was given none: kept by its process, and gone with it."""

from __future__ import annotations

import threading
from typing import NoReturn, final

from discreet.events import Event
from discreet.ledger.amounts import Amounts, add_amounts, grid_for, to_text
from discreet.ledger.book import Book
from discreet.ledger.chain import FIRST, Entry, new_token, store_token
from discreet.ledger.errors import LedgerUnavailable
from discreet.ledger.journal import (
    ROOT,
    charged_entry,
    describe_charge,
    make_entry,
    refusal,
    zero_of,
)
from discreet.ledger.opening import describe_terms
from discreet.ledger.store import Store
from discreet.ledger.terms import new_terms
from discreet.measures import Measure
from discreet.noise import entropy
from discreet.unit import Unit

__all__ = ["OwnLedger"]


@final
class OwnLedger(Book):
    """The budget of one fit or question that nobody else can reach, so that no file is made for it.

    It charges as a `Ledger` with the same terms does, and makes the same entries. It knows what was charged
    and what is left, but has no statement and no accounts.

    Parameters
    ----------
    limit : PureDP, ApproxDP or ZCDP
    unit : Unit
    accept_assumed : bool

    Privacy
    -------
    That of a `Ledger`. Threads wait for each other; a forked process, whose copy would forget what the others
    charge, is refused, and it can't be pickled. Proof page: ``docs/proofs/ledger.md``.
    """

    def __init__(self, limit: Measure, unit: Unit, accept_assumed: bool = False) -> None:
        self._terms = new_terms(limit, unit, None, accept_assumed, 0)
        self._path, self._limit = ROOT, self._terms.limit
        self._grid = grid_for(self._limit)
        self._caps = self._terms.filter.caps(self._limit)
        self._totals = zero_of(self._terms.filter)
        self._last = 0
        _, _, self._hash = make_entry(-1, FIRST, describe_terms(self._terms, self._caps))
        self._entries: dict[str, Entry] = {}
        self._owner, self._lock = entropy.current_process(), threading.Lock()

    @property
    def url(self) -> str:
        """Where it is kept: nowhere that has an address."""
        return "in the memory of its process"

    @property
    def _store(self) -> Store:  # type: ignore[override]
        raise LedgerUnavailable(
            "The ledger of a fit or question that was given none is gone with it: to see entries, or to have "
            "accounts, give ledger=dp.Ledger(...)."
        )

    def _check_process(self) -> None:
        # before the lock, which a thread of the parent may hold
        if self._owner != entropy.current_process():
            raise LedgerUnavailable(
                "The ledger of a fit or question that was given none can't be used in a forked process: give "
                "ledger=dp.Ledger(...), which processes share."
            )

    def _enter(self, event: Event, amounts: Amounts, note: str, token: str | None) -> Entry:
        self._check_process()
        name = new_token() if token is None else store_token(token)
        with self._lock:
            if name in self._entries:
                return self._entries[name]
            totals = add_amounts(self._totals, amounts)
            filter_ = self._terms.filter
            if not filter_.fits(totals, self._caps):
                raise refusal(filter_, amounts, self._totals, self._caps, ROOT)
            details = describe_charge(ROOT, event, amounts, note, name)
            details["totals"] = {ROOT: to_text(totals)}
            data, _, hash_ = make_entry(self._last, self._hash, details)
            entry = charged_entry(filter_, data, hash_, event, amounts)
            self._totals, self._last, self._hash = totals, entry.number, hash_
            self._entries[name] = entry
            return entry

    def _find(self, token: str) -> Entry | None:
        self._check_process()
        with self._lock:
            return self._entries.get(store_token(token))

    def _balance(self) -> tuple[Amounts, Amounts]:
        self._check_process()
        with self._lock:
            return self._caps, self._totals

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "the ledger of a fit or question that was given none can't be pickled: give "
            "ledger=dp.Ledger(...), which processes share."
        )
