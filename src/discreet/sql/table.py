"""What a SELECT gives: a small table of noised answers, and before a charge what it would cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np

from discreet.events import Event
from discreet.ledger import NOT_DATA
from discreet.measures import Measure
from discreet.release import Plan, Release
from discreet.show import Shown, Table
from discreet.sql.aggregates import take_root
from discreet.sql.statements import Row, Statement


@dataclass(frozen=True)
class Source:
    """Where the cells of a column come from: which release, and what is made of its numbers."""

    release: int
    finish: Callable[[Any], Any]

    def find_ends(self, release: Release, places: Sequence[int], level: float) -> list[list[Any]]:
        """The lower and the upper ends of the intervals of some groups."""
        found, unit = self._find_interval(release, level)
        if unit != "value":
            return [[None] * len(places)] * 2
        return [[self.finish(end) for end in ends] for ends in _pick(found, places)]

    def iter_errors(
        self, release: Release, places: Sequence[int], level: float
    ) -> Iterator[tuple[str, list[Any]]]:
        """Standard errors and ends of intervals of some groups, each with the end of its column's name.

        An interval in ranks, such as that of a median, is said to be one. A standard deviation has no
        standard error, since it is a root of what was noised.
        """
        if release.stderr is not None and self.finish is not take_root:
            yield "stderr", [_number_at(release.stderr, place) for place in places]
        found, unit = self._find_interval(release, level)
        finish, prefix = (self.finish, "") if unit == "value" else (_keep, f"{unit}_")
        for name, ends in zip(("lower", "upper"), _pick(found, places), strict=True):
            yield prefix + name, [finish(end) for end in ends]

    def _find_interval(self, release: Release, level: float) -> tuple[Any, str]:
        """The interval for the population, if it was bought; else that of the noise, and its unit."""
        try:
            return release.interval(level), "value"
        except ValueError:
            noise = release.noise_interval(level)
            return noise, noise.unit


def _pick(interval: Any, places: Sequence[int]) -> list[list[Any]]:
    return [
        [_number_at(end, place) for place in places] for end in (interval.lower, interval.upper)
    ]


def _number_at(numbers: Any, place: int) -> Any:
    """The number of a group, or the one that all groups share."""
    flat = np.atleast_1d(np.asarray(numbers)).reshape(-1)
    return flat[place if len(flat) > 1 else 0].item()


def _keep(value: Any) -> Any:
    return value


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
    _sources: tuple[Source | None, ...] = ()
    _places: tuple[int, ...] = ()

    @property
    def is_private(self) -> bool:
        """Whether all answers are private."""
        return all(release.is_private for release in self.releases)

    @property
    def mark(self) -> str:
        """What must be said beside the answers, such as NOT PRIVATE; empty where nothing must."""
        return ", ".join(dict.fromkeys(each.mark for each in self.releases if each.mark))

    def to_dict(self) -> dict[str, list[Any]]:
        """The cells by column; of two columns with one name the later."""
        return {name: [row[at] for row in self.rows] for at, name in enumerate(self.columns)}

    def with_intervals(self, level: float = 0.95) -> SqlTable:
        """The same table with an interval beside each answer, in columns such as ``n_lower``.

        With ``estimate=True`` it is one for the population, where the query has one; else it is where the
        answer without noise lies. Answers whose interval is in ranks, such as medians, have none: None.
        """

        def find(source: Source, release: Release) -> Iterator[tuple[str, list[Any]]]:
            ends = source.find_ends(release, self._places, level)
            return zip(("lower", "upper"), ends, strict=True)

        return self._put_beside(find)

    def with_errors(self, level: float = 0.95) -> SqlTable:
        """The same table with standard error and interval beside each answer, as the command line shows it.

        As `with_intervals`, but with columns such as ``n_stderr``, too, and ranks in columns such as
        ``middle_rank_lower``.
        """
        return self._put_beside(lambda s, release: s.iter_errors(release, self._places, level))

    def _put_beside(
        self, find: Callable[[Source, Release], Iterator[tuple[str, list[Any]]]]
    ) -> SqlTable:
        """The same table with what is found for each answer in columns beside it."""
        columns: list[str] = []
        cells: list[list[Any]] = []
        for at, (name, source) in enumerate(zip(self.columns, self._sources, strict=True)):
            columns.append(name)
            cells.append([row[at] for row in self.rows])
            if source is not None:
                for end, found in find(source, self.releases[source.release]):
                    columns.append(f"{name}_{end}")
                    cells.append(found)
        rows = tuple(zip(*cells, strict=True))
        return replace(self, columns=tuple(columns), rows=rows, _sources=(None,) * len(columns))

    def to_table(self, level: float = 0.95) -> Table:
        """The result as a table; a name that occurs again is numbered. Errors are those of `releases`."""
        names: list[str] = []
        for name in self.columns:
            numbered = (f"{name} ({number})" for number in count(2))
            names.append(name if name not in names else next(n for n in numbered if n not in names))
        note = f"{self.measure!r}" + (f"  [{self.mark}]" if self.mark else "")
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
        if any(NOT_DATA in plan.note for plan in self.plans):
            note += f"; {NOT_DATA}"
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
    rows = rows[statement.offset : end]
    shown = tuple(tuple(row[key] for _, key in statement.columns) for row in rows)
    sources = tuple(_find_source(statement, key) for _, key in statement.columns)
    names = tuple(name for name, _ in statement.columns)
    return SqlTable(names, shown, releases, measure, sources, tuple(row["place"] for row in rows))


def _find_source(statement: Statement, key: str) -> Source | None:
    if key not in (keys := [f"a{at}" for at in range(len(statement.aggregates))]):
        return None
    place = keys.index(key)
    return Source(place, statement.aggregates[place].finish)


def _iter_rows(statement: Statement, releases: tuple[Release, ...]) -> list[Row]:
    labels = releases[0].labels if statement.by else [()]
    assert labels is not None
    rows: list[Row] = []
    for place, label in enumerate(labels):
        cells = label if isinstance(label, tuple) else (label,)
        row: Row = {"place": place, **{f"g{at}": cell for at, cell in enumerate(cells)}}
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
