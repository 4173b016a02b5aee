"""From noised answers to shapes: everything here is post-processing.

A shape is what each cell of a term adds to a score, for each output (one for two classes and for numbers,
else one for each class).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
#: From shapes and intercepts to noised sums of residuals in each cell, and the deviation of their noise.
Ask = Callable[[Sequence[Floats], Floats], tuple[list[Floats], float]]

#: The expected spread of a shape's values about 0, in units of a score.
SPREAD = 0.5
#: The share of the first shapes that is kept: each of them alone explains all it can.
START = 0.3
#: The share of a Newton step that is taken: columns say much the same, and all take their steps at once.
RATE = 0.6
INTERCEPT_RATE = 0.7
#: With more columns than this, first shapes and steps are shorter in proportion, so that their sum isn't.
MANY_COLUMNS = 20
#: Where less than this share of a step was right, the rest is taken back, and later ones are shorter: columns
#: that say the same over and over would make shapes swing ever wider.
MIN_RIGHT_SHARE = 0.4
#: Residuals point back clearly where they do by this many standard deviations of their noise.
CLEARLY = 3.0
#: How much longer than was right the next step is, and the least rate.
REACH, MIN_RATE = 1.25, 0.02
#: Scores of classes lag behind what residuals ask for by about this over the number of rounds: measured on
#: two tables, where it makes probabilities about right (``benchmarks/bench_boosting.py``, log loss).
LAG = 1.5
#: The least curvature per row that is believed.
MIN_CURVATURE = 0.02
#: Where residuals are clipped: those of classes, and those of numbers in standard deviations of the target.
CLASS_CLIP, NUMBER_CLIP = 0.5, 1.25
#: The least standard deviation of a target that is believed, as a share of half its width.
MIN_DEVIATION = 0.02
#: The variance of a target scaled to [-1, 1] that is expected before anything is measured.
DEFAULT_VARIANCE = 1 / 16


@dataclass(frozen=True)
class Start:
    """Where boosting starts.

    Attributes
    ----------
    rows : list of arrays of shape (cells,)
        Noised numbers of rows, at least as large as their noise.
    curvature : list of arrays of shape (cells, outputs)
        Roughly how much the sum of residuals in a cell falls when its value rises by one.
    values, errors : lists of arrays of shape (cells, outputs)
        The first shapes, and the standard deviation of the noise in them.
    intercept : array of shape (outputs,)
    spread : float
        The expected spread of the values about 0.
    clip : float
        The largest residual that counts.
    intercept_is_known : bool
        Whether residuals leave the intercept as it is.
    """

    rows: list[Floats]
    curvature: list[Floats]
    values: list[Floats]
    errors: list[Floats]
    intercept: Floats
    spread: float
    clip: float
    intercept_is_known: bool


@dataclass(frozen=True)
class Learned:
    """Shapes, the standard deviation of the noise in them, and intercepts."""

    values: list[Floats]
    errors: list[Floats]
    intercept: Floats


def class_start(
    counts: Sequence[Floats], cells: Sequence[Floats], noise: float, places: Sequence[int]
) -> Start:
    """Shrunk log-odds of the classes at `places`, from noised counts of shape (cells, classes).

    Each count is the sum of this many `cells`, each with noise of deviation `noise`.
    """
    labels = counts[0].shape[1]
    total = max(float(np.mean([count.sum() for count in counts])), 1.0)
    sums = np.mean([count.sum(axis=0) for count in counts], axis=0)
    base = np.clip(sums[list(places)] / total, 1e-3, 1 - 1e-3)
    rows, curvature, values, errors = [], [], [], []
    for count, joined in zip(counts, cells, strict=True):
        own = noise * np.sqrt(joined)
        here = np.maximum(count.sum(axis=1), np.maximum(own * np.sqrt(labels), 1e-9))
        share = (count[:, list(places)] + 4 * base) / (here[:, None] + 4)
        share = np.clip(share, 0.01, 0.99)
        bend = here[:, None] * share * (1 - share)
        odds = np.log(share / (1 - share)) - np.log(base / (1 - base))
        noisy = own[:, None] / bend
        kept = START * SPREAD**2 / (SPREAD**2 + noisy**2 + 1 / bend)
        rows.append(here)
        curvature.append(np.maximum(bend, MIN_CURVATURE * here[:, None]))
        values.append(kept * odds)
        errors.append(kept * noisy)
    intercept = np.log(base / (1 - base))
    return Start(rows, curvature, values, errors, intercept, SPREAD, CLASS_CLIP, False)


def number_start(answers: Sequence[Floats], cells: Sequence[Floats], noise: Floats) -> Start:
    """Shrunk means of the target u in [-1, 1], from noised counts, sums and squares by cell."""
    total = max(float(np.mean([a[:, 0].sum() for a in answers])), 1.0)
    mean = float(np.clip(np.mean([a[:, 1].sum() for a in answers]) / total, -1, 1))
    square = float(np.mean([a[:, 2].sum() for a in answers]) / total)
    # a mean of the measured variance and the expected one: the noisier the first, the less it counts
    error = float(noise[2]) * np.sqrt(np.mean([c.sum() for c in cells]) / len(cells)) / total
    kept = DEFAULT_VARIANCE**2 / (DEFAULT_VARIANCE**2 + error**2)
    variance = kept * (square - mean**2) + (1 - kept) * DEFAULT_VARIANCE
    deviation = float(np.sqrt(np.clip(variance, MIN_DEVIATION**2, 1.0)))
    spread = SPREAD * deviation
    rows, values, errors = [], [], []
    for answer, joined in zip(answers, cells, strict=True):
        own = noise[:, None] * np.sqrt(joined)
        here = np.maximum(answer[:, 0], np.maximum(own[0], 1e-9))
        found = np.clip(answer[:, 1] / here, -1, 1) - mean
        noisy = np.hypot(own[1], own[0] * (found + mean)) / here
        kept = START * spread**2 / (spread**2 + noisy**2 + deviation**2 / here)
        rows.append(here)
        values.append((kept * found)[:, None])
        errors.append((kept * noisy)[:, None])
    curvature = [here[:, None] for here in rows]
    clip = NUMBER_CLIP * deviation
    return Start(rows, curvature, values, errors, np.array([mean]), spread, clip, True)


def share_of_columns(start: Start) -> float:
    """What is left of a step of one column where many take theirs at once."""
    return min(1.0, MANY_COLUMNS / max(1, len(start.values)))


def shrink_start(start: Start) -> Start:
    """First shapes whose sum doesn't grow with the number of columns."""
    share = share_of_columns(start)
    values, errors = ([share * part for part in parts] for parts in (start.values, start.errors))
    return replace(start, values=values, errors=errors)


