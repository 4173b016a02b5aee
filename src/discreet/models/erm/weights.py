"""Weights of classes: public ones, or those that noised counts of the classes ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.models.erm.losses import Floats, Loss
from discreet.rational import positive

__all__ = ["BALANCE_SHARE", "Weighted", "balanced_weights", "read_weights"]

#: The share of ε that buys the counts of classes for ``class_weight="balanced"``.
BALANCE_SHARE = Fraction(1, 20)
#: No weight is a smaller part of the largest one.
MIN_WEIGHT = Fraction(1, 10**6)


@final
class Weighted(Loss):
    """A loss times a public weight of the row's class, which is above 0 and at most 1.

    Privacy
    -------
    Gradients and Hessians are those of `loss` times a number of at most 1, and its gradients' polytope has
    the vertex 0: so all constants of `loss` bound this one, too. Proof page: ``docs/proofs/erm.md``.
    """

    def __init__(self, loss: Loss, weights: Sequence[float]) -> None:
        if not loss.has_zero:
            raise ValueError(
                "weights: this loss has gradients that don't shrink within their bounds."
            )
        if not all(0.0 < weight <= 1.0 for weight in weights):
            raise ValueError("weights must be above 0 and at most 1.")
        self._loss = loss
        self._weights = np.array(weights, np.float64)
        self.outputs, self.relative = loss.outputs, loss.relative
        self.slope, self.slope_squared = loss.slope, loss.slope_squared
        self.rank, self.trace, self.bend = loss.rank, loss.trace, loss.bend
        self.ways, self.has_zero = loss.ways, loss.has_zero

    def _of_rows(self, target: Floats) -> Floats:
        return np.asarray(self._weights[target.astype(np.intp)])

    def gradient(self, margins: Floats, target: Floats) -> Floats:
        return self._loss.gradient(margins, target) * self._of_rows(target)[:, None]

    def curvature(self, margins: Floats, target: Floats) -> Floats:
        bend = self._loss.curvature(margins, target)
        return np.asarray(bend * self._of_rows(target).reshape(-1, *[1] * (bend.ndim - 1)))


def read_weights(given: Any, labels: Sequence[Any]) -> tuple[float, ...] | None:
    """The weights of the classes in the order of `labels`, the largest 1; None where all are 1 anyway.

    Parameters
    ----------
    given : mapping of class to number, or None
        Classes that it doesn't name have the weight 1, as in scikit-learn.
    """
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise TypeError(
            "class_weight must be None, 'balanced' or a mapping of classes to numbers, as in {0: 1, 1: 5}."
        )
    unknown = [name for name in given if name not in labels]
    if unknown:
        raise ValueError(f"class_weight: {unknown[0]!r} is no declared class.")
    weights = [positive(given.get(label, 1), "class_weight") for label in labels]
    return _scale(weights)


def balanced_weights(counts: npt.NDArray[Any], noise: float) -> tuple[float, ...]:
    """Weights with which all classes count alike, from noised counts; those lost in noise count as it."""
    seen = np.maximum(np.asarray(counts, np.float64), 1.0 + 2.0 * noise)
    return _scale([Fraction(float(seen.min() / one)) for one in seen])


def _scale(weights: Sequence[Fraction]) -> tuple[float, ...]:
    """Weights as shares of the largest."""
    largest = max(weights)
    return tuple(float(max(weight / largest, MIN_WEIGHT)) for weight in weights)
