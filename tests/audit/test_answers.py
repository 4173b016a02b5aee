"""Neighbouring vectors of answers: the auditor finds by itself what other people found by thinking."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from discreet.audit import audit, neighbouring_answers
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
        pytest.param(
            partial(broken.variant_3, epsilon=1.0, cutoff=1),
            400_000,
            True,
            # found in about three searches of four: not reliable enough for every run
            marks=pytest.mark.slow,
        ),
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
