"""Opening, reopening, migrating, and refusing in one sentence."""

from __future__ import annotations

import gc
import os
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from ledger_files import path_of
from sqlalchemy import Connection, text

from discreet.events import DiscreteLaplace
from discreet.ledger import (
    Ledger,
    LedgerCorrupt,
    LedgerError,
    LedgerUnavailable,
    building,
    migrations,
    store,
)
from discreet.ledger.dialects import dialect_for
from discreet.measures import ZCDP, ApproxDP, GaussianDP, PureDP, Renyi
from discreet.unit import ADD_REMOVE, PUBLIC, REPLACE_ONE, Unit

PAIR = ApproxDP(1, 1e-6)


def test_opening_again_needs_only_the_url(url: str) -> None:
    unit = Unit(REPLACE_ONE, id_column="person", max_rows=3)
    first = Ledger(
        url,
        limit=PAIR,
        unit=unit,
        composition="renyi",
        accept_assumed=True,
        delta_reserve=1e-7,
    )
    first.charge(DiscreteLaplace(100))
    again = Ledger(url)
    assert again.limit == PAIR
    assert again.unit == unit
    assert again.composition == "renyi"
    assert again.head == first.head
    assert again.head[1] == 2
    assert again.remaining() == first.remaining()
    assert again.entries() == first.entries()
    Ledger(url, limit=PAIR, unit=unit, composition="renyi", accept_assumed=True, delta_reserve=1e-7)
    Ledger(url, limit=PAIR, delta_reserve=1e-7)
    with pytest.raises(TypeError, match="limit"):
        Ledger(url, limit=1.0)


def test_defaults(url: str) -> None:
    assert Ledger(limit=PAIR).composition == "basic"
    assert Ledger(limit=PureDP(1)).composition == "pure"
    assert Ledger(limit=ZCDP(1)).composition == "zcdp"
    assert Ledger(limit=PAIR).unit == Unit(ADD_REMOVE)
    assert Ledger(limit=PAIR, unit=REPLACE_ONE).unit == Unit(REPLACE_ONE)


@pytest.mark.parametrize(
    "other",
    [
        {"limit": ApproxDP(2, 1e-6)},
        {"limit": PureDP(1)},
        {"unit": REPLACE_ONE},
        {"unit": Unit(ADD_REMOVE, "person", 2)},
        {"composition": "zcdp"},
        {"accept_assumed": True},
        {"delta_reserve": 1e-7},
    ],
)
def test_nothing_agreed_changes(url: str, other: dict[str, object]) -> None:
    Ledger(url, limit=PAIR)
    name = next(iter(other))
    with pytest.raises(ValueError, match=rf"{name} is .*never\s+raised in place"):
        Ledger(url, **other)
    assert len(Ledger(url).entries()) == 1


def test_a_relative_path_is_made_absolute(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger("sqlite:///budget.db", limit=PAIR)
    assert ledger.url == f"sqlite:///{tmp_path}/budget.db"
    monkeypatch.chdir("/")
    ledger.charge(DiscreteLaplace(10))
    assert len(Ledger(ledger.url).entries()) == 2


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({}, ValueError, "limit must be given"),
        ({"limit": 1.0}, TypeError, "limit must be dp.PureDP"),
        ({"limit": Renyi({2: 1})}, TypeError, "limit must be dp.PureDP"),
        ({"limit": GaussianDP(Fraction(1))}, TypeError, "limit must be dp.PureDP"),
        ({"limit": PureDP(float("inf"))}, ValueError, "limit must be finite"),
        ({"limit": ApproxDP(1, 1)}, ValueError, "limit: delta"),
        ({"limit": PAIR, "unit": "person"}, TypeError, "unit"),
        ({"limit": PAIR, "unit": PUBLIC}, ValueError, "unit is dp.PUBLIC"),
        ({"limit": PAIR, "composition": "hopeful"}, ValueError, "composition"),
        ({"limit": PAIR, "composition": "pure"}, ValueError, "limit must be dp.PureDP"),
        ({"limit": PureDP(1), "composition": "basic"}, ValueError, "limit must be dp.ApproxDP"),
        ({"limit": ZCDP(1), "composition": "basic"}, ValueError, "limit must be dp.ApproxDP"),
        ({"limit": ZCDP(1), "composition": "renyi"}, ValueError, "limit must be dp.ApproxDP"),
        ({"limit": ApproxDP(1, 0), "composition": "renyi"}, ValueError, "limit .*delta > 0"),
        ({"limit": ApproxDP(1, 0), "composition": "zcdp"}, ValueError, "limit .*delta > 0"),
        ({"limit": PureDP(1), "composition": "zcdp"}, ValueError, "limit must be dp.ZCDP"),
        ({"limit": PAIR, "accept_assumed": "yes"}, TypeError, "accept_assumed"),
        ({"limit": PAIR, "delta_reserve": 1e-7}, ValueError, "delta_reserve is for"),
        (
            {"limit": PAIR, "delta_reserve": 1e-6, "composition": "zcdp"},
            ValueError,
            "delta_reserve must be below",
        ),
        ({"limit": ZCDP(1), "delta_reserve": 1}, ValueError, "delta_reserve must be below 1"),
        ({"limit": ZCDP(1), "delta_reserve": -1}, ValueError, "delta_reserve"),
    ],
)
def test_bad_arguments_are_named_and_leave_nothing(url, arguments, error, words) -> None:
    with pytest.raises(error, match=words):
        Ledger(url, **arguments)
    assert not path_of(url).exists()
    with pytest.raises(error, match=words):
        Ledger(**arguments)


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (7, TypeError),
        ("budget.db", ValueError),
        ("sqlite://", ValueError),
        ("sqlite:///:memory:", ValueError),
        ("sqlite:///a.db?mode=ro", ValueError),
        ("postgresql://localhost", ValueError),
        ("postgresql+psycopg2://localhost/budget", ValueError),
        ("mysql://localhost/budget", ValueError),
    ],
)
def test_bad_urls_are_named(bad, error) -> None:
    with pytest.raises(error, match="url must"):
        Ledger(bad, limit=PAIR)


