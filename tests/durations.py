"""Which tests take long: those that were seen to, by one rule."""

from __future__ import annotations

import os
from pathlib import Path

#: Seconds of tests, as ``pytest --durations=0 --durations-min=1`` prints them on a quiet machine.
RECORD = Path(__file__).with_name("durations.txt")
#: Tests that took this many seconds are marked long.
MIN_SECONDS = 1.0


def read_long(lines: str) -> set[str]:
    """The tests that took `MIN_SECONDS` or more."""
    found = (line.split(maxsplit=2) for line in lines.splitlines() if line.strip())
    return {test for seconds, _, test in found if float(seconds.rstrip("s")) >= MIN_SECONDS}


def long_tests() -> set[str]:
    """The tests on record that took long."""
    return read_long(RECORD.read_text("utf-8"))


def processor_seconds() -> float:
    """Processor time of this process and the children it waited for, which a busy machine doesn't change."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def record_seconds(test: str, seconds: float, path: str) -> None:
    """Add a line to a file that several workers write, in the form of the record."""
    with open(path, "a", encoding="utf-8") as file:
        file.write(f"{seconds:.2f}s call     {test}\n")
