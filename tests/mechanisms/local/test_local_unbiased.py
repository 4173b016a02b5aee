"""Estimates of local mechanisms have no bias: χ² over the coordinates, and a biased one is rejected."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from discreet import testing
from discreet.mechanisms import local

LEVEL = 1e-4
EPSILONS = [0.1, 1, 4]
SIZES = [2, 10, 1000]


def truth_of(k: int, n: int) -> np.ndarray:
    """Values of which half are the first, and the others spread over the first half of the domain."""
    values = np.zeros(n, np.int64)
    values[n // 2 :] = np.arange(n - n // 2) % max(1, k // 2)
    return values


def biased(estimate: np.ndarray, mechanism) -> np.ndarray:
    """The wrong estimate that forgets the reports which support a value by chance."""
    p, q = map(float, mechanism.chances)
    return estimate + q / (p - q)


def response_p_value(mechanism, estimate, values) -> float:
    """χ² with the covariance of a sum of multinomial draws; one coordinate follows from the others."""
    k, n = mechanism.k, values.size
    p, q = map(float, mechanism.chances)
    shares = np.bincount(values, minlength=k) / n
    rows = np.full((k, k), q) + np.eye(k) * (p - q)
    covariance = np.diag(shares @ rows) - rows.T @ (shares[:, None] * rows)
    off = (estimate - shares)[1:] * (p - q)
    statistic = n * off @ np.linalg.solve(covariance[1:, 1:], off)
    return float(chi2.sf(statistic, k - 1))


def bits_p_value(mechanism, estimate, values) -> float:
    """χ² of independent coordinates."""
    shares = np.bincount(values, minlength=mechanism.k) / values.size
    errors = [mechanism.expected_error(values.size, share) for share in shares]
    return float(chi2.sf(np.sum(((estimate - shares) / errors) ** 2), mechanism.k))


def check(mechanism, p_value, n):
    values = truth_of(mechanism.k, n)
    with testing.fixed_noise(31):
        estimate = mechanism.estimate(mechanism.randomize(values)).values
    assert p_value(mechanism, estimate, values) > LEVEL
    assert p_value(mechanism, biased(estimate, mechanism), values) < LEVEL


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("k", SIZES)
def test_generalised_response(epsilon, k):
    check(local.GeneralizedRandomizedResponse(epsilon, k), response_p_value, 400_000)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_response(epsilon):
    check(local.RandomizedResponse(epsilon), response_p_value, 400_000)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("optimised", [False, True])
def test_unary(epsilon, k, optimised):
    mechanism = local.UnaryEncoding(epsilon, k, optimised=optimised)
    check(mechanism, bits_p_value, 20_000 if k == 1000 else 400_000)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("k", SIZES)
def test_hashing(epsilon, k):
    """Each value's share is estimated from persons of its own, so that the coordinates are independent."""
    mechanism = local.LocalHashing(epsilon, k)
    n = 400_000 // k
    p, q = map(float, mechanism.chances)
    values = np.tile(truth_of(k, n), (k, 1))
    shares = np.bincount(values[0], minlength=k) / n
    with testing.fixed_noise(33):
        reports = mechanism.randomize(values)
    told = np.array([mechanism.find_supported(reports[code], code).mean() for code in range(k)])
    estimate = (told - q) / (p - q)
    errors = np.array([mechanism.expected_error(n, share) for share in shares])
    assert chi2.sf(np.sum(((estimate - shares) / errors) ** 2), k) > LEVEL
    assert chi2.sf(np.sum(((biased(estimate, mechanism) - shares) / errors) ** 2), k) < LEVEL


@pytest.mark.parametrize("k", [2, 10, 130])
def test_hashing_estimates_every_value_from_all_reports(k):
    mechanism = local.LocalHashing(1, k)
    with testing.fixed_noise(34):
        reports = mechanism.randomize(truth_of(k, 9000))
    counts, n = mechanism.supports(reports)
    assert n == 9000
    assert counts.tolist() == [mechanism.find_supported(reports, code).sum() for code in range(k)]


@pytest.mark.parametrize("epsilon", [1, 4])
@pytest.mark.parametrize("k", [2, 10])
def test_memoised(epsilon, k):
    check(local.Memoised(epsilon, epsilon / 2, k), bits_p_value, 400_000)


@pytest.mark.parametrize("kind", [local.DuchiMean, local.PiecewiseMean, local.HybridMean])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_means(kind, epsilon):
    """χ² over eleven values; the mean of the values taken from the raw reports is rejected."""
    mechanism, n = kind(epsilon, -1, 3), 40_000
    values = np.linspace(-1, 3, 11)
    off, wrong = [], []
    with testing.fixed_noise(35):
        for value in values:
            reports = mechanism.randomize(np.full(n, value))
            error = mechanism.expected_error(n, value)
            off.append((mechanism.estimate(reports).values[0] - value) / error)
            raw = -1 + 4 * reports.mean() / (mechanism._reports - 1)
            wrong.append((raw - value) / error)
    assert chi2.sf(np.sum(np.square(off)), len(values)) > LEVEL
    assert chi2.sf(np.sum(np.square(wrong)), len(values)) < LEVEL
