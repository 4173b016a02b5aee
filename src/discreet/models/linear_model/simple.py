"""A line through one feature: from noised sums, or as the median of lines through pairs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, final

import numpy as np

from discreet import events
from discreet.columns import Numeric
from discreet.dataset import PrepaidDoor
from discreet.measures import ApproxDP, Measure, PureDP
from discreet.models.facts import Blueprint, Facts
from discreet.models.linear_model.asking import Scales, equations
from discreet.models.linear_model.least_squares import LinearPredictor, target_column
from discreet.models.linear_model.solving import Solution, centred
from discreet.models.linear_model.theil_sen import PLACES, PairedLines, bucket_count, is_matched
from discreet.queries import Count, NormalEquations
from discreet.rational import whole

METHODS = ("noisy_stats", "theil_sen")
#: The share of ε that buys the number of rows, where it is private and pairs need it.
COUNT_SHARE = Fraction(1, 10)


@final
class SimpleLinearRegression(LinearPredictor):
    """A line through one feature.

    Parameters
    ----------
    epsilon, delta : number
        The budget. *theil_sen* is pure DP and uses no delta.
    bounds, target_bounds, schema, unit, ledger
        As for `LinearRegression`.
    method : {"noisy_stats", "theil_sen"}
        *noisy_stats*: the quotient of noised sums, with independent noise on each (NoisyStats of Alabi et
        al. 2022, in the form of sums). On every engine.
        *theil_sen*: the median of the lines through random pairs of rows (DPTheilSenkMatch of the same
        paper), which outliers hardly move and small data sets suit. It needs rows, which are collected.
    matchings : int
        How many times the rows are paired, for *theil_sen*.
    feature : str or int, optional
        Which column explains the target, by name or place; needed if there is more than one. The others
        get coefficient 0.

    Attributes
    ----------
    slope_, intercept_ : float
    coef_ : array of shape (n_features,)
    privacy_ : FitPrivacy

    Privacy
    -------
    *noisy_stats*: one release of `NormalEquations` without squares of the target, as in
    `LinearRegression`; under replace-one (n public) its L1 sensitivity is 5 in scaled units. Where the
    noised variance is not positive the slope is 0. *theil_sen*: ε/2 for each of two medians; where n is
    private, a tenth of ε buys it first. The pairing is secret noise. Unit: add/remove, or replace-one,
    with or without ids. NaN counts as the column's fill; n = 0 gives noise, finite.
    Proof page: ``docs/proofs/linear_model.md``.
    """

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = 0.0,
        bounds: Any = None,
        target_bounds: Any = None,
        schema: Any = None,
        unit: Any = None,
        ledger: Any = None,
        method: str = "noisy_stats",
        matchings: int = 10,
        feature: str | int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.schema = schema
        self.unit = unit
        self.ledger = ledger
        self.method = method
        self.matchings = matchings
        self.feature = feature

    @property
    def _claims(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("theil-sen",) if self.method == "theil_sen" else ("noisy-stats",)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # on data whose target another feature explains
        return tags

    def _place(self, facts: Facts) -> int:
        """Which feature it is."""
        if self.feature is None:
            if len(facts.features) > 1:
                raise ValueError(
                    f"feature must be given: X has {len(facts.features)} columns, and a simple regression "
                    "has one. Give its name or place, as in feature=0."
                )
            return 0
        if isinstance(self.feature, str):
            if self.feature not in facts.features:
                raise ValueError(f"feature: X has no column {self.feature!r}.")
            return facts.features.index(self.feature)
        place = whole(self.feature, "feature")
        if place >= len(facts.features):
            raise ValueError(f"feature must be below {len(facts.features)}, got {place}.")
        return place

    def _columns(self, facts: Facts) -> tuple[str, Numeric, Numeric]:
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {self.method!r}.")
        name = facts.features[self._place(facts)]
        target = target_column(facts, "SimpleLinearRegression")
        column = facts.schema[name]
        if not isinstance(column, Numeric):
            raise ValueError(
                f"SimpleLinearRegression takes numbers only: column {name!r} must be dp.Real(lower, upper) "
                f"or dp.Integer(lower, upper), not {column!r}."
            )
        return name, column, target

    def _query(self, facts: Facts) -> NormalEquations:
        name, _, _ = self._columns(facts)
        return equations(facts, self._measure(), (name,), facts.target, square=False)

    def _shares(self, facts: Facts) -> tuple[PureDP | None, PureDP]:
        """What the number of rows and the two medians may cost."""
        measure = self._measure()
        assert isinstance(measure, PureDP | ApproxDP)
        epsilon = measure.epsilon
        if is_matched(facts.unit):
            return None, PureDP(epsilon)
        assert not isinstance(epsilon, float)
        return PureDP(epsilon * COUNT_SHARE), PureDP(epsilon * (1 - COUNT_SHARE))

    def _lines(self, facts: Facts, buckets: int = 1) -> PairedLines:
        name, _, _ = self._columns(facts)
        rounds = whole(self.matchings, "matchings", least=1)
        assert facts.target is not None
        medians = self._shares(facts)[1]
        return PairedLines(name, facts.target, medians, facts.unit, rounds, buckets)

    def _plan(self, facts: Facts, rows: int | None) -> Blueprint:
        _, column, target = self._columns(facts)
        if self.method == "theil_sen":
            event = self._lines(facts).event(facts.schema, facts.unit)
            count = self._shares(facts)[0]
            pure = PureDP(self.epsilon)  # a delta is not needed, so it is not charged
            if count is None:
                return Blueprint(event, pure)
            first = facts.asked(Count(), count)
            return Blueprint(events.Compose(first.event, event), pure, {}, (Count(),))
        query = self._query(facts)
        answerer = facts.asked(query, self._measure())
        noise = {}
        if rows is not None:
            spread = float(answerer.expected_error(rows)[0, 1])
            width = column.width or math.inf
            noise = {"slope_": 3.0 * spread / max(rows, 1) * target.width / width}
        return Blueprint(answerer.event, answerer.measure, noise, (query,))

    def _train(self, facts: Facts, door: PrepaidDoor) -> None:
        _, column, target = self._columns(facts)
        scales = Scales.of((column,)), Scales.of((target,))
        solution = (
            self._paired(facts, door) if self.method == "theil_sen" else self._summed(facts, door)
        )
        self._set_line(solution, *scales)
        self.slope_ = float(self.coef_[0])
        self.coef_ = np.zeros(len(facts.features))
        self.coef_[self._place(facts)] = self.slope_
        self.target_range_ = (float(target.lower), float(target.upper))

    def _summed(self, facts: Facts, door: PrepaidDoor) -> Solution:
        query = self._query(facts)
        _, means, about = centred(door.release(query, self._measure()).value)
        variance, covariance = float(about[0, 0]), float(about[0, 1])
        slope = covariance / variance if variance > 1e-9 else 0.0
        return Solution(float(means[1] - slope * means[0]), np.array([slope]), 0.0)

    def _paired(self, facts: Facts, door: PrepaidDoor) -> Solution:
        count: Measure | None = self._shares(facts)[0]
        buckets = 1
        if count is not None:
            buckets = bucket_count(door.release(Count(), count).value)
        low, high = door.run(self._lines(facts, buckets))
        # from [0, 1] to [-1, 1]: heights h at x = ¼ and ¾ are 2h - 1 at u = -½ and ½
        left, right = (2 * place - 1 for place in PLACES)
        slope = 2 * (high - low) / (right - left)
        return Solution(float(low + high - 1), np.array([slope]), 0.0)
