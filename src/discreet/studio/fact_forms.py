"""Facts about columns as fields of a form, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

from discreet.columns import (
    Categorical,
    Date,
    Integer,
    Numeric,
    Real,
    Text,
    base_column_from_dict,
)
from discreet.schema import Schema
from discreet.studio.visits import Form

__all__ = ["KINDS", "FactRow", "list_rows", "read_rows", "tell_width"]

#: What a column can be declared as; an empty kind leaves it out.
KINDS = {
    "": "leave it out",
    "integer": "whole number",
    "real": "number",
    "categorical": "categories",
    "date": "date",
    "text": "free text",
}
#: Parts of names of types that mean numbers.
_NUMBERS = ("int", "float", "double", "real", "numeric", "decimal", "serial")
#: A mean is useless if its noise is more than this share of what is expected.
MAX_SHARE = 0.1
#: Bounds this far apart are seldom meant.
WIDE = 1e6


@final
@dataclass(frozen=True)
class FactRow:
    """What the form shows of a column: everything as text."""

    name: str
    declared: str = ""
    kind: str = ""
    lower: str = ""
    upper: str = ""
    values: str = ""
    fill: str = ""
    unknown: str = ""
    typical: str = ""
    #: A declaration of another kind, kept as the file has it.
    other: str = ""
    errors: Mapping[str, str] = field(default_factory=dict)
    warning: str = ""


def list_rows(
    columns: list[tuple[str, str]], schema: Schema | None, typical: Mapping[str, str]
) -> list[FactRow]:
    """A row for each column of the table and of the schema file."""
    types = dict(columns)
    base: Mapping[str, Any] = {} if schema is None else schema.base
    names = dict.fromkeys([*types, *base])
    return [
        _show(name, types.get(name, ""), base.get(name), typical.get(name, "")) for name in names
    ]


def _show(name: str, declared: str, column: Any, typical: str) -> FactRow:
    shown: dict[str, Any] = {"name": name, "declared": declared, "typical": typical}
    match column:
        case None:
            return FactRow(**shown)
        case Real() | Integer():
            kind = type(column).__name__.lower()
            fill = "" if column.fill is None else _text(column.fill)
            return FactRow(
                **shown, kind=kind, lower=_text(column.lower), upper=_text(column.upper), fill=fill
            )
        case Categorical():
            values = "\n".join(map(str, column.values))
            unknown = "" if column.unknown is None else str(column.unknown)
            return FactRow(**shown, kind="categorical", values=values, unknown=unknown)
        case Date():
            data = column.to_dict()
            shown |= {"lower": str(data["first"]), "upper": str(data["last"])}
            return FactRow(**shown, kind="date", fill=str(data.get("fill", "")))
        case Text():
            return FactRow(**shown, kind="text")
    return FactRow(**shown, kind="other", other=repr(column))


def _text(number: float) -> str:
    return str(int(number)) if float(number).is_integer() and abs(number) < 1e15 else repr(number)


def read_rows(
    form: Form, columns: list[tuple[str, str]], schema: Schema | None
) -> tuple[list[FactRow], dict[str, Any]]:
    """What was typed, with a sentence beside each field that can't be used, and the columns it declares."""
    types = dict(columns)
    base: Mapping[str, Any] = {} if schema is None else schema.base
    rows, found = [], {}
    for at, name in enumerate(dict.fromkeys([*types, *base])):
        row = _type(form, at, name, types.get(name, ""))
        if row.kind == "other" and name in base:
            found[name] = base[name]
            rows.append(FactRow(name, row.declared, "other", other=repr(base[name])))
            continue
        errors: dict[str, str] = {}
        column = _read(row, errors) if row.kind else None
        if row.typical and _number(row.typical) is None:
            errors["typical"] = "Give a number, or leave it empty."
        if column is not None and not errors:
            found[name] = column
        fields = {key: value for key, value in vars(row).items() if key != "errors"}
        rows.append(FactRow(**fields, errors=errors))
    return rows, found


