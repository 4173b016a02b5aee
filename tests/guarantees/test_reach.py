"""What an attack really runs lies in the dossiers that its claim cites: no code is forgotten."""

from __future__ import annotations

import multiprocessing
import sys
import threading
from functools import cache
from pathlib import Path
from types import CodeType

import pytest

import discreet
from discreet.audit import run_attack
from discreet.guarantees import all_attacks, all_claims, topics
from discreet.guarantees.dossiers import FOUNDATIONS, all_dossiers, homes, rests_on

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import looks

PACKAGE = Path(discreet.__file__).parent
RECORD = looks.read_lock()
CLAIMS = {claim.name: claim for claim in all_claims()}

#: Attacks that take a second or so: together they reach every foundation.
QUICK = [
    "discrete-laplace",
    "charged-before-read",
    "joint-vector",
    "standard-scaler",
    "hybrid-mean",
    "half-the-noise",
]


def reached(name: str) -> set[tuple[str, str]]:
    """The module and qualified name of every function of the package that an attack runs."""
    codes: set[CodeType] = set()

    def note(frame, event, argument):
        codes.add(frame.f_code)

    threading.settrace(note)
    sys.settrace(note)
    try:
        list(run_attack(all_attacks()[name], effort=1e-9))
    finally:
        sys.settrace(None)
        threading.settrace(None)
    return {
        (_module(Path(code.co_filename)), code.co_qualname)
        for code in codes
        if Path(code.co_filename).is_relative_to(PACKAGE)
    }


def _module(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def in_another_process(name: str) -> set[tuple[str, str]]:
    """The same in a fresh copy of this process, whose caches other attacks haven't filled."""
    all_attacks()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(reached, (name,))


def entry_of(module: str, function: str) -> str:
    """The entry of the record that a running function is in: its own, or that of its class or module."""
    known = {entry for look in RECORD.values() for entry in look.code}
    parts = function.split(".<locals>")[0].split(".")
    names = [f"{module}:{'.'.join(parts[:length])}" for length in range(len(parts), 0, -1)]
    return next((name for name in [*names, module] if name in known), "")


def uncited(name: str, ran: set[tuple[str, str]], cited: tuple[str, ...]) -> list[str]:
    """Functions that ran and lie in no cited dossier, or have no entry in the record."""
    found = []
    for module, function in sorted(ran):
        where = homes(module)
        if where == ["exempt"]:
            continue
        if not set(where) & set(cited) or not entry_of(module, function):
            found.append(f"{name} runs {module}:{function} of {where}")
    return found


@pytest.mark.parametrize("name", QUICK)
def test_an_attack_runs_only_what_its_claim_cites(name):
    ran = in_another_process(CLAIMS[name].audit)
    assert len(ran) > 20
    assert uncited(name, ran, rests_on(name)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CLAIMS if name not in QUICK])
def test_every_attack_runs_only_what_its_claim_cites(name):
    assert uncited(name, in_another_process(CLAIMS[name].audit), rests_on(name)) == []


def test_code_that_is_not_cited_is_noticed():
    ran = in_another_process("charged-before-read")
    cited = rests_on("charged-before-read")
    for left_out in ("door", "engines", "ledger"):
        fewer = tuple(name for name in cited if name != left_out)
        lines = uncited("charged-before-read", ran, fewer)
        assert lines
        assert all(left_out in line for line in lines)


def test_the_quick_attacks_reach_every_foundation():
    ran = {module for name in QUICK for module, _ in in_another_process(CLAIMS[name].audit)}
    met = {name for module in ran for name in homes(module)}
    assert met >= {foundation.name for foundation in FOUNDATIONS}


def test_what_is_exempt_runs_only_on_the_attackers_side():
    ran = in_another_process("charged-before-read")
    exempt = {module for module, _ in ran if homes(module) == ["exempt"]}
    assert all(
        m.startswith(("discreet.audit", "discreet.guarantees")) or m == "discreet" for m in exempt
    )


def test_topics_cite_other_dossiers_by_name():
    known = all_dossiers()
    for topic in topics():
        assert set(known[topic].rests_on) <= known.keys() - {topic}
