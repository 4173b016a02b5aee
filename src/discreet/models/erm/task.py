"""What is minimised under which guarantee, and the constants that follow from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.measures import ApproxDP, Measure, PureDP
from discreet.models.erm.features import ONE
from discreet.models.erm.losses import Loss
from discreet.models.erm.objective import MAX_ROWS, WEIGHT_STEP, gradient_error
from discreet.rational import above
from discreet.unit import REPLACE_ONE, Unit

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Task:
    """The public constants of one fit.

    Attributes
    ----------
    loss : Loss
    width : int
        Features, with the constant one.
    radius, length : int
        Bounds on the L2 and L1 norms of a row, in units of 1/ONE.
    measure : PureDP or ApproxDP
    unit : Unit
    alpha : Fraction or None
        Λ as asked for.
    rows : int or None
        A public guess of their number.
    directions : int or None
        In about how many directions features vary; all of them by default.
    """

    loss: Loss
    width: int
    radius: int
    length: int
    measure: Measure
    unit: Unit
    alpha: Fraction | None = None
    rows: int | None = None
    directions: int | None = None

    @property
    def size(self) -> int:
        """How many weights there are."""
        return self.loss.outputs * self.width

    @property
    def epsilon(self) -> Fraction | float:
        """ε; infinite on public rows without noise."""
        assert isinstance(self.measure, PureDP | ApproxDP)
        return self.measure.epsilon

    @property
    def changed(self) -> int:
        """In how many rows the sums of two neighbours differ."""
        return self.unit.rows_per_person * (2 if self.unit.relation is REPLACE_ONE else 1)

    @property
    def row_squared(self) -> Fraction:
        """A bound on the squared L2 norm of the gradient of a row."""
        return self.loss.slope_squared * Fraction(self.radius, ONE) ** 2

    @property
    def row_length(self) -> Fraction:
        """A bound on the L1 norm of the gradient of a row."""
        return self.loss.slope * Fraction(self.length, ONE)

    @cached_property
    def error(self) -> float:
        """How far a computed gradient can be from the true one."""
        return gradient_error(self.loss, self.radius / ONE)

    @cached_property
    def tolerance(self) -> float:
        """The norm that the computed gradient must end below: well above rounding errors."""
        steep = MAX_ROWS * float(self.loss.trace) * (self.radius / ONE) ** 2
        return 8 * self.error + 8 * steep * math.sqrt(self.size) * float(WEIGHT_STEP)

    @cached_property
    def most_regulariser(self) -> Fraction:
        """The largest Λ for which a weight's last digit moves the gradient by less than the tolerance."""
        return MAX_ROWS * self.loss.trace * Fraction(self.radius, ONE) ** 2

    @cached_property
    def gradient_bound(self) -> Fraction:
        """The norm that the true gradient ends below."""
        return above(self.tolerance + self.error)

    def jacobian(self, regulariser: Fraction) -> Fraction:
        """A bound on the log-ratio of two neighbours' determinants, rounded up.

        k·r·log(1 + trace·R²/(rΛ)), r the rank: AM-GM on the k·r eigenvalues (``docs/proofs/erm.md``).
        """
        loss = self.loss
        squared = Fraction(self.radius, ONE) ** 2
        inside = loss.trace * squared / (loss.rank * regulariser)
        return above(self.unit.rows_per_person * loss.rank * math.log1p(above(float(inside))))

    def minimum_regulariser(self, share: Fraction) -> Fraction:
        """The least Λ (nearly) whose determinants take at most this `share` of ε."""
        loss = self.loss
        assert not isinstance(self.epsilon, float)
        part = float(share * self.epsilon) / (self.unit.rows_per_person * loss.rank)
        squared = float(loss.trace) * (self.radius / ONE) ** 2 / loss.rank
        return shorten(Fraction(squared / math.expm1(min(part, 500.0))) * (1 + Fraction(1, 10**9)))


def shorten(value: Fraction) -> Fraction:
    """At least `value`, with 24 significant bits."""
    value = max(value, Fraction(1, 2**60))
    step = Fraction(2) ** (math.frexp(float(value))[1] - 24)
    return math.ceil(value / step) * step


def power_below(value: float) -> Fraction:
    """The largest power of two that is at most `value`."""
    return Fraction(2) ** math.floor(math.log2(value))
