"""Linear regression from noised second moments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from discreet.columns import Numeric
from discreet.dataset import PrivateDataset
from discreet.measures import ApproxDP, Measure, PureDP
from discreet.models import learned
from discreet.models.facts import Facts, Question
from discreet.models.linear_model.asking import (
    Scales,
    ask_with_target,
    equations,
)
from discreet.models.linear_model.minimising import Minimised, has_few_rows, plan_minimised
from discreet.models.linear_model.shrinking import Bought, shrunk, shrunk_through_zero
from discreet.models.linear_model.solving import (
    FUNCTIONAL_RIDGE,
    Solution,
    coefficient_variances,
    entry_noise,
    functional,
    unshrunk,
)
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.models.shares import together
from discreet.models.targets import PrivateRegressor
from discreet.queries import NormalEquations
from discreet.rational import as_integer, non_negative

Floats = npt.NDArray[np.float64]
METHODS = ("sufficient_statistics", "functional", "objective")
#: Ledgers that can't count noise in the objective that has a δ, and charge pure ε at several times its price.
COUNTING_RHO = ("zcdp", "renyi")


def target_column(facts: Facts, who: str) -> Numeric:
    """The declaration of a numeric target."""
    assert facts.target is not None
    column = facts.schema[facts.target]
    if not isinstance(column, Numeric):
        raise ValueError(
            f"{who} predicts numbers: the target {facts.target!r} must be dp.Real(lower, upper) or "
            f"dp.Integer(lower, upper), not {column!r}."
        )
    return column


class LinearPredictor(PrivateRegressor):
    """What fitted lines share: predictions between the declared bounds of the target."""

    _numbers_only = True

    def predict(self, X: Any) -> Floats:
        """The predicted value of each row, within the declared bounds of the target."""
        found = self._rows(X).numbers() @ self.coef_ + self.intercept_
        return np.asarray(np.clip(found, *self.target_range_))

    def _set_line(self, solution: Solution, features: Scales, target: Scales) -> None:
        """The coefficients in the units of the columns."""
        self.coef_ = features.divide(solution.slopes * target.half[0])
        middle = float(target.middle[0] + target.half[0] * solution.intercept)
        self.intercept_ = middle - float(self.coef_ @ features.middle)


@final
@dataclass(frozen=True, eq=False)
class _Recipe:
    """The equations that are asked for, and the target's moments if they are bought apart."""

    moments: Question | None
    question: Question


