"""The best of a random number of runs: honest search over parameters."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Generic, TypeVar, final

import numpy as np

from discreet import events, noise
from discreet.accounting.curves import log_mean_runs
from discreet.noise.generators import find_generators, renew
from discreet.rational import Number

__all__ = ["BestOf", "truncated_negative_binomial"]

T = TypeVar("T")


def _failures(gamma: Fraction) -> int:
    """How often a coin with probability `gamma` of heads falls tails before its first heads: exact."""
    block = min(1 << 16, math.ceil(1 / gamma))
    passed = 0
    while True:
        heads = np.flatnonzero(noise.bernoulli(gamma, block))
        if heads.size:
            return passed + int(heads[0])
        passed += block


def _thin(shape: Fraction, first: int, last: int) -> bool:
    """Accept with probability Π (l + shape)/(l + 1) over l = first..last-1, coin by coin."""
    return all(noise.bernoulli((step + shape) / (step + 1)) for step in range(first, last))


def _negative_binomial(shape: Fraction, gamma: Fraction) -> int:
    """P(k) ∝ (1 - γ)^k·Π_{l<k} (l + η)/(l + 1) for k >= 0, 0 < η."""
    total = sum(_failures(gamma) for _ in range(shape.numerator // shape.denominator))
    rest = shape % 1
    while rest:
        extra = _failures(gamma)
        if _thin(rest, 0, extra):
            return total + extra
    return total


def truncated_negative_binomial(shape: Number, gamma: Number) -> int:
    """Draw the number of runs, at least 1, exactly (Papernot & Steinke 2022, Definition 1).

    P(k) ∝ (1 - γ)^k·Π_{l<k} (l + η)/(l + 1). For η <= 1 geometric proposals k >= 1 are kept with
    probability Π_{1<=l<k} (l + η)/(l + 1), which is 1/k for η = 0; else a negative binomial draw is
    repeated while it is 0. Only coins with rational probabilities are thrown.
    """
    distribution = events.RepeatAndSelect(events.Compose(), shape, gamma)
    if distribution.shape <= 1:
        while True:
            runs = 1 + _failures(distribution.gamma)
            if _thin(distribution.shape, 1, runs):
                return runs
    while True:
        runs = _negative_binomial(distribution.shape, distribution.gamma)
        if runs:
            return runs


@final
class BestOf(Generic[T]):
    """Run a private step a random number of times and return only the best outcome.

    Parameters
    ----------
    event : Event
        What one run is. Every run must be that: the same mechanism on the same data, which may begin
        by drawing its parameters at random, independent of the other runs.
    shape : number
        η >= 0: 0 is logarithmic, 1 geometric. With a larger η the number of runs varies less, and costs more.
    gamma : number
        Between 0 and 1: the smaller, the more runs.

    Privacy
    -------
    `events.RepeatAndSelect` (Liu & Talwar 2019; Papernot & Steinke 2022, Theorem 2): (2 + η)·ε for pure
    runs, and a Rényi curve. The score must be part of what a run releases, privately. How many runs
    there were, the other outcomes and the time it took must stay secret. The number of runs is drawn
    exactly. Charge `event` before `run`. Proof page: ``docs/proofs/selection.md``.

    Examples
    --------
    >>> from discreet import accounting, events, measures, mechanisms, noise
    >>> def step():  # a noisy score, and what it is the score of
    ...     score = 100 + noise.discrete_laplace(2)
    ...     return score, f"scored {score}"
    >>> best = mechanisms.BestOf(events.DiscreteLaplace(2), gamma="1/10")
    >>> best.expected_runs()
    10.000000000000238
    >>> score, outcome = best.run(step)
    >>> score > 90
    True
    >>> accounting.cost(best.event, measures.PureDP)
    PureDP(epsilon=1.5)
    """

    def __init__(self, event: events.Event, shape: Number = 1, gamma: Number = "0.1") -> None:
        self.event = events.RepeatAndSelect(event, shape, gamma)

    def run(self, step: Callable[[], tuple[float, T]], *, reach: Any = None) -> tuple[float, T]:
        """Return the outcome with the largest score; the first of equal ones, and NaN counts as the lowest.

        Parameters
        ----------
        step : callable
            Takes nothing and returns a score and a result.
        reach : object, optional
            The object that holds the generators that a run may draw from; by default what `step` holds.

        Notes
        -----
        A run has public generators of its own: Python's, numpy's, torch's if that was imported, and those
        in `reach` are reseeded before each run and restored afterwards, so that neither what the best run
        drew nor the states left behind tell which run it was, or how many there were. Its warnings aren't
        shown. Runs in several threads take turns.
        """
        generators = find_generators(step if reach is None else reach)

        def alone() -> tuple[float, T]:
            with renew(generators), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return step()

        runs = truncated_negative_binomial(self.event.shape, self.event.gamma)
        best = alone()
        for _ in range(runs - 1):
            found = alone()
            if found[0] > best[0] or (math.isnan(best[0]) and not math.isnan(found[0])):
                best = found
        return best

    def expected_runs(self) -> float:
        """The mean of the number of runs, which is public; the number itself is not."""
        return math.exp(log_mean_runs(self.event.shape, self.event.gamma)[0])

    def expected_error(self) -> float:
        """The mean share of outcomes that beat the best of the runs, E[1/(K + 1)].

        For continuous scores, since the K runs are exchangeable with one more.
        """
        shape, gamma = float(self.event.shape), float(self.event.gamma)
        k = np.arange(1, min(10**7, math.ceil(60 * max(1.0, shape) / gamma)) + 1)
        ratios = np.log((k[1:] - 1 + shape) / k[1:])  # the first factor is common to all
        logs = k * math.log1p(-gamma) + np.concatenate(([0.0], np.cumsum(ratios)))
        mass = np.exp(logs - logs.max())
        return float((mass / (k + 1)).sum() / mass.sum())

    def __repr__(self) -> str:
        return f"BestOf({self.event!r})"
