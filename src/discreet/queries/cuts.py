"""Where to cut a part of a column in two: exact draws among the positions of a public grid.

A position is a place in a cell of the column's grid: every cell has `PIECES` of them, and the rows of a cell
are spread evenly over those of its positions that belong to the part. So rows of one value can be cut in two,
and every row stays in exactly one part. Proof page: ``docs/proofs/quantiles.md``, joint draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from discreet import noise
from discreet.coding import Integers

__all__ = ["PIECES", "Part", "Stretches"]

#: Positions in a cell of the grid: as finely can rows of one value be cut in two.
PIECES = 2**10
#: A stretch whose weights differ by more than e to this power is divided; one that is e to the second of
#: these below the best isn't, since it is hardly ever drawn. Both concern the time alone.
_STEEP, _FAINT = 4.0, 64.0


@final
@dataclass(frozen=True)
class Stretches:
    """Cuts first..last each, none in two of them, with a score that none of its cuts exceeds."""

    first: Integers
    last: Integers
    bound: Integers


@final
@dataclass(frozen=True)
class Part:
    """The rows between two cuts: how many of them are in which cells, from one position to another.

    Attributes
    ----------
    start, stop : int
        The positions from which on, and before which, rows belong to the part.
    codes, counts : arrays
        The occupied cells in increasing order, and how many rows of the part are in each.
    pieces : int
        The positions in a cell.
    """

    start: int
    stop: int
    codes: Integers
    counts: Integers
    pieces: int = PIECES

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return int(self.counts.sum())

    def _spans(self) -> tuple[Integers, Integers]:
        """From where to where the rows of each cell are spread."""
        begin = np.maximum(self.codes * self.pieces, self.start)
        return begin, np.minimum((self.codes + 1) * self.pieces, self.stop)

    def below(self, cuts: Integers) -> Integers:
        """How many rows lie below each of some positions."""
        begin, end = self._spans()
        upto = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)
        at = np.searchsorted(begin, cuts, side="right") - 1
        known = np.maximum(at, 0)
        if not len(begin):
            return np.zeros(len(cuts), np.int64)
        width = end[known] - begin[known]
        inside = np.clip(cuts - begin[known], 0, width)
        found = upto[known] + self.counts[known] * inside // np.maximum(width, 1)
        return np.where(at < 0, 0, found)

    def scores(self, cuts: Integers, q: Fraction) -> Integers:
        """Minus the distance of (rows below) from q·(rows), times the denominator of q."""
        a, b = q.numerator, q.denominator
        return np.asarray(-np.abs(b * self.below(cuts) - a * self.rows), np.int64)

    def divide(self, cut: int) -> tuple[Part, Part]:
        """The part below a cut, and the part from there on: every row is in one of them."""
        begin, end = self._spans()
        inside = np.clip(cut - begin, 0, end - begin)
        lower = self.counts * inside // np.maximum(end - begin, 1)
        return (
            self._with(self.start, cut, lower),
            self._with(cut, self.stop, self.counts - lower),
        )

    def _with(self, start: int, stop: int, counts: Integers) -> Part:
        used = counts > 0
        return Part(start, stop, self.codes[used], counts[used], self.pieces)

    def stretches(self, q: Fraction, last: int, places: Integers | None = None) -> Stretches:
        """All cuts of the part, or those in the cells of some `places`, as stretches.

        Parameters
        ----------
        q : Fraction
        last : int
            The last position of the grid.
        places : array, optional
            The codes of the only cells that may be answered, in increasing order.
        """
        stop = min(self.stop, last)
        if places is None:
            begin, end = self._spans()
            # between two occupied cells, ends included; and inside of one
            first = np.concatenate([[self.start], end, begin + 1])
            final = np.concatenate([begin, [stop], end - 1])
        else:
            first = np.maximum(places * self.pieces, self.start)
            final = places * self.pieces + self.pieces - 1
        final = np.minimum(final, stop)
        used = first <= final
        return self._bound(first[used].astype(np.int64), final[used].astype(np.int64), q)

    def _bound(self, first: Integers, last: Integers, q: Fraction) -> Stretches:
        a, b = q.numerator, q.denominator
        low, high = b * self.below(first) - a * self.rows, b * self.below(last) - a * self.rows
        bound = -np.maximum(np.maximum(low, -high), 0)
        for at in np.flatnonzero((low < 0) & (high > 0)).tolist():  # one at most: below never falls
            bound[at] = self._peak(int(first[at]), q)
        return Stretches(first, last, bound)

    def _peak(self, first: int, q: Fraction) -> int:
        """The highest score of a stretch on which rows below pass q·(rows), often without meeting it."""
        begin, end = self._spans()
        at = int(np.searchsorted(begin, first, side="right")) - 1
        width, inside = int(end[at] - begin[at]), int(self.counts[at])
        wanted = -(-q.numerator * self.rows // q.denominator) - int(self.counts[:at].sum())
        over = int(begin[at]) - (-wanted * width // inside)  # the first cut with enough rows below
        return int(self.scores(np.array([over - 1, over]), q).max())

    def refine(self, found: Stretches, q: Fraction, factor: Fraction) -> Stretches:
        """Divide the stretches on which weights differ much, so that few proposals are rejected."""
        rate = float(factor) * q.denominator
        rows = self.below(found.last) - self.below(found.first)
        near = (found.bound - found.bound.max()) * float(factor) > -_FAINT
        steep = np.flatnonzero((rows * rate > _STEEP) & near)
        if not len(steep):
            return found
        edges = [self._divide(found, at, q, rate * int(rows[at])) for at in steep.tolist()]
        kept = np.setdiff1d(np.arange(len(found.first)), steep)
        first = np.concatenate([found.first[kept], *(e[:-1] for e in edges)])
        last = np.concatenate([found.last[kept], *(e[1:] - 1 for e in edges)])
        return self._bound(first, last, q)

    def _divide(self, found: Stretches, at: int, q: Fraction, steepness: float) -> Integers:
        """Edges of pieces that grow by powers of two around the best cut of a stretch."""
        first, last = int(found.first[at]), int(found.last[at])
        low, high = (int(b) for b in self.below(np.array([first, last])))
        wanted = (q.numerator * self.rows / q.denominator - low) / max(high - low, 1)
        best = first + round(min(max(wanted, 0.0), 1.0) * (last - first))
        step, edges = max(1, math.ceil((last - first) / steepness)), {first, last + 1}
        while step < 2 * (last - first):
            edges |= {edge for edge in (best - step, best + step) if first < edge <= last}
            step *= 2
        return np.array(sorted(edges), np.int64)

    def best(self, q: Fraction, found: Stretches) -> int:
        """The cut of the highest score: the middle of those that have it."""
        a, b = q.numerator, q.denominator
        at = np.flatnonzero(found.bound == found.bound.max())
        first, last = int(found.first[at[0]]), int(found.last[at[0]])
        goal = -(-a * self.rows // b)
        low, high = first, last
        while low < high:  # the first cut with at least as many rows below it
            middle = (low + high) // 2
            if int(self.below(np.array([middle]))[0]) >= goal:
                high = middle
            else:
                low = middle + 1
        near = [cut for cut in (low - 1, low) if first <= cut <= last]
        scores = self.scores(np.array(near), q).tolist()
        chosen = near[scores.index(max(scores))]
        level = int(self.below(np.array([chosen]))[0])
        reaches = int(self.below(np.array([last]))[0]) == level
        return int((chosen + last) // 2 if reaches else chosen)

    def draw(self, q: Fraction, factor: Fraction, found: Stretches) -> int:
        """A cut with probability proportional to exp(factor·score), exactly.

        A stretch is drawn by its bound and a cut of it evenly; it is accepted with the probability by
        which its score falls short of the bound.
        """
        fine = self.refine(found, q, factor)
        lengths = fine.last - fine.first + 1
        while True:
            at = int(noise.select(fine.bound, factor, lengths))
            cut = int(fine.first[at]) + int(noise.uniform_below(int(lengths[at])))
            short = int(fine.bound[at]) - int(self.scores(np.array([cut]), q)[0])
            if noise.bernoulli_exp(factor * short):
                return cut
