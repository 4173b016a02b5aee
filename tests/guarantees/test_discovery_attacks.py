"""Attacks on discovered keys and bought bounds."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet import noise, testing
from discreet.accounting.thresholds import minimum_threshold, threshold_delta
from discreet.audit import audit
from discreet.engines import open_engine


def exact_delta(scale: float, threshold: int, split: list[int]) -> float:
    """The chance that one of a person's keys passes, by summing the noise's probabilities."""
    k = np.arange(-4000, 4001)
    mass = np.exp(-abs(k) / scale)
    mass /= mass.sum()
    stays = [1 - mass[k >= threshold - c].sum() for c in split]
    return 1 - math.prod(stays)


def splits(rows, groups):
    """All ways to put `rows` rows into at most `groups` keys."""
    if groups == 0 or rows == 0:
        return [[]]
    found = [[]]
    for first in range(1, rows + 1):
        found += [[first, *rest] for rest in splits(rows - first, groups - 1)]
    return found


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
@pytest.mark.parametrize(("rows", "groups"), [(1, 1), (4, 1), (4, 2), (5, 5), (6, 3)])
def test_delta_bounds_every_split_of_a_persons_rows(scale, rows, groups):
    for threshold in (rows + 1, rows + 4, rows + 15):
        bound = float(threshold_delta(Fraction(scale), threshold, rows, groups))
        worst = max(exact_delta(scale, threshold, split) for split in splits(rows, groups) if split)
        assert worst <= bound * (1 + 1e-9)
        assert bound <= worst * 1.5 + 1e-12 or bound > 0.05  # not vacuous where it matters


def test_the_mass_at_the_threshold_is_counted():
    scale, threshold = Fraction(1), 6
    bound = float(threshold_delta(scale, threshold, 1, 1))
    assert bound == pytest.approx(exact_delta(1.0, threshold, [1]), rel=1e-9)
    # the slip: P(noise > threshold - 1) instead of >=
    slip = exact_delta(1.0, threshold + 1, [1])
    assert bound / slip == pytest.approx(math.e, rel=1e-6)


@pytest.mark.parametrize("delta", ["1/10", "1/1000", "1e-6", "1e-12"])
@pytest.mark.parametrize(("rows", "groups"), [(1, 1), (5, 2)])
def test_the_threshold_is_the_least_that_keeps_delta(delta, rows, groups):
    scale, wanted = Fraction(5, 2), Fraction(delta)
    threshold = minimum_threshold(scale, wanted, rows, groups)
    assert threshold_delta(scale, threshold, rows, groups) <= wanted
    if threshold > rows + 1:
        assert threshold_delta(scale, threshold - 1, rows, groups) > wanted


@pytest.mark.parametrize("scale", ["1/3", "1", "7", "100"])
def test_the_worst_number_of_keys_is_one_or_the_most(scale):
    """Convex in the number of keys: the ends are at least as large as all between, and one is attained."""
    s = Fraction(scale)
    for rows, groups in [(1, 1), (2, 2), (7, 3), (40, 40), (40, 12)]:
        for threshold in (rows + 1, rows + 3, rows + 60):
            step = float(1 / s)

            def reach(distance, step=step):
                return math.exp(-distance * step) / (1 + math.exp(-step))

            sums = [
                reach(threshold - (rows - j + 1)) + (j - 1) * reach(threshold - 1)
                for j in range(1, min(groups, rows) + 1)
            ]
            bound = float(threshold_delta(s, threshold, rows, groups))
            assert bound == pytest.approx(min(1.0, max(sums)), rel=1e-9)
            assert bound >= min(1.0, max(sums))


def test_thresholds_for_many_rows_per_person_are_found_at_once():
    start = time.process_time()
    for rows in (10**4, 10**7, 10**400):
        threshold = minimum_threshold(Fraction(5), Fraction(1, 10**6), rows, rows)
        assert threshold > rows
        assert threshold_delta(Fraction(5), threshold, rows, rows) <= Fraction(1, 10**6)
    assert threshold_delta(Fraction(1, 10**400), 7, 3, 2) > 0
    assert threshold_delta(Fraction(10**400), 7, 3, 2) == 1
    assert time.process_time() - start < 5


SCHEMA = dp.Schema(town=dp.Text())


def told(slip):
    """Whether a key that only one person has comes out, by the query's own distribution and threshold."""
    unit, delta = dp.Unit(dp.ADD_REMOVE), Fraction(1, 50)
    query = dp.KeyCounts("town", delta=delta)
    ready = query.prepare(dp.PureDP(1), SCHEMA, unit, None)

    def run(towns, trials):
        rows = {"town": np.array(towns, object)}
        found = open_engine(rows, SCHEMA, unit).keys(ready._coded, "town", 1)
        noisy = np.full(trials, found.get("nowhere", 0)) + noise.discrete_laplace(
            ready._distribution.scale, trials
        )
        return (noisy >= ready._threshold - slip) & ("nowhere" in found)

    return run


def test_a_threshold_one_too_low_is_caught():
    """A key of one person is then released more often than δ."""
    pair, claim = (["nowhere"], []), dp.ApproxDP(1, Fraction(1, 50))
    with testing.fixed_noise(1):
        assert not audit(told(0), pair, claim, trials=40_000).is_violated
        assert audit(told(1), pair, claim, trials=40_000).is_violated
