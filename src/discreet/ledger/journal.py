"""The acts on a ledger's tables: add an account, charge, look. Each is one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from sqlalchemy import Connection, bindparam, select

from discreet.events import Event
from discreet.ledger.amounts import Amounts, add_amounts, amounts_from_text, to_text
from discreet.ledger.chain import (
    Entry,
    canonical,
    digest,
    entry_from_body,
    expect_whole,
    follow,
    new_token,
    now,
    parse_entry,
    store_token,
    who,
)
from discreet.ledger.errors import BudgetExceeded, LedgerCorrupt
from discreet.ledger.filters import Filter
from discreet.ledger.migrations import balances, entries
from discreet.ledger.store import Store, run
from discreet.measures import Measure, measure_from_dict

__all__ = [
    "ROOT",
    "add_balance",
    "all_entries",
    "ancestors",
    "balance",
    "balance_from_row",
    "charge",
    "charged_entry",
    "check_anchor",
    "create_account",
    "describe_charge",
    "entries_from_rows",
    "find",
    "find_account",
    "head",
    "in_order",
    "is_inside",
    "iter_latest",
    "list_accounts",
    "make_entry",
    "refusal",
    "write_entry",
    "zero_of",
]

#: The account of the ledger itself.
ROOT = "/"

_last = select(entries.c.number, entries.c.hash).order_by(entries.c.number.desc()).limit(1)
_seen = select(entries.c.number, entries.c.hash).where(entries.c.number == bindparam("at"))
_made = select(entries.c.number, entries.c.hash, entries.c.body).where(
    entries.c.number == bindparam("at")
)
_by_token = select(entries.c.number, entries.c.hash, entries.c.body).where(
    entries.c.token == bindparam("sought")
)
_balance = select(balances.c.entry, balances.c.caps, balances.c.totals).where(
    balances.c.account == bindparam("of")
)
#: Bodies are canonical JSON, so that the entries which made accounts are found by a part of the text.
_accounts = (
    select(entries.c.number, entries.c.hash, entries.c.body)
    .where(entries.c.body.contains('"kind":"account"'))
    .order_by(entries.c.number)
)
_part = (
    select(entries.c.number, entries.c.hash, entries.c.body)
    .where(entries.c.number < bindparam("end"))
    .order_by(entries.c.number.desc())
    .limit(100)
)
#: All that `follow` needs.
in_order = select(entries).order_by(entries.c.number)
_append = entries.insert()
_add_balance = balances.insert()
_set_totals = (
    balances.update().where(balances.c.account == bindparam("of")).values(totals=bindparam("now"))
)


def ancestors(account: str) -> list[str]:
    """``/a/b`` → ``/``, ``/a``, ``/a/b``."""
    parts = [part for part in account.split("/") if part]
    return [ROOT, *("/" + "/".join(parts[: i + 1]) for i in range(len(parts)))]


def zero_of(filter_: Filter) -> Amounts:
    """What a new account has spent."""
    return dict.fromkeys(filter_.names, Fraction(0))


def add_balance(
    connection: Connection, account: str, number: int, caps: Amounts, totals: Amounts
) -> None:
    """Add the balance of an account that entry `number` makes."""
    row = {
        "account": account,
        "entry": number,
        "caps": canonical(to_text(caps)),
        "totals": canonical(to_text(totals)),
    }
    run(connection, _add_balance, **row)


def write_entry(
    connection: Connection, last: int, previous: str, details: dict[str, Any]
) -> tuple[dict[str, Any], str]:
    """Append an entry after the one with the number `last`; return its data and hash."""
    data, body, hash_ = make_entry(last, previous, details)
    number = data["number"]
    run(connection, _append, number=number, hash=hash_, body=body, token=details.get("token"))
    return data, hash_


def make_entry(
    last: int, previous: str, details: dict[str, Any]
) -> tuple[dict[str, Any], str, str]:
    """The data, body and hash of the entry after the one with the number `last`."""
    data = {**details, "number": last + 1, "previous": previous, "time": now(), "who": who()}
    body = canonical(data)
    return data, body, digest(body)


def balance_from_row(
    filter_: Filter, account: str, caps: Any, totals: Any
) -> tuple[Amounts, Amounts]:
    """Caps and totals as they are stored, if charges can have left them like that."""
    with expect_whole(f"The balance of account {account}"):
        bounds, sums = amounts_from_text(json.loads(caps)), amounts_from_text(json.loads(totals))
        names = set(filter_.names)
        if bounds.keys() != names or sums.keys() != names:
            raise ValueError
        # a minus sign in the text is quicker to find than a fraction to compare
        if "-" in caps or "-" in totals or any(type(bound) is float for bound in bounds.values()):
            raise ValueError
    return bounds, sums


def _balances(
    connection: Connection, filter_: Filter, accounts: list[str]
) -> dict[str, tuple[Amounts, Amounts]]:
    """Caps and totals of each account."""
    found = {}
    for account in accounts:
        rows = run(connection, _balance, of=account)
        if not rows:
            raise LedgerCorrupt(f"The balance of account {account} is missing.")
        found[account] = balance_from_row(filter_, account, *rows[0][1:])
    return found


def head(store: Store) -> tuple[str, int]:
    """The hash of the last entry, and how many entries there are."""
    number, hash_ = store.read(lambda connection: _head(connection, store))
    store.remember(number, hash_)
    return hash_, number + 1


def _head(connection: Connection, store: Store) -> tuple[int, str]:
    """Number and hash of the last entry, in a ledger that has not forgotten what it said before."""
    anchor = store.anchor
    rows = run(connection, _last)
    if not rows:
        raise LedgerCorrupt("The entries of this ledger are missing.")
    number, hash_ = rows[0]
    if not isinstance(number, int) or number < 0 or not isinstance(hash_, str):
        raise LedgerCorrupt("The last entry of this ledger can't be read: it was changed.")
    if anchor is not None:
        found = rows if number <= anchor[0] else run(connection, _seen, at=anchor[0])
        if [tuple(row) for row in found] != [anchor]:
            raise _find_forgotten(store, anchor)
    return number, hash_


def check_anchor(store: Store, hashes: list[str]) -> None:
    """Compare all entries with the newest one that this process saw."""
    anchor = store.anchor
    if anchor is not None and hashes[anchor[0] : anchor[0] + 1] != [anchor[1]]:
        raise _find_forgotten(store, anchor)
    store.remember(len(hashes) - 1, hashes[-1])


def _find_forgotten(store: Store, anchor: tuple[int, str]) -> LedgerCorrupt:
    return LedgerCorrupt(
        f"Entry {anchor[0]}, which this process saw, isn't in the ledger {store.url} any more: a backup "
        "was restored, or another ledger took its place. Nothing was charged, so nothing may be read. "
        "Put the right ledger back, or open this one again and enter with ledger.external(...) what it "
        "has forgotten."
    )


def balance(store: Store, filter_: Filter, account: str) -> tuple[Amounts, Amounts]:
    """Caps and totals of an account."""
    return store.read(lambda connection: _balances(connection, filter_, [account]))[account]


def find_account(store: Store, account: str) -> Measure | None:
    """The limit of an account; None if there is no such account."""
    return store.read(lambda connection: _limit_of(connection, account))


def _limit_of(connection: Connection, account: str) -> Measure | None:
    found = run(connection, _balance, of=account)
    if not found:
        _check_never_made(connection, account)
        return None
    rows = run(connection, _made, at=found[0][0])
    data = parse_entry(*rows[0]) if rows else {}
    if data.get("kind") != "account" or data.get("account") != account:
        raise LedgerCorrupt(f"The entry that made account {account} is missing.")
    with expect_whole(f"Entry {data['number']}"):
        return measure_from_dict(data["limit"])


def _check_never_made(connection: Connection, account: str) -> None:
    """An account that was made and has no balance was damaged: made again it would start at zero."""
    for number, hash_, body in run(connection, _accounts):
        if parse_entry(number, hash_, body).get("account") == account:
            raise LedgerCorrupt(f"The balance of account {account} is missing.")


def create_account(store: Store, filter_: Filter, account: str, limit: Measure) -> None:
    """Enter a new account; do nothing if it exists already."""
    caps, zero = filter_.caps(limit), zero_of(filter_)

    def act(connection: Connection) -> None:
        if _limit_of(connection, account) is not None:
            return
        last, previous = _head(connection, store)
        details = {
            "kind": "account",
            "account": account,
            "limit": limit.to_dict(),
            "caps": to_text(caps),
            "totals": {account: to_text(zero)},
            "note": "",
        }
        write_entry(connection, last, previous, details)
        add_balance(connection, account, last + 1, caps, zero)

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
    token = new_token() if own_token is None else store_token(own_token)
    details = describe_charge(account, event, amounts, note, token)

    def act(connection: Connection) -> Entry:
        known = None if own_token is None else _by(connection, filter_, token)
        if known is not None:
            return known
        last, previous = _head(connection, store)
        totals: dict[str, Amounts] = {}
        found = _balances(connection, filter_, accounts)
        for name in accounts:
            caps, before = found[name]
            totals[name] = add_amounts(before, amounts)
            if not filter_.fits(totals[name], caps):
                raise refusal(filter_, amounts, before, caps, name)
        texts = {name: to_text(total) for name, total in totals.items()}
        data, hash_ = write_entry(connection, last, previous, {**details, "totals": texts})
        for name, text in texts.items():
            run(connection, _set_totals, of=name, now=canonical(text))
        return charged_entry(filter_, {**details, **data}, hash_, event, amounts)

    entry = store.write(act, token=token, find=lambda connection: _by(connection, filter_, token))
    store.remember(entry.number, entry.hash)
    return entry


def describe_charge(
    account: str, event: Event, amounts: Amounts, note: str, token: str
) -> dict[str, Any]:
    """A charge as its entry tells it, but for the totals after it."""
    return {
        "kind": "charge",
        "account": account,
        "event": event.to_dict(),
        "booked": to_text(amounts),
        "note": note,
        "token": token,
    }


def charged_entry(
    filter_: Filter, data: dict[str, Any], hash_: str, event: Event, amounts: Amounts
) -> Entry:
    """The entry of a charge that was just written."""
    return Entry(
        number=data["number"],
        kind="charge",
        time=data["time"],
        who=data["who"],
        account=data["account"],
        event=event,
        booked=filter_.measure(amounts),
        delta=Fraction(filter_.reserve_of(amounts)),
        note=data["note"],
        hash=hash_,
        previous=data["previous"],
        token=data["token"],
    )


def find(store: Store, filter_: Filter, token: str) -> Entry | None:
    """The charge with a token, or None if there is none and no transaction that could add it."""
    return store.write(lambda connection: _by(connection, filter_, store_token(token)))


def _by(connection: Connection, filter_: Filter, token: str) -> Entry | None:
    for number, hash_, body in run(connection, _by_token, sought=token):
        return entry_from_body(filter_, parse_entry(number, hash_, body), hash_)
    return None


def refusal(
    filter_: Filter, asked: Amounts, before: Amounts, caps: Amounts, account: str
) -> BudgetExceeded:
    """What is raised for a charge that doesn't fit."""
    reserve, pot = filter_.reserve_of(asked), filter_.reserve_of(caps)
    words = ""
    if reserve or pot:
        left = float(pot - filter_.reserve_of(before))
        words = f"and asks for δ = {float(reserve):.3g} of the {left:.3g} left in the reserve"
    # totals beyond the caps leave less than 0
    with expect_whole(f"The balance of account {account}"):
        return BudgetExceeded(filter_.measure(asked), filter_.left(before, caps), account, words)


