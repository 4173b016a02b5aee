"""Fourier features about their mean, evened: each direction in which rows vary gets its share of the norm.

Fourier features of real rows vary in few directions by much and in many by little, and most of their norm is
their mean. Noise in the objective is as large in every direction, so that it hides the many, and what a curve
needs of them. From the histogram of each column follow, as if columns were independent, the mean and the
covariance of all features: by these they are centred, turned and scaled. The columns themselves are joined.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from discreet.models.erm.features import ONE, Floats, Integers, RowMap, shrink
from discreet.models.erm.fourier import FourierMap

#: The constant feature, in units of 1/ONE: the others have no mean that it has to make up for.
CONSTANT = ONE // 4
#: Entries of the turn are whole multiples of 2^-14, at most 2^24 of them.
TURN_BITS, LARGEST_BITS = 14, 24
#: A variance counts as this much larger, so that directions in which rows hardly vary stay small.
FLOOR = 3e-3
#: The share of a row's squared norm that the columns have; the waves have the rest.
COLUMN_SHARE = 0.25
#: The norm that rows are scaled down to, in root mean squares of the norm.
REACH = 1.15


@final
@dataclass(frozen=True, eq=False)
class EvenedMap(RowMap):
    """Cosines, sines and columns about public points, turned and scaled, and a constant 1/4.

    Parameters
    ----------
    waves : FourierMap
        Without its constant.
    turn : array of shape (features, features)
        Rounded to multiples of 2^-14 and clamped to 2^10.
    centre : array of shape (features,)
        What is taken off cosines, sines and columns.
    constant : bool

    Privacy
    -------
    Turn and centre are public, or functions of earlier noised answers. Features are whole numbers of at most
    2^15 times whole numbers of at most 2^24, below 2^52 in sum, so that products of matrices are exact and a
    row's features don't depend on the rows beside it; then they are truncated, clamped to 2^15 and clipped to
    a norm of 2^15 in integers. So the bound is exact, whatever turn and centre are.
    """

    waves: FourierMap
    turn: npt.NDArray[np.float64]
    centre: npt.NDArray[np.float64]
    constant: bool

    @classmethod
    def without_turn(cls, waves: FourierMap, constant: bool) -> EvenedMap:
        """One of the same bounds, before anything was asked."""
        size = waves.width + waves.inner.width
        return cls(waves, np.zeros((size, size)), np.zeros(size), constant)

    @cached_property
    def width(self) -> int:
        return self.waves.width + self.waves.inner.width + self.constant

    @cached_property
    def radius(self) -> int:
        # the constant is not clipped, so that this is rounded up
        return math.isqrt(ONE * ONE + self.constant * CONSTANT * CONSTANT - 1) + 1

    @cached_property
    def length(self) -> int:
        # Cauchy-Schwarz in integers
        sizes = math.isqrt((self.width - self.constant) * ONE * ONE) + 1
        return sizes + self.constant * CONSTANT

    @property
    def directions(self) -> int:
        return self.waves.directions

    @cached_property
    def _whole(self) -> tuple[Floats, Floats]:
        """Turn and centre as whole numbers: of 2^-14, and of a feature times that."""
        most = 2.0 ** (LARGEST_BITS - TURN_BITS)
        turn = np.rint(np.clip(np.nan_to_num(self.turn), -most, most) * 2.0**TURN_BITS)
        centre = np.rint(np.clip(np.nan_to_num(self.centre), -1.0, 1.0) * ONE)
        return turn, centre @ turn

    def block(self, codes: Integers) -> Floats:
        turn, centre = self._whole
        # integers below 2^15·2^13·2^24: exact in any order of summation
        raw = np.concatenate([self.waves.block(codes), self.waves.inner.block(codes)], axis=1)
        turned = raw @ turn
        turned -= centre
        turned *= 2.0**-TURN_BITS
        found = np.empty((len(codes), self.width))
        kept = found[:, : turned.shape[1]]
        kept[:] = np.clip(np.trunc(turned), -ONE, ONE)
        shrink(kept, ONE)
        if self.constant:
            found[:, -1] = CONSTANT
        return found


def even_out(
    planned: EvenedMap, frequencies: Floats, points: Sequence[Floats], shares: Sequence[Floats]
) -> EvenedMap:
    """Choose centre and turn by frequencies and histograms: post-processing of noised counts.

    Parameters
    ----------
    planned : EvenedMap
    frequencies : array of shape (columns, directions)
        All columns are numbers.
    points, shares : sequences of arrays over cells
        For each column, values in [-1, 1] and the share of rows about each of them.
    """
    mean, covariance = wave_moments(frequencies, points, shares)
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, 0.0)
    scales = 1.0 / np.sqrt(values + FLOOR)
    norm = REACH * math.sqrt(max(float(values @ scales**2), FLOOR) / (1.0 - COLUMN_SHARE))
    means = [float(p @ s) for p, s in zip(points, shares, strict=True)]
    spread = np.array(
        [float((p - m) ** 2 @ s) for p, s, m in zip(points, shares, means, strict=True)]
    )
    lengths = np.sqrt(COLUMN_SHARE / len(spread) / np.maximum(spread, FLOOR)) / REACH
    count = len(mean)
    turn = np.zeros(planned.turn.shape)
    turn[:count, :count] = vectors * (scales / norm)
    turn[count:, count:] = np.diag(lengths)
    waves = replace(planned.waves, frequencies=frequencies)
    return replace(planned, waves=waves, turn=turn, centre=np.concatenate([mean, means]))


def wave_moments(
    frequencies: Floats, points: Sequence[Floats], shares: Sequence[Floats]
) -> tuple[Floats, Floats]:
    """Compute the mean and the covariance of cosines and sines over √D, for independent columns.

    E exp(iωx) is a product over columns, and products of cosines and sines are sums of such waves.
    """
    count = frequencies.shape[1]

    def expected(waves: Floats) -> npt.NDArray[np.complex128]:
        found = np.ones(waves.shape[1:], np.complex128)
        for at, (p, s) in enumerate(zip(points, shares, strict=True)):
            found *= np.tensordot(s, np.exp(1j * np.multiply.outer(p, waves[at])), axes=1)
        return found

    once = expected(frequencies)
    more = expected(frequencies[:, :, None] + frequencies[:, None, :])
    less = expected(frequencies[:, :, None] - frequencies[:, None, :])
    crossed = (more.imag - less.imag) / 2  # cosine of the first, sine of the second
    products = np.block(
        [[(more.real + less.real) / 2, crossed], [crossed.T, (less.real - more.real) / 2]]
    )
    mean = np.concatenate([once.real, once.imag]) / math.sqrt(count)
    return mean, np.asarray(products / count - np.outer(mean, mean))
