"""Many processes at one PostgreSQL server; processes, backends and the server itself die."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import pickle
import random
import signal
import threading
import time
from pathlib import Path

import joblib
import pytest

from discreet.events import DiscreteLaplace
from discreet.ledger import BudgetExceeded, Ledger, LedgerUnavailable
from discreet.measures import PureDP

fork = multiprocessing.get_context("fork")
_names = itertools.count()


@pytest.fixture
def url(spare_postgres_server) -> str:
    """A ledger that doesn't exist yet."""
    return f"{spare_postgres_server.url()}?ledger=study_{next(_names)}"


def _charge_until_refused(url: str, scale: int, acknowledged: Path) -> None:
    """Charge as often as possible; write down every entry that was acknowledged, on the disk."""
    try:
        ledger = _opened(url)
        file = os.open(acknowledged, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        while True:
            entry = ledger.charge(DiscreteLaplace(scale))
            os.write(file, f"{entry.number} {entry.hash} {entry.token}\n".encode())
            os.fsync(file)
    except BudgetExceeded:
        os._exit(7)
    except BaseException as error:
        acknowledged.with_suffix(".error").write_text(f"{type(error).__name__}: {error}")
        os._exit(9)


def _opened(url: str) -> Ledger:
    """The ledger; a server that is down says so at once to somebody new."""
    while True:
        try:
            return Ledger(url)
        except LedgerUnavailable as error:
            if "no server answers" not in str(error):
                raise
            time.sleep(0.05)


def _backends(server) -> list[int]:
    rows = server.execute("SELECT pid FROM pg_stat_activity WHERE application_name = 'discreet'")
    return [int(row[0]) for row in rows]


def test_nothing_that_dies_loses_an_entry_or_passes_the_limit(
    url: str, spare_postgres_server, tmp_path: Path
) -> None:
    server, room = spare_postgres_server, 1200
    ledger = Ledger(url, limit=PureDP(2))
    files = [tmp_path / f"worker{i}" for i in range(24)]
    workers = [
        fork.Process(target=_charge_until_refused, args=(url, room // 2, file)) for file in files
    ]
    for worker in workers[:16]:
        worker.start()
    chance = random.Random(20240229)
    waiting, killed = workers[16:], 0
    victims = chance.sample(workers[:16], 8)

    def kill_some(count: int) -> int:
        done = 0
        for _ in range(count):
            victim = victims.pop()
            time.sleep(chance.uniform(0.01, 0.1))
            if victim.exitcode is None:
                os.kill(victim.pid, signal.SIGKILL)
                done += 1
            waiting.pop().start()  # somebody else takes its place
        return done

    def progress(beyond: int) -> int:
        deadline = time.monotonic() + 60
        while (count := ledger.head[1]) <= beyond:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return count

    count = progress(100)
    killed += kill_some(3)
    # a backend dies: the server ends all others and recovers by itself
    os.kill(chance.choice(_backends(server)), signal.SIGKILL)
    server.wait()
    count = progress(count + 50)
    killed += kill_some(3)
    # the server crashes, and is started again
    server.stop("immediate")
    time.sleep(0.3)
    server.start()
    count = progress(count + 50)
    killed += kill_some(2)
    server.restart("fast")
    assert progress(count + 50) < room
    for worker in workers:
        worker.join(timeout=120)
    problems = [path.read_text() for path in tmp_path.glob("*.error")]
    assert problems == []
    assert {worker.exitcode for worker in workers} == {7, -signal.SIGKILL}
    assert killed >= 6

    entries = ledger.entries()
    assert ledger.spent() == PureDP(2)
    assert len(entries) == 1 + room
    by_number = {entry.number: (entry.hash, entry.token) for entry in entries}
    seen: set[int] = set()
    for file in files:
        for line in file.read_bytes().decode().splitlines(keepends=True):
            if line.endswith("\n"):
                number, hash_, token = line.split()
                assert by_number[int(number)] == (hash_, token)
                assert int(number) not in seen
                seen.add(int(number))
    # at most one entry of each killed process was booked but not acknowledged
    assert room - killed <= len(seen) <= room
    ledger.verify()
    Ledger(url).verify(*ledger.head)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_the_server_restarts_between_charges(url: str, spare_postgres_server, mode: str) -> None:
    ledger = Ledger(url, limit=PureDP(1))
    ledger.charge(DiscreteLaplace(10))
    spare_postgres_server.restart(mode)
    ledger.charge(DiscreteLaplace(10))
    spare_postgres_server.restart(mode)
    assert ledger.spent() == PureDP(0.2)
    ledger.verify()


def test_a_charge_waits_while_the_server_restarts(url: str, spare_postgres_server) -> None:
    ledger = Ledger(url, limit=PureDP(1))
    spare_postgres_server.stop()
    starter = threading.Timer(0.5, spare_postgres_server.start)
    starter.start()
    try:
        assert ledger.charge(DiscreteLaplace(10)).number == 1
    finally:
        starter.join()
    ledger.verify()


def test_a_backend_is_ended_in_the_middle_of_a_charge(url, spare_postgres_server, monkeypatch):
    from discreet.ledger import journal

    ledger = Ledger(url, limit=PureDP(1))
    ended, original = [], journal.run

    def interrupted(connection, statement, **values):
        if statement is journal._append and not ended:
            for backend in _backends(spare_postgres_server):
                spare_postgres_server.execute(f"SELECT pg_terminate_backend({backend})")
                ended.append(backend)
        return original(connection, statement, **values)

    monkeypatch.setattr(journal, "run", interrupted)
    assert ledger.charge(DiscreteLaplace(10)).number == 1
    assert ended
    assert ledger.spent() == PureDP(0.1)
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
