"""Which design is chosen for a histogram, and the errors of the literature."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dp
from discreet.publish.privelet import Automatic, Flat, Haar, Tree
from discreet.publish.privelet.axes import Axis
from discreet.publish.privelet.facts import Facts
from discreet.publish.privelet.strategies import Problem


def design(strategy, cells, budget=None, *, workload="ranges", facts=Facts()):  # noqa: B008
    cells = cells if isinstance(cells, tuple) else (cells,)
    workloads = (workload,) * len(cells)
    return strategy.choose(Problem(cells, workloads, facts, budget or dp.PureDP(1)))


def test_the_figures_of_the_literature_and_the_choice():
    """At 3^10 cells, ε = 1, over all ranges: exact expectations, no draw."""
    errors = {
        "flat": design(Flat(), 3**10).error,
        "haar 3": design(Haar(3), 3**10).error,
        "privelet": design(Haar(2, split="equal"), 3**10).error,
        "haar 2": design(Haar(2), 3**10).error,
        "tree 16": design(Tree(16), 3**10).error,
        "auto": design(Automatic(), 3**10).error,
    }
    wanted = {"flat": 36_244, "haar 3": 1_800, "privelet": 1_538, "haar 2": 1_489, "tree 16": 592}
    for name, error in wanted.items():
        assert errors[name] == pytest.approx(error, rel=2e-3)
    assert errors["auto"] <= min(errors.values()) * (1 + 1e-9)
    assert errors["auto"] <= errors["flat"] / 60


def test_the_choice_depends_on_the_workload_and_the_noise():
    assert design(Automatic(), 1000, workload="cells").name == "flat"
    assert design(Automatic(), 16).name == "flat"
    assert design(Automatic(), 1000).name.startswith("tree")
    assert design(Automatic(), 1000, dp.ZCDP(1)).name.startswith("Haar")
    assert design(Automatic(), 1000, workload="prefixes").error < design(Automatic(), 1000).error
    own = Problem((1000,), (((0, 500), (500, 1000)),), Facts(), dp.PureDP(1))
    assert Automatic().choose(own).error < design(Automatic(), 1000).error / 5


def test_rectangles_of_two_columns_have_a_fifth_of_the_error_of_flat_noise():
    best, flat = design(Automatic(), (256, 256)), design(Flat(), (256, 256))
    mean_area = ((256 + 2) / 3) ** 2
    assert flat.error < 2 * mean_area  # discrete noise of scale 1 has a variance of 1.84, not 2
    assert best.error <= flat.error / 5
    small = dp.PureDP("1/10")
    assert (
        design(Automatic(), (256, 256), small).error <= design(Flat(), (256, 256), small).error / 5
    )


def test_a_tree_with_short_ends_is_chosen_where_it_is_better_and_gives_back_what_it_was_given():
    """Six nodes of 40 cells between two of 8: ranges end in the short ones more often than in others."""
    best = design(Automatic(), (256, 256))
    assert best.name == "tree with branching 8×5×8 after 32 and 8×5×8 after 32"
    plain = design(Tree((7, 6, 7)), (256, 256))  # the best of those that begin with the first cell
    assert best.error < 0.992 * plain.error
    counts = np.random.default_rng(0).integers(0, 9, (256, 256))
    assert best.estimate(best.measure(counts)) == pytest.approx(counts)
    with pytest.raises(ValueError, match="fewer than the 10 cells"):
        Axis(7, (3, 3), 3)


def test_variances_of_a_tree_with_short_ends_are_those_of_its_draws():
    best = design(Tree(), (40,))
    assert "after" in best.name
    starts, ends = np.array([0, 3, 11]), np.array([7, 38, 40])
    drawn = [best.run(np.zeros(40, np.int64)) for _ in range(4000)]
    sums = np.array(
        [[cells[a:b].sum() for a, b in zip(starts, ends, strict=True)] for cells in drawn]
    )
    # the standard error of a variance of 4000 draws is 3 % or less
    assert (sums**2).mean(axis=0) == pytest.approx(best.variances([starts], [ends]), rel=0.12)
