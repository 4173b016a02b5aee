"""Noised counts made non-negative, with the same sum."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet import noise, testing
from discreet.queries import nonnegative_counts


@given(st.lists(st.integers(-(10**6), 10**6), max_size=30))
def test_the_sum_stays_and_nothing_is_negative(counts: list[int]) -> None:
    found = nonnegative_counts(counts)
    assert np.all(found >= 0)
    assert abs(found.sum() - max(sum(counts), 0)) <= 1e-6 * (1 + abs(np.array(counts)).sum())


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=30))
def test_counts_without_noise_stay_as_they_are(counts: list[int]) -> None:
    np.testing.assert_allclose(nonnegative_counts(counts), counts, atol=1e-6)


def test_it_is_the_nearest_such_point() -> None:
    draw = np.random.default_rng(0)
    counts = draw.normal(0, 3, 6) + np.array([9, 2, 0, 0, 0, 0])
    found = nonnegative_counts(counts)
    for _ in range(500):
        other = draw.dirichlet(np.ones(6)) * counts.sum()
        assert np.sum((found - counts) ** 2) <= np.sum((other - counts) ** 2) + 1e-9


def test_a_histogram_of_many_empty_cells_errs_less() -> None:
    truth = np.zeros(1000, np.int64)
    truth[:50] = np.random.default_rng(1).integers(20, 400, 50)
    with testing.fixed_noise(2):
        raw = truth + noise.discrete_laplace(10, 1000)
    error = np.sqrt(np.mean((raw - truth) ** 2))
    assert np.sqrt(np.mean((nonnegative_counts(raw) - truth) ** 2)) < 0.75 * error
    clipped = np.maximum(raw, 0)
    assert clipped.sum() > 1.2 * truth.sum()  # what setting negative counts to 0 does to the sum
    assert nonnegative_counts(raw.reshape(10, 100)).shape == (10, 100)
