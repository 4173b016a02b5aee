"""Noised metrics: the step on rows, and the score of a single model."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, final

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from discreet import events
from discreet.coding import MIX_PRIME, VALUE_BITS
from discreet.columns import Date, Numeric
from discreet.dataset import PrivateDataset
from discreet.deprecation import former_keyword
from discreet.measures import Measure
from discreet.mechanisms import Distribution, Mechanism, NoNoise, mechanism_for
from discreet.models.base import PrivateEstimator
from discreet.models.features import input_names
from discreet.models.metrics.kinds import Floats, Integers, Metric
from discreet.models.metrics.names import metric_of
from discreet.noise.generators import find_generators, renew
from discreet.progress import hide_bars
from discreet.queries import NoiseInterval, check_budget
from discreet.schema import Schema
from discreet.show import Shown, Table
from discreet.step import CodedRows, Step
from discreet.unit import Unit

_NAMES = "feature_names_in_"
#: Rows are predicted this many at a time, always.
BLOCK = 2048


@final
class ScoredRows(Step):
    """The noised sums of a metric: a model's predictions for rows against their targets.

    Rows are read as their codes and decoded to the middle of their cells. Those without a declared class are
    left out; for models that are not of this toolkit, also those with an undeclared category.

    >>> from fractions import Fraction
    >>> import numpy as np
    >>> import discreet as dp
    >>> from discreet.mechanisms import LaplaceDistribution
    >>> from discreet.models.metrics import Accuracy, ScoredRows
    >>> from discreet.models.naive_bayes import GaussianNB
    >>> model = GaussianNB(bounds=(0, 1), classes=[0, 1]).fit(np.array([[0.1], [0.9]] * 99), [0, 1] * 99)
    >>> step = ScoredRows(Accuracy(), model, ("x",), "y", LaplaceDistribution(Fraction(2)))
    >>> schema = dp.Schema(x=dp.Real(0, 1), y=dp.Categorical(0, 1))
    >>> step.event(schema, dp.Unit(dp.ADD_REMOVE))
    DiscreteLaplace(scale=Fraction(2, 1), sensitivity=1)

    Parameters
    ----------
    metric : Metric
    model : fitted estimator
        It may be published: learned privately, or from other rows. It predicts each row from its own
        cells, and must have an answer for all cells that the schema allows; rows are given to it in
        blocks of one size, each at a position that its codes decide.
    features : tuple of str
    target : str
    distribution : Distribution
        The noise on each sum.

    Privacy
    -------
    That of the noise, for the metric's sensitivity. It needs rows in Python, on every engine. Proof page:
    ``docs/proofs/model_selection.md``.
    """

    def __init__(
        self,
        metric: Metric,
        model: Any,
        features: tuple[str, ...],
        target: str,
        distribution: Distribution,
    ) -> None:
        self.columns = (*dict.fromkeys((*features, *metric.beside)), target)
        self.features, self.told = features, (*metric.beside, target)
        self.metric, self.model, self.distribution = metric, model, distribution

    def event(self, schema: Schema, unit: Unit) -> events.Event:
        return score_event(self.metric, self.distribution, unit)

    def run(self, rows: CodedRows) -> Integers:
        columns = [rows.schema.base[name] for name in rows.names]
        # models of this toolkit accept unknown categories; others might raise because of one
        strict = self.told if isinstance(self.model, PrivateEstimator) else rows.names
        needed = [
            j
            for j, name in enumerate(rows.names)
            if name in strict and not isinstance(columns[j], Numeric)
        ]
        codes = rows.codes[(rows.codes[:, needed] >= 0).all(axis=1)]
        found = np.zeros(self.metric.size, np.int64)
        # how often the model is asked depends on rows: no trace of that is left
        with renew(find_generators(self.model)), hide_bars(), _hide_warnings():
            for block, counts in blocks(codes):
                found += self._totals(rows.names, columns, block, counts)
        return self.distribution.run(found)

    def rehearse(self, schema: Schema) -> None:
        """Ask the model about made-up rows, so that one that can't answer is found before the charge.

        The rows are public: the first, the middle and the last code of each column.
        """
        columns = [schema.base[name] for name in self.columns or ()]
        codes = np.zeros((BLOCK, len(columns)), np.int64)
        for j, column in enumerate(columns):
            last = column.code("", schema).high
            codes[:3, j] = 0, last // 2, last
        counts = (np.arange(BLOCK) < 3).astype(np.int64)
        with renew(find_generators(self.model)), _hide_warnings():
            try:
                self._totals(tuple(self.columns or ()), columns, codes, counts)
            except Exception as error:
                raise ValueError(
                    f"model has no answer that {type(self.metric).__name__} can use for made-up rows of this "
                    f"schema, so nothing was charged: {error}"
                ) from error

    def _totals(
        self, names: tuple[str, ...], columns: list[Any], codes: Integers, counts: Integers
    ) -> Integers:
        """The metric's sums over a block of coded rows."""
        cells = {name: _cells(columns[j], codes[:, j]) for j, name in enumerate(names)}
        x = self._features(self.features, [cells[name] for name in self.features])
        told = [cells[name] for name in self.told]
        target = told[0] if len(told) == 1 else np.column_stack([t.astype(object) for t in told])
        return self.metric.totals(self.model, x, target, counts)

    def _features(self, names: tuple[str, ...], cells: list[npt.NDArray[Any]]) -> Any:
        """Features in a form that the model takes."""
        if isinstance(self.model, PrivateEstimator) and hasattr(self.model, _NAMES):
            return dict(zip(names, cells, strict=True))
        kind = np.float64 if all(c.dtype.kind == "f" for c in cells) else object
        return np.column_stack([c.astype(kind) for c in cells])

    def __repr__(self) -> str:
        return f"{self.metric!r} of {type(self.model).__name__}"


