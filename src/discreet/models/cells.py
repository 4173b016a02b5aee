"""A table cut into public cells: where they are, and what stands for the rows in each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.coding import VALUE_BITS
from discreet.columns import Base, Bins, Categorical, Numeric
from discreet.models import learned
from discreet.models.rows import Rows
from discreet.rational import as_integer

__all__ = ["CELLS", "Axis", "Cells", "axis_of", "default_bins", "even_cuts"]

Floats = npt.NDArray[np.float64]

#: The most bins of a column for which none are declared.
MAX_DEFAULT_BINS = 16


@dataclass(frozen=True, eq=False)
class Axis:
    """One column in cells.

    Attributes
    ----------
    name : str
    by : Bins or None
        How numbers are cut; None for categories, and for numbers in one cell.
    points : array of shape (cells, width)
        The point that stands for the rows of each cell: a number scaled by its bounds to [-1, 1], or
        indicators of categories.
    """

    name: str
    by: Bins | None
    points: Floats
    is_category: bool = False

    @property
    def size(self) -> int:
        """How many cells it has."""
        return len(self.points)


def even_cuts(column: Numeric, bins: int) -> tuple[float, ...]:
    """Cuts between bins of equal width; for whole numbers, halfway between two of them."""
    low, high = float(column.lower), float(column.upper)
    if not column.width:
        return ()
    if column.is_exact(VALUE_BITS):
        values = int(column.upper) - int(column.lower) + 1
        count = min(bins, values)
        return tuple(low + math.ceil(values * i / count) - 0.5 for i in range(1, count))
    cuts = {low + column.width * i / bins for i in range(1, bins)}
    return tuple(sorted(cut for cut in cuts if low < cut < high))


def axis_of(name: str, column: Base, bins: int | Sequence[float]) -> Axis:
    """A column cut by a number of even bins, or at declared cuts."""
    if isinstance(column, Categorical):
        return Axis(name, None, np.eye(len(column.values)), True)
    if not isinstance(column, Numeric):
        raise ValueError(
            f"column {name!r} must be dp.Real, dp.Integer or dp.Categorical, not {column!r}."
        )
    cuts = even_cuts(column, bins) if isinstance(bins, int) else tuple(bins)
    if not cuts:
        return Axis(name, None, np.zeros((1, 1)))
    by = Bins(name, cuts)  # raises unless cuts are increasing numbers
    edges = (float(column.lower), *by.cuts, float(column.upper))
    # the whole numbers in each bin; one at a cut belongs to the bin above
    if column.is_exact(VALUE_BITS):
        ends = [math.ceil(edge) for edge in edges[:-1]] + [int(column.upper) + 1]
        middles = [(a + b - 1) / 2 for a, b in pairwise(ends)]
    else:
        middles = [a + (b - a) / 2 for a, b in pairwise(edges)]
    return Axis(name, by, scale(np.array(middles), column)[:, None])


def scale(values: Floats, column: Numeric) -> Floats:
    """Numbers scaled by their bounds to [-1, 1]; 0 where the bounds coincide."""
    if not column.width:
        return np.zeros_like(values)
    return np.asarray((values - float(column.lower)) / column.width * 2.0 - 1.0)


@dataclass(frozen=True, eq=False)
class Cells:
    """The product of the cells of some columns."""

    axes: tuple[Axis, ...]

    @property
    def count(self) -> int:
        """How many cells there are."""
        return math.prod(axis.size for axis in self.axes)

    @property
    def derived(self) -> dict[str, Bins]:
        """Columns to derive, under names that no other column has."""
        return {_bin_name(axis.name): axis.by for axis in self.axes if axis.by is not None}

    @property
    def by(self) -> list[str]:
        """The columns whose values give the cell, in order."""
        cut = [axis for axis in self.axes if axis.by is not None or axis.is_category]
        return [axis.name if axis.is_category else _bin_name(axis.name) for axis in cut]

    def points(self) -> Floats:
        """The point that stands for the rows of each cell, in the order of an answer by `by`."""
        places = np.indices([axis.size for axis in self.axes]).reshape(len(self.axes), -1)
        parts = [axis.points[at] for axis, at in zip(self.axes, places, strict=True)]
        return np.concatenate(parts, axis=1)

    def design(self, rows: Rows) -> Floats:
        """Rows to predict for, in the same terms; a category that isn't declared has no indicator."""
        parts = []
        for place, (axis, column) in enumerate(zip(self.axes, rows.columns, strict=True)):
            if axis.is_category:
                parts.append((rows.codes([place]) == np.arange(axis.size)).astype(np.float64))
            else:
                assert isinstance(column, Numeric)
                parts.append(scale(rows.numbers([place]), column))
        return np.concatenate(parts, axis=1)


#: Cells as a model file keeps them.
CELLS = learned.Record(
    Cells,
    axes=learned.Each(
        learned.Record(
            Axis,
            name=learned.Text(),
            by=learned.IfSet(
                learned.Record(
                    Bins,
                    column=learned.Text(),
                    cuts=learned.Each(learned.Number(), container=tuple),
                )
            ),
            points=learned.Array("own cells", "own width"),
            is_category=learned.Flag(),
        ),
        "features",
        tuple,
        fresh=("own cells", "own width"),
    ),
)


def _bin_name(name: str) -> str:
    return f"{name} in bins"


def default_bins(signal: float, dimensions: int, others: int) -> int:
    """How many bins each numeric column gets where none are declared, from public facts.

    With k bins in each of d numbers the noise of all cells together grows like k^(d/2)/(ε·n), the error
    of using a cell's middle falls like 1/k²: they balance at k ~ (ε·n)^(2/(4+d)). (Lei 2011 has
    2/(2+d), for errors that fall like 1/k.) The factor 0.7 was measured: ``docs/proofs/m_estimation.md``.

    Parameters
    ----------
    signal : float
        ε times the expected number of rows, divided by how many rows one person has.
    dimensions : int
        How many numeric columns are cut.
    others : int
        Into how many cells classes, categories and declared bins already cut the table.
    """
    strength = max(1.0, signal / math.sqrt(max(1, others)))
    bins = math.ceil(0.7 * float(min(strength, 1e12) ** (2 / (4 + dimensions))))
    return max(2, min(MAX_DEFAULT_BINS, bins))


def read_bins(bins: Any, names: Sequence[str]) -> Mapping[str, int | tuple[float, ...]]:
    """What ``bins=`` says of each column: one number for all, or a number or cuts by name or position."""
    if isinstance(bins, Mapping):
        if unknown := [name for name in bins if name not in names]:
            raise ValueError(f"bins: {unknown[0]!r} is not among the columns {', '.join(names)}.")
        return {name: _read_one(value, name) for name, value in bins.items()}
    if isinstance(bins, Sequence | np.ndarray) and not isinstance(bins, str):
        if len(bins) != len(names):
            raise ValueError(
                f"bins must be one number, or one entry for each of the {len(names)} columns, "
                f"got {len(bins)}."
            )
        return {name: _read_one(value, name) for name, value in zip(names, bins, strict=True)}
    return dict.fromkeys(names, as_integer(bins, "bins", minimum=1))


def _read_one(value: Any, name: str) -> int | tuple[float, ...]:
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return tuple(value)
    return as_integer(value, f"bins of {name!r}", minimum=1)
