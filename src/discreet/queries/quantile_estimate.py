"""A quantile of a population: the quantile of the rows, and two neighbours that enclose it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, final

import numpy as np
from scipy.special import ndtri

from discreet import events
from discreet.coding import VALUE_BITS, CodedQuery, Engine, Sensitivity
from discreet.columns import Numeric, column_name
from discreet.measures import ZCDP, ApproxDP, Measure, PureDP
from discreet.mechanisms import Mechanism
from discreet.queries.additive import Floats
from discreet.queries.answer import (
    Answer,
    Budget,
    Interval,
    NoiseInterval,
    Prepared,
    Sampling,
)
from discreet.queries.base import Query
from discreet.queries.counts import Count
from discreet.queries.quantile import PreparedQuantile, Quantile
from discreet.queries.sums import By, Where
from discreet.rational import Number
from discreet.schema import Schema
from discreet.unit import Unit

__all__ = ["PreparedEstimate", "QuantileEstimate"]

#: The part of the budget that buys the number of rows; the rest is shared by three draws.
COUNT_SHARE = Fraction(1, 10)
#: Of the chance to miss: what sampling error, either draw and the count may take.
SAMPLING_RISK, DRAW_RISK, COUNT_RISK = 0.6, 0.1, 0.2
#: Neighbours are multiples of this, so that scores stay small.
GRID = 10_000


@final
class QuantileEstimate(Query):
    """A quantile with an interval in values for the population; ``dp.Estimate(dp.Quantile(...))``.

    A tenth of the budget buys the number of rows (by group). From it follow two neighbours of q, as far away
    as sampling error and the noise of the draws may reach at `level`; q and both neighbours are drawn with
    three tenths each.

    Privacy
    -------
    A noised count, then three draws of the exponential mechanism in each group, the neighbours chosen by
    the noised count: adaptive composition. Proof page: ``docs/proofs/answers.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> schema, ledger = dp.Schema(age=dp.Integer(0, 100)), dp.Ledger(limit=dp.PureDP(1))
    >>> data = dp.PrivateDataset({"age": list(range(20, 70)) * 20}, schema, ledger=ledger)
    >>> answer = data.release(dp.Estimate(dp.Median("age")), dp.PureDP(1))
    >>> interval = answer.interval(0.95)
    >>> interval.lower <= 44.5 <= interval.upper
    True
    """

    def __init__(
        self,
        column: str,
        q: Number = "1/2",
        *,
        level: float = 0.95,
        by: By = None,
        where: Where = None,
    ) -> None:
        super().__init__(by, where)
        self.column = column_name(column, "QuantileEstimate")
        self.quantile = Quantile(column, q, by=by, where=where)
        if not isinstance(level, int | float) or not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level!r}.")
        self.level = float(level)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def coded(self, schema: Schema, unit: Unit) -> CodedQuery:
        return self.quantile.coded(schema, unit)

    def sensitivity(self, schema: Schema, unit: Unit) -> Sensitivity:
        return self.quantile.sensitivity(schema, unit)

    def at(self, q: tuple[Fraction, Fraction, Fraction]) -> Quantile:
        """The query for a quantile and its neighbours."""
        return Quantile(self.column, q, jointly=False, by=self.by, where=self.where)

    def prepare(self, budget: Budget, schema: Schema, unit: Unit, rows: int | None) -> Prepared:
        return PreparedEstimate(self, budget, schema, unit, rows)

    def _options(self) -> list[str]:
        return [f"q={self.quantile.q[0]}", *super()._options()]


class PreparedEstimate(Prepared):
    """A noised count, and three draws that follow from it."""

    error_needs_rows = True

    def __init__(
        self, query: QuantileEstimate, budget: Budget, schema: Schema, unit: Unit, rows: int | None
    ) -> None:
        self._query, self._schema, self._unit = query, schema, unit
        self._column: Numeric = query.quantile.kind(schema)
        self.measure = _find_measure(budget)
        count, self._share = _split(self.measure)
        self._count = Count(by=query.by, where=query.where).prepare(count, schema, unit, rows)
        self._coded = query.coded(schema, unit)
        planned = self.plan_draws((query.quantile.q[0],) * 3)
        self._draws = planned.event
        parts = (self._count.event, self._draws)
        self.event = events.Compose(*(part for part in parts if part != events.Compose()))

    def plan_draws(self, q: tuple[Fraction, Fraction, Fraction]) -> PreparedQuantile:
        """Three draws with the part of the budget that is theirs, at these quantiles."""
        return PreparedQuantile(self._query.at(q), self._share, self._schema, self._unit)

    def expected_error(self, rows: int) -> None:
        return None

    def answer(self, engine: Engine) -> Answer:
        counted = self._count.answer(engine)
        risk = 1 - self._query.level
        fewest = np.atleast_1d(counted.interval(1 - 2 * COUNT_RISK * risk).lower)
        tally = engine.tally(self._coded)
        found = np.zeros((3, self._coded.groups))
        for group in range(self._coded.groups):
            here = slice(*np.searchsorted(tally.groups, [group, group + 1]))
            q = self._find_neighbours(float(fewest[group]))
            draws = self.plan_draws(q)
            if draws.event != self._draws:
                raise ValueError(
                    "the draws of neighbouring quantiles aren't those that were planned."
                )
            codes = [
                draws._draw(tally.codes[here], tally.counts[here], each, at)
                for at, each in enumerate(q)
            ]
            found[:, group] = self._values(codes, q)
        return Answer(
            self._shape(found[1]),
            None,
            self._query.labels(self._schema) if self._query.by else None,
            self._noise_interval,
            Sampling(lambda level: self._interval(found, level), self._unit.rows_per_person == 1),
        )

    def _find_neighbours(self, rows: float) -> tuple[Fraction, Fraction, Fraction]:
        """q between two neighbours that enclose the population's quantile, with at least this many rows."""
        q = self._query.quantile.q[0]
        if rows < 1:
            return Fraction(0), q, Fraction(1)
        risk, persons = 1 - self._query.level, self._unit.rows_per_person
        z = -float(ndtri(SAMPLING_RISK * risk / 2))
        p = float(q)
        # one person's rows go together: by Cauchy-Schwarz the variance is at most max_rows times as large
        drawn = z * math.sqrt(persons * p * (1 - p) / rows)
        away = drawn + (self._reach(1 - DRAW_RISK * risk) + 1) / rows
        low = Fraction(math.floor((p - away) * GRID), GRID)
        high = Fraction(math.ceil((p + away) * GRID), GRID)
        return max(low, Fraction(0)), q, min(high, Fraction(1))

    def _reach(self, level: float) -> float:
        """How many ranks a draw may be away from its own, whatever it is."""
        # at q = 1 one row moves a score, in ranks, as far as it ever does
        widest = self.plan_draws((Fraction(1),) * 3)._interval(level)
        return float(np.max(widest.upper))

    def _values(self, codes: list[int], q: tuple[Fraction, Fraction, Fraction]) -> Floats:
        """The values of three draws: the outer edges of the neighbours' cells, or the bounds."""
        column = self._column
        half = 0.0 if column.is_exact(VALUE_BITS) else 0.5
        low = column.decode(codes[0] - half, VALUE_BITS) if q[0] > 0 else float(column.lower)
        high = column.decode(codes[2] + half, VALUE_BITS) if q[2] < 1 else float(column.upper)
        middle = column.decode(codes[1], VALUE_BITS)
        return np.array([min(low, high), min(max(middle, low), max(low, high)), max(low, high)])

    def _interval(self, found: Floats, level: float) -> Interval:
        if level > self._query.level:
            raise ValueError(
                f"level: the neighbours of this quantile were drawn for {self._query.level:g}; for more, ask "
                f"with dp.Estimate(..., level={level:g})."
            )
        q, people = self._query.quantile.q[0], "rows" if self._unit.id_column is None else "persons"
        about = f"the {q}-quantile of {self._query.column!r} in the population that the {people} came from"
        return Interval(self._shape(found[0]), self._shape(found[2]), level, about)

    def _noise_interval(self, level: float) -> NoiseInterval:
        found = self.plan_draws((self._query.quantile.q[0],) * 3)._interval(level)
        return found._replace(lower=float(found.lower[1]), upper=float(found.upper[1]))

    def _shape(self, values: Floats) -> Any:
        return values.copy() if self._query.by else float(values[0])


def _find_measure(budget: Budget) -> PureDP | ZCDP:
    measure: Measure = budget.measure if isinstance(budget, Mechanism) else budget
    if isinstance(measure, ApproxDP):
        measure = PureDP(measure.epsilon)
    if not isinstance(measure, PureDP | ZCDP):
        raise ValueError(
            "budget must be dp.PureDP(epsilon), dp.ApproxDP(epsilon, delta) or dp.ZCDP(rho) for a quantile."
        )
    return measure


def _split(measure: PureDP | ZCDP) -> tuple[Measure, Measure]:
    """What the count and the draws may cost."""
    if isinstance(measure, PureDP):
        if isinstance(measure.epsilon, float):
            return measure, measure
        return PureDP(measure.epsilon * COUNT_SHARE), PureDP(measure.epsilon * (1 - COUNT_SHARE))
    if isinstance(measure.rho, float):
        return measure, measure
    return ZCDP(measure.rho * COUNT_SHARE), ZCDP(measure.rho * (1 - COUNT_SHARE))
