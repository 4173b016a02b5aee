"""Integer codes of cells: what every engine computes for a row, and nothing else.

A code is a small frozen description of a total function from a row to an integer with public range
``low..high``. Engines evaluate codes; everything else (sums, filters, groups, distances) is built of
them. The order of the floating-point operations is part of the definition, so that every engine
gives the same integers. Proof page: ``docs/proofs/coding.md``.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

from discreet.coding.calendar import DATE_PARTS

__all__ = [
    "EXACT_INTEGER",
    "MIX_PRIME",
    "PRODUCT_BITS",
    "VALUE_BITS",
    "AllOf",
    "AnyOf",
    "Between",
    "Branches",
    "Calendar",
    "Category",
    "Closest",
    "Code",
    "Condition",
    "Cuts",
    "Filled",
    "Grid",
    "Ladder",
    "Leaf",
    "LeftOver",
    "Linear",
    "Lookup",
    "NoneOf",
    "OneOf",
    "Part",
    "Piece",
    "Total",
    "grid_multiplier",
    "piece_multiplier",
]

#: Bits of the code of a value, and of one whose products are summed.
VALUE_BITS = 20
PRODUCT_BITS = 15
#: Integers up to this size are exact in float64.
EXACT_INTEGER = 2**53
#: Codes are mixed modulo this prime.
MIX_PRIME = 2**31 - 1


@dataclass(frozen=True)
class Piece:
    """From `start` on, a code is ``first + floor((x - start) * multiplier)``."""

    start: float
    multiplier: float
    first: int


@dataclass(frozen=True)
class Grid:
    """A numeric cell on a public grid: ``floor((x - shift) * multiplier + half)``.

    Null, NaN and cells that are no number become `fill`; then x is clamped to [lower, upper], before
    any arithmetic. Columns of an integer type are clamped in their own type first. With `pieces`, in
    increasing order from `lower` on, the last that x has reached takes the place of shift, multiplier
    and half: a scale that is linear in pieces.
    """

    column: str
    lower: float
    upper: float
    fill: float
    shift: float
    multiplier: float
    half: float
    pieces: tuple[Piece, ...] = ()

    def of(self, value: float) -> int:
        """The code of one number: the definition that every engine follows."""
        value = self.fill if math.isnan(value) else min(max(value, self.lower), self.upper)
        if self.pieces:
            piece = [piece for piece in self.pieces if piece.start <= value][-1]
            return piece.first + math.floor((value - piece.start) * piece.multiplier)
        return math.floor((value - self.shift) * self.multiplier + self.half)

    @cached_property
    def low(self) -> int:
        return self.of(self.lower)

    @cached_property
    def high(self) -> int:
        return self.of(self.upper)


@dataclass(frozen=True)
class Category:
    """The position of a cell among declared values; `otherwise` (-1: no code) for any other."""

    column: str
    values: tuple[str, ...] | tuple[int | float, ...]
    otherwise: int = -1

    @property
    def low(self) -> int:
        return min(self.otherwise, 0)

    @property
    def high(self) -> int:
        return len(self.values) - 1


@dataclass(frozen=True)
class Ladder:
    """How many of the increasing public `rungs` a number has reached; -1 (no code) if it is none.

    Needs no bounds. Columns of an integer type are clamped to ±2^53 first.
    """

    column: str
    rungs: tuple[float, ...]

    @property
    def low(self) -> int:
        return -1

    @property
    def high(self) -> int:
        return len(self.rungs)


@dataclass(frozen=True)
class Filled:
    """1 where a cell of numbers or dates holds something, be it a number or not; 0 where it is missing.

    Missing are null, NaN, NaT, blank text and the usual words for it (`cells.MISSING_WORDS`).
    """

    column: str

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return 1


@dataclass(frozen=True)
class Linear:
    """``scale * code + offset`` in integers."""

    source: Code
    scale: int
    offset: int

    @property
    def low(self) -> int:
        return min(self.scale * self.source.low, self.scale * self.source.high) + self.offset

    @property
    def high(self) -> int:
        return max(self.scale * self.source.low, self.scale * self.source.high) + self.offset


@dataclass(frozen=True)
class Cuts:
    """How many of the sorted `cuts` the source code has reached: the number of its bin."""

    source: Code
    cuts: tuple[int, ...]

    @property
    def low(self) -> int:
        return bisect_right(self.cuts, self.source.low)

    @property
    def high(self) -> int:
        return bisect_right(self.cuts, self.source.high)


@dataclass(frozen=True)
class Closest:
    """The index of the nearest centre by integer squared distance; ties go to the lowest index."""

    sources: tuple[Code, ...]
    centres: tuple[tuple[int, ...], ...]

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return len(self.centres) - 1


@dataclass(frozen=True)
class Lookup:
    """``link[clamp(sum of tables[j][code j], 0, len(link) - 1)]``, all public integers."""

    sources: tuple[Code, ...]
    tables: tuple[tuple[int, ...], ...]
    link: tuple[int, ...]

    @property
    def low(self) -> int:
        return min(self.link)

    @property
    def high(self) -> int:
        return max(self.link)


@dataclass(frozen=True)
class Total:
    """The sum of several codes."""

    sources: tuple[Code, ...]

    @property
    def low(self) -> int:
        return sum(source.low for source in self.sources)

    @property
    def high(self) -> int:
        return sum(source.high for source in self.sources)


@dataclass(frozen=True)
class LeftOver:
    """What a row has left over of a class whose share is a part of a whole, in whole numbers.

    With ``share = 2 * size * part // whole``: ``min(size, 2 * size - share)`` where `own` is 1, and
    ``-min(size, share)`` where it is 0. Parts lie between 0 and their whole, which is positive, and
    ``(2 * size + 1) * whole`` is below 2^53, so that a division of doubles, rounded down, is as exact.
    """

    part: Code
    whole: Code
    own: Code
    size: int

    @property
    def low(self) -> int:
        return -self.size

    @property
    def high(self) -> int:
        return self.size


@dataclass(frozen=True)
class Branches:
    """The leaf that a row reaches in a complete public binary tree, numbered from left to right.

    `tests` are in heap order: from node i a row goes on to node 2i + 2 where test i holds, and to
    2i + 1 where it doesn't, or where there is no test.
    """

    tests: Sequence[Between | OneOf | None]

    def __hash__(self) -> int:
        return hash((len(self.tests), self.tests[:3]))  # the upper nodes tell trees apart

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return len(self.tests)


@dataclass(frozen=True)
class Part:
    """One of `parts` parts of the rows, by a public mix of codes modulo a prime."""

    sources: tuple[Code, ...]
    parts: int

    @property
    def mixers(self) -> tuple[int, ...]:
        """Public multipliers, one per source."""
        return tuple(
            1 + int.from_bytes(hashlib.sha256(b"part %d" % i).digest()[:8]) % (MIX_PRIME - 1)
            for i in range(len(self.sources))
        )

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return self.parts - 1


@dataclass(frozen=True)
class Calendar:
    """A part of a date by the Gregorian calendar, from 0: its year less that of the first day, its month, ...

    `source` is the number of days since `first`, which counts from 1970-01-01; `last` is its largest day.
    """

    source: Code
    first: int
    last: int
    part: str

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return DATE_PARTS[self.part].size(self.first, self.last) - 1


Leaf: TypeAlias = Grid | Category | Ladder | Filled
Code: TypeAlias = (
    Leaf | Linear | Cuts | Closest | Lookup | Total | LeftOver | Branches | Part | Calendar
)


@dataclass(frozen=True)
class Between:
    """True where ``low <= code <= high``."""

    code: Code
    low: int
    high: int


@dataclass(frozen=True)
class OneOf:
    """True where the code is one of `members`."""

    code: Code
    members: tuple[int, ...]


@dataclass(frozen=True)
class AllOf:
    """Conjunction; true when empty."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class AnyOf:
    """Disjunction; false when empty."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class NoneOf:
    """Negation."""

    part: Condition


Condition: TypeAlias = Between | OneOf | AllOf | AnyOf | NoneOf


@lru_cache(maxsize=4096)
def grid_multiplier(width: float, bits: int) -> float:
    """The smallest double m near 2^bits/width for which the code of the upper bound is 2^bits."""
    multiplier = 2.0**bits / width
    while math.floor(width * multiplier) < 2**bits:
        multiplier = math.nextafter(multiplier, math.inf)
    return multiplier


def piece_multiplier(width: float, steps: int) -> float:
    """The smallest double m near steps/width for which the code of the end of a piece is `steps`."""
    multiplier = steps / width
    while math.floor(width * multiplier) < steps:
        multiplier = math.nextafter(multiplier, math.inf)
    return multiplier
