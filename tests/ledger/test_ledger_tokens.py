"""Charges are found again by their token; ledgers made before tokens are brought up to date."""

from __future__ import annotations

import pickle
import sqlite3
from pathlib import Path

import pytest

from discreet.events import DiscreteLaplace
from discreet.ledger import (
    BudgetExceeded,
    Ledger,
    LedgerCorrupt,
    LedgerError,
    LedgerUnavailable,
    LedgerUnknown,
    migrations,
)
from discreet.measures import ApproxDP, PureDP

PAIR = ApproxDP(1, 1e-6)


def test_every_charge_has_a_token_of_its_own() -> None:
    ledger = Ledger(limit=PAIR)
    team = ledger.account("team", PureDP(0.5))
    charged = [book.charge(DiscreteLaplace(20)) for book in (ledger, team, ledger)]
    tokens = [entry.token for entry in charged]
    assert len(set(tokens)) == 3
    assert all(len(token) == 32 for token in tokens)
    for entry in charged:
        assert ledger.find(entry.token) == team.find(entry.token) == entry
    assert ledger.find("0" * 32) is None
    assert [entry.token for entry in ledger.entries()] == ["", "", *tokens]
    assert ledger.statement().to_dict()["entries"][2]["token"] == tokens[0]
    for bad in (None, 7, ""):
        with pytest.raises(TypeError, match="token"):
            ledger.find(bad)


def test_a_token_is_hashed_and_stored_once(url: str) -> None:
    ledger = Ledger(url, limit=PAIR)
    first, second = (ledger.charge(DiscreteLaplace(20)) for _ in range(2))
    with sqlite3.connect(url.removeprefix("sqlite:///")) as other:
        update = "UPDATE discreet_entries SET token = ? WHERE number = 2"
        with pytest.raises(sqlite3.IntegrityError):
            other.execute(update, (first.token,))
        other.execute(update, ("f" * 32,))
        other.commit()
    with pytest.raises(LedgerCorrupt, match="Entry 2 has another token"):
        ledger.verify()
    with sqlite3.connect(url.removeprefix("sqlite:///")) as other:
        other.execute(update, (None,))
    with pytest.raises(LedgerCorrupt, match="Entry 2 has another token"):
        ledger.verify()
    with sqlite3.connect(url.removeprefix("sqlite:///")) as other:
        other.execute(update, (second.token,))
    ledger.verify()


# -- ledgers of version 1 ----------------------------------------------------------------------


@pytest.fixture
def old(url: str) -> str:
    """A ledger that was written by version 1 of the code."""
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        connection.executescript((Path(__file__).parent / "version_1.sql").read_text())
    connection.close()
    return url


def test_a_ledger_of_version_1_goes_on(old: str) -> None:
    head = "9c4d9bee1e706502aae686e5f9df05e5dac5260b5a839e6bde696175144b6331"
    ledger = Ledger(old)
    assert ledger.head == (head, 6)
    ledger.verify(head, 6)
    assert ledger.limit == PAIR
    assert ledger.spent() == ApproxDP("0.45", "1e-7")
    assert ledger.account("team").spent() == ApproxDP("0.1", 0)
    assert {entry.token for entry in ledger.entries()} == {""}
    assert "survey of 2019" in str(ledger.statement())
    entry = ledger.account("team").charge(DiscreteLaplace(10))
    assert entry.previous == head
    assert ledger.find(entry.token) == entry
    with pytest.raises(BudgetExceeded):
        ledger.charge(DiscreteLaplace(2))
    Ledger(old).verify(head, 6)
    with ledger._store.reading() as connection:
        assert migrations.version_of(connection) == 2


def test_an_edit_in_an_old_entry_is_still_noticed(old: str) -> None:
    ledger = Ledger(old)
    ledger.charge(DiscreteLaplace(20))
    with sqlite3.connect(old.removeprefix("sqlite:///")) as other:
        other.execute("UPDATE discreet_entries SET body = replace(body, 'mean', 'Mean')")
    with pytest.raises(LedgerCorrupt, match="Entry 2 was changed"):
        ledger.verify()


