"""DP-Sniper's and StatDP's kind of attack on every estimator's small fit, beside one with half the noise."""

from __future__ import annotations

import pytest
from estimator_subjects import all_fits
from subject import check

from discreet import testing
from discreet.testing.estimators import estimator_classes

SUBJECTS = all_fits()
#: Which guest does not catch half the noise of what, and why. It may only become shorter.
BLIND: dict[tuple[str, str], str] = {}
#: One that is cheap, for every change.
EVERY_CHANGE = ("StandardScaler()",)

EVERY = [
    pytest.param(
        subject, marks=pytest.mark.long if subject.title in EVERY_CHANGE else pytest.mark.slow
    )
    for subject in SUBJECTS
]


@pytest.mark.parametrize("subject", EVERY, ids=str)
def test_guests_find_nothing_in_a_fit_and_see_half_its_noise(subject):
    check(subject, BLIND)


def test_every_estimator_has_its_guests():
    assert [subject.of for subject in SUBJECTS] == list(testing.ESTIMATORS)
    assert {example.kind for example in testing.ESTIMATORS} == set(estimator_classes())
    assert set(EVERY_CHANGE) <= {subject.title for subject in SUBJECTS}
    assert {title for title, _ in BLIND} <= {subject.title for subject in SUBJECTS}
