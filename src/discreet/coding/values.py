"""The values of leaf codes, in numpy: grids, ladders, categories and what is filled, by their definitions."""

from __future__ import annotations

import math

import numpy as np

from discreet.coding.calendar import days_of
from discreet.coding.cells import Array, Floats, Integers, categories_of, filled_of, numbers_of
from discreet.coding.codes import EXACT_INTEGER, Category, Grid, Ladder

#: Kinds of numpy types whose cells are numbers already.
PLAIN = frozenset("fiub")
#: Up to this many values, text is compared with each.
FEW_VALUES = 64


def _clip_integers(cells: Array, lower: float, upper: float) -> Array:
    """Integers between bounds, clamped in their own type: doubles would round the large ones first."""
    limits = np.iinfo(cells.dtype)
    low = min(max(math.floor(lower), limits.min), limits.max)
    high = max(min(math.ceil(upper), limits.max), limits.min)
    return np.clip(cells, low, high)


def _read_doubles(cells: Array, lower: float, upper: float) -> Floats:
    """Cells as doubles, NaN for whatever is not a number; only integers are clamped to the bounds."""
    kind = cells.dtype.kind
    if kind == "O":
        return numbers_of(cells)
    if kind == "M":
        return days_of(cells)
    return (_clip_integers(cells, lower, upper) if kind in "iu" else cells).astype(np.float64)


def grid_codes(cells: Array, code: Grid) -> Integers:
    """floor((x - shift)·multiplier + half) after filling and clamping: `Grid`'s definition."""
    with np.errstate(all="ignore"):
        x = _read_doubles(cells, code.lower, code.upper)
        x = np.where(np.isnan(x), code.fill, x)
        x = np.minimum(np.maximum(x, code.lower), code.upper)
        if code.pieces:
            return _piece_codes(x, code).astype(np.int64)
        return np.floor((x - code.shift) * code.multiplier + code.half).astype(np.int64)


def _piece_codes(x: Floats, code: Grid) -> Floats:
    """first + floor((x - start)·multiplier), by the last piece that x has reached."""
    parts = zip(*((p.start, p.multiplier, float(p.first)) for p in code.pieces), strict=True)
    starts, multipliers, firsts = (np.array(part) for part in parts)
    at = np.searchsorted(starts, x, side="right") - 1
    return np.asarray(np.floor((x - starts[at]) * multipliers[at]) + firsts[at])


def grid_into(out: Floats, cells: Array, grid: Grid, scale: int = 1, offset: int = 0) -> None:
    """Write scale·code + offset of numeric cells as doubles: `grid_codes` without integers.

    The same operations in the same order; what follows the floor is exact, being integers below 2^53.
    """
    if cells.dtype.kind in "iu":
        out[:] = _clip_integers(cells, grid.lower, grid.upper)
    else:
        out[:] = cells
        missing = np.isnan(out)
        if missing.any():
            out[missing] = grid.fill
    np.maximum(out, grid.lower, out=out)
    np.minimum(out, grid.upper, out=out)
    if grid.pieces:
        out[:] = _piece_codes(out, grid)
    else:
        _linear_codes(out, grid)
    if scale != 1:
        np.multiply(out, scale, out=out)
    if offset:
        np.add(out, offset, out=out)


def _linear_codes(out: Floats, grid: Grid) -> None:
    if grid.shift:
        np.subtract(out, grid.shift, out=out)
    if grid.multiplier != 1.0:
        np.multiply(out, grid.multiplier, out=out)
    if grid.half:
        np.add(out, grid.half, out=out)
    np.floor(out, out=out)


def ladder_codes(cells: Array, code: Ladder) -> Integers:
    """How many rungs each number has reached; -1 for whatever is not a number."""
    with np.errstate(all="ignore"):
        x = _read_doubles(cells, -EXACT_INTEGER, EXACT_INTEGER)
        reached = np.searchsorted(np.array(code.rungs), x, side="right")
        return np.where(np.isnan(x), -1, reached).astype(np.int64)


def filled_codes(cells: Array) -> Integers:
    """1 where a cell holds something; 0 where it is missing."""
    kind = cells.dtype.kind
    if kind == "O":
        return filled_of(cells).astype(np.int64)
    if kind == "M":
        return (~np.isnat(cells)).astype(np.int64)
    return (~np.isnan(cells.astype(np.float64))).astype(np.int64)


def category_codes(cells: Array, code: Category) -> Integers:
    """The position of each cell among the declared values, or `otherwise`."""
    kind = cells.dtype.kind
    if kind == "O":
        return categories_of(cells, code)
    if kind == "U":
        return _text_codes(cells, code)
    values = [(float(value), index) for index, value in enumerate(code.values)]
    if kind in "iu":
        limits = np.iinfo(cells.dtype)
        whole = [(int(v), i) for v, i in values if v.is_integer()]
        values = [(v, i) for v, i in whole if limits.min <= v <= limits.max]
    else:
        with np.errstate(all="ignore"):
            cells = cells.astype(np.float64)
    if not values:
        return np.full(len(cells), code.otherwise, np.int64)
    known, places = (np.array(part) for part in zip(*sorted(values), strict=True))
    known = known.astype(cells.dtype)
    at = np.minimum(np.searchsorted(known, cells), len(known) - 1)
    return np.where(known[at] == cells, places[at], code.otherwise)


def _text_codes(cells: Array, code: Category) -> Integers:
    if len(code.values) > FEW_VALUES:
        return categories_of(cells.astype(object), code)
    result = np.full(len(cells), code.otherwise, np.int64)
    for index, value in enumerate(code.values):
        # arrays of text drop NUL at the end, so no cell can have one there
        if not str(value).endswith("\0"):
            result[cells == value] = index
    return result
