"""The commands for people's data, driven as a person would type them."""

from __future__ import annotations

import csv
import inspect
import json
import re

import pytest
from clinic_shell import SECRET, build_visits

import discreet as dp
from discreet.cli import plan, query
from discreet.testing import fixed_noise

pytest.importorskip("sqlglot")
FACTS = ("--schema", "visits.toml", "--ledger", "budget.db")
TABLE = ("--data", "visits.csv", *FACTS)


def test_a_question_is_charged_and_its_answer_printed_as_a_table(clinic):
    asked = clinic.done("query", *TABLE, "--count", "--by", "ward", "--epsilon", "1")
    lines = asked.stdout.splitlines()
    assert lines[0].startswith("Count(by='ward')")
    assert [line.split()[0] for line in lines[2:5]] == ["surgery", "medicine", "children"]
    assert "charged PureDP(epsilon=1) (entry 1 of" in asked.stderr
    assert clinic.ledger().spent() == dp.PureDP(1)
    assert SECRET not in asked.output


def test_answers_are_those_of_python(clinic):
    with fixed_noise(5):
        asked = clinic.done(
            "query", *TABLE, "--mean", "cost", "--where", "age >= 18", "-e", "1", "--json"
        )
    typed = dp.Release.from_json(asked.stdout)
    schema, unit = dp.Schema.read("visits.toml"), dp.Unit.read("visits.toml")
    data = dp.PrivateDataset("visits.csv", schema, ledger=dp.Ledger(limit=dp.PureDP(1), unit=unit))
    with fixed_noise(5):
        known = dp.col("age").is_present() & (dp.col("age") >= 18)
        same = data.release(dp.Mean("cost", where=known), dp.PureDP(1))
    assert typed.value == same.value
    assert typed.stderr == same.stderr


def test_several_questions_are_one_charge(clinic):
    asked = clinic.done(
        "query", *TABLE, "--count", "--mean", "cost", "--median", "age", "--quantile", "cost:0.1,0.9",
        "--sum", "cost", "--variance", "age", "--people", "--histogram", "ward", "-e", "2", "--json",
    )  # fmt: skip
    names = [one["name"] for one in json.loads(asked.stdout)["answers"]]
    assert names == [
        "count",
        "people",
        "sum cost",
        "mean cost",
        "variance age",
        "median age",
        "quantile cost 0.1 0.9",
        "histogram ward",
    ]
    assert len(clinic.ledger().entries()) == 2
    assert clinic.ledger().spent() == dp.PureDP(2)


def test_parts_of_dates_group_without_being_declared(clinic):
    clinic.done("query", *TABLE, "--count", "--by", "quarter(day)", "-e", "1", "--out", "q.csv")
    text = (clinic.folder / "q.csv").read_text()
    assert text.splitlines()[0] == "quarter(day),value,stderr,lower,upper"
    assert len(text.splitlines()) == 5


def test_a_plan_needs_no_table_and_charges_nothing(clinic):
    facts = ("--schema", "visits.toml", "--rows", "400")
    one = clinic.done("plan", *facts, "--mean", "cost", "--by", "ward", "-e", "0.5", "--json")
    plan = dp.Plan.from_json(one.stdout)
    priced = clinic.done("query", *TABLE, "--mean", "cost", "--by", "ward", "-e", "0.5", "--json")
    release = dp.Release.from_json(priced.stdout)
    assert plan.event == release.event
    several = clinic.done(
        "plan", *facts, "--count", "--sum", "cost", "-e", "1", "--ledger", "budget.db"
    )
    assert "one charge of PureDP(epsilon=1)" in several.stdout
    assert "left in the ledger: PureDP(epsilon=3.5)" in several.stderr
    sql = clinic.done("plan", *facts, "--sql", "SELECT COUNT(*) FROM t", "-e", "1", "--json")
    assert json.loads(sql.stdout)["format"] == "discreet plans"
    assert len(clinic.ledger().entries()) == 2


