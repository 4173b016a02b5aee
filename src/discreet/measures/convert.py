"""What one measure of privacy says about another: an explicit graph.

An edge that is missing is a statement too: `convert` raises and says why. Every edge rounds towards
more loss. Proof page: ``docs/proofs/accounting.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, TypeVar, cast

from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr

from discreet.measures.kinds import ORDERS, ZCDP, ApproxDP, GaussianDP, Measure, PureDP, Renyi
from discreet.measures.loss import PrivacyLoss
from discreet.rational import Number, above, probability

M = TypeVar("M", bound=Measure)

__all__ = ["convert", "gaussian_delta", "gaussian_epsilon", "randomised_response_curve"]


def convert(
    measure: Measure,
    to: type[M],
    *,
    delta: Number | None = None,
    orders: Iterable[float] | None = None,
) -> M:
    """What `measure` implies in terms of the measure `to`, as tightly as is known.

    Parameters
    ----------
    measure : Measure
    to : class
        `PureDP`, `ApproxDP`, `ZCDP` or `Renyi`.
    delta : number, optional
        Needed to get to `ApproxDP` from a measure that has no δ of its own.
    orders : iterable of float, optional
        The orders of a `Renyi` result; a fixed list by default.
    """
    given = None if delta is None else probability(delta, "delta")
    if type(measure) is to:
        return cast(M, _same(measure, given))
    edge = _EDGES.get((type(measure), to))
    if edge is None:
        reason = _REASONS.get((type(measure), to), "no such theorem is known to this toolkit")
        raise ValueError(f"{type(measure).__name__} does not convert to {to.__name__}: {reason}.")
    return cast(M, edge(measure, given, tuple(orders) if orders is not None else ORDERS))


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


def randomised_response_curve(epsilon: Fraction | float, order: float) -> float:
    """The largest D_α of any ε-DP mechanism: that of randomised response.

    Source: Mironov 2017, Table II; that it is the envelope: Kairouz, Oh & Viswanath 2015, Theorem 2.
    """
    e = float(epsilon)
    if math.isinf(e) or math.isinf(order):
        return e
    # log of p^α (1-p)^(1-α) + (1-p)^α p^(1-α), p = e^ε/(1+e^ε), over the larger term
    value = (order - 1) * e + math.log1p(math.exp(-(2 * order - 1) * e)) - math.log1p(math.exp(-e))
    # the subtraction of nearly equal logs loses digits for small ε: Bun & Steinke 2016, Prop. 1.4
    margin = 4e-16 * (abs(order - 1) * e + 2.0)
    exact = (max(value, 0.0) + margin) / (order - 1)
    return math.nextafter(min(exact, e, order * e * e / 2 * (1 + 1e-15)), math.inf) if e else 0.0


def _pure_to_approx(m: PureDP, delta: Fraction | None, orders: tuple[float, ...]) -> ApproxDP:
    return ApproxDP(m.epsilon, delta or Fraction(0))


def _pure_to_zcdp(m: PureDP, delta: Fraction | None, orders: tuple[float, ...]) -> ZCDP:
    return ZCDP(m.epsilon * m.epsilon / 2)  # Bun & Steinke 2016, Proposition 1.4


def _pure_to_renyi(m: PureDP, delta: Fraction | None, orders: tuple[float, ...]) -> Renyi:
    return Renyi({order: randomised_response_curve(m.epsilon, order) for order in orders})


def _zcdp_to_renyi(m: ZCDP, delta: Fraction | None, orders: tuple[float, ...]) -> Renyi:
    rho = float(above(float(m.rho))) if math.isfinite(m.rho) else math.inf
    return Renyi(
        {o: math.inf if math.isinf(o) and rho else rho * o if rho else 0.0 for o in orders}
    )


def renyi_epsilon(order: float, value: float, delta: Fraction) -> float:
    """The ε of (ε, δ) that D_α <= value gives, as a float to about 1e-15 relative to its terms.

    Source: Canonne, Kamath & Steinke 2020, Proposition 12; Balle et al. 2020, Theorem 21.
    """
    if math.isinf(order):
        return value
    if delta == 0:
        return math.inf
    terms = math.log1p(-1 / order), -(math.log(delta) + math.log(order)) / (order - 1)
    slack = 4e-15 * (value + abs(terms[0]) + abs(terms[1]))
    return max(0.0, value + terms[0] + terms[1] + slack)


def _zcdp_to_approx(m: ZCDP, delta: Fraction | None, orders: tuple[float, ...]) -> ApproxDP:
    chosen = _needs_delta(delta)
    if m.rho == 0:
        return ApproxDP(0, chosen)
    rho = float(m.rho)
    if chosen == 0 or math.isinf(rho):
        return ApproxDP(math.inf, chosen)
    # any order is valid; the optimum is looked for in log(α - 1)
    around = 0.5 * math.log(max(-math.log(chosen), 1e-9) / rho)
    found = minimize_scalar(
        lambda t: renyi_epsilon(1 + math.exp(t), rho * (1 + math.exp(t)), chosen),
        bounds=(around - 12, around + 12),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return ApproxDP(above(float(found.fun)), chosen)


def _renyi_to_approx(m: Renyi, delta: Fraction | None, orders: tuple[float, ...]) -> ApproxDP:
    chosen = _needs_delta(delta)
    best = min(renyi_epsilon(order, value, chosen) for order, value in m.curve.items())
    return ApproxDP(above(best) if math.isfinite(best) else math.inf, chosen)


def _renyi_to_pure(m: Renyi, delta: Fraction | None, orders: tuple[float, ...]) -> PureDP:
    if math.inf not in m.curve:
        raise ValueError(
            "a Rényi curve without order ∞ bounds no worst case: there is no finite ε."
        )
    return PureDP(above(m.curve[math.inf]) if math.isfinite(m.curve[math.inf]) else math.inf)


def _approx_to_pure(m: ApproxDP, delta: Fraction | None, orders: tuple[float, ...]) -> PureDP:
    if m.delta:
        raise ValueError("with delta > 0 the loss is unbounded with probability up to delta.")
    return PureDP(m.epsilon)


def gaussian_delta(mu_squared: Fraction, epsilon: Fraction | float) -> float:
    """δ(ε) of μ-Gaussian DP, rounded up. Source: Balle & Wang 2018, Theorem 8."""
    if mu_squared == 0 or math.isinf(epsilon):
        return 0.0
    mu, e = math.sqrt(mu_squared), float(epsilon)
    first = math.exp(float(log_ndtr(mu / 2 - e / mu)))
    second = math.exp(e + float(log_ndtr(-mu / 2 - e / mu)))
    # both terms are computed to a relative error below 1e-12 (the exponents are below 1e3 in size)
    return min(1.0, max(0.0, first * (1 + 2e-12) - second * (1 - 2e-12)))


def gaussian_epsilon(mu_squared: Fraction, delta: Fraction) -> Fraction | float:
    """The ε of μ-Gaussian DP at δ, from above by bisection of `gaussian_delta`."""
    if mu_squared == 0 or delta >= 1:
        return Fraction(0)
    if delta <= 0:
        return math.inf
    if gaussian_delta(mu_squared, Fraction(0)) <= delta:
        return Fraction(0)
    low, high = 0.0, 1.0
    while gaussian_delta(mu_squared, high) > delta:
        low, high = high, 2 * high
        if high > 1e6:
            return math.inf
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if gaussian_delta(mu_squared, middle) <= delta else (middle, high)
    return Fraction(high)


def _gaussian_to_approx(m: GaussianDP, delta: Fraction | None, orders: Any) -> ApproxDP:
    chosen = _needs_delta(delta)
    return ApproxDP(gaussian_epsilon(m.mu_squared, chosen), chosen)


def _gaussian_to_zcdp(m: GaussianDP, delta: Fraction | None, orders: Any) -> ZCDP:
    return ZCDP(m.mu_squared / 2)  # Bun & Steinke 2016, Proposition 1.6


def _gaussian_to_renyi(m: GaussianDP, delta: Fraction | None, orders: tuple[float, ...]) -> Renyi:
    return _zcdp_to_renyi(ZCDP(m.mu_squared / 2), None, orders)


def _loss_to_approx(m: PrivacyLoss, delta: Fraction | None, orders: Any) -> ApproxDP:
    chosen = _needs_delta(delta)
    found = m.epsilon(float(chosen))
    return ApproxDP(above(found) if math.isfinite(found) else math.inf, chosen)


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
}
