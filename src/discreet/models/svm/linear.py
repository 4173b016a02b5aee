"""Linear support-vector machines with smoothed losses."""

from __future__ import annotations

from typing import Any, final

from discreet.models.erm.estimator import RiskClassifier
from discreet.models.erm.losses import Loss, SmoothHinge
from discreet.models.facts import Facts
from discreet.models.parameters import with_parameters
from discreet.models.svm.residuals import ResidualRegressor, check_width


@final
@with_parameters
class LinearSVC(RiskClassifier):
    """A linear support-vector machine: Σ hinge + (alpha/2)·‖w‖², the hinge's corner smoothed.

    The corner at 1 is spread over 1 ± `width`, so that the loss is twice continuously differentiable, which
    the proof of objective perturbation needs. With more than two classes, one machine for each class
    against the others, learned jointly.

    Parameters
    ----------
    width : number
        Half the width of the smoothed corner, between 1/64 and 1; a small one needs a large `alpha`.

    Attributes
    ----------
    coef_, intercept_, classes_, alpha_, privacy_

    Privacy
    -------
    One `MinimisedRisk` step, as private as (epsilon, delta) says, for add/remove and replace-one, with or
    without ids. Rows without a declared class are left out. Proof page: ``docs/proofs/erm.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.svm import LinearSVC
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = LinearSVC(epsilon=4, bounds=(-1, 1), classes=[0, 1]).fit(X, y)
    >>> model.score(X, y) > 0.8
    True
    """

    norm: Any = None
    width: Any = 0.5

    def _loss(self, facts: Facts) -> Loss:
        count = self._class_count(facts)
        return SmoothHinge(check_width(self.width), count)


@final
@with_parameters
class LinearSVR(ResidualRegressor):
    """Linear support-vector regression: Σ loss of the residuals + (alpha/2)·‖w‖².

    Attributes
    ----------
    coef_ : array of shape (features,)
    intercept_ : float
    alpha_, privacy_

    Privacy
    -------
    One `MinimisedRisk` step, as private as (epsilon, delta) says, for add/remove and replace-one, with or
    without ids. Proof page: ``docs/proofs/erm.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.svm import LinearSVR
    >>> X = np.random.default_rng(0).uniform(-1, 1, (5000, 2))
    >>> model = LinearSVR(epsilon=4, bounds=(-1, 1), target_bounds=(-1, 1)).fit(X, X[:, 0])
    >>> bool(abs(model.predict([[0.5, 0.0]])[0] - 0.5) < 0.2)
    True
    """

    norm: Any = None
