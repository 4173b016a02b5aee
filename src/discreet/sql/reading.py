"""SQL text as a tree of one SELECT, in which nothing is left that we don't know."""

from __future__ import annotations

import difflib
import importlib
from typing import Any

from discreet.schema import Schema

#: The longest text that is read.
MAX_TEXT = 20_000


class SqlError(ValueError):
    """A statement, or a part of it, that can't be asked here. Nothing was charged."""


def parse_select(text: Any) -> Any:
    """The tree of a text that is one SELECT; everything else is refused."""
    if not isinstance(text, str):
        raise TypeError(f"sql: the statement must be text, not {type(text).__name__}.")
    if len(text) > MAX_TEXT:
        raise SqlError(f"sql: the statement is longer than {MAX_TEXT} characters: ask in parts.")
    try:
        glot = importlib.import_module("sqlglot")
    except ImportError:
        raise ImportError("SQL needs sqlglot: pip install 'discreet[sql]'.") from None
    try:
        _check_start(glot.tokenize(text))
        trees = [tree for tree in glot.parse(text) if tree is not None]
    except SqlError:
        raise
    except (Exception, RecursionError):
        trees = []
    if len(trees) != 1:
        raise SqlError(
            "sql: this can't be read as SQL; write, for example, "
            '"SELECT ward, AVG(cost) FROM visits WHERE age >= 18 GROUP BY ward".'
        )
    if kind_of(trees[0]) != "Select":
        raise refuse(trees[0], _ONE_SELECT)
    return trees[0]


_ONE_SELECT = "write one SELECT ... FROM ... statement; rows can't be changed here"


def _check_start(tokens: list[Any]) -> None:
    """Refuse other statements before they are parsed: the parser prints those that it doesn't know."""
    kinds = [token.token_type.name for token in tokens]
    if "SEMICOLON" in kinds[:-1]:
        raise SqlError("sql: write one statement at a time, without others behind a semicolon.")
    if kinds and kinds[0] not in ("SELECT", "WITH", "L_PAREN"):
        raise SqlError(f"sql: {tokens[0].text[:_MAX_SHOWN]!r} can't be asked here; {_ONE_SELECT}.")


def kind_of(node: Any) -> str:
    """The name of the class of a node."""
    return type(node).__name__


#: What sqlglot notes besides a construct's own parts; none of it changes what is asked.
_NOTES = frozenset({"big_int", "nulls_first", "_type"})


def check_parts(node: Any, *allowed: str) -> None:
    """Raise if a node has parts other than these: what is not understood is never left out."""
    for name, value in node.args.items():
        if value and name not in allowed and name not in _NOTES:
            part = value[0] if isinstance(value, list) else value
            raise refuse(part if hasattr(part, "sql") else node, "leave it out", name)


#: What to say instead of constructs that people try.
_INSTEAD = {
    "Join": "join the tables first, as a view or a frame, and open that",
    "Subquery": "ask the inner question apart, and use its answer as a number",
    "Union": "ask each SELECT apart",
    "Except": "ask each SELECT apart",
    "Intersect": "ask each SELECT apart",
    "With": "ask one SELECT without WITH",
    "Window": "ask with GROUP BY; an answer about single rows would tell about a person",
    "Distinct": "ask for GROUP BY the column: all its declared values are answered",
    "Star": "name what you ask for, as in COUNT(*) or AVG(cost): rows can't be shown",
    "Like": "use = or IN with the declared values",
    "ILike": "use = or IN with the declared values",
    "RegexpLike": "use = or IN with the declared values",
    "Min": "ask for PERCENTILE_CONT(0.01) WITHIN GROUP (ORDER BY column): one person decides the smallest",
    "Max": "ask for PERCENTILE_CONT(0.99) WITHIN GROUP (ORDER BY column): one person decides the largest",
    "ArrayAgg": "ask for counts by group: single values can't be shown",
    "GroupConcat": "ask for counts by group: single values can't be shown",
    "AnyValue": "ask for counts by group: single values can't be shown",
    "First": "ask for counts by group: single values can't be shown",
    "Last": "ask for counts by group: single values can't be shown",
    "ApproxDistinct": "ask for COUNT(DISTINCT person) of the id column",
    "Corr": "use dp.Gram(column, column)",
    "CovarPop": "use dp.Gram(column, column)",
    "CovarSamp": "use dp.Gram(column, column)",
    "Rand": "leave randomness to the noise",
    "Exists": "ask the inner question apart",
    "Null": "write IS NULL or IS NOT NULL",
    "Parameter": "write the value itself",
    "Placeholder": "write the value itself",
    "DayOfWeek": "write EXTRACT(ISODOW FROM column): 1 is Monday, 7 Sunday",
    "DateTrunc": "group by EXTRACT(YEAR FROM column) and EXTRACT(MONTH FROM column)",
    "TimestampTrunc": "group by EXTRACT(YEAR FROM column) and EXTRACT(MONTH FROM column)",
    "CurrentDate": "write the day, as in DATE '2024-03-01'",
    "CurrentTimestamp": "write the day, as in DATE '2024-03-01'",
    "Cube": "group by columns, and add the groups up afterwards",
    "Rollup": "group by columns, and add the groups up afterwards",
    "GroupingSets": "group by columns, and add the groups up afterwards",
}
_ARITHMETIC = frozenset(
    {"Add", "Sub", "Mul", "Div", "IntDiv", "Mod", "Neg", "Pow", "Round", "Floor", "Ceil"}
)
#: A construct is shown by at most this many characters.
_MAX_SHOWN = 60


