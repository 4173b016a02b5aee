"""Noise that can't be drawn as charged is refused when its distribution is made."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.mechanisms import (
    DiscreteGaussianDistribution,
    GaussianDistribution,
    LaplaceDistribution,
)

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
