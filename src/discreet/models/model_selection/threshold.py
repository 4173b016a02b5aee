"""A classifier with a decision threshold and probabilities that noised scores decide."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from discreet.dataset import PrivateDataset
from discreet.measures import ApproxDP, Measure, PureDP
from discreet.mechanisms import Distribution
from discreet.models import learned
from discreet.models.base import PrivateEstimator
from discreet.models.facts import Facts
from discreet.models.inputs import Opened
from discreet.models.metrics.kinds import AUC, Integers, Metric
from discreet.models.metrics.scoring import ScoredRows, score_distribution, score_event
from discreet.models.model_selection.around import EstimatorAround
from discreet.models.model_selection.budget import check_share
from discreet.models.model_selection.curves import (
    BINS,
    METRICS,
    best_cut,
    blend,
    find_threshold,
    log_odds,
    middles,
    place_scores,
    reliability,
)
from discreet.models.model_selection.settings import candidates_of
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.models.privacy import FitPrivacy
from discreet.models.shares import together

Floats = npt.NDArray[np.float64]


@final
class ScoreCounts(Metric):
    """How many rows of each class have a score in each bin of log-odds; as a metric, the area of these bins.

    Privacy
    -------
    A row adds 1 to one sum, so `steps` is 1: see `Metric`.
    """

    target = "class"
    is_better_if_larger = True
    steps = 1
    size = 2 * BINS

    def __init__(self) -> None:
        self._area = AUC(BINS)

    def ask(self, model: Any, X: Any) -> npt.NDArray[Any]:
        return log_odds(model, X)

    def sums(self, model: Any, found: Any, target: Any, counts: Integers) -> Integers:
        second = np.asarray(target == model.classes_[-1], np.int64)
        totals = np.zeros(self.size, np.int64)
        np.add.at(totals, second * BINS + place_scores(found), counts)
        return totals

    def value(self, totals: Floats) -> float:
        return self._area.value(totals)

    def error(self, totals: Floats, deviation: float) -> float:
        return self._area.error(totals, deviation)

    def bounds(self, totals: Floats, width: float) -> tuple[float, float]:
        return self._area.bounds(totals, width)

    def sampling(self, totals: Floats) -> float:
        return self._area.sampling(totals)


@final
@dataclass(frozen=True, eq=False)
class _Recipe:
    """The model with the plan of its fit, and the noise of the counts of its scores."""

    candidate: PrivateEstimator
    plan: FitPlan
    distribution: Distribution


@final
@with_parameters
class ThresholdClassifier(ClassifierMixin, EstimatorAround):
    """A private classifier of two classes whose threshold and probabilities are set by noised scores.

    The inner estimator is fitted with most of the budget. The rest buys how many rows of each class have
    which score, in public bins, with noise. A reliability curve (isotonic regression) turns scores into
    probabilities that hold, and the second class is predicted where that makes the metric largest: at 1/2
    for accuracy, elsewhere for rare classes. Where the noise hides the counts, the model's own probabilities
    stand. (`LogisticRegression` and `LinearSVC` have a `class_weight`, too, which costs less.)

    Parameters
    ----------
    estimator : classifier of `discreet.models`
        Its `epsilon`, `delta`, `schema`, `unit` and `ledger` are this one's.
    epsilon, delta : number
        The budget of all.
    metric : {"balanced_accuracy", "accuracy", "f1"}
        What the threshold is for; F1 is that of the second of ``classes_``.
    score_share : number
        The share of ε that buys the counts of scores.

    Attributes
    ----------
    estimator_ : fitted estimator
    score_counts_ : array of shape (2, bins)
        The noised counts of scores by class.
    curve_ : array of shape (bins,)
        The share of the second class at the middle of each bin.
    threshold_ : float
        The second class is predicted where the logarithm of odds by the inner model (four times the margin
        of a machine) exceeds it.
    classes_ : array
    privacy_ : FitPrivacy

    Privacy
    -------
    One charge: the event of the inner fit, and that of the noise on counts to which each row adds 1 in one
    place (`ScoredRows`); ε adds up, and the fit has all of δ. Curve, threshold and probabilities are
    post-processing. Scores of rows are computed in Python, on every engine. No rows and one class are not
    special cases. Proof page: ``docs/proofs/model_selection.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.model_selection import ThresholdClassifier
    >>> from discreet.models.tree import RandomDecisionForest
    >>> draw = np.random.default_rng(0)
    >>> X = draw.random((4000, 2))
    >>> y = (X[:, 0] + 0.2 * draw.normal(size=4000) > 1).astype(int)
    >>> inner = RandomDecisionForest(bounds=(0, 1), classes=[0, 1], random_state=0)
    >>> model = ThresholdClassifier(inner, epsilon=2).fit(X, y)
    >>> bool(model.threshold_ < 0)
    True
    """

    estimator: Any = field(default=None, kw_only=False)
    metric: Any = "balanced_accuracy"
    score_share: Any = 0.2

    _learned = learned.attributes(
        estimator_=learned.Inner(),
        score_counts_=learned.Array(2, BINS),
        curve_=learned.Array(BINS),
        threshold_=learned.Number(),
    )

    @property
    def _claims(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("private-score", *self._check_estimator()._claims)

    def _divide(self) -> tuple[Measure, Measure]:
        """The budgets of the fit and of the scores."""
        measure, share = self._measure(), check_share(self.score_share)
        assert isinstance(measure, PureDP | ApproxDP)
        if isinstance(measure.epsilon, float):  # public rows
            return measure, PureDP(math.inf)
        rest: Fraction = measure.epsilon * (1 - share)
        score = PureDP(measure.epsilon * share)
        if isinstance(measure, ApproxDP):
            return ApproxDP(rest, measure.delta), score
        return PureDP(rest), score

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        if self.metric not in METRICS:
            raise ValueError(f"metric must be one of {', '.join(METRICS)}, got {self.metric!r}.")
        self._check_estimator()
        self._refuse_derived(facts)
        if self._target != "class":
            raise ValueError("estimator must be a classifier: a threshold parts two classes.")
        if len(facts.labels) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: it has "
                f"{len(facts.labels)} classes, and a threshold parts two."
            )
        if len(facts.labels) < 2:
            raise ValueError("classes: only one class is declared, and a threshold parts two.")
        (candidate,) = candidates_of(self.estimator, [{}])
        fit, score = self._divide()
        candidate.set_params(epsilon=fit.epsilon, delta=getattr(fit, "delta", 0))  # type: ignore[attr-defined]
        inner = candidate._plan(facts, rows)
        counts = ScoreCounts()
        distribution = score_distribution(counts, score, facts.unit)
        event = together([inner.event, score_event(counts, distribution, facts.unit)])
        noise = dict(inner.noise)
        if rows is not None and self.epsilon != math.inf:
            noise["score_counts_"] = distribution.expected_error()
        recipe = _Recipe(candidate, inner, distribution)
        return FitPlan(event, self._measure(), noise, inner.queries, facts, recipe)

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        facts, recipe = plan.facts, plan.recipe
        assert facts.target is not None
        named = hasattr(self, "feature_names_in_")
        model: Any = clone(recipe.candidate)  # runs of a search share this plan
        model._carry_out(recipe.plan, Opened(door, facts, named, False))
        step = ScoredRows(ScoreCounts(), model, facts.features, facts.target, recipe.distribution)
        self.estimator_ = model
        self.score_counts_ = np.asarray(door.run(step), np.float64).reshape(2, BINS)
        blended = blend(self.score_counts_, recipe.distribution.expected_error())
        self.curve_ = reliability(blended)
        self.threshold_ = find_threshold(self.curve_, best_cut(blended, self.curve_, self.metric))

    def _set_privacy(self, paid: FitPrivacy) -> None:
        super()._set_privacy(paid)
        self.estimator_._set_privacy(paid)

    def decision_function(self, X: Any) -> Floats:
        """How far the score of each row is above the threshold."""
        return np.asarray(self._odds(X) - self.threshold_)

    def _odds(self, X: Any) -> Floats:
        check_is_fitted(self, "privacy_")
        return log_odds(self.estimator_, X)

    def predict_proba(self, X: Any) -> Floats:
        """The classes' probabilities for each row, by the reliability curve."""
        share = np.interp(self._odds(X), middles(), self.curve_)
        return np.stack([1.0 - share, share], axis=1)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each row, by the threshold."""
        above = self.decision_function(X) > 0
        return np.asarray(self.classes_[above.astype(np.intp)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_class = False
        return tags
