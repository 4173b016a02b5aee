"""What is measured with which noise, and what is made of it: node counts or coefficients of a histogram.

A design is planned from public facts; it holds everything that is charged and everything that is drawn.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet import events
from discreet.mechanisms import Distribution, GaussianDistribution, LaplaceDistribution, NoNoise
from discreet.publish.privelet.axes import Axis
from discreet.publish.privelet.lattice import (
    contrasts,
    inverse,
    on_nodes,
    precision_of_nodes,
    projected,
    spread,
    sum_nodes,
)
from discreet.publish.privelet.tails import gaussian_factor, laplace_factor

__all__ = ["Block", "Contrasts", "Design", "Lattice", "Nodes", "deviation_of"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: Noise with a smaller deviation, in rows, counts as if it had this one: weights of levels stay comparable.
MIN_DEVIATION = 2.0**-5


def deviation_of(distribution: Distribution) -> float:
    """The standard deviation of noise, from above: that of normal noise also before it is rounded."""
    if isinstance(distribution, NoNoise):
        return 0.0
    known = distribution.expected_error()
    if isinstance(distribution, GaussianDistribution):
        known = max(known, float(distribution.sigma))
    return max(known, MIN_DEVIATION)


@dataclass(frozen=True)
class Block:
    """Integers of one place of the lattice with one noise.

    Attributes
    ----------
    levels : tuple of int
    bands : tuple of int
        For coefficients: which difference of the children along each axis; 0 at level 0.
    weight : int
        What the integers are multiplied by before noise is added.
    distribution : Distribution
    """

    levels: tuple[int, ...]
    bands: tuple[int, ...]
    weight: int
    distribution: Distribution

    @property
    def variance(self) -> float:
        """The variance of the noise on the integers before they were multiplied."""
        return deviation_of(self.distribution) ** 2 / self.weight**2


class Design(ABC):
    """A plan of measurements of one histogram.

    Attributes
    ----------
    name : str
        What it is, for people.
    event : Event
        What it costs.
    error : float
        The mean squared error over the workload that it was made for.
    """

    name: str
    event: events.Event
    error: float
    distributions: tuple[Distribution, ...]

    @abstractmethod
    def measure(self, counts: Integers) -> list[Integers]:
        """The exact integers that get noise, one array for each distribution."""

    @abstractmethod
    def estimate(self, noised: Sequence[Integers]) -> Floats:
        """The counts of all cells that fit the noised integers best."""

    @abstractmethod
    def variances(self, starts: Sequence[Integers], ends: Sequence[Integers]) -> Floats:
        """The variances of the counts of boxes, from `starts` to before `ends` along each axis."""

    @abstractmethod
    def covariances(self, one: tuple[int, int], two: tuple[Integers, Integers]) -> Floats:
        """The covariances of one range of a single column with others."""

    @abstractmethod
    def variance_of_sets(self, chosen: Sequence[npt.NDArray[np.bool_]]) -> float:
        """The variance of the count of a product of sets of cells."""

    def run(self, counts: Integers) -> Floats:
        """Measure, add noise, estimate."""
        exact = self.measure(counts)
        pairs = zip(self.distributions, exact, strict=True)
        return self.estimate([distribution.run(integers) for distribution, integers in pairs])

    def half_width(self, level: float) -> float:
        """How many standard errors an interval of this level goes to each side."""
        noisy = [d for d in self.distributions if not isinstance(d, NoNoise)]
        if not noisy:
            return 0.0
        if isinstance(noisy[0], GaussianDistribution):
            return gaussian_factor(level, min(map(deviation_of, noisy)))
        scales = [d for d in noisy if isinstance(d, LaplaceDistribution)]
        widest = max(math.sqrt(2) * float(d.scale) / deviation_of(d) for d in scales)
        return laplace_factor(level) * widest


class Lattice(Design):
    """A design whose estimate has the covariance Σ c·(Q ⊗ ... ⊗ Q), c the `spreads` of the lattice."""

    def __init__(
        self,
        name: str,
        axes: tuple[Axis, ...],
        blocks: tuple[Block, ...],
        event: events.Event,
        energies: Floats,
        total: int | None,
    ) -> None:
        self.name, self.axes, self.blocks, self.event = name, axes, blocks, event
        self.distributions = tuple(block.distribution for block in blocks)
        self.total = total
        self.spreads = self._spreads()
        if total is not None:
            self.spreads[(0,) * len(axes)] = 0.0
        self.error = float((energies * self.spreads).sum())

    @abstractmethod
    def _spreads(self) -> Floats:
        """One over the precision of each place of the lattice."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The padded cells along each axis."""
        return tuple(axis.padded for axis in self.axes)

    def _pad(self, counts: Integers) -> Integers:
        padded = np.zeros(self.shape, np.int64)
        padded[tuple(axis.place for axis in self.axes)] = counts
        return padded

    def _cut(self, cells: Floats) -> Floats:
        return cells[tuple(axis.place for axis in self.axes)]

    def _lattice(self) -> tuple[int, ...]:
        return tuple(len(axis.sizes) for axis in self.axes)

    def variances(self, starts: Sequence[Integers], ends: Sequence[Integers]) -> Floats:
        parts = [
            a.energies_of_ranges(*q)
            for a, q in zip(self.axes, zip(starts, ends, strict=True), strict=True)
        ]
        return self._contract(parts)

    def covariances(self, one: tuple[int, int], two: tuple[Integers, Integers]) -> Floats:
        (axis,) = self.axes
        return self._contract([axis.products(one, two)])

    def variance_of_sets(self, chosen: Sequence[npt.NDArray[np.bool_]]) -> float:
        parts = [axis.energies_of_set(cells) for axis, cells in zip(self.axes, chosen, strict=True)]
        return float(self._contract(parts))

    def _contract(self, parts: Sequence[Floats]) -> Floats:
        """Σ spreads·(products of energies), for many queries at once."""
        found = np.tensordot(parts[-1], self.spreads, axes=(-1, -1))
        for energies in reversed(parts[:-1]):
            found = np.einsum("...i,...i->...", found, _fit(energies, found.ndim))
        return np.asarray(found)


