"""Opening a ledger: an existing one as it was agreed; a new one, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, select

from discreet.ledger.amounts import Amounts, to_text
from discreet.ledger.building import build
from discreet.ledger.chain import FIRST, expect_whole, parse_entry
from discreet.ledger.errors import LedgerCorrupt, LedgerUnavailable
from discreet.ledger.journal import ROOT, add_balance, write_entry, zero_of
from discreet.ledger.migrations import check_version, entries, migrate, version_of
from discreet.ledger.store import Store, run
from discreet.ledger.template import empty_tables
from discreet.ledger.terms import Terms

__all__ = ["describe_terms", "open_terms"]

_first = select(entries.c.hash, entries.c.body).where(entries.c.number == 0)


def open_terms(store: Store, fresh: Callable[[], Terms] | None) -> tuple[Terms, bool]:
    """The terms of the ledger in `store`, and whether it was just made with the terms `fresh`."""
    built = False
    if not store.dialect.exists():
        terms = _require_fresh(store, fresh)()
        # nobody else knows the place, so nobody can meet half a ledger
        if store.dialect.is_private:
            store.dialect.claim(empty_tables())
            store.remember(0, store.write(lambda connection: _open_once(connection, terms)))
            return terms, True
        built = build(store.dialect, lambda connection: _open(connection, terms))
    version, agreed = store.read(lambda connection: _read_version(connection, store))
    if agreed is not None:
        return agreed, built
    if version == 0 and not store.dialect.accepts_empty:
        raise LedgerUnavailable(
            f"{store.url} exists, but it is not a ledger: it lacks a ledger's tables. An empty file, or a "
            "copy made while a ledger was in use, must not pass for a new ledger. Find the right file, "
            "or give a name that is free."
        )
    if store.dialect.read_only:
        raise LedgerUnavailable(
            f"The ledger {store.url} has "
            + ("no tables yet" if version == 0 else f"tables of the older version {version}")
            + ": its owner must open it once without read_only."
        )
    return _open_in_place(store, version, fresh)


def _open_in_place(
    store: Store, version: int, fresh: Callable[[], Terms] | None
) -> tuple[Terms, bool]:
    """Make the tables in an existing place, or bring older ones up to date."""
    # raises before anything is written
    terms = (
        _require_fresh(store, fresh)() if version == 0 else fresh() if fresh is not None else None
    )
    store.prepare()

    def act(connection: Connection) -> tuple[Terms, str]:
        migrate(connection)
        if run(connection, _first):
            return _terms(connection, store), ""
        if terms is None:
            raise LedgerCorrupt("The first entry of this ledger is missing.")
        return terms, _open(connection, terms)

    agreed, hash_ = store.write(act)
    if hash_:
        store.remember(0, hash_)
    return agreed, bool(hash_)


def _require_fresh(store: Store, fresh: Callable[[], Terms] | None) -> Callable[[], Terms]:
    if fresh is None:
        raise ValueError(
            f"limit must be given to start a new ledger, and there is none yet at {store.url}: "
            "for example limit=dp.ApproxDP(1, 1e-6)."
        )
    return fresh


def _read_version(connection: Connection, store: Store) -> tuple[int, Terms | None]:
    """The version of the tables, and the terms where they can be read as they are."""
    version = version_of(connection)
    readable = version and (check_version(version) or store.dialect.shows_old_tables)
    return version, _terms(connection, store) if readable else None


def _open_once(connection: Connection, terms: Terms) -> str:
    """The hash of entry 0, written unless it is there."""
    rows = run(connection, _first)
    return str(rows[0][0]) if rows else _open(connection, terms)


def _open(connection: Connection, terms: Terms) -> str:
    """Write entry 0 and the balance of the ledger itself; the hash of the entry."""
    caps, zero = terms.filter.caps(terms.limit), zero_of(terms.filter)
    _, hash_ = write_entry(connection, -1, FIRST, describe_terms(terms, caps))
    add_balance(connection, ROOT, 0, caps, zero)
    return hash_


def describe_terms(terms: Terms, caps: Amounts) -> dict[str, Any]:
    """What was agreed, as entry 0 tells it."""
    return {
        "kind": "ledger",
        "account": ROOT,
        "terms": terms.to_dict(),
        "caps": to_text(caps),
        "note": "",
        "totals": {ROOT: to_text(zero_of(terms.filter))},
    }


def _terms(connection: Connection, store: Store) -> Terms:
    rows = run(connection, _first)
    if not rows:
        raise LedgerCorrupt("The first entry of this ledger is missing.")
    hash_, body = rows[0]
    data = parse_entry(0, hash_, body)
    with expect_whole("Entry 0"):
        terms = Terms.from_dict(data["terms"])
    store.remember(0, hash_)
    return terms
