"""Columns of dates, and the months, quarters, years and weekdays derived from them."""

from __future__ import annotations

import datetime
import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from discreet.coding import (
    VALUE_BITS,
    AnyOf,
    Between,
    Calendar,
    Condition,
    Grid,
    NoneOf,
    OneOf,
)
from discreet.coding.calendar import DATE_PARTS, date_of, day_of, day_of_text, find_day_ranges
from discreet.columns.base import MAX_CELLS, Column, Numeric, column_name

if TYPE_CHECKING:
    from discreet.schema import Schema

#: Up to this many ranges of days are compared one by one; beyond, days are listed, up to this many.
MAX_RANGES = 32
MAX_DAYS = 2**15


def as_date(value: Any, name: str) -> datetime.date:
    """A declared date, given as a date or as text such as '2024-03-01'."""
    if isinstance(value, datetime.datetime):
        raise TypeError(f"{name} must be a date, without a time of day.")
    if isinstance(value, datetime.date):
        return datetime.date(value.year, value.month, value.day)
    if not isinstance(value, str):
        raise TypeError(
            f"{name} must be a date such as '2024-03-01' or datetime.date(2024, 3, 1), not "
            f"{type(value).__name__}. It is a public fact, and never taken from the data."
        )
    day = day_of_text(value) if len(value) == len("2024-03-01") else math.nan
    if math.isnan(day):
        raise ValueError(f"{name} must be a day of the calendar, written as in '2024-03-01'.")
    return date_of(int(day))


@dataclass(frozen=True, repr=False, init=False)
class Date(Numeric):
    """A column of dates, or of times without a time zone, between two public days.

    Parameters
    ----------
    first, last : date, or text such as "2024-03-01"
        Days outside are clamped. At most 2^20 days (2870 years) apart.
    fill : date or text, optional
        What null, NaT and text that is no date count as; the day in the middle, the earlier of two, by
        default. To leave them out, ask ``where="date is not None"``.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(visit=dp.Date("2024-01-01", "2024-12-31")).derive(month=dp.Month("visit"))
    >>> schema.labels("month")
    (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)

    Notes
    -----
    As a number, such as in a mean, a date is the number of days since 1970-01-01; `to_date` gives the date.
    The time of day is not used. Which columns are taken: dates, and times without zone, of any engine; in CSV
    files text in ISO form. Times with a zone and columns of objects are refused by their type.

    Privacy
    -------
    Like `Integer`: a total function of one cell with public bounds. Proof page: ``docs/proofs/coding.md``.
    """

    first: datetime.date
    last: datetime.date
    fill_date: datetime.date | None

    def __init__(self, first: Any = None, last: Any = None, fill: Any = None) -> None:
        begin, end = as_date(first, "dp.Date: first"), as_date(last, "dp.Date: last")
        inside = None if fill is None else as_date(fill, "dp.Date: fill")
        if begin > end:
            raise ValueError(f"dp.Date: first must not be after last, got {begin} and {end}.")
        if inside is not None and not begin <= inside <= end:
            raise ValueError("dp.Date: fill must lie between first and last.")
        if day_of(end) - day_of(begin) > 2**VALUE_BITS:
            raise ValueError(
                "dp.Date: first and last must be at most 2^20 days (2870 years) apart."
            )
        for name, value in (("first", begin), ("last", end), ("fill_date", inside)):
            object.__setattr__(self, name, value)

    @property
    def lower(self) -> int:  # type: ignore[override]
        """The number of the first day."""
        return day_of(self.first)

    @property
    def upper(self) -> int:  # type: ignore[override]
        """The number of the last day."""
        return day_of(self.last)

    @property
    def fill(self) -> int | None:  # type: ignore[override]
        """The number of the day that missing cells count as, if one was given."""
        return None if self.fill_date is None else day_of(self.fill_date)

    @property
    def filling(self) -> float:
        return float((self.lower + self.upper) // 2 if self.fill is None else self.fill)

    def steps(self, bits: int) -> int:
        return self.upper - self.lower if self.is_exact(bits) else 2**bits

    def is_exact(self, bits: int) -> bool:
        return bool(self.upper - self.lower <= 2**bits)

    def summand(self, name: str) -> Grid:
        raise ValueError(
            f"column {name!r} holds dates, and a sum of dates means nothing: ask for dp.Mean({name!r}), in "
            "days since 1970-01-01, or for counts by a derived dp.Month or dp.Year."
        )

    def cells(self, name: str, schema: Schema) -> tuple[str, ...]:
        if self.upper - self.lower >= MAX_CELLS:
            raise ValueError(f"column {name!r} has too many days to list: derive dp.Year of it.")
        return tuple(date_of(day).isoformat() for day in range(self.lower, self.upper + 1))

    def to_date(self, day: float) -> datetime.date:
        """The date of a number of days since 1970-01-01, such as a released mean, within the bounds."""
        return date_of(min(max(int(day // 1), self.lower), self.upper))

    def to_dict(self) -> dict[str, Any]:
        data = {"type": "date", "first": self.first.isoformat(), "last": self.last.isoformat()}
        return data if self.fill_date is None else {**data, "fill": self.fill_date.isoformat()}

    def __repr__(self) -> str:
        fill = "" if self.fill_date is None else f", fill={self.fill_date.isoformat()!r}"
        return f"Date({self.first.isoformat()!r}, {self.last.isoformat()!r}{fill})"


@lru_cache(maxsize=64)
def part_condition(code: Calendar, members: tuple[int, ...]) -> Condition:
    """True where a part of a date has one of some codes, as a condition on the day itself where it can be.

    Years, quarters and months are ranges of days. Spark's optimiser writes out every step of the calendar
    wherever a condition names it, and runs out of memory; a day is one step.

    Privacy
    -------
    The same rows as ``OneOf(code, members)``, by public facts alone. Proof page: ``docs/proofs/coding.md``.
    """
    inside = sorted({member for member in members if code.low <= member <= code.high})
    if code.part == "weekday":  # two steps, and a range a week
        return OneOf(code, tuple(inside)) if inside else AnyOf(())
    ranges = find_day_ranges(code.first, code.last, code.part, inside)
    if len(ranges) <= MAX_RANGES:
        return AnyOf(tuple(Between(code.source, begin, end) for begin, end in ranges))
    others = [member for member in range(code.low, code.high + 1) if member not in inside]
    gaps = find_day_ranges(code.first, code.last, code.part, others)
    listed, unlisted = (
        tuple(day for begin, end in found for day in range(begin, end + 1))
        for found in (ranges, gaps)
    )
    if min(len(listed), len(unlisted)) > MAX_DAYS:
        return OneOf(code, tuple(inside))
    if len(listed) <= len(unlisted):
        return OneOf(code.source, listed)
    return NoneOf(OneOf(code.source, unlisted))


class CalendarColumn(Column):
    """A derived column: a part of the date in a `Date` column, as a whole number.

    Privacy
    -------
    A function of one row's code, by public arithmetic. Proof page: ``docs/proofs/coding.md``.
    """

    def __init__(self, column: str) -> None:
        self.column = column_name(column, f"dp.{type(self).__name__}")

    @property
    @abstractmethod
    def part(self) -> str:
        """Which part of the date."""

    def _dates(self, schema: Schema) -> Date:
        column = schema[self.column]
        if not isinstance(column, Date):
            raise ValueError(
                f"dp.{type(self).__name__}: column {self.column!r} must be dp.Date(first, last)."
            )
        return column

    def first_value(self, schema: Schema) -> int:
        """What the code 0 means."""
        return self._dates(schema).first.year if self.part == "year" else 1

    def code(self, name: str, schema: Schema) -> Calendar:
        dates = self._dates(schema)
        return Calendar(dates.code(self.column, schema), dates.lower, dates.upper, self.part)

    def condition(self, values: Iterable[Fraction], schema: Schema) -> Condition:
        """True where the part of the date is one of some numbers."""
        places = [value - self.first_value(schema) for value in values]
        whole = tuple(int(place) for place in places if place.denominator == 1)
        return part_condition(self.code(self.column, schema), whole)

    def cells(self, name: str, schema: Schema) -> tuple[int, ...]:
        dates, first = self._dates(schema), self.first_value(schema)
        return tuple(range(first, first + DATE_PARTS[self.part].size(dates.lower, dates.upper)))

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.part, "column": self.column}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.part, self.column))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.column!r})"


