"""A ledger whose file is deleted, replaced, copied or emptied behind its back must not start at zero."""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from discreet.events import DiscreteLaplace
from discreet.ledger import Ledger, LedgerCorrupt, LedgerError, LedgerUnavailable, checkpoints
from discreet.ledger.dialects import files
from discreet.measures import PureDP

fork = multiprocessing.get_context("fork")
THREAD = "discreet-checkpoints"
_names = itertools.count()


def _path(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def _copy(source: Path, target: Path) -> Path:
    """A copy by another process: closing the file in this one would drop SQLite's locks."""
    subprocess.run(["cp", source, target], check=True)
    return target


def _keepers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == THREAD]


def _wait_for(condition, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


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
    for part in _path(url).parent.glob("budget.db*"):
        part.unlink()
    _refused(ledger, "deleted or moved")
    assert list(_path(url).parent.iterdir()) == []  # and no empty file is left in its place


def test_a_moved_ledger_refuses_until_it_is_put_back(url: str) -> None:
    ledger = Ledger(url, limit=PureDP(1))
    ledger.charge(DiscreteLaplace(10))
    ledger._store.disconnect()
    away = _path(url).with_name("away.db")
    _path(url).rename(away)
    _refused(ledger, "deleted or moved")
    away.rename(_path(url))
    ledger.charge(DiscreteLaplace(10))
    assert ledger.spent() == PureDP(0.2)


@pytest.mark.parametrize("reconnect", [False, True])
@pytest.mark.parametrize("by", ["new", "backup"])
def test_a_replaced_ledger_refuses_charges(url: str, by: str, reconnect: bool) -> None:
    ledger = Ledger(url, limit=PureDP(1))
    other = url.replace("budget", "other")
    if by == "backup":
        ledger.backup(_path(other))
    else:
        Ledger(other, limit=PureDP(1))
    gc.collect()
    ledger.charge(DiscreteLaplace(10))
    if reconnect:
        ledger._store.disconnect()
    os.replace(_path(other), _path(url))
    _refused(ledger, "replaced by another one|isn't in the ledger")
    if reconnect:  # somebody who opens what is there now may go on; an anchor tells
        assert Ledger(url).spent() == PureDP(0)


def test_a_symbolic_link_that_points_elsewhere_is_another_ledger(url: str) -> None:
    link = _path(url).with_name("link.db")
    link.symlink_to(_path(url))
    ledger = Ledger(f"sqlite:///{link}", limit=PureDP(1))
    assert _path(url).exists()
    ledger.charge(DiscreteLaplace(10))
    Ledger(url.replace("budget", "other"), limit=PureDP(1))
    link.unlink()
    link.symlink_to(_path(url.replace("budget", "other")))
    _refused(ledger, "replaced by another one")


def test_the_same_inode_with_another_ledger_in_it_is_noticed(url: str) -> None:
    """An inode is used again soon, and a copy over the file keeps it: the entries tell."""
    ledger = Ledger(url, limit=PureDP(1))
    ledger.backup(_path(url).with_name("early.db"))
    for _ in range(3):
        ledger.charge(DiscreteLaplace(10))
    ledger._store.disconnect()
    inode = _path(url).stat().st_ino
    _copy(_path(url).with_name("early.db"), _path(url))
    assert _path(url).stat().st_ino == inode
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
    log = Path(f"{_path(url)}-wal")
    log.unlink()
    with pytest.raises(LedgerUnavailable, match=r"log .* was deleted or replaced"):
        ledger.charge(DiscreteLaplace(10))
    # closing wrote what was in it into the file
    assert Ledger(url).spent() == PureDP(0.1)


def test_a_second_name_of_the_file_is_refused(url: str) -> None:
    ledger = Ledger(url, limit=PureDP(1))
    ledger.charge(DiscreteLaplace(10))
    second = _path(url).with_name("second.db")
    os.link(_path(url), second)
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
    _wait_for(lambda: not ledger._store.last_commit)
    copy = _copy(_path(url), _path(url).with_name("copy.db"))
    again = Ledger(f"sqlite:///{copy}")
    assert again.head == ledger.head
    assert again.spent() == PureDP(0.3)


def test_a_copy_at_any_moment_is_a_ledger_or_refused_but_never_a_new_one(url: str) -> None:
    ledger = Ledger(url, limit=PureDP(1))
    ledger.charge(DiscreteLaplace(10))
    copy = _copy(_path(url), _path(url).with_name("copy.db"))
    with pytest.raises(ValueError, match="limit is"):
        Ledger(f"sqlite:///{copy}", limit=PureDP(2))


@pytest.mark.parametrize("content", ["nothing", "empty database", "log lost"])
def test_a_file_without_tables_is_not_taken_for_a_new_ledger(url: str, content: str) -> None:
    path = _path(url)
    path.touch()
    if content != "nothing":
        connection = sqlite3.connect(path, isolation_level=None)
        if content == "log lost":
            connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE x (y)")
        if content == "empty database":
            connection.execute("DROP TABLE x")
        else:  # the 4096 bytes that were copied of a ledger in use
            path = _copy(path, path.with_name("copy.db"))
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
        assert not _path(url).exists()
        assert not Path(f"{source}-wal").exists()  # all of it is in the file
        link(source, target)

    monkeypatch.setattr(os, "link", watched)
    Ledger(url, limit=PureDP(1))
    assert seen == [(1,)]
    assert {part.name for part in _path(url).parent.iterdir()} <= {
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
        assert _path(url).exists() == there
    ledger = Ledger(url)  # whose second name, left by the killed process, is removed
    ledger.charge(DiscreteLaplace(10))
    assert _path(url).stat().st_nlink == 1


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
    assert not files.link_into_place(_path(url).with_name("draft"), _path(url))
    assert Ledger(url).spent() == PureDP(0.1)


# -- the thread that makes checkpoints ---------------------------------------------------------


def test_the_thread_ends_when_nothing_is_left_to_do(url: str) -> None:
    ledger = Ledger(url, limit=PureDP(1))
    ledger.charge(DiscreteLaplace(10))
    (keeper,) = _keepers()
    assert keeper.daemon
    keeper.join(timeout=20)
    assert not keeper.is_alive()
    ledger.charge(DiscreteLaplace(10))
    assert len(_keepers()) == 1


def test_steady_charges_are_moved_within_the_longest_delay(url: str, monkeypatch) -> None:
    monkeypatch.setattr(checkpoints, "MAX_DELAY_SECONDS", 0.5)
    ledger = Ledger(url, limit=PureDP(10))
    moved = []
    monkeypatch.setattr(
        ledger._store, "checkpoint", lambda act=ledger._store.checkpoint: (act(), moved.append(1))
    )
    end = time.monotonic() + 20
    while not moved and time.monotonic() < end:
        ledger.charge(DiscreteLaplace(10**6))
        time.sleep(0.05)  # less than the delay after the last charge
    assert moved


def test_temporary_ledgers_need_no_thread() -> None:
    for thread in _keepers():
        thread.join(timeout=20)
    Ledger(limit=PureDP(1)).charge(DiscreteLaplace(10))
    assert _keepers() == []


def test_a_fork_finds_no_thread_and_its_child_starts_its_own(url: str) -> None:
    ledger = Ledger(url, limit=PureDP(10))
    other = Ledger(url)  # keeps the log alive
    for _ in range(5):
        ledger.charge(DiscreteLaplace(10))
        assert len(_keepers()) == 1
        child = os.fork()
        if child == 0:
            alone = not _keepers() and not ledger._store.last_commit
            ledger.charge(DiscreteLaplace(10))
            began = len(_keepers()) == 1
            _wait_for(lambda: not ledger._store.last_commit)
            os._exit(0 if alone and began else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert other.spent() == PureDP(1)
    ledger.verify()


def test_the_thread_is_gone_at_the_moment_of_a_fork(url: str, monkeypatch) -> None:
    from discreet.ledger import store

    ledger = Ledger(url, limit=PureDP(1))
    ledger.charge(DiscreteLaplace(10))
    assert len(_keepers()) == 1
    store._before_fork()
    try:
        assert _keepers() == []
        assert not checkpoints._keeper._change._lock.locked()
    finally:
        store._after_fork_in_parent()
    ledger.charge(DiscreteLaplace(10))


def test_forks_while_a_checkpoint_waits_for_the_lock_do_not_block(url: str, monkeypatch) -> None:
    monkeypatch.setattr(checkpoints, "DELAY_SECONDS", 0.0)
    ledger = Ledger(url, limit=PureDP(1))
    with ledger._store.lock:
        ledger.charge(DiscreteLaplace(10))
        time.sleep(0.1)  # now it waits for the lock that this thread holds
        child = os.fork()
        if child == 0:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


_SCRIPT = """
import atexit, sys, time
from discreet.events import DiscreteLaplace
from discreet.ledger import Ledger
from discreet.measures import PureDP
ledger = Ledger({url!r}, limit=PureDP(1))
keep = Ledger({url!r})
ledger.charge(DiscreteLaplace(10))
atexit.register(lambda: ledger.charge(DiscreteLaplace(10)))
print(time.time())
"""


def test_the_thread_keeps_no_process_alive_and_the_end_writes_all(url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", _SCRIPT.format(url=url)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    copy = _copy(_path(url), _path(url).with_name("copy.db"))
    assert Ledger(f"sqlite:///{copy}").spent() == PureDP(0.2)


def test_a_closed_ledger_leaves_all_in_the_file_though_others_have_it_open(url: str) -> None:
    ledger = Ledger(url, limit=PureDP(1))
    other = sqlite3.connect(_path(url))
    other.execute("SELECT count(*) FROM discreet_entries").fetchall()
    ledger.charge(DiscreteLaplace(10))
    ledger._store.disconnect()
    assert Path(f"{_path(url)}-wal").exists()  # the other one keeps it
    copy = _copy(_path(url), _path(url).with_name("copy.db"))
    assert Ledger(f"sqlite:///{copy}").spent() == PureDP(0.1)
    other.close()


def test_checkpoints_race_with_charges_closing_and_collection(url: str, monkeypatch) -> None:
    monkeypatch.setattr(checkpoints, "DELAY_SECONDS", 0.0)
    Ledger(url, limit=PureDP(100))

    def work() -> None:
        for i in range(12):
            ledger = Ledger(url)
            for _ in range(i % 3 + 1):
                ledger.charge(DiscreteLaplace(1000))
            if i % 2:
                ledger._store.disconnect()
            del ledger

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    ledger = Ledger(url)
    assert ledger.head[1] == 1 + 4 * 24
    ledger.verify()
