"""Does a table match its schema? Told from names and types of columns alone, never from a cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from discreet.columns import Base, Categorical, Date, Text
from discreet.schema import Schema
from discreet.unit import Unit


class ColumnMismatch(TypeError):
    """A column's name or type does not match the schema. It tells nothing about a cell."""


def list_needed(schema: Schema, unit: Unit) -> list[str]:
    """The names that a table must have."""
    return list(dict.fromkeys([*schema.base, *([unit.id_column] if unit.id_column else [])]))


def check_names(
    present: Sequence[Any], schema: Schema, unit: Unit, place: str = "the table"
) -> None:
    """Check that each needed column stands in a table, and once."""
    needed = list_needed(schema, unit)
    names = [name for name in present if isinstance(name, str)]
    for name in needed:
        if name not in names:
            raise _missing_column(name, names, needed, len(present), place)
        if names.count(name) > 1:
            raise ColumnMismatch(
                f"column {name!r} stands twice in {place}: rename one of them, or leave it out."
            )


def check_unique(names: Iterable[Any]) -> None:
    """Check that no two columns have the same name. It isn't shown: see `_missing_column`."""
    listed = list(names)
    if len(set(listed)) < len(listed):
        raise ColumnMismatch(
            "the table has two columns of the same name: give each a name of its own, or leave one out."
        )


def _missing_column(
    name: str, present: list[str], needed: list[str], count: int, place: str
) -> ColumnMismatch:
    """The error for a column that a table does not have.

    Other names than those that the schema holds are not shown: where a file has no header line, or a
    reader took a row for one, they are a person's cells.
    """
    found = [other for other in needed if other in present]
    shown = ", ".join(map(repr, found[:20])) + (", ..." if len(found) > 20 else "")
    alike = [other for other in present if other.strip().casefold() == name.strip().casefold()]
    hint = f" It has {alike[0]!r}: letters and spaces must be the same." if alike else ""
    many = f"{count} name{'' if count == 1 else 's'}"
    return ColumnMismatch(
        f"{place} has no column {name!r}; it has {many}, of which these are needed: {shown or 'none'}."
        f"{hint} Declare columns by the names that they have there, or rename them. Other names are not "
        "shown: if there is no line of names, they are a person's cells."
    )


def cell_kind(column: Base) -> str:
    """What cells of a declared column are read as where they have no type: text, date or number."""
    if isinstance(column, Date):
        return "date"
    if isinstance(column, Text):
        return "text"
    has_text = isinstance(column, Categorical) and isinstance(column.values[0], str)
    return "text" if has_text else "number"


def check_same_kinds(known: Schema, schema: Schema) -> None:
    """Refuse a declaration of a column that is read as something else already."""
    for name, column in schema.base.items():
        if name in known.base and cell_kind(column) != (kind := cell_kind(known.base[name])):
            raise ColumnMismatch(
                f"schema: column {name!r} is read as {kind} already: open the rows anew to declare it as "
                f"{cell_kind(column)}."
            )


def check_kind(name: str, kind: str, dtype: Any, schema: Schema) -> None:
    """Check a column's type, as one of number, boolean, text, date, zoned, object, other."""
    column = schema.base[name]
    if isinstance(column, Date):
        _check_dates(name, kind, dtype)
        return
    if isinstance(column, Text):
        allowed, wanted = {"text", "object"}, "text"
    elif not isinstance(column, Categorical):
        allowed, wanted = {"number", "boolean", "object"}, "numbers"
    elif isinstance(column.values[0], str):
        allowed, wanted = {"text", "object"}, "text"
    else:
        allowed, wanted = {"number", "boolean", "object"}, "numbers or booleans"
    if kind not in allowed:
        other = " Dates are declared as dp.Date(first, last)." if kind in {"date", "zoned"} else ""
        raise ColumnMismatch(
            f"column {name!r} is declared as {wanted}, but its type in the table is {_type_name(dtype)}: "
            f"change the declaration, or the column's type, to match.{other}"
        )


def _check_dates(name: str, kind: str, dtype: Any) -> None:
    """Check the type of a column that is declared as dates."""
    if kind == "zoned":
        raise ColumnMismatch(
            f"column {name!r} is declared as dates, but holds times with a time zone, and a day depends on "
            "the zone: convert it to the zone that you mean and drop the zone first, as in pandas' "
            "dt.tz_convert(zone).dt.tz_localize(None) or SQL's column AT TIME ZONE 'zone'."
        )
    if kind != "date":
        raise ColumnMismatch(
            f"column {name!r} is declared as dates, but its type in the table is {_type_name(dtype)}: give "
            "it a type of dates, as in pandas.to_datetime(column), Polars' str.to_date(), "
            "numpy.array(column, 'datetime64[D]') or SQL's CAST(column AS DATE)."
        )


def check_id_kind(name: str, kind: str, dtype: Any) -> None:
    """Check the type of the id column."""
    if kind not in {"number", "boolean", "text", "object"}:
        raise ColumnMismatch(
            f"id column {name!r} must hold numbers or text, not {_type_name(dtype)}."
        )


def _type_name(dtype: Any) -> str:
    """The name of a type, without categories or other details that may come from cells."""
    return type(dtype).__name__.removesuffix("DType")
