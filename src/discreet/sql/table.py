"""What a SELECT gives: a small table of noised answers, and before a charge what it would cost."""

from __future__ import annotations

import importlib
import importlib.util
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.events import Event
from discreet.measures import Measure
from discreet.release import Plan, Release
from discreet.sql.statements import Row, Statement

#: A printed table has at most this many rows.
MAX_SHOWN = 60
_BACKENDS = ("pandas", "polars", "pyarrow")


@dataclass(frozen=True, repr=False)
class SqlTable:
    """The result of a SELECT.

    Attributes
    ----------
    columns : tuple of str
    rows : tuple of tuples
        Groups and noised answers.
    releases : tuple of Release
        The answers behind it, each with its standard error; those of HAVING and ORDER BY too.
    measure : Measure
        What was charged for all of them.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    releases: tuple[Release, ...] = field(repr=False)
    measure: Measure

    @property
    def is_private(self) -> bool:
        """Whether all answers are private."""
        return all(release.is_private for release in self.releases)

    def to_dict(self) -> dict[str, list[Any]]:
        """The cells by column; of two columns with one name the later."""
        return {name: [row[at] for row in self.rows] for at, name in enumerate(self.columns)}

    def to_frame(self, backend: str | None = None) -> Any:
        """A frame of pandas, Polars or PyArrow; without `backend`, the first of them that is installed."""
        if backend is None:
            backend = next(filter(importlib.util.find_spec, _BACKENDS), "pandas")
        if backend not in _BACKENDS:
            raise ValueError(f"backend must be one of {', '.join(_BACKENDS)}, got {backend!r}.")
        try:
            package = importlib.import_module(backend)
        except ImportError:
            raise ImportError(f"to_frame needs {backend}: pip install {backend}.") from None
        if len(set(self.columns)) < len(self.columns):
            raise ValueError("to_frame: two columns have the same name: give one an alias with AS.")
        build = package.table if backend == "pyarrow" else package.DataFrame
        return build(self.to_dict())

    def __repr__(self) -> str:
        cells = [[_show(cell) for cell in row] for row in self.rows[:MAX_SHOWN]]
        text = _align([list(self.columns), *cells])
        more = len(self.rows) - MAX_SHOWN
        if more > 0:
            text.append(f"... and {more} more rows")
        mark = "" if self.is_private else "  [NOT PRIVATE]"
        return "\n".join([*text, f"{self.measure!r}{mark}"])


@dataclass(frozen=True, repr=False)
class SqlPlan:
    """What a SELECT would cost, and how noisy each of its answers would be; no row was read.

    Attributes
    ----------
    plans : tuple of Plan
        One for each query, with its share of the charge.
    measure : Measure
        What would be charged for all of them, once.
    event : Event
        What would run in all.
    """

    plans: tuple[Plan, ...]
    measure: Measure
    event: Event

    def __repr__(self) -> str:
        lines = [["query", "share", "standard error"]]
        for plan in self.plans:
            error = "" if plan.stderr is None else f"{float(np.mean(plan.stderr)):.4g}"
            lines.append([repr(plan.asked), repr(plan.measure), error])
        return "\n".join([*_align(lines), f"in all {self.measure!r}, one charge"])


def build_table(statement: Statement, releases: tuple[Release, ...], measure: Measure) -> SqlTable:
    """The table of noised answers: everything here is post-processing."""
    rows = [
        row
        for row in _iter_rows(statement, releases)
        if not statement.having or statement.having(row)
    ]
    for key, down in reversed(statement.order):
        rows.sort(key=lambda row, key=key: _rank(row[key]), reverse=down)  # type: ignore[misc]
    end = None if statement.limit is None else statement.offset + statement.limit
    shown = tuple(
        tuple(row[key] for _, key in statement.columns) for row in rows[statement.offset : end]
    )
    return SqlTable(tuple(name for name, _ in statement.columns), shown, releases, measure)


def _iter_rows(statement: Statement, releases: tuple[Release, ...]) -> list[Row]:
    labels = releases[0].labels if statement.by else [()]
    assert labels is not None
    rows: list[Row] = []
    for place, label in enumerate(labels):
        cells = label if isinstance(label, tuple) else (label,)
        row: Row = {f"g{at}": cell for at, cell in enumerate(cells)}
        for at, (aggregate, release) in enumerate(zip(statement.aggregates, releases, strict=True)):
            value = release.value[place] if statement.by else release.value
            row[f"a{at}"] = aggregate.finish(np.asarray(value).reshape(-1)[0].item())
        rows.append(row)
    return rows


def _rank(cell: Any) -> tuple[Any, ...]:
    """What rows are sorted by: numbers before text, and what is missing last."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return (2, 0)
    return (1, cell) if isinstance(cell, str) else (0, cell)


def _show(cell: Any) -> str:
    if isinstance(cell, float):
        return f"{cell:.6g}"
    return (
        ""
        if cell is None
        else str(cell).encode("unicode_escape").decode()
        if _is_odd(cell)
        else str(cell)
    )


def _is_odd(cell: Any) -> bool:
    return isinstance(cell, str) and not cell.isprintable()


def _align(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = [
        "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return [lines[0], "  ".join("-" * width for width in widths), *lines[1:]]
