"""Protect: who is protected, and how much all answers together may tell; ledgers are made or opened here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.cli.common import to_url
from discreet.ledger import Ledger
from discreet.measures import ApproxDP, PureDP
from discreet.report.blocks import Chart, Words
from discreet.report.guarantee import explain_guarantee, name_measure
from discreet.report.page import render_blocks
from discreet.studio.desk import Desk
from discreet.studio.markup import as_markup
from discreet.studio.pages import Answer, Route, need_desk, try_form
from discreet.studio.pictures import draw_two_answers
from discreet.studio.studio import Studio
from discreet.studio.visits import (
    FieldErrors,
    Form,
    Page,
    Redirect,
    Visit,
    read_measure,
    tell_error,
)
from discreet.unit import ADD_REMOVE, REPLACE_ONE, Unit

__all__ = ["ROUTES"]

DEFAULT_EPSILON = "1"
#: Above it odds are as good as certain, and there is nothing to draw.
MAX_EXPLAINED = 50
_NOTHING = "whoever sees enough answers can be as good as certain about a person."


@need_desk
def show(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """The unit and the budget."""
    return _page(desk)


def _page(desk: Desk, typed: Form | None = None) -> Page:
    shown: dict[str, Any] = {"title": "Protect", "here": "Protect", "problem": "", "book": None}
    names: list[str] = []
    unit = None
    try:
        names = [name for name, _ in desk.columns()]
        unit = desk.facts()[1]
        book = desk.book()
    except Exception as error:
        book, shown["problem"] = None, tell_error(error)
    chosen = unit or Unit()
    if book is not None:
        statement = {"limit": name_measure(book.limit), "left": name_measure(book.remaining())}
        shown["book"] = {**statement, "unit": str(book.unit)}
        if unit is not None and unit != book.unit:
            shown["problem"] = (
                f"The schema file says that {unit}, but the ledger that {book.unit}. Name another ledger."
            )
        limit: Any = book.limit
    else:
        limit = PureDP(DEFAULT_EPSILON)
    if typed is not None and book is None:
        limit = _measure_or(typed, limit)
    shown |= {
        "names": names,
        "unit": chosen,
        "protects_person": chosen.id_column is not None,
        "is_replace": chosen.relation is REPLACE_ONE,
        "ledger": desk.ledger,
        "rows_number": desk.rows or "",
        "meaning": _explain(limit, chosen if book is None else book.unit),
        "default_epsilon": DEFAULT_EPSILON,
    }
    return Page("protect.html", shown)


def _measure_or(form: Form, other: Any) -> Any:
    try:
        return read_measure(form)
    except FieldErrors:
        return other


def _explain(measure: Any, unit: Unit) -> dict[str, Any]:
    """A budget in words, as odds, and as two answers that overlap."""
    if not isinstance(measure, PureDP | ApproxDP):
        return {"words": [name_measure(measure)], "picture": ""}
    if measure.epsilon > MAX_EXPLAINED:
        return {"words": [f"{name_measure(measure)} hides nothing: {_NOTHING}"], "picture": ""}
    blocks = explain_guarantee(measure, unit)
    words = [block.text for block in blocks if isinstance(block, Words)]
    odds = [block for block in blocks if isinstance(block, Chart)]
    picture = render_blocks([draw_two_answers(measure), *odds], "meaning")
    return {"words": words, "picture": as_markup(picture), "name": name_measure(measure)}


@need_desk
def show_meaning(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """The part of the page that moves with the slider."""
    try:
        measure = read_measure(visit.query)
    except FieldErrors as error:
        return Page(
            "meaning.html", {"meaning": {"words": list(error.errors.values()), "picture": ""}}
        )
    return Page("meaning.html", {"meaning": _explain(measure, _peek_unit(visit.query))})


def _peek_unit(form: Form) -> Unit:
    return Unit(REPLACE_ONE if form.text("relation") == "replace_one" else ADD_REMOVE)


@need_desk
def save(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """Write the unit down, and open the ledger with its limit."""

    def act() -> Answer:
        schema = desk.schema()
        unit = _read_unit(visit.form, [name for name, _ in desk.columns()])
        rows = visit.form.number("rows", "Give a whole number of rows.")
        if unit.relation is REPLACE_ONE and rows is None:
            raise FieldErrors({"rows": "Give the public number of rows: it is taken as known."})
        limit = read_measure(visit.form)
        place = studio.places.check_ledger(visit.form.text("ledger") or desk.ledger)
        if _is_set(desk, place, limit, unit):  # a second click
            return Redirect("/ask")
        _open_new(studio, place, limit, unit)
        desk.write_facts(schema, unit)
        desk.save(ledger=place, account="", **({} if rows is None else {"rows": rows}))
        return Redirect("/ask")

    return try_form(act, lambda: _page(desk, visit.form), visit)


def _is_set(desk: Desk, place: str, limit: PureDP | ApproxDP, unit: Unit) -> bool:
    """Whether this very budget was set, which is what was asked for."""
    book = desk.book(account="") if place == desk.ledger else None
    return book is not None and (book.limit, book.unit, desk.facts()[1]) == (limit, unit, unit)


def _read_unit(form: Form, names: list[str]) -> Unit:
    relation = REPLACE_ONE if form.text("relation") == "replace_one" else ADD_REMOVE
    column = form.text("id_column")
    if form.text("who") != "person":
        if (
            column
        ):  # whoever names a column means people, and would be protected less than they think
            raise FieldErrors(
                {"id_column": "Choose “A person may have several rows”, or leave this empty."}
            )
        return Unit(relation)
    if not column or (names and column not in names):
        raise FieldErrors(
            {"id_column": "Choose the column that tells people apart, such as a patient's number."}
        )
    words = "Give a whole number of rows, at least 1, such as 3."
    number = form.number("max_rows", words, 10**6)
    if number is None:
        raise FieldErrors({"max_rows": words})
    return Unit(relation, column, number)


def _open_new(studio: Studio, place: str, limit: PureDP | ApproxDP, unit: Unit) -> None:
    path = place if "://" in place else str(studio.places.root / place)
    if "://" not in place and Path(path).exists():
        raise FieldErrors(
            {
                "ledger": "There is a file of this name already. Budgets are never raised in place: open it "
                "below as it is, or give another name."
            }
        )
    Ledger(to_url(path), limit=limit, unit=unit)


@need_desk
def open_existing(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """Use a ledger that is there."""

    def act() -> Answer:
        place = studio.places.check_ledger(visit.form.text("existing"), "existing")
        schema = desk.schema()
        book = desk.book(account="", ledger=place)
        if book is None:
            raise FieldErrors({"existing": "There is no ledger here."})
        desk.save(ledger=place, account="")
        desk.write_facts(schema, book.unit)
        return Redirect("/protect")

    return try_form(act, lambda: _page(desk), visit)


ROUTES: list[Route] = [
    ("GET", "/protect", show),
    ("POST", "/protect", save),
    ("GET", "/protect/meaning", show_meaning),
    ("POST", "/protect/open", open_existing),
]
