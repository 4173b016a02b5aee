"""Ids of every type keep the same rows; the order looks at one person's rows alone."""

from __future__ import annotations

import decimal
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import oracle
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import tables
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.matching import ColumnMismatch
from discreet.step import CodedRows, Step
from discreet.testing import exact_totals
from profiles import max_examples
from small_tables import as_rows

SCHEMA = dp.Schema(x=dp.Real(0, 1), wide=dp.Integer(-(2**30), 2**30), s=dp.Categorical("a", "b"))
UNIT = dp.Unit(dp.PUBLIC, id_column="person", max_rows=2)
QUERIES = [
    (dp.Moments("x", "wide", by="s"), None, ()),
    (dp.Sum("x", where="wide > 0"), lambda k: k["wide"] > k.cut("wide", 0), ("wide",)),
]


def integers(source: Any, query: Any, unit: dp.Unit = UNIT, schema: dp.Schema = SCHEMA) -> Any:
    return exact_totals(dp.PrivateDataset(source, schema, unit=unit), query).tolist()


def sample(seed: int, persons: list[Any], length: int = 60) -> tables.Table:
    draw = random.Random(seed)
    return {
        # close together: equal codes of 20 bits, but different codes of sums
        "x": [
            draw.choice([0.5, 0.5 + 2.0**-21, 0.5 + 2.0**-21.5, draw.random()])
            for _ in range(length)
        ],
        "wide": [draw.choice([1, 2, 3, draw.randint(-(2**30), 2**30)]) for _ in range(length)],
        "s": [draw.choice(["a", "b", None]) for _ in range(length)],
        "person": [draw.choice(persons) for _ in range(length)],
    }


PERSONS: dict[str, tuple[str, list[Any]]] = {
    "integers": ("whole", [0, 1, -1, -(2**63), 2**63 - 1, 2**60, 2**60 + 1]),
    "integers with nulls": ("whole", [1, 2, None, -3]),
    "large integers with nulls": ("whole", [2**60, 2**60 + 1, None]),
    "text": ("text", ["a", "b", "A", "a ", "Ä"]),
    "text with nulls": ("text", ["a", None, "b"]),
    "reals": ("real", [0.0, -0.0, 1.5, -2.0, math.nan, math.inf, -math.inf, None]),
    "booleans": ("flag", [True, False]),
    "booleans with nulls": ("flag", [True, False, None]),
}


@pytest.mark.parametrize("kind", list(PERSONS))
def test_ids_of_every_type(kind: str, tmp_path: Path) -> None:
    column, persons = PERSONS[kind]
    table = sample(len(kind), persons)
    rows = as_rows(table)
    queries = QUERIES if kind == "text" else QUERIES[len(kind) % 2 :: 2]
    kinds = {"x": "real", "wide": "whole", "s": "text", "person": column}
    for query, test, uses in queries:
        wanted = oracle.totals(query, SCHEMA, rows, test, uses, "person", 2)
        for form, source in tables.forms(table, kinds, tmp_path).items():
            if "csv" in form and kind == "reals":
                continue  # ids in a file are text: nan is a name there
            assert integers(source, query) == wanted, form


class Owned(Step):
    """The kept rows of each person, for tests."""

    by_person = True

    def event(self, schema: dp.Schema, unit: dp.Unit) -> Any:
        return dp.events.Compose()

    def run(self, rows: CodedRows) -> Any:
        assert rows.persons is not None
        owned: dict[int, list[Any]] = {}
        for person, codes in zip(rows.persons.tolist(), rows.codes.tolist(), strict=True):
            owned.setdefault(person, []).append(codes)
        return sorted(sorted(each) for each in owned.values())


@pytest.mark.parametrize("kind", list(PERSONS))
def test_every_engine_tells_which_rows_are_one_persons(kind: str, tmp_path: Path) -> None:
    column, persons = PERSONS[kind]
    table = sample(3 + len(kind), persons)
    alone = []  # who stands alone in a table needs no number
    ids = [None if is_nobody(cell) else cell for cell in table["person"]]
    for person in dict.fromkeys(cell for cell in ids if cell is not None):
        mine = [at for at, cell in enumerate(ids) if cell == person]
        part = {name: [cells[at] for at in mine] for name, cells in table.items()}
        [rows] = dp.PrivateDataset(part, SCHEMA, unit=UNIT).run(Owned())
        assert 1 <= len(rows) <= 2
        alone.append(rows)
    kinds = {"x": "real", "wide": "whole", "s": "text", "person": column}
    for form, source in tables.forms(table, kinds, tmp_path).items():
        if "csv" in form and kind == "reals":
            continue  # ids in a file are text: nan is a name there
        data = dp.PrivateDataset(source, SCHEMA, unit=UNIT)
        assert data.run(Owned()) == sorted(alone), form
        with data.prepaid(dp.events.Compose()) as door:
            assert door.run(Owned()) == sorted(alone), form


