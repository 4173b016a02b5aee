"""The command line: what it prints, how it ends, and that wrong input gets a sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from discreet import guarantees
from discreet.cli import main
from discreet.guarantees import Claim

MECHANISM = """
import numpy as np
random = np.random.default_rng()
NEIGHBOURS = (0.0, 1.0)

def honest(value, trials):
    return np.floor(value + random.laplace(scale=4, size=trials))

def careless(value, trials):
    return value + random.laplace(scale=0.1, size=trials)

def raises(value):
    raise ValueError("never")

number = 3
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "own_mechanism.py").write_text(MECHANISM)
    (tmp_path / "own_exit.py").write_text("raise SystemExit(0)")
    (tmp_path / "own_syntax.py").write_text("def f(:")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield
    sys.modules.pop("own_mechanism", None)


def test_help_is_light():
    code = (
        "import sys; from discreet.cli import main\n"
        "try:\n main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = ('numpy', 'sklearn', 'scipy', 'narwhals', 'sqlalchemy', 'rich', 'pydantic')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "audit" in done.stdout
    assert done.stdout.strip().endswith("[]")


def test_without_a_command_the_help_is_shown_as_it_is(capsys):
    for words in ([], ["ledger"]):
        assert main(words) == 2
        shown = capsys.readouterr()
        assert "Commands:\n" in shown.out + shown.err


def test_the_shell_completes_commands_and_options():
    for words, wanted in (("discreet qu", "query"), ("discreet ledger ver", "verify")):
        done = subprocess.run(
            [sys.executable, "-m", "discreet"],
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                "_DISCREET_COMPLETE": "complete_bash",
                "COMP_WORDS": words,
                "COMP_CWORD": str(len(words.split()) - 1),
            },
        )
        assert done.stdout.split() == [wanted]


def test_claims_are_printed(capsys):
    assert main(["claims"]) == 0
    text = capsys.readouterr().out
    for entry in guarantees.all_claims():
        assert entry.name in text
    assert f"{len(guarantees.all_claims())} claims" in text
    assert main(["claims", "--status", "refuted", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {entry["status"] for entry in listed} == {"refuted"}


def test_one_claim_is_told_in_full(capsys):
    assert main(["claims", "show", "discrete-laplace"]) == 0
    text = capsys.readouterr().out
    assert "docs/proofs/additive.md" in text
    assert "discreet.noise.discrete_laplace" in text
    assert main(["claims", "show", "nothing"]) == 2
    assert "no claim is called" in capsys.readouterr().err


def test_the_record_of_looks_is_not_the_users_business(capsys):
    for act in ("check", "accept"):
        assert main(["claims", act]) == 2
        assert "No such command" in capsys.readouterr().err


def test_a_proved_claim_is_consistent(capsys):
    assert main(["audit", "discrete-laplace", "--effort", "0.1"]) == 0
    assert "every verdict as stated" in capsys.readouterr().out


def test_a_refuted_claim_that_is_not_caught_does_not_end_well(capsys):
    assert main(["audit", "half-the-noise", "--effort", "1e-9"]) == 1
    assert "NOT AS STATED" in capsys.readouterr().out


def test_a_terminal_without_greek_letters():
    done = subprocess.run(
        [sys.executable, "-m", "discreet", "claims"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0
    assert b"discrete-laplace" in done.stdout


def test_a_refuted_claim_is_violated(capsys):
    assert main(["audit", "classic-gaussian-formula", "--json"]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["verdict"] for line in lines} == {"violated"}
    assert lines[0]["claim_name"] == "classic-gaussian-formula"


def test_several_claims_end_well_if_each_is_as_stated(capsys):
    assert main(["audit", "staircase", "classic-gaussian-formula", "--effort", "0.1"]) == 0
    assert "refuted ones caught" in capsys.readouterr().out


def test_processes_side_by_side_find_the_same(capsys):
    names = ["audit", "staircase", "classic-gaussian-formula", "--effort", "0.05", "--markdown"]
    assert main([*names, "--jobs", "2"]) == 0
    text = capsys.readouterr().out
    assert "| classic-gaussian-formula | refuted | violated | 10 | 11.92 |" in text
    assert "| staircase | proved | consistent |" in text
    assert main(["audit", "all", "--jobs", "0"]) == 2


def test_a_claim_that_is_not_as_stated_is_told(monkeypatch, capsys):
    false = Claim(**{**vars(guarantees.claim("classic-gaussian-formula")), "status": "proved"})
    pair = (false, guarantees.claim("staircase"))
    monkeypatch.setattr("discreet.guarantees.all_claims", lambda: pair)
    assert main(["audit", "all", "--effort", "0.05"]) == 1
    assert "NOT AS STATED: classic-gaussian-formula" in capsys.readouterr().out


def test_a_callable_of_the_user(own, capsys):
    assert main(["audit", "--callable", "own_mechanism:careless", "--epsilon", "1"]) == 1
    assert "violated" in capsys.readouterr().out
    arguments = ["--epsilon", "0.25", "--trials", "4000", "--neighbours", "[0, 1]", "--json"]
    assert main(["audit", "--callable", "own_mechanism:honest", *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "consistent"
    arguments = ["--epsilon", "0.1", "--delta", "0.5", "--trials", "4000"]
    assert main(["audit", "--callable", "own_mechanism:honest", *arguments]) == 0


WRONG = [
    (["audit"], "say what to audit"),
    (["audit", "discrete-laplce"], "Did you mean discrete-laplace"),
    (["audit", "all", "--confidence", "2"], "--confidence"),
    (["audit", "all", "--effort", "0"], "--effort"),
    (["audit", "all", "--effort", "inf"], "--effort"),
    (["audit", "all", "--epsilon", "1"], "--epsilon needs --callable"),
    (["audit", "all", "--callable", "own_mechanism:honest"], "not both"),
    (["audit", "--callable", "own_mechanism"], "module:function"),
    (["audit", "--callable", "own_exit:f"], "SystemExit"),
    (["audit", "--callable", "own_syntax:f"], "SyntaxError"),
    (["audit", "--callable", "own_mechanism:raises", "--epsilon", "1"], "every run raised"),
    (
        ["audit", "--callable", "own_mechanism:honest", "--epsilon", "1", "--rounding", "0"],
        "rounding must be",
    ),
    (["audit", "--callable", "own_mechanism:nothing"], "nothing"),
    (["audit", "--callable", "no_such_module:f"], "no_such_module"),
    (["audit", "--callable", "own_mechanism:number"], "can't be called"),
    (["audit", "--callable", "own_mechanism:honest"], "--epsilon must say"),
    (["audit", "--callable", "own_mechanism:honest", "--epsilon", "-1"], "epsilon"),
    (
        ["audit", "--callable", "own_mechanism:honest", "--epsilon", "1", "--neighbours", "["],
        "must be JSON",
    ),
    (
        ["audit", "--callable", "own_mechanism:honest", "--epsilon", "1", "--neighbours", "3"],
        "--neighbours",
    ),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=lambda given: " ".join(given)[:40])
def test_wrong_arguments_get_a_sentence(own, capsys, arguments, words):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert words in error
    assert "Traceback" not in error


def test_the_module_runs():
    done = subprocess.run(
        [sys.executable, "-m", "discreet", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("discreet ")


def test_progress_is_for_people_only(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    main(["audit", "staircase", "--effort", "0.01"])
    assert "staircase" in capsys.readouterr().err
    main(["audit", "staircase", "--effort", "0.01", "--quiet"])
    assert capsys.readouterr().err == ""
    assert guarantees.all_attacks()
