"""Aggregates of SQL as queries. Those of a column skip its NULLs, as SQL does, by a condition."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from discreet.columns import Date
from discreet.expressions import Expression
from discreet.queries import Count, CountPeople, Estimate, Mean, Quantile, Query, Sum, Variance
from discreet.sql.conditions import presence, read_condition
from discreet.sql.groups import Names
from discreet.sql.reading import SqlError, check_parts, kind_of, number_of, refuse
from discreet.unit import Unit

_VARIANCES = frozenset({"Variance", "VariancePop"})
_DEVIATIONS = frozenset({"Stddev", "StddevPop", "StddevSamp"})
_OF_A_COLUMN = frozenset({"Count", "Sum", "Avg", "Median", "Quantile", *_VARIANCES, *_DEVIATIONS})
AGGREGATES = _OF_A_COLUMN | {"Filter", "WithinGroup"}


@dataclass(frozen=True)
class Aggregate:
    """An aggregate: the query behind it, and what makes a cell of the result of a number of its answer."""

    query: Query
    finish: Callable[[Any], Any]

    def as_estimate(self) -> Aggregate:
        """The same with what an interval for the population needs, where one is known."""
        if isinstance(self.query, Mean | Sum) or type(self.query) is Quantile:
            return replace(self, query=Estimate(self.query))
        return self

    def per_person(self, max_rows: int) -> Aggregate:
        """The same with at most this many rows of each person."""
        return replace(self, query=self.query.per_person(max_rows))


@dataclass(frozen=True)
class Scope:
    """What all aggregates of a statement share."""

    names: Names
    by: tuple[str, ...]
    where: Expression | None
    unit: Unit

    def narrowed(self, *more: Expression | None) -> Expression | None:
        """The condition of the statement and further ones."""
        parts = [part for part in (self.where, *more) if part is not None]
        whole = parts[0] if parts else None
        for part in parts[1:]:
            whole = part if whole is None else whole & part
        return whole

    def condition(self, node: Any) -> Expression:
        """A condition of the statement's text."""
        return read_condition(node, self.names.find, lambda: self.names.schema)


def read_aggregate(node: Any, scope: Scope, only: Expression | None = None) -> Aggregate:
    """The query that an aggregate stands for, asked of the rows where `only` holds."""
    kind = kind_of(node)
    if kind == "Filter":
        check_parts(node, "this", "expression")
        more = scope.condition(node.expression.this)
        return read_aggregate(node.this, scope, more if only is None else only & more)
    if kind == "WithinGroup":
        return _percentile(node, scope, only)
    if kind not in _OF_A_COLUMN:
        raise refuse(node)
    check_parts(node, "this", "quantile")
    if kind == "Count" and kind_of(node.this) == "Star":
        return Aggregate(Count(by=scope.by, where=scope.narrowed(only)), _number)
    if kind == "Count" and kind_of(node.this) == "Distinct":
        return _count_distinct(node.this, scope, only)
    if kind in ("Count", "Sum") and kind_of(node.this) == "Case":
        return _of_cases(node, kind, scope, only)
    if kind == "Count" and kind_of(node.this) == "Literal":
        return Aggregate(Count(by=scope.by, where=scope.narrowed(only)), _number)
    name = scope.names.find(node.this)
    share = number_of(node.args["quantile"]) if kind == "Quantile" else 0.5
    return _of_column(node, kind, name, scope, only, share)


def _of_column(
    node: Any, kind: str, name: str, scope: Scope, only: Expression | None, share: float
) -> Aggregate:
    schema = scope.names.schema
    where = scope.narrowed(presence(name, schema), only)
    column = schema[name]
    shown = _date(column) if isinstance(column, Date) else _number
    if kind == "Count":
        return Aggregate(Count(by=scope.by, where=where), _number)
    if kind == "Sum":
        return Aggregate(Sum(name, by=scope.by, where=where), _number)
    if kind == "Avg":
        return Aggregate(Mean(name, by=scope.by, where=where), shown)
    if kind in _VARIANCES:
        return Aggregate(Variance(name, by=scope.by, where=where), _number)
    if kind in _DEVIATIONS:
        return Aggregate(Variance(name, by=scope.by, where=where), take_root)
    if not 0 <= share <= 1:
        raise refuse(node, "give a share between 0 and 1, as in PERCENTILE_CONT(0.9)")
    return Aggregate(Quantile(name, share, by=scope.by, where=where), shown)


def _percentile(node: Any, scope: Scope, only: Expression | None) -> Aggregate:
    """PERCENTILE_CONT(share) WITHIN GROUP (ORDER BY column)."""
    check_parts(node, "this", "expression")
    inner, order = node.this, node.expression
    instead = "write PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY column)"
    if kind_of(inner) not in ("PercentileCont", "PercentileDisc") or kind_of(order) != "Order":
        raise refuse(node, instead)
    check_parts(inner, "this")
    if len(order.expressions) != 1:
        raise refuse(node, instead)
    (by,) = order.expressions
    check_parts(by, "this", "desc")
    share = number_of(inner.this)
    share = 1 - share if by.args.get("desc") else share
    return _of_column(node, "Quantile", scope.names.find(by.this), scope, only, share)


def _of_cases(node: Any, kind: str, scope: Scope, only: Expression | None) -> Aggregate:
    """SUM(CASE WHEN condition THEN 1 ELSE 0 END), or of a column instead of 1; COUNT(CASE ... END)."""
    instead = (
        "write SUM(CASE WHEN condition THEN 1 ELSE 0 END), or COUNT(*) FILTER (WHERE condition)"
    )
    case = node.this
    check_parts(case, "ifs", "default")
    (branch, *others), default = case.args["ifs"], case.args.get("default")
    if others or (default is not None and (kind == "Count" or number_of(default) != 0)):
        raise refuse(node, instead)
    more = scope.condition(branch.this)
    more = more if only is None else only & more
    what = branch.args["true"]
    if kind_of(what) == "Column" and kind == "Sum":
        return _of_column(node, "Sum", scope.names.find(what), scope, more, 0.5)
    if kind == "Sum" and number_of(what) != 1:
        raise refuse(node, instead)
    return Aggregate(Count(by=scope.by, where=scope.narrowed(more)), _number)


def _count_distinct(node: Any, scope: Scope, only: Expression | None) -> Aggregate:
    """COUNT(DISTINCT id): persons, of whom rows without an id are none, as SQL skips NULLs."""
    (column,) = node.expressions if len(node.expressions) == 1 else (None,)
    if column is None or not scope.names.is_column(column, scope.unit.id_column):
        raise SqlError(
            "sql: COUNT(DISTINCT ...) counts persons, by the id column of the unit alone; for values of "
            "another column ask for COUNT(*) with GROUP BY that column."
        )
    return Aggregate(CountPeople(by=scope.by, where=scope.narrowed(only)), _number)


def _number(value: Any) -> Any:
    return value


def take_root(value: Any) -> float:
    """The standard deviation of a noised variance, which may be negative."""
    return math.sqrt(value) if value > 0 else 0.0 if value == value else math.nan


def _date(column: Date) -> Callable[[Any], Any]:
    return partial(_show_date, column)


def _show_date(column: Date, value: Any) -> Any:
    return column.to_date(value).isoformat() if math.isfinite(value) else None
