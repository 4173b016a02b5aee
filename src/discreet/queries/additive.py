"""Queries that are vectors of sums: noise on the sums, then post-processing."""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet import events
from discreet.coding import CodedQuery, Engine, Extent, Integers, Sensitivity, Term
from discreet.measures import PureDP
from discreet.mechanisms import (
    Distribution,
    LaplaceDistribution,
    Mechanism,
    NoNoise,
    mechanism_for,
)
from discreet.queries.answer import (
    Answer,
    Budget,
    Interval,
    NoiseInterval,
    Prepared,
    Sampling,
    no_noise_refused,
)
from discreet.queries.base import Query
from discreet.queries.sizes import MAX_TOTAL, check_totals
from discreet.schema import Schema
from discreet.unit import REPLACE_ONE, Unit

__all__ = ["Additive", "Floats", "NoiseShape", "PreparedSums"]

Floats = npt.NDArray[np.float64]


class NoiseShape(NamedTuple):
    """The noise on sums: its deviation by coordinate, whether its tails are Laplace's, and a public count."""

    deviations: Floats
    is_laplace: bool
    rows: int | None


class Additive(Query):
    """A query that is a vector of sums; what is reported is post-processing of the noised sums.

    Examples
    --------
    >>> import discreet as dp
    >>> isinstance(dp.Mean("age"), dp.queries.Additive)
    True
    >>> schema = dp.Schema(age=dp.Integer(0, 100))
    >>> dp.Count().sensitivity(schema, dp.Unit(dp.ADD_REMOVE))
    Sensitivity(l1=1, l2_squared=1)
    """

    #: Whether the standard error depends on the number of rows.
    error_needs_rows: ClassVar[bool] = True
    #: Whether the answer is the sums themselves, so that it is as finite as their noise.
    is_sums: ClassVar[bool] = False
    #: Whether groups of different persons say nothing about one another.
    groups_are_independent: ClassVar[bool] = True

    @abstractmethod
    def terms(self, schema: Schema) -> tuple[Term, ...]:
        """The coordinates of a row's contribution. A count, if needed, is the first."""

    @abstractmethod
    def extent(self, schema: Schema, counted: bool) -> Extent:
        """What one row can contribute; without the count's coordinate unless `counted`."""

    @abstractmethod
    def estimate(self, totals: Floats, schema: Schema) -> Any:
        """What is reported, from sums of shape (groups, terms). An array over groups first."""

    @abstractmethod
    def error(self, totals: Floats, deviations: Floats, schema: Schema) -> Any:
        """The standard error of `estimate`, where each sum has noise of the given deviation."""

    @abstractmethod
    def bounds(self, totals: Floats, widths: Floats, schema: Schema) -> tuple[Any, Any]:
        """The least and largest `estimate` while each sum stays within the given half-width."""

    def confidence(
        self, totals: Floats, noise: NoiseShape, schema: Schema, unit: Unit
    ) -> Callable[[float], Interval] | None:
        """Intervals for the population by level, arrays over groups; None where they weren't bought."""
        return None

    def grain(self, totals: Floats, schema: Schema) -> Any:
        """By how much one person moves a proportion, by group; 0 for answers that move freely."""
        return 0.0

    def in_basis(self, schema: Schema, unit: Unit) -> Additive:
        """The same question in the coordinates that need the least noise under this unit."""
        return self

    def for_budget(self, budget: Budget) -> Additive:
        """The same question, in coordinates that may depend on the kind of noise."""
        return self

    def norms_decide(self, schema: Schema, unit: Unit) -> bool:
        """Whether the sensitivity follows from the largest norm of a contribution, not from a diameter.

        So it is under add/remove, and under replace-one where a row can move to another group.
        """
        if unit.relation is not REPLACE_ONE:
            return True
        return math.prod(len(schema.labels(name)) for name in self.by) > 1

    def coded(self, schema: Schema, unit: Unit) -> CodedQuery:
        terms = self.in_basis(schema, unit).terms(schema)
        if self.count_is_public(schema, unit) and not terms[0].codes:
            terms = terms[1:]
        return self._coded(schema, unit, terms)

    def sensitivity(self, schema: Schema, unit: Unit) -> Sensitivity:
        counted = not self.count_is_public(schema, unit)
        extent = self.in_basis(schema, unit).extent(schema, counted)
        return self._sensitivity_from_extent(extent, schema, unit)

    def expected_totals(self, rows: float, schema: Schema) -> Floats:
        """The sums of this many rows in the middle of their bounds."""
        terms = self.terms(schema)
        totals = np.zeros(len(terms))
        if not terms[0].codes:
            totals[0] = terms[0].weight * rows
        return totals

    def finish(self, totals: Floats, deviations: Floats, schema: Schema) -> tuple[Any, Any]:
        """What is reported of noised sums, and its standard error."""
        return self.estimate(totals, schema), self.error(totals, deviations, schema)

    def with_count(self, totals: Integers, schema: Schema, rows: int | None) -> Floats:
        """The sums as floats, with the public count put back where it was left out."""
        terms = self.terms(schema)
        if totals.shape[1] == len(terms):
            return totals.astype(np.float64)
        if rows is None:
            raise ValueError(
                "rows must be declared: under dp.REPLACE_ONE the number of rows is public, as in "
                "dp.PrivateDataset(..., rows=1000)."
            )
        count = np.full((len(totals), 1), float(rows) * terms[0].weight)
        return np.concatenate([count, totals.astype(np.float64)], axis=1)

    def prepare(self, budget: Budget, schema: Schema, unit: Unit, rows: int | None) -> Prepared:
        return PreparedSums(self.for_budget(budget), budget, schema, unit, rows)


