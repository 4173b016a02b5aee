"""Where private Lloyd starts: at public points, or where a share of the budget finds rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from typing import Any, final

import numpy as np

from discreet.coding import VALUE_BITS
from discreet.columns import Bins, Nearest, Numeric
from discreet.models.cluster.box import Box, Floats, cluster_weighted, spread
from discreet.models.facts import Facts
from discreet.queries import Additive, CentredSums, Count, WithColumns
from discreet.release import Release

Ask = Callable[[Additive], Release]

#: A grid has at most 2^12 cells, so that few empty ones look full.
GRID_BITS = 12
#: The grid of a split, so coarse that much noise fits.
_SQUARE_BITS = 10
#: A split goes this many standard deviations to either side of a cluster's mean.
_SPLIT = 0.8
#: A noised count below this many standard deviations of its noise says nothing.
FEW = 2.0


@dataclass(frozen=True)
class Space:
    """What all parts of a fit share: the public facts about columns, and a public random stream."""

    facts: Facts
    columns: tuple[Numeric, ...]
    clusters: int
    count_weight: Fraction

    @property
    def box(self) -> Box:
        return Box.of(self.columns)

    @property
    def dimensions(self) -> int:
        return len(self.columns)

    def sums(self, centres: Floats, *, squares: bool = False) -> Additive:
        """The query for count and sums of the rows nearest to each centre."""
        name = self.free_name("cluster")
        near = Nearest(self.facts.features, self.box.units(centres).tolist())
        query = CentredSums(
            *self.facts.features,
            products="squares" if squares else "none",
            bits=_SQUARE_BITS if squares else None,
            count_weight=self.count_weight,
            by=name,
        )
        return WithColumns(query, {name: near})

    def free_name(self, name: str) -> str:
        """A name that the schema does not have."""
        while name in self.facts.schema:
            name += "_"
        return name


class Start(ABC):
    """A way to place the first centres."""

    @abstractmethod
    def queries(self, space: Space) -> tuple[Additive, ...]:
        """What it will ask; the centres in them are placeholders, which don't change the price."""

    @abstractmethod
    def centres(self, space: Space, ask: Ask, draw: np.random.Generator) -> Floats:
        """The centres in [-1, 1]^d."""


@final
@dataclass(frozen=True)
class Fixed(Start):
    """Public points: given ones, or well-spread ones."""

    points: Floats | None = None

    def queries(self, space: Space) -> tuple[Additive, ...]:
        return ()

    def centres(self, space: Space, ask: Ask, draw: np.random.Generator) -> Floats:
        if self.points is not None:
            return space.box.scale(self.points)
        return spread(space.clusters, space.dimensions, draw)