def test_notes_and_names_are_checked() -> None:
    ledger = Ledger(limit=PAIR)
    with pytest.raises(TypeError, match="note"):
        ledger.charge(DiscreteLaplace(1), note=7)
    with pytest.raises(ValueError, match="note"):
        ledger.external(PureDP(0.1), " ")
    with pytest.raises(TypeError, match="head"):
        ledger.verify(head=7)
    with pytest.raises(ValueError, match="count"):
        ledger.verify(count=0)


# -- places where no ledger can be -------------------------------------------------------------


def _sentence(error: pytest.ExceptionInfo[LedgerError]) -> str:
    assert error.value.__cause__ is None
    assert error.value.__context__ is None
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable) as error:
        Ledger(f"sqlite:///{tmp_path}", limit=PAIR)
    assert "this is a directory" in _sentence(error)


def test_a_directory_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable) as error:
        Ledger(f"sqlite:///{tmp_path}/no/budget.db", limit=PAIR)
    assert "doesn't exist" in _sentence(error)
    assert not (tmp_path / "no").exists()


def test_a_file_that_is_not_sqlite(url: str) -> None:
    path_of(url).write_bytes(b"name,age\n" * 1000)
    for limit in (PAIR, None):
        with pytest.raises(LedgerUnavailable) as error:
            Ledger(url, limit=limit)
        assert "not a database" in _sentence(error)
    assert path_of(url).read_bytes() == b"name,age\n" * 1000


def test_somebody_elses_database(url: str) -> None:
    other = sqlite3.connect(path_of(url))
    other.execute("CREATE TABLE orders (id INTEGER)")
    other.commit()
    with pytest.raises(LedgerUnavailable) as error:
        Ledger(url, limit=PAIR)
    assert "belongs to something else" in _sentence(error)
    assert other.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("orders",)]
    other.close()


def test_a_file_that_cannot_be_written(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Ledger(url, limit=PAIR)
    allowed = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: Path(path) != path_of(url) and allowed(path, mode)
    )
    with pytest.raises(LedgerUnavailable) as error:
        Ledger(url)
    assert "can't be both read and written" in _sentence(error)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(LedgerUnavailable) as error:
        Ledger(url)
    assert "can't be written" in _sentence(error)


def test_a_database_that_turns_read_only(url: str) -> None:
    ledger = Ledger(url, limit=PAIR)
    with ledger._store.reading() as connection:
        connection.exec_driver_sql("PRAGMA query_only=ON")
    with pytest.raises(LedgerUnavailable) as error:
        ledger.charge(DiscreteLaplace(10))
    assert "readonly" in _sentence(error)
    assert "Nothing was charged, so nothing may be read." in str(error.value)
    assert len(Ledger(url).entries()) == 1


def test_a_crash_while_creating_leaves_no_half_ledger(url: str, monkeypatch) -> None:
    def broken(connection: Connection) -> None:
        migrations._first(connection)
        raise KeyboardInterrupt

    monkeypatch.setattr(migrations, "STEPS", (broken,))
    with pytest.raises(KeyboardInterrupt):
        Ledger(url, limit=PAIR)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="limit must be given"):
        Ledger(url)
    Ledger(url, limit=PAIR).charge(DiscreteLaplace(10))
    Ledger(url).verify()


