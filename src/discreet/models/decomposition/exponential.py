"""The plan of components drawn by the exponential mechanism: mean, directions, variances."""

from __future__ import annotations

from typing import Any, final

import numpy as np
from sklearn.isotonic import isotonic_regression

from discreet import events
from discreet.columns import Numeric
from discreet.dataset import PrivateDataset
from discreet.measures import Measure, PureDP
from discreet.models.decomposition.ball import Ball
from discreet.models.decomposition.centring import DEFAULT_RADIUS, FoundComponents, MeanFirst
from discreet.models.decomposition.directions import PrincipalDirections, SquaresAlong
from discreet.models.facts import Facts
from discreet.models.shares import split, together
from discreet.queries.additive import Floats
from discreet.rational import positive

__all__ = ["ExponentialPlan"]

#: Shares of ε: the mean, the directions, the variances (measured: ``docs/proofs/decomposition.md``).
SHARES = (1, 8, 1)


@final
class ExponentialPlan:
    """What will be asked, in order: all of it decided by public facts and earlier answers.

    Privacy
    -------
    Pure ε by basic composition of three answers; a delta is not needed. Proof page:
    ``docs/proofs/decomposition.md``.
    """

    def __init__(
        self, facts: Facts, columns: tuple[Numeric, ...], count: int, measure: Measure, norm: Any
    ) -> None:
        assert hasattr(measure, "epsilon")
        self._facts, self._count = facts, count
        self._first = MeanFirst(facts, columns)
        self._half, self._lower = self._first.half, self._first.lower
        self._norm = self._default_norm() if norm is None else float(positive(norm, "norm"))
        if not 1e-300 < self._norm < 1e300:
            raise ValueError(f"norm must lie between 1e-300 and 1e300, got {norm!r}.")
        self.mean_query = self._first.query
        drawn = min(count, int((self._half > 0).sum()) - 1) > 0
        weights = SHARES if drawn else (SHARES[0], SHARES[2])
        parts = split(PureDP(measure.epsilon), weights)
        self._mean_how, self._squares_how = parts[0], parts[-1]
        self._directions_how = parts[1] if drawn else PureDP(measure.epsilon)

    def _default_norm(self) -> float:
        """A public share of the distance from the middle of the box to a corner."""
        largest = float(self._half.max())
        if not largest > 0:
            return 1.0
        return DEFAULT_RADIUS * largest * float(np.sqrt(((self._half / largest) ** 2).sum()))

    def _ball(self, mean: Floats) -> Ball:
        return Ball(self._first.columns, mean, self._norm)

    def _directions(self, ball: Ball) -> PrincipalDirections:
        assert isinstance(self._directions_how, PureDP)
        epsilon = self._directions_how.epsilon
        return PrincipalDirections(
            self._facts.features, ball, self._count, epsilon, self._facts.unit
        )

    def _squares(self, ball: Ball, directions: Floats) -> SquaresAlong:
        assert isinstance(self._squares_how, PureDP)
        return SquaresAlong(
            self._facts.features, ball, directions, self._squares_how, self._facts.unit
        )

    def event(self) -> events.Event:
        """All that is asked; the centre of the ball plays no part in it."""
        facts, ball = self._facts, self._ball(self._lower)
        steps = (self._directions(ball), self._squares(ball, np.eye(len(self._lower))))
        mean = facts.ask(self.mean_query, self._mean_how).event
        return together([mean, *(step.event(facts.schema, facts.unit) for step in steps)])

    def noise(self, rows: int | None) -> dict[str, Any]:
        """The expected noise of what is learned."""
        if rows is None:
            return {}
        spread = self._squares(self._ball(self._lower), np.eye(len(self._lower))).spread()
        means = self._first.expected_error(self._mean_how, rows)
        return {"mean_": means, "explained_variance_": spread / max(rows, 1)}

    def run(self, door: PrivateDataset) -> FoundComponents:
        """Ask, in the order of the plan."""
        count, mean = self._first.ask(door, self._mean_how)
        ball = self._ball(mean)
        components = door.run(self._directions(ball))
        sums = np.maximum(door.run(self._squares(ball, components)) / count, 0.0)
        # components come in the order in which they were drawn: variances are made to fall too
        variances = np.asarray(isotonic_regression(sums[:-1], increasing=False))
        return FoundComponents(mean, components, variances, float(sums.sum()))
