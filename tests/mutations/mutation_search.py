"""Search for tests that catch a weakened copy: those that come by its line, the fastest first.

Probes at the sites say which tests reach which; these alone are set on a copy. What is found is a candidate:
whether it tests a property, and not a stored output, is for a person to judge.
"""

from __future__ import annotations

import ast
import importlib
import json
import signal
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mutation_copies import exchange_code
from mutation_runs import OPTIONS, ROOT, Runner
from mutation_sites import Site, swaps_in

__all__ = ["FOLDERS", "Probes", "find_killer", "read_reached", "write_reached"]

#: Folders and files of tests that compare with what was stored, or know nothing of guarantees.
NO_CANDIDATES = (
    "golden",
    "published",
    "looks",
    "guide",
    "papers",
    "documents",
    "findings",
    "topics",
)
#: Where tests are looked for; those beside the folders, too.
FOLDERS = (
    *("", "accounting", "measures", "laws", "ledger", "dataset", "columns", "queries", "noise"),
    *("mechanisms", "engines", "models", "publish", "guarantees", "audit"),
)

MARKS = "not slow and not long"
#: Of a test with parameters, so many cases are looked at.
MAX_CASES = 3
#: A case that takes more seconds of the processor is no candidate.
MAX_SECONDS = 2.0

#: The tests that are tried on a copy take no longer together.
MAX_SEARCH = 20.0

#: For each site the tests that come by it, with the seconds that they take.
Reached = dict[str, dict[str, float]]


class Probes:
    """Copies of functions that say which sites were reached."""

    def __init__(self, sites: Iterable[Site]) -> None:
        self.sites = list(sites)
        self.seen: set[int] = set()
        modules = defaultdict(list)
        for number, site in enumerate(self.sites):
            modules[site.module].append((site, number))
        for module, numbered in modules.items():
            self._put(module, dict(numbered))

    def _put(self, module: str, numbers: dict[Site, int]) -> None:
        path = importlib.import_module(module).__file__
        assert path is not None
        tree = ast.parse(Path(path).read_text("utf-8"))
        owners = dict(_owners(tree, None))
        wanted: dict[int, list[int]] = defaultdict(list)
        functions = {}
        for site, function, (old, _) in swaps_in(tree, module):
            if site in numbers:
                wanted[id(owners[old])].append(numbers[site])
                functions[site.function] = function
        for node in ast.walk(tree):
            for field in ("body", "orelse", "finalbody"):
                if isinstance(body := getattr(node, field, None), list):
                    body[:] = [new for old in body for new in (*_calls(old, wanted), old)]
        for name, function in functions.items():
            exchange_code(module, name, function, tree, self)

    def __call__(self, number: int) -> None:
        self.seen.add(number)


def _owners(node: ast.AST, statement: ast.stmt | None) -> Iterator[tuple[ast.AST, ast.stmt | None]]:
    """Each node with the innermost statement that it is in."""
    statement = node if isinstance(node, ast.stmt) else statement
    yield node, statement
    for child in ast.iter_child_nodes(node):
        yield from _owners(child, statement)


def _calls(statement: ast.stmt, wanted: dict[int, list[int]]) -> Iterator[ast.stmt]:
    for number in wanted.get(id(statement), ()):
        (call,) = ast.parse(f"_mutant({number})").body
        for node in ast.walk(call):
            ast.copy_location(node, statement)
        yield call


def _stop(*_: object) -> None:
    raise TimeoutError


class _Listen:
    """Writes down for each test which sites it reached."""

    def __init__(self, sites: list[Site], path: Path) -> None:
        self._sites, self._path = sites, path
        self._start = 0.0

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Of a test with many parameters, a few are enough to see where it goes."""
        cases: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            cases[item.nodeid.partition("[")[0]].append(item)
        items[:] = [case for each in cases.values() for case in each[:: len(each) // MAX_CASES + 1]]

    def pytest_collection_finish(self) -> None:
        self._probes = Probes(self._sites)

    def pytest_runtest_logstart(self) -> None:
        self._probes.seen.clear()
        self._start = time.process_time()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        signal.signal(signal.SIGPROF, _stop)
        signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "teardown" or report.failed:
            name = report.nodeid.partition("[")[0]
            took = time.process_time() - self._start
            sites = [str(self._sites[number]) for number in sorted(self._probes.seen)]
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([name, took, report.failed, sites]) + "\n")


def write_reached(sites: list[Site], path: Path, folders: Iterable[str]) -> None:
    """Run the tests once, and add to a file which sites each reaches."""
    files = [
        str(file)
        for folder in folders
        for file in sorted(
            (ROOT / "tests" / folder).glob("**/test_*.py" if folder else "test_*.py")
        )
        if not any(word in file.name for word in NO_CANDIDATES)
    ]
    pytest.main(
        [*OPTIONS, "--rootdir", str(ROOT), "-m", MARKS, *files], plugins=[_Listen(sites, path)]
    )


def read_reached(path: Path) -> Reached:
    """For each site the tests that reach it, with their seconds; without those that fail anyway."""
    seconds: dict[str, float] = defaultdict(float)
    tests: dict[str, set[str]] = defaultdict(set)
    wrong = set()
    for line in path.read_text("utf-8").splitlines():
        name, took, failed, sites = json.loads(line)
        seconds[name] += took
        if failed:
            wrong.add(name)
        for site in sites:
            tests[site].add(name)
    return {site: {name: seconds[name] for name in names - wrong} for site, names in tests.items()}


def find_killer(runner: Runner, site: Site, reached: Reached) -> str:
    """The fastest test that catches a copy, among those that reach it; "" if none was found."""
    candidates = reached.get(str(site), {})
    home = f"tests/{site.module.split('.')[1]}"
    order = sorted(
        candidates, key=lambda name: candidates[name] * (1 if name.startswith(home) else 3)
    )
    chosen, total = [], 0.0
    for name in order:
        total += candidates[name]
        if total > MAX_SEARCH:
            break
        chosen.append(name)
    return runner.run(site, chosen, limit=20 * MAX_SEARCH).killer if chosen else ""
