"""The pseudo-quantum mask repaired: coefficients as angles of public ranges, with noise for every band."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, final

import numpy as np

from discreet import events, noise
from discreet.coding import Sensitivity
from discreet.mechanisms import Distribution, Laplace
from discreet.publish.masks.plan import RowMask
from discreet.publish.masks.releases import (
    AdditiveRelease,
    Floats,
    Integers,
    Release,
    find_bits,
    move_rows,
)
from discreet.publish.rows import ONE
from discreet.publish.wavelets import FilterBank, IntegerTransform
from discreet.rational import rational

__all__ = ["AngleEmbedding", "EmbeddedRelease", "angle_transform"]

#: A rational above √3/2, the largest slope of sine and cosine between π/6 and π/3.
SLOPE = Fraction(866_025_404, 10**9)
#: More than float64 errs by in an angle and its cosine, as a share of 1.
FLOAT_ERROR = Fraction(1, 2**40)


def angle_transform(bank: FilterBank, block: int, levels: int, bits: int) -> IntegerTransform:
    """The transform whose coefficients are angles: values between -ONE and ONE give π/4 ± π/12.

    A radian is 2·ONE·2^bits. Each band is divided by its public range, Σ|taps|.
    """
    plain = IntegerTransform(bank, block, levels, bits)
    weights = tuple(math.pi / 6 / width for width in plain.ranges())
    return IntegerTransform(bank, block, levels, bits, weights)


def largest_angle(bits: int) -> int:
    """π/12 in units of the transform, rounded down: how far angles are from π/4."""
    return math.floor(math.ldexp(math.pi / 12 * (1 - 2**-50) * 2 * ONE, bits))


@final
@dataclass(frozen=True)
class AngleEmbedding(RowMask):
    """The pseudo-quantum mask repaired: angles of public ranges for all bands, with Laplace noise, clamped.

    Parameters
    ----------
    epsilon, target, label_share, block, levels, bank, order
        See `RowMask`.
    variant : {"angle", "embedding"}
        Noise on the angles; or on their cosine or sine, by a coin that doesn't depend on the data.
    eta : number
        The coin's bias for ``variant="embedding"``, from 0 to 1: the cosine has probability (1 - η)/2
        (Choi & Lee 2019, Lemma 2; their step 4 prints branches that overlap).

    Notes
    -----
    Utility is that of `WaveletLaplace` with clamped coefficients: the angles add nothing but the clamp, and
    the embedding noises more. There is no intensity δ: the noise is what ε says.

    Privacy
    -------
    As `WaveletLaplace`: ε-DP under replace-one. K_θ = 0.5597135 for the default bank. The embedding's
    cosines are rounded to integers, which adds one unit for each coefficient that a row changes.
    Proof page: ``docs/proofs/masks.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> from discreet.publish.masks import AngleEmbedding
    >>> ledger = dp.Ledger(limit=dp.PureDP(8), unit=dp.REPLACE_ONE)
    >>> data = dp.PrivateDataset({"x": [0.2, 0.4]}, dp.Schema(x=dp.Real(0, 1)), ledger=ledger)
    >>> masked = AngleEmbedding(8).publish(data)
    >>> masked["x"].shape
    (2,)
    """

    variant: Literal["angle", "embedding"] = field(default="angle", kw_only=True)
    eta: Any = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant not in ("angle", "embedding"):
            raise ValueError(f"variant must be 'angle' or 'embedding', got {self.variant!r}.")
        if not 0 <= rational(self.eta, "eta") <= 1:
            raise ValueError(f"eta must be between 0 and 1, got {self.eta!r}.")

    def _release(self, columns: int, share: Fraction) -> Release:
        mechanism = Laplace(share)

        def angles(bits: int) -> Release:
            transform = angle_transform(self.bank, self.block, self.levels, bits)
            moved = move_rows(transform, columns)
            noised = mechanism.distribution(moved)
            return AdditiveRelease(transform, moved, noised, bound=largest_angle(bits))

        def embedded(bits: int) -> Release:
            transform = angle_transform(self.bank, self.block, self.levels, bits)
            moved = EmbeddedRelease.moved(transform, columns)
            chance = (1 - rational(self.eta, "eta")) / 2
            return EmbeddedRelease(transform, moved, mechanism.distribution(moved), chance)

        return find_bits(angles if self.variant == "angle" else embedded)


@final
@dataclass(frozen=True)
class EmbeddedRelease(Release):
    """Noise on the cosine or the sine of each angle, by a coin; then angles again, and values.

    Cosines and sines are integers in units of 2^-bits of `transform`.
    """

    transform: IntegerTransform
    sensitivity: Sensitivity
    distribution: Distribution
    cosine: Fraction

    @staticmethod
    def moved(transform: IntegerTransform, columns: int) -> Sensitivity:
        """How far one row moves the rounded cosines or sines, whatever the coins show.

        Angles move by at most K_θ in all and column, cosines and sines by at most √3/2 of that; rounding
        and float64 add 1 and 2·FLOAT_ERROR units for each coefficient that depends on the row.
        """
        angles = Fraction(transform.spread(), transform.one)
        units = SLOPE * angles * transform.one
        rounded = transform.most_changed() * (1 + 2 * FLOAT_ERROR * transform.one)
        total = math.floor(columns * (units + rounded))
        return Sensitivity(total, total**2)

    def event(self) -> events.Event:
        return self.distribution.event(self.sensitivity)

    def event_of_two(self) -> events.Event:
        moved = self.sensitivity
        return self.distribution.event(Sensitivity(2 * moved.l1, 4 * moved.l2_squared))

    def run(self, blocks: Integers) -> Floats:
        one, radian = self.transform.one, 2 * ONE * self.transform.one
        limit = largest_angle(self.transform.bits)
        codes = np.clip(self.transform.apply(blocks, ONE), -limit, limit)
        angle = math.pi / 4 + codes / radian
        by_cosine = noise.bernoulli(self.cosine, codes.shape)
        embedded = np.where(by_cosine, np.cos(angle), np.sin(angle))
        noised = self.distribution.run(np.rint(embedded * one).astype(np.int64))
        seen = np.clip(noised / one, 0.5, math.sqrt(3) / 2)
        turned = np.where(by_cosine, np.arccos(seen), np.arcsin(seen))
        return self.transform.invert((turned - math.pi / 4) * radian)

    def spread(self) -> float | None:
        return None
