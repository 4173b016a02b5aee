"""A ledger in PostgreSQL is the same ledger: opening, charging, checking, refusing."""

from __future__ import annotations

import itertools
import threading
import time

import pytest
from sqlalchemy.exc import DBAPIError

from discreet.events import DiscreteLaplace, Gaussian
from discreet.ledger import (
    BudgetExceeded,
    Ledger,
    LedgerCorrupt,
    LedgerUnavailable,
    migrations,
)
from discreet.ledger.dialects.postgres import PostgreSQL
from discreet.measures import ZCDP, ApproxDP, PureDP
from discreet.unit import REPLACE_ONE, Unit

PAIR = ApproxDP(1, 1e-6)

_names = itertools.count()


@pytest.fixture
def name() -> str:
    return f"study_{next(_names)}"


@pytest.fixture
def url(postgres_server, name: str) -> str:
    """The address of a ledger that doesn't exist yet."""
    return f"{postgres_server.url()}?ledger={name}"


# -- the same as in a file ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "terms",
    [
        {"limit": PureDP(1)},
        {"limit": PAIR, "unit": Unit(REPLACE_ONE, id_column="person", max_rows=3)},
        {"limit": ZCDP(1)},
        {"limit": PAIR, "composition": "zcdp", "delta_reserve": 1e-7},
        {"limit": PAIR, "composition": "renyi", "accept_assumed": True},
    ],
)
def test_both_databases_keep_the_same_books(url: str, terms) -> None:
    books = [Ledger(limit=terms["limit"], **{k: v for k, v in terms.items() if k != "limit"})]
    books.append(Ledger(url, **terms))
    seen = []
    for ledger in books:
        limit = PureDP(0.3) if ledger.composition in ("basic", "pure") else terms["limit"]
        team = ledger.account("Ärzte & 医者", limit)
        team.charge(DiscreteLaplace(10), note="naïve \0 ☃")
        for _ in range(40):
            try:
                ledger.charge(DiscreteLaplace(20))
                team.charge(DiscreteLaplace(20))
            except BudgetExceeded as error:
                seen.append(str(error))
                break
        ledger.external(PureDP(0), "nothing")
        ledger.verify()
        assert Ledger(ledger.url, **terms).head == ledger.head
        assert Ledger(ledger.url).account("Ärzte & 医者").spent() == team.spent()
    assert seen[:1] == seen[1:]
    first, second = (
        [
            (e.number, e.kind, e.account, e.event, e.booked, e.delta, e.note)
            for e in ledger.entries()
        ]
        for ledger in books
    )
    assert first == second
    assert books[0].remaining() == books[1].remaining()
    assert repr(books[0]) == repr(books[1])
    assert books[0].statement().to_dict().keys() == books[1].statement().to_dict().keys()


def test_pairs_fit_a_limit_of_the_same_pair(url: str) -> None:
    ledger = Ledger(url, limit=PAIR)
    ledger.charge(Gaussian(100), PAIR)
    assert ledger.remaining() == ApproxDP(0, 0)


def test_nothing_agreed_changes(url: str) -> None:
    Ledger(url, limit=PAIR)
    with pytest.raises(ValueError, match="limit is"):
        Ledger(url, limit=ApproxDP(2, 1e-6))
    with pytest.raises(ValueError, match="unit is"):
        Ledger(url, unit=REPLACE_ONE)


def test_no_limit_no_ledger_and_no_trace(postgres_server, url: str, name: str) -> None:
    for arguments, words in (({}, "limit must be given"), ({"limit": ApproxDP(1, 1)}, "delta")):
        with pytest.raises(ValueError, match=words):
            Ledger(url, **arguments)
    found = postgres_server.execute(f"SELECT 1 FROM pg_namespace WHERE nspname = '{name}'")
    assert found == []


def test_several_ledgers_in_one_database(postgres_server) -> None:
    database = postgres_server.new_database()
    plain = Ledger(postgres_server.url(database), limit=PAIR)
    named = Ledger(f"{postgres_server.url(database)}?ledger=cohort_b", limit=PureDP(1))
    driver = Ledger(
        postgres_server.url(database).replace("postgresql:", "postgresql+psycopg:")
        + "?ledger=discreet"
    )
    sockets = Ledger(f"{postgres_server.socket_url(database)}&ledger=cohort_b")
    plain.charge(DiscreteLaplace(10))
    named.charge(DiscreteLaplace(2))
    assert driver.spent() == ApproxDP(0.1, 0)
    assert driver.url == plain.url == postgres_server.url(database)
    assert sockets.spent() == PureDP(0.5)
    assert len({ledger._store.dialect.key for ledger in (plain, named, driver, sockets)}) == 2
    schemas = postgres_server.execute(
        "SELECT schemaname FROM pg_tables WHERE tablename = 'discreet_entries' ORDER BY 1",
        database=database,
    )
    assert schemas == [("cohort_b",), ("discreet",)]


def test_tampering_is_noticed(postgres_server, url: str, name: str) -> None:
    ledger = Ledger(url, limit=PAIR)
    for _ in range(3):
        ledger.charge(DiscreteLaplace(20))
    postgres_server.execute(
        f"UPDATE {name}.discreet_entries SET body = replace(body, '1/20', '1/40') WHERE number = 2"
    )
    with pytest.raises(LedgerCorrupt, match="Entry 2 was changed"):
        ledger.verify()


