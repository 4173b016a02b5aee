"""``discreet report``: everything that commands write becomes part of one page."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from clinic_shell import SECRET

import discreet as dp

pytest.importorskip("sqlglot")
FACTS = ("--schema", "visits.toml", "--ledger", "budget.db")
TABLE = ("--data", "visits.csv", *FACTS)


def test_whatever_commands_write_can_be_reported(clinic):
    asked = ("--count", "--mean", "cost", "--by", "ward", "-e", "0.5")
    clinic.done("query", *TABLE, *asked, "--out", "answers.json")
    clinic.done("query", *TABLE, "--median", "age", "-e", "0.5", "--out", "age.json")
    sql = "SELECT ward, AVG(age) AS mean FROM visits GROUP BY ward"
    clinic.done("query", *TABLE, "--sql", sql, "-e", "0.5", "--out", "sql.json")
    clinic("check", *TABLE, "-e", "0.5", "--out", "check.json")
    clinic.done("describe", *TABLE, "-e", "0.5", "--out", "described.json")
    clinic.done("plan", *FACTS, "--sum", "cost", "-e", "0.5", "--out", "plan.json")
    clinic.done("plan", *FACTS, *asked, "--rows", "400", "--out", "plans.json")
    clinic.done("ledger", "export", "budget.db", "--out", "statement.json")
    files = ["answers", "age", "sql", "check", "described", "plan", "plans"]
    words = [f"{name}.json" for name in files]
    made = clinic.done(
        "report", *words, *FACTS, "--title", "A clinic's visits", "--out", "report.html"
    )
    assert str(clinic.folder / "report.html") in made.stderr
    page = (clinic.folder / "report.html").read_text("utf-8")
    for text in ("A clinic&#x27;s visits", "surgery", "mean cost", "Sum(&#x27;cost&#x27;)"):
        assert text in page, text
    assert SECRET not in page
    told = json.loads(clinic.done("report", *words, *FACTS, "--json", "-o", "r.json").stdout)
    assert json.loads(Path(told["report"]).read_text())["format"] == "discreet report"
    assert clinic.ledger().spent() == dp.PureDP("2.5")  # reports are free
    clinic.done("report", "statement.json", "--out", "statement.html")


def test_a_file_that_was_changed_is_refused(clinic):
    clinic.done("query", *TABLE, "--count", "--sum", "cost", "-e", "0.5", "--out", "a.json")
    file = clinic.folder / "a.json"
    file.write_text(file.read_text().replace('"answers": [', '"answers": 3, "old": ['))
    refused = clinic("report", "a.json", "-o", "r.html")
    assert refused.exit_code == 2
    assert "was changed or cut" in refused.stderr
    assert not (clinic.folder / "r.html").exists()


def test_the_tour_ends_with_a_report_and_says_where_it_is(tmp_path):
    path = tmp_path / "tour.html"
    done = subprocess.run(
        [sys.executable, "-m", "discreet", "demo", "--out", str(path), "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout) == {"report": str(path)}
    assert f"The report is {path}" in done.stderr
    assert "Median pressure" in path.read_text("utf-8")
