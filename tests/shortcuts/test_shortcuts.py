"""One-liners are the long form in one call: the same bits, the same charge, errors that say what to do."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dp
from discreet.testing import fixed_noise

AGES = np.random.default_rng(1).integers(0, 100, 500)
COSTS = np.random.default_rng(2).gamma(2.0, 300.0, 500)
WARDS = np.random.default_rng(3).choice(["A", "B", "C"], 500).astype(object)
IDS = np.arange(500) // 3

BUDGETS = {
    "pure": ({"epsilon": 0.5}, dp.PureDP(0.5)),
    "approximate": ({"epsilon": 0.5, "delta": 1e-6}, dp.ApproxDP(0.5, 1e-6)),
    "concentrated": ({"rho": 0.1}, dp.ZCDP(0.1)),
}
UNITS: dict[str, tuple[dict[str, Any], dp.Unit]] = {
    "add or remove": ({}, dp.Unit(dp.ADD_REMOVE)),
    "replace one": ({"relation": dp.REPLACE_ONE}, dp.Unit(dp.REPLACE_ONE)),
    "persons": (
        {"ids": IDS, "max_rows": 2},
        dp.Unit(dp.ADD_REMOVE, id_column="id", max_rows=2),
    ),
    "persons replaced": (
        {"ids": IDS, "max_rows": 2, "relation": dp.REPLACE_ONE},
        dp.Unit(dp.REPLACE_ONE, id_column="id", max_rows=2),
    ),
}
REAL, WHOLE = dp.Schema(x=dp.Real(0, 2000)), dp.Schema(x=dp.Integer(0, 99))
QUESTIONS: dict[str, tuple[Callable[..., Any], Any, dp.Schema, Any]] = {
    "mean": (lambda **o: dp.mean(COSTS, bounds=(0, 2000), **o), COSTS, REAL, dp.Mean("x")),
    "whole mean": (lambda **o: dp.mean(AGES, bounds=(0, 99), **o), AGES, WHOLE, dp.Mean("x")),
    "sum": (lambda **o: dp.sum(COSTS, bounds=(0, 2000), **o), COSTS, REAL, dp.Sum("x")),
    "variance": (
        lambda **o: dp.variance(COSTS, bounds=(0, 2000), **o),
        COSTS,
        REAL,
        dp.Variance("x"),
    ),
    "median": (lambda **o: dp.median(AGES, bounds=(0, 99), **o), AGES, WHOLE, dp.Median("x")),
    "quantiles": (
        lambda **o: dp.quantile(COSTS, [0.1, 0.9], bounds=(0, 2000), **o),
        COSTS,
        REAL,
        dp.Quantile("x", [0.1, 0.9]),
    ),
    "rows": (lambda **o: dp.count(COSTS, **o), COSTS, REAL, dp.Count()),
    "cells": (
        lambda **o: dp.count(WARDS, value="A", **o),
        WARDS,
        dp.Schema(x=dp.Categorical("A")),
        dp.Count(where="x == 'A'"),
    ),
    "values": (
        lambda **o: dp.histogram(WARDS, values=["A", "B"], **o),
        WARDS,
        dp.Schema(x=dp.Categorical("A", "B")),
        dp.Histogram("x"),
    ),
    "bins": (
        lambda **o: dp.histogram(COSTS, bins=4, bounds=(0, 2000), **o),
        COSTS,
        REAL.derive(bin=dp.Bins("x", [500, 1000, 1500])),
        dp.Histogram("bin"),
    ),
    "edges": (
        lambda **o: dp.histogram(AGES, bins=[0, 18, 65, 99], **o),
        AGES,
        WHOLE.derive(bin=dp.Bins("x", [18, 65])),
        dp.Histogram("bin"),
    ),
}


@pytest.mark.parametrize(
    ("unit", "budget"),
    [*((unit, "pure") for unit in UNITS), *(("add or remove", b) for b in list(BUDGETS)[1:])],
)
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_one_liner_gives_the_bits_of_the_long_form(question: str, unit: str, budget: str) -> None:
    ask, column, schema, query = QUESTIONS[question]
    (options, who), (amount, measure) = UNITS[unit], BUDGETS[budget]
    with fixed_noise(7):
        short = ask(**options, **amount)
    rows = {"x": column, **({"id": IDS} if who.id_column else {})}
    data = dp.PrivateDataset(rows, schema, ledger=dp.Ledger(limit=measure, unit=who))
    with fixed_noise(7):
        long = data.release(query, measure)
    assert np.array_equal(short.value, long.value)
    assert np.array_equal(short.stderr, long.stderr)
    assert short.event == long.event
    assert short.measure == long.measure
    assert short.unit == who
    assert short.labels == long.labels
    assert short.entry.booked == long.entry.booked


def test_a_deviation_is_the_root_of_the_variance() -> None:
    with fixed_noise(1):
        variance = dp.variance(COSTS, bounds=(0, 2000), epsilon=1)
    with fixed_noise(1):
        deviation = dp.std(COSTS, bounds=(0, 2000), epsilon=1)
    assert deviation.value == math.sqrt(variance.value)
    assert deviation.stderr == pytest.approx(variance.stderr / (2 * deviation.value))
    ends, roots = variance.noise_interval(0.9), deviation.noise_interval(0.9)
    assert (roots.lower, roots.upper) == (math.sqrt(ends.lower), math.sqrt(ends.upper))
    assert "root of Variance('x')" in repr(deviation)
    assert dp.Release.from_json(deviation.to_json()).value == deviation.value
    flat = dp.std([5.0] * 9, bounds=(0, 10), epsilon=math.inf, relation=dp.PUBLIC)
    assert (flat.value, flat.stderr) == (pytest.approx(0, abs=1e-2), 0)


COLUMNS = {
    "list": AGES.tolist(),
    "tuple": tuple(AGES.tolist()),
    "array": AGES,
    "floats": AGES.astype(float),
    "small": AGES.astype(np.uint8),
    "pandas": pd.Series(AGES),
    "pandas with nulls": pd.Series(AGES, dtype="Int64"),
    "pandas index": pd.Index(AGES),
    "polars": pl.Series(AGES),
    "arrow": pa.array(AGES),
    "arrow chunks": pa.chunked_array([AGES[:200], AGES[200:]]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_every_kind_are_taken(kind: str) -> None:
    public = {"epsilon": math.inf, "relation": dp.PUBLIC}
    column = COLUMNS[kind]
    assert float(dp.sum(column, bounds=(0, 100), **public)) == pytest.approx(AGES.sum(), abs=0.05)
    assert float(dp.mean(column, bounds=(0, 99), **public)) == pytest.approx(AGES.mean(), abs=1e-4)
    assert dp.count(column, **public).value == 500
    assert dp.count(column, value=7, **public).value == (AGES == 7).sum()


def test_whole_numbers_are_told_from_types_and_never_from_cells() -> None:
    for kind, column in COLUMNS.items():
        found = dp.median(column, bounds=(0, 99), epsilon=1).value
        assert abs(found - round(found)) < 1e-9 or kind in ("list", "tuple", "floats"), kind


def test_booleans_and_missing_cells_follow_the_public_rules() -> None:
    public = {"epsilon": math.inf, "relation": dp.PUBLIC}
    old = AGES >= 65
    assert dp.count(old, value=True, **public).value == old.sum()
    assert dp.mean(old, bounds=(0, 1), **public).value == old.mean()
    holes = [10.0, None, math.nan, "ten", 1e9, -5]
    assert dp.sum(holes, bounds=(0, 20), **public).value == 10 + 3 * 10 + 20 + 0
    masked = np.ma.masked_array([10.0, 99.0], [False, True])
    assert dp.sum(masked, bounds=(0, 20), **public).value == 20


def test_no_rows_are_answered_too() -> None:
    for empty in ([], np.array([]), pd.Series([], dtype=float)):
        assert dp.count(empty, epsilon=math.inf, relation=dp.PUBLIC).value == 0
        assert 0 <= dp.mean(empty, bounds=(0, 9), epsilon=1).value <= 9
        assert 0 <= dp.median(empty, bounds=(0, 9), epsilon=1).value <= 9
        assert len(dp.histogram(empty, bins=3, bounds=(0, 9), epsilon=1).value) == 3


def test_a_one_off_ledger_says_that_nothing_adds_up_and_a_shared_one_adds_up() -> None:
    alone = dp.mean(AGES, bounds=(0, 99), epsilon=0.5)
    assert "ten such calls cost ten times as much" in alone.note
    assert repr(alone).count("ten such calls") == 1
    several = dp.quantile(AGES, [0.25, 0.75], bounds=(0, 99), epsilon=0.5)
    assert repr(several).count("ten such calls") == 1
    ledger = dp.Ledger(limit=dp.PureDP(1))
    shared = dp.mean(AGES, bounds=(0, 99), epsilon=0.5, ledger=ledger, name="age")
    dp.count(AGES, epsilon=0.5, ledger=ledger)
    assert shared.note == ""
    assert "Mean('age')" in str(ledger.statement())
    with pytest.raises(dp.BudgetExceeded):
        dp.count(AGES, epsilon=0.1, ledger=ledger)


def test_a_ledger_of_persons_wants_ids_and_lends_its_unit() -> None:
    unit = dp.Unit(dp.REPLACE_ONE, id_column="patient", max_rows=2)
    ledger = dp.Ledger(limit=dp.PureDP(10), unit=unit)
    assert dp.mean(AGES, bounds=(0, 99), epsilon=1, ids=IDS, ledger=ledger).unit == unit
    for wrong, words in (
        ({}, "ids must be given: this ledger protects persons by their 'patient'"),
        ({"ids": IDS, "max_rows": 1}, "the ledger protects another unit"),
        ({"ids": IDS, "relation": dp.ADD_REMOVE}, "the ledger protects another unit"),
        ({"ids": IDS, "name": "patient"}, "give the column another name"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            dp.mean(AGES, bounds=(0, 99), epsilon=1, ledger=ledger, **wrong)
    with pytest.raises(ValueError, match="the ledger protects another unit"):
        dp.count(AGES, epsilon=1, ids=IDS, max_rows=1, ledger=dp.Ledger(limit=dp.PureDP(1)))
    assert ledger.statement().count == 2  # opened, and charged once


def test_an_answer_of_one_number_is_a_float_and_others_say_where_theirs_are() -> None:
    answer = dp.mean(AGES, bounds=(0, 99), epsilon=1)
    assert float(answer) == answer.value
    assert pickle.loads(pickle.dumps(answer)).value == answer.value
    with pytest.raises(TypeError, match=r"use \.value"):
        float(dp.histogram(AGES, bins=2, bounds=(0, 99), epsilon=1))


GOOD = {"bounds": (0, 1), "epsilon": 1}
FRAME = pd.DataFrame({"a": AGES})
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: dp.mean(AGES, epsilon=1), "never taken from the values"),
    (lambda: dp.median(AGES, epsilon=1), r"as in dp\.median\(x, bounds=\(0, 100\)"),
    (lambda: dp.histogram(AGES, epsilon=1), r"as in dp\.histogram\(x, bounds="),
    (lambda: dp.mean(AGES, bounds=5, epsilon=1), "a pair of numbers"),
    (lambda: dp.mean(AGES, bounds=(0, 1, 2), epsilon=1), "a pair of numbers"),
    (lambda: dp.mean(AGES, bounds=(5, 1), epsilon=1), "lower must not exceed upper"),
    (lambda: dp.mean(AGES, bounds=(0, math.inf), epsilon=1), "upper must be finite"),
    (lambda: dp.mean(AGES, bounds=(None, 1), epsilon=1), "never taken from the data"),
    (lambda: dp.mean(AGES, bounds=(0, 1)), "a budget must be given"),
    (lambda: dp.mean(AGES, rho=1, **GOOD), "a budget must be given"),
    (lambda: dp.mean(AGES, bounds=(0, 1), rho=1, delta=1e-6), "delta belongs to epsilon"),
    (lambda: dp.mean(AGES, bounds=(0, 1), epsilon=0), "greater than 0"),
    (lambda: dp.mean(AGES, bounds=(0, 1), epsilon=-1), "at least 0"),
    (lambda: dp.mean(AGES, bounds=(0, 1), epsilon=math.inf), "the budget must be finite"),
    (lambda: dp.mean(AGES, bounds=(0, 1), rho=math.inf), "the budget must be finite"),
    (lambda: dp.mean(AGES.reshape(-1, 2), **GOOD), "must be one-dimensional"),
    (lambda: dp.mean(np.array(3.0), **GOOD), "must be one-dimensional"),
    (lambda: dp.count(AGES.reshape(-1, 2), epsilon=1), "must be one-dimensional"),
    (lambda: dp.mean(FRAME.to_records(), **GOOD), "must be one-dimensional"),
    (lambda: dp.mean(FRAME, **GOOD), r"one column, such as frame\['age'\]"),
    (lambda: dp.mean(pl.DataFrame(FRAME).lazy(), **GOOD), "not a LazyFrame"),
    (lambda: dp.mean(pa.table({"a": AGES}), **GOOD), "not a Table"),
    (lambda: dp.mean("people.csv", **GOOD), r"opened with dp\.PrivateDataset"),
    (lambda: dp.mean({"a": AGES}, **GOOD), "not dict"),
    (lambda: dp.mean(None, **GOOD), "not NoneType"),
    (lambda: dp.mean(iter([1.0]), **GOOD), "not list_iterator"),
    (lambda: dp.mean(pl.col("a"), **GOOD), "not Expr"),
    (lambda: dp.mean(WARDS.astype(str), **GOOD), "declared as numbers"),
    (lambda: dp.mean(AGES, ids=IDS, **GOOD), "max_rows must be given with ids"),
    (lambda: dp.mean(AGES, ids=IDS[1:], max_rows=1, **GOOD), "one id for each row"),
    (lambda: dp.mean(AGES, ids=FRAME, max_rows=1, **GOOD), "ids must be one column"),
    (lambda: dp.mean(AGES, max_rows=1, **GOOD), "max_rows needs ids"),
    (lambda: dp.mean(AGES, relation="add", **GOOD), r"relation must be dp\.ADD_REMOVE"),
    (lambda: dp.mean(AGES, ledger=1.0, **GOOD), r"ledger must be a dp\.Ledger"),
    (lambda: dp.mean(AGES, name=3, **GOOD), "name must be text"),
    (lambda: dp.quantile(AGES, 2, **GOOD), "q must be between 0 and 1"),
    (lambda: dp.histogram(WARDS, values="AB", epsilon=1), "a list of the values to count"),
    (lambda: dp.histogram(WARDS, values=["A"], bins=3, epsilon=1), "or bins and bounds"),
    (lambda: dp.histogram(AGES, bins=[1], epsilon=1), "three or more increasing"),
    (lambda: dp.histogram(AGES, bins=[2, 1, 3], epsilon=1), "three or more increasing"),
    (lambda: dp.histogram(AGES, bins=["a", "b"], epsilon=1), "an edge must be a number"),
    (lambda: dp.histogram(AGES, bins=[0, 1, 2], bounds=(0, 2), epsilon=1), "leave bounds out"),
    (lambda: dp.histogram(AGES, bins=1, **GOOD), "bins must be at least 2"),
    (lambda: dp.histogram(AGES, bins=3, bounds=(1, 1), epsilon=1), "bounds must differ"),
    (lambda: dp.count(AGES, value=[1], epsilon=1), "compared with a constant"),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_what_cannot_be_asked_is_refused_in_a_sentence(case: int) -> None:
    call, words = REFUSED[case]
    with pytest.raises((TypeError, ValueError), match=words) as refused:
        call()
    assert str(refused.value).endswith(".")
