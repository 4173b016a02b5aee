"""Unknown keys and bounds: the same on every engine, charged, and useful."""

from __future__ import annotations

import gzip
import math
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet import events, mechanisms, queries, testing
from discreet.engines import open_engine

SCHEMA = dp.Schema(town=dp.Text(), x=dp.Real(), n=dp.Integer(0, 9))


def towns_of_many_sizes(count=3000, seed=0):
    rng = np.random.default_rng(seed)
    towns = np.array([f"town {k}" for k in rng.zipf(1.6, count)], object)
    towns[::37] = None
    x = rng.lognormal(6, 1, count)
    x[::41], x[::43], x[::47], x[::53] = math.nan, math.inf, -math.inf, 5e-324
    return {
        "town": towns,
        "x": x,
        "n": rng.integers(0, 10, count),
        "who": rng.integers(0, 400, count),
    }


def forms(table, tmp_path):
    frame = pl.DataFrame(
        {"town": table["town"].tolist(), "x": table["x"], "n": table["n"], "who": table["who"]}
    )
    pandas = pd.DataFrame(
        {
            "town": pd.Series(table["town"], dtype="str"),
            "x": table["x"],
            "n": table["n"],
            "who": table["who"],
        }
    )
    yield "numpy", table
    yield "lists", {name: list(column) for name, column in table.items()}
    yield "polars", frame
    yield "lazy", frame.lazy()
    yield "pandas", pandas
    yield "objects", pandas.astype(object)
    yield (
        "arrow types",
        pandas.astype(
            {
                "town": "string[pyarrow]",
                "x": "double[pyarrow]",
                "n": "int64[pyarrow]",
                "who": "int64[pyarrow]",
            }
        ),
    )
    yield "duckdb", duckdb.from_arrow(frame.to_arrow())
    path = tmp_path / "rows.csv.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("town,x,n,who\n")
        for town, x, n, who in zip(*table.values(), strict=True):
            if town is not None:
                file.write(f"{town},{x!r},{n},{who}\n".replace("np.float64(", "").replace(")", ""))
    yield "csv", path


def slow_keys(table, most, groups, where):
    """The plain definition, for one row per person or with ids, over rows in the engine's order."""
    counts = {}
    for town, n in zip(table["town"], table["n"], strict=True):
        if town is not None and where(n):
            counts[town] = counts.get(town, 0) + 1
    return counts


@pytest.mark.parametrize("where", [None, "n >= 5"])
def test_every_engine_counts_the_same_keys(tmp_path, where):
    table = towns_of_many_sizes()
    query = dp.KeyCounts("town", delta=1e-6, where=where)
    wanted = slow_keys(table, 1, 1, lambda n: where is None or n >= 5)
    for name, form in forms(table, tmp_path):
        data = dp.PrivateDataset(form, SCHEMA, unit=dp.PUBLIC)
        assert testing.exact_keys(data, query) == wanted, name


@pytest.mark.parametrize("groups", [None, 1, 2])
def test_every_engine_limits_rows_and_keys_of_a_person_alike(tmp_path, groups):
    table = towns_of_many_sizes()
    unit = dp.Unit(dp.PUBLIC, id_column="who", max_rows=4)
    query = dp.KeyCounts("town", delta=1e-6, max_groups=groups)
    found = {
        name: testing.exact_keys(dp.PrivateDataset(form, SCHEMA, unit=unit), query)
        for name, form in forms(table, tmp_path)
        if name != "csv"  # it left out rows without a town, which others truncate with
    }
    for name, keys in found.items():
        assert keys == found["numpy"], name
    assert sum(found["numpy"].values()) <= 400 * 4


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from("abcde"), st.integers(0, 9)), max_size=30
    ),
    st.integers(1, 4),
    st.integers(1, 4),
)
def test_one_person_counts_in_few_rows_and_keys(people, most, groups):
    unit = dp.Unit(dp.PUBLIC, id_column="who", max_rows=most)
    query = dp.KeyCounts("town", delta=1e-6, max_groups=groups)

    def keys(chosen):
        who, town, n = zip(*chosen, strict=True) if chosen else ((), (), ())
        table = {
            "town": np.array(town, object),
            "x": np.zeros(len(who)),
            "n": np.array(n, np.int64),
            "who": np.array(who, np.int64),
        }
        return testing.exact_keys(dp.PrivateDataset(table, SCHEMA, unit=unit), query)

    whole = keys(people)
    parts = [keys([row for row in people if row[0] == person]) for person in range(4)]
    for part in parts:
        assert sum(part.values()) <= most
        assert len(part) <= groups
    added = {}
    for part in parts:  # a person's rows are chosen without a look at the others
        for key, count in part.items():
            added[key] = added.get(key, 0) + count
    assert whole == added
    assert keys(people[::-1]) == whole