class PreparedSums(Prepared):
    """Noise on sums, then post-processing.

    A block of a larger vector is given the `distribution` of the noise there and the whole `weight` that
    the block has in it, and is neither priced nor asked alone.
    """

    def __init__(
        self,
        query: Additive,
        budget: Budget,
        schema: Schema,
        unit: Unit,
        rows: int | None,
        distribution: Distribution | None = None,
        weight: int = 1,
    ) -> None:
        query = query.in_basis(schema, unit)
        self._query, self._schema, self._unit, self._rows = query, schema, unit, rows
        #: What the engine computes; without a term there is nothing to compute.
        self.coded = query.coded(schema, unit)
        check_totals(self.coded, rows)
        sensitivity = query.sensitivity(schema, unit)
        mechanism = budget if isinstance(budget, Mechanism) else mechanism_for(budget, sensitivity)
        size = self.coded.groups * len(self.coded.terms)
        self._distribution = distribution or mechanism.for_sums(sensitivity, size)
        self._weight = weight
        self.measure = mechanism.measure
        self.error_needs_rows = query.error_needs_rows
        if distribution is not None:
            self.event = events.Compose()
        elif isinstance(self._distribution, NoNoise) and sensitivity.l1:
            if not unit.is_public:
                raise no_noise_refused()
            self.event = events.Compose()
        else:
            self.event = self._distribution.event(sensitivity)
        if sensitivity.l1 == 0:
            self.measure = PureDP(0)
        missing = len(query.terms(schema)) - len(self.coded.terms)
        self._noised = np.array([0.0] * missing + [1.0] * len(self.coded.terms))
        if missing and rows is None:
            raise ValueError(
                "rows must be declared: under dp.REPLACE_ONE the number of rows is public, as in "
                "dp.PrivateDataset(..., rows=1000)."
            )
        self._check_finite()

    def _check_finite(self) -> None:
        """Raise if an answer, or its error, could be too large for a double: from public facts alone."""
        deviations = self._deviations()
        if self._query.is_sums and np.isfinite(64 * deviations).all():
            return
        # as three groups: the smallest and the largest totals there can be, and none
        totals = np.outer([-1.0, 0.0, 1.0], np.full(len(self._noised), float(MAX_TOTAL)))
        with np.errstate(all="ignore"):
            parts = self._query.bounds(totals, 64 * deviations, self._schema)
            error = self._query.error(totals, deviations, self._schema)
            estimate = self._query.estimate(totals, self._schema)
        if not all(map(_is_finite, (estimate, error, *parts))):
            raise ValueError(
                f"{type(self._query).__name__}: with these bounds an answer or its error can be too "
                "large for a double: declare the columns in other units."
            )

    def expected_error(self, rows: int) -> Any:
        groups = self.coded.groups
        totals = np.tile(self._query.expected_totals(rows / groups, self._schema), (groups, 1))
        return self._shape(self._query.error(totals, self._deviations(), self._schema))

    def _deviations(self) -> Floats:
        deviation = self._distribution.expected_error()
        if self._weight > 1:  # rounding to whole numbers adds 1/12
            deviation = math.sqrt((deviation / self._weight) ** 2 + 1 / 12)
        return self._noised * deviation

    def answer(self, engine: Engine) -> Answer:
        return self.finish(self._distribution.run(self.totals(engine)))

    def totals(self, engine: Engine) -> Integers:
        """The sums before noise."""
        if self.coded.terms:
            return engine.totals(self.coded)
        return np.zeros((self.coded.groups, 0), np.int64)

    def add_noise(self, totals: Integers, noise: Integers) -> Integers:
        """The sums with the noise of the larger vector, in which they are `weight` times as large.

        (weight·total + noise)/weight to the nearest whole number, halves up. The total comes out of the
        brackets, so no product has to fit into 64 bits.
        """
        return totals + (noise + self._weight // 2) // self._weight

    def finish(self, noised: Integers) -> Answer:
        """What is reported of noised sums."""
        totals = self._query.with_count(noised, self._schema, self._rows)
        value, error = self._query.finish(totals, self._deviations(), self._schema)
        return Answer(
            self._shape(value),
            self._shape(error),
            self._query.labels(self._schema) if self._query.by else None,
            lambda level: self._interval(totals, level),
            self._sampling(totals),
        )

    def _sampling(self, totals: Floats) -> Sampling | None:
        """What the noised sums say about the population."""
        public = self._query.count_is_public(self._schema, self._unit)
        noise = NoiseShape(
            self._deviations(),
            isinstance(self._distribution, LaplaceDistribution),
            self._rows if public else None,
        )
        confidence = self._query.confidence(totals, noise, self._schema, self._unit)
        if confidence is None:
            return None

        def interval(level: float) -> Interval:
            found = confidence(level)
            return found._replace(lower=self._shape(found.lower), upper=self._shape(found.upper))

        independent = self._query.groups_are_independent and self._unit.rows_per_person == 1
        return Sampling(interval, independent, self._query.grain(totals, self._schema))

    def _interval(self, totals: Floats, level: float) -> NoiseInterval:
        # all coordinates of one answer stay within t with probability `level` (union bound)
        coordinates = max(1, int(self._noised.sum()))
        width = self._distribution.half_width(1 - (1 - level) / coordinates)
        if self._weight > 1:
            width = width / self._weight + 0.5
        low, high = self._query.bounds(totals, self._noised * width, self._schema)
        return NoiseInterval(self._shape(low), self._shape(high), level, "value")

    def _shape(self, value: Any) -> Any:
        """Without groups, the one entry; plain Python numbers where it is a number."""
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return dataclasses.replace(value, **{n: self._shape(v) for n, v in vars(value).items()})
        if self._query.by:
            return value
        return value[0].item() if value.ndim == 1 else value[0]


def _is_finite(value: Any) -> bool:
    """Whether all numbers of an answer are finite."""
    if dataclasses.is_dataclass(value):
        return all(map(_is_finite, vars(value).values()))
    if isinstance(value, tuple):
        return all(map(_is_finite, value))
    return value is None or bool(np.isfinite(value).all())
