"""A report as one HTML page: no script, no network, nothing in it but its own style, everything escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from html import escape
from itertools import count

from discreet.report.blocks import Block, Bullets, Chart, Facts, Grid, Report, Section, Words
from discreet.report.svg import draw_chart
from discreet.report.theme import STYLE
from discreet.show import Table, visible
from discreet.show.tables import format_cell

__all__ = ["MAX_ROWS", "render_blocks", "render_page", "render_sections"]

#: How many rows of a table the page shows; the JSON form has all.
MAX_ROWS = 1000
#: Tables of at most this many rows are unfolded.
MAX_UNFOLDED = 12
#: Texts longer than this may be broken, and get room for it.
_LONG = 28


def render_page(report: Report) -> str:
    """A report as HTML.

    Privacy
    -------
    The page's own policy forbids scripts, pictures, fonts and connections, whatever stands in a name or a
    category; besides, every text is escaped.
    """
    seal = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    numbers = count(1)
    anchors = [f"section-{at}" for at in range(1, len(report.sections) + 1)]
    links = "".join(
        f'<li><a href="#{anchor}">{_text(section.title)}</a></li>'
        for anchor, section in zip(anchors, report.sections, strict=True)
    )
    body = "".join(
        _render_section(section, anchor, 2, numbers)
        for anchor, section in zip(anchors, report.sections, strict=True)
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"style-src 'sha256-{seal}'\">\n"
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{_text(report.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#content">Skip to the content</a>\n'
        f"<header><h1>{_text(report.title)}</h1></header>\n"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n'
        f'<main id="content" tabindex="-1">\n{body}</main>\n'
        "<footer><p>Written by discreet, from what was given to it; writing it down cost nothing.</p>"
        "</footer>\n</body>\n</html>\n"
    )


def render_sections(sections: Iterable[Section], prefix: str, level: int = 2) -> str:
    """Sections as HTML for a page of another layout, with headings from a level on; `prefix` begins ids.

    Everything is escaped, and neither script nor style stands in it.
    """
    numbers = (f"{prefix}-{at}" for at in count(1))
    return "".join(
        _render_section(section, f"{prefix}-section-{at}", level, numbers)
        for at, section in enumerate(sections, 1)
    )


def render_blocks(blocks: Iterable[Block], prefix: str) -> str:
    """Blocks as HTML for a page of another layout; `prefix` begins ids."""
    numbers = (f"{prefix}-{at}" for at in count(1))
    return "".join(_render_block(block, numbers) for block in blocks)


def _text(text: str) -> str:
    return escape(visible(text), quote=True)


def _render_section(section: Section, anchor: str, level: int, numbers: Iterator[object]) -> str:
    parts = [
        f'<section aria-labelledby="{anchor}">\n<h{level} id="{anchor}">{_text(section.title)}</h{level}>\n'
    ]
    parts += [_render_block(block, numbers) for block in section.blocks]
    parts += [
        _render_section(inner, f"{anchor}-{at}", min(level + 1, 6), numbers)
        for at, inner in enumerate(section.sections, 1)
    ]
    return "".join([*parts, "</section>\n"])


def _render_block(block: Block, numbers: Iterator[object]) -> str:
    match block:
        case Words(text, tone):
            style = "" if tone == "plain" else f' class="{escape(tone, quote=True)}"'
            lines = [line for line in text.split("\n") if line.strip()]
            return "".join(f"<p{style}>{_text(line)}</p>\n" for line in lines)
        case Bullets(items):
            return "<ul>" + "".join(f"<li>{_text(item)}</li>" for item in items) + "</ul>\n"
        case Facts(pairs):
            return (
                "<dl>"
                + "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in pairs)
                + "</dl>\n"
            )
        case Grid(table):
            return _render_table(table, len(table.rows) <= MAX_UNFOLDED)
        case Chart():
            anchor = f"chart-{next(numbers)}"
            return (
                f"<figure><figcaption>{_text(block.title)}</figcaption>\n{draw_chart(block, anchor)}\n"
                f"{_render_table(block.table, is_open=False, title='The numbers of this chart')}</figure>\n"
            )


def _render_table(table: Table, is_open: bool, title: str = "") -> str:
    """A table that can be folded, with its notes."""
    if not table.rows:
        return f"<p>{_text(table.caption)}: there are no rows.</p>\n{_render_note(table)}"
    shown = table.rows[:MAX_ROWS]
    rights = [_is_number(table, name) for name in table.columns]
    head = "".join(
        f'<th scope="col"{_style(right, False)}>{_text(name)}</th>'
        for name, right in zip(table.columns, rights, strict=True)
    )
    body = []
    for row in shown:
        cells = []
        for at, (cell, right) in enumerate(zip(row, rights, strict=True)):
            text = format_cell(cell)
            kind = 'th scope="row"' if at == 0 else "td"
            style = _style(right, len(text) > _LONG)
            cells.append(f"<{kind}{style}>{_text(text)}</{kind[:2]}>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    left = len(table.rows) - len(shown)
    more = (
        f"<p>… and {left} more rows, which the JSON form of this report has.</p>\n" if left else ""
    )
    caption = f"<caption>{_text(table.caption)}</caption>" if table.caption else ""
    name = _text(table.caption or title or "Table")
    inside = (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{name}">'
        f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>\n"
        f"{more}{_render_note(table)}"
    )
    if is_open:
        return inside
    summary = title or f"Table of {len(table.rows)} rows"
    return f"<details><summary>{_text(summary)}</summary>\n{inside}</details>\n"


def _render_note(table: Table) -> str:
    lines = [line for line in table.note.split("\n") if line.strip()]
    return "".join(f'<p class="soft">{_text(line.strip())}</p>\n' for line in lines)


def _style(is_number: bool, is_long: bool) -> str:
    return ' class="number"' if is_number else ' class="wide"' if is_long else ""


def _is_number(table: Table, name: str) -> bool:
    from fractions import Fraction

    cells = [cell for cell in table.column(name) if cell is not None]
    return bool(cells) and all(
        isinstance(cell, int | float | Fraction) and not isinstance(cell, bool) for cell in cells
    )
