"""Grouped sums by tiles, against sums in plain integers; and marginals on every engine."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import oracle
import polars as pl
import pytest
import tables
import test_engine_matrix as matrix

import discreet as dp
from discreet.coding import Category, CodedQuery, Cuts, Grid, Linear, Lookup, Term
from discreet.engines import arrays, grouped, tallies
from discreet.engines.arrays import Arrays
from discreet.engines.frames import Frames
from discreet.queries import Marginals
from discreet.testing import exact_totals
from small_tables import as_columns, as_rows

GRID = Grid("x", -1.0, 1.0, 0.0, -1.0, 2.0**13, 0.0)
FINE = Grid("y", 0.0, 1.0, 0.5, 0.0, 2.0**20, 0.0)
KIND = Category("k", ("a", "b", "c"))
HALF = Cuts(GRID, (3000, 9000))


def values(rows: Any, code: Any) -> list[int]:
    """A code of each row, by its definition."""
    match code:
        case Grid():
            return [code.of(float(cell)) for cell in rows[code.column]]
        case Category():
            places = {value: i for i, value in enumerate(code.values)}
            return [places.get(cell, -1) for cell in rows[code.column]]
        case Linear():
            return [code.scale * v + code.offset for v in values(rows, code.source)]
        case Cuts():
            return [sum(v >= cut for cut in code.cuts) for v in values(rows, code.source)]
        case Lookup():
            table = [*code.tables[0], 0]
            picked = [table[v] for v in values(rows, code.sources[0])]
            return [code.link[min(max(v, 0), len(code.link) - 1)] for v in picked]
    raise AssertionError


TERMS = (
    Term(3),
    Term(2, (Linear(GRID, 2, -(2**14)),)),
    Term(1, (GRID, Linear(GRID, -1, 2**14))),
    Term(5, (Linear(GRID, 3, 1), Linear(GRID, -2, 7))),
    Term(1, (FINE,)),
    Term(1, (GRID, Linear(Grid("y", 0.0, 1.0, 0.5, 0.0, 2.0**14, 0.0), 2, -5))),
    Term(7, (Lookup((KIND,), ((0, 1, 0),), (0, 1)),)),
    Term(1, (Lookup((KIND,), ((2, 0, -9),), (4, 0, 11)),)),
    Term(1, (HALF, HALF)),
    Term(2, (Lookup((Cuts(KIND, (1, 2)),), ((0, 1, 0),), (0, 1)),)),
    Term(2, (Lookup((HALF,), ((3, 1, 0),), (5, -1, 7)),)),
)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("groups", [1, 3, 40])
@pytest.mark.parametrize("length", [0, 1, 500, 3000])
def test_grouped_sums_are_those_of_integers(
    groups: int, length: int, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouped, "TILE", 256)
    monkeypatch.setattr(arrays, "CHUNK", 1024)
    draw = np.random.default_rng(length)
    labels = tuple(range(groups))
    by = Category("g", labels, -1 if known else 0)
    rows = {
        "x": draw.uniform(-1.5, 1.5, length),
        "y": draw.uniform(-0.5, 1.5, length),
        "k": draw.choice(["a", "b", "c", "d"], length),
        "g": draw.integers(0, groups + 1, length),
    }
    rows["x"][::7] = np.nan
    query = CodedQuery(TERMS, (by,), None, (by,) if known else (), None)
    found = Arrays(rows).totals(query)
    wanted = [[0] * len(TERMS) for _ in labels]
    places = [g if g < groups else by.otherwise for g in rows["g"].tolist()]
    for index, term in enumerate(TERMS):
        factors = [values(rows, code) for code in term.codes]
        for row, place in enumerate(places):
            if place >= 0:
                product = term.weight
                for factor in factors:
                    product *= factor[row]
                wanted[place][index] += product
    assert found.tolist() == wanted


def test_codes_too_large_to_square_are_added_one_by_one() -> None:
    coarse = Grid("y", 0.0, 1.0, 0.5, 0.0, 2.0**15, 0.0)
    fine = Grid("y", 0.0, 1.0, 0.5, 0.0, 2.0**18, 0.0)
    query = CodedQuery((Term(1, (coarse, coarse)), Term(1, (fine, fine))), (KIND,), None, (), None)
    assert grouped.Grouped(query).others == [1]


SCHEMA = matrix.SCHEMA
MARGINALS = [
    Marginals("x", "y", "n", by="flag"),
    Marginals("x", "sex", "town", "band", by="rating"),
    Marginals("sex", "n", by=["flag", "town"], where="x > 0", tallied=["n"]),
]


def wanted_totals(query: Marginals, table: tables.Table) -> list[list[int]]:
    """The vector by the text of `Marginals`, in plain Python."""
    rows = as_rows(table)
    labels = query.labels(SCHEMA)
    bits = query.bits(SCHEMA)
    width = len(query.terms(SCHEMA))
    totals = {label: [0] * width for label in labels}
    for row in rows:
        positive = oracle.grid(SCHEMA["x"], row["x"], 20) > SCHEMA["x"].grid("x", 20).of(0.0)
        if query.where is not None and not positive:
            continue
        places = [oracle.category(SCHEMA[name], row[name]) for name in query.by]
        places = [
            SCHEMA[name].code(name, SCHEMA).otherwise if place < 0 else place
            for name, place in zip(query.by, places, strict=True)
        ]
        if min(places) < 0:
            continue
        cells = [SCHEMA.labels(name)[place] for name, place in zip(query.by, places, strict=True)]
        vector: list[int] = []
        numeric = [name for name, _ in query.numeric(SCHEMA)]
        if numeric:
            vector.append(4**bits)
        for name in numeric:
            steps = oracle.steps(SCHEMA[name], bits)
            z = 2 * oracle.grid(SCHEMA[name], row[name], bits) - steps
            weight = 4**bits // (steps * steps)
            vector += [2 * steps * z * weight, (steps * steps - z * z) * weight]
        for name in query.counted(SCHEMA):
            places = list(range(len(SCHEMA.labels(name))))
            if name in ("sex", "town") and SCHEMA[name].code(name, SCHEMA).otherwise < 0:
                places.append(-1)  # rows without a declared value
            vector += [2 * 4**bits * (at == place_of(name, row)) for at in places]
        label = cells[0] if len(cells) == 1 else tuple(cells)
        totals[label] = [a + b for a, b in zip(totals[label], vector, strict=True)]
    return [totals[label] for label in labels]


def place_of(name: str, row: dict[str, Any]) -> int:
    if name == "band":
        x = oracle.grid(SCHEMA["x"], row["x"], 20)
        grid = SCHEMA["x"].grid("x", 20)
        return sum(x >= grid.of(cut) for cut in (0.0, 12.5, 30.0))
    if name == "n":
        return oracle.grid(SCHEMA["n"], row["n"], 20)
    place = oracle.category(SCHEMA[name], row[name])
    return SCHEMA[name].code(name, SCHEMA).otherwise if place < 0 else place


@pytest.mark.parametrize("name", ["dirty", "empty"])
def test_marginals_on_engines_of_this_process(name: str, tmp_path: Path) -> None:
    table = as_columns(matrix.DATA[name], matrix.KINDS)
    forms = {
        **tables.forms(table, matrix.KINDS, tmp_path),
        "dask": tables.dask_frame(table, matrix.KINDS),
    }
    for query in MARGINALS:
        wanted = wanted_totals(query, table)
        for form, source in forms.items():
            dataset = dp.PrivateDataset(source, SCHEMA, unit=dp.PUBLIC)
            assert exact_totals(dataset, query).tolist() == wanted, (form, query)


def test_marginals_of_persons(tmp_path: Path) -> None:
    """Ids limit rows in the same way on every engine."""
    draw = random.Random(4)
    rows = draw.sample(matrix.DATA["dirty"], 150)
    table = as_columns([(*row[:-1], draw.randrange(30)) for row in rows], matrix.KINDS)
    unit = dp.Unit(dp.PUBLIC, "person", 2)
    for query in MARGINALS:
        found = {
            form: exact_totals(dp.PrivateDataset(source, SCHEMA, unit=unit), query).tolist()
            for form, source in tables.forms(table, matrix.KINDS, tmp_path).items()
        }
        assert len({str(totals) for totals in found.values()}) == 1


@pytest.mark.parametrize("most", [2**24, 0])
def test_tallies_are_counts(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an array, and value by value."""
    monkeypatch.setattr(tallies, "MAX_CELLS", most)
    monkeypatch.setattr(arrays, "CHUNK", 100)
    draw = np.random.default_rng(0)
    rows = {"x": draw.choice([-1.0, 0.0, 0.5, 3.0], 450), "k": draw.choice(["a", "b", "z"], 450)}
    found = Arrays(rows).tally(CodedQuery((), (KIND,), None, (KIND,), None, GRID))
    pairs = list(zip(values(rows, KIND), values(rows, GRID), strict=True))
    wanted = sorted((*pair, pairs.count(pair)) for pair in set(pairs) if pair[0] >= 0)
    assert np.stack(found, axis=1).tolist() == [list(row) for row in wanted]


@pytest.mark.parametrize("made", [pl.DataFrame, pl.LazyFrame])
def test_columns_of_one_code_may_both_be_groups(made: Any) -> None:
    """Such as the same bins under two names: whatever is charged is answered."""
    schema = dp.Schema(x=dp.Real(0, 1), n=dp.Integer(0, 9)).derive(
        a=dp.Bins("x", [0.5]), b=dp.Bins("x", [0.5])
    )
    table = {"x": np.linspace(0, 1, 40), "n": np.arange(40) % 10}
    for query in (dp.Count(by=["a", "b"]), dp.Mean("n", by=["b", "a"], where="n > 2")):
        coded = query.coded(schema, dp.Unit())
        assert np.array_equal(Frames(made(table)).totals(coded), Arrays(table).totals(coded))
