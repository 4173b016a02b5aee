"""Count, sums and products of columns scaled to [-1, 1]: what centres and covariances are made of."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Literal, final

import numpy as np

from discreet.coding import PRODUCT_BITS, VALUE_BITS, Extent, Linear, Term
from discreet.columns import column_name, numeric_column
from discreet.queries.additive import Additive, Floats
from discreet.queries.sums import MOMENT_SIZE, By, Where
from discreet.rational import Number, as_integer, positive
from discreet.schema import Schema

Products = Literal["none", "squares", "all"]


@final
class CentredSums(Additive):
    """Count and sums of columns, each scaled by its bounds to [-1, 1], from one noised vector.

    The answer is an array (groups, coordinates): the count, then the sums of u = 2(x - lower)/width - 1;
    with `products` the sums of u², or of u·v for all pairs (i <= j, row by row), follow. It is unbiased
    and not clipped: centres, covariances and what else is made of it are up to the caller.

    Parameters
    ----------
    columns : str
        `Real` or `Integer` columns.
    products : {"none", "squares", "all"}
        Which products to sum as well.
    bits : int, optional
        The grid has 2^bits steps between the bounds: 20 without products, at most 14 with squares, 15 with
        all products.
        Coarser grids leave room for more noise.
    count_weight : number
        How much larger the count's coordinate is made than the others: the same noise on each coordinate
        then is as much smaller for the count. A public choice.
    by, where
        As in every query.

    Privacy
    -------
    One vector, one noise. With weight w and d columns a row has L1 norm at most w + d and squared L2 norm
    w² + d, in units of a coordinate's size; squares are asked as (1 - u²)/2 beside u and add nothing, all
    products add d(d+1)/2 to both.
    At most 2^32 rows. Proof page: ``docs/proofs/cluster.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(age=dp.Integer(0, 100))
    >>> data = dp.PrivateDataset({"age": [50, 75, 100]}, schema, unit=dp.PUBLIC)
    >>> data.release(dp.queries.CentredSums("age"), dp.PureDP(float("inf"))).value.round(3)
    array([3. , 1.5])
    """

    def __init__(
        self,
        *columns: str,
        products: Products = "none",
        bits: int | None = None,
        count_weight: Number = 1,
        by: By = None,
        where: Where = None,
    ) -> None:
        super().__init__(by, where)
        if not columns or len(set(columns)) != len(columns):
            raise ValueError("CentredSums needs the names of one or more different columns.")
        self.names = tuple(column_name(column, "CentredSums") for column in columns)
        if products not in ("none", "squares", "all"):
            raise ValueError(f"products must be 'none', 'squares' or 'all', got {products!r}.")
        self.products: Products = products
        most = {"none": VALUE_BITS, "squares": PRODUCT_BITS - 1, "all": PRODUCT_BITS}[products]
        self.bits = most if bits is None else as_integer(bits, "bits", minimum=1)
        if self.bits > most:
            raise ValueError(f"bits must be at most {most}, got {bits!r}.")
        self._last_weights: tuple[Schema, tuple[list[int], list[int]]] | None = None
        self._last_terms: tuple[Schema, tuple[Term, ...]] | None = None
        self._count = round(positive(count_weight, "count_weight") * self.size)
        if not 1 <= self._count <= MOMENT_SIZE:
            raise ValueError(
                f"count_weight must lie between 1/{self.size} and {MOMENT_SIZE // self.size} on this grid, "
                f"got {count_weight!r}."
            )

    @property
    def size(self) -> int:
        """The largest value of every coordinate but the count's."""
        return int(
            {"none": 2**self.bits, "squares": 2 * 4**self.bits, "all": 4**self.bits}[self.products]
        )

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names

    def _options(self) -> list[str]:
        shown = [] if self.products == "none" else [f"products={self.products!r}"]
        return [*shown, *super()._options()]

    def _ends(self, schema: Schema) -> list[int]:
        """The largest code of each column; the least is its negative."""
        return [numeric_column(schema, n, "CentredSums").steps(self.bits) for n in self.names]

    def pairs(self) -> list[tuple[int, int]]:
        """The products, as pairs of columns."""
        d = len(self.names)
        if self.products == "all":
            return [(i, j) for i in range(d) for j in range(i, d)]
        return [(j, j) for j in range(d)] if self.products == "squares" else []

    def _weights(self, schema: Schema) -> tuple[list[int], list[int]]:
        """Weights of the sums and of the products. There may be many, so they are made once."""
        last = self._last_weights  # read once: another thread may ask with another schema
        if last is None or last[0] is not schema:
            last = self._last_weights = schema, self._new_weights(schema)
        return last[1]

    def terms(self, schema: Schema) -> tuple[Term, ...]:
        last = self._last_terms
        if last is None or last[0] is not schema:
            last = self._last_terms = schema, self._new_terms(schema)
        return last[1]

    def _new_weights(self, schema: Schema) -> tuple[list[int], list[int]]:
        ends = [max(1, end) for end in self._ends(schema)]
        if self.products == "squares":
            squares = [4**self.bits // (end * end) for end in ends]
            return [2 * end * square for end, square in zip(ends, squares, strict=True)], squares
        products = [self.size // (ends[i] * ends[j]) for i, j in self.pairs()]
        return [self.size // end for end in ends], products

    def _new_terms(self, schema: Schema) -> tuple[Term, ...]:
        codes = [numeric_column(schema, n, "CentredSums").centred(n, self.bits) for n in self.names]
        firsts, seconds = self._weights(schema)
        sums = [Term(weight, (code,)) for weight, code in zip(firsts, codes, strict=True)]
        if self.products == "squares":
            products = [self._rest(schema, *pair) for pair in zip(self.names, seconds, strict=True)]
        else:
            products = [
                Term(weight, (codes[i], codes[j]))
                for weight, (i, j) in zip(seconds, self.pairs(), strict=True)
            ]
        return (Term(self._count), *sums, *products)

    def _rest(self, schema: Schema, name: str, weight: int) -> Term:
        """The coordinate of 1 - u²: with z = 2k - s it is s² - z² = 4k(s - k)."""
        column = numeric_column(schema, name, "CentredSums")
        grid = column.grid(name, self.bits)
        return Term(4 * weight, (grid, Linear(grid, -1, column.steps(self.bits))))

    def _sizes(self, schema: Schema) -> tuple[list[int], list[int]]:
        """The largest sizes of the coordinates: of sums, and of products."""
        ends, (firsts, seconds) = self._ends(schema), self._weights(schema)
        products = [
            weight * ends[i] * ends[j] for weight, (i, j) in zip(seconds, self.pairs(), strict=True)
        ]
        return [weight * end for weight, end in zip(firsts, ends, strict=True)], products

    def extent(self, schema: Schema, counted: bool) -> Extent:
        count = self._count if counted else 0
        sums, products = self._sizes(schema)
        if self.products == "squares":
            products = []  # |u| + (1 - u²)/2 <= 1 and u² + (1 - u²)²/4 <= 1: they cost nothing
        return Extent(
            count + sum(sums) + sum(products),
            count**2 + sum(a * a for a in sums) + sum(b * b for b in products),
            self._diameter(sums, products),
            self._diameter_squared(sums, products),
        )

    def _split(self, sums: list[int], products: list[int]) -> tuple[list[int], list[int]]:
        """The sizes of coordinates that may turn to their negative, and of squares."""
        pairs = self.pairs() if products else []
        sizes = list(zip(products, pairs, strict=True))
        return [*sums, *(b for b, (i, j) in sizes if i != j)], [b for b, (i, j) in sizes if i == j]

    def _turned(self, sums: list[int]) -> int:
        """How many products of two different entries of (1, u) can turn: with j signs changed, j(m - j)."""
        m = 1 + len(sums)
        return m * m // 4

    def _diameter(self, sums: list[int], products: list[int]) -> int:
        crossed, squares = self._split(sums, products)
        if self.products != "all":
            return 2 * sum(crossed)
        return min(2 * sum(crossed), 2 * self.size * self._turned(sums)) + sum(squares)

    def _diameter_squared(self, sums: list[int], products: list[int]) -> int:
        crossed, squares = self._split(sums, products)
        apart = sum(4 * a * a for a in crossed)
        if self.products != "all":
            return (
                apart  # a square is no larger than its sum: the ends of the grid are farthest apart
            )
        apart += sum(b * b for b in squares)
        d, turned = len(sums), self._turned(sums)
        # ‖vv' - ww'‖² over i <= j, v = (1, u), |u| <= 1: half of the whole plus half of the diagonal
        joint = min(Fraction(4 * turned + d), (1 + d) ** 2 + Fraction(d, 2))
        return min(apart, math.ceil(self.size**2 * joint))

    def shift(self, schema: Schema) -> Floats:
        """What a floor takes from u on average, by column: half a step."""
        kinds = [numeric_column(schema, name, "CentredSums") for name in self.names]
        return np.array(
            [0.0 if k.is_exact(self.bits) else 1 / max(1, k.steps(self.bits)) for k in kinds]
        )

    def _scale(self, schema: Schema) -> Floats:
        """What one row, one unit of u, or of a product, is in each coordinate."""
        sums, products = self._sizes(schema)
        return np.maximum(np.array([self._count, *sums, *products], np.float64), 1.0)

    def estimate(self, totals: Floats, schema: Schema) -> Any:
        values = totals / self._scale(schema)
        if self.products == "squares":  # u² = 1 - (1 - u²), and 0 in a column of width zero
            d = len(self.names)
            wide = np.array([float(end > 0) for end in self._ends(schema)])
            values[:, 1 + d :] = (values[:, :1] - values[:, 1 + d :]) * wide
        return values

    def error(self, totals: Floats, deviations: Floats, schema: Schema) -> Any:
        found = deviations / self._scale(schema)
        if self.products == "squares":
            d = len(self.names)
            found[1 + d :] = np.hypot(found[1 + d :], found[0])
        return np.tile(found, (len(totals), 1))

    def bounds(self, totals: Floats, widths: Floats, schema: Schema) -> tuple[Any, Any]:
        value, half = self.estimate(totals, schema), widths / self._scale(schema)
        if self.products == "squares":
            half[1 + len(self.names) :] += half[0]
        return value - half, value + half
