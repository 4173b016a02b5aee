"""Columns computed row by row from others: bins, nearest centres, scores."""

from __future__ import annotations

import datetime
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.coding import VALUE_BITS, Closest, Code, Cuts, Grid, Linear, Lookup
from discreet.coding.calendar import date_of, day_of
from discreet.coding.cells import is_unicode
from discreet.columns.base import Column, Numeric, column_name, numeric_column
from discreet.columns.bounds import as_list, finite
from discreet.columns.dates import Date, as_date
from discreet.columns.scales import Logarithmic

if TYPE_CHECKING:
    from discreet.schema import Schema


class Bins(Column):
    """A derived column: the bin of a numeric column between cut points.

    Parameters
    ----------
    column : str
        A `Real`, `Integer` or `Date` column, or a `Score`.
    cuts : increasing numbers, or dates
        Strictly between the column's bounds; n cuts make n + 1 bins. A value at a cut belongs to
        the bin above it.
    labels : sequence of str, optional
        Names of the bins, one more than cuts.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(age=dp.Integer(0, 100)).derive(band=dp.Bins("age", [18, 65]))
    >>> schema.labels("band")
    ('[0, 18)', '[18, 65)', '[65, 100]')
    """

    def __init__(
        self, column: str, cuts: Sequence[float], labels: Sequence[str] | None = None
    ) -> None:
        self.column = column_name(column, "dp.Bins")
        self.cuts = tuple(_cut(cut) for cut in as_list(cuts, "dp.Bins: cuts", "[18, 65]"))
        if not self.cuts or any(a >= b for a, b in pairwise(self.cuts)):
            raise ValueError("dp.Bins: cuts must be one or more increasing numbers.")
        self.labels = None
        if labels is not None:
            self.labels = as_list(labels, "dp.Bins: labels", '["young", "old"]')
        if self.labels is not None and len(self.labels) != len(self.cuts) + 1:
            raise ValueError(
                f"dp.Bins: labels must be {len(self.cuts) + 1} names for {len(self.cuts)} cuts."
            )
        if self.labels is not None and (
            not all(isinstance(label, str) and is_unicode(label) for label in self.labels)
            or len(set(self.labels)) != len(self.labels)
        ):
            raise TypeError("dp.Bins: labels must be different pieces of text.")
        #: What was made of which code and bounds: queries ask for it several times.
        self._made: tuple[Any, Cuts] | None = None

    def _edges(self, schema: Schema) -> tuple[float, float]:
        column = schema[self.column]
        if isinstance(column, Numeric):
            return float(column.lower), float(column.upper)
        if isinstance(column, Score):
            return float(min(column.link)), float(max(column.link))
        raise ValueError(f"dp.Bins: column {self.column!r} must be numeric.")

    def code(self, name: str, schema: Schema) -> Cuts:
        lower, upper = self._edges(schema)
        column = schema[self.column]
        source = column.code(self.column, schema)
        given, made = (source, lower, upper, type(column)), self._made
        if made is None or made[0] != given:
            made = self._made = given, self._make(source, column, lower, upper)
        return made[1]

    def _make(self, source: Code, column: Column, lower: float, upper: float) -> Cuts:
        if not lower < self.cuts[0] or not self.cuts[-1] < upper:
            raise ValueError(
                f"dp.Bins: cuts must lie strictly between the bounds of {self.column!r}, "
                f"{lower:g} and {upper:g}: values are clamped there, so outer bins would be empty."
            )
        if isinstance(source, Grid) and not column.is_exact(VALUE_BITS):  # type: ignore[attr-defined]
            values = self.cuts
            if isinstance(column, Logarithmic):  # cuts are on its scale, its grid is of the source
                values = tuple(float(column.to_source(np.array(cut))) for cut in self.cuts)
            cuts = tuple(source.of(value) for value in values)
        else:
            first = lower if isinstance(column, Numeric) else 0
            cuts = tuple(math.ceil(cut - first) for cut in self.cuts)
        if any(a >= b for a, b in pairwise(cuts)):
            raise ValueError("dp.Bins: two cuts fall into one cell of the column's grid.")
        return Cuts(source, cuts)

    def cells(self, name: str, schema: Schema) -> tuple[str, ...]:
        if self.labels is not None:
            return self.labels
        lower, upper = self._edges(schema)
        dated = isinstance(schema[self.column], Date)
        edges = [
            date_of(math.ceil(edge)).isoformat() if dated else f"{edge:.12g}"
            for edge in (lower, *self.cuts, upper)
        ]
        spans = [f"[{a}, {b})" for a, b in pairwise(edges)]
        return (*spans[:-1], spans[-1][:-1] + "]")

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {"type": "bins", "column": self.column, "cuts": list(self.cuts)}
        return data if self.labels is None else {**data, "labels": list(self.labels)}

    def __repr__(self) -> str:
        return f"Bins({self.column!r}, {list(self.cuts)})"


