"""What all one-liners share: a column, who is protected, who pays, and the one release."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.coding.plain import package_of
from discreet.columns import Base, Integer, Real
from discreet.dataset import PrivateDataset
from discreet.ledger import Payer
from discreet.ledger.own import OwnLedger
from discreet.measures import ZCDP, ApproxDP, Measure, PureDP
from discreet.queries import Query
from discreet.rational import as_integer
from discreet.release import Release
from discreet.schema import Schema
from discreet.unit import ADD_REMOVE, Relation, Unit

__all__ = ["ALONE", "Bound", "Question", "ask", "check_column", "declare_numbers", "read_budget"]

#: The note of an answer that opened a ledger of its own.
ALONE = (
    "the ledger was opened for this answer alone and adds up with nothing: ten such calls cost ten times as "
    "much. Give ledger=dp.Ledger(limit=...) to keep one budget"
)
#: Packages whose columns are read where they are.
_SERIES = ("pandas", "polars", "pyarrow")
Bound = tuple[float, float] | None


class Question:
    """A column, who is protected and who pays: what a release needs besides its query."""

    def __init__(
        self, columns: dict[str, Any], unit: Unit, payer: Payer | None, measure: Measure
    ) -> None:
        self._columns, self._unit, self._payer, self._measure = columns, unit, payer, measure

    def release(self, query: Query, declared: Base | Schema) -> Release:
        """The answer, and what is to be said of its ledger."""
        column = next(iter(self._columns))
        schema = declared if isinstance(declared, Schema) else Schema({column: declared})
        payer = self._payer
        if payer is None and not self._unit.is_public:
            if math.inf in (getattr(self._measure, size, 0) for size in ("epsilon", "rho")):
                raise ValueError(
                    "the budget must be finite: no noise at all is accepted with relation=dp.PUBLIC only."
                )
            payer = OwnLedger(self._measure, self._unit)
        data = PrivateDataset(self._columns, schema, unit=self._unit, ledger=payer)
        found = data.release(query, self._measure)
        if self._payer is not None or self._unit.is_public:
            return found
        return replace(found, note="; ".join(filter(None, (found.note, ALONE))))


def ask(
    x: Any,
    name: Any,
    ids: Any,
    max_rows: int | None,
    relation: Relation | None,
    ledger: Payer | None,
    measure: Measure,
) -> Question:
    """Put a question's column together with its unit and its ledger; a ledger's own unit must agree."""
    check_column(x, "x")
    if not isinstance(name, str) or not name:
        raise TypeError(f"name must be text, such as 'age', not {type(name).__name__}.")
    if ledger is not None and not isinstance(ledger, Payer):
        raise TypeError(
            "ledger must be a dp.Ledger or one of its accounts, such as dp.Ledger(limit=dp.PureDP(1)), "
            f"not {type(ledger).__name__}."
        )
    known = None if ledger is None or ledger.book is None else ledger.book.unit
    if known is not None and known.id_column is not None and ids is None:
        raise TypeError(
            f"ids must be given: this ledger protects persons by their {known.id_column!r}, so say whose row "
            "each is, as in ids=frame['patient']."
        )
    if ids is None:
        if max_rows is not None:
            raise TypeError("max_rows needs ids: without them nobody can tell whose row each is.")
        return Question({name: x}, Unit(_relation(relation, known)), ledger, measure)
    check_column(ids, "ids")
    if len(ids) != len(x):
        raise ValueError("ids must have one id for each row of x.")
    if max_rows is None and known is not None:
        max_rows = known.max_rows
    if max_rows is None:
        raise TypeError(
            "max_rows must be given with ids: say how many rows of one person may count, as in max_rows=1."
        )
    own = "id" if name != "id" else "person"
    person = (known.id_column if known is not None else None) or own
    if person == name:
        raise ValueError(f"name: the ledger calls the ids {name!r}; give the column another name.")
    unit = Unit(_relation(relation, known), person, as_integer(max_rows, "max_rows", minimum=1))
    return Question({name: x, person: ids}, unit, ledger, measure)


def _relation(relation: Any, known: Unit | None) -> Relation:
    if relation is None:
        return ADD_REMOVE if known is None else known.relation
    if not isinstance(relation, Relation):
        raise TypeError(
            "relation must be dp.ADD_REMOVE, dp.REPLACE_ONE or dp.PUBLIC, not "
            f"{type(relation).__name__}."
        )
    return relation


def check_column(x: Any, argument: str) -> None:
    """Refuse what isn't one column at hand, by its type and shape alone."""
    package = package_of(x)
    if isinstance(x, list | tuple):
        return
    known = isinstance(x, np.ndarray) or package in _SERIES
    if hasattr(type(x), "columns") or package in ("dask", "dask_expr", "pyspark", "duckdb", "ibis"):
        raise TypeError(
            f"{argument} must be one column, such as frame['age'], not a {type(x).__name__}: for a whole "
            "table use dp.PrivateDataset(table, schema, ledger=ledger)."
        )
    if not known or not hasattr(x, "__len__"):
        raise TypeError(
            f"{argument} must be a list, an array or a column of pandas, Polars or PyArrow, not "
            f"{type(x).__name__}. Files and databases are opened with dp.PrivateDataset."
        )
    if getattr(x, "ndim", 1) != 1 or getattr(getattr(x, "dtype", None), "names", None):
        raise ValueError(
            f"{argument} must be one-dimensional, one value for each row: give one column, as in "
            "array[:, 0]; for several use dp.PrivateDataset(array, schema, ledger=ledger)."
        )


def read_budget(epsilon: Any, delta: Any, rho: Any) -> Measure:
    """The budget that somebody wrote as ε, (ε, δ) or ρ."""
    if (epsilon is None) == (rho is None):
        raise TypeError(
            "a budget must be given: epsilon=0.5, or epsilon=0.5 with delta=1e-6, or rho=0.1."
        )
    if rho is not None:
        if delta is not None:
            raise TypeError("delta belongs to epsilon: rho has none.")
        return ZCDP(rho)
    return PureDP(epsilon) if delta is None or delta == 0 else ApproxDP(epsilon, delta)


def declare_numbers(x: Any, bounds: Any, asked: str) -> Integer | Real:
    """Declare a column of numbers: whole ones where its type and the bounds are whole."""
    if bounds is None:
        raise TypeError(
            f"bounds must be given, as in dp.{asked}(x, bounds=(0, 100), ...): public ones, from what anyone "
            "may know. They are never taken from the values: the smallest and the largest tell about the "
            "person who has them, and bounds decide how much noise hides one person."
        )
    try:
        lower, upper = bounds
    except (TypeError, ValueError):
        raise TypeError(
            "bounds must be a pair of numbers, (lower, upper), as in (0, 100)."
        ) from None
    if _is_whole(x) and all(_is_integer(bound) for bound in (lower, upper)):
        return Integer(int(lower), int(upper))
    return Real(lower, upper)


def _is_integer(bound: Any) -> bool:
    return isinstance(bound, int | float | np.number) and float(bound).is_integer()


def _is_whole(x: Any) -> bool:
    """Whether a column's type is whole numbers or booleans; no cell is looked at."""
    if isinstance(x, list | tuple):
        return False
    kind = str(getattr(x, "dtype", getattr(x, "type", ""))).lower()
    return kind.startswith(("int", "uint", "bool"))
