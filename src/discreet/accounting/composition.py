"""Composition theorems and group privacy as plain functions of measures."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.measures import ZCDP, ApproxDP, GaussianDP, Measure, PureDP, Renyi, convert
from discreet.rational import Number, above, probability, whole

__all__ = ["advanced", "group", "optimal"]


def advanced(measure: PureDP | ApproxDP, count: int, slack: Number) -> ApproxDP:
    """(ε, δ) of `count` adaptive answers, each with `measure`, giving away `slack` more δ.

    Through concentrated DP: kε²/2 + ε√(2k log(1/slack)) and better (Bun & Steinke 2016), which needs no
    small ε; or basic composition where that is smaller.
    """
    pair = measure if isinstance(measure, ApproxDP) else convert(measure, ApproxDP)
    whole(count, "count", least=1)
    delta = probability(slack, "slack")
    basic = pair.times(count)
    # an (ε, δ) mechanism is ε-DP outside an event of probability δ (Kairouz et al. 2015, Theorem 2)
    rho = convert(PureDP(pair.epsilon), ZCDP).times(count)
    better = convert(rho, ApproxDP, delta=delta)
    total = min(Fraction(1), delta + basic.delta)
    return ApproxDP(min(basic.epsilon, better.epsilon), total)


def optimal(measure: PureDP | ApproxDP, count: int, slack: Number) -> ApproxDP:
    """The least (ε, δ) of `count` answers with the same (ε, δ), giving away `slack` more δ.

    Source: Kairouz, Oh & Viswanath 2015, Theorem 3 (homogeneous composition).
    """
    pair = measure if isinstance(measure, ApproxDP) else convert(measure, ApproxDP)
    k = whole(count, "count", least=1)
    extra = probability(slack, "slack")
    delta = 1 - (1 - pair.delta) ** k * (1 - extra)
    if isinstance(pair.epsilon, float) or pair.epsilon == 0:
        return ApproxDP(pair.epsilon, delta)
    e = float(pair.epsilon)
    log_norm = k * (e + math.log1p(math.exp(-e)))  # log (1 + e^ε)^k
    for i in range(k // 2, -1, -1):
        terms = []
        for j in range(i):
            log_choose = math.lgamma(k + 1) - math.lgamma(j + 1) - math.lgamma(k - j + 1)
            first = log_choose + (k - j) * e - log_norm
            terms.append(math.exp(first) * -math.expm1(-2 * (i - j) * e))
        if math.fsum(terms) * (1 + 1e-9) <= extra:
            return ApproxDP((k - 2 * i) * pair.epsilon, delta)
    raise AssertionError("i = 0 needs no slack")


def group(measure: Measure, size: int) -> Measure:
    """What a guarantee for one person gives a group of `size` persons.

    Sources: Dwork & Roth 2014, Theorem 2.2; Vadhan 2017, Lemma 2.2; Bun & Steinke 2016, Proposition 1.9;
    Mironov 2017, Proposition 2 (sizes that are powers of two); Dong, Roth & Su 2022, Theorem 2.14.
    """
    k = whole(size, "size", least=1)
    match measure:
        case PureDP():
            return measure.times(k)
        case ApproxDP(epsilon=epsilon, delta=delta):
            if isinstance(epsilon, float):
                return measure
            factor = above(math.fsum(math.exp(min(float(epsilon) * j, 700.0)) for j in range(k)))
            return ApproxDP(epsilon * k, min(Fraction(1), factor * delta))
        case ZCDP(rho=rho):
            return ZCDP(rho * k * k)
        case GaussianDP(mu_squared=mu_squared):
            return GaussianDP(mu_squared * k * k)
        case Renyi(curve=curve):
            doublings = (k - 1).bit_length()
            if 2**doublings != k:
                return group(measure, 2**doublings)
            orders = {o: v for o, v in curve.items() if o >= 2 ** (doublings + 1)}
            if not orders:
                raise ValueError(f"the curve needs an order of at least {2 ** (doublings + 1)}.")
            return Renyi(
                {
                    order / 2**doublings: (k if math.isinf(order) else 3**doublings) * value
                    for order, value in orders.items()
                }
            )
        case _:
            raise ValueError(f"no group privacy is known for {type(measure).__name__}.")
