"""The matrix of sums of products of columns, in their own units."""

from __future__ import annotations

from typing import final

import numpy as np

from discreet.coding import PRODUCT_BITS
from discreet.columns import numeric_column
from discreet.queries.products import SumsOfProducts, Units
from discreet.queries.sums import By, Where
from discreet.schema import Schema


@final
class Gram(SumsOfProducts):
    """The matrix of sums of products of columns, with a first row and column for the constant 1.

    Entry (0, 0) is the count, (0, j) the sum of column j, (i, j) the sum of products, in the units of
    the columns: all that linear regression and PCA need. Values are on a grid of 2^15 steps.

    Privacy
    -------
    One vector (count, sums, products for i < j, and sums of 1 - u² for the squares) of codes scaled to
    [-1, 1], weighted to one size, with one noise; the reported matrix is a linear function of it. At most
    2^32 rows. Proof page: ``docs/proofs/linear_model.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(age=dp.Integer(0, 100), stay=dp.Real(0, 30))
    >>> table = {"age": [34, 51, 29, 62] * 100, "stay": [2.0, 4.0, 1.0, 7.0] * 100}
    >>> data = dp.PrivateDataset(table, schema, ledger=dp.Ledger(limit=dp.PureDP(2)))
    >>> data.release(dp.Gram("age", "stay"), dp.PureDP(2)).value.shape
    (3, 3)
    """

    def __init__(self, *columns: str, by: By = None, where: Where = None) -> None:
        super().__init__(columns, None, True, PRODUCT_BITS, by, where)

    def _units(self, schema: Schema) -> Units:
        columns = [numeric_column(schema, name, "Gram") for name in self.columns]
        middle = [float(column.lower) + column.width / 2 for column in columns]
        return Units(np.array([1.0, *middle]), np.array([1.0, *(c.width / 2 for c in columns)]))
