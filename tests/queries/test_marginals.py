"""Marginals: the joint sensitivity by brute force, and what the noised vector says."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import test_sensitivity as brute

import discreet as dp
from discreet import testing
from discreet.coding import Sensitivity
from discreet.engines.arrays import Arrays
from discreet.queries import Marginals

QUERIES: list[tuple[Marginals, tuple[str, ...]]] = [
    (Marginals("n", by="s"), ("n", "s")),
    (Marginals("n", "m", by="t"), ("n", "m", "t")),
    (Marginals("x", by="t"), ("x", "t")),
    (Marginals("n", "t", by="s"), ("n", "t", "s")),
    (Marginals("s", by="t"), ("s", "t")),
    (Marginals("s", by="one"), ("s", "one")),
    (Marginals("one", by="t"), ("one", "t")),
    (Marginals("one", by="one"), ("one",)),
    (Marginals("still", "m", by="one"), ("still", "m", "one")),
    (Marginals("band", "n", by="t"), ("x", "n", "t")),
    (Marginals("n", "m", by="s", tallied=["n"]), ("n", "m", "s")),
    (Marginals("m", by="one", where="n > 0"), ("m", "n", "one")),
]


@pytest.mark.parametrize("unit", list(brute.UNITS))
@pytest.mark.parametrize(("query", "uses"), QUERIES, ids=[repr(query) for query, _ in QUERIES])
def test_sensitivity_is_exact(query: Marginals, uses: tuple[str, ...], unit: str) -> None:
    found = query.sensitivity(brute.SCHEMA, brute.UNITS[unit])
    assert found == brute.true_sensitivity(query, brute.UNITS[unit], uses)


@pytest.mark.parametrize("relation", [dp.ADD_REMOVE, dp.REPLACE_ONE])
def test_no_point_of_the_grid_is_farther(relation: Any) -> None:
    """All values of a column: the squares cost nothing beside the sums."""
    schema = dp.Schema(n=dp.Integer(0, 41), c=dp.Categorical("a", "b"))
    query, unit = Marginals("n", by="c"), dp.Unit(relation)
    coded = query.coded(schema, unit)
    rows = [
        Arrays({"n": np.array([n]), "c": np.array([c])}).totals(coded).ravel().tolist()
        for n in range(42)
        for c in "ab"
    ]
    pairs = list(itertools.product(rows, rows if relation is dp.REPLACE_ONE else [[0] * 6]))
    l1 = max(sum(abs(u - v) for u, v in zip(a, b, strict=True)) for a, b in pairs)
    l2 = max(sum((u - v) ** 2 for u, v in zip(a, b, strict=True)) for a, b in pairs)
    assert query.sensitivity(schema, unit) == Sensitivity(l1, l2)
    sums_alone = max(abs(row[1]) + abs(row[4]) for row in rows)
    assert l1 == (sums_alone + 4**14) * (2 if relation is dp.REPLACE_ONE else 1)


def public(table: dict[str, Any], schema: dp.Schema) -> dp.PrivateDataset:
    return dp.PrivateDataset(table, schema, unit=dp.PUBLIC)


def test_what_it_says_without_noise() -> None:
    draw = np.random.default_rng(0)
    schema = dp.Schema(
        x=dp.Real(-1, 3),
        n=dp.Integer(0, 10),
        t=dp.Categorical("u", "v", "w"),
        c=dp.Categorical(0, 1),
    )
    table = {
        "x": draw.uniform(-1, 3, 500),
        "n": draw.integers(0, 11, 500),
        "t": draw.choice(["u", "v", "?"], 500),
        "c": draw.integers(0, 3, 500),
    }
    query = Marginals("x", "n", "t", by="c")
    value = public(table, schema).release(query, dp.PureDP(math.inf)).value
    for c in (0, 1):
        here = table["c"] == c
        assert value.count[c] == here.sum()
        for j, scaled in enumerate(((table["x"] - 1) / 2, table["n"] / 5 - 1)):
            u = scaled[here]
            assert value.sums[c, j] == pytest.approx(u.sum(), abs=here.sum() * 2e-4)
            assert value.squares[c, j] == pytest.approx((u**2).sum(), abs=here.sum() * 4e-4)
        wanted = [(table["t"][here] == t).sum() for t in "uvw"]
        assert value.cells[0][c].tolist() == wanted
        assert value.unknown[0][c] == (table["t"][here] == "?").sum()
        assert value.cells[0][c].sum() + value.unknown[0][c] == value.count[c]


def test_a_row_without_a_value_has_a_cell_of_its_own() -> None:
    schema = dp.Schema(a=dp.Categorical("x"), b=dp.Categorical("x"), c=dp.Categorical(0))
    table = {"a": ["x", None, "y"], "b": ["x", "x", "x"], "c": [0, 0, 0]}
    query = Marginals("a", "b", by="c")
    value = public(table, schema).release(query, dp.PureDP(math.inf)).value
    assert [cells.tolist() for cells in value.cells] == [[[1]], [[3]]]
    assert [rows.tolist() for rows in value.unknown] == [[2], [0]]
    assert value.count is None


def test_where_every_row_has_a_value_there_is_no_cell_for_others() -> None:
    schema = dp.Schema(
        a=dp.Categorical("x", "y", unknown="y"), n=dp.Integer(0, 2), c=dp.Categorical(0)
    )
    table = {"a": ["x", None, "?"], "n": [0, 2, 2], "c": [0, 0, 0]}
    query = Marginals("a", "n", by="c", tallied=["n"])
    value = public(table, schema).release(query, dp.PureDP(math.inf)).value
    assert [cells.tolist() for cells in value.cells] == [[[1, 2]], [[1, 0, 2]]]
    assert value.unknown == (None, None)


def test_a_column_without_width_shows_no_noise() -> None:
    schema = dp.Schema(k=dp.Real(4, 4), x=dp.Real(0, 1), c=dp.Categorical(0, 1))
    table = {"k": [4.0] * 9, "x": [0.5] * 9, "c": [0] * 9}
    release = public(table, schema).release(Marginals("k", "x", by="c"), dp.PureDP("1/1000"))
    assert release.value.sums[:, 0].tolist() == [0, 0]
    assert release.value.squares[:, 0].tolist() == [0, 0]
    assert release.stderr.sums[:, 0].tolist() == [0, 0]
    assert abs(release.value.sums[0, 1]) > 1


def test_the_noise_is_what_the_error_says() -> None:
    schema = dp.Schema(x=dp.Real(0, 1), t=dp.Categorical("u", "v"), c=dp.Categorical(*range(500)))
    query = Marginals("x", "t", by="c")
    empty = public({"x": [], "t": [], "c": []}, schema)
    for budget in (dp.PureDP(1), dp.ApproxDP(1, 1e-6)):
        with testing.fixed_noise(3):
            release = empty.release(query, budget)
        parts = [
            (release.value.count, release.stderr.count),
            (release.value.sums[:, 0], release.stderr.sums[:, 0]),
            (release.value.squares[:, 0], release.stderr.squares[:, 0]),
            (release.value.cells[0].ravel(), release.stderr.cells[0].ravel()),
            (release.value.unknown[0], release.stderr.unknown[0]),
        ]
        for value, error in parts:
            assert 0.85 < value.std() / error[0] < 1.15
            assert not 0.85 < value.std() / (1.5 * error[0]) < 1.15
    low, high = release.noise_interval(0.99)[:2]
    assert np.mean((low.sums <= 0) & (high.sums >= 0)) > 0.97
    assert np.mean((low.squares <= 0) & (high.squares >= 0)) > 0.97


def test_many_columns_have_smaller_coordinates() -> None:
    """So that a tiny budget can still be drawn for."""
    for d, bits in ((1, 14), (128, 14), (129, 13), (512, 13), (513, 12)):
        names = [f"x{j}" for j in range(d)]
        schema = dp.Schema({**{n: dp.Real(0, 1) for n in names}, "c": dp.Categorical(0, 1)})
        query = Marginals(*names, by="c")
        assert query.bits(schema) == bits
        scale = query.sensitivity(schema, dp.Unit()).l1 / 1e-4
        assert scale < 2**50


@pytest.mark.parametrize(
    ("arguments", "options"),
    [((), {"by": "c"}), (("x", "x"), {"by": "c"}), (("x",), {"by": ()})],
)
def test_arguments(arguments: Any, options: Any) -> None:
    with pytest.raises(ValueError, match="Marginals needs"):
        Marginals(*arguments, **options)
    with pytest.raises(ValueError, match="tallied"):
        Marginals("x", by="c", tallied=["y"])
