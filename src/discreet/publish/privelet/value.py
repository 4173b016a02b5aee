"""What a release of ranges tells: counts of any range with their errors, CDF, quantiles, a frame."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.layout import Layout, name_keys
from discreet.publish.privelet.designs import Design
from discreet.publish.privelet.scales import Scale
from discreet.queries import NoiseInterval
from discreet.show import native_frame

__all__ = ["Curve", "QuantileValue", "RangeCount", "RangesValue"]

Floats = npt.NDArray[np.float64]


@final
@dataclass(frozen=True, repr=False)
class RangeCount:
    """A noised count with its standard error."""

    value: float
    stderr: float
    _design: Design

    def interval(self, level: float = 0.95) -> NoiseInterval:
        """Where the count without noise lies, with probability at least `level`."""
        width = self._design.half_width(_check_level(level)) * self.stderr
        return NoiseInterval(self.value - width, self.value + width, level, "value")

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return f"{self.value:.6g} ± {self.stderr:.4g}"


@final
@dataclass(frozen=True)
class Curve:
    """Shares of rows up to each cell, with standard errors.

    Attributes
    ----------
    at : tuple
        The last value that counts: a label, or the upper edge of a bin.
    value, stderr : arrays
    """

    at: tuple[Any, ...]
    value: Floats
    stderr: Floats


@final
@dataclass(frozen=True)
class QuantileValue:
    """A quantile, and an interval that holds the quantile without noise with probability `level`."""

    value: Any
    lower: Any
    upper: Any
    level: float


@final
class RangesValue:
    """A noised histogram whose ranges, CDF and quantiles have known errors.

    Attributes
    ----------
    cells : array
        The noised count of each cell, an axis for each column. Unbiased; they may be negative.
    """

    def __init__(self, cells: Floats, scales: tuple[Scale, ...], design: Design) -> None:
        self.cells, self._scales, self._design = cells, scales, design

    @property
    def design(self) -> str:
        """What was measured."""
        return self._design.name

    def count(self, *between: Any, **columns: Any) -> RangeCount:
        """How many rows are in a range, or in a box of several columns.

        Parameters
        ----------
        *between : lower and upper, or a mapping
            Of a single ordered column: ``count(20, 64)``, both included; of bins, from edge to edge. For
            names that are not identifiers, a mapping as the only argument.
        **columns : pair, value or list of values
            ``count(age=(20, 64), town=["Ulm", "Bonn"])``. Columns that are not named count as a whole.
        """
        asked = self._read(between, columns)
        chosen = [scale.chosen(asked.get(scale.name)) for scale in self._scales]
        value = self.cells
        for flags in reversed(chosen):
            value = value[..., flags].sum(axis=-1)
        return RangeCount(float(value), _root(self._variance(chosen)), self._design)

    def _read(self, between: Sequence[Any], columns: Mapping[str, Any]) -> dict[str, Any]:
        asked = dict(columns)
        if len(between) == 1 and isinstance(between[0], Mapping):
            asked.update(between[0])
        elif len(between) == 2 and len(self._scales) == 1 and not asked:
            asked = {self._scales[0].name: tuple(between)}
        elif between:
            raise TypeError(
                "count takes lower and upper for a single column, and keywords for several, as in "
                "count(age=(20, 64))."
            )
        known = {scale.name for scale in self._scales}
        for name in asked:
            if name not in known:
                raise ValueError(f"column {name!r} is not in this histogram: {sorted(known)}.")
        return asked

    def _variance(self, chosen: Sequence[npt.NDArray[np.bool_]]) -> float:
        ends = [np.flatnonzero(flags) for flags in chosen]
        if any(len(end) == 0 for end in ends):
            return 0.0
        if all(end[-1] - end[0] + 1 == len(end) for end in ends):
            starts = [end[:1] for end in ends]
            return float(self._design.variances(starts, [end[-1:] + 1 for end in ends])[0])
        return self._design.variance_of_sets(chosen)

    def cdf(self) -> Curve:
        """The share of rows up to each cell of a single ordered column, with standard errors.

        Shares are noised counts over the noised total, so they may leave [0, 1] and need not increase; the
        errors are those of the quotients to first order.
        """
        scale = self._ordered("cdf")
        total = float(self.cells.sum())
        shares = np.cumsum(self.cells) / total if total > 0 else np.full(len(self.cells), np.nan)
        error = np.sqrt(self._deficit_variances(shares)) / abs(total) if total > 0 else shares
        at = scale.labels if scale.edges is None else scale.edges[1:]
        return Curve(tuple(at), shares, error)

    def _deficit_variances(self, shares: Any) -> Floats:
        """The variances of (rows up to a cell) - share·(all rows)."""
        size = len(self.cells)
        ends = np.arange(1, size + 1)
        prefixes = (np.zeros(size, np.int64), ends)
        upto = self._design.variances([prefixes[0]], [prefixes[1]])
        whole = float(self._design.variances([np.array([0])], [np.array([size])])[0])
        both = self._design.covariances((0, size), prefixes)
        weight = np.where(np.isfinite(shares), shares, 0.0)
        return np.maximum(upto - 2 * weight * both + weight**2 * whole, 0.0)

    def quantile(self, q: float = 0.5, *, level: float = 0.95) -> QuantileValue:
        """The value below which a share `q` of the rows lies, for a single ordered column.

        Inside a bin it is interpolated. The interval holds for the cell: it is where the noised rank of
        a cell can't be told from `q`, over all cells at once.
        """
        scale = self._ordered("quantile")
        if not 0 <= q <= 1:
            raise ValueError(f"q must be between 0 and 1, got {q!r}.")
        deficit = np.cumsum(self.cells) - q * float(self.cells.sum())
        width = self._design.half_width(1 - (1 - _check_level(level)) / len(deficit))
        reach = width * np.sqrt(self._deficit_variances(q))
        # the first cell that may reach the rank, and the first that surely does
        last = len(deficit) - 1
        low = _first(deficit + reach >= 0, last)
        high = max(low, _first(deficit - reach >= 0, last))
        rising = np.maximum.accumulate(deficit)
        falling = np.minimum.accumulate(deficit[::-1])[::-1]
        place = (_first(rising >= 0, last) + _first(falling >= 0, last)) // 2
        if scale.edges is None:
            labels = scale.labels
            return QuantileValue(labels[place], labels[low], labels[high], level)
        before, after = (deficit[place - 1] if place else -q * self.cells.sum()), deficit[place]
        share = min(1.0, max(0.0, -before / (after - before))) if after > before else 0.5
        edges = scale.edges
        value = float(edges[place] + share * (edges[place + 1] - edges[place]))
        return QuantileValue(value, edges[low], edges[high + 1], level)

    def _ordered(self, what: str) -> Scale:
        if len(self._scales) != 1 or not self._scales[0].is_ordered:
            raise ValueError(f"{what} needs a histogram of a single ordered column.")
        return self._scales[0]

    def to_layout(self) -> Layout:
        """How the cells are laid out as a table: a row for each, with a label from each column."""
        places = list(np.ndindex(self.cells.shape))
        rows = [
            tuple(scale.labels[at] for scale, at in zip(self._scales, place, strict=True))
            for place in places
        ]
        names = name_keys([scale.name for scale in self._scales])
        return Layout(names, tuple(rows), tuple(places))

    def to_frame(self, backend: str | None = None) -> Any:
        """All cells as a data frame of pandas, else Polars, else PyArrow: labels, count and stderr."""
        layout = self.to_layout()
        columns: dict[str, Any] = {
            name: [row[at] for row in layout.rows] for at, name in enumerate(layout.columns)
        }
        starts = [np.array([0])] * self.cells.ndim
        one = self._design.variances(starts, [start + 1 for start in starts])
        columns["count"] = self.cells.ravel()
        columns["stderr"] = np.full(self.cells.size, _root(float(one[0])))
        return native_frame(columns, backend)

    def __repr__(self) -> str:
        shape = " × ".join(f"{len(scale.labels)} of {scale.name!r}" for scale in self._scales)
        return f"RangesValue({shape}, {self.design})"


def _first(flags: npt.NDArray[np.bool_], otherwise: int) -> int:
    return int(np.argmax(flags)) if flags.any() else otherwise


def _root(variance: float) -> float:
    return math.sqrt(max(0.0, variance))


def _check_level(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}.")
    return level
