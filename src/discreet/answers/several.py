"""Answers made of several reads of the rows: joint vectors, and choices."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import events, noise
from discreet.answers.additive import AdditiveAnswerer
from discreet.answers.base import Answerer, How, no_noise_refused
from discreet.coding import Engine, Integers
from discreet.measures import ZCDP, Measure, PureDP
from discreet.mechanisms import (
    AdditiveMechanism,
    Exponential,
    Mechanism,
    NoNoise,
    PermuteAndFlip,
    mechanism_for,
)
from discreet.queries import Choice, Joint
from discreet.queries.sizes import check_totals
from discreet.release import NoiseInterval, Release
from discreet.schema import Schema
from discreet.unit import Unit


class JointAnswerer(Answerer):
    """One noise on a vector of several blocks, each then finished like an answer of its own."""

    def __init__(
        self, query: Joint, how: How, schema: Schema, unit: Unit, rows: int | None
    ) -> None:
        self._query, self._schema = query, schema
        sensitivity = query.sensitivity(schema, unit)
        mechanism = how if isinstance(how, Mechanism) else mechanism_for(how, sensitivity)
        if not isinstance(mechanism, AdditiveMechanism):
            raise TypeError(f"how: {mechanism!r} does not fit sums; use Laplace or Gaussian noise.")
        self._law = mechanism.law(sensitivity)
        self.measure = mechanism.measure
        if isinstance(self._law, NoNoise) and sensitivity.l1:
            if not unit.is_public:
                raise no_noise_refused()
            self.event: events.Event = events.Compose()
        else:
            self.event = self._law.event(sensitivity)
        if sensitivity.l1 == 0:
            self.measure = PureDP(0)
        self._blocks = [
            AdditiveAnswerer(part, mechanism, schema, unit, rows, self._law, weight)
            for part, weight in zip(query.queries, query.weights(schema, unit), strict=True)
        ]
        self.error_needs_rows = any(block.error_needs_rows for block in self._blocks)

    def expected_error(self, rows: int) -> tuple[Any, ...]:
        return tuple(block.expected_error(rows) for block in self._blocks)

    def answer(self, engine: Engine, entry: Any, is_private: bool) -> Release:
        totals = [block.totals(engine) for block in self._blocks]
        ends = np.cumsum([part.size for part in totals])
        drawn = np.split(self._law.run(np.zeros(ends[-1], np.int64)), ends[:-1])
        found = [
            block.finish(block.add_noise(part, noise.reshape(part.shape)), entry, is_private)
            for block, part, noise in zip(self._blocks, totals, drawn, strict=True)
        ]

        def interval(level: float) -> NoiseInterval:
            each = [release.noise_interval(level) for release in found]
            lower, upper = tuple(i.lower for i in each), tuple(i.upper for i in each)
            return NoiseInterval(lower, upper, level, "value")

        return Release(
            self._query,
            tuple(release.value for release in found),
            tuple(release.stderr for release in found),
            self._query.labels(self._schema),
            self.event,
            self.measure,
            entry,
            is_private,
            interval,
        )


class ChoiceAnswerer(Answerer):
    """An exact draw for each group: permute-and-flip, or the exponential mechanism for zCDP."""

    error_needs_rows = False

    def __init__(
        self, query: Choice, how: How, schema: Schema, unit: Unit, rows: int | None
    ) -> None:
        self._query, self._schema = query, schema
        self._parts = query.parts(schema, unit)
        for part in self._parts:
            check_totals(part, rows)
        self._groups = len(query.labels(schema)) if query.by else 1
        self._sensitivity = query.sensitivity(schema, unit).l1
        self._monotone = query.is_monotone(unit)
        self.measure = _measure(how)
        self._epsilon = _epsilon(self.measure)
        self._flips = isinstance(how, PermuteAndFlip) or (
            isinstance(self.measure, PureDP) and not isinstance(how, Exponential)
        )
        self.event: events.Event
        if isinstance(self._epsilon, float):
            if not unit.is_public:
                raise no_noise_refused()
            self.event = events.Compose()
        elif self._sensitivity == 0:
            self.event, self.measure = events.Compose(), PureDP(0)
        elif self._flips:
            self.event = self._mechanism().event(self._sensitivity)
        else:
            self.event = events.Exponential(self._epsilon)

    def _mechanism(self) -> PermuteAndFlip:
        return PermuteAndFlip(self._epsilon, monotone=self._monotone)

    def expected_error(self, rows: int) -> None:
        return None

    def answer(self, engine: Engine, entry: Any, is_private: bool) -> Release:
        scores = self._query.scores([engine.totals(part) for part in self._parts], self._schema)
        value = np.array([self._draw(row) for row in scores], np.int64)
        return Release(
            self._query,
            value if self._query.by else int(value[0]),
            None,
            self._query.labels(self._schema) if self._query.by else None,
            self.event,
            self.measure,
            entry,
            is_private,
            self._interval,
        )

    def _draw(self, scores: Integers) -> int:
        if isinstance(self._epsilon, float) or self._sensitivity == 0:
            return int(scores.argmax())
        if self._flips:
            return self._mechanism().run(scores, self._sensitivity)
        sides = 1 if self._monotone else 2
        return int(noise.select(scores, self._epsilon / (sides * self._sensitivity)))

    def _interval(self, level: float) -> NoiseInterval:
        if isinstance(self._epsilon, float) or self._sensitivity == 0:
            return NoiseInterval(0.0, 0.0, level, "score")
        candidates = self._query.count(self._schema)
        if self._flips:
            short = self._mechanism().expected_error(candidates, self._sensitivity, level)
        else:
            scale = (1 if self._monotone else 2) * self._sensitivity / float(self._epsilon)
            short = scale * (math.log(candidates) - math.log1p(-level))
        return NoiseInterval(0.0, short, level, "score")


def _measure(how: How) -> PureDP | ZCDP:
    """What a choice is charged: pure DP or zCDP; a δ is not needed and not charged."""
    if isinstance(how, PermuteAndFlip | Exponential):
        return how.measure
    if not isinstance(how, Measure):
        raise TypeError(
            f"how: {how!r} does not fit a choice; give a measure, PermuteAndFlip or Exponential."
        )
    return Exponential(how).measure  # complains where a measure has neither ε nor ρ


def _epsilon(measure: PureDP | ZCDP) -> Fraction | float:
    return Exponential(measure).epsilon()
