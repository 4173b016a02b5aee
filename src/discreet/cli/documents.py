"""Results as JSON documents, and the results that such a document holds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from discreet.answers import Answers, AnswersPlan, Description
from discreet.audit.results import AuditResult
from discreet.check_report import CheckReport
from discreet.models.privacy import FitPrivacy
from discreet.release import Release
from discreet.report.reading import read_audit
from discreet.show import Shown, Table, read_document, write_document
from discreet.sql.table import SqlPlan, SqlTable

__all__ = ["KINDS", "read_results", "write_result"]

#: Documents that `fit` and `publish` print, and what goes before the name of what was paid for.
_PAID = {"fit": "", "publication": "A published table: "}
#: The documents that are read here.
KINDS = ("answers", "check", "plans", *_PAID)


def write_result(result: Shown) -> str:
    """A result as JSON: releases and plans with their certificates, exact to the last digit."""
    match result:
        case Answers():
            return _write_answers(result.measure, result.items())
        case Description():
            return _write_answers(result.measure, result.answers.items(), result.level)
        case SqlTable():
            named = ((repr(release.query), release) for release in result.releases)
            table = json.loads(result.to_table().to_json())
            return _write_answers(result.measure, named, table=table)
        case AnswersPlan() | SqlPlan():
            return _write_plan(result)
        case CheckReport():
            return write_document("check", 1, result.to_plain())
    to_json: Any = getattr(result, "to_json", None)
    return str(result.to_table().to_json() if to_json is None else to_json())


def read_results(text: str) -> list[Any] | None:
    """What a document of a command holds, for a report: checks, tables, releases and certificates by names.

    None if it is another document, such as that of a single release, which is read as it is.
    """
    audits = _read_audits(text)
    if audits is not None:
        return audits
    kind = _kind_of(text)
    if kind in _PAID:
        with read_document(text, kind, 1) as body:
            name = f"{_PAID[kind]}{body['model' if kind == 'fit' else 'published']}"
            return [{name: FitPrivacy.from_plain(body["certificate"])}]
    if kind == "answers":
        with read_document(text, kind, 1) as body:
            listed = [(str(one["name"]), json.dumps(one["release"])) for one in body["answers"]]
            return [{name: Release.from_json(release)} for name, release in listed]
    if kind == "check":
        with read_document(text, kind, 1) as body:
            return [CheckReport.from_plain(body)]
    if kind == "plans":
        with read_document(text, kind, 1) as body:
            return [Table.from_json(json.dumps(body["table"]))]
    return None


def _read_audits(text: str) -> list[dict[str, AuditResult]] | None:
    """The results of `discreet audit --json`, a line for each; None if it is something else."""
    found = []
    for line in text.splitlines():
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(data, dict) or "claim_name" not in data:
            return None
        found.append({str(data["claim_name"]): read_audit("a line of the file", data)})
    return found or None


def _kind_of(text: str) -> str:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    name = found.get("format") if isinstance(found, dict) else None
    return str(name).removeprefix("discreet ")


def _write_answers(
    measure: Any, answers: Iterable[tuple[str, Release]], *more: Any, **parts: Any
) -> str:
    listed = [{"name": name, "release": json.loads(one.to_json())} for name, one in answers]
    body: dict[str, Any] = {"measure": measure.to_dict(), **parts, "answers": listed}
    if more:
        body["level"] = more[0]
    return write_document("answers", 1, body)


def _write_plan(plan: AnswersPlan | SqlPlan) -> str:
    """A plan of several questions: what would be charged once for all of them, and their errors."""
    body = {
        "measure": plan.measure.to_dict(),
        "event": plan.event.to_dict(),
        "table": json.loads(plan.to_table().to_json()),
    }
    return write_document("plans", 1, body)
