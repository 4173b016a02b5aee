"""Permute-and-flip: picks the best candidate more often than the exponential mechanism does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, final

import numpy as np
import numpy.typing as npt
from scipy.special import roots_legendre

from discreet import events, noise
from discreet.measures import PureDP
from discreet.mechanisms.additive import Mechanism
from discreet.noise.parameters import LARGEST_SCALE, SMALLEST_SCALE
from discreet.rational import Number, as_integer

__all__ = ["PermuteAndFlip", "check_scores", "selection_scale"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_LARGEST = 2**61


def check_scores(scores: npt.ArrayLike) -> Integers:
    """Scores as a flat int64 array; their type and number are public, their values are not.

    Whole numbers of any size are accepted, even in lists, where numpy would choose a type by their values.
    """
    array = scores if isinstance(scores, np.ndarray) else _list_scores(scores)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iuO":
        raise TypeError("scores must be a flat array of integers, with at least one candidate.")
    # clamping widens no difference between neighbours, and keeps sums with noise within int64
    if array.dtype.kind == "O":
        if not all(issubclass(type(score), int | np.integer) for score in array):
            raise TypeError("scores must be integers.")
        clamped = (min(max(int(score), -_LARGEST), _LARGEST) for score in array)
        return np.fromiter(clamped, np.int64, array.size)
    if array.dtype == np.uint64:
        array = np.minimum(array, np.uint64(_LARGEST))
    return np.asarray(np.clip(array.astype(np.int64), -_LARGEST, _LARGEST), np.int64)


def _list_scores(scores: Any) -> npt.NDArray[Any]:
    """A sequence as an array of objects, so that no value decides its type."""
    if isinstance(scores, Sequence) and not isinstance(scores, str | bytes):
        return np.fromiter(scores, np.object_, len(scores))
    return np.asarray(scores)


def selection_scale(epsilon: Fraction, sensitivity: int, monotone: bool) -> Fraction:
    """The scale 2·sensitivity/ε of a selection, half of it for monotone scores."""
    return (1 if monotone else 2) * as_integer(sensitivity, "sensitivity", minimum=1) / epsilon


@final
class PermuteAndFlip(Mechanism):
    """Candidates in random order, each kept with probability exp(-ε·(best - score)/(2·sensitivity)).

    The first one kept is the answer; the best is always kept, so there is an answer.

    Parameters
    ----------
    epsilon : number
        Greater than 0.
    monotone : bool
        Whether all scores move in the same direction between neighbours, as counts do when a person is
        added. It halves the scale.

    Privacy
    -------
    Pure ε-DP for the unit of `sensitivity`, if no score moves by more than that
    (McKenna & Sheldon 2020). Event: `events.PermuteAndFlip`. In other measures only what follows from
    pure DP is claimed: its loss has a wider range than that of the exponential mechanism, so it must
    not be charged as one. The draw is exact. Running time isn't protected.
    Proof page: ``docs/proofs/selection.md``.

    Examples
    --------
    >>> from discreet import mechanisms
    >>> chooser = mechanisms.PermuteAndFlip(epsilon=1, monotone=True)
    >>> chooser.run([31, 900, 40])
    1
    >>> chooser.probabilities([3, 5]).round(2)
    array([0.07, 0.93])
    """

    _use = "it chooses among scores, by its own run"

    def __init__(self, epsilon: Number, *, monotone: bool = False) -> None:
        self.measure: PureDP = PureDP(epsilon)
        if not 0 < self.measure.epsilon < math.inf:
            raise ValueError("epsilon must be greater than 0, and finite.")
        self.epsilon = Fraction(self.measure.epsilon)
        self.monotone = monotone

    def event(self, sensitivity: int = 1) -> events.PermuteAndFlip:
        """The event of one draw, for the accountant."""
        scale = selection_scale(self.epsilon, sensitivity, self.monotone)
        return events.PermuteAndFlip(scale, sensitivity, self.monotone)

    def run(self, scores: npt.ArrayLike, sensitivity: int = 1) -> int:
        """Draw the index of one candidate."""
        return int(self.run_each(check_scores(scores)[None], sensitivity)[0])

    def run_each(self, scores: Integers, sensitivity: int = 1) -> Integers:
        """Draw the index of one candidate for each row of scores, independently."""
        marks = check_scores(scores.reshape(-1)).reshape(scores.shape)
        scale = selection_scale(self.epsilon, sensitivity, self.monotone)
        gaps = marks.max(axis=1, keepdims=True) - marks
        # an order of all candidates of all rows: in each row it is uniform, and rows are independent
        order = noise.permutation(marks.size).reshape(marks.shape)
        if SMALLEST_SCALE <= scale <= LARGEST_SCALE:
            # all coins at once: P(K >= gap) = exp(-gap/scale)
            kept = noise.geometric(scale, marks.shape) >= gaps
            # the first of those kept, among which the best candidate always is
            return np.asarray(np.where(kept, order, marks.size).argmin(axis=1), np.int64)
        first = [
            self._toss(row[places.argsort()], scale)
            for row, places in zip(gaps, order, strict=True)
        ]
        places = np.take_along_axis(order.argsort(axis=1), np.array(first)[:, None], axis=1)
        return places[:, 0]

    @staticmethod
    def _toss(gaps: Integers, scale: Fraction) -> int:
        """The first of some candidates that is kept, coin by coin."""
        for place, gap in enumerate(gaps.tolist()):
            if noise.bernoulli_exp(gap / scale):
                return place
        raise AssertionError("the best candidate is always kept")  # exp(0) = 1

    def probabilities(self, scores: npt.ArrayLike, sensitivity: int = 1) -> Floats:
        """The probability of each candidate, to about 1e-12; not private, for tests and for plans.

        p_i·∫₀¹ Π_{j≠i}(1 - x·p_j) dx with p_j = exp(-(best - score_j)/scale)
        (Ding, Kifer, Saghaian, Steinke, Wang, Xiao & Zhang 2021).
        """
        marks = check_scores(scores)
        scale = float(selection_scale(self.epsilon, sensitivity, self.monotone))
        kept = np.exp(-(marks.max() - marks) / scale)
        at, weights = roots_legendre(max(2, marks.size // 2 + 1))  # exact for this degree
        x = (at + 1) / 2
        factors = 1 - np.outer(x, kept)
        others = np.stack(
            [np.prod(np.delete(factors, i, axis=1), axis=1) for i in range(marks.size)], axis=1
        )
        return np.asarray(kept * (weights / 2 @ others))

    def expected_error(self, candidates: int, sensitivity: int = 1, level: float = 0.95) -> float:
        """The most by which, with probability `level`, the chosen score falls short of the best.

        scale·log((candidates - 1)/(2·(1 - level))): at most what the exponential mechanism promises.
        """
        scale = float(selection_scale(self.epsilon, sensitivity, self.monotone))
        others = as_integer(candidates, "candidates", minimum=1) - 1
        return scale * max(0.0, math.log(others / (2 * (1 - level)))) if others else 0.0

    def __repr__(self) -> str:
        return f"PermuteAndFlip({self.measure!r}, monotone={self.monotone})"
