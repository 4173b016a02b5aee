"""Exact probes: for mechanisms that give their probabilities, and for facts that involve no chance."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from discreet.audit.floors import claimed_number
from discreet.audit.results import AuditResult
from discreet.measures import ZCDP, ApproxDP, GaussianDP, Measure, PureDP, Renyi

__all__ = ["cells", "exact", "gaussian_cells", "hockey_stick", "statement"]

Floats = npt.NDArray[np.float64]

#: Outcomes rarer than this are left out: below it float64 loses digits, and then the whole number.
_RAREST = 1e-200
#: What float64 sums may be off by; a floor within this of the claim is not a violation.
_SLACK = 1e-7
_ORDERS = tuple(1 + 2.0**k for k in range(-6, 8))


def cells(cdf: Callable[[Floats], Any], edges: npt.ArrayLike) -> Floats:
    """Probabilities of the intervals between `edges` (and of both ends) from a distribution function.

    Reporting only the interval is post-processing: a violation there is a violation. Differences of a
    function near 1 are off by 1e-16 or so: give `exact` an `error`.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import audit
    >>> audit.cells(lambda x: np.clip(x, 0, 1), [0.25, 0.5])  # of a uniform number
    array([0.25, 0.25, 0.5 ])
    """
    at = np.asarray(cdf(np.asarray(edges, np.float64)), np.float64)
    return np.maximum(np.diff(np.concatenate([[0.0], at, [1.0]])), 0.0)


def gaussian_cells(mean: float, sigma: float, edges: npt.ArrayLike) -> Floats:
    """`cells` of a normal distribution, each from the nearer tail: small probabilities keep their digits.

    Examples
    --------
    >>> from discreet import audit
    >>> audit.gaussian_cells(0, 1, [-1, 0, 1]).round(3)
    array([0.159, 0.341, 0.341, 0.159])
    """
    at = (np.asarray(edges, np.float64) - mean) / sigma
    low, high = at[:-1], at[1:]
    inner = np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
    return np.concatenate([[ndtr(at[0])], inner, [ndtr(-at[-1])]])


def hockey_stick(first: Floats, second: Floats, epsilon: float) -> float:
    """δ(ε) = Σ max(P - e^ε·Q, 0) (Balle, Barthe & Gaboardi 2018).

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import audit
    >>> p, q = np.array([0.7, 0.3]), np.array([0.3, 0.7])
    >>> round(audit.hockey_stick(p, q, 0), 2), round(audit.hockey_stick(p, q, 1), 2)
    (0.4, 0.0)
    """
    return math.fsum(np.maximum(first - math.exp(epsilon) * second, 0.0).tolist())


def exact(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    claim: Measure | float,
    *,
    title: str = "probabilities",
    labels: Any = None,
    error: float = 0.0,
) -> AuditResult:
    """Compare two distributions, given as probabilities of the same outcomes, with a claim.

    Outcomes may be left out (a tail): then the result is a lower bound. Both directions are looked at.

    Parameters
    ----------
    first, second : arrays of probabilities
    claim : Measure or number
        A number is an ε of pure DP.
    labels : sequence, optional
        What the outcomes are called.
    error : float
        What each probability may be off by, such as 1e-15 for differences of a distribution
        function; it is counted in the claim's favour.

    Examples
    --------
    >>> from discreet import audit
    >>> audit.exact([0.75, 0.25], [0.25, 0.75], 1.0).verdict  # e^1 is less than 3
    'violated'
    >>> audit.exact([0.75, 0.25], [0.25, 0.75], 1.1).verdict
    'consistent'
    """
    measure = claim if isinstance(claim, Measure) else PureDP(claim)
    p, q = (np.asarray(side, np.float64).ravel() for side in (first, second))
    if p.shape != q.shape:
        raise ValueError("first and second must have the probabilities of the same outcomes.")
    if not p.size or not (np.isfinite(p).all() and np.isfinite(q).all()):
        raise ValueError("first and second must be finite probabilities, at least one of each.")
    if min(p.min(), q.min()) < 0 or max(p.sum(), q.sum()) > 1 + 1e-6:
        raise ValueError("first and second must be probabilities: at least 0, at most 1 in sum.")
    floors = [_floor(measure, np.maximum(a - error, 0.0), b + error) for a, b in ((p, q), (q, p))]
    swapped = floors[1] > floors[0]
    value = max(floors)
    a, b = (q, p) if swapped else (p, q)
    with np.errstate(all="ignore"):
        worst = int(np.argmax(np.where(a > _RAREST, np.log(a) - np.log(b), -np.inf)))
    name = f"outcome {worst}" if labels is None else str(labels[worst])
    number = claimed_number(measure)
    is_violated = value > number + _SLACK * max(1.0, abs(number))
    return AuditResult(
        title=title,
        claim=measure,
        claimed=number,
        floor=value,
        verdict="violated" if is_violated else "consistent",
        confidence=1.0,
        event=f"{name} has probability {a[worst]:.6g} against {b[worst]:.6g}",
        probe="exact probabilities",
        audited="the distribution that it states",
        trials=0,
    )


def _floor(claim: Measure, p: Floats, q: Floats) -> float:
    p, q = p[p > _RAREST], q[p > _RAREST]
    with np.errstate(all="ignore"):
        losses = np.log(p) - np.log(q)
    if isinstance(claim, PureDP):
        return max(0.0, float(losses.max(initial=0.0)))
    if isinstance(claim, ApproxDP):
        return _epsilon_at(p, q, float(claim.delta))
    if isinstance(claim, GaussianDP):
        return _minimum_mu(p, q)
    if isinstance(claim, ZCDP):
        return max(_renyi(p, q, order) / order for order in _ORDERS)
    assert isinstance(claim, Renyi)
    return max(0.0, *(_renyi(p, q, order) - value for order, value in claim.curve.items()))


def _minimum_mu(p: Floats, q: Floats) -> float:
    """The largest z(P(S)) - z(Q(S)) over sets S of outcomes by falling ratio, z the normal quantile.

    Sums from the nearer end keep the digits of small tails. What was left out counts for the claim.
    """
    order = np.argsort(-np.where(q > 0, p / np.where(q > 0, q, 1.0), np.inf), kind="stable")
    a, b = p[order], q[order]
    found, other = np.cumsum(a)[:-1], np.cumsum(b)[:-1]
    missed = np.cumsum(a[::-1])[::-1][1:] + max(0.0, 1 - math.fsum(p.tolist()))
    spared = np.cumsum(b[::-1])[::-1][1:]
    with np.errstate(all="ignore"):
        here = np.where(found < 0.5, ndtri(found), -ndtri(missed))
        there = np.where(other < 0.5, ndtri(other), -ndtri(spared))
        values = (here - there)[other > 1e-300]
    return max(0.0, float(np.nanmax(values, initial=0.0)))


def _renyi(p: Floats, q: Floats, order: float) -> float:
    if (q == 0).any():
        return math.inf
    losses = np.log(p) - np.log(q)
    if math.isinf(order):
        return float(losses.max(initial=0.0))
    return float(np.logaddexp.reduce(np.log(p) + (order - 1) * losses) / (order - 1))


def _epsilon_at(p: Floats, q: Floats, delta: float) -> float:
    """The least ε with δ(ε) <= delta, by bisection."""
    if hockey_stick(p, q, 0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while hockey_stick(p, q, high) > delta:
        low, high = high, 2 * high
        if high > 700:
            return math.inf
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if hockey_stick(p, q, middle) > delta else (low, middle)
    return low


def statement(title: str, claim: str, holds: bool, event: str, probe: str = "fact") -> AuditResult:
    """The result for something that is true or not, without chance: an order of acts, an inequality.

    Parameters
    ----------
    title, claim : str
        What was looked at, and what is claimed about it.
    holds : bool
        Whether the claim is true in the case that was looked at.
    event : str
        What was seen.

    Examples
    --------
    >>> from discreet import audit
    >>> audit.statement("my door", "pays first", holds=True, event="paid, then read").verdict
    'consistent'
    """
    return AuditResult(
        title=title,
        claim=claim,
        claimed=0.0,
        floor=0.0 if holds else math.inf,
        verdict="consistent" if holds else "violated",
        confidence=1.0,
        event=event,
        probe=probe,
        audited="the code as it ran",
        trials=1,
    )
