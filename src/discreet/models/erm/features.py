"""From codes of a schema to integer features of bounded norm, row by row."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.coding import VALUE_BITS
from discreet.coding.clipping import MARGIN
from discreet.columns import Base, Categorical, Logarithmic, Numeric
from discreet.rational import rational

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Singles = npt.NDArray[np.float32]

#: A feature of size 1 is this integer.
ONE = 2**15
#: Beyond, products of features and weights would no longer be exact in float64.
MAX_FEATURES = 2**13
#: Rows are coded and clipped this many at a time.
CHUNK = 2**12
#: The value of a column on a logarithmic scale counts up to this share of its larger bound: on training rows
#: of Adult, bank and WDBC better than all of it, on bank better than an eighth or a sixteenth.
REACH = 0.25
#: The mean square of a number in [-1, 1] that a default norm counts with: spread evenly, or crowded at ends.
EVEN_SQUARE, WIDE_SQUARE = Fraction(1, 3), Fraction(3, 5)


def reach_of(column: Logarithmic) -> float:
    """Up to which size the value of a column on a logarithmic scale is a feature of its own."""
    return REACH * max(abs(float(column.source.lower)), abs(float(column.source.upper)))


def clamp_values(column: Logarithmic, scaled: Floats) -> Floats:
    """Values on the logarithmic scale as the numbers they stand for, none beyond `reach_of`.

    Made of comparisons, sums, products and powers of two: the same for a row in any block of rows.
    """
    reach = reach_of(column)
    return np.clip(column.to_source(scaled), -reach, reach)


class RowMap(ABC):
    """From codes of a row to integers over 2^15 of bounded norm, row by row."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many features there are."""

    @property
    @abstractmethod
    def radius(self) -> int:
        """A bound on the L2 norm of a row, in units of 1/ONE."""

    @property
    @abstractmethod
    def length(self) -> int:
        """A bound on the L1 norm of a row, in units of 1/ONE."""

    @property
    def directions(self) -> int:
        """In about how many directions rows vary; only the default Λ depends on it."""
        return self.width

    @abstractmethod
    def block(self, codes: Integers) -> Floats:
        """The features of some rows, integers in float64."""

    def matrix(self, codes: Integers) -> Singles:
        """The features of all rows; in float32, which holds integers of this size."""
        found = np.empty((len(codes), self.width), np.float32)
        for start in range(0, len(codes), CHUNK):
            found[start : start + CHUNK] = self.block(codes[start : start + CHUNK])
        return found


