"""How far one row moves the values of a released function, by brute force at the extremes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import mechanisms
from discreet.coding import Sensitivity
from discreet.mechanisms import Bernstein, PriestleyChao


@pytest.mark.parametrize(("degree", "dimension"), [(1, 1), (4, 1), (2, 2)])
def test_a_function_that_moves_everywhere_moves_all_nodes(degree, dimension):
    release = Bernstein(mechanisms.Laplace(1), degree, dimension, resolution=8)
    nodes = (degree + 1) ** dimension
    for steps in (1, 3):
        moved = np.full(nodes, steps)
        found = release.sensitivity(Fraction(steps, 8))
        assert found == Sensitivity(int(moved.sum()), int((moved**2).sum()))


def test_values_beyond_what_can_be_counted_are_cut_off_and_never_wrap():
    release = Bernstein(mechanisms.Laplace(10**9), 2, resolution=2**20)
    for value, sign in ((1e300, 1), (math.inf, 1), (-1e300, -1), (-math.inf, -1)):
        told = release.run(lambda nodes, value=value: np.full(len(nodes), value), 1)
        assert np.isfinite(told.coefficients).all()
        assert (np.sign(told.coefficients) == sign).all()
        assert np.abs(told.coefficients).min() > 2**20


def test_a_function_that_is_released_twice_has_other_noise():
    release = Bernstein(mechanisms.Laplace(1), 5)
    moved = release.sensitivity(1)
    first, second = (release.run_coded(np.zeros(6, np.int64), moved, Fraction(1)) for _ in range(2))
    assert (first.coefficients != second.coefficients).any()


@pytest.mark.parametrize("bounds", [(-1, 1), (0, 3), (-2, 0), (1, 2)])
def test_one_node_moves_as_far_as_the_bounds_are_apart(bounds):
    """And 0, which a row far away adds, lies between them."""
    regression = PriestleyChao(*bounds, resolution=4)
    node = np.array([0.5])
    ends = [min(0, bounds[0]), max(0, bounds[1])]
    rows = [regression.contributions([0.5], [end], node)[0, 0] for end in bounds]
    far = 4 * (ends[1] - ends[0])
    assert max(rows) - min([0, *rows]) <= far
    found = regression.sensitivity(node)
    most = 2 * (4 * max(-ends[0], ends[1]) + 1)
    assert found.l1 == min(far, most)
    assert found.l2_squared == min(far**2, far * found.l1)
    worth = 1 / (4 * 0.1 * math.sqrt(2 * math.pi))
    assert float(regression.supremum_sensitivity(1)) == pytest.approx(far * worth)


def test_cells_beyond_their_bounds_count_as_the_bounds():
    regression = PriestleyChao(-1, 2)
    nodes = np.linspace(0, 1, 9)

    def told(x, y):
        return regression.contributions([x], [y], nodes).tolist()

    for x, seen in ((1.5, 1.0), (-0.2, 0.0), (math.inf, 1.0), (-math.inf, 0.0), (math.nan, 0.5)):
        assert told(x, 1.0) == told(seen, 1.0)
    for y, seen in ((7.0, 2.0), (-1e300, -1.0), (math.inf, 2.0), (math.nan, 0.5)):
        assert told(0.5, y) == told(0.5, seen)