@with_parameters
class LeastSquares(LinearPredictor):
    """Shared by `LinearRegression` and `Ridge`.

    Parameters
    ----------
    fit_intercept : bool
    method : {"sufficient_statistics", "objective", "functional"}, optional
        *sufficient_statistics*: noised sums; a fifth of the budget (with more than seven features 1/35 for
        each, at most three fifths; above ε = 1 that part over ε, at least a tenth) buys mean and variance of
        the target, and slopes are shrunk by what the noise says about them, so that where nothing can be
        learned from the features the mean is predicted.
        *objective*: rows are read, and noise is added to the objective (as in `svm.LinearSVR`). Its noise
        grows with the number of features and not with the number of their products, so that it learns much
        more from few rows or many features. A part of ε, a hundred over ε·`expected_rows` between a tenth
        and a half, buys mean and variance of the target; then residuals are squared up to one of its
        deviations (two, where ε·`expected_rows` is at least 600 for each feature) and grow linearly from
        twice that on; targets beyond two deviations count as these, so that a skewed target's mean is missed
        by what its outliers are. Rows whose scaled features are longer than √(1 + d/3) are scaled down to
        it. A ledger that counts ρ or Rényi divergences takes it with δ = 0 alone.
        *functional*: the noised polynomial of the functional mechanism (Zhang et al. 2012), which has no
        square of the target. With two features or more it is solved as *sufficient_statistics*: as
        published, without centring and with a fixed ridge, it was far worse than the target's mean on few
        rows. With one feature it is solved as published. It is there to be compared with, and no better.
        By default *objective* where `expected_rows` says that noised sums would tell less: fewer rows than
        250·√d deviations of a sum's noise; else, and with δ > 0 in such a ledger,
        *sufficient_statistics*.
    expected_rows : int, optional
        A public guess of the number of rows; the number itself where it is public. With few rows, or many
        features, it is worth giving.
    """

    fit_intercept: bool = True
    method: str | None = None
    expected_rows: int | None = None

    _learned = learned.attributes(
        coef_=learned.Array("features"),
        intercept_=learned.Number(),
        target_range_=learned.Together(learned.Number(), learned.Number()),
        method_=learned.Text(),
        ridge_=learned.Number(),
        noise_=learned.Number(),
        _equations=learned.IfSet(learned.Array("unknowns", "unknowns")),
        _scales=learned.Together(
            learned.Record(
                Scales, middle=learned.Array("features"), half=learned.Array("features")
            ),
            learned.Record(Scales, middle=learned.Array(1), half=learned.Array(1)),
        ),
        _counted=learned.Flag(),
    )
    _log_scaling = True

    @property
    def _claims(self) -> tuple[str, ...]:  # type: ignore[override]
        method = getattr(self, "method_", self.method)  # before a fit perhaps any
        claims = ("linear-regression",) if method != "objective" else ()
        return claims if method in METHODS[:2] else (*claims, "minimised-regression")

    def _penalty(self) -> float:
        """The ridge that was asked for, in the units of the columns."""
        return 0.0

    def _check(self, facts: Facts) -> tuple[Scales, Scales]:
        name = type(self).__name__
        if self.method is not None and self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {self.method!r}.")
        if self.method in ("functional", "objective") and not self.fit_intercept:
            raise ValueError(f"fit_intercept must be True with method={self.method!r}.")
        return Scales.of(facts.numeric(name)), Scales.of((target_column(facts, name),))

    def _query(self, facts: Facts, budget: Measure) -> NormalEquations:
        square = self.method != "functional"
        return equations(facts, budget, facts.features, facts.target, square=square)

    def _guess(self, facts: Facts) -> int | None:
        """The number of rows to expect; None where nobody says."""
        if self.expected_rows is None:
            return facts.rows
        return as_integer(self.expected_rows, "expected_rows", minimum=1)

    def _penalties(self, features: Scales) -> Floats:
        """A ridge for each slope, in scaled units; as good as infinite ones are finite in sums."""
        with np.errstate(over="ignore"):
            penalty = self._penalty() * features.divide(features.divide(np.ones(1)))
        return np.asarray(np.minimum(penalty, 1e100))

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        features, target = self._check(facts)
        measure = self._measure()
        assert isinstance(measure, PureDP | ApproxDP)
        ridge = float(self._penalties(features).max(initial=0.0))
        if self.method == "objective":
            return self._plan_step(plan_minimised(facts, measure, self._guess(facts), ridge), rows)
        question = facts.ask(self._query(facts, measure), measure)
        minimised = self._minimised(facts, question, ridge)
        if minimised is not None:
            return self._plan_step(minimised, rows)
        return self._plan_sums(facts, rows, question, (features, target))

    def _minimised(self, facts: Facts, question: Question, ridge: float) -> Minimised | None:
        """What is asked where rows are read by default; None where sums are better, or wanted."""
        measure, guess = self._measure(), self._guess(facts)
        assert isinstance(measure, PureDP | ApproxDP)
        if self.method is not None or not self.fit_intercept:
            return None
        if not has_few_rows(facts, guess, question):
            return None
        if isinstance(measure, ApproxDP) and measure.delta and facts.composition in COUNTING_RHO:
            return None
        try:
            found = plan_minimised(facts, measure, guess, 0.0)
        except ValueError:  # its noise can't be drawn, or no minimum be found with so much of it
            return None
        # a larger ridge would bear on all slopes, not just on those for which it was asked
        return found if ridge <= found.step.regulariser else None

    def _plan_step(self, found: Minimised, rows: int | None) -> FitPlan:
        noise = {} if rows is None else {"objective": found.step.spread()}
        measure, asked = self._measure(), (found.moments.query,)
        assert isinstance(measure, PureDP | ApproxDP)
        return FitPlan(found.event, found.charged(measure), noise, asked, found.facts, found)

    def _plan_sums(
        self, facts: Facts, rows: int | None, question: Question, scales: tuple[Scales, Scales]
    ) -> FitPlan:
        features, target = scales
        measure, query, moments = self._measure(), question.query, None
        assert isinstance(measure, PureDP | ApproxDP)
        assert isinstance(query, NormalEquations)
        event, charged = question.event, question.measure
        apart = ask_with_target(facts, measure, query) if self.fit_intercept else None
        if apart is not None:
            charged, moments, question = apart
            event = together((moments.event, question.event))
        noise = {}
        if rows is not None:
            spread = float(question.expected_error(rows)[0, 1])
            # of features spread evenly between their bounds, whose variance is a third of half², and
            # small coefficients, before they are shrunk
            even = np.full(len(features.half), 3.0 * spread / max(rows, 1) * target.half[0])
            noise = {"coef_": features.divide(even)}
        recipe = _Recipe(moments, question)
        asked = (question.query,) if moments is None else (moments.query, question.query)
        return FitPlan(event, charged, noise, asked, facts, recipe)

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        recipe: _Recipe | Minimised = plan.recipe
        features, target = scales = self._check(plan.facts)
        if isinstance(recipe, Minimised):
            solution = recipe.run(door, target)
            self.method_, self.noise_ = "objective", recipe.step.spread()
            self._equations, self._counted = None, False
        else:
            solution = self._solve(plan, door, scales)
            self.method_ = self.method or METHODS[0]
        self._set_line(solution, features, target)
        if not self.fit_intercept:
            self.intercept_ = 0.0
        middle, half = target.middle[0], target.half[0]
        self.target_range_ = (float(middle - half), float(middle + half))
        self.ridge_ = solution.ridge
        self._scales = scales

    def _solve(
        self, plan: FitPlan, door: PrivateDataset, scales: tuple[Scales, Scales]
    ) -> Solution:
        """Ask for the sums, and solve them."""
        recipe: _Recipe = plan.recipe
        features, target = scales
        bought = None if recipe.moments is None else Bought.of(recipe.moments.release(door), target)
        release = recipe.question.release(door)
        matrix = release.value
        noise = entry_noise(release.stderr)
        self.noise_, self._equations = noise, matrix
        query = recipe.question.query
        assert isinstance(query, NormalEquations)
        self._counted = not query.count_is_public(plan.facts.schema, plan.unit)
        penalty = self._penalties(features)
        if self.method == "functional" and bought is None:
            left = matrix[:-1, :-1] + np.diag([0.0, *penalty])
            found = functional(left, matrix[:-1, -1], noise)
            return Solution(float(found[0]), found[1:], FUNCTIONAL_RIDGE * noise)
        if self.fit_intercept:
            return shrunk(matrix, noise, penalty, bought)
        middles = np.concatenate([features.divide(features.middle), target.divide(target.middle)])
        return shrunk_through_zero(matrix, noise, penalty, middles)

    def coefficient_intervals(self, level: float = 0.95, *, sampling: bool = True) -> Floats:
        """Intervals for the coefficients, of shape (features, 2).

        Parameters
        ----------
        level : float
            The probability with which each interval, taken alone, covers its coefficient.
        sampling : bool
            If true, they cover the coefficients of the population of which the rows are a random sample
            (errors of equal variance); else those of these very rows, so only the noise counts.

        Returns
        -------
        array of shape (n_features, 2)
            About the coefficients before they were shrunk, so `coef_` is nearer to 0. Infinite where too
            little is known (``ridge_ > 0``), with a penalty, which biases them, for any method but
            ``"sufficient_statistics"``, and without an intercept.

        Notes
        -----
        By the delta method: to first order in the noise, with its exact covariance, normal quantiles,
        and clamped rows taken as they are. With Laplace noise on few sums the quantiles are approximate.
        """
        check_is_fitted(self, "privacy_")
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level!r}.")
        biased = self.method_ != METHODS[0] or self.ridge_ > 0 or self._penalty() > 0
        if self._equations is None or biased or not self.fit_intercept:
            return np.tile([-np.inf, np.inf], (self.n_features_in_, 1))
        solution = unshrunk(self._equations)
        variances = coefficient_variances(
            self._equations, solution, self.noise_, self._counted, sampling
        )
        features, target = self._scales
        found = features.divide(solution.slopes * target.half[0])
        error = features.divide(np.sqrt(variances[1:]) * target.half[0])
        reach = -float(ndtri((1 - level) / 2)) * error
        return np.stack([found - reach, found + reach], axis=1)


