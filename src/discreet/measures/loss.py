"""Privacy-loss distributions, kept as the list of what they are made of."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.measures.gaussian import gaussian_delta, gaussian_epsilon
from discreet.measures.kinds import Measure
from discreet.measures.loss_atoms import Normal, Part, Response
from discreet.measures.loss_responses import MAX_RESPONSES, responses_delta, responses_epsilon
from discreet.measures.loss_sum import TooManyLosses, sum_delta, sum_epsilon
from discreet.rational import (
    Number,
    as_integer,
    float_above,
    float_below,
    non_negative,
    probability,
)

__all__ = ["SMALLEST_DELTA", "PrivacyLoss", "TooManyLosses", "identity"]

#: Below this δ the floats of the tails run out, and there is no answer.
SMALLEST_DELTA = Fraction(1, 10**100)

#: Distances of normal noise above this are not put on a grid: δ is near 1 for any useful ε.
_LARGEST_MU_SQUARED = 400
#: δ at an ε above this is answered for this ε.
_LARGEST_EPSILON = 5000.0


@dataclass(frozen=True, eq=False)
class PrivacyLoss(Measure):
    """The privacy loss of a plan: its parts, how often each occurs, and the chance that all is lost.

    It prices plans that are fixed in advance; it is never a running total of a ledger. Normal noise on
    everyone, and many equal pure guarantees, are counted exactly; mixtures are added up on a grid, with a
    proved error. Source: Sommer, Meiser & Mohammadi 2019; Doroshenko et al. 2022.

    Parameters
    ----------
    parts : tuple of (part, count)
        Mechanisms with a known loss, as `accounting.cost(event, PrivacyLoss)` lists them.
    failures : tuple of (probability, count)
        The δ of declared (ε, δ) pairs: with this probability the loss is infinite.

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> plan = events.Compose(events.Repeat(events.Gaussian(5), 10), events.DiscreteLaplace(4))
    >>> loss = accounting.cost(plan, measures.PrivacyLoss)
    >>> 0 < loss.delta(2) < loss.delta(1) < 1
    True
    >>> round(float(loss.epsilon(1e-6)), 2)
    3.1
    """

    parts: tuple[tuple[Part, int], ...] = ()
    failures: tuple[tuple[Fraction, int], ...] = ()

    def __add__(self, other: PrivacyLoss) -> PrivacyLoss:
        if not isinstance(other, PrivacyLoss):
            return NotImplemented
        return PrivacyLoss(
            _merge([*self.parts, *other.parts]), _count([*self.failures, *other.failures])
        )

    def times(self, count: int) -> PrivacyLoss:
        if not as_integer(count, "count"):
            return identity()
        return PrivacyLoss(
            _merge((part, count * times) for part, times in self.parts),
            _count((chance, count * times) for chance, times in self.failures),
        )

    def delta(self, epsilon: Number) -> float:
        """A δ at which this loss is (ε, δ)-DP, close to the smallest.

        Raises
        ------
        TooManyLosses
            Where the error can't be proved to be small.
        """
        asked, lost = non_negative(epsilon, "epsilon"), _lost(self.failures)
        found = self._finite_delta(asked)
        return min(1.0, (lost + (1 - lost) * found) * (1 + 1e-12)) if lost else found

    def epsilon(self, delta: Number) -> Fraction | float:
        """An ε at which this loss is (ε, δ)-DP, close to the smallest.

        Raises
        ------
        TooManyLosses
            Where the error can't be proved to be small.
        """
        asked, lost = probability(delta, "delta"), _lost(self.failures)
        if asked < SMALLEST_DELTA:
            raise ValueError(
                f"delta must be at least {float(SMALLEST_DELTA):g} for privacy-loss distributions, since "
                "floats run out below: use the Rényi curve."
            )
        left = (asked - Fraction(lost)) / (1 - Fraction(lost)) if lost < 1 else Fraction(-1)
        if left < SMALLEST_DELTA:
            return math.inf if left < 0 or self.parts else Fraction(0)
        return self._finite_epsilon(left)

    def _finite_delta(self, epsilon: Fraction) -> float:
        match self.parts:
            case ():
                return 0.0
            case ((Normal(mu_squared=mu_squared, chance=Fraction(numerator=1, denominator=1)), 1),):
                return gaussian_delta(mu_squared, epsilon)
            case ((Response(epsilon=each), count),) if count <= MAX_RESPONSES:
                return responses_delta(each, count, epsilon)
        # δ falls with ε: at a larger one it is no larger
        return sum_delta(_check(self.parts), min(float_below(epsilon), _LARGEST_EPSILON))

    def _finite_epsilon(self, delta: Fraction) -> Fraction | float:
        match self.parts:
            case ():
                return Fraction(0)
            case ((Normal(mu_squared=mu_squared, chance=Fraction(numerator=1, denominator=1)), 1),):
                return gaussian_epsilon(mu_squared, delta)
            case ((Response(epsilon=each), count),) if count <= MAX_RESPONSES:
                return responses_epsilon(each, count, delta)
        found = sum_epsilon(_check(self.parts), float_below(delta))
        return Fraction(found) if math.isfinite(found) else math.inf

    def _at_most(self, other: PrivacyLoss) -> bool:
        raise TypeError("privacy-loss distributions are compared at a given delta, not as wholes.")

    def to_dict(self) -> dict[str, Any]:
        raise TypeError("privacy-loss distributions are computed from events, not stored.")


def identity() -> PrivacyLoss:
    """The loss that is always 0."""
    return PrivacyLoss()


def _count(failures: Iterable[tuple[Fraction, int]]) -> tuple[tuple[Fraction, int], ...]:
    totals: dict[Fraction, int] = {}
    for chance, count in failures:
        totals[chance] = totals.get(chance, 0) + count
    return tuple((chance, count) for chance, count in totals.items() if chance and count)


def _merge(parts: Iterable[tuple[Part, int]]) -> tuple[tuple[Part, int], ...]:
    """Equal parts counted together; normal noise on everyone is one part (Dong, Roth & Su 2022, Cor. 3.3)."""
    totals: dict[Part, int] = {}
    mu_squared = Fraction(0)
    for part, count in parts:
        if isinstance(part, Normal) and part.chance == 1:
            mu_squared += count * part.mu_squared
        else:
            totals[part] = totals.get(part, 0) + count
    if mu_squared:
        totals[Normal(mu_squared, Fraction(1))] = 1
    return tuple(totals.items())


def _lost(failures: Iterable[tuple[Fraction, int]]) -> float:
    """1 - Π(1 - δ)^k, rounded up."""
    logs = 0.0
    for chance, count in failures:
        if chance == 1:
            return 1.0
        logs += float_above(Fraction(count)) * math.log1p(-min(float_above(chance), 1 - 2**-53))
    return min(1.0, -math.expm1(logs) * (1 + 1e-12)) if logs else 0.0


def _check(parts: tuple[tuple[Part, int], ...]) -> tuple[tuple[Part, int], ...]:
    for part, _ in parts:
        if isinstance(part, Normal) and part.mu_squared > _LARGEST_MU_SQUARED:
            raise TooManyLosses("privacy-loss distributions are not made for losses this large.")
    return parts
