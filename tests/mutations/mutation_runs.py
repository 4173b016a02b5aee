"""Run weakened copies against what must catch them, each copy in a process of its own.

A killer is the name of an attack, as in ``attack:coded-sums``, or a test, as in
``tests/queries/test_sensitivity.py::test_name``. Everything is imported and all tests are collected once;
each copy is then made in a fork, so nothing has to be put back.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mutation_copies import weaken
from mutation_sites import Site

from discreet import testing
from discreet.audit import run_attack
from discreet.guarantees import all_attacks

__all__ = ["Outcome", "Runner", "with_runner"]

ROOT = Path(__file__).parents[2]
#: The seed of the noise under attack, so that a run can be repeated; any other will do.
SEED = 30
#: After so many seconds a copy counts as one that hangs.
DEFAULT_LIMIT = 100.0
OPTIONS = ("-p", "no:cacheprovider", "-p", "no:xdist", "--timeout", "90")


@dataclass(frozen=True)
class Outcome:
    """What became of one copy: who caught it (nobody: ""), how, and after how long."""

    killer: str
    how: str
    seconds: float


class Runner:
    """A pytest session whose tests are collected, and run only in forks."""

    def __init__(self, session: pytest.Session) -> None:
        self._items: dict[str, list[pytest.Item]] = {}
        for item in session.items:
            name = item.nodeid.partition("[")[0]
            for key in (name, name.partition("::")[0]):
                self._items.setdefault(key, []).append(item)
        self._session = session
        gc.freeze()  # what forks share is not looked at, so it is not copied either

    def run(self, site: Site | None, killers: list[str], limit: float = DEFAULT_LIMIT) -> Outcome:
        """Make the copy in a fork and set the killers on it; None for the code as it is."""
        start = time.monotonic()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            self._run_here(site, killers, writing)
        os.close(writing)
        ready, _, _ = select.select([reading], [], [], limit)
        said = os.read(reading, 65536) if ready else b'["", "hangs"]'
        os.close(reading)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        killer, how = json.loads(said or b'["", "died"]')
        return Outcome(killer, how, time.monotonic() - start)

    def _run_here(self, site: Site | None, killers: list[str], writing: int) -> None:
        """In the fork: it never returns."""
        try:
            os.setsid()
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            if site is not None:
                weaken(site)
            found = self._first_killer(killers)
        except BaseException as error:
            found = "", f"broken: {type(error).__name__}: {error}"[:300]
        os.write(writing, json.dumps(found).encode())
        os._exit(0)

    def _first_killer(self, killers: Iterable[str]) -> tuple[str, str]:
        for killer in killers:
            if killer.startswith("attack:"):
                if how := _attack(killer.removeprefix("attack:")):
                    return killer, how
            elif failed := self._test(killer):
                return failed, "failed"
        return "", ""

    def _test(self, killer: str) -> str:
        """The first of these tests that fails."""
        failed: list[str] = []

        class Listen:
            def pytest_runtest_logreport(self, report: Any) -> None:
                if report.failed:
                    failed.append(report.nodeid.partition("[")[0])

        self._session.config.pluginmanager.register(Listen())
        for item in self._items[killer]:
            self._session.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            if failed:
                return failed[0]
        return ""


def _attack(name: str) -> str:
    # what is attacked there is the entropy itself
    fixed = nullcontext() if name == "noise-never-comes-twice" else testing.fixed_noise(SEED)
    try:
        with fixed:
            found = any(result.is_violated for result in run_attack(all_attacks()[name]))
    except Exception as error:
        return f"raised {type(error).__name__}"
    return "violated" if found else ""


class _Session:
    def __init__(self, act: Callable[[Runner], None]) -> None:
        self._act = act

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._act(Runner(session))
        return True


def with_runner(killers: Iterable[str], act: Callable[[Runner], None]) -> None:
    """Collect the tests among the killers and let `act` run copies against them."""
    all_attacks()
    files = sorted({k.partition("::")[0] for k in killers if not k.startswith("attack:")})
    paths = [str(ROOT / file) for file in files] or [__file__]
    code = pytest.main([*OPTIONS, "--rootdir", str(ROOT), *paths], plugins=[_Session(act)])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise RuntimeError(f"the killers could not be collected: {code!r}")
