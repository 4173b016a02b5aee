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
from discreet.models.privacy import FitPrivacy
from discreet.release import Plan, Release
from discreet.report.blocks import Report
from discreet.schema import Schema
from discreet.show import Table
from discreet.tradeoff import Curve, Fairness

__all__ = ["read_item", "read_schema", "read_statement"]

#: By what stands in ``format``.
_READERS: Mapping[str, Callable[[str], Any]] = {
    "discreet release": Release.from_json,
    "discreet plan": Plan.from_json,
    "discreet certificate": FitPrivacy.from_json,
    "discreet statement": Statement.from_json,
    "discreet schema": Schema.from_json,
    "discreet table": Table.from_json,
    "discreet tradeoff": Curve.from_json,
    "discreet fairness": Fairness.from_json,
    "discreet membership": MembershipReport.from_json,
    "discreet report": Report.from_json,
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
        return _read_audit(path, data)
    if not isinstance(form, str) or form not in _READERS:
        raise ValueError(_strange(path))
    return _READERS[form](text)


def _read_text(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{str(path)!r} is not there: give the path of a JSON file that a to_json of discreet wrote."
        ) from None
    except UnicodeDecodeError:
        raise ValueError(_strange(path)) from None


def _strange(path: str | Path) -> str:
    known = ", ".join(name.removeprefix("discreet ") for name in _READERS)
    return (
        f"{str(path)!r} is not a JSON file that discreet wrote (a {known} or the result of an audit): give "
        "the text that to_json returned, unchanged."
    )


def _read_audit(path: str | Path, data: dict[str, Any]) -> AuditResult:
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
