"""Additive boosting: sums of shape functions, one for each column, that people can look at."""

from discreet.models.boosting.classifier import AdditiveBoostingClassifier
from discreet.models.boosting.regressor import AdditiveBoostingRegressor

__all__ = ["AdditiveBoostingClassifier", "AdditiveBoostingRegressor"]
