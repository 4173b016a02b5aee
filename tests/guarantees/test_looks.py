"""A claim is tied to the code it speaks of: a change asks for a new look."""

from __future__ import annotations

import importlib
import json
import sys

import pytest

from discreet import guarantees
from discreet.guarantees import Claim, fingerprints

ONE = '''
class Mechanism:
    """What it is."""

    @property
    def scale(self):
        return 2

    @staticmethod
    def run(value):
        """Add noise."""
        # a remark
        return value + 1
'''


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module whose text can be changed; gives the fingerprint of its function."""
    monkeypatch.syspath_prepend(tmp_path)
    count = iter(range(100))
    for name in [name for name in sys.modules if name.startswith("claimed_")]:
        monkeypatch.delitem(sys.modules, name)

    def fingerprint(text, function="Mechanism.run"):
        name = f"claimed_{next(count)}"
        (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        return fingerprints.fingerprint(f"{name}.{function}")

    return fingerprint


def test_words_and_layout_do_not_count(module):
    first = module(ONE)
    assert module(ONE.replace("Add noise.", "Add a little noise.")) == first
    assert module(ONE.replace("# a remark", "# another remark")) == first
    assert module(ONE.replace("value + 1", "(value  +\n            1)")) == first


def test_what_is_done_counts(module):
    first = module(ONE)
    assert module(ONE.replace("value + 1", "value + 2")) != first
    assert module(ONE.replace("value + 1", "value - 1")) != first
    assert module(ONE.replace("(value)", "(value=0)")) != first
    assert module(ONE.replace("@staticmethod", "@classmethod")) != first
    assert module(ONE, "Mechanism.scale") != module(
        ONE.replace("return 2", "return 3"), "Mechanism.scale"
    )
    assert module(ONE, "Mechanism") != module(ONE.replace("return 2", "return 3"), "Mechanism")


def test_the_record_is_of_the_code_as_it_is():
    assert [str(change) for change in fingerprints.changes()] == []


@pytest.fixture
def registry(tmp_path, monkeypatch, module):
    """A registry with one claim, and its own record."""
    module(ONE)
    entry = Claim(
        name="one",
        statement="It adds noise.",
        unit="any",
        measure="PureDP",
        status="proved",
        source="here",
        proof="one.md",
        functions=("claimed_0.Mechanism.run",),
    )
    monkeypatch.setattr(fingerprints, "RECORD", tmp_path / "accepted.json")
    monkeypatch.setattr(fingerprints, "all_claims", lambda: (entry,))
    monkeypatch.setattr(fingerprints, "claim", lambda name: {"one": entry}[name])
    return tmp_path


def reasons():
    return [change.reason for change in fingerprints.changes()]


def test_a_claim_that_says_something_else_is_noticed(registry, monkeypatch):
    fingerprints.accept("one", "first look")
    entry = fingerprints.all_claims()[0]
    for change in ({"statement": "It adds less."}, {"status": "assumed"}, {"unit": "another"}):
        other = Claim(**{**vars(entry), **change})
        monkeypatch.setattr(fingerprints, "all_claims", lambda other=other: (other,))
        assert reasons() == ["has not been looked at since it was written"]


def test_a_module_has_a_fingerprint(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    found = []
    for index, text in enumerate((ONE, '"""Words."""\n' + ONE, "LIMIT = 3\n" + ONE)):
        (tmp_path / f"whole_{index}.py").write_text(text)
        importlib.invalidate_caches()
        found.append(fingerprints.fingerprint(f"whole_{index}"))
    assert found[0] == found[1] != found[2]


def test_a_change_is_noticed_until_somebody_looked(registry):
    assert reasons() == ["has not been looked at since it was written", "has not been looked at"]
    fingerprints.accept("one", "first look")
    assert reasons() == []
    record = json.loads(fingerprints.RECORD.read_text())
    assert record["one"]["why"] == "first look"
    record["one"]["functions"]["claimed_0.Mechanism.run"] = "0" * 16
    fingerprints.RECORD.write_text(json.dumps(record))
    assert reasons() == ["has changed since the claim was looked at"]
    fingerprints.accept("one", "same proof, other loop")
    assert reasons() == []


def test_a_look_needs_a_reason(registry):
    with pytest.raises(ValueError, match="why must say"):
        fingerprints.accept("one", "  ")
    with pytest.raises(KeyError):
        fingerprints.accept("two", "a look")


def test_claims_and_functions_that_go_are_noticed(registry):
    fingerprints.accept("one", "first look")
    record = json.loads(fingerprints.RECORD.read_text())
    record["one"]["functions"]["claimed_0.gone"] = "0" * 16
    record["gone"] = {"functions": {}}
    fingerprints.RECORD.write_text(json.dumps(record))
    assert sorted(reasons()) == ["is gone", "is no longer named by the claim"]
    fingerprints.accept("gone", "it was removed")
    fingerprints.accept("one", "the function was renamed")
    assert reasons() == []


def test_a_function_that_is_not_there_is_told(registry, monkeypatch):
    entry = fingerprints.all_claims()[0]
    moved = Claim(**{**vars(entry), "functions": ("claimed_0.Mechanism.nothing", "nowhere.at.all")})
    monkeypatch.setattr(fingerprints, "all_claims", lambda: (moved,))
    assert reasons()[1:] == ["can't be found"] * 2


def test_every_claim_of_the_registry_names_code_or_says_what_is_refuted():
    for entry in guarantees.all_claims():
        assert entry.functions or entry.status != "assumed"
        assert entry.repair == "" or entry.status == "refuted"
