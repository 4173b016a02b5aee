"""A ledger whose file is deleted, replaced, copied or emptied behind its back must not start at zero."""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import os
import signal
import sqlite3
from pathlib import Path

import pytest
from ledger_files import copy_file, path_of, wait_for

from discreet.events import DiscreteLaplace
from discreet.ledger import (
    Ledger,
    LedgerCorrupt,
    LedgerError,
    LedgerUnavailable,
)
from discreet.ledger.dialects import files
from discreet.measures import PureDP

fork = multiprocessing.get_context("fork")
_names = itertools.count()


# -- deleted and replaced ----------------------------------------------------------------------


def _refused(ledger: Ledger, words: str) -> None:
    acts = {
        "charge": lambda: ledger.charge(DiscreteLaplace(10)),
        "account": lambda: ledger.account("new", PureDP(0.1)),
        "remaining": ledger.remaining,
        "statement": ledger.statement,
        "verify": ledger.verify,
    }
    for act in acts.values():
        with pytest.raises(LedgerError, match=words) as caught:
            act()
        assert caught.value.__context__ is None
    with pytest.raises(LedgerError, match="Nothing was charged, so nothing may be read"):
        acts["charge"]()
    assert "not readable" in repr(ledger)


@pytest.mark.parametrize("reconnect", [False, True])
def test_a_deleted_ledger_refuses_charges(url: str, reconnect: bool) -> None:
    ledger = Ledger(url, limit=PureDP(1))
    ledger.charge(DiscreteLaplace(10))
    if reconnect:  # as after a fork
        ledger._store.disconnect()
    for part in path_of(url).parent.glob("budget.db*"):
        part.unlink()
    _refused(ledger, "deleted or moved")
    assert list(path_of(url).parent.iterdir()) == []  # and no empty file is left in its place


def test_a_moved_ledger_refuses_until_it_is_put_back(url: str) -> None:
    ledger = Ledger(url, limit=PureDP(1))
    ledger.charge(DiscreteLaplace(10))
    ledger._store.disconnect()
    away = path_of(url).with_name("away.db")
    path_of(url).rename(away)
    _refused(ledger, "deleted or moved")
    away.rename(path_of(url))
    ledger.charge(DiscreteLaplace(10))
    assert ledger.spent() == PureDP(0.2)


@pytest.mark.parametrize("reconnect", [False, True])
@pytest.mark.parametrize("by", ["new", "backup"])
def test_a_replaced_ledger_refuses_charges(url: str, by: str, reconnect: bool) -> None:
    ledger = Ledger(url, limit=PureDP(1))
    other = url.replace("budget", "other")
    if by == "backup":
        ledger.backup(path_of(other))
    else:
        Ledger(other, limit=PureDP(1))
    gc.collect()
    ledger.charge(DiscreteLaplace(10))
    if reconnect:
        ledger._store.disconnect()
    os.replace(path_of(other), path_of(url))
    _refused(ledger, "replaced by another one|isn't in the ledger")
    if reconnect:  # somebody who opens what is there now may go on; an anchor tells
        assert Ledger(url).spent() == PureDP(0)


def test_a_symbolic_link_that_points_elsewhere_is_another_ledger(url: str) -> None:
    link = path_of(url).with_name("link.db")
    link.symlink_to(path_of(url))
    ledger = Ledger(f"sqlite:///{link}", limit=PureDP(1))
    assert path_of(url).exists()
    ledger.charge(DiscreteLaplace(10))
    Ledger(url.replace("budget", "other"), limit=PureDP(1))
    link.unlink()
    link.symlink_to(path_of(url.replace("budget", "other")))
    _refused(ledger, "replaced by another one")


