"""Whether the entries of a ledger belong together: against accidents, not against owners."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, select

from discreet.ledger.amounts import Amounts, add_amounts, amounts_from_text
from discreet.ledger.chain import SURPRISES, follow
from discreet.ledger.errors import LedgerCorrupt
from discreet.ledger.filters import Filter
from discreet.ledger.journal import ROOT, ancestors, check_anchor, in_order
from discreet.ledger.migrations import balances
from discreet.ledger.plain_text import plain
from discreet.ledger.store import Store
from discreet.ledger.terms import Terms
from discreet.measures import measure_from_dict
from discreet.rational import as_integer

__all__ = ["check_rows", "read_all", "verify"]


def verify(store: Store, terms: Terms, *, head: str | None, count: int | None) -> None:
    """Recompute every hash, sum and decision, and compare with an earlier head."""
    if head is not None and not isinstance(head, str):
        raise TypeError(f"head must be the hash that a statement prints, not {head!r}.")
    if count is not None:
        as_integer(count, "count", minimum=1)
    rows, stored = store.read(read_all)
    hashes = check_rows(terms, rows, stored)
    _anchor(hashes, head, count)
    check_anchor(store, hashes)


def read_all(connection: Connection) -> tuple[Sequence[Any], Sequence[Any]]:
    """All entries and all balances, from one state of the ledger."""
    return connection.execute(in_order).all(), connection.execute(select(balances)).all()


def check_rows(terms: Terms, rows: Sequence[Any], stored: Sequence[Any]) -> list[str]:
    """The hash of each entry, if entries and balances belong together and to the terms."""
    replay = _Replay(terms.filter)
    chain = follow(rows)
    for number, (data, _) in enumerate(chain):
        try:
            replay.take(number, data)
        except SURPRISES:
            raise LedgerCorrupt(f"Entry {number} lacks a part that every entry has.") from None
    if chain[0][0].get("terms") != terms.to_dict():
        raise LedgerCorrupt("What was agreed at opening isn't what this process opened.")
    _compare(replay, stored)
    return [hash_ for _, hash_ in chain]


class _Replay:
    """Run all charges once more through the same filter."""

    def __init__(self, filter_: Filter) -> None:
        self.filter = filter_
        #: By account: the entry that made it, its caps, its totals.
        self.accounts: dict[str, tuple[int, Amounts, Amounts]] = {}

    def take(self, number: int, data: dict[str, Any]) -> None:
        account, kind = data["account"], data["kind"]
        if (kind == "ledger") != (number == 0) or kind not in ("ledger", "account", "charge"):
            raise LedgerCorrupt(f"Entry {number} is of a kind that doesn't belong there.")
        if kind == "charge":
            self._charge(number, account, data)
        else:
            limit = data["terms"]["limit"] if kind == "ledger" else data["limit"]
            self._account(number, account, limit, data)

    def _account(self, number: int, account: str, limit: Any, data: dict[str, Any]) -> None:
        above = ancestors(account)[:-1] if account != ROOT else []
        if account in self.accounts or any(name not in self.accounts for name in above):
            raise LedgerCorrupt(f"Entry {number} makes an account that can't be made there.")
        caps = amounts_from_text(data["caps"])
        if caps.keys() != set(self.filter.names):
            raise LedgerCorrupt(f"Entry {number}: its caps aren't those of this filter.")
        measure_from_dict(limit)
        zero: Amounts = dict.fromkeys(self.filter.names, Fraction(0))
        self.accounts[account] = (number, caps, zero)
        if data["totals"] != {account: dict.fromkeys(self.filter.names, "0")}:
            raise LedgerCorrupt(f"Entry {number}: a new account starts at zero.")

    def _charge(self, number: int, account: str, data: dict[str, Any]) -> None:
        amounts = amounts_from_text(data["booked"])
        if any(amount < 0 for amount in amounts.values()):
            raise LedgerCorrupt(f"Entry {number} books less than nothing.")
        path = ancestors(account)
        if data["totals"].keys() != set(path):
            raise LedgerCorrupt(f"Entry {number} doesn't count against all accounts above it.")
        for name in path:
            made, caps, before = self.accounts[name]
            total = add_amounts(before, amounts)
            if amounts_from_text(data["totals"][name]) != total:
                raise LedgerCorrupt(f"Entry {number}: the total of account {name} is wrong.")
            if not self.filter.fits(total, caps):
                raise LedgerCorrupt(f"Entry {number} passes the limit of account {name}.")
            self.accounts[name] = (made, caps, total)


def _compare(replay: _Replay, stored: Any) -> None:
    found = {row.account: row for row in stored}
    if found.keys() != replay.accounts.keys():
        names = sorted(plain(str(name)) for name in found.keys() ^ replay.accounts.keys())
        shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        raise LedgerCorrupt(
            f"Accounts {shown} are in the entries or in the balances, but not in both: "
            "were the last entries cut off?"
        )
    for account, (made, caps, totals) in replay.accounts.items():
        row = found[account]
        try:
            same = (
                row.entry == made
                and amounts_from_text(json.loads(row.caps)) == caps
                and amounts_from_text(json.loads(row.totals)) == totals
            )
        except SURPRISES:
            same = False
        if not same:
            raise LedgerCorrupt(
                f"The balance of account {account} isn't what its entries add up to: it was "
                "changed, or the last entries were cut off."
            )


def _anchor(hashes: list[str], head: str | None, count: int | None) -> None:
    if count is not None and len(hashes) < count:
        raise LedgerCorrupt(
            f"This ledger has {len(hashes)} entries, but {count} were seen before: its tail was "
            "cut, or a backup was restored."
        )
    if head is None:
        return
    there = hashes[count - 1] == head if count is not None else head in hashes
    if not there:
        raise LedgerCorrupt(
            "The entry with this head hash isn't in the ledger: its tail was cut, a backup was "
            "restored, or this is another ledger."
        )
