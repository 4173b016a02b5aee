"""Theil–Sen in two steps on rows: the median slope of random pairs, and the median of what it leaves."""

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

#: Medians are drawn on a grid of this many steps. A finer one would find ties of many rows less often.
STEPS = 2**10
#: Slopes beyond it count as it: as steep as lines between the ends of the grid of heights at ¼ and at ¾.
STEEPEST = 4.0
#: How far levels may lie outside the target's range (Alabi et al. 2022, section 5), and the share of the
#: grid on either side of it.
LOWEST, HIGHEST, OUTSIDE = -0.5, 1.5, 1 / 16
#: Rows per bucket that give the most buckets of two, and how many of these for each row: 1/(2e).
ROWS_PER_BUCKET, PAIRS_PER_ROW = 1.0, 0.184
#: The evidence at which a slope is halved, and that from which pairs tell the level: the grid beyond all
#: pairs then weighs less than 1 % of one step at their median, 2^10·e^-12.
HALVING_EVIDENCE, PAIRS_EVIDENCE = 2.0, 12.0


def is_matched(unit: Unit) -> bool:
    """Whether all rows are paired off, since their number is public; else they are thrown in buckets."""
    return unit.length_is_public or unit.relation is PUBLIC


def score_sensitivity(unit: Unit, rounds: int) -> int:
    """How far one person moves (values below) - (values above), over all rounds.

    An added row makes one value or breaks one up, or is one, in each round; a replaced row does both.
    """
    return rounds * unit.rows_per_person * (2 if unit.relation is REPLACE_ONE else 1)


class _Medians(Step):
    """What both steps share: one draw of a median, over rows or over random pairs of them."""

    def __init__(self, feature: str, target: str, measure: PureDP, unit: Unit, rounds: int) -> None:
        self.columns = (feature, target)
        self._mechanism = Exponential(measure)
        self._unit, self._rounds, self._buckets = unit, rounds, 1

    @property
    def _is_noiseless(self) -> bool:
        return isinstance(self._mechanism.epsilon(), float)

    def event(self, schema: Schema, unit: Unit) -> events.Event:
        if unit != self._unit:
            raise ValueError("unit: this step was made for another unit.")
        return events.Compose() if self._is_noiseless else self._mechanism.event()

    def evidence(self, rows: float) -> float:
        """How much less likely, as a logarithm, a draw is below all pairs than at their median.

        For about this many rows: a noised number or a public one.
        """
        pairs = max(rows, 1.0) * (0.5 if is_matched(self._unit) else PAIRS_PER_ROW)
        return pairs * float(self._mechanism.epsilon()) / (2 * score_sensitivity(self._unit, 1))

    def _pairs(self, rows: int) -> tuple[Integers, Integers]:
        if self._is_noiseless:  # public rows: a fixed pairing
            rounds = [pair_publicly(rows, seed) for seed in range(self._rounds)]
        elif is_matched(self._unit):
            rounds = [random_pairs(rows) for _ in range(self._rounds)]
        else:
            rounds = [pair_randomly(rows, self._buckets) for _ in range(self._rounds)]
        first, second = (np.concatenate(half) for half in zip(*rounds, strict=True))
        return first, second

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self.columns}"


@final
class PairedSlopes(_Medians):
    """One number: the median slope of lines through random pairs of rows, in shares of both ranges.

    Theil–Sen by random matchings, as DPTheilSenkMatch of Alabi et al. 2022. In each of `rounds` rounds every
    row is in at most one pair; each pair with different x gives a line. A median of their slopes is drawn
    by the exponential mechanism.

    Parameters
    ----------
    feature, target : str
    measure : PureDP
    unit : Unit
    rounds : int
        Matchings.

    Privacy
    -------
    One draw. The pairing is secret, uniform noise that does not depend on the rows.
    Proof page: ``docs/proofs/linear_model.md``.
    """

    def in_buckets(self, buckets: int) -> PairedSlopes:
        """The same step with rows thrown into this many buckets, at the same price."""
        other = copy.copy(self)
        other._buckets = buckets
        return other

    def run(self, rows: CodedRows) -> float:
        x, y = shares_of_range(rows)
        values = slope_codes(x, y, *with_lines(x, *self._pairs(len(x))))
        moved = score_sensitivity(self._unit, self._rounds)
        return slope_at(draw_median(values, self._mechanism, moved))

    def trust(self, rows: float) -> float:
        """By how much to multiply the slope of about this many rows, between 0 and 1: e²/(e² + 4)."""
        return 1 / (1 + (HALVING_EVIDENCE / self.evidence(rows)) ** 2)


