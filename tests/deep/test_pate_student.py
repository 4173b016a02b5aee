"""A student for few labels: rows pass them on to their neighbours."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression

from discreet.deep.pate import SpreadingStudent


def test_a_student_passes_few_labels_on_to_all_rows():
    moons, half = make_moons(400, noise=0.05, random_state=3)
    labels = np.full(400, -1)
    labels[:12] = half[:12]
    student = SpreadingStudent(neighbours=8).fit(moons, labels)
    assert student.classes_.tolist() == [0, 1]
    assert (student.transduction_ == half).mean() > 0.97
    assert (student.predict(moons) == half).mean() > 0.97
    alone = LogisticRegression().fit(moons[:12], half[:12])
    assert (alone.predict(moons) == half).mean() < 0.93  # labels alone don't show the moons


def test_a_student_learns_from_rows_that_are_all_alike():
    labels = np.array([0, 1, 1, -1, -1])
    found = SpreadingStudent().fit(np.zeros((5, 3)), labels).predict(np.zeros((2, 3)))
    assert found.shape == (2,)
    assert set(found) <= {0, 1}
