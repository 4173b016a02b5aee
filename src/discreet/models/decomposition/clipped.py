"""Components of a noised matrix of products of rows that were moved into a ball around their mean."""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from discreet import events
from discreet.columns import Numeric
from discreet.dataset import PrivateDataset
from discreet.measures import Measure
from discreet.mechanisms import NoNoise, mechanism_for
from discreet.models.decomposition.ball import RADIUS, Ball
from discreet.models.decomposition.centring import DEFAULT_RADIUS, FoundComponents, MeanFirst
from discreet.models.facts import Facts
from discreet.models.shares import split, together
from discreet.queries.additive import Floats
from discreet.rational import positive
from discreet.schema import Schema
from discreet.step import CodedRows, Step
from discreet.unit import Unit

__all__ = ["ClippedPlan", "ClippedProducts"]

#: Shares of the budget: the mean, the products (measured: ``docs/proofs/decomposition.md``).
SHARES = (1, 4)
#: Larger balls, as shares of the way to a corner, which bias less: taken where their noise has at most
#: the norm `LOUD`, columns being scaled to [-1, 1] (measured too).
LARGER_RADII = (2 / 3, 1 / 2)
LOUD = 1 / 64
#: How fine the grid of rows is; a coarser one where noise is too large for a finer one, which hides the rest.
GRIDS = (RADIUS, 2**11, 2**7)


@final
class ClippedProducts(Step):
    """The noised sums of products of rows in a ball, as a symmetric matrix.

    Parameters
    ----------
    names : tuple of str
    ball : Ball
    measure : PureDP or ZCDP
    unit : Unit

    Privacy
    -------
    Each entry on and above the diagonal is a sum of integers over rows, noised once; Laplace noise for the
    L1 sensitivity of all of them, or Gaussian noise for L2. Proof page: ``docs/proofs/decomposition.md``.
    """

    def __init__(self, names: tuple[str, ...], ball: Ball, measure: Measure, unit: Unit) -> None:
        self.columns = names
        self._ball, self._unit = ball, unit
        moved = ball.products_sensitivity(unit)
        self._distribution = mechanism_for(measure, moved).distribution(moved)

    def event(self, schema: Schema, unit: Unit) -> events.Event:
        if unit != self._unit:
            raise ValueError("unit: this step was made for another unit.")
        if isinstance(self._distribution, NoNoise) and unit.is_public:
            return events.Compose()
        return self._distribution.event(self._ball.products_sensitivity(unit))

    def run(self, rows: CodedRows) -> Floats:
        """The matrix of sums in the units of the columns, of shape (d, d)."""
        above = np.triu_indices(len(self._ball.columns))
        noised = np.zeros((len(self._ball.columns),) * 2)
        noised[above] = self._distribution.run(self._ball.gram(rows.codes)[above])
        return np.asarray((noised + np.triu(noised, 1).T) * self._ball.product_units)

    def spread(self) -> float:
        """The standard deviation of the noise, in parts of the squared radius."""
        return self._distribution.expected_error() / self._ball.radius**2

    def __repr__(self) -> str:
        return f"ClippedProducts{self.columns}"


@final
class ClippedPlan:
    """What will be asked: the mean, then products of rows around it, moved into a ball.

    By default the ball is one where columns are scaled by their bounds; its radius is a share of the way
    from the middle of all bounds to a corner, larger where the expected number of rows promises less noise.

    Privacy
    -------
    Two answers with Laplace noise, or two with Gaussian noise, composed; the second depends on the first.
    Proof page: ``docs/proofs/decomposition.md``.
    """

    def __init__(
        self, facts: Facts, columns: tuple[Numeric, ...], measure: Measure, rows: int, norm: Any
    ) -> None:
        self._facts, self._first = facts, MeanFirst(facts, columns)
        self.mean_query = self._first.query
        self._mean_how, self._products_how = split(measure, SHARES)
        self._norms = np.ones(len(columns))
        self._grid = self._finest_grid()
        # of any ball the same, in parts of its squared radius
        spread = self._products(self._first.lower, self._grid).spread()
        self._norms = self._default_norms(spread / rows)
        if norm is not None:
            self._norms = np.full(len(columns), float(positive(norm, "norm")))
        if not (self._norms > 1e-300).all() or not (self._norms < 1e300).all():
            raise ValueError(f"norm must lie between 1e-300 and 1e300, got {norm!r}.")

    def _finest_grid(self) -> int:
        """The finest grid whose noise can be drawn; what decides is public."""
        for grid in GRIDS[:-1]:
            try:
                self._products(self._first.lower, grid)
            except ValueError:
                continue
            return grid
        return GRIDS[-1]

    def _default_norms(self, spread: float) -> Floats:
        """The half-axes: a share of each column's half width times the root of the number of columns.

        `spread` is the noise on the mean of products, in parts of the squared radius.
        """
        half = self._first.half
        wide = int((half > 0).sum())
        quiet = (r for r in LARGER_RADII if spread * r**2 * wide**1.5 <= LOUD)
        radius = next(quiet, DEFAULT_RADIUS)
        return np.where(half > 0, radius * math.sqrt(wide) * half, 1.0)

    def _products(self, mean: Floats, grid: int) -> ClippedProducts:
        ball = Ball(self._first.columns, mean, self._norms, grid)
        return ClippedProducts(self._facts.features, ball, self._products_how, self._facts.unit)

    def event(self) -> events.Event:
        """All that is asked; the centre of the ball plays no part in it."""
        facts = self._facts
        mean = facts.ask(self.mean_query, self._mean_how).event
        return together(
            [mean, self._products(self._first.lower, self._grid).event(facts.schema, facts.unit)]
        )

    def noise(self, rows: int | None) -> dict[str, Any]:
        """The expected noise of what is learned; of the covariance's entries where columns are in [-1, 1]."""
        if rows is None:
            return {}
        half = self._first.half
        axes = np.divide(self._norms, half, out=np.zeros_like(half), where=half > 0)
        spread = self._products(self._first.lower, self._grid).spread() * float(axes.max()) ** 2
        means = self._first.expected_error(self._mean_how, rows)
        return {"mean_": means, "covariance": spread / max(rows, 1)}

    def run(self, door: PrivateDataset) -> FoundComponents:
        """Ask, in the order of the plan."""
        count, mean = self._first.ask(door, self._mean_how)
        products = door.run(self._products(mean, self._grid)) / count
        half = self._first.half
        wide, narrow = np.flatnonzero(half > 0), np.flatnonzero(half <= 0)
        values, vectors = np.linalg.eigh(products[np.ix_(wide, wide)])
        # columns without width come last: that is public
        components = np.eye(len(half))[np.concatenate([wide, narrow])]
        components[: len(wide), wide] = vectors.T[::-1]
        variances = np.append(np.maximum(values[::-1], 0.0), np.zeros(len(narrow)))
        return FoundComponents(mean, components, variances, float(variances.sum()))
