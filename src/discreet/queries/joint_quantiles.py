"""Several quantiles of a column at once, by recursive splitting (Kaplan, Schnapp & Stemmer 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet import events
from discreet.coding import VALUE_BITS, Engine
from discreet.mechanisms import Exponential, Mechanism
from discreet.queries.answer import Answer, Budget, NoiseInterval, Prepared, no_noise_refused
from discreet.queries.cuts import PIECES, Part
from discreet.schema import Schema
from discreet.unit import REPLACE_ONE, Unit

if TYPE_CHECKING:
    from discreet.queries.quantile import Quantile

__all__ = ["PreparedJointQuantiles", "Split", "list_levels", "part_sensitivity", "rank_errors"]

#: Quantiles within a part are rounded to fractions of at most this denominator, so that scores stay small.
MAX_DENOMINATOR = 10**6


@final
@dataclass(frozen=True)
class Split:
    """One draw of the tree: which quantile it finds, and in which part of the rows.

    Attributes
    ----------
    at : int
        Which of the increasing quantiles is drawn.
    low, high : int
        The quantiles next to it that were drawn before, which enclose the part; -1, and the number of
        quantiles, where the part reaches an end of the column.
    q : Fraction
        The quantile among the rows of the part.
    """

    at: int
    low: int
    high: int
    q: Fraction


def list_levels(quantiles: tuple[Fraction, ...]) -> list[list[Split]]:
    """The draws, level by level: the middle of the quantiles, then the middles of both halves, and so on.

    Parameters
    ----------
    quantiles : tuple of Fraction
        Different, in increasing order.
    """
    ends = (*quantiles, Fraction(1), Fraction(0))  # entry -1 is the lower end
    parts, levels = [(-1, len(quantiles))], []
    while parts:
        level, inner = [], []
        for low, high in parts:
            at = (low + high) // 2
            width = ends[high] - ends[low]
            q = (ends[at] - ends[low]) / width if width else Fraction(1, 2)
            level.append(Split(at, low, high, q.limit_denominator(MAX_DENOMINATOR)))
            inner += [(a, b) for a, b in ((low, at), (at, high)) if b - a > 1]
        levels.append(level)
        parts = inner
    return levels


def part_sensitivity(q: Fraction, unit: Unit) -> int:
    """How far one person moves the scores of a part that the person's rows may enter and leave.

    Summed over all parts and groups of a level, each score divided by this is moved by at most 1.
    """
    one = max(q.numerator, q.denominator - q.numerator)
    # a replaced row may leave one part and enter another
    sides = 2 if unit.relation is REPLACE_ONE else 1
    return unit.rows_per_person * sides * one


def level_sensitivities(
    query: Quantile, levels: list[list[Split]], schema: Schema, unit: Unit
) -> list[list[int]]:
    """The sensitivity of every draw: at first there is one part, which a replaced row doesn't leave."""
    first = [query.rank_sensitivity(split.q, schema, unit) for split in levels[0]]
    return [
        first,
        *([part_sensitivity(split.q, unit) for split in level] for level in levels[1:]),
    ]


def inherit(levels: list[list[Split]], own: list[list[float]], power: int) -> dict[int, float]:
    """The error of every quantile: its draw's own, and shares of those of the cuts around its part.

    A cut that is e ranks off shifts a quantile q of a part by (1 - q)·e if it is the lower one, by q·e if
    it is the upper one. `power` is 1 to add errors, 2 to add their squares.
    """
    errors = {-1: 0.0, sum(map(len, levels)): 0.0}
    for level, found in zip(levels, own, strict=True):
        for split, error in zip(level, found, strict=True):
            q = float(split.q)
            parts = (error, (1 - q) * errors[split.low], q * errors[split.high])
            errors[split.at] = sum(part**power for part in parts) ** (1 / power)
    return errors


def rank_errors(query: Quantile, epsilon: float, schema: Schema, unit: Unit) -> list[float]:
    """About the deviation of each quantile in ranks, if rows are spread evenly; ε is that of a level."""
    order = tuple(sorted(set(query.q)))
    levels = list_levels(order)
    moved = level_sensitivities(query, levels, schema, unit)
    own = [
        [math.sqrt(8) * s / split.q.denominator / epsilon for s, split in zip(*pair, strict=True)]
        for pair in zip(moved, levels, strict=True)
    ]
    errors = inherit(levels, own, 2)
    return [errors[order.index(q)] for q in query.q]


