"""Sections of a report about what was asked: releases, plans, checks, and many answers for one charge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from discreet.answers import Answers, AnswersPlan, Description
from discreet.answers.tables import format_error
from discreet.check_report import CheckReport
from discreet.ledger import Entry
from discreet.ledger.statement import shorten
from discreet.release import Plan, Release
from discreet.report.blocks import Block, Bullets, Facts, Grid, Section, Words
from discreet.report.guarantee import name_measure
from discreet.report.pictures import chart_table
from discreet.report.titles import title_of
from discreet.show import Table, visible
from discreet.sql import SqlPlan, SqlTable

__all__ = ["describe_answer", "describe_check", "describe_entry", "describe_plan"]

#: What a mark means, in a sentence.
MARKS = {
    "NOT PRIVATE": "NOT PRIVATE: from rows that were declared public, or with noise from a fixed seed. No "
    "guarantee covers this.",
}


def describe_entry(entry: Entry | None, hashes: frozenset[str] | None) -> list[tuple[str, str]]:
    """Where a charge is written down; `hashes` are those of the ledger that the report shows."""
    if entry is None:
        return [("charged to", "no ledger")]
    told = f"entry {entry.number}, {entry.hash[:16]}"
    if hashes is not None and entry.hash not in hashes:
        told += ", of another ledger than the one of this report"
    return [("charged to", told)]


def mark_words(mark: str) -> list[Block]:
    """What must not be missed about an answer."""
    return [Words(MARKS.get(mark, f"{mark}."), "alarm")] if mark else []


def describe_answer(item: Any, title: str, hashes: frozenset[str] | None) -> Section:
    """The section of a release, of several, or of the table of a SELECT."""
    if isinstance(item, Release):
        return _describe_release(item, title, hashes)
    if isinstance(item, SqlTable):
        return _describe_select(item, title, hashes)
    answers = item.answers if isinstance(item, Description) else item
    inner = tuple(
        _describe_release(release, name, hashes, is_part=True) for name, release in answers.items()
    )
    first = next(iter(answers.values()), None)
    facts = [("paid for all of them", name_measure(item.measure)), ("questions", str(len(answers)))]
    if first is not None:
        facts += describe_entry(first.entry, hashes)
    marks = dict.fromkeys(release.mark for release in answers.values() if release.mark)
    warned = [block for mark in marks for block in mark_words(mark)]
    return Section(title or "Many answers for one charge", (*warned, Facts(tuple(facts))), inner)


def _describe_release(
    release: Release, title: str, hashes: frozenset[str] | None, *, is_part: bool = False
) -> Section:
    table = release.to_table()
    blocks: list[Block] = []
    if not is_part:
        blocks += mark_words(release.mark)
    asked = repr(release.query)
    heading = title if title and title != asked else title_of(release.query)
    facts = [("asked", asked)] if heading != asked else []
    if not is_part:
        facts += [("paid", name_measure(release.measure)), *describe_entry(release.entry, hashes)]
        facts.append(("how", shorten(release.event)))
    blocks += [Facts(tuple(facts))] if facts else []
    plain = Table(table.columns, table.rows, "", table.note)
    charts = list(_iter_charts(plain))
    blocks += charts
    blocks += [] if charts else [Grid(plain)]
    if release.checked is not None:
        blocks.append(Bullets(tuple(f"Check: {text}" for text in release.checked.warnings)))
    return Section(heading, tuple(blocks))


def _iter_charts(table: Table) -> Iterator[Block]:
    """A chart for every quantity of an answer, where one helps."""
    numbers = {"value", "stderr", "lower", "upper"}
    keys = [
        name
        for name in table.columns
        if name not in numbers and not name.endswith(("_lower", "_upper"))
    ]
    if "question" in keys:
        return
    parts: list[tuple[str, Table]] = [("", table)]
    if "quantity" in keys:
        keys.remove("quantity")
        at = table.columns.index("quantity")
        names = dict.fromkeys(row[at] for row in table.rows)
        parts = [
            (
                f", {name}",
                Table(
                    table.columns, [row for row in table.rows if row[at] == name], "", table.note
                ),
            )
            for name in names
        ]
    for suffix, part in parts:
        over = " and ".join(visible(key) for key in keys)
        told = ", with noise intervals" if len(keys) == 1 and "lower" in table.columns else ""
        if (chart := chart_table(part, keys, f"The answer by {over}{suffix}{told}")) is None:
            return
        yield chart


def _describe_select(item: SqlTable, title: str, hashes: frozenset[str] | None) -> Section:
    inner = tuple(
        _describe_release(release, repr(release.query), hashes, is_part=True)
        for release in item.releases
    )
    marks = dict.fromkeys(release.mark for release in item.releases if release.mark)
    table = item.to_table()
    facts = [("paid", name_measure(item.measure))]
    if item.releases:
        facts += describe_entry(item.releases[0].entry, hashes)
    blocks = [block for mark in marks for block in mark_words(mark)]
    blocks += [Facts(tuple(facts)), Grid(Table(table.columns, table.rows, "The answer"))]
    return Section(title or "A SELECT", tuple(blocks), inner)


def describe_plan(item: Plan | AnswersPlan | SqlPlan, title: str) -> Section:
    """The section of a plan: what something would cost; nothing was released."""
    table = item.to_table()
    facts = [
        (
            "would cost",
            "the step's own cost" if item.measure is None else name_measure(item.measure),
        )
    ]
    if isinstance(item, Plan):
        facts = [("would ask", repr(item.asked)), *facts]
    facts.append(("how", shorten(item.event)))
    chart = None
    if isinstance(item, Plan) and "stderr" in table.columns:
        keys = [name for name in table.columns if name != "stderr"]
        if "question" not in keys and "quantity" not in keys:
            chart = chart_table(table, keys, "Expected standard error", value="stderr")
    shown = Table(table.columns, table.rows, "", table.note)
    if isinstance(item, AnswersPlan):
        shown = _list_errors(item)
    return Section(
        title
        or (title_of(item.asked) if isinstance(item, Plan) else "A plan for several questions"),
        (Facts(tuple(facts)), chart or Grid(shown)),
    )


def _list_errors(plan: AnswersPlan) -> Table:
    """What to expect of each question, first what people look for."""
    rows = [
        (one.name, format_error(one.stderr), f"{one.share:.0%}", repr(one.query))
        for one in plan.questions
    ]
    return Table(("question", "expected error", "share", "asked"), rows, note=plan.note)


def describe_check(item: CheckReport, title: str, hashes: frozenset[str] | None) -> Section:
    """The section of a check: what a table is like, compared with what was declared about it."""
    table = item.to_printed()
    facts = [
        ("paid", name_measure(item.measure)),
        *describe_entry(item.entry, hashes),
        ("all counts within", f"± {item.half_width:.4g} with probability {item.level:g}"),
    ]
    words = [Words(text, "notice") for text in item.warnings] or [
        Words("Nothing stands out of the noise.")
    ]
    mark = "" if item.is_private else "NOT PRIVATE"
    shown = Table(table.columns, table.rows, "Noised counts")
    blocks = (*mark_words(mark), *words, Facts(tuple(facts)), Grid(shown))
    return Section(title or "Is the table as declared?", blocks)


def is_answer(item: Any) -> bool:
    """Whether an item is what the door released."""
    return isinstance(item, Release | Answers | Description | SqlTable)
