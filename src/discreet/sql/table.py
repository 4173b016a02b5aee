"""What a SELECT gives: a small table of noised answers, and before a charge what it would cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from discreet.events import Event
from discreet.measures import Measure
from discreet.release import Plan, Release
from discreet.show import Shown, Table
from discreet.sql.statements import Row, Statement


@dataclass(frozen=True, repr=False)
class SqlTable(Shown):
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

    def to_table(self, level: float = 0.95) -> Table:
        """The result as a table; a name that occurs again is numbered. Errors are those of `releases`."""
        names: list[str] = []
        for name in self.columns:
            numbered = (f"{name} ({number})" for number in count(2))
            names.append(name if name not in names else next(n for n in numbered if n not in names))
        marks = dict.fromkeys(release.mark for release in self.releases if release.mark)
        note = f"{self.measure!r}" + "".join(f"  [{mark}]" for mark in marks)
        return Table(names, self.rows, note=note)

    def __repr__(self) -> str:
        return str(self.to_table())


@dataclass(frozen=True, repr=False)
class SqlPlan(Shown):
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

    def to_table(self, level: float = 0.95) -> Table:
        """The queries, their shares of the charge and, in the mean over groups, their standard errors."""
        rows = []
        for plan in self.plans:
            error = None if plan.stderr is None else float(np.mean(plan.stderr))
            rows.append((repr(plan.asked), repr(plan.measure), error))
        note = f"in all {self.measure!r}, one charge"
        return Table(("query", "share", "stderr"), rows, note=note)

    def __repr__(self) -> str:
        return str(self.to_table())


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
