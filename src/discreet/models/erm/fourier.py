"""Random Fourier features: a Gaussian kernel as an inner product of short vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from discreet.models.erm.features import ONE, FeatureMap, Floats, Integers, RowMap, shrink

#: The constant feature, in units of 1/ONE: smaller than the rest, since it counts in the norm.
CONSTANT = ONE // 2
#: Angles are whole numbers of 2^-32 turns, of which the first 16 bits are looked up.
TURN_BITS, TABLE_BITS = 32, 16
#: The largest frequency, in 2^-32 turns for a feature of 1/ONE: 800 radians for a feature of 1.
LARGEST = 2**24


@final
@dataclass(frozen=True, eq=False)
class FourierMap(RowMap):
    """(cos ωx, sin ωx)/√D for D public frequencies ω, and a constant 1/2.

    Their inner product is near exp(-γ‖x - x'‖²) if the ω are normal with variance 2γ (Rahimi & Recht 2007).

    Parameters
    ----------
    inner : FeatureMap
        From columns to x; numbers in [-1, 1], categories as indicators, nothing clipped.
    frequencies : array of shape (features of `inner`, D)
    constant : bool

    Privacy
    -------
    The frequencies are drawn from public randomness before a row is read. Features, frequencies and angles
    are whole numbers below 2^52, so that products of matrices are exact and a row's angles don't depend
    on the rows beside it; cosines and sines are looked up in a public table. cos² + sin² = 1, so that a
    row's norm is 1 (√5/2 with the constant); integers over 2^15 are clipped in integers, so the bound
    is exact.
    """

    inner: FeatureMap
    frequencies: npt.NDArray[np.float64]
    constant: bool

    @cached_property
    def width(self) -> int:
        return 2 * int(self.frequencies.shape[1]) + self.constant

    @cached_property
    def radius(self) -> int:
        # the constant is not clipped, so that this is rounded up
        return math.isqrt(ONE * ONE + self.constant * CONSTANT * CONSTANT - 1) + 1

    @cached_property
    def length(self) -> int:
        # |cos| + |sin| ≤ √2, D times over √D; by Cauchy-Schwarz in integers
        waves = math.isqrt((self.width - self.constant) * ONE * ONE) + 1
        return waves + self.constant * CONSTANT

    @property
    def directions(self) -> int:
        # the kernel's eigenvalues fall fast; set by accuracy on a disc and on banknotes (public)
        return max(1, self.width // 10)

    @cached_property
    def _steps(self) -> Floats:
        """The frequencies as whole numbers of 2^-32 turns for a feature of 1/ONE."""
        steps = np.rint(self.frequencies * (2.0**TURN_BITS / (2 * math.pi * ONE)))
        return np.asarray(np.clip(steps, -LARGEST, LARGEST))

    @cached_property
    def _waves(self) -> tuple[Floats, Floats]:
        """Cosines and sines in the middles of 2^16 parts of a turn: integers, as features."""
        middles = (np.arange(2**TABLE_BITS) + 0.5) * (2 * math.pi / 2**TABLE_BITS)
        size = ONE / math.sqrt(self.frequencies.shape[1])
        return np.trunc(np.cos(middles) * size), np.trunc(np.sin(middles) * size)

    def block(self, codes: Integers) -> Floats:
        # integers below 2^15·2^13·2^24: exact in any order of summation
        turns = self.inner.block(codes) @ self._steps
        turns *= 2.0 ** (TABLE_BITS - TURN_BITS)
        parts = np.floor(turns, out=turns).astype(np.int64) & (2**TABLE_BITS - 1)
        count = self.frequencies.shape[1]
        found = np.empty((len(codes), self.width))
        cosines, sines = self._waves
        np.take(cosines, parts, out=found[:, :count])
        np.take(sines, parts, out=found[:, count : 2 * count])
        shrink(found[:, : 2 * count], ONE)
        if self.constant:
            found[:, -1] = CONSTANT
        return found


def orthogonal_frequencies(
    width: int, count: int, gamma: float, draw: np.random.RandomState
) -> Floats:
    """Normal frequencies of variance 2γ, as many as `width` at a time at right angles.

    That keeps each one's distribution and makes the inner products more even (Yu et al. 2016).
    """
    parts = []
    for _ in range(-(-count // width)):
        turned, upper = np.linalg.qr(draw.standard_normal((width, width)))
        turned = turned * np.sign(np.diag(upper))
        lengths = np.sqrt(draw.chisquare(width, width))
        parts.append(turned * lengths)
    return np.asarray(math.sqrt(2 * gamma) * np.concatenate(parts, axis=1)[:, :count])
