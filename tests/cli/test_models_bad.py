"""What people mistype at fit, predict and publish: one sentence with a remedy, and nothing is charged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from clinic_shell import SECRET

from discreet import models

FACTS = ("--schema", "visits.toml", "--ledger", "budget.db")
FIT = ("fit", "mixed-nb", "visits.csv", *FACTS, "--target", "ward", "--epsilon", "1")
BAYES = (*FIT, "--out", "model.json")
TABLE = ("visits.csv", *FACTS, "-e", "1")

#: What was typed, and words of the sentence, among them the remedy.
BAD = {
    "no model": (["fit"], "--list"),
    "no such model": (["fit", "logistic-regresion", "visits.csv"], "Did you mean logistic-regression"),
    "a class of Python": (["fit", "GaussianNB", "visits.csv"], "--list"),
    "a model by path": (["fit", "os.system", *TABLE], "--list"),
    "no budget": (
        ["fit", "gaussian-nb", "visits.csv", *FACTS, "-o", "m.json"],
        "the fit may cost: --epsilon 0.5, or --epsilon 0.5 --delta 1e-6.",
    ),
    "no budget of a table": (
        ["publish", "synthetic", "visits.csv", *FACTS, "-o", "m.csv"],
        "the table may cost: --epsilon 0.5, or --epsilon 0.5 --delta 1e-6.",
    ),
    "a table of no rows": (
        ["publish", "synthetic", *TABLE, "--set", "rows=0", "-o", "m.csv"],
        "rows must be at least 1",
    ),
    "rows that are no number": (
        ["publish", "synthetic", *TABLE, "--set", "rows=many", "-o", "m.csv"],
        "rows must be",
    ),
    "a seed that is none": (
        ["publish", "synthetic", *TABLE, "--set", "random_state=x", "-o", "m.csv"],
        "random_state",
    ),
    "no made-up rows": (
        ["publish", "masked", *TABLE, "-t", "ward", "--set", "samples=0", "-o", "m.csv"],
        "samples",
    ),
    "ranges of no columns": (
        ["publish", "ranges", *TABLE, "--set", "columns=[]", "-o", "m.csv"],
        "columns must name",
    ),
    "ranges of one cell": (
        ["publish", "ranges", *TABLE, "--set", "columns=age", "--set", "bins=1", "-o", "m.csv"],
        "bins",
    ),
    "features that aren't there": ([*BAYES, "--features", "age,nix"], "no column|not in the schema"),
    "no features": ([*BAYES, "--features", "age,"], "--features age,cost"),
    "no file to write": ([*FIT], "--out model.json"),
    "a file of another kind": ([*FIT, "-o", "m.pickle"], "must end in .json"),
    "a file that exists": ([*FIT, "-o", "exists.json"], "--force"),
    "no such folder": ([*FIT, "-o", "none/m.json"], "make it first"),
    "no such setting": ([*BAYES, "--set", "alhpa=1"], "Did you mean alpha"),
    "a setting without value": ([*BAYES, "--set", "alpha"], "NAME=VALUE"),
    "a setting twice": ([*BAYES, "--set", "alpha=1", "--set", "alpha=2"], "give it once"),
    "a setting that is an option": ([*BAYES, "--set", "epsilon=9"], "give --epsilon instead"),
    "a setting of the schema": (
        ["fit", "gaussian-nb", *TABLE, "-o", "m.json", "--set", "classes=[0, 1]"],
        "the schema declares it",
    ),
    "a setting that is no number": ([*BAYES, "--set", "alpha=much"], "alpha"),
    "a negative setting": ([*BAYES, "--set", "alpha=-1"], "alpha"),
    "no such target": ([*BAYES[:-4], "-t", "wardd", "-o", "m.json", "-e", "1"], "ward"),
    "a target of another kind": (
        ["fit", "linear-regression", "visits.csv", *FACTS, "-t", "ward", "-e", "1", "-o", "m.json"],
        "ward",
    ),
    "no such inner model": (
        ["fit", "private-search", *TABLE, "-o", "m.json", "--set", "estimator=x"],
        "Give one of",
    ),
    "no inner model": (
        ["fit", "private-search", "visits.csv", *FACTS, "-t", "ward", "-e", "1", "-o", "m.json"],
        "estimator must be",
    ),
    "two tables": ([*BAYES, "--data", "other.csv"], "give the table once"),
    "no table": (["fit", "mixed-nb", *FACTS, "-e", "1", "-o", "m.json"], "--data must name"),
    "no such table": (["fit", "mixed-nb", "x.csv", *FACTS, "-e", "1", "-o", "m.json"], "check the path"),
    "nothing to predict with": (["predict"], "predict model.json new.csv"),
    "nothing to predict for": (["predict", "model.json"], "predict model.json new.csv"),
    "no such model file": (["predict", "x.json", "visits.csv"], "give the path of a model file"),
    "a model file that is none": (["predict", "exists.json", "visits.csv"], "discreet.models.save"),
    "a model of CSV": (["predict", "visits.csv", "visits.csv"], "discreet.models.save"),
    "rows of another kind": (["predict", "good.json", "visits.toml"], "must be a file that ends in .csv"),
    "no such rows": (["predict", "good.json", "x.csv"], "check the path"),
    "rows without a column": (["predict", "good.json", "few.csv"], "no column 'cost', which the model needs"),
    "rows without a header": (["predict", "good.json", "empty.csv"], "no header line"),
    "rows that are no Parquet": (["predict", "good.json", "bad.parquet"], "write it again"),
    "rows that are no gzip": (["predict", "good.json", "bad.csv.gz"], "write it again"),
    "a column that isn't there": (["predict", "good.json", "visits.csv", "--keep", "x"], "no column 'x'"),
    "predictions to HTML": (["predict", "good.json", "visits.csv", "-o", "p.html"], "must end in .csv"),
    "another ledger": (["predict", "good.json", "visits.csv", "-l", "budget.db"], "ledger"),
    "no way to publish": (["publish"], "masked"),
    "no such way": (["publish", "synthetics", "visits.csv"], "Did you mean synthetic"),
    "publishing nowhere": (["publish", "synthetic", *TABLE], "--out made.csv"),
    "publishing to JSON": (["publish", "synthetic", *TABLE, "-o", "a.json"], ".parquet"),
    "publishing an unknown setting": (
        ["publish", "synthetic", *TABLE, "-o", "a.csv", "--set", "row=1"],
        "Did you mean rows",
    ),
    "publishing every row": (["publish", "perturbed", *TABLE, "-o", "a.csv"], "replace_one"),
    "publishing no column": (["publish", "ranges", *TABLE, "-o", "a.csv"], "columns=age"),
    "publishing a mask of dates": (
        ["publish", "masked", "visits.csv", *FACTS, "-t", "day", "-e", "1", "-o", "a.csv"],
        "categor|class|numbers",
    ),
}  # fmt: skip


@pytest.fixture
def littered(clinic):
    """The clinic with files of all sorts."""
    X = np.random.default_rng(0).random((50, 2))
    good = models.naive_bayes.GaussianNB(bounds=(0, 1), classes=[0, 1])
    models.save(good.fit({"age": X[:, 0], "cost": X[:, 1]}, np.arange(50) % 2), "good.json")
    Path("exists.json").write_text("{}")
    Path("few.csv").write_text("age\n1\n")
    Path("empty.csv").write_text("")
    Path("bad.parquet").write_bytes(b"PAR1 no")
    Path("bad.csv.gz").write_bytes(b"no gzip")
    return clinic


@pytest.mark.parametrize("name", BAD)
def test_a_mistake_is_told_in_one_sentence_and_costs_nothing(littered, name):
    words, told = BAD[name]
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    failed = littered(*words)
    assert failed.exit_code == 2, failed.stderr
    assert failed.stdout == ""
    lines = failed.stderr.strip().splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith(f"discreet {words[0]}: ")
    assert any(part in lines[0] for part in told.split("|")), lines[0]
    assert "Traceback" not in failed.output
    assert SECRET not in failed.output
    after = {path.name: path.read_bytes() for path in Path().iterdir()}
    assert after.keys() == before.keys()
    assert len(littered.ledger().entries()) == 1
