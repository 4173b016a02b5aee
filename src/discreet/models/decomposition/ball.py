"""Rows around a public centre, in a ball, as integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from discreet.coding import VALUE_BITS, Sensitivity
from discreet.coding.clipping import LARGEST_CODE, clip_rows
from discreet.columns import Numeric
from discreet.unit import REPLACE_ONE, Unit

__all__ = ["RADIUS", "Ball"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: The ball's radius on the integer grid: sums of squares of 2^32 rows stay below 2^62.
RADIUS = 2**15
#: Rows whose products are added at a time: below 2^53, so exact in float64 in whatever order.
_ROWS = 2**16


@final
@dataclass(frozen=True, eq=False)
class Ball:
    """A ball around a centre; rows outside are moved to its surface, along the ray from the centre.

    Parameters
    ----------
    columns : tuple of Numeric
        The declarations of the columns, in order.
    centre : array of shape (d,)
        In the units of the columns: public, or noised already.
    norm : float
        The radius in the units of the columns, greater than 0.

    Privacy
    -------
    `rows` is a function of each row alone, and Σz² <= RADIUS² holds in integers. So one row adds to
    the Gram matrix of all rows a matrix zz' with v'zz'v in [0, RADIUS²] for each unit vector v.
    Proof page: ``docs/proofs/decomposition.md``.
    """

    columns: tuple[Numeric, ...]
    centre: Floats
    norm: float

    def rows(self, codes: Integers) -> Integers:
        """The rows on the grid, from schema codes of shape (n, d)."""
        steps = np.array([column.steps(VALUE_BITS) for column in self.columns], np.float64)
        width = np.array([float(column.width) for column in self.columns])
        lower = np.array([float(column.lower) for column in self.columns])
        exact = np.array([column.is_exact(VALUE_BITS) for column in self.columns])
        step = width / np.maximum(steps, 1.0)
        # where the centre is among the codes; a floor's codes lie half a step low
        middle = np.where(step > 0, (self.centre - lower) / np.where(step > 0, step, 1.0), 0.0)
        middle = middle - np.where(exact, 0.0, 0.5)
        # no finite code may become infinite, however small the norm is
        with np.errstate(over="ignore"):
            scale = np.minimum(step / self.norm * RADIUS, float(LARGEST_CODE))
        z = np.rint((codes - middle) * scale)
        return clip_rows(np.clip(z, -LARGEST_CODE, LARGEST_CODE).astype(np.int64), RADIUS)

    @property
    def squared_unit(self) -> float:
        """What 1 in a sum of squares is in squared units of the columns."""
        unit = self.norm / RADIUS
        return min(unit * unit, 1e200)

    def gram(self, codes: Integers) -> Integers:
        """The sum of zz' over all rows, exactly."""
        d = len(self.columns)
        total = np.zeros((d, d), np.int64)
        for start in range(0, len(codes), _ROWS):
            z = self.rows(codes[start : start + _ROWS]).astype(np.float64)
            total += (z.T @ z).astype(np.int64)
        return total

    def squares(self, codes: Integers, directions: Floats) -> Integers:
        """The sums of squares along orthonormal directions, and what is left, of shape (k + 1,).

        Directions are rounded to a grid, so that a row's squares are exact integers; their sum is capped at
        the row's own Σz², so that all k + 1 numbers of a row are at least 0 and add up to at most RADIUS².
        """
        fine = np.rint(directions.T * RADIUS)
        total = np.zeros(len(directions) + 1, np.int64)
        for start in range(0, len(codes), _ROWS):
            z = self.rows(codes[start : start + _ROWS])
            # integers below 2^53 in every partial sum: float64 is exact
            along = np.rint((z.astype(np.float64) @ fine) / RADIUS).astype(np.int64)
            whole = (z * z).sum(axis=1, keepdims=True)
            reached = np.minimum(np.cumsum(along * along, axis=1), whole)
            each = np.diff(reached, axis=1, prepend=0)
            total[:-1] += each.sum(axis=0)
            total[-1] += (whole - reached[:, -1:]).sum()
        return total

    def sensitivity(self, unit: Unit) -> Sensitivity:
        """How far one person moves `squares`: each row adds a non-negative vector of sum RADIUS² at most."""
        rows, most = unit.rows_per_person, RADIUS**2
        if unit.relation is REPLACE_ONE:
            return Sensitivity(2 * rows * most, 2 * (rows * most) ** 2)
        return Sensitivity(rows * most, (rows * most) ** 2)
