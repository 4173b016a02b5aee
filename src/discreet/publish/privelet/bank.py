"""Coefficients of any orthonormal M-band filter bank, several levels deep, of a histogram of one column.

It is here because the bank was proposed for this: trees and Haar wavelets have less noise, and the automatic
choice never takes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import final

import numpy as np
import numpy.typing as npt

from discreet import events
from discreet.mechanisms import Distribution, GaussianDistribution, Laplace, LaplaceDistribution
from discreet.mechanisms.distributions import drawable_scale
from discreet.publish.privelet.building import as_scale, compose, gaussian_noise, laplace_scales
from discreet.publish.privelet.designs import Design, deviation_of
from discreet.publish.privelet.facts import Facts
from discreet.publish.privelet.strategies import Problem, Strategy
from discreet.publish.wavelets import THREE_BAND, FilterBank, IntegerTransform, forward, inverse

__all__ = ["Bank"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: Entries of the transform are multiples of 2^-16, and larger counts of a cell are cut off at 2^32.
BITS, MAX_COUNT = 16, 2**32
#: The matrix is orthogonal up to 2^-16 only: what the inverse of the bank misses is put back this many times.
REFINED = 4
#: Ranges that stand for a workload, and how many are transformed at once.
SAMPLED, AT_ONCE = 256, 32
#: The most cells of a bank's transform: its matrix has about thirty entries a cell and level.
MAX_CELLS = 2**18


@final
@dataclass(frozen=True)
class Bank(Strategy):
    """Noise on the coefficients of an M-band filter bank, as deep as the column is long.

    Parameters
    ----------
    bank : FilterBank
        The 2-regular bank of three bands by default.
    """

    bank: FilterBank = THREE_BAND

    def designs(self, problem: Problem) -> Iterator[Design]:
        if len(problem.cells) != 1:
            raise ValueError("strategy: Bank is for a single column; use Tree or Haar for several.")
        (cells,), (workload,) = problem.cells, problem.workloads
        if cells < 2 or cells > MAX_CELLS:
            raise ValueError(f"strategy: Bank takes 2 to {MAX_CELLS} cells, not {cells}.")
        levels = 1
        while self.bank.bands**levels < cells:
            levels += 1
        transform = _transform(self.bank, levels)
        queries = _sample(cells, workload)
        energies = np.zeros(levels + 1)
        for part in np.array_split(queries, -(-len(queries) // AT_ONCE)):
            found = _coefficients(transform, part) ** 2
            energies += [found[:, rows].sum() for rows in _rows(transform)]
        yield BankDesign(transform, cells, energies / len(queries), problem)


@lru_cache(maxsize=4)
def _transform(bank: FilterBank, levels: int) -> IntegerTransform:
    return IntegerTransform(bank, bank.bands**levels, levels, BITS)


def _rows(transform: IntegerTransform) -> list[slice]:
    """Where the coefficients of the approximation and of each level of details stand, coarse ones first."""
    bands = transform.bank.bands
    ends = [bands**depth for depth in range(transform.levels + 1)]
    return [slice(0, 1), *(slice(a, b) for a, b in pairwise(ends))]


def _coefficients(transform: IntegerTransform, ranges: Integers) -> Floats:
    """The orthonormal coefficients of ranges, one row each."""
    places = np.arange(transform.length)
    flags = (places >= ranges[:, :1]) & (places < ranges[:, 1:])
    return np.asarray(
        forward(flags.astype(np.float64), transform.bank, transform.levels, axis=1), np.float64
    )


def _sample(cells: int, workload: str | tuple[tuple[int, int], ...]) -> Integers:
    """Ranges that stand for a workload: spread evenly, the same at every call."""
    if not isinstance(workload, str):
        return np.array(workload, np.int64)
    k = np.arange(1, SAMPLED + 1)
    one, two = (k * 0.754877666246693) % 1, (k * 0.569840290998053) % 1
    if workload == "prefixes":
        return np.column_stack([np.zeros(SAMPLED), 1 + np.floor(one * cells)]).astype(np.int64)
    if workload == "ranges":  # two of cells + 1 ends, not the same
        first = np.floor(one * (cells + 1))
        second = (first + 1 + np.floor(two * cells)) % (cells + 1)
        return np.sort(np.column_stack([first, second]), axis=1).astype(np.int64)
    start = np.floor(one * cells)
    return np.column_stack([start, start + 1]).astype(np.int64)


class BankDesign(Design):
    """Every level of coefficients with its own noise."""

    def __init__(
        self, transform: IntegerTransform, cells: int, energies: Floats, problem: Problem
    ) -> None:
        self._transform, self._cells = transform, cells
        self.name = f"{transform.levels} levels of the bank {transform.bank!r}"
        rows, facts, mechanism = _rows(transform), problem.facts, problem.mechanism
        # the total may be known, but it is not a coefficient of a bank whose filters overlap
        facts = Facts(facts.rows, facts.is_replaced)
        if isinstance(mechanism, Laplace):
            spreads = [transform.spread(part) for part in rows]
            moved = np.array([facts.moved(spread) for spread in spreads], object)
            shares = np.cbrt(np.maximum(energies, 1e-12) * moved.astype(np.float64) ** 2)
            scales = laplace_scales(shares / shares.sum(), moved, mechanism)
            self.distributions: tuple[Distribution, ...] = tuple(
                LaplaceDistribution(scales[(level,)]) for level in range(len(rows))
            )
            self.event: events.Event = compose([(scales[(k,)], by) for k, by in enumerate(moved)])
        else:
            lengths = [transform.energy(part) for part in rows]
            own = np.array([length / transform.one**2 for length in lengths])
            precision = np.sqrt(np.maximum(energies, 1e-12) / own)
            precision /= (precision * own).sum()
            relative = [as_scale(transform.one / math.sqrt(value)) for value in precision]
            squares = [a / b**2 for a, b in zip(lengths, relative, strict=True)]
            # twice the length of a row's column is more than two columns can be apart
            distance = sum(squares) * (4 if facts.is_replaced else 1) * facts.rows**2
            sigma, self.event = gaussian_noise(distance, mechanism)
            self.distributions = tuple(
                GaussianDistribution(drawable_scale(sigma * scale)) for scale in relative
            )
        self.spreads = np.array(
            [(deviation_of(d) / transform.one) ** 2 for d in self.distributions]
        )
        self.error = float((energies * self.spreads).sum())

    def measure(self, counts: Integers) -> list[Integers]:
        padded = np.zeros(self._transform.length, np.int64)
        padded[: self._cells] = counts
        found = self._transform.apply(padded, MAX_COUNT)
        return [found[rows] for rows in _rows(self._transform)]

    def estimate(self, noised: Sequence[Integers]) -> Floats:
        transform = self._transform
        left: Floats = np.concatenate(noised).astype(np.float64)
        cells = np.zeros(transform.length)
        for _ in range(REFINED):
            found = inverse(left / transform.one, transform.bank, transform.levels)
            cells += np.asarray(found)
            left = np.concatenate(noised) - transform.matrix @ cells
        return cells[: self._cells]

    def _weights(self) -> Floats:
        found = np.empty(self._transform.length)
        for rows, variance in zip(_rows(self._transform), self.spreads, strict=True):
            found[rows] = variance
        return found

    def variances(self, starts: Sequence[Integers], ends: Sequence[Integers]) -> Floats:
        ranges, weights = np.column_stack([starts[0], ends[0]]), self._weights()
        parts = np.array_split(ranges, -(-len(ranges) // AT_ONCE))
        return np.concatenate([_coefficients(self._transform, p) ** 2 @ weights for p in parts])

    def covariances(self, one: tuple[int, int], two: tuple[Integers, Integers]) -> Floats:
        first = _coefficients(self._transform, np.array([one]))[0] * self._weights()
        ranges = np.column_stack(two)
        parts = np.array_split(ranges, -(-len(ranges) // AT_ONCE))
        return np.concatenate([_coefficients(self._transform, p) @ first for p in parts])

    def variance_of_sets(self, chosen: Sequence[npt.NDArray[np.bool_]]) -> float:
        padded = np.zeros(self._transform.length)
        padded[: self._cells] = chosen[0]
        found = forward(padded, self._transform.bank, self._transform.levels)
        return float(np.asarray(found) ** 2 @ self._weights())
