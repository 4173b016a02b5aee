"""`write_report`: whatever was released, planned, learned or audited, as one document for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from discreet.answers import AnswersPlan
from discreet.audit.membership import MembershipReport
from discreet.audit.one_run import OneRunAudit
from discreet.audit.results import AuditResult
from discreet.check_report import CheckReport
from discreet.ledger.statement import Statement
from discreet.measures import Measure
from discreet.models.metrics import Score
from discreet.release import Plan
from discreet.report.answers import describe_answer, describe_check, describe_plan, is_answer
from discreet.report.blocks import Grid, Report, Section, Words
from discreet.report.books import describe_statement
from discreet.report.costs import describe_curve, describe_fairness
from discreet.report.learned import (
    OWNER_ONLY,
    describe_audits,
    describe_fit,
    describe_membership,
    describe_score,
    find_certificate,
)
from discreet.report.reading import read_item, read_schema, read_statement
from discreet.report.summary import describe_limits, list_payments, summarise
from discreet.schema import Schema
from discreet.show import Shown, Table
from discreet.sql import SqlPlan
from discreet.tradeoff import Curve, Fairness

__all__ = ["build_report", "write_report"]

DEFAULT_TITLE = "Privacy report"


def write_report(
    path: str | PathLike[str],
    *items: Any,
    ledger: Any = None,
    schema: Any = None,
    title: str | None = None,
) -> Path:
    """Write what was released, and what it guarantees, as one HTML page or as JSON.

    The page needs no network and no script, prints, and follows the reader's light or dark theme. The same
    items give the same bytes.

    Parameters
    ----------
    path : str or path
        Ends in ``.html``, ``.htm`` or ``.json``.
    *items
        Releases, plans, checks, answers of ``release_all``, ``describe`` and ``sql``, fitted models or their
        certificates, scores, curves and fairness of `discreet.tradeoff`, results of membership attacks
        (alone, or with the claim as a pair ``(result, dp.PureDP(1))``), of one-run audits and of audits, any
        `Table`, or the paths of their JSON files. A mapping gives them titles: ``{"Visits": release}``; a
        list is taken as its items.
    ledger : Ledger, account, Statement or path, optional
        What the statement is taken from; a path is that of a statement's JSON file.
    schema : Schema or path, optional
        What was declared about the columns.
    title : str, optional

    Returns
    -------
    Path
        Where the report is.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(ward=dp.Categorical("A", "B"))
    >>> ledger = dp.Ledger(limit=dp.PureDP(1))
    >>> data = dp.PrivateDataset({"ward": ["A", "B", "A"]}, schema, ledger=ledger)
    >>> visits = data.release(dp.Histogram("ward"), dp.PureDP(0.5))
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = dp.write_report(f"{folder}/report.html", visits, ledger=ledger, schema=schema)
    ...     print(path.name, "What is not covered" in path.read_text("utf-8"))
    report.html True

    Privacy
    -------
    Post-processing: nothing here sees a row, and nothing is charged. Results of membership attacks are no
    release, and the report says so: they are for the owner of the data. The statement is a fill level; the
    guarantee is the ledger's limit. Without a ledger the report says that guarantees of single items don't
    add up to one.
    """
    place = Path(fspath(path))
    form = place.suffix.lower()
    if form not in (".html", ".htm", ".json"):
        raise ValueError(
            f"path must end in .html or .json, got {place.name!r}: the ending says which form is written."
        )
    report = build_report(*items, ledger=ledger, schema=schema, title=title)
    text = report.to_json() + "\n" if form == ".json" else report.to_html()
    place.write_text(text, encoding="utf-8", newline="\n")
    return place


def build_report(
    *items: Any, ledger: Any = None, schema: Any = None, title: str | None = None
) -> Report:
    """The report that `write_report` writes, as data.

    Examples
    --------
    >>> import discreet as dp
    >>> ledger = dp.Ledger(limit=dp.PureDP(2))
    >>> entry = ledger.charge(dp.events.DiscreteLaplace(2), note="visits by ward")
    >>> report = dp.report.build_report(ledger=ledger, title="Visits")
    >>> [section.title for section in report.sections]
    ['What this means', 'What it is about', 'The ledger', 'What is not covered']
    """
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title must be text, not {type(title).__name__}.")
    found = list(_iter_items(items))
    reports = [item for _, item in found if isinstance(item, Report)]
    if reports:
        if len(found) > 1 or ledger is not None or schema is not None:
            raise ValueError(
                "a whole report can't be an item of another one: give its items instead."
            )
        return reports[0] if title is None else Report(title, reports[0].sections)
    statement, declared = read_statement(ledger), read_schema(schema)
    for _, item in found:
        if isinstance(item, Statement):
            statement = _only(statement, item, "ledger")
        elif isinstance(item, Schema):
            declared = _only(declared, item, "schema")
    shown = [(name, item) for name, item in found if not isinstance(item, Statement | Schema)]
    payments = list_payments([item for _, item in shown])
    first = summarise(payments, statement)
    if any(_is_membership(item) for _, item in shown):
        first = replace(first, blocks=(Words(OWNER_ONLY, "notice"), *first.blocks))
    sections = [
        first,
        _describe_source(declared, statement, payments),
        *([describe_statement(statement)] if statement is not None else []),
        *_iter_sections(shown, statement),
        describe_limits(payments, statement),
    ]
    return Report(title or DEFAULT_TITLE, tuple(sections))


def _is_membership(item: Any) -> bool:
    """Whether an item shows what an attack made of the rows themselves."""
    return isinstance(item, MembershipReport) or (
        isinstance(item, tuple) and bool(item) and isinstance(item[0], MembershipReport)
    )


def _only(known: Any, item: Any, name: str) -> Any:
    if known is not None:
        raise ValueError(f"a report shows one {name}: give it once, by {name}= or as an item.")
    return item


def _iter_items(items: Any) -> Iterator[tuple[str, Any]]:
    """Items with their titles; paths are read."""
    for item in items:
        if isinstance(item, str | PathLike):
            yield from _iter_items([read_item(Path(fspath(item)))])
        elif isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str | PathLike):
            yield "", (read_item(Path(fspath(item[0]))), item[1])
        elif isinstance(item, list):
            yield from _iter_items(item)
        elif isinstance(item, Mapping) and not isinstance(item, Shown):
            for name, part in item.items():
                if not isinstance(name, str):
                    raise TypeError("titles of items must be text, as in {'Visits': release}.")
                yield from ((name, found) for _, found in _iter_items([part]))
        else:
            yield "", item


def _describe_source(
    schema: Schema | None, statement: Statement | None, payments: list[Any]
) -> Section:
    """What the answers are about: declared columns, and who is protected."""
    units = dict.fromkeys(str(payment.unit) for payment in payments if payment.unit is not None)
    if statement is not None:
        units = {str(statement.terms.unit): None, **units}
    blocks: list[Any] = [
        Words(
            f"Protected: {told}."
            if told != "nobody is protected"
            else "Rows declared public: nobody is protected."
        )
        for told in units
    ]
    if schema is None:
        blocks.append(Words("No schema was given with this report."))
    else:
        blocks.append(
            Words(
                "What is declared about the columns is public: typed in by a person, never read from rows."
            )
        )
        table = schema.to_table()
        blocks.append(Grid(Table(table.columns, table.rows, "Declared columns")))
    return Section("What it is about", tuple(blocks))


def _iter_sections(items: list[tuple[str, Any]], statement: Statement | None) -> Iterator[Section]:
    """A section for each kind of item, in a fixed order."""
    hashes = None if statement is None else frozenset(entry.hash for entry in statement.entries)
    kinds: dict[str, list[Section]] = {name: [] for name in _TITLES}
    audits: list[tuple[str, Any]] = []
    for title, item in items:
        if isinstance(item, AuditResult | OneRunAudit):
            audits.append((title, item))
            continue
        kind, section = _describe_item(item, title, hashes)
        kinds[kind].append(section)
    for kind, sections in kinds.items():
        if sections:
            yield Section(kind, _TITLES[kind], tuple(sections))
    if audits:
        yield Section("Audits", describe_audits(audits))


_TITLES: dict[str, tuple[Any, ...]] = {
    "What was released": (
        Words(
            "Every number carries noise. Intervals hold the answer without noise, 95 of 100 times each."
        ),
    ),
    "Checks": (),
    "Models": (),
    "Utility against ε": (),
    "Fairness": (),
    "Membership inference": (),
    "Plans": (Words("What would be asked, and how noisy it would be. No row was read for this."),),
    "Other tables": (),
}


def _describe_item(item: Any, title: str, hashes: frozenset[str] | None) -> tuple[str, Section]:
    """The kind of an item and its section."""
    if is_answer(item):
        return "What was released", describe_answer(item, title, hashes)
    if isinstance(item, CheckReport):
        return "Checks", describe_check(item, title, hashes)
    if isinstance(item, Plan | AnswersPlan | SqlPlan):
        return "Plans", describe_plan(item, title)
    if isinstance(item, MembershipReport):
        return "Membership inference", describe_membership(item, None, title)
    match item:
        case (MembershipReport() as found, Measure() as claim):
            return "Membership inference", describe_membership(found, claim, title)
    if isinstance(item, Curve):
        return "Utility against ε", describe_curve(item, title)
    if isinstance(item, Fairness):
        return "Fairness", describe_fairness(item, title)
    if isinstance(item, Score):
        return "Models", describe_score(item, title, hashes)
    if find_certificate(item) is not None:
        return "Models", describe_fit(item, title, hashes)
    if isinstance(item, Shown | Table):
        table = item if isinstance(item, Table) else item.to_table()
        blocks = (Grid(Table(table.columns, table.rows, "", table.note)),)
        return "Other tables", Section(title or table.caption or "A table", blocks)
    raise TypeError(
        f"a report can't show an object of type {type(item).__name__}: give releases, plans, checks, "
        "answers, fitted models or their certificates, results of audits, tables, or the paths of their JSON "
        "files."
    )
