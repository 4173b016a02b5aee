"""Counting queries."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from discreet.coding import Extent, Term
from discreet.expressions import Expression
from discreet.queries.additive import Additive, Floats
from discreet.queries.discovery import KeyCounts, Keys
from discreet.schema import Schema


@final
class Count(Additive):
    """How many rows there are, in all or in each group.

    Noisy counts may be negative; they are unbiased. `discreet.queries.nonnegative_counts` makes of them
    non-negative ones of the same sum.

    Privacy
    -------
    One person moves one count by at most `max_rows` (add/remove), or two counts (replace-one). Without
    `by` and `where`, under replace-one, the count is the public number of rows and costs nothing.
    Proof page: ``docs/proofs/coding.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> people = {"age": [34, 51, 29, 62] * 100, "ward": ["A", "B", "A", "A"] * 100}
    >>> schema = dp.Schema(age=dp.Integer(0, 100), ward=dp.Categorical("A", "B"))
    >>> data = dp.PrivateDataset(people, schema, ledger=dp.Ledger(limit=dp.PureDP(9)))
    >>> answer = data.release(dp.Count(by="ward", where="age >= 30"), dp.PureDP(1))
    >>> answer.labels
    ['A', 'B']
    >>> bool(180 < answer.value[0] < 220)
    True
    """

    error_needs_rows, is_sums = False, True

    def __new__(cls, *, by: Any = None, where: Expression | str | None = None) -> Any:
        if not isinstance(by, Keys):
            return super().__new__(cls)
        warnings.warn(
            "dp.Count(by=dp.Keys.discover(column, ...)) is now dp.KeyCounts(column, ...); the old form goes "
            "with the next version.",
            DeprecationWarning,
            stacklevel=2,
        )
        return KeyCounts(by.column, delta=by.delta, max_groups=by.max_groups, where=where)

    def __init__(
        self,
        *,
        by: str | Sequence[str] | None = None,
        where: Expression | str | None = None,
    ) -> None:
        super().__init__(by, where)

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    def terms(self, schema: Schema) -> tuple[Term, ...]:
        return (Term(1),)

    def extent(self, schema: Schema, counted: bool) -> Extent:
        return Extent(1, 1, 0, 0) if counted else Extent(0, 0, 0, 0)

    def estimate(self, totals: Floats, schema: Schema) -> Any:
        return totals[:, 0].astype(np.int64)

    def error(self, totals: Floats, deviations: Floats, schema: Schema) -> Any:
        return np.full(len(totals), deviations[0])

    def bounds(self, totals: Floats, widths: Floats, schema: Schema) -> tuple[Any, Any]:
        return totals[:, 0] - widths[0], totals[:, 0] + widths[0]


def Histogram(  # noqa: N802
    *columns: str,
    by: str | Sequence[str] | None = None,
    where: Expression | str | None = None,
) -> Count:
    """How many rows have each declared value, or combination of values, of the columns.

    It is a `Count` by these columns: real columns are binned first with ``schema.derive``.

    Examples
    --------
    >>> import discreet as dp
    >>> dp.Histogram("sex", "age_band")
    Count(by=['sex', 'age_band'])
    """
    if not columns:
        raise ValueError('Histogram needs the name of a column, as in dp.Histogram("sex").')
    more = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    return Count(by=(*more, *columns), where=where)
