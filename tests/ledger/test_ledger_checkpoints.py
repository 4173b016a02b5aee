"""The thread that moves the log into the file: it ends, keeps nobody alive, and forks find none."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

from ledger_files import copy_file, path_of, wait_for

from discreet.events import DiscreteLaplace
from discreet.ledger import (
    Ledger,
    checkpoints,
)
from discreet.measures import PureDP

THREAD = "discreet-checkpoints"


def _keepers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == THREAD]


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
            wait_for(lambda: not ledger._store.last_commit)
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
    copy = copy_file(path_of(url), path_of(url).with_name("copy.db"))
    assert Ledger(f"sqlite:///{copy}").spent() == PureDP(0.2)


def test_a_closed_ledger_leaves_all_in_the_file_though_others_have_it_open(url: str) -> None:
    ledger = Ledger(url, limit=PureDP(1))
    other = sqlite3.connect(path_of(url))
    other.execute("SELECT count(*) FROM discreet_entries").fetchall()
    ledger.charge(DiscreteLaplace(10))
    ledger._store.disconnect()
    assert Path(f"{path_of(url)}-wal").exists()  # the other one keeps it
    copy = copy_file(path_of(url), path_of(url).with_name("copy.db"))
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
