"""DP-Sniper's and StatDP's kind of attack on every estimator's small fit, beside one with half the noise."""

from __future__ import annotations

import pytest
from estimator_subjects import Fits, Side, columns_of, neighbours, subject_for
from noting_door import FACTS, NotingDoor
from small_fits import SMALL_FITS, Small, small_fit_of
from subject import HALF, check

import discreet as dp
from discreet import testing
from discreet.testing.estimators import Example, estimator_classes

#: Which guest does not catch half the noise of what, and why. It may only become shorter.
BLIND: dict[tuple[str, str], str] = {}
#: One that is cheap, for every change.
EVERY_CHANGE = ("StandardScaler()",)
TITLES = {str(example): example for example in testing.ESTIMATORS}

EVERY = [
    pytest.param(
        example, marks=pytest.mark.long if title in EVERY_CHANGE else pytest.mark.slow, id=title
    )
    for title, example in TITLES.items()
]


@pytest.mark.parametrize("example", EVERY)
def test_guests_find_nothing_in_a_fit_and_see_half_its_noise(example):
    check(subject_for(example), BLIND)


def test_every_estimator_has_its_guests():
    assert len(TITLES) == len(testing.ESTIMATORS)
    assert {example.kind for example in testing.ESTIMATORS} == set(estimator_classes())
    assert set(EVERY_CHANGE) | set(SMALL_FITS) | {title for title, _ in BLIND} <= set(TITLES)


def test_a_control_with_less_than_half_the_noise_has_its_reason():
    weaker = {title: small for title, small in SMALL_FITS.items() if small.share != HALF}
    assert all(small.share < HALF and len(small.why) > 20 for small in weaker.values())
    assert {title.partition("(")[0] for title in weaker} == {
        "PrivateSearch",
        "PCA",
        "SimpleLinearRegression",
    }


def first_side(title: str) -> tuple[Fits, Side]:
    example: Example = TITLES[title]
    small: Small = small_fit_of(example)
    columns = columns_of(example, small.features)
    return Fits(example, columns, small), neighbours(columns, small)[0][0]


def test_what_a_model_inside_of_another_is_told_is_noted():
    fits, side = first_side("ThresholdClassifier()")
    with testing.fixed_noise(1):
        ((notes, model),) = fits.carry_out(side, 1)
    weights, scores = notes.sums
    assert len(weights.noised) == model.estimator_.coef_.size
    assert scores.noised.tolist() == model.score_counts_.ravel().tolist()


def test_a_search_tells_all_of_its_best_run_and_nothing_of_the_others():
    fits, side = first_side("PrivateSearch(settings={'alpha': [None, 20]}, runs=2)")
    widths = {1: 4, 2: 8}  # classes in the leaves of one tree of that depth
    with testing.fixed_noise(2):
        for notes, model in fits.carry_out(side, 12):
            leaves, scores = notes.sums
            assert len(leaves.noised) == widths[model.best_params_["max_depth"]]
            assert len(notes.leans) == 2
            assert len(scores.noised) <= 2


def test_a_door_gives_guests_nothing_unheard():
    """Whatever answers from rows is noted; a way to ask that fits don't use yet is refused, not passed on."""
    noting = NotingDoor(None, [])
    ways = {name for name in dir(dp.PrivateDataset) if not name.startswith("_")} - FACTS
    noted = {name for name in vars(NotingDoor) if not name.startswith("_")}
    assert {"release", "run", "prepaid", "select", "with_schema"} <= noted & ways
    for name in ways - noted:
        with pytest.raises(AttributeError, match="would not hear"):
            getattr(noting, name)
