"""Staircase noise on one integer: pure DP with the least error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
import numpy.typing as npt

from discreet import events, noise
from discreet.coding import Sensitivity
from discreet.measures import PureDP
from discreet.mechanisms.additive import Mechanism, NoNoise
from discreet.mechanisms.distributions import Distribution, drawable_scale
from discreet.rational import Number, as_integer

__all__ = ["Staircase", "StaircaseDistribution"]

Integers = npt.NDArray[np.int64]


@final
@dataclass(frozen=True)
class StaircaseDistribution(Distribution):
    """Discrete staircase noise.

    P(k) = a·e^(-ε·g) on the first `step` integers of stair g = \\|k\\| // `width`, and e^-ε times that on
    the rest of the stair, with a = (1 - b)/(2·step + 2b·(width - step) - (1 - b)), b = e^-ε
    (Geng & Viswanath 2016, the discrete case). With width 1 it is discrete Laplace noise.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet import mechanisms
    >>> noise = mechanisms.StaircaseDistribution(Fraction(2), width=5, step=2)
    >>> round(noise.expected_error(), 3), noise.half_width(0.95)
    (3.243, 6.0)
    """

    epsilon: Fraction
    width: int
    step: int

    def event(self, sensitivity: Sensitivity) -> events.Staircase:
        if sensitivity.l2_squared != sensitivity.l1**2:
            raise ValueError("staircase noise is for one integer: a person may move only one.")
        return events.Staircase(self.epsilon, self.width, self.step, sensitivity.l1)

    def run(self, totals: Integers) -> Integers:
        return totals + self.draw(totals.size).reshape(totals.shape)

    def draw(self, size: int) -> Integers:
        """Independent draws, exact: no float decides anything."""
        out: Integers = np.zeros(size, np.int64)
        pending, rest = np.arange(size), self.width - self.step
        while pending.size:
            count = pending.size
            # which part of its stair: of weights step and e^-ε·(width - step)
            after = noise.select([0, -1], self.epsilon, [self.step, rest], size=count)
            first = noise.uniform_below(self.step, count)
            last = self.step + noise.uniform_below(max(1, rest), count)
            offsets = np.where(after, last, first)
            magnitudes = noise.geometric(1 / self.epsilon, count) * self.width + offsets
            negative = noise.bernoulli(Fraction(1, 2), count)
            kept = ~(negative & (magnitudes == 0))  # zero must not count for both signs
            out[pending[kept]] = np.where(negative, -magnitudes, magnitudes)[kept]
            pending = pending[~kept]
        return out

    def tail(self, t: int) -> float:
        """P(\\|noise\\| > t), t >= 0, to a few ulp."""
        b, top = math.exp(-float(self.epsilon)), self._top()
        stair, offset = divmod(t + 1, self.width)
        # from offset to the end of this stair, and all of the next ones
        high, low = max(0, self.step - offset), self.width - max(offset, self.step)
        rest = b * (self.step + b * (self.width - self.step)) / -math.expm1(-float(self.epsilon))
        return 2 * top * math.exp(-float(self.epsilon) * stair) * (high + b * low + rest)

    def half_width(self, level: float) -> float:
        high = self.width
        while self.tail(high) > 1 - level:
            high *= 2
        low = -1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.tail(middle) <= 1 - level else (middle, high)
        return float(high)

    def expected_error(self) -> float:
        return math.sqrt(_variance(float(self.epsilon), self.width, np.array([self.step]))[0])

    def _top(self) -> float:
        return float(_top(float(self.epsilon), self.width, np.array([self.step]))[0])


def _top(epsilon: float, width: int, steps: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The probability of zero."""
    b, rest = math.exp(-epsilon), -math.expm1(-epsilon)
    return np.asarray(rest / (2 * steps + 2 * b * (width - steps) - rest), np.float64)


