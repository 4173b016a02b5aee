"""All that a least-squares fit needs of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from discreet.coding import PRODUCT_BITS
from discreet.queries.products import SumsOfProducts, Units
from discreet.queries.sums import By, Where
from discreet.schema import Schema


@final
class NormalEquations(SumsOfProducts):
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
    with one noise. The squares cost nothing under add/remove. Proof page: ``docs/proofs/linear_model.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(age=dp.Integer(0, 100), pressure=dp.Integer(80, 200))
    >>> table = {"age": [50, 100], "pressure": [140, 200]}
    >>> data = dp.PrivateDataset(table, schema, unit=dp.PUBLIC)
    >>> query = dp.queries.NormalEquations(["age"], "pressure")
    >>> data.release(query, dp.PureDP(float("inf"))).value.round(3)
    array([[2., 1., 1.],
           [1., 1., 1.],
           [1., 1., 1.]])
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
        if isinstance(features, str):
            raise TypeError("NormalEquations: features must be a sequence of names, not one name.")
        super().__init__(features, target, square, bits, by, where)

    def _units(self, schema: Schema) -> Units:
        width = 1 + len(self.columns)
        return Units(np.eye(1, width)[0], np.ones(width))

    def _options(self) -> list[str]:
        shown = [] if self.bits == PRODUCT_BITS else [f"bits={self.bits}"]
        return [*([] if self.square else ["square=False"]), *shown, *super()._options()]

    def __repr__(self) -> str:
        names = list(self.features)
        first = str(names) if len(names) < 9 else f"[{len(names)} columns]"
        target = [] if self.target is None else [repr(self.target)]
        return f"NormalEquations({', '.join([first, *target, *self._options()])})"
