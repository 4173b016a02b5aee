"""One walk over events that knows about counts, with one formula per leaf and measure.

Proof page: ``docs/proofs/accounting.md``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast

from discreet.accounting import curves
from discreet.accounting.google import sampled_gaussian_curve
from discreet.accounting.objective import objective_delta
from discreet.accounting.thresholds import threshold_delta
from discreet.events import (
    Assumed,
    Compose,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Exponential,
    External,
    Gaussian,
    GaussianObjective,
    KeyThreshold,
    LaplaceObjective,
    NoisyMax,
    OneOf,
    Parallel,
    PartialResponse,
    PermuteAndFlip,
    Poisson,
    RandomizedResponse,
    Repeat,
    RepeatAndSelect,
    SparseVector,
    Staircase,
)
from discreet.measures import ZCDP, ApproxDP, GaussianDP, Measure, PureDP, Renyi, convert
from discreet.measures.convert import randomised_response_curve
from discreet.rational import above, float_above

__all__ = [
    "GAUSSIAN",
    "PAIR",
    "PURE",
    "ZERO_CONCENTRATED",
    "Accountant",
    "NoBound",
    "curve_of",
]

T = TypeVar("T", bound=Measure)
M = TypeVar("M", bound=Measure)


class NoBound(ValueError):
    """No theorem known to this toolkit bounds this event in this measure.

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> accounting.cost(events.Gaussian(2), measures.PureDP)
    Traceback (most recent call last):
        ...
    discreet.accounting.counts.NoBound: Gaussian has no finite ε: its loss is unbounded.
    """


class Accountant(ABC, Generic[T]):
    """How one measure counts: its zero, its leaves, and what sampling and selecting do to it."""

    kind: type[T]
    zero: T

    @abstractmethod
    def leaf(self, event: Event) -> T: ...

    @abstractmethod
    def largest(self, branches: list[T], reach: int) -> T:
        """A bound on the sum of any `reach` of the branches."""

    def poisson(self, chance: Fraction, event: Event) -> T:
        raise NoBound(f"no {self.kind.__name__} bound is known for {_name(event)} on a sample.")

    def select(self, event: RepeatAndSelect) -> T:
        raise NoBound(f"no {self.kind.__name__} bound is known for the best of several runs.")

    def external(self, measure: Measure) -> T:
        try:
            return convert(measure, self.kind)
        except ValueError as error:
            raise NoBound(str(error)) from None

    def total(self, event: Event) -> T:
        """The cost of an event."""
        match event:
            case Compose(events=events):
                sum_ = self.zero
                for part in events:
                    sum_ = cast(Any, sum_) + self.total(part)
                return sum_
            case Repeat(event=inner, count=count):
                return cast(T, self.total(inner).times(count)) if count else self.zero
            case Parallel(events=events, reach=reach) if len(set(events)) == 1:
                return cast(T, self.total(events[0]).times(min(reach, len(events))))
            case Parallel(events=events, reach=reach):
                return self.largest([self.total(part) for part in events], reach)
            case OneOf(events=events):
                branches = [self.total(part) for part in dict.fromkeys(events)]
                return branches[0] if len(branches) == 1 else self.largest(branches, 1)
            case Assumed(event=inner):
                return self.total(inner)
            case External(cost=measure):
                return self.external(measure)
            case Poisson(probability=chance, event=inner):
                if chance == 0:
                    return self.zero
                return self.total(inner) if chance == 1 else self.poisson(chance, inner)
            case RepeatAndSelect():
                return self.select(event)
            case _:
                return self.leaf(event)

    def _pure(self, event: Event) -> Fraction:
        """The ε of an event that is pure DP; `NoBound` for any other."""
        epsilon = PURE.total(event).epsilon
        if isinstance(epsilon, float):
            raise NoBound(f"{_name(event)} has no finite ε.")
        return epsilon


def _name(event: Event) -> str:
    return type(event).__name__


def _top(values: Iterable[Any], reach: int) -> Any:
    return sum(sorted(values, reverse=True)[:reach], start=Fraction(0))


def _amplify(chance: Fraction, epsilon: Fraction | float) -> Fraction | float:
    """log(1 + q(e^ε - 1)), rounded up. Source: Balle, Barthe & Gaboardi 2018, Theorem 8."""
    if epsilon > 600:
        return epsilon
    # both arguments rounded up, and kept where a product of two floats does not vanish
    q, e = (max(float_above(x), 1e-140) for x in (chance, epsilon))
    return min(epsilon, above(math.log1p(q * math.expm1(e))))


class _PureAccountant(Accountant[PureDP]):
    kind = PureDP
    zero = PureDP(0)

    def leaf(self, event: Event) -> PureDP:
        match event:
            case DiscreteLaplace(scale=scale, sensitivity=sensitivity):
                return PureDP(sensitivity / scale)
            case Exponential(epsilon=epsilon) | RandomizedResponse(epsilon=epsilon):
                return PureDP(epsilon)
            case PartialResponse(epsilon=epsilon, share=share):
                return PureDP(epsilon) if share else self.zero
            case PermuteAndFlip() | NoisyMax():
                return PureDP((2 - event.monotone) * event.sensitivity / event.scale)
            case SparseVector():
                above_cost = event.cutoff * (2 - event.monotone) / event.answer_scale
                return PureDP(event.sensitivity * (1 / event.threshold_scale + above_cost))
            case Staircase(epsilon=epsilon, width=width, sensitivity=sensitivity):
                return PureDP(epsilon * -(-sensitivity // width))
            case LaplaceObjective(scale=scale, sensitivity=moved, jacobian=jacobian):
                return PureDP(moved / scale + jacobian)
            case Gaussian(sensitivity_squared=s) | DiscreteGaussian(sensitivity_squared=s) if (
                s == 0
            ):
                return self.zero
            case _:
                raise NoBound(f"{_name(event)} has no finite ε: its loss is unbounded.")

    def largest(self, branches: list[PureDP], reach: int) -> PureDP:
        return PureDP(_top((branch.epsilon for branch in branches), reach))

    def poisson(self, chance: Fraction, event: Event) -> PureDP:
        return PureDP(_amplify(chance, self._pure(event)))

    def select(self, event: RepeatAndSelect) -> PureDP:
        return PureDP((2 + event.shape) * self._pure(event.event))  # P. & S. 2022, Corollary 3


class _ZCDPAccountant(Accountant[ZCDP]):
    kind = ZCDP
    zero = ZCDP(0)

    def leaf(self, event: Event) -> ZCDP:
        match event:
            case (
                Gaussian(sigma=sigma, sensitivity_squared=squared)
                | DiscreteGaussian(sigma=sigma, sensitivity_squared=squared)
            ):
                return ZCDP(squared / sigma**2 / 2)
            case Exponential(epsilon=epsilon):
                return ZCDP(epsilon**2 / 8)
            case _:
                return convert(PureDP(self._pure(event)), ZCDP)

    def largest(self, branches: list[ZCDP], reach: int) -> ZCDP:
        return ZCDP(_top((branch.rho for branch in branches), reach))

    def poisson(self, chance: Fraction, event: Event) -> ZCDP:
        return convert(PURE.poisson(chance, event), ZCDP)

    def select(self, event: RepeatAndSelect) -> ZCDP:
        return convert(PURE.select(event), ZCDP)


class _GaussianAccountant(Accountant[GaussianDP]):
    kind = GaussianDP
    zero = GaussianDP(Fraction(0))

    def leaf(self, event: Event) -> GaussianDP:
        if isinstance(event, Gaussian):
            return GaussianDP(event.sensitivity_squared / event.sigma**2)
        if isinstance(event, DiscreteGaussian):
            raise NoBound(
                "the discrete Gaussian is not Gaussian DP: count its Rényi curve or its privacy loss."
            )
        raise NoBound(f"{_name(event)} is not Gaussian.")

    def largest(self, branches: list[GaussianDP], reach: int) -> GaussianDP:
        return GaussianDP(_top((branch.mu_squared for branch in branches), reach))


class _RenyiAccountant(Accountant[Renyi]):
    kind = Renyi

    def __init__(self, orders: tuple[float, ...]) -> None:
        self.orders = orders
        self.zero = Renyi(dict.fromkeys(orders, 0.0))

    def leaf(self, event: Event) -> Renyi:
        match event:
            case DiscreteLaplace(scale=scale, sensitivity=t):
                return self._curve(lambda order: curves.discrete_laplace(scale, t, order))
            case (
                Gaussian(sigma=sigma, sensitivity_squared=squared)
                | DiscreteGaussian(sigma=sigma, sensitivity_squared=squared)
            ):
                rho = squared / sigma**2 / 2
                return self._curve(lambda order: curves.gaussian(rho, order))
            case Exponential(epsilon=epsilon):
                return self._curve(lambda order: curves.bounded_range(epsilon, order))
            case RandomizedResponse(epsilon=epsilon, k=k):
                return self._curve(lambda order: randomised_response_curve(epsilon, order, k))
            case PartialResponse(epsilon=epsilon, share=share):
                return self._curve(lambda order: curves.partial_response(epsilon, share, order))
            case PermuteAndFlip() | NoisyMax() | SparseVector() | Staircase() | LaplaceObjective():
                # nothing better is proved than what every mechanism with their ε satisfies
                return convert(PureDP(self._pure(event)), Renyi, orders=self.orders)
            case _:
                raise NoBound(f"{_name(event)} has no Rényi curve.")

    def _curve(self, formula: Callable[[float], float]) -> Renyi:
        return Renyi({order: formula(order) for order in self.orders})

    def largest(self, branches: list[Renyi], reach: int) -> Renyi:
        def at(order: float) -> float:
            values = sorted((branch.curve[order] for branch in branches), reverse=True)[:reach]
            return math.fsum(values) * (1 + 1e-15)

        return self._curve(at) if branches else self.zero

    def external(self, measure: Measure) -> Renyi:
        try:
            found = convert(measure, Renyi, orders=self.orders)
        except ValueError as error:
            raise NoBound(str(error)) from None
        return self._curve(found.at)

    def poisson(self, chance: Fraction, event: Event) -> Renyi:
        try:
            mu_squared = GAUSSIAN.total(event).mu_squared
        except NoBound:
            return convert(PURE.poisson(chance, event), Renyi, orders=self.orders)
        if mu_squared == 0:
            return self.zero
        return Renyi(sampled_gaussian_curve(chance, mu_squared, self.orders))

    def select(self, event: RepeatAndSelect) -> Renyi:
        inner = dict(self.total(event.event).curve)
        return Renyi(curves.select_best(inner, event.shape, event.gamma))


class _PairAccountant(Accountant[ApproxDP]):
    """Basic composition of (ε, δ) pairs: pure events, thresholds and declared pairs."""

    kind = ApproxDP
    zero = ApproxDP(0, Fraction(0))

    def leaf(self, event: Event) -> ApproxDP:
        if isinstance(event, KeyThreshold):
            delta = threshold_delta(event.scale, event.threshold, event.rows, event.groups)
            return ApproxDP(event.sensitivity / event.scale, delta)
        if isinstance(event, GaussianObjective):
            return ApproxDP(event.epsilon, objective_delta(event))
        return ApproxDP(self._pure(event), Fraction(0))

    def largest(self, branches: list[ApproxDP], reach: int) -> ApproxDP:
        return ApproxDP(
            _top((branch.epsilon for branch in branches), reach),
            min(Fraction(1), _top((branch.delta for branch in branches), reach)),
        )

    def external(self, measure: Measure) -> ApproxDP:
        if isinstance(measure, PureDP | ApproxDP):
            return convert(measure, ApproxDP)
        raise NoBound(f"{type(measure).__name__} has no (ε, δ) of its own.")

    def poisson(self, chance: Fraction, event: Event) -> ApproxDP:
        pair = self.total(event)
        # Balle, Barthe & Gaboardi 2018, Theorem 8
        return ApproxDP(_amplify(chance, pair.epsilon), chance * pair.delta)

    def select(self, event: RepeatAndSelect) -> ApproxDP:
        # P. & S. 2022, Corollary 3, outside of δ·E[K]: proof page ``docs/proofs/model_selection.md``
        run = self.total(event.event)
        runs = math.exp(curves.log_mean_runs(event.shape, event.gamma)[0]) if run.delta else 0.0
        delta = min(Fraction(1), run.delta * above(runs))
        return ApproxDP((2 + event.shape) * run.epsilon, delta)


PURE, GAUSSIAN, PAIR, ZERO_CONCENTRATED = (
    _PureAccountant(), _GaussianAccountant(), _PairAccountant(), _ZCDPAccountant(),
)  # fmt: skip


@lru_cache(maxsize=4096)
def curve_of(event: Event, orders: tuple[float, ...]) -> Renyi:
    """The Rényi curve of an event at these orders."""
    return _RenyiAccountant(orders).total(event)
