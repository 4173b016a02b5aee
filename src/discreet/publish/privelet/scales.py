"""What the cells of a column mean, and which of them a person asks for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.columns import Numeric
from discreet.schema import Bins, Schema

__all__ = ["Scale", "equal_bins", "read_scale"]

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Scale:
    """The cells of one column.

    Attributes
    ----------
    name : str
    labels : tuple
        What each cell is called.
    is_ordered : bool
        Whether ranges of it make sense.
    edges : tuple of float or None
        Where bins begin and end; None for columns of single values.
    """

    name: str
    labels: tuple[Any, ...]
    is_ordered: bool
    edges: tuple[float, ...] | None = None

    def between(self, lower: Any, upper: Any) -> tuple[int, int]:
        """The cells from `lower` to `upper`: from edge to edge of bins, else both values included."""
        if not self.is_ordered:
            raise ValueError(
                f"column {self.name!r} has no order: ask for one value or a list of values, or declare "
                f"the order of its values with ordered=[{self.name!r}]."
            )
        if self.edges is None:
            first, last = self._place(lower), self._place(upper)
            return first, max(first, last + 1)
        first, last = self._edge(lower), self._edge(upper)
        return first, max(first, last)

    def chosen(self, asked: Any) -> Flags:
        """The cells that were asked for: all (None), a range (a pair), a value, or a list of values."""
        flags = np.zeros(len(self.labels), bool)
        if asked is None:
            flags[:] = True
        elif isinstance(asked, tuple):  # a pair; other lists of values are lists
            if len(asked) != 2:
                raise ValueError(f"column {self.name!r}: a range is a pair (lower, upper).")
            flags[slice(*self.between(*asked))] = True
        elif isinstance(asked, Iterable) and not isinstance(asked, str | bytes):
            for value in asked:
                flags[self._place(value)] = True
        else:
            flags[self._place(asked)] = True
        return flags

    def _place(self, value: Any) -> int:
        if value in self.labels:
            return self.labels.index(value)
        raise ValueError(
            f"{value!r} is not a cell of column {self.name!r}, which has {_tell(self.labels)}."
        )

    def _edge(self, value: Any) -> int:
        assert self.edges is not None
        try:
            near = int(np.argmin(np.abs(np.asarray(self.edges) - float(value))))
        except (TypeError, ValueError):
            raise TypeError(f"column {self.name!r}: the ends of a range must be numbers.") from None
        width = self.edges[-1] - self.edges[0]
        if abs(self.edges[near] - float(value)) > 1e-9 * max(width, abs(self.edges[near])):
            raise ValueError(
                f"{value!r} is not an edge of the bins of column {self.name!r}; the nearest one is "
                f"{self.edges[near]:g}."
            )
        return near


def _tell(labels: Sequence[Any]) -> str:
    shown = ", ".join(map(repr, labels[:4]))
    return shown if len(labels) <= 4 else f"{shown}, ..., {labels[-1]!r}"


def equal_bins(schema: Schema, name: str, bins: int) -> Bins:
    """So many bins of the same width over a numeric column's bounds."""
    column = schema[name]
    if not isinstance(column, Numeric):
        raise ValueError(
            f"bins: column {name!r} must be dp.Real or dp.Integer to be cut into bins."
        )
    edges = np.linspace(float(column.lower), float(column.upper), bins + 1)
    return Bins(name, [float(edge) for edge in edges[1:-1]])


def read_scale(schema: Schema, name: str, shown: str, is_ordered: bool) -> Scale:
    """The cells of a countable column of a schema."""
    column = schema[name]
    edges = None
    if isinstance(column, Bins) and column.labels is None:
        source = schema[column.column]
        if isinstance(source, Numeric):
            edges = (float(source.lower), *column.cuts, float(source.upper))
    return Scale(shown, schema.labels(name), is_ordered, edges)