@contextmanager
def _hide_warnings() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


@lru_cache(maxsize=64)
def mixers(count: int) -> tuple[int, ...]:
    """Public multipliers, one for each column."""
    return tuple(
        1 + int.from_bytes(hashlib.sha256(b"place %d" % i).digest()[:8]) % (MIX_PRIME - 1)
        for i in range(count)
    )


def blocks(codes: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Distinct rows in blocks of `BLOCK`, each at a place that its own codes decide, with their counts.

    Places that are left over hold a row of zeros, which counts 0 times. Float64 may round a row's scores
    differently by its place and by the number of rows, but then it does so whatever rows are beside it.
    """
    if not len(codes):  # the model is asked all the same, so that it fails for all rows or for none
        yield np.zeros((BLOCK, codes.shape[1]), np.int64), np.zeros(BLOCK, np.int64)
        return
    distinct, counts = np.unique(codes, axis=0, return_counts=True)
    mix = np.zeros(len(distinct), np.int64)
    for column, mixer in zip(distinct.T, mixers(distinct.shape[1]), strict=True):
        mix += (column + 1) * mixer % MIX_PRIME
    place = mix % MIX_PRIME % BLOCK
    order = np.argsort(place, kind="stable")
    # a row's number among the rows with the same place: that is its block
    number = np.arange(len(order)) - np.searchsorted(place[order], place[order])
    ends = np.cumsum(np.bincount(number))
    for here in np.split(order[np.argsort(number, kind="stable")], ends[:-1]):
        block = np.zeros((BLOCK, distinct.shape[1]), np.int64)
        often = np.zeros(BLOCK, np.int64)
        block[place[here]], often[place[here]] = distinct[here], counts[here]
        yield block, often


def score_event(metric: Metric, distribution: Distribution, unit: Unit) -> events.Event:
    """The event of a noised metric, for the accountant."""
    if isinstance(distribution, NoNoise):
        if not unit.is_public:
            raise ValueError(
                "budget: an infinite budget (no noise) is accepted with dp.PUBLIC only."
            )
        return events.Compose()
    return distribution.event(metric.sensitivity(unit))


def score_distribution(metric: Metric, budget: Measure | Mechanism, unit: Unit) -> Distribution:
    """The noise that a budget asks for."""
    sensitivity = metric.sensitivity(unit)
    mechanism = budget if isinstance(budget, Mechanism) else mechanism_for(budget, sensitivity)
    return mechanism.for_sums(sensitivity, metric.size)


def _cells(column: Any, codes: Integers) -> npt.NDArray[Any]:
    """Values that have these codes: the middles of grid cells, or declared categories."""
    if not isinstance(column, Numeric):
        values = np.array([*column.values, None], dtype=object)
        return values[np.where(codes < len(column.values), codes, -1)]
    steps = column.steps(VALUE_BITS)
    if not steps and not isinstance(column, Date):
        return np.full(len(codes), float(column.lower))
    half = 0.0 if column.is_exact(VALUE_BITS) else 0.5
    found = float(column.lower) + column.width * ((codes + half) / max(1, steps))
    found = np.clip(found, float(column.lower), float(column.upper))
    return found.astype(np.int64).astype("M8[D]") if isinstance(column, Date) else found


@dataclass(frozen=True, repr=False)
class Score(Shown):
    """A noised metric of a model.

    >>> import discreet as dp
    >>> schema = dp.Schema(x=dp.Real(0, 1), y=dp.Categorical(0, 1))
    >>> table = {"x": [0.1, 0.2, 0.8, 0.9] * 100, "y": [0, 0, 1, 1] * 100}
    >>> data = dp.PrivateDataset(table, schema, ledger=dp.Ledger(limit=dp.PureDP(3)))
    >>> model = dp.models.naive_bayes.GaussianNB(epsilon=2).fit(data)
    >>> score = dp.models.metrics.private_score(model, data, "accuracy", dp.PureDP(1))
    >>> score.value > 0.9, score.measure, round(score.stderr, 3)
    (True, PureDP(epsilon=1), 0.003)

    Attributes
    ----------
    value : float
    stderr : float
        The standard deviation that the noise gives it, to first order.
    metric : Metric
    event, measure : what ran, and what was charged for it
    entry : the ledger's entry; None on public rows
    is_private : bool
        False on rows declared public, and when noise was drawn from a fixed seed.
    """

    value: float
    stderr: float
    metric: Metric
    event: events.Event
    measure: Measure
    entry: Any
    is_private: bool
    _totals: Floats = field(repr=False)
    _distribution: Distribution = field(repr=False)

    @property
    def totals(self) -> Floats:
        """The noised sums that the metric is made of."""
        return self._totals.copy()

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise on each of `totals`."""
        return self._distribution.expected_error()

    def noise_interval(self, level: float = 0.95) -> NoiseInterval:
        """Where the metric on *these* rows lies, with probability at least `level`."""
        _check_level(level)
        width = self._distribution.half_width(1 - (1 - level) / self.metric.size)
        return NoiseInterval(*self.metric.bounds(self._totals, width), level, "value")

    def interval(self, level: float = 0.95) -> NoiseInterval:
        """Roughly where the metric on rows of the same kind lies: noise and sampling, as if normal."""
        _check_level(level)
        far = math.hypot(self.stderr, self.metric.sampling(self._totals))
        far *= float(ndtri((1 + level) / 2))
        most = math.inf if not self.metric.is_better_if_larger else 1.0
        low, high = max(0.0, self.value - far), min(most, self.value + far)
        return NoiseInterval(low, high, level, "value")

    def to_table(self, level: float = 0.95) -> Table:
        """The score as a table: for these rows (noise alone), and for rows of the same kind."""
        here, elsewhere = self.noise_interval(level), self.interval(level)
        columns = ("metric", "value", "stderr", "lower", "upper", "wide_lower", "wide_upper")
        cells = (repr(self.metric), self.value, self.stderr, *here[:2], *elsewhere[:2])
        mark = "" if self.is_private else "  [NOT PRIVATE]"
        note = (
            f"lower, upper: noise alone; wide: noise and sampling, as if normal; level {level:g}."
        )
        return Table(columns, [cells], f"Score  {self.measure!r}{mark}", note)

    def __repr__(self) -> str:
        mark = "" if self.is_private else "  [NOT PRIVATE]"
        return f"{self.metric!r}  {self.measure!r}{mark}\n  {self.value:.6g} ± {self.stderr:.4g}"


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}.")


