"""Who may open a ledger in PostgreSQL, and what is said to those who can't: addresses, passwords, rights."""

from __future__ import annotations

import builtins
import itertools
import logging
import pickle
import time
import traceback

import psycopg
import pytest
from sqlalchemy import make_url

from discreet.events import DiscreteLaplace
from discreet.ledger import (
    Ledger,
    LedgerCorrupt,
    LedgerError,
    LedgerUnavailable,
)
from discreet.ledger.dialects import dialect_for
from discreet.measures import ApproxDP, PureDP

PAIR = ApproxDP(1, 1e-6)
PASSWORD = "s3cret-pa55"

_names = itertools.count()


@pytest.fixture
def name() -> str:
    return f"access_{next(_names)}"


@pytest.fixture
def url(postgres_server, name: str) -> str:
    """The address of a ledger that doesn't exist yet."""
    return f"{postgres_server.url()}?ledger={name}"


# -- refusing in one sentence ------------------------------------------------------------------


def _sentence(error: LedgerError | ValueError) -> str:
    assert error.__cause__ is None
    assert error.__context__ is None
    text = "".join(traceback.format_exception(error))
    assert "sqlalchemy" not in text.lower()
    assert PASSWORD not in str(error) + repr(error)
    assert "\n" not in str(error)
    return str(error)


@pytest.fixture
def locked(postgres_server) -> str:
    """The address of a role that needs a password, with the right one."""
    postgres_server.execute(
        "DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'locked') THEN "
        f"CREATE ROLE locked LOGIN SUPERUSER PASSWORD '{PASSWORD}'; END IF; END $$"
    )
    return postgres_server.url(user=f"locked:{PASSWORD}")


def test_wrong_passwords(locked: str, monkeypatch) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    with pytest.raises(LedgerUnavailable) as caught:
        Ledger(locked.replace(PASSWORD, "wrong-" + PASSWORD), limit=PAIR)
    assert "refused the user 'locked' with this password" in _sentence(caught.value)
    with pytest.raises(LedgerUnavailable) as caught:
        Ledger(locked.replace(f":{PASSWORD}", ""), limit=PAIR)
    assert "asks for a password and none was given" in _sentence(caught.value)


def test_wrong_databases_roles_hosts_and_options(postgres_server) -> None:
    place = f"127.0.0.1:{postgres_server.port}"
    start = time.monotonic()
    for url, words in {
        f"postgresql://owner:{PASSWORD}@{place}/nowhere": "has no database 'nowhere'",
        f"postgresql://nobody:{PASSWORD}@{place}/postgres": "has no role 'nobody'",
        f"postgresql://owner:{PASSWORD}@127.0.0.1:1/postgres": "no server answers at 127.0.0.1:1",
        f"postgresql://owner:{PASSWORD}@/postgres?host=/nonexistent": "no server answers at",
        f"postgresql://owner:{PASSWORD}@no.such.host.invalid/x": "no host at no.such.host.invalid",
        f"postgresql://owner:{PASSWORD}@{place}/postgres?colour=red": "colour",
    }.items():
        with pytest.raises(LedgerUnavailable) as caught:
            Ledger(url, limit=PAIR)
        assert words in _sentence(caught.value), url
    assert time.monotonic() - start < 15  # a wrong address isn't tried again and again


@pytest.mark.parametrize(
    "bad",
    [
        "postgresql://ann:{}@host:port/db",
        "postgresql://ann:{}@host",
        "postgresql://ann:x@{}@host/db",
        "postgresql://ann:{}@x@host/db",
        "postgresql://ann:{}@host/db?ledger=Bad Name",
        "postgresql://ann:{}@host/db?ledger=pg_catalog",
        "postgresql://ann:{}@host/db?ledger=a&ledger=b",
        'postgresql://ann:{}@host/db?ledger=x";drop',
        "postgresql:ann:{}@host/db",
        "mysql://ann:{}@host/db",
        "postgresql+psycopg2://ann:{}@host/db?password={}",
        "sqlite://ann:{}@/",
    ],
)
def test_bad_addresses_are_refused_without_their_password(bad: str) -> None:
    with pytest.raises(ValueError, match="url") as caught:
        Ledger(bad.replace("{}", PASSWORD), limit=PAIR)
    _sentence(caught.value)


