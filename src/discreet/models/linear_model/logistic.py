"""Logistic regression from second-order sums."""

from __future__ import annotations

from typing import Any, final

import numpy as np
import numpy.typing as npt
from scipy.special import log_expit
from sklearn.base import ClassifierMixin

from discreet.dataset import PrepaidDoor
from discreet.models.base import PrivateEstimator
from discreet.models.facts import Blueprint, Facts
from discreet.models.linear_model.asking import Scales, equations
from discreet.models.linear_model.solving import functional
from discreet.queries import NormalEquations

Floats = npt.NDArray[np.float64]
METHODS = ("functional",)


@final
class LogisticRegression(ClassifierMixin, PrivateEstimator):
    """Logistic regression by the functional mechanism.

    The loss is replaced by its Taylor polynomial of second order about 0, whose coefficients are sums over
    the rows; these are noised, and the noised polynomial is minimised (Zhang et al. 2012). With more than two
    classes there is one such model for each class against the others.

    Parameters
    ----------
    epsilon, delta : number
        The budget; with ``delta=0`` pure DP (Laplace noise), else the less noisy of Laplace and Gaussian.
    bounds : pair (lower, upper)
        Public bounds of the features: numbers, or one number for each feature.
    classes : sequence
        The public classes.
    schema : Schema
        Instead of both.
    unit, ledger
        Who is protected, and where the fit is charged.
    method : {"functional"}
        Must be given.

    Attributes
    ----------
    coef_ : array of shape (1, features), or (classes, features) with more than two classes
        In the units of the columns.
    intercept_ : array
    classes_ : array
    noise_ : float
        The standard deviation of the noise of a sum, in rows.
    privacy_ : FitPrivacy

    Privacy
    -------
    One release of `NormalEquations`: for two classes with the class as ±1, for more by class; one vector with
    one noise for its exact joint sensitivity on the box of the bounds, not the published one, which is for
    ‖x‖ ≤ 1 and counts products twice. Everything else is post-processing. Unit: add/remove, or replace-one,
    with or without ids. Rows of no declared class are left out; n = 0 and one class give finite
    predictions. Runs on every engine. Proof page: ``docs/proofs/regression.md``.
    """

    _target = "class"
    _claims = ("functional-logistic-regression",)

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = 0.0,
        bounds: Any = None,
        classes: Any = None,
        schema: Any = None,
        unit: Any = None,
        ledger: Any = None,
        method: str | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.schema = schema
        self.unit = unit
        self.ledger = ledger
        self.method = method

    def _query(self, facts: Facts) -> NormalEquations:
        if self.method not in METHODS:
            raise ValueError(
                f"method must be 'functional', the only one there is so far, got {self.method!r}."
            )
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

    def _plan(self, facts: Facts, rows: int | None) -> Blueprint:
        query = self._query(facts)
        answerer = facts.asked(query, self._measure())
        noise = {}
        if rows is not None:
            scales = Scales.of(facts.numeric("LogisticRegression"))
            spread = float(np.max(answerer.expected_error(rows)))
            # of features spread evenly between their bounds, and small coefficients
            noise = {"coef_": scales.divided(np.full(1, 6.0 * spread / max(rows, 1)))}
        return Blueprint(answerer.event, answerer.measure, noise, (query,))

    def _train(self, facts: Facts, door: PrepaidDoor) -> None:
        query = self._query(facts)
        release = door.release(query, self._measure())
        scales = Scales.of(facts.numeric("LogisticRegression"))
        self.noise_ = float(np.max(release.stderr))
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
        self.coef_ = np.stack([scales.divided(w) for w in weights[1:].T])
        self.intercept_ = weights[0] - self.coef_ @ scales.middle

    def decision_function(self, X: Any) -> Floats:
        """The log-odds of the second class, or of each class against the others."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _scores(self, X: Any) -> Floats:
        return np.asarray(self._rows(X).numbers() @ self.coef_.T + self.intercept_)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row."""
        scores = self._scores(X)
        place = scores.argmax(axis=1)
        if len(self.classes_) == 2:
            place = (scores[:, 0] > 0).astype(np.intp)
        return np.asarray(self.classes_[place])

    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithms of the classes' probabilities for each row."""
        scores = self._scores(X)
        if len(self.classes_) == 2:
            return np.concatenate([log_expit(-scores), log_expit(scores)], axis=1)
        logs = log_expit(scores)
        logs = logs - logs.max(axis=1, keepdims=True)
        return np.asarray(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)))

    def predict_proba(self, X: Any) -> Floats:
        """The classes' probabilities for each row."""
        return np.asarray(np.exp(self.predict_log_proba(X)))
