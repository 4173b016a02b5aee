"""The integers of several blocks add up to the last bit, whatever stands where."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.deep.grid import (
    MAX_BLOCK,
    RADIUS,
    CodedDense,
    CodedOuter,
    Order,
    code_clipped,
    sum_clipped,
)
from discreet.deep.totals import IntegerTotal, Placed


def test_sums_of_blocks_are_those_of_one_block():
    draw = np.random.default_rng(0)
    left, right, dense = (draw.standard_normal((64, n)).astype(np.float32) for n in (7, 5, 9))

    def total(part):
        coded = [[CodedOuter(left[part], right[part])], [CodedDense(dense[part])]]
        sums = sum_clipped(coded, 0.5, "flat", np.ones(len(left[part]), bool))
        return np.concatenate([v for each in sums for v in each])

    whole = total(slice(None))
    parts = sum(total(slice(start, start + 8)) for start in range(0, 64, 8))
    assert np.array_equal(whole, parts)


def coded_block(part, left, right, dense):
    """A product, and full gradients that stand in an order of their own."""
    order = Order((3, 3), (1, 0))
    return [[CodedOuter(left[part], right[part])], [CodedDense(dense[part], order)]]


@pytest.mark.parametrize(
    "persons", [8, MAX_BLOCK // 2 + 1]
)  # the second is settled after each block
def test_a_total_of_blocks_is_the_sum_of_their_integers_to_the_last_bit(persons):
    draw = np.random.default_rng(5)
    given = [draw.standard_normal((64, n)).astype(np.float32) for n in (700, 5, 9)]
    total, slow = IntegerTotal(3509), [0] * 3509
    for start in range(0, 64, 8):
        coded = coded_block(slice(start, start + 8), *given)
        there = np.arange(8) != 3
        [product], [full] = code_clipped(coded, 0.5, "flat", there)
        total.add([Placed(0, 3500, product), Placed(3500, 3509, full)], persons)
        sums = sum_clipped(coded, 0.5, "flat", there)
        flat = np.concatenate([v for each in sums for v in each])
        slow = [one + int(other) for one, other in zip(slow, flat, strict=True)]
    assert [int(v) for v in total.total()] == slow
    assert max(map(abs, slow)) > RADIUS // 100


def test_a_total_of_nothing_is_zero_and_one_beyond_64_bits_goes_round():
    assert np.array_equal(IntegerTotal(3).total(), np.zeros(3, np.int64))
    total = IntegerTotal(1)
    for _ in range(2):
        total.add_integers(np.array([2**62]))
        total.add([Placed(0, 1, np.array([2.0**36]))], 1)
    assert total.total().tolist() == [-(2**63) + 2**37]


@pytest.mark.parametrize("width", [9, 700, 701])
def test_a_person_is_the_same_integers_at_every_place_and_with_any_others(width):
    draw = np.random.default_rng(6)
    left, right = (draw.standard_normal((33, n)).astype(np.float32) * 1e3 for n in (width, 5))
    alone = np.arange(33) == 2

    def coded(by):
        moved = [np.roll(each, by, axis=0) for each in (left, right)]
        return sum_clipped(
            [[CodedOuter(*moved)], [CodedDense(moved[0])]], 1.0, "flat", np.roll(alone, by)
        )

    for by in (1, 7, 30):
        for one, other in zip(coded(0), coded(by), strict=True):
            assert np.array_equal(one, other)
            assert np.abs(one[0]).max() > 10**6


def test_numbers_in_an_order_of_their_own_are_put_into_the_parameters():
    rows = np.arange(12.0).reshape(2, 6) / 100
    order = Order((3, 2), (1, 0))
    [[moved]] = sum_clipped([[CodedDense(rows, order)]], 1.0, "flat", np.ones(2, bool))
    [[usual]] = sum_clipped([[CodedDense(rows)]], 1.0, "flat", np.ones(2, bool))
    assert np.array_equal(moved.reshape(2, 3), usual.reshape(3, 2).T)
