"""Pictures of tables: bars with intervals, lines over ordered groups, a heat map for two groupings."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.show.tables import Table, format_cell
from discreet.show.values import visible

__all__ = ["MAX_BARS", "draw_table", "is_ordered", "open_axes"]

#: Groups that still have a bar and a label each.
MAX_BARS = 60
#: Cells of a heat map that still have room for a number.
MAX_NUMBERS = 150
#: What ordered groups are written like: an interval such as "[17, 30)", or a date or month.
_ORDERED = re.compile(r"[\[(].*, .*[\])]|\d{4}-\d{2}(-\d{2})?|\d{4}-?Q[1-4]")
_COLOUR = "#2a78b5"


def draw_table(
    table: Table,
    keys: Sequence[str],
    ax: Any = None,
    *,
    value: str = "value",
    lower: str = "lower",
    upper: str = "upper",
) -> Any:
    """Draw a column of numbers over at most two groupings.

    Parameters
    ----------
    table : Table
    keys : sequence of str
        The columns that say which group a row is: none, one or two.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.
    value, lower, upper : str
        The columns of the numbers, and of their intervals if the table has them.

    Returns
    -------
    matplotlib axes
        With title, labels and, as ``ax.get_label()``, a description for people who can't see it.
    """
    numbers = [_number(cell) for cell in table.column(value)]
    if len(keys) > 2:
        raise ValueError(
            f"a picture shows one or two groupings, not {len(keys)}: choose rows of to_frame() and draw them."
        )
    if not numbers:
        raise ValueError("there is nothing to draw: no group was released.")
    axes = open_axes(ax)
    if len(keys) == 2:
        _draw_heat_map(axes, table, keys, numbers, value)
    else:
        labels = table.column(keys[0]) if keys else [value]
        spans = _spans(table, numbers, lower, upper)
        if keys and len(labels) > 1 and is_ordered(labels):
            _draw_line(axes, labels, numbers, spans)
        else:
            _draw_bars(axes, labels, numbers, spans)
        _name_axes(
            axes, keys[0] if keys else "", value if spans is None else f"{value}, with interval"
        )
    axes.set_title(_literal(table.caption), loc="left", fontsize="medium", wrap=True)
    axes.set_label(_describe(table, keys, numbers, value))
    return axes


def is_ordered(labels: Sequence[Any]) -> bool:
    """Whether groups have an order of their own: numbers, dates, or text that is written like them."""
    if all(
        isinstance(label, int | float | Fraction | date) and not isinstance(label, bool)
        for label in labels
    ):
        return True
    return all(isinstance(label, str) and _ORDERED.fullmatch(label) for label in labels)


def open_axes(ax: Any) -> Any:
    """The axes that were given, or those of a new figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "plot needs matplotlib: pip install 'discreet[report]', or matplotlib itself."
        ) from None
    if ax is None:
        return plt.subplots(layout="constrained")[1]
    if not hasattr(ax, "bar"):
        raise TypeError(
            f"ax must be matplotlib axes, as plt.subplots()[1] gives, not {type(ax).__name__}."
        )
    return ax


def _number(cell: Any) -> float:
    if cell is None or isinstance(cell, bool) or not isinstance(cell, int | float | Fraction):
        raise ValueError("only numbers can be drawn; to_frame() shows the rest.")
    return float(cell)


def _literal(text: str) -> str:
    """Text that matplotlib doesn't read as mathematics, cut to a line or two."""
    shown = visible(text)
    return (shown if len(shown) <= 120 else shown[:117] + "...").replace("$", r"\$")


def _spans(
    table: Table, numbers: list[float], lower: str, upper: str
) -> tuple[list[float], list[float]] | None:
    """How far intervals reach below and above the numbers; None where there are none."""
    if lower not in table.columns or upper not in table.columns:
        return None
    low, high = table.column(lower), table.column(upper)
    if any(not isinstance(end, int | float | Fraction) for end in (*low, *high)):
        return None
    below = [max(0.0, n - float(end)) for n, end in zip(numbers, low, strict=True)]
    above = [max(0.0, float(end) - n) for n, end in zip(numbers, high, strict=True)]
    return (below, above) if all(map(math.isfinite, below + above)) else None


