"""Release: a confirmation that names the charge, and all releases so far."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from discreet.report.guarantee import name_measure
from discreet.studio.desk import Desk
from discreet.studio.drafts import KINDS, find_order
from discreet.studio.jobs import UNPAID
from discreet.studio.markup import show_sections
from discreet.studio.pages import Answer, Route, need_desk, try_form
from discreet.studio.results import build_whole_report
from discreet.studio.studio import Studio
from discreet.studio.visits import (
    Download,
    FieldErrors,
    NotFound,
    Page,
    Redirect,
    Visit,
    tell_error,
)

__all__ = ["ROUTES"]


@need_desk
def show_all(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """What was released, and what could be."""
    jobs = studio.jobs.list(desk)
    shown = {
        "title": "Release",
        "here": "Release",
        "jobs": jobs,
        "is_ready": bool(desk.questions().asked) and desk.facts()[0] is not None,
    }
    return Page("releases.html", shown)


@need_desk
def show(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """The confirmation: what will be asked, and what it will cost."""
    return _page(studio, desk, visit.places["kind"], waits="wait" in visit.query)


@need_desk
def show_charge(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """The part of the confirmation that wasn't waited for."""
    if visit.query.text("desk") != desk.id:  # the page is about a table that is no longer open
        words = "Another table was opened in the meantime, perhaps in another tab. Open this page again."
        return Page("charge.html", {"problem": words})
    return replace(_page(studio, desk, visit.places["kind"]), template="charge.html")


def _page(studio: Studio, desk: Desk, kind: str, *, waits: bool = True) -> Page:
    """The confirmation; with many columns it doesn't wait for the plan, and its script asks for it."""
    if kind not in KINDS:
        raise NotFound
    shown: dict[str, Any] = {"title": "Release", "here": "Release", "kind": kind, "problem": ""}
    shown["is_late"] = False
    blank = {"asked": "", "price": "", "left": "", "token": "", "python": "", "command": ""}
    try:
        order = find_order(desk, kind)
        book = desk.book()
        if book is None:
            raise FieldErrors({"": "There is no budget yet: set it on the page Protect."})
        if order.is_late and not waits:
            return Page("release.html", {**shown, "is_late": True})
        token = desk.find_token(kind, order.seal)
        job = studio.jobs.find(desk, token)
        left: Any = book.remaining()
        shown |= {
            "asked": order.describe(),
            "what": order.title,
            "price": name_measure(order.price),
            "left": name_measure(left),
            "unit": str(book.unit),
            "account": desk.account,
            "token": token,
            "job": job,
            "is_unpaid": job is not None and job.state in UNPAID,
            "sections": show_sections([order.plan()], "plan", 3),
            "python": order.to_python(),
            "command": order.to_command(),
        }
    except FieldErrors as error:
        shown |= {**blank, "problem": " ".join(error.errors.values())}
    except NotFound:
        raise
    except Exception as error:
        shown |= {**blank, "problem": tell_error(error)}
    return Page("release.html", shown)


@need_desk
def release(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """Charge and answer, once for a token."""
    kind, token = visit.places["kind"], visit.form.text("token")
    if kind not in KINDS:
        raise NotFound

    def act() -> Answer:
        if studio.jobs.find(desk, token) is not None:  # another tab, or a second click
            return Redirect(f"/result/{token}")
        order = find_order(desk, kind)
        if token != desk.find_token(kind, order.seal):
            raise FieldErrors(
                {
                    "": "What would be released was changed in the meantime, perhaps in another tab. Nothing "
                    "was charged: look at the price again."
                }
            )
        if desk.book() is None:
            raise FieldErrors({"": "There is no budget yet: set it on the page Protect."})
        order.plan()  # what can't be asked is refused before anything is begun
        studio.jobs.begin(desk, order, token)
        return Redirect(f"/result/{token}")

    return try_form(act, lambda: _page(studio, desk, kind), visit)


@need_desk
def renew(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """Prepare the same release once more, which will be charged once more."""
    kind = visit.places["kind"]
    if kind not in KINDS:
        raise NotFound
    desk.renew(kind)
    return Redirect(f"/release/{kind}")


@need_desk
def ask_check(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """Prepare a check of the declared facts."""
    desk.save_draft("check", {"epsilon": visit.form.text("epsilon"), "delta": ""})
    return Redirect("/release/check")


@need_desk
def download_all(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """The report of everything that was released."""
    report = build_whole_report(studio, desk)
    return Download(
        f"{desk.name}-report.html", "text/html; charset=utf-8", report.to_html().encode()
    )


ROUTES: list[Route] = [
    ("GET", "/release", show_all),
    ("GET", "/release/report.html", download_all),
    ("POST", "/release/check/price", ask_check),
    ("GET", "/release/{kind}", show),
    ("GET", "/release/{kind}/charge", show_charge),
    ("POST", "/release/{kind}", release),
    ("POST", "/release/{kind}/again", renew),
]
