"""Linear support-vector machines with smoothed losses."""

from __future__ import annotations

from typing import Any, final

from sklearn.base import ClassifierMixin, RegressorMixin

from discreet.models.erm.estimator import RiskClassifier
from discreet.models.erm.losses import Loss, SmoothHinge
from discreet.models.facts import Facts
from discreet.models.svm.residuals import ResidualRegressor, checked_width


@final
class LinearSVC(ClassifierMixin, RiskClassifier):
    """A linear support-vector machine: Σ hinge + (alpha/2)·‖w‖², the hinge's corner smoothed.

    The corner at 1 is spread over 1 ± `width`, so that the loss is twice continuously differentiable, which
    the proof of objective perturbation needs. With more than two classes, one machine for each class
    against the others, learned jointly.

    Parameters
    ----------
    epsilon, delta, bounds, classes, schema, unit, ledger
        As for `discreet.models.linear_model.LogisticRegression`.
    method : {"objective", "output"}
    alpha, norm, fit_intercept, expected_rows, noise
        As there.
    width : number
        Half the width of the smoothed corner, between 1/64 and 1; a small one needs a large `alpha`.

    Attributes
    ----------
    coef_, intercept_, classes_, alpha_, privacy_

    Privacy
    -------
    One `MinimisedRisk` step, as private as (epsilon, delta) says, for add/remove and replace-one, with or
    without ids. Rows of no declared class are left out. Proof page: ``docs/proofs/erm.md``.
    """

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
        method: str = "objective",
        alpha: Any = None,
        norm: Any = None,
        fit_intercept: bool = True,
        expected_rows: int | None = None,
        noise: str = "exact",
        width: Any = 0.5,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.schema = schema
        self.unit = unit
        self.ledger = ledger
        self.method = method
        self.alpha = alpha
        self.norm = norm
        self.fit_intercept = fit_intercept
        self.expected_rows = expected_rows
        self.noise = noise
        self.width = width

    def _loss(self, facts: Facts) -> Loss:
        count = self._class_count(facts)
        return SmoothHinge(checked_width(self.width), count)


@final
class LinearSVR(RegressorMixin, ResidualRegressor):
    """Linear support-vector regression: Σ loss of the residuals + (alpha/2)·‖w‖².

    Parameters
    ----------
    epsilon, delta, bounds, schema, unit, ledger
        As for `discreet.models.linear_model.LogisticRegression`; `epsilon` is the privacy budget.
    target_bounds : pair (lower, upper)
        Public bounds of the target, which is scaled to [-1, 1] by them.
    method : {"objective", "output"}
    alpha, norm, fit_intercept, expected_rows, noise
        As there.
    loss : {"epsilon_insensitive", "huber"}
        Sizes of residuals beyond `margin`, with corners smoothed over ± `width`; or squares of residuals up
        to `width`, beyond which they grow ever more slowly, and from 2·`width` on in a line.
    margin : number
        Residuals below it cost nothing, between 0 and 1; in half-widths of the target's bounds.
    width : number
        Between 1/64 and 1, in the same units.

    Attributes
    ----------
    coef_ : array of shape (features,)
    intercept_ : float
    alpha_, privacy_

    Privacy
    -------
    One `MinimisedRisk` step, as private as (epsilon, delta) says, for add/remove and replace-one, with or
    without ids. Proof page: ``docs/proofs/erm.md``.
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
        method: str = "objective",
        alpha: Any = None,
        norm: Any = None,
        fit_intercept: bool = True,
        expected_rows: int | None = None,
        noise: str = "exact",
        loss: str = "epsilon_insensitive",
        margin: Any = 0.0,
        width: Any = 0.25,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.schema = schema
        self.unit = unit
        self.ledger = ledger
        self.method = method
        self.alpha = alpha
        self.norm = norm
        self.fit_intercept = fit_intercept
        self.expected_rows = expected_rows
        self.noise = noise
        self.loss = loss
        self.margin = margin
        self.width = width
