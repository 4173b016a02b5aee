"""Every line that a guarantee rests on is watched: each site has a mutant, and each mutant a killer."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from mutation_data import Mutant, all_mutants, beyond, compare, read_mutant, sites_to_list
from mutation_operators import OPERATORS
from mutation_sites import Site, all_sites, find_sites

from discreet.guarantees import all_claims
from shares import find_commit

ROOT = Path(__file__).parents[2]
SUITE = ROOT / "tests" / "mutations" / "mutation_suite.py"
RECORD = ROOT / "docs" / "mutants.json"

#: Mutants that nothing catches yet. The number may fall, never rise.
MAX_OPEN = 0
#: Tests that compare with what was stored know nothing of a guarantee: they catch every change.
NO_KILLERS = ("golden", "published", "looks", "guide", "papers")
#: Copies that once survived everything: an attack and a test must catch each.
FORMER_SURVIVORS = [
    ("PreparedBounds.answer", "drop-noise"),
    ("BlockCentres.run", "halve-noise"),
    ("score_sensitivity", "forget-replacement"),
    ("BestSplit._find_parts", "count-own-rows"),
]


@cache
def compared() -> tuple[list[Mutant], list[Site], list[Mutant]]:
    return compare(sites_to_list(), all_mutants())


@cache
def functions_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_site_has_a_mutant() -> None:
    lacking = compared()[1]
    assert not lacking, "sites without a line in tests/mutations/mutants/:\n" + "\n".join(
        map(str, lacking)
    )


def test_every_mutant_has_a_site() -> None:
    gone = compared()[2]
    assert not gone, "lines that speak of nothing:\n" + "\n".join(map(str, gone))
    assert len({mutant.site for mutant in all_mutants()}) == len(all_mutants())


def test_a_new_mechanism_without_a_line_is_noticed() -> None:
    code = "class New:\n def run(self, t):\n  return t + noise.discrete_laplace(self.s, t.shape)"
    new = find_sites("discreet.mechanisms.new", code)
    assert len(new) == 3
    assert compare([*sites_to_list(), *new], all_mutants())[1] == [*compared()[1], *new]


def test_a_function_that_moved_keeps_its_lines() -> None:
    site = Site("discreet.mechanisms.old", "New.run", "drop-noise", "noise.select(s, 1)")
    moved = Site("discreet.mechanisms.new", "New.run", "drop-noise", "noise.select(s, 1)")
    found, lacking, gone = compare([moved], [Mutant(site, ("attack:x",))])
    assert (found, lacking, gone) == ([Mutant(moved, ("attack:x",))], [], [])
    assert read_mutant(str(Mutant(site, ("attack:x",)))) == Mutant(site, ("attack:x",))


def test_code_after_the_noise_is_there_and_explained() -> None:
    for rule in beyond():
        assert any(rule.holds(site) for site in all_sites()), rule
        assert rule.operator == "drop-clip", (
            "only what is held within bounds can come after the noise"
        )
        assert rule.reason


def test_killers_are_attacks_and_tests_that_are_there() -> None:
    attacks = {claim.audit for claim in all_claims()}
    for killer in {killer for mutant in all_mutants() for killer in mutant.killers}:
        if killer.startswith("attack:"):
            assert killer.removeprefix("attack:") in attacks, killer
        else:
            file, _, name = killer.partition("::")
            assert name in functions_in(file), killer
            assert not any(word in file for word in NO_KILLERS), killer


def test_there_are_many_mutants_and_few_that_are_open() -> None:
    mutants = compared()[0]
    assert sum(bool(mutant.killers) for mutant in mutants) >= 150
    assert sum(bool(mutant.open) for mutant in mutants) <= MAX_OPEN
    assert {mutant.site.operator for mutant in mutants} == set(OPERATORS)


def test_equivalent_mutants_have_a_proof() -> None:
    for mutant in all_mutants():
        if mutant.equivalent:
            assert len(mutant.equivalent.split()) >= 8, mutant


@pytest.mark.parametrize(("function", "operator"), FORMER_SURVIVORS)
def test_former_survivors_are_caught_by_an_attack_and_by_a_test(
    function: str, operator: str
) -> None:
    found = [m for m in all_mutants() if (m.site.function, m.site.operator) == (function, operator)]
    assert found
    for mutant in found:
        kinds = Counter(killer.startswith("attack:") for killer in mutant.killers)
        assert kinds[True] >= 1, mutant
        assert kinds[False] >= 1, mutant


def test_the_record_is_that_of_these_mutants() -> None:
    told = json.loads(RECORD.read_text("utf-8"))
    tried = Counter(mutant.site.topic for mutant in compared()[0] if mutant.killers)
    assert {topic: row["tried"] for topic, row in told.items() if row["tried"]} == dict(tried)
    assert all(row["killed"] == row["tried"] for row in told.values())


def run_suite(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, str(SUITE), "run", *arguments], cwd=ROOT, capture_output=True, text=True
    )
    wrong = [line for line in done.stdout.splitlines() if line.startswith("WRONG")]
    assert done.returncode == 0, "\n".join(wrong) or done.stdout[-2000:] + done.stderr[-2000:]


def commit() -> str:
    """What names the state of the code: the commit, or without git a hash of all sites."""
    return find_commit() or hashlib.sha256(repr(all_sites()).encode()).hexdigest()


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_tenth_of_the_mutants_chosen_by_the_commit_is_killed() -> None:
    run_suite("--tenth", commit(), "--seconds", "150")


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_all_mutants_are_killed() -> None:
    run_suite()
