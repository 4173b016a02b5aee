"""Linear models from noised sums: all but one of them on every engine."""

from discreet.models.linear_model.least_squares import LinearRegression, Ridge
from discreet.models.linear_model.logistic import LogisticRegression
from discreet.models.linear_model.simple import SimpleLinearRegression

__all__ = ["LinearRegression", "LogisticRegression", "Ridge", "SimpleLinearRegression"]
