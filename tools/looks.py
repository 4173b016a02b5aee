"""The record of looks: is the code that guarantees rest on as it was when compared with its proofs?

``guarantees.lock`` holds, for every dossier (`discreet.guarantees.dossiers`), a fingerprint of each of its
functions and claims, and what was compared at the last look. A changed fingerprint is a question to a person:

    python tools/looks.py check
    python tools/looks.py accept NAME --why "what changed, and why the proof still holds"

A fingerprint is of the syntax tree, without docstrings, comments and layout. What stands outside of functions
(constants, fields, bases, imports) has the fingerprint of its class or module.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import hashlib
import json
import re
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
LOCK = ROOT / "guarantees.lock"

sys.path.insert(
    0, str(SOURCE)
)  # the definitions of this checkout, wherever else the package is installed

if TYPE_CHECKING:
    from discreet.guarantees import Claim
    from discreet.guarantees.dossiers import Dossier

__all__ = ["Change", "Look", "accept", "changes", "fingerprints", "read_lock", "read_sources"]

#: A reason of fewer words says nothing about what was compared.
MIN_WORDS = 6

#: What differs between versions of Python, or says nothing about what the code does.
_SILENT = {"type_params", "type_comment", "kind", "type_ignores", "ctx"}

_HEADER = """\
# What was compared with its proofs, and how the code was then. Written by tools/looks.py, never by hand.
"""


@dataclass(frozen=True)
class Change:
    """Something that is not as it was when its dossier was last looked at."""

    dossier: str
    subject: str
    reason: str

    def __str__(self) -> str:
        return f"{self.dossier}: {self.subject} {self.reason}"


@dataclass(frozen=True)
class Look:
    """What the record holds of one dossier."""

    why: str = ""
    when: str = ""
    rests_on: tuple[str, ...] = ()
    claims: Mapping[str, str] = field(default_factory=dict)
    code: Mapping[str, str] = field(default_factory=dict)


# --- fingerprints ---


@cache
def fingerprints(module: str, text: str) -> Mapping[str, str]:
    """The fingerprint of every function, class and module of a source text, by ``module:Class.function``."""
    found: dict[str, list[ast.AST]] = defaultdict(list)
    _collect(ast.parse(text), module, ":", found)
    return {name: _hash([_plain(node) for node in nodes]) for name, nodes in found.items()}


def _collect(owner: Any, name: str, joint: str, found: dict[str, list[ast.AST]]) -> None:
    """Sort the statements of a module or class: functions by name, classes in turn, the rest as its own."""
    rest = []
    for node in owner.body[1:] if _has_docstring(owner) else owner.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found[f"{name}{joint}{node.name}"].append(node)
        elif isinstance(node, ast.ClassDef):
            _collect(node, f"{name}{joint}{node.name}", ".", found)
        elif not _says_nothing(node):
            rest.append(node)
    if isinstance(owner, ast.ClassDef):
        rest += [*owner.bases, *owner.keywords, *owner.decorator_list, ast.Pass()]
    if rest:
        found[name] += rest


def _says_nothing(node: ast.stmt) -> bool:
    """Whether a statement is for readers and type checkers alone."""
    match node:
        case ast.ImportFrom(module="__future__"):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=[]):
            return True
    return False


def _plain(node: Any) -> Any:
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    parts = []
    for name, value in ast.iter_fields(node):
        if name == "body" and isinstance(value, list) and _has_docstring(node):
            value = value[1:]
        if name not in _SILENT and value not in (None, []):
            parts.append((name, _plain(value)))
    return type(node).__name__, parts


def _has_docstring(node: ast.AST) -> bool:
    kinds = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None


def _hash(said: Any) -> str:
    return hashlib.sha256(repr(said).encode()).hexdigest()[:16]


def words(claim: Claim) -> str:
    """The fingerprint of what a claim says, of whom and with which status."""
    return _hash(
        (claim.statement, claim.unit, claim.measure, claim.status, claim.proof, claim.audit)
    )


# --- what there is, and what was looked at ---


def read_sources(source: Path = SOURCE) -> dict[str, str]:
    """The text of every module of the package, by its dotted name."""
    found = {}
    for path in sorted(source.glob("discreet/**/*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text("utf-8")
    return found


def read_lock(lock: Path = LOCK) -> dict[str, Look]:
    """The record, by dossier."""
    if not lock.exists():
        return {}
    entries = tomllib.loads(lock.read_text("utf-8"))
    return {
        name: Look(**{**entry, "rests_on": tuple(entry["rests_on"])})
        for name, entry in entries.items()
    }


def write_lock(record: Mapping[str, Look], lock: Path = LOCK) -> None:
    """Write the record, one line for each function and claim, sorted."""
    lines = [_HEADER]
    for name, look in sorted(record.items()):
        lines += [f"[{name}]", f"why = {_quoted(look.why)}", f"when = {_quoted(look.when)}"]
        lines.append(f"rests_on = [{', '.join(map(_quoted, look.rests_on))}]")
        for title, part in (("claims", look.claims), ("code", look.code)):
            lines.append(f"[{name}.{title}]")
            lines += [f"{_quoted(key)} = {_quoted(value)}" for key, value in sorted(part.items())]
        lines.append("")
    lock.write_text("\n".join(lines), "utf-8")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def current(dossier: Dossier, sources: Mapping[str, str]) -> Look:
    """What there is of a dossier now."""
    from discreet.guarantees.dossiers import matches

    code: dict[str, str] = {}
    for module, text in sources.items():
        if matches(module, dossier.code):
            code.update(fingerprints(module, text))
    said = {claim.name: words(claim) for claim in dossier.claims}
    return Look(rests_on=tuple(sorted(dossier.rests_on)), claims=said, code=code)


# --- comparing ---


def changes(record: Mapping[str, Look], sources: Mapping[str, str]) -> list[Change]:
    """All that asks for a look, or is in no dossier, in two, or cited by nobody's name."""
    from discreet.guarantees.dossiers import all_dossiers

    found = [*_misplaced(sources), *_miscited(sources), *_copied(record)]
    for dossier in all_dossiers().values():
        if dossier.name in record:
            found += _compare(dossier.name, record[dossier.name], current(dossier, sources))
        else:
            found.append(Change(dossier.name, "the dossier", "has never been looked at"))
    gone = record.keys() - all_dossiers().keys()
    return found + [Change(name, "the dossier", "is gone") for name in sorted(gone)]


