"""What the ledger says about a charge: in words, which model was fitted to what, and what was asked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import discreet as dp
from discreet.models.metrics import private_score
from discreet.models.naive_bayes import GaussianNB
from discreet.publish.synthetic import Synthesizer
from discreet.report import build_report
from small_tables import draw_table

SCHEMA = dp.Schema(age=dp.Real(0, 100), cost=dp.Real(0, 10), ill=dp.Categorical("no", "yes"))
#: Where plans are paid for users; attacks and audits pay for themselves.
SOURCE = Path(dp.__file__).parent
OURS = ("audit", "guarantees")


def open_table() -> dp.PrivateDataset:
    rows = {**draw_table(50, age=(0, 100), cost=(0, 10)), "ill": ["no", "yes"] * 25}
    return dp.PrivateDataset(rows, SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(100)))


def score(data: dp.PrivateDataset) -> None:
    model = GaussianNB(epsilon=1).fit(data)
    private_score(model, data, "accuracy", dp.PureDP(1))


ACTS = {
    "fit of GaussianNB: ill from age, cost": lambda data: GaussianNB(epsilon=1).fit(data),
    "fit of GaussianNB: ill from age, cost, with a check of them": lambda data: GaussianNB(
        epsilon=1
    ).fit(data, check=True),
    "several questions: people, spent": lambda data: data.release_all(
        {"people": dp.Count(), "spent": dp.Sum("cost")}, dp.PureDP(1)
    ),
    "SQL: SELECT ill, AVG(cost) FROM t GROUP BY ill": lambda data: data.sql(
        "SELECT ill,\n  AVG(cost)\nFROM t GROUP BY ill", dp.PureDP(1)
    ),
    "Mean('cost'), with a check of its columns": lambda data: data.release(
        dp.Mean("cost"), dp.PureDP(1), check=True
    ),
    "a synthetic table of age, cost, ill": lambda data: Synthesizer(epsilon=1).fit(data),
    "the score of a GaussianNB: Accuracy of ill": score,
}


@pytest.mark.filterwarnings("ignore:check")
@pytest.mark.parametrize("note", ACTS)
def test_an_entry_says_what_it_was_for(note):
    data = open_table()
    ACTS[note](data)
    assert data.ledger.entries()[-1].note == note
    assert note in str(data.ledger.statement())
    page = build_report(ledger=data.ledger, schema=SCHEMA).to_html()
    assert note.replace("'", "&#x27;") in page or note in page


def test_a_note_of_many_columns_stays_short():
    schema = dp.Schema({f"column_{at}": dp.Real(0, 1) for at in range(300)})
    data = dp.PrivateDataset(
        draw_table(5, **dict.fromkeys(schema, (0, 1))),
        schema,
        ledger=dp.Ledger(limit=dp.PureDP(2)),
    )
    data.release_all({name: dp.Mean(name) for name in schema}, dp.PureDP(1))
    note = data.ledger.entries()[-1].note
    assert note.endswith("and 292 more")
    assert len(note) < 250


def test_every_plan_of_ours_says_what_it_is_for():
    calls = {
        f"{path.relative_to(SOURCE)}: {call}"
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] not in OURS
        for call in re.findall(r"with \w[\w.]*(?<!self)\.prepaid\([^\n]*", path.read_text("utf-8"))
    }
    silent = {call for call in calls if "note=" not in call and "(...)" not in call}
    # trainings of networks: their doors say so themselves
    assert {call.partition(":")[0] for call in silent} <= {
        "deep/dpsgd.py",
        "deep/federated/flower.py",
        "deep/federated/server.py",
    }
    assert len(calls) > len(silent) > 0
