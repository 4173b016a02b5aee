"""Small tables for tests: columns drawn from a seed, a cloud with a long side, rows from columns and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

Table = dict[str, Any]


def draw_table(rows: int, *, seed: int = 0, **columns: Any) -> Table:
    """Columns by name, drawn one after the other from one seed.

    A pair of numbers is drawn between evenly, a range or a list is drawn from, and any other value fills
    the column.
    """
    draw = np.random.default_rng(seed)
    return {name: _column(draw, rows, values) for name, values in columns.items()}


def _column(draw: np.random.Generator, rows: int, values: Any) -> np.ndarray[Any, Any]:
    if isinstance(values, tuple):
        return draw.uniform(*values, rows)
    if isinstance(values, range):
        return draw.integers(values.start, values.stop, rows)
    if isinstance(values, list):
        return draw.choice(np.array(values, dtype=object), rows)
    return np.full(rows, values)


def draw_cloud(rows: int = 4000, seed: int = 0) -> np.ndarray[Any, Any]:
    """Three columns in different units, with a dominant direction, within `CLOUD_BOUNDS`."""
    draw = np.random.default_rng(seed)
    t = draw.normal(0, 1, rows)
    x = np.column_stack([t, 0.5 * t + draw.normal(0, 0.3, rows), draw.normal(0, 0.2, rows)])
    cloud: np.ndarray[Any, Any] = np.clip(x, -3, 3) * [10, 1, 0.1] + [5, 0, 1]
    return cloud


CLOUD_BOUNDS = ([-25, -3, 0.7], [35, 3, 1.3])


def as_rows(table: Table) -> list[dict[str, Any]]:
    """The rows of a table, each with its cells by name."""
    return [dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)]


def as_columns(rows: Sequence[Sequence[Any]], names: Iterable[str]) -> dict[str, list[Any]]:
    """The columns of rows whose cells stand in the order of the names."""
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}