@final
@dataclass(frozen=True)
class GridStart(Start):
    """k-means of a noised histogram over a coarse public grid, which is post-processing.

    Cells whose noised count could be that of an empty cell are left out. Source of the idea: EUGkM and
    its hybrid with Lloyd in Su et al. 2016.
    """

    def cells(self, space: Space) -> list[tuple[str, Bins | None, Floats]]:
        """For each column a name, its bins (None: it has one cell only), their middles in [-1, 1]."""
        bits = min(6 if space.dimensions == 1 else 4, GRID_BITS // space.dimensions)
        found = []
        taken = set(space.facts.schema)
        for feature, column in zip(space.facts.features, space.columns, strict=True):
            name = feature + " cell"
            while name in taken:
                name += "_"
            taken.add(name)
            found.append((name, *_bin(space.facts, feature, column, 2**bits)))
        return found

    def queries(self, space: Space) -> tuple[Additive, ...]:
        bins = {name: made for name, made, _ in self.cells(space) if made is not None}
        return (WithColumns(Count(by=tuple(bins)), bins),) if bins else ()

    def middles(self, space: Space) -> Floats:
        """The middle of each cell, in the order of the histogram."""
        return np.array(list(product(*(middles for _, _, middles in self.cells(space)))))

    def centres(self, space: Space, ask: Ask, draw: np.random.Generator) -> Floats:
        if not self.queries(space):
            return spread(space.clusters, space.dimensions, draw)
        points, weights = self.find_occupied(space, ask)
        return cluster_weighted(points, weights, space.clusters, draw)

    def find_occupied(self, space: Space, ask: Ask) -> tuple[Floats, Floats]:
        """Middles and noised counts of the cells that stand out from the noise."""
        (query,) = self.queries(space)
        release = ask(query)
        counts = np.asarray(release.value, np.float64)
        low = release.noise_interval(1 - 1 / (1 + len(counts))).lower
        # if no cell stands out, the fullest are still the best guess
        fullest = np.sort(counts)[-min(len(counts), 2 * space.clusters)]
        kept = np.flatnonzero((low > 0) | (counts >= max(fullest, 1.0)))
        if not len(kept):
            kept = np.array([int(counts.argmax())])
        return self.middles(space)[kept], np.maximum(counts[kept], 1.0)


def _bin(facts: Facts, feature: str, column: Numeric, cells: int) -> tuple[Bins | None, Floats]:
    """Bins of equal width, and their middles; as many as the column's values allow."""
    steps = column.steps(VALUE_BITS)
    cells = min(cells, steps + 1)
    lower, width = Fraction(column.lower), Fraction(column.width)
    cuts = [lower + width * Fraction(i, cells) for i in range(1, cells)]
    try:
        bins = Bins(feature, [float(cut) for cut in cuts])
        bins.code("", facts.schema)
    except ValueError:  # bounds so close that floats can't tell the cuts apart
        return None, np.zeros(1)
    if not column.is_exact(VALUE_BITS):
        return bins, (2 * np.arange(cells) + 1) / cells - 1
    edges = [math.ceil(Fraction(steps * i, cells)) for i in range(cells)] + [steps + 1]
    middle = [(a + b - 1) / 2 for a, b in pairwise(edges)]
    return bins, 2 * np.array(middle) / steps - 1


@final
@dataclass(frozen=True)
class SplitStart(Start):
    """One cluster, then two, then four: each round splits the widest clusters in two.

    A round asks for counts, sums and sums of squares; a cluster is split at its mean, along the column
    with the largest variance. For many columns, where a grid has too many cells. After Linde, Buzo &
    Gray 1980.
    """

    @staticmethod
    def _levels(clusters: int) -> list[int]:
        """How many centres there are before each round."""
        return [2**level for level in range((clusters - 1).bit_length())]

    def queries(self, space: Space) -> tuple[Additive, ...]:
        return tuple(
            space.sums(np.zeros((level, space.dimensions)), squares=True)
            for level in self._levels(space.clusters)
        )

    def centres(self, space: Space, ask: Ask, draw: np.random.Generator) -> Floats:
        centres = np.zeros((1, space.dimensions))
        for level in self._levels(space.clusters):
            release = ask(space.sums(centres, squares=True))
            new = min(space.clusters, 2 * level) - level
            centres = _split(centres, release.value, release.stderr, new)
        return centres


def _split(centres: Floats, answer: Any, errors: Any, new: int) -> Floats:
    """`new` more centres: the widest clusters become two."""
    d = centres.shape[1]
    counts = np.maximum(answer[:, 0], 1.0)
    empty = answer[:, 0] < np.maximum(1.0, FEW * errors[:, 0])
    means = np.clip(answer[:, 1 : 1 + d] / counts[:, None], -1.0, 1.0)
    means = np.where(empty[:, None], centres, means)
    # a variable in [-1, 1] has variance at most 1 - mean²
    variances = np.clip(answer[:, 1 + d :] / counts[:, None] - means**2, 1e-6, 1.000001 - means**2)
    size = np.where(empty, -1.0, counts * variances.max(axis=1))
    chosen = set(np.argsort(-size, kind="stable")[:new].tolist())
    found = []
    for index, mean in enumerate(means):
        if index not in chosen:
            found.append(mean)
            continue
        along = int(variances[index].argmax())
        step = np.zeros(d)
        step[along] = _SPLIT * math.sqrt(variances[index, along])
        found += [np.clip(mean - step, -1.0, 1.0), np.clip(mean + step, -1.0, 1.0)]
    return np.array(found)
