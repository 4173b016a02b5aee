"""Charts as inline SVG: small enough to read, coloured by the page, every text escaped.

They are drawn here and not by matplotlib, whose SVG fixes colours and fonts (one theme, one size), spends
most of its bytes on paths of letters that nobody can select or read aloud, and is one more thing to install.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from unicodedata import east_asian_width

from discreet.report.blocks import Chart, Series
from discreet.report.scales import Scale, find_ends, format_number
from discreet.report.theme import CHART_STYLE, HEAT
from discreet.show.tables import format_cell
from discreet.show.values import visible

__all__ = ["MAX_BARS", "draw_chart", "shorten_label"]

#: The width of all charts, in units of which a letter is up to 9 wide.
WIDTH = 480
#: How many names have a bar or a row of dots; the table has all.
MAX_BARS = 40
#: How many letters of a name are shown.
MAX_LABEL = 20
#: Cells of a heat map that still have room for a number.
MAX_NUMBERS = 120
#: How many shades the scale of a heat map shows.
SHADES = 7
_SPACE = "http://www.w3.org/2000/svg"
_LETTER, _WIDE_LETTER = 9.2, 16.0


def draw_chart(chart: Chart, anchor: str, *, is_alone: bool = False) -> str:
    """A chart as an SVG element that is named and described; `anchor` makes its ids unique.

    One that is alone brings its own style, for a file.
    """
    draw: dict[str, Callable[[Chart], tuple[list[str], float]]] = {
        "bars": _draw_bars,
        "dots": _draw_dots,
        "lines": _draw_lines,
        "heat": _draw_heat,
        "meter": _draw_meter,
    }
    parts, height = draw[chart.kind](chart)
    alone = f' xmlns="{_SPACE}" width="{WIDTH}" height="{height:.0f}"' if is_alone else ""
    own = f'<style>{CHART_STYLE}</style><rect width="{WIDTH}" height="{height:.0f}" fill="var(--page)"/>'
    return (
        f'<svg{alone} viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-labelledby="{anchor}-title {anchor}-desc">'
        f'<title id="{anchor}-title">{_text(chart.title)}</title>'
        f'<desc id="{anchor}-desc">{_text(chart.description)}</desc>'
        f"{own if is_alone else ''}{''.join(parts)}</svg>"
    )


def shorten_label(label: object, maximum: int = MAX_LABEL) -> str:
    """A name for an axis: one line, visible, cut."""
    text = format_cell(label)
    return text if len(text) <= maximum else text[: maximum - 1] + "…"


def _text(text: str) -> str:
    return escape(visible(text), quote=True)


def _label(x: float, y: float, text: str, style: str = "soft", anchor: str = "start") -> str:
    side = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}"{side}>{_text(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line class="{style}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _whisker(low: float, high: float, y: float) -> list[str]:
    return [
        _line(low, y, high, y, "whisker"),
        _line(low, y - 4, low, y + 4, "whisker"),
        _line(high, y - 4, high, y + 4, "whisker"),
    ]


def _mark(x: float, y: float, number: int) -> str:
    """The mark of a series: told apart by shape as well as by colour."""
    style = f"s{number % 4} mark"
    match number % 4:
        case 0:
            return f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
        case 1:
            return (
                f'<rect class="{style}" x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7"/>'
            )
        case 2:
            points = (
                f"{x:.1f},{y - 5:.1f} {x + 5:.1f},{y:.1f} {x:.1f},{y + 5:.1f} {x - 5:.1f},{y:.1f}"
            )
        case _:
            points = f"{x:.1f},{y - 5:.1f} {x + 4.5:.1f},{y + 4:.1f} {x - 4.5:.1f},{y + 4:.1f}"
    return f'<polygon class="{style}" points="{points}"/>'


def _draw_legend(series: Sequence[Series], top: float) -> tuple[list[str], float]:
    """A line for each series, where there are several."""
    if len(series) < 2:
        return [], top
    parts: list[str] = []
    number = references = 0
    for one in series:
        middle = top + 8
        if one.is_reference:
            parts.append(_line(8, middle, 30, middle, f"reference r{references % 2}"))
            references += 1
        else:
            parts += [
                _line(8, middle, 30, middle, f"s{number % 4} curve"),
                *([_mark(19, middle, number)] if one.has_marks else []),
            ]
            number += 1
        parts.append(_label(38, middle + 5, shorten_label(one.name, 60), "ink"))
        top += 20
    return parts, top + 8


def _draw_axis(scale: Scale, top: float, bottom: float, title: str) -> list[str]:
    """The horizontal axis below a chart: lines of the grid, numbers, and what they are."""
    parts = [_line(scale.start, bottom, scale.end, bottom, "axis")]
    for tick in scale.ticks(5):
        x = scale.place(tick)
        parts.append(_line(x, top, x, bottom, "grid"))
        parts.append(_number_below(x, bottom + 17, format_number(tick)))
    if title:
        parts.append(_label((scale.start + scale.end) / 2, bottom + 36, title, anchor="middle"))
    return parts


def _number_below(x: float, y: float, text: str) -> str:
    """A number below its place on an axis, moved so far that none of it is cut off at the edge."""
    half = _text_width(text) / 2
    return _label(min(max(x, half), WIDTH - half), y, text, anchor="middle")


def _label_width(labels: Sequence[str]) -> float:
    """Room for the longest of some texts, at the left of a chart or beside a number."""
    return 14 + max(map(_text_width, labels), default=0.0)


def _text_width(text: str) -> float:
    """About how wide a text is drawn; letters of East Asia take twice the room."""
    return sum(_WIDE_LETTER if east_asian_width(char) in "WF" else _LETTER for char in text)


def _draw_bars(chart: Chart) -> tuple[list[str], float]:
    """Horizontal bars from zero, the first name on top, with intervals and numbers."""
    (one,) = chart.series
    names = [shorten_label(name) for name in one.x]
    told = [format_number(value) for value in one.y]
    left, right = _label_width(names), _label_width(told)
    scale = Scale(
        *find_ends([0.0, *one.y, *one.lower, *one.upper], chart.x_limits), left, WIDTH - right
    )
    bottom = 8 + 26.0 * len(names)
    parts = _draw_axis(scale, 4, bottom, chart.y_label)
    zero = scale.place(0.0)
    for at, (name, value) in enumerate(zip(names, one.y, strict=True)):
        middle = 8 + 26.0 * at + 12
        start, end = sorted((zero, scale.place(value)))
        parts.append(_label(left - 8, middle + 5, name, "ink", "end"))
        parts.append(
            f'<rect class="bar" x="{start:.1f}" y="{middle - 8:.1f}" '
            f'width="{max(end - start, 0.5):.1f}" height="16"/>'
        )
        reach = end
        if one.lower:
            low, high = scale.place(one.lower[at]), scale.place(one.upper[at])
            parts += _whisker(low, high, middle)
            reach = max(end, high)
        parts.append(_label(reach + 6, middle + 5, told[at], "ink"))
    parts.append(_line(zero, 4, zero, bottom, "axis"))
    return parts, bottom + (44 if chart.y_label else 26)


def _draw_dots(chart: Chart) -> tuple[list[str], float]:
    """For each name a dot of every series, with its interval."""
    names = [shorten_label(name) for name in chart.series[0].x]
    left = _label_width(names)
    values = [v for one in chart.series for v in (*one.y, *one.lower, *one.upper)]
    scale = Scale(*find_ends(values, chart.x_limits), left, WIDTH - 16)
    parts, top = _draw_legend(chart.series, 4)
    row = 14.0 * len(chart.series) + 10
    bottom = top + row * len(names)
    parts += _draw_axis(scale, top, bottom, chart.y_label)
    for at, name in enumerate(names):
        start = top + row * at
        parts.append(_label(left - 8, start + row / 2 + 5, name, "ink", "end"))
        if at:
            parts.append(_line(left, start, WIDTH - 16, start, "grid"))
        for number, one in enumerate(chart.series):
            if not math.isfinite(one.y[at]):
                continue
            y = start + 12 + 14.0 * number
            if one.lower and math.isfinite(one.lower[at]) and math.isfinite(one.upper[at]):
                parts += _whisker(scale.place(one.lower[at]), scale.place(one.upper[at]), y)
            parts.append(_mark(scale.place(one.y[at]), y, number))
    return parts, bottom + (44 if chart.y_label else 26)


def _draw_lines(chart: Chart) -> tuple[list[str], float]:
    """Lines with bands over numbers, or over names in their order."""
    parts, top = _draw_legend(chart.series, 4)
    top += 20 if chart.y_label else 6
    height = 300.0 if chart.x_limits and chart.x_limits == chart.y_limits else 220.0
    values = [v for one in chart.series for v in (*one.y, *one.lower, *one.upper)]
    low, high = find_ends(values, chart.y_limits)
    up = Scale(low, high, top + height, top)
    left = _label_width([format_number(tick) for tick in up.ticks(5)])
    across, marks = _draw_across(chart, left, top + height)
    if chart.y_label:
        parts.append(_label(left, top - 8, chart.y_label))
    for tick in up.ticks(5):
        parts.append(_line(left, up.place(tick), WIDTH - 16, up.place(tick), "grid"))
        parts.append(_label(left - 6, up.place(tick) + 5, format_number(tick), anchor="end"))
    parts += marks
    number = references = 0
    for one in chart.series:
        places = list(range(len(one.x))) if chart.x_scale == "names" else one.x
        at = references if one.is_reference else number
        parts += _draw_curve(one, [across.place(float(x)) for x in places], up, at)
        references, number = references + one.is_reference, number + (not one.is_reference)
    slanted = chart.x_scale == "names" and len(chart.series[0].x) > 4
    return parts, top + height + (44 if chart.x_label else 26) + (56 if slanted else 0)


def _draw_across(chart: Chart, left: float, bottom: float) -> tuple[Scale, list[str]]:
    """The horizontal axis of lines: numbers, their logarithms, or names."""
    if chart.x_scale != "names":
        ends = find_ends([x for one in chart.series for x in one.x], chart.x_limits, is_tight=True)
        scale = Scale(*ends, left, WIDTH - 24, is_log=chart.x_scale == "log")
        return scale, _draw_axis(scale, bottom, bottom, chart.x_label)
    names = chart.series[0].x
    scale = Scale(-0.4, len(names) - 0.6, left, WIDTH - 16)
    parts = [_line(left, bottom, WIDTH - 16, bottom, "axis")]
    step, is_slanted = max(1, math.ceil(len(names) / 12)), len(names) > 4
    for at in range(0, len(names), step):
        x, name = scale.place(at), shorten_label(names[at], 12)
        if is_slanted:
            parts.append(
                f'<text class="soft" x="{x:.1f}" y="{bottom + 15:.1f}" text-anchor="end" '
                f'transform="rotate(-40 {x:.1f} {bottom + 15:.1f})">{_text(name)}</text>'
            )
        else:
            parts.append(_label(x, bottom + 17, name, anchor="middle"))
    if chart.x_label:
        y = bottom + 36 + (56 if is_slanted else 0)
        parts.append(_label((left + WIDTH) / 2, y, chart.x_label, anchor="middle"))
    return scale, parts


def _draw_curve(one: Series, xs: Sequence[float], up: Scale, number: int) -> list[str]:
    ys = [up.place(y) for y in one.y]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
    if one.is_reference:
        return [f'<polyline class="reference r{number % 2}" points="{points}"/>']
    parts = []
    if one.lower:
        ends = [*zip(xs, map(up.place, one.upper), strict=True)]
        ends += reversed([*zip(xs, map(up.place, one.lower), strict=True)])
        band = " ".join(f"{x:.1f},{y:.1f}" for x, y in ends)
        parts.append(f'<polygon class="s{number % 4} band" points="{band}"/>')
    parts.append(f'<polyline class="s{number % 4} curve" points="{points}"/>')
    if one.has_marks and len(xs) <= 60:
        parts += [_mark(x, y, number) for x, y in zip(xs, ys, strict=True)]
    return parts


def _draw_heat(chart: Chart) -> tuple[list[str], float]:
    """Numbers over pairs of names: the series are the rows, darker is more."""
    names = [shorten_label(one.name, 16) for one in chart.series]
    across = chart.series[0].x
    is_slanted = len(across) > 3
    left, top = _label_width(names), 84.0 if is_slanted else 30.0
    width = (WIDTH - 8 - left) / len(across)
    if is_slanted:  # the last name must not run out of the picture
        reach = left + math.cos(math.radians(40)) * _LETTER * len(shorten_label(across[-1], 12))
        width = min(width, (WIDTH - 4 - reach) / (len(across) - 0.5))
    every = [value for one in chart.series for value in one.y]
    low, high = min(every), max(every)
    parts = [_label(8, 18, chart.x_label, "soft")] if chart.x_label else []
    step = max(1, math.ceil(len(across) / 14))
    for at in range(0, len(across), step):
        x, name = left + width * (at + 0.5), shorten_label(across[at], 12)
        if is_slanted:
            parts.append(
                f'<text class="ink" x="{x:.1f}" y="{top - 6:.1f}" '
                f'transform="rotate(-40 {x:.1f} {top - 6:.1f})">{_text(name)}</text>'
            )
        else:
            parts.append(_label(x, top - 8, name, "ink", "middle"))
    skip = max(1, math.ceil(len(names) / 40))
    height = 30.0 if len(names) <= 40 else max(4.0, 1200 / len(names))
    for row, one in enumerate(chart.series):
        y = top + height * row
        if row % skip == 0:
            parts.append(_label(left - 8, y + height / 2 + 5, names[row], "ink", "end"))
        for at, value in enumerate(one.y):
            share = 0.0 if high == low else (value - low) / (high - low)
            parts.append(
                f'<rect class="cell" x="{left + width * at:.1f}" y="{y:.1f}" width="{width:.1f}" '
                f'height="{height:.1f}" fill-opacity="{HEAT[0] + (HEAT[1] - HEAT[0]) * share:.2f}"/>'
            )
            if len(every) <= MAX_NUMBERS and width >= 36:
                x = left + width * (at + 0.5)
                parts.append(_label(x, y + 20, format_number(value), "ink", "middle"))
    bottom = top + height * len(names) + 10
    return [*parts, *_draw_scale(left, bottom, low, high)], bottom + 30


def _draw_scale(left: float, top: float, low: float, high: float) -> list[str]:
    """What the shades of a heat map stand for: the least and the largest number, and those between."""
    if low == high:
        return [_label(left, top + 18, f"every cell: {format_number(low)}", "soft")]
    least, most = format_number(low), format_number(high)
    start = left + len(least) * _LETTER + 8
    width = max(4.0, (WIDTH - 16 - start - len(most) * _LETTER) / SHADES)
    shades = [HEAT[0] + (HEAT[1] - HEAT[0]) * at / (SHADES - 1) for at in range(SHADES)]
    return [
        _label(left, top + 18, least, "soft"),
        *(
            f'<rect class="cell" x="{start + width * at:.1f}" y="{top + 4:.1f}" width="{width:.1f}" '
            f'height="18" fill-opacity="{shade:.2f}"/>'
            for at, shade in enumerate(shades)
        ),
        _label(start + width * SHADES + 8, top + 18, most, "soft"),
    ]


def _draw_meter(chart: Chart) -> tuple[list[str], float]:
    """A share of a whole."""
    (one,) = chart.series
    share = min(max(one.y[0], 0.0), 1.0)
    width = WIDTH - 16.0
    return [
        f'<rect class="meter" x="8" y="8" width="{width:.1f}" height="24" rx="4"/>',
        f'<rect class="used" x="8" y="8" width="{width * share:.1f}" height="24" rx="4"/>',
        _label(8, 54, one.name, "ink"),
        _label(8 + width, 54, "the limit", "soft", "end"),
    ], 64
