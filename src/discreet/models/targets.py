"""What most estimators share beyond their budget: columns declared by parameters, and a target."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin

from discreet.models.base import PrivateEstimator
from discreet.models.parameters import with_parameters

__all__ = ["BoundedEstimator", "PrivateClassifier", "PrivateRegressor"]


@with_parameters
class BoundedEstimator(PrivateEstimator):
    """An estimator of numbers whose bounds can be declared without a schema.

    Parameters
    ----------
    bounds : pair, optional
        Lower and upper bounds of the features, where there is no `schema`: two numbers, or two sequences
        with one for each.
    """

    bounds: Any = None


@with_parameters
class PrivateClassifier(ClassifierMixin, BoundedEstimator):
    """An estimator that learns classes.

    Parameters
    ----------
    classes : sequence, optional
        The classes. With `bounds`, this declares what a `schema` would.
    """

    classes: Any = None

    _target = "class"


@with_parameters
class PrivateRegressor(RegressorMixin, BoundedEstimator):
    """An estimator that learns a number.

    Parameters
    ----------
    target_bounds : pair, optional
        Lower and upper bound of the target. With `bounds`, this declares what a `schema` would.
    """

    target_bounds: Any = None

    _target = "number"