def boost(start: Start, rounds: int, ask: Ask) -> Learned:
    """Shapes after this many rounds of noised residuals, averaged over the later half of them.

    A step in a cell is Newton's, times a rate, times the share that a prior with the values' spread leaves
    of it beside the noise (a Wiener filter): steps of size a leave about a share a of one round's variance
    in the values. All columns step at once; a step that went too far is taken back in part (`Step`).
    """
    start = shrink_start(start)
    values, intercept = [value.copy() for value in start.values], start.intercept.copy()
    later: list[tuple[list[Floats], Floats]] = []
    response, rate = _Responses(start), RATE * share_of_columns(start)
    last = Step.first(start)
    for number in range(rounds):
        sums, noise = ask(values, intercept)
        left = np.mean([part.sum(axis=0) for part in sums], axis=0)
        gradients = [
            part - left * (here / here.sum())[:, None]
            for part, here in zip(sums, start.rows, strict=True)
        ]
        right = last.right_share(gradients, noise)
        if right < MIN_RIGHT_SHARE:
            values = [v - (1 - right) * m for v, m in zip(values, last.moves, strict=True)]
            # residuals change along a line from where the step began to where it ended
            gradients = [
                right * g + (1 - right) * before
                for g, before in zip(gradients, last.gradients, strict=True)
            ]
            response.take_back(right)
            rate = max(MIN_RATE, min(rate, REACH * right * (rate if number else START)))
        moves, gain = [], 0.0
        for at, gradient in enumerate(gradients):
            bend = start.curvature[at]
            signal = (start.spread * bend) ** 2
            step = rate * signal / (signal + rate * noise**2)
            value = centre(values[at] + step * gradient / bend, start.rows[at])
            moves.append(value - values[at])
            # the noise of the gradient is in the step, too: what both share isn't gain
            gain += float((gradient * moves[at]).sum() - (step * noise**2 / bend).sum())
            values[at] = value
            response.add(at, step, step * noise / bend)
        last = Step(moves, gradients, gain)
        if not start.intercept_is_known:
            bend = np.mean([part.sum(axis=0) for part in start.curvature], axis=0)
            intercept = intercept + INTERCEPT_RATE * left / bend
        if number >= rounds // 2:
            later.append(([value.copy() for value in values], intercept.copy()))
            response.take()
    if not later:
        return Learned(values, start.errors, intercept)
    shapes = [np.mean([kept[at] for kept, _ in later], axis=0) for at in range(len(values))]
    return Learned(shapes, response.errors(), np.mean([at for _, at in later], axis=0))


