"""One person counts in as many rows and keys as the unit says, on every kind of engine, and in no more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dp
from discreet import testing

SCHEMA = dp.Schema(word=dp.Text(), n=dp.Integer(0, 9))
#: One person with eight rows in four keys, and another with one.
TABLE: dict[str, list[Any]] = {
    "word": ["a", "a", "b", "b", "c", "c", "d", "d", "a"],
    "n": [0, 1, 2, 3, 4, 5, 6, 7, 8],
    "who": [1, 1, 1, 1, 1, 1, 1, 1, 2],
}
FORMS: dict[str, Any] = {
    "arrays": lambda: {
        "word": np.array(TABLE["word"], object),
        "n": np.array(TABLE["n"]),
        "who": np.array(TABLE["who"]),
    },
    "polars": lambda: pl.DataFrame(TABLE),
    "lazy polars": lambda: pl.LazyFrame(TABLE),
    "pandas": lambda: pd.DataFrame(TABLE),
    "pyarrow": lambda: pa.table(TABLE),
}


def dataset(form: str, most: int) -> dp.PrivateDataset:
    unit = dp.Unit(dp.PUBLIC, id_column="who", max_rows=most)
    return dp.PrivateDataset(FORMS[form](), SCHEMA, unit=unit)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("most", [2, 5, 20])
def test_rows_of_a_person_are_limited(form: str, most: int) -> None:
    data = dataset(form, most)
    assert data.release(dp.Count(), dp.PureDP(float("inf"))).value == min(8, most) + 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("most", "groups"), [(2, 1), (5, 1), (5, 2), (20, 3), (20, None)])
def test_rows_and_keys_of_a_person_are_limited(form: str, most: int, groups: int | None) -> None:
    query = dp.KeyCounts("word", delta=1e-6, max_groups=groups)
    found = testing.exact_keys(dataset(form, most), query)
    assert sum(found.values()) <= min(8, most) + 1
    others = dict(found)
    others["a"] -= 1  # the other person's
    mine = {word: count for word, count in others.items() if count}
    allowed = most if groups is None else min(groups, most)
    assert len(mine) <= allowed
    assert sum(mine.values()) == min(8, most) or groups is not None
    assert found == testing.exact_keys(dataset("arrays", most), query)
    if most == 20:
        assert len(mine) == min(4, allowed)
