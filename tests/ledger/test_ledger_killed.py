"""Processes that are killed, of a ledger in a file and of one on a server; backends and servers that die."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from discreet.events import DiscreteLaplace
from discreet.ledger import BudgetExceeded, Ledger, LedgerUnavailable
from discreet.measures import PureDP

fork = multiprocessing.get_context("fork")
_names = itertools.count()


@dataclass(frozen=True)
class Place:
    """Where a ledger is kept, for how many charges it has room, and what dies beside its processes."""

    url: str
    room: int
    disasters: tuple[Callable[[], None], ...] = ()


def _server_url(server) -> str:
    return f"{server.url()}?ledger=study_{next(_names)}"


def _server_disasters(server) -> tuple[Callable[[], None], ...]:
    def kill_a_backend() -> None:  # the server ends all others and recovers by itself
        os.kill(random.Random(1).choice(_backends(server)), signal.SIGKILL)
        server.wait()

    def crash() -> None:
        server.stop("immediate")
        time.sleep(0.3)
        server.start()

    return kill_a_backend, crash, lambda: server.restart("fast")


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, url: str) -> Place:
    """A ledger that doesn't exist yet."""
    if request.param == "sqlite":
        return Place(url, 3000)
    server = request.getfixturevalue("spare_postgres_server")
    return Place(_server_url(server), 1200, _server_disasters(server))


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


def _acknowledged(files: list[Path]) -> list[tuple[int, str, str]]:
    """Number, hash and token of what was written down whole."""
    lines = [line for file in files for line in file.read_text().splitlines(keepends=True)]
    parts = [line.split() for line in lines if line.endswith("\n")]
    return [(int(number), hash_, token) for number, hash_, token in parts]


def test_nothing_that_dies_loses_an_entry_or_passes_the_limit(place: Place, tmp_path: Path) -> None:
    ledger = Ledger(place.url, limit=PureDP(2))
    scale, files = place.room // 2, [tmp_path / f"worker{i}" for i in range(24)]
    workers = [
        fork.Process(target=_charge_until_refused, args=(place.url, scale, file)) for file in files
    ]
    for worker in workers[:16]:
        worker.start()
    chance = random.Random(20240229)
    waiting, victims = workers[16:], chance.sample(workers[:16], 8)

    def kill_some(count: int) -> None:
        for _ in range(count):
            victim = victims.pop()
            time.sleep(chance.uniform(0.01, 0.1))
            if victim.exitcode is None:
                os.kill(victim.pid, signal.SIGKILL)
            waiting.pop().start()  # somebody else takes its place

    def progress(beyond: int) -> int:
        deadline = time.monotonic() + 60
        while (count := ledger.head[1]) <= beyond:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return count

    count = progress(100)
    for disaster in place.disasters:
        kill_some(2)
        disaster()
        count = progress(count + 50)
        assert count < place.room
    kill_some(len(victims))
    for worker in workers:
        worker.join(timeout=120)
    problems = [path.read_text() for path in tmp_path.glob("*.error")]
    assert problems == []
    codes = [worker.exitcode for worker in workers]
    killed = codes.count(-signal.SIGKILL)
    assert set(codes) == {7, -signal.SIGKILL}
    assert killed >= 6

    entries = ledger.entries()
    assert ledger.spent() == PureDP(2)
    assert len(entries) == 1 + place.room
    seen = _acknowledged(files)
    assert len(set(seen)) == len(seen)
    assert set(seen) <= {(entry.number, entry.hash, entry.token) for entry in entries}
    # at most one entry of each killed process was booked but not acknowledged
    assert place.room - killed <= len(seen) <= place.room
    ledger.verify()
    Ledger(place.url).verify(*ledger.head)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_the_server_restarts_between_charges(spare_postgres_server, mode: str) -> None:
    ledger = Ledger(_server_url(spare_postgres_server), limit=PureDP(1))
    ledger.charge(DiscreteLaplace(10))
    spare_postgres_server.restart(mode)
    ledger.charge(DiscreteLaplace(10))
    spare_postgres_server.restart(mode)
    assert ledger.spent() == PureDP(0.2)
    ledger.verify()


def test_a_charge_waits_while_the_server_restarts(spare_postgres_server) -> None:
    ledger = Ledger(_server_url(spare_postgres_server), limit=PureDP(1))
    spare_postgres_server.stop()
    starter = threading.Timer(0.5, spare_postgres_server.start)
    starter.start()
    try:
        assert ledger.charge(DiscreteLaplace(10)).number == 1
    finally:
        starter.join()
    ledger.verify()


def test_a_backend_is_ended_in_the_middle_of_a_charge(spare_postgres_server, monkeypatch):
    from discreet.ledger import journal

    ledger = Ledger(_server_url(spare_postgres_server), limit=PureDP(1))
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
