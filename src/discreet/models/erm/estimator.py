"""What estimators that minimise a risk share."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from discreet.columns import Categorical, Logarithmic, Numeric
from discreet.dataset import PrivateDataset
from discreet.measures import ApproxDP, Measure, PureDP
from discreet.models import learned
from discreet.models.erm.features import (
    MAX_FEATURES,
    FeatureMap,
    RowMap,
    clamp_values,
    reach_of,
)
from discreet.models.erm.losses import Loss
from discreet.models.erm.norm_gamma import NormGammaObjective, NormGammaOutput
from discreet.models.erm.perturbation import (
    ObjectivePerturbation,
    OutputPerturbation,
    Perturbation,
)
from discreet.models.erm.regulariser import GUESSED_ROWS
from discreet.models.erm.step import MinimisedRisk
from discreet.models.erm.task import Task
from discreet.models.erm.weights import BALANCE_SHARE, balanced_weights, read_weights
from discreet.models.facts import Facts, Question
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.models.shares import together
from discreet.models.targets import BoundedEstimator, PrivateClassifier
from discreet.queries import Count
from discreet.rational import as_integer, positive

Floats = npt.NDArray[np.float64]

#: Where noise goes, and how it is drawn.
PERTURBATIONS: dict[str, dict[str, type[Perturbation]]] = {
    "objective": {"exact": ObjectivePerturbation, "norm-gamma": NormGammaObjective},
    "output": {"exact": OutputPerturbation, "norm-gamma": NormGammaOutput},
}
#: Rows are scaled down to a sum of sizes where ε·rows is below this for each feature: above it there is too
#: little noise for what that bends.
SHORT_ROWS = 1000
#: Rows of numbers alone may be longer where ε·rows is at least this for each feature: on training rows of
#: Adult, bank and COMPAS log loss was better above it. With categories nothing was gained.
WIDE_ROWS = 3000
#: More classes are refused: the solver's error bound is proved for this many.
MAX_CLASSES = 64


@with_parameters
class RiskEstimator(BoundedEstimator):
    """A linear model whose weights minimise Σ loss + (alpha/2)·‖w‖², learned by a step on rows.

    Numbers are scaled to [-1, 1] by their bounds, categories become indicators, and with `fit_intercept` a
    constant 1 is joined; for classes a column on a logarithmic scale has two features, its place on that
    scale and its value up to a quarter of the larger bound. Rows longer than `norm` are scaled down to it.

    Parameters
    ----------
    method : {"objective", "output"}
        Where the noise goes: into the objective, or onto the weights.
    alpha : number, optional
        The ridge Λ, of features scaled to [-1, 1]. By default what the budget asks for: with
        ``"objective"`` the least Λ at which the determinants take half of ε (a third with δ > 0), or more
        where that leaves too much noise for `expected_rows` (for a number never less than five deviations
        of the noise, for classes by a kernel never less than one); a smaller `alpha` is raised to the Λ for
        half. With ``"output"`` the Λ at which noise moves a score by half a unit of log-odds, a fifth of a
        margin or a thirtieth of half the target's width; less where many rows are expected.
    norm : number, optional
        Scaled rows (with the constant 1) longer than this are scaled down to it; by default √(a + d/3) for
        d numbers and a categories and constants; for classes from numbers alone, with noise in the
        objective, √(a + 3d/5) where ε·`expected_rows` is at least 3000 for each feature. By default, for
        classes and with Laplace noise in the objective, rows whose sizes add up to more than a + d/2 are
        scaled down to that, too, where ε·`expected_rows` is below 1000 for each feature.
    fit_intercept : bool
        Whether there is a constant feature; it counts in the norm.
    expected_rows : int, optional
        A public guess of the number of rows, for the default `alpha`; the number itself where it is
        public, else 10 000. With few rows it is worth giving.
    noise : {"exact", "norm-gamma"}
        ``"exact"`` noise is Laplace or Gaussian, with its rounding paid for. ``"norm-gamma"`` is the noise
        of the papers, in float64: its event is `Assumed`, which needs public rows or a ledger opened with
        ``accept_assumed=True``.
    """

    method: str = "objective"
    alpha: Any = None
    fit_intercept: bool = True
    expected_rows: int | None = None
    noise: str = "exact"

    _log_scaling = True
    #: Whether the value of a column on a logarithmic scale is a feature beside its place there.
    _sees_values: ClassVar[bool] = False
    #: Whether budget and rows decide how long rows may be.
    _adapts_length: ClassVar[bool] = False
    _learned = learned.attributes(alpha_=learned.IfSet(learned.Number()))

    @abstractmethod
    def _loss(self, facts: Facts) -> Loss:
        """The loss, from parameters and public facts."""

    @property
    def _claims(self) -> tuple[str, ...]:  # type: ignore[override]
        return (
            f"{self.method}-perturbation" if self.noise == "exact" else "norm-gamma-perturbation",
        )

    def _features(self, facts: Facts) -> RowMap:
        """From codes to features of bounded norm."""
        found = FeatureMap(
            facts.columns, bool(self.fit_intercept), self.norm, values=self._sees_values
        )
        return replace(
            found,
            short=self._shortens(facts, found.width),
            wide=self._widens(facts, found.width),
        )

    def _shortens(self, facts: Facts, width: int) -> bool:
        """Whether rows are scaled down to a sum of sizes, with which Laplace noise grows."""
        measure = self._measure()
        if not self._adapts_length or self.norm is not None or not isinstance(measure, PureDP):
            return False
        if (self.method, self.noise) != ("objective", "exact") or measure.epsilon == math.inf:
            return False
        return bool(measure.epsilon * (self._guess(facts) or GUESSED_ROWS) < SHORT_ROWS * width)

    def _widens(self, facts: Facts, width: int) -> bool:
        """Whether rows may be longer by default, since there is little noise for what clipping bends."""
        if not self._adapts_length or self.norm is not None or self.method != "objective":
            return False
        if not all(isinstance(column, Numeric) for column in facts.columns):
            return False
        measure = self._measure()
        assert isinstance(measure, PureDP | ApproxDP)
        return bool(measure.epsilon * (self._guess(facts) or GUESSED_ROWS) >= WIDE_ROWS * width)

    def _guess(self, facts: Facts) -> int | None:
        """The number of rows to expect; None where nobody says."""
        if self.expected_rows is None:
            return facts.rows
        return as_integer(self.expected_rows, "expected_rows")

    @staticmethod
    def _check_columns(facts: Facts) -> None:
        for name, column in zip(facts.features, facts.columns, strict=True):
            if not isinstance(column, Numeric | Categorical):
                raise ValueError(f"column {name!r} must be a number or a category, not {column!r}.")

    def _step(
        self, facts: Facts, measure: Measure, features: RowMap | None = None
    ) -> MinimisedRisk:
        if self.method not in PERTURBATIONS:
            raise ValueError(
                f"method must be {' or '.join(map(repr, PERTURBATIONS))}, got {self.method!r}."
            )
        kinds = PERTURBATIONS[self.method]
        if self.noise not in kinds:
            raise ValueError(f"noise must be {' or '.join(map(repr, kinds))}, got {self.noise!r}.")
        self._check_columns(facts)
        features = self._features(facts) if features is None else features
        if features.width > MAX_FEATURES:
            raise ValueError(
                f"X has {features.width} features, counting categories: at most {MAX_FEATURES} are allowed."
            )
        task = Task(
            self._loss(facts),
            features.width,
            features.radius,
            features.length,
            measure,
            facts.unit,
            None if self.alpha is None else positive(self.alpha, "alpha"),
            self._guess(facts),
            features.directions,
        )
        assert facts.target is not None
        perturbation = kinds[self.noise](task)
        names = (*facts.features, facts.target)
        return MinimisedRisk(names, facts.declare_rows(), features, perturbation)

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        step = self._step(facts, self._measure())
        noise = {} if rows is None or self.epsilon == math.inf else {self.method: step.spread()}
        event = step.event(facts.schema, facts.unit)
        return FitPlan(event, self._measure(), noise, (), facts, step)

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        step: MinimisedRisk = plan.recipe
        self.alpha_ = float(step.regulariser)
        self._set_weights(plan.facts, door.run(step))

    def _set_weights(self, facts: Facts, weights: Floats) -> None:
        """Coefficients in the units of the columns, from weights of features in [-1, 1]."""
        constant = bool(self.fit_intercept)
        slopes = weights[:, : weights.shape[1] - constant].copy()
        intercept = weights[:, -1].copy() if constant else np.zeros(len(weights))
        at = 0
        for column in facts.columns:
            if isinstance(column, Numeric):
                half = column.width / 2
                with np.errstate(over="ignore"):
                    slope = slopes[:, at] / half if half > 0 else np.zeros(len(slopes))
                slopes[:, at] = np.nan_to_num(slope, posinf=1e300, neginf=-1e300)
                intercept -= slopes[:, at] * (float(column.lower) + half)
                at += 1
                if self._sees_values and isinstance(column, Logarithmic):
                    slopes[:, at] /= reach_of(column)
                    at += 1
            elif isinstance(column, Categorical):
                at += len(column.values)
        self.coef_: Any = slopes
        self.intercept_: Any = intercept

    def _design(self, X: Any) -> Floats:
        """Rows to predict for: numbers as they are, categories as indicators."""
        rows = self._rows(X)
        parts = []
        for place, column in enumerate(rows.columns):
            if isinstance(column, Numeric):
                parts.append(rows.numbers([place]))
                if self._sees_values and isinstance(column, Logarithmic):
                    parts.append(clamp_values(column, parts[-1]))
            else:
                assert isinstance(column, Categorical)
                codes = rows.codes([place])
                parts.append((codes == np.arange(len(column.values))).astype(np.float64))
        return np.concatenate(parts, axis=1)

    def _scores(self, X: Any) -> Floats:
        return np.asarray(self._design(X) @ self.coef_.T + self.intercept_)


@final
@dataclass(frozen=True, eq=False)
class _Balanced:
    """What is asked first, how many rows each class has, and the step that their weights go into."""

    counts: Question
    step: MinimisedRisk


@with_parameters
class RiskClassifier(RiskEstimator, PrivateClassifier):
    """A `RiskEstimator` for classes: one score for two of them, else one for each.

    Parameters
    ----------
    class_weight : mapping of class to number, or "balanced", optional
        How much the rows of each class count, relative to the largest. ``"balanced"`` lets all classes
        count alike: a twentieth of ε buys their noised counts.
    """

    class_weight: Any = None

    _sees_values = True
    _adapts_length = True
    _learned = learned.attributes(
        coef_=learned.Array("scores", "width"),
        intercept_=learned.Array("scores"),
        class_weight_=learned.IfSet(learned.Array("classes")),
    )

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        if not isinstance(self.class_weight, str):
            read_weights(self.class_weight, facts.labels)
            return super()._plan(facts, rows)
        if self.class_weight != "balanced":
            raise ValueError(
                f"class_weight must be None, 'balanced' or a mapping, got {self.class_weight!r}."
            )
        fit, buy = _divide(self._measure())
        counts, step = facts.ask(Count(by=facts.target), buy), self._step(facts, fit)
        event = together([counts.event, step.event(facts.schema, facts.unit)])
        noise = {} if rows is None or self.epsilon == math.inf else {self.method: step.spread()}
        recipe = _Balanced(counts, step)
        return FitPlan(event, self._measure(), noise, (counts.query,), facts, recipe)

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        facts, step = plan.facts, plan.recipe
        if isinstance(step, _Balanced):
            release = step.counts.release(door)
            noise = float(np.max(release.stderr))
            weights: Any = balanced_weights(np.asarray(release.value), noise)
            step = step.step
        else:
            weights = read_weights(self.class_weight, facts.labels)
        if weights is not None:
            self.class_weight_ = np.array(weights)[self._by_class(facts)]
        elif hasattr(self, "class_weight_"):
            del self.class_weight_
        super()._train(replace(plan, recipe=step.with_weights(weights)), door)

    def _class_count(self, facts: Facts) -> int:
        count = len(facts.labels)
        if count > MAX_CLASSES:
            raise ValueError(f"classes: there are {count}, at most {MAX_CLASSES} are allowed.")
        return max(2, count)

    def _set_weights(self, facts: Facts, weights: Floats) -> None:
        if len(facts.labels) > 2:
            weights = weights[self._by_class(facts)]
        elif list(self.classes_) != list(facts.labels):
            weights = -weights
        super()._set_weights(facts, weights)

    def decision_function(self, X: Any) -> Floats:
        """The score of the second class, or of each class."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class with the largest score, for each row."""
        scores = self._scores(X)
        place = scores.argmax(axis=1)
        if len(self.classes_) == 2:
            place = (scores[:, 0] > 0).astype(np.intp)
        return np.asarray(self.classes_[place])


def _divide(measure: Measure) -> tuple[Measure, PureDP]:
    """The budgets of a fit and of the counts before it; ε adds up, and the fit has all of δ."""
    assert isinstance(measure, PureDP | ApproxDP)
    if isinstance(measure.epsilon, float):  # public rows
        return measure, PureDP(math.inf)
    rest = measure.epsilon * (1 - BALANCE_SHARE)
    counts = PureDP(measure.epsilon * BALANCE_SHARE)
    return (
        ApproxDP(rest, measure.delta) if isinstance(measure, ApproxDP) else PureDP(rest)
    ), counts
