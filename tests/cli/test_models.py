"""Models and tables from a shell: fit, predict, publish; paid for as told, and the same as in Python."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from clinic_shell import SECRET, WARDS, build_visits

import discreet as dp
from discreet import models
from discreet.cli import rehearsing
from discreet.cli.rehearsing import Expected, rehearse
from discreet.cli.settings import read_settings, to_kebab
from discreet.models.files.kinds import estimator_kinds
from discreet.testing import fixed_noise

FACTS = ("--schema", "visits.toml", "--ledger", "budget.db")
FIT = ("fit", "mixed-nb", "visits.csv", *FACTS, "--target", "ward", "--epsilon", "1")
BAYES = (*FIT, "--out", "model.json")
MADE = ("--set", "iterations=20", "--set", "rounds=0", "--set", "rows=30")


def read_csv(path: str) -> dict[str, list[str]]:
    with open(path, encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


def test_a_model_from_a_shell_predicts_as_in_python(clinic):
    done = clinic.done(*BAYES, "--rows", "400")
    assert "price: PureDP(epsilon=1) of PureDP(epsilon=4) that is left; time: about" in done.stderr
    assert "charged PureDP(epsilon=1) (entry 1 of" in done.stderr
    assert "PureDP(epsilon=1) for: a person" in done.stdout
    assert clinic.ledger().spent() == dp.PureDP(1)
    model = models.load("model.json", ledger=clinic.ledger())
    assert model.privacy_.certificate == done.stdout.strip()
    told = clinic.done(
        "predict", "model.json", "visits.csv", "--keep", "patient", "-p", "-o", "p.csv"
    )
    assert "about the people in these rows" in told.stderr
    found = read_csv("p.csv")
    visits = build_visits()
    rows = {
        "age": np.array([row[2] for row in visits]),
        "cost": np.array([row[3] for row in visits]),
        "day": np.array([row[4] for row in visits], "datetime64[D]"),
    }
    assert found["prediction"] == model.predict(rows).tolist()
    assert found["patient"] == [row[0] for row in visits]
    shares = [found[f"probability of {label}"] for label in model.classes_]
    assert (model.predict_proba(rows) == np.array(shares, float).T).all()
    assert clinic.ledger().spent() == dp.PureDP(1)
    assert SECRET not in Path("p.csv").read_text() + Path("model.json").read_text() + told.output


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), None),
        (("--rows", "400"), 400),
        (("--rows", "400", "--set", "expected_rows=50"), 50),
    ],
)
def test_a_model_that_asks_how_many_rows_to_expect_is_told(clinic, options, expected):
    tree = ("fit", "decision-tree-classifier", "visits.csv", *FACTS, "-t", "ward", "-e", "1")
    clinic.done(*tree, *options, "--out", "model.json")
    assert models.load("model.json", ledger=clinic.ledger()).expected_rows == expected


@pytest.mark.parametrize("ledger", ["basic", "zcdp", "renyi"])
@pytest.mark.parametrize("rows", ["0", "300"])
def test_a_fit_whose_plan_follows_from_its_ledger_is_rehearsed_and_paid(clinic, ledger, rows):
    """With twelve features and a δ regressions read rows, but not where the ledger can't count that."""
    columns = [f"x{at}" for at in range(12)]
    schema = dp.Schema(**{name: dp.Real(0, 1) for name in (*columns, "y")})
    schema.write("wide.toml")
    lines = [",".join([*columns, "y"]), *[",".join(["0.5"] * 13)] * 300]
    Path("wide.csv").write_text("\n".join(lines), encoding="utf-8")
    limit = dp.ApproxDP(10, 1e-4)
    reserve = {} if ledger == "basic" else {"delta_reserve": 1e-5}
    book = dp.Ledger(f"sqlite:///{os.getcwd()}/wide.db", limit=limit, composition=ledger, **reserve)
    wide = ("fit", "linear-regression", "wide.csv", "-s", "wide.toml", "-l", "wide.db", "-t", "y")
    clinic.done(*wide, "-e", "1", "--delta", "1e-6", "--rows", rows, "--out", "line.json")
    assert book.head[1] == 2
    method = models.load("line.json", ledger=book).method_
    few = rows == "300" and ledger == "basic"
    assert method == ("objective" if few else "sufficient_statistics")