@final
@dataclass(frozen=True)
class FeatureMap(RowMap):
    """Numbers as values in [-1, 1], categories as indicators, a constant 1; then clipped to a norm.

    Parameters
    ----------
    columns : tuple of declarations
    constant : bool
        Whether the last feature is 1.
    norm : number, optional
        Longer rows are scaled down to it. By default, unless `wide`, √(a + d/3) for d numbers and a
        categories and constants: the root mean square norm of rows spread evenly between their bounds.
    values : bool
        Whether a column on a logarithmic scale has a second feature, its value (`clamp_values`) over its
        reach: small for most rows of such a column, so the default norm doesn't count it.
    short : bool
        Whether the sizes of a row's features add up to a + d/2 at most, their mean in rows spread evenly
        between their bounds: Laplace noise grows with this sum, and longer rows are scaled down to it.
    wide : bool
        Whether the default norm is √(a + 3d/5): the same for numbers that crowd at their bounds, as amounts
        do that are 0 for most, rather than being spread evenly.

    Privacy
    -------
    A row's features depend on that row alone, and are integers over 2^15 with Σz² ≤ radius² and
    Σ|z| ≤ length, exactly.
    """

    columns: tuple[Base, ...]
    constant: bool
    norm: Any = None
    values: bool = False
    short: bool = False
    wide: bool = False

    def _has_value(self, column: Base) -> bool:
        return self.values and isinstance(column, Logarithmic)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many features each column becomes."""
        return tuple(
            len(column.values) if isinstance(column, Categorical) else 1 + self._has_value(column)
            for column in self.columns
        )

    @cached_property
    def _nonzero(self) -> int:
        """How many features of a row are not 0 at most: a category has one indicator."""
        return len(self.columns) + sum(map(self._has_value, self.columns)) + self.constant

    @cached_property
    def width(self) -> int:
        """How many features there are."""
        return sum(self.sizes) + self.constant

    @cached_property
    def _kinds(self) -> tuple[int, int]:
        """How many columns are numbers, and how many categories and constants there are."""
        numbers = sum(isinstance(column, Numeric) for column in self.columns)
        return numbers, len(self.columns) - numbers + self.constant

    @cached_property
    def radius(self) -> int:
        """A bound on the L2 norm of a row, in units of 1/ONE."""
        numbers, others = self._kinds
        longest = ONE * ONE * self._nonzero
        if self.norm is None:
            square = WIDE_SQUARE if self.wide else EVEN_SQUARE
            return math.isqrt(math.floor(ONE * ONE * (others + square * numbers)))
        norm = rational(self.norm, "norm")
        if not norm * ONE >= 1:
            raise ValueError(f"norm must be greater than 0, got {self.norm!r}.")
        return min(math.floor(norm * ONE), math.isqrt(longest))

    @cached_property
    def length(self) -> int:
        """A bound on the L1 norm of a row, in units of 1/ONE."""
        longest = min(
            ONE * self._nonzero,
            math.isqrt(self.width * self.radius**2) + 1,
        )
        if not self.short:
            return longest
        numbers, others = self._kinds
        return min(longest, ONE * (2 * others + numbers) // 2)

    @cached_property
    def _numbers(self) -> tuple[Integers, Integers, Floats]:
        """Numeric columns of non-zero width: their places in codes and in features, and their steps."""
        found, at = [], 0
        for place, (column, size) in enumerate(zip(self.columns, self.sizes, strict=True)):
            if isinstance(column, Numeric) and column.steps(VALUE_BITS):
                found.append((place, at, column.steps(VALUE_BITS)))
            at += size
        table = np.array(found, np.int64).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2].astype(np.float64)

    @cached_property
    def _halving(self) -> bool:
        """Whether all steps are powers of two, as those of reals are: then dividing is multiplying."""
        return all(math.frexp(size)[0] == 0.5 for size in self._numbers[2].tolist())

    def block(self, codes: Integers) -> Floats:
        """The features of some rows, integers in float64; a category that isn't declared has none.

        floor((2·code - steps)·2^15/steps): the quotient is right, since it is 2^-20 away from the next
        integer or is itself one, and float64 errs by 2^-37.
        """
        places, numbers, steps = self._numbers
        z = codes[:, places].astype(np.float64)
        if self._halving:
            z *= 2 * ONE / steps  # exact, as is what follows
            z -= ONE
        else:
            z *= 2.0
            z -= steps
            z *= ONE
            z /= steps
        np.floor(z, out=z)
        if len(numbers) < self.width:
            found = np.zeros((len(codes), self.width))
            if len(numbers) == self.width - self.constant:
                found[:, : len(numbers)] = z
            else:
                found[:, numbers] = z
            self._others(codes, found)
            z = found
        shrink(z, self.radius)
        if self.short:
            shrink_sizes(z, self.length)
        return z

    def _others(self, codes: Integers, found: Floats) -> None:
        """Write values beside their logarithms, indicators and the constant."""
        at = 0
        for place, (column, size) in enumerate(zip(self.columns, self.sizes, strict=True)):
            if isinstance(column, Categorical):
                code = codes[:, place]
                known = np.flatnonzero((code >= 0) & (code < size))
                found[known, at + code[known]] = ONE
            elif self._has_value(column):
                assert isinstance(column, Logarithmic)
                share = codes[:, place].astype(np.float64) / column.steps(VALUE_BITS)
                value = clamp_values(column, column.lower + share * column.width)
                found[:, at + 1] = np.trunc(value / reach_of(column) * ONE)
            at += size
        if self.constant:
            found[:, at] = ONE


def shrink(z: Floats, radius: int) -> None:
    """`clip_rows` in place, for integers in float64 of at most 2^15: the same operations, the same result."""
    squares = np.einsum("ij,ij->i", z, z)  # below 2^44: exact
    scale = radius * MARGIN / np.sqrt(np.maximum(squares, 1.0))
    scale[squares <= float(radius * radius)] = 1.0
    z *= scale[:, None]
    np.trunc(z, out=z)


def shrink_sizes(z: Floats, length: int) -> None:
    """Scale rows of integers in place, so that Σ|z| ≤ length as integers; other rows stay as they are.

    A longer row is multiplied by length·(1 - 2^-40)/Σ|z| and truncated towards zero. Three roundings of 2^-53
    each are less than the margin, so the sizes add up to less than `length` before they are truncated.
    """
    sizes = np.abs(z).sum(axis=1)  # below 2^28: exact in any order
    scale = length * MARGIN / np.maximum(sizes, 1.0)
    scale[sizes <= float(length)] = 1.0
    z *= scale[:, None]
    np.trunc(z, out=z)
