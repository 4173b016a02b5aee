"""The rows of a person that count are found block by block; whatever the blocks, they are the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.coding import persons
from discreet.coding.chunks import Chunk

SCHEMA = dp.Schema(age=dp.Integer(0, 100), cost=dp.Real(0, 5000))
ROWS = 3000


def build_rows(ids: Any) -> dict[str, Any]:
    draw = np.random.default_rng(1)
    age, cost = draw.integers(0, 4, ROWS), draw.choice([1.0, 700.0, np.nan], ROWS)
    return {"who": ids, "age": age, "cost": cost}


def build_ids(kind: str) -> Any:
    numbers = np.random.default_rng(2).integers(-300, 300, ROWS)
    match kind:
        case "int64":
            return numbers
        case "int16":
            return numbers.astype(np.int16)
        case "uint64":
            return numbers.astype(np.uint64)  # negative ones become the largest
        case "float64":
            return np.where(
                numbers % 7 == 0, np.nan, np.where(numbers % 5 == 0, np.inf, numbers / 3)
            )
        case "zeros":
            return np.where(numbers % 2 == 0, 0.0, -0.0)
        case "times":
            return np.where(numbers % 7 == 0, np.datetime64("NaT"), numbers.astype("datetime64[s]"))
        case "text":
            return np.array([f"p{number}" for number in numbers], object)
    raise ValueError(kind)


def find_slowly(rows: dict[str, Any], max_rows: int, counted: Any) -> dict[Any, list[Any]]:
    """The oracle: the kept rows of each person, as codes, one row at a time."""
    chunk, keep = Chunk(rows), limit(max_rows)
    codes = np.stack([chunk.code(code) for code in keep.order], axis=1).tolist()
    found: dict[Any, list[Any]] = {}
    for who, row, counts in zip(rows["who"].tolist(), codes, counted, strict=True):
        if counts and who is not None and who == who and who not in (np.inf, -np.inf):
            mix = sum(
                (c + 1) * m % persons.ORDER_PRIME for c, m in zip(row, keep.mixers, strict=True)
            )
            found.setdefault(who, []).append((mix % persons.ORDER_PRIME, row))
    return {who: sorted(kept)[:max_rows] for who, kept in found.items()}


def limit(max_rows: int) -> Any:
    unit = dp.Unit(dp.ADD_REMOVE, id_column="who", max_rows=max_rows)
    return dp.Mean("cost").coded(SCHEMA, unit).keep


def assert_same_rows(kind: str, max_rows: int) -> None:
    rows, counted = build_rows(build_ids(kind)), np.random.default_rng(3).random(ROWS) < 0.9
    chunk = Chunk(rows)
    mask = persons.keep_rows(chunk, limit(max_rows), counted)
    codes = np.stack([chunk.code(code) for code in limit(max_rows).order], axis=1)
    kept: dict[Any, list[Any]] = {}
    for who, row in zip(rows["who"][mask].tolist(), codes[mask].tolist(), strict=True):
        kept.setdefault(who, []).append(row)
    expected = find_slowly(rows, max_rows, counted)
    assert {who: sorted(found) for who, found in kept.items()} == {
        who: sorted(row for _, row in found) for who, found in expected.items()
    }


@pytest.mark.parametrize("kind", ["int64", "int16", "uint64", "float64", "zeros", "times", "text"])
@pytest.mark.parametrize("block", [1 << 15, 16], ids=["one block", "many blocks"])
@pytest.mark.parametrize("bits", [16, 2], ids=["small blocks", "large blocks"])
def test_the_same_rows_count_however_they_are_sorted(
    kind: str, block: int, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(persons, "BLOCK", block)
    monkeypatch.setattr(persons, "_PLACE_BITS", bits)
    for max_rows in (1, 3):
        assert_same_rows(kind, max_rows)


def test_a_person_in_two_blocks_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def halve(ids: Any) -> Any:
        middle = len(ids) // 2
        yield 0, np.arange(middle)
        yield middle, np.arange(middle, len(ids))

    monkeypatch.setattr(persons, "_blocks", halve)
    with pytest.raises(AssertionError):
        assert_same_rows("int64", 1)


def test_persons_have_numbers_whether_or_not_rows_are_there() -> None:
    assert persons.number_persons(np.array([7.5, np.nan, 7.5])).tolist() == [0, -1, 0]
    order, numbers = persons.sort_by_person(np.array([], np.int64), np.array([], np.int64))
    assert len(order) == len(numbers) == 0
