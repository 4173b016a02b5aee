"""Run all benchmarks; each prints its figures, with a bar where there is one."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path


def main() -> int:
    """The number of bars that were missed."""
    here = Path(__file__).parent
    sys.path.insert(0, str(here))
    failures = 0
    for path in sorted(here.glob("bench_*.py")):
        print(f"\n== {path.stem.removeprefix('bench_')} ==")
        failures += importlib.import_module(path.stem).main()
    print(f"\n{failures} bars missed" if failures else "\nall bars hold")
    return failures


if __name__ == "__main__":
    sys.exit(min(main(), 1))
