"""What nobody may know in advance: the frequent values of a text column, the bounds of a real one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, final

import numpy as np

from discreet import events
from discreet.accounting.thresholds import minimum_threshold
from discreet.coding import Code, CodedQuery, Engine, Extent, Sensitivity, Term
from discreet.columns import RUNGS, Text, Unbounded, column_name
from discreet.expressions import Expression
from discreet.measures import ApproxDP, Measure, PureDP
from discreet.mechanisms import Distribution, Laplace, LaplaceDistribution
from discreet.mechanisms.thresholded import interval_given_threshold
from discreet.queries.answer import Answer, Budget, NoiseInterval, Prepared, no_noise_refused
from discreet.queries.base import Query
from discreet.rational import Number, as_integer, probability
from discreet.schema import Schema
from discreet.unit import Unit


@final
class KeyCounts(Query):
    """How many rows have each frequent value of a column declared as ``dp.Text()``.

    Values that too few people share don't come out; which ones do is decided by noise and a threshold.

    Parameters
    ----------
    column : str
        A column declared as ``dp.Text()``.
    delta : number
        The probability, charged, with which a value of one person alone may be released.
    max_groups : int, optional
        In how many different values one person may count; ``max_rows`` of the unit by default.
    where : condition, optional

    Examples
    --------
    >>> import discreet as dp
    >>> dp.KeyCounts("town", delta=1e-6)
    KeyCounts('town', delta=1e-06)

    Privacy
    -------
    Counts get discrete Laplace noise, and keys whose noisy count is at the threshold or above are
    released with it. The threshold follows from ε, δ, `max_rows` and `max_groups` alone.
    Keys are shown because their noise was large, so a release has no standard error; its
    `noise_interval` holds given that the key was shown. Proof page: ``docs/proofs/discovery.md``.
    """

    def __init__(
        self,
        column: str,
        *,
        delta: Number,
        max_groups: int | None = None,
        where: Expression | str | None = None,
    ) -> None:
        super().__init__(None, where)
        self.column = column_name(column, "KeyCounts")
        self.delta = probability(delta, "delta")
        if not 0 < self.delta < 1:
            raise ValueError("delta must be greater than 0 and less than 1.")
        if max_groups is not None:
            as_integer(max_groups, "max_groups", minimum=1)
        self.max_groups = max_groups

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def groups(self, unit: Unit) -> int:
        """In how many keys one person may count."""
        rows = unit.rows_per_person
        return rows if self.max_groups is None else min(self.max_groups, rows)

    def coded(self, schema: Schema, unit: Unit) -> CodedQuery:
        if not isinstance(schema[self.column], Text):
            raise ValueError(
                f"KeyCounts: column {self.column!r} must be declared as dp.Text(); the values of "
                "other columns are known already, so use dp.Histogram."
            )
        return self._coded(schema, unit, (Term(1),))

    def _all_codes(self, schema: Schema) -> list[Code]:
        return []  # text has no code

    def can_leave_out(self, schema: Schema, unit: Unit) -> bool:
        return True

    def sensitivity(self, schema: Schema, unit: Unit) -> Sensitivity:
        return self._sensitivity_from_extent(Extent(1, 1, 2, 2), schema, unit)

    def prepare(self, budget: Budget, schema: Schema, unit: Unit, rows: int | None) -> Prepared:
        return PreparedKeys(self, budget, schema, unit)

    def _options(self) -> list[str]:
        most = [] if self.max_groups is None else [f"max_groups={self.max_groups}"]
        return [f"delta={float(self.delta):g}", *most, *super()._options()]


@final
@dataclass(frozen=True)
class Keys:
    """The former way to ask for `KeyCounts`; it works for one more version.

    Examples
    --------
    >>> import discreet as dp
    >>> dp.KeyCounts("town", delta=1e-6)  # what to write instead
    KeyCounts('town', delta=1e-06)
    """

    column: str
    delta: Number
    max_groups: int | None

    @classmethod
    def discover(cls, column: str, *, delta: Number, max_groups: int | None = None) -> Keys:
        """What ``dp.Count(by=...)`` makes a `KeyCounts` of."""
        return cls(column, delta, max_groups)


class BoundsValue(NamedTuple):
    """Bounds that were bought: powers of two, or zero.

    `found` is False when no range of values was frequent enough to stand out of the noise; the bounds
    are then -1 and 1, which say nothing.

    Examples
    --------
    >>> import discreet as dp
    >>> schema, ledger = dp.Schema(cost=dp.Real()), dp.Ledger(limit=dp.PureDP(1))
    >>> data = dp.PrivateDataset({"cost": [120.0, 250.0, 800.0] * 500}, schema, ledger=ledger)
    >>> data.release(dp.Bounds("cost"), dp.PureDP(1)).value
    BoundsValue(lower=64.0, upper=1024.0, found=True)
    """

    lower: float
    upper: float
    found: bool


@final
class Bounds(Query):
    """Bounds for a column declared as ``dp.Real()``.

    Rows are counted by sign and power of two between 2^-20 and 2^50; the bounds enclose the ranges whose
    noisy count stands out of the noise. Rare values beyond them will be clamped.

    Parameters
    ----------
    column : str
    where : condition, optional

    Privacy
    -------
    A histogram with public bins: discrete Laplace noise, ε-DP. Null and NaN are left out.
    Proof page: ``docs/proofs/discovery.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> data = dp.PrivateDataset(
    ...     {"cost": [120.0, 90.0, 3000.0] * 100},
    ...     dp.Schema(cost=dp.Real()),
    ...     ledger=dp.Ledger(limit=dp.PureDP(1)),
    ... )
    >>> found = data.release(dp.Bounds("cost"), dp.PureDP(1)).value
    >>> found.lower, found.upper
    (64.0, 4096.0)
    """

    #: How often, at most, an empty range of values may pass for a frequent one.
    RISK = 0.01

    def __init__(self, column: str, *, where: Expression | str | None = None) -> None:
        super().__init__(None, where)
        self.column = column_name(column, "Bounds")

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def coded(self, schema: Schema, unit: Unit) -> CodedQuery:
        column = schema[self.column]
        if not isinstance(column, Unbounded):
            raise ValueError(
                f"Bounds: column {self.column!r} must be declared as dp.Real(), without bounds; this one "
                "needs no others."
            )
        coded = self._coded(schema, unit, (Term(1),))
        return CodedQuery(
            coded.terms, (column.ladder(self.column),), coded.where, coded.known, coded.keep
        )

    def _all_codes(self, schema: Schema) -> list[Code]:
        column = schema[self.column]
        return [column.ladder(self.column)] if isinstance(column, Unbounded) else []

    def sensitivity(self, schema: Schema, unit: Unit) -> Sensitivity:
        return self._sensitivity_from_extent(Extent(1, 1, 2, 2), schema, unit)

    @staticmethod
    def value(counts: list[int], minimum: float) -> BoundsValue:
        """The bounds that enclose all bins whose noisy count is above `minimum`."""
        frequent = [index for index, count in enumerate(counts) if count > minimum]
        if not frequent:
            return BoundsValue(-1.0, 1.0, False)
        edges = (2 * RUNGS[0], *RUNGS, 2 * RUNGS[-1])
        return BoundsValue(edges[frequent[0]], edges[frequent[-1] + 1], True)

    def prepare(self, budget: Budget, schema: Schema, unit: Unit, rows: int | None) -> Prepared:
        return PreparedBounds(self, budget, schema, unit)


def _laplace(budget: Budget, delta: Fraction, asked: str) -> Laplace:
    """Laplace noise for the ε of `budget`; its δ, if it has one, must be the one that is charged."""
    if isinstance(budget, Laplace):
        return budget
    if isinstance(budget, PureDP) or (isinstance(budget, ApproxDP) and budget.delta in (0, delta)):
        return Laplace(budget.epsilon)
    more = f", or dp.ApproxDP(epsilon, {float(delta):g}) with the keys' own delta" if delta else ""
    raise ValueError(f"budget: {asked} takes dp.PureDP(epsilon){more}, not {budget!r}.")


class PreparedKeys(Prepared):
    """Noisy counts of keys, those at the threshold or above."""

    error_needs_rows = False

    def __init__(self, query: KeyCounts, budget: Budget, schema: Schema, unit: Unit) -> None:
        self._query = query
        self._coded = query.coded(schema, unit)
        self._groups = query.groups(unit)
        sensitivity = query.sensitivity(schema, unit)
        mechanism = _laplace(budget, query.delta, "discovering keys")
        self._distribution: Distribution = mechanism.distribution(sensitivity)
        self.measure: Measure
        self.event: events.Event
        if isinstance(self._distribution, LaplaceDistribution):
            rows = unit.rows_per_person
            self._threshold = minimum_threshold(
                self._distribution.scale, query.delta, rows, self._groups
            )
            self.event = events.KeyThreshold(
                self._distribution.scale, sensitivity.l1, self._threshold, rows, self._groups
            )
            self.measure = ApproxDP(mechanism.measure.epsilon, query.delta)
        elif unit.is_public:
            self._threshold, self.event, self.measure = 1, events.Compose(), mechanism.measure
        else:
            raise no_noise_refused()

    def expected_error(self, rows: int) -> None:
        """None: how far a shown count is from the true one depends on how it came to be shown."""
        return

    def answer(self, engine: Engine) -> Answer:
        found = engine.keys(self._coded, self._query.column, self._groups)
        names = sorted(found)
        noisy = self._distribution.run(np.array([found[name] for name in names], np.int64))
        kept = np.flatnonzero(noisy >= self._threshold)
        value = noisy[kept]

        def interval(level: float) -> NoiseInterval:
            if not isinstance(self._distribution, LaplaceDistribution):  # public rows without noise
                return NoiseInterval(value, value, level, "value")
            low, high = interval_given_threshold(
                value, self._distribution.scale, self._threshold, level
            )
            return NoiseInterval(low, high, level, "value")

        return Answer(
            value,
            None,
            [names[index] for index in kept],
            interval,
        )


class PreparedBounds(Prepared):
    """A histogram of signs and powers of two, and the bounds that enclose what stands out of it."""

    error_needs_rows = False

    def __init__(self, query: Bounds, budget: Budget, schema: Schema, unit: Unit) -> None:
        self._query = query
        self._coded = query.coded(schema, unit)
        sensitivity = query.sensitivity(schema, unit)
        mechanism = _laplace(budget, Fraction(0), "a query for bounds")
        self._distribution = mechanism.distribution(sensitivity)
        self.measure = mechanism.measure
        self.event: events.Event
        if isinstance(self._distribution, LaplaceDistribution):
            self.event = self._distribution.event(sensitivity)
        elif unit.is_public:
            self.event = events.Compose()
        else:
            raise no_noise_refused()

    def expected_error(self, rows: int) -> None:
        return None

    def answer(self, engine: Engine) -> Answer:
        counts = self._distribution.run(engine.totals(self._coded)[:, 0])
        least = self._distribution.half_width(1 - Bounds.RISK / len(counts))
        value = Bounds.value(counts.tolist(), least)
        return Answer(
            value,
            None,
            None,
            _no_interval,
        )


def _no_interval(level: float) -> NoiseInterval:
    raise ValueError("bounds have no noise interval: they are a choice, not an estimate.")
