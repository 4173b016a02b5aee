"""Logistic regression: noise in the objective, on the minimiser, or on second-order sums."""

from __future__ import annotations

from typing import Any, final

import numpy as np
import numpy.typing as npt
from scipy.special import log_expit

from discreet.columns import Logarithmic
from discreet.dataset import PrivateDataset
from discreet.models import learned
from discreet.models.erm.estimator import RiskClassifier
from discreet.models.erm.losses import Logistic, Loss, Softmax
from discreet.models.facts import Facts, Question
from discreet.models.linear_model.asking import Scales, equations
from discreet.models.linear_model.solving import entry_noise, functional
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.queries import NormalEquations

Floats = npt.NDArray[np.float64]
METHODS = ("objective", "output", "functional")


@final
@with_parameters
class LogisticRegression(RiskClassifier):
    """Logistic regression by objective perturbation, output perturbation or the functional mechanism.

    ``"objective"`` (the default) minimises Σ log-loss + (alpha/2)·‖w‖² + b·w with a random b (Chaudhuri,
    Monteleoni & Sarwate 2011; Kifer, Smith & Thakurta 2012); ``"output"`` minimises without b and adds
    noise to the weights. Both are joint over classes. ``"functional"`` replaces the loss by its Taylor
    polynomial of second order, whose coefficients are noised sums (Zhang et al. 2012), one model for each
    class against the others where there are more than two.

    Parameters
    ----------
    epsilon, delta : number
        The budget; with ``delta=0`` pure DP (Laplace noise), else the less noisy of Laplace and Gaussian.
    schema : Schema, optional
        Declares features and target. Categories become indicators, except with ``"functional"``, which
        takes numbers only.
    method : {"objective", "output", "functional"}
        Where the noise goes, as above. ``"functional"`` takes no `alpha` and no `norm`, always fits an
        intercept, and has only ``"exact"`` noise.

    Attributes
    ----------
    coef_ : array of shape (1, features), or (classes, features) with more than two classes
        In the units of the columns; a category has one for each of its values, a column on a logarithmic
        scale two: of its place on the scale, and of its value up to a quarter of the larger bound (0 for
        ``"functional"``).
    intercept_ : array
    classes_ : array
    alpha_ : float
        The Λ that was used; not for ``"functional"``.
    noise_ : float
        The standard deviation of the noise of a sum, in rows; for ``"functional"`` only.
    privacy_ : FitPrivacy

    Notes
    -----
    ``"functional"`` noises a sum for every pair of features, with noise that grows with their number: it is
    dominated by ``"objective"`` wherever rows can be read one by one, most of all with many features and few
    rows (on breast cancer, with 30 features and 400 rows, it is no better than chance at ε = 1). Its use is
    with engines that only add up, few features and many rows.

    Privacy
    -------
    ``"objective"`` and ``"output"``: one `MinimisedRisk` step; proof page ``docs/proofs/erm.md``.
    ``"functional"``: one release of `NormalEquations`: for two classes with the class as ±1, for more by
    class; one vector with one noise for its exact joint sensitivity on the box of the bounds, not the
    published one, which is for ‖x‖ ≤ 1 and counts products twice; it runs on every engine; proof page
    ``docs/proofs/linear_model.md``. Everything else is post-processing. Unit: add/remove, or replace-one,
    with or without ids. Rows without a declared class are left out; n = 0 and one class give finite
    predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.linear_model import LogisticRegression
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = LogisticRegression(epsilon=4, bounds=(-1, 1), classes=[0, 1]).fit(X, y)
    >>> model.score(X, y) > 0.8
    True
    """

    norm: Any = None

    _learned = learned.attributes(noise_=learned.IfSet(learned.Number()))

    @property
    def _claims(self) -> tuple[str, ...]:  # type: ignore[override]
        if self.method == "functional":
            return ("functional-logistic-regression",)
        return super()._claims

    def _loss(self, facts: Facts) -> Loss:
        count = self._class_count(facts)
        return Logistic() if count == 2 else Softmax(count)

    def _query(self, facts: Facts) -> NormalEquations:
        facts.numeric("LogisticRegression")
        two = len(facts.labels) == 2
        return equations(
            facts,
            self._measure(),
            facts.features,
            facts.target if two else None,
            square=False,
            by=None if two else facts.target,
        )

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        if self.method not in METHODS:
            raise ValueError(
                f"method must be 'objective', 'output' or 'functional', got {self.method!r}."
            )
        if self.method != "functional":
            return super()._plan(facts, rows)
        if self.class_weight is not None:
            raise ValueError(
                "class_weight must be None with method='functional': it has no weights."
            )
        if self.noise != "exact":
            raise ValueError(f"noise must be 'exact' with method='functional', got {self.noise!r}.")
        question = facts.ask(self._query(facts), self._measure())
        noise = {}
        if rows is not None:
            scales = Scales.of(facts.numeric("LogisticRegression"))
            spread = entry_noise(question.expected_error(rows))
            # of features spread evenly between their bounds, and small coefficients
            noise = {"coef_": scales.divide(np.full(1, 6.0 * spread / max(rows, 1)))}
        return FitPlan.from_question(facts, question, noise)

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        if not isinstance(plan.recipe, Question):
            super()._train(plan, door)
            return
        facts, release = plan.facts, plan.recipe.release(door)
        scales = Scales.of(facts.numeric("LogisticRegression"))
        self.noise_ = entry_noise(release.stderr)
        # Σ log(1 + exp(-s·wv)) ≈ n·log 2 - ½·w·Σsv + ⅛·wᵀ(Σvvᵀ)w (Zhang et al. 2012, section 5), so
        # that Σvvᵀ·w = 2Σsv at the minimum
        if len(facts.labels) == 2:
            left, right = release.value[:-1, :-1], release.value[:-1, -1:]
            if list(self.classes_) != list(facts.labels):
                right = -right
            noise = self.noise_
        else:
            by_class = release.value[self._by_class(facts)]
            left = by_class.sum(axis=0)
            right = 2 * by_class[:, :, 0].T - left[:, :1]
            noise = self.noise_ * np.sqrt(len(by_class))
        weights = functional(left, 2.0 * right, noise)
        slopes = np.stack([scales.divide(w) for w in weights[1:].T])
        self.intercept_ = weights[0] - slopes @ scales.middle
        logs = [i + 1 for i, kind in enumerate(facts.columns) if isinstance(kind, Logarithmic)]
        self.coef_ = np.insert(slopes, logs, 0.0, axis=1)  # values beside their logarithms

    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithms of the classes' probabilities for each row."""
        scores = self._scores(X)
        if len(self.classes_) == 1:
            return np.zeros((len(scores), 1))
        if len(self.classes_) == 2:
            return np.concatenate([log_expit(-scores), log_expit(scores)], axis=1)
        logs = log_expit(scores) if self.method == "functional" else scores
        logs = logs - logs.max(axis=1, keepdims=True)
        return np.asarray(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)))

    def predict_proba(self, X: Any) -> Floats:
        """The classes' probabilities for each row."""
        return np.asarray(np.exp(self.predict_log_proba(X)))
