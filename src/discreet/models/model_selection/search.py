"""The best of a random number of fits with random settings, paid for once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeVar, final

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from discreet.coding import Between, Condition, Part
from discreet.dataset import PrivateDataset
from discreet.measures import Measure
from discreet.mechanisms import Distribution
from discreet.models import learned
from discreet.models.base import PrivateEstimator
from discreet.models.facts import Facts
from discreet.models.inputs import Opened
from discreet.models.metrics.kinds import Metric
from discreet.models.metrics.names import metric_of
from discreet.models.metrics.scoring import ScoredRows, score_distribution, score_event
from discreet.models.model_selection.around import EstimatorAround
from discreet.models.model_selection.budget import (
    BUDGET,
    Division,
    SearchBudget,
    check_share,
    describe,
    divide,
    gamma_of,
)
from discreet.models.model_selection.settings import candidates_of, list_settings, whole_weights
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.models.privacy import FitPrivacy
from discreet.rational import non_negative, rational
from discreet.schema import Schema, order_codes
from discreet.selection import Selection
from discreet.unit import REPLACE_ONE

F = TypeVar("F", bound=Callable[..., Any])
#: Rows are dealt to this many parts; some of these validate.
_PARTS = 1024


def _where_estimator_has(name: str) -> Callable[[F], F]:
    """A method that exists if the estimator has one of this name."""

    def has(search: Any) -> bool:
        return hasattr(getattr(search, "best_estimator_", search.estimator), name)

    found: Callable[[F], F] = available_if(has)
    return found


@final
@dataclass(frozen=True, eq=False)
class _Recipe:
    """The candidates with the plans of their fits, the metrics with their noise, and how one is drawn."""

    settings: list[dict[str, Any]]
    candidates: list[PrivateEstimator]
    plans: list[FitPlan]
    metrics: list[Metric]
    distributions: list[Distribution]
    fit: Measure
    score: Measure
    selection: Selection


@final
@with_parameters
class PrivateSearch(EstimatorAround):
    """Search for the best setting of a private model: many fits, one charge.

    A run draws a setting at random, fits the estimator privately, and scores it with a noised metric. The
    number of runs is random and stays secret, as do all runs but the best: so the whole search costs about
    two or three times as much as one of its runs, however many there are (Liu & Talwar 2019; Papernot
    & Steinke 2022). The best model is released as it is; there is no refit.

    Parameters
    ----------
    estimator : estimator of `discreet.models`
        Its `epsilon`, `delta`, `schema`, `unit` and `ledger` are the search's; what else declares
        its columns (`bounds`, `classes`, ...) is read from it.
    settings : mapping of names to lists, or list of mappings
        A grid, or the settings themselves; ``"estimator"`` may be one of the names. Public.
    epsilon, delta : number
        The budget of the whole search; with ``delta=0`` pure DP.
    scoring : Metric or str, optional
        Of `discreet.models.metrics`; by default ``"accuracy"`` or ``"mean_squared_error"``.
    validation : number, optional
        The share of rows that validate and don't train, by a public hash of the row, so that equal rows
        fall into the same part. By default all rows do both. Not under ``dp.REPLACE_ONE``.
    runs : number, optional
        The mean number of runs; by default twice the number of settings.
    shape : number
        η of the distribution of that number: 1 is geometric; 0 (logarithmic) costs a third less, but about
        one search in five has a single run.
    weights : sequence of numbers, optional
        How likely each setting is drawn; equally by default.
    score_share : number
        The share of a run's ε that pays for its score, where the costs of fit and score add up.

    Attributes
    ----------
    best_estimator_ : estimator
    best_params_ : dict
        Its setting.
    best_score_ : float
        Its noised score, which is too optimistic, as the best of several always is.
    budget_ : SearchBudget
        How the budget was divided, and what the same runs would cost otherwise.
    classes_ : array
        For classes.
    privacy_ : FitPrivacy

    Privacy
    -------
    One charge of `events.RepeatAndSelect`; a run is a mixture of the settings by public weights. The
    setting, the model and its noised score are released; the number of runs, the other runs and the time
    that the fit takes are not covered and must stay secret. Runs are checked against the plan and can't
    read rows otherwise. With `validation` under add/remove without ids, fit and score see different
    people, so their costs do not add up. Predictions must be made row by row; an estimator that hands
    rows on to another library's model vouches for that model. Generators given as ``random_state``, like
    those of the process, are reseeded for each run and restored afterwards: what the best model drew doesn't
    tell which run it was. An integer seed gives all runs the same draws. With ``dp.PUBLIC`` and an infinite
    budget every setting is tried once. Proof page: ``docs/proofs/model_selection.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> from discreet.models.linear_model import LogisticRegression
    >>> from discreet.models.model_selection import PrivateSearch
    >>> schema = dp.Schema(age=dp.Integer(17, 90), rich=dp.Categorical("no", "yes"))
    >>> table = {"age": list(range(20, 80)) * 10, "rich": (["no"] * 30 + ["yes"] * 30) * 10}
    >>> data = dp.PrivateDataset(table, schema, ledger=dp.Ledger(limit=dp.PureDP(2)))
    >>> search = PrivateSearch(LogisticRegression(), {"alpha": [1, 10]}, epsilon="3/2", runs=2)
    >>> search.fit(data).best_params_["alpha"] in (1, 10)
    True
    """

    estimator: Any = field(default=None, kw_only=False)
    settings: Any = field(default=None, kw_only=False)
    scoring: Any = None
    validation: Any = None
    runs: Any = None
    shape: Any = 1
    weights: Any = None
    score_share: Any = 0.2

    _learned = learned.attributes(
        best_estimator_=learned.Inner(),
        best_params_=learned.Setting(),
        best_score_=learned.Number(),
        budget_=BUDGET,
    )

    @property
    def _claims(self) -> tuple[str, ...]:  # type: ignore[override]
        found = [name for each in self._candidates() for name in each._claims]
        return ("private-search", *dict.fromkeys(found))

    def _candidates(self) -> list[PrivateEstimator]:
        return candidates_of(super()._check_estimator(), list_settings(self.settings))

    def _check_estimator(self) -> PrivateEstimator:
        estimator = super()._check_estimator()
        candidates_of(estimator, list_settings(self.settings))
        return estimator

    def _metric(self, candidate: PrivateEstimator, facts: Facts) -> Metric:
        default = "accuracy" if self._target == "class" else "mean_squared_error"
        assert facts.target is not None
        chosen = metric_of(default if self.scoring is None else self.scoring)
        return chosen.bound(candidate, facts.schema, facts.target)

    def _split(self, facts: Facts) -> Condition | None:
        if self.validation is None:
            return None
        share = rational(self.validation, "validation")
        if not 0 < share < 1:
            raise ValueError(f"validation must be between 0 and 1, got {self.validation!r}.")
        if facts.unit.relation is REPLACE_ONE:
            raise ValueError(
                "validation: under dp.REPLACE_ONE rows are not split, since the number of rows in a part "
                "would be private: leave it None, or use dp.ADD_REMOVE."
            )
        return hash_share(facts.schema, share)

    def _divide(self, facts: Facts) -> _Recipe:
        """The budgets of a fit and of its score, and the whole plan: from public facts alone."""
        settings, candidates = list_settings(self.settings), self._candidates()
        metrics = [self._metric(each, facts) for each in candidates]
        weights = whole_weights(self.weights, len(candidates))
        shape = non_negative(self.shape, "shape")
        runs = 2 * len(candidates) if self.runs is None else self.runs
        gamma = gamma_of(shape, runs)
        split = self._split(facts)

        def recipe(fit: Measure, score: Measure) -> _Recipe:
            plans = [with_budget(each, fit)._plan(facts, None) for each in candidates]
            distributions = [score_distribution(metric, score, facts.unit) for metric in metrics]
            events = tuple(
                (plan.event, score_event(metric, distribution, facts.unit))
                for plan, metric, distribution in zip(plans, metrics, distributions, strict=True)
            )
            selection = Selection(events, weights, shape, gamma, split)
            return _Recipe(
                settings, candidates, plans, metrics, distributions, fit, score, selection
            )

        def selecting(fit: Measure, score: Measure) -> Selection:
            return recipe(fit, score).selection

        apart = split is not None and facts.unit.id_column is None
        division = Division(check_share(self.score_share), apart, shape, gamma)
        return recipe(*divide(self._measure(), selecting, facts.unit, division))

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        self._refuse_derived(facts)
        recipe = self._divide(facts)
        noise = {}
        if rows is not None and self.epsilon != math.inf:
            share = 1 if self.validation is None else float(rational(self.validation, "validation"))
            deviation = recipe.distributions[0].expected_error()
            noise = {"best_score_": recipe.metrics[0].expected_error(rows * share, deviation)}
        event = recipe.selection.event(facts.unit)
        return FitPlan(event, self._measure(), noise, (), facts, recipe)

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        facts = plan.facts
        recipe: _Recipe = plan.recipe
        assert facts.target is not None
        target, named = facts.target, hasattr(self, "feature_names_in_")

        def run(
            at: int, views: tuple[PrivateDataset, ...]
        ) -> tuple[float, tuple[int, PrivateEstimator, float]]:
            to_fit, to_score = views
            model = clone(recipe.candidates[at])
            model._carry_out(recipe.plans[at], Opened(to_fit, facts, named, False))
            metric = recipe.metrics[at]
            step = ScoredRows(metric, model, facts.features, target, recipe.distributions[at])
            value = metric.value(np.asarray(to_score.run(step), np.float64))
            return metric.score(value), (at, model, value)

        _, (at, model, value) = door.select(recipe.selection, run)
        self.best_estimator_, self.best_score_ = model, value
        self.best_params_ = recipe.settings[at]
        self.budget_: SearchBudget = describe(
            plan.measure, recipe.fit, recipe.score, recipe.selection, facts.unit
        )

    def _set_privacy(self, paid: FitPrivacy) -> None:
        super()._set_privacy(paid)
        self.best_estimator_._set_privacy(paid)

    def _best(self) -> Any:
        check_is_fitted(self, "privacy_")
        return self.best_estimator_

    @_where_estimator_has("predict")
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """What the best model predicts for each row."""
        return np.asarray(self._best().predict(X))

    @_where_estimator_has("predict_proba")
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """The classes' probabilities for each row, by the best model."""
        return np.asarray(self._best().predict_proba(X))

    @_where_estimator_has("predict_log_proba")
    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """The logarithms of the classes' probabilities for each row, by the best model."""
        return np.asarray(self._best().predict_log_proba(X))

    @_where_estimator_has("decision_function")
    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """The best model's scores for each row."""
        return np.asarray(self._best().decision_function(X))

    @_where_estimator_has("score")
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The best model's own score on rows that may be seen: exact, not private."""
        return float(self._best().score(X, y, sample_weight=sample_weight))


def with_budget(candidate: PrivateEstimator, measure: Any) -> PrivateEstimator:
    """The candidate with the budget of a fit."""
    candidate.set_params(epsilon=measure.epsilon, delta=getattr(measure, "delta", 0))
    return candidate


def hash_share(schema: Schema, share: Fraction) -> Condition:
    """A condition that holds for about this share of rows, by a public hash of all codes of a row."""
    upto = min(max(1, round(share * _PARTS)), _PARTS - 1)
    return Between(Part(order_codes(schema), _PARTS), 0, upto - 1)
