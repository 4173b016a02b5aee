"""Questions composed by clicking, as fields of a form, and back."""

from __future__ import annotations

from typing import Any

from discreet.cli.questionnaire import KINDS, Asked
from discreet.columns import Categorical, Date, Integer, Numeric, Text, Unbounded
from discreet.schema import Schema
from discreet.studio.visits import FieldErrors, Form, tell_error

__all__ = ["QUESTIONS", "SIGNS", "find_field", "is_number", "list_groups", "read_question"]

QUESTIONS = {
    "count": "How many rows?",
    "people": "How many people?",
    "mean": "The mean of a column",
    "sum": "The sum of a column",
    "median": "The median of a column",
    "quantile": "Quantiles of a column",
    "variance": "The variance of a column",
    "histogram": "Counts of each value of a column",
}
SIGNS = {
    "=": "is",
    "<>": "is not",
    ">=": "is at least",
    "<=": "is at most",
    ">": "is above",
    "<": "is below",
}
#: The most whole numbers that are offered as groups.
MAX_GROUPS = 200


def is_number(column: Any) -> bool:
    """Whether a column holds numbers with bounds."""
    return isinstance(column, Numeric) and not isinstance(column, Date)


def list_groups(schema: Schema) -> list[str]:
    """Columns to group by: categories, few whole numbers, what was derived, parts of dates."""
    found = []
    for name, column in schema.items():
        if isinstance(column, Date):
            found += [f"{part}({name})" for part in ("year", "quarter", "month", "weekday")]
        elif isinstance(column, Integer):
            found += [name] if column.width <= MAX_GROUPS else []
        elif isinstance(column, Categorical) or name not in schema.base:
            found.append(name)
    return found


def find_field(asked: Asked, error: Exception) -> str:
    """The field that an error about a question is about."""
    return "where" if str(error).startswith("where") else "column" if asked.column else "by"


def read_question(form: Form, schema: Schema) -> Asked:
    """The question that fields describe."""
    kind = form.text("kind")
    if kind not in KINDS:
        raise FieldErrors({"kind": "Choose what to ask."})
    column = form.text("column")
    if column and not KINDS[kind]:
        raise FieldErrors(
            {
                "column": f"“{QUESTIONS[kind]}” is about no column: leave it empty, or ask for its mean."
            }
        )
    if KINDS[kind] and column not in schema:
        raise FieldErrors({"column": "Choose the column that the question is about."})
    if kind not in ("histogram",) and column and not is_number(schema[column]):
        raise FieldErrors({"column": "This needs a column of numbers with bounds."})
    if column and isinstance(schema[column], Text | Unbounded):
        raise FieldErrors({"column": "This column has no declared values or bounds."})
    ranks = tuple(part.strip() for part in form.text("ranks").split(",") if part.strip())
    if kind == "quantile" and not ranks:
        raise FieldErrors({"ranks": "Give ranks between 0 and 1, as in 0.25, 0.5, 0.75."})
    groups = list_groups(schema)
    by = tuple(name for name in dict.fromkeys(form.all("by")) if name in groups)
    where = _read_where(form, schema)
    try:
        return Asked(kind, column, ranks if kind == "quantile" else (), by, where)
    except Exception as error:
        raise FieldErrors({"ranks": tell_error(error)}) from None


def _read_where(form: Form, schema: Schema) -> str:
    """The condition, from its three fields and from what was typed in SQL."""
    column, value = form.text("where_column"), form.text("where_value")
    sign = form.text("where_sign", "=")
    parts = []
    if column:
        if column not in schema or sign not in SIGNS:
            raise FieldErrors({"where_value": "Choose a column of the list."})
        if not value:
            raise FieldErrors({"where_value": "Give the value to compare with."})
        parts.append(f"{_quote_name(column)} {sign} {_quote(value, schema[column])}")
    if form.text("where"):
        parts.append(form.text("where"))
    return " AND ".join(f"({part})" for part in parts) if len(parts) > 1 else "".join(parts)


def _quote_name(name: str) -> str:
    if name.isidentifier() and name.isascii() and name.islower():
        return name
    return '"' + name.replace('"', '""') + '"'


def _quote(value: str, column: Any) -> str:
    is_text = isinstance(column, Categorical) and isinstance(column.values[0], str)
    if is_text or not _is_literal(value):
        return "'" + value.replace("'", "''") + "'"
    return value


def _is_literal(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return value.isascii()