def test_a_process_with_the_old_code_may_still_be_writing(old: str) -> None:
    """What it inserts has no token, which is what its entries say as well."""
    ledger = Ledger(old)
    from discreet.ledger import chain, journal

    def without(connection, last, previous, details):
        details.pop("token")
        data = {**details, "number": last + 1, "previous": previous, "time": chain.now()}
        body = chain.canonical({**data, "who": "bob@old"})
        connection.exec_driver_sql(
            "INSERT INTO discreet_entries (number, hash, body) VALUES (?, ?, ?)",
            (last + 1, chain.digest(body), body),
        )
        return {**data, "who": "bob@old"}, chain.digest(body)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "write_entry", without)
        ledger.charge(DiscreteLaplace(20))
    entry = ledger.charge(DiscreteLaplace(20))
    ledger.verify()
    *_, theirs, ours = ledger.entries()
    assert (theirs.who, theirs.token) == ("bob@old", "")
    assert ours == entry
    assert ours.token
    assert ledger.spent() == ApproxDP("0.55", "1e-7")


def test_a_new_file_and_a_migrated_one_have_the_same_tables(old: str) -> None:
    Ledger(old)
    fresh = old.replace("budget", "fresh")
    Ledger(fresh, limit=PAIR)
    found = []
    for place in (old, fresh):
        with sqlite3.connect(place.removeprefix("sqlite:///")) as connection:
            found.append(set(connection.execute("SELECT type, name FROM sqlite_master").fetchall()))
            names = connection.execute("SELECT name FROM pragma_table_info('discreet_entries')")
            assert [name for (name,) in names] == [
                column.name for column in migrations.entries.columns
            ]
    assert found[0] == found[1]


# -- a commit that fails, in a file ------------------------------------------------------------


def _failing_commit(ledger: Ledger, *, after: bool, error: BaseException):
    """Make the next commit fail, before or after it was done."""
    dialect = ledger._store.engine.dialect
    done, original = [], dialect.do_commit

    def commit(connection):
        if done:
            return original(connection)
        done.append(1)
        if after:
            original(connection)
        raise error

    dialect.do_commit = commit
    return done


FULL = sqlite3.OperationalError("database or disk is full")


def test_a_commit_that_failed_but_was_done_is_a_charge() -> None:
    ledger = Ledger(limit=PAIR)
    done = _failing_commit(ledger, after=True, error=FULL)
    entry = ledger.charge(DiscreteLaplace(10))
    assert done == [1]
    assert ledger.entries()[1:] == [entry]
    ledger.verify()


def test_a_commit_that_failed_is_no_charge() -> None:
    ledger = Ledger(limit=PAIR)
    _failing_commit(ledger, after=False, error=FULL)
    with pytest.raises(LedgerUnavailable, match=r"disk is full\. Nothing was") as caught:
        ledger.charge(DiscreteLaplace(10))
    assert caught.value.__context__ is None
    assert len(ledger.entries()) == 1
    ledger.charge(DiscreteLaplace(10))
    ledger.verify()


@pytest.mark.parametrize("after", [True, False])
def test_when_nobody_can_look_the_caller_is_told_how_to(after: bool) -> None:
    ledger = Ledger(limit=PAIR)
    _failing_commit(ledger, after=after, error=sqlite3.OperationalError("disk I/O error"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(ledger._store), "writing", _broken)
        with pytest.raises(LedgerUnknown) as caught:
            ledger.charge(DiscreteLaplace(10))
    error = caught.value
    assert isinstance(error, LedgerError)
    assert not isinstance(error, LedgerUnavailable)
    assert f"ledger.find('{error.token}')" in str(error)
    assert "Nothing may be read" in str(error)
    assert error.__context__ is None
    again = pickle.loads(pickle.dumps(error))
    assert (again.token, str(again)) == (error.token, str(error))
    found = ledger.find(error.token)
    assert (found is not None) == after
    assert len(ledger.entries()) == 1 + after


def _broken(store):
    raise sqlite3.OperationalError("disk I/O error")


def test_an_interrupt_at_the_commit_carries_the_token() -> None:
    ledger = Ledger(limit=PAIR)
    _failing_commit(ledger, after=True, error=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt) as caught:
        ledger.charge(DiscreteLaplace(10))
    entry = ledger.entries()[1]
    assert any(f"ledger.find('{entry.token}')" in note for note in caught.value.__notes__)
    ledger.verify()


def test_a_full_disk(url: str) -> None:
    ledger = Ledger(url, limit=PureDP(100))
    with ledger._store.reading() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages + 3}")
    booked = 0
    words = ""
    while not words:
        try:
            ledger.charge(DiscreteLaplace(100))
            booked += 1
        except LedgerUnavailable as error:
            words = str(error)
    assert "full. Nothing was charged" in words
    again = Ledger(url)
    assert 1 <= booked == again.head[1] - 1
    again.verify()
    again.charge(DiscreteLaplace(100))
