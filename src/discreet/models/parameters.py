"""Constructors of estimators: each parameter is a field, and is documented once."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field, is_dataclass
from typing import TypeVar, dataclass_transform

__all__ = ["with_parameters"]

T = TypeVar("T")

#: The title of a section of a docstring.
_TITLE = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def with_parameters(estimator: type[T]) -> type[T]:
    """Make the annotated fields of a class the parameters of its constructor.

    The constructor keeps them as they are, as scikit-learn wants, and takes them by name; those declared
    with ``field(..., kw_only=False)`` also by position. Parameters that a class inherits and doesn't
    describe itself are described in its docstring in the words of its parents, which may speak of
    parameters that only their children have.
    """
    made = dataclass(kw_only=True, eq=False, repr=False)(estimator)
    if made.__doc__ is not None and not inspect.isabstract(made):  # None under python -OO
        made.__doc__ = _document(made)
    return made


def _document(kind: type) -> str:
    """Write the docstring of a class with all its parameters, in the order of its signature."""
    entries: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if is_dataclass(each):
            entries |= _entries(_sections(each)[1].get("Parameters", ""))
    names = [name for name in inspect.signature(kind).parameters if name in entries]
    described = dict.fromkeys(entries[name] for name in names)
    summary, sections = _sections(kind)
    sections = {"Parameters": "\n".join(described)} | {
        title: body for title, body in sections.items() if title != "Parameters"
    }
    written = [f"{title}\n{'-' * len(title)}\n{body.strip()}" for title, body in sections.items()]
    return "\n\n".join([summary.strip(), *written]) + "\n"


def _sections(kind: type) -> tuple[str, dict[str, str]]:
    """Split a docstring into what comes before all sections, and the sections by title."""
    summary, *rest = _TITLE.split(inspect.cleandoc(kind.__doc__ or ""))
    return summary, dict(zip(rest[::2], rest[1::2], strict=True))


def _entries(section: str) -> dict[str, str]:
    """Split a section of parameters: each name with the entry that describes it, alone or with others."""
    found = {}
    for entry in re.split(r"\n(?=\S)", section.strip()):
        for name in entry.partition("\n")[0].partition(" : ")[0].split(", "):
            found[name] = entry
    return found
