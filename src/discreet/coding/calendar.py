"""Dates as whole days since 1970-01-01, and their months and weekdays: public arithmetic, no engine's own.

Engines differ in what they call a week, in how they round times before 1970 and in which years they know.
So a day is asked of them as a year and a day of the year alone, and everything else is computed here, by
the Gregorian calendar, which is also carried back to year 1.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

#: 1970-01-01 counted from 0000-12-31, as `datetime.date.toordinal` counts.
EPOCH = datetime.date(1970, 1, 1).toordinal()
#: 1970-01-01 counted from 0000-03-01, with which a cycle of 400 years begins.
_EPOCH_IN_CYCLES = EPOCH + 305
#: How many ticks of a numpy unit a day has.
TICKS = {"D": 1, "h": 24, "m": 1440, "s": 86_400}
TICKS |= {unit: 86_400 * 1000**power for power, unit in enumerate(("ms", "us", "ns"), 1)}
#: The whole days that 64 bits of nanoseconds reach. The parts of days beyond, in which engines also store
#: infinity, count as before and after all days.
FIRST_NANOSECONDS, LAST_NANOSECONDS = -(2**63) // TICKS["ns"] + 1, 2**63 // TICKS["ns"] - 1

_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)


def day_of(date: datetime.date) -> int:
    """The number of a date: days since 1970-01-01."""
    return date.toordinal() - EPOCH


def date_of(day: int) -> datetime.date:
    """The date of a day's number."""
    return datetime.date.fromordinal(day + EPOCH)


def day_of_text(text: str) -> float:
    """The day that a text in ISO form names, as in 2024-02-29 or 2024-02-29T08:30:00; NaN for any other.

    White space around it is left out, a time and an offset from UTC behind it are not used: the day is the
    one that is written. Dates that aren't in the calendar, such as 2023-02-29, are NaN.
    """
    found = _ISO.fullmatch(text.strip(" \t"))
    if found is None:
        return math.nan
    try:
        return float(day_of(datetime.date(*map(int, found.groups()))))
    except ValueError:
        return math.nan


def is_date_type(kind: np.dtype[Any]) -> bool:
    """Whether days can be told from cells of a numpy type: dates and times in days or finer units."""
    if kind.kind != "M":
        return False
    unit, count = np.datetime_data(kind)
    return unit in TICKS and count == 1


def days_of(cells: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The days of an array of dates or times; NaN where there is none."""
    unit, _ = np.datetime_data(cells.dtype)
    ticks = cells.astype(f"datetime64[{unit}]").view(np.int64)
    days = np.floor_divide(ticks, TICKS[unit]).astype(np.float64)
    if unit == "ns":
        days[days < FIRST_NANOSECONDS] = -math.inf
        days[days > LAST_NANOSECONDS] = math.inf
    return np.where(np.isnat(cells), math.nan, days)


#: Steps from ``day``, counted from a first of March, to the parts of a date, each naming few others: engines
#: that write out what a column stands for would make long expressions of them otherwise (constants of months:
#: C. Neri & L. Schneider, "Euclidean affine functions and their application to calendar algorithms", 2021).
#: All numbers are whole and not negative.
STEPS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "century": lambda c: (c["day"] * 4 + 3) // 146_097,
    "in_century": lambda c: (c["day"] * 4 + 3 - c["century"] * 146_097) // 4,
    "year_in_century": lambda c: (c["in_century"] * 4 + 3) // 1461,
    "in_year": lambda c: (c["in_century"] * 4 + 3 - c["year_in_century"] * 1461) // 4,
    "from_march": lambda c: (c["in_year"] * 2141 + 197_913) // 65_536,
    "new_year": lambda c: (c["from_march"] - 1) // 12,
    "year": lambda c: c["century"] * 100 + c["year_in_century"] + c["new_year"],
    "month": lambda c: c["from_march"] - 1 - c["new_year"] * 12,
    "quarter": lambda c: c["month"] // 3,
    "weekday": lambda c: c["day"] + 2 - (c["day"] + 2) // 7 * 7,
}
_MONTH = ("century", "in_century", "year_in_century", "in_year", "from_march", "new_year")


@dataclass(frozen=True)
class DatePart:
    """A part of a date: the steps that lead to it, and how many values it has (None: as many as years)."""

    steps: tuple[str, ...]
    values: int | None

    def offset(self, first: int) -> int:
        """What makes days since `first` days since a first of March."""
        return first + _EPOCH_IN_CYCLES

    def origin(self, first: int) -> int:
        """What the last step gives where the code is 0."""
        return date_of(first).year if self.values is None else 0

    def size(self, first: int, last: int) -> int:
        """How many codes there are between two days."""
        years = date_of(last).year - date_of(first).year + 1
        return years if self.values is None else self.values


DATE_PARTS = {
    "year": DatePart((*_MONTH, "year"), None),
    "quarter": DatePart((*_MONTH, "month", "quarter"), 4),
    "month": DatePart((*_MONTH, "month"), 12),
    "weekday": DatePart(("weekday",), 7),
}


def part_codes(days: Any, first: int, name: str) -> Any:
    """The codes of a part of dates, from the numbers of days since `first`."""
    part = DATE_PARTS[name]
    columns = {"day": days + part.offset(first)}
    for step in part.steps:
        columns[step] = STEPS[step](columns)
    return columns[part.steps[-1]] - part.origin(first)


def find_day_ranges(first: int, last: int, name: str, members: Any) -> list[tuple[int, int]]:
    """The ranges of days between two on which a part of the date has one of some codes.

    Days count from `first`, and both ends of a range belong to it; the ranges are as few as can be.
    """
    chosen = np.isin(part_codes(np.arange(last - first + 1), first, name), np.array(members))
    edges = np.diff(chosen.astype(np.int8), prepend=0, append=0)
    begins, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    return list(zip(begins.tolist(), ends.tolist(), strict=True))
