"""Vectors of counts that engines compute in several parts, noised as one."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet import events
from discreet.coding import Engine, Integers
from discreet.mechanisms import Mechanism, NoNoise, mechanism_for
from discreet.queries.answer import Answer, Budget, NoiseInterval, Prepared, no_noise_refused
from discreet.queries.several import Several
from discreet.queries.sizes import check_totals
from discreet.schema import Schema
from discreet.unit import Unit

__all__ = ["CountVector", "PreparedCounts"]


class CountVector(Several):
    """A query for counts that are differences of totals, one for each label."""

    @abstractmethod
    def vector(self, totals: list[Integers], schema: Schema) -> Integers:
        """The counts, from the totals of `parts`."""


class PreparedCounts(Prepared):
    """One noise on all counts of a vector."""

    error_needs_rows = False

    def __init__(
        self,
        query: CountVector,
        labels: list[Any],
        budget: Budget,
        schema: Schema,
        unit: Unit,
        rows: int | None,
    ) -> None:
        self._query, self._labels, self._schema = query, labels, schema
        self._parts = query.parts(schema, unit)
        for part in self._parts:
            check_totals(part, rows)
        sensitivity = query.sensitivity(schema, unit)
        mechanism = budget if isinstance(budget, Mechanism) else mechanism_for(budget, sensitivity)
        self._distribution = mechanism.for_sums(sensitivity, len(self._labels))
        self.measure = mechanism.measure
        if isinstance(self._distribution, NoNoise):
            if not unit.is_public:
                raise no_noise_refused()
            self.event: events.Event = events.Compose()
        else:
            self.event = self._distribution.event(sensitivity)

    def expected_error(self, rows: int) -> npt.NDArray[np.float64]:
        return np.full(len(self._labels), self._distribution.expected_error())

    def answer(self, engine: Engine) -> Answer:
        totals = engine.joint_totals(self._parts)
        value = self._distribution.run(self._query.vector(totals, self._schema))

        def interval(level: float) -> NoiseInterval:
            width = self._distribution.half_width(level)
            return NoiseInterval(value - width, value + width, level, "value")

        return Answer(value, self.expected_error(0), self._labels, interval)