def _type(form: Form, at: int, name: str, declared: str) -> FactRow:
    fields = ("kind", "lower", "upper", "values", "fill", "unknown", "typical")
    typed: dict[str, Any] = {part: form.text(f"{part}-{at}") for part in fields}
    return FactRow(name, declared, **typed)


def _read(row: FactRow, errors: dict[str, str]) -> Any:
    """The column that a row declares; None if something is wrong, which `errors` then says."""
    entry: dict[str, Any] = {"type": row.kind}
    match row.kind:
        case "real" | "integer":
            for name in ("lower", "upper"):
                entry[name] = _bound(row, name, errors)
            if row.fill:
                entry["fill"] = _bound(row, "fill", errors)
        case "categorical":
            entry["values"] = _categories(row, errors)
            if row.unknown:
                entry["unknown"] = _category(row.unknown, row)
        case "date":
            for name, part in (("first", row.lower), ("last", row.upper)):
                entry[name] = part
                if not part:
                    field = "lower" if name == "first" else "upper"
                    errors[field] = "Give a day, such as 2024-01-31."
            if row.fill:
                entry["fill"] = row.fill
        case "text":
            pass
        case _:
            errors["kind"] = "Choose one of the list."
    if errors:
        return None
    try:
        return base_column_from_dict(row.name, entry)
    except (TypeError, ValueError) as error:
        words = str(error).rpartition(": dp.")[2] or str(error)
        errors["lower" if row.kind != "categorical" else "values"] = words[:1].upper() + words[1:]
        return None


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _bound(row: FactRow, name: str, errors: dict[str, str]) -> float | int | None:
    text = getattr(row, name)
    found = _number(text)
    if found is None:
        what = {"lower": "least", "upper": "largest", "fill": "fill"}[name]
        errors[name] = (
            f"Give the {what} value that anyone may expect, as a number."
            if name != "fill"
            else "Give a number between the bounds, or leave it empty."
        )
        return None
    if row.kind == "integer":
        if not found.is_integer():
            errors[name] = "Give a whole number, or choose “number”."
            return None
        return int(found)
    return found


def _categories(row: FactRow, errors: dict[str, str]) -> list[Any]:
    lines = [line.strip() for line in row.values.splitlines() if line.strip()]
    if len(lines) == 1 and "," in lines[0]:
        lines = [part.strip() for part in lines[0].split(",") if part.strip()]
    if not lines:
        errors["values"] = "List the values, one on each line; at least one."
    return [_category(line, row) for line in lines]


def _category(text: str, row: FactRow) -> Any:
    """A category as the table has it: a number where its type says so."""
    declared = row.declared.lower()
    if declared.startswith("bool") and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if any(part in declared for part in _NUMBERS):
        number = _number(text)
        if number is not None:
            return int(number) if number.is_integer() else number
    return text


def tell_width(column: Any, typical: str, error: float, rows: int, epsilon: str) -> str:
    """A warning if bounds are far too wide for the noise to expect; empty if they aren't.

    Parameters
    ----------
    column : Column
    typical : str
        What a person expects of the column; may be empty.
    error : float
        The expected error of a mean over bounds that are 1 apart.
    rows : int
    epsilon : str
    """
    if not isinstance(column, Numeric) or isinstance(column, Date):
        return ""
    noise = error * column.width
    about = f"At ε = {epsilon} and {rows:,} rows its mean would be ± {noise:.3g}"
    expected = _number(typical)
    if expected is not None and expected != 0:
        if noise > MAX_SHARE * abs(expected):
            return (
                f"{about}, beside a typical value of {expected:g}: the bounds are far too wide. Values "
                "outside of narrower ones are moved to the bound, and the noise shrinks with the width."
            )
        return ""
    if noise > MAX_SHARE * column.width:
        return f"{about}, more than a tenth of the range: too few rows, or too small a budget."
    if column.width >= WIDE:
        return (
            f"{about}. Are bounds this wide meant? Values outside of narrower ones are moved to the bound, "
            "and the noise shrinks with the width."
        )
    return ""