class Year(CalendarColumn):
    """A derived column: the year of a `Date` column.

    Parameters
    ----------
    column : str

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(day=dp.Date("2024-01-01", "2025-12-31"))
    >>> schema.derive(year=dp.Year("day")).labels("year")
    (2024, 2025)
    """

    @property
    def part(self) -> str:
        return "year"


class Quarter(CalendarColumn):
    """A derived column: the quarter of the year, 1 to 4, of a `Date` column.

    Parameters
    ----------
    column : str

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(day=dp.Date("2024-01-01", "2025-12-31"))
    >>> schema.derive(quarter=dp.Quarter("day")).labels("quarter")
    (1, 2, 3, 4)
    """

    @property
    def part(self) -> str:
        return "quarter"


class Month(CalendarColumn):
    """A derived column: the month, 1 to 12, of a `Date` column.

    Parameters
    ----------
    column : str

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(day=dp.Date("2024-01-01", "2024-12-31"))
    >>> dp.Histogram("month").labels(schema.derive(month=dp.Month("day")))[:3]
    [1, 2, 3]
    """

    @property
    def part(self) -> str:
        return "month"


class Weekday(CalendarColumn):
    """A derived column: the day of the week, 1 for Monday to 7 for Sunday (ISO 8601), of a `Date` column.

    Parameters
    ----------
    column : str

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(day=dp.Date("2024-01-01", "2024-12-31"))
    >>> schema.derive(weekday=dp.Weekday("day")).labels("weekday")
    (1, 2, 3, 4, 5, 6, 7)
    """

    @property
    def part(self) -> str:
        return "weekday"
