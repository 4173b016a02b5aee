"""Keys and bounds that nobody declared."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from discreet import events
from discreet.accounting.thresholds import least_threshold
from discreet.answers.base import Answerer, How, no_noise_refused
from discreet.coding import Engine
from discreet.measures import ApproxDP, Measure, PureDP
from discreet.mechanisms import Laplace, LaplaceLaw, Law
from discreet.mechanisms.thresholded import interval_given_threshold
from discreet.queries import Bounds, Count, Keys
from discreet.release import NoiseInterval, Release
from discreet.schema import Schema
from discreet.unit import Unit


def _laplace(how: How, delta: Fraction, asked: str) -> Laplace:
    """Laplace noise for the ε of `how`; its δ, if it has one, must be the one that is charged."""
    if isinstance(how, Laplace):
        return how
    if isinstance(how, PureDP) or (isinstance(how, ApproxDP) and how.delta in (0, delta)):
        return Laplace(how.epsilon)
    more = f", or dp.ApproxDP(epsilon, {float(delta):g}) with the keys' own delta" if delta else ""
    raise ValueError(f"how: {asked} takes dp.PureDP(epsilon){more}, not {how!r}.")


class KeysAnswerer(Answerer):
    """Noisy counts of keys, those at the threshold or above."""

    error_needs_rows = False

    def __init__(self, query: Count, how: How, schema: Schema, unit: Unit) -> None:
        assert query.keys is not None
        keys: Keys = query.keys
        keys.checked(schema)
        self._query, self._keys = query, keys
        self._coded = query.coded(schema, unit)
        self._groups = keys.groups(unit)
        sensitivity = query.sensitivity(schema, unit)
        mechanism = _laplace(how, keys.delta, "discovering keys")
        self._law: Law = mechanism.law(sensitivity)
        self.measure: Measure
        self.event: events.Event
        if isinstance(self._law, LaplaceLaw):
            rows = unit.rows_per_person
            self._threshold = least_threshold(self._law.scale, keys.delta, rows, self._groups)
            self.event = events.KeyThreshold(
                self._law.scale, sensitivity.l1, self._threshold, rows, self._groups
            )
            self.measure = ApproxDP(mechanism.measure.epsilon, keys.delta)
        elif unit.is_public:
            self._threshold, self.event, self.measure = 1, events.Compose(), mechanism.measure
        else:
            raise no_noise_refused()

    def expected_error(self, rows: int) -> None:
        """None: how far a shown count is from the true one depends on how it came to be shown."""
        return

    def answer(self, engine: Engine, entry: Any, is_private: bool) -> Release:
        found = engine.keys(self._coded, self._keys.column, self._groups)
        names = sorted(found)
        noisy = self._law.run(np.array([found[name] for name in names], np.int64))
        kept = np.flatnonzero(noisy >= self._threshold)
        value = noisy[kept]

        def interval(level: float) -> NoiseInterval:
            if not isinstance(self._law, LaplaceLaw):  # public rows without noise
                return NoiseInterval(value, value, level, "value")
            low, high = interval_given_threshold(value, self._law.scale, self._threshold, level)
            return NoiseInterval(low, high, level, "value")

        return Release(
            self._query,
            value,
            None,
            [names[index] for index in kept],
            self.event,
            self.measure,
            entry,
            is_private,
            interval,
        )


class BoundsAnswerer(Answerer):
    """A histogram of signs and powers of two, and the bounds that enclose what stands out of it."""

    error_needs_rows = False

    def __init__(self, query: Bounds, how: How, schema: Schema, unit: Unit) -> None:
        self._query = query
        self._coded = query.coded(schema, unit)
        sensitivity = query.sensitivity(schema, unit)
        mechanism = _laplace(how, Fraction(0), "a query for bounds")
        self._law = mechanism.law(sensitivity)
        self.measure = mechanism.measure
        self.event: events.Event
        if isinstance(self._law, LaplaceLaw):
            self.event = self._law.event(sensitivity)
        elif unit.is_public:
            self.event = events.Compose()
        else:
            raise no_noise_refused()

    def expected_error(self, rows: int) -> None:
        return None

    def answer(self, engine: Engine, entry: Any, is_private: bool) -> Release:
        counts = self._law.run(engine.totals(self._coded)[:, 0])
        least = self._law.half_width(1 - Bounds.RISK / len(counts))
        value = Bounds.value(counts.tolist(), least)
        return Release(
            self._query,
            value,
            None,
            None,
            self.event,
            self.measure,
            entry,
            is_private,
            _no_interval,
        )


def _no_interval(level: float) -> NoiseInterval:
    raise ValueError("bounds have no noise interval: they are a choice, not an estimate.")