def _draw_bars(axes: Any, labels: Sequence[Any], numbers: list[float], spans: Any) -> None:
    """Draw horizontal bars, the first group on top: names of groups stay readable."""
    if len(labels) > MAX_BARS:
        raise ValueError(
            f"{len(labels)} groups are too many for bars (at most {MAX_BARS}): choose rows of to_frame() and "
            "draw them."
        )
    places = np.arange(len(labels))
    axes.barh(places, numbers, xerr=spans, color=_COLOUR, alpha=0.75, ecolor="0.35", capsize=3)
    if len(labels) < 3:  # bars stay bars
        axes.set_ylim(-1.2, len(labels) + 0.2)
    axes.set_yticks(places, [_literal(_short(label)) for label in labels])
    axes.invert_yaxis()
    axes.axvline(0, color="0.35", linewidth=0.8)


def _draw_line(axes: Any, labels: Sequence[Any], numbers: list[float], spans: Any) -> None:
    """Draw a line with a point for each group, and its interval as a band."""
    is_text = isinstance(labels[0], str)
    places: Any = (
        np.arange(len(labels))
        if is_text
        else [float(label) if isinstance(label, Fraction) else label for label in labels]
    )
    axes.plot(places, numbers, marker="o", markersize=4, color=_COLOUR)
    if spans is not None:
        low = [n - below for n, below in zip(numbers, spans[0], strict=True)]
        high = [n + above for n, above in zip(numbers, spans[1], strict=True)]
        axes.fill_between(places, low, high, color=_COLOUR, alpha=0.25, linewidth=0)
    if is_text:
        step = max(1, math.ceil(len(labels) / 12))
        axes.set_xticks(
            places[::step],
            [_literal(_short(label)) for label in labels[::step]],
            rotation=45 if len(labels) > 4 else 0,
            ha="right" if len(labels) > 4 else "center",
        )


def _name_axes(axes: Any, group: str, value: str) -> None:
    if axes.lines and axes.lines[0].get_marker() == "o":
        axes.set_xlabel(_literal(group))
        axes.set_ylabel(_literal(value))
    else:
        axes.set_xlabel(_literal(value))
        axes.set_ylabel(_literal(group))


def _draw_heat_map(
    axes: Any, table: Table, keys: Sequence[str], numbers: list[float], value: str
) -> None:
    down, across = (list(dict.fromkeys(table.column(key))) for key in keys)
    if len(down) * len(across) != len(numbers) or max(len(down), len(across)) > 4 * MAX_BARS:
        raise ValueError(
            "a heat map needs a number for each pair of groups, and at most 240 a side."
        )
    grid = np.array(numbers).reshape(len(down), len(across))
    picture = axes.imshow(grid, aspect="auto", cmap="viridis")
    axes.figure.colorbar(picture, ax=axes, label=_literal(value))
    for axis, labels in (("y", down), ("x", across)):
        step = max(1, math.ceil(len(labels) / 20))
        ticks = range(0, len(labels), step)
        names = [_literal(_short(labels[at])) for at in ticks]
        if axis == "x":
            slanted = len(across) > 4
            axes.set_xticks(
                ticks, names, rotation=45 if slanted else 0, ha="right" if slanted else "center"
            )
        else:
            axes.set_yticks(ticks, names)
    axes.set_ylabel(_literal(visible(keys[0])))
    axes.set_xlabel(_literal(visible(keys[1])))
    if grid.size <= MAX_NUMBERS:
        middle = (grid.min() + grid.max()) / 2
        for (row, column), number in np.ndenumerate(grid):
            ink = "black" if number > middle else "white"
            axes.text(
                column, row, f"{number:.4g}", ha="center", va="center", color=ink, size="small"
            )


def _short(label: Any) -> str:
    text = format_cell(label)
    return text if len(text) <= 30 else text[:27] + "..."


def _describe(table: Table, keys: Sequence[str], numbers: list[float], value: str) -> str:
    """What the picture shows, in words."""
    caption = visible(table.caption)
    if not keys:
        return f"{caption}: {format_cell(numbers[0])}."
    over = " and ".join(visible(key) for key in keys)
    return (
        f"{caption}: {visible(value)} over {over}, {len(numbers)} groups from {min(numbers):.6g} to "
        f"{max(numbers):.6g}."
    )
