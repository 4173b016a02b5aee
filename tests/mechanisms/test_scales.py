"""Noise that can't be drawn as charged is refused when its distribution is made."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import cost
from discreet.events import iter_leaves
from discreet.measures import ZCDP, PureDP
from discreet.mechanisms import (
    DiscreteGaussianDistribution,
    Exponential,
    GaussianDistribution,
    LaplaceDistribution,
)
from discreet.mechanisms.permute_and_flip import check_scores

KINDS = [LaplaceDistribution, GaussianDistribution, DiscreteGaussianDistribution]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("scale", [Fraction(1, 2**31), Fraction(2**50 + 1), Fraction(2**70)])
def test_scales_that_cannot_be_drawn_are_refused(kind, scale):
    with pytest.raises(ValueError, match="scale"):
        kind(scale)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("scale", [Fraction(1, 2**30), Fraction(1), Fraction(2**50)])
def test_scales_at_the_ends_are_made(kind, scale):
    kind(scale)


@pytest.mark.parametrize("draws", [1, 2, 5])
def test_draws_of_the_exponential_mechanism_cost_their_measure_together(draws):
    event = Exponential(PureDP(3)).event(draws)
    assert cost(event, PureDP).epsilon == 3
    assert [leaf.epsilon for leaf in iter_leaves(event)] == [Fraction(3, draws)] * draws
    concentrated = cost(Exponential(ZCDP(2)).event(draws), ZCDP).rho
    assert Fraction(199, 100) < concentrated <= 2


def test_scores_of_any_integer_type_leave_room_for_noise():
    """Sums with noise must stay within int64: scores are held within ±2^61."""
    ends = [np.array([-(2**63), 2**63 - 1, 5], np.int64), np.array([0, 2**64 - 1, 5], np.uint64)]
    for scores in ends:
        found = check_scores(scores)
        assert found.dtype == np.int64
        assert np.abs(found.astype(object)).max() == 2**61
        assert found[2] == 5
