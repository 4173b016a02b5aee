"""Run all benchmarks; each prints its figures, with a bar where there is one.

``python benchmarks/run.py`` runs every ``bench_*.py`` beside this file, or those whose names are given
(``run.py noise ledger``). A benchmark has a function `main`, which returns the number of bars it missed, and
a dictionary `QUICK` of constants, which ``--quick`` puts in the place of its own: a run of seconds that shows
whether everything runs, and whose figures mean nothing. A benchmark whose package is not installed is left
out. One that raises is shown with its traceback and counted, and the others run all the same.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).parent


def names() -> list[str]:
    """The benchmarks, without their prefix."""
    return [path.stem.removeprefix("bench_") for path in sorted(HERE.glob("bench_*.py"))]


def load(name: str) -> ModuleType | None:
    """The module of a benchmark; None, with a line that says why, if a package of others is absent."""
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    try:
        return importlib.import_module(f"bench_{name}")
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "discreet" or (HERE / f"{package}.py").exists():
            raise
        print(f"{name}: left out, {package} is not installed", flush=True)
        return None


def run(name: str, quick: bool) -> int | None:
    """The number of bars that a benchmark missed; None if it raised."""
    try:
        module = load(name)
        if module is None:
            return 0
        if quick:
            for constant, value in module.QUICK.items():
                getattr(module, constant)  # a name that is not there would change nothing
                setattr(module, constant, value)
        return int(module.main())
    except Exception:
        traceback.print_exc(file=sys.stdout)
        return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; the number of bars that were missed and of benchmarks that raised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="which; all by default")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that all run")
    given = parser.parse_args(arguments)
    if unknown := [name for name in given.names if name not in names()]:
        parser.error(f"no such benchmark: {unknown[0]}")
    missed: dict[str, int] = {}
    raised = []
    for name in given.names or names():
        print(f"\n== {name} ==", flush=True)
        began = time.perf_counter()
        failures = run(name, given.quick)
        print(f"-- {name}: {time.perf_counter() - began:.0f} s", flush=True)
        if failures is None:
            raised.append(name)
        elif failures:
            missed[name] = failures
    if raised:
        print(f"\nraised: {', '.join(raised)}")
    if given.quick:
        print("\nquick: figures and bars mean nothing")
        return len(raised)
    told = ", ".join(f"{name} {count}" for name, count in missed.items())
    print(f"\n{sum(missed.values())} bars missed: {told}" if missed else "\nall bars hold")
    return sum(missed.values()) + len(raised)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
