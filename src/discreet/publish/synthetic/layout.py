"""How a table is cut into public cells, and how values are drawn inside them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.columns import Base, Categorical, Date, Integer, Numeric
from discreet.queries import Axis
from discreet.rational import as_integer
from discreet.schema import Schema

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]

#: From 0 to this bound and above, cells are spaced by orders of magnitude.
WIDE = 1000
#: How many orders of magnitude below the upper bound are told apart.
DECADES = 3
#: The share of the range of a real column below which a value counts as 0, if 0 has a cell of its own.
ATOM = 2.0**-16
#: Columns of numbers with more cells than this are fine: a cell stands for one number, and rows of a group
#: are spread over its cells by target. Learners that cut at quantiles would mix cells full of numbers.
FINE = 64


def default_cuts(column: Numeric, bins: int) -> tuple[float, ...]:
    """Public cuts for a column of numbers: none if an `Integer` has few values.

    Numbers from 0 to `WIDE` or more have a cell for 0, then cells by orders of magnitude; others cells of
    equal width.
    """
    lower, upper = float(column.lower), float(column.upper)
    whole = isinstance(column, Integer | Date)
    if upper == lower or (whole and upper - lower < bins):
        return ()
    if lower == 0 and upper >= WIDE and bins > 2:
        first = 1.0 if whole else upper * ATOM
        steps = np.linspace(-DECADES, 0, bins - 2, endpoint=False)
        cuts = [first, *(upper * 10.0**steps)]
    else:
        cuts = [lower + (upper - lower) * k / bins for k in range(1, bins)]
    if whole:
        cuts = [float(math.ceil(cut)) for cut in cuts]
    return tuple(sorted({cut for cut in cuts if lower < cut < upper}))


@final
@dataclass(frozen=True)
class Layout:
    """The columns of a table with the cells of each.

    Attributes
    ----------
    columns : mapping of name to column
    axes : tuple of Axis
        One for each column, in this order.
    sizes : tuple of int
        How many cells each has.
    has_zero_cell : tuple of bool
        Whether the first cell stands for the lower bound itself.
    """

    columns: Mapping[str, Base]
    axes: tuple[Axis, ...]
    sizes: tuple[int, ...]
    has_zero_cell: tuple[bool, ...]

    @classmethod
    def from_schema(
        cls, schema: Schema, names: Sequence[str], bins: int | Mapping[str, Any]
    ) -> Layout:
        """Cut the columns of these names; `bins` is a number, or cuts by column."""
        given = dict(bins) if isinstance(bins, Mapping) else {}
        most = DEFAULT_BINS if isinstance(bins, Mapping) else as_integer(bins, "bins", minimum=2)
        for name in given:
            if name not in names or not isinstance(schema[name], Numeric):
                raise ValueError(f"bins: {name!r} is not a column of numbers of this table.")
        cuts: dict[str, tuple[float, ...]] = {}
        for name in names:
            column = schema.base[name]
            cuts[name] = ()
            if isinstance(column, Numeric):
                cuts[name] = _read_cuts(column, given.get(name, most), name)
        return cls.from_cuts(schema, cuts)

    @classmethod
    def from_cuts(cls, schema: Schema, cuts: Mapping[str, tuple[float, ...]]) -> Layout:
        """The columns of these names, each cut at its numbers."""
        axes, zeros = [], []
        for name, places in cuts.items():
            column = schema.base[name]
            axes.append(Axis(name, places))
            zeros.append(isinstance(column, Numeric) and _is_zero_cell(column, places))
        sizes = tuple(axis.size(schema) for axis in axes)
        return cls({n: schema.base[n] for n in cuts}, tuple(axes), sizes, tuple(zeros))

    def is_ordered(self, place: int) -> bool:
        """Whether neighbouring cells of a column are close."""
        return isinstance(self.columns[self.axes[place].column], Numeric)

    def is_fine(self, place: int) -> bool:
        """Whether the cells of a column of numbers are so many that each stands for one number."""
        return self.is_ordered(place) and self.sizes[place] > FINE

    def decode(self, cells: Integers, random: np.random.Generator) -> dict[str, Array]:
        """Rows of cells as values: numbers are drawn evenly inside their cells; of fine ones, the middle."""
        return {
            axis.column: self._values(place, cells[:, place], random)
            for place, axis in enumerate(self.axes)
        }

    def _values(self, place: int, cells: Integers, random: np.random.Generator) -> Array:
        axis = self.axes[place]
        column = self.columns[axis.column]
        if isinstance(column, Categorical):
            known = np.asarray(column.values)
            if len(column.values) == self.sizes[place]:
                return known[cells]
            return np.concatenate([[None], known.astype(object)])[cells]
        assert isinstance(column, Numeric)
        numbers = self._numbers(place, column, cells, random)
        return numbers.astype("datetime64[D]") if isinstance(column, Date) else numbers

    def _numbers(
        self, place: int, column: Numeric, cells: Integers, random: np.random.Generator
    ) -> Array:
        """Numbers drawn evenly inside their cells, or their middles; of dates, days since 1970-01-01."""
        axis = self.axes[place]
        whole = isinstance(column, Integer | Date)
        if whole and not axis.cuts:
            return np.asarray(column.lower + cells, np.int64)
        edges = np.array([column.lower, *axis.cuts, column.upper], np.float64)
        low, high = edges[cells], edges[cells + 1]
        share = np.full(len(cells), 0.5) if self.is_fine(place) else random.random(len(cells))
        if whole:
            first = np.ceil(low)
            last = np.ceil(high) - 1 + (cells == self.sizes[place] - 1)
            last = np.minimum(np.maximum(last, first), column.upper)
            return np.asarray(
                np.minimum(first + np.floor(share * (last - first + 1)), last), np.int64
            )
        drawn = np.clip(low + share * (high - low), low, high)
        if self.has_zero_cell[place]:
            drawn[cells == 0] = column.lower
        return np.asarray(drawn)


def _read_cuts(column: Numeric, bins: Any, name: str) -> tuple[float, ...]:
    """The cuts of a column: those given, or as many as a number of bins has."""
    if not isinstance(bins, Iterable):
        return default_cuts(column, as_integer(bins, f"bins[{name!r}]", minimum=2))
    try:
        return tuple(float(cut) for cut in bins)
    except (TypeError, ValueError):
        raise TypeError(f"bins[{name!r}] must be a whole number, or numbers to cut at.") from None


#: Into how many cells a column of numbers is cut at most, unless something else is asked for.
DEFAULT_BINS = 16
#: How many groups of neighbouring cells a column of numbers has at most in marginals of several columns.
MAX_GROUPS = 16


def _is_zero_cell(column: Numeric, cuts: tuple[float, ...]) -> bool:
    width = float(column.upper) - float(column.lower)
    return bool(cuts) and cuts[0] - float(column.lower) <= width * ATOM


def merge_cells(counts: Floats, minimum: float, ordered: bool) -> tuple[int, ...]:
    """Put cells with few rows together, so that each group has about `minimum` rows: its number by cell.

    Neighbours of an ordered column join one another, until there are at most `MAX_GROUPS`; rare values of
    the others form one group, or join the most frequent value if there are too few rows for that.
    """
    if ordered:
        return _merge_neighbours(counts, minimum)
    rare = counts < minimum
    groups = np.cumsum(~rare) - 1
    are_few = counts[rare].sum() < minimum and not rare.all()
    groups[rare] = groups[np.argmax(counts)] if are_few else (~rare).sum()
    return tuple(int(group) for group in groups)


def _merge_neighbours(counts: Floats, minimum: float) -> tuple[int, ...]:
    ends = list(range(1, len(counts) + 1))
    sums = [float(count) for count in counts]
    while len(sums) > 1:
        at = int(np.argmin(sums))
        if sums[at] >= minimum and len(sums) <= MAX_GROUPS:
            break
        left, right = at - 1, at + 1
        into = right if left < 0 or (right < len(sums) and sums[right] < sums[left]) else left
        first = min(at, into)
        sums[first] += sums.pop(first + 1)
        ends.pop(first)
    groups: list[int] = []
    for group, end in enumerate(ends):
        groups += [group] * (end - len(groups))
    return tuple(groups)
