"""Norm-Gamma noise on the minimiser or in the objective, as in the papers: not exact, so assumed."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import final

import numpy as np

from discreet import events
from discreet.measures import PureDP
from discreet.models.erm.perturbation import (
    PLAIN_GRID,
    Floats,
    Integers,
    Perturbation,
)
from discreet.models.erm.regulariser import objective_regulariser, output_regulariser
from discreet.models.erm.task import Task
from discreet.noise.norm_gamma import check_norm_gamma, norm_gamma
from discreet.rational import square_root_above

#: Units of b.
_STEP = Fraction(1, 2**30)
#: Longer vectors of noise than this are not drawn.
_LONGEST = 2**62 * _STEP
WHY = (
    "norm-Gamma noise is drawn as a direction times a radius in float64, and the minimiser counts as exact: "
    "its distribution is that of the proof in real numbers only"
)


class NormGamma(Perturbation):
    """A plan with norm-Gamma noise for all of ε.

    Privacy
    -------
    In real numbers, and for exact minimisers, ε-DP (Chaudhuri, Monteleoni & Sarwate 2011); float64 and the
    solver's tolerance are not paid for. Its event is `Assumed`. Proof page: ``docs/proofs/erm.md``.
    """

    def __init__(self, task: Task) -> None:
        if not isinstance(task.measure, PureDP):
            raise ValueError("delta must be 0 with noise='norm-gamma': it gives pure DP.")
        super().__init__(task)
        if not isinstance(task.epsilon, float):
            check_norm_gamma(task.size, self.scale, float(_LONGEST))

    @property
    def grid(self) -> Fraction:
        return PLAIN_GRID

    @property
    def moved(self) -> float:
        """How far two neighbours' gradients can be apart, in L2."""
        return float(self.task.changed * square_root_above(self.task.row_squared))

    def event(self) -> events.Event:
        epsilon = self.task.epsilon
        if isinstance(epsilon, float):
            return events.Compose()
        cost = events.External(
            PureDP(epsilon), f"{type(self).__name__} in {self.task.size} weights"
        )
        return events.Assumed(cost, WHY)

    @property
    @abstractmethod
    def scale(self) -> float:
        """The scale of the radius."""

    def spread(self) -> float:
        # E‖b‖² = d(d + 1)·scale², spread over d coordinates
        return math.sqrt(self.task.size + 1) * self.scale


@final
class NormGammaOutput(NormGamma):
    """The minimiser plus norm-Gamma noise (Chaudhuri, Monteleoni & Sarwate 2011, algorithm 1)."""

    def _regulariser(self) -> Fraction:
        return output_regulariser(self.task)

    @property
    def scale(self) -> float:
        return self.moved / float(self.regulariser * Fraction(self.task.epsilon))

    def release(self, units: Integers) -> Floats:
        rows = np.atleast_2d(units)
        drawn = norm_gamma(len(rows), self.task.size, self.scale).reshape(units.shape)
        return np.asarray(units * float(self.grid) + drawn)


@final
class NormGammaObjective(NormGamma):
    """The minimiser of the objective plus b·w, b norm-Gamma noise (algorithm 2 there)."""

    def _regulariser(self) -> Fraction:
        return objective_regulariser(self.task, Fraction(1))

    @property
    def scale(self) -> float:
        left = Fraction(self.task.epsilon) - self.task.jacobian(self.regulariser)
        return self.moved / float(left)

    @property
    def step(self) -> Fraction:
        return _STEP

    def draws(self, count: int) -> Integers:
        drawn = norm_gamma(count, self.task.size, self.scale)
        return np.clip(np.rint(drawn / float(_STEP)), -(2.0**62), 2.0**62).astype(np.int64)

    def release(self, units: Integers) -> Floats:
        return np.asarray(units * float(self.grid))
