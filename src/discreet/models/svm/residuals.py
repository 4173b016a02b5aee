"""What regressions by smoothed losses of residuals share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.columns import Numeric
from discreet.dataset import PrivateDataset
from discreet.models import learned
from discreet.models.erm.estimator import RiskEstimator
from discreet.models.erm.losses import HuberSquare, Insensitive, Loss
from discreet.models.facts import Facts
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.models.targets import PrivateRegressor
from discreet.rational import rational

Floats = npt.NDArray[np.float64]


def check_width(value: Any, minimum: str = "1/64") -> Any:
    """The width of a smoothed corner, if losses are proved for it."""
    width = rational(value, "width")
    if not rational(minimum, "least") <= width <= 1:
        raise ValueError(f"width must be between {minimum} and 1, got {value!r}.")
    return width


@with_parameters
class ResidualRegressor(RiskEstimator, PrivateRegressor):
    """A `RiskEstimator` for a number, which is scaled to [-1, 1] by its bounds.

    Parameters
    ----------
    epsilon, delta : number
        The privacy budget of one fit; pure DP if `delta` is 0. Infinite only with ``unit=dp.PUBLIC``.
    target_bounds : pair (lower, upper)
        Public bounds of the target, which is scaled to [-1, 1] by them.
    loss : {"epsilon_insensitive", "huber"}
        Sizes of residuals beyond `margin`, with corners smoothed over ± `width`; or squares of residuals up
        to `width`, beyond which they grow ever more slowly, and linearly from 2·`width` on.
    margin : number
        Residuals below it cost nothing, between 0 and 1; in half-widths of the target's bounds.
    width : number
        Between 1/64 and 1, in the same units.
    """

    loss: str = "epsilon_insensitive"
    margin: Any = 0.0
    width: Any = 0.25

    _learned = learned.attributes(coef_=learned.Array("width"), intercept_=learned.Number())

    def _corner(self, facts: Facts) -> Any:
        """The width of the smoothed corner, from parameters and public facts."""
        return self.width

    def _loss(self, facts: Facts) -> Loss:
        width = check_width(self._corner(facts))
        if self.loss == "huber":
            return HuberSquare(width)
        if self.loss != "epsilon_insensitive":
            raise ValueError(f"loss must be 'epsilon_insensitive' or 'huber', got {self.loss!r}.")
        margin = rational(self.margin, "margin")
        if not 0 <= margin <= 1:
            raise ValueError(f"margin must be between 0 and 1, got {self.margin!r}.")
        return Insensitive(margin, width)

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        super()._train(plan, door)
        facts = plan.facts
        assert facts.target is not None
        column = facts.schema.base[facts.target]
        assert isinstance(column, Numeric)
        half = column.width / 2
        self.coef_ = self.coef_[0] * half
        self.intercept_ = float(self.intercept_[0]) * half + float(column.lower) + half

    def predict(self, X: Any) -> Floats:
        """The predicted target of each row."""
        return np.asarray(self._scores(X))
