"""The columns that a model learns from, chosen at a shell, and what is said of those left out."""

from __future__ import annotations

import csv

from discreet import models


def read_header(path: str) -> list[str]:
    with open(path, encoding="utf-8", newline="") as file:
        return next(csv.reader(file))


def test_features_are_chosen_and_what_is_left_out_is_said_once_in_a_line(clinic):
    words = (
        "--column",
        "age=integer(0, 99)",
        "--column",
        "cost=real(0, 2000)",
        "--column",
        "day=date(2024-01-01, 2024-12-31)",
    )
    unit = ("--id", "patient", "--max-rows", "3", "-o", "dated.toml")
    clinic.done("init", *words, "--derive", "month=month(day)", *unit)
    fit = (
        "fit",
        "linear-regression",
        "visits.csv",
        "-s",
        "dated.toml",
        "-l",
        "budget.db",
        "-t",
        "cost",
        "-e",
        "0.5",
    )
    told = clinic.done(*fit, "-o", "all.json").stderr
    assert told.count("derived columns (month) are not learned from") == 1
    assert "discreet fit: note: " in told
    assert "as in --features age,month." in told
    assert "UserWarning" not in told
    assert ".py" not in told
    chosen = clinic.done(*fit, "-o", "two.json", "--features", "age,month").stderr
    assert "note:" not in chosen
    clinic.done(*fit, "-o", "again.json", "--features", "age", "--features", "month")
    for path in ("two.json", "again.json"):
        assert list(models.load(path).columns_) == ["age", "month"]
    table = ("visits.csv", "-s", "visits.toml", "-l", "budget.db")
    refused = clinic("fit", "linear-regression", *table, "-t", "cost", "-e", "0.5", "-o", "n.json")
    assert "takes numbers only" in refused.stderr
    assert "Or choose the features, as in --features age,day." in refused.stderr
    masked = clinic.done(
        "publish",
        "masked",
        *table,
        "-t",
        "ward",
        "-e",
        "0.5",
        "--set",
        "features=age",
        "--set",
        "samples=30",
        "-o",
        "m.csv",
    )
    assert read_header("m.csv") == ["age", "ward"]
    assert "note:" not in masked.stderr
