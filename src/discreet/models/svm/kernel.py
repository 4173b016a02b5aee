"""Support-vector machines with a Gaussian kernel, by random Fourier features."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.columns import Categorical
from discreet.dataset import PrivateDataset
from discreet.measures import ApproxDP, PureDP
from discreet.models import learned
from discreet.models.erm.estimator import RiskClassifier, RiskEstimator
from discreet.models.erm.evened import CONSTANT as EVENED_CONSTANT
from discreet.models.erm.evened import EvenedMap
from discreet.models.erm.features import MAX_FEATURES, ONE, FeatureMap, RowMap
from discreet.models.erm.fourier import CONSTANT, FourierMap, orthogonal_frequencies
from discreet.models.erm.losses import Loss, SmoothHinge
from discreet.models.erm.regulariser import GUESSED_ROWS
from discreet.models.erm.step import MinimisedRisk
from discreet.models.facts import Facts
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.models.seeds import legacy_generator
from discreet.models.svm.evening import (
    MAX_COMPONENTS,
    MAX_WORK,
    Evening,
    divide_budget,
    is_worth_it,
    plan_evening,
)
from discreet.models.svm.residuals import ResidualRegressor, check_width
from discreet.rational import as_integer, positive

Floats = npt.NDArray[np.float64]
#: γ times the number of columns, by default; and the largest γ.
SHARPNESS, SHARPEST = 4.0, 10_000
#: The same for evened features, of which noise hides fewer.
EVENED_SHARPNESS = 20.0
#: A category counts as this many columns there: rows that differ in it are at a squared distance of 2, rows
#: spread evenly in a number of 2/3.
COLUMNS_OF_CATEGORY = 3
#: The corner of a regression, wide where ε·rows is at least this for each column: on held-out training rows
#: of Adult, bank, COMPAS, Pima, WDBC and credit approval better there, by up to 0.04 of R², and worse below.
NARROW_CORNER, WIDE_CORNER, WIDE_CORNER_ROWS = Fraction(1, 4), Fraction(1, 2), 300


@with_parameters
class KernelEstimator(RiskEstimator):
    """A `RiskEstimator` on random Fourier features of its columns.

    Parameters
    ----------
    kernel : {"rbf"}
    gamma : number, optional
        How fast the kernel falls, for columns scaled to [-1, 1]; by default 4/(number of columns), a
        category counting as three.
    n_components : int
        Random directions. The more, the smaller the kernel's error and the larger the noise (by the root
        of their number with δ > 0, faster without).
    random_state : int, Generator or RandomState, optional
        For the directions, which are public.
    """

    kernel: str = "rbf"
    gamma: Any = None
    n_components: int = 50
    random_state: Any = None

    _learned = learned.attributes(
        gamma_=learned.Number(),
        frequencies_=learned.Array("indicators", "directions"),
        turn_=learned.IfSet(learned.Array("turned", "turned")),
        centre_=learned.IfSet(learned.Array("turned")),
    )

    def _features(self, facts: Facts) -> FourierMap:
        if self.kernel != "rbf":
            raise ValueError(f"kernel must be 'rbf', got {self.kernel!r}.")
        count = as_integer(self.n_components, "n_components", minimum=1)
        if 2 * count >= MAX_FEATURES:
            raise ValueError(f"n_components must be below {MAX_FEATURES // 2}, got {count}.")
        inner = _plain(facts.columns)
        if inner.width > MAX_FEATURES:
            raise ValueError(
                f"X has {inner.width} features, counting categories: at most {MAX_FEATURES} are allowed."
            )
        self._sharpness(facts)
        # a plan is the same for all frequencies, so it has none
        return FourierMap(inner, np.zeros((inner.width, count)), bool(self.fit_intercept))

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        recipe: MinimisedRisk | Evening = plan.recipe
        step = recipe.step if isinstance(recipe, Evening) else recipe
        planned = step.features
        waves = planned.waves if isinstance(planned, EvenedMap) else planned
        assert isinstance(waves, FourierMap)
        width, count = waves.frequencies.shape
        self.gamma_ = self._sharpness(plan.facts, isinstance(recipe, Evening))
        draw = legacy_generator(self.random_state)
        self.frequencies_ = orthogonal_frequencies(width, count, self.gamma_, draw)
        if isinstance(recipe, Evening):
            evened = recipe.even_out(self.frequencies_, door)
            self.turn_, self.centre_ = evened.turn, evened.centre
            drawn: RowMap = evened
        else:
            if hasattr(self, "turn_"):  # of a fit before
                del self.turn_, self.centre_
            drawn = replace(waves, frequencies=self.frequencies_)
        super()._train(replace(plan, recipe=step.with_features(drawn)), door)

    def _sharpness(self, facts: Facts, is_evened: bool = False) -> float:
        """γ, from parameters and the kinds of the columns."""
        if self.gamma is None:
            kinds = [isinstance(column, Categorical) for column in facts.columns]
            sharpness = EVENED_SHARPNESS if is_evened else SHARPNESS
            return sharpness / sum(COLUMNS_OF_CATEGORY if kind else 1 for kind in kinds)
        gamma = positive(self.gamma, "gamma")
        if gamma > SHARPEST:
            raise ValueError(
                f"gamma must be at most {SHARPEST}, for columns scaled to [-1, 1], got {self.gamma!r}."
            )
        return float(gamma)

    def _set_weights(self, facts: Facts, weights: Floats) -> None:
        constant = bool(self.fit_intercept)
        self.coef_ = weights[:, : weights.shape[1] - constant].copy()
        size = (CONSTANT if getattr(self, "turn_", None) is None else EVENED_CONSTANT) / ONE
        self.intercept_ = weights[:, -1] * size if constant else np.zeros(len(weights))

    def _scores(self, X: Any) -> Floats:
        rows = self._rows(X)
        waves = FourierMap(_plain(rows.columns), self.frequencies_, False)
        features: RowMap = waves
        if getattr(self, "turn_", None) is not None:
            features = EvenedMap(waves, self.turn_, self.centre_, False)
        codes = rows.codes()
        parts = [
            features.block(codes[start : start + 4096]) @ self.coef_.T / ONE
            for start in range(0, max(1, len(codes)), 4096)
        ]
        return np.asarray(np.concatenate(parts) + self.intercept_)


def _plain(columns: tuple[Any, ...]) -> FeatureMap:
    """Numbers in [-1, 1] and indicators, not clipped."""
    return FeatureMap(columns, False, 2 * len(columns))


@final
@with_parameters
class SVC(RiskClassifier, KernelEstimator):
    """A support-vector machine with the kernel exp(-gamma·‖x - x'‖²), by random Fourier features.

    Columns are scaled to [-1, 1] by their bounds, categories become indicators; the kernel is replaced by the
    inner product of cosines and sines along `n_components` random directions (Rahimi & Recht 2007; orthogonal
    ones: Yu et al. 2016), on which `LinearSVC` is learned. Their norm is 1, so nothing is clipped.

    Parameters
    ----------
    width : number
        Half the width of the smoothed corner, between 1/64 and 1; a small one needs a large `alpha`.

    Attributes
    ----------
    coef_ : array of shape (1 or classes, 2·n_components)
        Of the cosines, then of the sines.
    intercept_, classes_, alpha_, gamma_, privacy_
    frequencies_ : array of shape (columns, n_components)
        The random directions; a category has a row for each of its values.

    Privacy
    -------
    One `MinimisedRisk` step on features that depend on one row and public randomness; as private as
    (epsilon, delta) says, for add/remove and replace-one, with or without ids. Rows without a declared class
    are left out. Proof page: ``docs/proofs/erm.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.svm import SVC
    >>> X = np.random.default_rng(0).uniform(-1, 1, (5000, 2))
    >>> y = (X[:, 0] * X[:, 1] > 0).astype(int)  # no line tells them apart
    >>> model = SVC(epsilon=8, bounds=(-1, 1), classes=[0, 1], n_components=20, random_state=0)
    >>> bool(model.fit(X, y).score(X, y) > 0.75)
    True
    """

    width: Any = 0.75

    def _loss(self, facts: Facts) -> Loss:
        return SmoothHinge(check_width(self.width), self._class_count(facts))


@final
@with_parameters
class SVR(ResidualRegressor, KernelEstimator):
    """Support-vector regression with the kernel exp(-gamma·‖x - x'‖²), by random Fourier features.

    Where there are many rows for the noise, features are evened: a twentieth of ε buys the histogram of each
    column, from which follow about the mean and the covariance of the Fourier features; these are centred,
    and scaled so that they vary alike in all directions in which they vary at all, so that noise doesn't hide
    the finer bends of the curve. The columns themselves are joined, with a quarter of the squared norm, and
    longer rows are scaled down. `gamma` is then by default 20/(number of columns). That is done with exact
    noise in the objective, at most 256 directions whose square times the number of columns is at most 2^21,
    and numbers alone, where `expected_rows` (under replace-one the number of rows, if nothing is said) is at
    least 1000 and 1200 deviations of the noise, and times ε at least 600 for each column.

    Parameters
    ----------
    width : number, optional
        Half the width of the smoothed corner, between 1/64 and 1, in half-widths of the target's bounds. By
        default 1/2 where ε·`expected_rows` is at least 300 for each column, so that noise no longer hides
        what a wide corner bends less; else 1/4.

    Attributes
    ----------
    coef_ : array of shape (2·n_components,), or (2·n_components + columns,) of evened features
    intercept_ : float
    centre_, turn_ : arrays
        Of evened features only: what is taken off cosines, sines and columns, and what they are then
        multiplied by.
    alpha_, gamma_, frequencies_, privacy_
        As for `SVC`.

    Privacy
    -------
    As for `SVC`; for evened features a `Count` by bins of each column comes first. Their ε adds up with that
    of the step, which has all of δ and whose event is the same for all centres and turns.
    Proof page: ``docs/proofs/erm.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.svm import SVR
    >>> X = np.random.default_rng(0).uniform(-1, 1, (5000, 1))
    >>> model = SVR(epsilon=8, bounds=(-1, 1), target_bounds=(0, 1), n_components=10, random_state=0)
    >>> bool(model.fit(X, X[:, 0] ** 2).score(X, X[:, 0] ** 2) > 0.5)
    True
    """

    width: Any = None

    def _corner(self, facts: Facts) -> Any:
        if self.width is not None:
            return self.width
        measure = self._measure()
        assert isinstance(measure, PureDP | ApproxDP)
        rows = measure.epsilon * (self._guess(facts) or GUESSED_ROWS)
        return WIDE_CORNER if rows >= WIDE_CORNER_ROWS * len(facts.features) else NARROW_CORNER

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        evening = self._evening(facts)
        if evening is None:
            return super()._plan(facts, rows)
        is_noised = rows is not None and self.epsilon != math.inf
        noise = {self.method: evening.step.spread()} if is_noised else {}
        asked = tuple(question.query for question in evening.asked)
        return FitPlan(evening.event, self._measure(), noise, asked, facts, evening)

    def _evening(self, facts: Facts) -> Evening | None:
        """The plan for evened features; None where they don't pay."""
        if (self.method, self.noise) != ("objective", "exact"):
            return None
        self._check_columns(facts)
        waves = self._features(facts)
        columns, count = waves.frequencies.shape
        if count > MAX_COMPONENTS or columns * count**2 > MAX_WORK:
            return None
        measure = self._measure()
        assert isinstance(measure, PureDP | ApproxDP)
        guess = self._guess(facts)
        if not guess or not is_worth_it(facts, measure.epsilon, guess, 0.0):
            return None  # where rows may be few, features that noise has evened tell less than plain ones
        first, rest = divide_budget(measure)
        planned = EvenedMap.without_turn(replace(waves, constant=False), waves.constant)
        step = self._step(facts, rest, planned)
        if not is_worth_it(facts, measure.epsilon, guess, step.spread()):
            return None
        return plan_evening(facts, first, step)