def test_results_are_written_in_every_form(clinic):
    for ending in ("csv", "json", "html"):
        made = clinic.done(
            "query", *TABLE, "--count", "--by", "ward", "-e", "0.1", "-o", f"a.{ending}"
        )
        assert made.stdout == ""
        assert f"written to a.{ending}" in made.stderr
    assert "<table" in (clinic.folder / "a.html").read_text()
    assert dp.Release.from_json((clinic.folder / "a.json").read_text()).labels is not None
    again = clinic("query", *TABLE, "--count", "-e", "0.1", "-o", "a.csv")
    assert again.exit_code == 2  # an answer that was paid for is not replaced by accident
    clinic.done("query", *TABLE, "--count", "-e", "0.1", "-o", "a.csv", "--force")
    described = clinic.done("describe", *TABLE, "-e", "1", "--out", "d.json", "--quiet")
    assert described.stderr == ""
    assert json.loads((clinic.folder / "d.json").read_text())["level"] == 0.95


def test_a_check_ends_with_1_where_something_stands_out(clinic):
    with fixed_noise(1):
        good = clinic("check", *TABLE, "--epsilon", "1")
    assert good.exit_code == 0
    assert "Nothing stands out" in good.stdout
    clinic.done("init", "--column", "ward=categorical(ICU)", "--id", "patient", "--max-rows", "3",
                "--out", "wrong.toml")  # fmt: skip
    with fixed_noise(1):
        bad = clinic(
            "check", "-d", "visits.csv", "-s", "wrong.toml", "-l", "budget.db", "-e", "1", "--json"
        )
    assert bad.exit_code == 1
    assert "matches no declared category" in json.loads(bad.stdout)["warnings"][0]


def test_public_rows_need_no_ledger(clinic):
    clinic.done("init", "--column", "age=integer(0, 99)", "--unit", "public", "-o", "public.toml")
    asked = clinic.done("query", "-d", "visits.csv", "-s", "public.toml", "--count", "-e", "1")
    assert "NOT PRIVATE" in asked.stdout
    assert "charged" not in asked.stderr


def test_a_ledger_is_shown_verified_copied_and_exported_without_the_right_to_write(clinic):
    clinic.done("query", *TABLE, "--count", "-e", "1")
    clinic.done("ledger", "open", "budget.db", "--account", "research", "--epsilon", "0.5")
    clinic.done("query", *TABLE, "--count", "-e", "0.25", "--account", "research")
    file = clinic.folder / "budget.db"
    before = clinic.ledger().head
    file.chmod(0o444)
    shown = clinic.done("ledger", "show", "budget.db")
    assert "Privacy statement" in shown.stdout
    statement = json.loads(clinic.done("ledger", "show", "budget.db", "--json").stdout)
    whole = json.loads(clinic.done("ledger", "verify", "budget.db", "--json").stdout)
    assert whole == {"whole": True, "count": statement["count"], "head": statement["head"]}
    listed = clinic.done("ledger", "accounts", "budget.db").stdout
    assert "/research  PureDP(epsilon=0.5)  PureDP(epsilon=0.25)  PureDP(epsilon=0.25)" in listed
    clinic.done("ledger", "backup", "budget.db", "copy.db")
    clinic.done(
        "ledger", "verify", "copy.db", "--head", whole["head"], "--count", str(whole["count"])
    )
    clinic.done("ledger", "export", "budget.db", "--out", "entries.csv")
    assert len((clinic.folder / "entries.csv").read_text().splitlines()) == 1 + whole["count"]
    assert clinic.ledger().head == before
    cut = clinic("ledger", "verify", "copy.db", "--head", "0" * 64, "--count", "9")
    assert cut.exit_code == 1


def test_init_asks_for_public_facts_and_never_shows_a_row(clinic):
    answers = ["y", "", "categorical(surgery, medicine)", "integer(0, oops)", "integer(0, 99)"]
    answers += ["real(0, 2000)", "", "", "patient", "x", "3"]
    made = clinic.done("init", "visits.csv", "-o", "asked.toml", input="\n".join(answers) + "\n")
    schema = dp.Schema.read("asked.toml")
    assert list(schema) == ["ward", "age", "cost"]
    assert dp.Unit.read("asked.toml") == dp.Unit(dp.ADD_REMOVE, "patient", 3)
    assert "ward: " in made.stderr
    for value in (SECRET, "p0", "2024-"):
        assert value not in made.output.replace("date('2024-01-01', '2024-12-31')", "")


