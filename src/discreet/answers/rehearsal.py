"""Rows made up from a schema alone, to try a script on before it is charged."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from discreet.columns import Categorical, Date, Integer, Logarithmic, Numeric, Text, Unbounded
from discreet.schema import Schema
from discreet.unit import Unit

__all__ = ["DEFAULT_ROWS", "MadeUpRows", "make_up_rows"]

DEFAULT_ROWS = 1000

#: What text columns hold in a rehearsal: nobody's words.
WORDS = ("made up 1", "made up 2", "made up 3")


@final
class MadeUpRows(dict[str, Any]):
    """Rows that are nobody's: what is computed from them is marked NOT DATA."""


def make_up_rows(schema: Schema, unit: Unit, rows: int, seed: int | None = None) -> dict[str, Any]:
    """Rows drawn evenly from what a schema allows, as a mapping of names to arrays.

    Parameters
    ----------
    schema, unit : public facts
    rows : int
        How many; with an id column each person has `max_rows` of them.
    seed : int, optional
        For the same rows again.

    Privacy
    -------
    No row of anybody is read: these are functions of public facts and of a public generator.
    """
    draw = np.random.default_rng(seed)
    table: dict[str, Any] = {}
    for name, declared in schema.base.items():
        column = declared.source if isinstance(declared, Logarithmic) else declared
        if isinstance(column, Integer | Date):
            low, high = int(column.lower), int(column.upper)
            whole = low + (draw.random(rows) * (high - low + 1)).astype(np.int64)
            table[name] = whole.astype("datetime64[D]") if isinstance(column, Date) else whole
        elif isinstance(column, Numeric):
            table[name] = draw.uniform(float(column.lower), float(column.upper), rows)
        elif isinstance(column, Unbounded):
            table[name] = draw.normal(0.0, 100.0, rows)
        elif isinstance(column, Categorical):
            at = draw.integers(0, len(column.values), rows)
            table[name] = np.array(column.values, object)[at] if rows else np.array([], object)
        elif isinstance(column, Text):
            table[name] = np.array(WORDS, object)[draw.integers(0, len(WORDS), rows)]
        else:
            raise ValueError(
                f"rehearse: nothing is known about how to make up column {name!r}, a "
                f"{type(column).__name__}."
            )
    if unit.id_column is not None:
        persons = np.arange(rows) // unit.rows_per_person
        table[unit.id_column] = np.array([f"nobody {i}" for i in persons], object)
    return table
