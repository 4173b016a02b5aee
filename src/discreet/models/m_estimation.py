"""Any estimator with sample weights, fitted to a noised histogram."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, final

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from discreet.columns import Categorical, Numeric
from discreet.dataset import PrivateDataset
from discreet.deprecation import former_method
from discreet.models import learned
from discreet.models.base import PrivateEstimator
from discreet.models.cells import CELLS, Axis, Cells, axis_of, default_bins, read_bins
from discreet.models.facts import Facts, Question
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.models.targets import BoundedEstimator
from discreet.queries import CentredSums, Count, WithColumns
from discreet.queries.additive import Additive, Floats
from discreet.rational import as_integer, rational
from discreet.release import Release

__all__ = ["HistogramMEstimator", "keep_cells", "means", "threshold"]

F = TypeVar("F", bound=Callable[..., Any])

#: The most cells of features and target together; more are refused.
MAX_CELLS = 2**17
#: The assumed number of rows where nothing is known about it.
DEFAULT_ROWS = 10_000
#: How many rows with the overall mean are added to each cell, as a share of the threshold (measured).
PULL = 0.25


def _if_inner_has(name: str) -> Callable[[F], F]:
    """A method that exists if the inner estimator has one of this name."""

    def has(estimator: Any) -> bool:
        return hasattr(getattr(estimator, "estimator_", estimator._inner()), name)

    found: Callable[[F], F] = available_if(has)
    return found


@final
@dataclass(frozen=True, eq=False)
class _Recipe:
    """The cells of the features, those of the target if it is cut, and what is asked of them."""

    cells: Cells
    target: Axis | None
    question: Question


@final
@with_parameters
class HistogramMEstimator(BoundedEstimator):
    """Any scikit-learn estimator, fitted to the cells of a noised histogram instead of the rows.

    The table is cut into public cells, their counts are noised once, and the estimator is fitted to the
    middles of the cells, weighted by what the noise left of the counts (Lei 2011). Whatever the estimator
    does is post-processing. Numbers reach it scaled by their bounds to [-1, 1], categories as indicators.
    Use it for few columns: cells multiply.

    Parameters
    ----------
    estimator : classifier or regressor whose ``fit`` takes ``sample_weight``
        ``LogisticRegression()`` by default. It is cloned, never fitted itself.
    classes : sequence, optional
        For classifiers: the classes. With `bounds`, this declares what a `schema` would.
    target_bounds : pair, optional
        For regressors: lower and upper bound of the target. With `bounds`, this declares what a `schema`
        would.
    bins : int, sequence or mapping, optional
        How numbers are cut: one number of even bins for all, or for each feature (in order, or by name) a
        number or the cuts themselves, which suit amounts that are mostly small. 1 leaves a column out. By
        default up to 16, from the budget, the number of columns and `expected_rows`.
    target_bins : int or sequence of cuts, optional
        For regressors: cut the target as well, and fit to the middles of its bins, as any loss but squared
        error needs. By default each cell has its noised mean of the target instead.
    expected_rows : int, optional
        A public guess of the number of rows, for the default of `bins`; 10000 by default.

    Attributes
    ----------
    estimator_ : the fitted clone
    classes_ : array
        For classifiers.
    weights_ : array of shape (n_cells_,)
        The weights of the cells: noised counts, with those within the noise set to 0.
    n_cells_ : int
    privacy_ : FitPrivacy

    Privacy
    -------
    One person moves `max_rows` counts by one each (add/remove), twice as many under replace-one. One
    noised vector, one event. The cells are public: bins are declared, or follow from public facts. A
    row with an undeclared category or class is left out; NaN counts as the column's fill; without rows the
    weights are what noise leaves. Proof page: ``docs/proofs/m_estimation.md``.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from discreet.models.m_estimation import HistogramMEstimator
    >>> model = HistogramMEstimator(LinearRegression(), bounds=(0, 1), target_bounds=(0, 9))
    >>> model.plan(n_features=2).measure
    PureDP(epsilon=1)
    """

    _claims = ("histogram-m-estimator",)
    _learned = learned.attributes(
        weights_=learned.Array("cells"),
        n_cells_=learned.Count(),
        estimator_=learned.Inner(),
        _layout=CELLS,
        _cases=learned.Together(
            learned.Array("used", "width"),
            learned.Array("used", dtype="labels"),
            learned.Array("used"),
        ),
    )

    estimator: Any = field(default=None, kw_only=False)
    classes: Any = None
    target_bounds: Any = None
    bins: Any = None
    target_bins: Any = None
    expected_rows: int | None = None

    def _inner(self) -> Any:
        return LogisticRegression() if self.estimator is None else self.estimator

    @property
    def _target(self) -> Literal["none", "class", "number"]:  # type: ignore[override]
        return "class" if is_classifier(self._inner()) else "number"

    def _check_inner(self) -> Any:
        inner = self._inner()
        if not (is_classifier(inner) or is_regressor(inner)):
            raise TypeError(
                "estimator must be a classifier or a regressor of scikit-learn, as in "
                f"LogisticRegression(), not {inner!r}."
            )
        if isinstance(inner, PrivateEstimator):
            raise TypeError("estimator must be a plain model: the histogram is private already.")
        if not has_fit_parameter(inner, "sample_weight"):
            raise TypeError(
                f"estimator must take sample_weight in fit, which {type(inner).__name__} doesn't: a cell "
                "counts as often as it has rows. Give a model itself, not a pipeline: numbers are scaled "
                "already."
            )
        return inner

    def _cells(self, facts: Facts) -> tuple[Cells, Axis | None]:
        """The cells of the features, and of the target if it is cut."""
        declared = self._bins(facts)
        axes = [
            axis_of(name, column, declared.get(name, 1))
            for name, column in zip(facts.features, facts.columns, strict=True)
        ]
        cells, target = Cells(tuple(axes)), self._target_axis(facts)
        total = cells.count * (1 if target is None else target.size)
        if total > MAX_CELLS:
            shown = f"{total:,}" if total < 10**15 else f"about 10^{len(str(total)) - 1}"
            raise ValueError(
                f"bins: the columns make {shown} cells in all (the target among them), more than "
                f"{MAX_CELLS:,}, and most of them would hold noise alone. Name fewer columns in the schema, "
                "or ask for fewer bins, as in bins=2, or bins=1 for a column that matters little."
            )
        return cells, target

    def _bins(self, facts: Facts) -> dict[str, Any]:
        numbers = [
            name
            for name, column in zip(facts.features, facts.columns, strict=True)
            if isinstance(column, Numeric) and column.width
        ]
        found = {} if self.bins is None else dict(read_bins(self.bins, facts.features))
        left = [name for name in numbers if name not in found]
        if left:
            target = self._target_axis(facts)
            others = 1 if target is None else target.size
            for name, column in zip(facts.features, facts.columns, strict=True):
                if name not in left:
                    others *= axis_of(name, column, found.get(name, 1)).size
            usual = default_bins(self._signal(facts), len(left), others)
            while usual > 2 and others * usual ** len(left) > MAX_CELLS:
                usual -= 1
            found |= dict.fromkeys(left, usual)
        return found

    def _signal(self, facts: Facts) -> float:
        """ε times the expected number of rows, for one row of each person."""
        rows = facts.rows
        if self.expected_rows is not None:
            rows = as_integer(self.expected_rows, "expected_rows", minimum=1)
        elif rows is None:
            rows = DEFAULT_ROWS
        epsilon = 1e9 if self.epsilon == math.inf else float(rational(self.epsilon, "epsilon"))
        # counts, and sums
        asked = 2 if self._target == "number" and self.target_bins is None else 1
        return epsilon * rows / facts.unit.rows_per_person / asked

    def _target_axis(self, facts: Facts) -> Axis | None:
        assert facts.target is not None
        column = facts.schema.base[facts.target]
        if self._target == "class":
            if not isinstance(column, Categorical):
                raise ValueError(f"the target {facts.target!r} must be dp.Categorical.")
            if len(column.values) < 2:
                raise ValueError("classes: a classifier needs more than one class.")
            return axis_of(facts.target, column, 1)
        if not isinstance(column, Numeric):
            raise ValueError(
                f"the target {facts.target!r} must be dp.Real or dp.Integer: the estimator is a regressor."
            )
        if self.target_bins is None:
            return None
        (cuts,) = read_bins([self.target_bins], [facts.target]).values()
        return axis_of(facts.target, column, cuts)

    def _query(self, facts: Facts, cells: Cells, target: Axis | None) -> Additive:
        assert facts.target is not None
        if target is None:
            asked: Additive = CentredSums(facts.target, by=cells.by or None)
        else:
            cells = Cells((*cells.axes, target))
            asked = Count(by=cells.by or None)
        return WithColumns(asked, cells.derived) if cells.derived else asked

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        self._check_inner()
        cells, target = self._cells(facts)
        asked = facts.ask(self._query(facts, cells, target), self._measure())
        noise = {}
        if rows is not None:
            noise = {"weights_": float(np.max(np.asarray(asked.expected_error(rows))[..., 0]))}
        return FitPlan.from_question(facts, asked, noise, _Recipe(cells, target, asked))

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        recipe: _Recipe = plan.recipe
        facts, cells, target = plan.facts, recipe.cells, recipe.target
        release = recipe.question.release(door)
        points = cells.points()
        if target is None:
            counts, sums = np.asarray(release.value, np.float64).reshape(-1, 2).T
            noise = threshold(release, counts)
            self.weights_ = keep_cells(counts, noise)
            answers = self._unscale(facts, means(counts, sums, noise * PULL))
        else:
            counts = np.asarray(release.value, np.float64).reshape(-1, target.size)
            at_least = threshold(release, counts)
            if self._target == "class":
                counts = counts[:, self._by_class(facts)]
                by_class = [keep_cells(column, at_least) for column in counts.T]
                self.weights_ = np.stack(by_class, axis=1).ravel()
                answers = np.tile(self.classes_, cells.count)
            else:
                self.weights_ = keep_cells(counts.ravel(), at_least)
                answers = np.tile(self._unscale(facts, target.points[:, 0]), cells.count)
            points = np.repeat(points, target.size, axis=0)
        self.n_cells_ = len(self.weights_)
        used = np.flatnonzero(self.weights_)
        self._layout, self._cases = cells, (points[used], answers[used], self.weights_[used])
        self._fit_inner()

    def _fit_inner(self) -> None:
        points, answers, weights = self._cases
        self.estimator_ = clone(self._check_inner()).fit(points, answers, sample_weight=weights)

    refitted = former_method("refitted", "refit")

    def refit(self, estimator: Any) -> HistogramMEstimator:
        """Fit another estimator to the same noised cells: post-processing, so nothing is charged.

        Parameters
        ----------
        estimator : classifier or regressor
            Of the same kind as the one that was fitted.
        """
        check_is_fitted(self, "privacy_")
        other = copy.copy(self)
        other.estimator = estimator
        if other._target != self._target:
            raise ValueError(
                "estimator must be a classifier where a classifier was fitted, a regressor where a regressor "
                "was: the cells hold what that one needs."
            )
        other._fit_inner()
        return other

    def _unscale(self, facts: Facts, values: Floats) -> Floats:
        assert facts.target is not None
        column = facts.schema.base[facts.target]
        assert isinstance(column, Numeric)
        return np.asarray(float(column.lower) + (values + 1.0) / 2.0 * column.width)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The fitted estimator's predictions for rows."""
        design = self._design(X)
        return np.asarray(self.estimator_.predict(design))

    @_if_inner_has("predict_proba")
    def predict_proba(self, X: Any) -> Floats:
        """The classes' probabilities for each row, in the order of ``classes_``."""
        design = self._design(X)
        return np.asarray(self.estimator_.predict_proba(design))

    @_if_inner_has("decision_function")
    def decision_function(self, X: Any) -> Floats:
        """The scores of the fitted estimator."""
        design = self._design(X)
        return np.asarray(self.estimator_.decision_function(design))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of a classifier, R² of a regressor."""
        judge = accuracy_score if self._target == "class" else r2_score
        return float(judge(y, self.predict(X), sample_weight=sample_weight))

    def _design(self, X: Any) -> Floats:
        rows = self._rows(X)  # raises first if there was no fit
        return self._layout.design(rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._inner())
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = copy.deepcopy(inner.classifier_tags)
        tags.regressor_tags = copy.deepcopy(inner.regressor_tags)
        return tags


def threshold(release: Release, counts: Floats) -> float:
    """The count that about one empty cell in every two tables exceeds: noise at the level of 1/cells.

    Examples
    --------
    >>> import discreet as dp
    >>> from discreet.models.m_estimation import threshold
    >>> schema, ledger = dp.Schema(ward=dp.Categorical("A", "B")), dp.Ledger(limit=dp.PureDP(1))
    >>> data = dp.PrivateDataset({"ward": ["A", "B"] * 50}, schema, ledger=ledger)
    >>> counts = data.release(dp.Count(by="ward"), dp.PureDP(1))
    >>> 0 < threshold(counts, counts.value) < 5
    True
    """
    if counts.size < 2:
        return 0.0
    interval = release.noise_interval(1 - 1 / counts.size)
    upper = np.asarray(interval.upper, np.float64).reshape(counts.size, -1)[:, 0]
    return float(upper[0] - counts.ravel()[0])


def keep_cells(counts: Floats, at_least: float) -> Floats:
    """Weights of cells from noisy counts: those above the threshold, scaled so that the total is unbiased.

    If none is above, all cells weigh the same. The total is at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.m_estimation import keep_cells
    >>> keep_cells(np.array([90.0, 8.0, 2.0]), at_least=10)
    array([100.,   0.,   0.])
    """
    total = max(float(counts.sum()), 1.0)
    large = np.where(counts > max(at_least, 0.0), counts, 0.0)
    found = large if large.any() else np.ones_like(counts)
    return np.asarray(found * (total / found.sum()))


def means(counts: Floats, sums: Floats, pull: float) -> Floats:
    """The mean of each cell from noisy counts and sums, as if `pull` more rows had the mean of all.

    >>> means(np.array([10.0, 0.0]), np.array([5.0, 0.0]), pull=1.0)
    array([0.5, 0.5])
    """
    middle = float(np.clip(sums.sum() / max(counts.sum(), 1.0), -1.0, 1.0))
    rows = np.maximum(counts, 0.0) + pull
    found = np.where(rows > 0, (sums + middle * pull) / np.where(rows > 0, rows, 1.0), middle)
    return np.asarray(np.clip(found, -1.0, 1.0))