def test_bounds_count_the_same_on_every_engine(tmp_path):
    table = towns_of_many_sizes()
    query = dp.Bounds("x", where="n < 8")
    wanted = None
    for name, form in forms(table, tmp_path):
        if name == "csv":
            continue
        data = dp.PrivateDataset(form, SCHEMA, unit=dp.PUBLIC)
        totals = testing.exact_totals(data, query).tolist()
        wanted = wanted or totals
        assert totals == wanted, name
    finite = [v for v, n in zip(table["x"], table["n"], strict=True) if n < 8 and v == v]
    assert sum(map(sum, wanted)) == len(finite)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64", "float32", "bool"])
def test_bounds_of_other_number_types(dtype):
    values = np.array([0, 1, 1, 0, 1]).astype(dtype)
    if dtype in ("int64", "uint64"):
        values[0] = np.iinfo(dtype).max
    base = {"town": np.array(["a"] * 5, object), "n": np.arange(5)}
    totals = []
    for form in (
        {**base, "x": values},
        pl.DataFrame({**base, "x": values}),
        pd.DataFrame({**base, "x": values}),
    ):
        data = dp.PrivateDataset(form, SCHEMA, unit=dp.PUBLIC)
        totals.append(testing.exact_totals(data, dp.Bounds("x")).tolist())
    assert totals[0] == totals[1] == totals[2]
    assert sum(map(sum, totals[0])) == 5


def test_discovered_keys_are_charged_noised_and_thresholded():
    ledger = dp.Ledger(limit=dp.ApproxDP(2, 1e-6))
    data = dp.PrivateDataset(towns_of_many_sizes(), SCHEMA, ledger=ledger)
    query = dp.KeyCounts("town", delta=1e-6)
    plan = data.plan(query, dp.PureDP(1))
    release = data.release(query, dp.PureDP(1))
    assert isinstance(release.event, events.KeyThreshold)
    assert (plan.event, plan.measure) == (release.event, release.measure)
    assert release.measure == dp.ApproxDP(1, 1e-6)
    assert ledger.remaining() == dp.ApproxDP(1, 0)
    assert "town 1" in release.labels
    assert min(release.value) >= release.event.threshold
    assert release.labels == sorted(release.labels)
    interval = release.noise_interval(0.9)
    assert np.all(interval.lower < release.value)
    with pytest.raises(dp.BudgetExceeded):
        data.release(query, dp.PureDP(1))  # no delta is left
    known = SCHEMA.replace(town=dp.Categorical(*release.labels))
    assert dp.PrivateDataset(towns_of_many_sizes(), known, ledger=ledger).release(
        dp.Count(by="town"), dp.PureDP(1)
    ).value.shape == (len(release.labels),)


def test_the_delta_of_keys_comes_from_the_reserve_of_a_concentrated_ledger():
    ledger = dp.Ledger(limit=dp.ApproxDP(2, 1e-5), composition="zcdp", delta_reserve=2e-6)
    data = dp.PrivateDataset(towns_of_many_sizes(), SCHEMA, ledger=ledger)
    query = dp.KeyCounts("town", delta=1e-6)
    data.release(query, dp.PureDP("1/4"))
    data.release(query, dp.PureDP("1/4"))
    with pytest.raises(dp.BudgetExceeded):
        data.release(query, dp.PureDP("1/4"))