def is_nobody(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and not math.isfinite(cell))


def test_ids_of_objects_and_decimals() -> None:
    mixed = [1, 1.0, True, "1", "a", None, math.nan, [1], (1,), 10**400, 10**30, 10**30 + 1, pd.NA]
    table = sample(7, mixed)
    rows = as_rows(table)
    for query, test, uses in QUERIES:
        wanted = oracle.totals(query, SCHEMA, rows, test, uses, "person", 2)
        for form, build in tables.LOOSE.items():
            assert integers(build(table, {}), query) == wanted, form
    # different decimals that are one double are different persons
    persons = [decimal.Decimal(10**30), decimal.Decimal(10**30 + 1)]
    table = sample(8, persons)
    rows = as_rows(table)
    for row in rows:
        row["person"] = str(row["person"])
    column = pa.array(table["person"], pa.decimal128(38, 0))
    plain = {n: table[n] for n in ("x", "wide", "s")}
    arrow = pa.table({**plain, "person": column})
    for query, test, uses in QUERIES:
        wanted = oracle.totals(query, SCHEMA, rows, test, uses, "person", 2)
        assert integers(pl.from_arrow(arrow), query) == wanted
        assert integers(arrow.to_pandas(), query) == wanted
        assert integers(arrow.to_pandas(types_mapper=pd.ArrowDtype), query) == wanted


def test_ids_of_a_type_that_has_no_names_are_refused() -> None:
    table = {"x": [0.5], "wide": [1], "s": ["a"], "person": np.array(["2020"], "datetime64[Y]")}
    with pytest.raises(ColumnMismatch, match="id column 'person'"):
        dp.PrivateDataset(table, SCHEMA, unit=UNIT)
    with pytest.raises(ColumnMismatch, match="no column 'nobody'"):
        dp.PrivateDataset(table, SCHEMA, unit=dp.Unit(dp.PUBLIC, "nobody", 1))


@max_examples(60)
@given(st.integers(0, 10**6), st.integers(1, 4), st.booleans())
def test_what_is_kept_depends_on_that_person_alone(seed: int, most: int, condition: bool) -> None:
    """Totals add up over persons, whoever else is in the table and however rows are ordered."""
    table = sample(seed, [1, 2, 3, 4], 30)
    rows = list(zip(*table.values(), strict=True))
    unit = dp.Unit(dp.PUBLIC, "person", most)
    query = dp.Moments("x", "wide", by="s", where="wide > 2" if condition else None)

    def total(part: list[Any]) -> Any:
        columns = (
            dict(zip(table, map(list, zip(*part, strict=True)), strict=True))
            if part
            else ({name: [] for name in table})
        )
        return np.array(integers(columns, query, unit))

    apart = sum(total([row for row in rows if row[-1] == person]) for person in (1, 2, 3, 4))
    assert (total(rows) == apart).all()
    shuffled = random.Random(seed).sample(rows, len(rows))
    assert (total(shuffled) == total(rows)).all()
    for person in (1, 2, 3, 4):
        kept = total([row for row in rows if row[-1] == person])[:, 0].sum() // 2**30
        assert kept <= most


def test_rows_are_limited_after_where() -> None:
    rows = {"person": [1] * 50, "x": [i / 50 for i in range(50)]}
    schema = dp.Schema(x=dp.Real(0, 1))
    unit = dp.Unit(dp.PUBLIC, "person", 3)
    for point in (0.0, 0.5, 0.9):
        assert integers(rows, dp.Count(where=f"x >= {point}"), unit, schema) == [[3]]


def test_truncation_bias_is_small_where_ordering_by_value_is_not() -> None:
    """500 persons with 20 rows each, 5 kept: the smallest five have a mean far below."""
    draw = np.random.default_rng(0)
    persons, rows, most = 500, 20, 5
    x = draw.beta(2, 3, persons * rows)  # mean 0.40
    data = {"x": x, "person": np.repeat(np.arange(persons), rows), "other": draw.random(len(x))}
    schema = dp.Schema(x=dp.Real(0, 1), other=dp.Real(0, 1))
    dataset = dp.PrivateDataset(data, schema, unit=dp.Unit(dp.PUBLIC, "person", most))
    ours = dataset.release(dp.Mean("x"), dp.PureDP(math.inf)).value
    by_value = np.sort(x.reshape(persons, rows), axis=1)[:, :most].mean()
    assert abs(x.mean() - 0.4) < 0.01
    assert by_value < 0.2
    assert abs(ours - x.mean()) < 0.02
