"""Results: progress while a release goes on, then charts, tables, files, and how to do the same elsewhere."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from markupsafe import Markup

from discreet.cli.documents import read_results
from discreet.models.privacy import FitPrivacy
from discreet.report import Chart, Report, Section, build_report
from discreet.show import Table
from discreet.studio.desk import Desk
from discreet.studio.jobs import Job
from discreet.studio.markup import show_sections
from discreet.studio.pages import Answer, Route, need_desk
from discreet.studio.png import draw_png
from discreet.studio.studio import Studio
from discreet.studio.visits import Download, NotFound, Page, Visit

__all__ = ["ROUTES", "build_whole_report", "list_sections"]

#: How many rows of a published table are shown.
MAX_PREVIEW = 10
#: The largest document in bytes for which a page waits until its answers are drawn, and how many are kept.
MAX_AT_ONCE, MAX_DRAWN = 300_000, 8
#: Answers as pages show them, with the titles of their charts; what was released doesn't change.
_drawn: dict[tuple[Path, int, int], tuple[Markup, list[str]]] = {}
_lock = threading.Lock()


def read_items(document: str) -> list[Any]:
    """What a result's document holds, for a report."""
    found = read_results(document)
    if found is not None:
        return found
    if json.loads(document).get("format") == "discreet certificate":
        return [FitPrivacy.from_json(document)]
    from discreet.release import Release

    return [Release.from_json(document)]


def list_sections(document: str) -> list[Section]:
    """What was released, as sections of a report."""
    return list(build_report(*read_items(document)).sections[2:-1])


def build_whole_report(studio: Studio, desk: Desk) -> Report:
    """The report of all results of a desk, with its ledger."""
    done = [job for job in reversed(studio.jobs.list(desk)) if job.state == "done"]
    if not done:
        raise NotFound
    items = [item for job in done for item in read_items(_read_text(desk, job))]
    return _report(desk, items)


def _report(desk: Desk, items: list[Any]) -> Report:
    title = f"Privacy report: {desk.name}"
    return build_report(*items, ledger=desk.book(), schema=desk.schema(), title=title)


def _read_text(desk: Desk, job: Job) -> str:
    return (desk.releases / f"{job.token}.json").read_text(encoding="utf-8")


def _find(studio: Studio, desk: Desk, visit: Visit) -> Job:
    job = studio.jobs.find(desk, visit.places["token"])
    if job is None:
        raise NotFound
    return job