def test_an_argument_goes_before_the_environment(clinic, monkeypatch):
    monkeypatch.setenv("DISCREET_TABLE", "elsewhere.csv")
    monkeypatch.setenv("DISCREET_SCHEMA", "visits.toml")
    monkeypatch.setenv("DISCREET_LEDGER", "budget.db")
    clinic.done("fit", "mixed-nb", "visits.csv", "-t", "ward", "-e", "1", "-o", "model.json")
    monkeypatch.setenv("DISCREET_TABLE", "visits.csv")
    clinic.done("fit", "mixed-nb", "-t", "ward", "-e", "1", "-o", "other.json")
    monkeypatch.setenv("DISCREET_LEDGER", "elsewhere.db")  # predictions cost nothing
    clinic.done("predict", "model.json", "visits.csv", "-o", "p.csv")


def test_a_database_gives_the_same_model_as_a_file(clinic):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect("visits.duckdb") as connection:
        connection.execute(
            "CREATE TABLE visits (patient TEXT, ward TEXT, age INT, cost DOUBLE, day DATE, name TEXT)"
        )
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?)", build_visits())
    texts = []
    for place in ("visits.csv", "duckdb:///visits.duckdb?table=visits"):
        with fixed_noise(5):
            clinic.done(
                "fit", "mixed-nb", place, *FACTS, "-t", "ward", "-e", "1", "-o", "m.json", "--force"
            )
        learned = json.loads(Path("m.json").read_text())["learned"]
        texts.append(json.dumps(learned))
        clinic.done(
            "publish",
            "ranges",
            place,
            *FACTS,
            "-e",
            "0.5",
            "--set",
            "columns=age",
            "-o",
            f"{len(texts)}.csv",
        )
    assert texts[0] == texts[1]
    assert clinic.ledger().spent() == dp.PureDP(3)


def test_json_tells_the_same(clinic):
    done = clinic.done(*BAYES, "--json", "--quiet")
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert found["format"] == "discreet fit"
    assert found["model"] == "MixedNB"
    assert found["certificate"] == json.loads(Path("model.json").read_text())["certificate"]
    told = json.loads(clinic.done("predict", "model.json", "visits.csv", "--json", "-q").stdout)
    assert set(told["columns"]["prediction"]) <= set(WARDS)
    made = clinic.done(
        "publish", "synthetic", "visits.csv", *FACTS, "-e", "1", *MADE, "-o", "m.csv", "--json"
    )
    found = json.loads(made.stdout)
    assert (found["published"], found["rows"], found["out"]) == ("synthetic", 30, "m.csv")
    assert found["certificate"]["entry"]["number"] == 2
    for command in ("fit", "publish"):
        assert json.loads(clinic.done(command, "--list", "--json").stdout)


def test_every_model_is_offered_by_name(clinic):
    listed = json.loads(clinic.done("fit", "--list", "--json").stdout)["models"]
    assert set(listed) == {to_kebab(name) for name in estimator_kinds()} - {"masked-data"}
    assert all(summary.endswith(".") for summary in listed.values())
    assert {to_kebab(name) for name in ("KMeans", "GaussianNB", "PCA", "LinearSVC")} == {
        "k-means", "gaussian-nb", "pca", "linear-svc",
    }  # fmt: skip
    shown = clinic.done("fit", "--list").stdout
    assert all(name in shown for name in listed)


#: Models of every sort, with what the command line adds.
TYPED = {
    "k-means": ["--set", "n_clusters=3"],
    "pca": ["--set", "n_components=2", "--set", "method=sulq"],
    "standard-scaler": [],
    "ridge": ["-t", "cost", "--set", "alpha=0.5", "--set", "fit_intercept=true"],
    "histogram-m-estimator": [
        "-t",
        "ward",
        "--set",
        "bins=2",
        "--set",
        "estimator=logistic-regression",
    ],
    "private-search": ["-t", "ward", "--set", "estimator=gaussian-nb", "--set", "scoring=accuracy"],
    "random-decision-forest": ["-t", "ward", "--set", "n_estimators=2", "--set", "max_depth=3"],
}


