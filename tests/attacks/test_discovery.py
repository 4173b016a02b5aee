"""Attacks on discovered keys and bought bounds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet import events, noise, testing
from discreet.accounting.thresholds import least_threshold, threshold_delta
from discreet.answers import answerer
from discreet.audit import TwoOutcomes, clopper_pearson, epsilon_floor
from discreet.engines import open_engine
from discreet.mechanisms import Laplace


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
    threshold = least_threshold(scale, wanted, rows, groups)
    assert threshold_delta(scale, threshold, rows, groups) <= wanted
    if threshold > rows + 1:
        assert threshold_delta(scale, threshold - 1, rows, groups) > wanted


SCHEMA = dp.Schema(town=dp.Text(), x=dp.Real())


def table(towns, x=None):
    return {
        "town": np.array(towns, object),
        "x": np.array([1.0] * len(towns) if x is None else x),
        "who": np.arange(len(towns)) // 3,
    }


def released(threshold_slip, trials=60_000):
    """How often a key that only one person has comes out, by the answerer's own code."""
    unit, delta = dp.Unit(dp.ADD_REMOVE), Fraction(1, 50)
    query = dp.Count(by=dp.Keys.discover("town", delta=delta))
    ready = answerer(query, dp.PureDP(1), SCHEMA, unit, None)
    engine = open_engine(table(["nowhere"]), SCHEMA, unit)
    found = engine.keys(ready._coded, "town", 1)
    counts = np.full(trials, found["nowhere"], np.int64)
    noisy = counts + noise.discrete_laplace(ready._law.scale, trials)
    return int((noisy >= ready._threshold - threshold_slip).sum()), trials, float(delta)


def test_a_key_of_one_person_is_released_no_more_often_than_delta():
    with testing.fixed_noise(1):
        hits, trials, delta = released(0)
        assert clopper_pearson(hits, trials, 0.999)[0] <= delta
        # a weakened copy whose threshold is one too low is caught
        hits, trials, delta = released(1)
        assert clopper_pearson(hits, trials, 0.999)[0] > delta


def test_the_counts_of_common_keys_are_as_private_as_charged():
    event = events.KeyThreshold(2, 1, 30)
    pair = dp.accounting.cost(event, dp.ApproxDP, delta=1e-3)
    assert pair.epsilon == Fraction(1, 2)
    with testing.fixed_noise(2):
        draws = [c + noise.discrete_laplace(2, 200_000) for c in (50, 51)]
    hits = [int((d >= 51).sum()) for d in draws]
    floor = epsilon_floor(TwoOutcomes(hits[1], 200_000, hits[0], 200_000))
    assert 0.45 < floor <= 0.5


@pytest.mark.parametrize("relation", [dp.ADD_REMOVE, dp.REPLACE_ONE], ids=str)
def test_an_attack_on_bounds_finds_no_more_than_was_charged(relation):
    unit, query = dp.Unit(relation), dp.Bounds("x")
    common = [1.0, 5.0]
    pair = ([*common], [*common, 1000.0])
    if relation is dp.REPLACE_ONE:
        pair = ([*common, -7.0], [*common, 1000.0])
    coded = query.coded(SCHEMA, unit)
    a, b = (open_engine(table(["a"] * len(x), x), SCHEMA, unit).totals(coded)[:, 0] for x in pair)
    distance = int(abs(a - b).sum())
    assert distance == query.sensitivity(SCHEMA, unit).l1
    law = Laplace(1).law(query.sensitivity(SCHEMA, unit))
    differ = np.flatnonzero(a != b)

    def floor(noise_law, trials=200_000):
        def score(centre):
            drawn = noise_law.run(np.tile(centre[differ], (trials, 1)))
            return (abs(drawn - a[differ]) - abs(drawn - b[differ])).sum(axis=1)

        hits = [int((score(side) >= distance).sum()) for side in (b, a)]
        return epsilon_floor(TwoOutcomes(hits[0], trials, hits[1], trials))

    with testing.fixed_noise(3):
        assert floor(law) <= 1.0
        assert floor(type(law)(law.scale / 2)) > 1.0
