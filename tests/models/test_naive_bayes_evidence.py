"""Naive Bayes: how far it believes what its columns say together, and what noise leaves of each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import log_loss

import discreet as dp
from discreet.models import posterior
from discreet.models.files import from_json, to_json
from discreet.models.naive_bayes import CategoricalNB, GaussianNB, MixedNB


def alike(rows: int, columns: int, agree: float, seed: int = 0) -> tuple[Any, Any]:
    """One row in twelve is of class 1; each two columns correlate by `agree` within a class."""
    draw = np.random.default_rng(seed)
    y = (draw.random(rows) < 1 / 12).astype(int)
    common, own = draw.standard_normal((rows, 1)), draw.standard_normal((rows, columns))
    x = 0.4 + 0.1 * y[:, None] + 0.1 * (agree**0.5 * common + (1 - agree) ** 0.5 * own)
    return np.clip(x, 0, 1), y


def test_columns_that_say_the_same_are_not_believed_one_by_one() -> None:
    """Ten fits at ε = 10: log loss 0.2357 ± 0.0003, accuracy 0.9129 ± 0.0003; naively 0.59 and 0.84.

    The larger class has 0.9138 of the rows, and always to say its share has a log loss of 0.294.
    """
    x, y = alike(20_000, 8, 0.5)
    test, truth = alike(20_000, 8, 0.5, seed=1)
    model = GaussianNB(epsilon=10, bounds=(0, 1), classes=[0, 1]).fit(x, y)
    naive = GaussianNB(epsilon=10, bounds=(0, 1), classes=[0, 1], correlation=0).fit(x, y)
    larger = 1 - truth.mean()
    assert model.score(test, truth) > larger - 0.005
    assert log_loss(truth, model.predict_proba(test)) < 0.25
    assert not naive.score(test, truth) > larger - 0.005
    assert not log_loss(truth, naive.predict_proba(test)) < 0.25


def test_the_order_of_rows_is_that_of_plain_naive_bayes() -> None:
    x, y = alike(3000, 5, 0.3)
    told = [
        GaussianNB(unit=dp.PUBLIC, epsilon=math.inf, correlation=correlation)
        .fit(x, y)
        .predict_log_proba(x)
        for correlation in (0, 0.3, 1)
    ]
    odds = [each[:, 1] - each[:, 0] for each in told]
    for other in odds[1:]:
        assert (np.diff(other[np.argsort(odds[0])]) >= -1e-9).all()
        assert np.ptp(other) < 0.7 * np.ptp(odds[0])


def test_one_column_is_believed_in_full() -> None:
    x, y = alike(3000, 1, 0.0)
    assert GaussianNB(epsilon=1, bounds=(0, 1), classes=[0, 1]).fit(x, y).evidence_weight_ == 1.0


def test_columns_count_by_what_they_tell() -> None:
    assert posterior.weigh_evidence(np.full(4, 0.7), 0.3) == pytest.approx(1 / 1.9)
    assert posterior.weigh_evidence(np.array([0.7, 0, 0, 0]), 0.3) == pytest.approx(1)
    assert posterior.weigh_evidence(np.zeros(4), 0.3) == 1
    assert posterior.weigh_evidence(np.full(4, 0.7), 0) == 1
    assert posterior.weigh_evidence(np.full(4, 0.7), 1) == pytest.approx(1 / 4)
    assert posterior.weigh_evidence(np.full(4, 0.7), 0, 2.8) == pytest.approx(1 / 2)


def test_what_noise_alone_says_is_known() -> None:
    """Cells of two classes that are alike, noised and repaired 300 times: their mean divergence."""
    draw, counts, shares = np.random.default_rng(1), np.array([600.0, 400.0]), np.array([0.6, 0.4])
    true, found, expected = np.outer(counts, [0.5, 0.3, 0.2]), [], []
    for _ in range(300):
        cells = posterior.repair_cells(true + draw.normal(0, 10, true.shape), 10.0, counts, 1e-3)
        logs = np.log(cells / cells.sum(axis=1, keepdims=True))
        found.append(posterior.cell_divergence(shares, logs))
        expected.append(posterior.blurred_divergence(shares, cells, counts, 10.0))
    # each histogram also loses one degree of freedom to its class count: 2 of 3 are left
    assert np.mean(found) == pytest.approx(2 / 3 * np.mean(expected), rel=0.2)
    assert posterior.blurred_divergence(shares, true, counts, 0.0) == 0


def test_divergences_are_mean_log_odds() -> None:
    shares = np.array([0.2, 0.5, 0.3])
    draw = np.random.default_rng(0)
    log_probabilities = np.log(draw.dirichlet(np.ones(4), 3))
    means, variances = draw.random((3, 1)), 0.1 + draw.random((3, 1))
    cells = normal = total = 0.0
    for a in range(3):
        for b in range(a):
            odds = log_probabilities[a] - log_probabilities[b]
            weight = shares[a] * shares[b]
            cells += weight * (np.exp(log_probabilities[a]) @ odds)
            cells -= weight * (np.exp(log_probabilities[b]) @ odds)
            for c, sign in ((a, 1), (b, -1)):
                x = means[c] + variances[c] ** 0.5 * np.linspace(-9, 9, 4001)
                density = np.exp(-0.5 * np.linspace(-9, 9, 4001) ** 2)
                logs = [
                    -0.5 * np.log(variances[k]) - 0.5 * (x - means[k]) ** 2 / variances[k]
                    for k in (a, b)
                ]
                normal += sign * weight * float(density @ (logs[0] - logs[1]) / density.sum())
            total += weight
    assert posterior.cell_divergence(shares, log_probabilities) == pytest.approx(cells / total)
    found = posterior.normal_divergences(shares, means, variances)
    assert found == pytest.approx([normal / total], rel=1e-6)


def test_shares_of_classes_are_equal_where_noise_hides_them() -> None:
    counts = np.array([900.0, 80.0, 20.0])
    assert np.allclose(posterior.class_prior(counts, 0.0), counts / 1000)
    assert np.allclose(posterior.class_prior(counts, 1e6), 1 / 3)
    some = posterior.class_prior(counts, 100.0)
    assert some.sum() == pytest.approx(1)
    assert 1 / 3 < some[0] < 0.9
    assert posterior.class_prior(np.array([5.0]), 10.0).tolist() == [1.0]


def test_cells_that_noise_hides_say_nothing() -> None:
    cells, counts = np.array([[300.0, 100.0, 0.2], [0.3, 50.0, 50.0]]), np.array([400.3, 100.3])
    plain = posterior.repair_cells(cells, 0.0, counts, 0.1)
    assert np.allclose(plain, cells + 0.1)
    clear = posterior.repair_cells(cells, 1.0, counts, 0.1)
    assert clear[0, 2] == clear[1, 0] == 0.1  # a class like all rows would have 40 and 60
    hidden = posterior.repair_cells(cells, 1e4, counts, 1e-9)
    shares = hidden / hidden.sum(axis=1, keepdims=True)
    assert np.allclose(shares[0], shares[1], atol=1e-3)


def test_variances_differ_between_classes_only_where_noise_lets_them() -> None:
    variances, shares = np.array([[0.01], [0.04]]), np.array([0.5, 0.5])
    exact = posterior._join_variances(variances, np.zeros((2, 1)), shares)
    assert np.allclose(exact, variances)
    lost = posterior._join_variances(variances, np.full((2, 1), 10.0), shares)
    assert np.allclose(lost, 0.025, rtol=0.01)


def test_probabilities_from_few_rows_are_not_far_off() -> None:
    """Mean log loss of 40 fits to 400 rows at ε = 0.1: 0.83 ± 0.04; believing every cell it was 4.5."""
    draw = np.random.default_rng(3)
    y = draw.integers(0, 2, 400)
    x = np.where(draw.random((400, 8)) < 0.45 + 0.1 * y[:, None], "b", "a").astype(object)
    categories, losses = [["a", "b", "c", "d", "e"]] * 8, []
    for _ in range(40):
        model = CategoricalNB(epsilon=0.1, categories=categories, classes=[0, 1]).fit(x, y)
        losses.append(log_loss(y, model.predict_proba(x)))
    assert np.mean(losses) < 1.1


def test_a_file_without_a_weight_predicts_as_it_did() -> None:
    x, y = alike(2000, 4, 0.3)
    model = GaussianNB(epsilon=5, bounds=(0, 1), classes=[0, 1]).fit(x, y)
    again = from_json(to_json(model))
    assert again.evidence_weight_ == model.evidence_weight_ < 1
    assert np.array_equal(again.predict_proba(x), model.predict_proba(x))
    del model.evidence_weight_
    older = from_json(to_json(model))
    model.evidence_weight_ = 1.0
    assert np.array_equal(older.predict_proba(x), model.predict_proba(x))


@pytest.mark.parametrize("correlation", [-0.1, 1.5])
def test_a_correlation_is_a_share(correlation: float) -> None:
    schema = dp.Schema(x=dp.Real(0, 1), y=dp.Categorical(0, 1))
    with pytest.raises(ValueError, match="correlation"):
        MixedNB(schema=schema, correlation=correlation).plan()
