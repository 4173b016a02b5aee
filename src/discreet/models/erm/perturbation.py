"""How much noise, and where: output and objective perturbation from public constants alone."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from discreet import events, noise
from discreet.accounting.objective import objective_delta
from discreet.coding import Sensitivity
from discreet.measures import ApproxDP
from discreet.mechanisms import Distribution, LaplaceDistribution, drawable_scale, mechanism_for
from discreet.models.erm.objective import MAX_ROWS, WEIGHT_STEP
from discreet.models.erm.regulariser import balance, objective_regulariser, output_regulariser
from discreet.models.erm.task import Task, power_below, shorten
from discreet.rational import float_above, square_root_above

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: The share of ε that pays for the solver's tolerance and the rounding of b.
FINAL_SHARE = Fraction(1, 50)
#: Weights without noise are rounded to multiples of this.
PLAIN_GRID = Fraction(1, 2**30)


class Perturbation(ABC):
    """A plan for the noise of one fit."""

    task: Task
    regulariser: Fraction

    def __init__(self, task: Task) -> None:
        self.task = task
        if task.rows is not None and task.unit.length_is_public and task.rows > MAX_ROWS:
            raise ValueError(
                f"rows: at most {MAX_ROWS} rows are fitted in memory, but {task.rows} were declared."
            )
        self.regulariser = self._regulariser()
        self._check_regulariser()

    def _check_regulariser(self) -> None:
        """Raise, from public constants, if the solver can't meet its tolerance with this Λ."""
        if self._far * 16 > 1:
            least = float(16 * self._far * self.regulariser)
            raise ValueError(
                f"alpha must be at least {least:.3g} here: below that, float64 can't find the minimum "
                "closely enough for any data, so the fit is refused before a row is read."
            )
        if self.regulariser > self.task.most_regulariser:
            raise ValueError(
                f"alpha must be at most {float(self.task.most_regulariser):.3g} here, where it is "
                f"{float_above(self.regulariser):.3g}: above that, weights are finer than the solver's grid. "
                "Give a smaller alpha or, where epsilon decides it, a larger budget."
            )

    @abstractmethod
    def _regulariser(self) -> Fraction:
        """Λ."""

    @property
    def _far(self) -> Fraction:
        """A bound on the distance of what the solver finds from the minimum, without b's rounding."""
        return self.task.gradient_bound / self.regulariser

    @abstractmethod
    def event(self) -> events.Event:
        """The event for the accountant."""

    def tilt(self) -> tuple[list[int], Fraction]:
        """b, as integers and their unit."""
        if isinstance(self.task.epsilon, float):
            return [0] * self.task.size, Fraction(1)
        return self.draws(1)[0].tolist(), self.step

    @property
    def step(self) -> Fraction:
        """The unit of `draws`."""
        return Fraction(1)

    def draws(self, count: int) -> Integers:
        """Draw `count` vectors b, rounded to whole multiples of the step."""
        return np.zeros((count, self.task.size), np.int64)

    def finish(self, weights: list[int]) -> Floats:
        """The weights to be released, from those that the solver found (in units of `WEIGHT_STEP`)."""
        if isinstance(self.task.epsilon, float):
            return plain(weights)
        each = self.grid / WEIGHT_STEP
        units = [round(Fraction(w) / each) for w in weights]
        # beyond 2^61 they are clamped, which moves no two of them farther apart
        return self.release(np.array([max(-(2**61), min(u, 2**61)) for u in units], np.int64))

    @abstractmethod
    def release(self, units: Integers) -> Floats:
        """Weights on the grid, given as integers, with noise."""

    @property
    @abstractmethod
    def grid(self) -> Fraction:
        """Weights are rounded to whole multiples of this."""

    @abstractmethod
    def spread(self) -> float:
        """The approximate standard deviation of the noise: of b, or of a weight."""


def plain(weights: list[int]) -> Floats:
    """Weights without noise, rounded so that the order of rows does not show."""
    step = PLAIN_GRID / WEIGHT_STEP
    return np.array([float(round(Fraction(w) / step) * PLAIN_GRID) for w in weights])


def _sensitivity(distance: Fraction, grid: Fraction, size: int) -> Sensitivity:
    """Of vectors at most `distance` apart in L2, rounded to whole multiples of `grid`.

    A coordinate moves by at most its distance plus one: L1 ≤ √size·distance/grid + size.
    """
    steps = distance / grid
    root = square_root_above(Fraction(size))
    return Sensitivity(math.ceil(root * steps) + size, math.ceil((steps + root) ** 2))


@final
class OutputPerturbation(Perturbation):
    """The minimiser plus exact noise on a grid.

    Privacy
    -------
    Λ-strong convexity: two minimisers are at most (changed rows · slope · R)/Λ apart (Chaudhuri, Monteleoni &
    Sarwate 2011, Corollary 8, in the form of sums), and each is found to within t/Λ.
    Proof page: ``docs/proofs/erm.md``.
    """

    def _regulariser(self) -> Fraction:
        return output_regulariser(self.task)

    @cached_property
    def _distance(self) -> Fraction:
        apart = self.task.changed * square_root_above(self.task.row_squared)
        return apart / self.regulariser + 2 * self._far

    @cached_property
    def grid(self) -> Fraction:
        return power_below(float(self._distance) / (16 * math.sqrt(self.task.size)))

    @cached_property
    def moved(self) -> Sensitivity:
        """How far two neighbours' rounded weights can be apart."""
        return _sensitivity(self._distance, self.grid, self.task.size)

    @cached_property
    def distribution(self) -> Distribution:
        """The noise on them."""
        return mechanism_for(self.task.measure, self.moved).distribution(self.moved)

    def release(self, units: Integers) -> Floats:
        return np.asarray(self.distribution.run(units).astype(np.float64) * float(self.grid))

    def event(self) -> events.Event:
        if isinstance(self.task.epsilon, float):
            return events.Compose()
        return self.distribution.event(self.moved)

    def spread(self) -> float:
        return self.distribution.expected_error() * float(self.grid)


