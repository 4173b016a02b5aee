"""A line through one feature: from noised sums, or as the median of lines through pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, final

import numpy as np

from discreet import events
from discreet.columns import Numeric
from discreet.dataset import PrivateDataset
from discreet.measures import ApproxDP, PureDP
from discreet.models import learned
from discreet.models.facts import Facts, Question
from discreet.models.linear_model.asking import Scales, equations
from discreet.models.linear_model.least_squares import LinearPredictor, target_column
from discreet.models.linear_model.shrinking import shrunk_line
from discreet.models.linear_model.solving import Solution, entry_noise
from discreet.models.linear_model.theil_sen import (
    MedianLevel,
    PairedSlopes,
    bucket_count,
    is_matched,
)
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.queries import Count
from discreet.rational import as_integer

METHODS = ("noisy_stats", "theil_sen")
#: The share of ε that buys the number of rows, where it is private and pairs need it.
COUNT_SHARE = Fraction(1, 10)
#: The level's share of what is left for the two medians: all rows tell of it, of slopes only pairs.
LEVEL_SHARE = Fraction(1, 3)


@final
@dataclass(frozen=True, eq=False)
class _Recipe:
    """The feature's place, the scales of feature and target, the rows where they are public, what is asked.

    That is the sums; or, with pairs of rows, the number of rows where it is private, slopes and the level.
    """

    place: int
    feature: Scales
    target: Scales
    question: Question | None
    slopes: PairedSlopes | None = None
    level: MedianLevel | None = None
    rows: int | None = None


@final
@with_parameters
class SimpleLinearRegression(LinearPredictor):
    """A line through one feature.

    Parameters
    ----------
    epsilon, delta : number
        The budget. *theil_sen* is pure DP and uses no delta.
    method : {"noisy_stats", "theil_sen"}
        *noisy_stats*: the quotient of noised sums, with independent noise on each (NoisyStats of Alabi et
        al. 2022, in the form of sums), shrunk by what the noise says about it, as the level is. On every
        engine.
        *theil_sen*: the median slope of the lines through random pairs of rows (as DPTheilSenkMatch of the
        same paper), shrunk where noise hides it, at the height that halves the rows. Outliers hardly
        move it, and it suits small data sets. It collects the rows.
    matchings : int
        How many times the rows are paired, for *theil_sen*.
    feature : str or int, optional
        Which column explains the target, by name or position; needed if there is more than one. The
        others get coefficient 0.

    Attributes
    ----------
    slope_, intercept_ : float
    coef_ : array of shape (n_features,)
    privacy_ : FitPrivacy

    Privacy
    -------
    *noisy_stats*: one release of `NormalEquations` without squares of the target, as in
    `LinearRegression`; under replace-one (n public) its L1 sensitivity is 5 in scaled units. The line is
    post-processing. *theil_sen*: two medians, 2ε/3 for the slope and ε/3
    for the level; where n is private, a tenth of ε buys it first. The pairing is secret noise. Unit:
    add/remove, or replace-one, with or without ids. NaN counts as the column's fill; n = 0 gives finite
    noise. Proof page: ``docs/proofs/linear_model.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.linear_model import SimpleLinearRegression
    >>> X = np.random.default_rng(0).random((2000, 1))
    >>> model = SimpleLinearRegression(epsilon=2, bounds=(0, 1), target_bounds=(0, 3))
    >>> bool(abs(model.fit(X, 1 + X[:, 0]).predict([[0.5]])[0] - 1.5) < 0.1)
    True
    """

    method: str = "noisy_stats"
    matchings: int = 10
    feature: str | int | None = None

    _learned = learned.attributes(
        coef_=learned.Array("features"),
        intercept_=learned.Number(),
        slope_=learned.Number(),
        target_range_=learned.Together(learned.Number(), learned.Number()),
    )

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
                    "has one. Give its name or position, as in feature=0."
                )
            return 0
        if isinstance(self.feature, str):
            if self.feature not in facts.features:
                raise ValueError(f"feature: X has no column {self.feature!r}.")
            return facts.features.index(self.feature)
        place = as_integer(self.feature, "feature")
        if place >= len(facts.features):
            raise ValueError(f"feature must be below {len(facts.features)}, got {place}.")
        return place

    def _columns(self, facts: Facts) -> tuple[int, Numeric, Numeric]:
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {self.method!r}.")
        place = self._place(facts)
        name = facts.features[place]
        target = target_column(facts, "SimpleLinearRegression")
        column = facts.schema[name]
        if not isinstance(column, Numeric):
            raise ValueError(
                f"SimpleLinearRegression takes numbers only: column {name!r} must be dp.Real(lower, upper) "
                f"or dp.Integer(lower, upper), not {column!r}."
            )
        return place, column, target

    def _shares(self, facts: Facts) -> tuple[PureDP | None, PureDP, PureDP]:
        """What the number of rows, the slope and the level may cost."""
        measure = self._measure()
        assert isinstance(measure, PureDP | ApproxDP)
        epsilon = measure.epsilon
        if isinstance(epsilon, float):  # public rows: no noise
            return None, PureDP(epsilon), PureDP(epsilon)
        count = None if is_matched(facts.unit) else PureDP(epsilon * COUNT_SHARE)
        medians = epsilon if count is None else epsilon * (1 - COUNT_SHARE)
        return count, PureDP(medians * (1 - LEVEL_SHARE)), PureDP(medians * LEVEL_SHARE)

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        place, column, target = self._columns(facts)
        scales = Scales.of((column,)), Scales.of((target,))
        name = facts.features[place]
        if self.method == "theil_sen":
            return self._plan_pairs(facts, _Recipe(place, *scales, None))
        query = equations(facts, self._measure(), (name,), facts.target, square=False)
        question = facts.ask(query, self._measure())
        noise = {}
        if rows is not None:
            spread = float(question.expected_error(rows)[0, 1])
            width = column.width or math.inf
            noise = {"slope_": 3.0 * spread / max(rows, 1) * target.width / width}
        return FitPlan.from_question(facts, question, noise, _Recipe(place, *scales, question))

    def _plan_pairs(self, facts: Facts, recipe: _Recipe) -> FitPlan:
        """The plan of *theil_sen*: the number of rows where it is private, then the medians."""
        count, first, last = self._shares(facts)
        matchings = as_integer(self.matchings, "matchings", minimum=1)
        assert facts.target is not None
        pair = facts.features[recipe.place], facts.target
        slopes = PairedSlopes(*pair, first, facts.unit, matchings)
        level = MedianLevel(*pair, last, facts.unit, matchings)
        recipe = replace(recipe, slopes=slopes, level=level, rows=facts.rows)
        steps = [step.event(facts.schema, facts.unit) for step in (slopes, level)]
        steps = [event for event in steps if event != events.Compose()]  # nothing without noise
        pure = PureDP(self.epsilon)  # a delta is not needed, so it is not charged
        if count is None:
            return FitPlan(events.Compose(*steps), pure, {}, (), facts, recipe)
        asked = facts.ask(Count(), count)
        recipe = replace(recipe, question=asked)
        return FitPlan(events.Compose(asked.event, *steps), pure, {}, (asked.query,), facts, recipe)

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        recipe: _Recipe = plan.recipe
        solve = self._fit_sums if recipe.slopes is None else self._fit_pairs
        self._set_line(solve(recipe, door), recipe.feature, recipe.target)
        self.slope_ = float(self.coef_[0])
        self.coef_ = np.zeros(len(plan.facts.features))
        self.coef_[recipe.place] = self.slope_
        target = target_column(plan.facts, "SimpleLinearRegression")
        self.target_range_ = (float(target.lower), float(target.upper))

    def _fit_sums(self, recipe: _Recipe, door: PrivateDataset) -> Solution:
        assert recipe.question is not None
        release = recipe.question.release(door)
        return shrunk_line(release.value, entry_noise(release.stderr))

    def _fit_pairs(self, recipe: _Recipe, door: PrivateDataset) -> Solution:
        slopes, level = recipe.slopes, recipe.level
        assert slopes is not None
        assert level is not None
        rows: float | None = recipe.rows
        if recipe.question is not None:
            rows = float(recipe.question.release(door).value)
            slopes = slopes.in_buckets(bucket_count(rows))
        slope = door.run(slopes) * (1.0 if rows is None else slopes.trust(rows))
        middle = door.run(level.along(slope, rows))
        # from [0, 1] to [-1, 1]: a height h at x = ½ is 2h - 1 at u = 0
        return Solution(float(2 * middle - 1), np.array([slope]), 0.0)
