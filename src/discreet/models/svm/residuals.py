"""What regressions by smoothed losses of residuals share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.columns import Numeric
from discreet.dataset import PrepaidDoor
from discreet.models.erm.estimator import RiskEstimator
from discreet.models.erm.losses import HuberSquare, Insensitive, Loss
from discreet.models.facts import Facts
from discreet.rational import rational

Floats = npt.NDArray[np.float64]


def checked_width(value: Any, least: str = "1/64") -> Any:
    """The width of a smoothed corner, if losses are proved for it."""
    width = rational(value, "width")
    if not rational(least, "least") <= width <= 1:
        raise ValueError(f"width must be between {least} and 1, got {value!r}.")
    return width


class ResidualRegressor(RiskEstimator):
    """A `RiskEstimator` for a number, which is scaled to [-1, 1] by its bounds."""

    _target = "number"

    loss: Any
    margin: Any
    width: Any

    def _loss(self, facts: Facts) -> Loss:
        if self.loss == "huber":
            return HuberSquare(checked_width(self.width))
        if self.loss != "epsilon_insensitive":
            raise ValueError(f"loss must be 'epsilon_insensitive' or 'huber', got {self.loss!r}.")
        margin = rational(self.margin, "margin")
        if not 0 <= margin <= 1:
            raise ValueError(f"margin must be between 0 and 1, got {self.margin!r}.")
        return Insensitive(margin, checked_width(self.width))

    def _train(self, facts: Facts, door: PrepaidDoor) -> None:
        super()._train(facts, door)
        assert facts.target is not None
        column = facts.schema.base[facts.target]
        assert isinstance(column, Numeric)
        half = column.width / 2
        self.coef_ = self.coef_[0] * half
        self.intercept_ = float(self.intercept_[0]) * half + float(column.lower) + half

    def predict(self, X: Any) -> Floats:
        """The target of each row."""
        return np.asarray(self._scores(X))
