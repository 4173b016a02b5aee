"""Count, sums and products of scaled columns: all that a least-squares fit needs of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.coding import PRODUCT_BITS, Code, Linear
from discreet.columns import Categorical, column_name, numeric_column
from discreet.queries.base import Additive, Extent, Floats, Integers, Term
from discreet.queries.sums import By, Where
from discreet.rational import whole
from discreet.schema import Schema


@final
class NormalEquations(Additive):
    """The sums of vvᵀ over the rows, v = (1, u₁, …, u_d, t), each column scaled by its bounds to [-1, 1].

    The answer is a symmetric matrix: entry (0, 0) is the count, (0, j) the sum of column j, (i, j) the sum
    of products. It is unbiased and not clipped. Values are on a grid of 2^bits steps.

    Parameters
    ----------
    features : names of `Real` or `Integer` columns
    target : str, optional
        A `Real` or `Integer` column, or a `Categorical` one of two values, which count as -1 and 1.
    square : bool
        Whether to ask for the sum of squares of the target too; without it that entry is 0, and so is
        it for a categorical target, whose square is 1.
    bits : int
        Fewer bits make all coordinates, and their noise, smaller integers: needed for very small budgets
        and many columns at once, when the noise goes beyond what is drawn.
    by, where
        As in every query.

    Privacy
    -------
    One vector (count, sums, products for i < j, and sums of 1 - u² for the squares), weighted to one size,
    with one noise. The squares cost nothing under add/remove. Proof page: ``docs/proofs/regression.md``.
    """

    def __init__(
        self,
        features: Sequence[str],
        target: str | None = None,
        *,
        square: bool = True,
        bits: int = PRODUCT_BITS,
        by: By = None,
        where: Where = None,
    ) -> None:
        super().__init__(by, where)
        if isinstance(features, str):
            raise TypeError("NormalEquations: features must be a sequence of names, not one name.")
        self.features = tuple(column_name(name, "NormalEquations") for name in features)
        self.target = None if target is None else column_name(target, "NormalEquations")
        names = self.columns
        if not self.features or len(set(names)) != len(names):
            raise ValueError("NormalEquations needs the names of one or more different columns.")
        self.square = square
        self.bits = whole(bits, "bits", least=1)
        if self.bits > PRODUCT_BITS:
            raise ValueError(f"bits must be at most {PRODUCT_BITS}.")
        self._known: tuple[Schema, tuple[Term, ...]] | None = None

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
                f"NormalEquations: the categorical target {name!r} must have two values; ask for the "
                "features by the target instead."
            )
        return True

    def _steps(self, schema: Schema) -> list[int]:
        """The largest size of each column's code."""
        return [
            1
            if self._is_class(schema, name)
            else numeric_column(schema, name, "NormalEquations").steps(self.bits)
            for name in self.columns
        ]

    def _codes(self, schema: Schema) -> list[Code]:
        return [
            Linear(schema.code(name), 2, -1)
            if self._is_class(schema, name)
            else numeric_column(schema, name, "NormalEquations").centred(name, self.bits)
            for name in self.columns
        ]

    def _pairs(self, schema: Schema) -> npt.NDArray[np.intp]:
        """Which entries of v each coordinate multiplies, i <= j; the count (0, 0) is the first."""
        m = 1 + len(self.columns)
        i, j = np.triu_indices(m)
        asked = np.ones(len(i), np.bool_)
        if self.target is not None and (not self.square or self._is_class(schema, self.target)):
            asked[-1] = False
        return np.stack([i, j], axis=1)[asked]

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
        column = numeric_column(schema, name, "NormalEquations")
        grid = column.grid(name, self.bits)
        return grid, Linear(grid, -1, column.steps(self.bits))

    def _ends(self, schema: Schema, least: int = 1) -> Integers:
        """The largest product of codes in each coordinate; a column of one value counts as `least`."""
        k = np.array([1, *(max(least, steps) for steps in self._steps(schema))], np.int64)
        first, second = self._pairs(schema).T
        return np.asarray(k[first] * k[second])

    def extent(self, schema: Schema, counted: bool) -> Extent:
        first, second = self._pairs(schema).T
        sizes = self._size // self._ends(schema) * self._ends(schema, least=0)
        squares, crossed = sizes[(first == second) & (first > 0)], sizes[first < second]
        # k columns of some width: all other coordinates are 0 (docs/proofs/regression.md)
        size, k = self._size, sum(steps > 0 for steps in self._steps(schema))
        s = int((squares > 0).sum())
        lone = k == 1 and s == 1  # a + 1 - a² is largest at a = 1/2
        largest = size * (counted + Fraction(5, 4) if lone else counted + Fraction(k * (k + 1), 2))
        largest_squared = size**2 * (counted + k * (k + 1) // 2)
        # products of different entries change most where j of m entries change sign: j(m - j) pairs
        m = 1 + k
        turned = m * m // 4
        l1 = min(2 * int(crossed.sum()), 2 * size * turned) + int(squares.sum())
        # ‖vv' - ww'‖² <= 2m²; the entries asked for are at most half of it plus half of the squares
        joint = size**2 * min(Fraction(4 * turned + s), m * m + Fraction(s, 2))
        apart = 4 * _squared(crossed) + _squared(squares)
        return Extent(ceil(largest), largest_squared, l1, min(apart, ceil(joint)))

    def _scale(self, schema: Schema) -> Floats:
        """What a product of 1 is in each coordinate."""
        ends = self._ends(schema)
        return np.asarray(self._size // ends * ends, np.float64)

    def _matrix(self, entries: Floats, schema: Schema) -> Floats:
        i, j = self._pairs(schema).T
        m = 1 + len(self.columns)
        matrix = np.zeros((len(entries), m, m))
        matrix[:, i, j] = entries
        matrix[:, j, i] = entries
        return matrix

    def _squares(self, schema: Schema) -> npt.NDArray[np.intp]:
        """The places on the diagonal whose sums of 1 - u² were asked for."""
        i, j = self._pairs(schema).T
        return np.asarray(i[(i == j) & (i > 0)])

    def _move(self, schema: Schema) -> Floats:
        """A floor's codes lie half a cell low on average: v is moved by public constants."""
        move = np.eye(1 + len(self.columns))
        for at, name in enumerate(self.columns):
            if not self._is_class(schema, name):
                column = numeric_column(schema, name, "NormalEquations")
                if not column.is_exact(self.bits) and column.width:
                    move[1 + at, 0] = 1 / column.steps(self.bits)
        return move

    def estimate(self, totals: Floats, schema: Schema) -> Any:
        matrix = self._matrix(totals / self._scale(schema), schema)
        at = self._squares(schema)
        matrix[:, at, at] = matrix[:, :1, 0] - matrix[:, at, at]
        steps = np.array([1, *self._steps(schema)])
        matrix[:, steps == 0, steps == 0] = 0.0  # columns of one value: nothing but noise
        return self._moved_matrix(matrix, schema)

    def _moved_matrix(self, matrix: Floats, schema: Schema) -> Floats:
        move = self._move(schema)
        value = move @ matrix @ move.T
        value = (value + value.transpose(0, 2, 1)) / 2
        if self.target is not None and len(self._squares(schema)) < len(self.columns):
            value[:, -1, -1] = 0.0
        return np.asarray(value)

    def error(self, totals: Floats, deviations: Floats, schema: Schema) -> Any:
        spread = self._matrix((deviations / self._scale(schema))[None], schema)
        at = self._squares(schema)
        spread[:, at, at] = np.hypot(spread[:, at, at], spread[:, :1, 0])
        return np.repeat(spread, len(totals), axis=0)

    def bounds(self, totals: Floats, widths: Floats, schema: Schema) -> tuple[Any, Any]:
        value = self.estimate(totals, schema)
        half = self._matrix((widths / self._scale(schema))[None], schema)
        at = self._squares(schema)
        half[:, at, at] += half[:, :1, 0]
        half = self._moved_matrix(half, schema)
        return value - half, value + half

    def _options(self) -> list[str]:
        shown = [] if self.bits == PRODUCT_BITS else [f"bits={self.bits}"]
        return [*([] if self.square else ["square=False"]), *shown, *super()._options()]

    def __repr__(self) -> str:
        names = list(self.features)
        first = str(names) if len(names) < 9 else f"[{len(names)} columns]"
        target = [] if self.target is None else [repr(self.target)]
        return f"NormalEquations({', '.join([first, *target, *self._options()])})"


def _squared(sizes: Integers) -> int:
    """The sum of squares, in exact integers."""
    values, counts = np.unique(sizes, return_counts=True)
    return sum(v * v * n for v, n in zip(values.tolist(), counts.tolist(), strict=True))