def refuse(node: Any, instead: str = "", part: str = "") -> SqlError:
    """The error for a construct, with what can be said instead."""
    kind = kind_of(node)
    known = _INSTEAD.get(kind)
    if known is None and kind in _ARITHMETIC:
        known = "compute it from the answers, or declare a column of the table that holds it"
    text = " ".join(_sql_of(node).split())
    shown = text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 3] + "..."
    label = (
        f"{part.rstrip('_').upper()}: {shown}"
        if part and part not in ("this", "expressions")
        else shown
    )
    advice = (
        known
        or instead
        or (
            "SELECT takes grouped columns and COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, PERCENTILE_CONT; "
            "WHERE takes comparisons of columns with constants"
        )
    )
    return SqlError(f"sql: {label!r} can't be asked here; {advice}.")


def _sql_of(node: Any) -> str:
    try:
        return str(node.sql()) or kind_of(node)
    except (Exception, RecursionError):
        return kind_of(node)


def name_of(node: Any, schema: Schema, tables: frozenset[str]) -> str:
    """The column of the schema that an identifier names; letters may differ in case unless it is quoted."""
    check_parts(node, "this", "table")
    table = node.args.get("table")
    if table is not None and table.name not in tables:
        raise refuse(node, "name columns of the one table behind FROM")
    if kind_of(node.this) != "Identifier":
        raise refuse(node.this)
    name, quoted = node.this.name, bool(node.this.args.get("quoted"))
    if name in schema:
        return str(name)
    alike = [known for known in schema if known.casefold() == name.casefold()]
    if len(alike) == 1 and not quoted:
        return alike[0]
    near = difflib.get_close_matches(name, list(schema), n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise SqlError(
        f"sql: there is no column {name[:_MAX_SHOWN]!r}; the schema has: {', '.join(schema)}.{hint}"
    )


def number_of(node: Any) -> int | float:
    """A number that is written out."""
    if kind_of(node) == "Neg":
        return -number_of(node.this)
    if kind_of(node) == "Paren":
        return number_of(node.this)
    if kind_of(node) != "Literal" or node.args.get("is_string"):
        raise refuse(node, "write a number there")
    text = node.name
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise refuse(node, "write a number there") from None


def constant_of(node: Any) -> str | int | float | bool:
    """A constant: text, a number, TRUE or FALSE, or a date as text."""
    match kind_of(node):
        case "Literal" if node.args.get("is_string"):
            return str(node.name)
        case "Boolean":
            return bool(node.this)
        case "Paren":
            return constant_of(node.this)
        case "Cast" | "TryCast" if node.args["to"].sql().upper() == "DATE":
            return _text_of(node.this)
        case "Date" | "TsOrDsToDate" | "ToDate" | "StrToDate":
            check_parts(node, "this")
            return _text_of(node.this)
        case "Column":
            text = "'" + node.name.replace("'", "''")[:_MAX_SHOWN] + "'"
            raise refuse(
                node,
                "compare a column with a constant, not with another column; text stands in single quotes: "
                f"{text}",
            )
        case "Subquery" | "Select":
            raise refuse(
                node, "compare a column with a constant, not with another column or a query"
            )
        case _:
            return number_of(node)


def _text_of(node: Any) -> str:
    if kind_of(node) != "Literal" or not node.args.get("is_string"):
        raise refuse(node, "write the date out, as in DATE '2024-03-01'")
    return str(node.name)
