"""Privacy-loss distributions, from Google's dp-accounting."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.measures.kinds import Measure
from discreet.rational import Number, float_below, non_negative, probability, whole

#: Below this δ the truncated tails and the rounding of Fourier transforms count: not answered.
SMALLEST_DELTA = Fraction(1, 10**10)

#: What rounding inside a distribution may hide, of δ and beside it: the Fourier transforms for a
#: thousand Gaussians with σ = 10 were seen to lose 4e-15.
_HIDDEN_SHARE, _HIDDEN = 1e-4, 1e-12


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
        if not whole(count, "count"):
            return PrivacyLoss(identity())
        if count == 1:
            return self
        return PrivacyLoss(self.distribution.self_compose(count))

    def delta(self, epsilon: Number) -> float:
        """A δ at which this loss is (ε, δ)-DP, close to the smallest; never below 1e-10."""
        asked = float_below(non_negative(epsilon, "epsilon"))
        found = float(self.distribution.get_delta_for_epsilon(asked))
        return min(1.0, max((found + _HIDDEN) / (1 - _HIDDEN_SHARE), float(SMALLEST_DELTA)))

    def epsilon(self, delta: Number) -> float:
        """An ε at which this loss is (ε, δ)-DP, close to the smallest."""
        asked = probability(delta, "delta")
        if asked < SMALLEST_DELTA:
            raise ValueError(
                f"privacy-loss distributions are not asked below delta = {float(SMALLEST_DELTA):g}, "
                "where their truncation counts: use the Rényi curve."
            )
        within = float_below(asked) * (1 - _HIDDEN_SHARE) - _HIDDEN
        return float(self.distribution.get_epsilon_for_delta(within)) * (1 + 1e-12)

    def _at_most(self, other: PrivacyLoss) -> bool:
        raise TypeError("privacy-loss distributions are compared at a given delta, not as wholes.")

    def to_dict(self) -> dict[str, Any]:
        raise TypeError("privacy-loss distributions are computed from events, not stored.")


def identity() -> Any:
    """The distribution of a loss that is always 0."""
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution.identity()
