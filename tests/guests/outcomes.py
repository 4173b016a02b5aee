"""What counts of an event on two neighbouring inputs prove: intervals, a hypothesis test, floors on ε.

All of it is written anew, apart from `discreet.audit`, so that a mistake there is not repeated here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import beta, hypergeom

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Counted:
    """How often an event happened in equally many runs on each of two inputs."""

    hits: int
    other_hits: int
    runs: int


def lower_probability(hits: npt.ArrayLike, runs: int, risk: float) -> Floats:
    """A bound that a probability is below with chance at most `risk` (Clopper & Pearson 1934)."""
    k = np.asarray(hits, np.float64)
    return np.where(k > 0, beta.ppf(risk, np.maximum(k, 1e-9), runs - k + 1), 0.0)


def upper_probability(hits: npt.ArrayLike, runs: int, risk: float) -> Floats:
    """A bound that a probability is above with chance at most `risk`."""
    k = np.asarray(hits, np.float64)
    return np.where(k < runs, beta.ppf(1 - risk, k + 1, np.maximum(runs - k, 1e-9)), 1.0)


def interval_floor(
    hits: npt.ArrayLike, other_hits: npt.ArrayLike, runs: int, delta: float, risk: float
) -> Floats:
    """log((p - δ)/q), with p from below and q from above, each at half of the risk; 0 where that is less."""
    p = lower_probability(hits, runs, risk / 2) - delta
    q = upper_probability(other_hits, runs, risk / 2)
    return np.where(p > q, np.log(np.maximum(p, 1e-300) / q), 0.0)


def p_value(counted: Counted, epsilon: float, delta: float, coins: tuple[Floats, Floats]) -> float:
    """The p-value of "p <= e^ε·q + δ", by the test of Ding et al. 2018, made to know about δ.

    Hits on the first input are kept with probability w·e^-ε; of the other runs a share 1 - w counts as a hit
    whatever came out, with w = 1/(1 + δ·e^-ε). The two chances are then w·e^-ε·p and w·(q + δ·e^-ε), so
    that the claim says that the first is at most the second: Fisher's exact test of two binomials.

    `coins` are uniform numbers, one for each run: the same ones for every ε make the answer rise with ε.
    """
    shrink = math.exp(-epsilon)
    w = 1 / (1 + delta * shrink)
    kept = int((coins[0][: counted.hits] < w * shrink).sum())
    other = counted.other_hits + int((coins[1][counted.other_hits :] >= w).sum())
    return float(hypergeom.sf(kept - 1, 2 * counted.runs, kept + other, counted.runs))


def rejected_up_to(counted: Counted, delta: float, risk: float, draw: np.random.Generator) -> float:
    """The largest ε that the test rejects at level `risk`, to 1/1000; 0 if it rejects none."""
    coins = draw.random(counted.runs), draw.random(counted.runs)
    if p_value(counted, 0.0, delta, coins) > risk:
        return 0.0
    low, high = 0.0, 20.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        if p_value(counted, middle, delta, coins) <= risk:
            low = middle
        else:
            high = middle
    return low
