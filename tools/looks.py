"""Fingerprints of the code that claims speak of, and the record of who looked at it.

``accepted.json`` holds, for every claim, the fingerprint of each function it names as it was when
somebody last compared it with the proof page. A changed fingerprint is a question to a person.
"""

from __future__ import annotations

import ast
import datetime
import hashlib
import inspect
import json
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from discreet.guarantees import Claim, all_claims, claim

__all__ = ["Change", "accept", "changes", "fingerprint", "resolve"]

#: The record of looks, beside this module.
RECORD = Path(__file__).with_name("accepted.json")

#: What differs between versions of Python, or says nothing about what the code does.
_SILENT = {"type_params", "type_comment", "kind", "type_ignores", "ctx"}


@dataclass(frozen=True)
class Change:
    """A function that is not as it was when its claim was last looked at."""

    claim: str
    function: str
    reason: str

    def __str__(self) -> str:
        return f"{self.claim}: {self.function} {self.reason}"


def resolve(name: str) -> Any:
    """The object of a dotted name."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: Any = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = inspect.getattr_static(found, part)
        return found
    raise ModuleNotFoundError(f"nothing is called {name!r}.")


def fingerprint(name: str) -> str:
    """The hash of the syntax tree of a function, class or module, without comments, layout and docstrings."""
    found = resolve(name)
    if isinstance(found, property):
        found = found.fget
    found = inspect.unwrap(getattr(found, "__func__", getattr(found, "func", found)))
    tree = ast.parse(textwrap.dedent(inspect.getsource(found)))
    plain = repr(_plain(tree)).encode()
    return hashlib.sha256(plain).hexdigest()[:16]


def _plain(node: Any) -> Any:
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    parts = []
    for field, value in ast.iter_fields(node):
        if field == "body" and isinstance(value, list) and _has_docstring(node):
            value = value[1:]
        if field not in _SILENT and value not in (None, []):
            parts.append((field, _plain(value)))
    return type(node).__name__, parts


def _has_docstring(node: ast.AST) -> bool:
    kinds = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None


def words(entry: Claim) -> str:
    """The hash of what a claim says, of whom and with which status."""
    said = (entry.statement, entry.unit, entry.measure, entry.status, entry.proof)
    return hashlib.sha256(repr(said).encode()).hexdigest()[:16]


def _record() -> dict[str, Any]:
    return dict(json.loads(RECORD.read_text("utf-8"))) if RECORD.exists() else {}


def changes() -> Iterator[Change]:
    """Functions that changed, appeared or went since their claim was last looked at."""
    record = _record()
    for entry in all_claims():
        known = record.get(entry.name, {}).get("functions", {})
        if record.get(entry.name, {}).get("words") != words(entry):
            yield Change(entry.name, "what it says", "has not been looked at since it was written")
        for name in entry.functions:
            try:
                now = fingerprint(name)
            except (AttributeError, ModuleNotFoundError, OSError, TypeError):
                yield Change(entry.name, name, "can't be found")
                continue
            if name not in known:
                yield Change(entry.name, name, "has not been looked at")
            elif known[name] != now:
                yield Change(entry.name, name, "has changed since the claim was looked at")
        for name in known.keys() - set(entry.functions):
            yield Change(entry.name, name, "is no longer named by the claim")
    for name in record.keys() - {entry.name for entry in all_claims()}:
        yield Change(name, "the claim itself", "is gone")


def accept(name: str, why: str) -> Claim | None:
    """Record that the code of a claim was compared with its proof; a claim that is gone is removed."""
    if not why.strip():
        raise ValueError("why must say what was looked at, as in --why 'same proof, faster loop'.")
    record = _record()
    gone = name in record and name not in {entry.name for entry in all_claims()}
    entry = None if gone else claim(name)
    if entry is None:
        del record[name]
    else:
        record[name] = {
            "words": words(entry),
            "functions": {function: fingerprint(function) for function in entry.functions},
            "why": why.strip(),
            "when": datetime.datetime.now(datetime.UTC).date().isoformat(),
        }
    text = json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False)
    RECORD.write_text(text + "\n", "utf-8")
    return entry
