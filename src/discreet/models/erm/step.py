"""The step on rows: features, minimum, noise."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet import events
from discreet.coding import VALUE_BITS
from discreet.columns import Column, Numeric
from discreet.models.erm.features import RowMap
from discreet.models.erm.objective import Objective
from discreet.models.erm.perturbation import Perturbation
from discreet.models.erm.solver import minimise
from discreet.models.erm.weights import Weighted
from discreet.schema import Schema
from discreet.step import CodedRows, Step
from discreet.unit import Unit

Floats = npt.NDArray[np.float64]


@final
class MinimisedRisk(Step):
    """Weights, of shape (outputs, features), that minimise a regularised loss, with noise.

    Parameters
    ----------
    names : tuple of str
        Feature columns, then the target.
    declared : tuple of declarations
        Of these columns.
    features : RowMap
    perturbation : Perturbation
    weights : sequence of numbers, optional
        A weight of each class, above 0 and at most 1; public, or bought before.
    place : pair of numbers, optional
        For a number: what 0 and 1 stand for, as the distance of the first from the middle of the target's
        bounds and that of the two, in half-widths of these; what is beyond ±1 then counts as that.

    Privacy
    -------
    It costs the perturbation's event, whose bounds hold for all such weights and for any target in [-1, 1]
    that depends on its row and on what was released before; a row without a declared class is left out. No
    row can make it raise.
    Proof page: ``docs/proofs/erm.md``.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        declared: tuple[Column, ...],
        features: RowMap,
        perturbation: Perturbation,
        weights: tuple[float, ...] | None = None,
        place: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        self.columns, self._declared = names, declared
        self.features, self._perturbation = features, perturbation
        loss = perturbation.task.loss
        self._weights, self._loss = weights, Weighted(loss, weights) if weights else loss
        self._place = place

    def event(self, schema: Schema, unit: Unit) -> events.Event:
        if unit != self._perturbation.task.unit:
            raise ValueError("unit: this step was made for another unit.")
        if tuple(schema.get(name) for name in self.columns or ()) != self._declared:
            raise ValueError("schema: this step was made for other columns.")
        return self._perturbation.event()

    def run(self, rows: CodedRows) -> Floats:
        target, codes = self._target(rows)
        task = self._perturbation.task
        tilt, step = self._perturbation.tilt()
        objective = Objective(
            self.features.matrix(codes),
            target,
            self._loss,
            self._perturbation.regulariser,
            tilt,
            step,
        )
        found = self._perturbation.finish(minimise(objective, task.tolerance))
        return np.asarray(found).reshape(task.loss.outputs, task.width)

    def _target(self, rows: CodedRows) -> tuple[Floats, Any]:
        """Classes as their codes, numbers in [-1, 1]; and the feature codes of the rows that count."""
        code, codes = rows.codes[:, -1], rows.codes[:, :-1]
        column = rows.schema.base[rows.names[-1]]
        if isinstance(column, Numeric):
            steps = max(1, column.steps(VALUE_BITS))
            zero, unit = self._place
            return np.clip(((2.0 * code - steps) / steps - zero) / unit, -1.0, 1.0), codes
        known = code >= 0
        if known.all():
            return code.astype(np.float64), codes
        return code[known].astype(np.float64), codes[known]

    def with_features(self, features: RowMap) -> MinimisedRisk:
        """The same step on features of another map with the same bounds on rows, hence at the same price."""
        if _bounds(features) != _bounds(self.features):
            raise ValueError("features: this step was made for features of other bounds.")
        return self._changed(features=features)

    def with_weights(self, weights: tuple[float, ...] | None) -> MinimisedRisk:
        """The same step with classes weighted by numbers of at most 1, hence at the same price."""
        return self._changed(weights=weights)

    def with_target(self, zero: float, unit: float) -> MinimisedRisk:
        """The same step on (target - zero)/unit, clamped to ±1, in half-widths: at the same price."""
        return self._changed(place=(zero, unit))

    def _changed(self, **changes: Any) -> MinimisedRisk:
        own = {"features": self.features, "weights": self._weights, "place": self._place} | changes
        names, kept = self.columns or (), self._perturbation
        return MinimisedRisk(names, self._declared, perturbation=kept, **own)

    @property
    def regulariser(self) -> Fraction:
        """Λ: public."""
        return self._perturbation.regulariser

    def spread(self) -> float:
        """The approximate standard deviation of the noise: of b, or of a weight."""
        return self._perturbation.spread()

    def __repr__(self) -> str:
        return f"MinimisedRisk{self.columns}"


def _bounds(features: RowMap) -> tuple[int, int, int]:
    return features.width, features.radius, features.length