def test_a_ledger_without_first_entry(url: str) -> None:
    Ledger(url, limit=PAIR)
    other = sqlite3.connect(path_of(url))
    other.execute("DELETE FROM discreet_entries")
    other.commit()
    other.close()
    with pytest.raises(LedgerCorrupt, match="first entry"):
        Ledger(url)


# -- the file ----------------------------------------------------------------------------------


def test_the_file_is_durable_and_logged_ahead(url: str) -> None:
    ledger = Ledger(url, limit=PAIR)
    with ledger._store.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() >= 60_000


def test_writers_take_the_lock_when_they_begin(url: str) -> None:
    ledger = Ledger(url, limit=PAIR)
    other = sqlite3.connect(path_of(url), timeout=0, isolation_level=None)
    with ledger._store.writing(), pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("BEGIN IMMEDIATE")
    with ledger._store.reading():
        other.execute("BEGIN IMMEDIATE")
    other.close()


def test_statements_are_compiled_once_for_all_ledgers() -> None:
    Ledger(limit=PAIR).charge(DiscreteLaplace(10))
    before = set(store._compiled)
    for _ in range(3):
        Ledger(limit=PAIR).charge(DiscreteLaplace(10))
    assert set(store._compiled) == before


# -- migrations --------------------------------------------------------------------------------


def test_older_tables_are_migrated_when_opened(url: str, monkeypatch) -> None:
    old = Ledger(url, limit=PAIR)
    old.charge(DiscreteLaplace(10))
    steps = []

    def third(connection: Connection) -> None:
        steps.append(3)
        connection.execute(text("ALTER TABLE discreet_balances ADD COLUMN colour TEXT"))

    def fourth(connection: Connection) -> None:
        steps.append(4)
        connection.execute(text("UPDATE discreet_balances SET colour = 'green'"))

    monkeypatch.setattr(migrations, "STEPS", (*migrations.STEPS, third, fourth))
    new = Ledger(url)
    assert steps == [3, 4]
    assert new.remaining() == old.remaining()
    new.charge(DiscreteLaplace(10))
    new.verify()
    with new._store.reading() as connection:
        assert migrations.version_of(connection) == 4
        assert (
            connection.exec_driver_sql("SELECT colour FROM discreet_balances").scalar() == "green"
        )
    Ledger(url)
    assert steps == [3, 4]
    # a new file takes all steps at once
    Ledger(url.replace("budget", "fresh"), limit=PAIR).charge(DiscreteLaplace(10))
    assert steps == [3, 4, 3, 4]
    # and this toolkit refuses what a newer one wrote
    monkeypatch.undo()
    with pytest.raises(LedgerUnavailable, match="version 4 and this toolkit reads up to 2"):
        Ledger(url)


def test_a_migration_that_fails_changes_nothing(url: str, monkeypatch) -> None:
    Ledger(url, limit=PAIR)

    def broken(connection: Connection) -> None:
        connection.execute(text("ALTER TABLE discreet_balances ADD COLUMN colour TEXT"))
        raise RuntimeError("no")

    monkeypatch.setattr(migrations, "STEPS", (*migrations.STEPS, broken))
    with pytest.raises(RuntimeError, match="no"):
        Ledger(url)
    monkeypatch.undo()
    ledger = Ledger(url)
    with ledger._store.reading() as connection:
        assert migrations.version_of(connection) == 2
        columns = connection.exec_driver_sql("PRAGMA table_info(discreet_balances)").all()
    assert "colour" not in [column[1] for column in columns]


def _half_read(connection: Connection) -> sqlite3.Cursor:
    """A cursor in the middle of its rows, which keeps its connection open."""
    raw = connection.connection.driver_connection
    assert raw is not None
    cursor: sqlite3.Cursor = raw.execute("SELECT 1 UNION SELECT 2")
    cursor.fetchone()
    return cursor


def test_a_new_ledger_is_whole_though_garbage_holds_its_connection(url: str) -> None:
    """SQLite closes a connection when its last statement goes, not when it is told to."""

    def fill(connection: Connection) -> None:
        garbage: list[object] = [_half_read(connection)]
        garbage.append(garbage)

    gc.collect()
    gc.disable()
    try:
        assert building.build(dialect_for(url), fill)
    finally:
        gc.enable()
    assert [path.name for path in path_of(url).parent.iterdir()] == ["budget.db"]
    with closing(sqlite3.connect(path_of(url))) as found:
        assert found.execute("SELECT count(*) FROM discreet_entries").fetchone() == (0,)


def test_a_new_ledger_that_somebody_still_reads_gets_no_name(url: str) -> None:
    held = []
    with pytest.raises(LedgerUnavailable, match="still reads the new file"):
        building.build(dialect_for(url), lambda connection: held.append(_half_read(connection)))
    assert list(path_of(url).parent.iterdir()) == []
    held.clear()
    assert Ledger(url, limit=PureDP(1)).spent() == PureDP(0)
