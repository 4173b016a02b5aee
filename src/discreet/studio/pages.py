"""What pages have in common: the steps of the way, the desk they need, and forms with sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

from discreet.ledger import LedgerError
from discreet.report.guarantee import name_measure
from discreet.studio.desk import Desk
from discreet.studio.studio import Studio
from discreet.studio.visits import Download, FieldErrors, Page, Redirect, Visit, tell_error

__all__ = ["Handler", "Route", "list_steps", "need_desk", "try_form", "with_errors"]

Answer = Page | Redirect | Download | dict[str, Any]
Handler = Callable[[Studio, Visit], Answer]
#: Method, address and function of a page.
Route = tuple[str, str, Handler]


@final
@dataclass(frozen=True)
class Step:
    """A step of the way, as the menu shows it."""

    name: str
    place: str
    words: str
    is_done: bool


def list_steps(desk: Desk) -> list[Step]:
    """The steps, and which of them are done; a file that can't be read is told on its page."""
    try:
        schema, _ = desk.facts()
        has_facts = schema is not None
    except (OSError, ValueError):
        has_facts = False
    left = ""
    try:
        book = desk.book()
        left = "" if book is None else f"{name_measure(book.remaining())} left"
    except (LedgerError, OSError, ValueError):
        book = None
    has_results = desk.releases.is_dir() and any(desk.releases.glob("*.json"))
    return [
        Step("Facts", "/facts", "what anyone may know", has_facts),
        Step("Protect", "/protect", "whom, and how much", book is not None),
        Step("Ask", "/ask", "questions, models, tables", has_results),
        Step("Release", "/release", "charge and answer", has_results),
        Step("Ledger", "/ledger", left or "what was spent", book is not None),
        Step("Trust", "/trust", "proofs and attacks", False),
    ]


def need_desk(handler: Callable[[Studio, Desk, Visit], Answer]) -> Handler:
    """A page about the open table; without one, the start."""

    def answer(studio: Studio, visit: Visit) -> Answer:
        if visit.desk is None:
            return Redirect("/")
        return handler(studio, visit.desk, visit)

    return answer


def with_errors(page: Page, errors: dict[str, str], typed: dict[str, str]) -> Page:
    """A page again, with sentences beside its fields and what was typed."""
    return replace(page, shown={**page.shown, "errors": errors, "typed": typed}, status=422)


def try_form(act: Callable[[], Answer], again: Callable[[], Page], visit: Visit) -> Answer:
    """Do what a form asks; if it can't be done, the page again, with the sentences beside its fields."""
    try:
        return act()
    except FieldErrors as error:
        errors = error.errors
    except Exception as error:
        errors = {"": tell_error(error)}
    return with_errors(again(), errors, visit.form.plain())