def test_a_missing_driver(monkeypatch) -> None:
    original = builtins.__import__

    def without(name, *arguments, **keywords):
        if name == "psycopg":
            raise ImportError("No module named 'psycopg'")
        return original(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(LedgerUnavailable) as caught:
        Ledger(f"postgresql://ann:{PASSWORD}@host/db", limit=PAIR)
    monkeypatch.undo()
    assert "pip install discreet[postgres]" in _sentence(caught.value)


def test_a_standby_says_so(url: str) -> None:
    from discreet.ledger.dialects.base import Failure

    error = psycopg.errors.ReadOnlySqlTransaction(
        "cannot execute INSERT in a read-only transaction"
    )
    explained = dialect_for(url).explain(error, known=True)
    assert isinstance(explained, Failure)
    assert "standby" in explained.reason
    assert not explained.passing


# -- passwords ---------------------------------------------------------------------------------


def test_passwords_are_used_but_not_shown(locked: str, name: str, caplog, capfd) -> None:
    caplog.set_level(logging.DEBUG)
    for form in (
        f"{locked}?ledger={name}",
        f"{locked.replace(f':{PASSWORD}', '')}?ledger={name}&password={PASSWORD}",
        make_url(f"{locked}?ledger={name}"),
    ):
        ledger = Ledger(form, limit=PAIR)
        team = ledger.account("team", PAIR)
        entry = team.charge(DiscreteLaplace(100))
        shown = [
            ledger.url,
            repr(ledger),
            repr(team),
            repr(vars(ledger)),
            repr(vars(ledger._store)),
            repr(ledger._store.engine),
            str(ledger.statement()),
            ledger.statement().to_json(),
            repr(entry),
            repr(pickle.dumps(ledger)),
            repr(pickle.dumps(team)),
            repr(pickle.dumps(entry)),
            caplog.text,
            *capfd.readouterr(),
        ]
        assert not any(PASSWORD in text for text in shown)
        again = pickle.loads(pickle.dumps(team))  # this process knows the password
        again.charge(DiscreteLaplace(100))
    assert ledger.spent() == ApproxDP(0.06, 0)


def test_other_processes_find_the_password_in_the_environment(locked, name, monkeypatch) -> None:
    from discreet.ledger.dialects import postgres

    ledger = Ledger(f"{locked}?ledger={name}", limit=PAIR)
    data = pickle.dumps(ledger)
    monkeypatch.setattr(postgres, "_given", {})  # as in a process that starts afresh
    with pytest.raises(LedgerUnavailable, match=r"~/.pgpass or PGPASSWORD \(a pickled ledger"):
        pickle.loads(data)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert pickle.loads(data).head == ledger.head


# -- rights ------------------------------------------------------------------------------------


@pytest.fixture
def analyst(postgres_server, url: str, name: str) -> str:
    """A role that may only append, as the guide grants it."""
    role = f"analyst_{next(_names)}"
    Ledger(url, limit=PAIR)
    postgres_server.execute(
        f"CREATE ROLE {role} LOGIN",
        f"GRANT USAGE ON SCHEMA {name} TO {role}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO {role}",
        f"GRANT INSERT ON {name}.discreet_entries TO {role}",
        f"GRANT UPDATE (totals) ON {name}.discreet_balances TO {role}",
    )
    return url.replace("owner@", f"{role}@")


def test_analysts_append_and_change_nothing(postgres_server, analyst, url, name) -> None:
    Ledger(url).account("team", PureDP(0.5))
    ledger = Ledger(analyst)
    entry = ledger.account("team").charge(DiscreteLaplace(10))
    assert ledger.find(entry.token) == entry
    ledger.verify()
    str(ledger.statement())
    with pytest.raises(LedgerUnavailable) as caught:
        ledger.account("mine", PureDP(0.5))
    assert "permission denied for table discreet_balances" in _sentence(caught.value)
    assert "ask the owner" in str(caught.value)
    with psycopg.connect(analyst.partition("?")[0], autocommit=True) as connection:
        for statement in (
            f"UPDATE {name}.discreet_entries SET body = ''",
            f"DELETE FROM {name}.discreet_entries",
            f"TRUNCATE {name}.discreet_entries",
            f"UPDATE {name}.discreet_balances SET caps = ''",
            f"DELETE FROM {name}.discreet_balances",
            f"UPDATE {name}.discreet_version SET version = 3",
            f"DROP TABLE {name}.discreet_entries",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)
        # what is left to them is noticed
        connection.execute(
            f"UPDATE {name}.discreet_balances SET totals = replace(totals, '1', '0')"
        )
    with pytest.raises(LedgerCorrupt):
        Ledger(url).verify()


def test_auditors_read_and_check(postgres_server, url: str, name: str) -> None:
    Ledger(url, limit=PAIR).charge(DiscreteLaplace(10))
    role = f"auditor_{next(_names)}"
    postgres_server.execute(f"CREATE ROLE {role} LOGIN")
    mine = url.replace("owner@", f"{role}@")
    with pytest.raises(LedgerUnavailable, match="may not use the schema"):
        Ledger(mine)
    postgres_server.execute(
        f"GRANT USAGE ON SCHEMA {name} TO {role}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO {role}",
    )
    ledger = Ledger(mine)
    ledger.verify()
    assert ledger.find("0" * 32) is None
    with pytest.raises(LedgerUnavailable, match=r"permission denied .* Nothing was charged"):
        ledger.charge(DiscreteLaplace(10))
    with pytest.raises(LedgerUnavailable, match="permission denied for database"):
        Ledger(mine.replace(name, "fresh_ledger"), limit=PAIR)
