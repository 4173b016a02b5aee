"""How fast a ledger in PostgreSQL is, against its bars, on a temporary server with fsync on."""

from __future__ import annotations

import sys
from pathlib import Path

import bench_ledger
from bench_ledger import EVENT, LIMIT, _charges, _report, _seconds, _together

from discreet.ledger import Ledger

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from postgres import PostgresServer

BAR = 250
CHARGES, CHARGES_EACH = 500, 30
QUICK = {"CHARGES": 10, "CHARGES_EACH": 2}


def main() -> int:
    """Print each figure with PASS or FAIL; the number of failures."""
    failures = 0
    try:
        server = PostgresServer()
    except FileNotFoundError as error:
        print(f"ledger in PostgreSQL: left out, {error}")
        return 0
    try:
        url = server.url()
        ledger = Ledger(url, limit=LIMIT)
        _charges(ledger, 100)
        rate = max(CHARGES / _seconds(lambda: _charges(ledger, CHARGES)) for _ in range(3))
        name = "PostgreSQL, charges, one process"
        failures += _report(name, rate, "per second", BAR, at_least=True)

        processes = bench_ledger.PROCESSES
        rate = max(processes * CHARGES_EACH / _together(url, CHARGES_EACH) for _ in range(3))
        name = f"PostgreSQL, charges, {processes} processes"
        failures += _report(name, rate, "per second", BAR, at_least=True)
        ledger.verify()
        assert ledger.entries()[-1].event == EVENT
    finally:
        server.close()
    return failures


if __name__ == "__main__":
    raise SystemExit(main())
