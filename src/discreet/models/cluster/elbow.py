"""How many clusters: the inertia for several numbers of them, paid for once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import events
from discreet.measures import Measure
from discreet.models.cluster.box import Floats, cluster_weighted, nearest
from discreet.models.cluster.kmeans import KMeans
from discreet.models.cluster.lloyd import Lloyd
from discreet.models.cluster.starts import GRID_BITS, Ask, GridStart, SplitStart
from discreet.models.facts import Facts, describe_fit
from discreet.models.inputs import open_input
from discreet.models.shares import split, together
from discreet.queries import Additive
from discreet.rational import as_integer
from discreet.release import Release
from discreet.show import name_several

__all__ = ["Elbow", "elbow"]

#: Rounds of Lloyd for the summary, where no grid fits.
_ROUNDS = 2


@dataclass(frozen=True)
class Elbow:
    """Noised inertias.

    Attributes
    ----------
    clusters : tuple of int
    inertia : array
        The sum of squared distances to the nearest centre, columns scaled to [0, 1], for each of them.
    suggested : int or None
        Where the logarithm of the curve lies farthest below its chord; None for fewer than three numbers.
    event, measure : what ran, and what was charged

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.cluster import KMeans, elbow
    >>> draw = np.random.default_rng(0)
    >>> X = draw.choice([0.1, 0.5, 0.9], (6000, 1)) + draw.uniform(-0.05, 0.05, (6000, 1))
    >>> found = elbow(KMeans(epsilon=2, bounds=(0, 1), random_state=0), X, range(1, 7))
    >>> found.clusters, len(found.inertia), found.suggested
    ((1, 2, 3, 4, 5, 6), 6, 3)
    """

    clusters: tuple[int, ...]
    inertia: Floats
    suggested: int | None
    event: events.Event
    measure: Measure


def elbow(
    model: KMeans,
    X: Any,
    clusters: Iterable[int] = range(1, 11),
    *,
    groups: Any = None,
    target: str | None = None,
) -> Elbow:
    """Estimate the inertia of k-means for several numbers of clusters, for one charge.

    The whole budget buys one summary of the rows: a noised histogram over a coarse grid, or with more than
    12 columns a private k-means with twice as many clusters as the largest number. The summary's weighted
    points are then clustered once for each number, which costs nothing more. Differences between rows of
    one cell are lost, so the inertias are those of the summary: compare them with each other.

    Parameters
    ----------
    model : KMeans
        Supplies budget, bounds, unit, ledger and seed; it is not fitted. The budget is spent here, and
        again in a later fit: give both the same ledger.
    X, groups, target
        As in ``fit``.
    clusters : iterable of int

    Privacy
    -------
    One prepaid charge of the model's (ε, δ), however many numbers are tried. All else is post-processing.
    Proof page: ``docs/proofs/cluster.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.cluster import KMeans, elbow
    >>> draw = np.random.default_rng(0)
    >>> X = draw.choice([0.1, 0.5, 0.9], (6000, 1)) + draw.uniform(-0.05, 0.05, (6000, 1))
    >>> found = elbow(KMeans(epsilon=2, bounds=(0, 1), random_state=0), X, range(1, 7))
    >>> bool(found.inertia[2] < found.inertia[0] / 10), found.measure
    (True, PureDP(epsilon=2))
    """
    numbers = tuple(as_integer(number, "clusters", minimum=1) for number in clusters)
    if not numbers:
        raise ValueError("clusters must hold at least one number, as in clusters=range(1, 11).")
    source = open_input(model, X, None, groups, target)
    facts = source.facts
    model._check_settings(facts.unit)
    measure = model._measure()
    summary = _Summary(model, facts, max(numbers))
    shares = split(measure, summary.weights())
    asked = [facts.ask(q, budget) for q, budget in zip(summary.queries(), shares, strict=True)]
    event = together(part.event for part in asked)
    note = f"{describe_fit(model, facts)}, for {name_several(map(str, numbers))} clusters"
    with source.data.prepaid(event, measure, note=note) as door:
        parts = iter(shares)

        def ask(query: Additive) -> Release:
            return door.release(query, next(parts))

        points, weights = summary.points(ask)
    inertia = np.array([summary.inertia(points, weights, number) for number in numbers])
    return Elbow(numbers, inertia, _bend(numbers, inertia), event, measure)


class _Summary:
    """A few weighted points that stand for all rows: cells of a grid, or many small clusters."""

    def __init__(self, model: KMeans, facts: Facts, maximum: int) -> None:
        space = model._space(facts)
        self.grid = len(facts.features) <= GRID_BITS
        self.space = replace(space, clusters=maximum if self.grid else 2 * maximum)
        self.fine = Lloyd(self.space, SplitStart(), _ROUNDS)
        self.draw = model._draw()

    def queries(self) -> tuple[Additive, ...]:
        return GridStart().queries(self.space) if self.grid else self.fine.queries()

    def weights(self) -> list[Fraction]:
        return [Fraction(1)] * len(self.queries()) if self.grid else self.fine.weights()

    def points(self, ask: Ask) -> tuple[Floats, Floats]:
        if not self.queries():  # no column has two cells: all rows are alike
            return np.zeros((1, self.space.dimensions)), np.ones(1)
        if self.grid:
            return GridStart().find_occupied(self.space, ask)
        centres, counts = self.fine.run(ask, self.draw)
        return centres, np.maximum(counts, 1.0)

    def inertia(self, points: Floats, weights: Floats, number: int) -> float:
        centres = cluster_weighted(points, weights, number, self.draw)
        return float((nearest(points, centres)[1] * weights).sum()) / 4


def _bend(numbers: tuple[int, ...], inertia: Floats) -> int | None:
    """The number whose log inertia lies farthest below the line from the first to the last."""
    if len(numbers) < 3:
        return None
    order = np.argsort(numbers, kind="stable")
    x, y = np.array(numbers, np.float64)[order], np.log(np.maximum(inertia[order], 1e-9))
    width, height = x[-1] - x[0], y[0] - y[-1]
    if width <= 0 or height <= 0:
        return int(x[0])
    below = (y[0] - y) / height - (x - x[0]) / width
    return int(x[int(below.argmax())])