def _fit(energies: Floats, dimensions: int) -> Floats:
    """With axes of length 1 between the queries and the levels, for the axes that are not summed yet."""
    added = (1,) * (dimensions - energies.ndim)
    return energies.reshape(*energies.shape[:-1], *added, energies.shape[-1])


class Nodes(Lattice):
    """Counts of the nodes of some levels (Hay, Rastogi, Miklau & Suciu 2010); cells alone are flat."""

    def _spreads(self) -> Floats:
        precision = np.zeros(self._lattice())
        for block in self.blocks:
            variance = block.variance
            precision[block.levels] = 1 / variance if variance else np.inf
        with np.errstate(divide="ignore"):
            return np.asarray(1 / precision_of_nodes(self.axes, precision))

    def measure(self, counts: Integers) -> list[Integers]:
        padded = self._pad(counts)
        return [sum_nodes(padded, self.axes, block.levels) for block in self.blocks]

    def estimate(self, noised: Sequence[Integers]) -> Floats:
        parts = list(zip(self.blocks, noised, strict=True))
        exact = [values for block, values in parts if block.variance == 0]
        if exact:
            return self._cut(np.asarray(exact[0], np.float64))
        weighted = np.zeros(self.shape)
        for block, values in parts:
            weighted += spread(values / block.variance, self.axes, block.levels)
        factors = np.where(np.isfinite(self.spreads), self.spreads, 0.0)
        found = projected(weighted, self.axes, factors)
        if self.total is not None:
            found += self.total / found.size
        return self._cut(found)


class Contrasts(Lattice):
    """Coefficients of the Haar wavelets of the trees, with any number of bands a level.

    Binary trees with the same ε for each level are Privelet (Xiao, Wang & Gehrke 2010).
    """

    def _spreads(self) -> Floats:
        found = np.zeros(self._lattice())
        for block in self.blocks:
            found[block.levels] = max(found[block.levels], block.variance / self._norm(block))
        return found

    def _norm(self, block: Block) -> float:
        """The squared norm of the cell vector whose product with the counts is a coefficient."""
        norm = 1.0
        for axis, level, band in zip(self.axes, block.levels, block.bands, strict=True):
            norm *= axis.sizes[level] * ((band + 1) * (band + 2) if level else 1)
        return norm

    def measure(self, counts: Integers) -> list[Integers]:
        padded = self._pad(counts)
        return [self._coefficients(padded, block) * block.weight for block in self.blocks]

    def _coefficients(self, padded: Integers, block: Block) -> Integers:
        found = sum_nodes(padded, self.axes, block.levels)
        for place, (axis, level) in enumerate(zip(self.axes, block.levels, strict=True)):
            if level:
                children = axis.branching[level - 1]
                row = contrasts(children)[block.bands[place]]
                moved = np.moveaxis(found, place, 0)
                families = moved.reshape(-1, children, *moved.shape[1:])
                found = np.moveaxis(np.einsum("nc...,c->n...", families, row), 0, place)
        return np.asarray(found, np.int64)

    def estimate(self, noised: Sequence[Integers]) -> Floats:
        coefficients = np.zeros(self.shape)
        for block, values in zip(self.blocks, noised, strict=True):
            here = coefficients[on_nodes(self.axes, block.levels)]
            picked = []
            for axis, level, band in zip(self.axes, block.levels, block.bands, strict=True):
                step = axis.branching[level - 1] - 1 if level else 1
                picked.append(slice(band if level else 0, None, step))
            here[tuple(picked)] = values / (block.weight * math.sqrt(self._norm(block)))
        if self.total is not None:
            coefficients[(0,) * len(self.axes)] = self.total / math.sqrt(coefficients.size)
        return self._cut(inverse(coefficients, self.axes))
