"""What intervals of proportions cover, computed exactly for every proportion: no samples, no chance.

The number of ones is binomial and noise is on whole numbers, so all answers can be gone through with their
probabilities. Numbers of rows are none of those of test_interval_coverage.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from interval_cases import (
    BAR,
    FEW_ONES,
    LEAST,
    SCHEMA,
    UNITS,
    add_noise,
    find_noise_on_statistic,
    is_large,
)
from scipy.stats import binom

import discreet as dp
from discreet.comparison import compare_groups
from discreet.mechanisms import LaplaceDistribution
from discreet.queries import Interval, MeanEstimate
from discreet.queries.population import mean_interval

#: From this variance of T on, noise included, a width of whole rows holds both bounds for every proportion;
#: from that of FEW_ONES on, where the width changes by a row, it nearly does.
WHOLE_ROWS, NEARLY = 6.0, 0.98
QUERY = MeanEstimate("b")


def noise_chances(measure, unit, rows):
    """How likely each noise on one of the three sums is."""
    noise = QUERY.prepare(measure, SCHEMA, unit, rows)._distribution
    if isinstance(noise, LaplaceDistribution):
        values = np.arange(-int(14 * noise.scale) - 1, int(14 * noise.scale) + 2)
        chances = np.exp(-np.abs(values) / float(noise.scale))
    else:
        values = np.arange(-int(6 * noise.sigma) - 2, int(6 * noise.sigma) + 3)
        chances = np.exp(-0.5 * (values / float(noise.sigma)) ** 2)
    return values, chances / chances.sum()


def find_coverage(rows, measure, unit, proportions, level=0.95):
    """The exact probability that the interval holds the proportion, for each of some proportions."""
    neighbours, is_public = UNITS[unit]
    public = rows if is_public else None
    shape = add_noise(QUERY, measure, np.zeros((1, 3), int), neighbours, public)[1]
    values, chances = noise_chances(measure, neighbours, public)
    if is_public:  # twice the ones: n and the difference of two noises
        offsets = np.arange(2 * values[0], 2 * values[-1] + 1)[:, None]
        joint, counts = np.convolve(chances, chances)[:, None], np.array([rows])
    else:  # twice the ones beside the count
        reach = 3 * values[-1]
        offsets, counts = np.arange(-reach, reach + 1)[:, None], rows + np.arange(-reach, reach + 1)
        joint = np.zeros((2 * reach + 1, 2 * reach + 1))
        zeros, mixed, ones = np.meshgrid(values, values, values, indexing="ij")
        each = chances[:, None, None] * chances[:, None] * chances
        np.add.at(joint, (mixed + 2 * ones + reach, zeros + mixed + ones + reach), each)
    grid = np.arange(offsets[0, 0], offsets[-1, 0] + 2 * rows + 1)[:, None] / 2
    ones, count = np.broadcast_arrays(grid, counts.astype(float))
    low, high = mean_interval(
        np.stack([count.ravel(), ones.ravel(), ones.ravel()]),
        QUERY._noise(shape, SCHEMA),
        level,
        shape.is_laplace,
        count_is_public=is_public,
        is_binary=True,
    )
    low, high = low.reshape(ones.shape), high.reshape(ones.shape)
    size, covered = len(offsets), []
    for proportion in proportions:
        inside = (low <= proportion) & (proportion <= high)
        by_ones = [(joint * inside[2 * k : 2 * k + size]).sum() for k in range(rows + 1)]
        covered.append(binom.pmf(np.arange(rows + 1), rows, proportion) @ by_ones)
    return np.array(covered)


def list_proportions(rows):
    """Rare ones and all others up to a half, but not a half itself, where both sides jump at once."""
    return np.unique(np.append(np.geomspace(0.02 / rows, 0.45, 30), np.linspace(0.003, 0.4999, 60)))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    "measure", [dp.PureDP(e) for e in ("3/2", 3, 10, 100)] + [dp.ZCDP(1), dp.ZCDP(5)], ids=repr
)
def test_every_proportion_is_covered_and_no_more_than_needed(measure, unit):
    neighbours, is_public = UNITS[unit]
    for rows in (2, 5, 12, 28, 47, 70):
        proportions = list_proportions(rows)
        covered = find_coverage(rows, measure, unit, proportions)
        noise = find_noise_on_statistic(measure, neighbours, rows if is_public else None)
        variance = rows * proportions * (1 - proportions) + noise(proportions)
        assert covered.min() >= LEAST, (rows, proportions[covered.argmin()])
        for least, bar in (
            ((WHOLE_ROWS, BAR), (FEW_ONES, NEARLY)) if is_large(rows, measure) else ()
        ):
            assert covered[variance >= least].max(initial=0.0) <= bar, rows


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.99, 0.999])
def test_proportions_are_covered_at_other_levels(level):
    for rows in (2, 5, 12, 28, 47):
        for measure in (dp.PureDP(3), dp.PureDP(100)):
            covered = find_coverage(rows, measure, "add or remove", list_proportions(rows), level)
            assert covered.min() >= level - 0.2 * (1 - level), (rows, measure)


def test_a_half_is_covered_too_often_only_where_both_sides_jump_at_once():
    """Then two numbers of ones more or less are covered, one at each end."""
    over = []
    for rows in range(13, 120):
        covered = find_coverage(rows, dp.PureDP(100), "add or remove", [0.5])[0]
        assert covered >= LEAST
        over += [rows] if covered > BAR else []
    print(over)  # noqa: T201 - pytest -s
    assert max(over) < 50


def find_ends(rows):
    """Value, lower and upper end by the number of ones, without noise."""
    ones = np.arange(rows + 1.0)
    sums = np.stack([np.full(rows + 1, float(rows)), ones, ones])
    return np.stack([ones / rows, *mean_interval(sums, 0.0, 0.95, True, is_binary=True)])


@pytest.mark.parametrize(
    ("rows", "others"),
    [(7, 7), (12, 12), (13, 13), (13, 39), (27, 27), (39, 39), (52, 52), (39, 78)],
)
def test_differences_of_proportions_are_covered(rows, others):
    """Also of groups of one size with one proportion, where the difference moves in the largest steps."""
    first, second, grain = find_ends(rows), find_ends(others), 1 / np.array([rows, others])
    found = np.empty((2, rows + 1, others + 1))
    for i, j in np.ndindex(found.shape[1:]):
        value, lower, upper = np.stack([first[:, i], second[:, j]], axis=1)
        between = compare_groups(
            ["a", "b"], value, Interval(lower, upper, 0.95, ""), "a", "b", True, grain
        )
        found[:, i, j] = between.lower, between.upper
    for one in (0.1, 0.35, 0.45, 0.5):
        for other in (one, one + 0.1, one + 0.25):
            chances = np.outer(
                binom.pmf(np.arange(rows + 1), rows, one),
                binom.pmf(np.arange(others + 1), others, other),
            )
            inside = (found[0] <= one - other + 1e-12) & (one - other - 1e-12 <= found[1])
            assert (chances * inside).sum() >= LEAST, (one, other)
