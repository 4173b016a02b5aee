"""What people mistype: one sentence with a remedy, a code that isn't 0, no row, and an honest ledger."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from clinic_shell import COLUMNS, SECRET, WARDS

pytest.importorskip("sqlglot")
FACTS = ("--schema", "visits.toml", "--ledger", "budget.db")
TABLE = ("--data", "visits.csv", *FACTS)
ASK = ("query", *TABLE)
AGE = COLUMNS[1]

#: What was typed, the exit code, and words of the sentence, among them the remedy.
BAD = {
    "no such command": (["qury"], 2, "Did you mean 'query'|--help"),
    "no such option": ([*ASK, "--meen", "cost"], 2, "--help"),
    "nothing asked": ([*ASK, "-e", "1"], 2, "--count"),
    "no budget": ([*ASK, "--count"], 2, "--epsilon 0.5"),
    "no number": ([*ASK, "--count", "-e", "much"], 2, "such as 0.5"),
    "negative budget": ([*ASK, "--count", "-e", "-1"], 2, "epsilon"),
    "budget of nothing": ([*ASK, "--count", "-e", "nan"], 2, "epsilon"),
    "infinite budget": ([*ASK, "--count", "-e", "inf"], 2, "PUBLIC|public"),
    "two currencies": ([*ASK, "--count", "-e", "1", "--rho", "1"], 2, "either --rho"),
    "delta of 2": ([*ASK, "--count", "-e", "1", "--delta", "2"], 2, "delta"),
    "delta without epsilon": ([*ASK, "--count", "--delta", "1e-6"], 2, "--epsilon"),
    "rho in a pure ledger": ([*ASK, "--count", "--sum", "cost", "--rho", "0.1"], 2, "--epsilon"),
    "too much": ([*ASK, "--count", "-e", "5"], 3, "ask for less"),
    "no schema": (["query", "-d", "visits.csv", "-l", "budget.db", "--count", "-e", "1"], 2, "discreet init"),
    "no such schema": (["query", "-s", "x.toml", "--count", "-e", "1"], 2, "discreet init"),
    "a schema that is no TOML": (["query", "-s", "visits.csv", "--count", "-e", "1"], 2, "discreet init"),
    "a schema of bytes": (["query", "-s", "noise.toml", "--count", "-e", "1"], 2, "discreet init"),
    "a schema with a strange table": (["plan", "-s", "strange.toml", "--count", "-e", "1"], 2, "columns"),
    "a unit that is none": (["plan", "-s", "unit.toml", "--count", "-e", "1"], 2, "relation = one of"),
    "no data": (["query", *FACTS, "--count", "-e", "1"], 2, "--data must name"),
    "no such data": (["query", *FACTS, "-d", "visit.csv", "--count", "-e", "1"], 2, "check the path"),
    "data of another kind": (["query", *FACTS, "-d", "visits.toml", "--count", "-e", "1"], 2, "CSV"),
    "no such database": (["query", *FACTS, "-d", "mysql://h/d?table=t", "--count", "-e", "1"], 2, "postgresql://"),
    "a password in the address": (
        ["query", *FACTS, "-d", "postgresql://u:hunter2@127.0.0.1:1/d?table=t", "--count", "-e", "1"],
        2,
        "server|connect|reach",
    ),
    "no table named": (["query", *FACTS, "-d", "duckdb:///visits.csv", "--count", "-e", "1"], 2, "table="),
    "no ledger": (["query", "-d", "visits.csv", "-s", "visits.toml", "--count", "-e", "1"], 2, "ledger open"),
    "no such ledger": (
        ["query", "-d", "visits.csv", "-s", "visits.toml", "-l", "x.db", "--count", "-e", "1"],
        2,
        "ledger open x.db --schema visits.toml --epsilon 1",
    ),
    "a ledger that is none": (
        ["query", "-d", "visits.csv", "-s", "visits.toml", "-l", "visits.csv", "--count", "-e", "1"],
        4,
        "ledger",
    ),
    "another unit": ([*ASK, "--id", "patient", "--max-rows", "5", "--count", "-e", "1"], 2, "leave the"),
    "another unit's ledger": (
        ["query", "-d", "visits.csv", "-s", "rows.toml", "-l", "budget.db", "--unit", "replace_one",
         "--count", "-e", "1"],
        2,
        "ledger of this table",
    ),
    "a unit without rows": ([*ASK, "--id", "patient", "--count", "-e", "1"], 2, "--max-rows"),
    "an unknown unit": ([*ASK, "--unit", "people", "--count", "-e", "1"], 2, "add_remove"),
    "no such account": ([*ASK, "--account", "mine", "--count", "-e", "1"], 2, "ledger accounts"),
    "no such column": ([*ASK, "--mean", "cots", "-e", "1"], 2, "Did you mean 'cost'"),
    "no number in the column": ([*ASK, "--mean", "ward", "-e", "1"], 2, "Histogram|count"),
    "groups of a real": ([*ASK, "--count", "--by", "cost", "-e", "1"], 2, "bins"),
    "a part of no date": ([*ASK, "--count", "--by", "month(age)", "-e", "1"], 2, "date"),
    "a rank beyond 1": ([*ASK, "--quantile", "cost:50", "-e", "1"], 2, "cost:0.9"),
    "no rank": ([*ASK, "--quantile", "cost", "-e", "1"], 2, "cost:0.9"),
    "an empty name": ([*ASK, "--histogram", "ward,", "-e", "1"], 2, "as in ward"),
    "a condition of Python": ([*ASK, "--count", "--where", "age = = 1", "-e", "1"], 2, "such as age >= 18"),
    "a condition on itself": ([*ASK, "--count", "--where", "cost > AVG(cost)", "-e", "1"], 2, "where:"),
    "a condition with more behind it": (
        [*ASK, "--count", "--where", "age > 1) GROUP BY (ward", "-e", "1"], 2, "where:"),
    "two statements": ([*ASK, "--sql", "SELECT COUNT(*) FROM t; DROP TABLE t", "-e", "1"], 2, "one st"),
    "rows by SQL": ([*ASK, "--sql", "SELECT * FROM t", "-e", "1"], 2, "COUNT"),
    "SQL and more": ([*ASK, "--sql", "SELECT COUNT(*) FROM t", "--count", "-e", "1"], 2, "leave the other"),
    "a form that is none": ([*ASK, "--count", "-e", "1", "--out", "a.xlsx"], 2, ".csv or .json or .html"),
    "a folder that is none": ([*ASK, "--count", "-e", "1", "--out", "x/a.csv"], 2, "make it first"),
    "a file that is there": ([*ASK, "--count", "-e", "1", "--out", "visits.csv"], 2, ".* --force"),
    "a level of 95": ([*ASK, "--count", "-e", "1", "--level", "95"], 2, "such as 0.95"),
    "a check of no column": (["check", *TABLE, "agee", "-e", "1"], 2, "Did you mean 'age'|agee"),
    "a plan of replaced rows": (
        ["plan", "-s", "rows.toml", "--unit", "replace_one", "--mean", "age", "-e", "1"], 2, "--rows"),
    "a raised limit": (["ledger", "open", "budget.db", "--epsilon", "9"], 2, "ledger show"),
    "a ledger without limit": (["ledger", "open", "new.db"], 2, "--epsilon"),
    "a ledger of nothing": (["ledger", "show"], 2, "ledger open"),
    "a copy over a file": (["ledger", "backup", "budget.db", "visits.csv"], 4, "another path"),
    "an export to nowhere": (["ledger", "export", "budget.db"], 2, "--out entries.csv"),
    "a column of no kind": (["init", "--column", "age=number(0, 9)", "-o", "n.toml"], 2, "real, integer"),
    "a column without bounds": (["init", "--column", "age=integer()", "-o", "n.toml"], 2, "integer"),
    "code in a column": (["init", "--column", "as in integer(0, exit())", "-o", "n.toml"], 2, "age=integer"),
    "a column twice": (["init", "--column", AGE, "--column", AGE, "-o", "n.toml"], 2, "twice"),
    "a part of no column": (
        ["init", "--column", AGE, "--derive", "month=month(day)", "-o", "n.toml"], 2, "day"),
    "no answers": (["init", "-o", "n.toml"], 2, "--column"),
    "a schema without ending": (["init", "--column", AGE, "-o", "facts"], 2, ".toml"),
    "a report of nothing": (["report", "-o", "r.html"], 2, "name something"),
    "a report of no file": (["report", "x.json", "-o", "r.html"], 2, "--out"),
    "a report of a table": (["report", "visits.csv", "-o", "r.html"], 2, "discreet wrote|--out wrote"),
    "a report of bytes": (["report", "noise.toml", "-o", "r.html"], 2, "--out wrote"),
    "a report of another form": (["report", "-l", "budget.db", "-o", "r.pdf"], 2, ".html or .json"),
    "a claim that is none": (["claims", "show", "discrete-laplac"], 2, "discrete-laplace"),
    "a status that is none": (["claims", "--status", "true"], 2, "proved"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_command_gets_a_sentence_with_a_remedy_and_charges_nothing(old_clinic, name):
    words, code, remedy = BAD[name]
    (old_clinic.folder / "strange.toml").write_text("[column.age]\ntype = 'text'\n")
    (old_clinic.folder / "unit.toml").write_text(
        "[columns.age]\ntype = 'text'\n[unit]\nrelation = 'x'\n"
    )
    (old_clinic.folder / "noise.toml").write_bytes(b"\xff\xfe\x00")
    (old_clinic.folder / "rows.toml").write_text(
        "[columns.age]\ntype = 'integer'\nlower = 0\nupper = 99\n"
    )
    before = old_clinic.ledger().head
    result = old_clinic(*words, input="")
    assert result.exit_code == code, result.output
    error = result.stderr.strip().splitlines()[-1]
    assert error.startswith("discreet")
    assert re.search(remedy, error), error
    assert len(error) < 500
    assert "Traceback" not in result.output
    assert "error of discreet itself" not in error
    assert not re.search(r"\bdp\.", error), error  # it speaks to somebody at a shell
    for value in (SECRET, "hunter2", *WARDS):
        assert value not in result.output
    assert old_clinic.ledger().head == before


def test_there_are_many_of_them():
    assert len(BAD) >= 40


@pytest.mark.parametrize("name", ["no such column", "too much", "a ledger that is none"])
def test_the_same_holds_for_the_program_itself(old_clinic, name):
    words, code, remedy = BAD[name]
    done = subprocess.run(
        [sys.executable, "-m", "discreet", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert re.search(remedy, done.stderr)
    assert len(old_clinic.ledger().entries()) == 1
