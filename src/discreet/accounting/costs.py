"""What an event costs: the best that the accountants for (ε, δ) can prove, or one measure's count."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar, cast

from discreet.accounting import curves
from discreet.accounting.counts import (
    GAUSSIAN,
    PAIR,
    PURE,
    ZERO_CONCENTRATED,
    Accountant,
    NoBound,
    curve_of,
)
from discreet.accounting.losses import loss_of
from discreet.events import Event
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
from discreet.measures.convert import check_orders, renyi_delta
from discreet.measures.gaussian import gaussian_delta, gaussian_epsilon
from discreet.measures.loss import SMALLEST_DELTA, TooManyLosses
from discreet.rational import Number, non_negative, probability

__all__ = ["NoBound", "cost", "delta_at", "epsilon_at", "satisfies"]

M = TypeVar("M", bound=Measure)


def _check_event(event: object) -> Event:
    if not isinstance(event, Event):
        raise TypeError(f"event must come from discreet.events, not {type(event).__name__}.")
    return event


def cost(
    event: Event,
    measure: type[M],
    *,
    delta: Number | None = None,
    orders: Iterable[float] | None = None,
) -> M:
    """Compute what an event costs in a measure; never less than it really does.

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

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> plan = events.Repeat(events.Gaussian(10), 5)
    >>> accounting.cost(plan, measures.ZCDP)
    ZCDP(rho=0.025)
    >>> round(float(accounting.cost(plan, measures.ApproxDP, delta=1e-6).epsilon), 2)
    0.94
    """
    _check_event(event)
    if measure is ApproxDP:
        if delta is None:
            raise ValueError("delta must be given to count a cost in ApproxDP.")
        return cast(M, epsilon_at(event, delta))
    if measure is Renyi:
        return cast(M, curve_of(event, ORDERS if orders is None else check_orders(orders)))
    if measure is PrivacyLoss:
        return cast(M, loss_of(event))
    counts: dict[Any, Accountant[Any]] = {
        PureDP: PURE,
        ZCDP: ZERO_CONCENTRATED,
        GaussianDP: GAUSSIAN,
    }
    if measure not in counts:
        raise TypeError("measure must be PureDP, ApproxDP, ZCDP, GaussianDP, Renyi or PrivacyLoss.")
    return cast(M, counts[measure].total(event))


def epsilon_at(event: Event, delta: Number) -> ApproxDP:
    """The smallest known (ε, δ) of an event at this δ: the best of all accountants.

    Examples
    --------
    >>> from discreet import accounting, events
    >>> round(float(accounting.epsilon_at(events.Gaussian(5), 1e-6).epsilon), 3)
    0.834
    """
    chosen = probability(delta, "delta")
    found: list[Fraction | float] = []
    reasons: list[str] = []
    for route in _routes(_check_event(event)):
        try:
            found.append(route.epsilon(event, chosen))
        except NoBound as error:
            reasons.append(str(error))
    if not found:
        raise NoBound(" ".join(dict.fromkeys(reasons)))
    return ApproxDP(min(found), chosen)


def delta_at(event: Event, epsilon: Number) -> Fraction:
    """The smallest known δ at which an event is (ε, δ)-DP for this ε; 1 where none is known.

    Examples
    --------
    >>> from discreet import accounting, events
    >>> round(float(accounting.delta_at(events.Gaussian(2), 1)), 5)
    0.00683
    >>> float(accounting.delta_at(events.DiscreteLaplace(1), 1))
    0.0
    """
    target = non_negative(epsilon, "epsilon")
    found = [Fraction(1)]
    for route in _routes(_check_event(event)):
        with suppress(NoBound):
            found.append(route.delta(event, target))
    return min(found)


def satisfies(event: Event, measure: Measure) -> bool:
    """Whether an event provably costs at most `measure`.

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> accounting.satisfies(events.DiscreteLaplace(2), measures.PureDP("1/2"))
    True
    >>> accounting.satisfies(events.DiscreteLaplace(2), measures.PureDP("1/3"))
    False
    """
    _check_event(event)
    if isinstance(measure, ApproxDP):
        return any(_holds(route, event, measure) for route in _routes(event))
    if not isinstance(measure, Measure) or isinstance(measure, PrivacyLoss):
        raise TypeError(
            f"measure must be a measure such as dp.PureDP(0.1), not {type(measure).__name__}."
        )
    try:
        if isinstance(measure, Renyi):
            return cost(event, Renyi, orders=measure.orders) <= measure
        return bool(cost(event, type(measure)) <= measure)
    except NoBound:
        return False


class _Route(ABC):
    """One accountant's way to (ε, δ)."""

    @abstractmethod
    def epsilon(self, event: Event, delta: Fraction) -> Fraction | float: ...

    @abstractmethod
    def delta(self, event: Event, epsilon: Fraction) -> Fraction: ...

    def holds(self, event: Event, measure: ApproxDP) -> bool:
        return self.epsilon(event, measure.delta) <= measure.epsilon


