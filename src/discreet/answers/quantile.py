"""Quantiles: an exact draw for each quantile and group."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from discreet import events, noise
from discreet.answers.base import Answerer, How, no_noise_refused
from discreet.coding import VALUE_BITS, Engine, Integers
from discreet.mechanisms import Exponential, Mechanism
from discreet.queries import Quantile
from discreet.release import NoiseInterval, Release
from discreet.schema import Schema
from discreet.unit import Unit


class QuantileAnswerer(Answerer):
    """An exact exponential-mechanism draw for each quantile and group."""

    error_needs_rows = True

    def __init__(self, query: Quantile, how: How, schema: Schema, unit: Unit) -> None:
        mechanism = how if isinstance(how, Mechanism) else Exponential(how)
        if not isinstance(mechanism, Exponential):
            raise TypeError(f"how: {mechanism!r} does not fit a quantile; give a measure.")
        self._query, self._schema, self._mechanism = query, schema, mechanism
        self._coded = query.coded(schema, unit)
        self._column = query.kind(schema)
        self._draws = len(query.q)
        self._sensitivities = [query.rank_sensitivity(q, schema, unit) for q in query.q]
        self.measure = mechanism.measure
        epsilon = mechanism.epsilon(self._draws)
        if isinstance(epsilon, float):
            if not unit.is_public:
                raise no_noise_refused()
            self.event: events.Event = events.Compose()
        else:
            self.event = mechanism.event(self._draws)

    def expected_error(self, rows: int) -> Any:
        return None

    def answer(self, engine: Engine, entry: Any, is_private: bool) -> Release:
        tally = engine.tally(self._coded)
        groups = self._coded.groups
        value = np.zeros((groups, self._draws))
        for group in range(groups):
            here = slice(*np.searchsorted(tally.groups, [group, group + 1]))
            for index, q in enumerate(self._query.q):
                code = self._draw(tally.codes[here], tally.counts[here], q, index)
                value[group, index] = self._column.decode(code, VALUE_BITS)
        shaped = value[:, 0] if self._query.is_single else value
        return Release(
            self._query,
            shaped if self._query.by else shaped[0].item() if shaped.ndim == 1 else shaped[0],
            None,
            self._query.labels(self._schema) if self._query.by else None,
            self.event,
            self.measure,
            entry,
            is_private,
            self._interval,
        )

    def _draw(self, codes: Integers, counts: Integers, q: Fraction, index: int) -> int:
        last = self._column.steps(VALUE_BITS)
        first, length, score = self._query.scores(codes, counts, q, last)
        run = self._mechanism.run(score, length, self._sensitivities[index], self._draws)
        if isinstance(self._mechanism.epsilon(), float):
            return int(first[run] + (length[run] - 1) // 2)
        return int(first[run]) + int(noise.uniform_below(int(length[run])))

    def _interval(self, level: float) -> NoiseInterval:
        candidates = self._column.steps(VALUE_BITS) + 1
        widths = []
        for q, sensitivity in zip(self._query.q, self._sensitivities, strict=True):
            short = self._mechanism.expected_error(candidates, sensitivity, level, self._draws)
            widths.append(short / q.denominator)
        width = widths[0] if self._query.is_single else np.array(widths)
        return NoiseInterval(-width, width, level, "rank")
