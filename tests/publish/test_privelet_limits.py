"""Histograms for ranges at the ends of what floating point and 64 bits hold."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet import events
from discreet.mechanisms import Gaussian, Laplace
from discreet.publish.privelet import Bank, Haar, Tree
from discreet.publish.privelet.axes import Axis
from discreet.publish.privelet.building import find_resolution
from discreet.publish.privelet.facts import Facts
from discreet.publish.privelet.lattice import contrasts
from discreet.publish.privelet.strategies import Problem
from discreet.unit import Unit

AGES = dp.Schema(age=dp.Integer(0, 40), id=dp.Integer(0, 2**40))
ROWS = np.repeat(np.arange(41), 5 + np.arange(41) % 7)
STRATEGIES = [Tree(4, split="equal"), Tree(7), Tree(), Haar(2), Haar(3), Bank()]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
@pytest.mark.parametrize("epsilon", [200, 10**5, 10**30])
def test_a_budget_so_large_that_noise_vanishes_gives_the_counts(strategy, epsilon):
    ledger = dp.Ledger(limit=dp.ApproxDP(10**40, "0.5"))
    data = dp.PrivateDataset({"age": ROWS, "id": ROWS}, AGES, ledger=ledger)
    exact = np.bincount(ROWS, minlength=41)
    for budget in (Laplace(epsilon), Gaussian(epsilon, 1e-6)):
        ages = data.release(dp.Ranges("age", strategy=strategy), budget).value
        assert ages.cells.shape == (41,)
        assert np.abs(ages.cells - exact).max() < (0.5 if epsilon > 200 else 4)
        found = ages.count(3, 9)
        lower, upper, *_ = found.interval(1 - 1e-6)
        assert lower <= exact[3:10].sum() <= upper
        assert upper - lower < 60  # an interval of millions of rows would hold, and say nothing
        assert found.stderr < 2


def test_sums_over_many_columns_fit_into_64_bits():
    problem = Problem((3,) * 4, ("cells",) * 4, Facts(), dp.PureDP(1))
    (design,) = Haar(3).designs(problem)
    counts = np.zeros((3,) * 4, np.int64)
    counts[2, 2, 2, 2] = 2**32  # as many rows as no table has, in the cell that is weighted most
    rows = [np.ones((1, 3), np.int64), contrasts(3)]
    for block, found in zip(design.blocks, design.measure(counts), strict=True):
        at = zip(block.levels, block.bands, strict=True)
        factor = math.prod(int(rows[level][band, 2]) for level, band in at)
        assert int(found.ravel()[0]) == 2**32 * factor * block.weight


@pytest.mark.parametrize("branchings", [(3,), (3, 3, 3), (3,) * 4, (3,) * 14, (64, *(3,) * 6)])
def test_no_row_adds_more_to_a_sum_than_always_fits(branchings):
    axes = tuple(Axis(cells, (cells,)) for cells in branchings)
    resolution = find_resolution(axes)
    assert resolution >= 1
    assert resolution == 2**10 or len(branchings) > 3
    weighted = [
        int(abs(contrasts(b) * np.array(_weights(b, resolution))[:, None]).max())
        for b in branchings
    ]
    assert math.prod(weighted) <= 2**30


def _weights(children: int, resolution: int) -> list[int]:
    """Whole numbers nearest to what makes all differences of the children equally long; never 0."""
    exact = [Fraction(resolution**2, (j + 1) * (j + 2)) for j in range(children - 1)]
    return [max(1, round(math.sqrt(square))) for square in exact]


@pytest.mark.parametrize("strategy", ["flat", "tree", "haar", Haar(3), Bank()], ids=repr)
def test_rows_of_a_person_beyond_what_a_double_holds_are_all_charged(strategy):
    most = 2**53 + 1
    query = dp.Ranges("age", strategy=strategy)
    plans = {
        rows: query.prepare(Laplace(10**9), AGES, Unit(dp.ADD_REMOVE, "id", rows), None)
        for rows in (1, most)
    }
    one, many = (list(events.iter_leaves(plans[rows].event)) for rows in (1, most))
    moved = {leaf.sensitivity for leaf in one}
    assert all(leaf.sensitivity % most == 0 for leaf in many)
    assert {leaf.sensitivity // most for leaf in many} <= moved
