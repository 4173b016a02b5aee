"""The record of looks: all code that a guarantee rests on has an entry, and a change asks for a look."""

from __future__ import annotations

import ast
import dataclasses
import sys
import tomllib
from pathlib import Path

import pytest

from discreet import guarantees
from discreet.guarantees import dossiers

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import looks  # noqa: E402

SOURCES = looks.read_sources()
RECORD = looks.read_lock()
REASON = "the noise is drawn in one block now; each draw is as noise.md has it"

ONE = '''
"""A module."""
LIMIT = 3

class Mechanism(Base):
    """What it is."""

    scale: int = 2

    @property
    def width(self):
        return 2

    @staticmethod
    def run(value):
        """Add noise."""
        # a remark
        return value + 1

def helper(value):
    def inner():
        return value
    return inner
'''


def differing(old: str, new: str) -> list[str]:
    """The entries of a text that are not as in another."""
    first, second = (looks.fingerprints("m", text) for text in (ONE, ONE.replace(old, new)))
    assert old in ONE
    return [name for name in first | second if first.get(name) != second.get(name)]


def test_every_function_class_and_module_has_an_entry():
    names = ["m:Mechanism.width", "m:Mechanism.run", "m:Mechanism", "m:helper", "m"]
    assert list(looks.fingerprints("m", ONE)) == names


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Add noise.", "Add a little noise."),
        ("A module.", "Words."),
        ("# a remark", "# another remark"),
        ("value + 1", "(value  +\n            1)"),
        ("LIMIT = 3", "from __future__ import annotations\nLIMIT = 3\n__all__ = ['helper']"),
        ("LIMIT = 3", "LIMIT = 3\nif TYPE_CHECKING:\n    from a import b"),
    ],
)
def test_words_and_layout_do_not_count(old, new):
    assert differing(old, new) == []


@pytest.mark.parametrize(
    ("old", "new", "entry"),
    [
        ("value + 1", "value + 2", "m:Mechanism.run"),
        ("value + 1", "value - 1", "m:Mechanism.run"),
        ("run(value)", "run(value=0)", "m:Mechanism.run"),
        ("@staticmethod", "@classmethod", "m:Mechanism.run"),
        ("return 2", "return 3", "m:Mechanism.width"),
        ("scale: int = 2", "scale: int = 1", "m:Mechanism"),
        ("(Base)", "(Other)", "m:Mechanism"),
        ("        return value\n", "        return -value\n", "m:helper"),
        ("LIMIT = 3", "LIMIT = 4", "m"),
        ("LIMIT = 3", "from a import b\nLIMIT = 3", "m"),
    ],
)
def test_what_is_done_counts_where_it_stands(old, new, entry):
    assert differing(old, new) == [entry]


def test_the_record_is_of_the_code_as_it_is():
    assert [str(change) for change in looks.changes(RECORD, SOURCES)] == []


def test_the_record_covers_every_function_that_is_not_exempt():
    covered = {entry for look in RECORD.values() for entry in look.code}
    for module, text in SOURCES.items():
        entries = set(looks.fingerprints(module, text))
        if dossiers.homes(module) == ["exempt"]:
            assert not entries & covered
        else:
            assert entries <= covered


# --- one operator in each kind of code ---

SWAPS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
}
SWAPS |= {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq}
SWAPS |= {ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And}
SWAPS |= {ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.In: ast.NotIn, ast.NotIn: ast.In}


def flip(node: ast.AST) -> bool:
    """Change one operator in a function; whether there was one."""
    for each in ast.walk(node):
        if isinstance(each, ast.BinOp | ast.BoolOp) and type(each.op) in SWAPS:
            each.op = SWAPS[type(each.op)]()
            return True
        if isinstance(each, ast.Compare):
            each.ops[0] = SWAPS[type(each.ops[0])]()
            return True
    return False


def named_functions(tree: ast.AST, module: str):
    """The functions of a module with the names of their entries."""
    for owner in [tree, *(n for n in ast.walk(tree) if isinstance(n, ast.ClassDef))]:
        for node in owner.body:
            if isinstance(node, ast.FunctionDef):
                stem = "" if owner is tree else f"{owner.name}."
                yield f"{module}:{stem}{node.name}", node


def flip_outside_functions(tree: ast.Module) -> bool:
    """Change one operator in a module's constants; whether there was one."""
    return any(flip(node) for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign))


def flipped(module: str, limit: int):
    """Copies of a module with one operator changed, each with the entry that it is in."""
    names = [
        entry for entry, node in named_functions(ast.parse(SOURCES[module]), module) if flip(node)
    ]
    for name in names[:limit]:
        tree = ast.parse(SOURCES[module])
        flip(dict(named_functions(tree, module))[name])
        yield name, ast.unparse(tree)


