"""Threads, copies, pickles and forks of a ledger in a file, and ledgers that go with their process."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import joblib
import pytest
from sklearn.base import BaseEstimator, clone

from discreet.events import DiscreteLaplace
from discreet.ledger import BudgetExceeded, Ledger
from discreet.measures import ApproxDP, PureDP

PAIR = ApproxDP(1, 1e-6)


def test_threads_share_a_ledger() -> None:
    ledger = Ledger(limit=PureDP(1))
    accepted, refused = [], []

    def work() -> None:
        for _ in range(25):
            try:
                accepted.append(ledger.charge(DiscreteLaplace(100)).number)
            except BudgetExceeded:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(accepted) == list(range(1, 101))
    assert len(refused) == 100
    ledger.verify()


def test_two_ledger_objects_in_one_process_share_the_file(url: str) -> None:
    first, second = Ledger(url, limit=PAIR), Ledger(url)
    threads = [
        threading.Thread(
            target=lambda book=book: [book.charge(DiscreteLaplace(100)) for _ in range(20)]
        )
        for book in (first, second, first, second)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert first.spent() == second.spent() == ApproxDP(0.8, 0)
    first.verify()


def test_a_fork_behind_pythons_back_is_noticed() -> None:
    ledger = Ledger(limit=PAIR)
    parents = ledger._store.engine
    ledger._store._process = -1  # as if the engine had been made by another process
    ledger.charge(DiscreteLaplace(10))
    assert ledger._store.engine is not parents
    assert ledger._store._abandoned == [parents]
    assert ledger.spent() == ApproxDP(0.1, 0)


class Model(BaseEstimator):
    def __init__(self, ledger: Ledger | None = None) -> None:
        self.ledger = ledger


def test_copies_are_the_same_ledger() -> None:
    ledger = Ledger(limit=PAIR)
    assert copy.copy(ledger) is ledger
    assert copy.deepcopy([ledger])[0] is ledger
    assert clone(Model(ledger)).ledger is ledger


def test_pickles_reopen_the_same_ledger() -> None:
    ledger = Ledger(limit=PAIR)
    again = pickle.loads(pickle.dumps(ledger))
    again.charge(DiscreteLaplace(10))
    assert ledger.spent() == again.spent() == ApproxDP(0.1, 0)


def test_joblib_workers_share_a_temporary_ledger() -> None:
    ledger = Ledger(limit=PAIR)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        entries = joblib.Parallel()(
            joblib.delayed(ledger.charge)(DiscreteLaplace(100), note=str(i)) for i in range(6)
        )
    assert sorted(entry.number for entry in entries) == [1, 2, 3, 4, 5, 6]
    assert ledger.spent() == ApproxDP(0.06, 0)
    assert ledger.entries()[1:] == sorted(entries, key=lambda entry: entry.number)


_SCRIPT = """
import os, sys
from discreet.events import DiscreteLaplace
from discreet.ledger import Ledger
from discreet.measures import PureDP

ledger = Ledger(limit=PureDP(1))
child = os.fork()
if child == 0:
    ledger.charge(DiscreteLaplace(10))
    sys.exit(0)  # runs what is registered for the end of a process
os.waitpid(child, 0)
ledger.charge(DiscreteLaplace(10))
assert ledger.spent() == PureDP(0.2), ledger.spent()
ledger.verify()
sys.stdout.write(ledger.url)
"""


def test_a_temporary_ledger_goes_with_its_process_not_with_a_child() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    path = Path(done.stdout.removeprefix("sqlite:///"))
    assert path.suffix == ".db"
    assert not path.parent.exists()


def test_temporary_ledgers_share_one_folder_and_no_file() -> None:
    paths = [Path(Ledger(limit=PAIR).url.removeprefix("sqlite:///")) for _ in range(3)]
    assert len(set(paths)) == 3
    assert {path.parent for path in paths} == {paths[0].parent}
    assert paths[0].parent.stat().st_mode & 0o077 == 0  # nobody else may read what was asked


def test_only_temporary_ledgers_go_without_waiting_for_the_disk(url: str) -> None:
    def waits(ledger: Ledger) -> int:
        with ledger._store.engine.connect() as connection:
            return int(connection.exec_driver_sql("PRAGMA synchronous").scalar_one())

    assert waits(Ledger(url, limit=PAIR)) == 2  # FULL
    temporary = Ledger(limit=PAIR)
    assert waits(temporary) == waits(pickle.loads(pickle.dumps(temporary))) == 0


def test_ledgers_that_nobody_holds_close_their_connection() -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    Ledger(limit=PAIR)
    before = descriptors()
    for _ in range(20):
        Ledger(limit=PAIR).charge(DiscreteLaplace(10))
    assert descriptors() <= before + 3


@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_interrupted_charge_is_booked_or_not_but_never_half(moment, monkeypatch) -> None:
    from discreet.ledger import journal

    ledger = Ledger(limit=PAIR)
    run, original = [], journal.run

    def interrupted(connection, statement, **values):
        if statement is journal._append:
            run.append(1)
            if moment == "after":
                original(connection, statement, **values)
            raise KeyboardInterrupt
        return original(connection, statement, **values)

    monkeypatch.setattr(journal, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ledger.charge(DiscreteLaplace(10))
    monkeypatch.undo()
    assert run == [1]
    assert ledger.spent() == ApproxDP(0, 0)
    ledger.charge(DiscreteLaplace(10))
    ledger.verify()
