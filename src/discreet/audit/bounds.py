"""Lower bounds on privacy loss from counts of an event under two neighbouring inputs.

A floor above a claim refutes the claim, with the stated confidence; a floor below proves nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

from discreet.rational import Number, as_integer, probability

__all__ = ["TwoOutcomes", "clopper_pearson", "epsilon_floor", "rho_floor"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TwoOutcomes:
    """How often an event, fixed before these trials, happened under each of two neighbours.

    Examples
    --------
    >>> from discreet import audit
    >>> seen = audit.TwoOutcomes(hits=900, trials=1000, other_hits=300, other_trials=1000)
    >>> round(audit.epsilon_floor(seen), 2)  # log(0.9/0.3) is 1.1
    0.95
    """

    hits: int
    trials: int
    other_hits: int
    other_trials: int

    def __post_init__(self) -> None:
        for name in ("hits", "trials", "other_hits", "other_trials"):
            as_integer(getattr(self, name), name)
        if self.hits > self.trials or self.other_hits > self.other_trials:
            raise ValueError("hits must not exceed trials.")

    def bounds(self, confidence: float = 0.99) -> tuple[float, float]:
        """A lower bound on the event's first probability and an upper bound on its other one.

        Both hold together with `confidence` (half of the risk each).
        """
        # each end of a two-sided interval has half of the risk
        low, _ = clopper_pearson(self.hits, self.trials, confidence)
        _, high = clopper_pearson(self.other_hits, self.other_trials, confidence)
        return low, high

    @property
    def swapped(self) -> TwoOutcomes:
        """The same event with the neighbours the other way round."""
        return TwoOutcomes(self.other_hits, self.other_trials, self.hits, self.trials)


def clopper_pearson(hits: int, trials: int, confidence: float = 0.99) -> tuple[float, float]:
    """The exact two-sided interval for a probability. Source: Clopper & Pearson 1934.

    Each end alone holds with probability 1 - (1 - confidence)/2.

    Examples
    --------
    >>> from discreet import audit
    >>> lower, upper = audit.clopper_pearson(30, 100, confidence=0.95)
    >>> round(lower, 3), round(upper, 3)
    (0.212, 0.4)
    """
    as_integer(trials, "trials")
    if as_integer(hits, "hits") > trials:
        raise ValueError("hits must not exceed trials.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence!r}.")
    risk = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(risk, hits, trials - hits + 1))
    high = 1.0 if hits == trials else float(beta.ppf(1 - risk, hits + 1, trials - hits))
    return low, high


def epsilon_floor(outcomes: TwoOutcomes, delta: Number = 0, confidence: float = 0.99) -> float:
    """The largest ε that the counts refute: the true ε at `delta` is above it, with `confidence`.

    (ε, δ)-DP means P(event) <= e^ε·Q(event) + δ, so ε >= log((p - δ)/q) (Kairouz et al. 2015).

    Examples
    --------
    >>> from discreet import audit
    >>> seen = audit.TwoOutcomes(900, 1000, 300, 1000)
    >>> round(audit.epsilon_floor(seen), 2)
    0.95
    >>> round(audit.epsilon_floor(seen, delta=0.1), 2)
    0.83
    """
    chance = float(probability(delta, "delta"))
    p, q = outcomes.bounds(confidence)
    return max(0.0, math.log((p - chance) / q)) if p > chance and q > 0 else 0.0


def rho_floor(
    outcomes: TwoOutcomes, confidence: float = 0.99, orders: tuple[float, ...] = ()
) -> float:
    """The largest ρ of zCDP that the counts refute, through two-outcome Rényi divergences.

    By post-processing D_α(Bernoulli(p) ‖ Bernoulli(q)) <= D_α <= ρα for every order α.

    Examples
    --------
    >>> from discreet import audit
    >>> round(audit.rho_floor(audit.TwoOutcomes(900, 1000, 300, 1000)), 2)
    0.61
    """
    p, q = outcomes.bounds(confidence)
    if p <= q:
        return 0.0
    tried = orders or tuple(1 + 2.0**k for k in range(-6, 8))
    here, there = np.array(p), np.array(q)
    return max(float(renyi_of_coins(here, there, order)) / order for order in tried)


def renyi_of_coins(p: Floats, q: Floats, order: float) -> Floats:
    """D_α between coins that fall heads with probabilities p and q, elementwise."""
    p, q = np.asarray(p, np.float64), np.asarray(q, np.float64)
    with np.errstate(all="ignore"):
        if math.isinf(order):
            return np.maximum(np.log(p / q), np.log((1 - p) / (1 - q)))
        heads = np.where(p > 0, order * np.log(p) + (1 - order) * np.log(q), -np.inf)
        tails = np.where(p < 1, order * np.log1p(-p) + (1 - order) * np.log1p(-q), -np.inf)
        return np.asarray(np.logaddexp(heads, tails) / (order - 1))
