"""Ask: questions composed by clicking or in SQL, models and tables by name; each with its price first."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from discreet.cli.questionnaire import Asked, Questionnaire
from discreet.columns import Text
from discreet.report.guarantee import name_measure
from discreet.report.page import render_blocks
from discreet.studio.desk import Desk
from discreet.studio.doors import DEFAULT_ROWS, open_empty
from discreet.studio.drafts import DEFAULTS, build_order, find_draft, find_order
from discreet.studio.made_orders import list_models
from discreet.studio.markup import as_markup, show_sections
from discreet.studio.orders import QuestionsOrder
from discreet.studio.pages import Answer, Route, need_desk, try_form
from discreet.studio.pictures import draw_example, tell_error_of
from discreet.studio.question_forms import (
    QUESTIONS,
    SIGNS,
    find_field,
    is_number,
    list_groups,
    read_question,
)
from discreet.studio.results import list_sections
from discreet.studio.studio import Studio
from discreet.studio.visits import (
    FieldErrors,
    Form,
    NotFound,
    Page,
    Redirect,
    Visit,
    read_measure,
    tell_error,
)

__all__ = ["ROUTES"]

#: The most made-up rows of a rehearsal.
MAX_ROWS = 5000


@need_desk
def show(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """The questions, and what they would cost."""
    return _page(desk)


def _page(desk: Desk) -> Page:
    schema, _ = desk.facts()
    if schema is None:
        return Page("ask_early.html", {"title": "Ask", "here": "Ask"})
    questions = desk.questions()
    unit = desk.unit()
    shown: dict[str, Any] = {
        "title": "Ask",
        "here": "Ask",
        "tab": "questions",
        "draft": find_draft(desk, "questions"),
        "questions": questions.asked,
        "asked_mark": _mark(questions.asked),
        "kinds": {k: v for k, v in QUESTIONS.items() if k != "people" or unit.id_column},
        "numbers": [name for name, column in schema.items() if is_number(column)],
        "groups": list_groups(schema),
        "columns": [name for name, column in schema.items() if not isinstance(column, Text)],
        "signs": SIGNS,
        "rows_number": desk.rows or DEFAULT_ROWS,
        "has_ledger": desk.book() is not None,
    }
    return Page("ask.html", {**shown, **_plan(desk)})


def _plan(desk: Desk) -> dict[str, Any]:
    """What the questions would cost and how noisy they would be, for the part that moves with sliders."""
    shown: dict[str, Any] = {"planned": [], "price": "", "plan_problem": "", "left": ""}
    if not desk.questions().asked:
        return shown
    try:
        order = find_order(desk, "questions")
        assert isinstance(order, QuestionsOrder)
        plan = order.answers_plan
        schema, _ = order.questions.build(open_empty(desk).schema)
        book = desk.book()
        shown["left"] = "" if book is None else name_measure(book.remaining())
        shown["price"] = name_measure(order.price)
        for at, (asked, planned) in enumerate(
            zip(order.questions.asked, plan.questions, strict=True)
        ):
            chart = draw_example(asked, planned, plan, schema, order.rows)
            picture = "" if chart is None else render_blocks([chart], f"example-{at}")
            shown["planned"].append(
                {
                    "name": asked.name,
                    "share": f"{planned.share:.0%}",
                    "error": tell_error_of(planned, order.rows),
                    "picture": as_markup(picture),
                }
            )
    except FieldErrors as error:
        shown["plan_problem"] = " ".join(error.errors.values())
    except Exception as error:
        shown["plan_problem"] = tell_error(error)
    return shown


@need_desk
def add(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """Add a question."""

    def act() -> Answer:
        asked = read_question(visit.form, desk.schema())
        questions = desk.questions()
        if any(one.name == asked.name for one in questions.asked):
            raise FieldErrors({"kind": "This question is asked already."})
        whole = Questionnaire((*questions.asked, asked))
        try:
            alone = Questionnaire((asked,))
            alone.plan(open_empty(desk), read_measure(Form([("epsilon", "1")])), DEFAULT_ROWS)
        except Exception as error:
            raise FieldErrors({find_field(asked, error): tell_error(error)}) from None
        desk.save_questions(whole)
        return Redirect("/ask#plan")

    return try_form(act, lambda: _page(desk), visit)


@need_desk
def share(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """Share the budget: what sliders and fields of the release say."""
    form = visit.form

    def act() -> Answer:
        gone = form.text("remove")
        asked = desk.questions().asked
        if "asked" in form and form.text("asked") != _mark(asked):
            raise FieldErrors(
                {
                    "": "The questions were changed in the meantime, perhaps in another tab; nothing was "
                    "changed here. These are the ones as they stand."
                }
            )
        weights = [form.text(f"weight-{at}", one.weight) for at, one in enumerate(asked)]
        kept = [
            replace(one, weight=weight)
            for at, (one, weight) in enumerate(zip(asked, weights, strict=True))
            if gone != str(at)
        ]
        read_measure(form)
        words = "Give a whole number of rows, such as 1000."
        rows = form.number("rows", words)
        if rows is None:
            raise FieldErrors({"rows": words})
        desk.save_questions(Questionnaire(tuple(kept)))
        desk.save_draft("questions", {"epsilon": form.text("epsilon"), "delta": form.text("delta")})
        desk.save(rows=rows)
        if visit.is_part:
            return Page("plan.html", _plan(desk))
        return Redirect("/release/questions" if form.text("next") else "/ask#plan")

    if not visit.is_part:
        return try_form(act, lambda: _page(desk), visit)
    try:
        return act()
    except FieldErrors as error:
        words = " ".join(error.errors.values())
    except Exception as error:
        words = tell_error(error)
    return Page("plan.html", {"planned": [], "price": "", "plan_problem": words, "left": ""})


def _mark(asked: Sequence[Asked]) -> str:
    """What tells these questions from others: weights and removals are named by their places."""
    return hashlib.sha256("\0".join(one.name for one in asked).encode()).hexdigest()[:16]


TITLES = {
    "select": "Ask in SQL",
    "model": "Fit a model",
    "table": "Publish a table",
    "describe": "Describe all columns",
}


def _page_of(desk: Desk, kind: str, draft: dict[str, str] | None = None) -> Page:
    from discreet.publish.publishers import list_publishers

    if desk.facts()[0] is None:
        return Page("ask_early.html", {"title": "Ask", "here": "Ask"})
    draft = find_draft(desk, kind) if draft is None else draft
    names = {} if kind in ("select", "describe") else list_models()
    if kind == "table":
        names = {one.name: one.summary for one in list_publishers()}
    is_begun = kind == "describe" or bool(draft.get("text") or draft.get("name"))
    shown = {
        "title": TITLES[kind],
        "here": "Ask",
        "tab": kind,
        "kind": kind,
        "draft": draft,
        "names": names,
        "columns": [name for name, one in desk.schema().items() if not isinstance(one, Text)],
        "table_name": desk.name,
        "rows_number": desk.rows or DEFAULT_ROWS,
        "has_ledger": desk.book() is not None,
        **(_plan_of(desk, kind, Form(list(draft.items())), waits=False) if is_begun else _NO_PLAN),
    }
    return Page("ask_other.html", shown)


_NO_PLAN: dict[str, Any] = {
    "sections": "",
    "plan_problem": "",
    "price": "",
    "left": "",
    "is_late": False,
}


def _plan_of(desk: Desk, kind: str, form: Form, *, waits: bool = True) -> dict[str, Any]:
    """What an order would cost; a page of many columns doesn't wait, and its script asks for it."""
    try:
        order = build_order(desk, kind, form)
        if order.is_late and not waits:
            return {**_NO_PLAN, "is_late": True}
        book = desk.book()
        return {
            "sections": show_sections([order.plan()], "plan", 3),
            "plan_problem": "",
            "price": name_measure(order.price),
            "left": "" if book is None else name_measure(book.remaining()),
            "is_late": False,
        }
    except FieldErrors as error:
        words = " ".join(error.errors.values())
    except Exception as error:
        words = tell_error(error)
    return {**_NO_PLAN, "plan_problem": words}


