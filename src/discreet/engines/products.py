"""Sums of products of codes by BLAS: exact, because every partial sum is an integer below 2^53."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.coding import Code, Grid, Linear
from discreet.queries import CodedQuery

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

#: Numbers of one tile of rows: about what fits the cache of a core.
TILE_CELLS = 2**18
MOST_TILE_ROWS, LEAST_TILE_ROWS = 2**13, 2**10
#: Kinds of numpy types whose cells are numbers already.
PLAIN = frozenset("fiub")


class Products:
    """Where the factors of a query's terms stand, found once for all chunks.

    Attributes
    ----------
    codes : list of Code
        All codes that the terms are made of; code i is row 1 + i of a matrix, row 0 holds ones.
    """

    def __init__(self, query: CodedQuery) -> None:
        # one object stands for a code in all terms of a query: no need to compare it again and again
        first: dict[Code, int] = {}
        place: dict[int, int] = {}
        pairs = np.zeros((len(query.terms), 2), np.intp)
        for at, term in enumerate(query.terms):
            for factor, code in enumerate(term.codes):
                if id(code) not in place:
                    place[id(code)] = first.setdefault(code, 1 + len(first))
                pairs[at, factor] = place[id(code)]
        self.codes = list(first)
        self._first, self._second = pairs.T
        self._weights = np.array([term.weight for term in query.terms], np.int64)

    @property
    def tile(self) -> int:
        """How many rows are handled at once."""
        return max(LEAST_TILE_ROWS, min(MOST_TILE_ROWS, TILE_CELLS // (1 + len(self.codes))))

    def add(self, result: Integers, fill: Callable[[Floats, slice], None], rows: int) -> None:
        """Add the sums over at most 2^18 rows; `fill` writes the codes of a slice of them.

        Codes are at most 2^15 in size where two are multiplied, 2^20 elsewhere: the sums stay below
        2^48, so they are exact in whatever order BLAS adds.
        """
        size, tile = 1 + len(self.codes), self.tile
        matrix = np.empty((size, min(tile, max(1, rows))))
        many = len(self._weights) > 2 * size
        products = np.zeros((size, size))
        sums = np.zeros(len(self._weights))
        for start in range(0, rows, tile):
            stop = min(start + tile, rows)
            part = matrix[:, : stop - start]
            part[0] = 1.0
            fill(part, slice(start, stop))
            if many:
                products += part @ part.T
            else:
                pairs = zip(self._first.tolist(), self._second.tolist(), strict=True)
                sums += [float(part[i] @ part[j]) for i, j in pairs]
        if many:
            sums = products[self._first, self._second]
        result += sums.astype(np.int64) * self._weights


def plain_grid(code: Code) -> tuple[Grid, int, int] | None:
    """A grid, a scale and an offset, if the code is made of these."""
    if isinstance(code, Grid):
        return code, 1, 0
    if isinstance(code, Linear) and isinstance(code.source, Grid):
        return code.source, code.scale, code.offset
    return None


def grid_into(out: Floats, cells: Array, grid: Grid, scale: int, offset: int) -> None:
    """Write scale·code + offset of numeric cells as doubles: `grid_codes` without integers.

    The same operations in the same order; what follows the floor is exact, being integers below 2^53.
    """
    if cells.dtype.kind in "iu":
        limits = np.iinfo(cells.dtype)
        low = min(max(math.floor(grid.lower), limits.min), limits.max)
        high = max(min(math.ceil(grid.upper), limits.max), limits.min)
        out[:] = np.clip(cells, low, high)
    else:
        out[:] = cells
        missing = np.isnan(out)
        if missing.any():
            out[missing] = grid.fill
    np.maximum(out, grid.lower, out=out)
    np.minimum(out, grid.upper, out=out)
    if grid.shift:
        np.subtract(out, grid.shift, out=out)
    if grid.multiplier != 1.0:
        np.multiply(out, grid.multiplier, out=out)
    if grid.half:
        np.add(out, grid.half, out=out)
    np.floor(out, out=out)
    if scale != 1:
        np.multiply(out, scale, out=out)
    if offset:
        np.add(out, offset, out=out)