@final
class MedianLevel(_Medians):
    """One number: the height in the middle of the range at which a line of given slope halves the rows.

    A median of what the slope leaves of each row; or, where they are many, of the middles of random pairs,
    which lie between rows that are far apart. All rows tell of it, each once, so it is found where lines
    through pairs are still hidden.

    Parameters
    ----------
    feature, target : str
    measure : PureDP
    unit : Unit
    rounds : int
        Matchings.

    Privacy
    -------
    One draw; slope and number of rows are public by then. Proof page: ``docs/proofs/linear_model.md``.
    """

    _slope, _is_paired = 0.0, False

    def along(self, slope: float, rows: float | None) -> MedianLevel:
        """The same step for a line of this slope and about this many rows, at the same price."""
        other = copy.copy(self)
        other._slope = slope
        if rows is not None and self.evidence(rows) >= PAIRS_EVIDENCE:
            other._is_paired, other._buckets = True, bucket_count(rows)
        return other

    def run(self, rows: CodedRows) -> float:
        x, y = shares_of_range(rows)
        left, rounds = y - self._slope * (x - 0.5), 1
        if self._is_paired:
            first, second = with_lines(x, *self._pairs(len(x)))
            left, rounds = (left[first] + left[second]) / 2, self._rounds
        moved = score_sensitivity(self._unit, rounds)
        return level_at(draw_median(level_codes(left), self._mechanism, moved))


def shares_of_range(rows: CodedRows) -> tuple[Floats, Floats]:
    """Feature and target of each row as shares of their ranges.

    Rows are sorted, so that the answer does not depend on the order in which an engine returns them.
    """
    codes = rows.codes[np.lexsort(rows.codes.T[::-1])]
    x, y = (
        column
        / max(1, numeric_column(rows.schema, name, "SimpleLinearRegression").steps(VALUE_BITS))
        for name, column in zip(rows.names, codes.T, strict=True)
    )
    return x, y


def draw_median(values: Integers, mechanism: Exponential, sensitivity: int) -> int:
    """A median of codes of the grid, by the exponential mechanism."""
    codes, counts = np.unique(values, return_counts=True)
    start, length, score = Quantile.scores(codes, counts, Fraction(1, 2), STEPS)
    run = mechanism.run(score, length, sensitivity)
    if isinstance(mechanism.epsilon(), float):
        return int(start[run] + (length[run] - 1) // 2)
    return int(start[run]) + int(noise.uniform_below(int(length[run])))


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
    """Each row goes into a random bucket; where there are two in one, they are a pair."""
    bucket = noise.uniform_below(buckets, rows)
    order = np.argsort(bucket, kind="stable")
    same = (
        np.diff(bucket[order], prepend=-1, append=-1) == 0
    )  # as the row before, for each row and the end
    at = np.flatnonzero(~same[:-2] & same[1:-1] & ~same[2:]) if rows > 1 else np.zeros(0, np.int64)
    return order[at], order[at + 1]


def with_lines(x: Floats, first: Integers, second: Integers) -> tuple[Integers, Integers]:
    """The pairs that a line goes through: those of different x."""
    use = x[first] != x[second]
    return first[use], second[use]


def slope_codes(x: Floats, y: Floats, first: Integers, second: Integers) -> Integers:
    """The slope of the line through each pair as a code of the grid.

    The grid has fewer steps for steeper lines, as if a slope s had a density of 1/(1 + abs(s))².
    """
    slope = np.clip((y[second] - y[first]) / (x[second] - x[first]), -STEEPEST, STEEPEST)
    share = 0.5 + 0.5 * slope / (1 + np.abs(slope)) * (1 + STEEPEST) / STEEPEST
    return np.asarray(np.floor(share * STEPS), np.int64)


def slope_at(code: int) -> float:
    """The slope in the middle of a step of the grid."""
    share = (2 * min((code + 0.5) / STEPS, 1.0) - 1) * STEEPEST / (1 + STEEPEST)
    return share / (1 - abs(share))


#: Heights, and the shares of the grid up to them.
_LEVELS = (LOWEST, 0.0, 1.0, HIGHEST), (0.0, OUTSIDE, 1 - OUTSIDE, 1.0)


def level_codes(height: Floats) -> Integers:
    """Heights as codes of the grid; those beyond count as its ends."""
    return np.asarray(np.floor(np.interp(height, *_LEVELS) * STEPS), np.int64)


def level_at(code: int) -> float:
    """The height in the middle of a step of the grid."""
    return float(np.interp((code + 0.5) / STEPS, *_LEVELS[::-1]))


def bucket_count(rows: float) -> int:
    """How many buckets suit about this many rows."""
    return max(1, min(2**40, math.floor(rows / ROWS_PER_BUCKET)))
