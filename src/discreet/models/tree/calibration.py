"""How sure a forest may be: a line from its score to what rows say, from noised sums by bins of the score.

Trees that see the same make their forest too sure, trees that each see little make it too unsure; which of
them it is depends on how columns go together, and leaves don't tell. So a small part of the budget asks of
bins of the score what was asked of the leaves. All that is made of the answer is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from discreet.columns import Tree
from discreet.models.tree.smoothing import TYPICAL_VARIANCE
from discreet.schema import Bins, Derived, Score

Floats = npt.NDArray[np.float64]

#: The part of the budget. On training rows of Adult, bank, Pima and COMPAS a tenth was no better.
SHARE = Fraction(1, 20)
#: ε·rows from which it pays, for classes and for numbers: on held-out training rows of Adult, bank, Pima,
#: WDBC, COMPAS and credit approval log loss fell above the first, and rose at half of it.
FEWEST_FOR_CLASSES, FEWEST_FOR_NUMBERS = 1_000, 10_000
#: Bins of the score, and how many of a single tree's standard deviations the inner ones reach to either side.
BINS, REACH = 16, 2.0
#: Parts of a bin: a tree's evidence is rounded to one of them.
FINENESS = 64
#: The smallest width of the inner bins together; evidence is 0 where there is nothing to learn.
MIN_WIDTH = 1e-3
#: Standard deviations, before anything is seen, of the logarithm of the slope and of the shift (for classes
#: on the scale of log-odds), and of slope and shift for targets in [-1, 1].
CLASS_SPREAD, MEAN_SPREAD = (0.4, 0.4), (0.5, 0.1)
#: A slope is between this and its inverse.
MIN_SLOPE = 0.2
#: Variance of a bin's count that is there even without noise: it keeps empty bins from being certain.
MIN_VARIANCE = 0.25
#: Rows of a bin count by half where they are as many as this many standard deviations of their noise.
HIDING = 2.0
#: Steps of Newton's method, each at most this long.
STEPS, LONGEST_STEP = 30, 0.5


@final
@dataclass(frozen=True)
class Line:
    """The score is taken as shift + slope·score.

    Attributes
    ----------
    shift, slope : float
    """

    shift: float = 0.0
    slope: float = 1.0


@final
@dataclass(frozen=True)
class ScoreBins:
    """Bins of a sum of what trees say of a row: of one width, the outer ones open.

    Attributes
    ----------
    lower : float
        Where the first bin would begin if it were as wide as the others.
    width : float
    """

    lower: float
    width: float

    @classmethod
    def from_leaves(cls, rows: Sequence[Floats], evidence: Sequence[Floats]) -> ScoreBins:
        """Bins about the mean score, from noised numbers of rows in leaves and what each leaf adds to it.

        The score varies at most as much as if all trees said the same.
        """
        weights = [np.maximum(each, 0.0) + 1e-9 for each in rows]
        means = [np.average(e, weights=w) for e, w in zip(evidence, weights, strict=True)]
        apart = [
            math.sqrt(np.average((e - mean) ** 2, weights=w))
            for e, w, mean in zip(evidence, weights, means, strict=True)
        ]
        inner = max(2 * REACH * math.fsum(apart), MIN_WIDTH)
        width = inner / (BINS - 2)
        return cls(math.fsum(means) - inner / 2 - width, width)

    @property
    def middles(self) -> Floats:
        """The scores that bins stand for."""
        return np.asarray(self.lower + self.width * (np.arange(BINS) + 0.5), np.float64)

    def columns(
        self, trees: Sequence[Tree], evidence: Sequence[Floats], names: Sequence[str]
    ) -> dict[str, Derived]:
        """The derived columns that end in the bin of a row; the last name is that of the bin.

        Parameters
        ----------
        trees : sequence of Tree
        evidence : sequence of arrays
            What each leaf of each tree adds to the score.
        names : sequence of str
            Of the trees' leaves, of the score and of the bin.
        """
        *leaves, score, place = names
        part = self.width / FINENESS
        tables = {
            leaf: np.rint(each / part).astype(np.int64).tolist()
            for leaf, each in zip(leaves, evidence, strict=True)
        }
        link = range(BINS * FINENESS)
        found: dict[str, Derived] = dict(zip(leaves, trees, strict=True))
        found[score] = Score(tables, link, offset=round(-self.lower / part))
        found[place] = Bins(score, link[FINENESS::FINENESS])
        return found


def fitted_excess(rows: Floats, noise: float, middles: Floats, fitted: float) -> Floats:
    """What rows of each bin are beyond what is expected of others, since leaves were made of these very rows.

    A row that is high raises its own score. All in all, scores times what rows are beyond expectation owe
    `fitted` to that; where both vary normally, each bin owes it in proportion to its rows and to how far
    its score is from the mean. Rows that may be `noise` count less.
    """
    likely = rows**3 / (rows**2 + (HIDING * noise) ** 2 + MIN_VARIANCE)
    apart = middles - float(likely @ middles) / max(float(likely.sum()), MIN_VARIANCE)
    spread = float(likely @ apart**2)
    return likely * apart * (fitted / spread if spread > 0.0 else 0.0)


def class_line(
    counts: Floats, noise: float, log_odds: float, middles: Floats, fitted: float
) -> Line:
    """The line for the log-odds of the second of two classes, from noised counts of shape (bins, 2).

    Newton's method for a normal approximation of the counts: in each bin the second class less its share of
    the rows has the variance of that many draws, and that of the noise (`noise` is the standard deviation of
    one count). `log_odds` are those of all rows; slope and shift have normal priors about 1 and 0.
    `fitted` is the sum over rows of how much a row's own class moves the shares that its score adds up,
    which is about how much it moves the score times the variance of a class.
    """
    rows = np.maximum(counts.sum(axis=1), 0.0)
    owed = fitted_excess(rows, noise * math.sqrt(2), middles, fitted)
    prior = 1 / np.array(CLASS_SPREAD) ** 2
    slope_log = shift = 0.0
    for _ in range(STEPS):
        slope = math.exp(slope_log)
        p = expit(log_odds + shift + slope * middles)
        drawn = rows * p * (1 - p)
        excess = (1 - p) * counts[:, 1] - p * counts[:, 0] - owed
        variance = drawn + noise**2 * ((1 - p) ** 2 + p**2) + MIN_VARIANCE
        moved = np.stack([drawn * slope * middles, drawn], axis=1)  # by slope_log and by shift
        weighed = moved / variance[:, None]
        towards = weighed.T @ excess - prior * np.array([slope_log, shift])
        step = np.linalg.solve(weighed.T @ moved + np.diag(prior), towards)
        step = np.clip(step, -LONGEST_STEP, LONGEST_STEP)
        limit = -math.log(MIN_SLOPE)
        slope_log = min(max(slope_log + float(step[0]), -limit), limit)
        shift += float(step[1])
        if np.abs(step).max() < 1e-6:
            break
    return Line(shift, math.exp(slope_log))


def mean_line(
    counts: Floats,
    sums: Floats,
    noise: tuple[float, float],
    mean: float,
    middles: Floats,
    fitted: float,
) -> Line:
    """The line for a target in [-1, 1] about `mean`, from noised counts and sums of bins.

    The posterior mean under normal priors and normal noise, whose standard deviations `noise` holds.
    `fitted` is the sum over rows of how much a row's own target moves its score.
    """
    rows = np.maximum(counts, 0.0)
    told = np.clip(mean + middles, -1.0, 1.0)
    variance = TYPICAL_VARIANCE * rows + noise[1] ** 2 + (told * noise[0]) ** 2 + MIN_VARIANCE
    moved = np.stack([rows * middles, rows], axis=1)
    weighed = moved / variance[:, None]
    owed = fitted_excess(rows, noise[0], middles, fitted * TYPICAL_VARIANCE)
    excess = sums - rows * (mean + middles) - owed
    precision = weighed.T @ moved + np.diag(1 / np.array(MEAN_SPREAD) ** 2)
    slope, shift = np.linalg.solve(precision, weighed.T @ excess).tolist()
    return Line(shift, min(max(1.0 + slope, MIN_SLOPE), 1 / MIN_SLOPE))