@final
@with_parameters
class LinearRegression(LeastSquares):
    """Ordinary least squares from noised second moments or, with few rows, with noise in the objective.

    Parameters
    ----------
    epsilon, delta : number
        The budget; with ``delta=0`` pure DP (Laplace noise), else the less noisy of Laplace and Gaussian.

    Attributes
    ----------
    coef_, intercept_ : array, float
        In the units of the columns.
    method_ : str
        The method that was taken.
    ridge_ : float
        What the diagonal of the scaled equations lacks for the noise to be small in every direction
        (Wang 2018); with ``method="functional"`` and one feature, and with ``"objective"``, what was added
        to it.
    noise_ : float
        The standard deviation of the noise of a sum, in rows; of an entry of the gradient with
        ``"objective"``.
    privacy_ : FitPrivacy

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.linear_model import LinearRegression
    >>> X = np.linspace(0, 1, 10_000)[:, None]
    >>> y = 2 + 3 * X[:, 0]
    >>> model = LinearRegression(epsilon=1, bounds=(0, 1), target_bounds=(0, 10)).fit(X, y)
    >>> bool(abs(model.coef_[0] - 3) < 1)
    True

    Privacy
    -------
    One charge for two releases: with two features or more, and an intercept, a fifth of ε (of ρ with
    Gaussian noise; up to three fifths with many features, down to a tenth above ε = 1) buys the `Moments`
    of the target, with Laplace noise for a part of ε where that is less; the rest `NormalEquations`: count,
    sums and products of the scaled columns, one vector with one noise for its joint sensitivity: under
    add/remove 1 + (d+1)(d+2)/2 rows for d features, in L1 and squared in L2, the squares of columns being
    free. With ``method="objective"`` the `Moments` with Laplace noise, then one `MinimisedRisk` step on rows
    with the rest of ε, and δ.
    Everything else, the shrinkage included, is post-processing. Unit: add/remove, or replace-one with
    public n, with or without ids. Values are clamped to the bounds, NaN counts as the column's fill; n = 0
    gives finite noise. Zero-width columns get coefficient 0. Runs on every engine.
    Proof page: ``docs/proofs/linear_model.md``.
    """


@final
@with_parameters
class Ridge(LeastSquares):
    """Least squares with a penalty on the size of the coefficients.

    Parameters
    ----------
    alpha : float
        The penalty: the sum of squared residuals plus alpha·‖coef_‖² is minimised, in the units of the
        columns, as in scikit-learn. The noise shrinks them further.
    epsilon, delta : number
        The budget; with ``delta=0`` pure DP (Laplace noise), else the less noisy of Laplace and Gaussian.

    Attributes
    ----------
    coef_, intercept_, method_, ridge_, noise_, privacy_
        As for `LinearRegression`.

    Privacy
    -------
    As `LinearRegression`: alpha is a public number. Proof page: ``docs/proofs/linear_model.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.linear_model import Ridge
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    >>> model = Ridge(epsilon=4, bounds=(-1, 1), target_bounds=(-1, 1), alpha=0.1).fit(X, X[:, 0])
    >>> model.score(X, X[:, 0]) > 0.7
    True
    """

    alpha: Any = 1.0

    def _penalty(self) -> float:
        return float(non_negative(self.alpha, "alpha"))
