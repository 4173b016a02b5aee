"""What is released of the numbers in a block: integer coefficients with exact noise, as a pure function."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from discreet import events
from discreet.coding import Sensitivity
from discreet.mechanisms import AdditiveMechanism, Distribution
from discreet.publish.rows import ONE
from discreet.publish.wavelets import FilterBank, IntegerTransform
from discreet.publish.wavelets.integers import DEFAULT_BITS

__all__ = ["AdditiveRelease", "Release", "find_bits", "move_rows"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: Taps get at least this many bits.
MIN_BITS = 8


class Release(ABC):
    """Noised coefficients of blocks of integers between -ONE and ONE, transformed back."""

    @abstractmethod
    def event(self) -> events.Event:
        """What one row in one block costs, all columns of numbers together."""

    @abstractmethod
    def event_of_two(self) -> events.Event:
        """What two rows cost that change together, in one block or in two.

        Two changes in one block are not two releases: a Rényi divergence may grow fourfold.
        """

    @abstractmethod
    def run(self, blocks: Integers) -> Floats:
        """Blocks of shape (columns, blocks, rows of a block) with fresh noise, in units of 1/ONE."""

    @abstractmethod
    def spread(self) -> float | None:
        """The root mean square of the noise on a cell, in units of 1/ONE; None if data change it."""


def move_rows(transform: IntegerTransform, columns: int, kept: int | None = None) -> Sensitivity:
    """How far one row moves the first `kept` coefficients of its block, over all columns.

    A cell moves by at most 2·ONE, and moves coefficient k of its column by |W_ki| times that.
    """
    first = slice(0, kept)
    return Sensitivity(
        columns * 2 * ONE * transform.spread(first),
        columns * (2 * ONE) ** 2 * transform.energy(first),
    )


def find_bits(plan: Callable[[int], Release]) -> Release:
    """The plan with the most bits for the taps whose noise the samplers can draw."""
    for bits in range(DEFAULT_BITS, MIN_BITS, -1):
        try:
            return plan(bits)
        except ValueError:
            continue
    return plan(MIN_BITS)


@final
@dataclass(frozen=True)
class AdditiveRelease(Release):
    """Integer noise on each kept coefficient; the others are 0, the coefficient of the middle of all ranges.

    Parameters
    ----------
    transform : IntegerTransform
    sensitivity : Sensitivity
        How far one row moves the kept coefficients.
    distribution : Distribution
    kept : int, optional
        How many coefficients, from the first on: the approximation band, or all of them by default.
    bound : int, optional
        Noised coefficients are clamped to it.
    """

    transform: IntegerTransform
    sensitivity: Sensitivity
    distribution: Distribution
    kept: int | None = None
    bound: int | None = None

    @classmethod
    def plan(
        cls,
        bank: FilterBank,
        block: int,
        levels: int,
        columns: int,
        mechanism: AdditiveMechanism,
        kept: int | None = None,
    ) -> Release:
        """The release that gives `mechanism`'s measure to one row."""

        def build(bits: int) -> Release:
            transform = IntegerTransform(bank, block, levels, bits)
            moved = move_rows(transform, columns, kept)
            return cls(transform, moved, mechanism.distribution(moved), kept)

        return find_bits(build)

    def event(self) -> events.Event:
        return self.distribution.event(self.sensitivity)

    def event_of_two(self) -> events.Event:
        kept = slice(0, self.kept)
        one, two = self.transform.energy(kept), self.transform.energy_of_two(kept)
        squared = -(-self.sensitivity.l2_squared // one) * two  # it is a multiple of the energy
        return self.distribution.event(Sensitivity(2 * self.sensitivity.l1, squared))

    def run(self, blocks: Integers) -> Floats:
        coefficients = self.transform.apply(blocks, ONE)
        noised = self.distribution.run(np.ascontiguousarray(coefficients[..., : self.kept]))
        if self.bound is not None:
            noised = np.clip(noised, -self.bound, self.bound)
        if self.kept is not None:  # nothing of the others leaves
            coefficients = np.zeros_like(coefficients)
            coefficients[..., : self.kept] = noised
            noised = coefficients
        return self.transform.invert(noised)

    def spread(self) -> float | None:
        if self.bound is not None:
            return None
        share = 1.0 if self.kept is None else self.kept / self.transform.length
        return self.distribution.expected_error() / self.transform.one * float(np.sqrt(share))
