"""The split of a node of a decision tree that tells most about the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal, final, get_args

import numpy as np
import numpy.typing as npt

from discreet.coding import VALUE_BITS, Code, CodedQuery, Cuts, Integers, partial_codes
from discreet.columns import Bins, Categorical, Numeric, Split, column_name, numeric_column
from discreet.queries.choice import Choice
from discreet.queries.counts import Count
from discreet.queries.means import Mean
from discreet.queries.sums import By
from discreet.schema import Derived, Schema
from discreet.unit import Unit

Criterion = Literal["gini", "majority", "variance"]
Objects = npt.NDArray[np.object_]

#: Scores other than counts are whole multiples of 1/FINENESS.
FINENESS = 2**12


@final
class BestSplit(Choice):
    """Which of some public splits of the rows in two tells most about the target.

    Parameters
    ----------
    target : str
        A countable column for ``"gini"`` and ``"majority"``, a `Real` or `Integer` for ``"variance"``.
    cuts : mapping of column name to numbers
        The candidates: for a numeric column its cut points, increasing; for a `Categorical` column an
        empty list: each value against all others, undeclared ones included, as in `schema.Tree`.
    criterion : "gini", "majority" or "variance"
        With n rows on a side, n_c of them of class c, and S the sum of the target scaled to [-1, 1],
        the sides' sum of: Σ n_c²/n; max n_c; S²/n.
    by
        As in every query: one split for each group, such as the leaves of a tree.
    derive : mapping of name to derived column, optional
        Columns that `by` may name, besides those of the schema; public, or bought.

    Privacy
    -------
    An added row changes scores by values in an interval of width 1 (majority), 2 (Gini) or 4
    (variance); see `Choice`. Integers throughout. Proof page: ``docs/proofs/tree.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> table = {"age": [20, 30, 60, 70] * 50, "ill": ["no", "no", "yes", "yes"] * 50}
    >>> schema = dp.Schema(age=dp.Integer(0, 100), ill=dp.Categorical("no", "yes"))
    >>> data = dp.PrivateDataset(table, schema, ledger=dp.Ledger(limit=dp.PureDP(1)))
    >>> split = dp.queries.BestSplit("ill", {"age": [25, 45, 65]})
    >>> data.release(split, dp.PureDP(1)).value  # the second cut, 45
    1
    """

    def __init__(
        self,
        target: str,
        cuts: Mapping[str, Sequence[float]],
        *,
        criterion: Criterion = "gini",
        by: By = None,
        derive: Mapping[str, Derived] | None = None,
    ) -> None:
        super().__init__(by, None)
        if criterion not in get_args(Criterion):
            raise ValueError(
                f"criterion must be one of {', '.join(get_args(Criterion))}, got {criterion!r}."
            )
        if not cuts:
            raise ValueError("BestSplit needs at least one column to cut.")
        if target in cuts or set(self.by) & {*cuts, target}:
            raise ValueError("BestSplit: target, cuts and by must name different columns.")
        self.target, self.criterion = column_name(target, "BestSplit"), criterion
        self.cuts = {name: tuple(points) for name, points in cuts.items()}
        self.derived = dict(derive or {})

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.cuts, self.target)

    def splits_of(self, schema: Schema) -> tuple[Split, ...]:
        """The candidates, in the order of the answer's numbers."""
        found: list[Split] = []
        for name, points in self.cuts.items():
            column = schema[name]
            if isinstance(column, Categorical):
                found += [(name, (value,)) for value in column.values]
            else:
                found += [(name, float(point)) for point in points]
        return tuple(found)

    def count(self, schema: Schema) -> int:
        return len(self.splits_of(schema))

    def labels(self, schema: Schema) -> list[Any]:
        return super().labels(schema.derive(**self.derived))

    def _questions(self, schema: Schema) -> tuple[Schema, list[Count | Mean]]:
        """For each column, the sums in its bins, on a schema that has these bins."""
        larger, bins = schema.derive(**self.derived), {}
        queries: list[Count | Mean] = []
        for name, points in self.cuts.items():
            column, cells = schema[name], name
            if isinstance(column, Numeric):
                cells = _free_name(f"bins of {name}", larger)
                bins[cells] = _bins(name, points)
            elif not isinstance(column, Categorical) or points:
                raise ValueError(
                    f"BestSplit: column {name!r} must be dp.Real or dp.Integer, with cut points, or "
                    "dp.Categorical, without."
                )
            by = (*self.by, cells)
            if self.criterion == "variance":
                queries.append(Mean(self.target, by=by))
            else:
                queries.append(Count(by=(*by, self.target)))
        larger = larger.derive(**bins)
        return larger, queries

    def parts(self, schema: Schema, unit: Unit) -> tuple[CodedQuery, ...]:
        larger, queries = self._questions(schema)
        # the same rows count in every part: so one person's rows are in the same groups throughout
        known = partial_codes(*(larger.code(name) for name in (*self.by, self.target)))
        at, parts = len(self.by), []
        for query in queries:
            part = query._coded(larger, unit, query.terms(larger))  # a mean as count and sum
            by = (*part.by[:at], _all_cells(part.by[at]), *part.by[at + 1 :])
            parts.append(replace(part, by=by, known=known))
        return tuple(parts)

    def spread(self, schema: Schema) -> int:
        # rounding down both sides' scores can add one step where the common part isn't whole
        return {"majority": 1, "gini": 2 * FINENESS, "variance": 4 * FINENESS + 1}[self.criterion]

    def scores(self, totals: Sequence[Integers], schema: Schema) -> Integers:
        larger = schema.derive(**self.derived)
        groups = int(np.prod([len(larger.labels(name)) for name in self.by], dtype=np.int64))
        found = []
        for (name, points), part in zip(self.cuts.items(), totals, strict=True):
            is_cut = isinstance(schema[name], Numeric)
            cells = len(points) + 1 if is_cut else _all_cells(schema.code(name)).high + 1
            sums = part.astype(object).reshape(groups, cells, -1)
            if is_cut:
                right = sums[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
            else:  # rows without a declared value are with the others
                right = sums[:, cells - len(schema.labels(name)) :]
            left = sums.sum(axis=1, keepdims=True) - right
            found.append(self._side(left, schema) + self._side(right, schema))
        return np.concatenate(found, axis=1).astype(np.int64)

    def _side(self, sums: Objects, schema: Schema) -> Objects:
        """The score of one side, in whole steps of 1/FINENESS, rounded down."""
        if self.criterion == "majority":
            return np.asarray(sums.max(axis=2), object)
        if self.criterion == "gini":
            rows = np.maximum(sums.sum(axis=2), 1)
            return np.asarray(FINENESS * (sums * sums).sum(axis=2) // rows, object)
        steps = max(1, numeric_column(schema, self.target, "BestSplit").steps(VALUE_BITS))
        rows = np.maximum(sums[:, :, 0] // steps, 1)
        return np.asarray(FINENESS * sums[:, :, 1] ** 2 // (rows * steps**2), object)

    def _options(self) -> list[str]:
        return [f"criterion={self.criterion!r}", *super()._options()]


@lru_cache(maxsize=256)
def _bins(name: str, points: tuple[float, ...]) -> Bins:
    """The bins between cut points: every level of a tree asks for the same ones."""
    return Bins(name, points)


def _all_cells(code: Code) -> Code:
    """The cells of a column: where some rows have no value, these first, then the values."""
    return Cuts(code, tuple(range(code.high + 1))) if code.low < 0 else code


def _free_name(name: str, schema: Schema) -> str:
    while name in schema:
        name += "'"
    return name
