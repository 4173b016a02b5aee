"""Local reports of vectors: each client blurs its own update, and nobody has to be trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet import accounting, noise
from discreet.deep.federated.updates import clip_update
from discreet.deep.grid import LARGEST_BOUND, RADIUS, SMALLEST_BOUND
from discreet.deep.plans import TOLERANCE
from discreet.events import Event, Gaussian, Repeat
from discreet.measures import ApproxDP
from discreet.rational import Number, as_integer

__all__ = ["LocalGaussian"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@final
@dataclass(frozen=True)
class LocalGaussian:
    """A client's own noise on its clipped vector: a gradient, an update, or several bounded statistics.

    For one number or a category see `dp.mechanisms` (`HybridMean`, `UnaryEncoding`, ...), whose guarantee is
    pure.

    Parameters
    ----------
    epsilon, delta : number
        What all reports of one client cost together.
    size : int
        How many numbers a vector has.
    bound : float
        The L2 norm that a vector is clipped to.
    reports : int
        How often one client reports at most.

    Attributes
    ----------
    sigma : int
        The scale of the noise on the integer grid, where `bound` is `grid.RADIUS`.

    Privacy
    -------
    Local (ε, δ)-DP: for any two *vectors*, whatever they hold, all reports of a client together. (The
    definition goes over pairs of possible values, not over the clients that there are.) A vector of another
    size, with missing numbers or of another type is reported as zeros, with noise: whoever is asked reports,
    in the same shape. Proof page: ``docs/proofs/federated.md``.
    """

    measure: ApproxDP
    size: int
    bound: float
    reports: int
    sigma: int

    def __init__(
        self, epsilon: Number, delta: Number, *, size: int, bound: float = 1.0, reports: int = 1
    ) -> None:
        keep = object.__setattr__
        keep(self, "measure", ApproxDP(epsilon, delta))
        keep(self, "size", as_integer(size, "size", minimum=1))
        keep(self, "reports", as_integer(reports, "reports", minimum=1))
        keep(self, "bound", float(bound))
        if not SMALLEST_BOUND <= self.bound <= LARGEST_BOUND:
            raise ValueError(f"bound must be a number above 0, got {bound!r}.")
        if self.measure.epsilon == math.inf or not self.measure.delta:
            raise ValueError("epsilon must be finite and delta above 0: there is no noise without.")
        # n reports cost as much as one whose sensitivity is √n times as large
        best = accounting.calibrate(
            lambda scale: Gaussian(math.ceil(scale * RADIUS), self._squared * self.reports),
            self.measure,
        )
        keep(self, "sigma", math.ceil(best.sigma))
        while not accounting.satisfies(self.event(), self.measure):
            keep(self, "sigma", math.ceil(self.sigma * (1 + TOLERANCE)))

    @property
    def _squared(self) -> int:
        """The squared distance of two clipped vectors: any two, so twice the norm."""
        return (2 * RADIUS) ** 2

    def event(self) -> Event:
        """The event of all reports of one client, for the accountant."""
        return Repeat(Gaussian(self.sigma, self._squared), self.reports)

    def randomize(self, vectors: Sequence[Any]) -> Integers:
        """Draw one report for each vector: integers, of shape (vectors, size), with noise of their own."""
        clipped = [clip_update([each], [(self.size,)], self.bound) for each in vectors]
        rows = np.array(clipped, np.int64).reshape(-1, self.size)
        return rows + noise.rounded_gaussian(self.sigma, rows.shape)

    def estimate(self, reports: npt.ArrayLike) -> Floats:
        """The mean of the clipped vectors, from the reports of several clients; zeros without reports."""
        given = np.asarray(reports, np.int64).reshape(-1, self.size)
        if not len(given):
            return np.zeros(self.size)
        found: Floats = given.mean(axis=0) * (self.bound / RADIUS)
        return found

    def expected_error(self, clients: int) -> float:
        """The standard error that noise adds to each number of an estimate from so many clients."""
        as_integer(clients, "clients", minimum=1)
        return self.sigma / RADIUS * self.bound / math.sqrt(clients)
