"""What publishers of rows share: how many rows come out, and in which order."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dp
from discreet.publish import RowPerturbation
from discreet.publish.masks import WaveletLaplace
from discreet.publish.masks.plan import MaskedRows
from discreet.publish.perturb import PerturbedRows
from discreet.publish.row_release import RowRelease, middle_codes

SCHEMA = dp.Schema(x=dp.Real(0, 1), g=dp.Categorical(*range(64)))


def release(rows: int | None) -> RowRelease:
    return PerturbedRows(RowPerturbation(SCHEMA, epsilon=1), rows)


def codes(rows: int) -> np.ndarray:
    return np.column_stack([np.arange(rows), np.arange(rows)]).astype(np.int64)


def test_the_order_of_rows_is_random() -> None:
    """Sixty-four rows twice: the same order, or that of the table, once in 64! times."""
    first, second = (release(64).arrange(codes(64))[:, 1].tolist() for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(64))
    assert first not in (second, list(range(64)))


def test_padding_may_stand_anywhere() -> None:
    padding = middle_codes(SCHEMA)[0]
    places = [
        tuple(np.flatnonzero(release(64).arrange(codes(32))[:, 0] == padding)) for _ in range(2)
    ]
    assert {len(found) for found in places} == {32}
    assert places[0] not in (places[1], tuple(range(32, 64)))


def test_public_places_are_kept() -> None:
    step = MaskedRows(WaveletLaplace(1, order="position").plan(SCHEMA), 5)
    assert step.arrange(codes(9))[:, 1].tolist() == [0, 1, 2, 3, 4]
    assert step.arrange(codes(3))[3:].tolist() == [middle_codes(SCHEMA).tolist()] * 2


def test_more_rows_than_memory_holds_are_refused_with_the_way_out() -> None:
    with pytest.raises(ValueError, match="give to= to write them in batches"):
        release(2**27 + 1).event(SCHEMA, dp.Unit(dp.REPLACE_ONE))


def test_rows_that_are_blurred_together_must_say_what_two_of_them_cost() -> None:
    class Blocks(RowRelease):
        block = 2
        event_of_row = blur = as_columns = lambda self: None

    with pytest.raises(TypeError, match="event_of_two_rows"):
        Blocks(SCHEMA, 8)