def _misplaced(sources: Mapping[str, str]) -> Iterator[Change]:
    """Modules that belong nowhere or to several dossiers, and patterns that name nothing."""
    from discreet.guarantees.dossiers import EXEMPT, all_dossiers, homes, matches

    for module, text in sources.items():
        named = homes(module)
        if not named and fingerprints(module, text):
            yield Change(
                "nobody", module, "belongs to no dossier: see discreet.guarantees.dossiers"
            )
        elif len(named) > 1:
            yield Change(" and ".join(named), module, "belongs to more than one dossier")
    patterns = {name: entry.code for name, entry in all_dossiers().items()}
    patterns["exempt"] = tuple(pattern for group in EXEMPT.values() for pattern in group)
    for name, group in patterns.items():
        for pattern in group:
            optional = pattern.endswith(".broken*")
            if not optional and not any(matches(m, (pattern.removeprefix("!"),)) for m in sources):
                yield Change(name, pattern, "names no module")


def _miscited(sources: Mapping[str, str]) -> Iterator[Change]:
    """Citations of what isn't there, and claims that speak of code which they don't cite."""
    from discreet.guarantees.dossiers import all_dossiers, homes

    known = all_dossiers()
    for dossier in known.values():
        for cited in dossier.rests_on:
            if cited not in known or cited == dossier.name:
                yield Change(dossier.name, cited, "is cited, and is no other dossier")
        for claim in dossier.claims:
            for function in claim.functions:
                module = _module_of(function, sources)
                cited_by_claim = {dossier.name, *dossier.rests_on}
                if not module or not cited_by_claim & set(homes(module)):
                    yield Change(
                        dossier.name, f"{claim.name}: {function}", "lies in no cited dossier"
                    )


