"""Bad calls: each gets a sentence with a remedy, shows no cell, and charges nothing that it doesn't say."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreet as dp
from discreet import mechanisms
from discreet.accounting.counts import NoBound
from discreet.engines.base import EngineFailed
from discreet.ledger import LedgerUnavailable
from discreet.matching import ColumnMismatch
from discreet.models.linear_model import LinearRegression, LogisticRegression
from discreet.models.naive_bayes import GaussianNB
from discreet.publish import MaskedData
from discreet.schema import UnknownColumn

#: What stands in private cells; no message may hold one of them.
SECRETS = ("SECRET", "7319", "73.19")
HALF = dp.PureDP(0.5)
X = np.array([[7319.0, 1.0], [73.19, 2.0]] * 10)
Y = np.array([0, 1] * 10)
AGE = dp.Schema(age=dp.Integer(0, 99))
SCHEMA = dp.Schema(
    age=dp.Integer(0, 99),
    ward=dp.Categorical("A", "B"),
    cost=dp.Real(0, 1000),
    town=dp.Text(),
    free=dp.Real(),
)


@dataclass
class World:
    """What a bad call has at hand: a folder, a ledger, rows, and a data set on both."""

    folder: Path
    ledger: dp.Ledger

    @property
    def rows(self) -> dict[str, list[Any]]:
        cells = {"age": [7319, 20], "ward": ["SECRET", "B"], "cost": [73.19, 2.0]}
        return {**cells, "town": ["SECRET", "x"], "free": [7319.0, 1.0]}

    @property
    def data(self) -> dp.PrivateDataset:
        return dp.PrivateDataset(self.rows, SCHEMA, ledger=self.ledger)

    def open(self, data: Any, schema: Any = AGE, **options: Any) -> dp.PrivateDataset:
        return dp.PrivateDataset(data, schema, **{"ledger": self.ledger, **options})

    def file(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def ask(self, query: Any, budget: Any = HALF) -> Any:
        return self.data.release(query, budget)


Call = Callable[[World], Any]

#: Name: the call, the documented error, and words of the remedy. Those with a + at the end are charged first.
CALLS: dict[str, tuple[Call, type[BaseException], str]] = {
    # what it may cost
    "a bare number": (lambda w: w.ask(dp.Count(), 0.5), TypeError, r"write dp\.PureDP\(0\.5\)"),
    "epsilon": (
        lambda w: w.data.release(dp.Count(), epsilon=0.5),
        TypeError,
        r"data\.release\(query, dp\.PureDP\(0\.5\)\)",
    ),
    "epsilon and delta": (
        lambda w: w.data.plan(dp.Count(), epsilon=0.5, delta=1e-6),
        TypeError,
        r"data\.plan\(query, dp\.ApproxDP\(0\.5, 1e-06\)\)",
    ),
    "rho": (lambda w: w.data.release(dp.Count(), rho=0.1), TypeError, r"dp\.ZCDP\(0\.1\)"),
    "no budget": (lambda w: w.data.release(dp.Count()), TypeError, r"needs a budget, as in"),
    "a budget of text": (lambda w: w.ask(dp.Count(), "0.5"), TypeError, r"such as dp\.PureDP"),
    "no noise": (lambda w: w.ask(dp.Count(), dp.PureDP(math.inf)), ValueError, "give a finite one"),
    "less than nothing": (lambda w: dp.PureDP(-1), ValueError, "must be at least 0"),
    "no number": (lambda w: dp.PureDP(math.nan), ValueError, "must be a finite number"),
    "a delta of 2": (lambda w: dp.ApproxDP(1, 2), ValueError, "must be between 0 and 1"),
    "a delta forgotten": (lambda w: dp.ApproxDP(1), TypeError, r"as in dp\.ApproxDP\(1, 1e-6\)"),
    "too much": (lambda w: w.ask(dp.Count(), dp.PureDP(2)), dp.BudgetExceeded, "ask for less"),
    "approximate on pure": (
        lambda w: w.ask(dp.Count(by="age"), mechanisms.Gaussian(0.5, 1e-6)),
        ValueError,
        r"open it with an \(ε, δ\) limit, as in dp\.Ledger\(limit=dp\.ApproxDP\(1, 1e-6\)\)",
    ),
    "concentrated on pure": (
        lambda w: w.ask(dp.Count(), dp.ZCDP(0.1)),
        ValueError,
        r"as in dp\.Ledger\(limit=dp\.ApproxDP",
    ),
    "a charge without a measure": (
        lambda w: w.ledger.charge(dp.events.Gaussian(1, 1)),
        NoBound,
        r"open it with an \(ε, δ\) limit",
    ),
    # what is asked
    "text for a query": (lambda w: w.ask("count"), TypeError, r"such as dp\.Count\(\)"),
    "a class for a query": (lambda w: w.ask(dp.Count), TypeError, r"write dp\.Count\(\.\.\.\)"),
    "a query for a step": (lambda w: w.data.run(dp.Count()), TypeError, r"data\.release"),
    "a misspelt column": (lambda w: w.ask(dp.Mean("csot")), UnknownColumn, "mean 'cost'"),
    "a misspelt group": (lambda w: w.ask(dp.Count(by="Wards")), UnknownColumn, "mean 'ward'"),
    "a misspelt condition": (
        lambda w: w.ask(dp.Count(where="agee > 3")),
        UnknownColumn,
        "mean 'age'",
    ),
    "a misspelt target": (
        lambda w: GaussianNB().fit(w.data, target="wadr"),
        UnknownColumn,
        "mean 'ward'",
    ),
    "one sign of equality": (
        lambda w: w.ask(dp.Count(where="ward = 'A'")),
        ValueError,
        "write, for example",
    ),
    "another language": (
        lambda w: w.ask(dp.Count(where="age >> 3")),
        ValueError,
        "it has comparisons",
    ),
    "a category in another case": (
        lambda w: w.ask(dp.Count(where="ward == 'a'")),
        ValueError,
        "which has 'A', 'B'",
    ),
    "a function": (
        lambda w: w.ask(dp.Count(where=lambda row: row)),
        TypeError,
        r"such as dp\.col\('age'\) >= 40",
    ),
    "the mean of names": (
        lambda w: w.ask(dp.Mean("ward")),
        ValueError,
        r"as in dp\.Histogram\('ward'\)",
    ),
    "the mean without bounds": (
        lambda w: w.ask(dp.Mean("free")),
        ValueError,
        "declare them, as in",
    ),
    "groups of reals": (lambda w: w.ask(dp.Count(by="cost")), ValueError, "derive bins first"),
    "groups of text": (lambda w: w.ask(dp.Count(by="town")), ValueError, r"dp\.KeyCounts"),
    "a percentage": (lambda w: w.ask(dp.Quantile("age", 50)), ValueError, "between 0 and 1"),
    "keys that are known": (
        lambda w: w.ask(dp.KeyCounts("ward", delta=1e-6)),
        ValueError,
        r"use dp\.Histogram",
    ),
    "bounds that are known": (lambda w: w.ask(dp.Bounds("age")), ValueError, "needs no others"),
    # what is declared
    "bounds the wrong way": (lambda w: dp.Real(10, 0), ValueError, "lower must not exceed upper"),
    "one bound": (lambda w: dp.Real(10), ValueError, r"such as dp\.Real\(0, 120\)"),
    "half a year": (lambda w: dp.Integer(0, 9.5), ValueError, "must be a whole number"),
    "no categories": (lambda w: dp.Categorical(), ValueError, r"as in dp\.Categorical"),
    "a list of categories": (lambda w: dp.Categorical(["A"]), TypeError, r"\(\*values\)"),
    "a category twice": (lambda w: dp.Categorical("A", "A"), ValueError, "list each once"),
    "a pair for a column": (lambda w: dp.Schema(age=(0, 9)), TypeError, r"must be dp\.Real\(lower"),
    "an empty schema": (lambda w: dp.Schema(), ValueError, r"as in dp\.Schema\(age="),
    "a mapping for a schema": (
        lambda w: w.open(w.rows, {"age": (0, 9)}),
        TypeError,
        r"such as dp\.Schema\(age=",
    ),
    "an id without limit": (lambda w: dp.Unit(id_column="id"), ValueError, "as in dp.Unit"),
    "a schema that is not there": (
        lambda w: dp.Schema.read(w.folder / "none.toml"),
        FileNotFoundError,
        "check the path",
    ),
    "a misspelt name": (lambda w: dp.Meen("age"), AttributeError, r"mean dp\.Mean\?"),
    # where the rows are
    "no ledger": (lambda w: w.open(w.rows, ledger=None), ValueError, r"ledger=dp\.Ledger"),
    "a number for a ledger": (
        lambda w: w.open(w.rows, ledger=1.0),
        TypeError,
        r"such as dp\.Ledger\(limit=dp\.PureDP\(1\)\)",
    ),
    "another unit": (
        lambda w: w.open(w.rows, unit=dp.REPLACE_ONE),
        ValueError,
        "open another ledger",
    ),
    "a file that is not there": (
        lambda w: w.open(w.folder / "visits.csv"),
        FileNotFoundError,
        "check the path",
    ),
    "a spreadsheet": (lambda w: w.open(w.file("a.xlsx", "")), ValueError, "pass the frame"),
    "an empty file": (lambda w: w.open(w.file("a.csv", "")), ValueError, "add one, such as"),
    "no line of names": (
        lambda w: w.open(w.file("a.csv", "7319,SECRET\n20,B\n")),
        ColumnMismatch,
        "Declare columns by the names",
    ),
    "plain text as gzip": (
        lambda w: w.open(w.file("a.csv.gz", "age\n7319\n")),
        EngineFailed,
        r"rename it to \.csv",
    ),
    "a broken Parquet file": (
        lambda w: w.open(w.file("a.parquet", "SECRET")),
        EngineFailed,
        "check that the file",
    ),
    "no table named": (
        lambda w: w.open(f"duckdb:///{w.file('a.db', '')}"),
        ValueError,
        r"as in \.\.\.\?table=patients",
    ),
    "a database that is not there": (
        lambda w: w.open(f"duckdb:///{w.folder}/none.db?table=t"),
        FileNotFoundError,
        "write duckdb:///",
    ),
    "a host that is not there": (
        lambda w: w.open("postgresql://me@host.invalid/db?table=t"),
        EngineFailed,
        "there is no host of that name; check the address",
    ),
    "a port where nobody answers": (
        lambda w: w.open("postgresql://me@127.0.0.1:1/db?table=t"),
        EngineFailed,
        "no server answers there; check host and port",
    ),
    "a name in another case": (
        lambda w: w.open(pd.DataFrame({"Age": [7319]})),
        ColumnMismatch,
        "letters and spaces must be the same",
    ),
    "a name twice": (
        lambda w: w.open(pd.DataFrame([[7319, 1]], columns=["age", "age"])),
        ColumnMismatch,
        "give each a name of its own",
    ),
    "numbers as text": (
        lambda w: w.open(pl.DataFrame({"age": ["SECRET"]})),
        ColumnMismatch,
        "change the declaration",
    ),
    "columns of two lengths": (
        lambda w: w.open(
            {"age": [7319], "x": []}, dp.Schema(age=dp.Integer(0, 9), x=dp.Real(0, 1))
        ),
        ValueError,
        "one cell per row",
    ),
    "a list of rows": (lambda w: w.open([{"age": 7319}]), TypeError, "a mapping of names"),
    "an array too wide": (lambda w: w.open(X), ValueError, "one for each column"),
    "pickle": (lambda w: pickle.dumps(w.data), TypeError, "open it where it is needed"),
    # the ledger
    "no limit": (lambda w: dp.Ledger(), ValueError, r"limit=dp\.ApproxDP"),
    "a number for a limit": (lambda w: dp.Ledger(limit=1), TypeError, r"such as dp\.ApproxDP"),
    "a folder that is not there": (
        lambda w: dp.Ledger("sqlite:////nowhere/b.db", limit=HALF),
        LedgerUnavailable,
        "make it first",
    ),
    "a server that is not there": (
        lambda w: dp.Ledger("postgresql://me@127.0.0.1:1/db", limit=HALF),
        LedgerUnavailable,
        "no server answers at",
    ),
    "a path for a URL": (
        lambda w: dp.Ledger(str(w.folder / "b.db"), limit=HALF),
        ValueError,
        "must look like 'sqlite:///budget.db'",
    ),
    "an account without limit": (
        lambda w: w.ledger.account("a"),
        ValueError,
        r"as in account\('a'",
    ),
    "a measure for an event": (
        lambda w: w.ledger.charge(HALF),
        TypeError,
        r"as data\.plan\(\.\.\.\)\.event",
    ),
    # models
    "classes of another type": (
        lambda w: LogisticRegression(classes=["no", "yes"], bounds=(0, 1), ledger=w.ledger).fit(
            X, Y
        ),
        ColumnMismatch,
        r"classes=\['no', 'yes'\] are text, but y holds numbers: declare the classes as they stand there",
    ),
    "numbers for classes of text": (
        lambda w: MaskedData(classes=[0, 1], bounds=(0, 1), ledger=w.ledger).fit(X, Y.astype(str)),
        ColumnMismatch,
        r"classes=\[0, 1\] are numbers, but y holds text",
    ),
    "no classes": (
        lambda w: GaussianNB(bounds=(0, 1), ledger=w.ledger).fit(X, Y),
        ValueError,
        r"as in classes=\[0, 1\]",
    ),
    "no bounds": (
        lambda w: GaussianNB(classes=[0, 1], ledger=w.ledger).fit(X, Y),
        ValueError,
        r"as in bounds=\(0, 100\)",
    ),
    "no bounds of the target": (
        lambda w: LinearRegression(bounds=(0, 1), ledger=w.ledger).fit(X, Y),
        ValueError,
        r"as in target_bounds=\(0, 100\)",
    ),
    "no target": (
        lambda w: GaussianNB(classes=[0, 1], bounds=(0, 1), ledger=w.ledger).fit(X),
        ValueError,
        r"as in fit\(frame, target=",
    ),
    "a fit that costs too much": (
        lambda w: GaussianNB(epsilon=5, classes=[0, 1], bounds=(0, 1), ledger=w.ledger).fit(X, Y),
        dp.BudgetExceeded,
        "ask for less",
    ),
    "a fit with a delta on a pure ledger": (
        lambda w: LogisticRegression(
            epsilon=0.5, delta=1e-6, classes=[0, 1], bounds=(0, 1), ledger=w.ledger
        ).fit(X, Y),
        ValueError,
        r"open it with an \(ε, δ\) limit",
    ),
    "groups without a unit": (
        lambda w: GaussianNB(classes=[0, 1], bounds=(0, 1), ledger=w.ledger).fit(X, Y, groups=Y),
        ValueError,
        r"as in unit=dp\.Unit",
    ),
    # after the answer: it was paid for, and the ledger says so
    "a level in per cent +": (
        lambda w: w.ask(dp.Count()).to_frame(level=95),
        ValueError,
        "must be between 0 and 1",
    ),
    "an unknown library +": (
        lambda w: w.ask(dp.Count()).to_frame(backend="excel"),
        ValueError,
        "must be one of 'pandas'",
    ),
    "labels of a number +": (lambda w: w.ask(dp.Count()).to_dict(), ValueError, r"use \.value"),
    "one picture of many +": (
        lambda w: w.ask(dp.Moments("age", "cost")).plot(),
        ValueError,
        r"as in plot\(quantity='count'\)",
    ),
    "somebody else's JSON": (
        lambda w: dp.Release.from_json('{"SECRET": 7319}'),
        ValueError,
        "give the text that to_json returned",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_bad_call_gets_a_sentence_with_a_remedy_and_an_honest_ledger(name, tmp_path):
    call, kind, remedy = CALLS[name]
    world = World(tmp_path, dp.Ledger(limit=dp.PureDP(1)))
    with pytest.raises(kind, match=remedy) as caught:
        call(world)
    told = str(caught.value)
    assert type(caught.value) is kind
    assert told.rstrip().endswith((".", "?"))
    assert "\n" not in told
    assert not any(secret in told for secret in SECRETS)
    assert len(told) < 600
    entries = world.ledger.entries()
    if name.endswith("+"):
        assert [entry.booked for entry in entries[1:]] == [HALF]
    else:
        assert len(entries) == 1
        assert world.ledger.spent() == dp.PureDP(0)
    world.ledger.verify()


def test_there_are_sixty_and_more():
    assert len(CALLS) >= 60
