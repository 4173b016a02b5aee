"""k-means by sample and aggregate: disjoint blocks of rows, each clustered apart, then averaged."""

from __future__ import annotations

import hashlib
from typing import final

import numpy as np
from scipy.optimize import linear_sum_assignment

from discreet import events
from discreet.coding import VALUE_BITS, Sensitivity
from discreet.columns import numeric_column
from discreet.mechanisms import Distribution, NoNoise
from discreet.models.cluster.box import Floats, Integers
from discreet.schema import Schema
from discreet.step import CodedRows, Step
from discreet.unit import REPLACE_ONE, Unit

#: A centre's coordinate is a whole number up to this.
SIZE = 2**VALUE_BITS
#: Rounds of Lloyd in every block.
_ROUNDS = 10
#: Rows that are compared with centres at once.
_ROWS = 4096
#: Rows are dealt to blocks by a public mix of their codes modulo this prime.
_PRIME = 2**31 - 1


@final
class BlockCentres(Step):
    """The average, over blocks, of each block's own k-means, with noise.

    A row goes to a block by a public hash of its codes and of its number among equal rows, so adding one
    row touches one block and no other, whatever the order of rows. Each block starts from the same
    public points, several times, and keeps its best result. Its centres are matched with the first start
    (least total squared distance), put on a grid of 2^20 steps between the bounds, and added up.

    Parameters
    ----------
    columns : tuple of str
        Numeric columns.
    starts : array of shape (starts, clusters, columns)
        Public points in [0, 1].
    blocks : int
        How many blocks; public.
    distribution : Distribution
        The noise on each coordinate of the sum.

    Privacy
    -------
    The noised sum of `blocks` vectors, each in a public box: one changed block moves a coordinate by at
    most 2^20. A row that comes or goes changes one block, a replaced row two; nothing else about what
    happens inside a block matters. GUPT (Mohan et al. 2012). Proof page: ``docs/proofs/cluster.md``.
    """

    columns: tuple[str, ...]

    def __init__(
        self, columns: tuple[str, ...], starts: Floats, blocks: int, distribution: Distribution
    ) -> None:
        self.columns, self.starts, self.blocks, self.distribution = (
            columns,
            starts,
            blocks,
            distribution,
        )

    def event(self, schema: Schema, unit: Unit) -> events.Event:
        clusters = self.starts.shape[1]
        sensitivity = block_sensitivity(schema, unit, self.columns, clusters, self.blocks)
        if isinstance(self.distribution, NoNoise) and unit.is_public:
            return events.Compose()
        return self.distribution.event(sensitivity)

    def run(self, rows: CodedRows) -> Floats:
        """The noised average of the blocks' centres, in [0, 1]."""
        steps = [numeric_column(rows.schema, n, "KMeans").steps(VALUE_BITS) for n in self.columns]
        # one order of rows whatever the engine, so that float sums agree too
        codes = rows.codes[np.lexsort(rows.codes.T[::-1])]
        filled, block = np.unique(dealt(codes, self.blocks), return_inverse=True)
        points = codes / np.maximum(steps, 1)
        best = np.tile(self.starts[0], (len(filled), 1, 1))
        least = np.full(len(filled), np.inf)
        for start in self.starts:
            centres, inertia = _cluster(points, block, np.tile(start, (len(filled), 1, 1)))
            better = inertia < least
            best[better], least[better] = centres[better], inertia[better]
        # a block without rows answers with its start
        whole = (self.blocks - len(filled)) * _round_to_grid(self.starts[0])
        for centres in best:
            whole += _round_to_grid(_match(centres, self.starts[0]))
        whole[:, np.array(steps) == 0] = 0
        return np.asarray(np.clip(self.distribution.run(whole) / (SIZE * self.blocks), 0.0, 1.0))


def block_sensitivity(
    schema: Schema, unit: Unit, columns: tuple[str, ...], clusters: int, blocks: int
) -> Sensitivity:
    """How far one person moves the sum of all blocks' centres."""
    wide = sum(1 for name in columns if numeric_column(schema, name, "KMeans").width > 0)
    changed = unit.rows_per_person * (2 if unit.relation is REPLACE_ONE else 1)
    changed = min(changed, blocks)
    return Sensitivity(changed * clusters * wide * SIZE, changed**2 * clusters * wide * SIZE**2)


def dealt(codes: Integers, blocks: int) -> Integers:
    """The block of each of these sorted rows: a public hash of its codes and its number among equals.

    Numbering equal rows spreads them over blocks, and still one row more or less changes one block: the
    set of pairs (row, number) grows or shrinks by one.
    """
    mix = np.zeros(len(codes), np.int64)
    new = np.ones(len(codes), np.bool_)
    if codes.shape[1]:
        new[1:] = (codes[1:] != codes[:-1]).any(axis=1)
    for j in range(codes.shape[1]):
        mix += (codes[:, j] + 1) * _mixer(j) % _PRIME
    first = np.flatnonzero(new)
    number = np.arange(len(codes)) - first[np.cumsum(new) - 1] if len(codes) else mix
    mix = (mix % _PRIME + (number + 1) % _PRIME * _mixer(codes.shape[1]) % _PRIME) % _PRIME
    return np.asarray(mix * _mixer(codes.shape[1] + 1) % _PRIME % blocks)


def _mixer(index: int) -> int:
    digest = hashlib.sha256(b"block %d" % index).digest()
    return 1 + int.from_bytes(digest[:8]) % (_PRIME - 1)


def _cluster(points: Floats, block: Integers, centres: Floats) -> tuple[Floats, Floats]:
    """Lloyd's rounds in every block at once: centres of shape (blocks, clusters, columns), inertias."""
    blocks, clusters, d = centres.shape
    inertia: Floats = np.zeros(blocks)
    for _ in range(_ROUNDS):
        label, least = _nearest(points, block, centres)
        inertia = np.bincount(block, least, blocks).astype(np.float64)
        cell = block * clusters + label
        counts = np.bincount(cell, minlength=blocks * clusters)
        filled = counts > 0
        for j in range(d):
            sums = np.bincount(cell, points[:, j], blocks * clusters)
            flat = centres[:, :, j].ravel()
            centres[:, :, j] = np.where(filled, sums / np.maximum(counts, 1), flat).reshape(
                blocks, clusters
            )
    return centres, inertia


def _nearest(points: Floats, block: Integers, centres: Floats) -> tuple[Integers, Floats]:
    """The nearest of its block's centres for each point, and the squared distance; few rows at once."""
    label = np.zeros(len(points), np.int64)
    least = (points**2).sum(axis=1)
    lengths = (centres**2).sum(axis=2)
    for start in range(0, len(points), _ROWS):
        part = slice(start, start + _ROWS)
        where = block[part]
        # |x - c|² less |x|²
        apart = lengths[where] - 2 * np.einsum("nd,nkd->nk", points[part], centres[where])
        label[part] = apart.argmin(axis=1)
        least[part] += apart.min(axis=1)
    return label, least


def _match(centres: Floats, reference: Floats) -> Floats:
    """The centres in the order of the reference points they are matched with."""
    cost = ((centres[None, :, :] - reference[:, None, :]) ** 2).sum(axis=2)
    return np.asarray(centres[linear_sum_assignment(cost)[1]])


def _round_to_grid(centres: Floats) -> Integers:
    """Round to the public grid, within the public box."""
    return np.asarray(np.clip(np.rint(centres * SIZE), 0, SIZE), np.int64)
