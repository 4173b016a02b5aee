"""The median of lines through random pairs of rows: a step on rows."""

from __future__ import annotations

import copy
import math
from fractions import Fraction
from typing import final

import numpy as np
import numpy.typing as npt

from discreet import events, noise
from discreet.coding import VALUE_BITS
from discreet.columns import numeric_column
from discreet.measures import PureDP
from discreet.mechanisms import Exponential
from discreet.queries import Quantile
from discreet.schema import Schema
from discreet.step import CodedRows, Step
from discreet.unit import PUBLIC, REPLACE_ONE, Unit

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: Where lines are compared, as shares of the feature's range, and how far they may lie outside the
#: target's range there (Alabi et al. 2022, section 5).
PLACES = (0.25, 0.75)
LOWEST, HIGHEST = -0.5, 1.5
#: Medians are drawn on a grid of this many steps.
STEPS = 2**VALUE_BITS
#: Rows per bucket that give the most pairs: 0.298 for each row.
ROWS_PER_BUCKET = 1.8


def is_matched(unit: Unit) -> bool:
    """Whether all rows are paired off, since their number is public; else they are thrown in buckets."""
    return unit.length_is_public or unit.relation is PUBLIC


def score_sensitivity(unit: Unit, rounds: int) -> int:
    """How far one person moves (values below) - (values above), over all rounds.

    A row is in one pair of each round, and a changed value moves the difference by 2. A replaced row
    without ids changes one pair; with ids the old rows and the new ones lie in buckets of their own.
    """
    rows = unit.rows_per_person
    if unit.relation is REPLACE_ONE and not is_matched(unit):
        rows *= 2
    return 2 * rounds * rows


@final
class PairedLines(Step):
    """Two numbers: the height of the median line through random pairs of rows at ¼ and at ¾ of the range.

    Theil–Sen by random matchings (DPTheilSenkMatch of Alabi et al. 2022). In each of `rounds` rounds every
    row is in at most one pair; each pair with different x gives a line. Of all their heights at ¼ a
    median is drawn by the exponential mechanism, and another at ¾.

    Parameters
    ----------
    feature, target : str
    measure : PureDP
        For both draws together.
    unit : Unit
    rounds : int
        Matchings.

    Privacy
    -------
    ε/2 for each draw. The pairing is secret, uniform noise that does not depend on the rows.
    Proof page: ``docs/proofs/linear_model.md``.
    """

    def __init__(self, feature: str, target: str, measure: PureDP, unit: Unit, rounds: int) -> None:
        self.columns = (feature, target)
        self._mechanism = Exponential(measure)
        self._unit, self._rounds, self._buckets = unit, rounds, 1

    def in_buckets(self, buckets: int) -> PairedLines:
        """The same step with rows thrown into this many buckets, at the same price."""
        other = copy.copy(self)
        other._buckets = buckets
        return other

    def event(self, schema: Schema, unit: Unit) -> events.Event:
        if unit != self._unit:
            raise ValueError("unit: this step was made for another unit.")
        if isinstance(self._mechanism.epsilon(), float):
            return events.Compose()
        return self._mechanism.event(len(PLACES))

    def run(self, rows: CodedRows) -> Floats:
        # sorted, so that the answer does not depend on the order in which an engine returns rows
        codes = rows.codes[np.lexsort(rows.codes.T[::-1])]
        steps = [
            max(1, numeric_column(rows.schema, name, "PairedLines").steps(VALUE_BITS))
            for name in rows.names
        ]
        x, y = (codes / np.array(steps, np.float64)).T
        # public rows and no noise: a fixed pairing
        if isinstance(self._mechanism.epsilon(), float):
            rounds = [pair_publicly(len(codes), seed) for seed in range(self._rounds)]
        elif is_matched(self._unit):
            rounds = [random_pairs(len(codes)) for _ in range(self._rounds)]
        else:
            rounds = [pair_randomly(len(codes), self._buckets) for _ in range(self._rounds)]
        first, second = (np.concatenate(half) for half in zip(*rounds, strict=True))
        return np.array([self._median(heights(x, y, first, second, at)) for at in PLACES])

    def _median(self, values: Integers) -> float:
        codes, counts = np.unique(values, return_counts=True)
        start, length, score = Quantile.scores(codes, counts, Fraction(1, 2), STEPS)
        moved = score_sensitivity(self._unit, self._rounds)
        run = self._mechanism.run(score, length, moved, len(PLACES))
        if isinstance(self._mechanism.epsilon(), float):
            code = int(start[run] + (length[run] - 1) // 2)
        else:
            code = int(start[run]) + int(noise.uniform_below(int(length[run])))
        return float(LOWEST + (HIGHEST - LOWEST) * (code + 0.5) / STEPS)

    def __repr__(self) -> str:
        return f"PairedLines{self.columns}"


def random_pairs(rows: int) -> tuple[Integers, Integers]:
    """A uniform random matching; one row is left over if their number is odd."""
    return _halves(noise.permutation(rows) if rows else np.zeros(0, np.int64))


def pair_publicly(rows: int, seed: int) -> tuple[Integers, Integers]:
    """A matching that is the same for every data set of this many rows."""
    return _halves(np.random.default_rng(seed).permutation(rows))


def _halves(order: Integers) -> tuple[Integers, Integers]:
    half = len(order) // 2
    return order[:half], order[half : 2 * half]


def pair_randomly(rows: int, buckets: int) -> tuple[Integers, Integers]:
    """Each row goes into a random bucket with a random rank; the two lowest of a bucket are a pair."""
    bucket = noise.uniform_below(buckets, rows)
    order = np.lexsort([noise.random_words(rows), bucket])
    sorted_bucket = bucket[order]
    same = sorted_bucket[1:] == sorted_bucket[:-1]
    begins = np.concatenate([[True], ~same[:-1]]) if rows > 1 else np.zeros(0, np.bool_)
    at = np.flatnonzero(same & begins)
    return order[at], order[at + 1]


def heights(x: Floats, y: Floats, first: Integers, second: Integers, at: float) -> Integers:
    """The height of the line through each pair at x = `at`, as codes of the grid.

    Pairs of equal x have no line.
    """
    run = x[second] - x[first]
    use = run != 0
    first, second, run = first[use], second[use], run[use]
    slope = (y[second] - y[first]) / run
    height = slope * (at - (x[first] + x[second]) / 2) + (y[first] + y[second]) / 2
    share = (np.clip(height, LOWEST, HIGHEST) - LOWEST) / (HIGHEST - LOWEST)
    return np.asarray(np.floor(share * STEPS), np.int64)


def bucket_count(rows: float) -> int:
    """How many buckets suit about this many rows."""
    return max(1, min(2**40, math.floor(rows / ROWS_PER_BUCKET)))