@need_desk
def show(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """A release: how far it is, what came of it."""
    return _page(desk, _find(studio, desk, visit), waits="wait" in visit.query)


@need_desk
def show_answers(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """The part of a result that wasn't waited for."""
    job = _find(studio, desk, visit)
    if job.state != "done":
        raise NotFound
    return replace(_page(desk, job, waits=True), template="answers.html")


def _page(desk: Desk, job: Job, *, waits: bool) -> Page:
    """A release; a page of many answers opens without them, and its script asks for them."""
    shown: dict[str, Any] = {
        "title": "Result" if job.state == "done" else "Release",
        "here": "Release",
        "job": job,
        "share": job.share(),
        "is_late": False,
        "sections": "",
        "charts": [],
        "has_png": find_spec("matplotlib") is not None,
        "preview": [],
        "made": [name.partition(".")[2] for name in job.files[1:]],
    }
    if job.state == "done":
        key = _key(desk, job)
        if not waits and key not in _drawn and key[-1] > MAX_AT_ONCE:
            return Page("result.html", {**shown, "is_late": True})
        shown["sections"], shown["charts"] = _draw(key)
        shown["preview"] = _preview(desk, job)
    return Page("result.html", shown)


def _key(desk: Desk, job: Job) -> tuple[Path, int, int]:
    """A result's document, as it is now."""
    path = desk.releases / f"{job.token}.json"
    state = path.stat()
    return path, state.st_mtime_ns, state.st_size


def _draw(key: tuple[Path, int, int]) -> tuple[Markup, list[str]]:
    """The answers of a document and the titles of their charts, drawn once."""
    with _lock:
        found = _drawn.get(key)
    if found is None:
        sections = list_sections(key[0].read_text(encoding="utf-8"))
        titles = [chart.title for chart in _charts(sections)]
        found = (show_sections(sections, "result", 2), titles)
    with _lock:
        _drawn.pop(key, None)
        _drawn[key] = found
        while len(_drawn) > MAX_DRAWN:
            del _drawn[next(iter(_drawn))]
    return found


def _charts(sections: list[Section]) -> tuple[Chart, ...]:
    return Report("", tuple(sections)).charts


def _preview(desk: Desk, job: Job) -> list[str]:
    """The first lines of a published table, which may be seen."""
    path = desk.releases / f"{job.token}.table.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as lines:
        return [line.rstrip("\n") for line, _ in zip(lines, range(MAX_PREVIEW + 1), strict=False)]


@need_desk
def tell_state(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """How far a release is, for the page's script."""
    job = _find(studio, desk, visit)
    return {"state": job.state, "goes_on": job.goes_on, "share": job.share()}


@need_desk
def download(studio: Studio, desk: Desk, visit: Visit) -> Answer:
    """A file of a result."""
    job = _find(studio, desk, visit)
    if job.state != "done":
        raise NotFound
    name = visit.places["file"]
    stem = f"{desk.name}-{job.kind}"
    made = job.files[1:]
    if f"{job.token}.{name}" in made:
        body = (desk.releases / Path(f"{job.token}.{name}").name).read_bytes()
        kind = "text/csv" if name.endswith(".csv") else "application/json"
        return Download(f"{stem}-{name}", kind, body)
    text = _read_text(desk, job)
    match name:
        case "result.json":
            return Download(f"{stem}.json", "application/json", text.encode())
        case "result.csv":
            return Download(f"{stem}.csv", "text/csv; charset=utf-8", _to_csv(text).encode())
        case "report.html" | "report.json":
            report = _report(desk, read_items(text))
            if name.endswith("json"):
                return Download(
                    f"{stem}-report.json", "application/json", report.to_json().encode()
                )
            return Download(f"{stem}-report.html", "text/html", report.to_html().encode())
        case "program.py":
            return Download(f"{stem}.py", "text/x-python", job.python.encode())
    return _download_chart(text, name, stem)


def _download_chart(text: str, name: str, stem: str) -> Download:
    first, _, ending = name.partition(".")
    number = first.removeprefix("chart-")
    charts = _charts(list_sections(text))
    if not number.isdecimal() or ending not in ("svg", "png") or not 0 < int(number) <= len(charts):
        raise NotFound
    chart = charts[int(number) - 1]
    if ending == "svg":
        return Download(f"{stem}-{name}", "image/svg+xml", chart.to_svg().encode())
    return Download(f"{stem}-{name}", "image/png", draw_png(chart))


def _to_csv(text: str) -> str:
    """All tables of a result below each other."""
    return "\n".join(str(table.to_csv()) for table in _list_tables(text))


def _list_tables(text: str) -> list[Table]:
    body = json.loads(text)
    if "table" in body:  # of a SELECT
        return [Table.from_json(json.dumps(body["table"]))]
    tables = []
    for item in read_items(text):
        parts = item.items() if isinstance(item, dict) else [("", item)]
        for name, one in parts:
            table = one.to_table()
            columns = ("question", *table.columns) if name else table.columns
            rows = [((name, *row) if name else row) for row in table.rows]
            tables.append(Table(columns, rows))
    return tables


ROUTES: list[Route] = [
    ("GET", "/result/{token}", show),
    ("GET", "/result/{token}/state", tell_state),
    ("GET", "/result/{token}/answers", show_answers),
    ("GET", "/result/{token}/{file}", download),
]