@final
class ObjectivePerturbation(Perturbation):
    """The minimiser of the objective plus b·w, with a little exact noise for what float64 leaves open.

    Privacy
    -------
    The ideal minimiser for a continuous b is (ε - ε_f)-DP; what is released is the minimiser for a rounded b,
    found to a tolerance, hence at most D from the ideal one, plus grid noise that hides 2D for ε_f. The
    rounded b itself is never the noise that protects. Proof page: ``docs/proofs/erm.md``.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        if isinstance(task.epsilon, float):
            return
        self._calibrate()
        if task.alpha is None and (ridge := balance(task, self.inner)) > self.regulariser:
            self.regulariser = ridge
            self._check_regulariser()
            self._calibrate()

    def _regulariser(self) -> Fraction:
        return objective_regulariser(self.task, 1 - FINAL_SHARE)

    def _calibrate(self) -> None:
        task = self.task
        assert not isinstance(task.epsilon, float)
        whole = task.epsilon * (1 - FINAL_SHARE)
        jacobian = task.jacobian(self.regulariser)
        moved = task.changed * task.row_length
        # b's rounding moves the minimum no farther than the tolerance does
        self._step = power_below(task.tolerance / math.sqrt(task.size))
        self.inner: events.LaplaceObjective | events.GaussianObjective = events.LaplaceObjective(
            self._drawable(moved / (whole - jacobian)), moved, jacobian
        )
        if isinstance(task.measure, ApproxDP) and task.measure.delta:
            sigma = self._sigma(whole, jacobian, task.measure.delta)
            if sigma is not None and sigma**2 < 2 * self.inner.scale**2:
                self.inner = self._gaussian(self._drawable(sigma), whole, jacobian)
        distance = 2 * (
            self._far + self._step * square_root_above(Fraction(task.size)) / self.regulariser
        )
        self._grid = power_below(float(distance) / (4 * math.sqrt(task.size)))
        self.moved = _sensitivity(distance, self._grid, task.size)
        self._distribution = LaplaceDistribution(
            drawable_scale(self.moved.l1 / (task.epsilon * FINAL_SHARE))
        )

    def _drawable(self, size: Fraction) -> Fraction:
        """A scale, or σ, of b that can be drawn in units of its step."""
        return drawable_scale(size / self._step) * self._step

    @property
    def _tilt_scale(self) -> Fraction:
        """The scale, or σ, of b in units of its step."""
        inner = self.inner
        size = inner.sigma if isinstance(inner, events.GaussianObjective) else inner.scale
        return size / self.step

    def _gaussian(
        self, sigma: Fraction, epsilon: Fraction, jacobian: Fraction
    ) -> events.GaussianObjective:
        loss = self.task.loss
        return events.GaussianObjective(
            sigma,
            self.task.row_squared,
            jacobian,
            epsilon,
            self.task.changed,
            loss.ways,
            loss.has_zero,
        )

    def _sigma(self, epsilon: Fraction, jacobian: Fraction, delta: Fraction) -> Fraction | None:
        """The least σ (to 1e-7) whose δ is at most `delta`; None where there are too many vertices."""

        def enough(sigma: Fraction) -> bool:
            return objective_delta(self._gaussian(sigma, epsilon, jacobian)) <= delta

        high = shorten(square_root_above(self.task.row_squared) + Fraction(1, 2**20))
        for _ in range(64):
            if enough(high):
                break
            high *= 2
        else:
            return None
        low = high / 2
        while enough(low):
            low, high = low / 2, low
        while high - low > high / 10**7:
            middle = shorten((low + high) / 2)
            if middle >= high:
                break
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high

    @property
    def step(self) -> Fraction:
        return self._step

    @property
    def grid(self) -> Fraction:
        return self._grid

    @property
    def distribution(self) -> Distribution:
        """The noise for what float64 leaves open."""
        return self._distribution

    def release(self, units: Integers) -> Floats:
        return np.asarray(self.distribution.run(units).astype(np.float64) * float(self.grid))

    def event(self) -> events.Event:
        if isinstance(self.task.epsilon, float):
            return events.Compose()
        return events.Compose(self.inner, self.distribution.event(self.moved))

    def draws(self, count: int) -> Integers:
        """Draw `count` vectors b, rounded to whole multiples of the step."""
        shape = (count, self.task.size)
        if isinstance(self.inner, events.GaussianObjective):
            return noise.rounded_gaussian(self._tilt_scale, shape)
        # the floor of an exponential variate is geometric, so this rounds a Laplace variate to zero
        sizes = noise.geometric(self._tilt_scale, shape)
        signs = 1 - 2 * (noise.random_words(sizes.size) >> np.uint64(63)).astype(np.int64)
        return sizes * signs.reshape(shape)

    def spread(self) -> float:
        if isinstance(self.task.epsilon, float):
            return 0.0
        if isinstance(self.inner, events.GaussianObjective):
            return float(self.inner.sigma)
        return math.sqrt(2) * float(self.inner.scale)