def _module_of(function: str, sources: Mapping[str, str]) -> str:
    parts = function.split(".")
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((name for name in names if name in sources), "")


def _copied(record: Mapping[str, Look]) -> Iterator[Change]:
    """Entries whose reason is another entry's."""
    count = Counter(_normal(look.why) for look in record.values())
    for name, look in record.items():
        if count[_normal(look.why)] > 1:
            yield Change(name, "the reason", "is a copy of another dossier's")


def _compare(name: str, then: Look, now: Look) -> Iterator[Change]:
    for known, there in ((then.claims, now.claims), (then.code, now.code)):
        for subject in sorted(known.keys() | there.keys()):
            if subject not in known:
                yield Change(name, subject, "has not been looked at")
            elif subject not in there:
                yield Change(name, subject, "is gone")
            elif known[subject] != there[subject]:
                yield Change(name, subject, "has changed since the dossier was looked at")
    if then.rests_on != now.rests_on:
        yield Change(name, "what it rests on", "has changed since the dossier was looked at")


# --- accepting ---


def accept(name: str, why: str, *, lock: Path = LOCK, source: Path = SOURCE) -> None:
    """Record that one dossier was compared with its proof pages; one that is gone is removed."""
    from discreet.guarantees.dossiers import all_dossiers

    record = read_lock(lock)
    if name not in all_dossiers() and name not in record:
        raise ValueError(f"no dossier is called {name!r}; there are {', '.join(all_dossiers())}.")
    _check_reason(why, record)
    if name not in all_dossiers():
        del record[name]
    else:
        now = current(all_dossiers()[name], read_sources(source))
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        record[name] = Look(" ".join(why.split()), today, now.rests_on, now.claims, now.code)
    write_lock(record, lock)


def _check_reason(why: str, record: Mapping[str, Look]) -> None:
    if len(why.split()) < MIN_WORDS:
        raise ValueError(
            "--why must say what was compared and why the proof still holds, as in "
            "--why 'the loop over blocks is vectorised; each row still enters one sum of coding.md'."
        )
    for name, look in record.items():
        if _normal(look.why) == _normal(why):
            raise ValueError(
                f"--why is what the record says of {name!r} already: say what was compared now."
            )


def _normal(why: str) -> str:
    return " ".join(re.findall(r"\w+", why.lower()))


# --- the command ---


def main(arguments: list[str] | None = None) -> int:
    """Check the code against the record, or accept one dossier."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    acts = parser.add_subparsers(dest="act", required=True)
    acts.add_parser("check", help="say what changed since it was last looked at")
    accepting = acts.add_parser(
        "accept", help="record that one dossier was compared with its proofs"
    )
    accepting.add_argument("name", help="the dossier: one at a time")
    accepting.add_argument("--why", required=True, help="what was compared, in words of its own")
    chosen = parser.parse_args(arguments)
    if chosen.act == "check":
        return _check()
    try:
        accept(chosen.name, chosen.why)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{chosen.name}: recorded.")
    return 0


def _check() -> int:
    from discreet.guarantees.dossiers import all_dossiers

    found = changes(read_lock(), read_sources())
    for change in found:
        print(change)
    for name in dict.fromkeys(change.dossier for change in found):
        if name in all_dossiers():
            pages = ", ".join(f"docs/proofs/{page}" for page in all_dossiers()[name].pages)
            print(f'Compare with {pages}, then: make accept NAME={name} WHY="…"')
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
