"""No private value makes the door raise, warn, change a shape or change a message."""

from __future__ import annotations

import datetime
import decimal
import math
import warnings
from itertools import count

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreet as dp
from discreet import testing

SCHEMA = dp.Schema(x=dp.Real(-1, 3), y=dp.Integer(0, 4), c=dp.Categorical("a", "b")).derive(
    band=dp.Bins("x", [0, 1]),
    near=dp.Nearest(["x", "y"], [[0, 0], [2, 4]]),
    score=dp.Score({"band": [-3, 0, 3], "c": [1, 2]}, [0, 1, 4, 9]),
)
QUERIES = [
    *testing.QUERIES,
    dp.Count(by=["band", "near"]),
    dp.Sum("score", by="c", where="not (x < 0.5 or c in ['a'])"),
    dp.Median("x", by="near", where="y != 2"),
]

#: Cells that real tables hold, and some that none should.
CELLS = [
    None, math.nan, -math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, 1e300, -1e300, 1.7e308,
    1, 2, 3.999999999, 4, -7, 10**30, -(10**400), 2**63, -(2**63), 2**53 + 1, True, False,
    "a", "b", "", " a", "A", "a\0", "ab", "é", "\ud800", "1", "nan", "x" * 1000, b"a", b"\xff",
    decimal.Decimal("NaN"), decimal.Decimal("sNaN"), decimal.Decimal(2), 1 + 2j, complex("nan"),
    [], [1], {}, {"a": 1}, (), set(), object(), int, Exception("a"), ..., NotImplemented,
    datetime.date(2000, 1, 1), datetime.datetime(2000, 1, 1), datetime.timedelta(1),
    pd.NA, pd.NaT, np.float32(1.5), np.float16("inf"), np.int8(-3), np.uint64(2**64 - 1),
    np.datetime64("NaT"), np.bool_(True), np.str_("a"), np.array([1, 2]), range(3),
]  # fmt: skip


class Hostile:
    """A cell that raises whatever is done to it."""

    def __eq__(self, other):
        raise RuntimeError("secret")

    def __hash__(self):
        raise RuntimeError("secret")

    def __float__(self):
        raise RuntimeError("secret")

    def __bool__(self):
        raise RuntimeError("secret")


ANY_CELL = [*CELLS, Hostile()]


def objects(rng, n):
    column = np.empty(n, object)
    for index in range(n):
        column[index] = ANY_CELL[rng.integers(len(ANY_CELL))]
    return column


def floats(rng, n):
    special = np.array([math.nan, math.inf, -math.inf, 5e-324, 1e300, -1e300, 3.0, -1.0, 0.5])
    return rng.choice(special, n)


def tables(rng):
    """One dirty table after the other: mostly arrays, which are fast, and frames now and then."""
    for index in count():
        n = int(rng.integers(0, 5))
        text = rng.choice(["a", "b", "z", ""], n)
        if index % 20 == 0:
            dirty = {name: pd.Series(objects(rng, n), dtype=object) for name in ("x", "c")}
            yield pd.DataFrame({**dirty, "y": floats(rng, n)})
        elif index % 20 == 1:
            letters = pl.Series(text, dtype=pl.String)
            yield pl.DataFrame({"x": floats(rng, n), "y": floats(rng, n), "c": letters})
        elif index % 2:
            yield {"x": floats(rng, n), "y": rng.integers(-(2**63), 2**63, n), "c": text}
        else:
            yield {name: objects(rng, n) for name in ("x", "y", "c")}


def parts(value):
    if isinstance(value, dp.queries.MomentsValue):
        return [value.count, value.mean, value.variance]
    return [value.count, value.sums, value.squares, *value.cells]


JOINT = (dp.queries.MomentsValue, dp.queries.MarginalsValue)


def shape(value):
    if isinstance(value, JOINT):
        return tuple(np.shape(part) for part in parts(value))
    return np.shape(value)


def finite(value):
    if isinstance(value, JOINT):
        return all(map(finite, parts(value)))
    return bool(np.all(np.isfinite(np.asarray(value, float))))


@pytest.mark.parametrize("cases", [1_000, pytest.param(10_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("relation", [dp.ADD_REMOVE, dp.REPLACE_ONE], ids=str)
def test_no_cell_makes_the_door_raise_or_change_a_shape(relation, cases):
    rng = np.random.default_rng(0)
    unit = dp.Unit(relation)
    ledger = dp.Ledger(limit=dp.PureDP(10**6), unit=unit)
    clean = {"x": np.array([0.5]), "y": np.array([1]), "c": np.array(["a"], object)}
    options = {"rows": 3} if relation is dp.REPLACE_ONE else {}
    usual = dp.PrivateDataset(clean, SCHEMA, ledger=ledger, **options)
    shapes = [shape(usual.release(query, dp.PureDP(1)).value) for query in QUERIES]
    source = tables(rng)
    done = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        while done < cases // 2:
            data = dp.PrivateDataset(next(source), SCHEMA, ledger=ledger, **options)
            for _ in range(5):
                index = int(rng.integers(len(QUERIES)))
                release = data.release(QUERIES[index], dp.PureDP(1))
                assert shape(release.value) == shapes[index]
                assert finite(release.value)
                assert release.measure == usual.plan(QUERIES[index], dp.PureDP(1)).measure
                done += 1


def test_no_id_makes_the_door_raise():
    rng = np.random.default_rng(1)
    unit = dp.Unit(dp.ADD_REMOVE, id_column="who", max_rows=2)
    ledger = dp.Ledger(limit=dp.PureDP(10**6), unit=unit)
    for _ in range(150):
        n = int(rng.integers(0, 6))
        table = {name: objects(rng, n) for name in ("x", "y", "c", "who")}
        for frame in (table, pd.DataFrame(table, dtype=object)):
            data = dp.PrivateDataset(frame, SCHEMA, ledger=ledger)
            release = data.release(QUERIES[int(rng.integers(len(QUERIES)))], dp.PureDP(1))
            assert finite(release.value)


def test_refusals_say_the_same_whatever_the_rows():
    messages = set()
    for cell in (0.0, math.nan, 1e300):
        table = {"x": np.array([cell]), "y": np.array([1]), "c": np.array(["a"], object)}
        data = dp.PrivateDataset(table, SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(1)))
        with pytest.raises(dp.BudgetExceeded) as refused:
            data.release(dp.Mean("x"), dp.PureDP(2))
        messages.add(str(refused.value))
    assert len(messages) == 1
