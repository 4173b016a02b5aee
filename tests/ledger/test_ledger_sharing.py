"""Processes, forks and threads that share a ledger, in a file and on a server."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import pickle
import threading

import joblib
import pytest

from discreet.events import DiscreteLaplace
from discreet.ledger import BudgetExceeded, Ledger
from discreet.measures import PureDP

fork = multiprocessing.get_context("fork")
_names = itertools.count()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path) -> str:
    """A ledger that doesn't exist yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/budget.db"
    server = request.getfixturevalue("spare_postgres_server")
    return f"{server.url()}?ledger=shared_{next(_names)}"


def test_sixteen_processes_fill_a_limit_exactly(url: str) -> None:
    ledger = Ledger(url, limit=PureDP(1))

    def work() -> None:
        mine = 0
        for _ in range(20):
            try:
                ledger.charge(DiscreteLaplace(200))
                mine += 1
            except BudgetExceeded:
                break
        os._exit(mine)

    workers = [fork.Process(target=work) for _ in range(16)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sum(worker.exitcode for worker in workers) == 200
    assert ledger.remaining() == PureDP(0)
    ledger.verify()


def test_several_processes_may_create_the_same_ledger(url: str) -> None:
    def work(i: int) -> None:
        try:
            Ledger(url, limit=PureDP(1 + i % 2)).charge(DiscreteLaplace(100))
        except ValueError:
            os._exit(3)  # somebody with another limit was first
        os._exit(0)

    workers = [fork.Process(target=work, args=(i,)) for i in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    codes = [worker.exitcode for worker in workers]
    assert codes in ([0, 3] * 4, [3, 0] * 4)
    assert len(Ledger(url).entries()) == 5
    Ledger(url).verify()


def test_forks_while_threads_charge(url: str) -> None:
    ledger = Ledger(url, limit=PureDP(100))
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            ledger.charge(DiscreteLaplace(1000))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    children = []
    for _ in range(6):
        child = os.fork()
        if child == 0:
            try:
                # no connection of the parent came along
                assert ledger._store.engine.pool.checkedin() == 0
                for _ in range(5):
                    ledger.charge(DiscreteLaplace(1000), note="child")
                os._exit(0)
            except BaseException:
                os._exit(1)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    stop.set()
    for thread in threads:
        thread.join()
    assert codes == [0] * 6
    assert sum(entry.note == "child" for entry in ledger.entries()) == 30
    ledger.verify()


def test_joblib_workers_and_pickles_share_the_ledger(url: str) -> None:
    ledger = Ledger(url, limit=PureDP(1))
    again = pickle.loads(pickle.dumps(ledger.account("team", PureDP(0.5))))
    again.charge(DiscreteLaplace(100))
    with joblib.parallel_config(backend="loky", n_jobs=2):
        entries = joblib.Parallel()(
            joblib.delayed(ledger.charge)(DiscreteLaplace(100), note=str(i)) for i in range(4)
        )
    assert sorted(entry.number for entry in entries) == [3, 4, 5, 6]
    assert ledger.spent() == PureDP(0.05)
    ledger.verify()
