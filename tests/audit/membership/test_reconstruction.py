"""Reconstruction from counts and from a small model, and the noise that stops it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from discreet import noise
from discreet.audit.membership import reconstruct_bits, reconstruct_record, reconstruction_attack


@pytest.fixture(scope="module")
def secret():
    return np.random.default_rng(0).random(120) < 0.5


def counted(secret, error):
    return lambda subsets: subsets.astype(float) @ secret + error(len(subsets))


@pytest.mark.parametrize("norm", [1, 2])
def test_exact_counts_give_everything_away(secret, norm):
    report = reconstruction_attack(
        counted(secret, np.zeros), secret, questions=150, norm=norm, random_state=1
    )
    assert report.right.value == 1.0
    assert report.noise == 0.0
    assert report.expected == 1.0


def test_fewer_questions_than_persons_dont_suffice(secret):
    report = reconstruction_attack(counted(secret, np.zeros), secret, questions=20, random_state=1)
    assert report.right.value < 0.9


def test_the_share_falls_with_the_noise_as_expected(secret):
    rng = np.random.default_rng(2)
    shares = []
    for sigma in (0.5, 2, 4, 8, 100):
        report = reconstruction_attack(
            counted(secret, lambda k, s=sigma: rng.normal(0, s, k)), secret, random_state=3
        )
        assert report.noise == pytest.approx(sigma, rel=0.15)
        if sigma < 9:
            assert abs(report.right.value - report.expected) < 0.12
        shares.append(report.right.value)
    assert np.all(np.diff(shares) < 0.03)
    assert shares[0] > 0.99
    assert shares[-1] < 0.7


def test_a_budget_shared_by_all_questions_stops_it_and_noise_for_each_alone_doesnt(secret):
    """ε = 1 for each of 480 counts gives nearly everything; ε = 1 in all gives hardly anything."""
    each = reconstruction_attack(
        counted(secret, lambda k: noise.discrete_laplace(1, k)), secret, random_state=4
    )
    together = reconstruction_attack(
        counted(secret, lambda k: noise.discrete_laplace(k, k)), secret, random_state=4
    )
    assert each.right.value > 0.97
    assert together.right.interval[0] < 0.6
    assert "secret bits" in repr(each)


def test_least_absolute_deviations_shrug_off_wild_answers(secret):
    rng = np.random.default_rng(5)
    subsets = rng.random((480, len(secret))) < 0.5
    answers = subsets.astype(float) @ secret
    wild = rng.random(480) < 0.15
    answers[wild] = rng.integers(0, 120, wild.sum())
    assert np.array_equal(reconstruct_bits(subsets, answers, norm=1), secret)
    assert not np.array_equal(reconstruct_bits(subsets, answers, norm=2), secret)


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = LogisticRegression(C=0.1, tol=1e-10, max_iter=500, solver="newton-cholesky")
    return X, y, model.fit(X, y)


def test_an_exact_model_gives_its_missing_record_away(tumours):
    X, y, model = tumours
    for row in range(0, len(X), 30):
        others = np.arange(len(X)) != row
        record, label, residual = reconstruct_record(model, X[others], y[others])
        assert label == y[row]
        assert np.abs(record - X[row]).max() < 1e-6 / abs(residual)
        if abs(residual) > 1e-3:
            assert np.abs(record - X[row]).max() < 1e-3


def test_noise_on_the_weights_hides_the_record(tumours):
    X, y, model = tumours
    rng = np.random.default_rng(6)
    noisy = LogisticRegression(C=0.1).fit(X, y)
    noisy.coef_ = model.coef_ + rng.normal(0, 0.1, model.coef_.shape)
    noisy.intercept_ = model.intercept_ + rng.normal(0, 0.1)
    errors = []
    for row in range(0, len(X), 30):
        others = np.arange(len(X)) != row
        record, _, _ = reconstruct_record(noisy, X[others], y[others])
        errors.append(np.abs(record - X[row]).max())
    assert np.median(errors) > 0.5


def test_bad_input_is_refused(secret, tumours):
    X, y, _ = tumours
    with pytest.raises(ValueError, match="booleans"):
        reconstruction_attack(lambda q: q, [0, 1])
    with pytest.raises(ValueError, match="row for each answer"):
        reconstruct_bits(np.ones((2, 3)), [1.0])
    with pytest.raises(ValueError, match="norm"):
        reconstruct_bits(np.ones((2, 3)), [1.0, 2.0], norm=3)
    with pytest.raises(ValueError, match="intercept"):
        reconstruct_record(LogisticRegression(fit_intercept=False).fit(X, y), X, y)
