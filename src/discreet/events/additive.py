"""Noise that was added to numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.events.base import Event
from discreet.rational import Number, as_integer, non_negative, positive


@dataclass(frozen=True)
class DiscreteLaplace(Event):
    """Integers plus discrete Laplace noise, P(k) ∝ exp(-|k|/scale), on each.

    `sensitivity` is the largest L1 distance of the integer vectors of two neighbours. Costs
    sensitivity/scale of pure DP (Ghosh, Roughgarden & Sundararajan 2012).

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> accounting.cost(events.DiscreteLaplace(4), measures.PureDP)
    PureDP(epsilon=0.25)
    >>> accounting.cost(events.DiscreteLaplace(4, sensitivity=2), measures.PureDP)
    PureDP(epsilon=0.5)
    """

    scale: Fraction
    sensitivity: int = 1

    def __init__(self, scale: Number, sensitivity: int = 1) -> None:
        object.__setattr__(self, "scale", positive(scale, "scale"))
        object.__setattr__(self, "sensitivity", as_integer(sensitivity, "sensitivity"))


def _square(squared: Number | None, sensitivity: Number | None) -> Fraction:
    if squared is not None and sensitivity is not None:
        raise ValueError("give sensitivity_squared or sensitivity, not both.")
    if sensitivity is not None:
        return non_negative(sensitivity, "sensitivity") ** 2
    return Fraction(1) if squared is None else non_negative(squared, "sensitivity_squared")


@dataclass(frozen=True)
class Gaussian(Event):
    """Numbers plus normal noise N(0, sigma²) on each; rounding afterwards changes nothing.

    `sensitivity_squared` is the largest squared L2 distance of the vectors of two neighbours (a
    rational `sensitivity` may be given instead). It is (sensitivity/sigma)-Gaussian DP
    (Dong, Roth & Su 2022, Theorem 2.7).

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> accounting.cost(events.Gaussian(2, sensitivity=1), measures.GaussianDP)
    GaussianDP(mu=0.5)
    >>> accounting.cost(events.Gaussian(2, sensitivity=1), measures.ZCDP)
    ZCDP(rho=0.125)
    """

    sigma: Fraction
    sensitivity_squared: Fraction

    def __init__(
        self,
        sigma: Number,
        sensitivity_squared: Number | None = None,
        *,
        sensitivity: Number | None = None,
    ) -> None:
        object.__setattr__(self, "sigma", positive(sigma, "sigma"))
        object.__setattr__(self, "sensitivity_squared", _square(sensitivity_squared, sensitivity))


@dataclass(frozen=True)
class DiscreteGaussian(Event):
    """Integers plus discrete Gaussian noise, P(k) ∝ exp(-k²/2sigma²), on each.

    It has a Rényi (zCDP) curve (Canonne, Kamath & Steinke 2020, Theorem 14), and at a sensitivity of 1 a
    privacy loss (Theorem 7): the analytic formula of the Gaussian is false for it.

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> accounting.cost(events.DiscreteGaussian(5), measures.ZCDP)
    ZCDP(rho=0.02)
    """

    sigma: Fraction
    sensitivity_squared: Fraction

    def __init__(
        self,
        sigma: Number,
        sensitivity_squared: Number | None = None,
        *,
        sensitivity: Number | None = None,
    ) -> None:
        squared = _square(sensitivity_squared, sensitivity)
        if squared.denominator != 1:
            raise ValueError(
                "sensitivity_squared must be a whole number: discrete Gaussian noise is for integers."
            )
        object.__setattr__(self, "sigma", positive(sigma, "sigma"))
        object.__setattr__(self, "sensitivity_squared", squared)


@dataclass(frozen=True)
class KeyThreshold(Event):
    """Counts of keys that nobody listed, with discrete Laplace noise; only those that reach a threshold.

    `sensitivity` is the largest L1 distance of the counts of two neighbours; one person has at most
    `rows` rows, in at most `groups` keys. It is (sensitivity/scale, δ)-DP, where δ bounds the chance that
    a key of one person alone reaches `threshold`, the mass at the threshold included
    (Korolova, Kenthapadi, Mishra & Ntoulas 2009).

    Examples
    --------
    >>> from discreet import accounting, events
    >>> words = events.KeyThreshold(scale=2, sensitivity=1, threshold=30)
    >>> float(accounting.delta_at(words, "1/2")) < 1e-6
    True
    """

    scale: Fraction
    sensitivity: int
    threshold: int
    rows: int
    groups: int

    def __init__(
        self, scale: Number, sensitivity: int, threshold: int, rows: int = 1, groups: int = 1
    ) -> None:
        object.__setattr__(self, "scale", positive(scale, "scale"))
        object.__setattr__(self, "sensitivity", as_integer(sensitivity, "sensitivity", minimum=1))
        object.__setattr__(self, "rows", as_integer(rows, "rows", minimum=1))
        object.__setattr__(self, "groups", as_integer(groups, "groups", minimum=1))
        object.__setattr__(self, "threshold", as_integer(threshold, "threshold", minimum=1))
        if self.threshold <= self.rows:
            raise ValueError("threshold must be greater than rows: else one person's key may pass.")


@dataclass(frozen=True)
class Staircase(Event):
    """One integer plus discrete staircase noise: stairs of `width`, each e^-ε times the one before.

    The step within a stair comes after `step` integers. `sensitivity` is the largest distance of the
    integers of two neighbours. Costs ε for each started `width` of it
    (Geng & Viswanath 2016).

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> accounting.cost(events.Staircase(2, width=5, step=2, sensitivity=5), measures.PureDP)
    PureDP(epsilon=2)
    """

    epsilon: Fraction
    width: int
    step: int
    sensitivity: int

    def __init__(self, epsilon: Number, width: int, step: int, sensitivity: int) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "width", as_integer(width, "width", minimum=1))
        object.__setattr__(self, "step", as_integer(step, "step", minimum=1))
        object.__setattr__(self, "sensitivity", as_integer(sensitivity, "sensitivity"))
        if self.step > self.width:
            raise ValueError("step must not exceed width.")
