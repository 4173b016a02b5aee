"""Columns as people type them: ``age=integer(0, 120)``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

from discreet.cli.outcome import CommandError
from discreet.columns import (
    Bins,
    Categorical,
    Date,
    Integer,
    Month,
    Quarter,
    Real,
    Text,
    Weekday,
    Year,
)

__all__ = ["parse_column", "parse_columns", "parse_derived"]

_KINDS: dict[str, Any] = {
    "real": Real,
    "integer": Integer,
    "categorical": Categorical,
    "date": Date,
    "text": Text,
}
#: What a kind can't do without, and how it is written.
_NEEDED = {
    "real": "its bounds, which anyone may know, as in real(0, 5000). If nobody knows them, write real(): "
    "they can then be bought, and nothing else can be asked of the column.",
    "integer": "its bounds, which anyone may know, as in integer(0, 120).",
    "categorical": "its values, which anyone may know, as in categorical('icu', 'er').",
    "date": "its first and last day, which anyone may know, as in date('2024-01-01', '2024-12-31').",
}
_DERIVED: dict[str, Any] = {
    "bins": Bins,
    "year": Year,
    "quarter": Quarter,
    "month": Month,
    "weekday": Weekday,
}


def parse_columns(texts: Iterable[str]) -> dict[str, Any]:
    """The columns that --column declares, by name."""
    return _parse_all(texts, "--column", _KINDS)


def parse_derived(texts: Iterable[str]) -> dict[str, Any]:
    """The columns that --derive derives, by name."""
    return _parse_all(texts, "--derive", _DERIVED)


def parse_column(text: str) -> Any:
    """A base column, such as ``integer(0, 120)``, typed where the name of the column stands already."""
    return _parse(text, "", _KINDS)


def _parse_all(texts: Iterable[str], option: str, kinds: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in texts:
        name, sign, kind = text.partition("=")
        name = name.strip()
        if not sign or not name:
            raise CommandError(f"{option} must be NAME=KIND, as in {_example(kinds)}.")
        if name in found:
            raise CommandError(f"{option}: column {name!r} is given twice; leave one out.")
        found[name] = _parse(kind, f"{option} {name}: ", kinds)
    return found


def _parse(text: str, title: str, kinds: dict[str, Any]) -> Any:
    """A column from a call with constants, which is read and never run."""
    try:
        call = ast.parse(text.strip(), mode="eval").body
        is_bare = isinstance(call, ast.Name)
        if isinstance(call, ast.Name):
            call = ast.Call(call, [], [])
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError
        kind = call.func.id.lower()
        values = [_constant(node) for node in call.args]
        options = {str(pair.arg): _constant(pair.value) for pair in call.keywords}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        example = _example(kinds, named=bool(title))
        if "categorical" in kinds and re.fullmatch(r"[^()]+(,[^()]+)+", text):  # a list of words
            example = _example(kinds, "categorical", named=bool(title))
        raise CommandError(
            f"{title}{text.strip()!r} can't be read; write it as in {example}."
        ) from None
    if kind not in kinds:
        raise CommandError(
            f"{title}{kind!r} is none of {', '.join(kinds)}; write it as in "
            f"{_example(kinds, named=bool(title))}."
        )
    if kind in _NEEDED and not values and not options and (is_bare or kind != "real"):
        raise CommandError(f"{title}{kind} needs {_NEEDED[kind]}")
    try:
        return kinds[kind](*values, **options)
    except (TypeError, ValueError) as error:
        example = _example(kinds, kind, named=bool(title))
        words = str(error) if "dp." in str(error) else f"write it as in {example}."
        raise CommandError(f"{title}{words}") from None


def _constant(node: ast.expr) -> Any:
    """A constant, a list of them, or a bare word, which is text: categorical(icu, er), bins(age, [18])."""
    if isinstance(node, ast.Name):
        return {"true": True, "false": False}.get(node.id.lower(), node.id)
    if isinstance(node, ast.List | ast.Tuple):
        return [_constant(item) for item in node.elts]
    return ast.literal_eval(node)


_EXAMPLES = {
    "real": "cost=real(0, 5000)",
    "integer": "age=integer(0, 120)",
    "categorical": "ward=categorical('icu', 'er')",
    "date": "day=date('2024-01-01', '2024-12-31')",
    "text": "town=text()",
    "bins": "band=bins(age, [18, 65])",
    "year": "year=year(day)",
    "quarter": "quarter=quarter(day)",
    "month": "month=month(day)",
    "weekday": "weekday=weekday(day)",
}


def _example(kinds: dict[str, Any], kind: str | None = None, *, named: bool = True) -> str:
    found = _EXAMPLES[kind or ("month" if "month" in kinds else "integer")]
    return found if named else found.partition("=")[2]