@dataclass(frozen=True)
class Step:
    """How all shapes moved at once, from where residuals asked for `gradients`, promising `gain`."""

    moves: list[Floats]
    gradients: list[Floats]
    gain: float

    @classmethod
    def first(cls, start: Start) -> Step:
        """The first shapes: a step from 0, where each column alone asked for much more."""
        share = START * share_of_columns(start)
        pairs = zip(start.curvature, start.values, strict=True)
        gradients = [bend * value / share for bend, value in pairs]
        gain = sum(float((g * v).sum()) for g, v in zip(gradients, start.values, strict=True))
        return cls(start.values, gradients, gain)

    def right_share(self, gradients: list[Floats], noise: float) -> float:
        """How much of the step was right, by the residuals after it; 1 unless they clearly point back.

        Along the step the slope falls from `gain` to what is left of it, so that it was 0 at this share: the
        secant rule for a line search (Nocedal & Wright 2006, section 3.5).
        """
        left = sum(float((g * m).sum()) for g, m in zip(gradients, self.moves, strict=True))
        error = noise * float(np.sqrt(sum(float((m**2).sum()) for m in self.moves)))
        if self.gain <= 0 or left >= -CLEARLY * error:
            return 1.0
        return self.gain / (self.gain - left)


def stretch(learned: Learned, by: float) -> Learned:
    """Multiply shapes and intercepts, and the noise in them, by a number."""
    values, errors = ([by * part for part in parts] for parts in (learned.values, learned.errors))
    return Learned(values, errors, by * learned.intercept)


def centre(values: Floats, rows: Floats) -> Floats:
    """Shift values to mean 0 over the rows."""
    return np.asarray(values - (rows[:, None] * values).sum(axis=0) / rows.sum())


class _Responses:
    """How much of each answer's noise is in the average of the later shapes.

    Each cell is taken alone: what a step adds, later residuals take back in part.
    """

    def __init__(self, start: Start) -> None:
        self._now: list[list[Floats]] = [[error] for error in start.errors]
        self._sums: list[list[Floats]] = [[] for _ in start.errors]
        self._taken = 0

    def add(self, at: int, step: Floats, noise: Floats) -> None:
        self._now[at] = [*(part * (1 - step) for part in self._now[at]), noise]

    def take_back(self, share: float) -> None:
        """Only this share of the last step is left."""
        for now in self._now:
            now[-1] = share * now[-1]

    def take(self) -> None:
        self._taken += 1
        for now, sums in zip(self._now, self._sums, strict=True):
            sums += [np.zeros_like(now[0]) for _ in range(len(now) - len(sums))]
            for place, part in enumerate(now):
                sums[place] = sums[place] + part

    def errors(self) -> list[Floats]:
        return [np.sqrt(np.sum(np.square(sums), axis=0)) / self._taken for sums in self._sums]


def whole_steps(values: Floats) -> npt.NDArray[np.int64]:
    """Round to whole numbers, clamped to what engines can add up."""
    return np.rint(np.clip(values, -(2.0**30), 2.0**30)).astype(np.int64)
