"""The query: a histogram whose noise is shaped for the ranges that will be asked of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np

from discreet.coding import CodedQuery, Engine, Sensitivity
from discreet.columns import Integer, Numeric, column_name
from discreet.expressions import Expression
from discreet.measures import ZCDP, ApproxDP, PureDP
from discreet.mechanisms import Gaussian, Laplace
from discreet.publish.privelet.axes import ALL_OR_ONE, WORKLOADS, Axis
from discreet.publish.privelet.building import build_exact
from discreet.publish.privelet.designs import Design
from discreet.publish.privelet.facts import Facts
from discreet.publish.privelet.scales import Scale, equal_bins, read_scale
from discreet.publish.privelet.strategies import Automatic, Flat, Haar, Problem, Strategy, Tree
from discreet.publish.privelet.value import RangesValue
from discreet.queries import Answer, Budget, Count, NoiseInterval, Prepared, Query, WithColumns
from discreet.queries.answer import no_noise_refused
from discreet.queries.sizes import check_totals
from discreet.rational import as_integer
from discreet.schema import Bins, Schema
from discreet.unit import REPLACE_ONE, Unit

__all__ = ["PreparedRanges", "Ranges"]

STRATEGIES: dict[str, Strategy] = {
    "auto": Automatic(),
    "flat": Flat(),
    "tree": Tree(),
    "haar": Haar(),
}
Workload = str | Sequence[tuple[Any, Any]]


@final
class Ranges(Query):
    """The histogram of one or more columns, with noise that is small for ranges: counts, CDF, quantiles.

    It answers `count` of any range or box with its standard error, `cdf` and `quantile`, all of them
    consistent with one another, for one charge. What is measured is chosen from public facts: cells alone,
    counts of the nodes of a tree, or wavelet coefficients, whichever answers the workload best.

    Parameters
    ----------
    *columns : str
        `Integer` and `Bins` columns are ordered; `Real` ones must be cut by `bins`; a `Categorical` column
        has no order unless it is in `ordered`.
    bins : int or mapping of column to int, optional
        Cut numeric columns into this many bins of the same width.
    workload : "ranges", "prefixes", "cells", or pairs (lower, upper)
        What will be asked: all ranges alike, all ranges from the lower end on (CDF, quantiles), single cells,
        or a list of ranges of a single column. Other questions are answered too, with more noise.
    strategy : "auto", "flat", "tree", "haar", or a strategy of `discreet.publish.privelet`
    ordered : sequence of str
        `Categorical` columns whose values are declared in order.
    where : condition, optional

    Examples
    --------
    >>> import discreet as dp
    >>> dp.Ranges("age", workload="prefixes")
    Ranges('age', workload='prefixes')

    Privacy
    -------
    Node counts and coefficients are integer combinations of the cells' exact counts. Laplace noise: a
    person moves level l by s_l in L1 and gets noise of scale s_l/ε_l, with Σ ε_l = ε; the event composes the
    levels. Gaussian noise: one event for the whole vector, each level divided by its own deviation. Proof
    page: ``docs/proofs/privelet.md``.
    """

    def __init__(
        self,
        *columns: str,
        bins: int | Mapping[str, int] | None = None,
        workload: Workload = "ranges",
        strategy: str | Strategy = "auto",
        ordered: Sequence[str] = (),
        where: Expression | str | None = None,
    ) -> None:
        super().__init__(None, where)
        if not columns or len(set(columns)) != len(columns):
            raise ValueError('Ranges needs the names of different columns, as in dp.Ranges("age").')
        self.names = tuple(column_name(column, "Ranges") for column in columns)
        self.bins = self._read_bins(bins)
        self.workload = self._read_workload(workload)
        self.strategy = _read_strategy(strategy)
        self.ordered = (ordered,) if isinstance(ordered, str) else tuple(ordered)
        for name in (*self.ordered, *(self.bins if isinstance(self.bins, dict) else ())):
            if name not in self.names:
                raise ValueError(f"ordered and bins: {name!r} is not among the columns of Ranges.")

    def _read_bins(self, bins: Any) -> int | dict[str, int] | None:
        if bins is None:
            return None
        if isinstance(bins, Mapping):
            return {name: as_integer(count, "bins", minimum=2) for name, count in bins.items()}
        return as_integer(bins, "bins", minimum=2)

    def _read_workload(self, workload: Any) -> str | tuple[tuple[Any, Any], ...]:
        if isinstance(workload, str):
            if workload in WORKLOADS:
                return workload
        elif isinstance(workload, Sequence) and workload:
            pairs = tuple(tuple(pair) for pair in workload)
            if all(len(pair) == 2 for pair in pairs) and len(self.names) == 1:
                return pairs
        raise ValueError(
            'workload must be "ranges", "prefixes" or "cells", or, for a single column, a list of pairs '
            f"(lower, upper), got {workload!r}."
        )

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names

    def _bins_of(self, name: str) -> int | None:
        return self.bins.get(name) if isinstance(self.bins, dict) else self.bins

    def histogram(self, schema: Schema) -> tuple[Count | WithColumns, tuple[Scale, ...]]:
        """The counts that are measured, and what their cells mean."""
        derived: dict[str, Bins] = {}
        names = []
        for name in self.names:
            count = self._bins_of(name)
            column = schema[name]
            if count is not None and (isinstance(column, Numeric) or isinstance(self.bins, dict)):
                inner = f"{name} in {count} bins"
                derived[inner] = equal_bins(schema, name, count)
                names.append(inner)
            elif isinstance(column, Numeric) and not isinstance(column, Integer):
                raise ValueError(
                    f"column {name!r} must be cut into bins: give bins, as in "
                    f"dp.Ranges({name!r}, bins=256), or derive dp.Bins of it."
                )
            else:
                names.append(name)
        larger = schema.derive(**derived) if derived else schema
        counts = Count(by=names, where=self.where)
        scales = []
        for inner, name in zip(names, self.names, strict=True):
            ordered = isinstance(larger[inner], Integer | Bins) or name in self.ordered
            scales.append(read_scale(larger, inner, name, ordered))
        return (WithColumns(counts, derived) if derived else counts), tuple(scales)

    def coded(self, schema: Schema, unit: Unit) -> CodedQuery:
        return self.histogram(schema)[0].coded(schema, unit)

    def sensitivity(self, schema: Schema, unit: Unit) -> Sensitivity:
        """How far one person moves the counts of the cells."""
        return self.histogram(schema)[0].sensitivity(schema, unit)

    def can_leave_out(self, schema: Schema, unit: Unit) -> bool:
        return self.histogram(schema)[0].can_leave_out(schema, unit)

    def labels(self, schema: Schema) -> list[Any]:
        return self.histogram(schema)[0].labels(schema)

    def prepare(self, budget: Budget, schema: Schema, unit: Unit, rows: int | None) -> Prepared:
        return PreparedRanges(self, budget, schema, unit, rows)

    def _options(self) -> list[str]:
        shown = [] if self.bins is None else [f"bins={self.bins!r}"]
        if self.workload != "ranges":
            asked = self.workload if isinstance(self.workload, str) else list(self.workload)
            shown.append(f"workload={asked!r}")
        if self.strategy != STRATEGIES["auto"]:
            shown.append(f"strategy={self.strategy!r}")
        if self.ordered:
            shown.append(f"ordered={list(self.ordered)}")
        return [*shown, *super()._options()]


def _read_strategy(strategy: Any) -> Strategy:
    if isinstance(strategy, Strategy):
        return strategy
    if isinstance(strategy, str) and strategy in STRATEGIES:
        return STRATEGIES[strategy]
    raise ValueError(
        f"strategy must be one of {', '.join(map(repr, STRATEGIES))}, or a strategy of "
        f"discreet.publish.privelet, got {strategy!r}."
    )


@final
class PreparedRanges(Prepared):
    """A design with its price, ready to measure one histogram.

    Attributes
    ----------
    design : Design
        What is measured with which noise.
    """

    error_needs_rows = False

    def __init__(
        self, query: Ranges, budget: Budget, schema: Schema, unit: Unit, rows: int | None
    ) -> None:
        histogram, self._scales = query.histogram(schema)
        self._coded = histogram.coded(schema, unit)
        check_totals(self._coded, rows)
        is_replaced = unit.relation is REPLACE_ONE
        known = unit.length_is_public and not histogram.can_leave_out(schema, unit)
        facts = Facts(unit.rows_per_person, is_replaced, rows if known else None)
        cells = tuple(len(scale.labels) for scale in self._scales)
        workloads = tuple(self._workload(query, scale) for scale in self._scales)
        self.measure, self.design = _plan(query.strategy, cells, workloads, facts, budget, unit)
        self.event = self.design.event
        if not self.design.distributions:
            self.measure = PureDP(0)
        self.note = (
            f"{self.design.name}, root mean squared error {self._rms():.4g} over the workload"
        )

    @staticmethod
    def _workload(query: Ranges, scale: Scale) -> str | tuple[tuple[int, int], ...]:
        if not isinstance(query.workload, str):
            return tuple(scale.between(*pair) for pair in query.workload)
        if not scale.is_ordered and query.workload != "cells":
            return ALL_OR_ONE
        return query.workload

    def _rms(self) -> float:
        return math.sqrt(max(0.0, self.design.error))

    def _of_a_cell(self) -> float:
        ones = [np.array([1]) for _ in self._scales]
        zeros = [np.array([0]) for _ in self._scales]
        return math.sqrt(max(0.0, float(self.design.variances(zeros, ones)[0])))

    def expected_error(self, rows: int) -> float:
        return self._of_a_cell()

    def answer(self, engine: Engine) -> Answer:
        counts = engine.totals(self._coded)[:, 0]
        cells = self.design.run(counts.reshape([len(scale.labels) for scale in self._scales]))
        value = RangesValue(cells, self._scales, self.design)
        stderr = self._of_a_cell()

        def interval(level: float) -> NoiseInterval:
            width = self.design.half_width(level) * stderr
            return NoiseInterval(cells - width, cells + width, level, "value")

        return Answer(value, stderr, None, interval)


def _plan(
    strategy: Strategy,
    cells: tuple[int, ...],
    workloads: tuple[str | tuple[tuple[int, int], ...], ...],
    facts: Facts,
    budget: Budget,
    unit: Unit,
) -> tuple[PureDP | ApproxDP | ZCDP, Design]:
    """The measure that is charged, and the design: the better of Laplace and Gaussian noise."""
    if isinstance(budget, Laplace | Gaussian):
        measure: Any = budget.measure
        kinds = [measure]
    elif isinstance(budget, PureDP | ZCDP):
        measure, kinds = budget, [budget]
    elif isinstance(budget, ApproxDP):
        measure, kinds = budget, [PureDP(budget.epsilon)] + ([budget] if budget.delta else [])
    else:
        raise TypeError(
            f"budget: Ranges takes dp.PureDP, dp.ApproxDP or dp.ZCDP, or Laplace or Gaussian noise, not "
            f"{budget!r}."
        )
    if math.inf in vars(measure).values():
        if not unit.is_public:
            raise no_noise_refused()
        axes = tuple(Axis(count, (count,) if count > 1 else ()) for count in cells)
        problem = Problem(cells, workloads, facts, PureDP(1))
        return measure, build_exact(axes, problem.energies(axes))
    if not all(vars(kind).get("epsilon", vars(kind).get("rho")) for kind in kinds):
        raise ValueError("budget: its epsilon or rho must be greater than 0.")
    found = [strategy.choose(Problem(cells, workloads, facts, kind)) for kind in kinds]
    return measure, min(found, key=lambda design: design.error)
