"""The scales that samplers can draw with."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from discreet.rational import Number, positive

__all__ = ["LARGEST_SCALE", "SMALLEST_SCALE", "as_scale"]

SMALLEST_SCALE: Final = Fraction(1, 1 << 40)
LARGEST_SCALE: Final = Fraction(1 << 50)


def as_scale(value: Number, name: str) -> Fraction:
    """Return the scale of a distribution, checked to lie in [2**-40, 2**50]."""
    scale = positive(value, name)
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        raise ValueError(
            f"{name} must lie between 2**-40 and 2**50 so that draws fit into int64: measure the data "
            "in other units."
        )
    return scale
