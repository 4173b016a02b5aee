"""Rows around a public centre, in a ball, as integers."""

from __future__ import annotations

import math
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


def root_above(number: int, divisor: int) -> int:
    """The least integer whose square is at least number/divisor.

    Examples
    --------
    >>> from discreet.models.decomposition.ball import root_above
    >>> root_above(16, 1), root_above(16, 2)
    (4, 3)
    """
    return 1 + math.isqrt(-(-number // divisor) - 1) if number else 0


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
    norm : float, or array of shape (d,)
        The radius in the units of the columns, greater than 0; one for each column makes the ball an
        ellipsoid with these half-axes.
    radius : int
        The radius on the grid: how fine it is.

    Privacy
    -------
    `rows` is a function of each row alone, and Σz² <= radius² holds in integers. So one row adds to
    the Gram matrix of all rows a matrix zz' with v'zz'v in [0, radius²] for each unit vector v.
    Proof page: ``docs/proofs/decomposition.md``.
    """

    columns: tuple[Numeric, ...]
    centre: Floats
    norm: float | Floats
    radius: int = RADIUS

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
            scale = np.minimum(step / self.norm * self.radius, float(LARGEST_CODE))
        z = np.rint((codes - middle) * scale)
        return clip_rows(np.clip(z, -LARGEST_CODE, LARGEST_CODE).astype(np.int64), self.radius)

    @property
    def squared_unit(self) -> float:
        """What 1 in a sum of squares is in squared units of the columns."""
        unit = float(np.max(self.norm)) / self.radius
        return min(unit * unit, 1e200)

    @property
    def product_units(self) -> Floats:
        """What 1 in an entry of the Gram matrix is in the units of its two columns, of shape (d, d)."""
        units = np.broadcast_to(np.asarray(self.norm) / self.radius, len(self.columns))
        with np.errstate(over="ignore"):
            return np.minimum(np.outer(units, units), 1e200)

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
        the row's own Σz², so that all k + 1 numbers of a row are at least 0 and add up to at most radius².
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

    def products_sensitivity(self, unit: Unit) -> Sensitivity:
        """How far one person moves the entries on and above the diagonal of `gram`.

        A row's add up, in size, to ((Σ|z|)² + Σz²)/2, at most (d + 1)·radius²/2, and their squares to
        ((Σz²)² + Σz⁴)/2, at most radius⁴. The proof page has replace-one.
        """
        d, most = len(self.columns), unit.rows_per_person * self.radius**2
        if unit.relation is REPLACE_ONE:
            # d/√2 + 1, rounded up, and never more than twice a person's own
            return Sensitivity(
                min(root_above(d * d * most**2, 2) + most, (d + 1) * most), 2 * most**2
            )
        return Sensitivity((d + 1) * most // 2, most**2)

    def sensitivity(self, unit: Unit) -> Sensitivity:
        """How far one person moves `squares`: each row adds a non-negative vector of sum radius² at most."""
        rows, most = unit.rows_per_person, self.radius**2
        if unit.relation is REPLACE_ONE:
            return Sensitivity(2 * rows * most, 2 * (rows * most) ** 2)
        return Sensitivity(rows * most, (rows * most) ** 2)
