"""Scaling, filling and binning by private means, variances and quantiles."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, final

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from discreet.columns import Base, Categorical, Numeric, Real
from discreet.dataset import PrivateDataset
from discreet.expressions import col
from discreet.measures import ZCDP, ApproxDP, Measure, PureDP, convert
from discreet.models import learned
from discreet.models.facts import Facts, Question
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.models.rows import Rows
from discreet.models.scaled import finest, scaled_moments
from discreet.models.shares import split, together
from discreet.models.targets import BoundedEstimator
from discreet.queries import CentredSums, Mean, Quantile
from discreet.queries.additive import Floats
from discreet.rational import as_integer


class Rescaler(OneToOneFeatureMixin, TransformerMixin, BoundedEstimator):
    """What the transformers here share: one column out for one column in.

    Examples
    --------
    >>> from discreet.models.preprocessing import QuantileBinner, Rescaler
    >>> issubclass(QuantileBinner, Rescaler)
    True
    """

    _numbers_only = True

    def _columns_in(self, X: Any) -> Floats:
        """Check rows that are to be transformed back."""
        check_is_fitted(self, "privacy_")
        points = np.asarray(check_array(X, dtype=np.float64, ensure_all_finite="allow-nan"))
        if points.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {points.shape[1]} columns, not {self.n_features_in_}.")
        return points

    def _is_plain(self) -> bool:
        """Whether all columns are numbers."""
        return all(isinstance(column, Numeric) for column in self.columns_.values())

    def _join(self, rows: Rows, change: Callable[[list[int]], Floats]) -> Any:
        """Changed numbers: an array; with the other columns as they are, a mapping of names to arrays."""
        columns = list(self.columns_.values())
        places = [at for at, column in enumerate(columns) if isinstance(column, Numeric)]
        changed = change(places)
        if self._is_plain():
            return changed
        found: dict[str, Any] = dict(zip(rows.names, rows.cells, strict=True))
        found.update((rows.names[place], changed[:, at]) for at, place in enumerate(places))
        return found


@final
@with_parameters
class StandardScaler(Rescaler):
    """Centre columns by their private mean and scale them by their private standard deviation.

    Categories are handed on as they are: `transform` then gives a mapping of names to arrays.

    Parameters
    ----------
    with_mean, with_std : bool
        Whether to centre and whether to scale. Mean and variance are paid for together in any case.

    Attributes
    ----------
    mean_, var_, scale_ : arrays of shape (n_features,)
        A variance below the standard deviation of its own noise is set to that, and never below the
        square of a grid step; a column of zero width has scale 1, as has a category, with mean 0.
    privacy_ : FitPrivacy

    Privacy
    -------
    One noised vector (count, sums, sums of squares) of columns scaled by their bounds. Null and NaN count
    as the column's fill. Proof page: ``docs/proofs/decomposition.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.preprocessing import StandardScaler
    >>> X = np.random.default_rng(0).uniform(20, 60, (5000, 1))
    >>> scaled = StandardScaler(epsilon=2, bounds=(0, 100)).fit(X).transform(X)
    >>> bool(abs(scaled.mean()) < 0.1), bool(abs(scaled.std() - 1) < 0.1)
    (True, True)
    """

    _claims = ("standard-scaler",)
    _learned = learned.attributes(
        mean_=learned.Array("features"),
        var_=learned.Array("features"),
        scale_=learned.Array("features"),
    )

    with_mean: bool = True
    with_std: bool = True

    def _query(self, facts: Facts) -> CentredSums:
        return finest(_numbers(facts), self._measure(), "squares")

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        asked = facts.ask(self._query(facts), self._measure())
        noise = {}
        if rows is not None:
            d, half = len(_numbers(facts).features), _halves(_numbers(facts))[1]
            error = np.ravel(asked.expected_error(rows)) / max(rows, 1)
            noise = {"mean_": error[1 : 1 + d] * half, "var_": error[1 + d :] * half**2}
        return FitPlan.from_question(facts, asked, noise)

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        facts, query = _numbers(plan.facts), plan.recipe.query
        release = plan.recipe.release(door)
        found = scaled_moments(release.value, release.stderr, len(facts.features), squares=True)
        lower, half = _halves(facts)
        mean = lower + half * (found.mean + query.shift(facts.schema) + 1)
        floor = min(max(found.error, 4.0**-query.bits), 1.0)
        variance = half**2 * np.clip(found.second - found.mean**2, floor, 1.0)
        places = [isinstance(column, Numeric) for column in plan.facts.columns]
        self.mean_, self.var_, self.scale_ = (np.full(len(places), v) for v in (0.0, 1.0, 1.0))
        self.mean_[places] = np.clip(mean, lower, lower + 2 * half)
        self.var_[places] = variance
        self.scale_[places] = np.where(half > 0, np.sqrt(variance), 1.0)

    def transform(self, X: Any) -> Any:
        """Centre and scale rows: an array, or a mapping of names to arrays where there are categories."""
        rows = self._rows(X)
        return self._join(rows, lambda places: self._scale(rows.numbers(places), places))

    def _scale(self, x: Floats, which: Any = slice(None)) -> Floats:
        centred = x - self.mean_[which] if self.with_mean else x
        return np.asarray(centred / self.scale_[which] if self.with_std else centred)

    def output_box(self) -> Any:
        """Where transformed rows lie, from the declared bounds and what was released.

        A pair of bounds; a mapping of names to declarations where there are categories.
        """
        if self._is_plain():
            columns: list[Any] = list(self.columns_.values())
            ends = (
                np.array([float(getattr(c, end)) for c in columns]) for end in ("lower", "upper")
            )
            lower, upper = (self._scale(end) for end in ends)
            return lower, upper
        found: dict[str, Base] = {}
        for at, (name, column) in enumerate(self.columns_.items()):
            found[name] = column
            if isinstance(column, Numeric):
                limits = np.array([float(column.lower), float(column.upper)])
                lower, upper = self._scale(limits, at)
                found[name] = Real(float(lower), float(upper), scale="linear")
        return found

    def inverse_transform(self, X: Any) -> Any:
        """Bring rows back to the units of the columns; as `transform` gives them."""
        check_is_fitted(self, "privacy_")
        if self._is_plain():
            return self._scale_back(self._columns_in(X))
        found = {name: X[name] for name in self.columns_}
        for at, (name, column) in enumerate(self.columns_.items()):
            if isinstance(column, Numeric):
                found[name] = self._scale_back(np.asarray(X[name], np.float64), at)
        return found

    def _scale_back(self, x: Floats, which: Any = slice(None)) -> Floats:
        x = x * self.scale_[which] if self.with_std else x
        return np.asarray(x + self.mean_[which] if self.with_mean else x)


@final
@with_parameters
class MeanImputer(Rescaler):
    """Fill missing numbers with the private mean of their column, in place of the declared fill.

    Models fill missing numbers with the middle of their bounds, or with ``fill=`` of their declaration, and
    pay nothing for it. Where many cells are missing and the middle is far from what is usual, a tenth of the
    budget spent here is worth more than it costs. Categories are handed on as they are: `transform` then
    gives a mapping of names to arrays.

    Attributes
    ----------
    statistics_ : array of shape (n_features,)
        The noised mean of the cells that are there; 0 for a category.
    privacy_ : FitPrivacy

    Privacy
    -------
    A noised mean of each column of numbers, over the rows that have a number there; columns share the
    budget evenly. Which cells are missing isn't told. With no number at all the mean is noise between the
    bounds. Proof page: ``docs/proofs/decomposition.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.preprocessing import MeanImputer
    >>> X = np.random.default_rng(0).uniform(20, 60, (5000, 1))
    >>> imputer = MeanImputer(epsilon=1, bounds=(0, 200)).fit(X)
    >>> bool(38 < imputer.transform([[np.nan]])[0, 0] < 42)
    True
    """

    _claims = ("mean-imputer",)
    _learned = learned.attributes(statistics_=learned.Array("features"))

    def _queries(self, facts: Facts) -> tuple[Mean, ...]:
        names, there = _numbers(facts, "MeanImputer").features, facts.schema.base
        # a derived number is computed from filled cells, and never missing
        return tuple(Mean(n, where=col(n).is_present() if n in there else None) for n in names)

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        queries = self._queries(facts)
        shares = split(self._measure(), [1] * len(queries))
        asked = tuple(map(facts.ask, queries, shares))
        event = together(part.event for part in asked)
        return FitPlan(event, self._measure(), {}, queries, facts, asked)

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        asked: tuple[Question, ...] = plan.recipe
        means = iter([float(part.release(door).value) for part in asked])
        found = [
            np.clip(next(means), float(column.lower), float(column.upper))
            if isinstance(column, Numeric)
            else 0.0
            for column in plan.facts.columns
        ]
        self.statistics_ = np.array(found)

    def transform(self, X: Any) -> Any:
        """Fill rows: an array, or a mapping of names to arrays where there are categories."""
        rows = self._rows(X)
        return self._join(rows, lambda places: rows.numbers(places, self.statistics_))

    def output_box(self) -> Any:
        """Where filled rows lie: between the declared bounds."""
        columns = self.columns_
        if not self._is_plain():
            return dict(columns)
        ends = ([float(getattr(c, end)) for c in columns.values()] for end in ("lower", "upper"))
        lower, upper = map(np.array, ends)
        return lower, upper


@final
@with_parameters
class QuantileBinner(Rescaler):
    """Replace each column's values by bin numbers, with bins between private quantiles.

    Parameters
    ----------
    n_bins : int
        Bins of each column; as many rows fall into each as noise and ties allow.
    epsilon, delta : number
        The budget, shared evenly by columns. With delta > 0 it is split
        through concentrated DP where that gives each quantile more.

    Attributes
    ----------
    bin_edges_ : array of shape (n_features, n_bins + 1)
        Increasing; the outer edges are the declared bounds.
    n_bins_ : array of shape (n_features,)
    privacy_ : FitPrivacy

    Privacy
    -------
    The n_bins - 1 inner edges of a column are drawn jointly by the exponential mechanism (one draw each for
    fewer than three). The number of bins is public: equal edges are kept. Proof page:
    ``docs/proofs/quantiles.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.preprocessing import QuantileBinner
    >>> X = np.random.default_rng(0).random((5000, 1)) ** 2
    >>> binner = QuantileBinner(4, epsilon=2, bounds=(0, 1)).fit(X)
    >>> counts = np.bincount(binner.transform(X)[:, 0].astype(int))
    >>> len(counts), bool(counts.min() > 1000)
    (4, True)
    """

    _claims = ("exponential-quantile", "joint-quantiles")
    _learned = learned.attributes(
        bin_edges_=learned.Array("features", "edges"),
        n_bins_=learned.Array("features", dtype="int64"),
    )

    n_bins: int = field(default=5, kw_only=False)

    def _queries(self, facts: Facts) -> tuple[Quantile, ...]:
        facts.numeric("QuantileBinner")
        bins = as_integer(self.n_bins, "n_bins", minimum=2)
        ranks = [Fraction(i, bins) for i in range(1, bins)]
        return tuple(Quantile(name, ranks) for name in facts.features)

    def _share(self, facts: Facts) -> Measure:
        """What the quantiles of one column may cost."""
        measure, columns = self._measure(), len(facts.features)
        assert isinstance(measure, PureDP | ApproxDP)
        if isinstance(measure.epsilon, float):
            return PureDP(math.inf)
        if isinstance(measure, ApproxDP) and measure.delta:
            draws = sum(query.draws for query in self._queries(facts))
            rho = _find_rho(measure)
            # a draw with range ε costs ε²/8 (Cesar & Rogers 2021)
            if 8 * rho / draws > (measure.epsilon / draws) ** 2:
                return ZCDP(rho / columns)
        return PureDP(measure.epsilon / columns)

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        share = self._share(facts)
        asked = tuple(facts.ask(query, share) for query in self._queries(facts))
        event = together(part.event for part in asked)
        measure = self._measure() if isinstance(share, ZCDP) else PureDP(self.epsilon)
        return FitPlan(event, measure, {}, tuple(part.query for part in asked), facts, asked)

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        asked: tuple[Question, ...] = plan.recipe
        edges = []
        for part, column in zip(asked, plan.facts.numeric("QuantileBinner"), strict=True):
            inner = np.sort(np.asarray(part.release(door).value, np.float64))
            edges.append([float(column.lower), *inner, float(column.upper)])
        self.bin_edges_ = np.array(edges)
        self.n_bins_ = np.full(len(edges), self.n_bins)

    def transform(self, X: Any) -> Floats:
        """The number of the bin of each cell; a value at an edge belongs to the bin above it."""
        x = self._rows(X).numbers()
        binned = [
            np.searchsorted(edges[1:-1], x[:, j], side="right")
            for j, edges in enumerate(self.bin_edges_)
        ]
        return np.stack(binned, axis=1).astype(np.float64)

    def output_box(self) -> tuple[Floats, Floats]:
        """Where transformed rows lie: between the first and the last bin."""
        return np.zeros(len(self.n_bins_)), np.maximum(self.n_bins_ - 1.0, 1.0)

    def inverse_transform(self, X: Any) -> Floats:
        """The middle of each bin."""
        bins = np.nan_to_num(self._columns_in(X)).astype(np.int64).clip(0, self.n_bins - 1)
        middles = (self.bin_edges_[:, 1:] + self.bin_edges_[:, :-1]) / 2
        return np.stack([middles[j][bins[:, j]] for j in range(len(middles))], axis=1)


def _numbers(facts: Facts, who: str = "StandardScaler") -> Facts:
    """The facts of the numbers alone."""
    pairs = zip(facts.features, facts.columns, strict=True)
    names = tuple(name for name, column in pairs if not isinstance(column, Categorical))
    if not names:
        raise ValueError(f"{who} takes numbers, and all columns are categories.")
    found = replace(facts, features=names)
    found.numeric(who)
    return found


def _halves(facts: Facts) -> tuple[Floats, Floats]:
    """Lower bounds and half widths of the features."""
    columns = facts.numeric("StandardScaler")
    lower = np.array([float(column.lower) for column in columns])
    return lower, np.array([column.width / 2 for column in columns])


@lru_cache(maxsize=256)
def _find_rho(target: ApproxDP) -> Fraction:
    """A ρ that is (ε, δ)-DP, within 1e-6 of the largest known one."""
    low, high = Fraction(0), Fraction(1)
    while convert(ZCDP(high), ApproxDP, delta=target.delta).epsilon <= target.epsilon:
        low, high = high, 2 * high
    while high - low > high / 10**6:
        middle = (low + high) / 2
        if convert(ZCDP(middle), ApproxDP, delta=target.delta).epsilon <= target.epsilon:
            low = middle
        else:
            high = middle
    return low
