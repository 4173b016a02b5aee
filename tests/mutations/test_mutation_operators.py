"""Operators find what they are for, wherever it stands, and make a copy of it that is weaker."""

from __future__ import annotations

import ast
import json
import textwrap
from pathlib import Path

import pytest
from mutation_operators import OPERATORS
from mutation_search import Probes, read_reached
from mutation_sites import all_sites, find_sites

from discreet.unit import Unit

CODE = {
    "halve-noise": "def f(self, t):\n return t + noise.discrete_laplace(self.scale, t.shape)",
    "drop-noise": "def f(self, t):\n return self._distribution.run(t)",
    "reuse-draw": "def f(s):\n return noise.select(s, 2)",
    "drop-clip": "def f(x):\n return np.clip(x, 0, 1)",
    "off-by-one": "def f(k):\n return Sensitivity(k, 0)",
    "forget-max-rows": "def f(unit):\n return 3 * unit.rows_per_person",
    "forget-replacement": "def f(unit):\n return 2 if unit.relation is REPLACE_ONE else 1",
    "count-own-rows": "def f(part, known):\n return replace(part, known=known)",
    "charge-less": "def f(e, n):\n return events.Repeat(e, n)",
    "halve-cost": "def f(e):\n return PureDP(e.epsilon)",
    "skip-check": "def f(x):\n if x.l1:\n  raise NoBound('no')",
    "read-first": "def f(self, e):\n self._charge(e)\n return self.rows()",
}
#: Where an operator looks in certain modules alone.
HOMES = {"halve-cost": "discreet.accounting.new", "read-first": "discreet.dataset"}


def operators_at(operator: str, code: str) -> list[str]:
    module = HOMES.get(operator, "discreet.mechanisms.new")
    return [site.operator for site in find_sites(module, textwrap.dedent(code))]


@pytest.mark.parametrize("operator", list(OPERATORS))
def test_a_new_mechanism_is_found_without_being_listed(operator: str) -> None:
    assert operator in operators_at(operator, CODE[operator])


@pytest.mark.parametrize("operator", list(OPERATORS))
def test_a_copy_differs_and_compiles(operator: str) -> None:
    tree = ast.parse(CODE[operator])
    module = HOMES.get(operator, "discreet.mechanisms.new")
    for node in ast.walk(tree):
        for old, new in OPERATORS[operator](node, (module, "f")):
            if isinstance(new, ast.expr):
                assert ast.unparse(new) != ast.unparse(old)
                compile(ast.fix_missing_locations(ast.Expression(new)), "copy", "eval")


def test_sites_keep_their_names_when_a_function_grows_or_moves() -> None:
    before = find_sites("discreet.mechanisms.new", CODE["drop-noise"])
    longer = "import os\n\n\ndef g():\n return 1\n\n\n" + CODE["drop-noise"]
    assert find_sites("discreet.mechanisms.new", longer) == before
    twice = "def f(a, b):\n return np.clip(a, 0, 1) + np.clip(a, 0, 1)"
    assert [site.number for site in find_sites("discreet.queries.new", twice)] == [1, 2]


@pytest.mark.parametrize(
    "code",
    [
        "def f(x):\n return frame.select(x)",
        "def f(e):\n return mechanisms.Gaussian(e)",
        "def f(rng):\n return rng.permutation(3)",
        "def spread(x):\n return x.std()",
    ],
)
def test_what_only_looks_alike_is_left_alone(code: str) -> None:
    assert operators_at("", code) == []


def test_probes_say_which_sites_are_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("Unit.rows_per_person", "Unit.length_is_public")
    sites = [site for site in all_sites() if site.function in names]
    assert {site.function for site in sites} == set(names)
    for name in ("rows_per_person", "length_is_public"):
        function = vars(Unit)[name].fget
        monkeypatch.setattr(function, "__code__", function.__code__)  # put back afterwards
    probes = Probes(sites)
    assert Unit().rows_per_person == 1
    assert {sites[number].function for number in probes.seen} == {"Unit.rows_per_person"}


def test_tests_that_fail_anyway_are_no_candidates(tmp_path: Path) -> None:
    lines = [
        ["a.py::test_fast", 0.1, False, ["x", "y"]],
        ["a.py::test_fast", 0.2, False, ["x"]],
        ["a.py::test_wrong", 0.1, True, ["x"]],
    ]
    path = tmp_path / "reached.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = read_reached(path)
    assert {site: list(tests) for site, tests in found.items()} == {
        "x": ["a.py::test_fast"],
        "y": ["a.py::test_fast"],
    }
    assert found["x"]["a.py::test_fast"] == pytest.approx(0.3)
