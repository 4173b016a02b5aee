"""Attribute inference: memorisation is told from what any model of the population gives away."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from discreet.audit.membership import attribute_inference


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    X[:, 0] = rng.integers(0, 2, 600)
    return X, rng.integers(0, 5, 600), (X[:, 0] + 2 * (rng.random(600) < 0.1) > 0.5).astype(int)


def far_apart(X, y):
    """One nearest neighbour, in whose distances the first column counts most."""
    scale = np.array([100.0, 1.0, 1.0])

    class Model:
        inner = KNeighborsClassifier(1).fit(X * scale, y)
        classes_ = inner.classes_

        def predict_proba(self, rows):
            return self.inner.predict_proba(rows * scale)

    return Model()


def test_memorised_labels_give_a_column_of_members_away(records):
    X, noise, _ = records
    report = attribute_inference(far_apart, X, noise, 0, random_state=1)
    assert report.members.value > 0.85  # a wrong value finds a stranger's label
    assert report.others.interval[0] < report.most_common < report.others.interval[1]
    assert report.advantage_interval[0] > 0.25
    assert report.without_model.value < 0.6
    assert report.most_common == pytest.approx(max(X[:, 0].mean(), 1 - X[:, 0].mean()))


def test_what_the_population_tells_isnt_called_a_leak(records):
    X, _, dependent = records
    reports = [
        attribute_inference(
            LogisticRegression(),
            X,
            dependent,
            0,
            models=2,
            without_model=DecisionTreeClassifier(max_depth=3),
            random_state=seed,
        )
        for seed in range(5)
    ]
    report = reports[0]
    assert report.others.value > 0.85  # the label tells the column of strangers as well
    leaks = [r.advantage_interval for r in reports]
    assert sum(not low < 0 < high for low, high in leaks) <= 1
    assert report.without_model.value > 0.85
    text = repr(report)
    assert "wasn't" in text
    assert "its leak" in text


def test_bad_input_is_refused(records):
    X, noise, _ = records
    with pytest.raises(ValueError, match="bin it"):
        attribute_inference(LogisticRegression(), X, noise, 1)
    with pytest.raises(ValueError, match="column"):
        attribute_inference(LogisticRegression(), X, noise, 3)
    with pytest.raises(ValueError, match="bin it"):
        attribute_inference(LogisticRegression(), np.ones((9, 2)), np.arange(9) % 2, 0)
