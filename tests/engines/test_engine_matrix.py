"""For one query and one table, every engine returns the integers of the oracle."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import oracle
import pytest
import tables

import discreet as dp
from discreet.testing import exact_totals
from small_tables import as_columns, as_rows

SCHEMA = dp.Schema(
    x=dp.Real(-10, 50),
    y=dp.Real(0.1, 7.3, fill=1, scale="log"),
    n=dp.Integer(-5, 20),
    big=dp.Integer(-3_000_000, 5_000_000, scale="log"),
    sex=dp.Categorical("F", "M"),
    town=dp.Categorical("Ä", "b", "c d", "日本", unknown="b"),
    flag=dp.Categorical(True, False),
    rating=dp.Categorical(1, 2, 3.5, -4),
).derive(
    band=dp.Bins("x", [0, 12.5, 30]),
    step=dp.Bins("n", [0, 5.5]),
    near=dp.Nearest(["x", "n", "big"], [(0, 0, 0), (20, 10, 2e6), (-10, 20, 5e6), (0, 0, 0)]),
    points=dp.Score({"band": [0, 3, -2, 40], "sex": [5, -5]}, link=[7, 1, -3, 20], offset=-2),
    level=dp.Bins("points", [-1, 6.5]),
)
KINDS = {
    "x": "real", "y": "real", "n": "whole", "big": "whole", "sex": "text", "town": "text",
    "flag": "flag", "rating": "real", "person": "whole",
}  # fmt: skip
NAN, INF = math.nan, math.inf

GOOD = (3.25, 2.5, 4, 17, "F", "b", True, 3.5, 1)


def _with(**cells: Any) -> tuple[Any, ...]:
    return tuple({**dict(zip(KINDS, GOOD, strict=True)), **cells}.values())


def _random(seed: int, length: int) -> list[tuple[Any, ...]]:
    draw = random.Random(seed)
    reals = [NAN, None, INF, -INF, 1e300, -1e300, 5e-324, -5e-324, -0.0, 0.0, -10.0, 50.0, 0.1, 7.3]

    def real() -> Any:
        return draw.choice(reals) if draw.random() < 0.2 else draw.uniform(-15, 60)

    def whole() -> Any:
        edges = [None, 0, -5, 20, 21, -6, 2**62, -(2**63), 2**63 - 1, 5_000_000, 2**53 + 1]
        return draw.choice(edges) if draw.random() < 0.2 else draw.randint(-4_000_000, 6_000_000)

    return [
        (
            real(), real(), draw.choice([None, draw.randint(-8, 25)]), whole(),
            draw.choice(["F", "M", "f", "F ", None, "MM"]),
            draw.choice(["Ä", "A", "b", "c d", "日本", None, "ä"]),
            draw.choice([True, False, None]), draw.choice([1.0, 2.0, 3.5, -4.0, 3.4999, NAN, None]),
            draw.choice([1, 2, 3, -1, None, 2**60 + 1, 2**60 + 2]),
        )
        for _ in range(length)
    ]  # fmt: skip


DATA = {
    "good": [GOOD] * 3,
    "empty": [],
    "one row": [GOOD],
    "nan": [GOOD, _with(x=NAN, y=NAN, rating=NAN)],
    "null": [GOOD, (None,) * len(KINDS), _with(x=None), _with(n=None), _with(sex=None)],
    "all null": [(None,) * len(KINDS)] * 3,
    "infinite": [_with(x=INF), _with(x=-INF), _with(y=INF), _with(y=-INF), _with(rating=INF)],
    "huge": [_with(x=1e300, y=-1e300), _with(x=-1.7976931348623157e308, y=1.7976931348623157e308)],
    "tiny": [_with(x=5e-324, y=5e-324), _with(x=-5e-324), _with(x=-0.0, y=0.0)],
    "out of range": [
        _with(x=-11.0, y=8.0, n=-6, big=-(2**63)), _with(x=51.0, n=21, big=2**63 - 1),
        _with(big=2**53 + 1), _with(big=-(2**53) - 1),
    ],
    "unknown": [GOOD, _with(sex="f"), _with(sex="F "), _with(town="a"), _with(rating=9.0)],
    "repeated ids": _random(5, 40),
    "random": _random(1, 60),
    "more random": _random(2, 60),
}  # fmt: skip

#: One table has everything and runs by default; the others say which kind of cell is at fault.
DATA["dirty"] = [row for rows in DATA.values() for row in rows]
DEFAULT = ("dirty", "empty", "one row")
TABLES = [n if n in DEFAULT else pytest.param(n, marks=pytest.mark.slow) for n in DATA]

#: A query, the condition as a Python test on codes, and the columns which that test reads.
_AGE = "x >= 12.5 and not sex == 'F' or n in (3, 4, 5)"
CASES: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "count": (dp.Count(), None, ()),
    "count by": (dp.Count(by="sex"), None, ()),
    "count where": (dp.Count(where="x >= 12.5"), lambda k: k["x"] >= k.cut("x", 12.5), ("x",)),
    "histogram": (dp.Histogram("sex", "town", "band"), None, ()),
    "histogram of numbers": (dp.Histogram("rating", "flag"), None, ()),
    "histogram of integers": (dp.Histogram("n"), None, ()),
    "histogram of derived": (dp.Histogram("step", "near", "level"), None, ()),
    "sum": (dp.Sum("x"), None, ()),
    "sum of integers": (dp.Sum("n", by="flag"), None, ()),
    "sum of wide integers": (dp.Sum("big"), None, ()),
    "sum of score": (dp.Sum("points", by="near"), None, ()),
    "mean": (dp.Mean("y"), None, ()),
    "mean by": (dp.Mean("big", by=["sex", "level"]), None, ()),
    "mean where": (
        dp.Mean("x", where=_AGE),
        lambda k: (k["x"] >= k.cut("x", 12.5) and k["sex"] != 0) or k["n"] in (8, 9, 10),
        ("x", "sex", "n"),
    ),
    "variance": (dp.Variance("x"), None, ()),
    "variance by": (
        dp.Variance("n", by="town", where=(dp.col("flag") == True) | ~(dp.col("rating") == 3.5)),  # noqa: E712
        lambda k: k["flag"] == 0 or k["rating"] != 2,
        ("flag", "rating"),
    ),
    "moments": (dp.Moments("x", "y", "n", "big"), None, ()),
    "moments by": (dp.Moments("y", "n", by="step"), None, ()),
    "gram": (dp.Gram("x", "n", "big"), None, ()),
    "gram by": (
        dp.Gram("x", "y", by="sex", where="near != 0 and points < 8"),
        lambda k: k["near"] != 0 and k["points"] < 8,
        ("near", "points"),
    ),
    "quantile": (dp.Quantile("x", [0, 0.5, 1]), None, ()),
    "quantile by": (
        dp.Median("n", by="sex", where="town in ['b', 'Ä'] and -3 < big <= 4e6"),
        lambda k: (
            k["town"] in (0, 1) and k.cut("big", -3) < k["big"] <= k.cut("big", 4e6)
        ),
        ("town", "big"),
    ),
    "quantile of octaves": (dp.Quantile("big"), None, ()),
    "quantile of octaves by": (dp.Quantile("y", by="sex"), None, ()),
    "nothing": (dp.Count(where="n == 3.5"), lambda k: False, ("n",)),
    "everything": (dp.Count(where="n != 3.5 and n < 99"), lambda k: True, ("n",)),
    "membership": (
        dp.Sum("y", where="level not in ['[-1, 6.5)'] and band in ('[0, 12.5)', '[30, 50]')"),
        lambda k: k["level"] != 1 and k["band"] in (1, 3),
        ("level", "band"),
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=TABLES)
def data(request: Any, tmp_path_factory: Any) -> tuple[list[oracle.Row], dict[str, Any]]:
    table = as_columns(DATA[request.param], KINDS)
    folder: Path = tmp_path_factory.mktemp("table")
    rows = as_rows(table)
    return rows, tables.forms(table, KINDS, folder)


def check(form: str, source: Any, query: Any, unit: dp.Unit, wanted: list[list[int]]) -> None:
    dataset = dp.PrivateDataset(source, SCHEMA, unit=unit)
    found = exact_totals(dataset, query)
    assert found.dtype == "int64", form
    assert found.tolist() == wanted, form


@pytest.mark.parametrize("case", list(CASES))
def test_engines_return_the_integers_of_the_oracle(data: Any, case: str) -> None:
    rows, sources = data
    query, predicate, uses = CASES[case]
    wanted = oracle.totals(query, SCHEMA, rows, predicate, uses)
    for form, source in sources.items():
        check(form, source, query, dp.Unit(dp.PUBLIC), wanted)


@pytest.mark.parametrize("most", [2])
@pytest.mark.parametrize("case", ["histogram", "mean where", "moments", "quantile by"])
def test_engines_keep_the_same_rows_of_each_person(data: Any, case: str, most: int) -> None:
    rows, sources = data
    query, predicate, uses = CASES[case]
    wanted = oracle.totals(query, SCHEMA, rows, predicate, uses, "person", most)
    unit = dp.Unit(dp.PUBLIC, id_column="person", max_rows=most)
    for form, source in sources.items():
        check(form, source, query, unit, wanted)
