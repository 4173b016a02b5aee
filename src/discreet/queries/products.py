"""Count, sums and products of scaled columns, as a matrix: what `Gram` and `NormalEquations` share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.coding import PRODUCT_BITS, Code, Extent, Integers, Linear, Term
from discreet.columns import Categorical, column_name, numeric_column
from discreet.queries.additive import Additive, Floats
from discreet.queries.sums import By, Where
from discreet.rational import as_integer
from discreet.schema import Schema


class Units(NamedTuple):
    """The columns' units: x = middle + half·u with u from -1 to 1. The constant 1 stands first."""

    middle: Floats
    half: Floats


class SumsOfProducts(Additive):
    """The sums of vvᵀ over the rows, v = (1, x₁, …, x_d), from one noised vector.

    The vector holds the count, the sums of u, the products for i < j and the sums of 1 - u², where u is a
    column scaled by its bounds to [-1, 1], on a grid of 2^bits steps; all weighted to one size. The matrix
    is a linear function of it: unbiased, symmetric and not clipped.
    """

    def __init__(
        self,
        features: Sequence[str],
        target: str | None,
        square: bool,
        bits: int,
        by: By,
        where: Where,
    ) -> None:
        super().__init__(by, where)
        kind = type(self).__name__
        self.features = tuple(column_name(name, kind) for name in features)
        self.target = None if target is None else column_name(target, kind)
        names = self.columns
        if not self.features or len(set(names)) != len(names):
            raise ValueError(f"{kind} needs the names of one or more different columns.")
        self.square = square
        self.bits = as_integer(bits, "bits", minimum=1)
        if self.bits > PRODUCT_BITS:
            raise ValueError(f"bits must be at most {PRODUCT_BITS}.")
        self._known: tuple[Schema, tuple[Term, ...]] | None = None

    @abstractmethod
    def _units(self, schema: Schema) -> Units:
        """In which units the matrix is."""

    @property
    def columns(self) -> tuple[str, ...]:
        return self.features if self.target is None else (*self.features, self.target)

    @property
    def _size(self) -> int:
        """The size of every coordinate, at most."""
        return int(2 ** (2 * self.bits))

    def _is_class(self, schema: Schema, name: str) -> bool:
        column = schema[name]
        if name != self.target or not isinstance(column, Categorical):
            return False
        if len(column.values) != 2:
            raise ValueError(
                f"{type(self).__name__}: the categorical target {name!r} must have two values; ask for the "
                "features by the target instead."
            )
        return True

    def _steps(self, schema: Schema) -> list[int]:
        """The largest size of each column's code."""
        kind = type(self).__name__
        return [
            1
            if self._is_class(schema, name)
            else numeric_column(schema, name, kind).steps(self.bits)
            for name in self.columns
        ]

    def _codes(self, schema: Schema) -> list[Code]:
        kind = type(self).__name__
        return [
            Linear(schema.code(name), 2, -1)
            if self._is_class(schema, name)
            else numeric_column(schema, name, kind).centred(name, self.bits)
            for name in self.columns
        ]

    def _pairs(self, schema: Schema) -> npt.NDArray[np.intp]:
        """Which entries of v each coordinate multiplies, i <= j; the count (0, 0) is the first."""
        has_square = self.target is None or (
            self.square and not self._is_class(schema, self.target)
        )
        return _upper_pairs(1 + len(self.columns), has_square)

    def terms(self, schema: Schema) -> tuple[Term, ...]:
        if self._known is None or self._known[0] is not schema:
            parts: list[tuple[Code, ...]] = [(), *((code,) for code in self._codes(schema))]
            squares = [(), *(self._rest(schema, name) for name in self.columns)]
            pairs = self._pairs(schema)
            weights = (self._size // self._ends(schema)).tolist()
            found = [
                Term(weight, parts[i] + parts[j])
                if i < j or i == 0
                else Term(4 * weight, squares[i])
                for weight, i, j in zip(weights, pairs[:, 0], pairs[:, 1], strict=True)
            ]
            self._known = schema, tuple(found)
        return self._known[1]

    def _rest(self, schema: Schema, name: str) -> tuple[Code, ...]:
        """The factors of k(s - k) = s²(1 - u²)/4, k the code from 0 to s; none for a class."""
        if self._is_class(schema, name):
            return ()
        column = numeric_column(schema, name, type(self).__name__)
        grid = column.grid(name, self.bits)
        return grid, Linear(grid, -1, column.steps(self.bits))

    def _ends(self, schema: Schema, minimum: int = 1) -> Integers:
        """The largest product of codes in each coordinate; a column of one value counts as `minimum`."""
        k = np.array([1, *(max(minimum, steps) for steps in self._steps(schema))], np.int64)
        first, second = self._pairs(schema).T
        return np.asarray(k[first] * k[second])

    def extent(self, schema: Schema, counted: bool) -> Extent:
        first, second = self._pairs(schema).T
        sizes = self._size // self._ends(schema) * self._ends(schema, minimum=0)
        squares, crossed = sizes[(first == second) & (first > 0)], sizes[first < second]
        # k columns of some width: all other coordinates are 0 (docs/proofs/linear_model.md)
        wide = [steps for steps in self._steps(schema) if steps > 0]
        size, k, s = self._size, len(wide), int((squares > 0).sum())
        largest = size * counted + (
            _largest_alone(size, wide[0]) if k == s == 1 else size * k * (k + 1) // 2
        )
        largest_squared = size**2 * (counted + k * (k + 1) // 2)
        # products of different entries change most where j of m entries change sign: j(m - j) pairs
        m = 1 + k
        turned = m * m // 4
        l1 = min(2 * int(crossed.sum()), 2 * size * turned) + int(squares.sum())
        # ‖vv' - ww'‖² <= 2m²; the entries asked for are at most half of it plus half of the squares
        joint = size**2 * min(Fraction(4 * turned + s), m * m + Fraction(s, 2))
        apart = 4 * _square(crossed) + _square(squares)
        return Extent(largest, largest_squared, l1, min(apart, ceil(joint)))

    def _scale(self, schema: Schema) -> Floats:
        """What a product of 1 is in each coordinate."""
        ends = self._ends(schema)
        return np.asarray(self._size // ends * ends, np.float64)

    def _matrix(self, entries: Floats, schema: Schema) -> Floats:
        """Coordinates of shape (groups, terms), scaled, as symmetric matrices."""
        i, j = self._pairs(schema).T
        m = 1 + len(self.columns)
        matrix = np.zeros((len(entries), m, m))
        matrix[:, i, j] = matrix[:, j, i] = entries / self._scale(schema)
        return matrix

    def _squares(self, schema: Schema) -> npt.NDArray[np.intp]:
        """The places on the diagonal whose sums of 1 - u² were asked for."""
        i, j = self._pairs(schema).T
        return np.asarray(i[(i == j) & (i > 0)])

    def _shift(self, schema: Schema) -> Units:
        """The units, moved by what a floor's codes lie low on average: half a cell."""
        middle, half = self._units(schema)
        shift = np.zeros(len(middle))
        for at, name in enumerate(self.columns, start=1):
            if not self._is_class(schema, name):
                column = numeric_column(schema, name, type(self).__name__)
                if not column.is_exact(self.bits) and column.width:
                    shift[at] = 1 / column.steps(self.bits)
        return Units(middle + half * shift, half)

    def estimate(self, totals: Floats, schema: Schema) -> Any:
        matrix = self._matrix(totals, schema)
        at = self._squares(schema)
        matrix[:, at, at] = matrix[:, :1, 0] - matrix[:, at, at]  # u² = 1 - (1 - u²)
        steps = np.array([1, *self._steps(schema)])
        matrix[:, steps == 0, steps == 0] = 0.0  # columns of one value: nothing but noise
        middle, half = self._shift(schema)
        move = np.diag(half)
        move[:, 0] = middle
        value = move @ matrix @ move.T
        value = (value + value.transpose(0, 2, 1)) / 2
        if len(at) < len(self.columns):  # the target's square was not asked for
            value[:, -1, -1] = 0.0
        return np.asarray(value)

    def _parts(self, spread: Floats, schema: Schema) -> list[Floats]:
        """What the noise of independent coordinates adds to each entry: they add up, or their squares do."""
        middle, half = self._shift(schema)
        half = np.where(np.arange(len(half)) > 0, half, 0.0)  # the constant has no noise of its own
        count, single = np.outer(middle, middle), np.outer(middle, half)
        other = single.T.copy()
        at = self._squares(schema)
        count[at, at] += half[at] ** 2  # the square is made from the count
        single[at, at], other[at, at] = 2 * single[at, at], 0.0  # both sums are the same one
        parts = [
            count * spread[0, 0],
            single * spread[0],
            other * spread[0][:, None],
            np.outer(half, half) * spread,
        ]
        if len(at) < len(self.columns):
            for part in parts:
                part[-1, -1] = 0.0
        return parts

    def error(self, totals: Floats, deviations: Floats, schema: Schema) -> Any:
        parts = self._parts(self._matrix(deviations[None], schema)[0], schema)
        return np.tile(np.sqrt(sum(part**2 for part in parts)), (len(totals), 1, 1))

    def bounds(self, totals: Floats, widths: Floats, schema: Schema) -> tuple[Any, Any]:
        value = self.estimate(totals, schema)
        half = sum(abs(part) for part in self._parts(self._matrix(widths[None], schema)[0], schema))
        return value - half, value + half


@lru_cache(maxsize=64)
def _upper_pairs(m: int, has_last: bool) -> npt.NDArray[np.intp]:
    """The pairs i <= j below m, in order, with or without the last one; to be read only."""
    pairs = np.stack(np.triu_indices(m), axis=1)[: None if has_last else -1]
    pairs.setflags(write=False)
    return pairs


def _largest_alone(size: int, steps: int) -> int:
    """The largest |u| + 1 - u² on a grid, in a coordinate's size: nearest to u = 1/2, where it is 5/4."""
    near = [z for z in range(steps // 2 - 1, steps // 2 + 3) if (steps - z) % 2 == 0]
    single, square = size // steps, size // steps**2
    return max(single * z + square * (steps**2 - z**2) for z in near if 0 <= z <= steps)


def _square(sizes: Integers) -> int:
    """The sum of squares, in exact integers."""
    values, counts = np.unique(sizes, return_counts=True)
    return sum(v * v * n for v, n in zip(values.tolist(), counts.tolist(), strict=True))
