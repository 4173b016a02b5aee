"""Tables as HTML for notebooks: everything escaped, no script, colours of the page that shows them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from discreet.show.values import visible

__all__ = ["render_html"]

# colours are inherited, so that a table is readable on light and on dark pages
_TABLE = "border-collapse:collapse;color:inherit;background:transparent"
_LINE = "border:0;border-bottom:1px solid rgba(128,128,128,.45);padding:.25em .75em"
_SMALL = "opacity:.8;font-size:90%"


def render_html(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[bool],
    caption: str = "",
    note: str = "",
    left_out: int = 0,
) -> str:
    """A table as HTML: a caption that screen readers read first, header cells with their scope.

    Parameters
    ----------
    columns, rows
        Names, and cells as text.
    right : sequence of bool
        Which columns are numbers, set to the right.
    left_out : int
        How many rows aren't shown.
    """
    sides = ["right" if is_number else "left" for is_number in right]
    head = "".join(
        f'<th scope="col" style="{_LINE};text-align:{side}">{_text(name)}</th>'
        for name, side in zip(columns, sides, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{_LINE};text-align:{side}">{_text(cell)}</td>'
            for cell, side in zip(row, sides, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    parts = [f'<table style="{_TABLE}">']
    if caption:
        parts.append(
            '<caption style="caption-side:top;text-align:left;color:inherit;font-weight:bold">'
            f"{_text(caption)}</caption>"
        )
    parts.append(f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    told = [f"... and {left_out} more"] if left_out else []
    parts += [f'<p style="{_SMALL}">{_text(line)}</p>' for line in [*told, *_lines(note)]]
    return f"<div>{''.join(parts)}</div>"


def _lines(note: str) -> list[str]:
    return [line for line in note.split("\n") if line]


def _text(text: str) -> str:
    return escape(visible(text), quote=True)