@pytest.mark.parametrize(
    ("dossier", "modules"),
    [
        ("door", ["dataset"]),
        ("schema", ["unit", "schema", "expressions"]),
        ("accounting", ["accounting.counts", "accounting.costs"]),
        ("measures", ["measures.gaussian", "measures.convert", "rational"]),
        ("ledger", ["ledger.journal", "ledger.caps", "ledger.amounts", "ledger.chain"]),
        ("queries", ["queries.sums", "queries.base"]),
        ("models", ["models.inputs", "models.base"]),
        ("engines", ["engines.frames", "engines.parquet", "engines.postgres"]),
        ("noise", ["noise.laplace", "noise.entropy", "noise.inversion"]),
    ],
)
def test_one_changed_operator_asks_for_a_look_at_its_dossier(dossier, modules):
    for module in modules:
        copies = list(flipped(f"discreet.{module}", limit=2))
        assert copies
        for entry, text in copies:
            found = looks.changes(RECORD, SOURCES | {f"discreet.{module}": text})
            assert [(c.dossier, c.subject) for c in found] == [(dossier, entry)]


@pytest.mark.parametrize(
    ("dossier", "entry"),
    [
        ("door", "discreet.dataset:PrivateDataset.run"),
        ("schema", "discreet.unit:Unit.rows_per_person"),
        ("accounting", "discreet.accounting.counts:_PureAccountant.leaf"),
        ("accounting", "discreet.accounting.costs:_GaussianRoute.holds"),
        ("measures", "discreet.measures.gaussian:gaussian_delta"),
        ("ledger", "discreet.ledger.journal:make_entry"),
        ("ledger", "discreet.ledger.caps:order_cap"),
        ("ledger", "discreet.ledger.filters:RenyiFilter.fits"),
        ("queries", "discreet.queries.base:Query._sensitivity_from_extent"),
        ("coding", "discreet.coding.clipping"),
    ],
)
def test_these_could_break_a_claim_and_are_covered(dossier, entry):
    """The margin of clipping is a constant of its module; the others are functions."""
    module = entry.split(":")[0]
    tree = ast.parse(SOURCES[module])
    functions = dict(named_functions(tree, module))
    assert flip(functions[entry]) if entry in functions else flip_outside_functions(tree)
    found = looks.changes(RECORD, SOURCES | {module: ast.unparse(tree)})
    assert [(c.dossier, c.subject) for c in found] == [(dossier, entry)]


def test_one_changed_operator_in_any_covered_module_is_noticed():
    tried = 0
    for module, text in SOURCES.items():
        if dossiers.homes(module) == ["exempt"]:
            continue
        tree = ast.parse(text)
        entry = next((name for name, node in named_functions(tree, module) if flip(node)), None)
        if entry is not None:
            (home,) = dossiers.homes(module)
            now = looks.fingerprints.__wrapped__(module, ast.unparse(tree))
            assert now[entry] != RECORD[home].code[entry]
            tried += 1
    assert tried > 150


# --- nothing can be forgotten ---


def told(**more):
    return [str(change) for change in looks.changes(RECORD, SOURCES | more)]


def test_a_module_of_no_dossier_fails_the_check():
    assert any("belongs to no dossier" in line for line in told(**{"discreet.new": "x = 1"}))
    assert told(**{"discreet.empty": '"""Only words."""\n'}) == []


def test_a_module_of_two_dossiers_fails_the_check(monkeypatch):
    monkeypatch.setitem(dossiers.EXEMPT, "no reason", ("discreet.noise.laplace",))
    assert "noise and exempt: discreet.noise.laplace belongs to more than one dossier" in told()


def test_a_pattern_that_names_nothing_fails_the_check(monkeypatch):
    monkeypatch.setitem(dossiers.EXEMPT, "no reason", ("discreet.gone.*",))
    assert told() == ["exempt: discreet.gone.* names no module"]


def replaced(monkeypatch, name, **changes):
    """The same dossiers, one of them changed."""
    new = dataclasses.replace(dossiers.all_dossiers()[name], **changes)
    every = {**dossiers.all_dossiers(), name: new}
    monkeypatch.setattr(dossiers, "all_dossiers", lambda: every)


def test_what_is_cited_counts(monkeypatch):
    cited = dossiers.all_dossiers()["additive"].rests_on
    replaced(monkeypatch, "additive", rests_on=(*cited, "nothing"))
    assert told() == [
        "additive: nothing is cited, and is no other dossier",
        "additive: what it rests on has changed since the dossier was looked at",
    ]


def test_a_claim_cites_the_code_that_it_names(monkeypatch):
    replaced(monkeypatch, "additive", rests_on=())
    uncited = "additive: discrete-laplace: discreet.noise.laplace lies in no cited dossier"
    assert uncited in told()


@pytest.mark.parametrize(
    "change", [{"statement": "It adds less."}, {"status": "assumed"}, {"unit": "another"}]
)
def test_a_claim_that_says_something_else_is_noticed(monkeypatch, change):
    claims = dossiers.all_dossiers()["noise"].claims
    other = dataclasses.replace(claims[0], **change)
    replaced(monkeypatch, "noise", claims=(other, *claims[1:]))
    assert told() == [f"noise: {other.name} has changed since the dossier was looked at"]


