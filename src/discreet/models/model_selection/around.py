"""What estimators around another one take from it: the declared columns, the target, scikit-learn's tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt
from sklearn.utils import get_tags

from discreet.columns import Base
from discreet.models.base import PrivateEstimator
from discreet.models.facts import Facts

__all__ = ["EstimatorAround"]


class _TargetOfEstimator:
    """The target is that of the inner estimator; on the class itself it is classes."""

    def __get__(self, outer: Any, kind: Any = None) -> Any:
        estimator = None if outer is None else outer.estimator
        return getattr(estimator, "_target", "class")


def _delegate(name: str) -> property:
    return property(lambda outer: getattr(outer.estimator, name, None))


class EstimatorAround(PrivateEstimator):
    """An estimator around another one of this toolkit, its parameter `estimator`."""

    estimator: Any
    _target = _TargetOfEstimator()

    bounds = _delegate("bounds")
    classes = _delegate("classes")
    target_bounds = _delegate("target_bounds")
    categories = _delegate("categories")
    accept_assumed = property(
        lambda outer: bool(getattr(outer.estimator, "accept_assumed", False)),
        doc="Whether a ledger opened for the fit accepts events that are assumed to be private.",
    )

    def _check_estimator(self) -> PrivateEstimator:
        """The inner estimator, if it is one of this toolkit."""
        if not isinstance(self.estimator, PrivateEstimator):
            raise TypeError(
                "estimator must be an estimator of discreet.models, "
                f"not {type(self.estimator).__name__}."
            )
        if self.estimator._needs_besides:
            raise ValueError(
                f"estimator: {type(self.estimator).__name__} needs {self.estimator._needs_besides}, which "
                f"{type(self).__name__} can't hand on: fit it alone."
            )
        return self.estimator

    def _refuse_derived(self, facts: Facts) -> None:
        """Refuse features that don't stand in the table: inner models are scored on rows of the table."""
        derived = [name for name in facts.features if name not in facts.schema.base]
        if derived:
            raise ValueError(
                f"features: {type(self).__name__} takes columns of the table alone, and {derived[0]!r} is "
                "derived. Put it into the table, or fit the inner estimator itself."
            )

    def _declared_width(self) -> int | None:
        return None if self.estimator is None else self.estimator._declared_width()

    def _declared_features(self, names: Sequence[str]) -> Mapping[str, Base] | None:
        return self._check_estimator()._declared_features(names)

    def _infer_features(
        self, names: Sequence[str], cells: Sequence[npt.NDArray[Any]]
    ) -> Mapping[str, Base]:
        return self._check_estimator()._infer_features(names, cells)

    def _undeclared_message(self) -> str:
        if self.estimator is None:
            return super()._undeclared_message()
        return self._check_estimator()._undeclared_message()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            inner = get_tags(self.estimator)
            tags.estimator_type = inner.estimator_type
            tags.classifier_tags = inner.classifier_tags
            tags.regressor_tags = inner.regressor_tags
            tags.input_tags = inner.input_tags
            tags.target_tags = inner.target_tags
        return tags
