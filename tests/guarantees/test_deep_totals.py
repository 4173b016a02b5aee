"""The integers of several blocks add up to the last bit, whatever stands where."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.deep.grid import (
    CHUNK,
    MAX_BLOCK,
    RADIUS,
    CodedDense,
    CodedOuter,
    CodedRows,
    Order,
    Products,
    code_clipped,
    sum_clipped,
)
from discreet.deep.totals import MAX_WAITING, IntegerTotal, Placed


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


def test_full_blocks_of_the_longest_persons_add_up_without_rounding():
    # every person at the radius, and one short of it: odd sums beyond what float64 holds
    total, slow = IntegerTotal(2), 0
    for _ in range(5):
        total.add([Placed(0, 1, np.array([MAX_BLOCK * 2.0**36 - 1]))], MAX_BLOCK)
        slow += MAX_BLOCK * RADIUS - 1
    found = total.total().tolist()
    assert found == [slow, 0]
    assert float(slow) != slow


def test_products_of_full_blocks_are_kept_until_they_would_round():
    half = MAX_BLOCK // 2
    outputs, inputs = np.full((half, 1), 2.0**18), np.full((half, 1), -(2.0**18))
    inputs[0] += 1  # one person is shorter by 2^18, another by 1
    outputs[1], inputs[1] = 2.0**36 - 1, -1.0
    slow = sum(int(a) * int(b) for a, b in zip(outputs[:, 0], inputs[:, 0], strict=True))
    total = IntegerTotal(1)
    for _ in range(7):
        total.add([Placed(0, 1, Products(outputs, inputs))], half)
    assert total.total().tolist() == [7 * slow]
    assert float(7 * slow) != 7 * slow


def test_what_a_total_keeps_waiting_is_bounded_by_its_size():
    total = IntegerTotal(12)
    product = Products(np.ones((2, 3)), np.ones((2, 4)))
    held = []
    for _ in range(9):
        total.add([Placed(0, 12, product)], 2)
        held.append(sum(each.size for several in total._waiting.values() for each in several))
    assert max(held) < MAX_WAITING * 12 + product.size
    assert total.total().tolist() == [18] * 12


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


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(16, CHUNK // 5), (4, CHUNK // 3 + 1), (33, 7), (5, 1), (3, 0)])
def test_a_crowd_of_copies_of_one_person_has_one_norm(shape, kind, layout):
    # the last chunk of the first two has one person alone
    one = np.random.default_rng(shape[1]).standard_normal(shape[1]).astype(kind)
    crowd = layout(np.broadcast_to(one, shape))
    places = np.zeros((len(crowd), 1), np.int64)
    for coded in (
        CodedDense(crowd),
        CodedOuter(crowd, crowd[:, ::-1]),
        CodedRows(places, crowd[:, None], 2),
    ):
        norms = coded.squared_norms()
        assert norms.shape == (len(crowd),)
        assert len(np.unique(norms)) == 1
        wanted = math.fsum(float(v) ** 2 for v in one)
        assert norms[0] == pytest.approx(wanted ** (1 + isinstance(coded, CodedOuter)), rel=1e-14)


def test_numbers_in_an_order_of_their_own_are_put_into_the_parameters():
    rows = np.arange(12.0).reshape(2, 6) / 100
    order = Order((3, 2), (1, 0))
    [[moved]] = sum_clipped([[CodedDense(rows, order)]], 1.0, "flat", np.ones(2, bool))
    [[usual]] = sum_clipped([[CodedDense(rows)]], 1.0, "flat", np.ones(2, bool))
    assert np.array_equal(moved.reshape(2, 3), usual.reshape(3, 2).T)
