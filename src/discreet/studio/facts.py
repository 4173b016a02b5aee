"""Facts: what anyone may know about the table, declared by a person and never read from rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from discreet.answers.several import plan_questions
from discreet.columns import (
    Bins,
    CalendarColumn,
    Date,
    Derived,
    Numeric,
    Real,
    derived_column_from_dict,
)
from discreet.measures import PureDP
from discreet.queries import Mean
from discreet.schema import Schema
from discreet.studio.desk import Desk
from discreet.studio.doors import DEFAULT_ROWS
from discreet.studio.fact_forms import KINDS, FactRow, list_rows, read_rows, tell_width
from discreet.studio.pages import Answer, Route, need_desk, try_form, with_errors
from discreet.studio.studio import Studio
from discreet.studio.visits import Download, FieldErrors, Form, Page, Redirect, Visit, tell_error
from discreet.unit import Unit

__all__ = ["ROUTES"]

#: The budget for which widths are judged.
EPSILON = "0.1"
DERIVED = {
    "bins": "bands between cuts",
    "year": "year of a date",
    "quarter": "quarter of a date",
    "month": "month of a date",
    "weekday": "day of the week",
}


@need_desk
def show(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """The facts as they stand in the schema file."""
    return _page(desk)


def _page(desk: Desk, rows: list[FactRow] | None = None) -> Page:
    problem, schema = "", None
    columns: list[tuple[str, str]] = []
    try:
        schema, _ = desk.facts()
        columns = desk.columns()
    except Exception as error:
        problem = tell_error(error)
    if rows is None:
        rows = list_rows(columns, schema, _typical(desk))
    shown: dict[str, Any] = {
        "title": "Facts",
        "here": "Facts",
        "problem": problem,
        "rows": _warn(desk, rows, schema),
        "kinds": KINDS,
        "derived": [] if schema is None else _list_derived(schema),
        "derived_kinds": DERIVED,
        "sources": [] if schema is None else _list_sources(schema),
        "has_facts": schema is not None,
        "number": desk.rows or "",
        "check": desk.draft("check").get("epsilon", EPSILON),
    }
    return Page("facts.html", shown)


def _typical(desk: Desk) -> dict[str, str]:
    found = desk.get("typical", {})
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}


def _warn(desk: Desk, rows: list[FactRow], schema: Schema | None) -> list[FactRow]:
    """The rows, with a warning where bounds are far too wide."""
    if schema is None:
        return rows
    try:
        unit = desk.unit()
    except Exception:
        unit = Unit()
    number = desk.rows or DEFAULT_ROWS
    facts = Schema(x=Real(0.0, 1.0))
    plan = plan_questions(
        {"mean": Mean("x")},
        PureDP(EPSILON),
        facts,
        Unit() if unit.is_public else unit,
        rows=number if unit.length_is_public else None,
        guessed_rows=number,
    )
    error = float(plan.questions[0].stderr)
    base = schema.base
    return [
        replace(row, warning=tell_width(base[row.name], row.typical, error, number, EPSILON))
        if row.name in base and not row.errors
        else row
        for row in rows
    ]


def _list_derived(schema: Schema) -> list[tuple[str, str]]:
    return [(name, repr(schema[name])) for name in schema if name not in schema.base]


def _list_sources(schema: Schema) -> list[str]:
    """Columns from which others can be derived."""
    return [name for name, column in schema.base.items() if isinstance(column, Numeric | Date)]


@need_desk
def say_header(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """A person says that the first line of the file holds names."""
    desk.say_names()
    return Redirect("/facts")


@need_desk
def save(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """Write the schema file."""
    schema, unit = desk.facts()
    rows, found = read_rows(visit.form, desk.columns(), schema)
    errors = {
        f"{key}-{at}": words for at, row in enumerate(rows) for key, words in row.errors.items()
    }
    number = None
    try:
        number = visit.form.number("rows", "Give a whole number of rows, or leave it empty.")
    except FieldErrors as error:
        errors |= error.errors
    if not errors and not found:
        errors[""] = (
            "Declare at least one column: choose what it is, and give its bounds or values."
        )
    new = None
    if not errors:
        try:
            new = _derive_again(Schema(found), schema)
        except (LookupError, TypeError, ValueError) as error:
            errors[""] = tell_error(error)
    if new is None:
        page = _page(desk, rows)
        return with_errors(
            page, {"": "Some fields need another look.", **errors}, visit.form.plain()
        )
    desk.write_facts(new, unit)
    typical = {row.name: row.typical for row in rows if row.typical}
    desk.save(typical=typical, rows=number)
    return Redirect("/protect" if visit.form.text("next") else "/facts")


def _derive_again(schema: Schema, former: Schema | None) -> Schema:
    """The schema with what was derived before."""
    if former is None:
        return schema
    for name in former:
        if name not in former.base:
            schema = schema.derive(**{name: cast(Derived, former[name])})
    return schema


@need_desk
def derive(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """Add a derived column."""

    def act() -> Answer:
        schema, unit = desk.schema(), desk.facts()[1]
        name, column = _read_derived(visit.form, schema)
        desk.write_facts(schema.derive(**{name: column}), unit)
        return Redirect("/facts#derived")

    return try_form(act, lambda: _page(desk), visit)


def _read_derived(form: Form, schema: Schema) -> tuple[str, Bins | CalendarColumn]:
    name, kind, source = (form.text(key) for key in ("derived_name", "derived_kind", "source"))
    if not name or name in schema:
        raise FieldErrors({"derived_name": "Give a name that no other column has."})
    if kind not in DERIVED:
        raise FieldErrors({"derived_kind": "Choose one of the list."})
    if kind != "bins" and not isinstance(schema.get(source), Date):
        raise FieldErrors({"source": "Choose a column of dates."})
    entry: dict[str, Any] = {"type": kind, "column": source}
    if kind == "bins":
        parts = form.text("cuts").replace(";", ",").split(",")
        try:
            is_date = isinstance(schema[source], Date)
            cuts: list[Any] = [part.strip() if is_date else float(part) for part in parts]
        except (LookupError, ValueError):
            raise FieldErrors({"cuts": "Give increasing numbers, as in 18, 65."}) from None
        entry["cuts"] = [int(cut) if not is_date and cut.is_integer() else cut for cut in cuts]
    try:
        column: Any = derived_column_from_dict(name, entry)
        schema.derive(**{name: column})
    except (LookupError, TypeError, ValueError) as error:
        field = "cuts" if kind == "bins" else "source"
        raise FieldErrors({field: tell_error(error)}) from None
    return name, column


@need_desk
def remove(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """Remove a derived column."""

    def act() -> Answer:
        schema, unit = desk.schema(), desk.facts()[1]
        gone = visit.form.text("derived_name")
        kept = Schema(dict(schema.base))
        for name in schema:
            if name not in schema.base and name != gone:
                kept = kept.derive(**{name: cast(Derived, schema[name])})
        desk.write_facts(kept, unit)
        return Redirect("/facts#derived")

    return try_form(act, lambda: _page(desk), visit)


@need_desk
def download(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """The schema file."""
    schema, unit = desk.schema(), desk.facts()[1]
    text = schema.to_toml(unit)
    return Download(f"{desk.name}.toml", "application/toml", text.encode())


ROUTES: list[Route] = [
    ("GET", "/facts", show),
    ("POST", "/facts", save),
    ("POST", "/facts/header", say_header),
    ("POST", "/facts/derive", derive),
    ("POST", "/facts/remove", remove),
    ("GET", "/facts/file", download),
]
