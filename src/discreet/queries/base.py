"""A query: a coded contribution of each row, summed over the rows of each declared group."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from itertools import product
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from discreet.coding import (
    Code,
    CodedQuery,
    Extent,
    PersonLimit,
    Sensitivity,
    Term,
    leaves,
    partial_codes,
)
from discreet.columns import MAX_CELLS
from discreet.expressions import Expression, parse
from discreet.queries.answer import Budget, Prepared
from discreet.rational import as_integer
from discreet.schema import Schema, order_codes
from discreet.unit import REPLACE_ONE, Unit

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def _list_names(by: Any) -> Sequence[str]:
    if not isinstance(by, Iterable):
        raise TypeError(
            "by must be the names of columns. Values nobody can list are found with dp.KeyCounts(...) and "
            "then declared, as in schema.replace(town=dp.Categorical(*keys))."
        )
    return list(by)


class Query(ABC):
    """A question whose answer is noised and charged.

    Every query takes `by`, the names of countable columns whose declared values are all answered,
    absent ones too, and `where`, a condition in the small language of `dp.col`.

    Examples
    --------
    >>> import discreet as dp
    >>> question = dp.Mean("cost", by="ward", where="age >= 65")
    >>> isinstance(question, dp.queries.Query), question.by
    (True, ('ward',))
    """

    by: tuple[str, ...]
    where: Expression | None
    #: At most this many rows of one person count; None for as many as the unit allows.
    person_rows: int | None = None

    def __init__(self, by: str | Sequence[str] | None, where: Expression | str | None) -> None:
        names = () if by is None else (by,) if isinstance(by, str) else tuple(_list_names(by))
        if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
            raise TypeError("by must be the names of different columns.")
        self.by = names
        if where is not None and not isinstance(where, str | Expression):
            raise TypeError(
                "where must be a condition such as dp.col('age') >= 40, or text such as 'age >= 40', "
                f"not {type(where).__name__}."
            )
        self.where = parse(where) if isinstance(where, str) else where

    def per_person(self: Self, max_rows: int = 1) -> Self:
        """The same question with at most this many rows of each person, fewer than the unit allows.

        Examples
        --------
        >>> import discreet as dp
        >>> dp.Mean("age").per_person(1)  # of patients, where a row is a visit
        Mean('age', max_rows=1)

        Privacy
        -------
        Sensitivity and noise are those of the smaller number: a unit with fewer rows per person. It must
        not exceed the unit's. Proof page: ``docs/proofs/people.md``.
        """
        found = copy(self)
        found.person_rows = as_integer(max_rows, "max_rows", minimum=1)
        return found

    def narrow(self, unit: Unit) -> Unit:
        """The unit with the query's own limit of rows per person, which must not be larger."""
        if self.person_rows is None:
            return unit
        if unit.id_column is None:
            raise ValueError(
                "per_person needs a unit with an id column: without one every row is a person, and one row "
                "of each counts anyway."
            )
        if self.person_rows > unit.rows_per_person:
            raise ValueError(
                f"per_person({self.person_rows}): the unit allows at most {unit.rows_per_person} rows per "
                "person; a question may take fewer, not more."
            )
        return replace(unit, max_rows=self.person_rows)

    def tell_limit(self, unit: Unit) -> str:
        """What the unit's limit of rows per person means for the answer; empty where there is none."""
        if unit.id_column is None:
            return ""
        rows = "1 row" if unit.rows_per_person == 1 else f"{unit.rows_per_person} rows"
        return (
            f"counts at most {rows} of each person; intervals cover the noise around that, not what was "
            "left out"
        )

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns whose values are summed or counted."""

    @abstractmethod
    def coded(self, schema: Schema, unit: Unit) -> CodedQuery:
        """The integers that an engine computes for this query."""

    @abstractmethod
    def sensitivity(self, schema: Schema, unit: Unit) -> Sensitivity:
        """How far one person moves the answer, in exact integers."""

    @abstractmethod
    def prepare(self, budget: Budget, schema: Schema, unit: Unit, rows: int | None) -> Prepared:
        """Plan and price an answer from public facts; every complaint about them is raised here."""

    def labels(self, schema: Schema) -> list[Any]:
        """The groups in the order of the answer: a value, or a tuple of values, each."""
        cells = self._cells(schema)
        return list(cells[0]) if len(cells) == 1 else list(product(*cells))

    def _cells(self, schema: Schema) -> list[tuple[Any, ...]]:
        """The values of each column of `by`; raise where there are too many groups."""
        cells = [schema.labels(name) for name in self.by]
        check_cells(math.prod(map(len, cells)))
        return cells

    def can_leave_out(self, schema: Schema, unit: Unit) -> bool:
        """Whether a row can fail to count: then 0 is among the possible contributions."""
        if self.where is not None or unit.id_column is not None:
            return True
        return bool(partial_codes(*self._all_codes(schema)))

    def count_is_public(self, schema: Schema, unit: Unit) -> bool:
        """Whether the number of rows that count is the public number of rows."""
        return unit.length_is_public and not self.by and not self.can_leave_out(schema, unit)

    def _all_codes(self, schema: Schema) -> list[Code]:
        return [schema.code(name) for name in dict.fromkeys((*self.by, *self.columns))]

    def _coded(
        self, schema: Schema, unit: Unit, terms: tuple[Term, ...], tally: Code | None = None
    ) -> CodedQuery:
        self._cells(schema)
        where = None if self.where is None else self.where.condition(schema)
        used = self._all_codes(schema)
        known = partial_codes(*used, *([where] if where is not None else []))
        keep = None
        if unit.id_column is not None:
            finer = dict.fromkeys(leaf for term in terms for leaf in leaves(*term.codes))
            order = order_codes(schema)
            ties = tuple(leaf for leaf in finer if leaf not in order)
            keep = PersonLimit(unit.id_column, unit.rows_per_person, order, ties)
        by = tuple(schema.code(name) for name in self.by)
        return CodedQuery(terms, by, where, known, keep, tally)

    def _sensitivity_from_extent(self, extent: Extent, schema: Schema, unit: Unit) -> Sensitivity:
        """The sensitivity that follows from what one row can contribute."""
        rows = unit.rows_per_person
        if unit.relation is not REPLACE_ONE:
            return Sensitivity(rows * extent.largest_l1, rows**2 * extent.largest_l2_squared)
        l1, l2_squared = extent.diameter_l1, extent.diameter_l2_squared
        if self.can_leave_out(schema, unit):
            l1 = max(l1, extent.largest_l1)
            l2_squared = max(l2_squared, extent.largest_l2_squared)
        if self.by and math.prod(len(schema.labels(name)) for name in self.by) > 1:
            l1 = max(l1, 2 * extent.largest_l1)
            l2_squared = max(l2_squared, 2 * extent.largest_l2_squared)
        return Sensitivity(rows * l1, rows**2 * l2_squared)

    def _options(self) -> list[str]:
        shown = []
        if self.by:
            shown.append(f"by={self.by[0]!r}" if len(self.by) == 1 else f"by={list(self.by)}")
        if self.where is not None:
            shown.append(f"where={str(self.where)!r}")
        if self.person_rows is not None:
            shown.append(f"max_rows={self.person_rows}")
        return shown

    def __repr__(self) -> str:
        arguments = [repr(name) for name in self.columns] + self._options()
        return f"{type(self).__name__}({', '.join(arguments)})"


def check_cells(cells: int) -> None:
    """Raise where there are too many groups."""
    if cells > MAX_CELLS:
        raise ValueError(f"by: more than {MAX_CELLS} groups; use fewer or coarser columns.")


def not_a_query(given: object) -> TypeError:
    """The error for what was given in place of a query.

    Examples
    --------
    >>> import discreet as dp
    >>> print(dp.queries.not_a_query("mean of age"))
    query must be a query such as dp.Count() or dp.Mean('age'), not str.
    """
    if isinstance(given, type) and issubclass(given, Query):
        return TypeError(f"query is the class {given.__name__}: write dp.{given.__name__}(...).")
    return TypeError(
        f"query must be a query such as dp.Count() or dp.Mean('age'), not {type(given).__name__}."
    )


def refuse_own_limits(queries: Iterable[Query], kind: str) -> None:
    """Refuse parts of a question with limits of their own: the whole has one."""
    if any(query.person_rows is not None for query in queries):
        raise ValueError(
            f"{kind}: its parts have no per_person of their own; write {kind}(...).per_person(...)."
        )