def test_no_rows_release_no_keys_and_no_bounds():
    empty = {name: column[:0] for name, column in towns_of_many_sizes().items()}
    data = dp.PrivateDataset(empty, SCHEMA, ledger=dp.Ledger(limit=dp.ApproxDP(9, 1e-3)))
    release = data.release(dp.KeyCounts("town", delta=1e-6), dp.PureDP(1))
    assert release.labels == []
    assert release.value.shape == (0,)
    assert data.release(dp.Bounds("x"), dp.PureDP(0.1)).value == (-1.0, 1.0, False)


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("relation", [dp.ADD_REMOVE, dp.REPLACE_ONE], ids=str)
def test_one_person_moves_counts_of_keys_and_ranges_as_far_as_is_stated(relation, most):
    """All rows of a person in one key or range, and then in another, or nowhere."""
    unit = dp.Unit(relation, "who", most)
    schema = dp.Schema(u=dp.Real(), t=dp.Text())
    here = {"u": [5.0] * most, "t": ["here"] * most}
    there = {"u": [900.0] * most, "t": ["there"] * most} if relation is dp.REPLACE_ONE else None
    bounds, keys = dp.Bounds("u"), dp.KeyCounts("t", delta="1/100")

    def counts(mine):
        cells = mine or {"u": [], "t": []}
        columns = {"u": np.array([*cells["u"], 5.0]), "t": np.array([*cells["t"], "here"], object)}
        columns["who"] = np.array(["me"] * len(cells["u"]) + ["you"], object)
        engine = open_engine(columns, schema, unit)
        found = engine.keys(keys.coded(schema, unit), "t", keys.groups(unit))
        told = [found.get(name, 0) for name in ("here", "there")]
        return engine.totals(bounds.coded(schema, unit)).ravel(), np.array(told)

    for query, one, other in zip((bounds, keys), counts(here), counts(there), strict=True):
        moved = np.abs(one - other)
        stated = query.sensitivity(schema, unit)
        assert (stated.l1, stated.l2_squared) == (int(moved.sum()), int((moved**2).sum()))


@pytest.mark.parametrize("epsilon", [1, 4])
def test_bounds_are_drawn_with_the_noise_that_is_charged(epsilon):
    """A range just below the threshold passes as often as the noise says, and not always alike."""
    schema, unit = dp.Schema(u=dp.Real()), dp.Unit()
    query = dp.Bounds("u")
    prepared = query.prepare(dp.PureDP(epsilon), schema, unit, None)
    noise = mechanisms.LaplaceDistribution(Fraction(1, epsilon))
    ranges = query.coded(schema, unit).groups
    least = math.floor(noise.half_width(1 - dp.Bounds.RISK / ranges))
    engine = open_engine({"u": np.array([5.0] * 100 + [1000.0] * least)}, schema, unit)
    passed = [prepared.answer(engine).value.upper == 1024.0 for _ in range(900)]
    q = math.exp(-epsilon)
    stated = q / (1 + q)  # P(noise >= 1)
    assert abs(np.mean(passed) - stated) < 5 * math.sqrt(stated * (1 - stated) / 900)


def test_bought_bounds_enclose_most_rows_and_can_be_declared():
    table = {**towns_of_many_sizes(), "x": np.random.default_rng(3).normal(-300, 20, 3000)}
    ledger = dp.Ledger(limit=dp.PureDP(3))
    data = dp.PrivateDataset(table, SCHEMA, ledger=ledger)
    with testing.fixed_noise(4):
        value = data.release(dp.Bounds("x"), dp.PureDP(1)).value
    assert value == (-512.0, -128.0, True)
    bounded = SCHEMA.replace(x=dp.Real(value.lower, value.upper))
    mean = dp.PrivateDataset(table, bounded, ledger=ledger).release(dp.Mean("x"), dp.PureDP(1))
    assert mean.value == pytest.approx(-300, abs=5)


