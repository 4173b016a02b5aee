"""Columns from their tables in a TOML file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.columns.base import Categorical, Integer, Real, Text, Unbounded
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
        raise ValueError(f"schema: column {name!r} can't have {unknown[0]!r}.")
    try:
        if build is Categorical:
            return Categorical(*options.pop("values", ()), **options)
        return build(**options)
    except (TypeError, ValueError) as error:
        raise ValueError(f"schema: column {name!r}: {error}") from None


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