class Nearest(Column):
    """A derived column: which of some public centres a row is nearest to.

    Distances are taken between the columns scaled by their bounds, in integers; ties go to the
    centre listed first.

    Parameters
    ----------
    columns : sequence of str
        Numeric columns.
    centres : sequence of sequences of float
        One row per centre, in the units of the columns.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(x=dp.Real(0, 10), y=dp.Real(0, 10))
    >>> schema.derive(site=dp.Nearest(["x", "y"], [[2, 2], [8, 8]])).labels("site")
    (0, 1)
    """

    def __init__(self, columns: Sequence[str], centres: Sequence[Sequence[float]]) -> None:
        names = [columns] if isinstance(columns, str) else columns
        self.columns = tuple(column_name(name, "dp.Nearest") for name in names)
        self.centres = tuple(
            tuple(
                finite(value, "dp.Nearest: centres")
                for value in as_list(centre, "dp.Nearest: a centre", "[2, 8]")
            )
            for centre in as_list(centres, "dp.Nearest: centres", "[[2, 2], [8, 8]]")
        )
        if not self.columns or not self.centres:
            raise ValueError("dp.Nearest needs at least one column and one centre.")
        if any(len(centre) != len(self.columns) for centre in self.centres):
            raise ValueError("dp.Nearest: each centre must have one value per column.")

    def code(self, name: str, schema: Schema) -> Closest:
        sources: list[Code] = []
        positions: list[list[int]] = []
        for index, of in enumerate(self.columns):
            column = numeric_column(schema, of, "dp.Nearest")
            steps = column.steps(VALUE_BITS)
            stretch = max(1, 2**VALUE_BITS // steps) if steps else 0
            sources.append(Linear(column.grid(of, VALUE_BITS), stretch, 0))
            half = Fraction(0) if column.is_exact(VALUE_BITS) else Fraction(1, 2)
            at = []
            for centre in self.centres:
                value = min(max(centre[index], float(column.lower)), float(column.upper))
                share = Fraction(value) - Fraction(column.lower)
                width = Fraction(column.upper) - Fraction(column.lower)
                at.append(round((share / width * steps - half) * stretch) if steps else 0)
            positions.append(at)
        return Closest(tuple(sources), tuple(zip(*positions, strict=True)))

    def cells(self, name: str, schema: Schema) -> tuple[int, ...]:
        return tuple(range(len(self.centres)))

    def to_dict(self) -> dict[str, Any]:
        return {
            "type": "nearest",
            "columns": list(self.columns),
            "centres": [list(centre) for centre in self.centres],
        }

    def __repr__(self) -> str:
        return f"Nearest({list(self.columns)}, {len(self.centres)} centres)"


class Score(Column):
    """A derived column: a sum of public integer tables over countable columns, then a look-up.

    Its value is ``link[clamp(offset + sum of tables[column][cell], 0, len(link) - 1)]``.

    Parameters
    ----------
    tables : mapping of column name to sequence of int
        One integer for each cell of the column, in the order of its labels.
    link : sequence of int
        The values that the clamped sum stands for.
    offset : int
        Added to the sum.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(ward=dp.Categorical("A", "B"), age=dp.Integer(0, 100))
    >>> schema = schema.derive(band=dp.Bins("age", [65]))
    >>> risk = dp.Score({"ward": [0, 2], "band": [0, 1]}, link=[0, 10, 30, 60])
    >>> dp.Sum("risk").sensitivity(schema.derive(risk=risk), dp.Unit()).l1
    60
    """

    def __init__(
        self, tables: Mapping[str, Sequence[int]], link: Sequence[int], offset: int = 0
    ) -> None:
        if not isinstance(tables, Mapping):
            raise TypeError("dp.Score: tables must be a mapping from column names to integers.")
        self.tables = {
            column_name(name, "dp.Score"): _as_integers(table, "dp.Score: a table")
            for name, table in tables.items()
        }
        self.link = _as_integers(link, "dp.Score: link")
        (self.offset,) = _as_integers((offset,), "dp.Score: offset")
        if not self.tables or not self.link:
            raise ValueError(
                "dp.Score needs at least one table and a link with at least one value."
            )
        if max(map(abs, chain((self.offset,), *self.tables.values()))) > 2**40:
            raise ValueError("dp.Score: entries of the tables must be at most 2^40 in size.")
        if max(map(abs, self.link)) > 2**VALUE_BITS:
            raise ValueError("dp.Score: values of the link must be at most 2^20 in size.")

    def code(self, name: str, schema: Schema) -> Lookup:
        sources, tables = [], []
        for index, (of, table) in enumerate(self.tables.items()):
            cells = schema[of].cells(of, schema)
            if len(table) != len(cells):
                raise ValueError(
                    f"dp.Score: the table of {of!r} must have {len(cells)} entries, "
                    f"one per cell, not {len(table)}."
                )
            sources.append(schema[of].code(of, schema))
            tables.append(table if index else tuple([entry + self.offset for entry in table]))
        return Lookup(tuple(sources), tuple(tables), self.link)

    def cells(self, name: str, schema: Schema) -> tuple[int, ...]:
        raise ValueError(f"column {name!r} is a score: derive bins of it first.")

    def to_dict(self) -> dict[str, Any]:
        return {
            "type": "score",
            "tables": {name: list(table) for name, table in self.tables.items()},
            "link": list(self.link),
            "offset": self.offset,
        }

    def __repr__(self) -> str:
        return f"Score(over {', '.join(self.tables)})"


def _cut(value: Any) -> float:
    """A cut point as a number; of a date its number of days."""
    if not isinstance(value, str | datetime.date):
        return finite(value, "dp.Bins: cuts")
    try:
        return float(day_of(as_date(value, "dp.Bins: cuts")))
    except (TypeError, ValueError):
        raise TypeError("dp.Bins: cuts must be a number, or a day such as '2024-03-01'.") from None


def _as_integers(values: Iterable[Any], name: str) -> tuple[int, ...]:
    given = values if type(values) is tuple else as_list(values, name, "[0, 2]")
    if set(map(type, given)) <= {int}:  # the usual ones, thousands of them
        return given
    for value in given:
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise TypeError(f"{name} must be whole numbers, not {type(value).__name__}.")
    return tuple(map(int, given))
