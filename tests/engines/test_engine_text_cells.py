"""Categories of text among cells of any type: looked up at once where all types are built in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.coding import Category
from discreet.coding.cells import categories_of, objects_of


class Text(str):
    """Text of a type of its own, whose hash is a lie."""

    def __hash__(self) -> int:
        return 0


CELLS: list[Any] = ["a", "b", "c", "", None, float("nan"), 1, True, 2.5, "\ud800", "a\0", 10**30]


@pytest.mark.parametrize("otherwise", [-1, 1])
def test_built_in_cells_have_the_codes_that_each_has_alone(otherwise: int) -> None:
    category = Category("x", ("a", "b", ""), otherwise)
    wanted = [0, 1, otherwise, 2, *[otherwise] * 8]
    assert categories_of(objects_of(CELLS), category).tolist() == wanted
    # a cell of another type sends all cells the long way
    mixed = [*CELLS, Text("b"), np.str_("a"), [], b"a"]
    assert categories_of(objects_of(mixed), category).tolist() == [
        *wanted,
        1,
        0,
        otherwise,
        otherwise,
    ]


def test_numbers_are_no_texts_and_texts_no_numbers() -> None:
    assert categories_of(objects_of([1, "1", 1.0, True]), Category("x", ("1",))).tolist() == [
        -1,
        0,
        -1,
        -1,
    ]
    assert categories_of(objects_of([1, "1", 1.0, True]), Category("x", (1, 2))).tolist() == [
        0,
        -1,
        0,
        0,
    ]
