"""From noised answers to shapes: everything here is post-processing.

A shape is what each cell of a term adds to a score, for each output (one for two classes and for numbers,
else one for each class). Small groups of columns take their steps one after the other, so that columns which
say the same don't answer the same residuals at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.models.boosting.prior import Prior, centre

Floats = npt.NDArray[np.float64]
#: From shapes, intercepts and the places of some columns to noised sums of residuals in each of their cells,
#: and the deviation of the noise.
Ask = Callable[[Sequence[Floats], Floats, Sequence[int]], tuple[list[Floats], float]]

#: The longest step of a group is this over its columns, so that those which all say the same make no shape
#: swing ever wider: for squared loss, rate times columns must stay below 2.
REACH = 1.6
#: How much the last answer counts where there is hardly any noise.
RATE = 0.8
#: Scores of classes lag behind what clipped residuals ask for by about this over the number of rounds.
LAG = 0.8


@dataclass(frozen=True)
class Start:
    """Where boosting starts.

    Attributes
    ----------
    rows : list of arrays of shape (cells,)
        Noised numbers of rows, shrunk.
    curvature : list of arrays of shape (cells, outputs)
        Roughly how much the sum of residuals in a cell falls when its value rises by one.
    values, errors : lists of arrays of shape (cells, outputs)
        The first shapes, and the standard deviation of the noise in them.
    wanted : list of arrays of shape (cells, outputs)
        What the first answer alone says of each shape.
    wanted_variance : float
        The variance of the noise in a sum of residuals that would say it as exactly.
    intercept, intercept_variance : arrays of shape (outputs,)
        The first intercepts, and the variance of the noise in them.
    prior : Prior
        What is expected of shapes.
    is_ordered : list of bool
        Whether the cells of a column are neighbours in order.
    clip : float
        The largest residual that counts.
    step : float
        Scores are rounded to whole steps of this size before they meet a row.
    drift : float
        The variance that intercepts gain in a step, as shapes change about them.
    """

    rows: list[Floats]
    curvature: list[Floats]
    values: list[Floats]
    errors: list[Floats]
    wanted: list[Floats]
    wanted_variance: float
    intercept: Floats
    intercept_variance: Floats
    prior: Prior
    is_ordered: list[bool]
    clip: float
    step: float = 0.0
    drift: float = 0.0


@dataclass(frozen=True)
class Learned:
    """Shapes, the standard deviation of the noise (and of rounding) in them, and intercepts."""

    values: list[Floats]
    errors: list[Floats]
    intercept: Floats


def boost(start: Start, rounds: Sequence[Sequence[Sequence[int]]], ask: Ask) -> Learned:
    """Shapes after these rounds of noised residuals, each of which asks groups of columns one by one.

    Residuals in a column's cells say where its values should be. What rounds say of them is averaged by
    precision, where noise prevails, and forgotten where it doesn't; shapes are posterior means of that.
    """
    shapes = [_Shape(start, at) for at in range(len(start.values))]
    intercept = _Intercept(start)
    for groups in rounds:
        for group in groups:
            values = [shape.value for shape in shapes]
            sums, noise = ask(values, intercept.value, group)
            left = intercept.left_over(sums)
            for at, part in zip(group, sums, strict=True):
                shapes[at].step(part, left, noise, REACH / len(group))
            intercept.step(left, sums, noise)
    rounding = start.step / 12**0.5
    values = [shape.value for shape in shapes]
    errors = [np.hypot(shape.error, rounding) for shape in shapes]
    return Learned(values, errors, intercept.value)


class _Shape:
    """A shape as it moves, what rounds said of it, and the noise in both."""

    def __init__(self, start: Start, at: int) -> None:
        self._rows, self._bend = start.rows[at], start.curvature[at]
        self._prior, self._is_ordered = start.prior, start.is_ordered[at]
        self.value, self.error = start.values[at], start.errors[at]
        self._wanted, self._variance = start.wanted[at], start.wanted_variance

    def step(self, sums: Floats, left: Floats, noise: float, longest: float) -> None:
        """Move by the residuals in the cells, less their part of what is left over in all rows."""
        gradient = sums - left * (self._rows / self._rows.sum())[:, None]
        rate = min(self._rate(noise), longest)
        wanted = self.value + gradient / self._bend
        self._wanted = self._wanted + rate * (wanted - self._wanted)
        self._variance = (1 - rate) ** 2 * self._variance + (rate * noise) ** 2
        shrinkage = self._prior.shrinkage(self._bend, self._variance**0.5, self._is_ordered)
        self.value = centre(shrinkage.apply(self._wanted), self._rows)
        self.error = shrinkage.errors

    def _rate(self, noise: float) -> float:
        """How much the last answer counts: by precision where noise prevails over chance in the rows."""
        if noise == 0:
            return RATE
        by_precision = self._variance / (self._variance + noise**2)
        share = noise**2 / (noise**2 + self._prior.scale**2 * float(self._bend.mean()))
        return share * by_precision + (1 - share) * max(RATE, by_precision)


class _Intercept:
    """Intercepts that follow the mean residual of all rows as far as noise allows: a Kalman filter."""

    def __init__(self, start: Start) -> None:
        self.value = start.intercept.copy()
        self._variance = start.intercept_variance.copy()
        self._drift, self._scale = start.drift, start.prior.scale
        self._bend = np.mean([part.sum(axis=0) for part in start.curvature], axis=0)

    def left_over(self, sums: Sequence[Floats]) -> Floats:
        """The sum of residuals over all rows: each column tells it, the better the fewer cells it has."""
        weights = np.array([1 / len(part) for part in sums])
        totals = np.array([part.sum(axis=0) for part in sums])
        return np.asarray(weights @ totals / weights.sum())

    def step(self, left: Floats, sums: Sequence[Floats], noise: float) -> None:
        error = noise**2 / sum(1 / len(part) for part in sums)
        variance = self._variance + self._drift
        chance = self._scale**2 * self._bend
        gain = variance * self._bend / (self._bend**2 * variance + error + chance)
        self.value = self.value + gain * left
        self._variance = (1 - gain * self._bend) * variance


def stretch(learned: Learned, by: float) -> Learned:
    """Multiply shapes and intercepts, and the noise in them, by a number."""
    values, errors = ([by * part for part in parts] for parts in (learned.values, learned.errors))
    return Learned(values, errors, by * learned.intercept)


def whole_steps(values: Floats) -> npt.NDArray[np.int64]:
    """Round to whole numbers, clamped to what engines can add up."""
    return np.rint(np.clip(values, -(2.0**30), 2.0**30)).astype(np.int64)
