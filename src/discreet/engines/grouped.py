"""Sums by group in tiles of rows: exact, because every partial sum is an integer below 2^53.

A term that is a product of linear functions of one grid code g is a polynomial in n, Σg and Σg²; one
that looks up a single code is a sum over that code's histogram. So one pass over the cells serves all
terms of a column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.coding import Code, CodedQuery, Cuts, Grid, Lookup, Term
from discreet.engines.products import plain_grid

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Writer = Callable[[Floats, slice], None]

#: Rows of one tile: about what fits the cache of a core with a few columns.
TILE = 2**13
#: Up to this many groups, sums are products with a matrix of memberships.
FEW_GROUPS = 32
#: Squares of codes up to this size add up to less than 2^53 over 2^18 rows.
LARGEST_SQUARED = 2**17
#: The widest code whose histogram is taken, and the most cells of one by group.
WIDEST, MAX_CELLS = 2**16, 2**22


@dataclass(frozen=True)
class _Polynomial:
    """a·Σg² + b·Σg + c·n for the grid at a place."""

    place: int
    factors: tuple[int, int, int]


@dataclass(frozen=True)
class _Table:
    """Σ values[code + 1] for the code at a place."""

    place: int
    values: Integers


class Grouped:
    """How the terms of a grouped query are made of few sums, found once for all chunks.

    Attributes
    ----------
    grids : list of Grid
        The codes whose sums and sums of squares are needed.
    tables : list of Code
        The codes whose histograms are needed.
    others : list of int
        Terms that must be added up one by one.
    """

    def __init__(self, query: CodedQuery) -> None:
        self.grids: list[Grid] = []
        self.tables: list[Code] = []
        self.others: list[int] = []
        self._terms = query.terms
        self._groups = query.groups
        self._counts: list[int] = []
        self._polynomials: list[tuple[int, _Polynomial]] = []
        self._lookups: list[tuple[int, _Table]] = []
        grids: dict[Code, int] = {}
        tables: dict[Code, int] = {}
        for index, term in enumerate(query.terms):
            if not term.codes:
                self._counts.append(index)
            elif (polynomial := self._polynomial(term, grids)) is not None:
                self._polynomials.append((index, polynomial))
            elif (table := self._table(term, tables)) is not None:
                self._lookups.append((index, table))
            else:
                self.others.append(index)

    def _polynomial(self, term: Term, places: dict[Code, int]) -> _Polynomial | None:
        found = [plain_grid(code) for code in term.codes]
        if len(found) > 2 or any(plain is None for plain in found):
            return None
        parts: list[Any] = found
        grid = parts[0][0]
        if any(part[0] != grid for part in parts):
            return None
        largest = max(abs(grid.low), abs(grid.high))
        if largest > (LARGEST_SQUARED if len(parts) == 2 else 2**20):
            return None
        if len(parts) == 1:
            factors = (0, parts[0][1], parts[0][2])
        else:
            (_, a, b), (_, c, d) = parts
            factors = (a * c, a * d + b * c, b * d)
        if grid not in places:
            places[grid] = len(self.grids)
            self.grids.append(grid)
        return _Polynomial(places[grid], factors)

    def _table(self, term: Term, places: dict[Code, int]) -> _Table | None:
        code = term.codes[0]
        if len(term.codes) != 1 or not isinstance(code, Lookup) or len(code.sources) != 1:
            return None
        source, table = code.sources[0], np.array([*code.tables[0], 0], np.int64)
        if not self._is_narrow(source) or source.high >= len(table) - 1:
            return None
        seen = np.arange(-1, source.high + 1)
        if isinstance(source, Cuts) and self._is_narrow(source.source):
            # bins of a narrow code: its own histogram serves all terms that bin it
            cuts, source = np.array(source.cuts), source.source
            seen = np.searchsorted(cuts, np.arange(-1, source.high + 1), side="right")
        # a code of -1 (no category) reads the 0 behind the last entry
        values = np.array(code.link, np.int64)[np.clip(table[seen], 0, len(code.link) - 1)]
        if source not in places:
            places[source] = len(self.tables)
            self.tables.append(source)
        return _Table(places[source], values)

    def _is_narrow(self, code: Code) -> bool:
        cells = self._groups * (code.high + 2)
        return code.low >= -1 and code.high < WIDEST and cells <= MAX_CELLS

    def add(
        self,
        result: Integers,
        groups: Integers,
        mask: Mask | None,
        writers: list[Writer],
        codes: list[Integers],
    ) -> None:
        """Add the sums over at most 2^18 rows; without `mask` all rows count.

        `writers` write the codes of `grids`, `codes` are the values of `tables`.
        """
        if mask is not None:
            groups = np.where(mask, groups, self._groups)
        counts = np.bincount(groups, minlength=self._groups + 1)[: self._groups]
        for index in self._counts:
            result[:, index] += counts * self._terms[index].weight
        if self._polynomials:
            first, second = self._sums(groups, mask is None, writers)
            for index, polynomial in self._polynomials:
                a, b, c = polynomial.factors
                at = polynomial.place
                sums = a * second[:, at] + b * first[:, at] + c * counts
                result[:, index] += sums * self._terms[index].weight
        if self._lookups:
            found = [
                self._histogram(groups, values, code)
                for values, code in zip(codes, self.tables, strict=True)
            ]
            for index, table in self._lookups:
                result[:, index] += found[table.place] @ table.values * self._terms[index].weight

    def _sums(
        self, groups: Integers, everyone: bool, writers: list[Writer]
    ) -> tuple[Integers, Integers]:
        """Σg and Σg² by group and grid."""
        shape = (self._groups, len(self.grids))
        first, second = np.zeros(shape), np.zeros(shape)
        # squares of the largest codes may be inexact, but then no term uses them
        squared = any(polynomial.factors[0] for _, polynomial in self._polynomials)
        matrix = np.empty((len(writers), TILE))
        few = self._groups <= FEW_GROUPS
        for start in range(0, len(groups), TILE):
            rows = slice(start, min(start + TILE, len(groups)))
            here = groups[rows]
            part = matrix[:, : len(here)]
            for index, write in enumerate(writers):
                write(part[index], rows)
            if few:
                # the last group is what the others leave
                last = self._groups - 1 if everyone else self._groups
                members = (here == np.arange(last)[:, None]).astype(np.float64)
                self._few(first, part, members, everyone)
                if squared:
                    np.multiply(part, part, out=part)
                    self._few(second, part, members, everyone)
            else:
                for index in range(len(writers)):
                    for sums, power in ((first, 1), (second, 2)):
                        if power == 1 or squared:
                            values = part[index] ** power
                            counted = np.bincount(here, values, self._groups + 1)
                            sums[:, index] += counted[: self._groups]
        return first.astype(np.int64), second.astype(np.int64)

    @staticmethod
    def _few(sums: Floats, part: Floats, members: Floats, everyone: bool) -> None:
        found = members @ part.T
        sums[: len(members)] += found
        if everyone:
            sums[-1] += part.sum(axis=1) - found.sum(axis=0)

    def _histogram(self, groups: Integers, values: Integers, code: Code) -> Integers:
        """How often each value of a code, from -1 on, occurs in each group."""
        width = code.high + 2
        joined = groups * width + values + 1
        counts = np.bincount(joined, minlength=(self._groups + 1) * width)
        return counts.reshape(-1, width)[: self._groups]
