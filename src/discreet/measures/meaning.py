"""What a guarantee means for a person: odds, tests, advantages and risks of an adversary.

The adversary knows everything except which of two neighbouring inputs was used. All functions are small
and pure; values are float64, for people and plots. Bounds that have no closed form are taken from the
side that is valid. Proof page: ``docs/proofs/meaning.md``.
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from discreet.measures.convert import convert
from discreet.measures.kinds import ZCDP, ApproxDP, GaussianDP, Measure, PureDP, Renyi
from discreet.rational import float_above

__all__ = [
    "advantage",
    "bayes_risk",
    "chi_squared",
    "hellinger",
    "kullback_leibler",
    "posterior_bounds",
    "posterior_odds_bounds",
    "trade_off",
]

Floats = npt.NDArray[np.float64]

#: Halvings of an interval of length 1: what is left is below the spacing of floats near 1.
_HALVINGS = 54

#: How a risk without closed form is found: this many points at a time, this many times.
_POINTS, _ZOOMS = 17, 9


def _epsilon(measure: PureDP) -> float:
    if not isinstance(measure, PureDP):
        raise TypeError(
            f"measure must be dp.PureDP, not {type(measure).__name__}: under other measures the odds may "
            "move without bound, with small probability; `trade_off` and `advantage` accept them."
        )
    return float_above(measure.epsilon)


def posterior_odds_bounds(measure: PureDP, prior_odds: float) -> tuple[float, float]:
    """The range of the odds between two neighbouring inputs after any answer, given the odds before it.

    e^-ε·prior <= posterior <= e^ε·prior: Bayes' rule and the definition of ε-DP. The prior odds count:
    e^ε alone bounds nothing (Ferrari 2022, equation (2.10) leaves them out).
    """
    e = _epsilon(measure)
    if not prior_odds >= 0:
        raise ValueError(f"prior_odds must be at least 0, got {prior_odds!r}.")
    if prior_odds == 0 or math.isinf(prior_odds):
        return float(prior_odds), float(prior_odds)  # a certainty never changes
    high = math.exp(e) if e < 700 else math.inf
    return prior_odds * math.exp(-e), prior_odds * high


def posterior_bounds(measure: PureDP, prior: float) -> tuple[float, float]:
    """The range of the probability of a fact about one person after any answer.

    The person is independent of the others, or they are known. π/(π + (1-π)e^ε) <= posterior <=
    π/(π + (1-π)e^-ε), which lies within e^-ε·π and e^ε·π (Ferrari 2022, equation (2.9)).
    """
    e = _epsilon(measure)
    p = _prior(prior)
    if p in (0.0, 1.0):
        return p, p
    shrink = math.exp(-e)
    return p * shrink / (p * shrink + 1 - p), p / (p + (1 - p) * shrink)


def _prior(prior: float) -> float:
    if not 0 <= prior <= 1:
        raise ValueError(f"prior must be between 0 and 1, got {prior!r}.")
    return float(prior)


def trade_off(measure: Measure, false_positives: npt.ArrayLike) -> Floats:
    """The least rate of misses that a test between two neighbours can have, given its false positives.

    Parameters
    ----------
    measure : PureDP, ApproxDP, GaussianDP, ZCDP or Renyi
    false_positives : array of numbers between 0 and 1

    Notes
    -----
    (ε, δ): max(0, 1 - δ - e^ε·a, e^-ε(1 - δ - a)) (Wasserman & Zhou 2010; Kairouz, Oh & Viswanath 2015).
    Gaussian: Φ(Φ⁻¹(1 - a) - μ) (Dong, Roth & Su 2022). Rényi and zCDP: the least b for which
    no listed order is exceeded by the two coins (1 - b, a) and (a, 1 - b), which post-processing
    implies (Balle, Barthe, Gaboardi, Hsu & Sato 2020); a valid bound, not a tight one.
    """
    a = np.asarray(false_positives, np.float64)
    if not np.all((a >= 0) & (a <= 1)):
        raise ValueError("false_positives must be between 0 and 1.")
    match measure:
        case PureDP() | ApproxDP():
            pair = convert(measure, ApproxDP)
            e, rest = float_above(pair.epsilon), 1 - float(pair.delta)
            first = np.where(a > 0, rest - math.exp(min(e, 700.0)) * a, rest)
            return cast(Floats, np.maximum(0.0, np.maximum(first, math.exp(-e) * (rest - a))))
        case GaussianDP(mu=mu):
            return cast(Floats, ndtr(ndtri(1 - a) - mu))
        case _:
            return _renyi_trade_off(_renyi(measure), a)


def _renyi_trade_off(measure: Renyi, a: Floats) -> Floats:
    """The largest known b that every pair of error rates must exceed, by bisection from below."""
    low, high = np.zeros_like(a), 1.0 - a  # the coins are equal at b = 1 - a
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        allowed = _is_allowed(measure, a, middle)
        low, high = np.where(allowed, low, middle), np.where(allowed, middle, high)
    return cast(Floats, np.where(_is_allowed(measure, a, np.zeros_like(a)), 0.0, low))


def _is_allowed(measure: Renyi, a: Floats, b: Floats) -> npt.NDArray[np.bool_]:
    """Whether a test with error rates a and b contradicts no order; undecided ones are allowed."""
    finite = {o: v for o, v in measure.curve.items() if math.isfinite(o) and math.isfinite(v)}
    shape = (-1, *([1] * np.ndim(a)))
    order = np.array(list(finite), np.float64).reshape(shape)
    limit = np.array(list(finite.values()), np.float64).reshape(shape)
    allowed = np.ones(np.shape(a), np.bool_)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        logs = [(np.log(1 - b), np.log(a)), (np.log(b), np.log1p(-a))]
        for pairs in (logs, [(q, p) for p, q in logs]):
            terms = [_or_less(order * p + (1 - order) * q, p) for p, q in pairs]
            moment = np.logaddexp(*terms)
            beyond = moment > (order - 1) * (limit * (1 + 1e-12) + 1e-12)
            allowed &= ~np.any(beyond, axis=0)
            if math.inf in measure.curve:
                worst = np.maximum(*(_or_less(p - q, p) for p, q in pairs))
                allowed &= ~(worst > measure.curve[math.inf] * (1 + 1e-12) + 1e-12)
    return allowed


def _or_less(term: Floats, p: Floats) -> Floats:
    """The term, or -∞ where its first probability is 0."""
    return cast(Floats, np.where(np.isneginf(p), -np.inf, term))


def advantage(measure: Measure) -> float:
    """The largest difference between the true and false positive rates of any test of two neighbours.

    The total variation distance: (e^ε - 1 + 2δ)/(e^ε + 1) (Kairouz, Oh & Viswanath 2015);
    2Φ(μ/2) - 1 (Dong, Roth & Su 2022, Corollary 2.13 at ε = 0). By symmetry it is 1 - 2a where the
    trade-off curve meets the diagonal, which is how it is found for Rényi and zCDP.
    """
    match measure:
        case PureDP() | ApproxDP():
            pair = convert(measure, ApproxDP)
            shrink, delta = math.exp(-float_above(pair.epsilon)), float(pair.delta)
            return min(1.0, (1 - shrink + 2 * delta * shrink) / (1 + shrink))
        case GaussianDP(mu=mu):
            return math.erf(mu / math.sqrt(8))
    curve = _renyi(measure)
    low, high = 0.0, 0.5
    for _ in range(_HALVINGS):
        middle = np.float64((low + high) / 2)
        if _is_allowed(curve, middle, middle):  # type: ignore[arg-type]
            high = float(middle)
        else:
            low = float(middle)
    return 1 - 2 * low


def kullback_leibler(measure: Measure) -> float:
    """The largest Kullback–Leibler divergence between the answers of two neighbours, in nats.

    ε·tanh(ε/2), that of randomised response; ∞ with δ > 0; μ²/2; under Rényi and zCDP the least value
    of the curve, since divergences grow with the order.
    """
    match measure:
        case PureDP() | ApproxDP():
            e, delta = _pair(measure)
            return math.inf if delta else e * math.tanh(e / 2)
        case GaussianDP(mu=mu):
            return mu * mu / 2
        case ZCDP(rho=rho):
            return float_above(rho)
    return min(_renyi(measure).curve.values(), default=math.inf)


def hellinger(measure: Measure) -> float:
    """The largest squared Hellinger distance between the answers of two neighbours, 1 - Σ√(pq).

    δ + (1 - δ)(1 - 1/cosh(ε/2)); 1 - e^(-μ²/8); under Rényi and zCDP 1 - e^(-KL/2), since the
    distance is 1 - e^(-D/2) for the divergence D of order 1/2, which is at most that of order 1.
    """
    match measure:
        case PureDP() | ApproxDP():
            e, delta = _pair(measure)
            shrink = math.exp(-e / 2)
            return 1 - (1 - delta) * 2 * shrink / (1 + shrink * shrink)
        case GaussianDP(mu=mu):
            return -math.expm1(-mu * mu / 8)
    return -math.expm1(-kullback_leibler(measure) / 2)


def chi_squared(measure: Measure) -> float:
    """The largest χ² divergence between the answers of two neighbours, Σ(p - q)²/q.

    4·sinh²(ε/2); ∞ with δ > 0; e^(μ²) - 1; e^D - 1 for the least value D of a Rényi curve at an order
    of 2 or more, ∞ where it has none.
    """
    match measure:
        case PureDP() | ApproxDP():
            e, delta = _pair(measure)
            return math.inf if delta else _exp_less_one(e) * -math.expm1(-e)
        case GaussianDP(mu=mu):
            return _exp_less_one(mu * mu)
        case ZCDP(rho=rho):
            return _exp_less_one(2 * float_above(rho))
    curve = _renyi(measure).curve
    return _exp_less_one(min((v for order, v in curve.items() if order >= 2), default=math.inf))


def _pair(measure: PureDP | ApproxDP) -> tuple[float, float]:
    pair = convert(measure, ApproxDP)
    return float_above(pair.epsilon), float(pair.delta)


def _exp_less_one(exponent: float) -> float:
    return math.expm1(exponent) if exponent < 700 else math.inf


def _renyi(measure: Measure) -> Renyi:
    if not isinstance(measure, ZCDP | Renyi):
        raise TypeError(f"no trade-off curve is known for {type(measure).__name__}.")
    return convert(measure, Renyi)


def bayes_risk(measure: Measure, prior: float) -> float:
    """The least probability with which the best guess between two neighbours is wrong.

    `prior` is the probability of the one that a positive test points to. Without an answer the risk is
    min(prior, 1 - prior). Minimises (1 - π)·a + π·b over the trade-off curve (a, b): at its corners for
    (ε, δ); at the likelihood ratio (1 - π)/π for the Gaussian; for Rényi and zCDP the
    stretch with the least value is bounded by the least a and the least b in it.
    """
    p = _prior(prior)
    blind = min(p, 1 - p)
    match measure:
        case PureDP() | ApproxDP():
            pair = convert(measure, ApproxDP)
            rest, shrink = 1 - float(pair.delta), math.exp(-float_above(pair.epsilon))
            corner = rest * shrink / (1 + shrink)
            return min(blind, p * rest, (1 - p) * rest, corner)
        case GaussianDP(mu=mu):
            if mu == 0 or blind == 0:
                return blind
            shift = math.log((1 - p) / p) / mu
            return float((1 - p) * ndtr(-mu / 2 - shift) + p * ndtr(-mu / 2 + shift))
    curve = _renyi(measure)
    left, right = 0.0, 1.0
    for _ in range(_ZOOMS):  # the curve is convex, so the least value lies beside the least found
        a = np.linspace(left, right, _POINTS)
        risk = (1 - p) * a + p * _renyi_trade_off(curve, a)
        best = int(np.argmin(risk))
        left, right = a[max(best - 1, 0)], a[min(best + 1, _POINTS - 1)]
    b = float(_renyi_trade_off(curve, np.array([right]))[0])
    return min(blind, float((1 - p) * left + p * b))
