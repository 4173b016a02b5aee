"""How far neighbours are apart, by brute force, and the table of the clamped Laplace–Sigmoid noise."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dp
from discreet import testing
from discreet.publish.masks import (
    AngleEmbedding,
    ClampedSigmoid,
    WaveletApproximation,
    WaveletGaussian,
    WaveletLaplace,
)
from discreet.publish.masks.clamped_sigmoid import STEPS, SigmoidTable
from discreet.publish.rows import ONE, as_units
from discreet.publish.wavelets import DAUBECHIES_4, FOUR_BAND, HAAR


def numbers(columns: int) -> dp.Schema:
    return dp.Schema({f"x{j}": dp.Real(0, 1) for j in range(columns)})


def mapped(mask: Any, release: Any, units: Any) -> Any:
    """The integers to which noise is added, or that choose a row of the table, as the release finds them."""
    seen: list[Any] = []

    class Stop:
        def run(self, found: Any) -> Any:
            seen.append(np.array(found))
            return found

    if isinstance(mask, ClampedSigmoid):
        object.__setattr__(release.table, "draw", lambda found: Stop().run(found))
    else:
        object.__setattr__(release, "distribution", Stop())
    if getattr(mask, "variant", "") == "embedding":  # the same coins for all: cosines, or sines
        object.__setattr__(release, "cosine", Fraction(1 - mask.eta))
    release.run(units)
    return seen[0].astype(object)


@pytest.mark.parametrize(
    "mask",
    [
        WaveletLaplace(30),
        WaveletLaplace(30, block=3),
        WaveletLaplace(30, block=9, levels=2),
        WaveletLaplace(30, block=4, bank=HAAR, levels=2),
        WaveletGaussian(30, delta=1e-5),
        WaveletApproximation(30),
        WaveletApproximation(30, block=16, bank=FOUR_BAND, levels=2),
        WaveletLaplace(30, block=6, bank=DAUBECHIES_4),
        AngleEmbedding(30),
        AngleEmbedding(30, variant="embedding", eta=1),
        AngleEmbedding(30, variant="embedding", eta=0),
        ClampedSigmoid(30),
        ClampedSigmoid(60, block=3, gamma=1),
    ],
    ids=repr,
)
def test_no_neighbour_is_farther_than_the_noise_is_for(mask: Any) -> None:
    """All rows of a block and extreme, middle and random values of their cells, among random other rows."""
    columns = 2
    with testing.fixed_noise(4):
        plan = mask.plan(numbers(columns))
        draw = np.random.default_rng(6)
        values = (-ONE, -ONE + 1, -1, 0, 1, ONE - 1, ONE)
        blocks, pairs = [], []
        for place in range(mask.block):
            for kind in range(6):
                size = (columns, mask.block)
                other = (
                    np.full(size, (-ONE, ONE)[kind % 2])
                    if kind < 2
                    else draw.choice([-ONE, ONE], size)
                    if kind < 4
                    else draw.integers(-ONE, ONE, size, endpoint=True)
                )
                chosen = [(a, b) for a, b in itertools.product(values, values) if a < b]
                for a, b in [chosen[0], (-ONE, ONE), *draw.permutation(chosen)[:4].tolist()]:
                    first, second = other.copy(), other.copy()
                    first[:, place], second[:, place] = a, b
                    pairs.append((len(blocks), len(blocks) + 1))
                    blocks += [first, second]
        found = mapped(mask, plan.release, np.stack(blocks, axis=1))  # (columns, blocks, kept)
    moved = [np.abs(found[:, a] - found[:, b]) for a, b in pairs]
    farthest = max(int(each.sum()) for each in moved)
    if isinstance(mask, ClampedSigmoid):
        assert farthest <= plan.release.steps
        assert farthest > 0.9 * plan.release.steps - 2 * columns * 6
        return
    limit = plan.release.sensitivity
    assert farthest <= limit.l1
    assert max(int((each**2).sum()) for each in moved) <= limit.l2_squared
    embedded = isinstance(mask, AngleEmbedding) and mask.variant == "embedding"
    assert (
        farthest > (0.8 if embedded else 0.9999) * limit.l1
    )  # and it is no larger than it must be


def test_units_are_the_floors_of_exact_quotients() -> None:
    draw = np.random.default_rng(0)
    for steps in (1, 2, 3, 7, 10, 999_983, 2**20 - 1, 2**20):
        codes = np.unique(np.concatenate([[0, steps], draw.integers(0, steps + 1, 3000)]))
        exact = [math.floor(Fraction((2 * int(k) - steps) * ONE, steps)) for k in codes]
        assert as_units(codes, steps).tolist() == exact


def test_the_table_is_the_clamped_distribution() -> None:
    gamma, rate = Fraction(1, 2), 0.02
    table = SigmoidTable(gamma, rate)
    assert (table.counts > 0).all()
    assert all(sum(row.tolist()) == 2**62 for row in table.counts)
    draw = np.random.default_rng(2)
    for start in (0, 50, STEPS):
        y = 0.5 * (2 * start / STEPS - 1)
        rising = 1 / (1 + math.exp(-y))
        up = draw.random(200_000) < 1 - rising
        steps = draw.exponential(1 / rate, 200_000) * np.where(up, 1 - rising, -rising)
        told = np.clip(np.rint(start + steps), 0, STEPS)
        expected = table.counts[start] / 2.0**62
        for edge in (1, 40, 60, 200, STEPS):
            assert (told < edge).mean() == pytest.approx(expected[:edge].sum(), abs=0.006)
    with testing.fixed_noise(1):
        drawn = table.draw(np.full(50_000, 50))
    seen = np.bincount(drawn, minlength=STEPS + 1)
    folded = [part.sum() for part in np.array_split(seen, 16)]
    weights = [part.sum() for part in np.array_split(table.counts[50] / 2.0**62, 16)]
    assert stats.chisquare(folded, np.array(weights) * 50_000).pvalue > 1e-3
    other = [part.sum() for part in np.array_split(table.counts[60] / 2.0**62, 16)]
    assert stats.chisquare(folded, np.array(other) * 50_000).pvalue < 1e-6


@pytest.mark.parametrize(("gamma", "rate"), [("1/2", 0.02), (1, 0.01), (2, 0.002), (2, 0.0001)])
def test_the_table_loses_what_the_formula_says(gamma: Any, rate: float) -> None:
    table = SigmoidTable(Fraction(gamma), rate)
    size = float(Fraction(gamma))
    formula = max(rate * (1 + math.exp(size)), size / (1 + math.exp(-size)) / (STEPS / 2))
    assert (
        0.9 * formula < float(table.loss) <= formula
    )  # whole steps lose a little less than slopes
    exact = np.abs(np.diff(np.log(table.counts.astype(np.longdouble)), axis=0)).max()
    assert float(table.loss) >= float(exact) * (1 - 1e-12)


def test_too_small_a_budget_for_the_direction_is_refused() -> None:
    with pytest.raises(ValueError, match="direction of the noise alone"):
        ClampedSigmoid("1/2").plan(numbers(1))
    with pytest.raises(ValueError, match="WaveletLaplace"):
        ClampedSigmoid(4).plan(numbers(9))


def test_a_cosine_is_the_same_wherever_its_angle_stands() -> None:
    """What a row doesn't change must keep its integer, whatever a vector unit does at the ends of arrays."""
    angles = math.pi / 4 + np.random.default_rng(5).uniform(-1, 1, 600) * math.pi / 12
    for function in (np.cos, np.sin):
        alone = np.array([function(angle) for angle in angles])
        for start in range(17):
            for length in (1, 2, 3, 5, 8, 9, 27, 64, 500):
                part = angles[start : start + length]
                assert np.array_equal(function(part), alone[start : start + length])
        assert np.array_equal(function(angles[::-1])[::-1], alone)
        assert np.array_equal(function(angles[::3]), alone[::3])