def test_public_rows_show_all_keys_without_noise():
    data = dp.PrivateDataset(towns_of_many_sizes(), SCHEMA, unit=dp.PUBLIC)
    query = dp.KeyCounts("town", delta=0.5)
    release = data.release(query, dp.PureDP(math.inf))
    assert release.to_dict() == testing.exact_keys(data, query)
    assert not release.is_private


def test_schemas_with_text_and_without_bounds_are_written_and_read(tmp_path):
    path = tmp_path / "schema.toml"
    SCHEMA.write(path)
    assert dp.Schema.read(path) == SCHEMA
    assert "Real()" in repr(SCHEMA)


DATA = dp.PrivateDataset(towns_of_many_sizes(20), SCHEMA, unit=dp.PUBLIC)
KEYS = dp.KeyCounts("town", delta=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "named"),
    [
        (lambda: dp.KeyCounts("town", delta=0), ValueError, "delta"),
        (lambda: dp.KeyCounts("town", delta=2), ValueError, "delta"),
        (lambda: dp.KeyCounts("town", delta=0.1, max_groups=0), ValueError, "max_groups"),
        (lambda: dp.KeyCounts(3, delta=0.1), TypeError, "column"),
        (lambda: dp.Mean("n", by=KEYS), TypeError, "by"),
        (
            lambda: DATA.release(dp.Mean("x"), dp.PureDP(1)),
            ValueError,
            r"'x' has no bounds.*Bounds",
        ),
        (lambda: DATA.release(dp.Median("x"), dp.PureDP(1)), ValueError, "no bounds"),
        (lambda: DATA.release(dp.Count(where="x > 1"), dp.PureDP(1)), ValueError, "no bounds"),
        (lambda: DATA.release(dp.Count(by="town"), dp.PureDP(1)), ValueError, "free text"),
        (
            lambda: DATA.release(dp.Count(where="town == 'a'"), dp.PureDP(1)),
            ValueError,
            "free text",
        ),
        (lambda: DATA.release(dp.Bounds("n"), dp.PureDP(1)), ValueError, "Bounds"),
        (lambda: DATA.release(dp.Bounds("x"), dp.ZCDP(1)), ValueError, "budget"),
        (lambda: DATA.release(KEYS, dp.ApproxDP(1, 1e-3)), ValueError, "budget"),
        (
            lambda: DATA.release(dp.KeyCounts("n", delta=0.1), dp.PureDP(1)),
            ValueError,
            "Text",
        ),
        (lambda: testing.exact_totals(DATA, KEYS), ValueError, "exact_keys"),
        (lambda: testing.exact_keys(DATA, dp.Count()), TypeError, "query"),
        (lambda: SCHEMA.replace(nothing=dp.Text()), KeyError, "nothing"),
        (lambda: SCHEMA.derive(b=dp.Bins("x", [1])), ValueError, "numeric|bounds"),
        (
            lambda: DATA.release(dp.Bounds("x"), dp.PureDP(1)).noise_interval(),
            ValueError,
            "interval",
        ),
        (lambda: events.KeyThreshold(1, 1, 3, rows=3), ValueError, "threshold"),
        (lambda: dp.Real(1), ValueError, "upper"),
    ],
)
def test_bad_arguments_are_named(call, error, named):
    with pytest.raises(error, match=named):
        call()


def test_the_former_way_to_ask_for_keys_works_and_warns():
    with pytest.warns(DeprecationWarning, match="dp.KeyCounts"):
        former = dp.Count(by=dp.Keys.discover("town", delta=1e-6, max_groups=2), where="n > 1")
    assert isinstance(former, dp.KeyCounts)
    assert repr(former) == "KeyCounts('town', delta=1e-06, max_groups=2, where='n > 1')"


def test_keys_are_not_part_of_a_joint_vector():
    with pytest.raises(TypeError, match="vectors of sums"):
        queries.Joint(dp.Count(), KEYS)
