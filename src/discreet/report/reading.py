"""Items of a report from the paths of their JSON files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from discreet.audit.membership import MembershipReport
from discreet.audit.results import AuditResult
from discreet.ledger.statement import Statement
from discreet.measures import measure_from_dict
from discreet.models.files import from_json
from discreet.models.files.parts import iter_certificates
from discreet.models.privacy import FitPrivacy
from discreet.release import Plan, Release
from discreet.report.blocks import Report
from discreet.schema import Schema
from discreet.show import Table
from discreet.tradeoff import Curve, Fairness

__all__ = ["read_audit", "read_item", "read_schema", "read_statement"]


def _read_model(text: str) -> Any:
    """A fitted model, or the certificates of a pipeline's steps."""
    model = from_json(text)
    return model if hasattr(model, "privacy_") else list(iter_certificates(model))


#: By what stands in ``format``.
_READERS: Mapping[str, Callable[[str], Any]] = {
    "discreet release": Release.from_json,
    "discreet plan": Plan.from_json,
    "discreet certificate": FitPrivacy.from_json,
    "discreet model": _read_model,
    "discreet statement": Statement.from_json,
    "discreet schema": Schema.from_json,
    "discreet table": Table.from_json,
    "discreet tradeoff": Curve.from_json,
    "discreet fairness": Fairness.from_json,
    "discreet membership": MembershipReport.from_json,
    "discreet report": Report.from_json,
}
#: What a report shows, in words.
_KNOWN = (
    "releases, answers, plans, checks, tables, models and their certificates, results of audits and of "
    "membership attacks, curves of utility, fairness, a ledger's statement, a schema"
)
#: What else discreet writes: what it is, since a report doesn't show it.
_OTHERS: Mapping[str, str] = {
    "discreet questions": "questions, which `discreet query --questions` asks",
    "discreet predictions": "predictions about the people in a table, which nobody paid for",
    "discreet models": "the list of models that can be fitted",
    "discreet publishers": "the list of ways to publish a table",
    "discreet studio": "notes of the studio",
    "discreet additive boosting": "the shape functions of a model, without the model itself",
}


def read_item(path: str | Path) -> Any:
    """What a JSON file holds: a release, a plan, a certificate, a statement, a table, an audit's result.

    Raises
    ------
    ValueError
        If it is none of these. What stands in it is not repeated.
    """
    text = _read_text(path)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise ValueError(_strange(path))
    form = data.get("format")
    if form is None and {"title", "claim", "verdict", "floor"} <= set(data):
        return read_audit(path, data)
    if isinstance(form, str) and form in _OTHERS:
        raise ValueError(f"{str(path)!r} holds {_OTHERS[form]}: a report shows {_KNOWN}.")
    if not isinstance(form, str) or form not in _READERS:
        raise ValueError(_strange(path))
    return _READERS[form](text)


def _read_text(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{str(path)!r} is not there: give the path of a JSON file that a to_json of discreet wrote."
        ) from None
    except UnicodeDecodeError:
        raise ValueError(_strange(path)) from None


def _strange(path: str | Path) -> str:
    return (
        f"{str(path)!r} is not a JSON file of discreet that a report shows ({_KNOWN}): give the text "
        "that to_json returned or --out wrote, unchanged."
    )


def read_audit(path: str | Path, data: Mapping[str, Any]) -> AuditResult:
    """The result of an audit from its plain data; an error calls it `path`."""
    try:
        claim, verdict = data["claim"], data["verdict"]
        if verdict not in ("consistent", "violated"):
            raise ValueError("verdict")
        return AuditResult(
            str(data["title"]),
            claim if isinstance(claim, str) else measure_from_dict(claim),
            float(data["claimed"]),
            float(data["floor"]),
            verdict,
            float(data["confidence"]),
            str(data["event"]),
            str(data["probe"]),
            str(data["audited"]),
            int(data["trials"]),
        )
    except (KeyError, TypeError, ValueError, ArithmeticError):
        raise ValueError(_strange(path)) from None


def read_schema(schema: Any) -> Schema | None:
    """A schema as it was given, or from a TOML or JSON file."""
    if schema is None or isinstance(schema, Schema):
        return schema
    if isinstance(schema, str | Path):
        if Path(schema).suffix == ".json":
            found = read_item(schema)
            if isinstance(found, Schema):
                return found
            raise ValueError(f"schema: {str(schema)!r} holds something else than a schema.")
        return Schema.read(schema)
    raise TypeError(
        f"schema must be a dp.Schema or the path of its file, not {type(schema).__name__}."
    )


def read_statement(ledger: Any) -> Statement | None:
    """The statement of a ledger or account, as it is now, or from the JSON file of one."""
    if ledger is None or isinstance(ledger, Statement):
        return ledger
    if isinstance(ledger, str | Path):
        found = read_item(ledger)
        if isinstance(found, Statement):
            return found
        raise ValueError(f"ledger: {str(ledger)!r} holds something else than a statement.")
    made = getattr(ledger, "statement", None)
    if callable(made):
        found = made()
        if isinstance(found, Statement):
            return found
    raise TypeError(
        "ledger must be a dp.Ledger, an account or statement of one, or the path of a statement's JSON file, "
        f"not {type(ledger).__name__}."
    )
