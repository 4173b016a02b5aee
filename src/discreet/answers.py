"""From a query and a budget to a noised answer: everything public first, then one read of the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import events, noise
from discreet.coding import VALUE_BITS
from discreet.engines import Engine
from discreet.measures import Measure, PureDP
from discreet.mechanisms import (
    AdditiveMechanism,
    Exponential,
    Mechanism,
    NoNoise,
    mechanism_for,
)
from discreet.queries import Additive, Count, MomentsValue, Quantile, Query, Sum
from discreet.queries.base import Floats, Integers
from discreet.release import NoiseInterval, Release
from discreet.schema import Schema
from discreet.unit import Unit

How = Measure | Mechanism


class Answerer(ABC):
    """A query that is ready to be answered: planned and priced, no row read yet."""

    event: events.Event
    measure: Measure
    #: Whether the standard error depends on the number of rows.
    error_needs_rows: bool

    @abstractmethod
    def expected_error(self, rows: int) -> Any:
        """The standard error to expect with so many rows."""

    @abstractmethod
    def answer(self, engine: Engine, entry: Any, is_private: bool) -> Release:
        """Read the rows, add the noise."""


def answerer(
    query: Query, how: How | None, schema: Schema, unit: Unit, rows: int | None
) -> Answerer:
    """Prepare an answer; every complaint about public arguments is raised here."""
    if not isinstance(how, Measure | Mechanism):
        raise TypeError(
            "how must be a measure such as dp.PureDP(0.5), dp.ApproxDP(0.5, 1e-6) or dp.ZCDP(0.1), or a "
            f"mechanism, not {type(how).__name__}."
        )
    if isinstance(query, Quantile):
        return QuantileAnswerer(query, how, schema, unit)
    assert isinstance(query, Additive)
    return AdditiveAnswerer(query, how, schema, unit, rows)


class AdditiveAnswerer(Answerer):
    """Noise on sums, then post-processing."""

    def __init__(
        self, query: Additive, how: How, schema: Schema, unit: Unit, rows: int | None
    ) -> None:
        self._query, self._schema, self._unit, self._rows = query, schema, unit, rows
        self._coded = query.coded(schema, unit)
        sensitivity = query.sensitivity(schema, unit)
        mechanism = how if isinstance(how, Mechanism) else mechanism_for(how, sensitivity)
        if not isinstance(mechanism, AdditiveMechanism):
            raise TypeError(f"how: {mechanism!r} does not fit sums; use Laplace or Gaussian noise.")
        self._law = mechanism.law(sensitivity)
        self.measure = mechanism.measure
        self.error_needs_rows = not isinstance(query, Count | Sum)
        if isinstance(self._law, NoNoise) and sensitivity.l1:
            if not unit.is_public:
                raise ValueError(
                    "how: an infinite budget (no noise) is accepted with dp.PUBLIC only."
                )
            self.event = events.Compose()
        else:
            self.event = self._law.event(sensitivity)
        if sensitivity.l1 == 0:
            self.measure = PureDP(0)
        missing = len(query.terms(schema)) - len(self._coded.terms)
        self._noised = np.array([0.0] * missing + [1.0] * len(self._coded.terms))
        if missing and rows is None:
            raise ValueError(
                "rows must be declared: under dp.REPLACE_ONE the number of rows is public, as in "
                "dp.PrivateDataset(..., rows=1000)."
            )

    def expected_error(self, rows: int) -> Any:
        groups = self._coded.groups
        totals = np.zeros((groups, len(self._noised)))
        terms = self._query.terms(self._schema)
        if not terms[0].codes:
            totals[:, 0] = terms[0].weight * rows / groups
        return self._shaped(self._query.error(totals, self._deviations(), self._schema))

    def _deviations(self) -> Floats:
        return self._noised * self._law.expected_error()

    def answer(self, engine: Engine, entry: Any, is_private: bool) -> Release:
        if self._coded.terms:
            noised: Integers = self._law.run(engine.totals(self._coded))
        else:
            noised = np.zeros((self._coded.groups, 0), np.int64)
        totals = self._query.with_count(noised, self._schema, self._rows)
        return Release(
            self._query,
            self._shaped(self._query.estimate(totals, self._schema)),
            self._shaped(self._query.error(totals, self._deviations(), self._schema)),
            self._query.labels(self._schema) if self._query.by else None,
            self.event,
            self.measure,
            entry,
            is_private,
            lambda level: self._interval(totals, level),
        )

    def _interval(self, totals: Floats, level: float) -> NoiseInterval:
        # all coordinates of one answer stay within t with probability `level` (union bound)
        coordinates = max(1, int(self._noised.sum()))
        width = self._law.half_width(1 - (1 - level) / coordinates)
        low, high = self._query.bounds(totals, self._noised * width, self._schema)
        return NoiseInterval(self._shaped(low), self._shaped(high), level, "value")

    def _shaped(self, value: Any) -> Any:
        """Without groups, the one entry; plain Python numbers where it is a number."""
        if isinstance(value, MomentsValue):
            return MomentsValue(*map(self._shaped, (value.count, value.mean, value.variance)))
        if self._query.by:
            return value
        return value[0].item() if value.ndim == 1 else value[0]


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
                raise ValueError(
                    "how: an infinite budget (no noise) is accepted with dp.PUBLIC only."
                )
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
