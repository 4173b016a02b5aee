"""Random differential privacy: what a sampled sensitivity gives, and nothing more."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.rational import Number, non_negative, probability, readable

__all__ = ["NO_CONVERSION", "RandomDP"]

#: Why a `RandomDP` implies none of the measures of differential privacy.
NO_CONVERSION = (
    "RandomDP does not convert: with probability γ over data drawn from the sampler's distribution it "
    "promises nothing, and for data from any other distribution it never does"
)


@dataclass(frozen=True, repr=False)
class RandomDP:
    """(ε, δ, γ)-random differential privacy: (ε, δ) for all but a share γ of data sets of one distribution.

    It isn't a measure: it has no order, no sum and no conversion, no event has it, and no ledger accepts
    it. Source: Hall, Rinaldo & Wasserman 2012; with a sampled sensitivity Rubinstein & Aldà 2017.

    Privacy
    -------
    Only if the data are drawn, independently, from the sampler's distribution. For a fixed data set, or one
    neighbour that an attacker picks, it promises nothing.
    Proof page: ``docs/proofs/bernstein.md``.

    Examples
    --------
    >>> from discreet import measures
    >>> promise = measures.RandomDP(1, 0, 0.05)  # nothing for one data set in twenty
    >>> isinstance(promise, measures.Measure)
    False
    """

    epsilon: Fraction
    delta: Fraction
    gamma: Fraction

    def __init__(self, epsilon: Number, delta: Number, gamma: Number) -> None:
        object.__setattr__(self, "epsilon", non_negative(epsilon, "epsilon"))
        object.__setattr__(self, "delta", probability(delta, "delta"))
        object.__setattr__(self, "gamma", probability(gamma, "gamma"))

    def __repr__(self) -> str:
        return (
            f"RandomDP(epsilon={readable(self.epsilon)}, delta={readable(self.delta)}, "
            f"gamma={readable(self.gamma)})"
        )
