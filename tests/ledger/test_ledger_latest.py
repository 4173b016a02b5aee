"""The newest entries of a ledger, page by page, and the names of its accounts."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import discreet as dp
from discreet.events import DiscreteLaplace
from discreet.ledger import Ledger, LedgerCorrupt
from discreet.measures import PureDP


def charge(book, times: int, note: str = "") -> None:
    for _ in range(times):
        book.charge(DiscreteLaplace(100, 1), PureDP("0.01"), note=note)


def test_the_newest_entries_come_first_and_pages_join(url: str) -> None:
    ledger = Ledger(url, limit=PureDP(10))
    charge(ledger, 250)
    whole = list(reversed(ledger.entries()))
    assert ledger.latest(1000) == whole
    pages, before = [], None
    while page := ledger.latest(60, before=before):
        pages += page
        before = page[-1].number
    assert pages == whole
    assert ledger.latest(3, before=2) == whole[-2:]


def test_an_account_shows_its_own_entries_alone(url: str) -> None:
    ledger = Ledger(url, limit=PureDP(10))
    inner = ledger.account("research", PureDP(5)).account("2026", PureDP(2))
    charge(ledger, 120, "whole")
    charge(inner, 2, "inner")
    charge(ledger, 120, "whole")
    assert [entry.note for entry in inner.latest(5)] == ["inner", "inner", ""]
    assert ledger.account_names() == ["/research", "/research/2026"]
    assert Ledger(limit=PureDP(1)).account_names() == []


def test_bad_numbers_of_entries_are_refused() -> None:
    ledger = Ledger(limit=PureDP(1))
    with pytest.raises(ValueError, match="count"):
        ledger.latest(0)
    with pytest.raises(TypeError, match="before"):
        ledger.latest(1, before="x")  # type: ignore[arg-type]


def test_an_edited_entry_is_not_shown_as_if_nothing_had_happened(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}", limit=PureDP(1))
    charge(ledger, 1, "mean of cost")
    del ledger
    with sqlite3.connect(tmp_path / "budget.db") as connection:
        connection.execute("UPDATE discreet_entries SET body = replace(body, 'cost', 'care')")
    with pytest.raises(LedgerCorrupt):
        dp.Ledger(f"sqlite:///{tmp_path / 'budget.db'}", read_only=True).latest(5)