@pytest.mark.parametrize("name", TYPED)
def test_models_of_every_sort_are_fitted_and_used(clinic, name):
    columns = ["--column", "age=integer(0, 99)", "--column", "cost=real(0, 2000)"]
    if "ward" in TYPED[name]:
        columns += ["--column", f"ward=categorical({', '.join(WARDS)})"]
    clinic.done("init", *columns, "--id", "patient", "--max-rows", "3", "--out", "small.toml")
    clinic.done(
        "fit",
        name,
        "visits.csv",
        "-s",
        "small.toml",
        "-l",
        "budget.db",
        "-e",
        "1",
        *TYPED[name],
        "-o",
        "m.json",
    )
    clinic.done("predict", "m.json", "visits.csv", "-o", "p.csv", "--ledger", "budget.db")
    assert len(next(iter(read_csv("p.csv").values()))) == 400
    assert clinic.ledger().spent() == dp.PureDP(1)


def test_public_rows_cost_nothing(clinic):
    columns = (
        "--column",
        f"ward=categorical({', '.join(WARDS)})",
        "--column",
        "age=integer(0, 99)",
    )
    clinic.done("init", *columns, "--out", "public.toml")
    words = ("visits.csv", "-s", "public.toml", "--unit", "public", "-e", "1", "-t", "ward")
    done = clinic.done("fit", "gaussian-nb", *words, "-o", "model.json")
    assert "NOT PRIVATE" in done.stdout
    assert "price: nothing" in done.stderr
    made = clinic.done("publish", "masked", *words, "--set", "samples=30", "-o", "made.csv")
    assert "NOT PRIVATE" in made.stdout
    refused = clinic("predict", "model.json", "visits.csv", "--ledger", "budget.db")
    assert refused.exit_code == 2
    assert "declared public" in refused.stderr


def test_rows_to_predict_for_are_read_by_the_models_declarations(clinic):
    clinic.done(*BAYES)
    model = models.load("model.json")
    Path("odd.csv").write_text(
        "day,extra,cost,age\n2024-03-01,1,12.5,40\nnever,2,much,\n2024-02-30\n\n,,,1e400\n", "utf-8"
    )
    clinic.done("predict", "model.json", "odd.csv", "-o", "p.csv")
    rows = {
        "age": np.array([40, np.nan, np.nan, np.inf]),
        "cost": np.array([12.5, np.nan, np.nan, np.nan]),
        "day": np.array(["2024-03-01", "NaT", "NaT", "NaT"], "datetime64[D]"),
    }
    assert read_csv("p.csv")["prediction"] == model.predict(rows).tolist()
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    parquet.write_table(arrow.table(rows), "odd.parquet")
    clinic.done("predict", "model.json", "odd.parquet", "-o", "q.csv")
    assert read_csv("q.csv") == read_csv("p.csv")
    X = np.random.default_rng(0).random((50, 2))
    plain = models.naive_bayes.GaussianNB(bounds=(0, 1), classes=[0, 1]).fit(X, np.arange(50) % 2)
    models.save(plain, "plain.json")
    Path("two.csv").write_text("a,b\n0.1,0.2\n0.9,0.8\n")
    clinic.done("predict", "plain.json", "two.csv", "-o", "r.csv")
    assert read_csv("r.csv")["prediction"] == [
        str(one) for one in plain.predict([[0.1, 0.2], [0.9, 0.8]])
    ]


