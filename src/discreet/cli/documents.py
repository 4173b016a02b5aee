"""Results as JSON documents, and the results that such a document holds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from discreet.answers import Answers, AnswersPlan, Description
from discreet.check_report import CheckReport
from discreet.release import Plan, Release
from discreet.show import Shown, read_document, write_document
from discreet.sql.table import SqlPlan, SqlTable

__all__ = ["read_results", "write_result"]


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
        case AnswersPlan():
            return _write_plans(result, [_write_question(one) for one in result.questions])
        case SqlPlan():
            return _write_plans(result, [json.loads(plan.to_json()) for plan in result.plans])
        case CheckReport():
            return write_document("check", 1, result.to_plain())
    to_json: Any = getattr(result, "to_json", None)
    return str(result.to_table().to_json() if to_json is None else to_json())


def read_results(text: str) -> list[Any]:
    """The releases, plans and checks that a document of ours holds."""
    kind = _kind_of(text)
    if kind == "answers":
        with read_document(text, "answers", 1) as body:
            return [Release.from_json(json.dumps(one["release"])) for one in body["answers"]]
    if kind == "check":
        with read_document(text, "check", 1) as body:
            return [CheckReport.from_plain(body)]
    if kind == "plan":
        return [Plan.from_json(text)]
    return [Release.from_json(text)]


def _kind_of(text: str) -> str:
    try:
        found = json.loads(text)
    except ValueError:
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


def _write_plans(plan: AnswersPlan | SqlPlan, parts: list[Any]) -> str:
    event, measure = plan.event.to_dict(), plan.measure.to_dict()
    return write_document("plans", 1, {"measure": measure, "event": event, "plans": parts})


def _write_question(question: Any) -> dict[str, Any]:
    from discreet.show import encode_value

    return {
        "name": question.name,
        "asked": repr(question.query),
        "share": question.share,
        "budget": question.budget.to_dict(),
        "stderr": encode_value(_plain_error(question.stderr)),
    }


def _plain_error(error: Any) -> Any:
    return tuple(vars(error).values()) if hasattr(error, "__dataclass_fields__") else error
