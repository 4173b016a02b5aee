"""Report noisy max: the candidate whose noisy score is the largest."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

import numpy as np
import numpy.typing as npt

from discreet import events, noise
from discreet.measures import PureDP
from discreet.mechanisms.additive import Mechanism
from discreet.mechanisms.distributions import drawable_scale
from discreet.mechanisms.permute_and_flip import Integers, check_scores, selection_scale
from discreet.rational import Number, as_integer

__all__ = ["ReportNoisyMax"]


@final
class ReportNoisyMax(Mechanism):
    """The index of the largest score plus geometric noise, ties broken by a fresh random order.

    Parameters
    ----------
    epsilon : number
        Greater than 0.
    monotone : bool
        Whether all scores move in the same direction between neighbours, as counts do when a person is
        added. It halves the noise.

    Privacy
    -------
    Pure ε-DP for the unit of `sensitivity`, if no integer score moves by more than that:
    noise of scale 2·sensitivity/ε (Dwork & Roth 2014, Claim 3.9, there with Laplace noise). Event:
    `events.NoisyMax`. Only the index is released: the noisy maximum itself would cost more. The order
    that breaks ties is drawn before the scores are looked at, which is what the proof needs.
    Proof page: ``docs/proofs/selection.md``.

    Examples
    --------
    >>> from discreet import mechanisms
    >>> chooser = mechanisms.ReportNoisyMax(epsilon=1, monotone=True)
    >>> chooser.run([31, 900, 40])
    1
    """

    _use = "it chooses among scores, by its own run"

    def __init__(self, epsilon: Number, *, monotone: bool = False) -> None:
        self.measure: PureDP = PureDP(epsilon)
        if not 0 < self.measure.epsilon < math.inf:
            raise ValueError("epsilon must be greater than 0, and finite.")
        self.epsilon = Fraction(self.measure.epsilon)
        self.monotone = monotone

    def _scale(self, sensitivity: int) -> Fraction:
        return drawable_scale(selection_scale(self.epsilon, sensitivity, self.monotone))

    def event(self, sensitivity: int = 1) -> events.NoisyMax:
        """The event of one draw, for the accountant."""
        scale = self._scale(sensitivity)
        return events.NoisyMax(scale, sensitivity, self.monotone)

    def run(self, scores: npt.ArrayLike, sensitivity: int = 1) -> int:
        """Draw the index of one candidate."""
        return int(self.draws(scores, 1, sensitivity)[0])

    def draws(self, scores: npt.ArrayLike, count: int, sensitivity: int = 1) -> Integers:
        """Independent draws, each of which costs `event`."""
        marks = check_scores(scores)
        scale = self._scale(sensitivity)
        noisy = marks + noise.geometric(scale, (count, marks.size))
        tied = noisy == noisy.max(axis=1, keepdims=True)
        chosen: Integers = tied.argmax(axis=1)
        for row in np.flatnonzero(tied.sum(axis=1) > 1).tolist():
            # the first of a random order of the tied ones: the same as a random order of all
            among = np.flatnonzero(tied[row])
            chosen[row] = among[noise.uniform_below(among.size)]
        return chosen

    def expected_error(self, candidates: int, sensitivity: int = 1, level: float = 0.95) -> float:
        """The most by which, with probability `level`, the chosen score falls short of the best.

        The difference of two geometric draws reaches t with probability q^t/(1 + q), q = e^(-1/scale);
        there are candidates - 1 of them.
        """
        scale = float(self._scale(sensitivity))
        others = as_integer(candidates, "candidates", minimum=1) - 1
        if not others:
            return 0.0
        return scale * max(0.0, math.log(others / (1 + math.exp(-1 / scale)) / (1 - level)))

    def __repr__(self) -> str:
        return f"ReportNoisyMax({self.measure!r}, monotone={self.monotone})"
