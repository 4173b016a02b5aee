"""One SELECT as questions: which queries are asked, and what is made of their noised answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from discreet.columns import Bins, CalendarColumn, Numeric
from discreet.expressions import Expression
from discreet.schema import Schema, UnknownColumn
from discreet.sql.aggregates import AGGREGATES, Aggregate, Scope, read_aggregate
from discreet.sql.conditions import presence
from discreet.sql.groups import Names
from discreet.sql.known import check_tree
from discreet.sql.quoting import hint_quotes
from discreet.sql.reading import (
    SqlError,
    check_parts,
    kind_of,
    number_of,
    parse_select,
    refuse,
)
from discreet.unit import Unit

Row = dict[str, Any]
#: The keys of a row: groups are "g0", "g1", ...; aggregates "a0", "a1", ...
Test = Callable[[Row], bool]


@dataclass(frozen=True)
class Statement:
    """A SELECT as it will be asked.

    Attributes
    ----------
    schema : Schema
        With what the statement derives.
    by : tuple of str
        The columns of its groups.
    aggregates : tuple of Aggregate
        What is asked, each once; those of HAVING and ORDER BY among them.
    columns : tuple of pairs
        The name of each column of the result, and the key of its cells.
    having : callable or None
        Which rows of noised answers are shown.
    order : tuple of pairs
        Keys by which rows are sorted, and whether downwards.
    limit, offset : int
    """

    schema: Schema
    by: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    columns: tuple[tuple[str, str], ...]
    having: Test | None
    order: tuple[tuple[str, bool], ...]
    limit: int | None
    offset: int

    def map_aggregates(self, change: Callable[[Aggregate], Aggregate]) -> Statement:
        """The same statement with each aggregate asked otherwise."""
        return replace(self, aggregates=tuple(change(each) for each in self.aggregates))


def read_statement(text: Any, schema: Schema, unit: Unit) -> Statement:
    """The questions that a text asks; raises `SqlError` for whatever can't be asked.

    Privacy
    -------
    A function of the text, the schema and the unit alone: no row is read. Names and constants of the text are
    only compared with those of the schema.
    """
    try:
        tree = parse_select(text)
    except SqlError as error:
        raise SqlError(f"{error}{hint_quotes(text, schema)}") from None
    try:
        found = _Reader(tree, schema, unit).read()
        check_tree(tree)
        return found
    except SqlError as error:
        raise SqlError(f"{error}{hint_quotes(text, schema)}") from None
    except UnknownColumn as error:
        raise SqlError(f"sql: {error}") from None
    except (TypeError, ValueError) as error:
        raise SqlError(f"sql: {str(error).removeprefix('where: ')}") from None
    except RecursionError:
        raise SqlError("sql: the statement is nested too deeply: ask in parts.") from None


class _Reader:
    """Reads one SELECT, collecting each aggregate once."""

    def __init__(self, tree: Any, schema: Schema, unit: Unit) -> None:
        check_parts(
            tree,
            "expressions",
            "from",
            "from_",
            "where",
            "group",
            "having",
            "order",
            "limit",
            "offset",
        )
        self._tree, self._unit = tree, unit
        self._names = Names(schema, _read_table(tree))
        self._aggregates: dict[str, Aggregate] = {}
        self._aliases = {
            item.alias: item.this for item in tree.expressions if kind_of(item) == "Alias"
        }

    def read(self) -> Statement:
        groups = [self._names.find(node) for node in self._group_nodes()]
        if len(set(groups)) < len(groups):
            raise SqlError("sql: GROUP BY names a column twice: leave one of them out.")
        self._scope = Scope(self._names, tuple(groups), self._where(groups), self._unit)
        columns = tuple(self._column(item) for item in self._tree.expressions)
        having = self._tree.args.get("having")
        test = None if having is None else self._test(having.this)
        order = tuple(self._sorting(item) for item in self._ordered())
        if not self._aggregates:
            raise SqlError(
                "sql: ask for an aggregate, such as COUNT(*): single rows can't be shown."
            )
        return Statement(
            self._names.schema,
            self._scope.by,
            tuple(self._aggregates.values()),
            columns,
            test,
            order,
            self._whole("limit"),
            self._whole("offset") or 0,
        )

    def _group_nodes(self) -> list[Any]:
        group = self._tree.args.get("group")
        if group is None:
            return []
        check_parts(group, "expressions")
        return [self._meaning(node) for node in group.expressions]

    def _meaning(self, node: Any) -> Any:
        """What a number of a column or an alias stands for; other nodes as they are."""
        kind = kind_of(node)
        if kind == "Literal" and not node.args.get("is_string"):
            place, items = number_of(node), self._tree.expressions
            if not isinstance(place, int) or not 1 <= place <= len(items):
                raise refuse(node, f"columns of this SELECT have the numbers 1 to {len(items)}")
            item = items[place - 1]
            return item.this if kind_of(item) == "Alias" else item
        if kind == "Column" and node.name in self._aliases and not node.args.get("table"):
            return self._aliases[node.name]
        return node

    def _where(self, groups: list[str]) -> Expression | None:
        """The condition of the statement; rows whose group is NULL are in no group that is answered."""
        scope = Scope(self._names, (), None, self._unit)
        where = self._tree.args.get("where")
        found = None if where is None else scope.condition(where.this)
        schema = self._names.schema
        for name in groups:
            column = schema[name]
            source = column.column if isinstance(column, Bins) else name
            if isinstance(schema[source], Numeric | CalendarColumn):
                found = scope.narrowed(found, presence(source, schema))
        return found

    def _key(self, node: Any) -> str:
        """The key of what an expression stands for in a row of the result."""
        node = self._meaning(node)
        if kind_of(node) in AGGREGATES:
            text = node.sql()
            if text not in self._aggregates:
                self._aggregates[text] = read_aggregate(node, self._scope)
            return f"a{list(self._aggregates).index(text)}"
        if kind_of(node) in ("Column", "Extract", "Year", "Quarter", "Month", "Anonymous", "Case"):
            name = self._names.find(node)
            if name in self._scope.by:
                return f"g{self._scope.by.index(name)}"
            raise refuse(node, f"add {name!r} to GROUP BY, or ask for an aggregate of it")
        raise refuse(node)

    def _column(self, item: Any) -> tuple[str, str]:
        if kind_of(item) == "Alias":
            return item.alias, self._key(item.this)
        return (item.name if kind_of(item) == "Column" else item.sql().lower()), self._key(item)

    def _test(self, node: Any) -> Test:
        """A condition of HAVING on noised answers, which is post-processing."""
        kind = kind_of(node)
        if kind == "Paren":
            return self._test(node.this)
        if kind == "Not":
            inner = self._test(node.this)
            return lambda row: not inner(row)
        if kind in ("And", "Or"):
            one, other = self._test(node.this), self._test(node.expression)
            if kind == "And":
                return lambda row: one(row) and other(row)
            return lambda row: one(row) or other(row)
        if kind not in _COMPARE:
            raise refuse(node, "HAVING compares aggregates with numbers, as in COUNT(*) >= 100")
        check_parts(node, "this", "expression")
        key, number, compare = self._key(node.this), number_of(node.expression), _COMPARE[kind]
        if not key.startswith("a"):
            raise refuse(node, "write conditions on columns behind WHERE")
        return lambda row: isinstance(row[key], int | float) and compare(row[key], number)

    def _ordered(self) -> list[Any]:
        order = self._tree.args.get("order")
        return [] if order is None else list(order.expressions)

    def _sorting(self, item: Any) -> tuple[str, bool]:
        check_parts(item, "this", "desc")
        return self._key(item.this), bool(item.args.get("desc"))

    def _whole(self, part: str) -> int | None:
        found = self._tree.args.get(part)
        if found is None:
            return None
        check_parts(found, "expression")
        number = number_of(found.expression)
        if not isinstance(number, int) or number < 0:
            raise refuse(found, "give a whole number of rows")
        return number


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "GT": lambda a, b: bool(a > b),
    "GTE": lambda a, b: bool(a >= b),
    "LT": lambda a, b: bool(a < b),
    "LTE": lambda a, b: bool(a <= b),
}


def _read_table(tree: Any) -> frozenset[str]:
    """The names under which the one table may be named: any single one, since it is the open data set."""
    found = tree.args.get("from_") or tree.args.get("from")
    if found is None:
        raise SqlError("sql: FROM is missing: write any single name behind it, as in FROM visits.")
    table = found.this
    if kind_of(table) != "Table":
        raise refuse(table, "write a single name behind FROM")
    check_parts(table, "this", "alias")
    if kind_of(table.this) != "Identifier":
        raise refuse(table, "write a single name behind FROM")
    return frozenset(name for name in (table.name, table.alias) if name)


__all__ = ["Statement", "read_statement"]
