"""Intervals of discovered keys hold among the keys that are shown."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet import testing
from discreet.mechanisms import LaplaceDistribution
from discreet.mechanisms.thresholded import interval_given_threshold

SCALES = [Fraction(1, 4), Fraction(1), Fraction(7, 2), Fraction(20)]


def chances(scale: Fraction, threshold: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The values that a count may be shown as, and how probable each is among them."""
    s = float(scale)
    values = np.arange(threshold, max(threshold, count) + math.ceil(45 * s) + 2)
    weights = np.exp(-abs(values - count) / s + max(0, threshold - count) / s)
    return values, weights / weights.sum()


def coverage(scale: Fraction, threshold: int, count: int, level: float, plain: bool) -> float:
    values, shares = chances(scale, threshold, count)
    if plain:
        width = LaplaceDistribution(scale).half_width(level)
        low, high = values - width, values + width
    else:
        low, high = interval_given_threshold(values, scale, threshold, level)
        assert np.all((low >= 1) & (low <= values) & (values <= high))
    return float(shares[(low <= count) & (count <= high)].sum())


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.999])
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_every_count_is_covered_given_the_threshold(scale: Fraction, level: float) -> None:
    threshold = math.ceil(8 * scale) + 2
    counts = range(1, threshold + math.ceil(30 * scale))
    found = [coverage(scale, threshold, count, level, False) for count in counts]
    assert min(found) >= level - 1e-9
    plain = [coverage(scale, threshold, count, level, True) for count in counts]
    assert min(plain) < level / 2  # an interval that forgets the threshold


@pytest.mark.parametrize("scale", SCALES[:3], ids=str)
def test_the_interval_is_no_wider_than_it_must_be(scale: Fraction) -> None:
    """It is the set of all counts that neither tail rejects, found here one by one."""
    threshold, level = math.ceil(5 * scale) + 2, 0.9
    tail = (1 - level) / 2
    values = np.arange(threshold, threshold + math.ceil(12 * scale))
    low, high = interval_given_threshold(values, scale, threshold, level)
    for value, lower, upper in zip(values, low, high, strict=True):
        kept = []
        for count in range(1, value + math.ceil(12 * scale)):
            seen, shares = chances(scale, threshold, count)
            if min(shares[seen >= value].sum(), shares[seen <= value].sum()) > tail:
                kept.append(count)
        assert lower == (min(kept) if kept else 1)
        assert upper == max([value, *kept])


def test_far_above_the_threshold_the_interval_is_that_of_the_noise() -> None:
    scale = Fraction(5)
    low, high = interval_given_threshold(np.array([10**15]), scale, 50, 0.95)
    width = LaplaceDistribution(scale).half_width(0.95)
    assert abs(high[0] - low[0] - 2 * width) <= 1
    for s in (Fraction(1, 2**40), Fraction(2**50)):
        low, high = interval_given_threshold(np.array([2**50, 2**60]), s, 2**50, 0.95)
        assert np.all((low >= 1) & (low <= [2**50, 2**60]) & (high >= [2**50, 2**60]))


def test_shown_keys_are_covered_and_an_interval_of_the_noise_alone_is_refuted() -> None:
    count, keys = 3, 20_000
    table = {"town": [f"town {at:05d}" for at in range(keys)] * count}
    data = dp.PrivateDataset(table, dp.Schema(town=dp.Text()), unit=dp.PUBLIC)
    query = dp.KeyCounts("town", delta=1e-3)
    with testing.fixed_noise(7):
        release = data.release(query, dp.PureDP(1))
    shown = len(release.value)
    assert shown > 60
    interval = release.noise_interval(0.8)
    assert (
        np.mean((interval.lower <= count) & (count <= interval.upper)) > 0.8 - 3 * 0.4 / shown**0.5
    )
    width = LaplaceDistribution(Fraction(1)).half_width(0.8)
    assert not np.any(abs(release.value - count) <= width)


def test_discovered_keys_have_no_standard_error() -> None:
    data = dp.PrivateDataset({"town": ["a"] * 90}, dp.Schema(town=dp.Text()), unit=dp.PUBLIC)
    query = dp.KeyCounts("town", delta=1e-6)
    release = data.release(query, dp.PureDP(1))
    assert release.labels == ["a"]
    assert release.stderr is None
    assert data.plan(query, dp.PureDP(1)).stderr is None
    assert "a: " in repr(release)
    assert "±" not in repr(release)
    exact = data.release(query, dp.PureDP(math.inf))
    assert exact.noise_interval(0.5)[:2] == (np.array([90]), np.array([90]))


def test_without_shown_keys_the_interval_is_empty() -> None:
    data = dp.PrivateDataset({"town": []}, dp.Schema(town=dp.Text()), unit=dp.PUBLIC)
    release = data.release(dp.KeyCounts("town", delta=1e-6), dp.PureDP(1))
    assert [len(part) for part in release.noise_interval(0.9)[:2]] == [0, 0]
