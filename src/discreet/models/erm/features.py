"""From codes of a schema to integer features of bounded norm, row by row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.coding import VALUE_BITS
from discreet.columns import Base, Categorical, Numeric
from discreet.engines.clipping import clip_rows
from discreet.rational import rational

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: A feature of size 1 is this integer.
ONE = 2**15
#: Beyond, products of features and weights would no longer be exact in float64.
MOST_FEATURES = 2**13
#: Rows are coded and clipped so many at a time.
CHUNK = 2**13


@dataclass(frozen=True)
class FeatureMap:
    """Numbers as values in [-1, 1], categories as indicators, a constant 1; then clipped to a norm.

    Parameters
    ----------
    columns : tuple of declarations
    constant : bool
        Whether the last feature is 1.
    norm : number, optional
        Longer rows are scaled down to it. By default √(a + d/3) for d numbers and a categories and
        constants: the root mean square norm of rows spread evenly between their bounds.

    Privacy
    -------
    A row's features depend on that row alone, and are integers over 2^15 with Σz² ≤ radius², exactly.
    """

    columns: tuple[Base, ...]
    constant: bool
    norm: Any = None

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many features each column becomes."""
        return tuple(
            len(column.values) if isinstance(column, Categorical) else 1 for column in self.columns
        )

    @cached_property
    def width(self) -> int:
        """How many features there are."""
        return sum(self.sizes) + self.constant

    @cached_property
    def radius(self) -> int:
        """No row is longer, in units of 1/ONE."""
        numbers = sum(isinstance(column, Numeric) for column in self.columns)
        others = len(self.columns) - numbers + self.constant
        longest = ONE * ONE * (numbers + others)
        if self.norm is None:
            return math.isqrt(ONE * ONE * (3 * others + numbers) // 3)
        norm = rational(self.norm, "norm")
        if not norm * ONE >= 1:
            raise ValueError(f"norm must be greater than 0, got {self.norm!r}.")
        return min(math.floor(norm * ONE), math.isqrt(longest))

    @cached_property
    def length(self) -> int:
        """No row has a larger sum of sizes, in units of 1/ONE."""
        return min(
            ONE * (len(self.columns) + self.constant),
            math.isqrt(self.width * self.radius**2) + 1,
        )

    def integers(self, codes: Integers) -> Integers:
        """The features of some rows; a category of no declared value has none."""
        found = np.zeros((len(codes), self.width), np.int64)
        at = 0
        for place, (column, size) in enumerate(zip(self.columns, self.sizes, strict=True)):
            code = codes[:, place]
            if isinstance(column, Numeric):
                steps = column.steps(VALUE_BITS)
                if steps:
                    found[:, at] = ((2 * code - steps) * ONE) // steps
            else:
                known = np.flatnonzero((code >= 0) & (code < size))
                found[known, at + code[known]] = ONE
            at += size
        if self.constant:
            found[:, at] = ONE
        return clip_rows(found, self.radius)

    def matrix(self, codes: Integers) -> Floats:
        """The features of all rows, as integers in float64."""
        found = np.empty((len(codes), self.width))
        for start in range(0, len(codes), CHUNK):
            found[start : start + CHUNK] = self.integers(codes[start : start + CHUNK])
        return found
