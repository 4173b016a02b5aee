"""Neighbouring vectors of answers: the auditor finds by itself what other people found by thinking."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from discreet.audit import audit, neighbouring_answers
from discreet.audit.samples import sample_of
from discreet.audit.views import views_for
from discreet.guarantees.bugs import broken_selection as broken


def honest(answers, trials, cutoff, epsilon=1.0):
    """Algorithm 1 of Lyu, Su & Li 2017: half of ε for the threshold, half for all answers above it."""
    noisy = np.asarray(answers) + broken.integer_laplace(
        4 * cutoff / epsilon, (trials, len(answers))
    )
    above = noisy >= broken._threshold(2 / epsilon, trials)
    return np.where(broken._stopped(above, cutoff), broken.STOPPED, above)


@pytest.mark.parametrize(
    ("mechanism", "trials", "caught"),
    [
        (partial(broken.variant_3, epsilon=1.0, cutoff=1), 400_000, True),
        (partial(broken.variant_4, epsilon=1.0, cutoff=3), 60_000, True),
        (partial(broken.variant_5, epsilon=1.0), 20_000, True),
        (partial(broken.variant_6, epsilon=1.0), 60_000, True),
        (partial(honest, cutoff=3), 60_000, False),
        (partial(honest, cutoff=1), 60_000, False),
    ],
    ids=["3", "4", "5", "6", "1 with cutoff 3", "1 with cutoff 1"],
)
def test_broken_sparse_vectors_are_found_without_help(mechanism, trials, caught):
    result = audit(mechanism, neighbouring_answers(10), 1.0, trials=trials, confidence=0.9999)
    assert result.is_violated is caught, result


def told(answers, trials):
    """*Below* five times, or a number at some place: larger on the first input, at the same places."""
    random = np.random.default_rng(trials)
    rows = np.full((trials, 5), broken.BELOW)
    place = random.integers(6, size=trials)
    inside = place < 5
    rows[inside, place[inside]] = random.integers(100, size=trials)[inside] + answers[place[inside]]
    return rows


def test_numbers_are_compared_beside_the_same_words():
    """At one place large numbers speak for the first input, at another one for the second."""
    first, second = np.array([50, 0, 0, 0, 0]), np.array([0, 0, 0, 0, 50])
    found = audit(told, (first, second), 2.0, trials=4000, confidence=0.9999, reuse=False)
    assert found.is_violated
    assert not audit(told, (first, first), 0.1, trials=4000, reuse=False).is_violated
    seen = sample_of(told(first, 500))
    assert "pattern" in [view.name for view in views_for(seen, seen)]


@pytest.mark.parametrize(("length", "moves"), [(1, 1), (2, 3), (7, 2)])
def test_no_answer_moves_farther_than_one_person_can_move_it(length, moves):
    pairs = neighbouring_answers(length, moves)
    near = pairs.near(pairs[-1], np.random.default_rng(1), 50)
    assert len(set(pairs)) == len(pairs)
    for first, second in [*pairs, *near]:
        gaps = np.abs(np.subtract(first, second))
        assert len(first) == length
        assert 0 < gaps.max() <= moves


@pytest.mark.parametrize("wrong", [{"length": 0}, {"moves": 0}])
def test_wrong_arguments_are_told(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        neighbouring_answers(**wrong)
