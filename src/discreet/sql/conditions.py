"""WHERE as a condition of our own language, true only where SQL's is: a comparison with NULL never is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.columns import CalendarColumn, Numeric
from discreet.expressions import Expression, col
from discreet.schema import Schema
from discreet.sql.reading import check_parts, constant_of, kind_of, refuse

#: From an expression of SQL to the name of a column, declared or derived for this statement.
Naming = Callable[[Any], str]
_SIGNS = {
    "GT": "__gt__",
    "GTE": "__ge__",
    "LT": "__lt__",
    "LTE": "__le__",
    "EQ": "__eq__",
    "NEQ": "__ne__",
}
_FLIPPED = {"GT": "LT", "GTE": "LTE", "LT": "GT", "LTE": "GTE", "EQ": "EQ", "NEQ": "NEQ"}
_OPPOSITE = {"GT": "LTE", "GTE": "LT", "LT": "GTE", "LTE": "GT", "EQ": "NEQ", "NEQ": "EQ"}


def read_condition(
    node: Any, naming: Naming, schema: Callable[[], Schema], negated: bool = False
) -> Expression:
    """A condition; negations are pushed inwards, so that NOT of an unknown comparison is still not true."""
    kind = kind_of(node)
    match kind:
        case "Paren":
            check_parts(node, "this")
            return read_condition(node.this, naming, schema, negated)
        case "Not":
            check_parts(node, "this")
            return read_condition(node.this, naming, schema, not negated)
        case "And" | "Or":
            check_parts(node, "this", "expression")
            one = read_condition(node.this, naming, schema, negated)
            other = read_condition(node.expression, naming, schema, negated)
            return one & other if (kind == "And") != negated else one | other
        case "Is":
            return _read_null(node, naming, schema, negated)
        case "In":
            check_parts(node, "this", "expressions")
            name = naming(node.this)
            inside = col(name).is_in([constant_of(item) for item in node.expressions])
            return _where_known(name, ~inside if negated else inside, schema())
        case "Between":
            check_parts(node, "this", "low", "high")
            name = naming(node.this)
            low, high = constant_of(node.args["low"]), constant_of(node.args["high"])
            within = (col(name) >= low) & (col(name) <= high)
            return _where_known(name, ~within if negated else within, schema())
        case "Column" | "Boolean":
            raise refuse(node, "write a comparison, as in column = TRUE")
        case _ if kind in _SIGNS:
            check_parts(node, "this", "expression")
            return _compare(node, kind, naming, schema, negated)
        case _:
            raise refuse(node)


def _compare(
    node: Any, kind: str, naming: Naming, schema: Callable[[], Schema], negated: bool
) -> Expression:
    left, right = node.this, node.expression
    if kind_of(left) in ("Literal", "Neg", "Boolean", "Cast", "Date"):
        left, right, kind = right, left, _FLIPPED[kind]
    name = naming(left)
    kind = _OPPOSITE[kind] if negated else kind
    test: Expression = getattr(col(name), _SIGNS[kind])(constant_of(right))
    return _where_known(name, test, schema())


def _read_null(
    node: Any, naming: Naming, schema: Callable[[], Schema], negated: bool
) -> Expression:
    check_parts(node, "this", "expression")
    if kind_of(node.expression) != "Null":
        raise refuse(node, "write a comparison, as in column = TRUE")
    present = presence(naming(node.this), schema())
    return present if negated else ~present


def _where_known(name: str, test: Expression, schema: Schema) -> Expression:
    """The test where the cell isn't null; categories have the schema's own rule for unknown cells."""
    column = schema[name]
    return presence(name, schema) & test if isinstance(column, Numeric | CalendarColumn) else test


def presence(name: str, schema: Schema) -> Expression:
    """True where a column isn't null; that of a part of a date is that of the date."""
    column = schema[name]
    return col(column.column if isinstance(column, CalendarColumn) else name).is_present()
