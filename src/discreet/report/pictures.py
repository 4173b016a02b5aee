"""Charts of tables: which kind fits, and what it shows in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from typing import Any

from discreet.report.blocks import Chart, Series
from discreet.report.scales import format_number
from discreet.report.svg import MAX_BARS
from discreet.show import Table, visible
from discreet.show.plots import is_ordered

__all__ = ["chart_table"]

#: The most rows and columns of a heat map.
MAX_SIDE = 60


def chart_table(
    table: Table,
    keys: Sequence[str],
    title: str,
    *,
    value: str = "value",
    lower: str = "lower",
    upper: str = "upper",
) -> Chart | None:
    """A chart of a column of numbers over at most two groupings; None where none would help.

    Parameters
    ----------
    table : Table
    keys : sequence of str
        The columns that say which group a row is.
    value, lower, upper : str
        The columns of the numbers, and of their intervals if the table has them.
    """
    numbers = [_number(cell) for cell in table.column(value)]
    if not keys or len(keys) > 2 or len(numbers) < 2 or None in numbers:
        return None
    found = [number for number in numbers if number is not None]
    if len(keys) == 2:
        return _chart_pairs(table, keys, found, title, value)
    labels = table.column(keys[0])
    low, high = _ends(table, lower), _ends(table, upper)
    if low is None or high is None:
        low, high = (), ()
    named = visible(value if value != "value" else "answer")
    ends = f"from {format_number(min(found))} to {format_number(max(found))}"
    described = f"{named} for {len(found)} groups of {visible(keys[0])}, {ends}"
    described += ", each with an interval." if low else "."
    if is_ordered(labels):
        return Chart(
            "lines",
            title,
            described,
            table,
            (Series(named, tuple(map(_place, labels)), tuple(found), low, high),),
            visible(keys[0]),
            named,
            "names" if isinstance(labels[0], str | date) else "linear",
        )
    return _chart_names(table, labels, found, (low, high), title, described, named)


def _chart_names(
    table: Table,
    labels: Sequence[Any],
    numbers: Sequence[float],
    ends: tuple[tuple[float, ...], tuple[float, ...]],
    title: str,
    described: str,
    told: str,
) -> Chart:
    shown = list(range(len(labels)))
    if len(shown) > MAX_BARS:
        largest = sorted(shown, key=lambda at: (-numbers[at], at))[:MAX_BARS]
        shown = sorted(largest)
        title = f"{title}: the {MAX_BARS} largest of {len(labels)} groups"
        described += f" The {MAX_BARS} largest are drawn; the table has all."
    low, high = (tuple(end[at] for at in shown) if end else () for end in ends)
    picked = tuple(numbers[at] for at in shown)
    series = Series(told, tuple(str(labels[at]) for at in shown), picked, low, high)
    return Chart("bars", title, described, table, (series,), "", told, "names")


def _chart_pairs(
    table: Table, keys: Sequence[str], numbers: list[float], title: str, value: str
) -> Chart | None:
    first, second = (table.column(key) for key in keys)
    down, across = list(dict.fromkeys(first)), list(dict.fromkeys(second))
    by_pair = dict(zip(zip(first, second, strict=True), numbers, strict=True))
    if len(by_pair) != len(down) * len(across) or max(len(down), len(across)) > MAX_SIDE:
        return None
    series = tuple(
        Series(str(row), tuple(map(str, across)), tuple(by_pair[row, column] for column in across))
        for row in down
    )
    names = [visible(key) for key in keys]
    described = (
        f"{visible(value)} for {len(down)} groups of {names[0]} by {len(across)} of {names[1]}, from "
        f"{format_number(min(numbers))} to {format_number(max(numbers))}; darker is more."
    )
    label = f"{names[0]} (down) by {names[1]} (across)"
    return Chart("heat", title, described, table, series, label, "", "names")


def _number(cell: Any) -> float | None:
    if isinstance(cell, bool) or not isinstance(cell, int | float | Fraction):
        return None
    return float(cell) if math.isfinite(cell) else None


def _ends(table: Table, name: str) -> tuple[float, ...] | None:
    """The ends of intervals, if each is a finite number."""
    if name not in table.columns:
        return None
    found = [_number(cell) for cell in table.column(name)]
    return None if None in found else tuple(end for end in found if end is not None)


def _place(label: Any) -> Any:
    """A label of an ordered axis: a number, or text."""
    if isinstance(label, int | float | Fraction):
        return float(label)
    return str(label)
