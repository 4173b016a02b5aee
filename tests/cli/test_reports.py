"""``discreet report``: everything that commands write becomes part of one page."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from clinic_shell import SECRET

import discreet as dp
from discreet.cli import documents
from discreet.report import reading

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


def test_what_fit_and_publish_wrote_can_be_reported(clinic):
    table = ("visits.csv", *FACTS)
    fit = ("fit", "mixed-nb", *table, "-t", "ward", "-e", "0.5", "--out", "model.json", "--json")
    Path("fit.json").write_text(clinic.done(*fit).stdout)
    ranges = ("publish", "ranges", *table, "-e", "0.5", "--set", "columns=age", "-o", "ages.csv")
    Path("publication.json").write_text(clinic.done(*ranges, "--json").stdout)
    words = ("model.json", "fit.json", "publication.json", *FACTS)
    clinic.done("report", *words, "--out", "report.html")
    page = Path("report.html").read_text("utf-8")
    assert page.count("MixedNB") >= 2
    assert "A published table: ranges" in page
    assert SECRET not in page
    dp.write_report("again.html", "model.json", ledger=clinic.ledger())
    assert "MixedNB" in Path("again.html").read_text("utf-8")


def test_results_of_audits_can_be_reported(clinic):
    audited = clinic("audit", "classic-gaussian-formula", "--json", "--effort", "0.01", "--quiet")
    Path("audits.json").write_text(audited.stdout)
    clinic.done("report", "audits.json", "--out", "report.json")
    assert '"Audits"' in Path("report.json").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("fit", "--list", "--json"), "models that can be fitted"),
        (("publish", "--list", "--json"), "ways to publish"),
        (("claims", "--json"), "is not a JSON file of discreet that a report shows"),
        (("ledger", "verify", "budget.db", "--json"), "is not a JSON file of discreet"),
    ],
)
def test_what_no_report_shows_is_refused_by_what_it_is(clinic, words, told):
    Path("other.json").write_text(clinic.done(*words).stdout)
    refused = clinic("report", "other.json", "-o", "r.html")
    assert refused.exit_code == 2
    assert told in refused.stderr
    assert "releases, answers, plans, checks" in refused.stderr


def test_every_kind_of_document_is_reported_or_refused_by_what_it_is():
    sources = Path(dp.__file__).parent.rglob("*.py")
    text = "\n".join(path.read_text("utf-8") for path in sources)
    calls = r'(?:write_document|print_certificate)\(\s*"([a-z]+)"'
    written = {f"discreet {kind}" for kind in re.findall(calls, text)}
    of_commands = {f"discreet {kind}" for kind in documents.KINDS}
    assert written - of_commands == {*reading._READERS, *reading._OTHERS} - {
        "discreet additive boosting"
    }


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