def test_schemas_of_others_are_left_alone(postgres_server, url: str, name: str) -> None:
    postgres_server.execute(f"CREATE SCHEMA {name}", f"CREATE TABLE {name}.orders (id int)")
    with pytest.raises(LedgerUnavailable, match="belongs to something else"):
        Ledger(url, limit=PAIR)
    postgres_server.execute(f"DROP TABLE {name}.orders")
    Ledger(url, limit=PAIR).charge(DiscreteLaplace(10))  # an empty schema may be prepared by others


def test_newer_tables_are_refused(postgres_server, url: str, name: str) -> None:
    Ledger(url, limit=PAIR)
    postgres_server.execute(f"UPDATE {name}.discreet_version SET version = 99")
    with pytest.raises(LedgerUnavailable, match="version 99"):
        Ledger(url)


def test_a_migration_that_fails_changes_nothing(url: str, monkeypatch) -> None:
    def broken(connection) -> None:
        migrations._second(connection)
        raise KeyboardInterrupt

    monkeypatch.setattr(migrations, "STEPS", (migrations._first,))
    monkeypatch.setattr(migrations, "STEPS", (migrations._first, broken))
    with pytest.raises(KeyboardInterrupt):
        Ledger(url, limit=PAIR)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="limit must be given"):
        Ledger(url)
    Ledger(url, limit=PAIR).verify()


# -- locks and settings ------------------------------------------------------------------------


def test_readers_never_wait_and_writers_do(url: str, monkeypatch) -> None:
    monkeypatch.setattr(PostgreSQL, "wait_seconds", 0.3)
    first, second = Ledger(url, limit=PAIR), Ledger(url)
    with first._store.writing():
        start = time.monotonic()
        assert second.remaining() == PAIR
        second.verify()
        str(second.statement())
        assert time.monotonic() - start < 0.25
        with pytest.raises(LedgerUnavailable, match=r"locked for 0\.3 seconds\. Nothing"):
            second.charge(DiscreteLaplace(10))
    second.charge(DiscreteLaplace(10))
    with second._store.reading():  # and a reader makes nobody wait
        first.charge(DiscreteLaplace(10))


def test_a_reader_sees_one_state(url: str) -> None:
    first, second = Ledger(url, limit=PAIR), Ledger(url)
    with second._store.reading() as connection:
        count = migrations.select(migrations.entries.c.number)
        before = connection.execute(count).all()
        first.charge(DiscreteLaplace(10))
        assert connection.execute(count).all() == before


@pytest.mark.parametrize(
    "worse",
    [
        "default_transaction_isolation = 'repeatable read'",
        "synchronous_commit = off",
        "search_path = public",
        "default_transaction_read_only = on",
        "statement_timeout = 1",
        "lock_timeout = 1",
    ],
)
def test_settings_of_a_role_do_not_weaken_a_charge(postgres_server, url: str, worse: str) -> None:
    role = f"role_{next(_names)}"
    postgres_server.execute(f"CREATE ROLE {role} LOGIN SUPERUSER")
    mine = url.replace("owner@", f"{role}@")
    Ledger(url, limit=PureDP(1))
    if "statement" not in worse:
        postgres_server.execute(f"ALTER ROLE {role} SET {worse}")
    ledger = Ledger(mine)
    with ledger._store.writing() as connection:
        shown = {
            key: connection.exec_driver_sql(f"SHOW {key}").scalar()
            for key in (
                "transaction_isolation",
                "synchronous_commit",
                "lock_timeout",
                "statement_timeout",
                "idle_in_transaction_session_timeout",
            )
        }
    assert shown == {
        "transaction_isolation": "read committed",
        "synchronous_commit": "on",
        "lock_timeout": "2min",
        "statement_timeout": "150s",
        "idle_in_transaction_session_timeout": "30s",
    }
    books = [ledger, Ledger(mine)]
    threads = [
        threading.Thread(
            target=lambda book=book: [book.charge(DiscreteLaplace(100)) for _ in "12345"]
        )
        for book in books
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.spent() == PureDP(0.1)
    ledger.verify()


def test_a_client_that_freezes_with_the_lock_is_ended(url: str, monkeypatch) -> None:
    from discreet.ledger.dialects import postgres

    monkeypatch.setattr(postgres, "_IDLE_SECONDS", 0.3)
    frozen = Ledger(url, limit=PAIR)
    other = Ledger(url)
    with pytest.raises(DBAPIError, match="idle-in-transaction"), frozen._store.writing():
        other.charge(DiscreteLaplace(10))  # waits until the server ends the frozen one
    frozen.charge(DiscreteLaplace(10))
    assert len(other.entries()) == 3


def test_a_server_that_does_not_sync_is_refused(url: str, spare_postgres_server) -> None:
    server = spare_postgres_server
    server.execute("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
    time.sleep(0.2)
    with pytest.raises(LedgerUnavailable, match="fsync = off"):
        Ledger(server.url(), limit=PAIR)
