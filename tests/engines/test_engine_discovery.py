"""Keys and bounds on the engines that are not in memory."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tables

import discreet as dp
from discreet.coding import cells as cells_module
from discreet.coding.cells import count_cells, texts_of
from discreet.testing import exact_keys, exact_totals

SCHEMA = dp.Schema(town=dp.Text(), x=dp.Real(), n=dp.Integer(0, 9))
KINDS = {"town": "text", "x": "real", "n": "whole", "who": "whole"}


def towns_and_gaps(count: int = 300) -> dict[str, list[Any]]:
    rng = np.random.default_rng(0)
    special = {0: None, 1: math.nan, 2: math.inf, 3: -math.inf, 4: 5e-324, 5: 1e300}
    return {
        "town": [None if k % 37 == 0 else f"town {z}" for k, z in enumerate(rng.zipf(1.6, count))],
        "x": [special.get(k % 29, v) for k, v in enumerate(rng.normal(0, 300, count).tolist())],
        "n": rng.integers(0, 10, count).tolist(),
        "who": [None if k % 31 == 0 else int(w) for k, w in enumerate(rng.integers(0, 60, count))],
    }


PLAIN = dp.Unit(dp.PUBLIC)
PERSONS = dp.Unit(dp.PUBLIC, id_column="who", max_rows=4)


def found(source: Any) -> list[Any]:
    """All that the discoveries count."""
    results: list[Any] = []
    for unit in (PLAIN, PERSONS):
        data = dp.PrivateDataset(source, SCHEMA, unit=unit)
        for groups in (None, 2):
            keys = dp.KeyCounts("town", delta=1e-6, max_groups=groups, where="n > 1")
            results.append(exact_keys(data, keys))
        results.append(exact_totals(data, dp.Bounds("x")).tolist())
    return results


@pytest.mark.parametrize("form", ["arrow", "dask", "parquet", "duckdb"])
def test_discoveries_count_the_same(form: str, tmp_path: Path) -> None:
    table = towns_and_gaps()
    sources = {
        "arrow": lambda: tables.arrow(table, KINDS),
        "dask": lambda: tables.dask_frame(table, KINDS),
        "parquet": lambda: tables.parquet_files(table, KINDS, tmp_path),
        "duckdb": lambda: tables.duckdb_url(table, KINDS, tmp_path),
    }
    assert found(sources[form]()) == found(table)


def test_discoveries_count_the_same_in_postgresql(postgres_server: Any) -> None:
    table = towns_and_gaps()
    url = tables.postgres_url(table, KINDS, postgres_server, "discoveries")
    assert found(url) == found(table)


def slow_texts_of(cells: list[Any]) -> tuple[list[str], list[int]]:
    """The definition: a cell is text if it is a string without lone surrogates."""

    def text(cell: Any) -> str | None:
        if not isinstance(cell, str) or any(0xD800 <= ord(letter) <= 0xDFFF for letter in cell):
            return None
        return str(cell)

    texts = sorted({text(cell) for cell in cells} - {None})
    return texts, [-1 if text(cell) is None else texts.index(text(cell)) for cell in cells]


def test_texts_are_numbered_as_their_definition_says() -> None:
    draw = random.Random(3)
    pool = ["a", "b", "", "Z", "é", "\U0001f600", "\ud800", "a\udfff", "\ue000", np.str_("b")]
    pool += [None, 1, 2.5, float("nan"), b"a", ("a",), np.str_("new"), "x\0", "longer text " * 20]
    for length in (0, 1, 7, 200):
        cells = [draw.choice(pool) for _ in range(length)]
        texts, codes = texts_of(cells)
        wanted = slow_texts_of(cells)
        assert (texts, codes.tolist()) == wanted
        assert {type(text) for text in texts} <= {str}
        counts = count_cells(iter(cells))
        assert counts == {text: wanted[1].count(at) for at, text in enumerate(wanted[0])}
        assert {type(text) for text in counts} <= {str}


def test_each_different_text_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rows it has: a million keys are a matter of seconds."""
    seen: list[str] = []
    check = cells_module.is_unicode
    monkeypatch.setattr(cells_module, "is_unicode", lambda text: seen.append(text) or check(text))
    texts, codes = texts_of([f"key {at % 50}" for at in range(5000)])
    assert len(texts) == 50
    assert sorted(set(codes.tolist())) == list(range(50))
    assert len(seen) == 50
    seen.clear()
    assert count_cells([f"key {at % 50}" for at in range(5000)]) == dict.fromkeys(texts, 100)
    assert len(seen) == 50