def test_the_same_inode_with_another_ledger_in_it_is_noticed(url: str) -> None:
    """An inode is used again soon, and a copy over the file keeps it: the entries tell."""
    ledger = Ledger(url, limit=PureDP(1))
    ledger.backup(path_of(url).with_name("early.db"))
    for _ in range(3):
        ledger.charge(DiscreteLaplace(10))
    ledger._store.disconnect()
    inode = path_of(url).stat().st_ino
    copy_file(path_of(url).with_name("early.db"), path_of(url))
    assert path_of(url).stat().st_ino == inode
    with pytest.raises(LedgerCorrupt, match="Entry 3, which this process saw, isn't in the ledger"):
        ledger.charge(DiscreteLaplace(10))
    for act in (ledger.verify, ledger.statement, ledger.entries, lambda: ledger.head):
        with pytest.raises(LedgerCorrupt, match="which this process saw"):
            act()
    # others may have charged it since: what counts is the entry, not how many there are
    restored = Ledger(url)
    for _ in range(5):
        restored.charge(DiscreteLaplace(10))
    with pytest.raises(LedgerCorrupt, match="which this process saw"):
        ledger.charge(DiscreteLaplace(10))
    restored.verify()


def test_charges_of_others_are_not_taken_for_another_ledger(url: str) -> None:
    first, second = Ledger(url, limit=PureDP(1)), Ledger(url)
    for _ in range(3):
        first.charge(DiscreteLaplace(20))
        second.charge(DiscreteLaplace(20))
        second.charge(DiscreteLaplace(20))
    first.verify()
    assert first.head == second.head


def test_a_log_that_is_deleted_in_use_is_noticed_and_saved(url: str) -> None:
    ledger = Ledger(url, limit=PureDP(1))
    ledger.charge(DiscreteLaplace(10))
    log = Path(f"{path_of(url)}-wal")
    log.unlink()
    with pytest.raises(LedgerUnavailable, match=r"log .* was deleted or replaced"):
        ledger.charge(DiscreteLaplace(10))
    # closing wrote what was in it into the file
    assert Ledger(url).spent() == PureDP(0.1)


def test_a_second_name_of_the_file_is_refused(url: str) -> None:
    ledger = Ledger(url, limit=PureDP(1))
    ledger.charge(DiscreteLaplace(10))
    second = path_of(url).with_name("second.db")
    os.link(path_of(url), second)
    _refused(ledger, "another name")
    with pytest.raises(LedgerUnavailable, match="another name"):
        Ledger(f"sqlite:///{second}")
    second.unlink()
    ledger.charge(DiscreteLaplace(10))


# -- on a server -------------------------------------------------------------------------------


def _refused_on_server(ledger: Ledger, words: str) -> None:
    acts = (ledger.statement, ledger.verify, ledger.entries, lambda: ledger.head)
    for act in (lambda: ledger.charge(DiscreteLaplace(10)), *acts):
        with pytest.raises(LedgerError, match=words):
            act()


def test_tables_that_were_dropped_and_made_again_are_noticed(postgres_server) -> None:
    name = f"forgets_{next(_names)}"
    url = f"{postgres_server.url()}?ledger={name}"
    ledger, fresh = Ledger(url, limit=PureDP(1)), Ledger(url)
    ledger.charge(DiscreteLaplace(10))
    postgres_server.execute(f"DROP SCHEMA {name} CASCADE")
    _refused_on_server(ledger, "its tables are gone")
    again = Ledger(url, limit=PureDP(1))
    for _ in range(3):  # the new one may be longer than the old one
        _refused_on_server(ledger, "Entry 1, which this process saw, isn't in the ledger")
        again.charge(DiscreteLaplace(10))
    _refused_on_server(fresh, "Entry 0, which this process saw, isn't in the ledger")
    again.verify()


def test_a_restored_database_is_noticed_by_those_who_saw_more(postgres_server) -> None:
    name = f"forgets_{next(_names)}"
    ledger = Ledger(f"{postgres_server.url()}?ledger={name}", limit=PureDP(1))
    tables = ("discreet_entries", "discreet_balances")
    postgres_server.execute(
        *(f"CREATE TABLE public.{name}_{t} AS SELECT * FROM {name}.{t}" for t in tables)
    )
    ledger.charge(DiscreteLaplace(10))
    for table in tables:
        postgres_server.execute(
            f"TRUNCATE {name}.{table}",
            f"INSERT INTO {name}.{table} SELECT * FROM public.{name}_{table}",
        )
    _refused_on_server(ledger, "Entry 1, which this process saw")
    assert Ledger(ledger.url).spent() == PureDP(0)  # who opens it now can't know: anchors can


# -- copies and empty files --------------------------------------------------------------------


