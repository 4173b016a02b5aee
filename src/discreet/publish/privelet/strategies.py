"""Ways to measure a histogram, and the choice between them from public facts alone."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np
import numpy.typing as npt

from discreet.measures import ZCDP, ApproxDP, PureDP
from discreet.mechanisms import Gaussian, Laplace
from discreet.publish.privelet.axes import ALL_OR_ONE, Axis, balanced_branching
from discreet.publish.privelet.building import Task, build_contrasts, build_flat, build_nodes
from discreet.publish.privelet.designs import Design
from discreet.publish.privelet.facts import Facts
from discreet.publish.privelet.lattice import outer
from discreet.rational import as_integer

__all__ = ["MAX_PADDED", "Automatic", "Flat", "Haar", "Problem", "Strategy", "Tree"]

Floats = npt.NDArray[np.float64]

#: Cells with padding that a design may have.
MAX_PADDED = 2**23
#: Children of a node whose differences are measured.
MAX_BANDS = 64
#: Trees with short ends are tried up to this height: higher ones have nodes too small for it to matter.
MAX_SHORT_HEIGHT = 5
#: Besides its workload, a little of every cell counts: so no level is left without any measurement.
EVERY_CELL = 1e-6


@dataclass(frozen=True)
class Problem:
    """What is to be measured: the cells of each column, what will be asked of them, and who is protected.

    `workloads` has for each column a kind of workload, or the ranges themselves as pairs of cells.
    """

    cells: tuple[int, ...]
    workloads: tuple[str | tuple[tuple[int, int], ...], ...]
    facts: Facts
    measure: PureDP | ApproxDP | ZCDP

    @property
    def mechanism(self) -> Laplace | Gaussian:
        """Laplace noise for pure DP, Gaussian noise for the other measures."""
        match self.measure:
            case PureDP(epsilon=epsilon):
                return Laplace(epsilon)
            case ZCDP(rho=rho):
                return Gaussian(rho=rho)
            case ApproxDP(epsilon=epsilon, delta=delta):
                return Gaussian(epsilon, delta)

    def energies(self, axes: Sequence[Axis]) -> Floats:
        """The mean energy of the workload at each place of the lattice."""
        asked = outer([_energies(axis, w) for axis, w in zip(axes, self.workloads, strict=True)])
        every = outer([axis.expected_energies("cells") for axis in axes])
        return np.maximum(asked, 0.0) + EVERY_CELL * every

    def task(self, axes: tuple[Axis, ...]) -> Task:
        """What is to be built over these trees."""
        return Task(axes, self.energies(axes), self.mechanism, self.facts)


def _energies(axis: Axis, workload: str | tuple[tuple[int, int], ...]) -> Floats:
    if isinstance(workload, str):
        return axis.expected_energies(workload)
    starts, ends = np.array(workload, np.int64).T
    return np.asarray(axis.energies_of_ranges(starts, ends).mean(axis=0))


class Strategy(ABC):
    """A way to measure a histogram."""

    @abstractmethod
    def designs(self, problem: Problem) -> Iterator[Design]:
        """The designs that are worth comparing; the best is taken."""

    def choose(self, problem: Problem) -> Design:
        """The design with the least error over the workload."""
        return _choose(self, problem)


@lru_cache(maxsize=64)
def _choose(strategy: Strategy, problem: Problem) -> Design:
    found = list(strategy.designs(problem))
    least = min(design.error for design in found)
    # of those that are as good, the first: the simplest
    return next(design for design in found if design.error <= least * (1 + 1e-6))


@final
@dataclass(frozen=True)
class Flat(Strategy):
    """Noise on each cell alone: the plain histogram."""

    def designs(self, problem: Problem) -> Iterator[Design]:
        axes = tuple(Axis(cells, (cells,) if cells > 1 else ()) for cells in problem.cells)
        yield build_flat(problem.task(axes))


@final
@dataclass(frozen=True, init=False)
class Tree(Strategy):
    """Noise on the counts of all nodes of a tree over the cells, made consistent by least squares.

    Parameters
    ----------
    branching : int or sequence of int, optional
        Children of each node, or of the nodes of each level from the root down; the best by default.
        Of several ordered columns, each has this tree. Columns without order have the root and their values.
    split : "optimal" or "equal"
        How the budget is split over levels; "equal" gives each the same, the root too.

    Notes
    -----
    Hay, Rastogi, Miklau & Suciu 2010, with the weights of Qardaji, Yang & Li 2013.
    """

    branching: int | tuple[int, ...] | None
    split: str

    def __init__(
        self, branching: int | Sequence[int] | None = None, *, split: str = "optimal"
    ) -> None:
        object.__setattr__(self, "branching", _read_branching(branching))
        object.__setattr__(self, "split", _read_split(split))

    def designs(self, problem: Problem) -> Iterator[Design]:
        for axes in _forests(problem, self.branching, _heights, _short_ends):
            yield build_nodes(problem.task(axes), equal=self.split == "equal")

    def __repr__(self) -> str:
        return f"Tree({_show(self.branching, self.split)})"


@final
@dataclass(frozen=True, init=False)
class Haar(Strategy):
    """Noise on the coefficients of Haar wavelets: Privelet (Xiao, Wang & Gehrke 2010).

    Parameters
    ----------
    bands : int or sequence of int, optional
        Children of each node, as in `Tree`; 2 is Privelet's, and the best for it by default.
    split : "optimal" or "equal"
        How the budget is split over levels; Privelet gives each the same.
    """

    bands: int | tuple[int, ...] | None
    split: str

    def __init__(self, bands: int | Sequence[int] | None = None, *, split: str = "optimal") -> None:
        object.__setattr__(self, "bands", _read_branching(bands))
        if self.bands is not None and np.max(self.bands) > MAX_BANDS:
            raise ValueError(f"bands must be at most {MAX_BANDS}: more of them have more noise.")
        object.__setattr__(self, "split", _read_split(split))

    def designs(self, problem: Problem) -> Iterator[Design]:
        for axes in _forests(problem, self.bands, _narrow):
            yield build_contrasts(problem.task(axes), equal=self.split == "equal")

    def __repr__(self) -> str:
        return f"Haar({_show(self.bands, self.split)})"


@final
@dataclass(frozen=True)
class Automatic(Strategy):
    """The best of flat, trees and Haar wavelets for a workload: from public facts alone."""

    def designs(self, problem: Problem) -> Iterator[Design]:
        for strategy in (Flat(), Tree(), Haar()):
            yield from strategy.designs(problem)


def _read_branching(branching: int | Sequence[int] | None) -> int | tuple[int, ...] | None:
    if branching is None:
        return None
    if isinstance(branching, Iterable):
        return tuple(as_integer(children, "branching", minimum=2) for children in branching)
    return as_integer(branching, "branching", minimum=2)


def _show(children: int | tuple[int, ...] | None, split: str) -> str:
    """The arguments of a strategy as they are written."""
    shown = [] if children is None else [repr(children)]
    return ", ".join([*shown, *([] if split == "optimal" else [f"split={split!r}"])])


def _read_split(split: str) -> str:
    if split not in ("optimal", "equal"):
        raise ValueError(f'split must be "optimal" or "equal", got {split!r}.')
    return split


def _heights(cells: int) -> list[Axis]:
    """Balanced trees of all heights."""
    most = max(1, math.ceil(math.log2(cells))) if cells > 1 else 1
    found = dict.fromkeys(balanced_branching(cells, height) for height in range(1, most + 1))
    return [Axis(cells, branching) for branching in found]


def _short_ends(cells: int) -> list[Axis]:
    """Trees whose first and last nodes are short and alike: a range that ends there takes little of them.

    The same number of them for every column, so that those of several columns belong together.
    """
    return [
        _shorten(cells, height, middle, last)
        for height in range(2, MAX_SHORT_HEIGHT + 1)
        for middle in (-1, 0)
        for last in (0, 1, 2)
    ]


def _shorten(cells: int, height: int, middle: int, last: int) -> Axis:
    """The tree with so many more children than a balanced one has at its middle levels and at its last."""
    base = math.floor(round(cells ** (1 / height), 9))
    inner = (max(2, base + middle),) * (height - 2) + (max(2, base + last),)
    node = math.prod(inner)
    left_over = (cells - 1) % node + 1
    first = round(left_over / 2 / inner[-1]) * inner[-1]
    if cells <= node or not 0 < first < left_over:
        return Axis(cells, balanced_branching(cells, height))
    return Axis(cells, ((cells - left_over) // node + 2, *inner), node - first)


def _narrow(cells: int) -> list[Axis]:
    """Trees with two or three children, with little padding, and those with two alone."""
    if cells <= 1:
        return [Axis(cells, ())]
    found = []
    for threes in range(3):
        twos = max(0, math.ceil(math.log2(cells / 3**threes)))
        found.append((3,) * threes + (2,) * twos)
    least = min(found, key=math.prod)
    return [Axis(cells, tree) for tree in dict.fromkeys([found[0], least])]


def _uniform(cells: int, branching: int | tuple[int, ...]) -> Axis:
    """The tree that was asked for."""
    if isinstance(branching, tuple):
        return Axis(cells, branching)
    height = 0
    while branching**height < cells:
        height += 1
    return Axis(cells, (branching,) * height)


def _forests(
    problem: Problem,
    branching: int | tuple[int, ...] | None,
    *candidates: Callable[[int], list[Axis]],
) -> Iterator[tuple[Axis, ...]]:
    """Trees over the columns: those that were asked for, or the candidates."""
    found: dict[tuple[Axis, ...], None] = {}
    for trees in candidates:
        each: list[list[Axis]] = []
        for cells, workload in zip(problem.cells, problem.workloads, strict=True):
            if workload == ALL_OR_ONE and _heights in candidates:
                each.append([Axis(cells, (cells,) if cells > 1 else ())])
            elif branching is not None:
                each.append([_uniform(cells, branching)])
            else:
                each.append(trees(cells))
        # of several columns, the n-th trees go together: all combinations would be too many
        longest = max(map(len, each))
        found |= dict.fromkeys(
            tuple(axes[min(at, len(axes) - 1)] for axes in each) for at in range(longest)
        )
    small = [forest for forest in found if math.prod(a.padded for a in forest) <= MAX_PADDED]
    if not small and branching is not None:
        raise ValueError(
            f"strategy: this tree has more than {MAX_PADDED} leaves with its padding: choose another "
            "branching, or fewer bins."
        )
    yield from small
