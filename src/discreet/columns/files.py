"""Columns from their tables in a TOML file."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from discreet.columns.base import Categorical, Integer, Real, Text, Unbounded
from discreet.columns.bounds import as_list
from discreet.columns.clamped import Clamped
from discreet.columns.dates import CalendarColumn, Date, Month, Quarter, Weekday, Year
from discreet.columns.derived import Bins, Nearest, Score
from discreet.columns.scales import Logarithmic
from discreet.columns.trees import Parts, Tree

_BASE: dict[str, tuple[Any, set[str]]] = {
    "real": (Real, {"lower", "upper", "fill", "scale"}),
    "integer": (Integer, {"lower", "upper", "fill", "scale"}),
    "categorical": (Categorical, {"values", "unknown"}),
    "text": (Text, set()),
    "date": (Date, {"first", "last", "fill"}),
    "logarithmic": (Logarithmic.from_source, {"source"}),  # what a pickled model remembers
}
_DERIVED: dict[str, tuple[Any, set[str]]] = {
    "bins": (Bins, {"column", "cuts", "labels"}),
    "nearest": (Nearest, {"columns", "centres"}),
    "score": (Score, {"tables", "link", "offset"}),
    "tree": (Tree, {"splits"}),
    "parts": (Parts, {"columns", "parts"}),
    "clamped": (Clamped, {"column", "lower", "upper", "fill"}),
    "year": (Year, {"column"}),
    "quarter": (Quarter, {"column"}),
    "month": (Month, {"column"}),
    "weekday": (Weekday, {"column"}),
}


def _from_dict(name: str, entry: Any, kinds: dict[str, tuple[Any, set[str]]]) -> Any:
    if not isinstance(entry, Mapping) or entry.get("type") not in kinds:
        raise ValueError(f"schema: column {name!r} needs type = one of {', '.join(kinds)}.")
    build, allowed = kinds[entry["type"]]
    options = {key: value for key, value in entry.items() if key != "type"}
    if unknown := sorted(set(options) - allowed):
        raise ValueError(_explain_option(name, entry["type"], unknown[0], allowed))
    try:
        if build is Categorical:
            values = as_list(options.pop("values", ()), "values", 'values = ["icu", "er"]')
            return Categorical(*values, **options)
        return build(**options)
    except (TypeError, ValueError) as error:
        raise ValueError(f"schema: column {name!r}: {error}") from None


#: What people write in place of an option's name.
_MEANT = {
    "min": "lower", "minimum": "lower", "low": "lower", "max": "upper", "maximum": "upper", "high": "upper",
    "start": "first", "begin": "first", "end": "last", "stop": "last", "categories": "values",
    "levels": "values", "default": "fill", "bins": "cuts", "edges": "cuts", "names": "labels",
}  # fmt: skip


def _explain_option(name: str, kind: str, given: str, allowed: set[str]) -> str:
    near = difflib.get_close_matches(given, sorted(allowed), n=1)
    meant = _MEANT.get(given.lower(), near[0] if near else "")
    hint = f" Write {meant!r} instead." if meant in allowed else ""
    known = f"a column of type {kind!r} has {', '.join(sorted(allowed)) or 'no options'}"
    return f"schema: column {name!r} can't have {given!r}: {known}.{hint}"


Base = Real | Integer | Date | Logarithmic | Categorical | Text | Unbounded
Derived = Bins | Nearest | Score | Tree | Parts | CalendarColumn | Clamped


def base_column_from_dict(name: str, entry: Any) -> Base:
    """A base column from its TOML table."""
    column: Base = _from_dict(name, entry, _BASE)
    return column


def derived_column_from_dict(name: str, entry: Any) -> Derived:
    """A derived column from its TOML table."""
    column: Derived = _from_dict(name, entry, _DERIVED)
    return column
