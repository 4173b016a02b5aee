"""Questions about persons, not rows: how many there are, and how many rows each has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, final

import numpy as np

from discreet.coding import CodedQuery, Extent, Integers, PersonLimit, Sensitivity, Term
from discreet.expressions import Expression
from discreet.queries.additive import Additive, Floats
from discreet.queries.answer import Budget, Prepared
from discreet.queries.count_vector import CountVector, PreparedCounts
from discreet.rational import as_integer
from discreet.schema import Schema
from discreet.unit import REPLACE_ONE, Unit

__all__ = ["CountPeople", "RowsPerPerson"]

#: The most numbers of rows that are told apart: each takes a pass over the table.
MAX_BINS = 100


@final
class CountPeople(Additive):
    """How many persons there are, in all or in each group.

    A person counts in a group if any of their rows is there; with `by` in at most `max_rows` groups, the
    first in a public order over the groups. Without an id column every row is a person.

    Privacy
    -------
    One person moves the count by 1. With `by` and k = `max_rows`, one person moves at most k groups by 1
    each: L1 = k and squared L2 = k under add/remove, twice that under replace-one; never more than the number
    of groups. Proof page: ``docs/proofs/people.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> visits = {"patient": [1, 1, 2, 3] * 100, "ward": ["A", "B", "A", "B"] * 100}
    >>> unit = dp.Unit(dp.ADD_REMOVE, id_column="patient", max_rows=2)
    >>> ledger = dp.Ledger(limit=dp.PureDP(1), unit=unit)
    >>> data = dp.PrivateDataset(visits, dp.Schema(ward=dp.Categorical("A", "B")), ledger=ledger)
    >>> -30 < data.release(dp.CountPeople(), dp.PureDP(1)).value < 36  # 3 patients, 400 visits
    True
    """

    error_needs_rows = False

    def __init__(
        self,
        *,
        by: str | Sequence[str] | None = None,
        where: Expression | str | None = None,
    ) -> None:
        super().__init__(by, where)

    def tell_limit(self, unit: Unit) -> str:
        if unit.id_column is None or not self.by:
            return ""
        return f"counts each person in at most {unit.rows_per_person} groups; intervals cover the noise alone"

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    def terms(self, schema: Schema) -> tuple[Term, ...]:
        return (Term(1),)

    def extent(self, schema: Schema, counted: bool) -> Extent:
        return Extent(1, 1, 0, 0) if counted else Extent(0, 0, 0, 0)

    def coded(self, schema: Schema, unit: Unit) -> CodedQuery:
        coded = super().coded(schema, unit)
        if unit.id_column is None:
            return coded
        limit = unit.rows_per_person if self.by else 1
        return replace(coded, keep=PersonLimit(unit.id_column, limit, coded.by, once=True))

    def sensitivity(self, schema: Schema, unit: Unit) -> Sensitivity:
        if unit.id_column is None:
            return super().sensitivity(schema, unit)
        groups = len(self.labels(schema)) if self.by else 1
        sides = 2 if unit.relation is REPLACE_ONE else 1
        moved = min(sides * unit.rows_per_person, groups)
        return Sensitivity(moved, moved)

    def estimate(self, totals: Floats, schema: Schema) -> Any:
        return totals[:, 0].astype(np.int64)

    def error(self, totals: Floats, deviations: Floats, schema: Schema) -> Any:
        return np.full(len(totals), deviations[0])

    def bounds(self, totals: Floats, widths: Floats, schema: Schema) -> tuple[Any, Any]:
        return totals[:, 0] - widths[0], totals[:, 0] + widths[0]


@final
class RowsPerPerson(CountVector):
    """How many persons have 1, 2, 3, ... rows, before any row is left out: helps to choose ``max_rows``.

    Each person is in one bin, the last of which holds all with `maximum` rows or more. Persons without a row
    that satisfies `where` are not counted. Without an id column every row is a person with one row.

    Parameters
    ----------
    maximum : int
        The last bin; each bin takes a pass over the table.
    where : condition, optional

    Privacy
    -------
    One person moves one count by 1 (add/remove), or two (replace-one), however many rows there are; without
    an id column one count in either case. Proof page: ``docs/proofs/people.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> visits = {"patient": [k // 2 for k in range(400)], "ward": ["A", "B"] * 200}
    >>> unit = dp.Unit(dp.ADD_REMOVE, id_column="patient", max_rows=2)
    >>> ledger = dp.Ledger(limit=dp.PureDP(1), unit=unit)
    >>> data = dp.PrivateDataset(visits, dp.Schema(ward=dp.Categorical("A", "B")), ledger=ledger)
    >>> rows = data.release(dp.RowsPerPerson(4), dp.PureDP(1))
    >>> dp.RowsPerPerson.find_quantile(rows.value, 0.5)  # of 200 patients with two visits each
    2
    """

    def __init__(self, maximum: int = 10, *, where: Expression | str | None = None) -> None:
        super().__init__(None, where)
        self.maximum = as_integer(maximum, "RowsPerPerson: maximum", minimum=2)
        if self.maximum > MAX_BINS:
            raise ValueError(f"RowsPerPerson: maximum must be at most {MAX_BINS}.")

    def tell_limit(self, unit: Unit) -> str:
        return ""  # rows are counted before any is left out

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    def parts(self, schema: Schema, unit: Unit) -> tuple[CodedQuery, ...]:
        coded = self._coded(schema, unit, (Term(1),))
        limits = range(1, self.maximum + 1)
        if unit.id_column is None:
            return (coded,) * len(limits)
        return tuple(replace(coded, keep=PersonLimit(unit.id_column, m, ())) for m in limits)

    def sensitivity(self, schema: Schema, unit: Unit) -> Sensitivity:
        has_ids = (
            unit.id_column is not None
        )  # else everybody has one row, and one count alone moves
        moved = 2 if unit.relation is REPLACE_ONE and has_ids else 1
        return Sensitivity(moved, moved)

    def labels(self, schema: Schema) -> list[Any]:
        return [*range(1, self.maximum), f"{self.maximum} or more"]

    def vector(self, totals: list[Integers], schema: Schema) -> Integers:
        """Persons with exactly 1, 2, ... rows: how many rows each further one of the limit adds."""
        kept = np.array([0, *(int(part[0, 0]) for part in totals)], np.int64)
        at_least: Integers = np.diff(kept)  # persons with at least 1, 2, ... rows
        exactly: Integers = at_least - np.append(at_least[1:], 0)
        return exactly

    def prepare(self, budget: Budget, schema: Schema, unit: Unit, rows: int | None) -> Prepared:
        return PreparedCounts(self, self.labels(schema), budget, schema, unit, rows)

    @staticmethod
    def find_quantile(counts: Sequence[int], share: float) -> int:
        """The least number of rows that at least this share of the persons don't exceed.

        Parameters
        ----------
        counts : sequence of int
            The value of a release; negative counts are taken as 0.
        share : float
        """
        if not 0 < share <= 1:
            raise ValueError(f"share must be above 0 and at most 1, got {share!r}.")
        found = np.cumsum(np.maximum(counts, 0))
        return 1 + int(np.searchsorted(found, share * found[-1]))

    @staticmethod
    def find_kept_share(counts: Sequence[int], max_rows: int) -> float:
        """About which share of the rows counts with this ``max_rows``; an upper bound, but for the noise.

        Persons of the last bin are taken to have as few rows as they may.
        """
        persons = np.maximum(np.asarray(counts, np.float64), 0.0)
        rows = np.arange(1, len(persons) + 1)
        total = float(persons @ rows)
        kept = float(persons @ np.minimum(rows, as_integer(max_rows, "max_rows", minimum=1)))
        return kept / total if total else 1.0

    def __repr__(self) -> str:
        return f"RowsPerPerson({', '.join([str(self.maximum), *self._options()])})"
