"""One walk over events that knows about counts, with one formula per leaf and measure."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast

from discreet.accounting import curves
from discreet.accounting.google import loss_distribution, sampled_gaussian_curve
from discreet.events import (
    Assumed,
    Compose,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Exponential,
    External,
    Gaussian,
    Parallel,
    Poisson,
    RandomizedResponse,
    Repeat,
    RepeatAndSelect,
)
from discreet.measures import (
    ORDERS,
    ZCDP,
    ApproxDP,
    GaussianDP,
    Measure,
    PrivacyLoss,
    PureDP,
    Renyi,
    convert,
)
from discreet.measures.convert import gaussian_delta, gaussian_epsilon
from discreet.measures.loss import SMALLEST_DELTA
from discreet.rational import Number, above, non_negative, probability

__all__ = ["NoBound", "cost", "delta_at", "epsilon_at", "satisfies"]

T = TypeVar("T", bound=Measure)
M = TypeVar("M", bound=Measure)


class NoBound(ValueError):
    """No theorem known to this toolkit bounds this event in this measure."""


class _Count(ABC, Generic[T]):
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
            case Parallel(events=events, reach=reach):
                return self.largest([self.total(part) for part in events], reach)
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
        epsilon = _PURE.total(event).epsilon
        if isinstance(epsilon, float):
            raise NoBound(f"{_name(event)} has no finite ε.")
        return epsilon


def _name(event: Event) -> str:
    return type(event).__name__


def _top(values: Iterable[Any], reach: int) -> Any:
    return sum(sorted(values, reverse=True)[:reach], start=Fraction(0))


class _PureCount(_Count[PureDP]):
    kind = PureDP
    zero = PureDP(0)

    def leaf(self, event: Event) -> PureDP:
        match event:
            case DiscreteLaplace(scale=scale, sensitivity=sensitivity):
                return PureDP(sensitivity / scale)
            case Exponential(epsilon=epsilon) | RandomizedResponse(epsilon=epsilon):
                return PureDP(epsilon)
            case Gaussian(sensitivity_squared=s) | DiscreteGaussian(sensitivity_squared=s) if (
                s == 0
            ):
                return self.zero
            case _:
                raise NoBound(f"{_name(event)} has no finite ε: its loss is unbounded.")

    def largest(self, branches: list[PureDP], reach: int) -> PureDP:
        return PureDP(_top((branch.epsilon for branch in branches), reach))

    def poisson(self, chance: Fraction, event: Event) -> PureDP:
        epsilon = self._pure(event)
        if epsilon > 700:
            return PureDP(epsilon)
        # Balle, Barthe & Gaboardi 2018, Theorem 8
        return PureDP(min(epsilon, above(math.log1p(float(chance) * math.expm1(float(epsilon))))))

    def select(self, event: RepeatAndSelect) -> PureDP:
        return PureDP((2 + event.shape) * self._pure(event.event))  # P. & S. 2022, Corollary 3


class _ZCDPCount(_Count[ZCDP]):
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
        return convert(_PURE.poisson(chance, event), ZCDP)

    def select(self, event: RepeatAndSelect) -> ZCDP:
        return convert(_PURE.select(event), ZCDP)


class _GaussianCount(_Count[GaussianDP]):
    kind = GaussianDP
    zero = GaussianDP(Fraction(0))

    def leaf(self, event: Event) -> GaussianDP:
        if isinstance(event, Gaussian):
            return GaussianDP(event.sensitivity_squared / event.sigma**2)
        if isinstance(event, DiscreteGaussian):
            raise NoBound(
                "the discrete Gaussian is not Gaussian DP: only its Rényi curve is proved."
            )
        raise NoBound(f"{_name(event)} is not Gaussian.")

    def largest(self, branches: list[GaussianDP], reach: int) -> GaussianDP:
        return GaussianDP(_top((branch.mu_squared for branch in branches), reach))


class _RenyiCount(_Count[Renyi]):
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
                return self._curve(lambda order: curves.randomized_response(epsilon, k, order))
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
        return self._curve(lambda order: found.curve.get(order, math.inf))

    def poisson(self, chance: Fraction, event: Event) -> Renyi:
        try:
            mu_squared = _GAUSSIAN.total(event).mu_squared
        except NoBound:
            return convert(_PURE.poisson(chance, event), Renyi, orders=self.orders)
        if mu_squared == 0:
            return self.zero
        return Renyi(sampled_gaussian_curve(chance, mu_squared, self.orders))

    def select(self, event: RepeatAndSelect) -> Renyi:
        inner = dict(self.total(event.event).curve)
        return Renyi(curves.select_best(inner, event.shape, event.gamma))


class _LossCount(_Count[PrivacyLoss]):
    kind = PrivacyLoss

    @property
    def zero(self) -> PrivacyLoss:  # type: ignore[override]
        from dp_accounting.pld import privacy_loss_distribution

        return PrivacyLoss(privacy_loss_distribution.identity())

    def leaf(self, event: Event) -> PrivacyLoss:
        match event:
            case Gaussian(sigma=sigma, sensitivity_squared=squared):
                return self._gaussian(squared / sigma**2, Fraction(1))
            case DiscreteLaplace(scale=scale, sensitivity=1) if 1e-3 < scale < 1e5:
                # with L1 sensitivity 1 in integers one coordinate moves, so the scalar law is exact
                return self._of("discrete_laplace", scale)
            case _:
                return self._of("parameters", self._pure(event))

    def _of(self, kind: str, first: Fraction, second: Fraction = Fraction(0)) -> PrivacyLoss:
        if first > 100:
            raise NoBound("privacy-loss distributions are not made for losses above 100.")
        return PrivacyLoss(loss_distribution(kind, first, second, Fraction(1)))

    def _gaussian(self, mu_squared: Fraction, chance: Fraction) -> PrivacyLoss:
        if mu_squared == 0:
            return self.zero
        if mu_squared > 400:
            raise NoBound("privacy-loss distributions are not made for μ above 20.")
        return PrivacyLoss(loss_distribution("gaussian", mu_squared, Fraction(0), chance))

    def largest(self, branches: list[PrivacyLoss], reach: int) -> PrivacyLoss:
        raise NoBound("losses of different branches have no largest: use the Rényi curve.")

    def external(self, measure: Measure) -> PrivacyLoss:
        if isinstance(measure, PureDP | ApproxDP) and not isinstance(measure.epsilon, float):
            delta = measure.delta if isinstance(measure, ApproxDP) else Fraction(0)
            return self._of("parameters", measure.epsilon, delta)
        raise NoBound(f"{type(measure).__name__} gives no privacy-loss distribution.")

    def poisson(self, chance: Fraction, event: Event) -> PrivacyLoss:
        try:
            mu_squared = _GAUSSIAN.total(event).mu_squared
        except NoBound:
            epsilon = _PURE.poisson(chance, event).epsilon
            return self._of("parameters", Fraction(epsilon))
        return self._gaussian(mu_squared, chance)

    def select(self, event: RepeatAndSelect) -> PrivacyLoss:
        return self._of("parameters", Fraction(_PURE.select(event).epsilon))


class _PairCount(_Count[ApproxDP]):
    """Basic composition of (ε, δ) pairs: pure events and declared pairs."""

    kind = ApproxDP
    zero = ApproxDP(0, Fraction(0))

    def leaf(self, event: Event) -> ApproxDP:
        return ApproxDP(self._pure(event), Fraction(0))

    def largest(self, branches: list[ApproxDP], reach: int) -> ApproxDP:
        return ApproxDP(
            _top((branch.epsilon for branch in branches), reach),
            min(Fraction(1), _top((branch.delta for branch in branches), reach)),
        )

    def poisson(self, chance: Fraction, event: Event) -> ApproxDP:
        pair = self.total(event)
        amplified = _PURE.poisson(chance, Exponential(cast(Fraction, pair.epsilon)))
        return ApproxDP(amplified.epsilon, above(float(chance * pair.delta)))

    def select(self, event: RepeatAndSelect) -> ApproxDP:
        return convert(_PURE.select(event), ApproxDP)


_PURE, _GAUSSIAN, _PAIR = _PureCount(), _GaussianCount(), _PairCount()


@lru_cache(maxsize=4096)
def _curve(event: Event, orders: tuple[float, ...]) -> Renyi:
    return _RenyiCount(orders).total(event)


def cost(
    event: Event,
    measure: type[M],
    *,
    delta: Number | None = None,
    orders: Iterable[float] | None = None,
) -> M:
    """What an event costs in a measure; never less than it really does.

    Parameters
    ----------
    event : Event
    measure : class
        `PureDP`, `ApproxDP`, `ZCDP`, `GaussianDP`, `Renyi` or `PrivacyLoss`.
    delta : number
        Needed for `ApproxDP`.
    orders : iterable of float, optional
        For `Renyi`.

    Raises
    ------
    NoBound
        When no theorem known to this toolkit bounds the event in that measure.
    """
    if not isinstance(event, Event):
        raise TypeError(f"event must come from discreet.events, not {type(event).__name__}.")
    if measure is ApproxDP:
        if delta is None:
            raise ValueError("delta must be given to count a cost in ApproxDP.")
        return cast(M, epsilon_at(event, delta))
    if measure is Renyi:
        return cast(M, _curve(event, ORDERS if orders is None else tuple(map(float, orders))))
    counts: dict[Any, _Count[Any]] = {PureDP: _PURE, ZCDP: _ZCDPCount(), GaussianDP: _GAUSSIAN}
    if measure is PrivacyLoss:
        return cast(M, _LossCount().total(event))
    if measure not in counts:
        raise TypeError("measure must be PureDP, ApproxDP, ZCDP, GaussianDP, Renyi or PrivacyLoss.")
    return cast(M, counts[measure].total(event))


def epsilon_at(event: Event, delta: Number) -> ApproxDP:
    """The smallest known (ε, δ) of an event at this δ: the best of all accountants."""
    chosen = probability(delta, "delta")
    found: list[Fraction | float] = []
    reasons: list[str] = []
    for route in (_pair_epsilon, _gaussian_epsilon, _renyi_epsilon, _loss_epsilon):
        try:
            found.append(route(event, chosen))
        except NoBound as error:
            reasons.append(str(error))
    if not found:
        raise NoBound(" ".join(dict.fromkeys(reasons)))
    return ApproxDP(min(found), chosen)


def _pair_epsilon(event: Event, delta: Fraction) -> Fraction | float:
    pair = _PAIR.total(event)
    if pair.delta > delta:
        raise NoBound("the declared δ of its parts exceed this delta.")
    return pair.epsilon


def _gaussian_epsilon(event: Event, delta: Fraction) -> Fraction | float:
    return gaussian_epsilon(_GAUSSIAN.total(event).mu_squared, delta)


def _renyi_epsilon(event: Event, delta: Fraction) -> Fraction | float:
    return convert(_curve(event, ORDERS), ApproxDP, delta=delta).epsilon


def _loss_epsilon(event: Event, delta: Fraction) -> Fraction | float:
    if delta < SMALLEST_DELTA:
        raise NoBound(f"privacy-loss distributions are not asked below δ = {SMALLEST_DELTA:g}.")
    return convert(_LossCount().total(event), ApproxDP, delta=delta).epsilon


def delta_at(event: Event, epsilon: Number) -> Fraction:
    """The smallest known δ at which an event is (ε, δ)-DP for this ε."""
    target = non_negative(epsilon, "epsilon")
    low, high = Fraction(0), Fraction(1)
    if satisfies(event, ApproxDP(target, low)):
        return low
    exponent = 0
    while exponent < 400 and satisfies(event, ApproxDP(target, high / 2)):
        high, exponent = high / 2, exponent + 1
    low = high / 2
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if satisfies(event, ApproxDP(target, middle)) else (middle, high)
    return high


def satisfies(event: Event, measure: Measure) -> bool:
    """Whether an event provably costs at most `measure`."""
    if not isinstance(measure, ApproxDP):
        try:
            if isinstance(measure, Renyi):
                return cost(event, Renyi, orders=measure.orders) <= measure
            return bool(cost(event, type(measure)) <= measure)
        except NoBound:
            return False
    routes = (_pair_route, _gaussian_route, _renyi_route, _loss_route)
    return any(_holds(route, event, measure) for route in routes)


def _holds(route: Callable[[Event, ApproxDP], bool], event: Event, measure: ApproxDP) -> bool:
    try:
        return route(event, measure)
    except NoBound:
        return False


def _pair_route(event: Event, measure: ApproxDP) -> bool:
    return _PAIR.total(event) <= measure


def _gaussian_route(event: Event, measure: ApproxDP) -> bool:
    return gaussian_delta(_GAUSSIAN.total(event).mu_squared, measure.epsilon) <= measure.delta


def _renyi_route(event: Event, measure: ApproxDP) -> bool:
    return _renyi_epsilon(event, measure.delta) <= measure.epsilon


def _loss_route(event: Event, measure: ApproxDP) -> bool:
    return _loss_epsilon(event, measure.delta) <= measure.epsilon
