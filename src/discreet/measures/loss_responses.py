"""The exact (ε, δ) curve of many equal pure guarantees. Proof page: ``docs/proofs/accounting.md``."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy.special import gammaln

from discreet.rational import float_above, float_below

__all__ = ["responses_delta", "responses_epsilon"]

#: The largest count for which the logarithms of factorials still have digits.
MAX_RESPONSES = 10**11
#: Terms on each side of the mean, in square roots of the count: beyond, less than e^-800 is left.
_WIDTH = 20


def responses_delta(epsilon: Fraction, count: int, at: Fraction) -> float:
    """δ(at) of `count` mechanisms that are ε-DP, from above; for randomised response it is exact.

    Σ_j C(k,j)·p^(k-j)·(1-p)^j·(1 - e^(at-(k-2j)ε)) over (k-2j)ε > at, p = e^ε/(1+e^ε)
    (Kairouz, Oh & Viswanath 2015, Theorem 3, which lists it at the multiples of ε).
    """
    if epsilon == 0 or at >= count * epsilon:
        return 0.0
    last = math.ceil((count - at / epsilon) / 2) - 1  # the largest j with (k-2j)ε > at
    e = float_above(epsilon)
    mean, width = count / (1 + math.exp(min(e, 700.0))), _WIDTH * math.sqrt(count) + 64
    low = max(0, math.floor(min(mean, last) - width))
    high = min(last, math.ceil(mean + width))
    j = np.arange(low, high + 1, dtype=np.float64)
    log_wrong = -e - math.log1p(math.exp(-e))
    logs = gammaln(count + 1) - gammaln(j + 1) - gammaln(count - j + 1)
    logs += j * log_wrong - (count - j) * math.log1p(math.exp(-e))
    above = (count - 2 * j) * e * (1 + 1e-15) - float_below(at) + 1e-15 * count * e
    terms = np.exp(logs) * -np.expm1(-np.maximum(above, 0.0))
    error = 2e-15 * (4 * math.lgamma(count + 1) + 4 * count * (1 + min(e, 700.0)) + 10)
    rest = 1e-300  # of the terms above `high`: Hoeffding's e^(-2·20²)
    if low > 0:
        # below the mean each term is at most this part of the next one
        ratio = low / (count - low + 1) * math.exp(e) * (1 + 1e-12)
        below = math.exp(float(logs[0])) * ratio
        rest += below / (1 - ratio) if ratio < 1 - 1e-9 else 1.0
    return min(1.0, (float(np.sum(terms)) + rest) * (1 + error) * (1 + 1e-12) + 1e-300)


def responses_epsilon(epsilon: Fraction, count: int, delta: Fraction) -> Fraction:
    """The ε of `count` mechanisms that are ε-DP each at this δ, from above."""
    low, high = Fraction(0), count * epsilon
    if responses_delta(epsilon, count, low) <= delta:
        return low
    goal = high / 2**60
    while high - low > max(goal, high / 2**34):
        middle = Fraction(float((low + high) / 2))
        if not low < middle < high:
            break
        if responses_delta(epsilon, count, middle) <= delta:
            high = middle
        else:
            low = middle
    return high