def test_functions_claims_and_dossiers_that_come_and_go_are_noticed():
    look = RECORD["noise"]
    fewer = dict(list(look.code.items())[1:])
    more = {**look.code, "discreet.noise:gone": "0"}
    first = next(iter(look.code))
    for code, line in (
        (fewer, f"noise: {first} has not been looked at"),
        (more, "noise: discreet.noise:gone is gone"),
    ):
        record = {**RECORD, "noise": dataclasses.replace(look, code=code)}
        assert [str(c) for c in looks.changes(record, SOURCES)] == [line]
    unknown = {**RECORD, "gone": looks.Look(why=REASON)}
    assert [str(c) for c in looks.changes(unknown, SOURCES)] == ["gone: the dossier is gone"]
    less = {name: each for name, each in RECORD.items() if name != "noise"}
    never = "noise: the dossier has never been looked at"
    assert [str(c) for c in looks.changes(less, SOURCES)] == [never]


# --- accepting ---


@pytest.fixture
def lock(tmp_path):
    """The record with one entry that is not as the code is."""
    path = tmp_path / "guarantees.lock"
    look = RECORD["noise"]
    code = dict.fromkeys(look.code, "0" * 16)
    looks.write_lock({**RECORD, "noise": dataclasses.replace(look, code=code)}, path)
    return path


def test_a_change_is_noticed_until_somebody_looked(lock):
    found = looks.changes(looks.read_lock(lock), SOURCES)
    assert {change.dossier for change in found} == {"noise"}
    looks.accept("noise", REASON, lock=lock)
    assert looks.changes(looks.read_lock(lock), SOURCES) == []
    assert looks.read_lock(lock)["noise"].why == REASON


def test_a_dossier_that_is_gone_is_removed(lock):
    looks.write_lock({**RECORD, "gone": looks.Look(why="words of its own")}, lock)
    looks.accept("gone", REASON, lock=lock)
    assert looks.read_lock(lock) == RECORD


@pytest.mark.parametrize("why", ["", "   ", "fine", "looked at it again today"])
def test_a_look_needs_a_reason(lock, why):
    with pytest.raises(ValueError, match="must say what was compared"):
        looks.accept("noise", why, lock=lock)


def test_a_reason_is_not_copied(lock):
    for name in ("door", "noise"):
        words = RECORD[name].why.upper().replace(",", " ,")
        with pytest.raises(ValueError, match=f"says of '{name}' already"):
            looks.accept("noise", words, lock=lock)


def test_a_copied_reason_fails_the_check():
    copied = {**RECORD, "noise": dataclasses.replace(RECORD["noise"], why=RECORD["door"].why)}
    reason = "the reason is a copy of another dossier's"
    found = {str(change) for change in looks.changes(copied, SOURCES)}
    assert found == {f"door: {reason}", f"noise: {reason}"}


def test_one_dossier_is_accepted_at_a_time(capsys):
    with pytest.raises(SystemExit):
        looks.main(["accept", "noise", "door", "--why", REASON])
    assert "unrecognized arguments: door" in capsys.readouterr().err
    assert looks.main(["accept", "nothing", "--why", REASON]) == 2
    assert "no dossier is called 'nothing'" in capsys.readouterr().err


def test_the_command_says_what_to_read(lock, monkeypatch, capsys):
    monkeypatch.setattr(looks, "LOCK", lock)
    monkeypatch.setattr(looks, "read_lock", lambda: RECORD)
    assert looks.main(["check"]) == 0
    less = {name: each for name, each in RECORD.items() if name != "noise"}
    monkeypatch.setattr(looks, "read_lock", lambda: less)
    assert looks.main(["check"]) == 1
    assert "docs/proofs/noise.md, then: make accept NAME=noise" in capsys.readouterr().out


def test_the_record_has_one_sorted_line_for_each_function(tmp_path):
    looks.write_lock(RECORD, tmp_path / "again")
    text = looks.LOCK.read_text()
    assert (tmp_path / "again").read_text() == text
    for look in RECORD.values():
        assert list(look.code) == sorted(look.code)
        for entry in look.code:
            assert text.count(f'\n"{entry}" = ') == 1


def test_the_record_is_outside_the_wheel():
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    assert built["targets"]["wheel"]["packages"] == ["src/discreet"]
    assert not looks.LOCK.is_relative_to(ROOT / "src")
    data = [path for path in (ROOT / "src").rglob("*") if path.suffix in {".lock", ".json"}]
    assert [path.name for path in data] == ["recommendations.json"]


# --- claims and dossiers ---


def test_every_claim_of_the_registry_names_code_or_says_what_is_refuted():
    for entry in guarantees.all_claims():
        assert entry.functions or entry.status != "assumed"
        assert entry.repair == "" or entry.status == "refuted"


def test_pages_of_dossiers_exist():
    for dossier in dossiers.all_dossiers().values():
        assert dossier.pages
        for page in dossier.pages:
            assert (ROOT / "docs" / "proofs" / page).is_file()


def test_a_claim_cites_its_topic_first():
    assert dossiers.rests_on("output-perturbation")[0] == "erm"
    with pytest.raises(KeyError, match="no claim"):
        dossiers.rests_on("everything is fine")