def _variance(epsilon: float, width: int, steps: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """E[K²] = 2·Σ_g b^g·Σ_u w_u·(g·width + u)², with w_u = 1 below the step and b above."""
    b, rest, r, n = math.exp(-epsilon), -math.expm1(-epsilon), steps.astype(float), float(width)

    def sums(m: npt.NDArray[np.float64] | float) -> tuple[object, object, object]:
        return m, m * (m - 1) / 2, (m - 1) * m * (2 * m - 1) / 6

    weight, first, second = (
        np.asarray(low) + b * (np.asarray(full) - np.asarray(low))
        for low, full in zip(sums(r), sums(n), strict=True)
    )
    powers = (1 / rest, b / rest**2, b * (1 + b) / rest**3)  # Σ b^g, Σ g·b^g, Σ g²·b^g
    total = n**2 * powers[2] * weight + 2 * n * powers[1] * first + powers[0] * second
    return np.asarray(2 * _top(epsilon, width, steps) * total, np.float64)


@final
class Staircase(Mechanism):
    """Staircase noise for one integer: the least error of all noise with this ε, for its step.

    Compared with Laplace noise it saves little of the error below ε = 1 and most of it above ε = 5, if the
    sensitivity is large. For a sensitivity of 1 it is discrete Laplace noise.

    Parameters
    ----------
    epsilon : number
        Greater than 0.

    Privacy
    -------
    Pure ε-DP for **one** integer that moves by at most `sensitivity` (Geng & Viswanath 2016). For a
    vector the L1 sensitivity isn't enough: two coordinates that each move by 1 may cost ε each. The
    draw is exact. Event: `events.Staircase`. Proof page: ``docs/proofs/staircase.md``.

    Examples
    --------
    >>> from discreet import mechanisms
    >>> sharp = mechanisms.Staircase(5)
    >>> 900 < sharp.run(1_000, sensitivity=20) < 1_100
    True
    >>> sharp.event(sensitivity=20)
    Staircase(epsilon=Fraction(5, 1), width=20, step=3, sensitivity=20)
    """

    def __init__(self, epsilon: Number) -> None:
        self.measure: PureDP = PureDP(epsilon)
        if not 0 < self.measure.epsilon < math.inf:
            raise ValueError("epsilon must be greater than 0, and finite.")
        self.epsilon = Fraction(self.measure.epsilon)

    def noise(self, sensitivity: int = 1) -> StaircaseDistribution:
        """The noise with the step of least variance; up to 2^12 steps are tried, all of them private."""
        width = as_integer(sensitivity, "sensitivity", minimum=1)
        drawable_scale(max(width / self.epsilon, Fraction(width)))  # a stair, too, must fit
        epsilon = 1 / drawable_scale(1 / self.epsilon)
        steps = np.unique(np.linspace(1, width, min(width, 4096)).astype(np.int64))
        best = int(steps[np.argmin(_variance(float(epsilon), width, steps))])
        return StaircaseDistribution(epsilon, width, best)

    def for_sums(self, sensitivity: Sensitivity, size: int) -> Distribution:
        if size > 1:
            raise ValueError(
                f"budget: staircase noise is for one sum, and this answer has {size}, which one person may "
                "move together: use dp.mechanisms.Laplace."
            )
        return self.noise(sensitivity.l1) if sensitivity.l1 else NoNoise()

    def event(self, sensitivity: int = 1) -> events.Staircase:
        """The event of adding this noise to one integer, for the accountant."""
        return self.noise(sensitivity).event(Sensitivity(sensitivity, sensitivity**2))

    def run(self, value: int, sensitivity: int = 1) -> int:
        """The integer with fresh noise."""
        if np.ndim(value):
            raise TypeError("value must be one integer: staircase noise is not for vectors.")
        return int(value) + int(self.noise(sensitivity).draw(1)[0])

    def expected_error(self, sensitivity: int = 1) -> float:
        """The standard deviation of the noise."""
        return self.noise(sensitivity).expected_error()

    def __repr__(self) -> str:
        return f"Staircase({self.measure!r})"