def test_plan_takes_the_words_of_a_query_and_opens_no_table(clinic):
    options = [set(inspect.signature(act).parameters) for act in (query.query, plan.plan)]
    assert options[0] - options[1] == {"level"}
    words = ["-s", "visits.toml", "-l", "budget.db", "--mean", "cost", "--by", "ward", "-e", "0.5"]
    assert "stderr" in clinic.done("plan", "-d", "no_such_file.csv", *words).output
    assert clinic.ledger().spent() == dp.PureDP(0)
    assert clinic("query", "-d", "no_such_file.csv", *words).exit_code == 2


@pytest.mark.parametrize("act", ["show", "verify", "accounts", "export"])
def test_a_ledger_is_named_by_its_place_or_as_other_commands_name_it(clinic, act):
    more = ["--json"] if act == "export" else []
    told = clinic.done("ledger", act, "budget.db", *more).output
    assert clinic.done("ledger", act, "-l", "budget.db", *more).output == told
    assert clinic("ledger", act, "-l", "no_such.db", *more).exit_code == 2


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("integer", "integer needs its bounds, which anyone may know, as in integer(0, 120)."),
        ("real", "If nobody knows them, write real()"),
        ("categorical()", "categorical needs its values"),
        ("date", "date needs its first and last day"),
        (
            "icu, er",
            "can't be read; write it with quotes around text, as in categorical('icu', 'er').",
        ),
        (
            "integer(0,",
            "can't be read: integer needs its bounds, which anyone may know, as in integer(0, 120).",
        ),
        (
            "number",
            "is none of real, integer, categorical, date, text; write it as in integer(0, 120).",
        ),
    ],
)
def test_init_says_what_a_kind_lacks_and_asks_again(shell, typed, told):
    made = shell.done("init", "-o", "x.toml", input=f"age\n{typed}\ninteger(0, 99)\n\n\n")
    assert told in made.stderr
    assert "dp." not in made.stderr
    with pytest.raises(AssertionError):
        shell.done("init", "--column", f"age={typed}", "-o", "y.toml")


def test_numbers_whose_bounds_nobody_knows_are_declared_by_empty_parentheses(shell):
    shell.done("init", "--column", "cost=real()", "-o", "x.toml")
    assert dp.Schema.read("x.toml")["cost"] == dp.Real()


def test_init_leaves_the_first_line_of_a_file_alone_until_it_is_said_to_be_names(shell):
    (shell.folder / "rows.csv").write_text(f"{SECRET},34\n")
    made = shell.done("init", "rows.csv", "-o", "x.toml", input="n\nage\ninteger(0, 99)\n\n\n")
    assert SECRET not in made.output
    assert list(dp.Schema.read("x.toml")) == ["age"]


@pytest.mark.parametrize("kind", ["duckdb", "postgres"])
def test_the_same_questions_go_to_databases(clinic, kind, request):
    if kind == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect("clinic.db") as connection:
            connection.execute(f"CREATE TABLE visits ({TYPES})")
            connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?)", build_visits())
        url = "duckdb:///clinic.db?table=visits"
    else:
        pytest.importorskip("ibis")
        server = request.getfixturevalue("postgres_server")
        name = server.new_database()
        rows = ", ".join(str(row) for row in build_visits())
        server.execute(
            f"CREATE TABLE visits ({TYPES})", f"INSERT INTO visits VALUES {rows}", database=name
        )
        url = f"{server.url(name)}?table=visits"
    words = ("query", *FACTS, "--count", "--mean", "cost", "--by", "ward", "--by", "month(day)")
    answers = []
    for data in ("visits.csv", url):
        with fixed_noise(3):
            made = clinic.done(*words, "--data", data, "-e", "1", "--json")
        answers.append([one["release"]["value"] for one in json.loads(made.stdout)["answers"]])
    assert answers[0] == answers[1]
    offered = clinic.done(
        "init", url, "-o", "offered.toml", input="\n\ninteger(0, 99)\n\n\n\npatient\n2\n"
    )
    assert "age, declared as " in offered.stderr
    assert SECRET not in offered.output
    assert list(dp.Schema.read("offered.toml")) == ["age"]
    with fixed_noise(1):
        clinic.done("check", "--data", url, *FACTS, "-e", "1")
    clinic.done("describe", "--data", url, *FACTS, "-e", "1")


