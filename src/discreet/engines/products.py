"""Sums of products of codes by BLAS: exact, because every partial sum is an integer below 2^53."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.coding import Code, CodedQuery, Grid, Linear

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

#: Numbers of one tile of rows: about what fits the cache of a core.
TILE_CELLS = 2**18
MAX_TILE_ROWS, MIN_TILE_ROWS = 2**13, 2**10


class Products:
    """Where the factors of a query's terms stand, found once for all chunks.

    Every factor is scale·code + offset of some plain code: only sums of products of plain codes are
    computed, once each, and the rest is made of them in integers.

    Attributes
    ----------
    codes : list of Code
        The plain codes; code i is row 1 + i of a matrix, row 0 holds ones.
    """

    def __init__(self, query: CodedQuery) -> None:
        # one object stands for a code in all terms of a query: no need to compare it again and again
        known: dict[int, tuple[int, int, int]] = {}
        rows: dict[Code, int] = {}
        # of each of two factors: row, scale and offset; the constant 1 where there is none
        factors = np.zeros((len(query.terms), 2, 3), np.int64)
        factors[:, :, 2] = 1
        for at, term in enumerate(query.terms):
            for place, code in enumerate(term.codes):
                if id(code) not in known:
                    plain, scale, offset = affine(code)
                    known[id(code)] = rows.setdefault(plain, 1 + len(rows)), scale, offset
                factors[at, place] = known[id(code)]
        self.codes = list(rows)
        self._rows, self._scales, self._offsets = np.moveaxis(factors, 2, 0)
        self._weights = np.array([term.weight for term in query.terms], np.int64)
        self._dots = sorted({(i, j) for i, j in self._rows.tolist() if i and j})

    @property
    def tile(self) -> int:
        """How many rows are handled at once."""
        return max(MIN_TILE_ROWS, min(MAX_TILE_ROWS, TILE_CELLS // (1 + len(self.codes))))

    def sum_rows(self, batches: Iterable[Integers], size: int) -> Integers:
        """The sums over rows of codes, in the order of `codes`, of shape (1, terms); `size` at a time."""
        result = np.zeros((1, len(self._weights)), np.int64)
        for rows in batches:
            for start in range(0, len(rows), size):
                chunk = rows[start : start + size].T

                def fill(matrix: Floats, part: slice, chunk: Integers = chunk) -> None:
                    matrix[1:] = chunk[:, part]

                self.add(result[0], fill, chunk.shape[1])
        return result

    def add(self, result: Integers, fill: Callable[[Floats, slice], None], rows: int) -> None:
        """Add the sums over at most 2^18 rows; `fill` writes the codes of a slice of them.

        Codes are at most 2^15 in size where two are multiplied, 2^20 elsewhere: the sums stay below
        2^48, so they are exact in whatever order BLAS adds.
        """
        size, tile = 1 + len(self.codes), self.tile
        matrix = np.empty((size, min(tile, max(1, rows))))
        many = len(self._dots) > size
        products = np.zeros((size, size))
        for start in range(0, rows, tile):
            stop = min(start + tile, rows)
            part = matrix[:, : stop - start]
            part[0] = 1.0
            fill(part, slice(start, stop))
            if many:
                products += part @ part.T
            else:
                products[0] += part @ part[0]
                for i, j in self._dots:
                    products[i, j] += part[i] @ part[j]
        sums = products.astype(np.int64)
        (i, j), (a, b), (c, d) = self._rows.T, self._scales.T, self._offsets.T
        whole = a * b * sums[i, j] + a * d * sums[0, i] + b * c * sums[0, j] + c * d * sums[0, 0]
        result += whole * self._weights


def affine(code: Code) -> tuple[Code, int, int]:
    """A plain code, a scale and an offset that make up a code."""
    if not isinstance(code, Linear):
        return code, 1, 0
    plain, scale, offset = affine(code.source)
    return plain, scale * code.scale, offset * code.scale + code.offset


def plain_grid(code: Code) -> tuple[Grid, int, int] | None:
    """A grid, a scale and an offset, if the code is made of these."""
    plain, scale, offset = affine(code)
    return (plain, scale, offset) if isinstance(plain, Grid) else None
