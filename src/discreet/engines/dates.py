"""Dates and times as Narwhals expressions: compared first, then a day by public arithmetic."""

from __future__ import annotations

import datetime
from typing import Any

import narwhals as nw

from discreet.coding import Grid
from discreet.coding.calendar import (
    EPOCH,
    FIRST_NANOSECONDS,
    LAST_NANOSECONDS,
    date_of,
    day_of,
)


def date_expression(column: nw.Expr, dtype: Any, code: Grid) -> nw.Expr:
    """`Grid`'s definition for the day of a date or a time, as a number of days since 1970-01-01.

    Cells outside the bounds are told by comparison, before anything is computed from them: infinity, years
    before 1 and after 9999 have no year that engines agree on.
    """
    first, last = date_of(round(code.lower)), date_of(round(code.upper))
    known = ~column.is_null()
    below, above = column < _begin(dtype, first), column > _end(dtype, last)
    outside = (
        nw.when(below)
        .then(nw.lit(code.lower))
        .otherwise(nw.when(known).then(nw.lit(code.upper)).otherwise(nw.lit(code.fill)))
    )
    inside = known & ~below & ~above
    safe = nw.when(inside).then(column).otherwise(_begin(dtype, first))
    days = nw.when(inside).then(_days(safe).cast(nw.Float64)).otherwise(outside)
    return ((days - code.shift) * code.multiplier + code.half).floor()


def _days(cells: nw.Expr) -> nw.Expr:
    """Days since 1970-01-01, from the year and the day of the year."""
    years = cells.dt.year().cast(nw.Int64) - 1
    before = years * 365 + years // 4 - years // 100 + years // 400
    return before + cells.dt.ordinal_day().cast(nw.Int64) - EPOCH


def _is_fine(dtype: Any) -> bool:
    """Whether a column counts nanoseconds, in which a literal beyond their whole days can't be written."""
    return bool(dtype == nw.Datetime and dtype.time_unit == "ns")


def _begin(dtype: Any, day: datetime.date) -> nw.Expr:
    """The first moment of a day; in nanoseconds at most that of the day after their last whole one."""
    if dtype == nw.Date:
        return nw.lit(day)
    if _is_fine(dtype):
        day = date_of(min(max(day_of(day), FIRST_NANOSECONDS), LAST_NANOSECONDS + 1))
    return nw.lit(datetime.datetime.combine(day, datetime.time.min))


def _end(dtype: Any, day: datetime.date) -> nw.Expr:
    """The last microsecond of a day: a later moment is after the last day, which has the same code."""
    if dtype == nw.Date:
        return nw.lit(day)
    if _is_fine(dtype):
        day = date_of(max(min(day_of(day), LAST_NANOSECONDS), FIRST_NANOSECONDS - 1))
    return nw.lit(datetime.datetime.combine(day, datetime.time.max))
