"""Additive boosting of classes: shares of classes that noise hides."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import log_loss

from discreet.models.boosting import AdditiveBoostingClassifier
from discreet.models.posterior import shrink_shares


def test_shares_are_pulled_to_equal_ones_by_noise() -> None:
    shares = np.array([0.9, 0.08, 0.02])
    assert np.allclose(shrink_shares(shares, 0.0), shares)
    assert np.allclose(shrink_shares(shares, 1e6), 1 / 3)
    assert 1 / 3 < shrink_shares(shares, 0.2)[0] < 0.9
    assert shrink_shares(np.array([0.0, 1.0]), 1.0) == pytest.approx([0.5, 0.5], abs=0.05)


def test_few_rows_and_little_budget_give_no_sure_predictions() -> None:
    """Mean log loss of 6 fits to 300 rows at ε = 0.1: 0.71 ± 0.01; with shares as noised 2.5 ± 0.6."""
    draw = np.random.default_rng(2)
    x, y = draw.random((300, 12)), (draw.random(300) < 0.4).astype(int)
    losses = []
    for _ in range(6):
        model = AdditiveBoostingClassifier(epsilon=0.1, delta=1e-6, bounds=(0, 1), classes=[0, 1])
        losses.append(log_loss(y, model.fit(x, y).predict_proba(x)))
    assert np.mean(losses) < 0.9
