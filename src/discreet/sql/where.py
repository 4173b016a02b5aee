"""A condition of SQL on its own, as it would stand behind WHERE."""

from __future__ import annotations

from discreet.expressions import Expression
from discreet.schema import Schema
from discreet.sql.conditions import read_condition
from discreet.sql.groups import Names
from discreet.sql.known import check_tree
from discreet.sql.quoting import hint_quotes
from discreet.sql.reading import SqlError, check_parts, parse_select

__all__ = ["read_where"]


def read_where(text: str, schema: Schema) -> tuple[Expression, Schema]:
    """The condition that a text states, and the schema with what it derives, such as parts of dates.

    Privacy
    -------
    A function of the text and the schema alone, by the same list of what is known as `read_statement`; no
    part of the text reaches an engine.
    """
    if not isinstance(text, str) or not text.strip():
        raise SqlError("where: write a condition, such as age >= 18 AND ward = 'icu'.")
    try:
        # a line of its own, so that a comment at the end hides nothing
        tree = parse_select(f"SELECT COUNT(*) FROM rows WHERE (\n{text}\n)")
        check_parts(tree, "expressions", "from", "from_", "where")
        names = Names(schema, frozenset())
        found = read_condition(tree.args["where"].this, names.find, lambda: names.schema)
        found.condition(names.schema)
        check_tree(tree)
    except SqlError as error:
        words = str(error).removeprefix("sql: ")
        if words.startswith("this can't be read as SQL"):
            words = "this can't be read; write a condition such as age >= 18 AND ward = 'icu'."
        raise SqlError(f"where: {words}{hint_quotes(text, schema)}") from None
    except (LookupError, TypeError, ValueError) as error:
        raise SqlError(f"where: {str(error).removeprefix('where: ')}") from None
    except RecursionError:
        raise SqlError("where: the condition is nested too deeply: ask in parts.") from None
    return found, names.schema