class PreparedJointQuantiles(Prepared):
    """Exact exponential-mechanism draws that cut the rows in ever smaller parts, a level for a share."""

    error_needs_rows = True

    def __init__(self, query: Quantile, budget: Budget, schema: Schema, unit: Unit) -> None:
        mechanism = budget if isinstance(budget, Mechanism) else Exponential(budget)
        if not isinstance(mechanism, Exponential):
            raise TypeError(f"budget: {mechanism!r} does not fit quantiles; give a measure.")
        self._query, self._schema, self._mechanism = query, schema, mechanism
        self._coded = query.coded(schema, unit)
        self._last = (query.kind(schema).steps(VALUE_BITS) + 1) * PIECES - 1
        places = query.places(schema)
        self._places = None if places is None else np.array(list(places), np.int64)
        self._order = tuple(sorted(set(query.q)))
        self.levels = list_levels(self._order)
        self.sensitivities = level_sensitivities(query, self.levels, schema, unit)
        self.measure = mechanism.measure
        self._epsilon = mechanism.epsilon(len(self.levels))
        self.note = f"{len(self._order)} quantiles by {len(self.levels)} levels of cuts"
        if isinstance(self._epsilon, float):
            if not unit.is_public:
                raise no_noise_refused()
            self.event: events.Event = events.Compose()
        else:
            self.event = mechanism.event(len(self.levels))

    def expected_error(self, rows: int) -> None:
        return None

    def answer(self, engine: Engine) -> Answer:
        tally = engine.tally(self._coded)
        value = np.zeros((self._coded.groups, len(self._query.q)))
        places = [self._order.index(q) for q in self._query.q]
        for group in range(self._coded.groups):
            here = slice(*np.searchsorted(tally.groups, [group, group + 1]))
            whole = Part(0, self._last + 1, tally.codes[here], tally.counts[here])
            found = self._cut(whole)
            codes = [found[place] // PIECES for place in places]
            value[group] = [self._query.decode(code, self._schema) for code in codes]
        return Answer(
            value if self._query.by else value[0] if not self._query.is_single else value[0, 0],
            None,
            self._query.labels(self._schema) if self._query.by else None,
            self._interval,
        )

    def _cut(self, whole: Part) -> dict[int, int]:
        """The cut of every quantile in one group, level by level."""
        many, cuts = len(self._order), dict[int, int]()
        parts = {(-1, many): whole}
        for level, sensitivities in zip(self.levels, self.sensitivities, strict=True):
            for split, sensitivity in zip(level, sensitivities, strict=True):
                part = parts.pop((split.low, split.high))
                cut = self._draw(part, split.q, sensitivity)
                cuts[split.at] = cut
                lower, upper = part.divide(cut)
                parts[split.low, split.at], parts[split.at, split.high] = lower, upper
        return cuts

    def _draw(self, part: Part, q: Fraction, sensitivity: int) -> int:
        stretches = part.stretches(q, self._last, self._places)
        if isinstance(self._epsilon, float):
            return part.best(q, stretches)
        return part.draw(q, self._epsilon / (2 * sensitivity), stretches)

    def _interval(self, level: float) -> NoiseInterval:
        """How many ranks each quantile may be off: its own draw, and shares of those around its part."""
        risk = (1 - level) / len(self.levels)  # a quantile rests on one draw of each level
        cuts = (self._last + 1) if self._places is None else len(self._places) * PIECES
        own = [
            [
                self._reach(cuts, s, risk) / split.q.denominator
                for s, split in zip(*pair, strict=True)
            ]
            for pair in zip(self.sensitivities, self.levels, strict=True)
        ]
        errors = inherit(self.levels, own, 1)
        width: Any = np.array([errors[self._order.index(q)] for q in self._query.q])
        if self._query.is_single:
            width = float(width[0])
        if self._places is not None:  # the best of them may be far from the asked rank
            return NoiseInterval(0.0 * width, width, level, "score")
        return NoiseInterval(-width, width, level, "rank")

    def _reach(self, cuts: int, sensitivity: int, risk: float) -> float:
        return self._mechanism.expected_error(cuts, sensitivity, 1 - risk, len(self.levels))