def all_entries(store: Store, filter_: Filter, account: str) -> list[Entry]:
    """The entries of an account and those inside it, in order."""
    rows = store.read(lambda connection: connection.execute(in_order).all())
    return entries_from_rows(store, filter_, account, rows)


def iter_latest(store: Store, filter_: Filter, account: str, before: int) -> Iterator[Entry]:
    """The entries of an account and those inside it below a number, the newest first, read in parts."""
    while before > 0:
        rows = store.read(partial(run, statement=_part, end=before))
        if not rows:
            return
        for number, hash_, body in rows:
            entry = entry_from_body(filter_, parse_entry(number, hash_, body), hash_)
            if is_inside(entry.account, account):
                yield entry
        before = rows[-1][0]


def list_accounts(store: Store) -> list[str]:
    """The paths of all accounts that were made, in order; the ledger itself is not among them."""
    rows = store.read(lambda connection: connection.execute(_accounts).all())
    found = [parse_entry(number, hash_, body) for number, hash_, body in rows]
    return [str(data["account"]) for data in found if data.get("kind") == "account"]


def entries_from_rows(
    store: Store, filter_: Filter, account: str, rows: Sequence[Any]
) -> list[Entry]:
    """The entries of an account in all rows of a ledger, each checked against the one before it."""
    chain = follow(rows)
    check_anchor(store, [hash_ for _, hash_ in chain])
    found = [entry_from_body(filter_, data, hash_) for data, hash_ in chain]
    return [entry for entry in found if is_inside(entry.account, account)]


def is_inside(inner: str, outer: str) -> bool:
    """Whether an account is another one or a part of it."""
    return inner == outer or inner.startswith(outer.rstrip("/") + "/")
