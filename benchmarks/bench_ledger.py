"""How fast the ledger is, against its bars. Every charge is hashed and synced to the disk."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Callable

from discreet.events import DiscreteLaplace
from discreet.ledger import Ledger
from discreet.measures import ApproxDP

EVENT = DiscreteLaplace(1000)
LIMIT = ApproxDP(10**6, 1e-6)
PROCESSES = 16
CHARGES, CHARGES_EACH, ENTRIES = 1000, 60, 10_000
QUICK = {"PROCESSES": 2, "CHARGES": 20, "CHARGES_EACH": 5, "ENTRIES": 250}


def _seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def _charges(ledger: Ledger, count: int) -> None:
    for _ in range(count):
        ledger.charge(EVENT)


def _worker(url: str, count: int, ready: object, go: object) -> None:
    ledger = Ledger(url)
    ledger.remaining()
    ready.release()  # type: ignore[attr-defined]
    go.wait()  # type: ignore[attr-defined]
    _charges(ledger, count)


def _together(url: str, count: int) -> float:
    """Seconds for all processes to make `count` charges each, after all have opened the ledger."""
    context = multiprocessing.get_context("fork")
    ready, go = context.Semaphore(0), context.Event()
    workers = [
        context.Process(target=_worker, args=(url, count, ready, go)) for _ in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    for _ in workers:
        ready.acquire()
    start = time.perf_counter()
    go.set()
    for worker in workers:
        worker.join()
    return time.perf_counter() - start


def _report(what: str, value: float, unit: str, bar: float, *, at_least: bool) -> int:
    passed = value >= bar if at_least else value <= bar
    sign = ">=" if at_least else "<="
    print(
        f"{'PASS' if passed else 'FAIL'}  ledger: {what}: {value:,.1f} {unit} ({sign} {bar:,.0f})"
    )
    return not passed


def main() -> int:
    """Print each figure with PASS or FAIL; the number of failures."""
    failures = 0
    with tempfile.TemporaryDirectory() as directory:
        url = f"sqlite:///{directory}/budget.db"
        ledger = Ledger(url, limit=LIMIT)
        _charges(ledger, 100)
        rate = max(CHARGES / _seconds(lambda: _charges(ledger, CHARGES)) for _ in range(3))
        failures += _report("charges, one process", rate, "per second", 1000, at_least=True)

        rate = max(PROCESSES * CHARGES_EACH / _together(url, CHARGES_EACH) for _ in range(3))
        name = f"charges, {PROCESSES} processes"
        failures += _report(name, rate, "per second", 500, at_least=True)

        _charges(ledger, ENTRIES - ledger.head[1])
        assert ledger.head[1] == ENTRIES
        took = min(_seconds(lambda: Ledger(url).remaining()) for _ in range(5))
        failures += _report(
            f"open and total {ENTRIES} entries", took * 1e3, "ms", 50, at_least=False
        )
        took = min(_seconds(lambda: Ledger(url).verify()) for _ in range(3))
        failures += _report(f"verify {ENTRIES} entries", took * 1e3, "ms", 1000, at_least=False)
    return failures


if __name__ == "__main__":
    raise SystemExit(main())
