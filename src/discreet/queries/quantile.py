"""Quantiles on the coded grid, by an exact exponential-mechanism draw."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, final

import numpy as np

from discreet import events, noise
from discreet.coding import VALUE_BITS, CodedQuery, Engine, Extent, Integers, Sensitivity
from discreet.coding.calendar import day_of
from discreet.columns import Date, Integer, Logarithmic, Numeric, Real, column_name, numeric_column
from discreet.columns.bounds import finite
from discreet.columns.dates import as_date
from discreet.expressions import Expression
from discreet.mechanisms import Exponential, Mechanism
from discreet.queries.answer import Answer, Budget, NoiseInterval, Prepared, no_noise_refused
from discreet.queries.base import Query
from discreet.queries.joint_quantiles import PreparedJointQuantiles
from discreet.rational import Number, rational
from discreet.schema import Schema
from discreet.unit import Unit


@final
class Quantile(Query):
    """A quantile of a column: a grid point drawn with preference for the right rank.

    The grid has 2^20 steps between the bounds, on the column's logarithmic scale if it has one: with
    bounds that are far too wide fewer points lie far from the rows.

    Parameters
    ----------
    column : str
        A `Real` or `Integer` column.
    q : number or sequence of numbers
        Between 0 and 1. Quantiles beside the one you want are the way to buy an interval for the value.
    candidates : sequence of numbers or dates, optional
        The only answers that can be given, in place of the grid: public values between the bounds, such
        as round amounts. Fewer candidates are told apart with less budget; what lies between them can't
        be an answer.
    jointly : bool, optional
        Whether to draw several by splitting: the middle one first, then those below and above it among
        the rows below and above, so that m quantiles share the budget as ⌊log2 m⌋ + 1 draws do, not m,
        and come out in order. By default so for three or more.
    by, where
        As in every query.

    Examples
    --------
    >>> import discreet as dp
    >>> dp.Quantile("cost", "9/10", candidates=[0, 100, 200, 500, 1000, 2000])
    Quantile('cost', q=9/10, candidates=6)

    Privacy
    -------
    With q = a/b, the score of a grid point is minus the distance of (b-a)·(rows below) and
    a·(rows above), rows at the point counting for either side; one row moves it by max(a, b-a), a
    replaced row by b. Exponential mechanism of McSherry & Talwar 2007 (as in Smith 2011), drawn exactly;
    jointly as in Kaplan, Schnapp & Stemmer 2022, every row in one part of each level.
    Proof page: ``docs/proofs/quantiles.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> people = {"age": [34, 51, 29, 62] * 100, "ward": ["A", "B", "A", "A"] * 100}
    >>> schema = dp.Schema(age=dp.Integer(0, 100), ward=dp.Categorical("A", "B"))
    >>> data = dp.PrivateDataset(people, schema, ledger=dp.Ledger(limit=dp.PureDP(9)))
    >>> answer = data.release(dp.Quantile("age", [0.25, 0.75]), dp.PureDP(4))
    >>> bool(25 < answer.value[0] < 36 and 48 < answer.value[1] < 65)
    True
    """

    def __init__(
        self,
        column: str,
        q: Number | Sequence[Number] = "1/2",
        *,
        candidates: Sequence[Any] | None = None,
        jointly: bool | None = None,
        by: str | Sequence[str] | None = None,
        where: Expression | str | None = None,
    ) -> None:
        super().__init__(by, where)
        self.column = column_name(column, "Quantile")
        if jointly is not None and not isinstance(jointly, bool):
            raise TypeError(f"jointly must be True, False or None, not {type(jointly).__name__}.")
        self.jointly = jointly
        self.is_single = isinstance(q, str) or not isinstance(q, Sequence | np.ndarray)
        given = [q] if self.is_single else list(q)  # type: ignore[arg-type]
        self.q: tuple[Fraction, ...] = tuple(
            rational(value, "q").limit_denominator(10**6) for value in given
        )
        if not self.q or not all(0 <= value <= 1 for value in self.q):
            raise ValueError(f"q must be between 0 and 1, got {q!r}.")
        self.candidates = None if candidates is None else _read_candidates(candidates)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def is_joint(self) -> bool:
        """Whether the quantiles are drawn by splitting, each among the rows between two others."""
        return len(set(self.q)) > 2 if self.jointly is None else self.jointly

    @property
    def draws(self) -> int:
        """How many draws of the exponential mechanism share the budget."""
        return len(set(self.q)).bit_length() if self.is_joint else len(self.q)

    def kind(self, schema: Schema) -> Numeric:
        """The column that is asked about, on its logarithmic scale if it has one."""
        column = numeric_column(schema, self.column, "Quantile")
        return (
            Logarithmic(column) if isinstance(column, Real | Integer) and column.is_log else column
        )

    def coded(self, schema: Schema, unit: Unit) -> CodedQuery:
        return self._coded(schema, unit, (), self.kind(schema).grid(self.column, VALUE_BITS))

    def places(self, schema: Schema) -> dict[int, float] | None:
        """The grid points of the candidates, each with the value that it stands for; None for all points."""
        if self.candidates is None:
            return None
        column, kind = numeric_column(schema, self.column, "Quantile"), self.kind(schema)
        grid, found = kind.grid(self.column, VALUE_BITS), dict[int, float]()
        for value in self.candidates:
            number = _as_number(value, column)
            if not float(column.lower) <= number <= float(column.upper):
                raise ValueError(
                    f"Quantile: candidates must lie between the bounds of {self.column!r}, "
                    f"{column.lower:g} and {column.upper:g}: values are clamped there."
                )
            found.setdefault(grid.of(number), number)
        return dict(sorted(found.items()))

    def runs(
        self, codes: Integers, counts: Integers, q: Fraction, schema: Schema
    ) -> tuple[Integers, Integers, Integers]:
        """`scores` of the candidates: runs of the whole grid, or single points of it."""
        last = self.kind(schema).steps(VALUE_BITS)
        first, length, score = self.scores(codes, counts, q, last)
        places = self.places(schema)
        if places is None:
            return first, length, score
        points, order = np.array(list(places), np.int64), np.argsort(first)
        at = order[np.searchsorted(first[order], points, side="right") - 1]
        return points, np.ones(len(points), np.int64), score[at]

    def sensitivity(self, schema: Schema, unit: Unit) -> Sensitivity:
        """How much one person moves the scores of all groups together, for the worst of `q`."""
        worst = max(self.rank_sensitivity(q, schema, unit) for q in self.q)
        return Sensitivity(worst, worst**2)

    def rank_sensitivity(self, q: Fraction, schema: Schema, unit: Unit) -> int:
        """How much one person moves the scores for one q, summed over the groups."""
        above, below = q.numerator, q.denominator - q.numerator
        one = max(above, below)
        return self._sensitivity_from_extent(
            Extent(one, one**2, q.denominator, q.denominator**2), schema, unit
        ).l1

    @staticmethod
    def scores(
        codes: Integers, counts: Integers, q: Fraction, last: int
    ) -> tuple[Integers, Integers, Integers]:
        """Scores of all grid points 0..last, as runs of equal scores.

        Parameters
        ----------
        codes, counts : arrays
            The occupied grid points in increasing order, and how many rows are at each.

        Returns
        -------
        first, length, score : arrays
            Runs of grid points that cover 0..last.
        """
        a, b = q.numerator, q.denominator
        total = int(counts.sum())
        upto = np.concatenate([[0], np.cumsum(counts)])
        # runs: each occupied point, and each gap between occupied points
        starts = np.concatenate([[0], codes + 1])  # gap g starts after point g-1
        ends = np.concatenate([codes, [last + 1]])
        gap_score = -abs((b - a) * upto - a * (total - upto))
        below, with_equal = upto[:-1], upto[1:]
        low = (b - a) * below - a * (total - below)
        high = (b - a) * with_equal - a * (total - with_equal)
        point_score = -np.maximum(np.maximum(low, -high), 0)
        first = np.concatenate([starts, codes]).astype(np.int64)
        length = np.concatenate([ends - starts, np.ones(len(codes), np.int64)]).astype(np.int64)
        score = np.concatenate([gap_score, point_score]).astype(np.int64)
        used = length > 0
        return first[used], length[used], score[used]

    def _options(self) -> list[str]:
        shown = [str(q) for q in self.q]
        return [
            f"q={shown[0] if self.is_single else '[' + ', '.join(shown) + ']'}",
            *([] if self.candidates is None else [f"candidates={len(self.candidates)}"]),
            *([] if self.jointly is None else [f"jointly={self.jointly}"]),
            *super()._options(),
        ]

    def prepare(self, budget: Budget, schema: Schema, unit: Unit, rows: int | None) -> Prepared:
        if self.is_joint:
            return PreparedJointQuantiles(self, budget, schema, unit)
        return PreparedQuantile(self, budget, schema, unit)

    def decode(self, code: int, schema: Schema) -> float:
        """The value that a drawn grid point stands for."""
        places = self.places(schema)
        if places is not None:
            return places[code]
        kind = self.kind(schema)
        value = kind.decode(code, VALUE_BITS)
        if not isinstance(kind, Logarithmic):
            return value
        source = kind.source
        found = float(kind.to_source(np.array(value)))
        found = math.floor(found) if isinstance(source, Integer) else found
        return min(max(float(found), float(source.lower)), float(source.upper))


def Median(  # noqa: N802
    column: str,
    *,
    candidates: Sequence[Any] | None = None,
    by: str | Sequence[str] | None = None,
    where: Expression | str | None = None,
) -> Quantile:
    """The median of a column: `Quantile` at one half.

    Examples
    --------
    >>> import discreet as dp
    >>> people = {"age": [34, 51, 29, 62] * 100, "ward": ["A", "B", "A", "A"] * 100}
    >>> schema = dp.Schema(age=dp.Integer(0, 100), ward=dp.Categorical("A", "B"))
    >>> data = dp.PrivateDataset(people, schema, ledger=dp.Ledger(limit=dp.PureDP(9)))
    >>> 30 < data.release(dp.Median("age"), dp.PureDP(2)).value < 55
    True
    """
    return Quantile(column, "1/2", candidates=candidates, by=by, where=where)


class PreparedQuantile(Prepared):
    """An exact exponential-mechanism draw for each quantile and group."""

    error_needs_rows = True

    def __init__(self, query: Quantile, budget: Budget, schema: Schema, unit: Unit) -> None:
        mechanism = budget if isinstance(budget, Mechanism) else Exponential(budget)
        if not isinstance(mechanism, Exponential):
            raise TypeError(f"budget: {mechanism!r} does not fit a quantile; give a measure.")
        self._query, self._schema, self._mechanism = query, schema, mechanism
        self._coded = query.coded(schema, unit)
        self._column = query.kind(schema)
        self._places = query.places(schema)
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

    @property
    def sensitivities(self) -> list[int]:
        """How much one person moves the scores of each draw, over all groups."""
        return list(self._sensitivities)

    def expected_error(self, rows: int) -> None:
        return None

    def answer(self, engine: Engine) -> Answer:
        tally = engine.tally(self._coded)
        groups = self._coded.groups
        value = np.zeros((groups, self._draws))
        for group in range(groups):
            here = slice(*np.searchsorted(tally.groups, [group, group + 1]))
            for index, q in enumerate(self._query.q):
                code = self._draw(tally.codes[here], tally.counts[here], q, index)
                value[group, index] = self._query.decode(code, self._schema)
        shaped = value[:, 0] if self._query.is_single else value
        return Answer(
            shaped if self._query.by else shaped[0].item() if shaped.ndim == 1 else shaped[0],
            None,
            self._query.labels(self._schema) if self._query.by else None,
            self._interval,
        )

    def _draw(self, codes: Integers, counts: Integers, q: Fraction, index: int) -> int:
        first, length, score = self._query.runs(codes, counts, q, self._schema)
        run = self._mechanism.run(score, length, self._sensitivities[index], self._draws)
        if isinstance(self._mechanism.epsilon(), float):
            return int(first[run] + (length[run] - 1) // 2)
        return int(first[run]) + int(noise.uniform_below(int(length[run])))

    def _interval(self, level: float) -> NoiseInterval:
        candidates = self._column.steps(VALUE_BITS) + 1
        if self._places is not None:
            candidates = len(self._places)
        widths = []
        for q, sensitivity in zip(self._query.q, self._sensitivities, strict=True):
            short = self._mechanism.expected_error(candidates, sensitivity, level, self._draws)
            widths.append(short / q.denominator)
        width = widths[0] if self._query.is_single else np.array(widths)
        if self._places is not None:  # the best of them may be far from the asked rank
            return NoiseInterval(0.0 * width, width, level, "score")
        return NoiseInterval(-width, width, level, "rank")


def _read_candidates(candidates: Sequence[Any]) -> tuple[Any, ...]:
    if isinstance(candidates, str) or not isinstance(candidates, Sequence | np.ndarray):
        raise TypeError("Quantile: candidates must be a list of values, such as [0, 100, 1000].")
    if not len(candidates):
        raise ValueError("Quantile: candidates must hold at least one value.")
    return tuple(v.item() if isinstance(v, np.generic) else v for v in candidates)


def _as_number(value: Any, column: Numeric) -> float:
    """A candidate as the column counts it: a date is its number of days."""
    if isinstance(column, Date) and isinstance(value, str | datetime.date):
        return float(day_of(as_date(value, "Quantile: candidates")))
    if value is None:
        raise TypeError("Quantile: candidates must be numbers, not None.")
    return finite(value, "Quantile: candidates")