@former_keyword("how", "budget")
def private_score(
    model: Any,
    data: PrivateDataset,
    metric: Metric | str,
    budget: Measure | Mechanism,
    *,
    target: str | None = None,
) -> Score:
    """Score a model on private rows, with noise; charged before a row is read.

    >>> import discreet as dp
    >>> schema = dp.Schema(x=dp.Real(0, 1), y=dp.Categorical(0, 1))
    >>> table = {"x": [0.1, 0.2, 0.8, 0.9] * 100, "y": [0, 0, 1, 1] * 100}
    >>> data = dp.PrivateDataset(table, schema, ledger=dp.Ledger(limit=dp.PureDP(3)))
    >>> model = dp.models.naive_bayes.GaussianNB(epsilon=2).fit(data)
    >>> dp.models.metrics.private_score(model, data, "accuracy", dp.PureDP(1)).value > 0.9
    True

    Parameters
    ----------
    model : fitted estimator
        It may be published: learned privately, or from other rows.
    data : PrivateDataset
        Its schema declares the model's features and the target.
    metric : Metric or str
        One of `METRICS` by its name, such as ``"accuracy"``, or with settings, as in ``F1(positive=1)``.
    budget : Measure or Mechanism
        As in ``data.release``.
    target : str, optional
        The name of the target's column; the schema's last column by default.

    Privacy
    -------
    One charge of the noise on the metric's sums, for the data's unit; n = 0 is no exception. See `Metric`.
    """
    if not isinstance(data, PrivateDataset):
        raise TypeError(f"data must be a dp.PrivateDataset, not {type(data).__name__}.")
    check_budget(budget)
    schema, unit = data.schema, data.unit
    others = [name for name in schema.base if name != unit.id_column]
    goal = others[-1] if target is None else target
    asked = metric_of(metric)
    features = _features(model, schema, goal, unit, asked.beside)
    chosen = asked.bound(model, schema, goal)
    distribution = score_distribution(chosen, budget, unit)
    measure = budget if isinstance(budget, Measure) else budget.measure
    step = ScoredRows(chosen, model, features, goal, distribution)
    step.rehearse(schema)
    note = f"the score of a {type(model).__name__}: {type(asked).__name__} of {goal}"
    with data.prepaid(step.event(schema, unit), measure, note=note) as door:
        totals = door.run(step).astype(np.float64)
        entry = door.entry
    return Score(
        chosen.value(totals),
        chosen.error(totals, distribution.expected_error()),
        chosen,
        step.event(schema, unit),
        measure,
        entry,
        data.is_private,
        totals,
        distribution,
    )


def _features(
    model: Any, schema: Schema, target: str, unit: Unit, beside: tuple[str, ...]
) -> tuple[str, ...]:
    """The columns that a model predicts from, in its order.

    A model that knows no names may have been fitted with or without the columns `beside` the target.
    """
    for name in (target, *beside):
        schema[name]  # raises if it is not declared
    if target in beside:
        raise ValueError(f"group: column {target!r} is the target, and not the target's group.")
    names = tuple(name for name in schema.base if name not in (target, unit.id_column))
    named = getattr(model, _NAMES, None)
    if named is not None:
        wanted = input_names(model) if hasattr(model, "derived_") else tuple(named)
        missing = [name for name in wanted if name not in names]
        if missing:
            raise ValueError(
                f"model was fitted on column {missing[0]!r}, which data does not have."
            )
        names = wanted
    width = getattr(model, "n_features_in_", len(names))
    width = len(names) if hasattr(model, "derived_") else width
    others = tuple(name for name in names if name not in beside)
    if named is None and width == len(others):
        names = others
    if width != len(names):
        raise ValueError(f"model was fitted on {width} features, but data has {len(names)}.")
    return names
