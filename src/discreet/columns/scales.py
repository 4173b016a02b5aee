"""Columns as models see them whose bounds span orders of magnitude: on a scale that is linear in pieces.

With t = x/unit, f(t) = t for |t| <= 1 and f(t) = ±(j + |t|/2^j) for 2^j <= |t| <= 2^(j+1): f follows
1 + log2|t| within 0.09 and is made of comparisons and one multiplication, the same integers on every engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from discreet.coding import Grid, Piece, piece_multiplier
from discreet.columns.base import Integer, Numeric, Real

if TYPE_CHECKING:
    from discreet.schema import Schema

Floats = npt.NDArray[np.float64]

#: From the unit to the larger bound the scale spans this many powers of two.
OCTAVES = 10


@final
@dataclass(frozen=True, repr=False)
class Logarithmic(Numeric):
    """A `Real` or `Integer` column on its logarithmic scale; bounds, width and values are those of f.

    Models put it in the place of a column whose `is_log` is true: the rest of their code sees a column of
    numbers between bounds, as any other. What they learn is then in the unit of f.

    Parameters
    ----------
    source : Real or Integer
        Not of equal bounds.
    """

    source: Real | Integer

    @classmethod
    def from_source(cls, source: Any) -> Logarithmic:
        """The column from the plain data of its source."""
        kind: Any = {"real": Real, "integer": Integer}[source["type"]]
        return cls(kind(**{name: value for name, value in source.items() if name != "type"}))

    @property
    def unit(self) -> float:
        """Up to this size the scale is linear: the larger bound over 2^10."""
        largest = max(abs(float(self.source.lower)), abs(float(self.source.upper)))
        return largest / float(2**OCTAVES)

    def _exact(self, value: float) -> Fraction:
        """The value on the scale, exactly."""
        t = abs(Fraction(value)) / Fraction(self.unit)
        octave = 0
        while t > 2 ** (octave + 1):
            octave += 1
        size = t if t <= 1 else octave + t / 2**octave
        return size if value >= 0 else -size

    @property
    def lower(self) -> float:  # type: ignore[override]
        return float(self._exact(self.source.lower))

    @property
    def upper(self) -> float:  # type: ignore[override]
        return float(self._exact(self.source.upper))

    @property
    def fill(self) -> float | None:  # type: ignore[override]
        return self.source.fill

    @property
    def is_log(self) -> bool:
        return False  # it is already

    @property
    def filling(self) -> float:
        """What missing cells count as, in the source's unit: the middle of the scale by default."""
        if self.source.fill is not None:
            return float(self.source.fill)
        return float(self.to_source(np.array((self.lower + self.upper) / 2)))

    def steps(self, bits: int) -> int:
        return int(2**bits)

    def is_exact(self, bits: int) -> bool:
        return False

    def grid(self, name: str, bits: int) -> Grid:
        """The code 0..2^bits of a cell, whose bounds and fill are the source's."""
        lower, upper = float(self.source.lower), float(self.source.upper)
        edges = [self.unit * 2.0**j for j in range(OCTAVES)]
        inside = [x for x in (*(-x for x in reversed(edges)), *edges) if lower < x < upper]
        starts = [lower, *inside, upper]
        first, last = self._exact(lower), self._exact(upper)
        codes = [round((self._exact(x) - first) / (last - first) * 2**bits) for x in starts]
        pieces = tuple(
            Piece(a, piece_multiplier(b - a, end - start), start)
            for (a, b), (start, end) in zip(pairwise(starts), pairwise(codes), strict=True)
        )
        pieces = (*pieces, Piece(upper, 0.0, codes[-1]))
        return Grid(name, lower, upper, self.filling, 0.0, 0.0, 0.0, pieces)

    def summand(self, name: str) -> Grid:
        return self.source.summand(name)  # sums are in the source's unit

    def to_scale(self, values: Floats) -> Floats:
        """Values between the source's bounds on the scale."""
        t = np.abs(np.asarray(values, np.float64)) / self.unit
        octave = np.clip(np.ceil(np.log2(np.maximum(t, 1.0))) - 1, 0, OCTAVES - 1)
        return np.asarray(np.sign(values) * np.where(t <= 1, t, octave + t / 2**octave))

    def to_source(self, values: Floats) -> Floats:
        """The inverse of `to_scale`."""
        size = np.abs(np.asarray(values, np.float64))
        octave = np.clip(np.ceil(size) - 2, 0, OCTAVES - 1).astype(np.int64)
        # exact, so that a value's place in an array can't show: features of rows rest on it
        t = np.where(size <= 1, size, np.ldexp(size - octave, octave))
        return np.asarray(np.sign(values) * t * self.unit)

    def cells(self, name: str, schema: Schema) -> tuple[Any, ...]:
        return self.source.cells(name, schema)

    def to_dict(self) -> dict[str, Any]:
        return {"type": "logarithmic", "source": self.source.to_dict()}

    def __repr__(self) -> str:
        return f"{self.source!r} on a log scale, linear up to {self.unit:g}"