def test_a_plain_copy_of_an_open_ledger_has_all_charges_a_moment_later(url: str) -> None:
    ledger = Ledger(url, limit=PureDP(1))
    for _ in range(3):
        ledger.charge(DiscreteLaplace(10))
    wait_for(lambda: not ledger._store.last_commit)
    copy = copy_file(path_of(url), path_of(url).with_name("copy.db"))
    again = Ledger(f"sqlite:///{copy}")
    assert again.head == ledger.head
    assert again.spent() == PureDP(0.3)


def test_a_copy_at_any_moment_is_a_ledger_or_refused_but_never_a_new_one(url: str) -> None:
    ledger = Ledger(url, limit=PureDP(1))
    ledger.charge(DiscreteLaplace(10))
    copy = copy_file(path_of(url), path_of(url).with_name("copy.db"))
    with pytest.raises(ValueError, match="limit is"):
        Ledger(f"sqlite:///{copy}", limit=PureDP(2))


@pytest.mark.parametrize("content", ["nothing", "empty database", "log lost"])
def test_a_file_without_tables_is_not_taken_for_a_new_ledger(url: str, content: str) -> None:
    path = path_of(url)
    path.touch()
    if content != "nothing":
        connection = sqlite3.connect(path, isolation_level=None)
        if content == "log lost":
            connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE x (y)")
        if content == "empty database":
            connection.execute("DROP TABLE x")
        else:  # the 4096 bytes that were copied of a ledger in use
            path = copy_file(path, path.with_name("copy.db"))
            assert path.stat().st_size == 4096
        connection.close()
    before = path.read_bytes()
    for limit in (PureDP(1), None):
        with pytest.raises(LedgerUnavailable, match="exists, but it is not a ledger"):
            Ledger(f"sqlite:///{path}", limit=limit)
    assert path.read_bytes() == before


def test_a_new_ledger_is_never_seen_half_made(url: str, monkeypatch) -> None:
    seen = []
    link = os.link

    def watched(source, target):
        connection = sqlite3.connect(source)
        seen.append(connection.execute("SELECT count(*) FROM discreet_entries").fetchone())
        connection.close()
        assert not path_of(url).exists()
        assert not Path(f"{source}-wal").exists()  # all of it is in the file
        link(source, target)

    monkeypatch.setattr(os, "link", watched)
    Ledger(url, limit=PureDP(1))
    assert seen == [(1,)]
    assert {part.name for part in path_of(url).parent.iterdir()} <= {
        "budget.db",
        "budget.db-wal",
        "budget.db-shm",
    }


def test_a_process_killed_while_it_makes_a_ledger_leaves_none_or_a_whole_one(url: str) -> None:
    def work(moment: str) -> None:
        link = os.link

        def die(*arguments: object, **options: object) -> None:
            if moment == "after":
                link(*arguments)
            os.kill(os.getpid(), signal.SIGKILL)

        os.link = die
        Ledger(url, limit=PureDP(1))

    for moment, there in (("before", False), ("after", True)):
        worker = fork.Process(target=work, args=(moment,))
        worker.start()
        worker.join()
        assert worker.exitcode == -signal.SIGKILL
        assert path_of(url).exists() == there
    ledger = Ledger(url)  # whose second name, left by the killed process, is removed
    ledger.charge(DiscreteLaplace(10))
    assert path_of(url).stat().st_nlink == 1


def test_two_who_make_the_same_ledger_get_the_same_one(url: str, monkeypatch) -> None:
    link = os.link

    def late(source, target):
        monkeypatch.setattr(os, "link", link)
        Ledger(url, limit=PureDP(1)).charge(DiscreteLaplace(10))
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    assert Ledger(url, limit=PureDP(1)).spent() == PureDP(0.1)
    monkeypatch.setattr(os, "link", late)
    url = url.replace("budget", "second")
    with pytest.raises(ValueError, match="limit is"):
        Ledger(url, limit=PureDP(2))


def test_places_without_hard_links_are_not_overwritten_either(url: str, monkeypatch) -> None:
    def unsupported(source, target):
        raise PermissionError

    monkeypatch.setattr(os, "link", unsupported)
    ledger = Ledger(url, limit=PureDP(1))
    ledger.charge(DiscreteLaplace(10))
    assert not files.link_into_place(path_of(url).with_name("draft"), path_of(url))
    assert Ledger(url).spent() == PureDP(0.1)
