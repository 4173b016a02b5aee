"""Probes that need no chance: they accept what is right, and notice what is wrong."""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest

from discreet.audit import Refused, WatchedRows, order_of_charge_and_read, sensitivity_exceeded

AGES = {"age": [41, 17, 30]}


def test_watched_rows_notice_looks_and_nothing_else():
    rows = WatchedRows(AGES)
    column = rows["age"]
    assert len(rows) == 1
    assert list(rows) == ["age"]
    assert column.shape == (3,)
    assert np.asarray(column) is column
    assert column[1:].shape == (2,)
    assert rows.reads == 0


@pytest.mark.parametrize(
    "look",
    [
        float,
        bool,
        str,
        repr,
        hash,
        abs,
        round,
        math.floor,
        lambda cell: cell + 1,
        lambda cell: 1 + cell,
        lambda cell: cell * 2,
        lambda cell: cell - 2,
        lambda cell: 2 / cell,
        lambda cell: cell > 18,
        lambda cell: cell == 41,
        lambda cell: f"{cell}",
        lambda cell: np.array([cell], np.float64),
        lambda cell: np.mean(np.array([cell, cell], object)),
    ],
)
def test_every_look_is_noticed(look):
    rows = WatchedRows(AGES)
    look(rows["age"][0])
    assert rows.reads > 0


def test_a_watched_number_is_that_number():
    cell = WatchedRows({"x": [0.75]})["x"][0]
    assert (float(cell), cell + 1, 1 - cell, cell < 1) == (0.75, 1.75, 0.25, True)
    assert isinstance(cell, Fraction)


def right(rows, pay):
    pay()
    return sum(float(cell) for cell in rows["age"])


def reads_first(rows, pay):
    total = sum(float(cell) for cell in rows["age"])
    pay()
    return total


def looks_at_one_cell_first(rows, pay):
    if rows["age"][0] > 18:
        pay()
    else:
        pay()
    return right(rows, pay)


def never_pays(rows, pay):
    return sum(float(cell) for cell in rows["age"])


def ignores_a_refusal(rows, pay):
    with suppress(Refused):
        pay()
    return sum(float(cell) for cell in rows["age"])


def reads_nothing(rows, pay):
    pay()
    return 0


def turns_a_refusal_into_none(rows, pay):
    try:
        pay()
    except Refused:
        return None
    return sum(float(cell) for cell in rows["age"])


@pytest.mark.parametrize("door", [right, reads_nothing, turns_a_refusal_into_none])
def test_doors_that_pay_first(door):
    result = order_of_charge_and_read(door, AGES)
    assert result.verdict == "consistent"
    assert result.title == door.__name__


@pytest.mark.parametrize(
    ("door", "words"),
    [
        (reads_first, "3 looks at cells came before the charge"),
        (looks_at_one_cell_first, "1 looks at cells came before"),
        (never_pays, "nothing was ever charged"),
        (ignores_a_refusal, "3 looks at cells though the charge was refused"),
    ],
)
def test_doors_that_do_not(door, words):
    result = order_of_charge_and_read(door, AGES)
    assert result.is_violated
    assert words in result.event


def test_sensitivities_are_compared_exactly():
    pairs = [([1, 2], [1, 2, 9]), ([1], [])]
    assert sensitivity_exceeded(sum, pairs, 9).verdict == "consistent"
    assert sensitivity_exceeded(sum, pairs, 8).is_violated
    tiny = sensitivity_exceeded(lambda x: x, [(0.0, 1 + 2**-52)], 1)
    assert tiny.is_violated
    assert "1 + 2.2e-16 times" in tiny.event
    assert sensitivity_exceeded(sum, [([1], [1])], 0).verdict == "consistent"


@pytest.mark.parametrize(("norm", "bound"), [("l1", 7), ("l2_squared", 25), ("largest", 4)])
def test_norms(norm, bound):
    def vector(data):
        return np.array(data)

    pairs = [([0, 0], [3, -4])]
    assert not sensitivity_exceeded(vector, pairs, bound, norm=norm).is_violated
    assert sensitivity_exceeded(vector, pairs, bound - 1, norm=norm).is_violated


def test_vectors_of_different_length_are_refused():
    with pytest.raises(ValueError, match="as many numbers"):
        sensitivity_exceeded(np.array, [([1], [1, 2])], 1)
