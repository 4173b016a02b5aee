"""Split one budget among several questions so that their weighted expected error is least."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar, final

from discreet import events
from discreet.accounting import NoBound, calibrate, cost, satisfies
from discreet.measures import ZCDP, ApproxDP, GaussianDP, Measure, PureDP, convert

__all__ = ["Route", "best_shares", "fit", "list_routes", "sum_events"]

T = TypeVar("T")

#: Shares are whole multiples of this part of a budget, rounded down: together they never exceed it.
GRAIN = 2**20


@final
@dataclass(frozen=True)
class Route:
    """A currency in which parts of a budget add up.

    Attributes
    ----------
    name : str
    total : Fraction
        All there is: ε, or ρ.
    power : int
        The squared error of an answer is proportional to 1/share^power: 2 for ε, 1 for ρ.
    """

    name: str
    total: Fraction
    power: int

    def part(self, amount: Fraction) -> Measure:
        """What an answer may cost that gets this amount."""
        return PureDP(amount) if self.name == "pure" else ZCDP(amount)


def list_routes(measure: Measure) -> tuple[Route, ...]:
    """The ways to spend a budget on several answers, from public facts alone.

    Pure ε adds up as it is. For (ε, δ) with δ > 0 there is, beside pure ε with no δ, the sum of squared
    signal-to-noise ratios of Gaussian noise, which is exact (Dong, Roth & Su 2022, Corollary 3.3), and for
    answers that are no sums ρ of zero-concentrated DP (Bun & Steinke 2016, Lemma 1.7).
    """
    if isinstance(measure, ZCDP) and not isinstance(measure.rho, float):
        routes = [Route("concentrated", measure.rho, 1)]
    elif isinstance(measure, PureDP | ApproxDP) and not isinstance(measure.epsilon, float):
        routes = [Route("pure", measure.epsilon, 2)]
        if isinstance(measure, ApproxDP) and measure.delta and measure.epsilon:
            routes += [
                Route("gaussian", _gaussian_rho(measure), 1),
                Route("concentrated", _concentrated_rho(measure), 1),
            ]
    else:
        raise ValueError(
            "measure must be dp.PureDP(epsilon), dp.ApproxDP(epsilon, delta) or dp.ZCDP(rho), with a finite "
            f"budget to split, not {measure!r}."
        )
    if not routes[0].total:
        raise ValueError("measure: there is nothing to split; epsilon (or rho) must be above 0.")
    return tuple(routes)


def best_shares(route: Route, errors: Sequence[float], weights: Sequence[float]) -> list[Fraction]:
    """What each answer gets, so that Σ weight·(squared error) is least; together at most the total.

    Parameters
    ----------
    route : Route
    errors : sequence of float
        The squared error of each answer if it had the whole budget; 0 for an answer that costs nothing.
    weights : sequence of float

    Notes
    -----
    With squared errors cᵢ/sᵢ^p and Σ sᵢ fixed, the least of Σ wᵢcᵢ/sᵢ^p is where sᵢ ∝ (wᵢcᵢ)^(1/(p+1))
    (Lagrange). Shares are rounded down to a public grid, so that they never add up to more.
    """
    sizes = [
        (weight * error) ** (1 / (route.power + 1))
        for weight, error in zip(weights, errors, strict=True)
    ]
    whole = math.fsum(sizes)
    if not whole:
        return [Fraction(0)] * len(sizes)
    # no answer starves for another: one grain is the least that an answer with a cost gets
    grains = [max(math.floor(size / whole * GRAIN), 1) if size else 0 for size in sizes]
    return [route.total * Fraction(grain, max(GRAIN, sum(grains))) for grain in grains]


def sum_events(parts: Sequence[events.Event]) -> events.Event:
    """One event for several; those that cost nothing are left out."""
    found = [part for part in parts if part != events.Compose()]
    return found[0] if len(found) == 1 else events.Compose(*found)


def fit(route: Route, measure: Measure, plan: Callable[[Fraction], tuple[events.Event, T]]) -> T:
    """The plan that spends as much of a route's total as provably costs at most `measure`.

    Parameters
    ----------
    plan : callable
        From a share of the total, 1 or a little less, to the whole event and what is planned.

    Raises
    ------
    NoBound
        When the accountant can't show it: a route of Gaussian noise takes sums alone.
    """
    for step in (0, 2**-30, 2**-12, 2**-8):  # rounding takes a little, never more
        event, found = plan(1 - Fraction(step))
        if route.name == "gaussian":
            cost(event, GaussianDP)
        if satisfies(event, measure):
            return found
    raise NoBound("these answers together can't be shown to cost at most the measure.")


@lru_cache(maxsize=256)
def _gaussian_rho(target: ApproxDP) -> Fraction:
    """The largest known ρ = μ²/2 of a Gaussian mechanism that is (ε, δ)-DP."""
    sigma = calibrate(lambda sigma: events.Gaussian(sigma), target).sigma
    return 1 / (2 * Fraction(sigma) ** 2)


@lru_cache(maxsize=256)
def _concentrated_rho(target: ApproxDP) -> Fraction:
    """The largest known ρ, to a thousandth, for which ρ-zCDP implies (ε, δ)-DP."""
    low, high = Fraction(0), Fraction(target.epsilon)
    while high - low > high / 1024:
        middle = (low + high) / 2
        enough = convert(ZCDP(middle), ApproxDP, delta=target.delta).epsilon <= target.epsilon
        low, high = (middle, high) if enough else (low, middle)
    return low