INTERRUPT = """
import os, signal, sys
from discreet.cli import main
from discreet.engines.delimited import Delimited

signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
real = Delimited.totals

def stop(self, *args, **options):
    os.kill(os.getpid(), signal.SIGINT)
    return real(self, *args, **options)

Delimited.totals = stop
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "words",
    [
        BAYES,
        (
            "publish",
            "ranges",
            "visits.csv",
            *FACTS,
            "-e",
            "1",
            "--set",
            "columns=age",
            "-o",
            "a.csv",
        ),
    ],
    ids=["fit", "publish"],
)
def test_ctrl_c_after_the_charge_leaves_the_ledger_right_and_tells_it(clinic, words):
    stopped = subprocess.run(
        [sys.executable, "-c", INTERRUPT, *words], capture_output=True, text=True, check=False
    )
    assert stopped.returncode == 130
    assert stopped.stdout == ""
    assert "charged was PureDP(epsilon=1) (entry 1 of" in stopped.stderr
    assert "nothing is refunded" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    ledger = clinic.ledger()
    ledger.verify()
    assert ledger.spent() == dp.PureDP(1)
    assert sorted(path.name for path in Path().iterdir()) == [
        "budget.db",
        "visits.csv",
        "visits.toml",
    ]


def test_what_was_paid_for_is_printed_if_it_cannot_be_written(clinic, monkeypatch):
    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    failed = clinic(*BAYES)
    assert failed.exit_code == 5
    assert "The model was printed instead" in failed.stderr
    assert "Charged was PureDP(epsilon=1)" in failed.stderr
    model = models.from_json(failed.stdout)
    assert model.privacy_.measure == dp.PureDP(1)
    failed = clinic(
        "publish", "synthetic", "visits.csv", *FACTS, "-e", "1", *MADE, "-o", "made.csv"
    )
    assert failed.exit_code == 5
    assert "the rows were printed instead" in failed.stderr
    assert len(failed.stdout.strip().splitlines()) == 31
    assert not list(Path().glob(".m*"))


def test_too_much_is_refused_before_the_price_is_paid(clinic):
    refused = clinic(
        "fit", "mixed-nb", "visits.csv", *FACTS, "-t", "ward", "-e", "5", "-o", "model.json"
    )
    assert refused.exit_code == 3
    assert not Path("model.json").exists()
    assert len(clinic.ledger().entries()) == 1


def test_help_has_examples(clinic):
    for command in ("fit", "predict", "publish"):
        shown = clinic.done(command, "--help").stdout
        assert f"discreet {command}" in shown
        assert "Examples:" in shown
        assert "--json" in shown


def test_settings_are_written_as_in_toml():
    words = [
        "a=1",
        "b = 0.5",
        "c=text",
        "d=none",
        "e=True",
        "f=false",
        "g=[1, 2]",
        "h={x=1}",
        "i='1'",
        "j==",
        "k=",
    ]
    assert read_settings(words) == {
        "a": 1, "b": 0.5, "c": "text", "d": None, "e": True, "f": False, "g": [1, 2], "h": {"x": 1}, "i": "1",
        "j": "=", "k": "",
    }  # fmt: skip


def test_a_rehearsal_reads_and_charges_nothing():
    data = dp.PrivateDataset(
        {"age": [1.0, 2.0]}, dp.Schema(age=dp.Real(0, 99)), ledger=dp.Ledger(limit=dp.PureDP(1))
    )
    seen = []

    def act(door):
        seen.append(door)
        return door.release(dp.Count(), dp.PureDP(1))

    assert rehearse(act, data, dp.PureDP(1)).seconds > 0
    assert seen
    assert all(door.is_made_up for door in seen)
    assert data.ledger.spent() == dp.PureDP(0)


def test_expected_time_grows_evenly_with_rows(monkeypatch):
    def expect(rows, start=0.1, per_row=1e-4):
        monkeypatch.setattr(rehearsing, "_time", lambda act, data, measure, n: start + per_row * n)
        return rehearse(None, None, None, rows)

    assert expect(None) == Expected(pytest.approx(0.6), 5000)
    assert expect(30) == Expected(pytest.approx(0.103), 30)
    assert expect(10**6) == Expected(pytest.approx(100.1), 10**6)
    assert expect(10**6, start=2) == Expected(pytest.approx(2.02), 200)  # too slow to be repeated
    words = {0.2: "a second", 5: "5 s", 200: "3 minutes", 10**5: "28 hours"}
    for seconds, told in words.items():
        line = f"about {told} for 7,000 rows, and the time to read them"
        assert Expected(seconds, 7000).describe() == line
