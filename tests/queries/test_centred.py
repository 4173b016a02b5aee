"""Centred sums and queries with columns of their own: sensitivities, values, complaints."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from test_sensitivity import SCHEMA, UNITS, true_sensitivity

import discreet as dp
from discreet.coding import Sensitivity
from discreet.engines.arrays import Arrays
from discreet.queries import CentredSums, WithColumns
from discreet.testing import exact_totals, fixed_noise

NEAR = dp.Nearest(["x", "n"], [(0, 0), (6, 2), (-2, 1)])

TIGHT: list[tuple[Any, tuple[str, ...]]] = [
    (CentredSums("n"), ("n",)),
    (CentredSums("x", "m"), ("x", "m")),
    (CentredSums("still", "n"), ("still", "n")),
    (CentredSums("m", by="s", count_weight="3/2"), ("m", "s")),
    (CentredSums("m", where="n > 0"), ("m", "n")),
    (CentredSums("n", products="squares"), ("n",)),
    (CentredSums("x", products="squares"), ("x",)),
    (CentredSums("n", "m", products="squares", by="t", bits=7), ("n", "m", "t")),
    (WithColumns(dp.Count(by=["half", "s"]), {"half": dp.Bins("x", [3])}), ("x", "s")),
]
BOUNDED: list[tuple[Any, tuple[str, ...]]] = [
    (CentredSums("n", products="all"), ("n",)),
    (CentredSums("n", "m", products="all"), ("n", "m")),
    (CentredSums("m", "x", products="all", by="s", bits=9), ("m", "x", "s")),
    # opposite corners are never nearest to one centre, which the bound does not know
    (WithColumns(CentredSums("n", "x", by="near"), {"near": NEAR}), ("n", "x")),
]


@pytest.mark.parametrize("unit", list(UNITS))
@pytest.mark.parametrize(("query", "uses"), TIGHT, ids=[repr(query) for query, _ in TIGHT])
def test_sensitivity_is_exact(query: Any, uses: tuple[str, ...], unit: str) -> None:
    assert query.sensitivity(SCHEMA, UNITS[unit]) == true_sensitivity(query, UNITS[unit], uses)


@pytest.mark.parametrize("unit", list(UNITS))
@pytest.mark.parametrize(("query", "uses"), BOUNDED, ids=[repr(query) for query, _ in BOUNDED])
def test_products_are_never_below(query: Any, uses: tuple[str, ...], unit: str) -> None:
    found = query.sensitivity(SCHEMA, UNITS[unit])
    true = true_sensitivity(query, UNITS[unit], uses)
    assert found.l1 >= true.l1
    assert found.l2_squared >= true.l2_squared
    if "add" in unit:
        assert found == true
    assert found.l2_squared <= 2.25 * true.l2_squared
    assert found.l1 <= 1.5 * true.l1


def test_products_bound_by_random_pairs() -> None:
    draw = np.random.default_rng(0)
    for d in (2, 3, 5):
        names = [f"x{i}" for i in range(d)]
        schema = dp.Schema({name: dp.Real(-1, 1) for name in names})
        query, unit = CentredSums(*names, products="all", bits=10), dp.Unit(dp.REPLACE_ONE)
        coded, bound = query.coded(schema, unit), query.sensitivity(schema, unit)
        rows = [
            Arrays({n: row[i : i + 1] for i, n in enumerate(names)}).totals(coded)[0]
            for row in draw.choice([-1.0, 0.0, 0.3, 1.0], (120, d))
        ]
        moves = [abs(a - b) for a, b in itertools.combinations(rows, 2)]
        assert 0.75 * bound.l1 <= max(move.sum() for move in moves) <= bound.l1
        assert max((move**2).sum() for move in moves) <= bound.l2_squared


def test_a_weight_and_sums_as_the_docstring_says() -> None:
    schema = dp.Schema(x=dp.Real(0, 1), y=dp.Real(-5, 5))
    found = CentredSums("x", "y", count_weight=2).sensitivity(schema, dp.Unit(dp.ADD_REMOVE))
    assert found == Sensitivity((2 + 2) * 2**20, (4 + 2) * 2**40)
    found = CentredSums("x", "y", products="squares").sensitivity(schema, dp.Unit(dp.ADD_REMOVE))
    assert found == Sensitivity((1 + 2) * 2**29, (1 + 2) * 2**58)  # squares cost nothing
    found = CentredSums("x", "y", products="all").sensitivity(schema, dp.Unit(dp.ADD_REMOVE))
    assert found == Sensitivity((1 + 2 + 3) * 2**30, 6 * 2**60)


def _dirty() -> dict[str, Any]:
    draw = np.random.default_rng(1)
    x = draw.uniform(-3, 7, 200)
    x[::17] = np.nan
    x[5], x[6] = np.inf, -np.inf
    return {"x": x, "n": draw.integers(-3, 5, 200).astype(np.float64)}


def test_the_slow_obvious_sums() -> None:
    """Against fractions: every engine the same integers, and the reported values are those."""
    schema = dp.Schema(x=dp.Real(-2, 6), n=dp.Integer(-1, 2))
    table = _dirty()
    centres = [(0.0, 0.0), (5.0, 2.0), (-2.0, 1.0)]
    near = dp.Nearest(["x", "n"], centres)
    query = WithColumns(CentredSums("x", "n", products="all", by="near"), {"near": near})
    frame = pl.DataFrame(table)
    sources = [
        table,
        frame,
        frame.lazy(),
        pd.DataFrame(table),
        duckdb.connect().from_arrow(frame.to_arrow()),
    ]
    found = [exact_totals(dp.PrivateDataset(s, schema, unit=dp.PUBLIC), query) for s in sources]
    for other in found[1:]:
        assert (other == found[0]).all()
    data = dp.PrivateDataset(table, schema, unit=dp.PUBLIC)
    value = data.release(query, dp.PureDP(float("inf"))).value
    wanted = np.zeros((3, 6))
    for x, n in zip(table["x"], table["n"], strict=True):
        x = 2.0 if np.isnan(x) else min(max(x, -2.0), 6.0)
        n = min(max(n, -1.0), 2.0)
        u = np.array([2 * (x + 2) / 8 - 1, float(Fraction(int(n) + 1, 3) * 2 - 1)])
        at = [((u - [2 * (a + 2) / 8 - 1, 2 * (b + 1) / 3 - 1]) ** 2).sum() for a, b in centres]
        wanted[int(np.argmin(at))] += [1, *u, u[0] ** 2, u[0] * u[1], u[1] ** 2]
    assert (value[:, 0] == wanted[:, 0]).all()
    assert abs(value - wanted).max() < 200 / 2**14  # a step of the grid for each row


def test_noise_and_errors_agree() -> None:
    """The stated standard error is the spread of the released values; a wrong one would be noticed."""
    schema = dp.Schema(x=dp.Real(0, 4), y=dp.Real(0, 1))
    data = dp.PrivateDataset({"x": np.ones(50), "y": np.zeros(50)}, schema, unit=dp.PUBLIC)
    query = CentredSums("x", "y", count_weight="1/2", products="squares")
    with fixed_noise(0):
        drawn = [data.release(query, dp.PureDP(1)) for _ in range(800)]
    values = np.array([release.value for release in drawn])
    stated = drawn[0].stderr
    assert stated.shape == (5,)
    ratio = values.std(axis=0) / stated
    assert (abs(ratio - 1) < 0.2).all()
    assert not (abs(values.std(axis=0) / (stated * 1.5) - 1) < 0.2).any()
    exact = np.array([50, -25, -50, 12.5, 50])
    assert (abs(values.mean(axis=0) - exact) < 6 * stated / np.sqrt(800) + 0.01).all()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: CentredSums(), "CentredSums needs the names"),
        (lambda: CentredSums("x", "x"), "different columns"),
        (lambda: CentredSums(3), "column must be the name"),
        (lambda: CentredSums("x", products="cubes"), "products must be"),
        (lambda: CentredSums("x", bits=21), "bits must be at most 20"),
        (lambda: CentredSums("x", products="all", bits=16), "bits must be at most 15"),
        (lambda: CentredSums("x", products="squares", bits=15), "bits must be at most 14"),
        (lambda: CentredSums("x", bits=0), "bits must be at least 1"),
        (lambda: CentredSums("x", count_weight=2000), "count_weight must lie between"),
        (lambda: CentredSums("x", products="all", count_weight=2), "count_weight must lie between"),
        (lambda: CentredSums("x", count_weight=-1), "count_weight must be greater than 0"),
        (lambda: WithColumns(dp.Median("x"), {}), "query must be a sum or a count"),
    ],
)
def test_bad_arguments(build: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        build()


def test_derived_names_must_be_free() -> None:
    query = WithColumns(dp.Count(by="x"), {"x": dp.Bins("n", [1])})
    with pytest.raises(ValueError, match="already a column 'x'"):
        query.coded(SCHEMA, dp.Unit())


def test_repr_says_what_is_asked() -> None:
    assert repr(CentredSums("x", products="all")) == "CentredSums('x', products='all')"
    query = WithColumns(CentredSums("x", by="near"), {"near": NEAR})
    assert repr(query) == "CentredSums('x', by='near') with near: Nearest(['x', 'n'], 3 centres)"
