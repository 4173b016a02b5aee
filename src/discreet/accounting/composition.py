"""Composition theorems and group privacy as plain functions of measures."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.measures import ZCDP, ApproxDP, GaussianDP, Measure, PureDP, Renyi, convert
from discreet.rational import Number, above, as_integer, float_above, probability

__all__ = ["advanced", "group", "optimal"]


def _pair(measure: PureDP | ApproxDP) -> ApproxDP:
    if not isinstance(measure, PureDP | ApproxDP):
        raise TypeError(
            f"measure must be dp.PureDP or dp.ApproxDP, not {type(measure).__name__}: "
            "other measures add up."
        )
    return convert(measure, ApproxDP)


def advanced(measure: PureDP | ApproxDP, count: int, slack: Number) -> ApproxDP:
    """(ε, δ) of `count` adaptive answers, each with `measure`, giving away `slack` more δ.

    By way of concentrated DP: kε²/2 + ε√(2k log(1/slack)) or better (Bun & Steinke 2016), for any ε; or
    basic composition where that is smaller.

    Examples
    --------
    >>> from discreet import accounting, measures
    >>> hundred = accounting.advanced(measures.PureDP(0.1), 100, 1e-6)
    >>> float(hundred.epsilon) < 100 * 0.1
    True
    >>> round(float(hundred.epsilon), 2), float(hundred.delta)
    (5.22, 1e-06)
    """
    pair = _pair(measure)
    as_integer(count, "count", minimum=1)
    delta = probability(slack, "slack")
    basic = pair.times(count)
    # an (ε, δ) mechanism is ε-DP outside an event of probability δ (Kairouz et al. 2015, Theorem 2)
    rho = convert(PureDP(pair.epsilon), ZCDP).times(count)
    better = convert(rho, ApproxDP, delta=delta)
    if basic.epsilon <= better.epsilon:
        return basic
    return ApproxDP(better.epsilon, min(Fraction(1), delta + basic.delta))


def optimal(measure: PureDP | ApproxDP, count: int, slack: Number) -> ApproxDP:
    """The least (ε, δ) of `count` answers with the same (ε, δ), giving away `slack` more δ.

    Source: Kairouz, Oh & Viswanath 2015, Theorem 3 (homogeneous composition).

    Examples
    --------
    >>> from discreet import accounting, measures
    >>> each, slack = measures.PureDP(0.1), 1e-6
    >>> round(float(accounting.optimal(each, 100, slack).epsilon), 2)
    4.8
    >>> round(float(accounting.advanced(each, 100, slack).epsilon), 2)
    5.22
    """
    pair = _pair(measure)
    k = as_integer(count, "count", minimum=1)
    extra = probability(slack, "slack")
    delta = _either(pair.delta, k, extra)
    if isinstance(pair.epsilon, float) or pair.epsilon == 0:
        return ApproxDP(pair.epsilon, delta)
    low, high = 0, k // 2 + 1  # i = 0 needs no slack, and the need grows with i
    while high - low > 1:
        middle = (low + high) // 2
        if _delta_needed(float_above(pair.epsilon), k, middle) <= extra:
            low = middle
        else:
            high = middle
    return ApproxDP((k - 2 * low) * pair.epsilon, delta if low else _either(pair.delta, k, 0))


def _either(delta: Fraction, k: int, extra: Fraction | int) -> Fraction:
    """1 - (1 - δ)^k (1 - extra), rounded up."""
    if not delta or k == 1:
        return delta + extra - delta * extra
    if delta == 1 or extra == 1:
        return Fraction(1)
    log_rest = k * math.log1p(-float_above(delta)) + math.log1p(-float_above(Fraction(extra)))
    return min(above(-math.expm1(log_rest)), k * delta + extra, Fraction(1))


def _delta_needed(e: float, k: int, i: int) -> float:
    """δᵢ = Σ_{j<i} C(k,j)(e^((k-j)ε) - e^((k-2i+j)ε))/(1 + e^ε)^k of the theorem, rounded up."""
    log_norm = k * (e + math.log1p(math.exp(-e)))
    terms = []
    for j in range(i):
        log_choose = math.lgamma(k + 1) - math.lgamma(j + 1) - math.lgamma(k - j + 1)
        first = log_choose + (k - j) * e - log_norm
        terms.append(math.exp(first) * -math.expm1(-2 * (i - j) * e))
    error = 2e-15 * (3 * math.lgamma(k + 1) + 4 * (log_norm + 1) + 10)
    return math.fsum(terms) * (1 + error) + 1e-300


def group(measure: Measure, size: int) -> Measure:
    """What a guarantee for one person gives a group of `size` people.

    Sources: Dwork & Roth 2014, Theorem 2.2; Vadhan 2017, Lemma 2.2; Bun & Steinke 2016, Proposition 1.9;
    Mironov 2017, Proposition 2 (sizes that are powers of two); Dong, Roth & Su 2022, Theorem 2.14.

    Examples
    --------
    >>> from discreet import accounting, measures
    >>> accounting.group(measures.PureDP(0.5), 4)  # a family of four
    PureDP(epsilon=2)
    >>> accounting.group(measures.ZCDP(0.1), 4)
    ZCDP(rho=1.6)
    """
    k = as_integer(size, "size", minimum=1)
    match measure:
        case PureDP():
            return measure.times(k)
        case ApproxDP(epsilon=epsilon, delta=delta):
            return ApproxDP(epsilon * k, _group_delta(epsilon, delta, k))
        case ZCDP(rho=rho):
            return ZCDP(rho * k * k)
        case GaussianDP(mu_squared=mu_squared):
            return GaussianDP(mu_squared * k * k)
        case Renyi(curve=curve):
            return Renyi(_group_curve(dict(curve), k))
        case Measure():
            raise ValueError(f"measure: no group privacy is known for {type(measure).__name__}.")
        case _:
            raise TypeError(f"measure must be a measure, not {type(measure).__name__}.")


def _group_delta(epsilon: Fraction | float, delta: Fraction, k: int) -> Fraction:
    """δ·(e^(kε) - 1)/(e^ε - 1), rounded up, at most 1."""
    if not delta or k == 1:
        return delta
    if k * epsilon > 600 or k > 10**12:
        return Fraction(1)
    e = float_above(Fraction(epsilon))
    factor = math.expm1(k * e) / math.expm1(e) if e > 1e-300 else float(k)
    return min(Fraction(1), above(factor) * delta)


def _group_curve(curve: dict[float, float], k: int) -> dict[float, float]:
    doublings = (k - 1).bit_length()
    found = {
        # order ∞ is pure DP, where the size itself counts
        order / 2**doublings: value * (k if math.isinf(order) else 3**doublings) * (1 + 1e-15)
        for order, value in curve.items()
        if order >= 2 ** (doublings + 1)
    }
    if not found:
        raise ValueError(f"measure: the curve needs an order of at least {2 ** (doublings + 1)}.")
    return found if k > 1 else curve
