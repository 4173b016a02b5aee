"""Do the types of X match what was declared? Told from types alone, before anything is charged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.coding.plain import type_of
from discreet.columns import Numeric
from discreet.matching import ColumnMismatch, check_kind
from discreet.models.reading import kind_of
from discreet.schema import Schema

__all__ = ["refuse_text"]


def refuse_text(X: Any, features: Sequence[str], schema: Schema) -> None:
    """Check the types of a frame's columns; one of objects can't be told from text, so it isn't numbers.

    A column of arbitrary objects is fitted as its fill where its cells are text, which nobody would notice
    before the budget is spent. Arrays and lists of objects pass, as scikit-learn's own checks want.
    """
    if type(X).__name__ == "LazyFrame":
        return  # what is lazy shows its types to the door
    for name in features:
        kind = kind_of(X[name])
        if kind is None:
            continue
        check_kind(name, kind, type_of(X[name]), schema)
        if kind == "object" and isinstance(schema.base[name], Numeric):
            raise ColumnMismatch(
                f"column {name!r} is declared as numbers, but its type in the frame is object, which may "
                "hold text: convert it first, as in pandas.to_numeric(frame[name], errors='coerce')."
            )