class _PairRoute(_Route):
    def epsilon(self, event: Event, delta: Fraction) -> Fraction | float:
        pair = PAIR.total(event)
        if pair.delta > delta:
            raise NoBound("the declared δ of its parts exceed this delta.")
        return pair.epsilon

    def delta(self, event: Event, epsilon: Fraction) -> Fraction:
        pair = PAIR.total(event)
        return pair.delta if pair.epsilon <= epsilon else Fraction(1)


class _GaussianRoute(_Route):
    def epsilon(self, event: Event, delta: Fraction) -> Fraction | float:
        return gaussian_epsilon(GAUSSIAN.total(event).mu_squared, delta)

    def delta(self, event: Event, epsilon: Fraction | float) -> Fraction:
        return Fraction(gaussian_delta(GAUSSIAN.total(event).mu_squared, epsilon))

    def holds(self, event: Event, measure: ApproxDP) -> bool:
        return self.delta(event, measure.epsilon) <= measure.delta


class _RenyiRoute(_Route):
    def epsilon(self, event: Event, delta: Fraction) -> Fraction | float:
        return convert(curve_of(event, ORDERS), ApproxDP, delta=delta).epsilon

    def delta(self, event: Event, epsilon: Fraction) -> Fraction:
        curve = curve_of(event, ORDERS).curve
        return Fraction(min(renyi_delta(order, value, epsilon) for order, value in curve.items()))


class _ZCDPRoute(_Route):
    """The orders between and beyond those of `ORDERS`."""

    def epsilon(self, event: Event, delta: Fraction) -> Fraction | float:
        return convert(ZERO_CONCENTRATED.total(event), ApproxDP, delta=delta).epsilon

    def delta(self, event: Event, epsilon: Fraction) -> Fraction:
        rho = ZERO_CONCENTRATED.total(event).rho
        if not 0 < rho < epsilon:
            return Fraction(0 if rho == 0 else 1)
        # the best order for exp(-(α-1)(ε - ρα)) (Bun & Steinke 2016, Proposition 1.3), or near it
        best = float(min((epsilon + rho) / (2 * rho), 10**300))
        orders = (1 + (best - 1) * factor for factor in (0.8, 0.9, 1.0, 1.1, 1.2))
        bounds = (
            renyi_delta(o, curves.gaussian(Fraction(rho), o), epsilon) for o in orders if o > 1
        )
        return Fraction(min(bounds, default=1.0))


class _LossRoute(_Route):
    """Privacy losses; where their error is not proved to be small, the other routes answer."""

    def epsilon(self, event: Event, delta: Fraction) -> Fraction | float:
        if delta < SMALLEST_DELTA:
            raise NoBound(
                f"privacy-loss distributions give no answer below δ = {float(SMALLEST_DELTA):g}."
            )
        try:
            found = _loss_epsilon(event, delta)
        except TooManyLosses as error:
            raise NoBound(str(error)) from None
        if math.isinf(found):
            raise NoBound("the δ of its parts exceed this delta.")
        return found

    def delta(self, event: Event, epsilon: Fraction) -> Fraction:
        try:
            return Fraction(loss_of(event).delta(epsilon))
        except TooManyLosses as error:
            raise NoBound(str(error)) from None


@lru_cache(maxsize=256)
def _loss_epsilon(event: Event, delta: Fraction) -> Fraction | float:
    return convert(loss_of(event), ApproxDP, delta=delta).epsilon


_CHEAP = (_PairRoute(), _GaussianRoute())
_ALL = (*_CHEAP, _RenyiRoute(), _ZCDPRoute(), _LossRoute())


def _routes(event: Event) -> tuple[_Route, ...]:
    """The accountants worth asking: for a Gaussian only the analytic curve, which is exact."""
    try:
        GAUSSIAN.total(event)
    except NoBound:
        return _ALL
    return _CHEAP


def _holds(route: _Route, event: Event, measure: ApproxDP) -> bool:
    try:
        return route.holds(event, measure)
    except NoBound:
        return False