def test_init_shows_no_categories_of_a_type(shell):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect("clinic.db") as connection:
        connection.execute(f"CREATE TABLE visits (ward ENUM ('icu', '{SECRET}'), age INTEGER)")
    url = "duckdb:///clinic.db?table=visits"
    made = shell.done("init", url, "-o", "x.toml", input="\ninteger(0, 99)\n\n")
    assert "ward, declared as " in made.stderr
    assert SECRET not in made.output


TYPES = "patient VARCHAR, ward VARCHAR, age INTEGER, cost DOUBLE PRECISION, day DATE, name VARCHAR"


def test_a_ledger_can_stand_in_a_database(clinic, postgres_server):
    url = postgres_server.url(postgres_server.new_database())
    clinic.done("ledger", "open", url, "--schema", "visits.toml", "--epsilon", "1")
    words = ("query", "-d", "visits.csv", "-s", "visits.toml", "--count", "--ledger", url)
    clinic.done(*words, "--epsilon", "0.75")
    refused = clinic(*words, "--epsilon", "0.75")
    assert refused.exit_code == 3
    assert "PureDP(epsilon=0.25)" in clinic.done("ledger", "accounts", url).stdout
    empty = postgres_server.url(postgres_server.new_database())
    missing = clinic("ledger", "show", empty)
    assert missing.exit_code in (2, 4)
    assert "Traceback" not in missing.output


def test_answers_of_a_select_stand_beside_their_errors_at_the_level_that_was_asked(clinic):
    table = ("query", "-d", "visits.csv", "-s", "visits.toml", "-l", "budget.db", "-e", "0.5")
    ask = (
        *table,
        "--sql",
        "SELECT ward, COUNT(*) AS n, MEDIAN(age) AS middle FROM t GROUP BY ward",
    )
    widths = []
    for level in ("0.5", "0.99"):
        clinic.done(*ask, "--level", level, "--out", f"{level}.csv")
        with open(f"{level}.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert list(rows[0]) == [
            "ward", "n", "n_stderr", "n_lower", "n_upper", "middle", "middle_rank_lower", "middle_rank_upper",
        ]  # fmt: skip
        widths.append(float(rows[0]["n_upper"]) - float(rows[0]["n_lower"]))
    assert widths[0] < widths[1]
    assert "n_stderr" in clinic.done(*ask).stdout


def test_an_interval_in_ranks_never_stands_in_the_columns_of_values(clinic):
    table = ("-d", "visits.csv", "-s", "visits.toml", "-l", "budget.db", "-e", "0.5")
    clinic.done("query", *table, "--count", "--median", "age", "--out", "both.csv")
    clinic.done("describe", *table, "--out", "described.csv")
    for path, name in (("both.csv", "question"), ("described.csv", "figure")):
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert "unit" not in rows[0]
        for row in rows:
            is_rank = row[name].startswith("median") or row[name].endswith("%")
            assert (row["rank_upper"] != "") == is_rank
            assert (row["upper"] == "") == is_rank


def test_shares_of_a_check_are_printed_in_per_cent_and_never_below_0_or_above_1(clinic):
    words = ("check", *TABLE, "-e", "1.5")
    printed = clinic(*words).stdout
    assert re.search(r"within +\d+ +\d+ %", printed)
    assert not re.search(r"-?0\.\d{3}", printed)
    clinic(*words, "--out", "check.csv")
    with open("check.csv", encoding="utf-8", newline="") as file:
        shares = [float(row["share"]) for row in csv.DictReader(file) if row["share"]]
    assert shares
    assert min(shares) >= 0
    assert max(shares) <= 1
