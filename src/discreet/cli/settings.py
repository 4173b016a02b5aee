"""Settings of models and publishers as they are typed: ``--set alpha=0.1``, and names of classes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from discreet.cli.outcome import CommandError

__all__ = ["check_known", "read_settings", "suggest", "to_kebab"]

#: What means None, which TOML has no word for.
_NONE = ("none", "null")


def to_kebab(name: str) -> str:
    """A class's name as it is typed: ``GaussianNB`` is ``gaussian-nb``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def read_settings(given: Sequence[str] | None) -> dict[str, Any]:
    """What --set gave, by name: values are written as in TOML; a bare word is text."""
    found: dict[str, Any] = {}
    for text in given or ():
        name, sign, value = text.partition("=")
        name = name.strip()
        if not sign or not name.isidentifier():
            raise CommandError("--set must be NAME=VALUE, as in --set alpha=0.1.")
        if name in found:
            raise CommandError(f"--set {name} is given twice: give it once.")
        found[name] = _read_value(value.strip())
    return found


def _read_value(text: str) -> Any:
    if text.lower() in _NONE:
        return None
    if text in ("True", "False"):
        return text == "True"
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text


def check_known(found: Mapping[str, Any], known: Iterable[str], who: str) -> None:
    """Raise for a name that isn't known, or that belongs to another option."""
    names = sorted(known)
    for name in found:
        if name in ("epsilon", "delta", "schema", "unit", "ledger", "target"):
            raise CommandError(f"--set {name}: give --{name} instead.")
        if name not in names:
            hint = suggest(name, names)
            raise CommandError(
                f"--set: {who} has no setting {name!r}.{hint} It has: {', '.join(names) or 'none'}."
            )


def suggest(name: str, known: Iterable[str]) -> str:
    """What was probably meant, as a question; empty if nothing comes near."""
    near = get_close_matches(name, list(known), 3)
    return f" Did you mean {' or '.join(near)}?" if near else ""
