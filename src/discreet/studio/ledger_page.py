"""Ledger: how full it is, who asked what, accounts, whether it is whole, and a statement to print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.ledger import Book, LedgerCorrupt
from discreet.ledger.statement import shorten
from discreet.measures import ZCDP, ApproxDP, Measure, PureDP
from discreet.report import Report, build_report
from discreet.report.guarantee import name_measure
from discreet.studio.desk import Desk
from discreet.studio.pages import Answer, Route, need_desk, try_form
from discreet.studio.studio import Studio
from discreet.studio.visits import (
    Download,
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

#: How many entries a page shows.
PAGE = 50


@need_desk
def show(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """The ledger as it stands."""
    return _page(studio, desk, visit.query)


def _page(studio: Studio, desk: Desk, query: Form, **more: Any) -> Page:
    shown: dict[str, Any] = {"title": "Ledger", "here": "Ledger", "problem": "", "verdict": ""}
    try:
        book = desk.book(account="")
    except Exception as error:
        return Page("ledger.html", {**shown, "book": None, "problem": tell_error(error)})
    if book is None:
        return Page("ledger.html", {**shown, "book": None})
    try:
        before = query.number("before", "")
    except FieldErrors:
        before = None
    entries = book.latest(PAGE, before=before)
    answered = {job.entry: job for job in studio.jobs.list(desk) if job.entry is not None}
    head, count = book.head
    shown |= {
        "book": {
            "limit": name_measure(book.limit),
            "spent": name_measure(book.spent()),
            "left": name_measure(book.remaining()),
            "used": round(100 * _fill(book), 1),
            "unit": str(book.unit),
            "url": book.url,
            "composition": book.composition,
        },
        "head": head,
        "count": count,
        "entries": [_show_entry(entry, answered) for entry in entries],
        "older": entries[-1].number if entries and entries[-1].number > 0 else None,
        "accounts": _list_accounts(desk, book),
        "paying": desk.account,
    }
    return Page("ledger.html", {**shown, **more})


def _fill(book: Book) -> float:
    """How much of the limit is used, from 0 to 1; nothing where the measures don't compare."""
    spent, left = _size(book.spent()), _size(book.remaining())
    if spent is None or left is None or spent + left == 0:
        return 0.0
    return spent / (spent + left)


def _size(measure: Measure) -> float | None:
    if isinstance(measure, PureDP | ApproxDP):
        return float(measure.epsilon)
    return float(measure.rho) if isinstance(measure, ZCDP) else None


def _show_entry(entry: Any, answered: Mapping[int, Any]) -> dict[str, Any]:
    job = answered.get(entry.number)
    return {
        "number": entry.number,
        "time": entry.time[:19].replace("T", " "),
        "who": entry.who,
        "account": entry.account,
        "cost": "" if entry.booked is None else name_measure(entry.booked),
        "note": entry.note or {"ledger": "opened", "account": "account made"}.get(entry.kind, ""),
        "event": "" if entry.event is None else shorten(entry.event),
        "asked": "" if job is None else job.asked,
        "token": "" if job is None else job.token,
    }


def _list_accounts(desk: Desk, book: Book) -> list[dict[str, str]]:
    found = []
    for name in book.account_names():
        account = desk.book(account=name)
        assert account is not None
        found.append(
            {
                "name": name.strip("/"),
                "limit": name_measure(account.limit),
                "spent": name_measure(account.spent()),
                "left": name_measure(account.remaining()),
            }
        )
    return found


@need_desk
def verify(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """Check the whole ledger, with an anchor if one is given."""

    def act() -> Answer:
        head = visit.form.text("head")
        count = visit.form.number("count", "Give the number of entries of an earlier statement.")
        book = desk.book(account="")
        if book is None:
            raise NotFound
        try:
            book.verify(head or None, count)
        except LedgerCorrupt as error:
            return _page(studio, desk, Form(), verdict="NOT WHOLE", verdict_words=str(error))
        words = "Every entry follows the one before it, and all sums and limits agree."
        if head or count is not None:
            words += " The anchor that you gave is part of it."
        return _page(studio, desk, Form(), verdict="whole", verdict_words=words)

    return try_form(act, lambda: _as_page(_page(studio, desk, Form())), visit)


def _as_page(page: Page) -> Page:
    return page


@need_desk
def open_account(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """Make an account with a limit of its own."""

    def act() -> Answer:
        name = visit.form.text("name")
        limit = read_measure(visit.form)
        book = desk.book(read_only=False, account="")
        if book is None:
            raise NotFound
        if not name or "/" in name:
            raise FieldErrors({"name": "Give a short name without a slash."})
        book.account(name, limit)
        return Redirect("/ledger#accounts")

    return try_form(act, lambda: _as_page(_page(studio, desk, Form())), visit)


@need_desk
def choose_account(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """Say which account pays from now on."""
    book = desk.book(account="")
    name = visit.form.text("account")
    if book is None or (name and f"/{name}" not in book.account_names()):
        raise NotFound
    desk.save(account=name)
    return Redirect("/ledger#accounts")


@need_desk
def print_statement(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """The statement: a page to print, or a file."""
    book = desk.book(account="")
    name = visit.places["file"]
    if book is None or name not in ("statement.html", "statement.json", "statement.csv"):
        raise NotFound
    statement = book.statement()
    stem = f"{desk.name}-statement"
    if name.endswith("json"):
        return Download(f"{stem}.json", "application/json", statement.to_json().encode())
    if name.endswith("csv"):
        return Download(f"{stem}.csv", "text/csv; charset=utf-8", str(statement.to_csv()).encode())
    report: Report = build_report(
        ledger=statement, schema=desk.facts()[0], title=f"Privacy statement: {desk.name}"
    )
    return Download(f"{stem}.html", "text/html; charset=utf-8", report.to_html().encode())


ROUTES: list[Route] = [
    ("GET", "/ledger", show),
    ("POST", "/ledger/verify", verify),
    ("POST", "/ledger/account", open_account),
    ("POST", "/ledger/pay", choose_account),
    ("GET", "/ledger/{file}", print_statement),
]
