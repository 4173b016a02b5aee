"""What one measure of privacy says about another: an explicit graph.

An edge that is missing is a statement too: `convert` raises and says why. Every edge rounds towards
more loss. Proof page: ``docs/proofs/conversions.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, TypeVar, cast

from discreet.measures.gaussian import gaussian_delta, gaussian_epsilon
from discreet.measures.kinds import ORDERS, ZCDP, ApproxDP, GaussianDP, Measure, PureDP, Renyi
from discreet.measures.loss import PrivacyLoss
from discreet.measures.random_dp import NO_CONVERSION, RandomDP
from discreet.rational import Number, above, float_above, float_below, logarithm, probability

M = TypeVar("M", bound=Measure)

__all__ = ["convert", "gaussian_delta", "gaussian_epsilon", "randomised_response_curve"]


def convert(
    measure: Measure,
    to: type[M],
    *,
    delta: Number | None = None,
    orders: Iterable[float] | None = None,
) -> M:
    """Convert a guarantee to what it implies in the measure `to`, as tightly as is known.

    Parameters
    ----------
    measure : Measure
    to : class
        `PureDP`, `ApproxDP`, `ZCDP` or `Renyi`.
    delta : number, optional
        Needed to get to `ApproxDP` from a measure that has no δ of its own.
    orders : iterable of float, optional
        The orders of a `Renyi` result; a fixed list by default.

    Raises
    ------
    ValueError
        Where no theorem leads from one measure to the other, with the reason.

    Examples
    --------
    >>> import discreet as dp
    >>> dp.convert(dp.PureDP(1), dp.ZCDP)
    ZCDP(rho=0.5)
    """
    if isinstance(measure, RandomDP) or cast(object, to) is RandomDP:
        raise ValueError(f"{NO_CONVERSION}.")
    if not isinstance(measure, Measure):
        raise TypeError(f"measure must be a measure of privacy, not {type(measure).__name__}.")
    if not isinstance(to, type) or not issubclass(to, Measure):
        raise TypeError(f"to must be a class of measures such as dp.ApproxDP, not {to!r}.")
    given = None if delta is None else probability(delta, "delta")
    chosen = ORDERS if orders is None else check_orders(orders)
    if type(measure) is to:
        return cast(M, _same(measure, given))
    if isinstance(measure, ApproxDP) and not measure.delta:
        measure = PureDP(measure.epsilon)  # by definition
        if to is PureDP:
            return cast(M, measure)
    edge = _EDGES.get((type(measure), to))
    if edge is None:
        reason = _REASONS.get((type(measure), to)) or _REASONS_OF_TARGETS.get(to, _UNKNOWN)
        raise ValueError(f"{type(measure).__name__} does not convert to {to.__name__}: {reason}.")
    return cast(M, edge(measure, given, chosen))


def check_orders(orders: Iterable[float]) -> tuple[float, ...]:
    """Orders as floats, each above 1."""
    try:
        chosen = tuple(map(float, orders))
    except (TypeError, ValueError):
        raise TypeError(f"orders must be numbers greater than 1, got {orders!r}.") from None
    if not chosen or not all(order > 1 for order in chosen):
        raise ValueError(f"orders must be numbers greater than 1, got {chosen!r}.")
    return chosen


def _same(measure: Measure, delta: Fraction | None) -> Measure:
    if isinstance(measure, ApproxDP) and delta is not None and delta < measure.delta:
        raise ValueError(
            "an (ε, δ) pair says nothing about a smaller δ: count the event itself at that δ."
        )
    return measure


def _needs_delta(delta: Fraction | None) -> Fraction:
    if delta is None:
        raise ValueError(
            "delta must be given: how small a probability of a larger loss do you allow?"
        )
    return delta


def randomised_response_curve(epsilon: Fraction | float, order: float, k: int = 2) -> float:
    """D_α of k-ary randomised response, rounded up; with k = 2 the largest of any ε-DP mechanism.

    Source: Mironov 2017, Table II, for k = 2; that it is the largest: Kairouz, Oh & Viswanath 2015,
    Theorem 2. The sum (e^(αε) + e^((1-α)ε) + k - 2)/(e^ε + k - 1) is
    1 + (e^((α-1)ε) - 1)(1 - e^(-αε))/(1 + (k-1)e^(-ε)), a product of positive factors, so that nothing
    cancels.
    """
    cap = float_above(epsilon)
    if cap == 0.0 or math.isinf(cap) or math.isinf(order):
        return cap
    e = max(cap, 1e-140)  # its square must be above the smallest float
    power, others = (order - 1) * e, math.log1p(min(k - 1, 2**1000) * math.exp(-e))
    if power < 300:
        excess = math.expm1(power) * -math.expm1(-order * e) * math.exp(-others)
        log_moment = math.log1p(excess)
    else:
        log_excess = power + math.log1p(-math.exp(-power)) - others
        log_moment = log_excess if log_excess > 40 else math.log1p(math.exp(log_excess))
    # every factor is right to 4 ulp and (1 + its exponent) times that of its argument
    error = 2e-15 * (8 + power / max(1.0, log_moment) + others)
    return min(cap, log_moment * (1 + error) / (order - 1))


def _pure_to_approx(m: PureDP, delta: Fraction | None, orders: tuple[float, ...]) -> ApproxDP:
    return ApproxDP(m.epsilon, delta or Fraction(0))


def _pure_to_zcdp(m: PureDP, delta: Fraction | None, orders: tuple[float, ...]) -> ZCDP:
    return ZCDP(m.epsilon * m.epsilon / 2)  # Bun & Steinke 2016, Proposition 1.4


def _pure_to_renyi(m: PureDP, delta: Fraction | None, orders: tuple[float, ...]) -> Renyi:
    return Renyi({order: randomised_response_curve(m.epsilon, order) for order in orders})


def _zcdp_to_renyi(m: ZCDP, delta: Fraction | None, orders: tuple[float, ...]) -> Renyi:
    rho = float_above(m.rho)
    return Renyi({o: math.nextafter(rho * o, math.inf) if rho else 0.0 for o in orders})


def _log_one_minus_inverse(order: float) -> float:
    """log(1 - 1/α), even near α = 1, where 1/α would lose its digits."""
    return math.log((order - 1) / order) if order < 2 else math.log1p(-1 / order)


def renyi_epsilon(order: float, value: float, delta: Fraction) -> float:
    """The ε of (ε, δ) that D_α <= value gives, rounded up.

    Source: Canonne, Kamath & Steinke 2020, Proposition 12; Balle et al. 2020, Theorem 21.
    """
    if math.isinf(order):
        return value
    if delta == 0:
        return math.inf
    first, log_delta, log_order = _log_one_minus_inverse(order), logarithm(delta), math.log(order)
    size = value + abs(first) + (1 + abs(log_delta) + log_order) / (order - 1)
    return max(0.0, value + first - (log_delta + log_order) / (order - 1) + 4e-15 * size)


def renyi_delta(order: float, value: float, epsilon: Fraction) -> float:
    """The δ of (ε, δ) that D_α <= value gives, rounded up: the inverse of `renyi_epsilon`."""
    if math.isinf(order):
        return 0.0 if value <= epsilon else 1.0
    e, log_order = float_below(epsilon), math.log(order)
    first = _log_one_minus_inverse(order)
    size = (order - 1) * (value + e + abs(first)) + log_order
    exponent = (order - 1) * (value - e + first) - log_order + 4e-15 * (1 + size)
    return min(1.0, max(math.exp(min(exponent, 0.0)) * (1 + 1e-15), 1e-300))


def _minimise(function: Callable[[float], float], low: float, high: float) -> float:
    """The least value met by a golden-section search, of a function that falls and then rises."""
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(40):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = function(right)
    return min(at_left, at_right)


def _zcdp_to_approx(m: ZCDP, delta: Fraction | None, orders: tuple[float, ...]) -> ApproxDP:
    chosen = _needs_delta(delta)
    if m.rho == 0:
        return ApproxDP(0, chosen)
    rho = float_above(m.rho)
    if chosen == 0 or math.isinf(rho):
        return ApproxDP(math.inf, chosen)

    def at(log_excess: float) -> float:
        order = 1 + math.exp(log_excess)
        return renyi_epsilon(order, rho * order, chosen) if order > 1 else math.inf

    # any order is valid; the optimum is looked for in log(α - 1)
    log_inverse = -logarithm(chosen)
    around = 0.5 * math.log(max(log_inverse, 1e-9) / rho)
    found = _minimise(at, around - 12, around + 12)
    closed = rho + 2 * math.sqrt(rho * log_inverse)  # Bun & Steinke 2016, Proposition 1.3
    best = min(found, closed)
    return ApproxDP(above(best) if math.isfinite(best) else math.inf, chosen)


def _renyi_to_approx(m: Renyi, delta: Fraction | None, orders: tuple[float, ...]) -> ApproxDP:
    chosen = _needs_delta(delta)
    best = min(renyi_epsilon(order, value, chosen) for order, value in m.curve.items())
    return ApproxDP(Fraction(best) if math.isfinite(best) else math.inf, chosen)


def _renyi_to_pure(m: Renyi, delta: Fraction | None, orders: tuple[float, ...]) -> PureDP:
    if math.inf not in m.curve:
        raise ValueError(
            "a Rényi curve without order ∞ doesn't bound the worst case: there is no finite ε."
        )
    worst = m.curve[math.inf]
    return PureDP(Fraction(worst) if math.isfinite(worst) else worst)


def _approx_to_pure(m: ApproxDP, delta: Fraction | None, orders: tuple[float, ...]) -> PureDP:
    raise ValueError("with delta > 0 the loss is unbounded with probability up to delta.")


def _gaussian_to_approx(m: GaussianDP, delta: Fraction | None, orders: Any) -> ApproxDP:
    chosen = _needs_delta(delta)
    return ApproxDP(gaussian_epsilon(m.mu_squared, chosen), chosen)


def _gaussian_to_zcdp(m: GaussianDP, delta: Fraction | None, orders: Any) -> ZCDP:
    return ZCDP(m.mu_squared / 2)  # Bun & Steinke 2016, Proposition 1.6


def _gaussian_to_renyi(m: GaussianDP, delta: Fraction | None, orders: tuple[float, ...]) -> Renyi:
    return _zcdp_to_renyi(ZCDP(m.mu_squared / 2), None, orders)


def _loss_to_approx(m: PrivacyLoss, delta: Fraction | None, orders: Any) -> ApproxDP:
    chosen = _needs_delta(delta)
    return ApproxDP(m.epsilon(chosen), chosen)


_EDGES: dict[tuple[type[Measure], type[Measure]], Callable[[Any, Any, Any], Measure]] = {
    (PureDP, ApproxDP): _pure_to_approx,
    (PureDP, ZCDP): _pure_to_zcdp,
    (PureDP, Renyi): _pure_to_renyi,
    (ZCDP, Renyi): _zcdp_to_renyi,
    (ZCDP, ApproxDP): _zcdp_to_approx,
    (Renyi, ApproxDP): _renyi_to_approx,
    (Renyi, PureDP): _renyi_to_pure,
    (ApproxDP, PureDP): _approx_to_pure,
    (GaussianDP, ApproxDP): _gaussian_to_approx,
    (GaussianDP, ZCDP): _gaussian_to_zcdp,
    (GaussianDP, Renyi): _gaussian_to_renyi,
    (PrivacyLoss, ApproxDP): _loss_to_approx,
}

_POINT = "one (ε, δ) pair says nothing about other δ, which the other measure bounds too"
_REASONS: dict[tuple[type[Measure], type[Measure]], str] = {
    (ApproxDP, ZCDP): _POINT,
    (ApproxDP, Renyi): _POINT,
    (ApproxDP, GaussianDP): _POINT,
    (ZCDP, PureDP): "its loss is unbounded, with small probability",
    (GaussianDP, PureDP): "its loss is unbounded, with small probability",
    (Renyi, ZCDP): "a list of orders says nothing about the orders between and beyond them",
    (Renyi, GaussianDP): "a list of orders says nothing about the orders between and beyond them",
    (ZCDP, GaussianDP): "a concentrated loss need not have a Gaussian trade-off",
    (PureDP, GaussianDP): "count the event instead: the trade-off of ε-DP is not Gaussian",
    (PrivacyLoss, PureDP): "it only gives an ε at a given δ",
    (PrivacyLoss, ZCDP): "it only gives an ε at a given δ",
    (PrivacyLoss, Renyi): "it only gives an ε at a given δ",
    (PrivacyLoss, GaussianDP): "it only gives an ε at a given δ",
}
_REASONS_OF_TARGETS: dict[type[Measure], str] = {
    PrivacyLoss: "it is made from events: accounting.cost(event, PrivacyLoss)",
}
_UNKNOWN = "no such theorem is known to this toolkit"
