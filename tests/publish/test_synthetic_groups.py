"""Which cells a synthesizer counts together, and which marginals its rounds may draw."""

from __future__ import annotations

import numpy as np

from discreet.publish.synthetic.estimation import Measured
from discreet.publish.synthetic.fitting import group_target, size_rule
from discreet.publish.synthetic.layout import MAX_GROUPS, merge_cells


def test_rare_cells_join_their_neighbours_or_one_another():
    counts = np.array([100.0, 1, 2, 90, 3])
    assert merge_cells(counts, 10, ordered=True) == (0, 1, 1, 1, 1)
    assert merge_cells(counts, 5, ordered=False) == (0, 2, 2, 1, 2)
    assert merge_cells(counts, 10, ordered=False) == (0, 0, 0, 1, 0)  # too few even together
    assert merge_cells(np.array([100.0, 1, 90]), 0.5, ordered=False) == (0, 1, 2)
    assert merge_cells(np.array([1.0, 2, 3]), 10, ordered=False) == (0, 0, 0)
    assert merge_cells(np.zeros(4), 10, ordered=True) == (0, 0, 0, 0)
    many = merge_cells(np.full(64, 1000.0), 10, ordered=True)
    assert max(many) + 1 == MAX_GROUPS
    assert sorted(many) == list(many)


def test_a_value_of_the_target_that_noise_hides_joins_the_commonest():
    def grouped(*counts):
        table = np.array([counts, counts]) / 2
        parts = [
            Measured((0, 1), table, np.asarray(10.0)),
            Measured((1, 2), table.T, np.asarray(10.0)),
        ]
        return group_target(parts, 1, table.sum(axis=0))

    assert grouped(3.0, 700, 300) == (0, 0, 1)  # noise of 10 on its two counts, twice: 4 · 10
    assert grouped(50.0, 700, 300) == (0, 1, 2)
    assert grouped(3.0, 700, 2) == (0, 1, 2)  # never all values


def test_a_round_measures_nothing_that_is_in_what_was_measured_and_no_part_of_what_it_draws():
    marginals = ((0,), (0, 1), (0, 2), (0, 3), (0, 1, 3), (0, 2, 3))
    rule = size_rule((2, 2, 2, 2), marginals, [(0, 1, 3)], 100)
    assert rule(()).tolist() == [False, False, True, False, False, True]
    assert rule((2,)).tolist() == [False, True, True, True, True, False]  # none is new: again
    small = size_rule((2, 3, 3, 3), marginals, [(0, 3)], 15)
    assert small(()).tolist() == [False, True, True, False, False, False]
    assert size_rule((2, 2), ((0,), (0, 1)), [], 1)(()).tolist() == [True, False]
