"""The three acts on a ledger's tables: open it, add an account, charge. Each is one transaction."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, bindparam, select

from discreet.events import Event
from discreet.ledger.amounts import Amounts, added, amounts_from_text, to_text
from discreet.ledger.chain import (
    FIRST,
    Entry,
    canonical,
    digest,
    entry_from_body,
    new_token,
    now,
    parsed,
    stored_token,
    who,
)
from discreet.ledger.errors import BudgetExceeded, LedgerCorrupt
from discreet.ledger.filters import Filter
from discreet.ledger.migrations import balances, check_version, entries, migrate, version_of
from discreet.ledger.store import Store, run
from discreet.ledger.terms import Terms
from discreet.measures import Measure

__all__ = [
    "ROOT",
    "all_entries",
    "ancestors",
    "balance",
    "charge",
    "create_account",
    "find",
    "find_account",
    "head",
    "is_inside",
    "opened",
]

#: The account of the ledger itself.
ROOT = "/"

_last = select(entries.c.number, entries.c.hash).order_by(entries.c.number.desc()).limit(1)
_first = select(entries.c.hash, entries.c.body).where(entries.c.number == 0)
_made = select(entries.c.number, entries.c.body).where(entries.c.number == bindparam("at"))
_by_token = select(entries.c.number, entries.c.hash, entries.c.body).where(
    entries.c.token == bindparam("sought")
)
_balance = select(balances.c.entry, balances.c.caps, balances.c.totals).where(
    balances.c.account == bindparam("of")
)
_append = entries.insert()
_add_balance = balances.insert()
_set_totals = (
    balances.update().where(balances.c.account == bindparam("of")).values(totals=bindparam("now"))
)


def ancestors(account: str) -> list[str]:
    """``/a/b`` → ``/``, ``/a``, ``/a/b``."""
    parts = [part for part in account.split("/") if part]
    return [ROOT, *("/" + "/".join(parts[: i + 1]) for i in range(len(parts)))]


def opened(store: Store, fresh: Callable[[], Terms] | None) -> tuple[Terms, bool]:
    """The terms of the ledger in `store`, and whether it was just made with the terms `fresh`."""
    version, agreed = store.read(_agreed) if store.dialect.exists() else (0, None)
    if agreed is not None:
        return agreed, False
    if version == 0 and fresh is None:
        raise ValueError(
            f"limit must be given to start a new ledger, and there is none yet at {store.url}: "
            "for example limit=dp.ApproxDP(1, 1e-6)."
        )
    terms = None if fresh is None else fresh()  # raises before anything is written
    store.prepare()

    def act(connection: Connection) -> tuple[Terms, bool]:
        migrate(connection)
        if run(connection, _first):
            return _terms(connection), False
        if terms is None:
            raise LedgerCorrupt("The first entry of this ledger is missing.")
        _open(connection, terms)
        return terms, True

    return store.write(act)


def _agreed(connection: Connection) -> tuple[int, Terms | None]:
    """The version of the tables, and the terms where that is the newest."""
    version = version_of(connection)
    return version, _terms(connection) if version and check_version(version) else None


def _open(connection: Connection, terms: Terms) -> None:
    caps = terms.filter.caps(terms.limit)
    zero = _zero(terms.filter)
    details = {"kind": "ledger", "account": ROOT, "terms": terms.to_dict(), "caps": to_text(caps)}
    _write(connection, -1, FIRST, {**details, "note": "", "totals": {ROOT: to_text(zero)}})
    _new_balance(connection, ROOT, 0, caps, zero)


def _terms(connection: Connection) -> Terms:
    rows = run(connection, _first)
    if not rows:
        raise LedgerCorrupt("The first entry of this ledger is missing.")
    hash_, body = rows[0]
    if digest(body) != hash_:
        raise LedgerCorrupt("Entry 0 was changed: its hash is another.")
    return Terms.from_dict(parsed(0, body)["terms"])


def _zero(filter_: Filter) -> Amounts:
    return dict.fromkeys(filter_.names, Fraction(0))


def _new_balance(
    connection: Connection, account: str, number: int, caps: Amounts, totals: Amounts
) -> None:
    row = {
        "account": account,
        "entry": number,
        "caps": canonical(to_text(caps)),
        "totals": canonical(to_text(totals)),
    }
    run(connection, _add_balance, **row)


def _write(
    connection: Connection, last: int, previous: str, details: dict[str, Any]
) -> tuple[dict[str, Any], str]:
    number = last + 1
    data = {**details, "number": number, "previous": previous, "time": now(), "who": who()}
    body = canonical(data)
    hash_ = digest(body)
    run(connection, _append, number=number, hash=hash_, body=body, token=details.get("token"))
    return data, hash_


def _balances(connection: Connection, accounts: list[str]) -> dict[str, tuple[Amounts, Amounts]]:
    """Caps and totals of each account."""
    found = {}
    for account in accounts:
        rows = run(connection, _balance, of=account)
        if not rows:
            raise LedgerCorrupt(f"The balance of account {account} is missing.")
        _, caps, totals = rows[0]
        found[account] = amounts_from_text(json.loads(caps)), amounts_from_text(json.loads(totals))
    return found


def head(store: Store) -> tuple[str, int]:
    """The hash of the last entry, and how many entries there are."""
    number, hash_ = store.read(_head)
    return hash_, number + 1


def _head(connection: Connection) -> tuple[int, str]:
    rows = run(connection, _last)
    if not rows:
        raise LedgerCorrupt("The entries of this ledger are missing.")
    number, hash_ = rows[0]
    return number, hash_


def balance(store: Store, account: str) -> tuple[Amounts, Amounts]:
    """Caps and totals of an account."""
    return store.read(lambda connection: _balances(connection, [account]))[account]


def find_account(store: Store, account: str) -> dict[str, Any] | None:
    """The data of the entry that made an account."""

    def act(connection: Connection) -> tuple[Any, Any]:
        found = run(connection, _balance, of=account)
        return found, found and run(connection, _made, at=found[0][0])

    found, rows = store.read(act)
    if not found:
        return None
    data = parsed(*rows[0]) if rows else {}
    if data.get("kind") != "account" or data.get("account") != account:
        raise LedgerCorrupt(f"The entry that made account {account} is missing.")
    return data


def create_account(store: Store, filter_: Filter, account: str, limit: Measure) -> None:
    """Enter a new account; does nothing if it is there already."""
    caps, zero = filter_.caps(limit), _zero(filter_)

    def act(connection: Connection) -> None:
        if run(connection, _balance, of=account):
            return
        last, previous = _head(connection)
        details = {
            "kind": "account",
            "account": account,
            "limit": limit.to_dict(),
            "caps": to_text(caps),
            "totals": {account: to_text(zero)},
            "note": "",
        }
        _write(connection, last, previous, details)
        _new_balance(connection, account, last + 1, caps, zero)

    store.write(act)


def charge(
    store: Store,
    filter_: Filter,
    account: str,
    event: Event,
    amounts: Amounts,
    note: str,
    own_token: str | None = None,
) -> Entry:
    """Book `amounts` on an account and all above it, if they fit; on the disk when it returns.

    A charge with an `own_token` that was booked before is not booked again: its entry is returned.
    """
    accounts = ancestors(account)
    booked, described = to_text(amounts), event.to_dict()
    token = new_token() if own_token is None else stored_token(own_token)

    def act(connection: Connection) -> Entry:
        known = None if own_token is None else _by(connection, filter_, token)
        if known is not None:
            return known
        last, previous = _head(connection)
        totals: dict[str, Amounts] = {}
        found = _balances(connection, accounts)
        for name in accounts:
            caps, before = found[name]
            totals[name] = added(before, amounts)
            if not filter_.fits(totals[name], caps):
                raise _refusal(filter_, amounts, before, caps, name)
        texts = {name: to_text(total) for name, total in totals.items()}
        details = {
            "kind": "charge",
            "account": account,
            "event": described,
            "booked": booked,
            "totals": texts,
            "note": note,
            "token": token,
        }
        data, hash_ = _write(connection, last, previous, details)
        for name, text in texts.items():
            run(connection, _set_totals, of=name, now=canonical(text))
        return Entry(
            number=data["number"],
            kind="charge",
            time=data["time"],
            who=data["who"],
            account=account,
            event=event,
            booked=filter_.measure(amounts),
            delta=Fraction(filter_.reserve_of(amounts)),
            note=note,
            hash=hash_,
            previous=previous,
            token=token,
        )

    return store.write(act, token=token, find=lambda connection: _by(connection, filter_, token))


def find(store: Store, filter_: Filter, token: str) -> Entry | None:
    """The charge with a token, or None if there is none and no transaction that could add it."""
    return store.write(lambda connection: _by(connection, filter_, stored_token(token)))


def _by(connection: Connection, filter_: Filter, token: str) -> Entry | None:
    for number, hash_, body in run(connection, _by_token, sought=token):
        return entry_from_body(filter_, parsed(number, body), hash_)
    return None


def _refusal(
    filter_: Filter, asked: Amounts, before: Amounts, caps: Amounts, account: str
) -> BudgetExceeded:
    reserve, pot = filter_.reserve_of(asked), filter_.reserve_of(caps)
    words = ""
    if reserve or pot:
        left = float(pot - filter_.reserve_of(before))
        words = f"and asks for δ = {float(reserve):.3g} of the {left:.3g} left in the reserve"
    return BudgetExceeded(filter_.measure(asked), filter_.left(before, caps), account, words)


def all_entries(store: Store, filter_: Filter, account: str) -> list[Entry]:
    """The entries of an account and those inside it, in order."""
    statement = select(entries.c.number, entries.c.hash, entries.c.body).order_by(entries.c.number)
    rows = store.read(lambda connection: connection.execute(statement).all())
    found = (entry_from_body(filter_, parsed(row.number, row.body), row.hash) for row in rows)
    return [entry for entry in found if is_inside(entry.account, account)]


def is_inside(inner: str, outer: str) -> bool:
    """Whether an account is another one or a part of it."""
    return inner == outer or inner.startswith(outer.rstrip("/") + "/")
