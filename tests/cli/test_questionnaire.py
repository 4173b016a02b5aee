"""Questions in a file: each with its own groups, condition and weight."""

from __future__ import annotations

import json

import pytest

from discreet.cli.outcome import CommandError
from discreet.cli.questionnaire import Asked, Questionnaire
from discreet.testing import fixed_noise

WHOLE = Questionnaire(
    (
        Asked("mean", "cost", by=("ward", "month(day)"), where="age >= 18", weight="2.5"),
        Asked("count"),
        Asked("people", by=("ward",)),
        Asked("quantile", "cost", ranks=("0.25", "0.75")),
        Asked("histogram", "ward", where="ward <> 'surgery'"),
        Asked("median", "age"),
    )
)
FILES = ("--data", "visits.csv", "--schema", "visits.toml", "--ledger", "budget.db")


def test_questions_come_back_from_their_file(tmp_path):
    path = tmp_path / "asked.json"
    path.write_text(WHOLE.to_json(), encoding="utf-8")
    assert Questionnaire.read(path) == WHOLE
    assert WHOLE.asked[0].name == "mean cost by ward, month(day) where age >= 18"


def test_a_file_is_planned_and_answered_for_one_charge(clinic):
    (clinic.folder / "asked.json").write_text(WHOLE.to_json(), encoding="utf-8")
    planned = clinic.done(
        "plan", "--schema", "visits.toml", "--questions", "asked.json", "-e", "1", "--rows", "400"
    )
    assert "median age" in planned.stdout
    clinic.done("query", *FILES, "--questions", "asked.json", "-e", "1", "--out", "out.json")
    names = [one["name"] for one in json.loads((clinic.folder / "out.json").read_text())["answers"]]
    assert names == [one.name for one in WHOLE.asked]
    assert len(clinic.ledger().entries()) == 2


def test_weights_move_the_budget():
    import discreet as dp

    schema = dp.Schema(cost=dp.Real(0, 10))
    data = dp.PrivateDataset({"cost": [1.0]}, schema, ledger=dp.Ledger(limit=dp.PureDP(1)))
    even = Questionnaire((Asked("count"), Asked("sum", "cost")))
    more = Questionnaire((Asked("count", weight="8"), Asked("sum", "cost")))
    share = [each.plan(data, dp.PureDP(1), 10).questions[0].share for each in (even, more)]
    assert share[0] < share[1]


def test_the_program_that_is_shown_gives_the_same_bits(clinic, monkeypatch):
    import discreet as dp

    schema, ledger = dp.Schema.read("visits.toml"), dp.Ledger("sqlite:///budget.db")
    data = dp.PrivateDataset("visits.csv", schema, ledger=ledger)
    with fixed_noise(1):
        ours = WHOLE.release(data, dp.PureDP(1), 400)
    before, lines = WHOLE.to_python()
    program = "\n".join([*before, *lines])
    space = {"dp": dp, "schema": schema}
    exec(program, space)
    data = dp.PrivateDataset("visits.csv", space["schema"], ledger=ledger)
    with fixed_noise(1):
        theirs = data.release_all(space["questions"], dp.PureDP(1), space["weights"], rows=400)
    assert ours.to_table() == theirs.to_table()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "mode"}, "must be one of"),
        ({"kind": "mean"}, "needs a column"),
        ({"kind": "count", "column": "age"}, "has no column"),
        ({"kind": "quantile", "column": "age"}, "needs ranks"),
        ({"kind": "quantile", "column": "age", "ranks": ("2",)}, "between 0 and 1"),
        ({"kind": "count", "weight": "0"}, "weight"),
        ({"kind": "count", "weight": "1/0"}, "weight"),
    ],
)
def test_a_wrong_question_is_refused(fields, words):
    with pytest.raises(CommandError, match=words):
        Asked(**fields)


@pytest.mark.parametrize("text", ["", "{}", "[1]", WHOLE.to_json().replace("mean", "mode")])
def test_another_file_is_no_questions(tmp_path, text):
    path = tmp_path / "asked.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CommandError):
        Questionnaire.read(path)


def test_nothing_else_is_asked_beside_a_file(clinic):
    (clinic.folder / "asked.json").write_text(WHOLE.to_json(), encoding="utf-8")
    found = clinic("query", *FILES, "--questions", "asked.json", "--count", "-e", "1")
    assert found.exit_code == 2
    assert "--questions says everything itself" in found.stderr
    assert clinic("query", *FILES, "--questions", "gone.json", "-e", "1").exit_code == 2
