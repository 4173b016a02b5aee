"""Steps on rows: directions by the exponential mechanism, and the variance along them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

import numpy as np
import numpy.typing as npt

from discreet import events
from discreet.measures import PureDP
from discreet.mechanisms import Laplace, NoNoise
from discreet.models.decomposition.ball import Ball
from discreet.noise import bingham
from discreet.schema import Schema
from discreet.step import CodedRows, Step
from discreet.unit import REPLACE_ONE, Unit

__all__ = ["WHY", "PrincipalDirections", "SquaresAlong"]

Floats = npt.NDArray[np.float64]

#: Larger factors are capped: the matrix stays finite whatever the rows are; a smaller factor tells less.
LARGEST_FACTOR = Fraction(10**200)
#: What the guarantee of the draws rests on.
WHY = "unit vectors are drawn from Bingham's distribution in floating point, exactly in real arithmetic only"


@final
class PrincipalDirections(Step):
    """Orthonormal directions in which rows in a ball spread most, drawn one after the other.

    Each v is drawn among the unit vectors orthogonal to those before, with density ∝ exp(c·v'Gv), G the
    sum of zz' over the rows and c = ε/(draws·sides·max_rows·radius²), sides 2 under replace-one, else 1
    (Chaudhuri, Sarwate & Sinha 2013; Kapralov & Talwar 2013 for one direction after the other).

    Parameters
    ----------
    names : tuple of str
    ball : Ball
    count : int
        How many directions, at most the number of columns.
    epsilon : Fraction, or inf for the best directions, without noise
    unit : Unit

    Privacy
    -------
    Pure ε-DP in real arithmetic, hence the event is `Assumed`. The last of all directions follows from the
    others and is not drawn. Columns of width zero come last: that is public. Proof page:
    ``docs/proofs/decomposition.md``.
    """

    def __init__(
        self, names: tuple[str, ...], ball: Ball, count: int, epsilon: Fraction | float, unit: Unit
    ) -> None:
        self.columns = names
        self._ball, self._count, self._epsilon, self._unit = ball, count, epsilon, unit

    @property
    def _wide(self) -> npt.NDArray[np.intp]:
        """The columns in which rows can differ."""
        return np.flatnonzero([column.width > 0 for column in self._ball.columns])

    @property
    def draws(self) -> int:
        """How many directions are drawn; the last of all follows from the others."""
        return min(self._count, max(0, len(self._wide) - 1))

    def event(self, schema: Schema, unit: Unit) -> events.Event:
        if unit != self._unit:
            raise ValueError("unit: this step was made for another unit.")
        if isinstance(self._epsilon, float) and not unit.is_public:
            raise ValueError("epsilon may be infinite (no noise) only with unit=dp.PUBLIC.")
        if isinstance(self._epsilon, float) or not self.draws:
            return events.Compose()
        each = events.Exponential(self._epsilon / self.draws)
        return events.Assumed(events.Repeat(each, self.draws), WHY)

    def run(self, rows: CodedRows) -> Floats:
        """The directions, of shape (count, columns)."""
        wide, d = self._wide, len(self._ball.columns)
        gram = self._ball.gram(rows.codes)[np.ix_(wide, wide)].astype(np.float64)
        basis = np.eye(d)[:, wide]
        found: list[Floats] = []
        while len(found) < min(self._count, len(wide)):
            along = self._one(gram)
            found.append(basis @ along)
            turned = _complement(along)
            basis, gram = basis @ turned, turned.T @ gram @ turned
            gram = (gram + gram.T) / 2
        narrow = [j for j in range(d) if j not in set(wide.tolist())]
        rest = [np.eye(d)[j] for j in narrow[: self._count - len(found)]]
        return np.array([*found, *rest])

    def _one(self, gram: Floats) -> Floats:
        """A direction in the coordinates of what is left."""
        if len(gram) == 1:
            return np.ones(1)
        if isinstance(self._epsilon, float):
            return np.asarray(np.linalg.eigh(gram)[1][:, -1])
        return bingham.bingham(float(min(self.factor(), LARGEST_FACTOR)) * gram)

    def factor(self) -> Fraction:
        """What the Gram matrix is multiplied by: c above."""
        sides = 2 if self._unit.relation is REPLACE_ONE else 1
        most = sides * self._unit.rows_per_person * self._ball.radius**2
        return Fraction(self._epsilon) / (self.draws * most)

    def __repr__(self) -> str:
        return f"PrincipalDirections{self.columns}"


@final
class SquaresAlong(Step):
    """The noised sums of squares of rows in a ball along orthonormal directions, and what is left.

    Parameters
    ----------
    names : tuple of str
    ball : Ball
    directions : array of shape (k, columns)
    measure : PureDP

    Privacy
    -------
    A row's squares along orthonormal directions are at least 0 and add up to its squared norm, so that
    all k + 1 sums together have the L1 sensitivity of one of them. Discrete Laplace noise. Proof page:
    ``docs/proofs/decomposition.md``.
    """

    def __init__(
        self, names: tuple[str, ...], ball: Ball, directions: Floats, measure: PureDP, unit: Unit
    ) -> None:
        self.columns = names
        self._ball, self._directions, self._unit = ball, directions, unit
        self._distribution = Laplace(measure.epsilon).distribution(ball.sensitivity(unit))

    def event(self, schema: Schema, unit: Unit) -> events.Event:
        if unit != self._unit:
            raise ValueError("unit: this step was made for another unit.")
        if isinstance(self._distribution, NoNoise) and unit.is_public:
            return events.Compose()
        return self._distribution.event(self._ball.sensitivity(unit))

    def run(self, rows: CodedRows) -> Floats:
        """The sums in squared units of the columns, of shape (k + 1,)."""
        noised = self._distribution.run(self._ball.squares(rows.codes, self._directions))
        return np.asarray(noised * self._ball.squared_unit)

    def spread(self) -> float:
        """The standard deviation of the noise, in squared units of the columns."""
        return self._distribution.expected_error() * self._ball.squared_unit

    def __repr__(self) -> str:
        return f"SquaresAlong{self.columns}"


def _complement(along: Floats) -> Floats:
    """An orthonormal basis of what is orthogonal to a unit vector, as columns (Householder 1958)."""
    mirror = along.copy()
    mirror[0] += math.copysign(1.0, along[0])
    mirror /= np.sqrt(mirror @ mirror)
    return np.asarray((np.eye(len(along)) - 2.0 * np.outer(mirror, mirror))[:, 1:])
