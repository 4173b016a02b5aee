"""Normal equations: sensitivities against all neighbours, and sums against plain Python."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from test_sensitivity import SCHEMA, UNITS, true_sensitivity

import discreet as dp
from discreet.engines.arrays import Arrays
from discreet.queries import NormalEquations
from discreet.testing import exact_totals, fixed_noise

QUERIES: list[tuple[Any, tuple[str, ...]]] = [
    (NormalEquations(["n"], "m"), ("n", "m")),
    (NormalEquations(["n"], "m", square=False), ("n", "m")),
    (NormalEquations(["n", "m"]), ("n", "m")),
    (NormalEquations(["n"], "s"), ("n", "s")),
    (NormalEquations(["m"], "t", bits=4), ("m", "t")),
    (NormalEquations(["m"], by="t"), ("m", "t")),
    (NormalEquations(["x"], "m", where="n > 0", square=False), ("n", "m", "x")),
    (NormalEquations(["still"], "m"), ("still", "m")),
]


@pytest.mark.parametrize("unit", list(UNITS))
@pytest.mark.parametrize(("query", "uses"), QUERIES, ids=[repr(query) for query, _ in QUERIES])
def test_sensitivity_is_never_below(query: Any, uses: tuple[str, ...], unit: str) -> None:
    found = query.sensitivity(SCHEMA, UNITS[unit])
    true = true_sensitivity(query, UNITS[unit], uses)
    assert found.l1 >= true.l1
    assert found.l2_squared >= true.l2_squared
    # weights are rounded down to whole numbers; one column alone is largest between these cells
    if "add" in unit and "still" not in uses and len(query.columns) > 1:
        assert found.l1 <= 1.001 * true.l1
        assert found.l2_squared <= 1.001 * true.l2_squared
    assert found.l1 <= 1.5 * true.l1
    assert found.l2_squared <= 1.5 * true.l2_squared


def test_noisy_stats_has_sensitivity_five_under_replace_one() -> None:
    """Exact: (1, 1) against (0, -1) moves x, y, xy and x² by 1, 2, 1 and 1."""
    schema = dp.Schema(x=dp.Integer(-1, 1), y=dp.Integer(-1, 1))
    query = NormalEquations(["x"], "y", square=False)
    unit = dp.Unit(dp.REPLACE_ONE)
    size = 2**30
    assert query.sensitivity(schema, unit).l1 == 5 * size
    coded = query.coded(schema, unit)
    rows = [
        Arrays({"x": np.array([x]), "y": np.array([y])}).totals(coded)[0]
        for x in (-1, 0, 1)
        for y in (-1, 0, 1)
    ]
    apart = max(int(abs(a - b).sum()) for a, b in itertools.combinations(rows, 2))
    assert apart == 5 * size


def test_a_target_beside_a_feature_without_width_moves_from_end_to_end() -> None:
    """Exact in L2 as well: nothing but y differs between two rows."""
    schema = dp.Schema(x=dp.Integer(3, 3), y=dp.Integer(-1, 1))
    query = NormalEquations(["x"], "y", square=False)
    unit = dp.Unit(dp.REPLACE_ONE)
    coded = query.coded(schema, unit)
    rows = [
        Arrays({"x": np.array([3]), "y": np.array([y])}).totals(coded)[0].astype(object)
        for y in (-1, 0, 1)
    ]
    apart = max(int(((a - b) ** 2).sum()) for a, b in itertools.combinations(rows, 2))
    assert query.sensitivity(schema, unit).l2_squared == apart


@pytest.mark.parametrize("square", [True, False])
@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_squares_cost_nothing(d: int, square: bool) -> None:
    """No row of the grid, whatever its size, is larger than the corner, where 1 - u² is 0."""
    draw = np.random.default_rng(d)
    names = [f"x{i}" for i in range(d)]
    schema = dp.Schema({name: dp.Real(-1, 1) for name in [*names, "y"]})
    query, unit = NormalEquations(names, "y", square=square), dp.Unit()
    coded, bound = query.coded(schema, unit), query.sensitivity(schema, unit)
    coordinates = 1 + (d + 1) * (d + 2) // 2
    assert bound.l1 == coordinates * 2**30
    assert bound.l2_squared == coordinates * 2**60
    cells = np.concatenate(
        [
            draw.uniform(-1, 1, (200, d + 1)),
            draw.choice([-1.0, 0.0, 0.5, 1.0], (200, d + 1)),
            np.repeat(np.linspace(0, 1, 101)[:, None], d + 1, axis=1),
        ]
    )
    sizes = []
    for row in cells:
        one = {n: row[i : i + 1] for i, n in enumerate([*names, "y"])}
        sizes.append(Arrays(one).totals(coded)[0].astype(object))
    assert max(abs(size).sum() for size in sizes) == bound.l1
    assert max((size**2).sum() for size in sizes) == bound.l2_squared


def test_one_column_with_its_square_is_largest_in_the_middle() -> None:
    schema = dp.Schema(x=dp.Real(-1, 1), y=dp.Real(2, 2))
    query = NormalEquations(["x"], "y")
    assert query.sensitivity(schema, dp.Unit()).l1 == (1 + Fraction(5, 4)) * 2**30
    coded = query.coded(schema, dp.Unit())
    found = Arrays({"x": np.array([0.5]), "y": np.array([2.0])}).totals(coded)
    assert abs(found).sum() == (1 + Fraction(5, 4)) * 2**30


@pytest.mark.parametrize("square", [True, False])
@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_bound_by_random_pairs(d: int, square: bool) -> None:
    """Rows at corners and between: no pair is farther apart than the bound, some come near."""
    draw = np.random.default_rng(d)
    names = [f"x{i}" for i in range(d)]
    schema = dp.Schema({name: dp.Real(-1, 1) for name in [*names, "y"]})
    query, unit = NormalEquations(names, "y", square=square), dp.Unit(dp.REPLACE_ONE)
    coded, bound = query.coded(schema, unit), query.sensitivity(schema, unit)
    cells = np.concatenate(
        [draw.choice([-1.0, 0.0, 1.0], (120, d + 1)), draw.uniform(-1, 1, (40, d + 1))]
    )
    rows = np.array(
        [
            Arrays({n: row[i : i + 1] for i, n in enumerate([*names, "y"])}).totals(coded)[0]
            for row in cells
        ],
        dtype=object,
    )
    l1 = max(abs(a - b).sum() for a, b in itertools.combinations(rows, 2))
    l2 = max(((a - b) ** 2).sum() for a, b in itertools.combinations(rows, 2))
    assert 0.6 * bound.l1 <= l1 <= bound.l1
    assert 0.6 * bound.l2_squared <= l2 <= bound.l2_squared


def test_sums_are_those_of_plain_python() -> None:
    draw = np.random.default_rng(1)
    table = {
        "n": draw.integers(-3, 5, 60),
        "x": draw.uniform(-4, 8, 60),
        "m": draw.integers(2, 7, 60),
        "s": draw.choice(["a", "b", "c"], 60),
    }
    schema = dp.Schema({name: SCHEMA.base[name] for name in table})
    data = dp.PrivateDataset(table, schema, unit=dp.PUBLIC)
    query = NormalEquations(["n", "x"], "s", bits=8)
    totals = exact_totals(data, query)[0].tolist()
    expected = [0] * len(totals)
    for n, x, s in zip(*(table[name].tolist() for name in ("n", "x", "s")), strict=True):
        if s == "c":
            continue
        z = 2 * (min(max(n, -1), 2) + 1) - 3
        k = math.floor((min(max(x, -2.0), 6.0) + 2) * (Fraction(2**8) / 8))
        v = [1, z, 2 * k - 2**8, 1 if s == "b" else -1]
        ends = [1, 3, 2**8, 1]
        places = [(i, j) for i in range(4) for j in range(i, 4)][:-1]
        for at, (i, j) in enumerate(places):
            product = v[i] * v[j] if i < j or i == 0 else ends[i] ** 2 - v[i] ** 2
            expected[at] += 2**16 // (ends[i] * ends[j]) * product
    assert totals == expected


def test_the_answer_is_the_matrix_of_scaled_columns() -> None:
    draw = np.random.default_rng(2)
    x, y = draw.uniform(0, 10, 5000), draw.uniform(-1, 1, 5000)
    schema = dp.Schema(x=dp.Real(0, 10), y=dp.Real(-1, 1), k=dp.Real(3, 3))
    data = dp.PrivateDataset({"x": x, "y": y, "k": x}, schema, unit=dp.PUBLIC)
    found = data.release(NormalEquations(["x", "k"], "y"), dp.PureDP(math.inf)).value
    v = np.stack([np.ones(5000), x / 5 - 1, np.zeros(5000), y])
    assert np.allclose(found, v @ v.T, atol=0.05)
    assert np.array_equal(found, found.T)


def test_noise_interval_and_error_cover() -> None:
    schema = dp.Schema(x=dp.Real(0, 10), y=dp.Real(-1, 1))
    ledger = dp.Ledger(limit=dp.PureDP(1000))
    x = np.linspace(0, 10, 200)
    data = dp.PrivateDataset({"x": x, "y": np.cos(x)}, schema, ledger=ledger)
    public = dp.PrivateDataset({"x": x, "y": np.cos(x)}, schema, unit=dp.PUBLIC)
    query = NormalEquations(["x"], "y")
    true = public.release(query, dp.PureDP(math.inf)).value
    inside, off = 0, []
    for seed in range(200):
        with fixed_noise(seed):
            release = data.release(query, dp.PureDP(2))
        low, high, *_ = release.noise_interval(0.9)
        inside += bool(np.all((low <= true) & (true <= high)))
        off.append((release.value - true)[0, 1] / release.stderr[0, 1])
    assert 165 <= inside <= 200
    assert 0.7 < np.std(off) < 1.4


def test_arguments() -> None:
    with pytest.raises(ValueError, match="one or more different columns"):
        NormalEquations([], "y")
    with pytest.raises(ValueError, match="one or more different columns"):
        NormalEquations(["y"], "y")
    with pytest.raises(TypeError, match="sequence of names"):
        NormalEquations("x", "y")
    with pytest.raises(ValueError, match="bits must be at most 15"):
        NormalEquations(["x"], "y", bits=16)
    three = dp.Schema(x=dp.Real(0, 1), c=dp.Categorical(1, 2, 3))
    with pytest.raises(ValueError, match="must have two values"):
        NormalEquations(["x"], "c").sensitivity(three, dp.Unit())
    with pytest.raises(ValueError, match=r"must be dp.Real or dp.Integer"):
        NormalEquations(["c"], "x").sensitivity(three, dp.Unit())
    assert repr(NormalEquations(["x"], "y", square=False, bits=9)) == (
        "NormalEquations(['x'], 'y', square=False, bits=9)"
    )