@need_desk
def show_other(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """Another way to ask."""
    kind = visit.places["kind"]
    if kind not in TITLES:
        raise NotFound
    return _page_of(desk, kind)


@need_desk
def show_plan(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """The part of a page that wasn't waited for."""
    kind = visit.places["kind"]
    if kind not in TITLES:
        raise NotFound
    draft = Form(list(find_draft(desk, kind).items()))
    return Page("plan_other.html", _plan_of(desk, kind, draft))


@need_desk
def save_other(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """Keep what was typed, and show its price."""
    kind, form = visit.places["kind"], visit.form
    if kind not in TITLES:
        raise NotFound
    draft = {name: form.text(name) for name in DEFAULTS[kind]}
    desk.save_draft(kind, draft)

    def keep_rows() -> None:
        rows = form.number("rows", "Give a whole number of rows, or leave it empty.")
        if rows is not None:
            desk.save(rows=rows)

    if visit.is_part:
        with suppress(FieldErrors):
            keep_rows()
        return Page("plan_other.html", _plan_of(desk, kind, form))

    def act() -> Answer:
        keep_rows()
        build_order(desk, kind, form).plan()
        return Redirect(f"/release/{kind}" if form.text("next") else f"/ask/{kind}#plan")

    return try_form(act, lambda: _page_of(desk, kind, draft), visit)


@need_desk
def rehearse(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """The same release on made-up rows; nothing is read or charged."""
    order = find_order(desk, visit.places["kind"])
    rows = min(order.rows or DEFAULT_ROWS, MAX_ROWS)
    door = open_empty(desk)
    outcome = order.run(door.rehearse(None if door.unit.length_is_public else rows, seed=0))
    sections = list_sections(outcome.document)
    preview = outcome.files.get("table.csv", b"").decode("utf-8", "replace").splitlines()[:11]
    shown = {
        "title": "A rehearsal",
        "here": "Ask",
        "kind": order.kind,
        "asked": order.describe(),
        "rows_number": rows,
        "sections": show_sections(sections, "rehearsal", 2),
        "preview": preview,
    }
    return Page("rehearsal.html", shown)


ROUTES: list[Route] = [
    ("GET", "/ask", show),
    ("POST", "/ask/add", add),
    ("POST", "/ask/share", share),
    ("GET", "/ask/{kind}", show_other),
    ("POST", "/ask/{kind}", save_other),
    ("GET", "/ask/{kind}/plan", show_plan),
    ("POST", "/rehearse/{kind}", rehearse),
]
