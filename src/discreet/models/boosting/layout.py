"""Which cells a column has: public ones first, then fewer, joined by their noised counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.coding.chunks import Chunk
from discreet.columns import Base, Bins, Categorical, Numeric
from discreet.models.facts import Facts
from discreet.models.rows import Rows
from discreet.models.tree.structure import cut_points, free_name
from discreet.queries import Cells
from discreet.schema import Derived, Schema

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: The most public cells of all numeric columns together; each keeps at least four.
MAX_IN_ALL = 2**13
#: Joined cells hold this share of the rows, or this many standard deviations of a cell's noise.
MIN_SHARE, MIN_NOISE = 0.01, 5.0
#: Where noised counts can't place even one cut, as many public cells are joined to each of this many at most:
#: fewer, the less rows there are beside the noise.
EVEN_CELLS = 8


@dataclass(frozen=True)
class Layout:
    """The cells of the columns that have more than one.

    Attributes
    ----------
    cuts : mapping of column name to cut points; None for a categorical column
    by : mapping of column name to the name of the countable column that holds its cells
    cells : Cells
        The derived columns among them.
    sizes : mapping of column name to the number of its cells
    taken : frozenset of str
        The names of all columns.
    """

    cuts: Mapping[str, tuple[float, ...] | None]
    by: Mapping[str, str]
    cells: Cells
    sizes: Mapping[str, int]
    taken: frozenset[str]

    @classmethod
    def of(
        cls, columns: Mapping[str, Base], cuts: Mapping[str, tuple[float, ...] | None]
    ) -> Layout:
        """The layout with these cut points."""
        schema = Schema(dict(columns))
        by, derived, sizes = {}, {}, {}
        for name, points in cuts.items():
            if points is None:
                by[name], sizes[name] = name, len(schema.labels(name))
            else:
                by[name] = free_name(f"cells of {name}", schema)
                derived[by[name]], sizes[name] = Bins(name, points), len(points) + 1
        made: dict[str, Derived] = dict(derived)
        return cls(dict(cuts), by, Cells(made), sizes, frozenset((*schema, *made)))

    def with_cuts(self, columns: Mapping[str, Base], kept: Sequence[Sequence[int]]) -> Layout:
        """The layout with these of the cut points of each column."""
        cuts = {
            name: None if points is None else tuple(points[at] for at in places)
            for (name, points), places in zip(self.cuts.items(), kept, strict=True)
        }
        return Layout.of(columns, cuts)

    def labels(self, columns: Mapping[str, Base], name: str) -> list[Any]:
        """What the cells of a column are called."""
        schema = self.cells.larger(_schema(columns))
        return list(schema.labels(self.by[name]))

    def places(self, rows: Rows) -> dict[str, Integers]:
        """The cell of each row in each column; -1 for a value that isn't declared."""
        schema = Schema(dict(zip(rows.names, rows.columns, strict=True)))
        larger = schema.derive(**self.cells.columns)
        codes = rows.codes([rows.names.index(name) for name in self.cuts])
        known = {schema.code(name): codes[:, at] for at, name in enumerate(self.cuts)}
        chunk = Chunk({"": np.zeros(rows.length)}, known)
        return {name: chunk.code(larger.code(self.by[name])) for name in self.cuts}


def _schema(columns: Mapping[str, Base]) -> Schema:
    return Schema(dict(columns))


def public_layout(facts: Facts, maximum: int) -> Layout:
    """The layout before anything was asked: from the declarations of the features alone."""
    columns = dict(zip(facts.features, facts.columns, strict=True))
    numeric = sum(isinstance(column, Numeric) for column in columns.values())
    limit = max(4, min(maximum, MAX_IN_ALL // max(1, numeric)))
    cuts: dict[str, tuple[float, ...] | None] = {}
    for name, column in columns.items():
        if isinstance(column, Categorical):
            if len(column.values) > 1:
                cuts[name] = None
        elif not isinstance(column, Numeric):
            raise ValueError(
                f"column {name!r} must be dp.Real, dp.Integer or dp.Categorical, not {column!r}."
            )
        elif points := cut_points(column, limit - 1):
            cuts[name] = points
    return Layout.of(facts.declared, cuts)


def count_rows(counts: Sequence[Floats], errors: Sequence[Floats]) -> float:
    """The number of rows, from noised counts by cell of each column and their errors."""
    weights = [1 / max(float(np.square(error).sum()), 1e-12) for error in errors]
    totals = [float(count.sum()) for count in counts]
    return max(float(np.average(totals, weights=weights)), 1.0)


def join_columns(layout: Layout, counts: Sequence[Floats], noise: float) -> list[list[int]]:
    """Which cuts to keep in each column; all of them between categories."""
    rows = count_rows(counts, [np.full(len(count), noise) for count in counts])
    return [
        list(range(len(count) - 1)) if points is None else join_cells(count, noise, rows)
        for points, count in zip(layout.cuts.values(), counts, strict=True)
    ]


def join_cells(counts: Floats, noise: float, rows: float) -> list[int]:
    """Which cuts to keep between cells with these noised counts of about `rows` rows: post-processing.

    From the left, cells are joined until they hold enough rows; the rest at the right end must hold as
    many. At least one cut stays: the one that halves the rows best, or even ones where counts are all noise.
    """
    total = max(float(counts.sum()), 1.0)
    enough = max(MIN_SHARE * total, MIN_NOISE * noise)
    right = total - np.cumsum(counts)
    kept, held = [], 0.0
    for cell in range(len(counts) - 1):
        held += float(counts[cell])
        if held >= enough and right[cell] >= enough:
            kept.append(cell)
            held = 0.0
    if len(kept) <= 1 and 2 * MIN_NOISE * noise > rows:
        parts = min(max(2, round(rows / noise)), EVEN_CELLS, len(counts))
        return [round(len(counts) * part / parts) - 1 for part in range(1, parts)]
    return kept or [int(np.argmin(np.abs(right[:-1] - total / 2)))]


def cells_joined(kept: list[int], cells: int) -> Integers:
    """The joined cell of each cell."""
    starts = np.zeros(cells, np.int64)
    starts[np.array(kept, np.int64) + 1] = 1
    return np.asarray(np.cumsum(starts))


def add_cells(answer: Floats, places: Integers) -> Floats:
    """Answers by cell, added up in joined cells."""
    sums = np.zeros((int(places[-1]) + 1, *answer.shape[1:]))
    np.add.at(sums, places, answer)
    return sums
