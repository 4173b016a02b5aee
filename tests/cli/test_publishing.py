"""Tables from a shell: made-up rows, perturbed rows, counts of ranges, and what others register."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from clinic_shell import SECRET, WARDS

import discreet as dp
from discreet.publish import publishers
from discreet.publish.publishers import Offer, Publisher, list_publishers, register_publisher

FACTS = ("--schema", "visits.toml", "--ledger", "budget.db")
MADE = ("--set", "iterations=20", "--set", "rounds=0", "--set", "rows=30")


def read_csv(path: str) -> dict[str, list[str]]:
    with open(path, encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


def test_tables_are_published_to_csv_and_parquet(clinic):
    parquet = pytest.importorskip("pyarrow.parquet")
    clinic.done("publish", "synthetic", "visits.csv", *FACTS, "-e", "1", *MADE, "-o", "made.csv")
    made = read_csv("made.csv")
    assert list(made) == ["ward", "age", "cost", "day"]
    assert len(made["age"]) == 30
    assert set(made["ward"]) <= {*WARDS, ""}
    columns = (
        "--column",
        f"ward=categorical({', '.join(WARDS)})",
        "--column",
        "age=integer(0, 99)",
    )
    clinic.done("init", *columns, "--id", "patient", "--max-rows", "3", "--out", "two.toml")
    two = ("-s", "two.toml", "-l", "budget.db", "-e", "0.5")
    clinic.done(
        "publish",
        "masked",
        "visits.csv",
        *two,
        "-t",
        "ward",
        "--set",
        "samples=40",
        "-o",
        "m.parquet",
    )
    table = parquet.read_table("m.parquet")
    assert (table.num_rows, table.column_names) == (40, ["age", "ward"])
    clinic.done(
        "publish", "ranges", "--data", "visits.csv", *two, "--set", "columns=age", "-o", "ages.csv"
    )
    assert len(read_csv("ages.csv")["age"]) == 100
    assert clinic.ledger().spent() == dp.PureDP(2)
    assert SECRET not in "".join(
        path.read_text(errors="replace")
        for path in Path().glob("*.csv")
        if path.name != "visits.csv"
    )


@pytest.mark.parametrize(("kind", "more"), [("perturbed", []), ("wavelet", ["--set", "block=9"])])
def test_every_row_is_published_only_if_their_number_is_public(clinic, kind, more):
    columns = (
        "--column",
        f"ward=categorical({', '.join(WARDS)})",
        "--column",
        "age=integer(0, 99)",
    )
    clinic.done("init", *columns, "--unit", "replace_one", "--out", "rows.toml")
    clinic.done("ledger", "open", "rows.db", "--schema", "rows.toml", "--epsilon", "9")
    words = (
        "publish",
        kind,
        "visits.csv",
        "-s",
        "rows.toml",
        "-l",
        "rows.db",
        "-e",
        "3",
        "-t",
        "ward",
        *more,
    )
    refused = clinic(*words, "-o", "rows.csv")
    assert refused.exit_code == 2
    assert "--rows must give" in refused.stderr
    assert len(clinic.ledger("rows.db").entries()) == 1
    clinic.done(*words, "--rows", "390", "-o", "rows.csv")
    assert [len(cells) for cells in read_csv("rows.csv").values()] == [390, 390]
    assert clinic.ledger("rows.db").spent() == dp.PureDP(3)


def test_other_publishers_register_themselves(clinic):
    def offer(data, measure, target, settings):
        plan = data.plan(dp.Count(), measure)

        def publish(rows):
            found = rows.release(dp.Count(), measure).value
            return {"rows": np.array([found] * settings.get("times", 1))}

        return Offer(plan.event, measure, ("additive",), publish)

    mine = Publisher("head-count", "The number of rows.", ("times",), offer)
    register_publisher(mine)
    try:
        assert mine in list_publishers()
        with pytest.raises(ValueError, match="registered already"):
            register_publisher(mine)
        with pytest.raises(TypeError, match="must be a Publisher"):
            register_publisher("head-count")
        assert "head-count" in clinic.done("publish", "--list").stdout
        clinic.done(
            "publish",
            "head-count",
            "visits.csv",
            *FACTS,
            "-e",
            "1",
            "--set",
            "times=3",
            "-o",
            "n.csv",
        )
        assert len(read_csv("n.csv")["rows"]) == 3
    finally:
        publishers._PUBLISHERS.pop("head-count")
