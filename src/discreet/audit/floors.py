"""Lower bounds in the terms of a claim, from two probabilities of one event."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, ndtri

from discreet.audit.bounds import TwoOutcomes, renyi_of_coins
from discreet.measures import ZCDP, ApproxDP, GaussianDP, Measure, PureDP, Renyi

__all__ = ["claimed_number", "confident", "floors", "unit_of_floor"]

Floats = npt.NDArray[np.float64]

#: Orders at which two-outcome divergences are compared with ρα.
_ZCDP_ORDERS = tuple(1 + 2.0**k for k in range(-6, 8))


def claimed_number(claim: Measure) -> float:
    """What a claim states, as the number that a floor is compared with."""
    if isinstance(claim, PureDP | ApproxDP):
        return float(claim.epsilon)
    if isinstance(claim, ZCDP):
        return float(claim.rho)
    if isinstance(claim, GaussianDP):
        return claim.mu
    if isinstance(claim, Renyi):
        return 0.0  # floors of a curve are what is above it
    raise TypeError(
        "claim must be dp.PureDP, dp.ApproxDP, dp.ZCDP, dp.GaussianDP or dp.Renyi, "
        f"not {type(claim).__name__}."
    )


def unit_of_floor(claim: Measure) -> str:
    """The symbol of a claim's number, with what belongs to it."""
    if isinstance(claim, ApproxDP):
        return f"ε at δ = {float(claim.delta):g}"
    if isinstance(claim, Renyi):
        return "divergence above the curve"
    return {PureDP: "ε", ZCDP: "ρ", GaussianDP: "μ"}[type(claim)]


def floors(claim: Measure, p: Floats, q: Floats) -> Floats:
    """The least that the claim's number can be, if an event has probability >= p here and <= q there.

    Sources: (ε, δ): P <= e^ε·Q + δ (Kairouz, Oh & Viswanath 2015); Gaussian: the trade-off of N(0,1) and
    N(μ,1) (Dong, Roth & Su 2022); Rényi: data processing to two outcomes (van Erven & Harremoës 2014).
    """
    p, q = np.asarray(p, np.float64), np.asarray(q, np.float64)
    more = p > q
    with np.errstate(all="ignore"):
        if isinstance(claim, PureDP | ApproxDP):
            delta = float(claim.delta) if isinstance(claim, ApproxDP) else 0.0
            value = np.log((p - delta) / q)
            more &= p > delta
        elif isinstance(claim, GaussianDP):
            value = ndtri(p) - ndtri(q)
        elif isinstance(claim, ZCDP):
            value = np.max([renyi_of_coins(p, q, a) / a for a in _ZCDP_ORDERS], axis=0)
        elif isinstance(claim, Renyi):
            value = np.max([renyi_of_coins(p, q, a) - v for a, v in claim.curve.items()], axis=0)
        else:
            raise TypeError(f"no floor is known for {type(claim).__name__}.")
    return np.where(more & ~np.isnan(value), np.maximum(value, 0.0), 0.0)


def confident(
    hits: Floats, trials: int, other_hits: Floats, other_trials: int, risk: float
) -> tuple[Floats, Floats]:
    """A lower bound on the first and an upper bound on the other probability, `risk`/2 each.

    Source: Clopper & Pearson 1934.
    """
    hits, other = np.asarray(hits, np.float64), np.asarray(other_hits, np.float64)
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), trials - hits + 1, risk / 2), 0.0)
    rest = np.maximum(other_trials - other, 1)
    high = np.where(other < other_trials, betaincinv(other + 1, rest, 1 - risk / 2), 1.0)
    return low, high


def floor(claim: Measure, outcomes: TwoOutcomes, confidence: float) -> float:
    """The floor of a claim's number from counts of one event that was fixed before them."""
    p, q = confident(
        np.array([float(outcomes.hits)]),
        outcomes.trials,
        np.array([float(outcomes.other_hits)]),
        outcomes.other_trials,
        1 - confidence,
    )
    return float(floors(claim, p, q)[0])
