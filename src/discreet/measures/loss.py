"""Privacy-loss distributions, from Google's dp-accounting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.measures.kinds import Measure
from discreet.rational import whole

#: Below this δ the discretisation's truncated tail mass is no longer small: not answered.
SMALLEST_DELTA = 1e-10


@dataclass(frozen=True, eq=False)
class PrivacyLoss(Measure):
    """A dominating privacy-loss distribution, discretised pessimistically.

    It prices plans that are fixed in advance; it is never a running total of a ledger.
    Source: Sommer, Meiser & Mohammadi 2019; Doroshenko et al. 2022; dp-accounting's ``pld``.
    """

    distribution: Any

    def __add__(self, other: PrivacyLoss) -> PrivacyLoss:
        if not isinstance(other, PrivacyLoss):
            return NotImplemented
        return PrivacyLoss(self.distribution.compose(other.distribution))

    def times(self, count: int) -> PrivacyLoss:
        return PrivacyLoss(self.distribution.self_compose(whole(count, "count", least=1)))

    def delta(self, epsilon: float) -> float:
        """The smallest δ at which this loss is (ε, δ)-DP, to the discretisation, from above."""
        return float(self.distribution.get_delta_for_epsilon(float(epsilon)))

    def epsilon(self, delta: float) -> float:
        """The smallest ε at which this loss is (ε, δ)-DP, to the discretisation, from above."""
        if delta < SMALLEST_DELTA:
            raise ValueError(
                f"privacy-loss distributions are not asked below delta = {SMALLEST_DELTA:g}, "
                "where their truncation counts: use the Rényi curve."
            )
        return float(self.distribution.get_epsilon_for_delta(float(delta)))

    def _at_most(self, other: PrivacyLoss) -> bool:
        raise TypeError("privacy-loss distributions are compared at a given delta, not as wholes.")

    def to_dict(self) -> dict[str, Any]:
        raise TypeError("privacy-loss distributions are computed from events, not stored.")
