"""Rényi curves of single mechanisms, rounded up. Proof page: ``docs/proofs/accounting.md``."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.measures.convert import randomised_response_curve

#: Bounds the float64 error of the few operations behind a logarithm near zero.
_ABSOLUTE = 8e-16


def _rounded_up(log_moment: float, size: float, order: float, epsilon: float) -> float:
    """D_α from the log of the α-th moment, with the error of `log_moment` added, and capped."""
    value = (max(log_moment, 0.0) + _ABSOLUTE * (size + 2.0)) / (order - 1)
    return min(value * (1 + 1e-15), randomised_response_curve(epsilon, order))


def discrete_laplace(scale: Fraction, sensitivity: int, order: float) -> float:
    """D_α between discrete Laplace laws `sensitivity` apart; it bounds vectors with that L1 distance.

    E = C·(A·q^((1-α)t) + B·q^(αt)) with q = e^(-1/scale), t the shift, A, B > 0: log E is convex in t
    and 0 at 0, so shifts of several coordinates cost at most one shift by their sum.
    """
    epsilon = float(Fraction(sensitivity) / scale)
    if epsilon == 0.0 or math.isinf(order):
        return randomised_response_curve(Fraction(sensitivity) / scale, order)
    step = float(1 / scale)
    q, power = math.exp(-step), 2 * order - 1
    ratio = math.expm1(-step) / math.expm1(-power * step)  # (1 - q)/(1 - q^(2α-1)), in (0, 1)
    a = (1 + math.exp(-power * step) * ratio) / (1 + q)
    b = (1 - ratio) / (1 + q)
    log_moment = (order - 1) * epsilon + math.log(a + b * math.exp(-power * epsilon))
    return _rounded_up(log_moment, (order - 1) * epsilon, order, epsilon)


def randomized_response(epsilon: Fraction, k: int, order: float) -> float:
    """D_α of k-ary randomised response. Source: Mironov 2017, Table II, for k = 2."""
    e = float(epsilon)
    if e == 0.0 or math.isinf(order):
        return randomised_response_curve(epsilon, order)
    top = order * e
    terms = 1 + math.exp((1 - order) * e - top) + (k - 2) * math.exp(-top)
    log_moment = top + math.log(terms) - (e + math.log1p((k - 1) * math.exp(-e)))
    return _rounded_up(log_moment, top, order, e)


def gaussian(rho: Fraction, order: float) -> float:
    """D_α = ρα of Gaussian noise, ρ = Δ²/2σ². Source: Mironov 2017, Proposition 7."""
    if rho == 0:
        return 0.0
    return math.inf if math.isinf(order) else float(rho) * order * (1 + 1e-15)


def bounded_range(epsilon: Fraction, order: float) -> float:
    """D_α of an ε-bounded-range draw: ε²α/8 (Cesar & Rogers 2021, Lemma 3.4), at most ε."""
    if math.isinf(order):
        return randomised_response_curve(epsilon, order)
    eighth = float(epsilon) ** 2 / 8 * order * (1 + 1e-15)
    return min(eighth, randomised_response_curve(epsilon, order))


def select_best(curve: dict[float, float], shape: Fraction, gamma: Fraction) -> dict[float, float]:
    """The curve of the best of K runs, K truncated negative binomial.

    Source: Papernot & Steinke 2022, Theorem 2; E[K] from their Definition 1.
    """
    eta, g = float(shape), float(gamma)
    if eta == 0:
        mean = (1 / g - 1) / math.log(1 / g)
    else:
        mean = eta * (1 - g) / (g * (1 - g**eta))
    extra = min(
        (1 + eta) * value
        if math.isinf(order)
        else (1 + eta) * ((1 - 1 / order) * value + math.log(1 / g) / order)
        for order, value in curve.items()
    )
    return {
        order: (value + extra + (0.0 if math.isinf(order) else math.log(mean) / (order - 1)))
        * (1 + 1e-14)
        for order, value in curve.items()
    }
