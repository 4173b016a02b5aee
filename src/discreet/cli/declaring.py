"""Columns as people type them: ``age=integer(0, 120)``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

from discreet.cli.outcome import CommandError
from discreet.cli.words import read_plain
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
#: Kinds whose bounds are numbers.
_NUMBERS = ("real", "integer")
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
        kind, values, options, is_bare = _read_call(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise CommandError(f"{title}{_explain(text, kinds, named=bool(title))}") from None
    if kind not in kinds:
        raise CommandError(
            f"{title}{kind!r} is none of {', '.join(kinds)}; write it as in "
            f"{_example(kinds, named=bool(title))}."
        )
    if kind in _NEEDED and not values and not options and (is_bare or kind != "real"):
        raise CommandError(f"{title}{kind} needs {_NEEDED[kind]}")
    bounds = (*values[:2], options.get("lower"), options.get("upper"))
    if kind in _NUMBERS and any(isinstance(bound, str) for bound in bounds):
        raise CommandError(f"{title}bounds must be finite numbers: {kind} needs {_NEEDED[kind]}")
    try:
        return kinds[kind](*values, **options)
    except (TypeError, ValueError) as error:
        example = _example(kinds, kind, named=bool(title))
        words = str(error) if "dp." in str(error) else f"write it as in {example}."
        raise CommandError(f"{title}{words}") from None


Call = tuple[str, list[Any], dict[str, Any], bool]


def _read_call(text: str) -> Call:
    """The kind, its values and options, and whether it stands alone, without parentheses."""
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if isinstance(call, ast.Name):
            return call.id.lower(), [], {}, True
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError
        values = [_constant(node) for node in call.args]
        options = {str(pair.arg): _constant(pair.value) for pair in call.keywords}
        if len({isinstance(one, str) for one in values}) > 1 and call.func.id == "categorical":
            raise ValueError  # a number among words is text, too
        return call.func.id.lower(), values, options, False
    except (SyntaxError, ValueError):
        return read_plain(text)


def _constant(node: ast.expr) -> Any:
    """A constant, a list of them, or a bare word, which is text: categorical(icu, er), bins(age, [18])."""
    if isinstance(node, ast.Name):
        return {"true": True, "false": False}.get(node.id.lower(), node.id)
    if isinstance(node, ast.List | ast.Tuple):
        return [_constant(item) for item in node.elts]
    return ast.literal_eval(node)


def _explain(text: str, kinds: dict[str, Any], *, named: bool) -> str:
    """What to write in place of a text that can't be read."""
    head = text.partition("(")[0].strip().lower()
    example = _example(kinds, head if head in kinds else None, named=named)
    if "categorical" in kinds and re.fullmatch(r"[^()]+(,[^()]+)+", text):  # a list of words
        example = _example(kinds, "categorical", named=named)
    if head in _NUMBERS and head in kinds:
        return f"{text.strip()!r} can't be read: {head} needs {_NEEDED[head]}"
    quotes = " with quotes around text," if "'" in example else ""
    return f"{text.strip()!r} can't be read; write it{quotes} as in {example}."


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
