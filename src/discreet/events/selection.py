"""Draws from a set: selections, responses, decisions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.events.base import Event
from discreet.rational import Number, as_integer, non_negative, positive, probability


@dataclass(frozen=True)
class Exponential(Event):
    """Draws whose log-probabilities, between neighbours, change by values in an interval of width ε.

    The exponential mechanism with weights exp(ε·score/(2·sensitivity)) (McSherry & Talwar 2007), and
    products of such draws whose widths add up to `epsilon`. It is ε-DP and ε²/8-zCDP
    (bounded range: Dong, Durfee & Rogers 2020; Cesar & Rogers 2021).

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> accounting.cost(events.Exponential("1/2"), measures.PureDP)
    PureDP(epsilon=0.5)
    >>> accounting.cost(events.Exponential("1/2"), measures.ZCDP)
    ZCDP(rho=0.03125)
    """

    epsilon: Fraction

    def __init__(self, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", non_negative(epsilon, "epsilon"))


@dataclass(frozen=True)
class RandomizedResponse(Event):
    """One value out of `k`, kept with probability e^ε/(e^ε + k - 1), else another one uniformly.

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> accounting.cost(events.RandomizedResponse(1), measures.PureDP)
    PureDP(epsilon=1)
    """

    epsilon: Fraction
    k: int = 2

    def __init__(self, epsilon: Number, k: int = 2) -> None:
        object.__setattr__(self, "epsilon", non_negative(epsilon, "epsilon"))
        object.__setattr__(self, "k", as_integer(k, "k", minimum=2))


@dataclass(frozen=True)
class PartialResponse(Event):
    """A report that says the same about any two values, or else is a randomised response between them.

    `share` is the largest probability of the latter: 1/2 for optimised unary encoding.

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> accounting.cost(events.PartialResponse(1, "1/2"), measures.PureDP)
    PureDP(epsilon=1)
    """

    epsilon: Fraction
    share: Fraction

    def __init__(self, epsilon: Number, share: Number) -> None:
        object.__setattr__(self, "epsilon", non_negative(epsilon, "epsilon"))
        object.__setattr__(self, "share", probability(share, "share"))


@dataclass(frozen=True)
class PermuteAndFlip(Event):
    """One candidate by permute-and-flip, candidate i kept with probability exp(-(best - score_i)/scale).

    No score moves by more than `sensitivity` between neighbours; `monotone` says that they all move in
    the same direction. Costs 2·sensitivity/scale of pure DP, half of that if monotone
    (McKenna & Sheldon 2020). Its range is wider than that of the exponential mechanism.

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> accounting.cost(events.PermuteAndFlip(4), measures.PureDP)
    PureDP(epsilon=0.5)
    """

    scale: Fraction
    sensitivity: int = 1
    monotone: bool = False

    def __init__(self, scale: Number, sensitivity: int = 1, monotone: bool = False) -> None:
        _set_selection(self, scale, sensitivity, monotone)


@dataclass(frozen=True)
class NoisyMax(Event):
    """The index of the largest of integers plus geometric noise, P(k) ∝ exp(-k/scale) for k >= 0.

    Ties are broken by an order that doesn't depend on the data. No score moves by more than
    `sensitivity` between neighbours; `monotone` says that they all move in the same direction. Costs
    2·sensitivity/scale of pure DP, half of that if monotone (Dwork & Roth 2014, Claim 3.9).

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> accounting.cost(events.NoisyMax(4), measures.PureDP)
    PureDP(epsilon=0.5)
    >>> accounting.cost(events.NoisyMax(4, monotone=True), measures.PureDP)
    PureDP(epsilon=0.25)
    """

    scale: Fraction
    sensitivity: int = 1
    monotone: bool = False

    def __init__(self, scale: Number, sensitivity: int = 1, monotone: bool = False) -> None:
        _set_selection(self, scale, sensitivity, monotone)


@dataclass(frozen=True)
class SparseVector(Event):
    """Which integers of a stream reach a noisy threshold, until `cutoff` of them have.

    Discrete Laplace noise of `threshold_scale` on the threshold, once, and of `answer_scale` on each
    integer. Costs sensitivity/threshold_scale + cutoff·2·sensitivity/answer_scale of pure DP, without
    the 2 if `monotone` (Lyu, Su & Li 2017). Numbers released are events of their own.

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> accounting.cost(events.SparseVector(4, 8), measures.PureDP)
    PureDP(epsilon=0.5)
    >>> accounting.cost(events.SparseVector(4, 8, cutoff=3), measures.PureDP)
    PureDP(epsilon=1)
    """

    threshold_scale: Fraction
    answer_scale: Fraction
    cutoff: int = 1
    sensitivity: int = 1
    monotone: bool = False

    def __init__(
        self,
        threshold_scale: Number,
        answer_scale: Number,
        cutoff: int = 1,
        sensitivity: int = 1,
        monotone: bool = False,
    ) -> None:
        object.__setattr__(self, "threshold_scale", positive(threshold_scale, "threshold_scale"))
        object.__setattr__(self, "answer_scale", positive(answer_scale, "answer_scale"))
        object.__setattr__(self, "cutoff", as_integer(cutoff, "cutoff", minimum=1))
        object.__setattr__(self, "sensitivity", as_integer(sensitivity, "sensitivity"))
        object.__setattr__(self, "monotone", _flag(monotone, "monotone"))


def _set_selection(event: Event, scale: Number, sensitivity: int, monotone: bool) -> None:
    object.__setattr__(event, "scale", positive(scale, "scale"))
    object.__setattr__(event, "sensitivity", as_integer(sensitivity, "sensitivity"))
    object.__setattr__(event, "monotone", _flag(monotone, "monotone"))


def _flag(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {type(value).__name__}.")
    return value
