"""Rényi curves of single mechanisms, rounded up. Proof page: ``docs/proofs/accounting.md``."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.measures.convert import randomised_response_curve
from discreet.rational import float_above, float_below, logarithm

__all__ = [
    "bounded_range",
    "discrete_laplace",
    "gaussian",
    "log_mean_runs",
    "partial_response",
    "select_best",
]


def discrete_laplace(scale: Fraction, sensitivity: int, order: float) -> float:
    """D_α between discrete Laplace distributions `sensitivity` apart; it bounds vectors at that L1 distance.

    E = C·(A·q^((1-α)t) + B·q^(αt)) with q = e^(-1/scale), t the shift, A, B > 0: log E is convex in t
    and 0 at 0, so shifts of several coordinates cost at most one shift by their sum.
    """
    epsilon = Fraction(sensitivity) / scale
    envelope = randomised_response_curve(epsilon, order)
    step = float_above(1 / scale)
    if sensitivity <= 1 or math.isinf(order) or not 1e-140 < step < 1e140:
        return (
            envelope  # a shift by 1 has two losses only, 1/scale and -1/scale: no more than these
        )
    e, power = float_above(epsilon), 2 * order - 1
    ratio = math.expm1(-step) / math.expm1(-power * step)  # (1 - q)/(1 - q^(2α-1)), in (0, 1)
    q = math.exp(-step)
    a = (1 + math.exp(-power * step) * ratio) / (1 + q)
    b = (1 - ratio) / (1 + q)
    log_moment = (order - 1) * e + math.log(a + b * math.exp(-power * e))
    # a + b·(...) lies in [1/2, 2]: its logarithm is right to a few ulp of 1, the product to 3 of its own
    error = 2e-15 * ((order - 1) * e + 2)
    return min((max(log_moment, 0.0) + error) / (order - 1) * (1 + 1e-15), envelope)


def gaussian(rho: Fraction, order: float) -> float:
    """D_α = ρα of Gaussian noise, ρ = Δ²/2σ². Source: Mironov 2017, Proposition 7."""
    return math.nextafter(float_above(rho) * order, math.inf) if rho else 0.0


def bounded_range(epsilon: Fraction, order: float) -> float:
    """D_α of an ε-bounded-range draw: ε²α/8 (Cesar & Rogers 2021), at most that of any ε-DP one."""
    envelope = randomised_response_curve(epsilon, order)
    return envelope if math.isinf(order) else min(gaussian(epsilon**2 / 8, order), envelope)


def partial_response(epsilon: Fraction, share: Fraction, order: float) -> float:
    """D_α = log(1 - s + s·M)/(α-1), M = e^((α-1)D) the moment of randomised response, s the share.

    It rises with ε and with s. Proof page: ``docs/proofs/local.md``, which also shows that optimised unary
    encoding (Wang, Blocki, Li & Jha 2017) has s = 1/2.
    """
    envelope = randomised_response_curve(epsilon, order)
    if not share or envelope == 0.0:
        return 0.0
    if math.isinf(order) or share == 1:
        return envelope
    power, s = (order - 1) * envelope, min(1.0, float_above(share))
    if power < 300:
        log_moment = math.log1p(s * math.expm1(power))
    else:  # 1 - s <= 1
        log_moment = power + math.log(s + math.exp(-power)) + 2e-15 * power
    error = 2e-15 * (8 + power / max(1.0, log_moment))
    return min(envelope, log_moment * (1 + error) / (order - 1))


def log_mean_runs(shape: Fraction, gamma: Fraction) -> tuple[float, float]:
    """log E[K] and log(1/γ) of the truncated negative binomial, rounded up.

    E[K] = η(1-γ)/(γ(1-γ^η)), at η = 0 its limit (1-γ)/(γ·log(1/γ)): Papernot & Steinke 2022,
    Definition 1. With L = log(1/γ) it is e^L · ((1-γ)/L) / ((1-e^(-ηL))/(ηL)), stable at both ends.
    """
    rest = 1 - gamma
    if gamma < Fraction(1, 2):
        length = -logarithm(gamma)
    else:
        length = -math.log1p(-float_above(rest)) if rest > Fraction(1, 10**300) else 1e-300
    x = float_above(shape) * length
    shrink = math.log(x / -math.expm1(-x)) if x > 1e-300 else 0.0
    log_mean = length + math.log(min(1.0, max(float_below(rest), 1e-300) / length)) + shrink
    slack = 4e-15 * (2 + length + shrink + abs(math.log(length)))
    return max(0.0, log_mean) + slack, length * (1 + 1e-14)


def select_best(curve: dict[float, float], shape: Fraction, gamma: Fraction) -> dict[float, float]:
    """The curve of the best of K runs, K truncated negative binomial.

    Source: Papernot & Steinke 2022, Theorem 2. Each order takes the least value at or above it.
    """
    log_mean, length = log_mean_runs(shape, gamma)
    factor = 1 + float_above(shape)
    extra = factor * min(
        value if math.isinf(order) else (1 - 1 / order) * value + length / order
        for order, value in curve.items()
    )
    best, found = math.inf, {}
    for order, value in sorted(curve.items(), reverse=True):
        runs = 0.0 if math.isinf(order) else log_mean / (order - 1)
        best = min(best, (value + extra + runs) * (1 + 1e-14))
        found[order] = best
    return found
