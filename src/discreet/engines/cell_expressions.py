"""Cells of columns as Narwhals expressions: the same operations, in the same order, everywhere."""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw

from discreet.coding import EXACT_INTEGER, Category, Filled, Grid, Ladder, Leaf
from discreet.engines.dates import date_expression

#: Up to this many values a category is a chain of comparisons.
CHAIN = 64


def look_up(column: nw.Expr, pairs: list[tuple[Any, int]], default: int) -> nw.Expr:
    """The number beside the value that a column equals, as a balanced sum of comparisons."""
    parts: list[nw.Expr] = [nw.lit(default)]
    parts += [
        nw.when(column == value).then(nw.lit(number - default)).otherwise(nw.lit(0))
        for value, number in pairs
        if number != default
    ]
    # Ibis takes a sum for 64 bits wide already, where PostgreSQL has 32, and would leave out the cast
    return add_up(parts).cast(nw.Float64).cast(nw.Int64)


def add_up(parts: list[nw.Expr]) -> nw.Expr:
    """A balanced sum: a thousand terms one after the other would be nested too deep for Ibis."""
    while len(parts) > 1:
        parts = [sum(parts[at + 1 : at + 8], parts[at]) for at in range(0, len(parts), 8)]
    return parts[0]


def leaf_expression(
    column: nw.Expr, dtype: Any, code: Leaf, exact_zero: bool = False, maps: bool = True
) -> nw.Expr:
    """The code of a cell of a column with this type."""
    match code:
        case Grid() if dtype == nw.Date or dtype == nw.Datetime:
            return date_expression(column, dtype, code)
        case Grid():
            return grid_expression(column, dtype, code, exact_zero)
        case Category():
            return category_expression(column, dtype, code, maps)
        case Ladder():
            return ladder_expression(column, dtype, code)
        case Filled() if dtype == nw.Date or dtype == nw.Datetime:
            return _indicate(~column.is_null())
        case Filled(column=name):  # a number, or nothing: text would have been refused by its type
            return _indicate(ladder_expression(column, dtype, Ladder(name, (0.0,))) >= 0.0)


def _indicate(holds: nw.Expr) -> nw.Expr:
    return nw.when(holds).then(nw.lit(1.0)).otherwise(nw.lit(0.0))


def grid_expression(column: nw.Expr, dtype: Any, code: Grid, exact_zero: bool = False) -> nw.Expr:
    """`Grid`'s definition: fill, clamp, shift, multiply, floor, all in float64.

    With `exact_zero`, for engines that raise on underflow, what is less than 2^-22 of a step counts as
    zero: the same integer, since half is 0 where it is not negative, and a half elsewhere.
    """
    if dtype == nw.Boolean:
        column = column.cast(nw.Int64)
    elif dtype.is_integer():
        column = _clamp_integer(column, dtype, code.lower, code.upper)
    x = column.cast(nw.Float64)
    low, high = nw.lit(code.lower), nw.lit(code.upper)
    # -x < -upper, not x > upper: NaN is the greatest number for some engines
    outside = (
        nw.when(-x < -code.upper)
        .then(high)
        .otherwise(nw.when(x < code.lower).then(low).otherwise(nw.lit(code.fill)))
    )
    clamped = nw.when((x >= code.lower) & (x <= code.upper)).then(x).otherwise(outside)
    if code.pieces:
        return _piece_expression(clamped, code, exact_zero)
    moved = clamped - code.shift
    if exact_zero and 0.0 < code.multiplier < 1.0:  # a larger factor makes nothing zero
        tiny = 2.0**-22 / code.multiplier
        moved = nw.when((moved < tiny) & (moved > -tiny)).then(nw.lit(0.0)).otherwise(moved)
    return (moved * code.multiplier + code.half).floor()


def _piece_expression(x: nw.Expr, code: Grid, exact_zero: bool) -> nw.Expr:
    """``first + floor((x - start) * multiplier)``, by the last piece that x has reached."""

    def choose(values: list[float]) -> nw.Expr:
        chosen: nw.Expr = nw.lit(values[0])
        for piece, value in zip(code.pieces[1:], values[1:], strict=True):
            chosen = nw.when(x >= piece.start).then(nw.lit(value)).otherwise(chosen)
        return chosen

    moved = x - choose([piece.start for piece in code.pieces])
    if exact_zero:  # moved is not negative; what is less than 2^-900 of a step is in the first one
        least = min((p.multiplier for p in code.pieces if p.multiplier), default=1.0)
        moved = nw.when(moved < 2.0**-900 / least).then(nw.lit(0.0)).otherwise(moved)
    steps = (moved * choose([piece.multiplier for piece in code.pieces])).floor()
    return steps + choose([float(piece.first) for piece in code.pieces])


def ladder_expression(column: nw.Expr, dtype: Any, code: Ladder) -> nw.Expr:
    """How many rungs a number has reached; -1 for null and NaN."""
    if dtype == nw.Boolean:
        column = column.cast(nw.Int64)
    elif dtype.is_integer():
        column = _clamp_integer(column, dtype, -EXACT_INTEGER, EXACT_INTEGER)
    x = column.cast(nw.Float64)
    # -x <= -rung, not x >= rung: NaN is the greatest number for some engines
    reached = [nw.when(-x <= -rung).then(1).otherwise(0) for rung in code.rungs]
    reached_or_none = (
        nw.when((-x <= 0.0) | (x < 0.0)).then(sum(reached[1:], reached[0])).otherwise(-1)
    )
    # through a double, since Ibis takes a cast of small integers to bigint for needless and drops it
    return reached_or_none.cast(nw.Float64)


def _clamp_integer(column: nw.Expr, dtype: Any, lower: float, upper: float) -> nw.Expr:
    """An integer column clamped in its own type, before it becomes a double. Null stays null."""
    least, most = _limits(dtype)
    low = min(max(math.floor(lower), least), most)
    high = max(min(math.ceil(upper), most), least)
    above = nw.when(column > high).then(nw.lit(high, dtype)).otherwise(column)
    return nw.when(column < low).then(nw.lit(low, dtype)).otherwise(above)


def _limits(dtype: Any) -> tuple[int, int]:
    bits = int("".join(c for c in type(dtype).__name__ if c.isdigit()) or 64)
    return (
        (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if dtype.is_signed_integer() else (0, 2**bits - 1)
    )


def category_expression(column: nw.Expr, dtype: Any, code: Category, maps: bool = True) -> nw.Expr:
    """The position of a cell among declared values; without `maps`, in an engine without NUL in text."""
    places = list(enumerate(code.values))
    if not maps:
        places = [(i, v) for i, v in places if not (isinstance(v, str) and "\0" in v)]
    if dtype == nw.Boolean:
        column = column.cast(nw.Int64)
    elif dtype.is_integer():
        least, most = _limits(dtype)
        places = [(i, v) for i, v in places if v == math.floor(v) and least <= v <= most]  # type: ignore[arg-type]
    elif dtype.is_numeric():
        column = column.cast(nw.Float64)
        places = [(i, float(v)) for i, v in places]
    elif dtype != nw.String:
        column = column.cast(nw.String)
    if not maps:
        return look_up(column, [(value, index) for index, value in places], code.otherwise)
    if len(places) > CHAIN:
        return column.replace_strict(
            [value for _, value in places],
            [index for index, _ in places],
            default=code.otherwise,
            return_dtype=nw.Int64,
        )
    found: nw.Expr = nw.lit(code.otherwise)
    for index, value in places:
        found = nw.when(column == value).then(nw.lit(index)).otherwise(found)
    return found
